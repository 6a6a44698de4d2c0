// RUN: %invalid

// DR11: tensors from a shape. The declared type is wrong on purpose,
// so that the error shows the derived one.

// The data type is that of the value.
relax.func @dr11_full(%s: !relax.shape<[n, m * 2]>, %v: !relax.tensor<[], i32>, %x: !relax.shape<[m]>) -> !relax.object {
  // expected-error@+2 {{'relax.full' op inferred type(s) '!relax.tensor<[n, m * 2], i32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<[n, m * 2]>, !relax.tensor<[], i32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Or the one that is given; the rank of the value is not known to be 0.
relax.func @dr11_full_data_type(%s: !relax.shape<[n]>, %v: !relax.tensor<*>) -> !relax.object {
  // expected-error@+2 {{'relax.full' op inferred type(s) '!relax.tensor<[n], f16>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v {dtype = f16} : (!relax.shape<[n]>, !relax.tensor<*>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Nothing.
relax.func @dr11_full_unknown(%s: !relax.shape<*>, %v: !relax.tensor<[]>) -> !relax.object {
  // expected-error@+2 {{'relax.full' op inferred type(s) '!relax.tensor<*>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<*>, !relax.tensor<[]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The shape and the data type.
relax.func @dr11_zeros(%s: !relax.shape<[n + 1]>, %x: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.zeros' op inferred type(s) '!relax.tensor<[n + 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.zeros' op failed to infer returned types}}
  %0 = relax.zeros %s {dtype = f32} : (!relax.shape<[n + 1]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The rank and the data type.
relax.func @dr11_ones_rank(%s: !relax.shape<ndim = 2>) -> !relax.object {
  // expected-error@+2 {{'relax.ones' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.ones' op failed to infer returned types}}
  %0 = relax.ones %s {dtype = f32} : (!relax.shape<ndim = 2>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_full_like(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.full_like' op inferred type(s) '!relax.tensor<[n, 4], i8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.full_like' op failed to infer returned types}}
  %0 = relax.full_like %x, %y {dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_ones_like(%x: !relax.tensor<[n, 4], f16>) -> !relax.object {
  // expected-error@+2 {{'relax.ones_like' op inferred type(s) '!relax.tensor<[n, 4], f16>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.ones_like' op failed to infer returned types}}
  %0 = relax.ones_like %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_zeros_like_rank(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.zeros_like' op inferred type(s) '!relax.tensor<ndim = 2, i1>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.zeros_like' op failed to infer returned types}}
  %0 = relax.zeros_like %x {dtype = i1} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The length is that of the range.
relax.func @dr11_arange(%x: !relax.prim<i64, 1>, %y: !relax.prim<i64, n * 2 + 1>, %w: !relax.prim<i64, 2>) -> !relax.object {
  // expected-error@+2 {{'relax.arange' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.arange' op failed to infer returned types}}
  %0 = relax.arange %x, %y, %w {dtype = f32} : (!relax.prim<i64, 1>, !relax.prim<i64, n * 2 + 1>, !relax.prim<i64, 2>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_arange_down(%x: !relax.prim<i64, 10>, %y: !relax.prim<i64, 0>, %w: !relax.prim<i64, -3>) -> !relax.object {
  // expected-error@+2 {{'relax.arange' op inferred type(s) '!relax.tensor<[4], i64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.arange' op failed to infer returned types}}
  %0 = relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64, 10>, !relax.prim<i64, 0>, !relax.prim<i64, -3>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_arange_unknown(%x: !relax.prim<i64>, %y: !relax.prim<i64, n>, %w: !relax.prim<i64, 1>) -> !relax.object {
  // expected-error@+2 {{'relax.arange' op inferred type(s) '!relax.tensor<ndim = 1, i64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.arange' op failed to infer returned types}}
  %0 = relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64>, !relax.prim<i64, n>, !relax.prim<i64, 1>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_eye(%x: !relax.prim<i64, n>, %y: !relax.prim<i64, 4>, %w: !relax.prim<i64, 0>) -> !relax.object {
  // expected-error@+2 {{'relax.eye' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.eye' op failed to infer returned types}}
  %0 = relax.eye %x, %y, %w {dtype = f32} : (!relax.prim<i64, n>, !relax.prim<i64, 4>, !relax.prim<i64, 0>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_eye_like(%x: !relax.tensor<[n, 4], f32>, %y: !relax.prim<i64>) -> !relax.object {
  // expected-error@+2 {{'relax.eye_like' op inferred type(s) '!relax.tensor<[n, 4], i8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.eye_like' op failed to infer returned types}}
  %0 = relax.eye_like %x, %y {dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.prim<i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_tril(%x: !relax.tensor<[b, n, 4], f32>, %y: !relax.prim<i64, 1>) -> !relax.object {
  // expected-error@+2 {{'relax.tril' op inferred type(s) '!relax.tensor<[b, n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.tril' op failed to infer returned types}}
  %0 = relax.tril %x, %y : (!relax.tensor<[b, n, 4], f32>, !relax.prim<i64, 1>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_triu_unknown(%x: !relax.tensor<*, f32>, %y: !relax.prim<i64>) -> !relax.object {
  // expected-error@+2 {{'relax.triu' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.triu' op failed to infer returned types}}
  %0 = relax.triu %x, %y : (!relax.tensor<*, f32>, !relax.prim<i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_random_bits(%x: !relax.tensor<[], ui64>, %y: !relax.prim<i64, n * 4>) -> !relax.object {
  // expected-error@+2 {{'relax.random_bits' op inferred type(s) '!relax.tensor<[n * 4], ui64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.random_bits' op failed to infer returned types}}
  %0 = relax.random_bits %x, %y : (!relax.tensor<[], ui64>, !relax.prim<i64, n * 4>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Of a key of unknown type the number of integers is known.
relax.func @dr11_random_bits_unknown(%x: !relax.tensor<*>, %y: !relax.prim<i64>) -> !relax.object {
  // expected-error@+2 {{'relax.random_bits' op inferred type(s) '!relax.tensor<ndim = 1, ui64>' are incompatible with return type(s) of operation '!relax.tensor<[99], i64>'}}
  // expected-error@+1 {{'relax.random_bits' op failed to infer returned types}}
  %0 = relax.random_bits %x, %y : (!relax.tensor<*>, !relax.prim<i64>) -> !relax.tensor<[99], i64>
  relax.return %0 : !relax.tensor<[99], i64>
}
