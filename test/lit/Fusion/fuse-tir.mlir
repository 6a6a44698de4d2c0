// RUN: relax-opt %s -split-input-file -relax-legalize-ops -relax-fuse-ops -relax-fuse-tir | FileCheck %s

// RF16: loops over elements become one, constants are part of it, and the
// kernels that nobody calls any more go.
!x = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: relax.func @chain
// CHECK: relax.call_tir @fused_multiply_exp_add(%x, %y) : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8], f32>) -> !relax.tensor<[n, 8], f32>
// CHECK-NOT: func.func
// CHECK: func.func private @fused_multiply_exp_add(%[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[O:.*]]: tensor<?x8xf32>) -> tensor<?x8xf32>
// CHECK-NEXT: %[[R:.*]] = linalg.generic
// CHECK-SAME: ins(%[[X]], %[[Y]] : tensor<?x8xf32>, tensor<8xf32>) outs(%[[O]] : tensor<?x8xf32>)
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[C:.*]] = arith.constant 2.000000e+00
// CHECK-NEXT: %[[D:.*]] = arith.mulf %[[A]], %[[C]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[D]]
// CHECK-NEXT: %[[F:.*]] = arith.addf %[[E]], %[[B]]
// CHECK-NEXT: linalg.yield %[[F]]
// CHECK: return %[[R]]
// CHECK-NOT: func.func
relax.func @chain(%x: !x, %y: !relax.tensor<[8], f32>) -> !x {
  %0 = relax.dataflow -> !x {
    %c = relax.constant dense<2.0> : tensor<f32>
    %1 = relax.multiply %x, %c : (!x, !relax.tensor<[], f32>) -> !x
    %2 = relax.exp %1 : (!x) -> !x
    %3 = relax.add %2, %y : (!x, !relax.tensor<[8], f32>) -> !x
    relax.output %3 : !x
  }
  relax.return %0 : !x
}

// -----

// Loops that write two results read their inputs once.
!x = !relax.tensor<[n, 8], f32>

// CHECK: func.func private @fused_add_exp_multiply(%[[X:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x8xf32>, %[[P:.*]]: tensor<?x8xf32>, %[[Q:.*]]: tensor<?x8xf32>)
// CHECK-NEXT: %[[R:.*]]:2 = linalg.generic
// CHECK-SAME: ins(%[[X]], %[[Y]] : {{.*}} outs(%[[P]], %[[Q]] :
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK-NEXT: %[[C:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT: %[[D:.*]] = math.exp %[[C]]
// CHECK-NEXT: %[[E:.*]] = arith.mulf %[[D]], %[[B]]
// CHECK-NEXT: linalg.yield %[[C]], %[[E]]
// CHECK: return %[[R]]#0, %[[R]]#1
// CHECK-NOT: func.func
relax.func @two_results(%x: !x, %y: !x) -> !relax.tuple<!x, !x> {
  %0:2 = relax.dataflow -> !x, !x {
    %1 = relax.add %x, %y : (!x, !x) -> !x
    %2 = relax.exp %1 : (!x) -> !x
    %3 = relax.multiply %2, %y : (!x, !x) -> !x
    relax.output %1, %3 : !x, !x
  }
  %t = relax.tuple %0#0, %0#1 : !x, !x
  relax.return %t : !relax.tuple<!x, !x>
}

// Of four kernels, each of which others read, all become one nest.
// CHECK: func.func private @fused_exp_sigmoid_multiply_add(
// CHECK: %[[R:.*]]:3 = linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#{{[0-2]}}, %[[R]]#{{[0-2]}}, %[[R]]#{{[0-2]}}
relax.func @three_results(%x: !x) -> !relax.tuple<!x, !x, !x> {
  %0:3 = relax.dataflow -> !x, !x, !x {
    %1 = relax.exp %x : (!x) -> !x
    %2 = relax.sigmoid %1 : (!x) -> !x
    %3 = relax.multiply %1, %2 : (!x, !x) -> !x
    %4 = relax.add %3, %2 : (!x, !x) -> !x
    relax.output %1, %3, %4 : !x, !x, !x
  }
  %t = relax.tuple %0#0, %0#1, %0#2 : !x, !x, !x
  relax.return %t : !relax.tuple<!x, !x, !x>
}

// -----

// The product keeps its form, and what follows updates it where it lies.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>

// CHECK: func.func private @fused_matmul_relu(%[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<8x8xf32>, %[[O:.*]]: tensor<?x8xf32>)
// CHECK-NOT: tensor.empty
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} outs(%[[O]]
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[W]] {{.*}} outs(%[[Z]]
// CHECK: linalg.generic {{.*}} outs(%[[P]] : tensor<?x8xf32>) {
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32):
// CHECK: arith.maximumf %[[A]]
relax.func @product(%x: !x, %w: !w) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.matmul %x, %w : (!x, !w) -> !x
    %2 = relax.relu %1 : (!x) -> !x
    relax.output %2 : !x
  }
  relax.return %0 : !x
}

