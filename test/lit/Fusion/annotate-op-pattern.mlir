// RUN: relax-opt %s -relax-annotate-op-pattern | FileCheck %s

// RF16: the kind of a kernel is read from its body.

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>
#none = affine_map<(d0, d1) -> ()>
!t = tensor<?x?xf32>

// CHECK: func.func private @elementwise({{.*}} attributes {op_pattern = 0 : i64}
func.func private @elementwise(%x: !t, %o: !t) -> !t {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : !t) outs(%o : !t) {
  ^bb0(%a: f32, %b: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> !t
  return %0 : !t
}

// No input at all: each element is made where it is.
// CHECK: func.func private @fill({{.*}} attributes {op_pattern = 0 : i64}
func.func private @fill(%o: !t) -> !t {
  %c = arith.constant 1.0 : f32
  %0 = linalg.fill ins(%c : f32) outs(%o : !t) -> !t
  return %0 : !t
}

// CHECK: func.func private @broadcast({{.*}} attributes {op_pattern = 1 : i64}
func.func private @broadcast(%x: !t, %y: tensor<?xf32>, %z: tensor<f32>, %o: !t) -> !t {
  %0 = linalg.generic {indexing_maps = [#id, #column, #none, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y, %z : !t, tensor<?xf32>, tensor<f32>) outs(%o : !t) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %1 = arith.addf %a, %b : f32
    %2 = arith.addf %1, %c : f32
    linalg.yield %2 : f32
  } -> !t
  return %0 : !t
}

// CHECK: func.func private @transpose({{.*}} attributes {op_pattern = 2 : i64}
func.func private @transpose(%x: !t, %o: !t) -> !t {
  %0 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%x : !t) outs(%o : !t) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> !t
  return %0 : !t
}

// CHECK: func.func private @slice({{.*}} attributes {op_pattern = 2 : i64}
func.func private @slice(%x: tensor<8x4xf32>, %o: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = tensor.extract_slice %x[3, 0] [2, 4] [1, 1] : tensor<8x4xf32> to tensor<2x4xf32>
  %1 = linalg.copy ins(%0 : tensor<2x4xf32>) outs(%o : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK: func.func private @reduction({{.*}} attributes {op_pattern = 3 : i64}
func.func private @reduction(%x: !t, %o: tensor<?xf32>) -> tensor<?xf32> {
  %c = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%c : f32) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : !t) outs(%0 : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.addf %b, %a : f32
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// A sum of squares multiplies, but uses no element twice.
// CHECK: func.func private @squares({{.*}} attributes {op_pattern = 3 : i64}
func.func private @squares(%x: !t, %y: !t, %o: tensor<?xf32>) -> tensor<?xf32> {
  %1 = linalg.generic {indexing_maps = [#id, #id, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %y : !t, !t) outs(%o : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %c, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// CHECK: func.func private @matmul({{.*}} attributes {op_pattern = 4 : i64}
func.func private @matmul(%x: !t, %y: !t, %o: !t) -> !t {
  %0 = linalg.matmul ins(%x, %y : !t, !t) outs(%o : !t) -> !t
  return %0 : !t
}

// CHECK: func.func private @window({{.*}} attributes {op_pattern = 4 : i64}
func.func private @window(%x: tensor<9xf32>, %w: tensor<3xf32>, %o: tensor<7xf32>) -> tensor<7xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0 + d1)>, #column, #row], iterator_types = ["parallel", "reduction"]} ins(%x, %w : tensor<9xf32>, tensor<3xf32>) outs(%o : tensor<7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.maximumf %c, %a : f32
    linalg.yield %1 : f32
  } -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// Two products.
// CHECK: func.func private @two({{.*}} attributes {op_pattern = 8 : i64}
func.func private @two(%x: !t, %y: !t, %o: !t) -> !t {
  %0 = linalg.matmul ins(%x, %y : !t, !t) outs(%o : !t) -> !t
  %1 = linalg.matmul ins(%x, %y : !t, !t) outs(%0 : !t) -> !t
  return %1 : !t
}

// Operations on memrefs are read in the same way.
// CHECK: func.func private @memory({{.*}} attributes {op_pattern = 0 : i64}
func.func private @memory(%x: memref<4xf32>, %o: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%o : memref<4xf32>)
  return
}

// What a user states stays.
// CHECK: func.func private @stated({{.*}} attributes {op_pattern = 8 : i64}
func.func private @stated(%o: !t) -> !t attributes {op_pattern = 8 : i64} {
  return %o : !t
}

// CHECK: func.func private @declared({{.*}}) -> {{[^{]*$}}
func.func private @declared(!t) -> !t

// Loops over memrefs are what they would be as operations; they stay loops here.
// CHECK: func.func private @loops({{.*}} attributes {op_pattern = 0 : i64}
// CHECK: scf.for
func.func private @loops(%x: memref<4xf32>, %o: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %0 = memref.load %x[%i] : memref<4xf32>
    %1 = math.exp %0 : f32
    memref.store %1, %o[%i] : memref<4xf32>
  }
  return
}

// CHECK: func.func private @backward({{.*}} attributes {op_pattern = 8 : i64}
func.func private @backward(%o: memref<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %0 = memref.load %o[%i] : memref<5xf32>
    %1 = arith.addi %i, %c1 : index
    memref.store %0, %o[%1] : memref<5xf32>
  }
  return
}
