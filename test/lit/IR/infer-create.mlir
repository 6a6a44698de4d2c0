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
