// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// Runs of eight elements are sorted by comparing all pairs. In merged runs, all places find their
// elements by themselves: a round is two operations over all elements, each of which searches. The
// kernel of the host is another one.
// CHECK-LABEL: module attributes {relax.global_info = {gpu = #relax.vdevice<"cuda", 0>}}
// CHECK:       relax.call_tir @sort(
// CHECK:       relax.call_tir @sort1(
// CHECK-LABEL: func.func private @sort(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} outs
// CHECK-COUNT-28:  arith.cmpf ult
// CHECK:         scf.for {{.*}} -> (tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} outs
// CHECK:             scf.while
// CHECK:           linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} outs
// CHECK:             scf.while
// CHECK:         return
// CHECK-LABEL: func.func private @sort1(
// CHECK:         relax.loop = "parallel"
module attributes {relax.global_info = {gpu = #relax.vdevice<"cuda", 0>}} {
  relax.func @sorts(%x: !relax.tensor<[n, m], f32, @gpu>, %y: !relax.tensor<[n, m], f32>) -> !relax.object {
    %0 = relax.sort %x : (!relax.tensor<[n, m], f32, @gpu>) -> !relax.tensor<[n, m], f32, @gpu>
    %1 = relax.sort %y : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
    %2 = relax.tuple %0, %1 : !relax.tensor<[n, m], f32, @gpu>, !relax.tensor<[n, m], f32>
    relax.return %2 : !relax.tuple<!relax.tensor<[n, m], f32, @gpu>, !relax.tensor<[n, m], f32>>
  }
}

// -----

// A scan is one operation, whose loop along the axis carries the total of each line.
// CHECK:       #[[EACH:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK:       #[[LINE:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func private @cumsum(
// CHECK:         linalg.generic {indexing_maps = [#[[EACH]], #[[EACH]], #[[LINE]]], iterator_types = ["reduction", "parallel"]}
// CHECK-SAME:      ins(%arg0 : tensor<?x?xf16>) outs(%arg1, %{{.*}} : tensor<?x?xf16>, tensor<?xf32>)
// CHECK:         ^bb0(%{{.*}}: f16, %{{.*}}: f16, %[[TOTAL:.*]]: f32):
// CHECK:           %[[AFTER:.*]] = arith.addf %[[TOTAL]], %{{.*}} : f32
// CHECK:           %[[WRITTEN:.*]] = arith.truncf %[[TOTAL]] : f32 to f16
// CHECK:           linalg.yield %[[WRITTEN]], %[[AFTER]]
module attributes {relax.global_info = {gpu = #relax.vdevice<"cuda", 0>}} {
  relax.func @scan(%x: !relax.tensor<[n, m], f16, @gpu>) -> !relax.object {
    %0 = relax.cumsum %x {axis = 0 : i64, exclusive = true} : (!relax.tensor<[n, m], f16, @gpu>) -> !relax.tensor<[n, m], f16, @gpu>
    relax.return %0 : !relax.tensor<[n, m], f16, @gpu>
  }
}

// -----

// Of the first elements, passes that merge runs of at least as many write half of what they read.
// CHECK-LABEL: func.func private @topk(
// CHECK:         linalg.generic
// CHECK:         scf.for {{.*}} -> (tensor<?x?xf32>, tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x?xi32>)
// CHECK:         scf.for {{.*}} -> (tensor<?x?xf32>, tensor<?x?xi32>, tensor<?x?xf32>, tensor<?x?xi32>)
// CHECK-COUNT-2:   tensor.extract_slice
// CHECK:           linalg.generic
// CHECK-COUNT-2:   tensor.insert_slice
// CHECK-COUNT-2:   tensor.extract_slice
// CHECK:           linalg.generic
// CHECK-COUNT-2:   tensor.insert_slice
// CHECK-COUNT-2: tensor.extract_slice {{.*}} to tensor<?x50x
module attributes {relax.global_info = {gpu = #relax.vdevice<"cuda", 0>}} {
  relax.func @topk_rows(%x: !relax.tensor<[n, m], f32, @gpu>) -> !relax.object {
    %0 = relax.topk %x {k = 50 : i64} : (!relax.tensor<[n, m], f32, @gpu>) -> !relax.tuple<!relax.tensor<[n, 50], f32, @gpu>, !relax.tensor<[n, 50], i32, @gpu>>
    relax.return %0 : !relax.tuple<!relax.tensor<[n, 50], f32, @gpu>, !relax.tensor<[n, 50], i32, @gpu>>
  }
}
