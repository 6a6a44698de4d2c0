// RUN: %roundtrip

// Operators that compute places.

// CHECK-LABEL: relax.func @flip(
relax.func @flip(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.flip %x {axis = -1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.flip %x {axis = -1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @flip_unknown(
relax.func @flip_unknown(%x: !relax.tensor<*, i8>) -> !relax.object {
  // CHECK: relax.flip %x {axis = 1 : i64} : (!relax.tensor<*, i8>) -> !relax.tensor<*, i8>
  %0 = relax.flip %x {axis = 1 : i64} : (!relax.tensor<*, i8>) -> !relax.tensor<*, i8>
  relax.return %0 : !relax.tensor<*, i8>
}

// CHECK-LABEL: relax.func @repeat(
relax.func @repeat(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // CHECK: relax.repeat %x {axis = 1 : i64, repeats = 3 : i64} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m * 3], f32>
  %0 = relax.repeat %x {axis = 1 : i64, repeats = 3 : i64} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m * 3], f32>
  relax.return %0 : !relax.tensor<[n, m * 3], f32>
}

// Without an axis, of all elements.
// CHECK-LABEL: relax.func @repeat_all(
relax.func @repeat_all(%x: !relax.tensor<[n, m, 3], f32>) -> !relax.object {
  // CHECK: relax.repeat %x {repeats = 2 : i64} : (!relax.tensor<[n, m, 3], f32>) -> !relax.tensor<[m * n * 6], f32>
  %0 = relax.repeat %x {repeats = 2 : i64} : (!relax.tensor<[n, m, 3], f32>) -> !relax.tensor<[m * n * 6], f32>
  relax.return %0 : !relax.tensor<[m * n * 6], f32>
}

// CHECK-LABEL: relax.func @repeat_all_rank(
relax.func @repeat_all_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // CHECK: relax.repeat %x {repeats = 2 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 1, f32>
  %0 = relax.repeat %x {repeats = 2 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// CHECK-LABEL: relax.func @repeat_rank(
relax.func @repeat_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // CHECK: relax.repeat %x {axis = 1 : i64, repeats = 2 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 3, f32>
  %0 = relax.repeat %x {axis = 1 : i64, repeats = 2 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 3, f32>
  relax.return %0 : !relax.tensor<ndim = 3, f32>
}

// Dimensions are aligned at the end.
// CHECK-LABEL: relax.func @tile(
relax.func @tile(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // CHECK: relax.tile %x {repeats = array<i64: 2, 3>} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, m * 2, 12], f32>
  %0 = relax.tile %x {repeats = array<i64: 2, 3>} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, m * 2, 12], f32>
  relax.return %0 : !relax.tensor<[n, m * 2, 12], f32>
}

// CHECK-LABEL: relax.func @tile_more(
relax.func @tile_more(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.tile %x {repeats = array<i64: 2, 1, 3>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[2, n, 12], f32>
  %0 = relax.tile %x {repeats = array<i64: 2, 1, 3>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[2, n, 12], f32>
  relax.return %0 : !relax.tensor<[2, n, 12], f32>
}

// CHECK-LABEL: relax.func @tile_rank(
relax.func @tile_rank(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // CHECK: relax.tile %x {repeats = array<i64: 2, 1, 3>} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 3, f32>
  %0 = relax.tile %x {repeats = array<i64: 2, 1, 3>} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 3, f32>
  relax.return %0 : !relax.tensor<ndim = 3, f32>
}

// CHECK-LABEL: relax.func @tile_unknown(
relax.func @tile_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.tile %x {repeats = array<i64: 2>} : (!relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  %0 = relax.tile %x {repeats = array<i64: 2>} : (!relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}

// CHECK-LABEL: relax.func @stack(
relax.func @stack(%x: !relax.tensor<[n, m], f32>, %y: !relax.tensor<[n, m], f32>) -> !relax.object {
  // CHECK: relax.stack %x, %y {axis = 1 : i64} : (!relax.tensor<[n, m], f32>, !relax.tensor<[n, m], f32>) -> !relax.tensor<[n, 2, m], f32>
  %0 = relax.stack %x, %y {axis = 1 : i64} : (!relax.tensor<[n, m], f32>, !relax.tensor<[n, m], f32>) -> !relax.tensor<[n, 2, m], f32>
  relax.return %0 : !relax.tensor<[n, 2, m], f32>
}

// CHECK-LABEL: relax.func @stack_last(
relax.func @stack_last(%x: !relax.tensor<[n, m], f32>, %y: !relax.tensor<ndim = 2, f32>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.stack %x, %y, %w {axis = -1 : i64} : (!relax.tensor<[n, m], f32>, !relax.tensor<ndim = 2, f32>, !relax.tensor<*, f32>) -> !relax.tensor<[n, m, 3], f32>
  %0 = relax.stack %x, %y, %w {axis = -1 : i64} : (!relax.tensor<[n, m], f32>, !relax.tensor<ndim = 2, f32>, !relax.tensor<*, f32>) -> !relax.tensor<[n, m, 3], f32>
  relax.return %0 : !relax.tensor<[n, m, 3], f32>
}

// CHECK-LABEL: relax.func @stack_rank(
relax.func @stack_rank(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // CHECK: relax.stack %x, %y : (!relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 3, f32>
  %0 = relax.stack %x, %y : (!relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 3, f32>
  relax.return %0 : !relax.tensor<ndim = 3, f32>
}

// CHECK-LABEL: relax.func @stack_unknown(
relax.func @stack_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.stack %x, %y : (!relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  %0 = relax.stack %x, %y : (!relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}

// CHECK-LABEL: relax.func @one_hot(
relax.func @one_hot(%x: !relax.tensor<[n, m], i64>, %y: !relax.prim<f32>, %w: !relax.prim<f32>) -> !relax.object {
  // CHECK: relax.one_hot %x, %y, %w {depth = 8 : i64} : (!relax.tensor<[n, m], i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[n, m, 8], f32>
  %0 = relax.one_hot %x, %y, %w {depth = 8 : i64} : (!relax.tensor<[n, m], i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[n, m, 8], f32>
  relax.return %0 : !relax.tensor<[n, m, 8], f32>
}

// CHECK-LABEL: relax.func @one_hot_first(
relax.func @one_hot_first(%x: !relax.tensor<[n, m], i8>, %y: !relax.prim<i8, 1>, %w: !relax.prim<i8, 0>) -> !relax.object {
  // CHECK: relax.one_hot %x, %y, %w {axis = 0 : i64, depth = 3 : i64} : (!relax.tensor<[n, m], i8>, !relax.prim<i8, 1>, !relax.prim<i8, 0>) -> !relax.tensor<[3, n, m], i8>
  %0 = relax.one_hot %x, %y, %w {axis = 0 : i64, depth = 3 : i64} : (!relax.tensor<[n, m], i8>, !relax.prim<i8, 1>, !relax.prim<i8, 0>) -> !relax.tensor<[3, n, m], i8>
  relax.return %0 : !relax.tensor<[3, n, m], i8>
}

// CHECK-LABEL: relax.func @one_hot_unknown(
relax.func @one_hot_unknown(%x: !relax.tensor<*, i64>, %y: !relax.prim<f32>, %w: !relax.prim<f32>) -> !relax.object {
  // CHECK: relax.one_hot %x, %y, %w {depth = 3 : i64} : (!relax.tensor<*, i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<*, f32>
  %0 = relax.one_hot %x, %y, %w {depth = 3 : i64} : (!relax.tensor<*, i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}

// CHECK-LABEL: relax.func @gather_elements(
relax.func @gather_elements(%x: !relax.tensor<[n, 4], f16>, %y: !relax.tensor<[n, 2], i64>) -> !relax.object {
  // CHECK: relax.gather_elements %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f16>, !relax.tensor<[n, 2], i64>) -> !relax.tensor<[n, 2], f16>
  %0 = relax.gather_elements %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f16>, !relax.tensor<[n, 2], i64>) -> !relax.tensor<[n, 2], f16>
  relax.return %0 : !relax.tensor<[n, 2], f16>
}

// CHECK-LABEL: relax.func @gather_elements_rank(
relax.func @gather_elements_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<ndim = 2, i64>) -> !relax.object {
  // CHECK: relax.gather_elements %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<ndim = 2, i64>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.gather_elements %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<ndim = 2, i64>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// CHECK-LABEL: relax.func @gather_elements_unknown(
relax.func @gather_elements_unknown(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<*, i64>) -> !relax.object {
  // CHECK: relax.gather_elements %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, i64>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.gather_elements %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, i64>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// CHECK-LABEL: relax.func @gather_nd(
relax.func @gather_nd(%x: !relax.tensor<[n, 4, m], f32>, %y: !relax.tensor<[k, 2], i64>) -> !relax.object {
  // CHECK: relax.gather_nd %x, %y : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[k, m], f32>
  %0 = relax.gather_nd %x, %y : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[k, m], f32>
  relax.return %0 : !relax.tensor<[k, m], f32>
}

// CHECK-LABEL: relax.func @gather_nd_batch(
relax.func @gather_nd_batch(%x: !relax.tensor<[b, n, m], f32>, %y: !relax.tensor<[b, k, 1], i32>) -> !relax.object {
  // CHECK: relax.gather_nd %x, %y {batch_dims = 1 : i64} : (!relax.tensor<[b, n, m], f32>, !relax.tensor<[b, k, 1], i32>) -> !relax.tensor<[b, k, m], f32>
  %0 = relax.gather_nd %x, %y {batch_dims = 1 : i64} : (!relax.tensor<[b, n, m], f32>, !relax.tensor<[b, k, 1], i32>) -> !relax.tensor<[b, k, m], f32>
  relax.return %0 : !relax.tensor<[b, k, m], f32>
}

// CHECK-LABEL: relax.func @gather_nd_rank(
relax.func @gather_nd_rank(%x: !relax.tensor<ndim = 3, f32>, %y: !relax.tensor<[k, 2], i64>) -> !relax.object {
  // CHECK: relax.gather_nd %x, %y : (!relax.tensor<ndim = 3, f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.gather_nd %x, %y : (!relax.tensor<ndim = 3, f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// The number of indices of a place is not known.
// CHECK-LABEL: relax.func @gather_nd_symbolic(
relax.func @gather_nd_symbolic(%x: !relax.tensor<[n, 4, m], f32>, %y: !relax.tensor<[k, l], i64>) -> !relax.object {
  // CHECK: relax.gather_nd %x, %y : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, l], i64>) -> !relax.tensor<*, f32>
  %0 = relax.gather_nd %x, %y : (!relax.tensor<[n, 4, m], f32>, !relax.tensor<[k, l], i64>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}

// CHECK-LABEL: relax.func @scatter_elements(
relax.func @scatter_elements(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], i64>, %w: !relax.tensor<[n, 2], f32>) -> !relax.object {
  // CHECK: relax.scatter_elements %x, %y, %w {axis = 1 : i64, reduction = "mean"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.scatter_elements %x, %y, %w {axis = 1 : i64, reduction = "mean"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @scatter_elements_unknown(
relax.func @scatter_elements_unknown(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<*, i64>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.scatter_elements %x, %y, %w : (!relax.tensor<ndim = 2, f32>, !relax.tensor<*, i64>, !relax.tensor<*, f32>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.scatter_elements %x, %y, %w : (!relax.tensor<ndim = 2, f32>, !relax.tensor<*, i64>, !relax.tensor<*, f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// CHECK-LABEL: relax.func @scatter_nd(
relax.func @scatter_nd(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 1], i64>, %w: !relax.tensor<[k, 4], f32>) -> !relax.object {
  // CHECK: relax.scatter_nd %x, %y, %w {reduction = "add"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.scatter_nd %x, %y, %w {reduction = "add"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @scatter_nd_unknown(
relax.func @scatter_nd_unknown(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<*, i64>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.scatter_nd %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, i64>, !relax.tensor<*, f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.scatter_nd %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, i64>, !relax.tensor<*, f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// The result is as large as the indices need.
// CHECK-LABEL: relax.func @layout_transform(
relax.func @layout_transform(%x: !relax.tensor<[n, 16], f32>) -> !relax.object {
  // CHECK: relax.layout_transform %x {index_map = #{{.*}}} : (!relax.tensor<[n, 16], f32>) -> !relax.tensor<[4, n, 4], f32>
  %0 = relax.layout_transform %x {index_map = affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>} : (!relax.tensor<[n, 16], f32>) -> !relax.tensor<[4, n, 4], f32>
  relax.return %0 : !relax.tensor<[4, n, 4], f32>
}

// CHECK-LABEL: relax.func @layout_transform_padded(
relax.func @layout_transform_padded(%x: !relax.tensor<[17], f32>) -> !relax.object {
  // CHECK: relax.layout_transform %x {index_map = #{{.*}}, pad_value = 1.000000e+00 : f32} : (!relax.tensor<[17], f32>) -> !relax.tensor<[5, 4], f32>
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>, pad_value = 1.000000e+00 : f32} : (!relax.tensor<[17], f32>) -> !relax.tensor<[5, 4], f32>
  relax.return %0 : !relax.tensor<[5, 4], f32>
}

// CHECK-LABEL: relax.func @layout_transform_symbolic(
relax.func @layout_transform_symbolic(%x: !relax.tensor<[n, 3], f32>) -> !relax.object {
  // CHECK: relax.layout_transform %x {index_map = #{{.*}}} : (!relax.tensor<[n, 3], f32>) -> !relax.tensor<[n * 3], f32>
  %0 = relax.layout_transform %x {index_map = affine_map<(d0, d1) -> (d0 * 3 + d1)>} : (!relax.tensor<[n, 3], f32>) -> !relax.tensor<[n * 3], f32>
  relax.return %0 : !relax.tensor<[n * 3], f32>
}

// CHECK-LABEL: relax.func @layout_transform_rank(
relax.func @layout_transform_rank(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // CHECK: relax.layout_transform %x {index_map = #{{.*}}} : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>} : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// CHECK-LABEL: relax.func @quantize(
relax.func @quantize(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // CHECK: relax.quantize %x, %y, %w {axis = 1 : i64, out_dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], i8>
  %0 = relax.quantize %x, %y, %w {axis = 1 : i64, out_dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], i8>
  relax.return %0 : !relax.tensor<[n, 4], i8>
}

// CHECK-LABEL: relax.func @quantize_unknown(
relax.func @quantize_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[], f32>, %w: !relax.tensor<[], i8>) -> !relax.object {
  // CHECK: relax.quantize %x, %y, %w {out_dtype = ui8} : (!relax.tensor<*, f32>, !relax.tensor<[], f32>, !relax.tensor<[], i8>) -> !relax.tensor<*, ui8>
  %0 = relax.quantize %x, %y, %w {out_dtype = ui8} : (!relax.tensor<*, f32>, !relax.tensor<[], f32>, !relax.tensor<[], i8>) -> !relax.tensor<*, ui8>
  relax.return %0 : !relax.tensor<*, ui8>
}

// CHECK-LABEL: relax.func @dequantize(
relax.func @dequantize(%x: !relax.tensor<[n, 4], i8>, %y: !relax.tensor<[n], f16>, %w: !relax.tensor<[n], i8>) -> !relax.object {
  // CHECK: relax.dequantize %x, %y, %w {axis = 0 : i64, out_dtype = f16} : (!relax.tensor<[n, 4], i8>, !relax.tensor<[n], f16>, !relax.tensor<[n], i8>) -> !relax.tensor<[n, 4], f16>
  %0 = relax.dequantize %x, %y, %w {axis = 0 : i64, out_dtype = f16} : (!relax.tensor<[n, 4], i8>, !relax.tensor<[n], f16>, !relax.tensor<[n], i8>) -> !relax.tensor<[n, 4], f16>
  relax.return %0 : !relax.tensor<[n, 4], f16>
}
