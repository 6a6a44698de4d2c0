// RUN: relax-opt %s -relax-legalize-ops | FileCheck %s

// Each element is its place, encrypted with the key: five groups of four rounds.
// CHECK-LABEL: relax.func @random
// CHECK:         relax.call_tir @random_bits(%key, %n) : (!relax.tensor<[], ui64>, !relax.prim<i64, n>) -> !relax.tensor<[n], ui64>
relax.func @random(%key: !relax.tensor<[], ui64>, %n: !relax.prim<i64, n>) -> !relax.object {
  %0 = relax.random_bits %key, %n : (!relax.tensor<[], ui64>, !relax.prim<i64, n>) -> !relax.tensor<[n], ui64>
  relax.return %0 : !relax.tensor<[n], ui64>
}

// CHECK-LABEL: func.func private @random_bits
// CHECK-SAME:    (%[[KEY:.*]]: tensor<i64>, %{{.*}}: i64, %[[OUT:.*]]: tensor<?xi64>)
// CHECK:         linalg.generic {{.*}} ins(%[[KEY]] : tensor<i64>) outs(%[[OUT]] : tensor<?xi64>)
// CHECK:           linalg.index 0
// CHECK-COUNT-20:  arith.ori {{.*}} : i32
// CHECK:           arith.ori {{.*}} : i64
// CHECK:           linalg.yield
