// RUN: %invalid

// Where shape variables are bound, and where they may be used.

// WF06: each variable of the signature stands alone somewhere.
// expected-error@+1 {{'relax.func' op argument 'x' uses shape variable 'n', which no argument binds: it must be a dimension by itself in one of them}}
relax.func @wf06_never_alone(%x: !relax.tensor<[n * 2], f32>) -> !relax.object {
  relax.return %x : !relax.tensor<[n * 2], f32>
}

// -----

// expected-error@+1 {{'relax.func' op argument 0 uses shape variable 'm', which no argument binds: it must be a dimension by itself in one of them}}
relax.func private @wf06_declaration(!relax.shape<[n, n + m]>) -> !relax.object

// -----

// expected-error@+1 {{'relax.func' op argument 'x' uses shape variable 'n', which no argument binds: it must be a dimension by itself in one of them}}
relax.func @wf06_inside_a_tuple(%x: !relax.tuple<!relax.object, !relax.prim<i64, n + 1>>) -> !relax.object {
  relax.return %x : !relax.tuple<!relax.object, !relax.prim<i64, n + 1>>
}

// -----

// WF04: the result uses variables of the arguments only.
// expected-error@+1 {{'relax.func' op result uses shape variable 'm', which no argument binds}}
relax.func private @wf04_result(!relax.tensor<[n], f32>) -> !relax.tensor<[m], f32>

// -----

// WF04: a variable that the body binds is not visible outside.
// expected-error@+1 {{'relax.func' op result uses shape variable 'k', which no argument binds}}
relax.func @wf04_bound_in_the_body(%x: !relax.object) -> !relax.tensor<[k], f32> {
  // expected-note@+1 {{'k' is bound here, for what follows in this scope}}
  %0 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.tensor<[k], f32>
}

// -----

// WF05: 2 * k does not bind k.
relax.func @wf05_product(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op shape variable 'k' is used before it is bound: only a dimension that is the bare variable binds it}}
  %0 = relax.match_cast %x : !relax.object -> !relax.tensor<[k * 2], f32>
  relax.return %0 : !relax.tensor<[k * 2], f32>
}

// -----

// WF05: dimensions are bound from left to right.
relax.func @wf05_order(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op shape variable 'k' is used before it is bound: only a dimension that is the bare variable binds it}}
  %0 = relax.match_cast %x : !relax.object -> !relax.tensor<[k + 1, k], f32>
  relax.return %0 : !relax.tensor<[k + 1, k], f32>
}

// -----

// WF03, WF14: in a tensor.
relax.func impure @wf14_tensor(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_packed' op shape variable 'k' of the result is used before it is bound}}
  %0 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.tensor<[k], f32>
}

// -----

// WF15: in a shape.
relax.func impure @wf15_shape(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_packed' op shape variable 'k' of the result is used before it is bound}}
  %0 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.shape<[n, k]>
  relax.return %0 : !relax.shape<[n, k]>
}

// -----

// WF16: in a primitive value.
relax.func impure @wf16_prim(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_packed' op shape variable 'k' of the result is used before it is bound}}
  %0 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.prim<i64, k>
  relax.return %0 : !relax.prim<i64, k>
}

// -----

// Inside a tuple.
relax.func impure @wf14_tuple(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_packed' op shape variable 'k' of the result is used before it is bound}}
  %0 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.object, !relax.tensor<[k], f32>>
  relax.return %0 : !relax.tuple<!relax.object, !relax.tensor<[k], f32>>
}

// -----

// A shape is a use, even where the variable stands alone.
relax.func @wf03_shape_value(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.shape' op shape variable 'k' is used before it is bound}}
  %0 = relax.shape <[k]>
  relax.return %0 : !relax.shape<[k]>
}

// -----

relax.func @wf03_prim_value(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.prim_value' op shape variable 'k' is used before it is bound}}
  %0 = relax.prim_value #relax.expr<k + 1>
  relax.return %0 : !relax.prim<i64, k + 1>
}

// -----

// WF03: the cast comes after the use.
relax.func @wf03_use_before_cast(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.shape' op shape variable 'k' is used before it is bound}}
  %0 = relax.shape <[k]>
  // expected-note@+1 {{'k' is bound here, for what follows in this scope}}
  %1 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.shape<[k]>
}

// -----

// SC03: a variable bound in a branch leaves scope with it.
relax.func @sc03_after_the_branch(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    // expected-note@+1 {{'k' is bound here, for what follows in this scope}}
    %1 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
    relax.yield %1 : !relax.tensor<[k], f32>
  } else {
    relax.yield %x : !relax.object
  }
  // expected-error@+1 {{'relax.shape' op shape variable 'k' is used before it is bound}}
  %2 = relax.shape <[k]>
  relax.return %2 : !relax.shape<[k]>
}

// -----

