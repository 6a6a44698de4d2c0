// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// The moving mean and variance are copied where they are not updated.
// CHECK-LABEL: relax.func @bn
// CHECK:         relax.match_cast %{{.*}} {relax.checks = "relax.batch_norm"} : !relax.shape<[d]> -> !relax.shape<[c]>
// CHECK-LABEL: func.func private @batch_norm(
// CHECK:         math.sqrt
// CHECK:         linalg.generic {{.*}} outs(%arg6 : tensor<?xf32>)
// CHECK:         linalg.generic {{.*}} outs(%arg7 : tensor<?xf32>)
// CHECK:         linalg.generic {{.*}} outs(%arg5 : tensor<?x?xf32>)
relax.func @bn(%x: !relax.tensor<[n, c], f32>, %g: !relax.tensor<[c], f32>, %m: !relax.tensor<[d], f32>) -> !relax.object {
  %0 = relax.batch_norm %x, %g, %g, %m, %g {axis = 1 : i64, training = false} : (!relax.tensor<[n, c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[d], f32>, !relax.tensor<[c], f32>) -> !relax.tuple<!relax.tensor<[n, c], f32>, !relax.tensor<[d], f32>, !relax.tensor<[c], f32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n, c], f32>, !relax.tensor<[d], f32>, !relax.tensor<[c], f32>>
}

// -----

// Groups are a dimension of their own; that channels are groups of equal size is checked.
// CHECK-LABEL: relax.func @gn
// CHECK:         relax.match_cast %{{.*}} {relax.checks = "relax.group_norm"} : !relax.shape<[c mod 2]> -> !relax.shape<[0]>
// CHECK-LABEL: func.func private @group_norm(
// CHECK:         tensor.expand_shape %arg0 {{\[\[}}0], [1, 2], [3]]
// CHECK:         iterator_types = ["parallel", "parallel", "reduction", "reduction"]
// CHECK:         tensor.collapse_shape
relax.func @gn(%x: !relax.tensor<[n, c, m], f32>, %g: !relax.tensor<[c], f32>) -> !relax.object {
  %0 = relax.group_norm %x, %g, %g {axes = array<i64: 2>, channel_axis = 1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, c, m], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[n, c, m], f32>
  relax.return %0 : !relax.tensor<[n, c, m], f32>
}

// -----

// Floats of 16 bits are summed as 32 bits.
// CHECK-LABEL: func.func private @rms_norm(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<?x?xf16>) outs(%{{.*}} : tensor<?xf32>)
// CHECK:           arith.extf
// CHECK:         math.sqrt
// CHECK:         linalg.generic {{.*}} outs(%arg2 : tensor<?x?xf16>)
// CHECK:           arith.truncf
relax.func @rms(%x: !relax.tensor<[n, c], f16>, %g: !relax.tensor<[c], f16>) -> !relax.object {
  %0 = relax.rms_norm %x, %g {axes = array<i64: -1>} : (!relax.tensor<[n, c], f16>, !relax.tensor<[c], f16>) -> !relax.tensor<[n, c], f16>
  relax.return %0 : !relax.tensor<[n, c], f16>
}

// -----

// Four heads of the query use one of the key; scores beyond the diagonal do not count.
// CHECK-DAG:   #[[K:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1 floordiv 4, d4)>
// CHECK-LABEL: func.func private @attention(
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #[[K]], #{{.*}}]
// CHECK:         %[[SCALE:.*]] = arith.constant 5.000000e-01 : f32
// CHECK:         arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:         arith.cmpi sle
// CHECK:         arith.maximumf
// CHECK:         math.exp
// CHECK:         linalg.generic {{.*}} outs(%arg3 : tensor<?x?x8x4xf32>)
// CHECK:           arith.divf
relax.func @att(%q: !relax.tensor<[b, n, 8, 4], f32>, %k: !relax.tensor<[b, m, 2, 4], f32>) -> !relax.object {
  %0 = relax.attention %q, %k, %k {causal_mask = "TopLeft"} : (!relax.tensor<[b, n, 8, 4], f32>, !relax.tensor<[b, m, 2, 4], f32>, !relax.tensor<[b, m, 2, 4], f32>) -> !relax.tensor<[b, n, 8, 4], f32>
  relax.return %0 : !relax.tensor<[b, n, 8, 4], f32>
}
