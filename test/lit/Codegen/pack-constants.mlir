// RUN: relax-opt %s --split-input-file --relax-attach-target=vector-bits=128 --relax-pack-constants | FileCheck %s

// A constant right matrix is passed in panels of 12 columns, row after row, to
// a copy of the kernel. The other one stays for those who call it.
#a = affine_map<(d0, d1, d2) -> (d0, d1)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: relax.func @main
// CHECK:         %[[PANELS:.*]] = relax.constant {{.*}} : tensor<1x2x12xf32>
// CHECK:         relax.call_tir @matmul_packed(%x, %[[PANELS]])
// CHECK:         relax.call_tir @matmul(%{{.*}}, %y)
// CHECK:       func.func private @matmul(
// CHECK:       func.func private @matmul_packed(%{{.*}}: tensor<?x2xf32>, %[[P:.*]]: tensor<1x2x12xf32>, %{{.*}}: tensor<?x3xf32>)
// CHECK:         %[[EMPTY:.*]] = tensor.empty() : tensor<2x3xf32>
// CHECK:         %[[W:.*]] = linalg.unpack %[[P]] outer_dims_perm = [1, 0] inner_dims_pos = [1] inner_tiles = [12] into %[[EMPTY]]
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[W]] :
// CHECK:       packed: "0x40000000
// CHECK-SAME:    0000803F0000004000004040000000000000000000000000000000000000000000000000000000000000000000000000
// CHECK-SAME:    000080400000A0400000C040000000000000000000000000000000000000000000000000000000000000000000000000"
relax.func @main(%x: !relax.tensor<[m, 2], f32>, %y: !relax.tensor<[2, 3], f32>) -> !relax.tensor<[m, 3], f32> {
  %w = relax.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %0 = relax.call_tir @matmul(%x, %w) : (!relax.tensor<[m, 2], f32>, !relax.tensor<[2, 3], f32>) -> !relax.tensor<[m, 3], f32>
  %1 = relax.call_tir @matmul(%x, %y) : (!relax.tensor<[m, 2], f32>, !relax.tensor<[2, 3], f32>) -> !relax.tensor<[m, 3], f32>
  relax.return %0 : !relax.tensor<[m, 3], f32>
}
func.func private @matmul(%a: tensor<?x2xf32>, %b: tensor<2x3xf32>, %out: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x3xf32>) -> tensor<?x3xf32>
  %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%a, %b : tensor<?x2xf32>, tensor<2x3xf32>) outs(%fill : tensor<?x3xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}

// -----

// Columns may be the rows of the constant; nobody calls the other kernel then.
// CHECK-LABEL: relax.func @transposed
// CHECK:         relax.constant {{.*}} : tensor<2x2x12xf32>
// CHECK-NOT:   @matmul(
// CHECK:         linalg.unpack %{{.*}} outer_dims_perm = [0, 1] inner_dims_pos = [0] inner_tiles = [12] into %{{.*}} : tensor<2x2x12xf32> -> tensor<13x2xf32>
relax.func @transposed(%x: !relax.tensor<[m, 2], f32>) -> !relax.tensor<[m, 13], f32> {
  %w = relax.constant dense<1.0> : tensor<13x2xf32>
  %0 = relax.call_tir @matmul(%x, %w) : (!relax.tensor<[m, 2], f32>, !relax.tensor<[13, 2], f32>) -> !relax.tensor<[m, 13], f32>
  relax.return %0 : !relax.tensor<[m, 13], f32>
}
func.func private @matmul(%a: tensor<?x2xf32>, %b: tensor<13x2xf32>, %out: tensor<?x13xf32>) -> tensor<?x13xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x13xf32>) -> tensor<?x13xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<?x2xf32>, tensor<13x2xf32>) outs(%fill : tensor<?x13xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x13xf32>
  return %0 : tensor<?x13xf32>
}

// -----

// The kernel needs the matrix as it is, or the constant is the left one.
// CHECK-LABEL: relax.func @stays
// CHECK-NOT:     packed
relax.func @stays(%x: !relax.tensor<[2, 2], f32>) -> !relax.tensor<[2, 2], f32> {
  %w = relax.constant dense<1.0> : tensor<2x2xf32>
  %0 = relax.call_tir @matmul(%w, %x) : (!relax.tensor<[2, 2], f32>, !relax.tensor<[2, 2], f32>) -> !relax.tensor<[2, 2], f32>
  %1 = relax.call_tir @square(%w) : (!relax.tensor<[2, 2], f32>) -> !relax.tensor<[2, 2], f32>
  relax.return %0 : !relax.tensor<[2, 2], f32>
}
func.func private @matmul(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>, %out: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<2x2xf32>, tensor<2x2xf32>) outs(%fill : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}
func.func private @square(%a: tensor<2x2xf32>, %out: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<2x2xf32>) -> tensor<2x2xf32>
  %0 = linalg.matmul ins(%a, %a : tensor<2x2xf32>, tensor<2x2xf32>) outs(%fill : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// The copy asks for what the kernel asks for, and panels are as wide as its
// tile. A kernel that is of another class takes constants as they are.
// CHECK-LABEL: relax.func @scheduled
// CHECK:         relax.constant {{.*}} : tensor<1x2x4xf32>
// CHECK:         relax.call_tir @tiled_packed
// CHECK:         relax.call_tir @none(
// CHECK:       func.func private @tiled_packed({{.*}} attributes {relax.schedule = {class = "matmul", tile = array<i64: 4, 4>}}
// CHECK:       func.func private @none(
relax.func @scheduled(%x: !relax.tensor<[m, 2], f32>) -> !relax.tensor<[m, 3], f32> {
  %w = relax.constant dense<1.0> : tensor<2x3xf32>
  %0 = relax.call_tir @tiled(%x, %w) : (!relax.tensor<[m, 2], f32>, !relax.tensor<[2, 3], f32>) -> !relax.tensor<[m, 3], f32>
  %1 = relax.call_tir @none(%x, %w) : (!relax.tensor<[m, 2], f32>, !relax.tensor<[2, 3], f32>) -> !relax.tensor<[m, 3], f32>
  relax.return %0 : !relax.tensor<[m, 3], f32>
}
func.func private @tiled(%a: tensor<?x2xf32>, %b: tensor<2x3xf32>, %out: tensor<?x3xf32>) -> tensor<?x3xf32> attributes {relax.schedule = {class = "matmul", tile = array<i64: 4, 4>}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x3xf32>) -> tensor<?x3xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x2xf32>, tensor<2x3xf32>) outs(%fill : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
func.func private @none(%a: tensor<?x2xf32>, %b: tensor<2x3xf32>, %out: tensor<?x3xf32>) -> tensor<?x3xf32> attributes {relax.schedule = {class = "none"}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x3xf32>) -> tensor<?x3xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x2xf32>, tensor<2x3xf32>) outs(%fill : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
