// RUN: %invalid

// DR11: linear algebra and neural networks. The declared type is wrong on purpose,
// so that the error shows the derived one.

// Inner dimensions that are written differently and are equal.
relax.func @dr11_matmul(%x: !relax.tensor<[n, k * 2], f32>, %y: !relax.tensor<[k + k, m], f32>, %s: !relax.shape<[k]>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[n, k * 2], f32>, !relax.tensor<[k + k, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Batch dimensions broadcast.
relax.func @dr11_matmul_batches(%x: !relax.tensor<[b, 1, n, 4], f32>, %y: !relax.tensor<[c, 4, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<[b, c, n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[b, 1, n, 4], f32>, !relax.tensor<[c, 4, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// `b` and `c` may be equal, or one of them 1.
relax.func @dr11_matmul_undecided_batch(%x: !relax.tensor<[b, n, 4], f32>, %y: !relax.tensor<[c, 4, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[b, n, 4], f32>, !relax.tensor<[c, 4, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// `k` and `l` have to be equal: that is checked at run time.
relax.func @dr11_matmul_undecided(%x: !relax.tensor<[n, k], f32>, %y: !relax.tensor<[l, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[n, k], f32>, !relax.tensor<[l, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A vector on the left is a row.
relax.func @dr11_matmul_row(%x: !relax.tensor<[k], f32>, %y: !relax.tensor<[b, k, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<[b, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[k], f32>, !relax.tensor<[b, k, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A vector on the right is a column.
relax.func @dr11_matmul_column(%x: !relax.tensor<[b, n, k], f32>, %y: !relax.tensor<[k], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<[b, n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[b, n, k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A scalar.
relax.func @dr11_matmul_vectors(%x: !relax.tensor<[k], f32>, %y: !relax.tensor<[k], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<[], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The larger rank, less one for the vector.
relax.func @dr11_matmul_ranks(%x: !relax.tensor<ndim = 4, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<ndim = 4, f32>, !relax.tensor<ndim = 1, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Nothing but the data type.
relax.func @dr11_matmul_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[4, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.matmul' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.matmul' op failed to infer returned types}}
  %0 = relax.matmul %x, %y : (!relax.tensor<*, f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// As the operand.
relax.func @dr11_softmax(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.softmax' op inferred type(s) '!relax.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.softmax' op failed to infer returned types}}
  %0 = relax.softmax %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The axis cannot be checked.
relax.func @dr11_softmax_unknown(%x: !relax.tensor<*>) -> !relax.object {
  // expected-error@+2 {{'relax.log_softmax' op inferred type(s) '!relax.tensor<*>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.log_softmax' op failed to infer returned types}}
  %0 = relax.log_softmax %x {axis = 5} : (!relax.tensor<*>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// `k` has to be `m`: that is checked at run time.
relax.func @dr11_layer_norm(%x: !relax.tensor<[n, m], f32>, %g: !relax.tensor<[k], f32>, %b: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.layer_norm' op inferred type(s) '!relax.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.layer_norm' op failed to infer returned types}}
  %0 = relax.layer_norm %x, %g, %b {axes = array<i64: -1>} : (!relax.tensor<[n, m], f32>, !relax.tensor<[k], f32>, !relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}
