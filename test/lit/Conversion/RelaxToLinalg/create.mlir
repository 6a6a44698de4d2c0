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

// Each element is its place, encrypted with the key: five groups of four rounds.
// CHECK-LABEL: relax.func @random
// CHECK:         relax.call_tir @random_bits(%key, %n) : (!relax.tensor<[], ui64>, !relax.prim<i64, n>) -> !relax.tensor<[n], ui64>
relax.func @random(%key: !relax.tensor<[], ui64>, %n: !relax.prim<i64, n>) -> !relax.object {
  %0 = relax.random_bits %key, %n : (!relax.tensor<[], ui64>, !relax.prim<i64, n>) -> !relax.tensor<[n], ui64>
  relax.return %0 : !relax.tensor<[n], ui64>
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
// CHECK-LABEL: func.func private @random_bits
// CHECK-SAME:        (%[[KEY:.*]]: tensor<i64>, %{{.*}}: i64, %[[OUT:.*]]: tensor<?xi64>)
// CHECK:             linalg.generic {{.*}} ins(%[[KEY]] : tensor<i64>) outs(%[[OUT]] : tensor<?xi64>)
// CHECK:               linalg.index 0
// CHECK-COUNT-20:      arith.ori {{.*}} : i32
// CHECK:               arith.ori {{.*}} : i64
// CHECK:               linalg.yield
