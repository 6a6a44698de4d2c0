// RUN: %invalid

// Elementwise operators: data types and broadcasting.

// Most functions want floats.
relax.func @float_of_integers(%x: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n], i32>'}}
  // expected-error@+1 {{'relax.exp' op failed to infer returned types}}
  %0 = relax.exp %x : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
  relax.return %0 : !relax.tensor<[n], i32>
}

// -----

relax.func @float_of_booleans(%x: !relax.tensor<[n], i1>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n], i1>'}}
  // expected-error@+1 {{'relax.tanh' op failed to infer returned types}}
  %0 = relax.tanh %x : (!relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  relax.return %0 : !relax.tensor<[n], i1>
}

// -----

// Booleans are no numbers.
relax.func @numeric_of_booleans(%x: !relax.tensor<[n], i1>) -> !relax.object {
  // expected-error@+2 {{expected x of integer or float data type, but got '!relax.tensor<[n], i1>'}}
  // expected-error@+1 {{'relax.negative' op failed to infer returned types}}
  %0 = relax.negative %x : (!relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  relax.return %0 : !relax.tensor<[n], i1>
}

// -----

relax.func @boolean_of_floats(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected x of Boolean data type, but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.logical_not' op failed to infer returned types}}
  %0 = relax.logical_not %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @unary_operand(%x: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.exp' op operand #0 must be a Relax tensor, but got '!relax.shape<[n]>'}}
  %0 = relax.exp %x : (!relax.shape<[n]>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// DR11: the declared type may say less than what is derived, never more.
relax.func @unary_stronger_rank(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.exp' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<ndim = 2, f32>'}}
  // expected-error@+1 {{'relax.exp' op failed to infer returned types}}
  %0 = relax.exp %x : (!relax.tensor<*, f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @unary_stronger_dimension(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.exp' op inferred type(s) '!relax.tensor<[n, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n, n], f32>'}}
  // expected-error@+1 {{'relax.exp' op failed to infer returned types}}
  %0 = relax.exp %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, n], f32>
  relax.return %0 : !relax.tensor<[n, n], f32>
}

// -----

relax.func @unary_stronger_data_type(%x: !relax.tensor<[n]>) -> !relax.object {
  // expected-error@+2 {{'relax.abs' op inferred type(s) '!relax.tensor<[n]>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.abs' op failed to infer returned types}}
  %0 = relax.abs %x : (!relax.tensor<[n]>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @unary_another_data_type(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.abs' op inferred type(s) '!relax.tensor<[n], f32>' are incompatible with return type(s) of operation '!relax.tensor<[n], f64>'}}
  // expected-error@+1 {{'relax.abs' op failed to infer returned types}}
  %0 = relax.abs %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f64>
  relax.return %0 : !relax.tensor<[n], f64>
}

// -----

relax.func @unary_other_device(%x: !relax.tensor<[n], f32, @cpu0>) -> !relax.object {
  // expected-error@+2 {{'relax.abs' op inferred type(s) '!relax.tensor<[n], f32, @cpu0>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32, @cuda0>'}}
  // expected-error@+1 {{'relax.abs' op failed to infer returned types}}
  %0 = relax.abs %x : (!relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32, @cuda0>
  relax.return %0 : !relax.tensor<[n], f32, @cuda0>
}

// -----

relax.func @astype_no_data_type(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected dtype to be a data type, but got 'tensor<4xf32>'}}
  // expected-error@+1 {{'relax.astype' op failed to infer returned types}}
  %0 = relax.astype %x {dtype = tensor<4xf32>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// GR18: no such width.
relax.func @astype_width(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected dtype to be a data type, but got 'i7'}}
  // expected-error@+1 {{'relax.astype' op failed to infer returned types}}
  %0 = relax.astype %x {dtype = i7} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @astype_missing(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.astype' op requires attribute 'dtype'}}
  %0 = relax.astype %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @astype_attribute(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{custom op 'relax.astype' 'relax.astype' op attribute 'dtype' failed to satisfy constraint: any type attribute}}
  %0 = relax.astype %x {dtype = "f32"} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Nothing is converted silently.
relax.func @binary_data_types(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f16>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f16'; insert relax.astype}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f16>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Different, and none of them 1.
relax.func @binary_constant_dimensions(%x: !relax.tensor<[n, 3], f32>, %y: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimensions that broadcast, but got 3 and 4}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n, 3], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @binary_constant_dimensions_of_other_ranks(%x: !relax.tensor<[3, n], f32>, %y: !relax.tensor<[2, 4, n], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimensions that broadcast, but got 4 and 3}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[3, n], f32>, !relax.tensor<[2, 4, n], f32>) -> !relax.tensor<ndim = 3, f32>
  relax.return %0 : !relax.tensor<ndim = 3, f32>
}

// -----

// `n` and `m` may be equal or 1: only the rank of the sum is known.
relax.func @binary_undecided(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// `n` and `n + 1` differ, but `n` may be 1.
relax.func @binary_undecided_difference(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n + 1], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible with return type(s) of operation '!relax.tensor<[n + 1], f32>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n + 1], f32>) -> !relax.tensor<[n + 1], f32>
  relax.return %0 : !relax.tensor<[n + 1], f32>
}

// -----

// The other operand may be of any rank.
relax.func @binary_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.add' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<ndim = 2, f32>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @binary_of_booleans(%x: !relax.tensor<[n], i1>, %y: !relax.tensor<[n], i1>) -> !relax.object {
  // expected-error@+2 {{expected x1 of integer or float data type, but got '!relax.tensor<[n], i1>'}}
  // expected-error@+1 {{'relax.add' op failed to infer returned types}}
  %0 = relax.add %x, %y : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  relax.return %0 : !relax.tensor<[n], i1>
}

// -----

// Unknown fits, but `x2` is known.
relax.func @binary_second_operand(%x: !relax.tensor<[n]>, %y: !relax.tensor<[n], i8>) -> !relax.object {
  // expected-error@+2 {{expected x2 of Boolean data type, but got '!relax.tensor<[n], i8>'}}
  // expected-error@+1 {{'relax.logical_and' op failed to infer returned types}}
  %0 = relax.logical_and %x, %y : (!relax.tensor<[n]>, !relax.tensor<[n], i8>) -> !relax.tensor<[n]>
  relax.return %0 : !relax.tensor<[n]>
}

// -----

relax.func @power_of_integers(%x: !relax.tensor<[n], i32>, %y: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+2 {{expected x1 of float data type, but got '!relax.tensor<[n], i32>'}}
  // expected-error@+1 {{'relax.power' op failed to infer returned types}}
  %0 = relax.power %x, %y : (!relax.tensor<[n], i32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
  relax.return %0 : !relax.tensor<[n], i32>
}

// -----

relax.func @binary_operand_count(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.add' op expected 2 operands, but found 1}}
  %0 = relax.add %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// A comparison gives Booleans.
relax.func @compare_result(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.less' op inferred type(s) '!relax.tensor<[n], i1>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.less' op failed to infer returned types}}
  %0 = relax.less %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @compare_data_types(%x: !relax.tensor<[n], i8>, %y: !relax.tensor<[n], ui8>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'i8' and 'ui8'; insert relax.astype}}
  // expected-error@+1 {{'relax.equal' op failed to infer returned types}}
  %0 = relax.equal %x, %y : (!relax.tensor<[n], i8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], i1>
  relax.return %0 : !relax.tensor<[n], i1>
}

// -----

relax.func @where_condition(%c: !relax.tensor<[n], f32>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected condition of Boolean data type, but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.where' op failed to infer returned types}}
  %0 = relax.where %c, %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @where_data_types(%c: !relax.tensor<[n], i1>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'i32'; insert relax.astype}}
  // expected-error@+1 {{'relax.where' op failed to infer returned types}}
  %0 = relax.where %c, %x, %y : (!relax.tensor<[n], i1>, !relax.tensor<[n], f32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @where_dimensions(%c: !relax.tensor<[2], i1>, %x: !relax.tensor<[1], f32>, %y: !relax.tensor<[3], f32>) -> !relax.object {
  // expected-error@+2 {{expected dimensions that broadcast, but got 2 and 3}}
  // expected-error@+1 {{'relax.where' op failed to infer returned types}}
  %0 = relax.where %c, %x, %y : (!relax.tensor<[2], i1>, !relax.tensor<[1], f32>, !relax.tensor<[3], f32>) -> !relax.tensor<[3], f32>
  relax.return %0 : !relax.tensor<[3], f32>
}

// -----

relax.func @bitwise_and_float(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected x1 of integer or Boolean data type, but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.bitwise_and' op failed to infer returned types}}
  %0 = relax.bitwise_and %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @left_shift_boolean(%x: !relax.tensor<[n], i1>, %y: !relax.tensor<[n], i1>) -> !relax.object {
  // expected-error@+2 {{expected x1 of integer data type, but got '!relax.tensor<[n], i1>'}}
  // expected-error@+1 {{'relax.left_shift' op failed to infer returned types}}
  %0 = relax.left_shift %x, %y : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @log_add_exp_integer(%x: !relax.tensor<[n], i32>, %y: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+2 {{expected x1 of float data type, but got '!relax.tensor<[n], i32>'}}
  // expected-error@+1 {{'relax.log_add_exp' op failed to infer returned types}}
  %0 = relax.log_add_exp %x, %y : (!relax.tensor<[n], i32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @logical_xor_integer(%x: !relax.tensor<[n], i32>, %y: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+2 {{expected x1 of Boolean data type, but got '!relax.tensor<[n], i32>'}}
  // expected-error@+1 {{'relax.logical_xor' op failed to infer returned types}}
  %0 = relax.logical_xor %x, %y : (!relax.tensor<[n], i32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @bitwise_not_float(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected x of integer or Boolean data type, but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.bitwise_not' op failed to infer returned types}}
  %0 = relax.bitwise_not %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @leakyrelu_integer(%x: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+2 {{expected x of float data type, but got '!relax.tensor<[n], i32>'}}
  // expected-error@+1 {{'relax.leakyrelu' op failed to infer returned types}}
  %0 = relax.leakyrelu %x : (!relax.tensor<[n], i32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @ewise_fma_shapes(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected tensors of the same shape, but got '!relax.tensor<[n, 4], f32>' and '!relax.tensor<[4], f32>'}}
  // expected-error@+1 {{'relax.ewise_fma' op failed to infer returned types}}
  %0 = relax.ewise_fma %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @ewise_fma_data_types(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>, %w: !relax.tensor<[n], f16>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f16'; insert relax.astype}}
  // expected-error@+1 {{'relax.ewise_fma' op failed to infer returned types}}
  %0 = relax.ewise_fma %x, %y, %w : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f16>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @ewise_fma_boolean(%x: !relax.tensor<[n], i1>, %y: !relax.tensor<[n], i1>, %w: !relax.tensor<[n], i1>) -> !relax.object {
  // expected-error@+2 {{expected x1 of integer or float data type, but got '!relax.tensor<[n], i1>'}}
  // expected-error@+1 {{'relax.ewise_fma' op failed to infer returned types}}
  %0 = relax.ewise_fma %x, %y, %w : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
