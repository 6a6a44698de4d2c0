// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// The innermost loop runs over consecutive elements.
// CHECK-DAG:   #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG:   #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG:   #[[C:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func.func private @matmul
// CHECK-SAME:    (%[[X:.*]]: tensor<?x?xf32>, %[[W:.*]]: tensor<?x?xf32>, %[[OUT:.*]]: tensor<?x?xf32>)
// CHECK:         %[[ZERO:.*]] = linalg.fill {{.*}} outs(%[[OUT]]
// CHECK:         linalg.generic {indexing_maps = [#[[A]], #[[B]], #[[C]]], iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK-SAME:      ins(%[[X]], %[[W]] : tensor<?x?xf32>, tensor<?x?xf32>) outs(%[[ZERO]] : tensor<?x?xf32>)
relax.func @matrices(%x: !relax.tensor<[n, k], f32>, %w: !relax.tensor<[k, m], f32>) -> !relax.object {
  %0 = relax.matmul %x, %w : (!relax.tensor<[n, k], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

// Batch dimensions broadcast; a vector has no loop of its own.
// CHECK-DAG:   #[[A:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (0, d1, d2, d3)>
// CHECK-DAG:   #[[B:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
// CHECK-DAG:   #[[V:.*]] = affine_map<(d0, d1, d2, d3) -> (d3)>
// CHECK-LABEL: func.func private @matmul(
// CHECK:         indexing_maps = [#[[A]], #[[B]],
// CHECK-LABEL: func.func private @matmul1(
// CHECK:         #[[V]]
// CHECK-SAME:      ["parallel", "parallel", "parallel", "reduction"]
relax.func @batch(%x: !relax.tensor<[1, b, n, k], f32>, %y: !relax.tensor<[a, b, k, m], f32>, %v: !relax.tensor<[m], f32>) -> !relax.object {
  %0 = relax.matmul %x, %y : (!relax.tensor<[1, b, n, k], f32>, !relax.tensor<[a, b, k, m], f32>) -> !relax.tensor<[a, b, n, m], f32>
  %1 = relax.matmul %0, %v : (!relax.tensor<[a, b, n, m], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[a, b, n], f32>
  relax.return %1 : !relax.tensor<[a, b, n], f32>
}

// -----

// The exponentials are kept in the output; maxima and sums take memory.
// CHECK-LABEL: func.func private @softmax
// CHECK-SAME:    (%[[X:.*]]: tensor<?x4xf32>, %[[OUT:.*]]: tensor<?x4xf32>)
// CHECK:         %[[MAX:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<?x4xf32>) outs(%{{.*}} : tensor<?xf32>)
// CHECK:           arith.maximumf
// CHECK:         %[[EXP:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[MAX]] : {{.*}}) outs(%[[OUT]] : tensor<?x4xf32>)
// CHECK:           math.exp
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[EXP]] : tensor<?x4xf32>)
// CHECK:           arith.addf
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]] : tensor<?xf32>) outs(%[[EXP]] : tensor<?x4xf32>)
// CHECK:           arith.divf
relax.func @softmax_rows(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.softmax %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

// CHECK-LABEL: func.func private @log_softmax
// CHECK:         math.log
// CHECK:         linalg.generic {{.*}} outs(%arg1 : tensor<?x4xf32>)
// CHECK-COUNT-2:   arith.subf
relax.func @log_softmax_rows(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.log_softmax %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

// What is not known about the parameters is checked, once; the parameters are
// read at the axes in their order.
// CHECK-DAG:   #[[PARAM:.*]] = affine_map<(d0, d1, d2) -> (d2, d0)>
// CHECK-LABEL: relax.func @norm
// CHECK:         relax.match_cast %{{.*}} : !relax.shape<[k]> -> !relax.shape<[m]>
// CHECK:         relax.call_tir @layer_norm(%x, %g, %g)
// CHECK-LABEL: func.func private @layer_norm
// CHECK:         arith.constant 1.000000e-01 : f32
// CHECK:         linalg.generic {indexing_maps = [{{.*}}, #[[PARAM]], #{{[^,]*}}], iterator_types = ["parallel", "parallel", "parallel"]}
// CHECK:           arith.mulf
// CHECK:           arith.mulf
// CHECK-NOT:       arith.addf
relax.func @norm(%x: !relax.tensor<[n, 3, m], f32>, %g: !relax.tensor<[k, n], f32>) -> !relax.object {
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: 2, 0>, epsilon = 1.000000e-01 : f64, center = false} : (!relax.tensor<[n, 3, m], f32>, !relax.tensor<[k, n], f32>, !relax.tensor<[k, n], f32>) -> !relax.tensor<[n, 3, m], f32>
  relax.return %0 : !relax.tensor<[n, 3, m], f32>
}
