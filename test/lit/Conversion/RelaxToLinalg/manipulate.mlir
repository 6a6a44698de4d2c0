// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// The element count is checked before the call where it is not proven; elements
// are read through a view as a vector.
// CHECK-LABEL: relax.func @reshape_checked
// CHECK:         %[[SHAPE:.*]] = relax.shape <[n * 4]>
// CHECK:         relax.match_cast %[[SHAPE]] {relax.checks = "relax.reshape"} : !relax.shape<[n * 4]> -> !relax.shape<[a * b]>
// CHECK:         relax.call_tir @reshape(%x)
// CHECK:       func.func private @reshape(%[[X:.*]]: tensor<?x4xf32>, %[[OUT:.*]]: tensor<?x?xf32>)
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape %[[X]]
// CHECK:         linalg.generic
// CHECK-SAME:      outs(%[[OUT]]
// CHECK:           tensor.extract %[[FLAT]]
relax.func @reshape_checked(%x: !relax.tensor<[n, 4], f32>, %s: !relax.shape<[a, b]>) -> !relax.object {
  %0 = relax.reshape %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[a, b]>) -> !relax.tensor<[a, b], f32>
  relax.return %0 : !relax.tensor<[a, b], f32>
}

// -----

// What is proven is not checked.
// CHECK-LABEL: relax.func @reshape_proven
// CHECK-NOT:     relax.match_cast
// CHECK:         relax.call_tir @reshape
relax.func @reshape_proven(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %s = relax.shape <[n * 2, 2]>
  %0 = relax.reshape %x, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n * 2, 2]>) -> !relax.tensor<[n * 2, 2], f32>
  relax.return %0 : !relax.tensor<[n * 2, 2], f32>
}

// -----

// A vector is the view itself.
// CHECK-LABEL: func.func private @flatten
// CHECK-SAME:    (%[[X:.*]]: tensor<?x?xf32>, %[[OUT:.*]]: tensor<?xf32>)
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape %[[X]]
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[FLAT]] : tensor<?xf32>) outs(%[[OUT]] : tensor<?xf32>)
relax.func @flatten_matrix(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.flatten %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n * m], f32>
  relax.return %0 : !relax.tensor<[n * m], f32>
}

// -----

