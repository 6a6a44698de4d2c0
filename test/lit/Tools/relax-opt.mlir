// RUN: relax-opt --help | FileCheck %s --check-prefix=HELP
// RUN: relax-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: relax-opt %s --canonicalize | FileCheck %s

// Upstream's dialects and passes are there beside ours.

// HELP: Relax optimizer driver
// HELP-DAG: --canonicalize
// HELP-DAG: --relax-to-llvm

// DIALECTS: Available Dialects: {{.*}}linalg{{.*}}relax

// CHECK-LABEL: relax.func @main
relax.func @main(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}
