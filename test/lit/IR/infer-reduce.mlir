// RUN: %invalid

// DR11: reductions. The declared type is wrong on purpose,
// so that the error shows the derived one.

// The dimension is dropped.
relax.func @dr11_axis(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: -2>} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// It stays as 1.
relax.func @dr11_keepdims(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<[1, m, 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: 0, -1>, keepdims = true} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A scalar.
relax.func @dr11_all(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.mean' op inferred type(s) '!relax.tensor<[], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.mean' op failed to infer returned types}}
  %0 = relax.mean %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// All ones.
relax.func @dr11_all_keepdims(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.max' op inferred type(s) '!relax.tensor<[1, 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.max' op failed to infer returned types}}
  %0 = relax.max %x {keepdims = true} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// No axes are not all axes.
relax.func @dr11_none(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.min' op inferred type(s) '!relax.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.min' op failed to infer returned types}}
  %0 = relax.min %x {axis = array<i64>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The rank shrinks.
relax.func @dr11_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.prod' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.prod' op failed to infer returned types}}
  %0 = relax.prod %x {axis = array<i64: 1>} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The rank stays.
relax.func @dr11_rank_keepdims(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Nothing but the data type.
relax.func @dr11_unknown_rank(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x {axis = array<i64: 1>} : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A scalar, of whatever it was.
relax.func @dr11_unknown_rank_all(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.sum' op inferred type(s) '!relax.tensor<ndim = 0, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.sum' op failed to infer returned types}}
  %0 = relax.sum %x : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_variance(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.variance' op inferred type(s) '!relax.tensor<[n, 1, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.variance' op failed to infer returned types}}
  %0 = relax.variance %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_std(%x: !relax.tensor<[n, m, 4], f64>) -> !relax.object {
  // expected-error@+2 {{'relax.std' op inferred type(s) '!relax.tensor<[], f64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.std' op failed to infer returned types}}
  %0 = relax.std %x : (!relax.tensor<[n, m, 4], f64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_argmax(%x: !relax.tensor<[n, m, 4], i8>) -> !relax.object {
  // expected-error@+2 {{'relax.argmax' op inferred type(s) '!relax.tensor<[n, m], i64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.argmax' op failed to infer returned types}}
  %0 = relax.argmax %x {axis = -1 : i64} : (!relax.tensor<[n, m, 4], i8>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_argmin_all(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.argmin' op inferred type(s) '!relax.tensor<[1, 1, 1], i64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.argmin' op failed to infer returned types}}
  %0 = relax.argmin %x {keepdims = true} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_argmax_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.argmax' op inferred type(s) '!relax.tensor<ndim = 2, i64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.argmax' op failed to infer returned types}}
  %0 = relax.argmax %x {axis = 1 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_argmax_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.argmax' op inferred type(s) '!relax.tensor<*, i64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.argmax' op failed to infer returned types}}
  %0 = relax.argmax %x {axis = 1 : i64} : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Without an axis, over all elements.
relax.func @dr11_cumsum(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.cumsum' op inferred type(s) '!relax.tensor<[m * n * 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.cumsum' op failed to infer returned types}}
  %0 = relax.cumsum %x : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_cumsum_dtype(%x: !relax.tensor<[n, m, 4], i1>) -> !relax.object {
  // expected-error@+2 {{'relax.cumsum' op inferred type(s) '!relax.tensor<[n, m, 4], i64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.cumsum' op failed to infer returned types}}
  %0 = relax.cumsum %x {axis = 0 : i64, dtype = i64, exclusive = true} : (!relax.tensor<[n, m, 4], i1>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_cumprod_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.cumprod' op inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.cumprod' op failed to infer returned types}}
  %0 = relax.cumprod %x : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_cumprod_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.cumprod' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.cumprod' op failed to infer returned types}}
  %0 = relax.cumprod %x {axis = 1 : i64} : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}
