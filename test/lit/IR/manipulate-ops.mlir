// RUN: %roundtrip

// Operators that move elements without computing.

// CHECK-LABEL: relax.func @broadcast_to
relax.func @broadcast_to(%x: !relax.tensor<[1, 4], f32>, %s: !relax.shape<[n, m, 4]>) -> !relax.object {
  // CHECK: relax.broadcast_to %x, %s : (!relax.tensor<[1, 4], f32>, !relax.shape<[n, m, 4]>) -> !relax.tensor<[n, m, 4], f32>
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[1, 4], f32>, !relax.shape<[n, m, 4]>) -> !relax.tensor<[n, m, 4], f32>
  relax.return %x : !relax.tensor<[1, 4], f32>
}

// CHECK-LABEL: relax.func @concat
relax.func @concat(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[m, 4], f32>) -> !relax.object {
  // Axis 0 is the default, and is printed where it was written.
  // CHECK: relax.concat %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[m + n, 4], f32>
  %0 = relax.concat %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[m + n, 4], f32>
  // CHECK: relax.concat %x, %x {axis = -1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 8], f32>
  %1 = relax.concat %x, %x {axis = -1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 8], f32>
  // CHECK: relax.concat %x {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %2 = relax.concat %x {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// The axes count in the result, from either end.
// CHECK-LABEL: relax.func @expand_dims
relax.func @expand_dims(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // CHECK: relax.expand_dims %x {axis = array<i64: 0, -1>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[1, n, 1], f32>
  %0 = relax.expand_dims %x {axis = array<i64: 0, -1>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[1, n, 1], f32>
  // CHECK: relax.expand_dims %x {axis = array<i64>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.expand_dims %x {axis = array<i64>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %x : !relax.tensor<[n], f32>
}

// CHECK-LABEL: relax.func @flatten
relax.func @flatten(%x: !relax.tensor<[n, m, 2], f32>, %y: !relax.tensor<[], f32>) -> !relax.object {
  // CHECK: relax.flatten %x : (!relax.tensor<[n, m, 2], f32>) -> !relax.tensor<[m * n * 2], f32>
  %0 = relax.flatten %x : (!relax.tensor<[n, m, 2], f32>) -> !relax.tensor<[m * n * 2], f32>
  // CHECK: relax.flatten %y : (!relax.tensor<[], f32>) -> !relax.tensor<[1], f32>
  %1 = relax.flatten %y : (!relax.tensor<[], f32>) -> !relax.tensor<[1], f32>
  relax.return %x : !relax.tensor<[n, m, 2], f32>
}

// Without axes the order is reversed.
// CHECK-LABEL: relax.func @permute_dims
relax.func @permute_dims(%x: !relax.tensor<[n, m, 2], f32>) -> !relax.object {
  // CHECK: relax.permute_dims %x {axes = array<i64: 1, 0, -1>} : (!relax.tensor<[n, m, 2], f32>) -> !relax.tensor<[m, n, 2], f32>
  %0 = relax.permute_dims %x {axes = array<i64: 1, 0, -1>} : (!relax.tensor<[n, m, 2], f32>) -> !relax.tensor<[m, n, 2], f32>
  // CHECK: relax.permute_dims %x : (!relax.tensor<[n, m, 2], f32>) -> !relax.tensor<[2, m, n], f32>
  %1 = relax.permute_dims %x : (!relax.tensor<[n, m, 2], f32>) -> !relax.tensor<[2, m, n], f32>
  relax.return %x : !relax.tensor<[n, m, 2], f32>
}

// What cannot be proven, as `k * l` and `n * 4`, is checked at run time.
// CHECK-LABEL: relax.func @reshape
relax.func @reshape(%x: !relax.tensor<[n, 4], f32>, %s: !relax.shape<[n * 2, 2]>, %u: !relax.shape<[k, l]>) -> !relax.object {
  // CHECK: relax.reshape %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 2, 2]>) -> !relax.tensor<[n * 2, 2], f32>
  %0 = relax.reshape %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 2, 2]>) -> !relax.tensor<[n * 2, 2], f32>
  // CHECK: relax.reshape %x, %u : (!relax.tensor<[n, 4], f32>, !relax.shape<[k, l]>) -> !relax.tensor<[k, l], f32>
  %1 = relax.reshape %x, %u : (!relax.tensor<[n, 4], f32>, !relax.shape<[k, l]>) -> !relax.tensor<[k, l], f32>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @split
relax.func @split(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.split %x {axis = 1 : i64, sections = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>>
  %0 = relax.split %x {axis = 1 : i64, sections = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>>
  // Parts may be empty, and the last one symbolic.
  // CHECK: relax.split %x {indices = array<i64: 1, 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<!relax.tensor<[1, 4], f32>, !relax.tensor<[0, 4], f32>, !relax.tensor<[n - 1, 4], f32>>
  %1 = relax.split %x {indices = array<i64: 1, 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<!relax.tensor<[1, 4], f32>, !relax.tensor<[0, 4], f32>, !relax.tensor<[n - 1, 4], f32>>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// Dimension `n` may be 1: that is checked at run time.
// CHECK-LABEL: relax.func @squeeze
relax.func @squeeze(%x: !relax.tensor<[n, 1, 4], f32>, %y: !relax.tensor<[1, 4, 1], f32>) -> !relax.object {
  // CHECK: relax.squeeze %x {axis = array<i64: 1>} : (!relax.tensor<[n, 1, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.squeeze %x {axis = array<i64: 1>} : (!relax.tensor<[n, 1, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.squeeze %x {axis = array<i64: 0, -2>} : (!relax.tensor<[n, 1, 4], f32>) -> !relax.tensor<[4], f32>
  %1 = relax.squeeze %x {axis = array<i64: 0, -2>} : (!relax.tensor<[n, 1, 4], f32>) -> !relax.tensor<[4], f32>
  // CHECK: relax.squeeze %y : (!relax.tensor<[1, 4, 1], f32>) -> !relax.tensor<[4], f32>
  %2 = relax.squeeze %y : (!relax.tensor<[1, 4, 1], f32>) -> !relax.tensor<[4], f32>
  relax.return %x : !relax.tensor<[n, 1, 4], f32>
}

// CHECK-LABEL: relax.func @take
relax.func @take(%x: !relax.tensor<[n, 4], f32>, %v: !relax.tensor<[n], f32>, %i: !relax.tensor<[k, 2], i64>, %s: !relax.tensor<[], ui32>) -> !relax.object {
  // CHECK: relax.take %x, %i {axis = 0 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[k, 2, 4], f32>
  %0 = relax.take %x, %i {axis = 0 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[k, 2, 4], f32>
  // A scalar index drops the dimension; a vector needs no axis.
  // CHECK: relax.take %x, %s {axis = -1 : i64, mode = "wrap"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], ui32>) -> !relax.tensor<[n], f32>
  %1 = relax.take %x, %s {axis = -1 : i64, mode = "wrap"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], ui32>) -> !relax.tensor<[n], f32>
  // CHECK: relax.take %v, %i : (!relax.tensor<[n], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[k, 2], f32>
  %2 = relax.take %v, %i : (!relax.tensor<[n], f32>, !relax.tensor<[k, 2], i64>) -> !relax.tensor<[k, 2], f32>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @slice(
relax.func @slice(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[7]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[7]>) -> !relax.tensor<[n, 6], f32>
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[7]>) -> !relax.tensor<[n, 6], f32>
  relax.return %0 : !relax.tensor<[n, 6], f32>
}

// CHECK-LABEL: relax.func @slice_strides(
relax.func @slice_strides(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[8]>, %w: !relax.shape<[0]>, %v: !relax.shape<[-3]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w, %v {axes = array<i64: -1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[8]>, !relax.shape<[0]>, !relax.shape<[-3]>) -> !relax.tensor<[n, 3], f32>
  %0 = relax.strided_slice %x, %y, %w, %v {axes = array<i64: -1>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[8]>, !relax.shape<[0]>, !relax.shape<[-3]>) -> !relax.tensor<[n, 3], f32>
  relax.return %0 : !relax.tensor<[n, 3], f32>
}

// Places count from the end, and mean the nearest one.
// CHECK-LABEL: relax.func @slice_clamped(
relax.func @slice_clamped(%x: !relax.tensor<[5, 10], f32>, %y: !relax.shape<[-3, 2]>, %w: !relax.shape<[100, -100]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w {axes = array<i64: 0, 1>} : (!relax.tensor<[5, 10], f32>, !relax.shape<[-3, 2]>, !relax.shape<[100, -100]>) -> !relax.tensor<[3, 0], f32>
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0, 1>} : (!relax.tensor<[5, 10], f32>, !relax.shape<[-3, 2]>, !relax.shape<[100, -100]>) -> !relax.tensor<[3, 0], f32>
  relax.return %0 : !relax.tensor<[3, 0], f32>
}

// CHECK-LABEL: relax.func @slice_symbolic(
relax.func @slice_symbolic(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[n - min(n, 1), 10], f32>
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[n - min(n, 1), 10], f32>
  relax.return %0 : !relax.tensor<[n - min(n, 1), 10], f32>
}

// CHECK-LABEL: relax.func @slice_inbound(
relax.func @slice_inbound(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w {assume_inbound = true, axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[n - 1, 10], f32>
  %0 = relax.strided_slice %x, %y, %w {assume_inbound = true, axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[n - 1, 10], f32>
  relax.return %0 : !relax.tensor<[n - 1, 10], f32>
}

// CHECK-LABEL: relax.func @slice_rank(
relax.func @slice_rank(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<ndim = 2, f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<ndim = 2, f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// CHECK-LABEL: relax.func @slice_unknown_ends(
relax.func @slice_unknown_ends(%x: !relax.tensor<[n, 10], f32>, %y: !relax.shape<ndim = 1>, %w: !relax.shape<[n]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<ndim = 1>, !relax.shape<[n]>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<[n, 10], f32>, !relax.shape<ndim = 1>, !relax.shape<[n]>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// CHECK-LABEL: relax.func @slice_unknown(
relax.func @slice_unknown(%x: !relax.tensor<*, f32>, %y: !relax.shape<[1]>, %w: !relax.shape<[n]>) -> !relax.object {
  // CHECK: relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<*, f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<*, f32>
  %0 = relax.strided_slice %x, %y, %w {axes = array<i64: 0>} : (!relax.tensor<*, f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}
