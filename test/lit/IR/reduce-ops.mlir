// RUN: %roundtrip

// Reductions.

// CHECK-LABEL: relax.func @reductions
relax.func @reductions(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.sum %x {axis = array<i64: -1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  %0 = relax.sum %x {axis = array<i64: -1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  // CHECK: relax.mean %x {axis = array<i64: 0>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4], f32>
  %1 = relax.mean %x {axis = array<i64: 0>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4], f32>
  // CHECK: relax.max %x {axis = array<i64: 0, 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[], f32>
  %2 = relax.max %x {axis = array<i64: 0, 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[], f32>
  // Without axes, all dimensions.
  // CHECK: relax.min %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[], f32>
  %3 = relax.min %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[], f32>
  // No axes at all: nothing is reduced.
  // CHECK: relax.prod %x {axis = array<i64>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %4 = relax.prod %x {axis = array<i64>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// With keepdims reduced dimensions have size 1.
// CHECK-LABEL: relax.func @keepdims
relax.func @keepdims(%x: !relax.tensor<[n, 4], i64>) -> !relax.object {
  // CHECK: relax.sum %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<[n, 4], i64>) -> !relax.tensor<[n, 1], i64>
  %0 = relax.sum %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<[n, 4], i64>) -> !relax.tensor<[n, 1], i64>
  // CHECK: relax.max %x {keepdims = true} : (!relax.tensor<[n, 4], i64>) -> !relax.tensor<[1, 1], i64>
  %1 = relax.max %x {keepdims = true} : (!relax.tensor<[n, 4], i64>) -> !relax.tensor<[1, 1], i64>
  relax.return %x : !relax.tensor<[n, 4], i64>
}

// CHECK-LABEL: relax.func @variance(
relax.func @variance(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // CHECK: relax.variance %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, 1, 4], f32>
  %0 = relax.variance %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, 1, 4], f32>
  relax.return %0 : !relax.tensor<[n, 1, 4], f32>
}

// CHECK-LABEL: relax.func @std(
relax.func @std(%x: !relax.tensor<[n, m, 4], f64>) -> !relax.object {
  // CHECK: relax.std %x : (!relax.tensor<[n, m, 4], f64>) -> !relax.tensor<[], f64>
  %0 = relax.std %x : (!relax.tensor<[n, m, 4], f64>) -> !relax.tensor<[], f64>
  relax.return %0 : !relax.tensor<[], f64>
}

// CHECK-LABEL: relax.func @argmax(
relax.func @argmax(%x: !relax.tensor<[n, m, 4], i8>) -> !relax.object {
  // CHECK: relax.argmax %x {axis = -1 : i64} : (!relax.tensor<[n, m, 4], i8>) -> !relax.tensor<[n, m], i64>
  %0 = relax.argmax %x {axis = -1 : i64} : (!relax.tensor<[n, m, 4], i8>) -> !relax.tensor<[n, m], i64>
  relax.return %0 : !relax.tensor<[n, m], i64>
}

// CHECK-LABEL: relax.func @argmin_all(
relax.func @argmin_all(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // CHECK: relax.argmin %x {keepdims = true} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[1, 1, 1], i64>
  %0 = relax.argmin %x {keepdims = true} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[1, 1, 1], i64>
  relax.return %0 : !relax.tensor<[1, 1, 1], i64>
}

// CHECK-LABEL: relax.func @argmax_rank(
relax.func @argmax_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // CHECK: relax.argmax %x {axis = 1 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 2, i64>
  %0 = relax.argmax %x {axis = 1 : i64} : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 2, i64>
  relax.return %0 : !relax.tensor<ndim = 2, i64>
}

// CHECK-LABEL: relax.func @argmax_unknown(
relax.func @argmax_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.argmax %x {axis = 1 : i64} : (!relax.tensor<*, f32>) -> !relax.tensor<*, i64>
  %0 = relax.argmax %x {axis = 1 : i64} : (!relax.tensor<*, f32>) -> !relax.tensor<*, i64>
  relax.return %0 : !relax.tensor<*, i64>
}

// Without an axis, over all elements.
// CHECK-LABEL: relax.func @cumsum(
relax.func @cumsum(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // CHECK: relax.cumsum %x : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[m * n * 4], f32>
  %0 = relax.cumsum %x : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[m * n * 4], f32>
  relax.return %0 : !relax.tensor<[m * n * 4], f32>
}

// CHECK-LABEL: relax.func @cumsum_dtype(
relax.func @cumsum_dtype(%x: !relax.tensor<[n, m, 4], i1>) -> !relax.object {
  // CHECK: relax.cumsum %x {axis = 0 : i64, dtype = i64, exclusive = true} : (!relax.tensor<[n, m, 4], i1>) -> !relax.tensor<[n, m, 4], i64>
  %0 = relax.cumsum %x {axis = 0 : i64, dtype = i64, exclusive = true} : (!relax.tensor<[n, m, 4], i1>) -> !relax.tensor<[n, m, 4], i64>
  relax.return %0 : !relax.tensor<[n, m, 4], i64>
}

// CHECK-LABEL: relax.func @cummax(
relax.func @cummax(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.object {
  // CHECK: relax.cummax %x {axis = -1 : i64} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, m, 4], f32>
  %0 = relax.cummax %x {axis = -1 : i64} : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, m, 4], f32>
  // CHECK: relax.cummin %x : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[m * n * 4], f32>
  %1 = relax.cummin %x : (!relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[m * n * 4], f32>
  relax.return %0 : !relax.tensor<[n, m, 4], f32>
}

// CHECK-LABEL: relax.func @cumprod_rank(
relax.func @cumprod_rank(%x: !relax.tensor<ndim = 3, f32>) -> !relax.object {
  // CHECK: relax.cumprod %x : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 1, f32>
  %0 = relax.cumprod %x : (!relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// CHECK-LABEL: relax.func @cumprod_unknown(
relax.func @cumprod_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.cumprod %x {axis = 1 : i64} : (!relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  %0 = relax.cumprod %x {axis = 1 : i64} : (!relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}
