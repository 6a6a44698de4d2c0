// RUN: %invalid

// Operators that move elements: axes, dimensions, numbers of elements.

relax.func @broadcast_to_dimension(%x: !relax.tensor<[3], f32>, %s: !relax.shape<[n, 4]>) -> !relax.object {
  // expected-error@+2 {{expected dimensions that broadcast, but got 3 and 4}}
  // expected-error@+1 {{'relax.broadcast_to' op failed to infer returned types}}
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[3], f32>, !relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @broadcast_to_smaller_rank(%x: !relax.tensor<[n, 4], f32>, %s: !relax.shape<[4]>) -> !relax.object {
  // expected-error@+2 {{expected a shape of rank 2 or more, but got '!relax.shape<[4]>'}}
  // expected-error@+1 {{'relax.broadcast_to' op failed to infer returned types}}
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[4]>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

relax.func @broadcast_to_unknown_shape(%x: !relax.tensor<[4], f32>, %s: !relax.shape<ndim = 2>) -> !relax.object {
  // expected-error@+2 {{'relax.broadcast_to' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[4, 4], f32>'}}
  // expected-error@+1 {{'relax.broadcast_to' op failed to infer returned types}}
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[4], f32>, !relax.shape<ndim = 2>) -> !relax.tensor<[4, 4], f32>
  relax.return %0 : !relax.tensor<[4, 4], f32>
}

// -----

// A shape may hold any integers; the dimensions of a tensor are not negative.
relax.func @broadcast_to_negative(%x: !relax.tensor<[1], f32>, %s: !relax.shape<[-4]>) -> !relax.object {
  // expected-error@+2 {{expected dimensions of 0 or more, but got '!relax.shape<[-4]>'}}
  // expected-error@+1 {{'relax.broadcast_to' op failed to infer returned types}}
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[1], f32>, !relax.shape<[-4]>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

relax.func @broadcast_to_operand(%x: !relax.tensor<[4], f32>, %y: !relax.tensor<[2], i64>) -> !relax.object {
  // expected-error@+1 {{'relax.broadcast_to' op operand #1 must be a Relax shape, but got '!relax.tensor<[2], i64>'}}
  %0 = relax.broadcast_to %x, %y : (!relax.tensor<[4], f32>, !relax.tensor<[2], i64>) -> !relax.tensor<[4, 4], f32>
  relax.return %0 : !relax.tensor<[4, 4], f32>
}

// -----

relax.func @concat_nothing() -> !relax.object {
  // expected-error@+2 {{expected at least one tensor}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat  : () -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @concat_ranks(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected tensors of the same rank, but got '!relax.tensor<[n, 4], f32>' and '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @concat_data_types(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], i32>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'i32'; insert relax.astype}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], i32>) -> !relax.tensor<[m + n], f32>
  relax.return %0 : !relax.tensor<[m + n], f32>
}

// -----

relax.func @concat_dimensions(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[m, 5], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimension 1 to be 4, but got 5}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m, 5], f32>) -> !relax.tensor<[m + n, 4], f32>
  relax.return %0 : !relax.tensor<[m + n, 4], f32>
}

// -----

// `n` and `m` may differ: that is checked at run time, and says nothing here.
relax.func @concat_undecided(%x: !relax.tensor<[2, n], f32>, %y: !relax.tensor<[2, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.concat' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[4, n], f32>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y : (!relax.tensor<[2, n], f32>, !relax.tensor<[2, m], f32>) -> !relax.tensor<[4, n], f32>
  relax.return %0 : !relax.tensor<[4, n], f32>
}

// -----

relax.func @concat_axis(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y {axis = 2} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 8], f32>
  relax.return %0 : !relax.tensor<[n, 8], f32>
}

// -----

relax.func @concat_axis_of_scalars(%x: !relax.tensor<[], f32>, %y: !relax.tensor<[], f32>) -> !relax.object {
  // expected-error@+2 {{expected a tensor of rank 1 or more for axis 0, but got a scalar}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y : (!relax.tensor<[], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

relax.func @concat_wrong_sum(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.concat' op inferred type(s) '!relax.tensor<[n * 2], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n * 3], f32>'}}
  // expected-error@+1 {{'relax.concat' op failed to infer returned types}}
  %0 = relax.concat %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n * 3], f32>
  relax.return %0 : !relax.tensor<[n * 3], f32>
}

