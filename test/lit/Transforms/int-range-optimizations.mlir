// RUN: relax-opt %s --int-range-optimizations --split-input-file | FileCheck %s

// Upstream's analysis knows that dimensions and tags are not negative.

// CHECK-LABEL: @dimension
relax.func @dimension(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i64
  // CHECK: relax.builtin.make_prim %[[ONE]] :
  %0 = relax.builtin.dim %x[0] : !relax.tensor<ndim = 1, f32>
  %c0 = arith.constant 0 : i64
  %1 = arith.cmpi sge, %0, %c0 : i64
  %2 = arith.extui %1 : i1 to i64
  %3 = relax.builtin.make_prim %2 : !relax.prim<i64>
  relax.return %3 : !relax.prim<i64>
}

// -----

// CHECK-LABEL: @tag
relax.func @tag(%x: !relax.object) -> !relax.object {
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK: relax.builtin.make_prim %[[ZERO]] :
  %0 = relax.builtin.tag %x : !relax.object
  %c0 = arith.constant 0 : i64
  %1 = arith.cmpi slt, %0, %c0 : i64
  %2 = arith.extui %1 : i1 to i64
  %3 = relax.builtin.make_prim %2 : !relax.prim<i64>
  relax.return %3 : !relax.prim<i64>
}

// -----

// A primitive value may be negative. The type of a tensor does not say what its
// dimension is before it is checked.

// CHECK-LABEL: @unknown
relax.func @unknown(%x: !relax.prim<i64>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // CHECK: arith.cmpi sge
  // CHECK: arith.cmpi eq
  %0 = relax.builtin.dim %x[0] : !relax.prim<i64>
  %c0 = arith.constant 0 : i64
  %1 = arith.cmpi sge, %0, %c0 : i64
  %2 = relax.builtin.dim %y[0] : !relax.tensor<[4], f32>
  %c4 = arith.constant 4 : i64
  %3 = arith.cmpi eq, %2, %c4 : i64
  %4 = arith.andi %1, %3 : i1
  %5 = arith.extui %4 : i1 to i64
  %6 = relax.builtin.make_prim %5 : !relax.prim<i64>
  relax.return %6 : !relax.prim<i64>
}
