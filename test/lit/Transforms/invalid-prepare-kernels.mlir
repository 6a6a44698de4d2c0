// RUN: relax-opt %s -relax-prepare-kernels -split-input-file -verify-diagnostics

// A kernel on tensors that does not return its outputs.
// expected-error @below {{expected a kernel on tensors to return its outputs, parameters 1, updated}}
func.func private @exp(%x: tensor<?xf32>, %y: tensor<?xf32>) { return }

relax.func @main(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @exp(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %y : !relax.tensor<ndim = 1, f32>
}

// -----

// A kernel that is only declared.
// expected-error @below {{is called as a kernel, but has no body}}
func.func private @exp(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

relax.func @main(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @exp(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %y : !relax.tensor<ndim = 1, f32>
}

// -----

func.func private @first(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// OP02: a kernel on tensors puts its results in the same parameters for all.
relax.func @main(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-note@+1 {{another call is here}}
  relax.builtin.call_kernel @first(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  // expected-error@+1 {{'relax.builtin.call_kernel' op expected all calls of @first to put its results in the same parameters}}
  relax.builtin.call_kernel @first(%x, %y) outs() inplace [0] : (!relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>) -> ()
  relax.return %y : !relax.tensor<ndim = 1, f32>
}

// -----

func.func private @threads(%y: memref<4xf32>) {
  // expected-error@+1 {{expected no memory that threads share: the processor runs them one after the other}}
  %shared = memref.alloc() {relax.scope = "shared"} : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-note@+1 {{the loop over threads is here}}
  scf.for %i = %c0 to %c4 step %c1 {
    %0 = memref.load %shared[%i] : memref<4xf32>
    memref.store %0, %y[%i] : memref<4xf32>
  } {relax.thread = "threadIdx.x"}
  return
}
relax.func @main(%y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @threads() outs(%y) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %y : !relax.tensor<ndim = 1, f32>
}
