// RUN: relax-opt %s --split-input-file --verify-diagnostics --mlir-very-unsafe-disable-verifier-on-parsing --verify-each=0 --relax-check-well-formed

// One module for each rule that is not one on types or attributes alone (those are in test/lit/IR), and
// one with many violations. Nothing was verified before the check.

// WF03: the other order.
relax.func @wf03_use_before_binding() -> !relax.object {
  // expected-error@+1 {{'relax.tuple' op operand 0 is used before it is bound [WF03]}}
  %0 = relax.tuple %1 : !relax.object
  // expected-note@+1 {{it is bound here}}
  %1 = relax.null_value
  relax.return %0 : !relax.tuple<!relax.object>
}

// -----

// WF02: only functions refer to themselves.
relax.func @wf02_itself() -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op operand 0 is the result of the binding it is in: a function refers to itself by 'rec', and nothing else does [WF02]}}
  %0 = relax.match_cast %0 : !relax.object -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// WF02: a closure does by `rec`.
relax.func @wf02_closure_result() -> !relax.object {
  // expected-note@+1 {{the binding is here}}
  %f = relax.closure () -> !relax.object {
    // expected-error@+1 {{'relax.call' op operand 0 is the result of the binding it is in: a function refers to itself by 'rec', and nothing else does [WF02]}}
    %0 = relax.call %f : !relax.func<() -> !relax.object, pure> () : () -> !relax.object
    relax.return %0 : !relax.object
  }
  relax.return %f : !relax.func<() -> !relax.object, pure>
}

// -----

// WF02: the name of a function is bound once.
// expected-note@+1 {{it is bound here, too}}
relax.func @wf02_twice(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}
// expected-error@+1 {{'wf02_twice' is bound twice in the module [WF02]}}
relax.func @wf02_twice(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}

// -----

// WF04-WF06, in a function and in a closure: what is bound around it counts.
// expected-error@+2 {{'relax.func' op argument 'x' uses shape variable 'm', which no argument binds: it must be a dimension by itself in one of them [WF06]}}
// expected-error@+1 {{'relax.func' op result uses shape variable 'k', which no argument binds [WF04]}}
relax.func @wf06_wf04(%x: !relax.shape<[n, m + n]>) -> !relax.shape<[k]> {
  // expected-error@+2 {{'relax.closure' op argument 'y' uses shape variable 'j', which no argument binds: it must be a dimension by itself in one of them [WF06]}}
  // expected-error@+1 {{'relax.closure' op result uses shape variable 'i', which no argument binds [WF04]}}
  %f = relax.closure (%y: !relax.shape<[n + 1, j * 2]>, %z: !relax.shape<[l]>) -> !relax.shape<[n, i]> {
    // expected-note@+1 {{'i' is bound here, for what follows in this scope}}
    %1 = relax.match_cast %y : !relax.shape<[n + 1, j * 2]> -> !relax.shape<[n, i]>
    relax.return %1 : !relax.shape<[n, i]>
  }
  // WF05: what a closure binds is not visible behind it.
  // expected-error@+2 {{'relax.shape' op shape variable 'l' is used before it is bound [WF05]}}
  // expected-error@+1 {{'relax.shape' op shape variable 'i' is used before it is bound [WF05]}}
  %0 = relax.shape <[n, l, i]>
  // expected-note@+1 {{'k' is bound here, for what follows in this scope}}
  %2 = relax.match_cast %0 : !relax.shape<[n, l, i]> -> !relax.shape<[k]>
  relax.return %2 : !relax.shape<[k]>
}

// -----

// WF05: 2 * k does not bind k; the note says where it is bound.
relax.func @wf05_product(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op shape variable 'k' is used before it is bound: only a dimension that is the bare variable binds it [WF05]}}
  %0 = relax.match_cast %x : !relax.object -> !relax.shape<[k * 2]>
  // expected-note@+1 {{'k' is bound here, for what follows in this scope}}
  %1 = relax.match_cast %x : !relax.object -> !relax.shape<[k]>
  relax.return %1 : !relax.shape<[k]>
}

// -----

// WF14-WF16: in annotations of each kind, all reported.
relax.func impure @wf14_wf15_wf16(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.call_packed' op shape variable 'd' of sinfo_args is used before it is bound [WF14]}}
  %1 = relax.call_packed "f"(%x) {sinfo_args = [!relax.tensor<[d], f32>]} : (!relax.object) -> !relax.object
  // expected-error@+3 {{'relax.call_packed' op shape variable 'a' of the result is used before it is bound [WF14]}}
  // expected-error@+2 {{'relax.call_packed' op shape variable 'b' of the result is used before it is bound [WF15]}}
  // expected-error@+1 {{'relax.call_packed' op shape variable 'c' of the result is used before it is bound [WF16]}}
  %0 = relax.call_packed "f"(%x) : (!relax.object) -> !relax.tuple<!relax.tensor<[a], f32>, !relax.shape<[b]>, !relax.prim<i64, c>>
  relax.return %0 : !relax.tuple<!relax.tensor<[a], f32>, !relax.shape<[b]>, !relax.prim<i64, c>>
}

