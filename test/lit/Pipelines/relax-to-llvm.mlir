// Each phase can be run by itself, and all of them give what the whole pipeline
// gives.
// RUN: relax-opt %s -relax-phase-normalize -relax-phase-legalize | FileCheck %s --check-prefix=LEGALIZE
// RUN: relax-opt %s -relax-phase-normalize -relax-phase-legalize -relax-phase-memory | FileCheck %s --check-prefix=MEMORY
// RUN: relax-opt %s -relax-phase-normalize -relax-phase-legalize -relax-phase-memory -relax-phase-shapes | FileCheck %s --check-prefix=SHAPES
// RUN: relax-opt %s -relax-phase-normalize -relax-phase-legalize -relax-phase-memory -relax-phase-shapes -relax-phase-kernels | FileCheck %s --check-prefix=KERNELS
// RUN: relax-opt %s -relax-phase-normalize -relax-phase-legalize -relax-phase-memory -relax-phase-shapes -relax-phase-kernels -relax-phase-outline -relax-phase-llvm -o %t.phases
// RUN: relax-opt %s -relax-phase-normalize -relax-phase-legalize -relax-phase-memory -relax-phase-shapes -relax-phase-kernels=emit-kernels=false | FileCheck %s --check-prefix=LOOPS
// RUN: relax-opt %s -relax-to-llvm -o %t.whole
// RUN: diff %t.phases %t.whole
// RUN: FileCheck %s --check-prefix=LLVM < %t.whole

// LEGALIZE: relax.dataflow
// LEGALIZE: relax.call_tir @relu
// LEGALIZE: func.func private @relu(%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<?x4xf32>) -> tensor<?x4xf32>

// MEMORY-NOT: relax.dataflow
// MEMORY: relax.builtin.alloc_tensor : !relax.tensor<[n, 4], f32>
// MEMORY: relax.builtin.call_kernel @relu

// SHAPES: relax.func @main(%x: !relax.tensor<ndim = 2, f32>)
// SHAPES: relax.builtin.check_dim
// SHAPES: relax.builtin.alloc_tensor(%

// The kernel writes into its output: nothing is allocated or copied in it.
// KERNELS: func.func private @relax.kernel.relu(%[[X:.*]]: memref<?x4xf32>, %[[Y:.*]]: memref<?x4xf32>)
// KERNELS-NOT: memref.alloc
// KERNELS-NOT: memref.copy
// KERNELS: memref.reinterpret_cast %[[Y]]
// KERNELS: vector.store

// LOOPS: func.func private @relax.kernel.relu(%[[X:.*]]: memref<?x4xf32>, %[[Y:.*]]: memref<?x4xf32>)
// LOOPS-NOT: memref.alloc
// LOOPS-NOT: memref.copy
// LOOPS: memref.store %{{.*}}, %[[Y]]

// LLVM-NOT: relax.{{[a-z]+}} %
// LLVM: llvm.func @__tvm_ffi_main(
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, 4], f32> {
    %1 = relax.relu %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %1 : !relax.tensor<[n, 4], f32>
  }
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
