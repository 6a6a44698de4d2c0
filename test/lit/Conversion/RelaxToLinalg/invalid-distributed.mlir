// RUN: relax-opt %s -relax-legalize-ops -split-input-file -verify-diagnostics

// Distributed programs are not lowered; the program of each worker is.

// expected-error@+1 {{'relax.func' op cannot be lowered: expected no distributed tensors; LowerDistIR of relax_mlir.distributed makes the program of each worker}}
relax.func @parameters(%x: !relax.tensor<[4], f32, sharding = <[R] on <[1], [0]>>>) -> !relax.object {
  relax.return %x : !relax.tensor<[4], f32, sharding = <[R] on <[1], [0]>>>
}

// -----

relax.func @values(%x: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.redistribute' op cannot be lowered: expected no distributed tensors}}
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[1], [0]>, placement = #relax.placement<[R]>} : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32, sharding = <[R] on <[1], [0]>>>
  relax.return %0 : !relax.tensor<[4], f32, sharding = <[R] on <[1], [0]>>>
}
