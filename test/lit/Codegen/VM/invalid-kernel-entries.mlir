// RUN: relax-opt %s -relax-make-kernel-entries -split-input-file -verify-diagnostics

// expected-error @below {{expected a kernel without results, but it does not update its outputs in place}}
func.func private @k(%x: memref<?xf32>) -> memref<?xf32> { return %x : memref<?xf32> }
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @k() outs(%x) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

// expected-error @below {{expected parameter 0 to be a memref, an integer or a float, but got 'tensor<?xf32>'}}
func.func private @k(%x: tensor<?xf32>) { return }
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @k() outs(%x) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}
