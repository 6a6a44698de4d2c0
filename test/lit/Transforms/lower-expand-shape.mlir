// RUN: relax-opt %s -relax-lower-expand-shape | FileCheck %s
// RUN: relax-opt %s -relax-lower-expand-shape -expand-strided-metadata -lower-affine -convert-func-to-llvm -finalize-memref-to-llvm -o /dev/null

// Two dynamic dimensions out of one: the stride of the outer one is the size of
// the inner one.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[N:.*]]: index, %[[M:.*]]: index
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[N]], %[[M]]], strides: [%[[M]], 1]
func.func @dynamic(%x: memref<?xf32>, %n: index, %m: index) -> memref<?x?xf32> {
  %0 = memref.expand_shape %x [[0, 1]] output_shape [%n, %m] : memref<?xf32> into memref<?x?xf32>
  return %0 : memref<?x?xf32>
}

// Out of a strided dimension.
// CHECK-LABEL: func.func @strided(
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%{{.*}}, 4], strides: [8, 2]
func.func @strided(%x: memref<?xf32, strided<[2]>>, %n: index) -> memref<?x4xf32, strided<[8, 2]>> {
  %0 = memref.expand_shape %x [[0, 1]] output_shape [%n, 4] : memref<?xf32, strided<[2]>> into memref<?x4xf32, strided<[8, 2]>>
  return %0 : memref<?x4xf32, strided<[8, 2]>>
}

// Out of a scalar.
// CHECK-LABEL: func.func @scalar(
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [1], strides: [1]
func.func @scalar(%x: memref<f32>) -> memref<1xf32> {
  %0 = memref.expand_shape %x [] output_shape [1] : memref<f32> into memref<1xf32>
  return %0 : memref<1xf32>
}
