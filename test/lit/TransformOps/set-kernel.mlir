// RUN: relax-opt %s -split-input-file -relax-legalize-ops -transform-interpreter -relax-fuse-ops -relax-fuse-tir | FileCheck %s

// Fusion leaves a kernel that asks for a class as it is.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>

// CHECK-LABEL: relax.func @left_alone
// CHECK: relax.call_tir @matmul
// CHECK: relax.call_tir @relu
// CHECK: func.func private @matmul({{.*}}) -> tensor<?x8xf32> attributes {relax.schedule = {class = "matmul", tile = array<i64: 4, 16>}}
// CHECK: func.func private @relu({{.*}}) -> tensor<?x8xf32> {
module attributes {transform.with_named_sequence} {
  relax.func @left_alone(%x: !x, %w: !w) -> !x {
    %0 = relax.dataflow -> !x {
      %1 = relax.matmul %x, %w : (!x, !w) -> !x
      %2 = relax.relu %1 : (!x) -> !x
      relax.output %2 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root {kernel = "matmul"} : (!transform.any_op) -> !transform.any_op
    %kernels = transform.relax.get_callee %calls : (!transform.any_op) -> !transform.any_op
    transform.relax.set_kernel %kernels class "matmul" tile [4, 16] : !transform.any_op
    transform.yield
  }
}

// -----

// The kernel that a function becomes is of its class. The same function without
// one is another kernel.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>

// CHECK-LABEL: relax.func @fused
// CHECK: relax.call_tir @fused_matmul_relu(
// CHECK: relax.call_tir @fused_matmul_relu1(
// CHECK-DAG: func.func private @fused_matmul_relu({{.*}}) -> tensor<?x8xf32> attributes {relax.schedule = {class = "none"}}
// CHECK-DAG: func.func private @fused_matmul_relu1({{.*}}) -> tensor<?x8xf32> {
module attributes {transform.with_named_sequence} {
  relax.func @fused(%x: !x, %w: !w) -> !x {
    %0 = relax.dataflow -> !x {
      %1 = relax.matmul %x, %w : (!x, !w) -> !x
      %2 = relax.relu %1 : (!x) -> !x
      %3 = relax.matmul %2, %w : (!x, !w) -> !x
      %4 = relax.relu %3 : (!x) -> !x
      relax.output %4 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %products = transform.relax.match_calls in %root {kernel = "matmul"} : (!transform.any_op) -> !transform.any_op
    %product, %second = transform.split_handle %products : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %relus = transform.relax.match_calls in %root {kernel = "relu"} : (!transform.any_op) -> !transform.any_op
    %relu, %last = transform.split_handle %relus : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %bindings = transform.merge_handles %product, %relu : !transform.any_op
    %function, %call = transform.relax.fuse %bindings : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.relax.set_kernel %function class "none" : !transform.any_op
    transform.yield
  }
}

// -----

// Without one of the function, it is that of the kernels that it calls.
!x = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: relax.func @inherited
// CHECK: relax.call_tir @fused_exp_log(
// CHECK: func.func private @fused_exp_log({{.*}}) -> tensor<?x8xf32> attributes {relax.schedule = {class = "elementwise"}}
module attributes {transform.with_named_sequence} {
  relax.func @inherited(%x: !x) -> !x {
    %0 = relax.dataflow -> !x {
      %1 = relax.exp %x : (!x) -> !x
      %2 = relax.log %1 : (!x) -> !x
      relax.output %2 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    %exp = transform.relax.match_calls in %root {kernel = "exp"} : (!transform.any_op) -> !transform.any_op
    %kernels = transform.relax.get_callee %exp : (!transform.any_op) -> !transform.any_op
    transform.relax.set_kernel %kernels class "elementwise" : !transform.any_op
    %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
