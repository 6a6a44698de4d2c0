// RUN: not relax-translate %s 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=error
// RUN: not relax-translate --mlir-to-llvmir %s 2>&1 | FileCheck %s --check-prefix=RELAX

// NONE: error: expected a translation, such as --relax-to-vm or --mlir-to-llvmir; --help lists all
// RELAX: note: --mlir-to-llvmir takes the LLVM dialect: relax-opt -relax-to-llvm makes it of Relax
relax.func @main(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}