// SC03: nor does it reach the other branch.
relax.func @sc03_other_branch(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    // expected-note@+1 {{'k' is bound here, for what follows in this scope}}
    %1 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
    relax.yield %1 : !relax.tensor<[k], f32>
  } else {
    // expected-error@+1 {{'relax.shape' op shape variable 'k' is used before it is bound}}
    %2 = relax.shape <[k]>
    relax.yield %2 : !relax.shape<[k]>
  }
  relax.return %0 : !relax.object
}

// -----

// SC03: the result of the branch cannot use it.
relax.func @sc03_result_of_the_branch(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.if' op shape variable 'k' of the result is used before it is bound}}
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[k], f32> {
    // expected-note@+1 {{'k' is bound here, for what follows in this scope}}
    %1 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
    relax.yield %1 : !relax.tensor<[k], f32>
  } else {
    %2 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
    relax.yield %2 : !relax.tensor<[k], f32>
  }
  relax.return %0 : !relax.tensor<[k], f32>
}

// -----

// The variables of a function type are its own, and are not visible around it.
relax.func @gr08_variable_of_a_function_type(%f: !relax.func<(!relax.tensor<[k], f32>) -> !relax.object, pure>) -> !relax.object {
  // expected-error@+1 {{'relax.shape' op shape variable 'k' is used before it is bound}}
  %0 = relax.shape <[k]>
  relax.return %0 : !relax.shape<[k]>
}

// -----

// WF14: a shape variable is bound by a shape; a tensor only uses it.
// expected-error@+1 {{'relax.func' op argument 'x' uses shape variable 's', which no argument binds}}
relax.func @wf14_tensor_does_not_bind(%x: !relax.tensor<var = s, ndim = 2, f32>) -> !relax.object {
  relax.return %x : !relax.tensor<var = s, ndim = 2, f32>
}

// -----

// expected-error@+1 {{'relax.func' op result uses shape variable 's', which no argument binds}}
relax.func private @wf04_shape_variable(!relax.shape<ndim = 2>) -> !relax.tensor<var = s, f32>

// -----

relax.func impure @wf14_shape_variable_of_the_result(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.call_packed' op shape variable 's' of the result is used before it is bound}}
  %0 = relax.call_packed "f"(%x) : (!relax.object) -> !relax.shape<var = s>
  relax.return %0 : !relax.shape<var = s>
}

// -----

relax.func @wf05_cast_to_a_tensor(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op shape variable 's' is used before it is bound}}
  %0 = relax.match_cast %x : !relax.object -> !relax.tensor<var = s, f32>
  relax.return %0 : !relax.tensor<var = s, f32>
}

// -----

// Names are of one space: a variable stands for a dimension or for a shape.
// expected-error@+1 {{'relax.func' op variable 'n' stands for a dimension and is used as a shape [WF14]}}
relax.func private @wf14_name_of_a_dimension(!relax.tensor<[n], f32>, !relax.tensor<var = n, f32>) -> !relax.object

// -----

// expected-error@+1 {{'relax.func' op variable 's' stands for a shape and is used as a dimension [WF05]}}
relax.func private @wf05_name_of_a_shape(!relax.shape<var = s>, !relax.tensor<[s], f32>) -> !relax.object

// -----

relax.func @wf05_shape_of_a_shape(%s: !relax.shape<var = s>) -> !relax.object {
  // expected-error@+1 {{'relax.shape' op variable 's' stands for a shape and is used as a dimension [WF05]}}
  %0 = relax.shape <[s + 1]>
  relax.return %0 : !relax.shape<[s + 1]>
}

// -----

// The rank of a tensor is that of its shape.
// expected-error@+1 {{'relax.func' op shape variable 's' has ndim 2 where it is bound, but 3 here [WF14]}}
relax.func private @wf14_rank_of_the_variable(!relax.shape<var = s, ndim = 2>) -> !relax.tensor<var = s, ndim = 3>

// -----

relax.func @wf14_rank_of_a_cast(%s: !relax.shape<var = s, ndim = 2>, %x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op shape variable 's' has ndim 2 where it is bound, but -1 here [WF14]}}
  %0 = relax.match_cast %x : !relax.object -> !relax.tensor<var = s>
  relax.return %0 : !relax.tensor<var = s>
}

// -----

// What a function type does not bind itself is a variable of the scope around it.
// expected-error@+1 {{'relax.func' op argument 'f' uses shape variable 'n', which no argument binds}}
relax.func @wf06_free_variable_of_a_function_type(%f: !relax.func<(!relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>>) -> !relax.object {
  relax.return %f : !relax.func<(!relax.tensor<[m], f32>) -> !relax.tensor<[n, m], f32>>
}

// -----

// expected-error@+1 {{'relax.func' op result uses shape variable 's', which no argument binds}}
relax.func private @wf04_free_variable_of_a_function_type() -> !relax.func<(!relax.tensor<var = s>) -> !relax.object>
