// RUN: %roundtrip

// Printing and assertions.

// CHECK-LABEL: relax.func impure @print
relax.func impure @print(%x: !relax.tensor<[n], f32>, %o: !relax.object) -> !relax.tuple<> {
  // CHECK: relax.print "{} and {}"(%x, %o) : (!relax.tensor<[n], f32>, !relax.object) -> !relax.tuple<>
  %0 = relax.print "{} and {}"(%x, %o) : (!relax.tensor<[n], f32>, !relax.object) -> !relax.tuple<>
  // CHECK: relax.print "here"() : () -> !relax.tuple<>
  %1 = relax.print "here"() : () -> !relax.tuple<>
  relax.return %1 : !relax.tuple<>
}

// CHECK-LABEL: relax.func impure @assert_op
relax.func impure @assert_op(%p: !relax.prim<i1>, %t: !relax.tensor<[], i1>, %u: !relax.tensor<*>) -> !relax.tuple<> {
  // CHECK: relax.assert_op %p, "p: {}"(%p) : !relax.prim<i1>, (!relax.prim<i1>) -> !relax.tuple<>
  %0 = relax.assert_op %p, "p: {}"(%p) : !relax.prim<i1>, (!relax.prim<i1>) -> !relax.tuple<>
  // CHECK: relax.assert_op %t, ""() : !relax.tensor<[], i1>, () -> !relax.tuple<>
  %1 = relax.assert_op %t, ""() : !relax.tensor<[], i1>, () -> !relax.tuple<>
  // What is not known is checked at run time.
  // CHECK: relax.assert_op %u, ""() : !relax.tensor<*>, () -> !relax.tuple<>
  %2 = relax.assert_op %u, ""() : !relax.tensor<*>, () -> !relax.tuple<>
  relax.return %2 : !relax.tuple<>
}
