// RUN: relax-opt %s --relax-legalize-ops --relax-fuse-ops --relax-fuse-tir | FileCheck %s

// All from the transposed queries to the transposed result is one kernel. Keys
// are used outside as well, and are an input.
// CHECK-LABEL: relax.func @written_out(
// CHECK:         %[[K:.*]] = relax.call_tir @exp(%k)
// CHECK:         relax.call_tir @fused_{{.*}}permute_dims_matmul_softmax_matmul_permute_dims(%q, %[[K]], %v
// CHECK-NOT:     relax.call_tir
// CHECK-LABEL: func.func private @fused_permute_dims_permute_dims_matmul_softmax_matmul_permute_dims(
relax.func @written_out(%q: !relax.tensor<[b, n, 2, 8], f32>, %k: !relax.tensor<[b, 2, m, 8], f32>, %v: !relax.tensor<[b, 2, m, 8], f32>) -> !relax.tuple<!relax.tensor<[b, n, 2, 8], f32>, !relax.tensor<[b, 2, m, 8], f32>> {
  %0:2 = relax.dataflow -> !relax.tensor<[b, n, 2, 8], f32>, !relax.tensor<[b, 2, m, 8], f32> {
    %1 = relax.exp %k : (!relax.tensor<[b, 2, m, 8], f32>) -> !relax.tensor<[b, 2, m, 8], f32>
    %2 = relax.permute_dims %q {axes = array<i64: 0, 2, 1, 3>} : (!relax.tensor<[b, n, 2, 8], f32>) -> !relax.tensor<[b, 2, n, 8], f32>
    %3 = relax.permute_dims %1 {axes = array<i64: 0, 1, 3, 2>} : (!relax.tensor<[b, 2, m, 8], f32>) -> !relax.tensor<[b, 2, 8, m], f32>
    %4 = relax.matmul %2, %3 : (!relax.tensor<[b, 2, n, 8], f32>, !relax.tensor<[b, 2, 8, m], f32>) -> !relax.tensor<[b, 2, n, m], f32>
    %5 = relax.softmax %4 : (!relax.tensor<[b, 2, n, m], f32>) -> !relax.tensor<[b, 2, n, m], f32>
    %6 = relax.matmul %5, %v : (!relax.tensor<[b, 2, n, m], f32>, !relax.tensor<[b, 2, m, 8], f32>) -> !relax.tensor<[b, 2, n, 8], f32>
    %7 = relax.permute_dims %6 {axes = array<i64: 0, 2, 1, 3>} : (!relax.tensor<[b, 2, n, 8], f32>) -> !relax.tensor<[b, n, 2, 8], f32>
    relax.output %7, %1 : !relax.tensor<[b, n, 2, 8], f32>, !relax.tensor<[b, 2, m, 8], f32>
  }
  %8 = relax.tuple %0#0, %0#1 : !relax.tensor<[b, n, 2, 8], f32>, !relax.tensor<[b, 2, m, 8], f32>
  relax.return %8 : !relax.tuple<!relax.tensor<[b, n, 2, 8], f32>, !relax.tensor<[b, 2, m, 8], f32>>
}

// Scores that are a result stay in memory: the products stay two kernels.
// CHECK-LABEL: relax.func @scores_are_used(
// CHECK:         relax.call_tir @matmul
// CHECK:         relax.call_tir @softmax
// CHECK:         relax.call_tir @matmul
relax.func @scores_are_used(%q: !relax.tensor<[n, 8], f32>, %k: !relax.tensor<[8, m], f32>, %v: !relax.tensor<[m, 8], f32>) -> !relax.tuple<!relax.tensor<[n, 8], f32>, !relax.tensor<[n, m], f32>> {
  %0:2 = relax.dataflow -> !relax.tensor<[n, 8], f32>, !relax.tensor<[n, m], f32> {
    %1 = relax.matmul %q, %k : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8, m], f32>) -> !relax.tensor<[n, m], f32>
    %2 = relax.softmax %1 : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
    %3 = relax.matmul %2, %v : (!relax.tensor<[n, m], f32>, !relax.tensor<[m, 8], f32>) -> !relax.tensor<[n, 8], f32>
    relax.output %3, %2 : !relax.tensor<[n, 8], f32>, !relax.tensor<[n, m], f32>
  }
  %4 = relax.tuple %0#0, %0#1 : !relax.tensor<[n, 8], f32>, !relax.tensor<[n, m], f32>
  relax.return %4 : !relax.tuple<!relax.tensor<[n, 8], f32>, !relax.tensor<[n, m], f32>>
}
