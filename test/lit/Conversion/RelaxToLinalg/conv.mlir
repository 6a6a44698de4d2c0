// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// The input is padded with zeros; groups are a dimension of their own.
// CHECK-DAG:   #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d5, d3 * 2 + d6, d4 + d7)>
// CHECK-DAG:   #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d2, d5, d6, d7)>
// CHECK-DAG:   #[[Y:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)>
// CHECK-LABEL: func.func private @conv2d(
// CHECK-SAME:    %[[DATA:.*]]: tensor<?x4x?x?xf32>, %{{.*}}: tensor<6x2x3x3xf32>, %[[OUT:.*]]: tensor<?x6x?x?xf32>)
// CHECK:         %[[ZEROS:.*]] = linalg.fill
// CHECK:         tensor.insert_slice %{{.*}} into %[[ZEROS]][0, 0, 1, 1]
// CHECK:         tensor.expand_shape %[[OUT]] {{\[\[}}0], [1, 2], [3], [4]]
// CHECK:         linalg.generic {indexing_maps = [#[[X]], #[[W]], #[[Y]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
// CHECK:           arith.mulf
// CHECK:           arith.addf
relax.func @conv(%x: !relax.tensor<[n, 4, h, w], f32>, %w: !relax.tensor<[6, 2, 3, 3], f32>) -> !relax.object {
  %0 = relax.conv2d %x, %w {groups = 2 : i64, padding = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 1>} : (!relax.tensor<[n, 4, h, w], f32>, !relax.tensor<[6, 2, 3, 3], f32>) -> !relax.tensor<[n, 6, (h - 1) floordiv 2 + 1, w], f32>
  relax.return %0 : !relax.tensor<[n, 6, (h - 1) floordiv 2 + 1, w], f32>
}

// -----

// Whether there are as many channels is checked; nothing is padded or grouped.
// CHECK-LABEL: relax.func @channels
// CHECK:         relax.match_cast %{{.*}} {relax.checks = "relax.conv2d"} : !relax.shape<[c]> -> !relax.shape<[i]>
// CHECK:         relax.call_tir @conv2d(%x, %w)
// CHECK-LABEL: func.func private @conv2d(
// CHECK-NOT:     tensor.insert_slice
// CHECK-NOT:     tensor.expand_shape
// CHECK:         iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
relax.func @channels(%x: !relax.tensor<[n, c, h, w], f32>, %w: !relax.tensor<[o, i, 3, 3], f32>) -> !relax.object {
  %0 = relax.conv2d %x, %w : (!relax.tensor<[n, c, h, w], f32>, !relax.tensor<[o, i, 3, 3], f32>) -> !relax.tensor<[n, o, h - 2, w - 2], f32>
  relax.return %0 : !relax.tensor<[n, o, h - 2, w - 2], f32>
}

// -----

// CHECK-DAG:   #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d4, d3 * 2 + d5)>
// CHECK-LABEL: func.func private @max_pool2d(
// CHECK:         %[[WINDOW:.*]] = tensor.empty() : tensor<2x2xf32>
// CHECK:         %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         linalg.fill ins(%[[LOWEST]]
// CHECK:         linalg.generic {indexing_maps = [#[[X]],
// CHECK-SAME:      ins(%{{.*}}, %[[WINDOW]]
// CHECK:           arith.maximumf
relax.func @pool(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  %0 = relax.max_pool2d %x {pool_size = array<i64: 2, 2>, strides = array<i64: 2, 2>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 3, h floordiv 2, w floordiv 2], f32>
  relax.return %0 : !relax.tensor<[n, 3, h floordiv 2, w floordiv 2], f32>
}

// -----

// Windows of different sizes are loops inside of an element.
// CHECK-LABEL: func.func private @adaptive_avg_pool2d(
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
// CHECK-COUNT-2:   scf.for
// CHECK:           arith.divf
relax.func @adaptive(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  %0 = relax.adaptive_avg_pool2d %x {output_size = array<i64: 3, 2>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 3, 3, 2], f32>
  relax.return %0 : !relax.tensor<[n, 3, 3, 2], f32>
}

// -----

// One window is a sum over all of the image.
// CHECK-LABEL: func.func private @adaptive_avg_pool2d(
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
// CHECK-NOT:     scf.for
// CHECK:           arith.divf
relax.func @global(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  %0 = relax.adaptive_avg_pool2d %x {output_size = array<i64: 1, 1>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 3, 1, 1], f32>
  relax.return %0 : !relax.tensor<[n, 3, 1, 1], f32>
}

// -----

// Windows of one size, which do not overlap: their number is known.
// CHECK-DAG:   #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d4, d3 * 3 + d5)>
// CHECK-LABEL: func.func private @adaptive_avg_pool2d(
// CHECK:         linalg.generic {indexing_maps = [#[[X]],
// CHECK:         arith.divf %{{.*}}, %cst
relax.func @parts(%x: !relax.tensor<[n, 3, 8, 9], f32>) -> !relax.object {
  %0 = relax.adaptive_avg_pool2d %x {output_size = array<i64: 4, 3>} : (!relax.tensor<[n, 3, 8, 9], f32>) -> !relax.tensor<[n, 3, 4, 3], f32>
  relax.return %0 : !relax.tensor<[n, 3, 4, 3], f32>
}
