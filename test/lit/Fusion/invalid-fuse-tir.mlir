// RUN: relax-opt %s -relax-legalize-ops -relax-fuse-tir -split-input-file -verify-diagnostics

// One kernel has one schedule.
!x = !relax.tensor<[4], f32>
// expected-error @below {{expected its kernels to have one schedule, or the function, but got {class = "elementwise"} and {class = "none"}}}
relax.func private @two(%x: !x) -> !x attributes {Primitive = true} {
  %0 = relax.call_tir @first(%x) : (!x) -> !x
  %1 = relax.call_tir @second(%0) : (!x) -> !x
  relax.return %1 : !x
}
func.func private @first(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {relax.schedule = {class = "elementwise"}} {
  return %o : tensor<4xf32>
}
func.func private @second(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {relax.schedule = {class = "none"}} {
  return %o : tensor<4xf32>
}

// -----

// A function that stays one has no use for it.
!x = !relax.tensor<[4], f32>
// expected-error @below {{expected a function with a schedule to call kernels that can become one, at least two, but got one that stays a function}}
relax.func private @stays(%x: !x) -> !x attributes {Primitive = true, relax.schedule = {class = "none"}} {
  %0 = relax.exp %x : (!x) -> !x
  relax.return %0 : !x
}
