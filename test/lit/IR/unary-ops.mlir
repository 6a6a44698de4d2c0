// RUN: %roundtrip

// Elementwise operators of one tensor, by the data types they take.

// CHECK-LABEL: relax.func @float
relax.func @float(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.ceil %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.ceil %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.cos %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.cos %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.erf %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %2 = relax.erf %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %3 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.floor %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %4 = relax.floor %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.gelu %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %5 = relax.gelu %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.gelu_tanh %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %6 = relax.gelu_tanh %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.log %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %7 = relax.log %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.round %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %8 = relax.round %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.rsqrt %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %9 = relax.rsqrt %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.sigmoid %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %10 = relax.sigmoid %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.silu %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %11 = relax.silu %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.sin %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %12 = relax.sin %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.sqrt %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %13 = relax.sqrt %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.tanh %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %14 = relax.tanh %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// These take integers too.
// CHECK-LABEL: relax.func @numeric
relax.func @numeric(%x: !relax.tensor<[n, 4], i32>) -> !relax.object {
  // CHECK: relax.abs %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  %0 = relax.abs %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  // CHECK: relax.negative %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  %1 = relax.negative %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  // CHECK: relax.relu %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  %2 = relax.relu %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  // CHECK: relax.sign %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  %3 = relax.sign %x : (!relax.tensor<[n, 4], i32>) -> !relax.tensor<[n, 4], i32>
  relax.return %x : !relax.tensor<[n, 4], i32>
}

// CHECK-LABEL: relax.func @boolean
relax.func @boolean(%x: !relax.tensor<[n, 4], i1>) -> !relax.object {
  // CHECK: relax.logical_not %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[n, 4], i1>
  %0 = relax.logical_not %x : (!relax.tensor<[n, 4], i1>) -> !relax.tensor<[n, 4], i1>
  relax.return %x : !relax.tensor<[n, 4], i1>
}

// astype converts between all data types (GR18).
// CHECK-LABEL: relax.func @astype
relax.func @astype(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // CHECK: relax.astype %x {dtype = f16} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f16>
  %0 = relax.astype %x {dtype = f16} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f16>
  // CHECK: relax.astype %x {dtype = bf16} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], bf16>
  %1 = relax.astype %x {dtype = bf16} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], bf16>
  // CHECK: relax.astype %x {dtype = f64} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f64>
  %2 = relax.astype %x {dtype = f64} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f64>
  // CHECK: relax.astype %x {dtype = i1} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i1>
  %3 = relax.astype %x {dtype = i1} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i1>
  // CHECK: relax.astype %x {dtype = i8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i8>
  %4 = relax.astype %x {dtype = i8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i8>
  // CHECK: relax.astype %x {dtype = ui8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], ui8>
  %5 = relax.astype %x {dtype = ui8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], ui8>
  // CHECK: relax.astype %x {dtype = i64} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i64>
  %6 = relax.astype %x {dtype = i64} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i64>
  // CHECK: relax.astype %x {dtype = f8E4M3FN} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f8E4M3FN>
  %7 = relax.astype %x {dtype = f8E4M3FN} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f8E4M3FN>
  relax.return %x : !relax.tensor<[n], f32>
}
