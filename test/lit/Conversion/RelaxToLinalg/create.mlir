// RUN: relax-opt %s -relax-legalize-ops | FileCheck %s

// The shape is not passed: the output has it.
// CHECK-LABEL: relax.func @create
// CHECK:         relax.call_tir @zeros() : () -> !relax.tensor<[n, 4], f32>
// CHECK:         relax.call_tir @ones() : () -> !relax.tensor<[n, 4], ui8>
// CHECK:         relax.call_tir @full(%v) : (!relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
// CHECK:         relax.call_tir @full1(%v) : (!relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i1>
relax.func @create(%s: !relax.shape<[n, 4]>, %v: !relax.tensor<[], f32>) -> !relax.object {
  %0 = relax.zeros %s {dtype = f32} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.ones %s {dtype = ui8} : (!relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], ui8>
  %2 = relax.full %s, %v : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
  %3 = relax.full %s, %v {dtype = i1} : (!relax.shape<[n, 4]>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], i1>
  relax.return %3 : !relax.tensor<[n, 4], i1>
}

// CHECK-LABEL: func.func private @zeros
// CHECK-SAME:    (%[[OUT:.*]]: tensor<?x4xf32>)
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         linalg.fill ins(%[[ZERO]] : f32) outs(%[[OUT]] : tensor<?x4xf32>)
// CHECK-LABEL: func.func private @ones
// CHECK:         arith.constant 1 : i8
// CHECK-LABEL: func.func private @full
// CHECK-SAME:    (%[[V:.*]]: tensor<f32>, %[[OUT:.*]]: tensor<?x4xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[V]] : tensor<f32>) outs(%[[OUT]] : tensor<?x4xf32>)
// CHECK-LABEL: func.func private @full1
// CHECK:         arith.cmpf une
