// RUN: %invalid

// Reductions: axes, data types and what they derive.

relax.func @axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: 2>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @negative_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got -3}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: -3>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @repeated_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected distinct axes, but got axis 1 twice}}
  // expected-error@+1 {{'relax.max' op failed to infer returned types}}
  %0 = relax.max %x {axis = array<i64: 1, -1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

relax.func @axis_of_a_scalar(%x: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected a tensor of rank 1 or more for axis 0, but got a scalar}}
  // expected-error@+1 {{'relax.min' op failed to infer returned types}}
  %0 = relax.min %x {axis = array<i64: 0>} : (!relax.tensor<[], f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

relax.func @booleans(%x: !relax.tensor<[n, 4], i1>) -> !relax.object {
  // expected-error@+2 {{expected x of integer or float data type, but got '!relax.tensor<[n, 4], i1>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[], i1>
  relax.return %0 : !relax.tensor<[], i1>
}

// -----

// Only mean needs floats.
relax.func @mean_of_integers(%x: !relax.tensor<[n, 4], i32>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n, 4], i32>'}}
  // expected-error@+1 {{'relax.mean' op failed to infer returned types}}
  %0 = relax.mean %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[], i32>
  relax.return %0 : !relax.tensor<[], i32>
}

// -----

// Without keepdims the dimension is dropped.
relax.func @rank(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n, 1], f32>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 1], f32>
  relax.return %0 : !relax.tensor<[n, 1], f32>
}

// -----

relax.func @keepdims(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<[n, 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @dimension(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.prod' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[4], f32>'}}
  // expected-error@+1 {{'relax.prod' op failed to infer returned types}}
  %0 = relax.prod %x {axis = array<i64: 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

relax.func @unknown_rank(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<ndim = 1, f32>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: 0>} : (!relax.tensor<*, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

relax.func @axis_attribute(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+1 {{custom op 'relax.sum' 'relax.sum' op attribute 'axis' failed to satisfy constraint: i64 dense array attribute}}
  %0 = relax.sum %x {axis = 1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @keepdims_attribute(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+1 {{custom op 'relax.sum' 'relax.sum' op attribute 'keepdims' failed to satisfy constraint: bool attribute}}
  %0 = relax.sum %x {keepdims = 1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @variance_integer(%x: !relax.tensor<[n, 4], i32>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n, 4], i32>'}}
  // expected-error@+1 {{'relax.variance' op failed to infer returned types}}
  %0 = relax.variance %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @std_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.std' op failed to infer returned types}}
  %0 = relax.std %x {axis = array<i64: 2>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @argmax_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.argmax' op failed to infer returned types}}
  %0 = relax.argmax %x {axis = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @argmax_boolean(%x: !relax.tensor<[n, 4], i1>) -> !relax.object {
  // expected-error@+2 {{expected x of integer or float data type, but got '!relax.tensor<[n, 4], i1>'}}
  // expected-error@+1 {{'relax.argmax' op failed to infer returned types}}
  %0 = relax.argmax %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @cumsum_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got -3}}
  // expected-error@+1 {{'relax.cumsum' op failed to infer returned types}}
  %0 = relax.cumsum %x {axis = -3 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @cumsum_dtype(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected the result of integer or float data type, but got '!relax.tensor<[n, 4], i1>'}}
  // expected-error@+1 {{'relax.cumsum' op failed to infer returned types}}
  %0 = relax.cumsum %x {dtype = i1} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @cumprod_boolean(%x: !relax.tensor<[n, 4], i1>) -> !relax.object {
  // expected-error@+2 {{expected data of integer or float data type, but got '!relax.tensor<[n, 4], i1>'}}
  // expected-error@+1 {{'relax.cumprod' op failed to infer returned types}}
  %0 = relax.cumprod %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @cumprod_dtype(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected dtype to be a data type, but got 'tensor<1xi32>'}}
  // expected-error@+1 {{'relax.cumprod' op failed to infer returned types}}
  %0 = relax.cumprod %x {dtype = tensor<1xi32>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
