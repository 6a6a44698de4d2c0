// RUN: %roundtrip

// Linear algebra and neural networks.

// CHECK-LABEL: relax.func @matmul
relax.func @matmul(%a: !relax.tensor<[b, n, k], f32>, %b: !relax.tensor<[k, m], f32>, %v: !relax.tensor<[k], f32>) -> !relax.object {
  // CHECK: relax.matmul %a, %b : (!relax.tensor<[b, n, k], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[b, n, m], f32>
  %0 = relax.matmul %a, %b : (!relax.tensor<[b, n, k], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[b, n, m], f32>
  // A vector on the right is a column, on the left a row; two give a scalar.
  // CHECK: relax.matmul %a, %v : (!relax.tensor<[b, n, k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[b, n], f32>
  %1 = relax.matmul %a, %v : (!relax.tensor<[b, n, k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[b, n], f32>
  // CHECK: relax.matmul %v, %b : (!relax.tensor<[k], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[m], f32>
  %2 = relax.matmul %v, %b : (!relax.tensor<[k], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[m], f32>
  // CHECK: relax.matmul %v, %v : (!relax.tensor<[k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[], f32>
  %3 = relax.matmul %v, %v : (!relax.tensor<[k], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[], f32>
  relax.return %a : !relax.tensor<[b, n, k], f32>
}

// Batch dimensions broadcast; integers are multiplied too.
// CHECK-LABEL: relax.func @matmul_batches
relax.func @matmul_batches(%a: !relax.tensor<[1, b, 2, 3], i32>, %b: !relax.tensor<[7, 1, 3, 4], i32>) -> !relax.object {
  // CHECK: relax.matmul %a, %b : (!relax.tensor<[1, b, 2, 3], i32>, !relax.tensor<[7, 1, 3, 4], i32>) -> !relax.tensor<[7, b, 2, 4], i32>
  %0 = relax.matmul %a, %b : (!relax.tensor<[1, b, 2, 3], i32>, !relax.tensor<[7, 1, 3, 4], i32>) -> !relax.tensor<[7, b, 2, 4], i32>
  relax.return %a : !relax.tensor<[1, b, 2, 3], i32>
}

// CHECK-LABEL: relax.func @softmax
relax.func @softmax(%x: !relax.tensor<[n, 4], f16>) -> !relax.object {
  // CHECK: relax.softmax %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  %0 = relax.softmax %x : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  // CHECK: relax.softmax %x {axis = 0 : i64} : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  %1 = relax.softmax %x {axis = 0 : i64} : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  // CHECK: relax.log_softmax %x {axis = 1 : i64} : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  %2 = relax.log_softmax %x {axis = 1 : i64} : (!relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f16>
  relax.return %x : !relax.tensor<[n, 4], f16>
}

// CHECK-LABEL: relax.func @layer_norm
relax.func @layer_norm(%x: !relax.tensor<[n, m, 4], f32>, %g: !relax.tensor<[4], f32>, %h: !relax.tensor<[m, 4], f32>) -> !relax.object {
  // CHECK: relax.layer_norm %x, %g, %g {axes = array<i64: -1>} : (!relax.tensor<[n, m, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, m, 4], f32>
  %0 = relax.layer_norm %x, %g, %g {axes = array<i64: -1>} : (!relax.tensor<[n, m, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, m, 4], f32>
  // Over two axes, without the learned part.
  // CHECK: relax.layer_norm %x, %h, %h {axes = array<i64: 1, 2>, center = false, epsilon = 1.000000e-03 : f64, scale = false} : (!relax.tensor<[n, m, 4], f32>, !relax.tensor<[m, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[n, m, 4], f32>
  %1 = relax.layer_norm %x, %h, %h {axes = array<i64: 1, 2>, center = false, epsilon = 1.000000e-03 : f64, scale = false} : (!relax.tensor<[n, m, 4], f32>, !relax.tensor<[m, 4], f32>, !relax.tensor<[m, 4], f32>) -> !relax.tensor<[n, m, 4], f32>
  relax.return %x : !relax.tensor<[n, m, 4], f32>
}
