// RUN: relax-opt %s -split-input-file -relax-legalize-ops -relax-fuse-ops -transform-interpreter | FileCheck %s

// What relax-fuse-ops has grouped comes apart, and is a handle; the function
// goes with its last call. Shapes that were passed for it go, too.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>

// CHECK-LABEL: relax.func @product
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[P:.*]] = relax.call_tir @matmul(%x, %w) {split}
// CHECK-NEXT: %[[R:.*]] = relax.call_tir @relu(%[[P]]) {split}
// CHECK-NEXT: relax.output %[[R]]
// CHECK-NOT: Primitive
module attributes {transform.with_named_sequence} {
  relax.func @product(%x: !x, %w: !w) -> !x {
    %0 = relax.dataflow -> !x {
      %1 = relax.matmul %x, %w : (!x, !w) -> !x
      %2 = relax.relu %1 : (!x) -> !x
      relax.output %2 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.structured.match ops{["relax.call"]} in %root : (!transform.any_op) -> !transform.any_op
    %bindings = transform.relax.split %calls : (!transform.any_op) -> !transform.any_op
    transform.annotate %bindings "split" : !transform.any_op
    transform.yield
  }
}

// -----

// A function that two calls share stays for the other one, and its variables
// are those of the place of the call.
!x = !relax.tensor<[m, 8], f32>
!y = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: relax.func @shared
// CHECK: relax.call_tir @exp(%x) : (!relax.tensor<[m, 8], f32>) -> !relax.tensor<[m, 8], f32>
// CHECK: relax.call_tir @log(%{{.*}}) : (!relax.tensor<[m, 8], f32>) -> !relax.tensor<[m, 8], f32>
// CHECK: relax.call @fused(%y)
// CHECK: relax.func private @fused
module attributes {transform.with_named_sequence} {
  relax.func @shared(%x: !x, %y: !y) -> !relax.tuple<!x, !y> {
    %0 = relax.call @fused(%x) {first} : (!x) -> !x
    %1 = relax.call @fused(%y) : (!y) -> !y
    %2 = relax.tuple %0, %1 : !x, !y
    relax.return %2 : !relax.tuple<!x, !y>
  }
  relax.func private @fused(%x: !relax.tensor<[k, 8], f32>) -> !relax.tensor<[k, 8], f32> attributes {Primitive = true} {
    %0 = relax.dataflow -> !relax.tensor<[k, 8], f32> {
      %1 = relax.exp %x : (!relax.tensor<[k, 8], f32>) -> !relax.tensor<[k, 8], f32>
      %2 = relax.log %1 : (!relax.tensor<[k, 8], f32>) -> !relax.tensor<[k, 8], f32>
      relax.output %2 : !relax.tensor<[k, 8], f32>
    }
    relax.return %0 : !relax.tensor<[k, 8], f32>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.structured.match ops{["relax.call"]} attributes {first} in %root : (!transform.any_op) -> !transform.any_op
    %bindings = transform.relax.split %calls : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}

// -----

// What is fused comes back as it was.
!x = !relax.tensor<[n], f32>

// CHECK-LABEL: relax.func @roundtrip
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[L:.*]] = relax.call_tir @log(%x)
// CHECK-NEXT: %[[E:.*]] = relax.call_tir @exp(%x)
// CHECK-NEXT: %[[A:.*]] = relax.call_tir @add(%[[E]], %[[L]])
// CHECK-NOT: Primitive
module attributes {transform.with_named_sequence} {
  relax.func @roundtrip(%x: !x) -> !x {
    %0 = relax.dataflow -> !x {
      %1 = relax.exp %x : (!x) -> !x
      %2 = relax.log %x : (!x) -> !x
      %3 = relax.add %1, %2 : (!x, !x) -> !x
      relax.output %3 : !x
    }
    relax.return %0 : !x
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %calls = transform.structured.match ops{["relax.call"]} in %root : (!transform.any_op) -> !transform.any_op
    %bindings = transform.relax.split %calls : (!transform.any_op) -> !transform.any_op
    %exp = transform.relax.match_calls in %root {kernel = "exp"} : (!transform.any_op) -> !transform.any_op
    %add = transform.relax.match_calls in %root {kernel = "add"} : (!transform.any_op) -> !transform.any_op
    %some = transform.merge_handles %exp, %add : !transform.any_op
    %function, %call = transform.relax.fuse %some : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %again = transform.relax.split %call : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