// -----

relax.func @expand_dims_axis(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.expand_dims' op failed to infer returned types}}
  %0 = relax.expand_dims %x {axis = array<i64: 2>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n, 1], f32>
  relax.return %0 : !relax.tensor<[n, 1], f32>
}

// -----

// -2 counts from the end of the result, and is 1 there.
relax.func @expand_dims_repeated(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected distinct axes, but got axis 1 twice}}
  // expected-error@+1 {{'relax.expand_dims' op failed to infer returned types}}
  %0 = relax.expand_dims %x {axis = array<i64: 1, -2>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n, 1, 1], f32>
  relax.return %0 : !relax.tensor<[n, 1, 1], f32>
}

// -----

relax.func @expand_dims_missing(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.expand_dims' op requires attribute 'axis'}}
  %0 = relax.expand_dims %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @flatten_size(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.flatten' op inferred type(s) '!relax.tensor<[n * 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n * 2], f32>'}}
  // expected-error@+1 {{'relax.flatten' op failed to infer returned types}}
  %0 = relax.flatten %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 2], f32>
  relax.return %0 : !relax.tensor<[n * 2], f32>
}

// -----

relax.func @flatten_unknown(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.flatten' op inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.flatten' op failed to infer returned types}}
  %0 = relax.flatten %x : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @permute_dims_count(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected 2 axes, but got 1}}
  // expected-error@+1 {{'relax.permute_dims' op failed to infer returned types}}
  %0 = relax.permute_dims %x {axes = array<i64: 0>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32>
  relax.return %0 : !relax.tensor<[m, n], f32>
}

// -----

relax.func @permute_dims_repeated(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected distinct axes, but got axis 0 twice}}
  // expected-error@+1 {{'relax.permute_dims' op failed to infer returned types}}
  %0 = relax.permute_dims %x {axes = array<i64: 0, -2>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32>
  relax.return %0 : !relax.tensor<[m, n], f32>
}

// -----

relax.func @permute_dims_axis(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.permute_dims' op failed to infer returned types}}
  %0 = relax.permute_dims %x {axes = array<i64: 0, 2>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32>
  relax.return %0 : !relax.tensor<[m, n], f32>
}

// -----

relax.func @permute_dims_order(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.permute_dims' op inferred type(s) '!relax.tensor<[m, n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n, m, 4], f32>'}}
  // expected-error@+1 {{'relax.permute_dims' op failed to infer returned types}}
  %0 = relax.permute_dims %x {axes = array<i64: 1, 0, 2>} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, m, 4], f32>
  relax.return %0 : !relax.tensor<[n, m, 4], f32>
}

// -----

relax.func @reshape_constant_size(%x: !relax.tensor<[6], f32>, %s: !relax.shape<[2, 4]>) -> !relax.object {
  // expected-error@+2 {{expected a shape of 6 elements, but got 8}}
  // expected-error@+1 {{'relax.reshape' op failed to infer returned types}}
  %0 = relax.reshape %x, %s : (!relax.tensor<[6], f32>, !relax.shape<[2, 4]>) -> !relax.tensor<[2, 4], f32>
  relax.return %0 : !relax.tensor<[2, 4], f32>
}

// -----

