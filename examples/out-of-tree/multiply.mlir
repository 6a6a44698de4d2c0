// RUN: square-opt %s -multiply-to-square | FileCheck %s

// CHECK-LABEL: relax.func @main
// CHECK: %[[Y:.*]] = relax.square %arg0
// CHECK: relax.multiply %[[Y]], %arg0
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.multiply %x, %x
      : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.multiply %0, %x
      : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}
