// RUN: %roundtrip

// Convolution and pooling.

// A convolution of batch, channels and the spatial dimensions.
// CHECK-LABEL: relax.func @conv1d(
relax.func @conv1d(%x: !relax.tensor<[n, 3, w], f32>, %y: !relax.tensor<[8, 3, 5], f32>) -> !relax.object {
  // CHECK: relax.conv1d %x, %y : (!relax.tensor<[n, 3, w], f32>, !relax.tensor<[8, 3, 5], f32>) -> !relax.tensor<[n, 8, w - 4], f32>
  %0 = relax.conv1d %x, %y : (!relax.tensor<[n, 3, w], f32>, !relax.tensor<[8, 3, 5], f32>) -> !relax.tensor<[n, 8, w - 4], f32>
  relax.return %0 : !relax.tensor<[n, 8, w - 4], f32>
}

// CHECK-LABEL: relax.func @conv2d(
relax.func @conv2d(%x: !relax.tensor<[2, 3, 28, 28], f32>, %y: !relax.tensor<[4, 3, 3, 3], f32>) -> !relax.object {
  // CHECK: relax.conv2d %x, %y {dilation = array<i64: 1, 2>, padding = array<i64: 1, 2, 3, 4>, strides = array<i64: 2, 1>} : (!relax.tensor<[2, 3, 28, 28], f32>, !relax.tensor<[4, 3, 3, 3], f32>) -> !relax.tensor<[2, 4, 15, 30], f32>
  %0 = relax.conv2d %x, %y {dilation = array<i64: 1, 2>, padding = array<i64: 1, 2, 3, 4>, strides = array<i64: 2, 1>} : (!relax.tensor<[2, 3, 28, 28], f32>, !relax.tensor<[4, 3, 3, 3], f32>) -> !relax.tensor<[2, 4, 15, 30], f32>
  relax.return %0 : !relax.tensor<[2, 4, 15, 30], f32>
}

// CHECK-LABEL: relax.func @conv3d(
relax.func @conv3d(%x: !relax.tensor<[n, 2, d, h, w], f32>, %y: !relax.tensor<[8, 2, 3, 3, 3], f32>) -> !relax.object {
  // CHECK: relax.conv3d %x, %y {padding = array<i64: 1, 1, 1, 1, 1, 1>, strides = array<i64: 1, 2, 3>} : (!relax.tensor<[n, 2, d, h, w], f32>, !relax.tensor<[8, 2, 3, 3, 3], f32>) -> !relax.tensor<[n, 8, d, (h - 1) floordiv 2 + 1, (w - 1) floordiv 3 + 1], f32>
  %0 = relax.conv3d %x, %y {padding = array<i64: 1, 1, 1, 1, 1, 1>, strides = array<i64: 1, 2, 3>} : (!relax.tensor<[n, 2, d, h, w], f32>, !relax.tensor<[8, 2, 3, 3, 3], f32>) -> !relax.tensor<[n, 8, d, (h - 1) floordiv 2 + 1, (w - 1) floordiv 3 + 1], f32>
  relax.return %0 : !relax.tensor<[n, 8, d, (h - 1) floordiv 2 + 1, (w - 1) floordiv 3 + 1], f32>
}

// The size of the window, and the channels, are not known.
// CHECK-LABEL: relax.func @conv2d_symbolic(
relax.func @conv2d_symbolic(%x: !relax.tensor<[n, c, h, w], f32>, %y: !relax.tensor<[o, i, 3, s], f32>) -> !relax.object {
  // CHECK: relax.conv2d %x, %y : (!relax.tensor<[n, c, h, w], f32>, !relax.tensor<[o, i, 3, s], f32>) -> !relax.tensor<[n, o, h - 2, -s + w + 1], f32>
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, c, h, w], f32>, !relax.tensor<[o, i, 3, s], f32>) -> !relax.tensor<[n, o, h - 2, -s + w + 1], f32>
  relax.return %0 : !relax.tensor<[n, o, h - 2, -s + w + 1], f32>
}