// -----

// WF07: control flow, impure calls and a block in a block, all reported.
relax.func impure @wf07_constructs(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  relax.dataflow {
    // expected-error@+1 {{'relax.if' op is not allowed in a dataflow block [WF07]}}
    %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
      relax.yield %x : !relax.object
    } else {
      relax.yield %x : !relax.object
    }
    // expected-error@+1 {{'relax.call_packed' op is impure, which is not allowed in a dataflow block [WF07]}}
    %2 = relax.call_packed "f"(%x) : (!relax.object) -> !relax.object
    // expected-error@+1 {{'relax.dataflow' op is not allowed in a dataflow block [WF07]}}
    relax.dataflow {
      relax.output
    }
    relax.output
  }
  relax.return %x : !relax.object
}

// -----

// WF07: a call of the function itself.
// expected-note@+1 {{it calls the function that it is in}}
relax.func @wf07_recursive(%x: !relax.object) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.object {
    // expected-error@+1 {{'relax.call' op is recursive, which is not allowed in a dataflow block [WF07]}}
    %1 = relax.call @wf07_recursive(%x) : (!relax.object) -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

// WF07: through another function, and through a function value; the third one is in no cycle.
relax.func @wf07_mutual(%x: !relax.object) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.object {
    %f = relax.global_var @wf07_other : !relax.func<(!relax.object) -> !relax.object, pure>
    // expected-error@+1 {{'relax.call' op is recursive, which is not allowed in a dataflow block [WF07]}}
    %1 = relax.call %f : !relax.func<(!relax.object) -> !relax.object, pure> (%x) : (!relax.object) -> !relax.object
    %2 = relax.call @wf07_third(%x) : (!relax.object) -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}
// expected-note@+1 {{it calls this function, which calls back}}
relax.func private @wf07_other(%x: !relax.object) -> !relax.object {
  %f = relax.closure (%y: !relax.object) -> !relax.object {
    %0 = relax.call @wf07_mutual(%y) : (!relax.object) -> !relax.object
    relax.return %0 : !relax.object
  }
  %1 = relax.call %f : !relax.func<(!relax.object) -> !relax.object, pure> (%x) : (!relax.object) -> !relax.object
  relax.return %1 : !relax.object
}
relax.func private @wf07_third(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}

// -----

// WF07: a local function.
relax.func @wf07_local(%x: !relax.object) -> !relax.object {
  // expected-note@+1 {{it calls the function that it is in}}
  %f = relax.closure rec %self (%y: !relax.object) -> !relax.object {
    // expected-note@+1 {{the dataflow block begins here}}
    %0 = relax.dataflow -> !relax.object {
      // expected-error@+1 {{'relax.call' op is recursive, which is not allowed in a dataflow block [WF07]}}
      %1 = relax.call %self : !relax.func<(!relax.object) -> !relax.object, pure> (%y) : (!relax.object) -> !relax.object
      relax.output %1 : !relax.object
    }
    relax.return %0 : !relax.object
  }
  relax.return %x : !relax.object
}

// -----

// WF08: two functions that call each other, without results.
// expected-error@+1 {{'relax.func' op is recursive, so it has to state its result [WF08]}}
relax.func @wf08_mutual(%x: !relax.object) {
  // expected-note@+1 {{the call is here}}
  %0 = relax.call @wf08_other(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}
// expected-error@+1 {{'relax.func' op is recursive, so it has to state its result [WF08]}}
relax.func private @wf08_other(%x: !relax.object) {
  // expected-note@+1 {{the call is here}}
  %0 = relax.call @wf08_mutual(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// WF11: a closure captures no value of the dataflow block around it, not even by another one.
relax.func @wf11_capture(%x: !relax.object) -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    // expected-note@+1 {{the value is bound here}}
    %1 = relax.null_value
    // expected-note@+1 {{the closure is defined here}}
    %f = relax.closure () -> !relax.object {
      // expected-error@+1 {{'relax.tuple' op uses a value of the dataflow block around its closure as operand 1: closures capture no such values [WF11]}}
      %2 = relax.tuple %x, %1 : !relax.object, !relax.object
      %g = relax.closure () -> !relax.object {
        // expected-error@+1 {{'relax.return' op uses a value of the dataflow block around its closure as operand 0: closures capture no such values [WF11]}}
        relax.return %1 : !relax.object
      }
      relax.return %2 : !relax.tuple<!relax.object, !relax.object>
    }
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

// WF12: nothing to enter the program by.
// expected-error@-3 {{'builtin.module' op expected a function that is not private, to enter the program by [WF12]}}
// expected-note@+1 {{this one is private}}
relax.func private @wf12_private(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}

// -----

// WF13: the name outside is the name inside, and a private function has none.
// expected-error@+1 {{'relax.func' op expected 'global_symbol' to be its name, "wf13_name", but got "other" [WF13]}}
relax.func @wf13_name(%x: !relax.object) -> !relax.object attributes {global_symbol = "other"} {
  relax.return %x : !relax.object
}
// expected-error@+1 {{'relax.func' op is not public, so it has no 'global_symbol' [WF13]}}
relax.func private @wf13_private(%x: !relax.object) -> !relax.object attributes {global_symbol = "wf13_private"} {
  relax.return %x : !relax.object
}
// expected-error@+1 {{'func.func' op expected 'global_symbol' to be its name, "wf13_kernel", but got 3 : i64 [WF13]}}
func.func private @wf13_kernel() attributes {global_symbol = 3}

// -----

// WF21: a promise of purity needs a pure function.
// expected-error@+1 {{'relax.func' op has 'relax.force_pure', so it has to be pure [WF21]}}
relax.func impure @wf21_impure(%x: !relax.object) -> !relax.object attributes {relax.force_pure = true} {
  relax.return %x : !relax.object
}

// -----

// WF23: the rules of calls.
func.func private @kernel(tensor<?xf32>, tensor<?xf32>)
relax.func @wf23_tuple(%t: !relax.tuple<!relax.tensor<[n], f32>>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected each argument by itself, but got a tuple: relax-normalize takes its fields [WF23]}}
  %0 = relax.call_tir @kernel(%t) : (!relax.tuple<!relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op expected each argument by itself, but got a tuple: relax-normalize takes its fields [WF23]}}
  %1 = relax.call_tir_inplace @kernel(%t) inplace [-1] : (!relax.tuple<!relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_dps_packed' op expected each argument by itself, but got a tuple: relax-normalize takes its fields [WF23]}}
  %2 = relax.call_dps_packed "f"(%t) : (!relax.tuple<!relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// WF24: each device that a type names is one of the module.
// expected-note@+1 {{the module lists @cpu0}}
module attributes {relax.global_info = {cpu0 = #relax.vdevice<"llvm", 0>}} {
  // expected-error@+1 {{'relax.func' op names virtual device @cpu1, which is not listed in 'relax.global_info' [WF24]}}
  relax.func @wf24_device(%x: !relax.tensor<[n], f32, @cpu1>, %y: !relax.tensor<[n], f32, @cpu0>) -> !relax.object {
    relax.return %x : !relax.tensor<[n], f32, @cpu1>
  }
}

// -----

// DR15: a pure function has no impure calls of its own; those of a closure are the closure's.
// expected-note@+1 {{the function is pure: declare it 'impure', or promise with relax.force_pure that nobody sees the effects}}
relax.func @dr15_pure(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %f = relax.closure impure () -> !relax.object {
    %0 = relax.call_packed "f"() : () -> !relax.object
    relax.return %0 : !relax.object
  }
  // expected-note@+1 {{the function is pure}}
  %g = relax.closure () -> !relax.object {
    // expected-error@+1 {{'relax.call' op is impure, which is not allowed in a pure function [DR15]}}
    %0 = relax.call %f : !relax.func<() -> !relax.object, impure> () : () -> !relax.object
    relax.return %0 : !relax.object
  }
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    // expected-error@+1 {{'relax.call_packed' op is impure, which is not allowed in a pure function [DR15]}}
    %2 = relax.call_packed "f"() : () -> !relax.object
    relax.yield %2 : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  relax.return %1 : !relax.object
}

// -----

// All violations of a module at once, also in operations that MLIR itself refuses.
// expected-error@-3 {{'builtin.module' op expected a function that is not private, to enter the program by [WF12]}}
// expected-error@+2 {{'relax.func' op argument 'x' uses shape variable 'm', which no argument binds}}
// expected-note@+1 {{this one is private}}
relax.func private @all(%x: !relax.shape<[m * 2]>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected either a callee or a function value}}
  %0 = "relax.call"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> !relax.object
  // expected-error@+2 {{requires attribute 'values'}}
  // expected-error@+1 {{'relax.shape' op shape variable 'q' of the result is used before it is bound [WF15]}}
  %1 = "relax.shape"() : () -> !relax.shape<[q]>
  // expected-error@+1 {{operand count (1) does not match with the total size (5) specified in attribute 'operandSegmentSizes'}}
  %2 = "relax.call"(%0) <{operandSegmentSizes = array<i32: 2, 3>}> : (!relax.object) -> !relax.object
  // expected-error@+1 {{'relax.exp' op operand 0 is used before it is bound [WF03]}}
  %3 = relax.exp %4 : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
  // expected-note@+1 {{it is bound here}}
  %4 = relax.constant dense<1.0> : tensor<2xf32>
  // expected-error@+1 {{expected each of its blocks to end with a terminator}}
  relax.dataflow {
    %5 = relax.null_value
  }
  // expected-error@+1 {{'relax.call' op expected @missing to be a relax.func or func.func of the module}}
  %6 = relax.call @missing() : () -> !relax.object
  // expected-error@+1 {{'relax.shape' op shape variable 'k' is used before it is bound [WF05]}}
  %7 = relax.shape <[k]>
  relax.return %7 : !relax.shape<[k]>
}

// -----

// Nothing below is of the kind that accessors rely on.
// expected-error@+1 {{attribute 'function_type' failed to satisfy constraint}}
"relax.func"() <{function_type = !relax.object, sym_name = "no_function_type"}> ({
^bb0(%x: !relax.object):
  "relax.return"(%x) : (!relax.object) -> ()
}) : () -> ()

// -----

relax.func @closure_of_no_function_type() -> !relax.object {
  // expected-error@+1 {{'relax.closure' op result #0 must be a Relax function, but got 'i64'}}
  %0 = "relax.closure"() ({
  ^bb0(%self: i64):
    %1 = relax.null_value
    "relax.return"(%1) : (!relax.object) -> ()
  }) : () -> i64
  %2 = relax.null_value
  relax.return %2 : !relax.object
}

// -----

relax.func @cast_to_no_relax_type(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.match_cast' op result #0 must be a Relax value, but got 'i64'}}
  %0 = "relax.match_cast"(%x) : (!relax.object) -> i64
  relax.return %x : !relax.object
}

// -----

func.func private @relu(memref<?xf32>)
relax.func @update_without_indices(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op requires attribute 'inplace_indices'}}
  %1 = "relax.call_tir_inplace"(%0) <{callee = @relu, operandSegmentSizes = array<i32: 1, 0>}> : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

// expected-error@+1 {{visibility expected to be one of}}
"relax.func"() <{function_type = () -> !relax.object, sym_name = "f", sym_visibility = "odd"}> ({}) : () -> ()

// -----

relax.func @branch_without_end(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+2 {{'relax.if' op expects a non-empty block}}
  // expected-error@+1 {{'relax.if' op expected each of its blocks to end with a terminator}}
  %1 = "relax.if"(%c) ({
    %2 = relax.call_inplace_packed "f"(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.object
    "relax.yield"(%2) : (!relax.object) -> ()
  }, {
  ^bb0:
  }) : (!relax.tensor<[], i1>) -> !relax.object
  relax.return %1 : !relax.object
}

// -----

relax.func @update_among_what_is_incomplete(%t: !relax.tuple<!relax.object>) -> !relax.object {
  // expected-error@+1 {{'relax.get_item' op requires attribute 'index'}}
  %0 = "relax.get_item"(%t) : (!relax.tuple<!relax.object>) -> !relax.object
  // expected-error@+1 {{'relax.get_item' op requires a single operand}}
  %1 = "relax.get_item"() <{index = 0 : i64}> : () -> !relax.object
  // expected-error@+1 {{'relax.seq' op requires one region}}
  %2 = "relax.seq"() : () -> !relax.object
  %3 = relax.null_value
  %4 = relax.call_inplace_packed "f"(%3) inplace [0] : (!relax.object) -> !relax.object
  relax.return %4 : !relax.object
}

// -----

// Sizes that are known fit in 64 bits; 0 in one dimension does not make up for the others.
// expected-error@+1 {{'relax.func' op expected a tensor of fewer than 2^63 bytes, but got '!relax.tensor<[0, 2147483648, n, 1073741824], f32>'}}
relax.func @too_large(%x: !relax.tensor<[0, 2147483648, n, 1073741824], f32>) -> !relax.object {
  relax.return %x : !relax.tensor<[0, 2147483648, n, 1073741824], f32>
}

// -----

// Nothing uses what the program has killed; the other branch of a relax.if comes no later.
relax.func @use_after_kill(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    // expected-note@+1 {{it is killed here}}
    relax.builtin.kill %0 : !relax.tensor<[n], f32>
    // expected-error@+1 {{'relax.exp' op uses a value that was killed before}}
    %2 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %2 : !relax.tensor<[n], f32>
  } else {
    relax.yield %0 : !relax.tensor<[n], f32>
  }
  // expected-error@+1 {{'relax.add' op uses a value that was killed before}}
  %3 = relax.add %1, %0 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %3 : !relax.tensor<[n], f32>
}
