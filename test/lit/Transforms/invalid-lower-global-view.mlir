// RUN: relax-opt %s -relax-legalize-redistribute -relax-lower-global-view-to-local-view -split-input-file -verify-diagnostics

// Moves, sums and kernels that are not supported.

relax.func @meshes(%x: !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+1 {{'relax.redistribute' op expected tensors to stay on one mesh, which is all that is supported, but got #relax.device_mesh<[2], [0, 1]> and #relax.device_mesh<[2], [2, 3]>}}
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [2, 3]>, placement = #relax.placement<[R]>} : (!relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[R] on <[2], [2, 3]>>>
  relax.return %0 : !relax.tensor<[8], f32, sharding = <[R] on <[2], [2, 3]>>>
}

// -----

relax.func @mesh(%x: !relax.tensor<[8], f32, sharding = <[R, R] on <[2, 1], [0, 1]>>>) -> !relax.object {
  // expected-error@+1 {{'relax.redistribute' op expected a mesh of one dimension, which is all that is supported, but got #relax.device_mesh<[2, 1], [0, 1]>}}
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2, 1], [0, 1]>, placement = #relax.placement<[S[0], R]>} : (!relax.tensor<[8], f32, sharding = <[R, R] on <[2, 1], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[S[0], R] on <[2, 1], [0, 1]>>>
  relax.return %0 : !relax.tensor<[8], f32, sharding = <[S[0], R] on <[2, 1], [0, 1]>>>
}

// -----

relax.func @sum(%x: !relax.tensor<[8], f32, sharding = <[S[0], R] on <[2, 1], [0, 1]>>>) -> !relax.object {
  // expected-error@+1 {{'relax.sum' op expected a mesh of one dimension, which is all that is supported for reductions over an axis that is cut, but got #relax.device_mesh<[2, 1], [0, 1]>}}
  %0 = relax.sum %x : (!relax.tensor<[8], f32, sharding = <[S[0], R] on <[2, 1], [0, 1]>>>) -> !relax.tensor<[], f32, sharding = <[R, R] on <[2, 1], [0, 1]>>>
  relax.return %0 : !relax.tensor<[], f32, sharding = <[R, R] on <[2, 1], [0, 1]>>>
}

// -----

func.func private @exp(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
relax.func @kernel(%x: !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a kernel of replicas, which is all that is supported, but got a tensor that is sharded as S[0]; write the kernel of the parts, and call it by relax.call_tir_local_view}}
  %0 = relax.call_tir @exp(%x) : (!relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[8], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
}
