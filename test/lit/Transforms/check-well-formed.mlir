// RUN: relax-opt %s --relax-check-well-formed | FileCheck %s
// RUN: relax-opt %s --mlir-very-unsafe-disable-verifier-on-parsing --verify-each=0 --relax-check-well-formed | FileCheck %s

// What is well-formed, near the borders of the rules.

// SC01, WF08, WF12, WF13: globals call each other, whatever their order; one is an entry.
// CHECK: relax.func @sc01_wf08_even(%n: !relax.object) -> !relax.object attributes {global_symbol = "sc01_wf08_even"} {
relax.func @sc01_wf08_even(%n: !relax.object) -> !relax.object attributes {global_symbol = "sc01_wf08_even"} {
  %0 = relax.call @odd(%n) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}
relax.func private @odd(%n: !relax.object) -> !relax.object {
  %0 = relax.call @sc01_wf08_even(%n) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// A result that is left out, where nothing is recursive.
// CHECK: relax.func private @wf08_derived(%x: !relax.object) {
relax.func private @wf08_derived(%x: !relax.object) {
  relax.return %x : !relax.object
}

// SC02, WF04-WF06: a closure sees its parameters, itself, and what is bound around it; its own
// variables are bound on each call.
// CHECK-LABEL: relax.func @sc02_wf06_closure
relax.func @sc02_wf06_closure(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %f = relax.closure rec %self (%y: !relax.tensor<[n * 2, k], f32>) -> !relax.tensor<[n, k], f32> {
    %0 = relax.call %self : !relax.func<(!relax.tensor<[n * 2, k], f32>) -> !relax.tensor<[n, k], f32>, pure> (%y) : (!relax.tensor<[n * 2, k], f32>) -> !relax.tensor<ndim = 2, f32>
    %1 = relax.match_cast %0 : !relax.tensor<ndim = 2, f32> -> !relax.tensor<[n, k], f32>
    relax.return %1 : !relax.tensor<[n, k], f32>
  }
  // `k` is free here again.
  %2 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[k], f32>
  relax.return %2 : !relax.tensor<[k], f32>
}

// WF07, WF11: a closure in a dataflow block may contain what the block may not, and capture what
// is bound around the block. Calls of other functions are fine.
// CHECK-LABEL: relax.func @wf07_wf11_closure
relax.func @wf07_wf11_closure(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    %f = relax.closure impure (%y: !relax.object) -> !relax.object {
      %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
        %2 = relax.call_packed "f"(%y, %x) : (!relax.object, !relax.object) -> !relax.object
        relax.yield %2 : !relax.object
      } else {
        %2 = relax.call @wf07_wf11_closure(%c, %x) : (!relax.tensor<[], i1>, !relax.object) -> !relax.object
        relax.yield %2 : !relax.object
      }
      // A dataflow block of its own: its values are captured by nobody.
      %3 = relax.dataflow -> !relax.object {
        %4 = relax.tuple %y, %1 : !relax.object, !relax.object
        relax.output %4 : !relax.tuple<!relax.object, !relax.object>
      }
      relax.return %3 : !relax.object
    }
    %5 = relax.call @sc01_wf08_even(%x) : (!relax.object) -> !relax.object
    relax.output %f : !relax.func<(!relax.object) -> !relax.object, impure>
  }
  relax.return %0 : !relax.object
}

// DR15, WF21: a promise of purity covers impure calls.
// CHECK-LABEL: relax.func @dr15_wf21_force_pure
relax.func @dr15_wf21_force_pure(%x: !relax.object) -> !relax.object attributes {relax.force_pure = true} {
  %0 = relax.call_packed "f"(%x) : (!relax.object) -> !relax.object
  %1 = relax.call_pure_packed "f"(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

func.func private @kernel(tensor<?xf32>, tensor<?xf32>) attributes {global_symbol = "kernel"}

// WF23: arguments one by one.
// CHECK-LABEL: relax.func @wf23_arguments
relax.func @wf23_arguments(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.call_tir @kernel(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
