// RUN: relax-opt %s -relax-lambda-lift -split-input-file | FileCheck %s

// SE03: a closure that is passed on. Shape variables come first, as one shape, then the values.
// CHECK-LABEL: relax.func @values
// CHECK: %[[S:.*]] = relax.shape <[n]>
// CHECK: %[[F:.*]] = relax.builtin.make_closure @values.lambda(%[[S]], %x) of !relax.func<(!relax.tensor<[m], f32>) -> !relax.shape<[n, m]>, pure> where ["n"]() : (!relax.shape<[n]>, !relax.tensor<[n], f32>)
// CHECK: relax.return %[[F]]
// CHECK: relax.func private @values.lambda(%{{.*}}: !relax.shape<[n]>, %[[X:.*]]: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.shape<[n, m]> attributes {relax.captures = 2 : i64}
// CHECK: relax.add %[[X]], %[[X]]
// CHECK: relax.shape <[n, m]>
relax.func @values(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %f = relax.closure (%y: !relax.tensor<[m], f32>) -> !relax.shape<[n, m]> {
    %0 = relax.add %x, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %s = relax.shape <[n, m]>
    relax.return %s : !relax.shape<[n, m]>
  }
  relax.return %f : !relax.func<(!relax.tensor<[m], f32>) -> !relax.shape<[n, m]>, pure>
}

// -----

// The name is that of the value in the source; attributes stay. Two of one name are told apart.
// CHECK-LABEL: relax.func @names
// CHECK: make_closure @names.f()
// CHECK: make_closure @names.f1()
// CHECK-DAG: relax.func private @names.f() -> !relax.shape<[1]> attributes {my.attr = 1 : i64, relax.captures = 0 : i64, relax.force_pure = true}
// CHECK-DAG: relax.func private impure @names.f1() -> !relax.shape<[1]> attributes {relax.captures = 0 : i64}
relax.func @names() -> !relax.object {
  %f = relax.closure () -> !relax.shape<[1]> attributes {relax.force_pure = true, my.attr = 1 : i64} {
    %s = relax.shape <[1]>
    relax.return %s : !relax.shape<[1]>
  } loc("f")
  %g = relax.closure impure () -> !relax.shape<[1]> {
    %s = relax.shape <[1]>
    relax.return %s : !relax.shape<[1]>
  } loc("f")
  %t = relax.tuple %f, %g : !relax.func<() -> !relax.shape<[1]>, pure>, !relax.func<() -> !relax.shape<[1]>, impure>
  relax.return %t : !relax.tuple<!relax.func<() -> !relax.shape<[1]>, pure>, !relax.func<() -> !relax.shape<[1]>, impure>>
}

// -----

