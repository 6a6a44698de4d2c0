// RUN: relax-opt %s -convert-relax-to-llvm -split-input-file -verify-diagnostics

// An operator that was not legalized.
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error @below {{cannot be lowered to LLVM: run relax-legalize-ops, relax-lower-call-tir, relax-lower-shapes and relax-pool-constants before}}
  %0 = relax.exp %x : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

// A kernel that returns something.
// expected-error @below {{expected a kernel without results, but it does not update its outputs in place}}
func.func private @k(%x: memref<?xf32>) -> memref<?xf32> {
  return %x : memref<?xf32>
}
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @k() outs(%x) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

// A function without a body.
// expected-error @below {{has no body to lower}}
relax.func private @main(!relax.object) -> !relax.object

// -----

// A device that the module does not list.
relax.func @main(%n: !relax.prim<i64>) -> !relax.object {
  %0 = arith.constant 1 : i64
  // expected-error @below {{needs virtual device @cuda0, which is not known here: run relax-lower-shapes in a module that lists it}}
  %1 = relax.builtin.alloc_tensor(%0) : !relax.tensor<ndim = 1, f32, @cuda0>
  relax.return %1 : !relax.tensor<ndim = 1, f32, @cuda0>
}

// -----

// A kernel of another rank would read dimensions that are not there.
func.func private @k(%x: memref<?x?xf32>) { return }
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error @below {{expected parameter 0 of k to be a memref of rank 1, but got 'memref<?x?xf32>'}}
  relax.builtin.call_kernel @k() outs(%x) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

func.func @on_tensors(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %c: memref<4x4xf32>) {
  // expected-error @below {{cannot be lowered to LLVM: expected relax-phase-kernels to make loops of it}}
  linalg.matmul ins(%a, %b : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  return
}

// -----

// Sizes over shape variables.
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error @below {{has a size that is not lowered: run relax-lower-shapes before}}
  %0 = relax.builtin.view %x : !relax.tensor<[n, 4], f32> -> !relax.tensor<[n * 4], f32>
  relax.return %0 : !relax.tensor<[n * 4], f32>
}

// -----

relax.func @main() -> !relax.object {
  // expected-error @below {{has a size that is not lowered: run relax-lower-shapes before}}
  %0 = relax.builtin.alloc_storage size <64>
  relax.return %0 : !relax.object
}

// -----

// A kernel on tensors that changes nothing.
// expected-error @below {{expected a kernel that was bufferized, but it takes 'tensor<?xf32>'}}
func.func private @k(%x: tensor<?xf32>) { return }
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @k() outs(%x) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

// expected-error @below {{cannot be lowered to LLVM: expected relax-phase-outline to compile it}}
gpu.module @kernels {
  gpu.func @nothing() kernel {
    gpu.return
  }
}