// CHECK-LABEL: relax.func @squeeze_checked
// CHECK:         %[[SHAPE:.*]] = relax.shape <[m]>
// CHECK:         relax.match_cast %[[SHAPE]] {relax.checks = "relax.squeeze"} : !relax.shape<[m]> -> !relax.shape<[1]>
// CHECK:         relax.call_tir @squeeze(%x) : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n], f32>
relax.func @squeeze_checked(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.squeeze %x {axis = array<i64: 1>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// A dimension that may be 1 is taken as one that is equal, and checked.
// CHECK-LABEL: relax.func @broadcast_checked
// CHECK:         relax.match_cast %{{.*}} : !relax.shape<[k]> -> !relax.shape<[m]>
// CHECK:       func.func private @broadcast_to(%{{.*}}: tensor<1x?xf32>, %{{.*}}: tensor<?x?xf32>)
relax.func @broadcast_checked(%x: !relax.tensor<[1, k], f32>, %s: !relax.shape<[n, m]>) -> !relax.object {
  %0 = relax.broadcast_to %x, %s : (!relax.tensor<[1, k], f32>, !relax.shape<[n, m]>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

// Result dimension i is dimension axes[i]: [k, n, m] of [n, m, k].
// CHECK-DAG:   #[[IN:.*]] = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
// CHECK-DAG:   #[[OUT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func private @permute_dims
// CHECK:         indexing_maps = [#[[IN]], #[[OUT]]]
relax.func @permute(%x: !relax.tensor<[n, m, k], f32>) -> !relax.object {
  %0 = relax.permute_dims %x {axes = array<i64: 2, 0, 1>} : (!relax.tensor<[n, m, k], f32>) -> !relax.tensor<[k, n, m], f32>
  relax.return %0 : !relax.tensor<[k, n, m], f32>
}

// -----

// Each part is copied to its slice of the output; one that is empty has none.
// CHECK-LABEL: func.func private @concat
// CHECK-SAME:    (%[[A:.*]]: tensor<?x4xf32>, %{{.*}}: tensor<0x4xf32>, %[[C:.*]]: tensor<?x4xf32>, %[[OUT:.*]]: tensor<?x4xf32>)
// CHECK:         %[[SLICE:.*]] = tensor.extract_slice %[[OUT]][0, 0]
// CHECK:         %[[COPY:.*]] = linalg.generic
// CHECK-SAME:      ins(%[[A]] : tensor<?x4xf32>) outs(%[[SLICE]] : tensor<?x4xf32>)
// CHECK:         tensor.insert_slice %[[COPY]] into %[[OUT]]
// CHECK:         linalg.generic
// CHECK-SAME:      ins(%[[C]] : tensor<?x4xf32>)
// CHECK-NOT:     linalg.generic
relax.func @concat_parts(%a: !relax.tensor<[n, 4], f32>, %b: !relax.tensor<[0, 4], f32>, %c: !relax.tensor<[m, 4], f32>) -> !relax.object {
  %0 = relax.concat %a, %b, %c : (!relax.tensor<[n, 4], f32>, !relax.tensor<[0, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[n + m, 4], f32>
  relax.return %0 : !relax.tensor<[n + m, 4], f32>
}

// -----

// One kernel writes all parts; that the last index is in range is checked.
// CHECK-LABEL: relax.func @split_checked
// CHECK:         relax.match_cast %{{.*}} : !relax.shape<[max(n, 5)]> -> !relax.shape<[n]>
// CHECK:         %[[T:.*]] = relax.call_tir @split(%x) : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[3], f32>, !relax.tensor<[2], f32>, !relax.tensor<[n - 5], f32>>
// CHECK:         relax.get_item %[[T]][1]
// CHECK:       func.func private @split(%[[X:.*]]: tensor<?xf32>, %{{.*}}: tensor<3xf32>, %{{.*}}: tensor<2xf32>, %{{.*}}: tensor<?xf32>) -> (tensor<3xf32>, tensor<2xf32>, tensor<?xf32>)
// CHECK-COUNT-3: tensor.extract_slice %[[X]]
relax.func @split_checked(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.split %x {indices = array<i64: 3, 5>} : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[3], f32>, !relax.tensor<[2], f32>, !relax.tensor<[n - 5], f32>>
  %1 = relax.get_item %0[1] : !relax.tuple<!relax.tensor<[3], f32>, !relax.tensor<[2], f32>, !relax.tensor<[n - 5], f32>>
  relax.return %1 : !relax.tensor<[2], f32>
}

// -----

// An index is clipped; nothing is read where the dimension is 0.
// CHECK-DAG:   #[[INDICES:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func private @take
// CHECK:         indexing_maps = [#[[INDICES]]
// CHECK:           scf.if
// CHECK:           } else {
// CHECK:             arith.maxsi
// CHECK:             arith.minsi
// CHECK:             tensor.extract
relax.func @take_clip(%x: !relax.tensor<[n, 4], f32>, %i: !relax.tensor<[k], i32>) -> !relax.object {
  %0 = relax.take %x, %i {axis = 0} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k], i32>) -> !relax.tensor<[k, 4], f32>
  relax.return %0 : !relax.tensor<[k, 4], f32>
}

// -----

// A constant dimension needs no test. Unsigned indices are not negative.
// CHECK-LABEL: func.func private @take
// CHECK-NOT:     scf.if
// CHECK:         arith.index_castui
// CHECK:         arith.remsi
// CHECK:         tensor.extract
relax.func @take_wrap(%x: !relax.tensor<[4], f32>, %i: !relax.tensor<[k], ui8>) -> !relax.object {
  %0 = relax.take %x, %i {mode = "wrap"} : (!relax.tensor<[4], f32>, !relax.tensor<[k], ui8>) -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.tensor<[k], f32>
}