// -----

// A dimension of a tensor inside that no parameter has is an integer.
!x = !relax.tensor<[n], f32>
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// CHECK: func.func private @f(%{{.*}}: tensor<?xf32>, %[[M:.*]]: i64, %{{.*}}: tensor<?xf32>)
// CHECK: arith.index_cast %[[M]] : i64 to index
// CHECK-LABEL: relax.func @ints
// CHECK: %[[S:.*]] = relax.shape <[m + 1]>
// CHECK: relax.call_tir @f(%x) packed_ints %[[S]] : !relax.shape<[m + 1]> : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
func.func private @repeat(%x: tensor<?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?xf32>) outs(%o : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.sin %a : f32
    linalg.yield %1 : f32
  } -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
func.func private @sum(%x: tensor<?x?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    %2 = arith.addf %1, %b : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
relax.func private @f(%x: !x, %s: !relax.shape<[k]>) -> !x attributes {Primitive = true} {
  %1 = relax.call_tir @repeat(%x) : (!x) -> !relax.tensor<[k + 1, n], f32>
  %2 = relax.call_tir @sum(%1) : (!relax.tensor<[k + 1, n], f32>) -> !x
  relax.return %2 : !x
}
relax.func @ints(%x: !x, %s: !relax.shape<[m]>) -> !x {
  %0 = relax.call @f(%x, %s) : (!x, !relax.shape<[m]>) -> !x
  relax.return %0 : !x
}

// -----

// What a function computes and returns twice is no business of a kernel; one
// that calls a kernel on memory stays as it is.
!x = !relax.tensor<[4], f32>

// CHECK-LABEL: relax.func @kept
// CHECK: relax.call @memory(%x)
// CHECK: relax.call @same(%x)
// CHECK: relax.func private @memory
// CHECK-NEXT: relax.call_tir @copy
// CHECK-NEXT: relax.call_tir @copy
func.func private @copy(%x: memref<4xf32>, %o: memref<4xf32>) {
  memref.copy %x, %o : memref<4xf32> to memref<4xf32>
  return
}
relax.func @kept(%x: !x) -> !relax.tuple<!x, !x> {
  %0 = relax.call @memory(%x) : (!x) -> !x
  %1 = relax.call @same(%x) : (!x) -> !relax.tuple<!x, !x>
  relax.return %1 : !relax.tuple<!x, !x>
}
relax.func private @memory(%x: !x) -> !x attributes {Primitive = true} {
  %1 = relax.call_tir @copy(%x) : (!x) -> !x
  %2 = relax.call_tir @copy(%1) : (!x) -> !x
  relax.return %2 : !x
}
relax.func private @same(%x: !x) -> !relax.tuple<!x, !x> attributes {Primitive = true} {
  %1 = relax.exp %x : (!x) -> !x
  %2 = relax.sin %1 : (!x) -> !x
  %3 = relax.tuple %2, %2 : !x, !x
  relax.return %3 : !relax.tuple<!x, !x>
}

// -----

// Slices of a product are results of its kernel, and it reads what is permuted
// through its map.
!x = !relax.tensor<[8, n], f32>
!y = !relax.tensor<[n, 3], f32>
!z = !relax.tensor<[n, 5], f32>

// CHECK: #[[KI:.*]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK-LABEL: relax.func @neighbours
// CHECK: relax.call_tir @fused_permute_dims_matmul_split(%x, %w)
// CHECK: func.func private @fused_permute_dims_matmul_split(%[[X:.*]]: tensor<8x?xf32>, %[[W:.*]]: tensor<8x8xf32>, %{{.*}}: tensor<?x3xf32>, %{{.*}}: tensor<?x5xf32>)
// CHECK-NOT: linalg.generic
// CHECK: %[[PRODUCT:.*]] = linalg.generic {indexing_maps = [#[[KI]], {{.*}} ins(%[[X]], %[[W]] :
// CHECK: tensor.extract_slice %[[PRODUCT]][0, 0]
// CHECK: tensor.extract_slice %[[PRODUCT]][0, 3]
relax.func @neighbours(%x: !x, %w: !relax.tensor<[8, 8], f32>) -> !relax.tuple<!y, !z> {
  %0 = relax.dataflow -> !relax.tuple<!y, !z> {
    %1 = relax.permute_dims %x : (!x) -> !relax.tensor<[n, 8], f32>
    %2 = relax.matmul %1, %w : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8, 8], f32>) -> !relax.tensor<[n, 8], f32>
    %3 = relax.split %2 {axis = 1 : i64, indices = array<i64: 3>} : (!relax.tensor<[n, 8], f32>) -> !relax.tuple<!y, !z>
    relax.output %3 : !relax.tuple<!y, !z>
  }
  relax.return %0 : !relax.tuple<!y, !z>
}

// -----

