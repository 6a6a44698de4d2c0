// RUN: %invalid

// Tensors from a shape.

relax.func @full_rank(%s: !relax.shape<[n]>, %v: !relax.tensor<[1], f32>) -> !relax.object {
  // expected-error@+2 {{expected fill_value of rank 0, but got '!relax.tensor<[1], f32>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<[n]>, !relax.tensor<[1], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @full_data_type(%s: !relax.shape<[n]>, %v: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.full' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n], i32>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<[n]>, !relax.tensor<[], f32>) -> !relax.tensor<[n], i32>
  relax.return %0 : !relax.tensor<[n], i32>
}

// -----

relax.func @full_no_data_type(%s: !relax.shape<[n]>, %v: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected dtype to be a data type, but got 'index'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v {dtype = index} : (!relax.shape<[n]>, !relax.tensor<[], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Nothing says what the elements are.
relax.func @full_unknown_data_type(%s: !relax.shape<[n]>, %v: !relax.tensor<[]>) -> !relax.object {
  // expected-error@+2 {{'relax.full' op inferred type(s) '!relax.tensor<[n]>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<[n]>, !relax.tensor<[]>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @full_negative(%s: !relax.shape<[-1]>, %v: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimensions of 0 or more, but got '!relax.shape<[-1]>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<[-1]>, !relax.tensor<[], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

relax.func @full_negative_of_unknown_data_type(%s: !relax.shape<[-1]>, %v: !relax.tensor<[]>) -> !relax.object {
  // expected-error@+2 {{expected dimensions of 0 or more, but got '!relax.shape<[-1]>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<[-1]>, !relax.tensor<[]>) -> !relax.tensor<ndim = 1>
  relax.return %0 : !relax.tensor<ndim = 1>
}

// -----

relax.func @full_shape(%s: !relax.shape<[n]>, %v: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.full' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n + 1], f32>'}}
  // expected-error@+1 {{'relax.full' op failed to infer returned types}}
  %0 = relax.full %s, %v : (!relax.shape<[n]>, !relax.tensor<[], f32>) -> !relax.tensor<[n + 1], f32>
  relax.return %0 : !relax.tensor<[n + 1], f32>
}

// -----

relax.func @zeros_data_type(%s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{expected dtype to be a data type, but got 'i7'}}
  // expected-error@+1 {{'relax.zeros' op failed to infer returned types}}
  %0 = relax.zeros %s {dtype = i7} : (!relax.shape<[n]>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @zeros_missing_data_type(%s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.zeros' op requires attribute 'dtype'}}
  %0 = relax.zeros %s : (!relax.shape<[n]>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @zeros_negative(%s: !relax.shape<[n, -1]>) -> !relax.object {
  // expected-error@+2 {{expected dimensions of 0 or more, but got '!relax.shape<[n, -1]>'}}
  // expected-error@+1 {{'relax.zeros' op failed to infer returned types}}
  %0 = relax.zeros %s {dtype = f32} : (!relax.shape<[n, -1]>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @ones_shape(%s: !relax.shape<ndim = 2>) -> !relax.object {
  // expected-error@+2 {{'relax.ones' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[n, n], f32>'}}
  // expected-error@+1 {{'relax.ones' op failed to infer returned types}}
  %0 = relax.ones %s {dtype = f32} : (!relax.shape<ndim = 2>) -> !relax.tensor<[n, n], f32>
  relax.return %0 : !relax.tensor<[n, n], f32>
}

// -----

relax.func @ones_operand(%s: !relax.tensor<[2], i64>) -> !relax.object {
  // expected-error@+1 {{'relax.ones' op operand #0 must be a Relax shape, but got '!relax.tensor<[2], i64>'}}
  %0 = relax.ones %s {dtype = f32} : (!relax.tensor<[2], i64>) -> !relax.tensor<[4, 4], f32>
  relax.return %0 : !relax.tensor<[4, 4], f32>
}

// -----

relax.func @full_like_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[1], f32>) -> !relax.object {
  // expected-error@+2 {{expected fill_value of rank 0, but got '!relax.tensor<[1], f32>'}}
  // expected-error@+1 {{'relax.full_like' op failed to infer returned types}}
  %0 = relax.full_like %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[1], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @full_like_dtype(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected dtype to be a data type, but got 'tensor<1xi8>'}}
  // expected-error@+1 {{'relax.full_like' op failed to infer returned types}}
  %0 = relax.full_like %x, %y {dtype = tensor<1xi8>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @arange_step(%x: !relax.prim<i64, 1>, %y: !relax.prim<i64, n>, %w: !relax.prim<i64, 0>) -> !relax.object {
  // expected-error@+2 {{expected a step other than 0}}
  // expected-error@+1 {{'relax.arange' op failed to infer returned types}}
  %0 = relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64, 1>, !relax.prim<i64, n>, !relax.prim<i64, 0>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @arange_data_types(%x: !relax.prim<i64>, %y: !relax.prim<f32>, %w: !relax.prim<i64>) -> !relax.object {
  // expected-error@+2 {{expected start, end and step of the same data type, but got '!relax.prim<i64>', '!relax.prim<f32>' and '!relax.prim<i64>'}}
  // expected-error@+1 {{'relax.arange' op failed to infer returned types}}
  %0 = relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64>, !relax.prim<f32>, !relax.prim<i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @arange_boolean(%x: !relax.prim<i1>, %y: !relax.prim<i1>, %w: !relax.prim<i1>) -> !relax.object {
  // expected-error@+2 {{expected start of data type 'i64' or a float, but got 'i1'}}
  // expected-error@+1 {{'relax.arange' op failed to infer returned types}}
  %0 = relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i1>, !relax.prim<i1>, !relax.prim<i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @eye_negative(%x: !relax.prim<i64, -1>, %y: !relax.prim<i64, 4>, %w: !relax.prim<i64, 0>) -> !relax.object {
  // expected-error@+2 {{expected dimensions of 0 or more, but got -1 and 4}}
  // expected-error@+1 {{'relax.eye' op failed to infer returned types}}
  %0 = relax.eye %x, %y, %w {dtype = f32} : (!relax.prim<i64, -1>, !relax.prim<i64, 4>, !relax.prim<i64, 0>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @eye_float(%x: !relax.prim<f32>, %y: !relax.prim<i64, 4>, %w: !relax.prim<i64, 0>) -> !relax.object {
  // expected-error@+2 {{expected n of data type 'i64', but got 'f32'}}
  // expected-error@+1 {{'relax.eye' op failed to infer returned types}}
  %0 = relax.eye %x, %y, %w {dtype = f32} : (!relax.prim<f32>, !relax.prim<i64, 4>, !relax.prim<i64, 0>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @eye_like_rank(%x: !relax.tensor<[n, 4, 4], f32>, %y: !relax.prim<i64>) -> !relax.object {
  // expected-error@+2 {{expected x of rank 2, but got '!relax.tensor<[n, 4, 4], f32>'}}
  // expected-error@+1 {{'relax.eye_like' op failed to infer returned types}}
  %0 = relax.eye_like %x, %y : (!relax.tensor<[n, 4, 4], f32>, !relax.prim<i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @tril_rank(%x: !relax.tensor<[n], f32>, %y: !relax.prim<i64>) -> !relax.object {
  // expected-error@+2 {{expected x of rank 2 or more, but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.tril' op failed to infer returned types}}
  %0 = relax.tril %x, %y : (!relax.tensor<[n], f32>, !relax.prim<i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @triu_k(%x: !relax.tensor<[n, 4], f32>, %y: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{expected k of data type 'i64', but got 'f32'}}
  // expected-error@+1 {{'relax.triu' op failed to infer returned types}}
  %0 = relax.triu %x, %y : (!relax.tensor<[n, 4], f32>, !relax.prim<f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @random_bits_rank(%x: !relax.tensor<[1], ui64>, %y: !relax.prim<i64, 4>) -> !relax.object {
  // expected-error@+2 {{expected key of rank 0, but got '!relax.tensor<[1], ui64>'}}
  // expected-error@+1 {{'relax.random_bits' op failed to infer returned types}}
  %0 = relax.random_bits %x, %y : (!relax.tensor<[1], ui64>, !relax.prim<i64, 4>) -> !relax.tensor<[4], ui64>
  relax.return %0 : !relax.tensor<[4], ui64>
}

// -----

relax.func @random_bits_dtype(%x: !relax.tensor<[], i64>, %y: !relax.prim<i64, 4>) -> !relax.object {
  // expected-error@+2 {{expected key of data type 'ui64', but got '!relax.tensor<[], i64>'}}
  // expected-error@+1 {{'relax.random_bits' op failed to infer returned types}}
  %0 = relax.random_bits %x, %y : (!relax.tensor<[], i64>, !relax.prim<i64, 4>) -> !relax.tensor<[4], ui64>
  relax.return %0 : !relax.tensor<[4], ui64>
}

// -----

relax.func @random_bits_count(%x: !relax.tensor<[], ui64>, %y: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{expected count of data type 'i64', but got 'f32'}}
  // expected-error@+1 {{'relax.random_bits' op failed to infer returned types}}
  %0 = relax.random_bits %x, %y : (!relax.tensor<[], ui64>, !relax.prim<f32>) -> !relax.tensor<[4], ui64>
  relax.return %0 : !relax.tensor<[4], ui64>
}

// -----

relax.func @random_bits_negative(%x: !relax.tensor<[], ui64>, %y: !relax.prim<i64, -1>) -> !relax.object {
  // expected-error@+2 {{expected count of 0 or more, but got -1}}
  // expected-error@+1 {{'relax.random_bits' op failed to infer returned types}}
  %0 = relax.random_bits %x, %y : (!relax.tensor<[], ui64>, !relax.prim<i64, -1>) -> !relax.tensor<[4], ui64>
  relax.return %0 : !relax.tensor<[4], ui64>
}
