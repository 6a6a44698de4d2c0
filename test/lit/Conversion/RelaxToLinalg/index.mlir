// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// Indices count from the end, and mean the nearest element.
// CHECK-LABEL: relax.func @gather
// CHECK:         relax.match_cast %{{.*}} {relax.checks = "relax.gather_elements"} : !relax.shape<[max(m, n)]> -> !relax.shape<[n]>
// CHECK-LABEL: func.func private @gather_elements(
// CHECK:         arith.select
// CHECK:         arith.maxsi
// CHECK:         arith.minsi
// CHECK:         tensor.extract %arg0
relax.func @gather(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[m, 2], i32>) -> !relax.object {
  %0 = relax.gather_elements %x, %i {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[m, 2], i32>) -> !relax.tensor<[m, 2], f32>
  relax.return %0 : !relax.tensor<[m, 2], f32>
}

// -----

// The data is copied, then updated place by place; a place beyond is left out.
// CHECK-LABEL: func.func private @scatter_nd(
// CHECK:         linalg.generic {{.*}} ins(%arg0 : tensor<?x4xf32>) outs(%arg3 : tensor<?x4xf32>)
// CHECK:         scf.for
// CHECK:         arith.cmpi ult
// CHECK:         scf.if
// CHECK:           scf.for
// CHECK:           arith.addf
// CHECK:           tensor.insert
relax.func @scatter(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k, 1], i64>, %u: !relax.tensor<[k, 4], f32>) -> !relax.object {
  %0 = relax.scatter_nd %x, %i, %u {reduction = "add"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

// What nothing is moved to is the value of the padding.
// CHECK-DAG:   #[[MAP:.*]] = affine_map<(d0) -> (d0 floordiv 4, d0 mod 4)>
// CHECK-LABEL: func.func private @layout_transform(
// CHECK:         %[[PAD:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:         linalg.fill ins(%[[PAD]]
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #[[MAP]]]
relax.func @layout(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.layout_transform %x {index_map = affine_map<(i) -> (i floordiv 4, i mod 4)>, pad_value = 2.0 : f32} : (!relax.tensor<[n], f32>) -> !relax.tensor<[(n - 1) floordiv 4 + 1, 4], f32>
  relax.return %0 : !relax.tensor<[(n - 1) floordiv 4 + 1, 4], f32>
}

// -----

// That places are inside is checked.
// CHECK-LABEL: relax.func @slice
// CHECK:         relax.match_cast %{{.*}} {relax.checks = "relax.strided_slice"} : !relax.shape<[max(n, 1)]> -> !relax.shape<[n]>
// CHECK-LABEL: func.func private @strided_slice(
// CHECK:         tensor.extract_slice %arg0[1, 0]
relax.func @slice(%x: !relax.tensor<[n, 4], f32>, %b: !relax.shape<[1]>, %e: !relax.shape<[n]>) -> !relax.object {
  %0 = relax.strided_slice %x, %b, %e {axes = array<i64: 0>, assume_inbound = true} : (!relax.tensor<[n, 4], f32>, !relax.shape<[1]>, !relax.shape<[n]>) -> !relax.tensor<[n - 1, 4], f32>
  relax.return %0 : !relax.tensor<[n - 1, 4], f32>
}

// -----

// A few elements of each row are gathered to vectors of several rows.
// CHECK-LABEL: func.func private @strided_slice(
// CHECK:         tensor.extract %arg0
relax.func @narrow(%x: !relax.tensor<[n, 4], f32>, %b: !relax.shape<[1]>, %e: !relax.shape<[3]>) -> !relax.object {
  %0 = relax.strided_slice %x, %b, %e {axes = array<i64: 1>, assume_inbound = true} : (!relax.tensor<[n, 4], f32>, !relax.shape<[1]>, !relax.shape<[3]>) -> !relax.tensor<[n, 2], f32>
  relax.return %0 : !relax.tensor<[n, 2], f32>
}

// -----

// The scale is a vector along an axis, the zero point a scalar.
// CHECK-DAG:   #[[AXIS:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG:   #[[SCALAR:.*]] = affine_map<(d0, d1) -> ()>
// CHECK-LABEL: func.func private @quantize
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #[[AXIS]], #[[SCALAR]], #{{.*}}]
// CHECK:           math.roundeven
// CHECK:           arith.fptosi
relax.func @quantize(%x: !relax.tensor<[n, 4], f32>, %s: !relax.tensor<[4], f32>, %z: !relax.tensor<[], i8>) -> !relax.object {
  %0 = relax.quantize %x, %s, %z {axis = 1 : i64, out_dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[], i8>) -> !relax.tensor<[n, 4], i8>
  relax.return %0 : !relax.tensor<[n, 4], i8>
}
