// RUN: relax-opt %s -relax-canonicalize-bindings -split-input-file | FileCheck %s

// What casts bind is known, so they check nothing.
// CHECK-LABEL: relax.func @known_variables
// CHECK-NEXT: relax.reshape %x
// CHECK-SAME: !relax.shape<[n, 4]>
// CHECK-NEXT: relax.return
relax.func @known_variables(%x: !relax.tensor<[n, 4], f32>, %s: !relax.shape<[n, 4]>) -> !relax.tensor<ndim = 2, f32> {
  %0 = relax.match_cast %x : !relax.tensor<[n, 4], f32> -> !relax.tensor<[a, b], f32>
  %1 = relax.match_cast %s : !relax.shape<[n, 4]> -> !relax.shape<[a, b]>
  %2 = relax.reshape %0, %1 : (!relax.tensor<[a, b], f32>, !relax.shape<[a, b]>) -> !relax.tensor<ndim = 2, f32>
  relax.return %2 : !relax.tensor<ndim = 2, f32>
}

// -----

// A variable that is bound after a dataflow block too, and one of a branch.
// CHECK-LABEL: relax.func @scopes
// CHECK-NOT: match_cast
// CHECK: relax.output %{{.*}} : !relax.tensor<[n], f32>
// CHECK: relax.shape <[n + 1]>
// CHECK: relax.if
// CHECK: relax.yield %x : !relax.tensor<[n], f32>
// CHECK: } else {
// CHECK: relax.match_cast %y : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32>
relax.func @scopes(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<ndim = 1, f32>, %c: !relax.tensor<[], i1>) -> !relax.object {
  %0 = relax.dataflow -> !relax.tensor<[m], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.match_cast %1 : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
    relax.output %2 : !relax.tensor<[m], f32>
  }
  %s = relax.shape <[m + 1]>
  %3 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
    %4 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[k], f32>
    relax.yield %4 : !relax.tensor<[k], f32>
  } else {
    %4 = relax.match_cast %y : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32>
    relax.yield %4 : !relax.tensor<[k], f32>
  }
  %t = relax.tuple %0, %s, %3 : !relax.tensor<[m], f32>, !relax.shape<[m + 1]>, !relax.tensor<ndim = 1, f32>
  relax.return %t : !relax.tuple<!relax.tensor<[m], f32>, !relax.shape<[m + 1]>, !relax.tensor<ndim = 1, f32>>
}

// -----

// CHECK-LABEL: relax.func @tuples(
// CHECK-SAME: {
// CHECK-NEXT: = relax.tuple %x, %t
// CHECK-NEXT: relax.add %x, %x
// CHECK-NEXT: relax.get_item %t[0]
// CHECK-NEXT: relax.get_item %t[1]
// CHECK-NEXT: relax.return %t
relax.func @tuples(%x: !relax.tensor<[n], f32>, %t: !relax.tuple<!relax.object, !relax.object>) -> !relax.object {
  %0 = relax.tuple %x, %t : !relax.tensor<[n], f32>, !relax.tuple<!relax.object, !relax.object>
  %1 = relax.get_item %0[0] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tuple<!relax.object, !relax.object>>
  %2 = relax.add %1, %1 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %3 = relax.get_item %t[0] : !relax.tuple<!relax.object, !relax.object>
  %4 = relax.get_item %t[1] : !relax.tuple<!relax.object, !relax.object>
  %5 = relax.tuple %3, %4 : !relax.object, !relax.object
  relax.return %5 : !relax.tuple<!relax.object, !relax.object>
}

// -----

// CHECK-LABEL: relax.func @known_shape
// CHECK-NEXT: relax.shape <[n, 4]>
// CHECK-NEXT: relax.shape_of %y
relax.func @known_shape(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  %0 = relax.shape_of %x : !relax.tensor<[n, 4], f32>
  %1 = relax.shape_of %y : !relax.tensor<ndim = 2, f32>
  %2 = relax.tuple %0, %1 : !relax.shape<[n, 4]>, !relax.shape<ndim = 2>
  relax.return %2 : !relax.tuple<!relax.shape<[n, 4]>, !relax.shape<ndim = 2>>
}

// -----

// One output is used, one is known outside, one leaves twice.
// CHECK-LABEL: relax.func @outputs
// CHECK-NEXT: %[[D:.*]] = relax.dataflow -> !relax.tensor<[n], f32> {
// CHECK-NEXT: %[[A:.*]] = relax.exp
// CHECK-NEXT: relax.negative
// CHECK-NEXT: relax.output %[[A]] :
// CHECK: relax.tuple %x, %[[D]], %[[D]]
relax.func @outputs(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0:4 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.negative %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %x, %1, %1, %2 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  }
  %3 = relax.tuple %0#0, %0#1, %0#2 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  relax.return %3 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
}

// -----

// CHECK-LABEL: relax.func @empty_block
// CHECK-NEXT: relax.return %x
relax.func @empty_block(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    relax.output %x : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}
