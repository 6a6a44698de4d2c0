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
