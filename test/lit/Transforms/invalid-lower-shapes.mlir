// RUN: relax-opt %s -relax-lower-shapes -split-input-file -verify-diagnostics

relax.func @order_operator(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.exp' op has to be lowered before shapes are: the phases normalize, legalize and memory do it}}
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @order_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.dataflow' op has to be lowered before shapes are}}
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    // expected-error@+1 {{'relax.output' op has to be lowered before shapes are}}
    relax.output %x : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @WF14_shape_variable() -> !relax.object attributes {is_pure = false} {
  // expected-error@+1 {{shape variable 's' of the result is used before it is bound [WF14]}}
  %0 = relax.call_packed "k"() : () -> !relax.tensor<var = s, f32>
  relax.return %0 : !relax.tensor<var = s, f32>
}

// -----

relax.func private @made(%x: !relax.object) -> !relax.object attributes {relax.captures = 1 : i64} {
  // expected-error@+1 {{shape variable 'n' is used before it is bound}}
  %0 = relax.builtin.make_closure @made(%x) of !relax.func<() -> !relax.shape<[n]>, pure> where ["n"]() : (!relax.object) -> !relax.func<() -> !relax.object, pure>
  relax.return %0 : !relax.func<() -> !relax.object, pure>
}
