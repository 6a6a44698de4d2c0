// RUN: %invalid

// DR11: operators that move elements. The declared type is wrong on purpose,
// so that the error shows the derived one.

// The shape decides.
relax.func @dr11_broadcast_to(%x: !relax.tensor<[1], f32>, %s: !relax.shape<[n, m + 1]>, %y: !relax.shape<[m]>) -> !relax.object {
  // expected-error@+2 {{'relax.broadcast_to' op inferred type(s) '!relax.tensor<[n, m + 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.broadcast_to' op failed to infer returned types}}
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[1], f32>, !relax.shape<[n, m + 1]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The shape is a value of which only the rank is known.
relax.func @dr11_broadcast_to_rank(%x: !relax.tensor<[n], f32>, %s: !relax.shape<ndim = 2>) -> !relax.object {
  // expected-error@+2 {{'relax.broadcast_to' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.broadcast_to' op failed to infer returned types}}
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[n], f32>, !relax.shape<ndim = 2>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The dimensions along the axis are added up.
relax.func @dr11_concat(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[m * 2, 4], f32>, %z: !relax.tensor<[3, 4], f32>, %s: !relax.shape<[m]>) -> !relax.object {
  // expected-error@+2 {{'relax.concat' op inferred type(s) '!relax.tensor<[m * 2 + n + 3, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y, %z : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m * 2, 4], f32>, !relax.tensor<[3, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Along the last axis.
relax.func @dr11_concat_last(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.concat' op inferred type(s) '!relax.tensor<[n, m + 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y {axis = -1} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// `n` and `m` have to be equal: that is checked at run time.
relax.func @dr11_concat_undecided(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.concat' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y {axis = 1} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Only the rank is known of one of them.
relax.func @dr11_concat_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.concat' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The axis cannot be checked either.
relax.func @dr11_concat_unknown_rank(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.concat' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y {axis = 7} : (!relax.tensor<*, f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The axes count in the result.
relax.func @dr11_expand_dims(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.expand_dims' op inferred type(s) '!relax.tensor<[n, 1, m, 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.expand_dims' op failed to infer returned types}}
  %0 = relax.expand_dims %x {axis = array<i64: -1, 1>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The rank grows.
relax.func @dr11_expand_dims_rank(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.expand_dims' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.expand_dims' op failed to infer returned types}}
  %0 = relax.expand_dims %x {axis = array<i64: 0>} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The product is multiplied out.
relax.func @dr11_flatten(%x: !relax.tensor<[n + 1, m], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.flatten' op inferred type(s) '!relax.tensor<[m * n + m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.flatten' op failed to infer returned types}}
  %0 = relax.flatten %x : (!relax.tensor<[n + 1, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// A vector in any case.
relax.func @dr11_flatten_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.flatten' op inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.flatten' op failed to infer returned types}}
  %0 = relax.flatten %x : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Dimension i is dimension axes[i] of the operand.
relax.func @dr11_permute_dims(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.permute_dims' op inferred type(s) '!relax.tensor<[4, n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.permute_dims' op failed to infer returned types}}
  %0 = relax.permute_dims %x {axes = array<i64: -1, 0, 1>} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Without axes, the reverse.
relax.func @dr11_permute_dims_reverse(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.permute_dims' op inferred type(s) '!relax.tensor<[4, m, n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.permute_dims' op failed to infer returned types}}
  %0 = relax.permute_dims %x : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// There is one axis for each dimension.
relax.func @dr11_permute_dims_unknown_rank(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.permute_dims' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.permute_dims' op failed to infer returned types}}
  %0 = relax.permute_dims %x {axes = array<i64: 1, 0>} : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The same number of elements.
relax.func @dr11_reshape(%x: !relax.tensor<[n, 4], f32>, %s: !relax.shape<[n * 2, 2]>) -> !relax.object {
  // expected-error@+2 {{'relax.reshape' op inferred type(s) '!relax.tensor<[n * 2, 2], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.reshape' op failed to infer returned types}}
  %0 = relax.reshape %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 2, 2]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// For `n` = 0 these are equal, so it is left to the run time.
relax.func @dr11_reshape_undecided(%x: !relax.tensor<[n, 4], f32>, %s: !relax.shape<[n, 5]>) -> !relax.object {
  // expected-error@+2 {{'relax.reshape' op inferred type(s) '!relax.tensor<[n, 5], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.reshape' op failed to infer returned types}}
  %0 = relax.reshape %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n, 5]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Nothing but the data type.
relax.func @dr11_reshape_unknown(%x: !relax.tensor<*, f32>, %s: !relax.shape<*>) -> !relax.object {
  // expected-error@+2 {{'relax.reshape' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.reshape' op failed to infer returned types}}
  %0 = relax.reshape %x, %s : (!relax.tensor<*, f32>, !relax.shape<*>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// `n * 4` is a multiple of 2.
relax.func @dr11_split_sections(%x: !relax.tensor<[n * 4, m], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.split' op inferred type(s) '!relax.tuple<!relax.tensor<[n * 2, m], f32>, !relax.tensor<[n * 2, m], f32>>' are incompatible with return type(s) of operation '!relax.tuple<!relax.object, !relax.shape<*>>'}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {sections = 2} : (!relax.tensor<[n * 4, m], f32>) -> !relax.tuple<!relax.object, !relax.shape<*>>
  relax.return %0 : !relax.tuple<!relax.object, !relax.shape<*>>
}

// -----

// The last part is what is left.
relax.func @dr11_split_indices(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.split' op inferred type(s) '!relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 3], f32>, !relax.tensor<[n, m - 5], f32>>' are incompatible with return type(s) of operation '!relax.tuple<!relax.object, !relax.shape<*>>'}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {axis = 1, indices = array<i64: 2, 5>} : (!relax.tensor<[n, m], f32>) -> !relax.tuple<!relax.object, !relax.shape<*>>
  relax.return %0 : !relax.tuple<!relax.object, !relax.shape<*>>
}

// -----

// The number of parts is known.
// The last part of a constant dimension is as large as it can be.
relax.func @dr11_split_uneven(%x: !relax.tensor<[10, 5], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.split' op inferred type(s) '!relax.tuple<!relax.tensor<[4, 5], f32>, !relax.tensor<[4, 5], f32>, !relax.tensor<[2, 5], f32>>' are incompatible}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {sections = 3} : (!relax.tensor<[10, 5], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_split_empty(%x: !relax.tensor<[10, 5], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.split' op inferred type(s) '!relax.tuple<!relax.tensor<[10, 2], f32>, !relax.tensor<[10, 2], f32>, !relax.tensor<[10, 1], f32>, !relax.tensor<[10, 0], f32>>' are incompatible}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {axis = 1, sections = 4} : (!relax.tensor<[10, 5], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

// Indices beyond a constant dimension stand for its ends, and parts may be empty.
relax.func @dr11_split_any_indices(%x: !relax.tensor<[6], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.split' op inferred type(s) '!relax.tuple<!relax.tensor<[0], f32>, !relax.tensor<[4], f32>, !relax.tensor<[0], f32>, !relax.tensor<[4], f32>, !relax.tensor<[0], f32>>' are incompatible}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {indices = array<i64: -3, 4, 2, 9>} : (!relax.tensor<[6], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_split_unknown(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.split' op inferred type(s) '!relax.tuple<!relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>>' are incompatible with return type(s) of operation '!relax.tuple<!relax.object, !relax.shape<*>>'}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {sections = 3} : (!relax.tensor<ndim = 1, f32>) -> !relax.tuple<!relax.object, !relax.shape<*>>
  relax.return %0 : !relax.tuple<!relax.object, !relax.shape<*>>
}

// -----

// `m` has to be 1: that is checked at run time.
relax.func @dr11_squeeze(%x: !relax.tensor<[1, n, 1, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.squeeze' op inferred type(s) '!relax.tensor<[n, 1], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x {axis = array<i64: 0, -1>} : (!relax.tensor<[1, n, 1, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Without axes, all ones.
relax.func @dr11_squeeze_all(%x: !relax.tensor<[1, 4, 1], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.squeeze' op inferred type(s) '!relax.tensor<[4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x : (!relax.tensor<[1, 4, 1], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The rank shrinks.
relax.func @dr11_squeeze_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.squeeze' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x {axis = array<i64: 1>} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Any number of dimensions may be 1.
relax.func @dr11_squeeze_unknown(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.squeeze' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The dimensions of the indices stand in place of the axis.
relax.func @dr11_take(%x: !relax.tensor<[n, m, 4], f32>, %i: !relax.tensor<[k, l], i32>) -> !relax.object {
  // expected-error@+2 {{'relax.take' op inferred type(s) '!relax.tensor<[n, k, l, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 1} : (!relax.tensor<[n, m, 4], f32>, !relax.tensor<[k, l], i32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The ranks are added, less one.
relax.func @dr11_take_rank(%x: !relax.tensor<[n, m, 4], f32>, %i: !relax.tensor<ndim = 2, i32>) -> !relax.object {
  // expected-error@+2 {{'relax.take' op inferred type(s) '!relax.tensor<ndim = 4, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 1} : (!relax.tensor<[n, m, 4], f32>, !relax.tensor<ndim = 2, i32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Nothing but the data type.
relax.func @dr11_take_unknown(%x: !relax.tensor<*, f32>, %i: !relax.tensor<[k], i32>) -> !relax.object {
  // expected-error@+2 {{'relax.take' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i : (!relax.tensor<*, f32>, !relax.tensor<[k], i32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_slice(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[7]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<[n, 6], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[7]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_slice_strides(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[8]>, %w: !relax.shape<[0]>, %v: !relax.shape<[-3]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<[n, 3], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w, %v {axes = array<i64: -1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[8]>, !relax.shape<[0]>, !relax.shape<[-3]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Places count from the end, and mean the nearest one.
relax.func @dr11_slice_clamped(%x: !relax.tensor<[5, 10], f32>, %y: !relax.shape<[-3, 2]>, %w: !relax.shape<[100, -100]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<[3, 0], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0, 1>} : (!relax.tensor<[5, 10], f32>, !relax.shape<[-3, 2]>, !relax.shape<[100, -100]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_slice_symbolic(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<[n - min(n, 1), 10], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_slice_inbound(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<[n - 1, 10], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {assume_inbound = true, axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_slice_rank(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<ndim = 2, f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_slice_unknown_ends(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<ndim = 1>, %w: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<ndim = 1>, !relax.shape<[n]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_slice_unknown(%x: !relax.tensor<*, f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.strided_slice' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<*, f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}
