// Programs need not have functions of Relax, or anything at all.
// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s
// RUN: relax-opt %s -relax-to-llvm -split-input-file | FileCheck %s --check-prefix=LLVM

// CHECK: func.func @main(%{{.*}}: i64)
// LLVM: llvm.func @main(%{{.*}}: i64)
func.func @main(%x: i64) -> i64 {
  return %x : i64
}

// -----

// CHECK: module {
// CHECK-NEXT: }
// LLVM: module
module {}