// SC02: calls of a closure that is known pass the captured values and need no closure.
// CHECK-LABEL: relax.func impure @direct
// CHECK-NOT: make_closure
// CHECK: relax.call @direct.f(%x, %x)
// CHECK: relax.func private impure @direct.f(%[[X:.*]]: !relax.object, %i: !relax.object)
// CHECK-NOT: make_closure
// CHECK: relax.call @direct.f(%[[X]], %i)
relax.func @direct(%x: !relax.object) -> !relax.object attributes {is_pure = false} {
  %f = relax.closure impure rec %self (%i: !relax.object) -> !relax.object {
    %0 = relax.call %self : !relax.func<(!relax.object) -> !relax.object, impure> (%i) : (!relax.object) -> !relax.object
    %1 = relax.tuple %0, %x : !relax.object, !relax.object
    relax.return %1 : !relax.tuple<!relax.object, !relax.object>
  } loc("f")
  %0 = relax.call %f : !relax.func<(!relax.object) -> !relax.object, impure> (%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// A nested closure that calls the one around it, and another one, captures what they captured.
// CHECK-LABEL: relax.func impure @nested
// CHECK: relax.builtin.make_closure @nested.outer(%x)
// CHECK: relax.func private impure @nested.outer(%[[X:.*]]: !relax.object)
// CHECK: relax.builtin.make_closure @nested.outer.inner(%[[X]])
// CHECK: relax.func private impure @nested.outer.inner(%[[Y:.*]]: !relax.object)
// CHECK: relax.call @nested.outer(%[[Y]])
// CHECK: relax.call @nested.one(%[[Y]])
// CHECK: relax.func private impure @nested.one(
relax.func @nested(%x: !relax.object) -> !relax.object attributes {is_pure = false} {
  %one = relax.closure impure () -> !relax.object {
    relax.return %x : !relax.object
  } loc("one")
  %f = relax.closure impure rec %self () -> !relax.object {
    %g = relax.closure impure () -> !relax.object {
      %0 = relax.call %self : !relax.func<() -> !relax.object, impure> () : () -> !relax.object
      %1 = relax.call %one : !relax.func<() -> !relax.object, impure> () : () -> !relax.object
      relax.return %1 : !relax.object
    } loc("inner")
    relax.return %g : !relax.func<() -> !relax.object, impure>
  } loc("outer")
  relax.return %f : !relax.func<() -> !relax.object, impure>
}

// -----

// Used as a value in its own body, the closure is made of the same captured values.
// CHECK-LABEL: relax.func private @self.f(
// CHECK-SAME: %[[X:.*]]: !relax.object) -> !relax.object
// CHECK: %[[F:.*]] = relax.builtin.make_closure @self.f(%[[X]])
// CHECK: relax.tuple %[[F]], %[[X]]
relax.func @self(%x: !relax.object) -> !relax.object {
  %f = relax.closure rec %self () -> !relax.object {
    %0 = relax.tuple %self, %x : !relax.func<() -> !relax.object, pure>, !relax.object
    relax.return %0 : !relax.tuple<!relax.func<() -> !relax.object, pure>, !relax.object>
  } loc("f")
  relax.return %f : !relax.func<() -> !relax.object, pure>
}

// -----

// A call that finds another name for what was captured: the callee checks that they are equal.
// CHECK-LABEL: relax.func @renamed
// CHECK: %[[R:.*]] = relax.call @renamed.lambda(%{{.*}}, %y) : (!relax.shape<[n]>, !relax.tensor<[m], f32>) -> !relax.tensor<[n], f32>
// CHECK: relax.builtin.cast %[[R]] : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
relax.func @renamed(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %f = relax.closure (%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    relax.return %a : !relax.tensor<[n], f32>
  }
  %0 = relax.call %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%y) : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
  relax.return %0 : !relax.tensor<[m], f32>
}

// -----

// SE07: functions of the module as values; a call of one is direct. What they say of themselves are
// their own variables, not those of the scope.
// CHECK-LABEL: relax.func @global_var
// CHECK: relax.builtin.make_closure @id() of !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> where []()
// CHECK: relax.call @id(%x)
relax.func @global_var(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %f = relax.global_var @id : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
  %0 = relax.call %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
}
relax.func @id(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// SE07, GR02: a kernel gets one function around it, which checks its arguments.
// CHECK-LABEL: func.func private @k(
// CHECK: relax.func private impure @k.closure(%[[A:.*]]: !relax.tensor<ndim = 1, f32>, %[[B:.*]]: !relax.prim<i64>) -> !relax.tuple<> {
// CHECK: relax.call @k(%[[A]], %[[B]])
// CHECK: relax.func impure @main
// CHECK: relax.call @k.closure(%x, %i)
// CHECK: relax.builtin.make_closure @k.closure()
// CHECK: relax.builtin.make_closure @k.closure() of !relax.func<derive = @default_derive> where []()
// CHECK: %[[P:.*]] = relax.builtin.make_closure @k.closure() of !relax.func<derive = @default_derive>
// CHECK: relax.call %[[P]] : !relax.func<derive = @default_derive>(%x, %i)
// CHECK: relax.call_packed "other"(%x)
func.func private @k(%x: memref<?xf32>, %i: i64) attributes {global_symbol = "k"} { return }
relax.func @main(%x: !relax.tensor<[n], f32>, %i: !relax.prim<i64>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.call @k(%x, %i) : (!relax.tensor<[n], f32>, !relax.prim<i64>) -> !relax.tuple<>
  %f = relax.global_var @k : !relax.func<(!relax.tensor<ndim = 1, f32>, !relax.prim<i64>) -> !relax.tuple<>, impure>
  %g = relax.extern_func "k"
  %1 = relax.call_packed "k"(%x, %i) : (!relax.tensor<[n], f32>, !relax.prim<i64>) -> !relax.object
  %2 = relax.call_packed "other"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %t = relax.tuple %f, %g : !relax.func<(!relax.tensor<ndim = 1, f32>, !relax.prim<i64>) -> !relax.tuple<>, impure>, !relax.func<derive = @default_derive>
  relax.return %t : !relax.tuple<!relax.func<(!relax.tensor<ndim = 1, f32>, !relax.prim<i64>) -> !relax.tuple<>, impure>, !relax.func<derive = @default_derive>>
}
