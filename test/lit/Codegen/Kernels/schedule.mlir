// RUN: relax-opt %s --split-input-file --relax-attach-target=vector-bits=256 --relax-emit-kernels --canonicalize --cse | FileCheck %s

// The tile of a schedule takes the place of the one that is chosen otherwise:
// 2 rows x 2 vectors instead of 4 x 3. So few sums are three of each, which take
// turns, as a product takes a few cycles.
// CHECK-LABEL: func.func private @given(
// CHECK-SAME:    attributes {relax.kernel_class = "matmul"}
// CHECK:         scf.for {{.*}} -> (vector<8xf32>, {{.*}}vector<8xf32>) {
// CHECK-COUNT-24: vector.fma
// CHECK-NOT:     vector.fma
// CHECK:         scf.yield
func.func private @given(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "matmul", tile = array<i64: 2, 16>}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// A class that would not be tried first: a product is a reduction of rows, too.
// CHECK-LABEL: func.func private @rows(
// CHECK-SAME:    attributes {relax.kernel_class = "rows"}
func.func private @rows(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "rows"}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// Without a class it is left for bufferization, and asks for nothing more.
// CHECK-LABEL: func.func private @none(
// CHECK-SAME:    -> tensor<64x64xf32> {
// CHECK:         linalg.matmul
func.func private @none(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "none"}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
