// RUN: %invalid

// DR11: elementwise operators. The declared type is wrong on purpose,
// so that the error shows the derived one.

// All that is known of the operand is known of the result.
relax.func @dr11_unary_all(%x: !relax.tensor<[n * 2, m], f32, @cuda0>, %s: !relax.shape<[n, m]>) -> !relax.object {
  // expected-error@+2 {{'relax.exp' op inferred type(s) '!relax.tensor<[n * 2, m], f32, @cuda0>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.exp' op failed to infer returned types}}
  %0 = relax.exp %x : (!relax.tensor<[n * 2, m], f32, @cuda0>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// An unknown data type stays unknown.
relax.func @dr11_unary_unknown_data_type(%x: !relax.tensor<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.exp' op inferred type(s) '!relax.tensor<[n]>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.exp' op failed to infer returned types}}
  %0 = relax.exp %x : (!relax.tensor<[n]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Only the data type changes.
relax.func @dr11_astype(%x: !relax.tensor<ndim = 2>) -> !relax.object {
  // expected-error@+2 {{'relax.astype' op inferred type(s) '!relax.tensor<ndim = 2, i8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.astype' op failed to infer returned types}}
  %0 = relax.astype %x {dtype = i8} : (!relax.tensor<ndim = 2>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Dimensions that are written differently and are equal.
relax.func @dr11_binary_equal(%x: !relax.tensor<[n * 2, m + 1], f32>, %y: !relax.tensor<[n + n, 1 + m], f32>, %s: !relax.shape<[n, m]>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<[n * 2, m + 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n * 2, m + 1], f32>, !relax.tensor<[n + n, 1 + m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// 1 gives way to any other dimension.
relax.func @dr11_binary_ones(%x: !relax.tensor<[n, 1, 4], f32>, %y: !relax.tensor<[m, 1], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<[n, m, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n, 1, 4], f32>, !relax.tensor<[m, 1], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The longer operand may come second.
relax.func @dr11_binary_lengths(%x: !relax.tensor<[4], f32>, %y: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<[n, m, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[4], f32>, !relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A scalar fits everything.
relax.func @dr11_binary_scalar(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.multiply' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.multiply' op failed to infer returned types}}
  %0 = relax.multiply %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// `n` and `m` may be equal, or one of them 1.
relax.func @dr11_binary_undecided(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The larger rank.
relax.func @dr11_binary_ranks(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<ndim = 2, f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Nothing of the shape.
relax.func @dr11_binary_unknown_rank(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<*, f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// One data type alone says nothing of the other.
relax.func @dr11_binary_unknown_data_type(%x: !relax.tensor<[n]>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<[n]>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n]>, !relax.tensor<[n], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A comparison gives Booleans, whatever is compared.
relax.func @dr11_compare(%x: !relax.tensor<[n]>, %y: !relax.tensor<[]>) -> !relax.object {
  // expected-error@+2 {{'relax.less' op inferred type(s) '!relax.tensor<[n], i1>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.less' op failed to infer returned types}}
  %0 = relax.less %x, %y : (!relax.tensor<[n]>, !relax.tensor<[]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The condition broadcasts with the others.
relax.func @dr11_where(%c: !relax.tensor<[n, 1], i1>, %x: !relax.tensor<[m], f32>, %y: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.where' op inferred type(s) '!relax.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.where' op failed to infer returned types}}
  %0 = relax.where %c, %x, %y : (!relax.tensor<[n, 1], i1>, !relax.tensor<[m], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Bits and angles.
relax.func @dr11_bitwise_and(%x: !relax.tensor<[n, 1], i8>, %y: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{'relax.bitwise_and' op inferred type(s) '!relax.tensor<[n, 4], i8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.bitwise_and' op failed to infer returned types}}
  %0 = relax.bitwise_and %x, %y : (!relax.tensor<[n, 1], i8>, !relax.tensor<[4], i8>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_bitwise_not(%x: !relax.tensor<[n, 4], i1>) -> !relax.object {
  // expected-error@+2 {{'relax.bitwise_not' op inferred type(s) '!relax.tensor<[n, 4], i1>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.bitwise_not' op failed to infer returned types}}
  %0 = relax.bitwise_not %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_left_shift(%x: !relax.tensor<[n, 4], ui8>, %y: !relax.tensor<[n, 4], ui8>) -> !relax.object {
  // expected-error@+2 {{'relax.left_shift' op inferred type(s) '!relax.tensor<[n, 4], ui8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.left_shift' op failed to infer returned types}}
  %0 = relax.left_shift %x, %y : (!relax.tensor<[n, 4], ui8>, !relax.tensor<[n, 4], ui8>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_atan2(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.atan2' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.atan2' op failed to infer returned types}}
  %0 = relax.atan2 %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_log_add_exp(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.log_add_exp' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.log_add_exp' op failed to infer returned types}}
  %0 = relax.log_add_exp %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_logical_xor(%x: !relax.tensor<[n], i1>, %y: !relax.tensor<[m], i1>) -> !relax.object {
  // expected-error@+2 {{'relax.logical_xor' op inferred type(s) '!relax.tensor<ndim = 1, i1>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.logical_xor' op failed to infer returned types}}
  %0 = relax.logical_xor %x, %y : (!relax.tensor<[n], i1>, !relax.tensor<[m], i1>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_floor_mod(%x: !relax.tensor<[n, 4], i32>, %y: !relax.tensor<[1, 4], i32>) -> !relax.object {
  // expected-error@+2 {{'relax.floor_mod' op inferred type(s) '!relax.tensor<[n, 4], i32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.floor_mod' op failed to infer returned types}}
  %0 = relax.floor_mod %x, %y : (!relax.tensor<[n, 4], i32>, !relax.tensor<[1, 4], i32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A test of each element.
relax.func @dr11_isnan(%x: !relax.tensor<[n, 4], f16>) -> !relax.object {
  // expected-error@+2 {{'relax.isnan' op inferred type(s) '!relax.tensor<[n, 4], i1>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.isnan' op failed to infer returned types}}
  %0 = relax.isnan %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_isfinite(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.isfinite' op inferred type(s) '!relax.tensor<*, i1>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.isfinite' op failed to infer returned types}}
  %0 = relax.isfinite %x : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_clip(%x: !relax.tensor<[n, 4], f32>, %y: !relax.prim<i64, 0>, %w: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{'relax.clip' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.clip' op failed to infer returned types}}
  %0 = relax.clip %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.prim<i64, 0>, !relax.prim<f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_leakyrelu(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.leakyrelu' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.leakyrelu' op failed to infer returned types}}
  %0 = relax.leakyrelu %x {alpha = 0.2 : f64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_softplus(%x: !relax.tensor<ndim = 2, f64>) -> !relax.object {
  // expected-error@+2 {{'relax.softplus' op inferred type(s) '!relax.tensor<ndim = 2, f64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.softplus' op failed to infer returned types}}
  %0 = relax.softplus %x : (!relax.tensor<ndim = 2, f64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_ewise_fma(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.ewise_fma' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.ewise_fma' op failed to infer returned types}}
  %0 = relax.ewise_fma %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}
