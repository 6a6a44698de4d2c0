// Vectors, arithmetic and indices become LLVM in one conversion.
//
// RUN: relax-opt %s -pass-pipeline='builtin.module(func.func(relax-convert-arithmetic-to-llvm))' | FileCheck %s

// CHECK-LABEL: func.func @numbers
// CHECK-SAME: (%[[X:.*]]: i64, %[[Y:.*]]: f32)
func.func @numbers(%x: i64, %y: f32) -> (i64, f32) {
  // CHECK-DAG: llvm.mul %[[X]], %[[X]] : i64
  // CHECK-DAG: llvm.fadd %[[Y]], %[[Y]] : f32
  // CHECK-NOT: arith.
  %0 = arith.muli %x, %x : i64
  %1 = arith.addf %y, %y : f32
  return %0, %1 : i64, f32
}

// CHECK-LABEL: func.func @indices
func.func @indices(%x: index) -> index {
  // CHECK: llvm.sdiv
  // CHECK-NOT: index.
  %0 = index.divs %x, %x
  return %0 : index
}

// A load of a memref stays one of its descriptor until memrefs are converted.
//
// CHECK-LABEL: func.func @vectors
// CHECK-SAME: (%[[M:.*]]: memref<8xf32>
func.func @vectors(%m: memref<8xf32>, %i: index, %n: index) {
  // CHECK: unrealized_conversion_cast %[[M]]
  // CHECK: llvm.intr.masked.load
  // CHECK: llvm.intr.fmuladd
  // CHECK: llvm.store {{.*}} : vector<4xf32>
  // CHECK-NOT: vector.
  %cst = arith.constant dense<0.0> : vector<4xf32>
  %mask = vector.create_mask %n : vector<4xi1>
  %0 = vector.maskedload %m[%i], %mask, %cst : memref<8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  %1 = vector.fma %0, %0, %cst : vector<4xf32>
  vector.store %1, %m[%i] : memref<8xf32>, vector<4xf32>
  return
}

// Vectors of several dimensions are taken apart before.
//
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: vector<2x4xf32>) -> vector<4x2xf32> {
  // CHECK-NOT: vector.transpose
  // CHECK: llvm.insertvalue
  %0 = vector.transpose %x, [1, 0] : vector<2x4xf32> to vector<4x2xf32>
  return %0 : vector<4x2xf32>
}

// The body of a reduction has to be an operation that it knows.
//
// CHECK-LABEL: func.func @reduction
func.func @reduction(%x: tensor<4xf32>, %init: tensor<f32>) -> tensor<f32> {
  // CHECK: linalg.reduce { arith.addf }
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %0 : tensor<f32>
}
