// RUN: %invalid

// Subtyping, as returns check it where the answer is no, and the outputs of
// dataflow blocks where it is unknown.

// ST01: an object may be anything; a cast says what.
relax.func @st01_object(%x: !relax.object) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.tensor<*> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.tensor<*>', but got '!relax.object'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.object
  }
  relax.return %0 : !relax.tensor<*>
}

// -----

// ST02: each property on its own.
// expected-note@+1 {{the type is declared here}}
relax.func @st02_rank(%x: !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 2, f32> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.tensor<ndim = 2, f32>', but got '!relax.tensor<[n], f32>'}}
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

relax.func @st02_unknown_rank(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.tensor<ndim = 2, f32> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.tensor<ndim = 2, f32>', but got '!relax.tensor<*, f32>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.tensor<*, f32>
  }
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

// expected-note@+1 {{the type is declared here}}
relax.func @st02_dimension(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n + 1], f32> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.tensor<[n + 1], f32>', but got '!relax.tensor<[n], f32>'}}
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

relax.func @st02_unknown_data_type(%x: !relax.tensor<[n]>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.tensor<[n], f32>', but got '!relax.tensor<[n]>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.tensor<[n]>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// expected-note@+1 {{the type is declared here}}
relax.func @st02_device(%x: !relax.tensor<[n], f32, @cuda0>) -> !relax.tensor<[n], f32, @cpu> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.tensor<[n], f32, @cpu>', but got '!relax.tensor<[n], f32, @cuda0>'}}
  relax.return %x : !relax.tensor<[n], f32, @cuda0>
}

// -----

// ST02, ST12: one dimension is unknown, another one wrong for sure.
// expected-note@+1 {{the type is declared here}}
relax.func @st12_wrong_for_sure(%x: !relax.tensor<[n, 3], f32>, %s: !relax.shape<[m]>) -> !relax.tensor<[m, 4], f32> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.tensor<[m, 4], f32>', but got '!relax.tensor<[n, 3], f32>'}}
  relax.return %x : !relax.tensor<[n, 3], f32>
}

// -----

// ST12: 2 * n is even.
// expected-note@+1 {{the type is declared here}}
relax.func @st12_parity(%x: !relax.shape<[n * 2]>, %s: !relax.shape<[n, m]>) -> !relax.shape<[m * 4 + 1]> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.shape<[m * 4 + 1]>', but got '!relax.shape<[n * 2]>'}}
  relax.return %x : !relax.shape<[n * 2]>
}

// -----

relax.func @st03_shape(%x: !relax.shape<[n, 4]>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.shape<[4, n]> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.shape<[4, n]>', but got '!relax.shape<[n, 4]>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.shape<[n, 4]>
  }
  relax.return %0 : !relax.shape<[4, n]>
}

// -----

// expected-note@+1 {{the type is declared here}}
relax.func @st04_tuple(%x: !relax.tuple<!relax.object>) -> !relax.tuple<!relax.object, !relax.object> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.tuple<!relax.object, !relax.object>', but got '!relax.tuple<!relax.object>'}}
  relax.return %x : !relax.tuple<!relax.object>
}

// -----

// expected-note@+1 {{the type is declared here}}
relax.func @st05_prim(%x: !relax.prim<i64>) -> !relax.prim<i32> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.prim<i32>', but got '!relax.prim<i64>'}}
  relax.return %x : !relax.prim<i64>
}

// -----

relax.func @st05_prim_value(%x: !relax.prim<i64>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.prim<i64, 3> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.prim<i64, 3>', but got '!relax.prim<i64>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.prim<i64>
  }
  relax.return %0 : !relax.prim<i64, 3>
}

// -----

// ST06: parameters go the other way.
relax.func @st06_parameter(%x: !relax.func<(!relax.shape<[2]>) -> !relax.object, pure>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.func<(!relax.shape<*>) -> !relax.object, pure> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.func<(!relax.shape<*>) -> !relax.object, pure>', but got '!relax.func<(!relax.shape<[2]>) -> !relax.object, pure>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.func<(!relax.shape<[2]>) -> !relax.object, pure>
  }
  relax.return %0 : !relax.func<(!relax.shape<*>) -> !relax.object, pure>
}

// -----

// expected-note@+1 {{the type is declared here}}
relax.func @st06_purity(%x: !relax.func<() -> !relax.object, impure>) -> !relax.func<() -> !relax.object, pure> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.func<() -> !relax.object, pure>', but got '!relax.func<() -> !relax.object, impure>'}}
  relax.return %x : !relax.func<() -> !relax.object, impure>
}

// -----

// expected-note@+1 {{the type is declared here}}
relax.func @st06_packed(%x: !relax.func<derive = @default_derive>) -> !relax.func<() -> !relax.object, impure> {
  // expected-error@+1 {{'relax.return' op expected a result of type '!relax.func<() -> !relax.object, impure>', but got '!relax.func<derive = @default_derive>'}}
  relax.return %x : !relax.func<derive = @default_derive>
}

// -----

// ST06: a packed function is one of its own derive function, or of the weakest.
relax.func @st06_derive(%x: !relax.func<derive = @mine>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.func<derive = @yours> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.func<derive = @yours>', but got '!relax.func<derive = @mine>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.func<derive = @mine>
  }
  relax.return %0 : !relax.func<derive = @yours>
}

// -----

// ST02: two shape variables may be equal.
relax.func @st02_shape_variables(%s: !relax.shape<var = s>, %t: !relax.shape<var = t>, %x: !relax.tensor<var = s>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.tensor<var = t> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.tensor<var = t>', but got '!relax.tensor<var = s>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.tensor<var = s>
  }
  relax.return %0 : !relax.tensor<var = t>
}

// -----

// ST06: a function that takes [4] only is not one that takes any [n].
relax.func @st06_not_generic(%x: !relax.func<(!relax.shape<[4]>) -> !relax.shape<[4]>>) -> !relax.object {
  // expected-note@+1 {{the type is declared here}}
  %0 = relax.dataflow -> !relax.func<(!relax.shape<[n]>) -> !relax.shape<[n]>> {
    // expected-error@+2 {{'relax.output' op expected an output of type '!relax.func<(!relax.shape<[n]>) -> !relax.shape<[n]>, pure>', but got '!relax.func<(!relax.shape<[4]>) -> !relax.shape<[4]>, pure>'}}
    // expected-note@+1 {{insert relax.match_cast to check it at run time}}
    relax.output %x : !relax.func<(!relax.shape<[4]>) -> !relax.shape<[4]>>
  }
  relax.return %0 : !relax.func<(!relax.shape<[n]>) -> !relax.shape<[n]>>
}
