// RUN: relax-opt %s -relax-derive-struct-info | FileCheck %s

// What operators make of distributed tensors.

// CHECK-LABEL: relax.func @elementwise
// A scalar, and a dimension of 1, have no axis that could be cut.
relax.func @elementwise(%x: !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, %b: !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>, %c: !relax.tensor<[n, 1], f32>) -> !relax.object {
  // CHECK: relax.add {{.*}} -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  %0 = relax.add %x, %b : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  // CHECK: relax.multiply {{.*}} -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  %1 = relax.multiply %0, %c : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[n, 1], f32>) -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  // CHECK: relax.softmax {{.*}} -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  %2 = relax.softmax %1 {axis = 0} : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  // CHECK: relax.sum {{.*}} -> !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  %3 = relax.sum %1 {axis = array<i64: 0>} : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  // CHECK: relax.mean {{.*}} -> !relax.tensor<[n, 1], f32, sharding = <[R] on <[2], [0, 1]>>>
  %4 = relax.mean %1 {axis = array<i64: -1>, keepdims = true} : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[n, 1], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %4 : !relax.tensor<[n, 1], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// Rows and columns are cut along two dimensions of a mesh, and so is the axis that is summed.
// CHECK-LABEL: relax.func @matmul
relax.func @matmul(%x: !relax.tensor<[b, n, 4], f32, sharding = <[S[1], R] on <[2, 2], [0, 1, 2, 3]>>>, %w: !relax.tensor<[4, 6], f32, sharding = <[R, S[1]] on <[2, 2], [0, 1, 2, 3]>>>, %y: !relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, %v: !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.object {
  // CHECK: relax.matmul {{.*}} -> !relax.tensor<[b, n, 6], f32, sharding = <[S[1], S[2]] on <[2, 2], [0, 1, 2, 3]>>>
  %0 = relax.matmul %x, %w : (!relax.tensor<[b, n, 4], f32, sharding = <[S[1], R] on <[2, 2], [0, 1, 2, 3]>>>, !relax.tensor<[4, 6], f32, sharding = <[R, S[1]] on <[2, 2], [0, 1, 2, 3]>>>) -> !relax.tensor<[b, n, 6], f32, sharding = <[S[1], S[2]] on <[2, 2], [0, 1, 2, 3]>>>
  // CHECK: relax.matmul {{.*}} -> !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>
  %1 = relax.matmul %y, %v : (!relax.tensor<[n, 4], f32, sharding = <[S[1]] on <[2], [0, 1]>>>, !relax.tensor<[4], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %1 : !relax.tensor<[n], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// The outermost dimension of those that are taken together stays cut.
// CHECK-LABEL: relax.func @moves
relax.func @moves(%x: !relax.tensor<[1, n, 8], f32, sharding = <[S[2]] on <[2], [0, 1]>>>) -> !relax.object {
  %s = relax.shape <[1, n, 4, 2]>
  // CHECK: relax.reshape {{.*}} -> !relax.tensor<[1, n, 4, 2], f32, sharding = <[S[2]] on <[2], [0, 1]>>>
  %0 = relax.reshape %x, %s : (!relax.tensor<[1, n, 8], f32, sharding = <[S[2]] on <[2], [0, 1]>>>, !relax.shape<[1, n, 4, 2]>) -> !relax.tensor<[1, n, 4, 2], f32, sharding = <[S[2]] on <[2], [0, 1]>>>
  // CHECK: relax.permute_dims {{.*}} -> !relax.tensor<[1, 4, n, 2], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  %1 = relax.permute_dims %0 {axes = array<i64: 0, 2, 1, 3>} : (!relax.tensor<[1, n, 4, 2], f32, sharding = <[S[2]] on <[2], [0, 1]>>>) -> !relax.tensor<[1, 4, n, 2], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
  // CHECK: relax.squeeze {{.*}} -> !relax.tensor<[4, n, 2], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  %2 = relax.squeeze %1 {axis = array<i64: 0>} : (!relax.tensor<[1, 4, n, 2], f32, sharding = <[S[1]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, n, 2], f32, sharding = <[S[0]] on <[2], [0, 1]>>>
  // CHECK: relax.allgather {{.*}} -> !relax.tensor<[4, n, 2], f32, sharding = <[R] on <[2], [0, 1]>>>
  %3 = relax.allgather %2 {num_workers = 2 : i64} : (!relax.tensor<[4, n, 2], f32, sharding = <[S[0]] on <[2], [0, 1]>>>) -> !relax.tensor<[4, n, 2], f32, sharding = <[R] on <[2], [0, 1]>>>
  relax.return %3 : !relax.tensor<[4, n, 2], f32, sharding = <[R] on <[2], [0, 1]>>>
}

// Heads are independent of each other.
// CHECK-LABEL: relax.func @attention
relax.func @attention(%q: !relax.tensor<[b, n, 8, 16], f32, sharding = <[S[2]] on <[2], [0, 1]>>>, %m: !relax.tensor<[1, 1, n, n], f32>) -> !relax.object {
  // CHECK: relax.attention {{.*}} -> !relax.tensor<[b, n, 8, 16], f32, sharding = <[S[2]] on <[2], [0, 1]>>>
  %0 = relax.attention %q, %q, %q, %m : (!relax.tensor<[b, n, 8, 16], f32, sharding = <[S[2]] on <[2], [0, 1]>>>, !relax.tensor<[b, n, 8, 16], f32, sharding = <[S[2]] on <[2], [0, 1]>>>, !relax.tensor<[b, n, 8, 16], f32, sharding = <[S[2]] on <[2], [0, 1]>>>, !relax.tensor<[1, 1, n, n], f32>) -> !relax.tensor<[b, n, 8, 16], f32, sharding = <[S[2]] on <[2], [0, 1]>>>
  relax.return %0 : !relax.tensor<[b, n, 8, 16], f32, sharding = <[S[2]] on <[2], [0, 1]>>>
}
