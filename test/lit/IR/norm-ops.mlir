// RUN: %roundtrip

// Normalization and attention.

// The moving mean and variance are results, too.
// CHECK-LABEL: relax.func @batch_norm(
relax.func @batch_norm(%x: !relax.tensor<[n, c, 4], f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>, %v: !relax.tensor<[c], f32>, %u: !relax.tensor<[c], f32>) -> !relax.object {
  // CHECK: relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tuple<!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>>
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tuple<!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>>
}

// CHECK-LABEL: relax.func @batch_norm_rank(
relax.func @batch_norm_rank(%x: !relax.tensor<ndim = 2, f16>, %y: !relax.tensor<[4], f16>, %w: !relax.tensor<[4], f16>, %v: !relax.tensor<ndim = 1, f16>, %u: !relax.tensor<[4], f16>) -> !relax.object {
  // CHECK: relax.batch_norm %x, %y, %w, %v, %u {axis = -1 : i64, training = false} : (!relax.tensor<ndim = 2, f16>, !relax.tensor<[4], f16>, !relax.tensor<[4], f16>, !relax.tensor<ndim = 1, f16>, !relax.tensor<[4], f16>) -> !relax.tuple<!relax.tensor<ndim = 2, f16>, !relax.tensor<ndim = 1, f16>, !relax.tensor<[4], f16>>
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = -1 : i64, training = false} : (!relax.tensor<ndim = 2, f16>, !relax.tensor<[4], f16>, !relax.tensor<[4], f16>, !relax.tensor<ndim = 1, f16>, !relax.tensor<[4], f16>) -> !relax.tuple<!relax.tensor<ndim = 2, f16>, !relax.tensor<ndim = 1, f16>, !relax.tensor<[4], f16>>
  relax.return %0 : !relax.tuple<!relax.tensor<ndim = 2, f16>, !relax.tensor<ndim = 1, f16>, !relax.tensor<[4], f16>>
}

// CHECK-LABEL: relax.func @batch_norm_unknown(
relax.func @batch_norm_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<*, f32>, %w: !relax.tensor<*, f32>, %v: !relax.tensor<*, f32>, %u: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tuple<!relax.tensor<*, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>>
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tuple<!relax.tensor<*, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>>
  relax.return %0 : !relax.tuple<!relax.tensor<*, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>>
}

// CHECK-LABEL: relax.func @group_norm(
relax.func @group_norm(%x: !relax.tensor<[n, 4, h, w], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // CHECK: relax.group_norm %x, %y, %w {axes = array<i64: 2, 3>, channel_axis = 1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, 4, h, w], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4, h, w], f32>
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 2, 3>, channel_axis = 1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, 4, h, w], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4, h, w], f32>
  relax.return %0 : !relax.tensor<[n, 4, h, w], f32>
}

// Whether `c` is a multiple of the groups is checked at run time.
// CHECK-LABEL: relax.func @group_norm_symbolic(
relax.func @group_norm_symbolic(%x: !relax.tensor<[n, m, c], f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>) -> !relax.object {
  // CHECK: relax.group_norm %x, %y, %w {axes = array<i64: 1>, center = false, channel_axis = -1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, m, c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[n, m, c], f32>
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 1>, center = false, channel_axis = -1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, m, c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[n, m, c], f32>
  relax.return %0 : !relax.tensor<[n, m, c], f32>
}

