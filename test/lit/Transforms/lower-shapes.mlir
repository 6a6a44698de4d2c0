// RUN: relax-opt %s -relax-lower-shapes -cse | FileCheck %s

// MC08: dimensions that bind come first, in any order of the arguments; n * m is
// checked when n and m are known.
// CHECK-LABEL: relax.func @MC08_signature
// CHECK: relax.builtin.check %y is !relax.tensor<ndim = 2, f32> as "argument 'y'" expecting "!relax.tensor<[n, m], f32>"
// CHECK-DAG: %[[N:.*]] = relax.builtin.dim %y[0]
// CHECK-DAG: %[[M:.*]] = relax.builtin.dim %y[1]
// CHECK: relax.builtin.check %x is !relax.tensor<ndim = 1, f32> as "argument 'x'" expecting "!relax.tensor<[m * n], f32>"
// CHECK: %[[X:.*]] = relax.builtin.dim %x[0]
// CHECK: %[[NM:.*]] = arith.muli %[[M]], %[[N]]
// CHECK: relax.builtin.check_dim %[[X]] equals %[[NM]] at 0 of "argument 'x'" expecting "!relax.tensor<[m * n], f32>" where "m * n"
relax.func @MC08_signature(%x: !relax.tensor<[n * m], f32>, %y: !relax.tensor<[n, m], f32>) -> !relax.object {
  relax.return %x : !relax.tensor<[n * m], f32>
}

// MC02: a cast checks what is bound and binds what is new.
// CHECK-LABEL: relax.func @MC02_cast
// CHECK: %[[K:.*]] = relax.builtin.dim %x[0]
// CHECK: relax.builtin.check %w is !relax.tensor<ndim = 2, f32> as "match_cast"
// CHECK: %[[T:.*]] = relax.builtin.cast %w : !relax.object -> !relax.tensor<ndim = 2, f32>
// CHECK: %[[W0:.*]] = relax.builtin.dim %[[T]][0]
// CHECK: relax.builtin.check_dim %[[W0]] equals %[[K]] at 0
// CHECK: %[[M:.*]] = relax.builtin.dim %[[T]][1]
// CHECK: relax.builtin.make_shape(%[[M]])
relax.func @MC02_cast(%x: !relax.tensor<[k], f32>, %w: !relax.object) -> !relax.object {
  %0 = relax.match_cast %w : !relax.object -> !relax.tensor<[k, m], f32>
  %1 = relax.shape <[m]>
  relax.return %1 : !relax.shape<[m]>
}

// A value of another kind goes on under the type that was checked.
// CHECK-LABEL: relax.func @cast_object
// CHECK: relax.builtin.check %x is !relax.tensor<ndim = 1, f32>
// CHECK: %[[X:.*]] = relax.builtin.cast %x : !relax.object -> !relax.tensor<ndim = 1, f32>
// CHECK: relax.shape_of %[[X]]
relax.func @cast_object(%x: !relax.object) -> !relax.object {
  %0 = relax.match_cast %x : !relax.object -> !relax.tensor<[k], f32>
  %1 = relax.shape_of %0 : !relax.tensor<[k], f32>
  relax.return %1 : !relax.shape<[k]>
}

// MC01: anything is an object; a cast to a supertype needs no check either.
// CHECK-LABEL: relax.func @MC01_upcast
// CHECK: relax.builtin.check %x
// CHECK-NOT: relax.builtin.check
// CHECK: relax.return
relax.func @MC01_upcast(%x: !relax.tensor<[k], f32>) -> !relax.object {
  %0 = relax.match_cast %x : !relax.tensor<[k], f32> -> !relax.object
  %1 = relax.match_cast %x : !relax.tensor<[k], f32> -> !relax.tensor<*, f32>
  relax.return %0 : !relax.object
}

