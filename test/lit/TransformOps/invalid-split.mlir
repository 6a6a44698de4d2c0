// RUN: relax-opt %s -split-input-file -transform-interpreter -verify-diagnostics

// Only calls of fused functions come apart.
!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func private @plain(%x: !x) -> !x {
    relax.return %x : !x
  }
  relax.func @main(%x: !x) -> !x {
    // expected-error @below {{expected the call of a fused function, private and with 'Primitive', but got 'relax.call'}}
    %0 = relax.call @plain(%x) : (!x) -> !x
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.structured.match ops{["relax.call"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %bindings = transform.relax.split %calls : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func @main(%x: !x) -> !x {
    // expected-error @below {{expected the call of a fused function, private and with 'Primitive', but got 'relax.exp'}}
    %0 = relax.exp %x : (!x) -> !x
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %bindings = transform.relax.split %calls : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Bounds of a function are checked when it is called, and would be lost.
!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func private @bounded(%x: !x) -> !x attributes {Primitive = true, tir_var_upper_bound = {n = 8}} {
    relax.return %x : !x
  }
  relax.func @main(%x: !x) -> !x {
    // expected-error @below {{expected the call of a fused function, private and with 'Primitive', but got 'relax.call'}}
    %0 = relax.call @bounded(%x) : (!x) -> !x
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.structured.match ops{["relax.call"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %bindings = transform.relax.split %calls : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// A callee is of the module.
!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  relax.func impure @main(%x: !x) -> !relax.object {
    // expected-error @below {{expected the call of a kernel or function of the module, but got 'relax.call_packed'}}
    %0 = relax.call_packed "my.log"(%x) : (!x) -> !relax.object
    relax.return %0 : !relax.object
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.structured.match ops{["relax.call_packed"]} in %root : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    %functions = transform.relax.get_callee %calls : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// Only kernels, and what becomes one, have a class.
!x = !relax.tensor<[n], f32>
module attributes {transform.with_named_sequence} {
  // expected-error @below {{expected a kernel, or a fused function with 'Primitive', but got 'relax.func'}}
  relax.func private @plain(%x: !x) -> !x {
    relax.return %x : !x
  }
  relax.func @main(%x: !x) -> !x {
    %0 = relax.call @plain(%x) : (!x) -> !x
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.structured.match ops{["relax.call"]} in %root : (!transform.any_op) -> !transform.any_op
    %functions = transform.relax.get_callee %calls : (!transform.any_op) -> !transform.any_op
    // expected-note @below {{asked for here}}
    transform.relax.set_kernel %functions class "none" : !transform.any_op
    transform.yield
  }
}
