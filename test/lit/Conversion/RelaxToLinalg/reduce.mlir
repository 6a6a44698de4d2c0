// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// CHECK-DAG:   #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[ROWS:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func private @sum
// CHECK-SAME:    (%[[X:.*]]: tensor<?x4xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK:         %[[ZERO:.*]] = linalg.fill {{.*}} outs(%[[OUT]]
// CHECK:         linalg.generic {indexing_maps = [#[[ALL]], #[[ROWS]]], iterator_types = ["parallel", "reduction"]}
// CHECK-SAME:      ins(%[[X]] : tensor<?x4xf32>) outs(%[[ZERO]] : tensor<?xf32>)
relax.func @sum_rows(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.sum %x {axis = array<i64: -1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Reduced dimensions that stay are written at 0. The start is the least number.
// CHECK-DAG:   #[[KEPT:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func.func private @max
// CHECK-SAME:    tensor<?x1xi8>)
// CHECK:         arith.constant -128 : i8
// CHECK:         #[[KEPT]]
// CHECK:           arith.maxsi
relax.func @keepdims(%x: !relax.tensor<[n, m], i8>) -> !relax.object {
  %0 = relax.max %x {axis = array<i64: 1>, keepdims = true} : (!relax.tensor<[n, m], i8>) -> !relax.tensor<[n, 1], i8>
  relax.return %0 : !relax.tensor<[n, 1], i8>
}

// -----

// The mean divides the sum by the number of elements. Sums of f16 are f32.
// CHECK-LABEL: func.func private @mean
// CHECK-SAME:    (%{{.*}}: tensor<?x?xf16>, %[[OUT:.*]]: tensor<f16>)
// CHECK:         tensor.empty() : tensor<f32>
// CHECK:         arith.addf %{{.*}} : f32
// CHECK:         arith.sitofp
// CHECK:         arith.divf %{{.*}} : f32
// CHECK:         linalg.generic {{.*}} outs(%[[OUT]] : tensor<f16>)
// CHECK:           arith.truncf
relax.func @mean_all(%x: !relax.tensor<[n, m], f16>) -> !relax.object {
  %0 = relax.mean %x : (!relax.tensor<[n, m], f16>) -> !relax.tensor<[], f16>
  relax.return %0 : !relax.tensor<[], f16>
}

// -----

// CHECK-LABEL: func.func private @min
// CHECK:         arith.constant -1 : i8
// CHECK:         arith.minui
// CHECK-LABEL: func.func private @prod
// CHECK:         arith.constant 1 : i8
// CHECK:         arith.muli
relax.func @unsigned(%x: !relax.tensor<[n], ui8>) -> !relax.object {
  %0 = relax.min %x : (!relax.tensor<[n], ui8>) -> !relax.tensor<[], ui8>
  %1 = relax.prod %x : (!relax.tensor<[n], ui8>) -> !relax.tensor<[], ui8>
  relax.return %1 : !relax.tensor<[], ui8>
}

// -----

// Totals are kept in 32 bits, one line along the axis after the other.
// CHECK-LABEL: func.func private @cumsum(
// CHECK:         scf.for {{.*}} -> (tensor<?x?xf16>)
// CHECK:           scf.for {{.*}} -> (tensor<?x?xf16>, f32)
// CHECK:             tensor.extract %arg0
// CHECK:             arith.addf {{.*}} : f32
// CHECK:             tensor.insert
relax.func @scan(%x: !relax.tensor<[n, m], f16>) -> !relax.object {
  %0 = relax.cumsum %x {axis = 0 : i64} : (!relax.tensor<[n, m], f16>) -> !relax.tensor<[n, m], f16>
  relax.return %0 : !relax.tensor<[n, m], f16>
}

// -----

// Along rows, elements are put together with those before them in their vector. What vectors carry is
// the total in each lane, and what is left is added one by one.
// CHECK-LABEL: func.func private @cummax(
// CHECK:         scf.for {{.*}} -> (tensor<?x?xf32>, vector<16xf32>)
// CHECK:           vector.transfer_read
// CHECK-COUNT-5:   arith.maximumf {{.*}} : vector<16xf32>
// CHECK:           vector.transfer_write
// CHECK:         scf.for {{.*}} -> (tensor<?x?xf32>, f32)
relax.func @scan_rows(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.cummax %x {axis = 1 : i64} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

// The largest element so far and its index are kept; NaN is larger than any.
// CHECK-LABEL: func.func private @argmax
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK:           arith.cmpf ugt
// CHECK:           arith.cmpf ord
// CHECK-COUNT-2:   arith.select
relax.func @argmax(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.argmax %x {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], i64>
  relax.return %0 : !relax.tensor<[n], i64>
}