// MC03, MC04, MC05: primitive values and shapes in a tuple, recursively.
// CHECK-LABEL: relax.func @MC05_tuple
// CHECK: relax.builtin.check %t is !relax.tuple<!relax.prim<i64>, !relax.shape<ndim = 2>>
// CHECK: %[[P:.*]] = relax.get_item %t[0]
// CHECK: relax.builtin.check %[[P]] is !relax.prim<i64> as "field 0 of argument 't'"
// CHECK: %[[S:.*]] = relax.get_item %t[1]
// CHECK: relax.builtin.check %[[S]] is !relax.shape<ndim = 2> as "field 1 of argument 't'"
// CHECK: %[[N:.*]] = relax.builtin.dim %[[P]][0]
// CHECK: %[[S0:.*]] = relax.builtin.dim %[[S]][0]
// CHECK: %[[C1:.*]] = arith.constant 1
// CHECK: %[[N1:.*]] = arith.addi %[[N]], %[[C1]]
// CHECK: relax.builtin.check_dim %[[S0]] equals %[[N1]]
// CHECK: %[[S1:.*]] = relax.builtin.dim %[[S]][1]
// CHECK: %[[C4:.*]] = arith.constant 4
// CHECK: relax.builtin.check_dim %[[S1]] equals %[[C4]]
relax.func @MC05_tuple(%t: !relax.tuple<!relax.prim<i64, n>, !relax.shape<[n + 1, 4]>>) -> !relax.object {
  relax.return %t : !relax.tuple<!relax.prim<i64, n>, !relax.shape<[n + 1, 4]>>
}

// RF08: what binds a variable is not negative, but a tensor, which has no such
// dimension, and a number that no size depends on.
// CHECK-LABEL: relax.func @not_negative
// CHECK: %[[K:.*]] = relax.builtin.dim %x[0]
// CHECK-NEXT: relax.builtin.check %s
// CHECK-NEXT: %[[M:.*]] = relax.builtin.dim %s[0]
// CHECK-NEXT: relax.builtin.check_not_negative %[[M]] of "dimension 0 of argument 's'" where "m"
// CHECK-NEXT: relax.builtin.check %n
// CHECK-NEXT: %[[N:.*]] = relax.builtin.dim %n[0]
// CHECK-NEXT: relax.builtin.check_not_negative %[[N]] of "argument 'n'" where "n"
// CHECK-NEXT: relax.builtin.check %p
// CHECK-NEXT: relax.builtin.dim %p[0]
// CHECK-NOT: relax.builtin.check_not_negative
// CHECK: %[[KN:.*]] = arith.addi %[[K]], %[[N]] {relax.expr = "k + n"}
// CHECK-NOT: relax.builtin.check_not_negative
// CHECK: %[[K4:.*]] = arith.addi %[[K]], %{{.*}} {relax.expr = "k - 4"}
// CHECK: relax.builtin.check_not_negative %[[K4]] of "dimension 1 of !relax.tensor<[k + n, k - 4], f32>" where "k - 4"
// CHECK-NEXT: relax.builtin.alloc_tensor
relax.func @not_negative(%x: !relax.tensor<[k], f32>, %s: !relax.shape<[m]>, %n: !relax.prim<i64, n>, %p: !relax.prim<i64, p>) -> !relax.object {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[k + n, k - 4], f32>
  %1 = relax.shape <[p - 1]>
  relax.return %0 : !relax.tensor<[k + n, k - 4], f32>
}

// Each kind of expression becomes arithmetic; a divisor that may be 0 is checked.
// CHECK-LABEL: relax.func @expressions
// CHECK: relax.builtin.check_divisor %[[M:.*]] of "n floordiv m"
// CHECK: arith.floordivsi
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: arith.cmpi slt
// CHECK: arith.select
relax.func @expressions(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.shape <[n floordiv m, n mod 3, min(n, m), max(n, m), select(lt(n, m), n, 7)]>
  relax.return %0 : !relax.shape<[n floordiv m, n mod 3, min(n, m), max(n, m), select(lt(n, m), n, 7)]>
}

// SC03: a variable bound in a branch is another one in the other branch.
// CHECK-LABEL: relax.func @SC03_branches
// CHECK: relax.if
// CHECK: %[[A:.*]] = relax.builtin.dim %x[0]
// CHECK: relax.builtin.make_shape(%[[A]])
// CHECK: } else {
// CHECK: %[[B:.*]] = relax.builtin.dim %x[1]
// CHECK: relax.builtin.make_shape(%[[B]])
relax.func @SC03_branches(%c: !relax.tensor<[], i1>, %x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    %1 = relax.match_cast %x : !relax.tensor<ndim = 2, f32> -> !relax.tensor<[k, 4], f32>
    %2 = relax.shape <[k]>
    relax.yield %2 : !relax.shape<[k]>
  } else {
    %1 = relax.match_cast %x : !relax.tensor<ndim = 2, f32> -> !relax.tensor<[4, k], f32>
    %2 = relax.shape <[k]>
    relax.yield %2 : !relax.shape<[k]>
  }
  relax.return %0 : !relax.object
}

