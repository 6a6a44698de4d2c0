// RUN: relax-opt %s -relax-legalize-ops -transform-interpreter -verify-diagnostics -o %t

// Kernels are found by their name, with and without the number that tells those
// of one operator apart, by their kind, and by what they result in.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>
!h = !relax.tensor<[8, 8], f16>

module attributes {transform.with_named_sequence} {
  relax.func @main(%x: !x, %w: !w) -> !relax.tuple<!x, !h> {
    %0:2 = relax.dataflow -> !x, !h {
      // expected-remark @below {{product}}
      // expected-remark @below {{symbolic}}
      // expected-remark @below {{float32 of rank 2}}
      %1 = relax.matmul %x, %w : (!x, !w) -> !x
      // expected-remark @below {{symbolic}}
      // expected-remark @below {{elementwise}}
      // expected-remark @below {{exponential}}
      // expected-remark @below {{float32 of rank 2}}
      %2 = relax.exp %1 : (!x) -> !x
      // expected-remark @below {{elementwise}}
      // expected-remark @below {{exponential}}
      // expected-remark @below {{of known size}}
      // expected-remark @below {{float32 of rank 2}}
      %3 = relax.exp %w : (!w) -> !w
      // expected-remark @below {{elementwise}}
      %4 = relax.astype %3 {dtype = f16} : (!w) -> !h
      relax.output %2, %4 : !x, !h
    }
    %5 = relax.tuple %0#0, %0#1 : !x, !h
    relax.return %5 : !relax.tuple<!x, !h>
  }
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.relax.match_calls in %root {pattern = "out-elementwise-fusable"} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %0, "product" : !transform.any_op
    %1 = transform.relax.match_calls in %root {dims = "symbolic"} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %1, "symbolic" : !transform.any_op
    %2 = transform.relax.match_calls in %root {pattern = "elementwise"} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %2, "elementwise" : !transform.any_op
    // A handle of calls has those that fulfil more.
    %3 = transform.relax.match_calls in %2 {kernel = "exp"} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %3, "exponential" : !transform.any_op
    %4 = transform.relax.match_calls in %root {kernel = "exp1"} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %4, "of known size" : !transform.any_op
    %5 = transform.relax.match_calls in %root {rank = 2, dtype = f32} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %5, "float32 of rank 2" : !transform.any_op
    %6 = transform.relax.match_calls in %root {rank = 3} : (!transform.any_op) -> !transform.any_op
    transform.debug.emit_remark_at %6, "nothing has rank 3" : !transform.any_op
    transform.yield
  }
}
