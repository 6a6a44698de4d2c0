// RUN: relax-opt %s -relax-rewrite-reshape | FileCheck %s

// RF09: all four operators, where the number of elements is known to stay.
// CHECK-LABEL: relax.func @RF09_operators
// CHECK: %[[A:.*]] = relax.builtin.view %x : {{.*}}<[n, 4], f32> -> {{.*}}<[n * 4], f32>
// CHECK: %[[B:.*]] = relax.builtin.view %[[A]] : {{.*}}<[n * 4], f32> -> {{.*}}<[4, n], f32>
// CHECK: %[[C:.*]] = relax.builtin.view %[[B]] : {{.*}}<[4, n], f32> -> {{.*}}<[1, 4, n], f32>
// CHECK: %[[D:.*]] = relax.builtin.view %[[C]] : {{.*}}<[1, 4, n], f32> -> {{.*}}<[4, n], f32>
// CHECK: relax.exp %[[D]]
relax.func @RF09_operators(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32> {
  %s = relax.shape <[4, n]>
  %0 = relax.flatten %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
  %1 = relax.reshape %0, %s : (!relax.tensor<[n * 4], f32>, !relax.shape<[4, n]>) -> !relax.tensor<[4, n], f32>
  %2 = relax.expand_dims %1 {axis = array<i64: 0>} : (!relax.tensor<[4, n], f32>) -> !relax.tensor<[1, 4, n], f32>
  %3 = relax.squeeze %2 {axis = array<i64: 0>} : (!relax.tensor<[1, 4, n], f32>) -> !relax.tensor<[4, n], f32>
  %4 = relax.exp %3 : (!relax.tensor<[4, n], f32>) -> !relax.tensor<[4, n], f32>
  relax.return %4 : !relax.tensor<[4, n], f32>
}

// What has to be checked when the program runs stays an operator.
// CHECK-LABEL: relax.func @RF09_unknown
// CHECK: relax.reshape
relax.func @RF09_unknown(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %s = relax.shape <[m]>
  %0 = relax.reshape %x, %s : (!relax.tensor<[n], f32>, !relax.shape<[m]>) -> !relax.tensor<[m], f32>
  %1 = relax.exp %0 : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
  relax.return %1 : !relax.tensor<[m], f32>
}

// A function does not return a view of its argument, but one of its own tensor.
// CHECK-LABEL: relax.func @RF09_returned_argument
// CHECK: relax.flatten
relax.func @RF09_returned_argument(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32> {
  %0 = relax.flatten %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
  relax.return %0 : !relax.tensor<[n * 4], f32>
}
// CHECK-LABEL: relax.func @RF09_returned_own
// CHECK: relax.builtin.view
relax.func @RF09_returned_own(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.flatten %0 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
  relax.return %1 : !relax.tensor<[n * 4], f32>
}

// Two results that are returned are two tensors.
// CHECK-LABEL: relax.func @RF09_returned_both
// CHECK: relax.flatten
relax.func @RF09_returned_both(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.flatten %0 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
  %2 = relax.tuple %0, %1 : !relax.tensor<[n, 4], f32>, !relax.tensor<[n * 4], f32>
  relax.return %2 : !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n * 4], f32>>
}

// While the reshaped tensor is needed, nothing may update the one it was made of.
// CHECK-LABEL: relax.func @RF09_updated_before_use
// CHECK: relax.flatten
// CHECK: relax.call_inplace_packed
relax.func @RF09_updated_before_use(%x: !relax.tensor<[4, 4], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %1 = relax.flatten %0 : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[16], f32>
  %2 = relax.call_inplace_packed "f"(%0) inplace [0] : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %3 = relax.exp %1 : (!relax.tensor<[16], f32>) -> !relax.tensor<[16], f32>
  %4 = relax.tuple %2, %3 : !relax.tensor<[4, 4], f32>, !relax.tensor<[16], f32>
  relax.return %4 : !relax.tuple<!relax.tensor<[4, 4], f32>, !relax.tensor<[16], f32>>
}
// CHECK-LABEL: relax.func @RF09_updated_after_use
// CHECK: relax.builtin.view
// CHECK: relax.call_inplace_packed
relax.func @RF09_updated_after_use(%x: !relax.tensor<[4, 4], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %1 = relax.flatten %0 : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[16], f32>
  %2 = relax.exp %1 : (!relax.tensor<[16], f32>) -> !relax.tensor<[16], f32>
  %3 = relax.call_inplace_packed "f"(%0) inplace [0] : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %4 = relax.tuple %2, %3 : !relax.tensor<[16], f32>, !relax.tensor<[4, 4], f32>
  relax.return %4 : !relax.tuple<!relax.tensor<[16], f32>, !relax.tensor<[4, 4], f32>>
}

// An impure call may change an argument that its caller also gave to somebody else.
// CHECK-LABEL: relax.func impure @RF09_impure_call
// CHECK: relax.flatten
relax.func @RF09_impure_call(%x: !relax.tensor<[4, 4], f32>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.flatten %x : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[16], f32>
  %1 = relax.call_packed "f"() : () -> !relax.object
  %2 = relax.exp %0 : (!relax.tensor<[16], f32>) -> !relax.tensor<[16], f32>
  relax.return %2 : !relax.tensor<[16], f32>
}
