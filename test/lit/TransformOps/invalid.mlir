// RUN: relax-opt %s -split-input-file -verify-diagnostics

// What is wrong wherever a schedule is run is an error of its text.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @kind(%root: !transform.any_op) {
    // expected-error @below {{expected 'pattern' to be a kind of kernel, one of elementwise, broadcast, injective, reduction, out-elementwise-fusable, opaque, but got 'matmul'}}
    %0 = transform.relax.match_calls in %root {pattern = "matmul"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @dims(%root: !transform.any_op) {
    // expected-error @below {{expected 'dims' to be static or symbolic, but got 'known'}}
    %0 = transform.relax.match_calls in %root {dims = "known"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @rank(%root: !transform.any_op) {
    // expected-error @below {{attribute 'rank' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
    %0 = transform.relax.match_calls in %root {rank = -1} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @class(%kernel: !transform.any_op) {
    // expected-error @below {{expected a class of kernels, one of elementwise, attention, matmul, conv2d, pool2d, rows, concat, none, but got 'gemm'}}
    transform.relax.set_kernel %kernel class "gemm" : !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @zero(%kernel: !transform.any_op) {
    // expected-error @below {{expected a tile of positive numbers, but got array<i64: 4, 0>}}
    transform.relax.set_kernel %kernel class "matmul" tile [4, 0] : !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @empty(%kernel: !transform.any_op) {
    // expected-error @below {{expected a tile of positive numbers, but got array<i64>}}
    transform.relax.set_kernel %kernel class "matmul" tile [] : !transform.any_op
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @none(%kernel: !transform.any_op) {
    // expected-error @below {{expected no tile for the class 'none', but got one}}
    transform.relax.set_kernel %kernel class "none" tile [4, 16] : !transform.any_op
    transform.yield
  }
}

// -----

// The attribute may be written by hand.
// expected-error @below {{expected 'relax.schedule' to be {class = "<name>"}, with or without tile = array<i64: <positive numbers>>, but got {class = "matmul", tile = array<i64: 4, -1>}}}
func.func private @negative(%x: tensor<4xf32>) attributes {relax.schedule = {class = "matmul", tile = array<i64: 4, -1>}}

// -----

// expected-error @below {{expected 'relax.schedule' to be {class = "<name>"}, with or without tile = array<i64: <positive numbers>>, but got {tile = array<i64: 4>}}}
func.func private @nameless(%x: tensor<4xf32>) attributes {relax.schedule = {tile = array<i64: 4>}}

// -----

// expected-error @below {{expected 'relax.schedule' to be {class = "<name>"}, with or without tile = array<i64: <positive numbers>>, but got {class = "matmul", tiles = 4 : i64}}}
func.func private @other_key(%x: tensor<4xf32>) attributes {relax.schedule = {class = "matmul", tiles = 4}}

// -----

// expected-error @below {{expected 'relax.schedule' to be {class = "<name>"}, with or without tile = array<i64: <positive numbers>>, but got "matmul"}}
func.func private @no_dictionary(%x: tensor<4xf32>) attributes {relax.schedule = "matmul"}

// -----

// expected-error @below {{has 'relax.schedule', which belongs on a kernel or a function}}
module attributes {relax.schedule = {class = "none"}} {
}
