// RUN: relax-opt %s -relax-lower-dist-ir -split-input-file -verify-diagnostics

// Distributed programs that are not lowered so far, or that workers cannot share.

relax.func @term(%x: !relax.tensor<[n, 8], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>> {
  // expected-error@+1 {{'relax.sum' op expected relax.allreduce of the terms that workers have: apply relax-lower-global-view-to-local-view first}}
  %0 = relax.sum %x {axis = array<i64: 1>} : (!relax.tensor<[n, 8], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// -----

relax.func @redistribute(%x: !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[n], f32, sharding = <[S[0]] on <[2], [0, 1]>>> {
  // expected-error@+1 {{'relax.redistribute' op expected tensors that are not redistributed: apply relax-legalize-redistribute first}}
  %0 = relax.redistribute %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[n], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[n], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
}

// -----

func.func private @exp(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
relax.func @kernel(%x: !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>> {
  // expected-error@+1 {{'relax.call_tir' op expected no kernels of distributed tensors: apply relax-lower-global-view-to-local-view first}}
  %0 = relax.call_tir @exp(%x) : (!relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// -----

relax.func private @f(%x: !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>> {
  relax.return %x : !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>
}
relax.func @call(%x: !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>> {
  // expected-error@+1 {{'relax.call' op expected no distributed tensors in calls of functions, closures and branches, which are not supported}}
  %0 = relax.call @f(%x) : (!relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// -----

// expected-error@+1 {{expected dimension 0 to be a multiple of 2, the devices that share it, but got 7}}
relax.func @rest(%x: !relax.tensor<[7], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[7], f32, sharding = <[S[0]] on <[2], [0, 1]>>> {
  %0 = relax.exp %x : (!relax.tensor<[7], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[7], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[7], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
}

// -----

// expected-error@+1 {{expected parameters on a mesh of one dimension, which is all that is supported, but got}}
relax.func @mesh(%x: !relax.tensor<[8], f32, sharding = <[S[0], R] on <[2, 1], [0, 1]>>>) -> !relax.tensor<[8], f32, sharding = <[S[0], R] on <[2, 1], [0, 1]>>> {
  relax.return %x : !relax.tensor<[8], f32, sharding = <[S[0], R] on <[2, 1], [0, 1]>>>
}

// -----

// expected-error@+1 {{expected a body of a function of distributed tensors}}
relax.func private @declaration(!relax.tensor<[8], f32, sharding = <[R] on <[2], [0, 1]>>>) -> !relax.object