// -1 is not taken for "whatever fits".
relax.func @reshape_negative(%x: !relax.tensor<[4], f32>, %s: !relax.shape<[-2, -2]>) -> !relax.object {
  // expected-error@+2 {{expected dimensions of 0 or more, but got '!relax.shape<[-2, -2]>'}}
  // expected-error@+1 {{'relax.reshape' op failed to infer returned types}}
  %0 = relax.reshape %x, %s : (!relax.tensor<[4], f32>, !relax.shape<[-2, -2]>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @split_neither(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected either sections or indices}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {axis = 1} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_both(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected either sections or indices}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {sections = 1, indices = array<i64: 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_multiple(%x: !relax.tensor<[n * 4, 4], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{expected dimension n * 4 to be a known multiple of 3 sections; use indices}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {sections = 3} : (!relax.tensor<[n * 4, 4], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

// `n` may be odd.
relax.func @split_unknown_multiple(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimension n to be a known multiple of 2 sections; use indices}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {sections = 2} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_no_section(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected one section or more, but got 0}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {axis = 1, sections = 0} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_negative_sections(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected one section or more, but got -1}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {axis = 1, sections = -1} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_sections_limit(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected at most 65536 sections, but got 1000000}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {axis = 1, sections = 1000000} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_descending(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected indices that ascend from 0, but got 2 after 4}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {indices = array<i64: 4, 2>} : (!relax.tensor<[n], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_negative_index(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected indices that ascend from 0, but got -1 after 0}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {indices = array<i64: -1>} : (!relax.tensor<[n], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_index(%x: !relax.tensor<[n mod 8], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{expected indices up to n mod 8, the dimension, but got 9}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {indices = array<i64: 9>} : (!relax.tensor<[n mod 8], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_axis(%x: !relax.tensor<[8], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -1 to 0, but got 1}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {indices = array<i64: 2>, axis = 1} : (!relax.tensor<[8], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @split_number_of_parts(%x: !relax.tensor<[8], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.split' op inferred type(s) '!relax.tuple<!relax.tensor<[4], f32>, !relax.tensor<[4], f32>>' are incompatible with return type(s) of operation '!relax.tuple<!relax.tensor<[8], f32>>'}}
  // expected-error@+1 {{'relax.split' op failed to infer returned types}}
  %0 = relax.split %x {sections = 2} : (!relax.tensor<[8], f32>) -> !relax.tuple<!relax.tensor<[8], f32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[8], f32>>
}

// -----

relax.func @split_result(%x: !relax.tensor<[8], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.split' op result #0 must be a Relax tuple, but got '!relax.tensor<[4], f32>'}}
  %0 = relax.split %x {sections = 2} : (!relax.tensor<[8], f32>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

relax.func @squeeze_dimension(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimension 1 to be 1, but got 4}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x {axis = array<i64: 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// `n * 2` is not 1, whatever `n` is.
relax.func @squeeze_symbolic_dimension(%x: !relax.tensor<[n, n * 2], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimension 1 to be 1, but got n * 2}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x {axis = array<i64: 1>} : (!relax.tensor<[n, n * 2], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @squeeze_axis(%x: !relax.tensor<[n, 1], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x {axis = array<i64: 2>} : (!relax.tensor<[n, 1], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @squeeze_repeated(%x: !relax.tensor<[n, 1], f32>) -> !relax.object {
  // expected-error@+2 {{expected distinct axes, but got axis 1 twice}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x {axis = array<i64: 1, -1>} : (!relax.tensor<[n, 1], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Without axes nothing may be left open.
relax.func @squeeze_unknown(%x: !relax.tensor<[n, 1], f32>) -> !relax.object {
  // expected-error@+2 {{expected axes to squeeze, as dimension n may be 1}}
  // expected-error@+1 {{'relax.squeeze' op failed to infer returned types}}
  %0 = relax.squeeze %x : (!relax.tensor<[n, 1], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @take_indices(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k], f32>) -> !relax.object {
  // expected-error@+2 {{expected indices of integer data type, but got '!relax.tensor<[k], f32>'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 0} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[k, 4], f32>
  relax.return %0 : !relax.tensor<[k, 4], f32>
}

// -----

relax.func @take_boolean_indices(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k], i1>) -> !relax.object {
  // expected-error@+2 {{expected indices of integer data type, but got '!relax.tensor<[k], i1>'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 0} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], i1>) -> !relax.tensor<[k, 4], f32>
  relax.return %0 : !relax.tensor<[k, 4], f32>
}

// -----

relax.func @take_mode(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k], i64>) -> !relax.object {
  // expected-error@+2 {{expected mode 'clip', 'wrap' or 'nan', but got 'fast'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 0, mode = "fast"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], i64>) -> !relax.tensor<[k, 4], f32>
  relax.return %0 : !relax.tensor<[k, 4], f32>
}

// -----

relax.func @take_nan_of_integers(%x: !relax.tensor<[n, 4], i32>, %i: !relax.tensor<[k], i64>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n, 4], i32>'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 0, mode = "nan"} : (!relax.tensor<[n, 4], i32>, !relax.tensor<[k], i64>) -> !relax.tensor<[k, 4], i32>
  relax.return %0 : !relax.tensor<[k, 4], i32>
}

// -----

relax.func @take_no_axis(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k], i64>) -> !relax.object {
  // expected-error@+2 {{expected an axis, as x has rank 2}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], i64>) -> !relax.tensor<[k, 4], f32>
  relax.return %0 : !relax.tensor<[k, 4], f32>
}

// -----

relax.func @take_axis(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k], i64>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 2} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], i64>) -> !relax.tensor<[k, 4], f32>
  relax.return %0 : !relax.tensor<[k, 4], f32>
}

// -----

relax.func @take_scalar(%x: !relax.tensor<[], f32>, %i: !relax.tensor<[k], i64>) -> !relax.object {
  // expected-error@+2 {{expected a tensor of rank 1 or more for axis 0, but got a scalar}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 0} : (!relax.tensor<[], f32>, !relax.tensor<[k], i64>) -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.tensor<[k], f32>
}

// -----

relax.func @take_result(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k], i64>) -> !relax.object {
  // expected-error@+2 {{'relax.take' op inferred type(s) '!relax.tensor<[k, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n, k], f32>'}}
  // expected-error@+1 {{'relax.take' op failed to infer returned types}}
  %0 = relax.take %x, %i {axis = 0} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], i64>) -> !relax.tensor<[n, k], f32>
  relax.return %0 : !relax.tensor<[n, k], f32>
}

// -----

relax.func @slice_axis(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[7]>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 2>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[7]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_axes(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1, 1]>, %w: !relax.shape<[7, 7]>) -> !relax.object {
  // expected-error@+2 {{expected distinct axes, but got axis 1 twice}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 1, -1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1, 1]>, !relax.shape<[7, 7]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_begin(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1, 2]>, %w: !relax.shape<[7]>) -> !relax.object {
  // expected-error@+2 {{expected 1 entries of begin, one for each axis, but got '!relax.shape<[1, 2]>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1, 2]>, !relax.shape<[7]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_end(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[]>) -> !relax.object {
  // expected-error@+2 {{expected 1 entries of end, one for each axis, but got '!relax.shape<[]>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_strides(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[7]>, %v: !relax.shape<[1, 1]>) -> !relax.object {
  // expected-error@+2 {{expected 1 entries of strides, one for each axis, but got '!relax.shape<[1, 1]>'}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w, %v {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[7]>, !relax.shape<[1, 1]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_stride(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[7]>, %v: !relax.shape<[0]>) -> !relax.object {
  // expected-error@+2 {{expected strides that are known and not 0, but got 0}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w, %v {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[7]>, !relax.shape<[0]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_symbolic_stride(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[7]>, %v: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+2 {{expected strides that are known and not 0, but got n}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w, %v {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[7]>, !relax.shape<[n]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_inbound_stride(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[7]>, %w: !relax.shape<[1]>, %v: !relax.shape<[-1]>) -> !relax.object {
  // expected-error@+2 {{expected strides that are known and positive, but got -1}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w, %v {assume_inbound = true, axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[7]>, !relax.shape<[1]>, !relax.shape<[-1]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @slice_inbound_end(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[7]>, %w: !relax.shape<[1]>) -> !relax.object {
  // expected-error@+2 {{expected an end not before begin, but got 7 to 1}}
  // expected-error@+1 {{'relax.strided_slice' op failed to infer returned types}}
  %0 = relax.strided_slice %x, %y, %w {assume_inbound = true, axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[7]>, !relax.shape<[1]>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
