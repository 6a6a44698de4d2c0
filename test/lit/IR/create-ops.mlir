// RUN: %roundtrip

// Tensors from a shape.

// CHECK-LABEL: relax.func @full
relax.func @full(%s: !relax.shape<[n, 4]>, %v: !relax.tensor<[], f32>) -> !relax.object {
  // CHECK: relax.full %s, %v : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.full %s, %v : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
  // The value is converted to `dtype` where it is given.
  // CHECK: relax.full %s, %v {dtype = i8} : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i8>
  %1 = relax.full %s, %v {dtype = i8} : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i8>
  relax.return %s : !relax.shape<[n, 4]>
}

// CHECK-LABEL: relax.func @fill
relax.func @fill(%s: !relax.shape<[n, 4]>, %e: !relax.shape<[]>) -> !relax.object {
  // CHECK: relax.zeros %s {dtype = f32} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.zeros %s {dtype = f32} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.ones %s {dtype = i1} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], i1>
  %1 = relax.ones %s {dtype = i1} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], i1>
  // CHECK: relax.ones %e {dtype = ui8} : (!relax.shape<[]>) -> !relax.tensor<[], ui8>
  %2 = relax.ones %e {dtype = ui8} : (!relax.shape<[]>) -> !relax.tensor<[], ui8>
  relax.return %s : !relax.shape<[n, 4]>
}

// CHECK-LABEL: relax.func @full_like(
relax.func @full_like(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[], f32>) -> !relax.object {
  // CHECK: relax.full_like %x, %y {dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i8>
  %0 = relax.full_like %x, %y {dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i8>
  relax.return %0 : !relax.tensor<[n, 4], i8>
}

// CHECK-LABEL: relax.func @ones_like(
relax.func @ones_like(%x: !relax.tensor<[n, 4], f16>) -> !relax.object {
  // CHECK: relax.ones_like %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  %0 = relax.ones_like %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  relax.return %0 : !relax.tensor<[n, 4], f16>
}

// CHECK-LABEL: relax.func @zeros_like_rank(
relax.func @zeros_like_rank(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // CHECK: relax.zeros_like %x {dtype = i1} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, i1>
  %0 = relax.zeros_like %x {dtype = i1} : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, i1>
  relax.return %0 : !relax.tensor<ndim = 2, i1>
}

// The length is that of the range.
// CHECK-LABEL: relax.func @arange_down(
relax.func @arange_down(%x: !relax.prim<i64, 10>, %y: !relax.prim<i64, 0>, %w: !relax.prim<i64, -3>) -> !relax.object {
  // CHECK: relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64, 10>, !relax.prim<i64, 0>, !relax.prim<i64, -3>) -> !relax.tensor<[4], i64>
  %0 = relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64, 10>, !relax.prim<i64, 0>, !relax.prim<i64, -3>) -> !relax.tensor<[4], i64>
  relax.return %0 : !relax.tensor<[4], i64>
}

// CHECK-LABEL: relax.func @arange_unknown(
relax.func @arange_unknown(%x: !relax.prim<i64>, %y: !relax.prim<i64, n>, %w: !relax.prim<i64, 1>) -> !relax.object {
  // CHECK: relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64>, !relax.prim<i64, n>, !relax.prim<i64, 1>) -> !relax.tensor<ndim = 1, i64>
  %0 = relax.arange %x, %y, %w {dtype = i64} : (!relax.prim<i64>, !relax.prim<i64, n>, !relax.prim<i64, 1>) -> !relax.tensor<ndim = 1, i64>
  relax.return %0 : !relax.tensor<ndim = 1, i64>
}

// CHECK-LABEL: relax.func @eye(
relax.func @eye(%x: !relax.prim<i64, n>, %y: !relax.prim<i64, 4>, %w: !relax.prim<i64, 0>) -> !relax.object {
  // CHECK: relax.eye %x, %y, %w {dtype = f32} : (!relax.prim<i64, n>, !relax.prim<i64, 4>, !relax.prim<i64, 0>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.eye %x, %y, %w {dtype = f32} : (!relax.prim<i64, n>, !relax.prim<i64, 4>, !relax.prim<i64, 0>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// CHECK-LABEL: relax.func @eye_like(
relax.func @eye_like(%x: !relax.tensor<[n, 4], f32>, %y: !relax.prim<i64>) -> !relax.object {
  // CHECK: relax.eye_like %x, %y {dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.prim<i64>) -> !relax.tensor<[n, 4], i8>
  %0 = relax.eye_like %x, %y {dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.prim<i64>) -> !relax.tensor<[n, 4], i8>
  relax.return %0 : !relax.tensor<[n, 4], i8>
}

// CHECK-LABEL: relax.func @tril(
relax.func @tril(%x: !relax.tensor<[b, n, 4], f32>, %y: !relax.prim<i64, 1>) -> !relax.object {
  // CHECK: relax.tril %x, %y : (!relax.tensor<[b, n, 4], f32>, !relax.prim<i64, 1>) -> !relax.tensor<[b, n, 4], f32>
  %0 = relax.tril %x, %y : (!relax.tensor<[b, n, 4], f32>, !relax.prim<i64, 1>) -> !relax.tensor<[b, n, 4], f32>
  relax.return %0 : !relax.tensor<[b, n, 4], f32>
}

// CHECK-LABEL: relax.func @triu_unknown(
relax.func @triu_unknown(%x: !relax.tensor<*, f32>, %y: !relax.prim<i64>) -> !relax.object {
  // CHECK: relax.triu %x, %y : (!relax.tensor<*, f32>, !relax.prim<i64>) -> !relax.tensor<*, f32>
  %0 = relax.triu %x, %y : (!relax.tensor<*, f32>, !relax.prim<i64>) -> !relax.tensor<*, f32>
  relax.return %0 : !relax.tensor<*, f32>
}

// CHECK-LABEL: relax.func @random_bits(
relax.func @random_bits(%key: !relax.tensor<[], ui64>, %n: !relax.prim<i64, n>) -> !relax.object {
  // CHECK: relax.random_bits %key, %n : (!relax.tensor<[], ui64>, !relax.prim<i64, n>) -> !relax.tensor<[n], ui64>
  %0 = relax.random_bits %key, %n : (!relax.tensor<[], ui64>, !relax.prim<i64, n>) -> !relax.tensor<[n], ui64>
  relax.return %0 : !relax.tensor<[n], ui64>
}
