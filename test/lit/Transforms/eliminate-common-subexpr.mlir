// RUN: relax-opt %s -relax-eliminate-common-subexpr -split-input-file | FileCheck %s
// RUN: relax-opt %s -relax-eliminate-common-subexpr=call-only -split-input-file | FileCheck %s --check-prefix=CALLS

// CHECK-LABEL: relax.func @equal
// CHECK: %[[A:.*]] = relax.add
// CHECK-NEXT: relax.multiply %[[A]], %[[A]]
// CHECK-NEXT: relax.output
relax.func @equal(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %3 = relax.multiply %1, %2 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %3 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Attributes and result types count.
// CHECK-LABEL: relax.func @different
// CHECK: relax.sum
// CHECK: relax.sum
// CHECK: relax.sum
relax.func @different(%x: !relax.tensor<[n, n], f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.sum %x {axis = array<i64: 0>} : (!relax.tensor<[n, n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.sum %x {axis = array<i64: 1>} : (!relax.tensor<[n, n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.sum %x {axis = array<i64: 0>} : (!relax.tensor<[n, n], f32>) -> !relax.tensor<ndim = 1, f32>
  %3 = relax.add %0, %1 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %4 = relax.add %3, %2 : (!relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %4 : !relax.tensor<ndim = 1, f32>
}

// -----

// Tuples and their fields are no calls; constants are written where they are used.
// CHECK-LABEL: relax.func @tuples
// CHECK: = relax.tuple
// CHECK-NOT: = relax.tuple
// CALLS-LABEL: relax.func @tuples
// CALLS: relax.constant
// CALLS-NOT: relax.constant
// CALLS: relax.tuple
// CALLS: relax.tuple
relax.func @tuples(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %c = relax.constant dense<2.0> : tensor<f32>
  %d = relax.constant dense<2.0> : tensor<f32>
  %0 = relax.tuple %x, %c : !relax.tensor<[n], f32>, !relax.tensor<[], f32>
  %1 = relax.tuple %x, %d : !relax.tensor<[n], f32>, !relax.tensor<[], f32>
  %2 = relax.get_item %0[0] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
  %3 = relax.get_item %1[1] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
  %4 = relax.multiply %2, %3 : (!relax.tensor<[n], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n], f32>
  relax.return %4 : !relax.tensor<[n], f32>
}

// -----

// What is computed before a branch is known in both; what one computes is not in
// the other one, nor after it.
// CHECK-LABEL: relax.func @branches
// CHECK: %[[E:.*]] = relax.exp
// CHECK: relax.if
// CHECK-NEXT: %[[N:.*]] = relax.negative %[[E]]
// CHECK-NEXT: relax.yield
// CHECK: else
// CHECK-NEXT: relax.negative %[[E]]
// CHECK: relax.negative %[[E]]
relax.func @branches(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %2 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %3 = relax.negative %2 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %3 : !relax.tensor<[n], f32>
  } else {
    %2 = relax.negative %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %2 : !relax.tensor<[n], f32>
  }
  %4 = relax.negative %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %5 = relax.add %1, %4 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %5 : !relax.tensor<[n], f32>
}

// -----

// Both are returned, and the caller could tell that they are one.
// CHECK-LABEL: relax.func @both_returned
// CHECK: relax.exp
// CHECK: relax.exp
relax.func @both_returned(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.tuple %0, %1 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  relax.return %2 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
}

// -----

// The first is only read, and the second one returned.
// CHECK-LABEL: relax.func @one_returned
// CHECK: %[[E:.*]] = relax.exp
// CHECK-NEXT: %[[N:.*]] = relax.negative %[[E]]
// CHECK-NEXT: relax.tuple %[[N]], %[[E]]
relax.func @one_returned(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.negative %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %3 = relax.tuple %2, %1 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  relax.return %3 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
}

// -----

// An impure call may update what both read, and is made each time.
// CHECK-LABEL: relax.func impure @updated
// CHECK: relax.exp
// CHECK: relax.call_packed
// CHECK: relax.call_packed
// CHECK: relax.exp
relax.func impure @updated(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_packed "update"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %2 = relax.call_packed "update"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %3 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %4 = relax.add %0, %3 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %4 : !relax.tensor<[n], f32>
}
