// RUN: relax-opt %s -split-input-file -verify-diagnostics

relax.func impure @condition_type(%c: !relax.prim<i64>) -> !relax.tuple<> {
  // expected-error@+1 {{'relax.assert_op' op expected a Boolean scalar as condition, but got '!relax.prim<i64>'}}
  %0 = relax.assert_op %c, ""() : !relax.prim<i64>, () -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func impure @condition_dtype(%c: !relax.tensor<[], f32>) -> !relax.tuple<> {
  // expected-error@+1 {{'relax.assert_op' op expected a Boolean scalar as condition, but got '!relax.tensor<[], f32>'}}
  %0 = relax.assert_op %c, ""() : !relax.tensor<[], f32>, () -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func impure @condition_rank(%c: !relax.tensor<ndim = 1>) -> !relax.tuple<> {
  // expected-error@+1 {{'relax.assert_op' op expected a Boolean scalar as condition, but got '!relax.tensor<ndim = 1>'}}
  %0 = relax.assert_op %c, ""() : !relax.tensor<ndim = 1>, () -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func impure @condition_kind(%c: !relax.object) -> !relax.tuple<> {
  // expected-error@+1 {{'relax.assert_op' op operand #0 must be a Relax tensor or primitive value, but got '!relax.object'}}
  %0 = relax.assert_op %c, ""() : !relax.object, () -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

// DR15: they are seen outside.
// expected-note@+1 {{the function is pure}}
relax.func @pure(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.print' op is impure, which is not allowed in a pure function [DR15]}}
  %0 = relax.print ""(%x) : (!relax.object) -> !relax.tuple<>
  relax.return %x : !relax.object
}

// -----

// WF07
relax.func impure @dataflow(%c: !relax.prim<i1>) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.prim<i1> {
    // expected-error@+1 {{'relax.assert_op' op is impure, which is not allowed in a dataflow block [WF07]}}
    %1 = relax.assert_op %c, ""() : !relax.prim<i1>, () -> !relax.tuple<>
    relax.output %c : !relax.prim<i1>
  }
  relax.return %0 : !relax.prim<i1>
}
