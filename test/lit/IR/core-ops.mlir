// RUN: %roundtrip

// Functions, blocks and values. Names of arguments are kept through every form.

// The third argument binds what the first two use (WF06: in any order).
// CHECK-LABEL: relax.func @gr16_signature
relax.func @gr16_signature(%x: !relax.tensor<[n * 2, m], f32>, %arg1: !relax.shape<[n + m]>, %s: !relax.shape<[n, m]>) -> !relax.tensor<[n * 2, m], f32> {
  relax.return %x : !relax.tensor<[n * 2, m], f32>
}

// Arguments without a name of their own get one from printing.
// CHECK: relax.func @gr16_unnamed(%arg0: !relax.object, %arg1: !relax.object) -> !relax.object {
relax.func @gr16_unnamed(%0: !relax.object, %1: !relax.object) -> !relax.object {
  relax.return %1 : !relax.object
}

// No arguments, an impure function, and attributes of all kinds.
// CHECK: relax.func impure @gr16_attributes() -> !relax.tuple<> attributes {relax.note = "main"} {
relax.func @gr16_attributes() -> !relax.tuple<> attributes {is_pure = false, relax.note = "main"} {
  // CHECK: relax.tuple()
  %0 = relax.tuple()
  relax.return %0 : !relax.tuple<>
}

// CHECK: relax.func private @gr16_argument_attributes(%x: !relax.object {relax.hint = 1 : i64}) -> (!relax.object {relax.hint}) {
relax.func private @gr16_argument_attributes(%x: !relax.object {relax.hint = 1 : i64}) -> (!relax.object {relax.hint}) {
  relax.return %x : !relax.object
}

// CHECK: relax.func private impure @gr16_keywords(!relax.object) -> !relax.object
relax.func private impure @gr16_keywords(!relax.object) -> !relax.object

// WF08: a result that is to be derived is left out.
// CHECK: relax.func @wf08_left_out(%x: !relax.object) {
relax.func @wf08_left_out(%x: !relax.object) {
  relax.return %x : !relax.object
}