// CHECK-LABEL: relax.func @instance_norm(
relax.func @instance_norm(%x: !relax.tensor<[n, c, h, w], f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>) -> !relax.object {
  // CHECK: relax.instance_norm %x, %y, %w {axes = array<i64: 2, 3>, channel_axis = 1 : i64} : (!relax.tensor<[n, c, h, w], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[n, c, h, w], f32>
  %0 = relax.instance_norm %x, %y, %w {axes = array<i64: 2, 3>, channel_axis = 1 : i64} : (!relax.tensor<[n, c, h, w], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[n, c, h, w], f32>
  relax.return %0 : !relax.tensor<[n, c, h, w], f32>
}

// CHECK-LABEL: relax.func @instance_norm_rank(
relax.func @instance_norm_rank(%x: !relax.tensor<ndim = 3, f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>) -> !relax.object {
  // CHECK: relax.instance_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 1 : i64} : (!relax.tensor<ndim = 3, f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<ndim = 3, f32>
  %0 = relax.instance_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 1 : i64} : (!relax.tensor<ndim = 3, f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<ndim = 3, f32>
  relax.return %0 : !relax.tensor<ndim = 3, f32>
}

// CHECK-LABEL: relax.func @rms_norm(
relax.func @rms_norm(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // CHECK: relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @rms_norm_axes(
relax.func @rms_norm_axes(%x: !relax.tensor<[n, m, k], f64>, %y: !relax.tensor<[m, k], f64>) -> !relax.object {
  // CHECK: relax.rms_norm %x, %y {axes = array<i64: 1, 2>, epsilon = 5.000000e-01 : f64} : (!relax.tensor<[n, m, k], f64>, !relax.tensor<[m, k], f64>) -> !relax.tensor<[n, m, k], f64>
  %0 = relax.rms_norm %x, %y {axes = array<i64: 1, 2>, epsilon = 5.000000e-01 : f64} : (!relax.tensor<[n, m, k], f64>, !relax.tensor<[m, k], f64>) -> !relax.tensor<[n, m, k], f64>
  relax.return %0 : !relax.tensor<[n, m, k], f64>
}

// CHECK-LABEL: relax.func @rms_norm_unknown(
relax.func @rms_norm_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // CHECK: relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<*, f32>, !relax.tensor<[4], f32>) -> !relax.tensor<*, f32>
  %0 = relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<*, f32>, !relax.tensor<[4], f32>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}

// CHECK-LABEL: relax.func @attention(
relax.func @attention(%x: !relax.tensor<[b, n, 8, 64], f32>, %y: !relax.tensor<[b, m, 8, 64], f32>, %w: !relax.tensor<[b, m, 8, 32], f32>) -> !relax.object {
  // CHECK: relax.attention %x, %y, %w : (!relax.tensor<[b, n, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 32], f32>) -> !relax.tensor<[b, n, 8, 32], f32>
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[b, n, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 32], f32>) -> !relax.tensor<[b, n, 8, 32], f32>
  relax.return %0 : !relax.tensor<[b, n, 8, 32], f32>
}

// Several heads of the query have one of key and value in common.
// CHECK-LABEL: relax.func @attention_heads(
relax.func @attention_heads(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 2, 4], f32>, %w: !relax.tensor<[2, 7, 2, 4], f32>) -> !relax.object {
  // CHECK: relax.attention %x, %y, %w {causal_mask = "BottomRight", scale = 2.500000e-01 : f64, window_size = 4 : i64} : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 2, 4], f32>, !relax.tensor<[2, 7, 2, 4], f32>) -> !relax.tensor<[2, 5, 8, 4], f32>
  %0 = relax.attention %x, %y, %w {causal_mask = "BottomRight", scale = 2.500000e-01 : f64, window_size = 4 : i64} : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 2, 4], f32>, !relax.tensor<[2, 7, 2, 4], f32>) -> !relax.tensor<[2, 5, 8, 4], f32>
  relax.return %0 : !relax.tensor<[2, 5, 8, 4], f32>
}

// CHECK-LABEL: relax.func @attention_bias(
relax.func @attention_bias(%x: !relax.tensor<[b, n, 8, 64], f32>, %y: !relax.tensor<[b, m, 8, 64], f32>, %w: !relax.tensor<[b, m, 8, 64], f32>, %v: !relax.tensor<[b, 1, n, m], f32>) -> !relax.object {
  // CHECK: relax.attention %x, %y, %w, %v {causal_mask = "TopLeft"} : (!relax.tensor<[b, n, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, 1, n, m], f32>) -> !relax.tensor<[b, n, 8, 64], f32>
  %0 = relax.attention %x, %y, %w, %v {causal_mask = "TopLeft"} : (!relax.tensor<[b, n, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, 1, n, m], f32>) -> !relax.tensor<[b, n, 8, 64], f32>
  relax.return %0 : !relax.tensor<[b, n, 8, 64], f32>
}

// CHECK-LABEL: relax.func @attention_rank(
relax.func @attention_rank(%x: !relax.tensor<ndim = 4, f16>, %y: !relax.tensor<ndim = 4, f16>, %w: !relax.tensor<ndim = 4, f16>) -> !relax.object {
  // CHECK: relax.attention %x, %y, %w : (!relax.tensor<ndim = 4, f16>, !relax.tensor<ndim = 4, f16>, !relax.tensor<ndim = 4, f16>) -> !relax.tensor<ndim = 4, f16>
  %0 = relax.attention %x, %y, %w : (!relax.tensor<ndim = 4, f16>, !relax.tensor<ndim = 4, f16>, !relax.tensor<ndim = 4, f16>) -> !relax.tensor<ndim = 4, f16>
  relax.return %0 : !relax.tensor<ndim = 4, f16>
}

// CHECK-LABEL: relax.func @attention_unknown(
relax.func @attention_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[b, m, 8, 64], f32>, %w: !relax.tensor<[b, m, 8, 32], f32>) -> !relax.object {
  // CHECK: relax.attention %x, %y, %w : (!relax.tensor<*, f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 32], f32>) -> !relax.tensor<ndim = 4, f32>
  %0 = relax.attention %x, %y, %w : (!relax.tensor<*, f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 32], f32>) -> !relax.tensor<ndim = 4, f32>
  relax.return %0 : !relax.tensor<ndim = 4, f32>
}
