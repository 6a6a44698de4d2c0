// RUN: relax-opt %s -split-input-file -relax-legalize-ops -transform-interpreter -verify-diagnostics

// What lies between bindings, and needs one of them, must not be needed.
!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func @convex(%x: !x) -> !x {
    %0 = relax.dataflow -> !x {
      %1 = relax.exp %x : (!x) -> !x
      // expected-note @below {{which is not to be fused, and needs one that is}}
      %2 = relax.log %1 : (!x) -> !x
      // expected-error @below {{expected bindings that are all that lies between them to fuse, but got one that needs the result of another}}
      %3 = relax.add %1, %2 : (!x, !x) -> !x
      relax.output %3 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %exp = transform.relax.match_calls in %root {kernel = "exp"} : (!transform.any_op) -> !transform.any_op
    %add = transform.relax.match_calls in %root {kernel = "add"} : (!transform.any_op) -> !transform.any_op
    %all = transform.merge_handles %exp, %add : !transform.any_op
    // expected-note @below {{asked for here}}
    %function, %call = transform.relax.fuse %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func @blocks(%x: !x) -> !x {
    %0 = relax.dataflow -> !x {
      // expected-note @below {{the first one is here}}
      %1 = relax.exp %x : (!x) -> !x
      relax.output %1 : !x
    }
    %2 = relax.dataflow -> !x {
      // expected-error @below {{expected bindings of one dataflow block to fuse, but got one of another block}}
      %3 = relax.log %0 : (!x) -> !x
      relax.output %3 : !x
    }
    relax.return %2 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func @outside(%x: !x) -> !x {
    // expected-error @below {{expected a binding of a dataflow block to fuse, but got one of 'relax.func'}}
    %0 = relax.exp %x : (!x) -> !x
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  // expected-error @below {{expected operators, calls of kernels, tuples and constants to fuse, but got 'relax.func'}}
  relax.func @function(%x: !x) -> !x {
    relax.return %x : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %functions = transform.structured.match ops{["relax.func"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %function, %call = transform.relax.fuse %functions : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    // expected-error @below {{expected bindings to fuse, but got none}}
    %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Nothing moves over an update in place.
!x = !relax.tensor<[4], f32>
module attributes {transform.with_named_sequence} {
  func.func private @update(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  relax.func @inplace(%x: !x, %y: !x) -> !x {
    %0 = relax.dataflow -> !x {
      %1 = relax.exp %x : (!x) -> !x
      %2 = relax.log %y : (!x) -> !x
      // expected-error @below {{expected no update in place between the bindings to fuse, but got 'relax.call_tir_inplace'}}
      %3 = relax.call_tir_inplace @update(%2) inplace [0] : (!x) -> !x
      %4 = relax.add %1, %3 : (!x, !x) -> !x
      relax.output %4 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %exp = transform.relax.match_calls in %root {kernel = "exp"} : (!transform.any_op) -> !transform.any_op
    %add = transform.relax.match_calls in %root {kernel = "add"} : (!transform.any_op) -> !transform.any_op
    %all = transform.merge_handles %exp, %add : !transform.any_op
    // expected-note @below {{asked for here}}
    %function, %call = transform.relax.fuse %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// These errors can be silenced, and nothing is changed then.
!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func @silenced(%x: !x) -> !x {
    %0 = relax.exp %x : (!x) -> !x
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    transform.sequence %root : !transform.any_op failures(suppress) {
    ^bb0(%module: !transform.any_op):
      %calls = transform.relax.match_calls in %module : (!transform.any_op) -> !transform.any_op
      %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    }
    transform.yield
  }
}

// -----

// A kernel that states a kind that is none has the error.
!x = !relax.tensor<[4], f32>
module attributes {transform.with_named_sequence} {
  // expected-error @below {{expected op_pattern to be the number of a kind of kernel, 0 to 4, 7 or 8, but got -1 : i64}}
  func.func private @kernel(%x: tensor<4xf32>, %o: tensor<4xf32>) -> tensor<4xf32> attributes {op_pattern = -1 : i64} {
    return %o : tensor<4xf32>
  }
  relax.func @stated(%x: !x) -> !x {
    %0 = relax.call_tir @kernel(%x) : (!x) -> !x
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root {pattern = "injective"} : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// What binds shape variables stays where it is: others may use them without
// needing it.
!x = !relax.tensor<[n], f32>
!y = !relax.tensor<[k], f32>
module attributes {transform.with_named_sequence} {
  relax.func @bound(%x: !x) -> !relax.object {
    %0:2 = relax.dataflow -> !x, !y {
      %1 = relax.exp %x : (!x) -> !x
      // expected-error @below {{expected nothing that binds shape variables between the bindings to fuse and needs one of them, but got 'relax.match_cast'}}
      %2 = relax.match_cast %1 : !x -> !y
      %3 = relax.exp %x : (!x) -> !x
      relax.output %3, %2 : !x, !y
    }
    relax.return %0#0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
