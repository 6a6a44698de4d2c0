// RUN: relax-opt %s -relax-widen-bool-memrefs | FileCheck %s
// RUN: relax-opt %s -relax-phase-llvm -o %t.llvm

// CHECK-LABEL: func.func @negate(
// CHECK-SAME: %[[X:.*]]: memref<?xi8>, %[[Y:.*]]: memref<?xi8>, %[[Z:.*]]: memref<?xf32>
// CHECK: %[[B:.*]] = memref.load %[[X]]
// CHECK: %[[F:.*]] = arith.cmpi ne, %[[B]], %{{.*}} : i8
// CHECK: %[[N:.*]] = arith.xori %[[F]], %{{.*}} : i1
// CHECK: %[[E:.*]] = arith.extui %[[N]] : i1 to i8
// CHECK: memref.store %[[E]], %[[Y]]
// CHECK: memref.alloc() : memref<4xi8>
func.func @negate(%x: memref<?xi1>, %y: memref<?xi1>, %z: memref<?xf32>, %i: index) {
  %true = arith.constant true
  %0 = memref.load %x[%i] : memref<?xi1>
  %1 = arith.xori %0, %true : i1
  memref.store %1, %y[%i] : memref<?xi1>
  %2 = memref.alloc() : memref<4xi1>
  memref.dealloc %2 : memref<4xi1>
  return
}
