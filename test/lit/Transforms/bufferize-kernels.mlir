// RUN: relax-opt %s -relax-bufferize-kernels -split-input-file | FileCheck %s

// A kernel that returns a tensor writes to its last parameter.
// CHECK-LABEL: func.func private @tensors
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<4xf32>) {
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<4xf32>) outs(%[[Y]] : memref<4xf32>)
// CHECK: return{{$}}
func.func private @tensors(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]
  } ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %in, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// One on memrefs stays as it is: nothing simplifies it.
// CHECK-LABEL: func.func private @memrefs
// CHECK: %[[UNUSED:.*]] = arith.constant 1 : index
// CHECK: return
func.func private @memrefs(%x: memref<4xf32>) {
  %unused = arith.constant 1 : index
  return
}
