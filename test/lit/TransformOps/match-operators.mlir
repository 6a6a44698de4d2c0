// RUN: relax-opt %s -transform-interpreter -verify-diagnostics -o %t

// Operators are calls before they are legalized; they have no kind yet.
!x = !relax.tensor<[2, 8], f32>
!t = !relax.tuple<!relax.tensor<[2, 4], f32>, !relax.tensor<[2, 4], f32>>
module attributes {transform.with_named_sequence} {
  relax.func @main(%x: !x) -> !t {
    %c = relax.constant dense<2.0> : tensor<f32>
    // expected-remark @below {{static}}
    %0 = relax.relu %x : (!x) -> !x
    // expected-remark @below {{static}}
    // expected-remark @below {{split}}
    %1 = relax.split %0 {axis = 1 : i64, sections = 2 : i64} : (!x) -> !t
    %2 = relax.get_item %1[0] : !t
    relax.return %1 : !t
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.relax.match_calls in %root {dims = "static"} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %0, "static" : !transform.any_op
    %1 = transform.relax.match_calls in %root {kernel = "split", rank = 2} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %1, "split" : !transform.any_op
    %2 = transform.relax.match_calls in %root {pattern = "elementwise"} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %2, "none" : !transform.any_op
    transform.yield
  }
}