// Layouts name the dimensions.
// CHECK-LABEL: relax.func @conv2d_layouts(
relax.func @conv2d_layouts(%x: !relax.tensor<[n, h, w, 3], f32>, %y: !relax.tensor<[3, 3, 3, 8], f32>) -> !relax.object {
  // CHECK: relax.conv2d %x, %y {data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NCHW"} : (!relax.tensor<[n, h, w, 3], f32>, !relax.tensor<[3, 3, 3, 8], f32>) -> !relax.tensor<[n, 8, h - 2, w - 2], f32>
  %0 = relax.conv2d %x, %y {data_layout = "NHWC", kernel_layout = "HWIO", out_layout = "NCHW"} : (!relax.tensor<[n, h, w, 3], f32>, !relax.tensor<[3, 3, 3, 8], f32>) -> !relax.tensor<[n, 8, h - 2, w - 2], f32>
  relax.return %0 : !relax.tensor<[n, 8, h - 2, w - 2], f32>
}

// Groups, in another data type.
// CHECK-LABEL: relax.func @conv2d_groups(
relax.func @conv2d_groups(%x: !relax.tensor<[n, 4, 9, 9], i8>, %y: !relax.tensor<[4, 1, 3, 3], i8>) -> !relax.object {
  // CHECK: relax.conv2d %x, %y {groups = 4 : i64, out_dtype = i32} : (!relax.tensor<[n, 4, 9, 9], i8>, !relax.tensor<[4, 1, 3, 3], i8>) -> !relax.tensor<[n, 4, 7, 7], i32>
  %0 = relax.conv2d %x, %y {groups = 4 : i64, out_dtype = i32} : (!relax.tensor<[n, 4, 9, 9], i8>, !relax.tensor<[4, 1, 3, 3], i8>) -> !relax.tensor<[n, 4, 7, 7], i32>
  relax.return %0 : !relax.tensor<[n, 4, 7, 7], i32>
}