// OP04: the result of a packed call is checked against what was declared.
// CHECK-LABEL: relax.func impure @OP04_result
// CHECK: %[[N:.*]] = relax.builtin.dim %x[0]
// CHECK: %[[R:.*]] = relax.call_packed "f"
// CHECK: relax.builtin.check %[[R]] is !relax.tensor<ndim = 1, f32> as "the result of f"
// CHECK: relax.builtin.dim %[[R]][0]
// CHECK: relax.builtin.check_dim
relax.func impure @OP04_result(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// MC06: a function type is compared once all variables are bound; those of the scope that it uses
// come along with their values, those that it binds do not.
// CHECK-LABEL: relax.func @MC06_argument
// CHECK: relax.builtin.check %x is
// CHECK: %[[N:.*]] = relax.builtin.dim %x[0]
// CHECK: relax.builtin.check_function %f is !relax.func<(!relax.tensor<[n * 2, m], f32>) -> !relax.object, pure> where ["n"](%[[N]]) as "argument 'f'"
// CHECK: relax.builtin.check_function %g is !relax.func<derive = @default_derive> where []() as "argument 'g'"
relax.func @MC06_argument(%f: !relax.func<(!relax.tensor<[n * 2, m], f32>) -> !relax.object, pure>, %g: !relax.func<derive = @default_derive>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  relax.return %x : !relax.tensor<[n], f32>
}

// SE03: a closure gets the values of the variables that it names. What is captured is not checked
// again: the shape gives the variables.
// CHECK-LABEL: relax.func private @SE03_captures
// CHECK-NOT: relax.builtin.check %
// CHECK: %[[N:.*]] = relax.builtin.dim %s[0]
// CHECK: relax.builtin.check %y is {{.*}} as "argument 'y'"
// CHECK: relax.builtin.make_closure @SE03_captures(%s, %x) of {{.*}} where ["n"](%[[N]])
relax.func private @SE03_captures(%s: !relax.shape<[n]>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object attributes {relax.captures = 2 : i64} {
  %0 = relax.builtin.make_closure @SE03_captures(%s, %x) of !relax.func<(!relax.tensor<[n], f32>) -> !relax.object, pure> where ["n"]() : (!relax.shape<[n]>, !relax.tensor<[n], f32>) -> !relax.func<(!relax.tensor<[n], f32>) -> !relax.object, pure>
  relax.return %0 : !relax.func<(!relax.tensor<[n], f32>) -> !relax.object, pure>
}

// MC02: a variable that stands for a shape is bound to the value; tensors are compared with it.
// CHECK-LABEL: relax.func @MC02_shape_variable
// CHECK: relax.builtin.check %s is !relax.shape<*> as "argument 's'"
// CHECK: relax.builtin.check %x is !relax.tensor<*, f32> as "argument 'x'"
// CHECK: relax.builtin.check_shape %x has %s as "argument 'x'" expecting "!relax.tensor<var = s, f32>"
// CHECK: relax.builtin.check_shape %{{.*}} has %s as "field 0 of argument 't'"
relax.func @MC02_shape_variable(%x: !relax.tensor<var = s, f32>, %s: !relax.shape<var = s>, %t: !relax.tuple<!relax.shape<var = s>>) -> !relax.object {
  relax.return %x : !relax.tensor<var = s, f32>
}

// MC08: declared bounds are checked behind what binds the variables.
// CHECK-LABEL: relax.func @MC08_bounds
// CHECK-NOT: tir_var_
// CHECK: %[[N:.*]] = relax.builtin.dim %x[0]
// CHECK: %[[M:.*]] = relax.builtin.dim %x[1]
// CHECK: relax.builtin.check_bounds %[[M]] from -3 of "m"
// CHECK: relax.builtin.check_bounds %[[N]] from 1 to 4 of "n"
// CHECK-NEXT: relax.return
relax.func @MC08_bounds(%x: !relax.tensor<[n, m], f32>) -> !relax.object attributes {tir_var_lower_bound = {n = 1, m = -3}, tir_var_upper_bound = {n = 4}} {
  relax.return %x : !relax.tensor<[n, m], f32>
}