// A declaration; its result uses variables of the arguments (WF04).
// CHECK: relax.func private @wf04_declaration(!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>
relax.func private @wf04_declaration(!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>

// DR13: the declared result may say less than the value.
// CHECK-LABEL: relax.func @dr13_weaker_result
relax.func @dr13_weaker_result(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<ndim = 2> {
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// GR17, SC04: what a dataflow block outputs is visible behind it.
// CHECK: relax.func @gr17_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>> {
relax.func @gr17_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>> {
  // CHECK: %0:2 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32> {
  %0:2 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32> {
    // CHECK: %[[EXP:.*]] = relax.exp %x
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    // CHECK: relax.output %x, %[[EXP]] : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
    relax.output %x, %1 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  }
  // An empty block, with attributes.
  // CHECK: relax.dataflow attributes {relax.note} {
  relax.dataflow attributes {relax.note} {
    // CHECK: relax.output{{$}}
    relax.output
  }
  // CHECK: relax.tuple %0#0, %0#1 : !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>
  %2 = relax.tuple %0#0, %0#1 : !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>
  relax.return %2 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>>
}

// GR15: the condition is a Boolean scalar, or an object that may turn out to be one.
// CHECK-LABEL: relax.func @gr15_if
relax.func @gr15_if(%c: !relax.tensor<[], i1>, %p: !relax.tensor<ndim = 0>, %o: !relax.object, %x: !relax.object) -> !relax.object {
  // CHECK: relax.if %c : !relax.tensor<[], i1> -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    // CHECK: relax.yield %x : !relax.object
    relax.yield %x : !relax.object
  } else {
    // CHECK: relax.yield %o : !relax.object
    relax.yield %o : !relax.object
  }
  // CHECK: relax.if %p : !relax.tensor<ndim = 0> -> !relax.object {
  %1 = relax.if %p : !relax.tensor<ndim = 0> -> !relax.object {
    // CHECK: relax.yield %x : !relax.object
    relax.yield %x : !relax.object
  } else {
    // CHECK: relax.yield %o : !relax.object
    relax.yield %o : !relax.object
  }
  // CHECK: relax.if %o : !relax.object -> !relax.object attributes {relax.note} {
  %2 = relax.if %o : !relax.object -> !relax.object attributes {relax.note} {
    // CHECK: relax.yield %x : !relax.object
    relax.yield %x : !relax.object
  } else {
    // CHECK: relax.yield %o : !relax.object
    relax.yield %o : !relax.object
  }
  relax.return %2 : !relax.object
}

// DR06: branches of different types meet in the declared result.
// CHECK-LABEL: relax.func @dr06_branches
relax.func @dr06_branches(%c: !relax.tensor<*>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<ndim = 1, f32> {
  // CHECK: relax.if %c : !relax.tensor<*> -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.if %c : !relax.tensor<*> -> !relax.tensor<ndim = 1, f32> {
    // CHECK: relax.yield %x : !relax.tensor<[n], f32>
    relax.yield %x : !relax.tensor<[n], f32>
  } else {
    // CHECK: relax.yield %y : !relax.tensor<[m], f32>
    relax.yield %y : !relax.tensor<[m], f32>
  }
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// A cast to each kind of structural information; `k` and `l` are bound by the first.
// CHECK-LABEL: relax.func @mc_match_cast
relax.func @mc_match_cast(%o: !relax.object, %x: !relax.tensor<*>) -> !relax.object {
  // MC02: of a tensor.
  // CHECK: relax.match_cast %x : !relax.tensor<*> -> !relax.tensor<[k, l], f32>
  %0 = relax.match_cast %x : !relax.tensor<*> -> !relax.tensor<[k, l], f32>
  // MC01: to an object.
  // CHECK: relax.match_cast %x : !relax.tensor<*> -> !relax.object
  %1 = relax.match_cast %x : !relax.tensor<*> -> !relax.object
  // MC03: to a primitive value, of a known value.
  // CHECK: relax.match_cast %o : !relax.object -> !relax.prim<i64, k * l>
  %2 = relax.match_cast %o : !relax.object -> !relax.prim<i64, k * l>
  // MC04: to a shape.
  // CHECK: relax.match_cast %o : !relax.object -> !relax.shape<[p, k]>
  %3 = relax.match_cast %o : !relax.object -> !relax.shape<[p, k]>
  // MC05: to a tuple.
  // CHECK: relax.match_cast %o : !relax.object -> !relax.tuple<!relax.tensor<[k * p], f32>, !relax.object>
  %4 = relax.match_cast %o : !relax.object -> !relax.tuple<!relax.tensor<[k * p], f32>, !relax.object>
  // MC06: to a function.
  // CHECK: relax.match_cast %o : !relax.object -> !relax.func<(!relax.object) -> !relax.object, pure>
  %5 = relax.match_cast %o : !relax.object -> !relax.func<(!relax.object) -> !relax.object, pure>
  // MC09: a cast whose result is not used.
  // CHECK: relax.match_cast %o : !relax.object -> !relax.prim<i64, q>
  %6 = relax.match_cast %o : !relax.object -> !relax.prim<i64, q>
  // WF05: `p` and `q` stood alone above, so they are bound here.
  // CHECK: relax.shape <[p + q, l]>
  %7 = relax.shape <[p + q, l]>
  relax.return %7 : !relax.shape<[p + q, l]>
}

// A variable bound in a branch leaves scope with it, so it may be bound twice.
// CHECK-LABEL: relax.func @sc03_branch_scope
relax.func @sc03_branch_scope(%c: !relax.tensor<[], i1>, %x: !relax.tensor<*, f32>) -> !relax.tensor<ndim = 1, f32> {
  // CHECK: relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
    // CHECK: relax.match_cast %x : !relax.tensor<*, f32> -> !relax.tensor<[k], f32>
    %1 = relax.match_cast %x : !relax.tensor<*, f32> -> !relax.tensor<[k], f32>
    // CHECK: relax.yield %1 : !relax.tensor<[k], f32>
    relax.yield %1 : !relax.tensor<[k], f32>
  } else {
    // CHECK: relax.match_cast %x : !relax.tensor<*, f32> -> !relax.tensor<[k], f32>
    %2 = relax.match_cast %x : !relax.tensor<*, f32> -> !relax.tensor<[k], f32>
    // CHECK: relax.yield
    relax.yield %2 : !relax.tensor<[k], f32>
  }
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// A variable bound in a dataflow block stays bound behind it.
// CHECK-LABEL: relax.func @gr17_dataflow_scope
relax.func @gr17_dataflow_scope(%x: !relax.tensor<*, f32>) -> !relax.object {
  // CHECK: relax.dataflow -> !relax.tensor<[k], f32> {
  %0 = relax.dataflow -> !relax.tensor<[k], f32> {
    // CHECK: relax.match_cast %x : !relax.tensor<*, f32> -> !relax.tensor<[k], f32>
    %1 = relax.match_cast %x : !relax.tensor<*, f32> -> !relax.tensor<[k], f32>
    // CHECK: relax.output
    relax.output %1 : !relax.tensor<[k], f32>
  }
  // CHECK: relax.shape <[k + 1]>
  %2 = relax.shape <[k + 1]>
  relax.return %2 : !relax.shape<[k + 1]>
}

// CHECK-LABEL: relax.func @gr09_constants
relax.func @gr09_constants() -> !relax.object {
  // CHECK: relax.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = relax.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  // A splat, a scalar, an empty tensor, and unsigned, Boolean and 8-bit elements.
  // CHECK: relax.constant dense<1.500000e+00> : tensor<2x3xf16>
  %1 = relax.constant dense<1.500000e+00> : tensor<2x3xf16>
  // CHECK: relax.constant dense<true> : tensor<i1>
  %2 = relax.constant dense<true> : tensor<i1>
  // CHECK: relax.constant dense<> : tensor<0x2xi64>
  %3 = relax.constant dense<> : tensor<0x2xi64>
  // CHECK: relax.constant dense<255> : tensor<2xui8>
  %4 = relax.constant dense<255> : tensor<2xui8>
  // CHECK: relax.constant dense<1.000000e+00> : tensor<2xf8E4M3FN>
  %5 = relax.constant dense<1.000000e+00> : tensor<2xf8E4M3FN>
  // CHECK: relax.constant dense_resource<weights> : tensor<2xf32>
  %6 = relax.constant dense_resource<weights> : tensor<2xf32>
  relax.return %0 : !relax.tensor<[2], f32>
}

// CHECK-LABEL: relax.func @gr11_literals
relax.func @gr11_literals(%s: !relax.shape<[n]>) -> !relax.object {
  // CHECK: relax.prim_value 3 : i64
  %0 = relax.prim_value 3 : i64
  // CHECK: relax.prim_value -3 : i8
  %1 = relax.prim_value -3 : i8
  // CHECK: relax.prim_value 2.500000e+00 : f32
  %2 = relax.prim_value 2.500000e+00 : f32
  // CHECK: relax.prim_value 2.500000e+00 : f64
  %3 = relax.prim_value 2.500000e+00 : f64
  // CHECK: relax.prim_value 2.500000e+00 : f16
  %f16 = relax.prim_value 2.500000e+00 : f16
  // CHECK: relax.prim_value 2.500000e+00 : bf16
  %bf16 = relax.prim_value 2.500000e+00 : bf16
  // CHECK: relax.prim_value true
  %4 = relax.prim_value true
  // CHECK: relax.prim_value #relax.expr<n + 1>
  %5 = relax.prim_value #relax.expr<n + 1>
  // CHECK: relax.string "a \22quoted\22 word"
  %6 = relax.string "a \22quoted\22 word"
  // CHECK: relax.dtype f32
  %7 = relax.dtype f32
  // CHECK: relax.null_value
  %8 = relax.null_value
  relax.return %8 : !relax.object
}

// CHECK-LABEL: relax.func @gr12_shapes
relax.func @gr12_shapes(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // CHECK: relax.shape <[n, m * 4]>
  %0 = relax.shape <[n, m * 4]>
  // CHECK: relax.shape <[]>
  %1 = relax.shape <[]>
  // OP07: what is not known of the tensor is not known of its shape.
  // CHECK: relax.shape_of %x : !relax.tensor<[n, m], f32>
  %2 = relax.shape_of %x : !relax.tensor<[n, m], f32>
  relax.return %2 : !relax.shape<[n, m]>
}

// CHECK-LABEL: relax.func @gr10_tuples
relax.func @gr10_tuples(%x: !relax.object, %s: !relax.shape<[n]>) -> !relax.shape<[n]> {
  // CHECK: %[[TUPLE:.*]] = relax.tuple %x, %s : !relax.object, !relax.shape<[n]>
  %0 = relax.tuple %x, %s : !relax.object, !relax.shape<[n]>
  // CHECK: %[[NESTED:.*]] = relax.tuple %[[TUPLE]] : !relax.tuple<!relax.object, !relax.shape<[n]>>
  %1 = relax.tuple %0 : !relax.tuple<!relax.object, !relax.shape<[n]>>
  // CHECK: relax.tuple()
  %2 = relax.tuple()
  // DR04: the type of a field.
  // CHECK: %[[FIELD:.*]] = relax.get_item %[[NESTED]][0] : !relax.tuple<!relax.tuple<!relax.object, !relax.shape<[n]>>>
  %3 = relax.get_item %1[0] : !relax.tuple<!relax.tuple<!relax.object, !relax.shape<[n]>>>
  // CHECK: relax.get_item %[[FIELD]][1] : !relax.tuple<!relax.object, !relax.shape<[n]>>
  %4 = relax.get_item %3[1] : !relax.tuple<!relax.object, !relax.shape<[n]>>
  relax.return %4 : !relax.shape<[n]>
}

// CHECK: weights: "0x040000000000803F00000040"
{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