// Without shapes only the rank is known.
// CHECK-LABEL: relax.func @conv2d_rank(
relax.func @conv2d_rank(%x: !relax.tensor<ndim = 4, f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // CHECK: relax.conv2d %x, %y : (!relax.tensor<ndim = 4, f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<ndim = 4, f32>
  %0 = relax.conv2d %x, %y : (!relax.tensor<ndim = 4, f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<ndim = 4, f32>
  relax.return %0 : !relax.tensor<ndim = 4, f32>
}

// CHECK-LABEL: relax.func @conv2d_unknown(
relax.func @conv2d_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.conv2d %x, %y : (!relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tensor<ndim = 4, f32>
  %0 = relax.conv2d %x, %y : (!relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tensor<ndim = 4, f32>
  relax.return %0 : !relax.tensor<ndim = 4, f32>
}

// CHECK-LABEL: relax.func @conv2d_unknown_dtype(
relax.func @conv2d_unknown_dtype(%x: !relax.tensor<[1, 3, 8, 8]>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // CHECK: relax.conv2d %x, %y : (!relax.tensor<[1, 3, 8, 8]>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[1, 8, 6, 6]>
  %0 = relax.conv2d %x, %y : (!relax.tensor<[1, 3, 8, 8]>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[1, 8, 6, 6]>
  relax.return %0 : !relax.tensor<[1, 8, 6, 6]>
}

// CHECK-LABEL: relax.func @max_pool1d(
relax.func @max_pool1d(%x: !relax.tensor<[n, 3, w], f32>) -> !relax.object {
  // CHECK: relax.max_pool1d %x {pool_size = array<i64: 2>, strides = array<i64: 2>} : (!relax.tensor<[n, 3, w], f32>) -> !relax.tensor<[n, 3, w floordiv 2], f32>
  %0 = relax.max_pool1d %x {pool_size = array<i64: 2>, strides = array<i64: 2>} : (!relax.tensor<[n, 3, w], f32>) -> !relax.tensor<[n, 3, w floordiv 2], f32>
  relax.return %0 : !relax.tensor<[n, 3, w floordiv 2], f32>
}

// CHECK-LABEL: relax.func @max_pool2d(
relax.func @max_pool2d(%x: !relax.tensor<[1, 3, 32, 33], f32>) -> !relax.object {
  // CHECK: relax.max_pool2d %x {pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (!relax.tensor<[1, 3, 32, 33], f32>) -> !relax.tensor<[1, 3, 15, 16], f32>
  %0 = relax.max_pool2d %x {pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (!relax.tensor<[1, 3, 32, 33], f32>) -> !relax.tensor<[1, 3, 15, 16], f32>
  relax.return %0 : !relax.tensor<[1, 3, 15, 16], f32>
}

// A window that begins inside counts too.
// CHECK-LABEL: relax.func @max_pool2d_ceil(
relax.func @max_pool2d_ceil(%x: !relax.tensor<[1, 3, 32, 33], f32>) -> !relax.object {
  // CHECK: relax.max_pool2d %x {ceil_mode = true, pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (!relax.tensor<[1, 3, 32, 33], f32>) -> !relax.tensor<[1, 3, 16, 16], f32>
  %0 = relax.max_pool2d %x {ceil_mode = true, pool_size = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (!relax.tensor<[1, 3, 32, 33], f32>) -> !relax.tensor<[1, 3, 16, 16], f32>
  relax.return %0 : !relax.tensor<[1, 3, 16, 16], f32>
}

// It begins before the padding at the end.
// CHECK-LABEL: relax.func @avg_pool1d_ceil(
relax.func @avg_pool1d_ceil(%x: !relax.tensor<[n, 3, w], f32>) -> !relax.object {
  // CHECK: relax.avg_pool1d %x {ceil_mode = true, padding = array<i64: 1, 1>, pool_size = array<i64: 1>, strides = array<i64: 4>} : (!relax.tensor<[n, 3, w], f32>) -> !relax.tensor<[n, 3, w floordiv 4 + 1], f32>
  %0 = relax.avg_pool1d %x {ceil_mode = true, padding = array<i64: 1, 1>, pool_size = array<i64: 1>, strides = array<i64: 4>} : (!relax.tensor<[n, 3, w], f32>) -> !relax.tensor<[n, 3, w floordiv 4 + 1], f32>
  relax.return %0 : !relax.tensor<[n, 3, w floordiv 4 + 1], f32>
}

// CHECK-LABEL: relax.func @avg_pool2d_layout(
relax.func @avg_pool2d_layout(%x: !relax.tensor<[n, h, w, c], f16>) -> !relax.object {
  // CHECK: relax.avg_pool2d %x {layout = "NHWC", padding = array<i64: 1, 0, 1, 0>, pool_size = array<i64: 2, 3>} : (!relax.tensor<[n, h, w, c], f16>) -> !relax.tensor<[n, h + 1, w - 2, c], f16>
  %0 = relax.avg_pool2d %x {layout = "NHWC", pool_size = array<i64: 2, 3>, padding = array<i64: 1, 0, 1, 0>} : (!relax.tensor<[n, h, w, c], f16>) -> !relax.tensor<[n, h + 1, w - 2, c], f16>
  relax.return %0 : !relax.tensor<[n, h + 1, w - 2, c], f16>
}

// CHECK-LABEL: relax.func @avg_pool3d(
relax.func @avg_pool3d(%x: !relax.tensor<[n, 2, d, h, 9], f32>) -> !relax.object {
  // CHECK: relax.avg_pool3d %x {pool_size = array<i64: 1, 2, 3>, strides = array<i64: 2, 2, 2>} : (!relax.tensor<[n, 2, d, h, 9], f32>) -> !relax.tensor<[n, 2, (d - 1) floordiv 2 + 1, h floordiv 2, 4], f32>
  %0 = relax.avg_pool3d %x {pool_size = array<i64: 1, 2, 3>, strides = array<i64: 2, 2, 2>} : (!relax.tensor<[n, 2, d, h, 9], f32>) -> !relax.tensor<[n, 2, (d - 1) floordiv 2 + 1, h floordiv 2, 4], f32>
  relax.return %0 : !relax.tensor<[n, 2, (d - 1) floordiv 2 + 1, h floordiv 2, 4], f32>
}

// CHECK-LABEL: relax.func @max_pool2d_rank(
relax.func @max_pool2d_rank(%x: !relax.tensor<ndim = 4, i8>) -> !relax.object {
  // CHECK: relax.max_pool2d %x {pool_size = array<i64: 2, 2>} : (!relax.tensor<ndim = 4, i8>) -> !relax.tensor<ndim = 4, i8>
  %0 = relax.max_pool2d %x {pool_size = array<i64: 2, 2>} : (!relax.tensor<ndim = 4, i8>) -> !relax.tensor<ndim = 4, i8>
  relax.return %0 : !relax.tensor<ndim = 4, i8>
}

// CHECK-LABEL: relax.func @max_pool2d_unknown(
relax.func @max_pool2d_unknown(%x: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.max_pool2d %x {pool_size = array<i64: 2, 2>} : (!relax.tensor<*, f32>) -> !relax.tensor<ndim = 4, f32>
  %0 = relax.max_pool2d %x {pool_size = array<i64: 2, 2>} : (!relax.tensor<*, f32>) -> !relax.tensor<ndim = 4, f32>
  relax.return %0 : !relax.tensor<ndim = 4, f32>
}

// CHECK-LABEL: relax.func @adaptive_avg_pool1d(
relax.func @adaptive_avg_pool1d(%x: !relax.tensor<[n, 3, w], f32>) -> !relax.object {
  // CHECK: relax.adaptive_avg_pool1d %x {output_size = array<i64: 7>} : (!relax.tensor<[n, 3, w], f32>) -> !relax.tensor<[n, 3, 7], f32>
  %0 = relax.adaptive_avg_pool1d %x {output_size = array<i64: 7>} : (!relax.tensor<[n, 3, w], f32>) -> !relax.tensor<[n, 3, 7], f32>
  relax.return %0 : !relax.tensor<[n, 3, 7], f32>
}

// CHECK-LABEL: relax.func @adaptive_avg_pool2d(
relax.func @adaptive_avg_pool2d(%x: !relax.tensor<[n, h, w, c], f32>) -> !relax.object {
  // CHECK: relax.adaptive_avg_pool2d %x {layout = "NHWC", output_size = array<i64: 7, 5>} : (!relax.tensor<[n, h, w, c], f32>) -> !relax.tensor<[n, 7, 5, c], f32>
  %0 = relax.adaptive_avg_pool2d %x {layout = "NHWC", output_size = array<i64: 7, 5>} : (!relax.tensor<[n, h, w, c], f32>) -> !relax.tensor<[n, 7, 5, c], f32>
  relax.return %0 : !relax.tensor<[n, 7, 5, c], f32>
}

// The size stays.
// CHECK-LABEL: relax.func @adaptive_avg_pool2d_same(
relax.func @adaptive_avg_pool2d_same(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  // CHECK: relax.adaptive_avg_pool2d %x {out_layout = "NHWC"} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, h, w, 3], f32>
  %0 = relax.adaptive_avg_pool2d %x {out_layout = "NHWC"} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, h, w, 3], f32>
  relax.return %0 : !relax.tensor<[n, h, w, 3], f32>
}

// CHECK-LABEL: relax.func @adaptive_avg_pool3d(
relax.func @adaptive_avg_pool3d(%x: !relax.tensor<[n, 2, d, h, 9], f32>) -> !relax.object {
  // CHECK: relax.adaptive_avg_pool3d %x {output_size = array<i64: 1, 2, 3>} : (!relax.tensor<[n, 2, d, h, 9], f32>) -> !relax.tensor<[n, 2, 1, 2, 3], f32>
  %0 = relax.adaptive_avg_pool3d %x {output_size = array<i64: 1, 2, 3>} : (!relax.tensor<[n, 2, d, h, 9], f32>) -> !relax.tensor<[n, 2, 1, 2, 3], f32>
  relax.return %0 : !relax.tensor<[n, 2, 1, 2, 3], f32>
}
