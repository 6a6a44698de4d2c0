// RUN: relax-opt %s -relax-derive-struct-info | FileCheck %s
// A second run changes nothing.
// RUN: relax-opt %s -relax-derive-struct-info -o %t.once
// RUN: relax-opt %t.once -relax-derive-struct-info -o %t.twice
// RUN: diff %t.once %t.twice

// What a declared type leaves open follows from the rules: each function declares
// `!relax.object` or an unknown shape somewhere.

// DR01: callees come first, whatever their order in the module.
// CHECK-LABEL: relax.func @DR01_caller
// CHECK-SAME: -> !relax.tensor<[k * 2], f32> {
// CHECK: relax.call @DR01_callee(%x) : (!relax.tensor<[k, 2], f32>) -> !relax.tensor<[k * 2], f32>
relax.func @DR01_caller(%x: !relax.tensor<[k, 2], f32>) -> !relax.object attributes {derive_result} {
  %0 = relax.call @DR01_callee(%x) : (!relax.tensor<[k, 2], f32>) -> !relax.object
  relax.return %0 : !relax.object
}
// DR13: the result is derived; what only the body knows is erased from it below.
// CHECK-LABEL: relax.func @DR01_callee
// CHECK-SAME: -> !relax.tensor<[m * n], f32> {
relax.func @DR01_callee(%x: !relax.tensor<[n, m], f32>) -> !relax.object attributes {derive_result} {
  %0 = relax.flatten %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// DR01: functions that call each other are known by what they declare.
// CHECK-LABEL: relax.func @DR01_even
// CHECK: relax.call @DR01_odd(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1>
relax.func @DR01_even(%x: !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1> {
  %0 = relax.call @DR01_odd(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %1 = relax.match_cast %0 : !relax.object -> !relax.tensor<ndim = 1>
  relax.return %1 : !relax.tensor<ndim = 1>
}
// CHECK-LABEL: relax.func @DR01_odd
// CHECK: relax.call @DR01_even(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1>
relax.func @DR01_odd(%x: !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1> {
  %0 = relax.call @DR01_even(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<*>
  %1 = relax.match_cast %0 : !relax.tensor<*> -> !relax.tensor<ndim = 1>
  relax.return %1 : !relax.tensor<ndim = 1>
}

// Leaves, and what is made of them.
// CHECK-LABEL: relax.func @DR02_DR03_DR04_DR05
relax.func @DR02_DR03_DR04_DR05(%n: !relax.prim<i64, n>) -> !relax.object attributes {derive_result} {
  // DR02
  %0 = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // DR03
  %1 = relax.prim_value #relax.expr<n + 1>
  %2 = relax.string "text"
  %3 = relax.dtype f32
  // DR05
  %4 = relax.shape <[n, 4]>
  // DR04: the fields of a tuple, and one of them.
  // CHECK: relax.tuple %{{.*}} : !relax.tensor<[2], f32>, !relax.prim<i64, n + 1>, !relax.object, !relax.object, !relax.shape<[n, 4]>
  %5 = relax.tuple %0, %1, %2, %3, %4 : !relax.tensor<[2], f32>, !relax.prim<i64, n + 1>, !relax.object, !relax.object, !relax.shape<[n, 4]>
  %6 = relax.get_item %5[4] : !relax.tuple<!relax.tensor<[2], f32>, !relax.prim<i64, n + 1>, !relax.object, !relax.object, !relax.shape<[n, 4]>>
  // CHECK: relax.return %{{.*}} : !relax.shape<[n, 4]>
  relax.return %6 : !relax.shape<[n, 4]>
}

// DR04: the tuple comes out of a block that declares less of it.
// CHECK-LABEL: relax.func @DR04_through_a_block
// CHECK: relax.dataflow -> !relax.tuple<!relax.tensor<[n], f32>> {
// CHECK: relax.get_item %{{.*}}[0] : !relax.tuple<!relax.tensor<[n], f32>>
// CHECK: relax.return %{{.*}} : !relax.tensor<[n], f32>
relax.func @DR04_through_a_block(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.tuple<!relax.tensor<*>> {
    %1 = relax.tuple %x : !relax.tensor<[n], f32>
    relax.output %1 : !relax.tuple<!relax.tensor<[n], f32>>
  }
  %2 = relax.get_item %0[0] : !relax.tuple<!relax.tensor<*>>
  relax.return %2 : !relax.tensor<*>
}

// DR06: the least upper bound of both branches, of what is in scope behind them.
// CHECK-LABEL: relax.func @DR06_if
// CHECK: relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
// CHECK: relax.return %{{.*}} : !relax.tensor<ndim = 1, f32>
relax.func @DR06_if(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    relax.yield %x : !relax.tensor<[n], f32>
  } else {
    relax.yield %y : !relax.tensor<[m], f32>
  }
  relax.return %0 : !relax.object
}

// DR07: a sequence keeps its variables for itself.
// CHECK-LABEL: relax.func @DR07_seq
// CHECK: relax.seq -> !relax.tuple<!relax.tensor<ndim = 1, f32>, !relax.tensor<[n], f32>> {
relax.func @DR07_seq(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.seq -> !relax.object {
    %1 = relax.match_cast %y : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
    %2 = relax.tuple %1, %x : !relax.tensor<[m], f32>, !relax.tensor<[n], f32>
    relax.yield %2 : !relax.tuple<!relax.tensor<[m], f32>, !relax.tensor<[n], f32>>
  }
  relax.return %0 : !relax.object
}

// DR08: a function literal may be known by its annotation, in its own body too.
// CHECK-LABEL: relax.func @DR08_literal
// CHECK: %[[F:.*]] = relax.closure rec %self
// CHECK: relax.call %self : {{.*}} -> !relax.tensor<ndim = 1, f32>
// CHECK: relax.call %[[F]] : {{.*}} -> !relax.tensor<ndim = 1, f32>
relax.func @DR08_literal(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %f = relax.closure rec %self (%a: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
    %r = relax.call %self : !relax.func<(!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>, pure> (%a) : (!relax.tensor<ndim = 1, f32>) -> !relax.object
    %s = relax.match_cast %r : !relax.object -> !relax.tensor<ndim = 1, f32>
    relax.return %s : !relax.tensor<ndim = 1, f32>
  }
  %0 = relax.call %f : !relax.func<(!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>, pure> (%x) : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %0 : !relax.object
}

// DR08, DR13: the result of a literal follows from its body where it says so.
// What it captures is in scope where it is called.
// CHECK-LABEL: relax.func @DR13_literal
// CHECK: relax.closure () -> !relax.tensor<[n], f32> {
// CHECK: relax.call %{{.*}} : !relax.func<() -> !relax.tensor<[n], f32>, pure>() : () -> !relax.tensor<[n], f32>
relax.func @DR13_literal(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %f = relax.closure () -> !relax.object attributes {derive_result} {
    relax.return %x : !relax.tensor<[n], f32>
  }
  %0 = relax.call %f : !relax.func<() -> !relax.object, pure> () : () -> !relax.object
  relax.return %0 : !relax.object
}

// DR09: a cast keeps its type, and gives it to what follows.
// CHECK-LABEL: relax.func @DR09_match_cast
// CHECK: relax.exp %{{.*}} : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
relax.func @DR09_match_cast(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
  %1 = relax.exp %0 : (!relax.tensor<[m], f32>) -> !relax.tensor<*>
  relax.return %1 : !relax.tensor<*>
}

// DR10: no sinfo_args, one, and several.
// CHECK-LABEL: relax.func impure @DR10_packed
relax.func @DR10_packed(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  %f = relax.extern_func "f"
  // CHECK: relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %0 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  // CHECK: relax.call_packed "f"(%x) {{.*}} -> !relax.tensor<[n], f32>
  %1 = relax.call_packed "f"(%x) {sinfo_args = [!relax.tensor<[n], f32>]} : (!relax.tensor<[n], f32>) -> !relax.object
  // CHECK: relax.call_packed "f"(%x) {{.*}} -> !relax.tuple<!relax.tensor<[n], f32>, !relax.prim<i64>>
  %2 = relax.call_packed "f"(%x) {sinfo_args = [!relax.tensor<[n], f32>, !relax.prim<i64>]} : (!relax.tensor<[n], f32>) -> !relax.object
  // CHECK: relax.call %{{.*}} {sinfo_args = [!relax.shape<ndim = 2>]} : (!relax.tensor<[n], f32>) -> !relax.shape<ndim = 2>
  %3 = relax.call %f : !relax.func<derive = @default_derive> (%x) {sinfo_args = [!relax.shape<ndim = 2>]} : (!relax.tensor<[n], f32>) -> !relax.object
  // CHECK: relax.call_pure_packed "f"(%x) {{.*}} -> !relax.prim<i64>
  %4 = relax.call_pure_packed "f"(%x) {sinfo_args = [!relax.prim<i64>]} : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %4 : !relax.object
}

// DR11: each operator derives from what its operands turned out to be.
// CHECK-LABEL: relax.func @DR11_operators
// CHECK: relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
// CHECK: relax.sum %{{.*}} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
// CHECK: relax.return %{{.*}} : !relax.tensor<[n], f32>
relax.func @DR11_operators(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<*>
  %1 = relax.sum %0 {axis = array<i64: 1>} : (!relax.tensor<*>) -> !relax.tensor<*>
  relax.return %1 : !relax.tensor<*>
}

// DR12: variables of the callee stand for the dimensions of the arguments; what
// no argument says is erased.
// CHECK-LABEL: relax.func @DR12_call
relax.func private @DR12_callee(%x: !relax.tensor<[n], f32>, %s: !relax.shape<[m]>) -> !relax.tensor<[n + m], f32>
relax.func @DR12_call(%x: !relax.tensor<[k * 2], f32>, %s: !relax.shape<[k]>, %t: !relax.shape<ndim = 1>) -> !relax.object {
  // CHECK: relax.call @DR12_callee(%x, %s) : {{.*}} -> !relax.tensor<[k * 3], f32>
  %0 = relax.call @DR12_callee(%x, %s) : (!relax.tensor<[k * 2], f32>, !relax.shape<[k]>) -> !relax.object
  relax.return %0 : !relax.object
}

// DR13: only what the caller knows leaves a function.
// CHECK-LABEL: relax.func @DR13_erased
// CHECK-SAME: -> !relax.tuple<!relax.tensor<ndim = 1, f32>, !relax.tensor<[n], f32>> {
relax.func @DR13_erased(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object attributes {derive_result} {
  %0 = relax.match_cast %y : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
  %1 = relax.tuple %0, %x : !relax.tensor<[m], f32>, !relax.tensor<[n], f32>
  relax.return %1 : !relax.tuple<!relax.tensor<[m], f32>, !relax.tensor<[n], f32>>
}

// DR13: a declared result stays, though more is known.
// CHECK-LABEL: relax.func @DR13_declared
// CHECK-SAME: -> !relax.tensor<*, f32> {
relax.func @DR13_declared(%x: !relax.tensor<[n], f32>) -> !relax.tensor<*, f32> {
  relax.return %x : !relax.tensor<[n], f32>
}

// DR14: a kernel as a value takes tensors and primitive values, is impure and
// gives an empty tuple.
func.func private @kernel(%x: memref<2x4xf32>, %n: i64, %y: memref<?xf32>) { return }
// CHECK-LABEL: relax.func impure @DR14_kernel
// CHECK: relax.global_var @kernel : !relax.func<(!relax.tensor<[2, 4], f32>, !relax.prim<i64>, !relax.tensor<ndim = 1, f32>) -> !relax.tuple<>, impure>
// CHECK: relax.call @kernel(%x, %n, %y) : {{.*}} -> !relax.tuple<>
relax.func @DR14_kernel(%x: !relax.tensor<[2, 4], f32>, %n: !relax.prim<i64>, %y: !relax.tensor<[m], f32>) -> !relax.object attributes {is_pure = false} {
  %f = relax.global_var @kernel : !relax.func<(!relax.tensor<[2, 4], f32>, !relax.prim<i64>, !relax.tensor<ndim = 1, f32>) -> !relax.object, impure>
  %0 = relax.call @kernel(%x, %n, %y) : (!relax.tensor<[2, 4], f32>, !relax.prim<i64>, !relax.tensor<[m], f32>) -> !relax.object
  relax.return %f : !relax.func<(!relax.tensor<[2, 4], f32>, !relax.prim<i64>, !relax.tensor<ndim = 1, f32>) -> !relax.object, impure>
}

// DR15: the purity of a function is part of its type.
// CHECK-LABEL: relax.func @DR15_purity
// CHECK: relax.global_var @DR13_declared : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<*, f32>, pure>
relax.func @DR15_purity() -> !relax.object {
  %f = relax.global_var @DR13_declared : !relax.func<(!relax.tensor<[n], f32>) -> !relax.object, impure>
  relax.return %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.object, impure>
}
