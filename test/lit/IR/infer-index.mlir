// RUN: %invalid

// DR11: operators that compute places. The declared type is wrong on purpose, so that the
// error shows the derived one.

relax.func @dr11_flip(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.flip' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.flip' op failed to infer returned types}}
  %0 = relax.flip %x {axis = -1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_flip_unknown(%x: !relax.tensor<*, i8>) -> !relax.object {
  // expected-error@+2 {{'relax.flip' op inferred type(s) '!relax.tensor<*, i8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.flip' op failed to infer returned types}}
  %0 = relax.flip %x {axis = 1 : i64} : (!relax.tensor<*, i8>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_repeat(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.repeat' op inferred type(s) '!relax.tensor<[n, m * 3], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.repeat' op failed to infer returned types}}
  %0 = relax.repeat %x {axis = 1 : i64, repeats = 3 : i64} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Without an axis, of all elements.
relax.func @dr11_repeat_all(%x: !relax.tensor<[n, m, 3], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.repeat' op inferred type(s) '!relax.tensor<[m * n * 6], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.repeat' op failed to infer returned types}}
  %0 = relax.repeat %x {repeats = 2 : i64} : (!relax.tensor<[n, m, 3], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_repeat_all_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.repeat' op inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.repeat' op failed to infer returned types}}
  %0 = relax.repeat %x {repeats = 2 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_repeat_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.repeat' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.repeat' op failed to infer returned types}}
  %0 = relax.repeat %x {axis = 1 : i64, repeats = 2 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Dimensions are aligned at the end.
relax.func @dr11_tile(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.tile' op inferred type(s) '!relax.tensor<[n, m * 2, 12], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.tile' op failed to infer returned types}}
  %0 = relax.tile %x {repeats = array<i64: 2, 3>} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_tile_more(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.tile' op inferred type(s) '!relax.tensor<[2, n, 12], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.tile' op failed to infer returned types}}
  %0 = relax.tile %x {repeats = array<i64: 2, 1, 3>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_tile_rank(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.tile' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.tile' op failed to infer returned types}}
  %0 = relax.tile %x {repeats = array<i64: 2, 1, 3>} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_tile_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.tile' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.tile' op failed to infer returned types}}
  %0 = relax.tile %x {repeats = array<i64: 2>} : (!relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_stack(%x: !relax.tensor<[n, m], f32>, %y: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.stack' op inferred type(s) '!relax.tensor<[n, 2, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y {axis = 1 : i64} : (!relax.tensor<[n, m], f32>, !relax.tensor<[n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_stack_last(%x: !relax.tensor<[n, m], f32>, %y: !relax.tensor<ndim = 2, f32>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.stack' op inferred type(s) '!relax.tensor<[n, m, 3], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y, %w {axis = -1 : i64} : (!relax.tensor<[n, m], f32>, !relax.tensor<ndim = 2, f32>, !relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_stack_rank(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.stack' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y : (!relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_stack_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.stack' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y : (!relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_one_hot(%x: !relax.tensor<[n, m], i64>, %y: !relax.prim<f32>, %w: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{'relax.one_hot' op inferred type(s) '!relax.tensor<[n, m, 8], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.one_hot' op failed to infer returned types}}
  %0 = relax.one_hot %x, %y, %w {depth = 8 : i64} : (!relax.tensor<[n, m], i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_one_hot_first(%x: !relax.tensor<[n, m], i8>, %y: !relax.prim<i8, 1>, %w: !relax.prim<i8, 0>) -> !relax.object {
  // expected-error@+2 {{'relax.one_hot' op inferred type(s) '!relax.tensor<[3, n, m], i8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.one_hot' op failed to infer returned types}}
  %0 = relax.one_hot %x, %y, %w {axis = 0 : i64, depth = 3 : i64} : (!relax.tensor<[n, m], i8>, !relax.prim<i8, 1>, !relax.prim<i8, 0>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_one_hot_unknown(%x: !relax.tensor<*, i64>, %y: !relax.prim<f32>, %w: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{'relax.one_hot' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.one_hot' op failed to infer returned types}}
  %0 = relax.one_hot %x, %y, %w {depth = 3 : i64} : (!relax.tensor<*, i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_gather_elements(%x: !relax.tensor<[n, 4], f16>, %y: !relax.tensor<[n, 2], i64>) -> !relax.object {
  // expected-error@+2 {{'relax.gather_elements' op inferred type(s) '!relax.tensor<[n, 2], f16>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.gather_elements' op failed to infer returned types}}
  %0 = relax.gather_elements %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f16>, !relax.tensor<[n, 2], i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_gather_elements_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<ndim = 2, i64>) -> !relax.object {
  // expected-error@+2 {{'relax.gather_elements' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.gather_elements' op failed to infer returned types}}
  %0 = relax.gather_elements %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<ndim = 2, i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_gather_elements_unknown(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<*, i64>) -> !relax.object {
  // expected-error@+2 {{'relax.gather_elements' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.gather_elements' op failed to infer returned types}}
  %0 = relax.gather_elements %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_gather_nd(%x: !relax.tensor<[n, 4, m], f32>, %y: !relax.tensor<[k, 2], i64>) -> !relax.object {
  // expected-error@+2 {{'relax.gather_nd' op inferred type(s) '!relax.tensor<[k, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_gather_nd_batch(%x: !relax.tensor<[b, n, m], f32>, %y: !relax.tensor<[b, k, 1], i32>) -> !relax.object {
  // expected-error@+2 {{'relax.gather_nd' op inferred type(s) '!relax.tensor<[b, k, m], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y {batch_dims = 1 : i64} : (!relax.tensor<[b, n, m], f32>, !relax.tensor<[b, k, 1], i32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_gather_nd_rank(%x: !relax.tensor<ndim = 3, f32>, %y: !relax.tensor<[k, 2], i64>) -> !relax.object {
  // expected-error@+2 {{'relax.gather_nd' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y : (!relax.tensor<ndim = 3, f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The number of indices of a place is not known.
relax.func @dr11_gather_nd_symbolic(%x: !relax.tensor<[n, 4, m], f32>, %y: !relax.tensor<[k, l], i64>) -> !relax.object {
  // expected-error@+2 {{'relax.gather_nd' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, l], i64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_scatter_elements(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], i64>, %w: !relax.tensor<[n, 2], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.scatter_elements' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.scatter_elements' op failed to infer returned types}}
  %0 = relax.scatter_elements %x, %y, %w {axis = 1 : i64, reduction = "mean"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_scatter_elements_unknown(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<*, i64>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.scatter_elements' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.scatter_elements' op failed to infer returned types}}
  %0 = relax.scatter_elements %x, %y, %w : (!relax.tensor<ndim = 2, f32>, !relax.tensor<*, i64>, !relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_scatter_nd(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 1], i64>, %w: !relax.tensor<[k, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.scatter_nd' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.scatter_nd' op failed to infer returned types}}
  %0 = relax.scatter_nd %x, %y, %w {reduction = "add"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_scatter_nd_unknown(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<*, i64>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.scatter_nd' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.scatter_nd' op failed to infer returned types}}
  %0 = relax.scatter_nd %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, i64>, !relax.tensor<*, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// The result is as large as the indices need.
relax.func @dr11_layout_transform(%x: !relax.tensor<[n, 16], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.layout_transform' op inferred type(s) '!relax.tensor<[4, n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>} : (!relax.tensor<[n, 16], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_layout_transform_padded(%x: !relax.tensor<[17], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.layout_transform' op inferred type(s) '!relax.tensor<[5, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>, pad_value = 1.000000e+00 : f32} : (!relax.tensor<[17], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Blocks are whole.
relax.func @dr11_layout_transform_blocks(%x: !relax.tensor<[3], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.layout_transform' op inferred type(s) '!relax.tensor<[1, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>} : (!relax.tensor<[3], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_layout_transform_symbolic(%x: !relax.tensor<[n, 3], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.layout_transform' op inferred type(s) '!relax.tensor<[n * 3], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0, d1) -> (d0 * 3 + d1)>} : (!relax.tensor<[n, 3], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_layout_transform_rank(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.layout_transform' op inferred type(s) '!relax.tensor<ndim = 2, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>} : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_quantize(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{'relax.quantize' op inferred type(s) '!relax.tensor<[n, 4], i8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.quantize' op failed to infer returned types}}
  %0 = relax.quantize %x, %y, %w {axis = 1 : i64, out_dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_quantize_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[], f32>, %w: !relax.tensor<[], i8>) -> !relax.object {
  // expected-error@+2 {{'relax.quantize' op inferred type(s) '!relax.tensor<*, ui8>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.quantize' op failed to infer returned types}}
  %0 = relax.quantize %x, %y, %w {out_dtype = ui8} : (!relax.tensor<*, f32>, !relax.tensor<[], f32>, !relax.tensor<[], i8>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_dequantize(%x: !relax.tensor<[n, 4], i8>, %y: !relax.tensor<[n], f16>, %w: !relax.tensor<[n], i8>) -> !relax.object {
  // expected-error@+2 {{'relax.dequantize' op inferred type(s) '!relax.tensor<[n, 4], f16>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.dequantize' op failed to infer returned types}}
  %0 = relax.dequantize %x, %y, %w {axis = 0 : i64, out_dtype = f16} : (!relax.tensor<[n, 4], i8>, !relax.tensor<[n], f16>, !relax.tensor<[n], i8>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}
