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