// A rounded float that is clamped to the range of an integer is not made one and
// a float again. An integer has no negative zero.
!x = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: func.func private @fused_round_astype_astype_relu(
// CHECK:         %[[CLAMPED:.*]] = arith.select
// CHECK-NOT:     arith.fptosi
// CHECK:         %[[SAME:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NOT:     arith.sitofp
// CHECK:         arith.maximumf %[[SAME]]
relax.func @rounded(%x: !x) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.round %x : (!x) -> !x
    %2 = relax.astype %1 {dtype = i8} : (!x) -> !relax.tensor<[n, 8], i8>
    %3 = relax.astype %2 {dtype = f32} : (!relax.tensor<[n, 8], i8>) -> !x
    %4 = relax.relu %3 : (!x) -> !x
    relax.output %4 : !x
  }
  relax.return %0 : !x
}

// -----

// Without rounding the conversion is one.
!x = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: func.func private @fused_astype_astype_relu(
// CHECK:         arith.fptosi
// CHECK:         arith.sitofp
relax.func @truncated(%x: !x) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.astype %x {dtype = i8} : (!x) -> !relax.tensor<[n, 8], i8>
    %2 = relax.astype %1 {dtype = f32} : (!relax.tensor<[n, 8], i8>) -> !x
    %3 = relax.relu %2 : (!x) -> !x
    relax.output %3 : !x
  }
  relax.return %0 : !x
}

// -----

// The maximum of rounded numbers is the rounded maximum.
!x = !relax.tensor<[n, 8], f32>
!y = !relax.tensor<[n, 8], bf16>

// CHECK-LABEL: func.func private @fused_astype_relu_maximum(
// CHECK-NOT:     arith.truncf
// CHECK:         %[[POSITIVE:.*]] = arith.maximumf %{{.*}}, %{{.*}} : f32
// CHECK-NOT:     arith.truncf
// CHECK:         %[[OTHER:.*]] = arith.extf
// CHECK:         %[[LARGEST:.*]] = arith.maximumf %[[POSITIVE]], %[[OTHER]] : f32
// CHECK:         arith.truncf %[[LARGEST]] : f32 to bf16
// CHECK-NOT:     arith.truncf
relax.func @extremum(%x: !x, %y: !y) -> !y {
  %0 = relax.dataflow -> !y {
    %1 = relax.astype %x {dtype = bf16} : (!x) -> !y
    %2 = relax.relu %1 : (!y) -> !y
    %3 = relax.maximum %2, %y : (!y, !y) -> !y
    relax.output %3 : !y
  }
  relax.return %0 : !y
}

// -----

// The sum is not, and it is rounded itself.
!x = !relax.tensor<[n, 8], f32>
!y = !relax.tensor<[n, 8], bf16>

// CHECK-LABEL: func.func private @fused_astype_add_relu(
// CHECK:         arith.truncf
// CHECK:         %[[SUM:.*]] = arith.addf
// CHECK-NOT:     arith.truncf
// CHECK:         %[[POSITIVE:.*]] = arith.maximumf %[[SUM]]
// CHECK:         arith.truncf %[[POSITIVE]]
relax.func @sum(%x: !x, %y: !y) -> !y {
  %0 = relax.dataflow -> !y {
    %1 = relax.astype %x {dtype = bf16} : (!x) -> !y
    %2 = relax.add %1, %y : (!y, !y) -> !y
    %3 = relax.relu %2 : (!y) -> !y
    relax.output %3 : !y
  }
  relax.return %0 : !y
}

// -----

// What follows a normalization of groups is computed over groups, too: nothing
// is collapsed but the result.
!x = !relax.tensor<[n, 8, m], f32>
!c = !relax.tensor<[8], f32>

// CHECK: func.func private @fused_group_norm_relu_add(%[[X:.*]]: tensor<?x8x?xf32>, %{{.*}}: tensor<8xf32>, %{{.*}}: tensor<8xf32>, %[[Y:.*]]: tensor<?x8x?xf32>, %[[O:.*]]: tensor<?x8x?xf32>)
// CHECK-DAG: %[[XS:.*]] = tensor.expand_shape %[[X]] {{.*}} into tensor<?x2x4x?xf32>
// CHECK-DAG: %[[YS:.*]] = tensor.expand_shape %[[Y]] {{.*}} into tensor<?x2x4x?xf32>
// CHECK-DAG: %[[OS:.*]] = tensor.expand_shape %[[O]] {{.*}} into tensor<?x2x4x?xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[XS]], {{.*}}, %[[YS]] : {{.*}}) outs(%[[OS]]
// CHECK: arith.maximumf
// CHECK: arith.addf
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[R]]
// CHECK-NEXT: return %[[C]]
relax.func @groups(%x: !x, %gamma: !c, %beta: !c, %y: !x) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.group_norm %x, %gamma, %beta {num_groups = 2 : i64, channel_axis = 1 : i64, axes = array<i64: 2>} : (!x, !c, !c) -> !x
    %2 = relax.relu %1 : (!x) -> !x
    %3 = relax.add %2, %y : (!x, !x) -> !x
    relax.output %3 : !x
  }
  relax.return %0 : !x
}
