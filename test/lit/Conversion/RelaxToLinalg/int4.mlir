// Kernels take the memory of tensors of 4 bits, as bytes, and convert to and from 8 bits.
// RUN: relax-opt %s --split-input-file --relax-legalize-ops | FileCheck %s

// CHECK-LABEL: relax.func @unpack
// CHECK:         %[[MEMORY:.*]] = relax.call_pure_packed "relax_mlir.run.view"(%x, {{.*}} -> !relax.tensor<[(n * 3 + 1) floordiv 2], ui8>
// CHECK:         %[[WIDE:.*]] = relax.call_tir @astype(%[[MEMORY]]) {{.*}} -> !relax.tensor<[n, 3], i8>
// CHECK:         relax.call_tir @astype1(%[[WIDE]]) {{.*}} -> !relax.tensor<[n, 3], f32>
// CHECK-LABEL: func.func private @astype(
// CHECK-SAME:    tensor<?xi8>, %{{.*}}: tensor<?x3xi8>
// CHECK:         arith.shrsi
relax.func @unpack(%x: !relax.tensor<[n, 3], i4>) -> !relax.object {
  %0 = relax.astype %x {dtype = f32} : (!relax.tensor<[n, 3], i4>) -> !relax.tensor<[n, 3], f32>
  relax.return %0 : !relax.tensor<[n, 3], f32>
}

// -----

// Floats become numbers of 8 bits, then the nearest ones of 4. A byte is written at once.
// CHECK-LABEL: relax.func @pack
// CHECK:         relax.call_tir @astype(%x) {{.*}} -> !relax.tensor<[4], ui8>
// CHECK:         relax.call_tir @clip({{.*}} -> !relax.tensor<[4], ui8>
// CHECK:         %[[MEMORY:.*]] = relax.call_tir @astype1({{.*}} -> !relax.tensor<[2], ui8>
// CHECK:         relax.call_pure_packed "relax_mlir.run.view"(%[[MEMORY]], {{.*}} -> !relax.tensor<[4], ui4>
relax.func @pack(%x: !relax.tensor<[4], f32>) -> !relax.object {
  %0 = relax.astype %x {dtype = ui4} : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], ui4>
  relax.return %0 : !relax.tensor<[4], ui4>
}

// -----

// A constant is one of bytes: 1 and -2, then 3.
// CHECK-LABEL: relax.func @constant
// CHECK:         relax.constant dense<[225, 3]> : tensor<2xui8>
relax.func @constant() -> !relax.object {
  %0 = relax.constant dense<[1, -2, 3]> : tensor<3xi4>
  %1 = relax.astype %0 {dtype = i8} : (!relax.tensor<[3], i4>) -> !relax.tensor<[3], i8>
  relax.return %1 : !relax.tensor<[3], i8>
}

// -----

// Operators that move elements move bytes.
// CHECK-LABEL: relax.func @permute
// CHECK:         relax.call_tir @permute_dims({{.*}} -> !relax.tensor<[3, n], i8>
// CHECK:         relax.call_pure_packed "relax_mlir.run.view"({{.*}} -> !relax.tensor<[3, n], i4>
relax.func @permute(%x: !relax.tensor<[n, 3], i4>) -> !relax.object {
  %0 = relax.permute_dims %x : (!relax.tensor<[n, 3], i4>) -> !relax.tensor<[3, n], i4>
  relax.return %0 : !relax.tensor<[3, n], i4>
}

// -----

// The codes of a matrix of products are left to the kernels of products.
// CHECK-LABEL: relax.func @product
// CHECK:         %[[CODES:.*]] = relax.constant dense<[{{\[}}1, -2], [3, -8]]> : tensor<2x2xi8>
// CHECK:         relax.call_tir @dequantize(%[[CODES]],
relax.func @product(%x: !relax.tensor<[n, 2], f32>, %scale: !relax.tensor<[], f32>, %zero: !relax.tensor<[], i8>) -> !relax.object {
  %0 = relax.constant dense<[[1, -2], [3, -8]]> : tensor<2x2xi4>
  %1 = relax.dequantize %0, %scale, %zero {out_dtype = f32} : (!relax.tensor<[2, 2], i4>, !relax.tensor<[], f32>, !relax.tensor<[], i8>) -> !relax.tensor<[2, 2], f32>
  %2 = relax.matmul %x, %1 : (!relax.tensor<[n, 2], f32>, !relax.tensor<[2, 2], f32>) -> !relax.tensor<[n, 2], f32>
  relax.return %2 : !relax.tensor<[n, 2], f32>
}
