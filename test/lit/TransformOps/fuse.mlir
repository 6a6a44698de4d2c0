// RUN: relax-opt %s -split-input-file -relax-legalize-ops -transform-interpreter | FileCheck %s

// What is chosen becomes a function, as relax-fuse-ops would write it, and what
// is not chosen stays.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>

// CHECK-LABEL: relax.func @chain
// CHECK: relax.dataflow
// CHECK-NEXT: %[[P:.*]] = relax.call_tir @matmul(%x, %w)
// CHECK-NEXT: relax.call @fused_multiply_exp(%[[P]]) {here} : (!relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 8], f32>
// CHECK-NEXT: relax.output
// CHECK: relax.func private @fused_multiply_exp(%arg0: !relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 8], f32> attributes {Primitive = true, made} {
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: relax.constant dense<2.000000e+00>
// CHECK-NEXT: relax.call_tir @multiply(%arg0, %{{.*}})
// CHECK-NEXT: relax.call_tir @exp
// CHECK-NEXT: relax.output
module attributes {transform.with_named_sequence} {
  relax.func @chain(%x: !x, %w: !w) -> !x {
    %0 = relax.dataflow -> !x {
      %c = relax.constant dense<2.0> : tensor<f32>
      %1 = relax.matmul %x, %w : (!x, !w) -> !x
      %2 = relax.multiply %1, %c : (!x, !relax.tensor<[], f32>) -> !x
      %3 = relax.exp %2 : (!x) -> !x
      relax.output %3 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %bindings = transform.relax.match_calls in %root {pattern = "elementwise"} : (!transform.any_op) -> !transform.any_op
    %scaled = transform.relax.match_calls in %root {kernel = "multiply"} : (!transform.any_op) -> !transform.any_op
    %all = transform.merge_handles deduplicate %bindings, %scaled : !transform.any_op
    %function, %call = transform.relax.fuse %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.annotate %function "made" : !transform.any_op
    transform.annotate %call "here" : !transform.any_op
    transform.yield
  }
}

// -----

// What needs a result and comes between the bindings comes after the call, and
// several results are a tuple.
!x = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: relax.func @two
// CHECK: %[[L:.*]] = relax.call_tir @log(%y)
// CHECK-NEXT: %[[T:.*]] = relax.call @fused_exp_add(%x, %[[L]]) : ({{.*}}) -> !relax.tuple<!relax.tensor<[n, 8], f32>, !relax.tensor<[n, 8], f32>>
// CHECK-NEXT: %[[E:.*]] = relax.get_item %[[T]][0]
// CHECK-NEXT: %[[A:.*]] = relax.get_item %[[T]][1]
// CHECK-NEXT: %[[N:.*]] = relax.call_tir @negative(%[[E]])
// CHECK-NEXT: relax.output %[[N]], %[[A]]
// CHECK: relax.func private @fused_exp_add
// CHECK: %[[E:.*]] = relax.call_tir @exp(%arg0)
// CHECK: %[[A:.*]] = relax.call_tir @add(%[[E]], %arg1)
// CHECK: %[[T:.*]] = relax.tuple %[[E]], %[[A]]
// CHECK: relax.output %[[T]]
module attributes {transform.with_named_sequence} {
  relax.func @two(%x: !x, %y: !x) -> !relax.tuple<!x, !x> {
    %0:2 = relax.dataflow -> !x, !x {
      %1 = relax.exp %x : (!x) -> !x
      %2 = relax.negative %1 : (!x) -> !x
      %3 = relax.log %y : (!x) -> !x
      %4 = relax.add %1, %3 : (!x, !x) -> !x
      relax.output %2, %4 : !x, !x
    }
    %5 = relax.tuple %0#0, %0#1 : !x, !x
    relax.return %5 : !relax.tuple<!x, !x>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %exp = transform.relax.match_calls in %root {kernel = "exp"} : (!transform.any_op) -> !transform.any_op
    %add = transform.relax.match_calls in %root {kernel = "add"} : (!transform.any_op) -> !transform.any_op
    // The order of handles is not that of bindings.
    %all = transform.merge_handles %add, %exp : !transform.any_op
    %function, %call = transform.relax.fuse %all : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// What takes fields of a result belongs to the bindings.
!x = !relax.tensor<[n, 8], f32>
!h = !relax.tensor<[n, 4], f32>

// CHECK-LABEL: relax.func @fields
// CHECK: relax.dataflow
// CHECK-NEXT: relax.call @fused_split_add(%x)
// CHECK-NEXT: relax.output
module attributes {transform.with_named_sequence} {
  relax.func @fields(%x: !x) -> !h {
    %0 = relax.dataflow -> !h {
      %1 = relax.split %x {axis = 1 : i64, sections = 2 : i64} : (!x) -> !relax.tuple<!h, !h>
      %2 = relax.get_item %1[0] : !relax.tuple<!h, !h>
      %3 = relax.get_item %1[1] : !relax.tuple<!h, !h>
      %4 = relax.add %2, %3 : (!h, !h) -> !h
      relax.output %4 : !h
    }
    relax.return %0 : !h
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Shape variables that no argument binds are passed.
!x = !relax.tensor<[n], f32>
!y = !relax.tensor<[m, n], f32>

// CHECK-LABEL: relax.func @variables
// CHECK: %[[S:.*]] = relax.shape <[m]>
// CHECK-NEXT: relax.call @fused_broadcast_to_exp(%x, %[[S]]) : (!relax.tensor<[n], f32>, !relax.shape<[m]>) -> !relax.tensor<[m, n], f32>
module attributes {transform.with_named_sequence} {
  relax.func @variables(%x: !x, %s: !relax.shape<[m]>) -> !y {
    %0 = relax.dataflow -> !y {
      %1 = relax.shape <[m, n]>
      %2 = relax.broadcast_to %x, %1 : (!x, !relax.shape<[m, n]>) -> !y
      %3 = relax.exp %2 : (!y) -> !y
      relax.output %3 : !y
    }
    relax.return %0 : !y
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.relax.match_calls in %root : (!transform.any_op) -> !transform.any_op
    %function, %call = transform.relax.fuse %calls : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
