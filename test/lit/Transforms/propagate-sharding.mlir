// RUN: relax-opt %s -relax-propagate-sharding | FileCheck %s

// Annotations of functions, and the shardings that tensors around them get.

// What an annotation says of the axis between two products makes columns and rows of the weights.
// A constant stays as it is, for each worker.
// CHECK-LABEL: relax.func @mlp
// CHECK-SAME:    %x: !relax.tensor<[n, 8], f32, sharding = <[R] on <[2], [0, 1]>>>,
// CHECK-SAME:    %w1: !relax.tensor<[8, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>,
// CHECK-SAME:    %w2: !relax.tensor<[6, 4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>)
// CHECK-SAME:    -> !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
// CHECK:         relax.matmul %x, %w1
// CHECK-SAME:      -> !relax.tensor<[n, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
// CHECK:         relax.gelu
// CHECK:         relax.constant dense<2.000000e+00>
// CHECK:         relax.add
// CHECK-SAME:      -> !relax.tensor<[n, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
// CHECK-NOT:     relax.annotate_sharding
// CHECK:         relax.matmul
// CHECK-SAME:      -> !relax.tensor<[n, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
relax.func @mlp(%x: !relax.tensor<[n, 8], f32>, %w1: !relax.tensor<[8, 6], f32>, %w2: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, 4], f32> {
    %1 = relax.matmul %x, %w1 : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8, 6], f32>) -> !relax.tensor<[n, 6], f32>
    %2 = relax.gelu %1 : (!relax.tensor<[n, 6], f32>) -> !relax.tensor<[n, 6], f32>
    %c = relax.constant dense<2.0> : tensor<f32>
    %3 = relax.add %2, %c : (!relax.tensor<[n, 6], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 6], f32>
    %4 = relax.annotate_sharding %3 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[n, 6], f32>) -> !relax.tensor<[n, 6], f32>
    %5 = relax.matmul %4, %w2 : (!relax.tensor<[n, 6], f32>, !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %5 : !relax.tensor<[n, 4], f32>
  }
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// Without annotations a function stays as it is.
// CHECK-LABEL: relax.func @plain(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
relax.func @plain(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// Weights in a tuple, and a result in one.
// CHECK-LABEL: relax.func @tuples
// CHECK-SAME:    %p: !relax.tuple<!relax.tensor<[8, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>, !relax.prim<i64>>)
// CHECK-SAME:    -> !relax.tuple<!relax.tensor<[n, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[n, 8], f32, sharding = <[R] on <[2], [0, 1]>>>>
relax.func @tuples(%x: !relax.tensor<[n, 8], f32>, %p: !relax.tuple<!relax.tensor<[8, 6], f32>, !relax.tensor<[6], f32>, !relax.prim<i64>>) -> !relax.tuple<!relax.tensor<[n, 6], f32>, !relax.tensor<[n, 8], f32>> {
  %w = relax.get_item %p[0] : !relax.tuple<!relax.tensor<[8, 6], f32>, !relax.tensor<[6], f32>, !relax.prim<i64>>
  %b = relax.get_item %p[1] : !relax.tuple<!relax.tensor<[8, 6], f32>, !relax.tensor<[6], f32>, !relax.prim<i64>>
  %0 = relax.matmul %x, %w : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8, 6], f32>) -> !relax.tensor<[n, 6], f32>
  %1 = relax.add %0, %b : (!relax.tensor<[n, 6], f32>, !relax.tensor<[6], f32>) -> !relax.tensor<[n, 6], f32>
  %2 = relax.annotate_sharding %1 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[n, 6], f32>) -> !relax.tensor<[n, 6], f32>
  %3 = relax.tuple %2, %x : !relax.tensor<[n, 6], f32>, !relax.tensor<[n, 8], f32>
  relax.return %3 : !relax.tuple<!relax.tensor<[n, 6], f32>, !relax.tensor<[n, 8], f32>>
}

// Where annotations ask for another sharding it is made, and a constant is cut.
// CHECK-LABEL: relax.func @redistribute
// CHECK-SAME:    %x: !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>)
// CHECK:         %[[C:.*]] = relax.constant
// CHECK:         %[[CUT:.*]] = relax.redistribute %[[C]]
// CHECK-SAME:      -> !relax.tensor<[4, 6], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
// CHECK:         %[[SUM:.*]] = relax.add %x, %[[CUT]]
// CHECK:         %[[EXP:.*]] = relax.exp %[[SUM]]
// CHECK:         relax.redistribute %[[EXP]]
// CHECK-SAME:      -> !relax.tensor<[4, 6], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
relax.func @redistribute(%x: !relax.tensor<[4, 6], f32>) -> !relax.tensor<[4, 6], f32> {
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[4, 6], f32>) -> !relax.tensor<[4, 6], f32>
  %c = relax.constant dense<2.0> : tensor<4x6xf32>
  %1 = relax.add %0, %c : (!relax.tensor<[4, 6], f32>, !relax.tensor<[4, 6], f32>) -> !relax.tensor<[4, 6], f32>
  %2 = relax.annotate_sharding %1 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[4, 6], f32>) -> !relax.tensor<[4, 6], f32>
  %3 = relax.exp %2 : (!relax.tensor<[4, 6], f32>) -> !relax.tensor<[4, 6], f32>
  %4 = relax.annotate_sharding %3 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[4, 6], f32>) -> !relax.tensor<[4, 6], f32>
  relax.return %4 : !relax.tensor<[4, 6], f32>
}

// A dimension of fewer elements than devices stays whole.
// CHECK-LABEL: relax.func @short
// CHECK-SAME:    %x: !relax.tensor<[1, 4], f32, sharding = <[R] on <[2], [0, 1]>>>
relax.func @short(%x: !relax.tensor<[1, 4], f32>, %y: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.add %x, %y : (!relax.tensor<[1, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.annotate_sharding %0 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %1 : !relax.tensor<[n, 4], f32>
}

// Two dimensions of a mesh: rows along one, columns along the other.
// CHECK-LABEL: relax.func @mesh
// CHECK-SAME:    %x: !relax.tensor<[n, 8], f32, sharding = <[S[0], R] on <[2, 2], [0, 1, 2, 3]>>>,
// CHECK-SAME:    %w: !relax.tensor<[8, 6], f32, sharding = <[R, S[1]] on <[2, 2], [0, 1, 2, 3]>>>)
relax.func @mesh(%x: !relax.tensor<[n, 8], f32>, %w: !relax.tensor<[8, 6], f32>) -> !relax.tensor<[n, 6], f32> {
  %0 = relax.matmul %x, %w : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8, 6], f32>) -> !relax.tensor<[n, 6], f32>
  %1 = relax.annotate_sharding %0 {device_mesh = #relax.device_mesh<[2, 2], [0, 1, 2, 3]>, placement = #relax.placement<[S[0], S[1]]>} : (!relax.tensor<[n, 6], f32>) -> !relax.tensor<[n, 6], f32>
  relax.return %1 : !relax.tensor<[n, 6], f32>
}
