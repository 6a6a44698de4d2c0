// RUN: %roundtrip

// Elementwise operators of several tensors.

// The shorter operand is repeated along the dimensions that it lacks.
// CHECK-LABEL: relax.func @arithmetic
relax.func @arithmetic(%y: !relax.tensor<[4], f32>, %x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.add %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.add %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.divide %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.divide %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.floor_divide %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %2 = relax.floor_divide %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.maximum %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %3 = relax.maximum %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.minimum %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %4 = relax.minimum %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.mod %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %5 = relax.mod %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.multiply %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %6 = relax.multiply %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.power %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %7 = relax.power %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.subtract %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %8 = relax.subtract %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// Comparisons give Booleans.
// CHECK-LABEL: relax.func @comparison
relax.func @comparison(%y: !relax.tensor<[4], f32>, %x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  %0 = relax.equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  // CHECK: relax.greater %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  %1 = relax.greater %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  // CHECK: relax.greater_equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  %2 = relax.greater_equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  // CHECK: relax.less %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  %3 = relax.less %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  // CHECK: relax.less_equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  %4 = relax.less_equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  // CHECK: relax.not_equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  %5 = relax.not_equal %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], i1>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @logic
relax.func @logic(%x: !relax.tensor<[n], i1>) -> !relax.object {
  // CHECK: relax.logical_and %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  %0 = relax.logical_and %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  // CHECK: relax.logical_or %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  %1 = relax.logical_or %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  // CHECK: relax.equal %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  %2 = relax.equal %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  // CHECK: relax.not_equal %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  %3 = relax.not_equal %x, %x : (!relax.tensor<[n], i1>, !relax.tensor<[n], i1>) -> !relax.tensor<[n], i1>
  relax.return %x : !relax.tensor<[n], i1>
}

// Arithmetic takes integers of either sign; only power wants floats.
// CHECK-LABEL: relax.func @integers
relax.func @integers(%x: !relax.tensor<[n], ui8>) -> !relax.object {
  // CHECK: relax.add %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %0 = relax.add %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.divide %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %1 = relax.divide %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.floor_divide %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %2 = relax.floor_divide %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.maximum %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %3 = relax.maximum %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.minimum %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %4 = relax.minimum %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.mod %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %5 = relax.mod %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.multiply %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %6 = relax.multiply %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.subtract %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %7 = relax.subtract %x, %x : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  relax.return %x : !relax.tensor<[n], ui8>
}

// All three operands of where broadcast.
// CHECK-LABEL: relax.func @where
relax.func @where(%c: !relax.tensor<[n, 1], i1>, %y: !relax.tensor<[], i64>, %x: !relax.tensor<[m], i64>) -> !relax.object {
  // CHECK: relax.where %c, %x, %y : (!relax.tensor<[n, 1], i1>, !relax.tensor<[m], i64>, !relax.tensor<[], i64>) -> !relax.tensor<[n, m], i64>
  %0 = relax.where %c, %x, %y : (!relax.tensor<[n, 1], i1>, !relax.tensor<[m], i64>, !relax.tensor<[], i64>) -> !relax.tensor<[n, m], i64>
  relax.return %x : !relax.tensor<[m], i64>
}

// Bits and angles.
// CHECK-LABEL: relax.func @bitwise_and(
relax.func @bitwise_and(%x: !relax.tensor<[n, 1], i8>, %y: !relax.tensor<[4], i8>) -> !relax.object {
  // CHECK: relax.bitwise_and %x, %y : (!relax.tensor<[n, 1], i8>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], i8>
  %0 = relax.bitwise_and %x, %y : (!relax.tensor<[n, 1], i8>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], i8>
  relax.return %0 : !relax.tensor<[n, 4], i8>
}

// CHECK-LABEL: relax.func @bitwise_not(
relax.func @bitwise_not(%x: !relax.tensor<[n, 4], i1>) -> !relax.object {
  // CHECK: relax.bitwise_not %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[n, 4], i1>
  %0 = relax.bitwise_not %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[n, 4], i1>
  relax.return %0 : !relax.tensor<[n, 4], i1>
}

// CHECK-LABEL: relax.func @left_shift(
relax.func @left_shift(%x: !relax.tensor<[n, 4], ui8>, %y: !relax.tensor<[n, 4], ui8>) -> !relax.object {
  // CHECK: relax.left_shift %x, %y : (!relax.tensor<[n, 4], ui8>, !relax.tensor<[n, 4], ui8>) -> !relax.tensor<[n, 4], ui8>
  %0 = relax.left_shift %x, %y : (!relax.tensor<[n, 4], ui8>, !relax.tensor<[n, 4], ui8>) -> !relax.tensor<[n, 4], ui8>
  relax.return %0 : !relax.tensor<[n, 4], ui8>
}

// CHECK-LABEL: relax.func @atan2(
relax.func @atan2(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // CHECK: relax.atan2 %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.atan2 %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @log_add_exp(
relax.func @log_add_exp(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.log_add_exp %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  %0 = relax.log_add_exp %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}

// CHECK-LABEL: relax.func @logical_xor(
relax.func @logical_xor(%x: !relax.tensor<[n], i1>, %y: !relax.tensor<[m], i1>) -> !relax.object {
  // CHECK: relax.logical_xor %x, %y : (!relax.tensor<[n], i1>, !relax.tensor<[m], i1>) -> !relax.tensor<ndim = 1, i1>
  %0 = relax.logical_xor %x, %y : (!relax.tensor<[n], i1>, !relax.tensor<[m], i1>) -> !relax.tensor<ndim = 1, i1>
  relax.return %0 : !relax.tensor<ndim = 1, i1>
}

// CHECK-LABEL: relax.func @floor_mod(
relax.func @floor_mod(%x: !relax.tensor<[n, 4], i32>, %y: !relax.tensor<[1, 4], i32>) -> !relax.object {
  // CHECK: relax.floor_mod %x, %y : (!relax.tensor<[n, 4], i32>, !relax.tensor<[1, 4], i32>) -> !relax.tensor<[n, 4], i32>
  %0 = relax.floor_mod %x, %y : (!relax.tensor<[n, 4], i32>, !relax.tensor<[1, 4], i32>) -> !relax.tensor<[n, 4], i32>
  relax.return %0 : !relax.tensor<[n, 4], i32>
}

// A test of each element.
// CHECK-LABEL: relax.func @isnan(
relax.func @isnan(%x: !relax.tensor<[n, 4], f16>) -> !relax.object {
  // CHECK: relax.isnan %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], i1>
  %0 = relax.isnan %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], i1>
  relax.return %0 : !relax.tensor<[n, 4], i1>
}

// CHECK-LABEL: relax.func @isfinite(
relax.func @isfinite(%x: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.isfinite %x : (!relax.tensor<*, f32>) -> !relax.tensor<*, i1>
  %0 = relax.isfinite %x : (!relax.tensor<*, f32>) -> !relax.tensor<*, i1>
  relax.return %0 : !relax.tensor<*, i1>
}

// CHECK-LABEL: relax.func @clip(
relax.func @clip(%x: !relax.tensor<[n, 4], f32>, %y: !relax.prim<i64, 0>, %w: !relax.prim<f32>) -> !relax.object {
  // CHECK: relax.clip %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.prim<i64, 0>, !relax.prim<f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.clip %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.prim<i64, 0>, !relax.prim<f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @leakyrelu(
relax.func @leakyrelu(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.leakyrelu %x {alpha = 2.000000e-01 : f64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.leakyrelu %x {alpha = 0.2 : f64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @softplus(
relax.func @softplus(%x: !relax.tensor<ndim = 2, f64>) -> !relax.object {
  // CHECK: relax.softplus %x : (!relax.tensor<ndim = 2, f64>) -> !relax.tensor<ndim = 2, f64>
  %0 = relax.softplus %x : (!relax.tensor<ndim = 2, f64>) -> !relax.tensor<ndim = 2, f64>
  relax.return %0 : !relax.tensor<ndim = 2, f64>
}

// CHECK-LABEL: relax.func @ewise_fma(
relax.func @ewise_fma(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.ewise_fma %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.ewise_fma %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>, !relax.tensor<*, f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
