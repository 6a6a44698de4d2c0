// RUN: relax-opt %s -pass-pipeline='builtin.module(relax.func(relax-lower-shapes{checks=necessary}))' | FileCheck %s

// What only passes through is not looked at (MC08).
// CHECK-LABEL: relax.func @through
// CHECK-NEXT: relax.return %x
relax.func @through(%x: !relax.tensor<[n, 4], f32>, %s: !relax.shape<[n]>, %t: !relax.tuple<!relax.prim<i64, n>>) -> !relax.object {
  relax.return %x : !relax.tensor<[n, 4], f32>
}

// The read that binds a variable stays, behind a check of kind and rank.
// CHECK-LABEL: relax.func @binding
// CHECK-NEXT: relax.builtin.check %x is !relax.tensor<ndim = 2> as "argument 'x'" expecting "!relax.tensor<[n, 4], f32>"
// CHECK-NEXT: %[[N:.*]] = relax.builtin.dim %x[0]
// CHECK-NOT: relax.builtin.check
// CHECK: relax.builtin.make_shape
relax.func @binding(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n * 2], f32>) -> !relax.shape<[n * 2]> {
  %0 = relax.shape <[n * 2]>
  relax.return %0 : !relax.shape<[n * 2]>
}

// A cast binds without comparing; the divisor of a dimension is still checked,
// that of a comparison that is gone is not.
// CHECK-LABEL: relax.func @divisor
// CHECK: relax.builtin.check %{{.*}} is !relax.tensor<ndim = 2> as "match_cast" expecting "!relax.tensor<[n, k], f32>"
// CHECK-NOT: check_dim
// CHECK: %[[K:.*]] = relax.builtin.dim %{{.*}}[1]
// CHECK: relax.builtin.check_divisor %[[K]] of "n floordiv k"
// CHECK-NOT: check_divisor
relax.func @divisor(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n floordiv n], f32>, %u: !relax.object) -> !relax.object {
  %0 = relax.match_cast %u : !relax.object -> !relax.tensor<[n, k], f32>
  %1 = relax.shape <[n floordiv k]>
  relax.return %1 : !relax.shape<[n floordiv k]>
}

// Each value that comes from elsewhere is checked where it is first read, once.
// CHECK-LABEL: relax.func impure @reads
// CHECK: %[[R:.*]] = relax.call_packed "f"
// CHECK-NEXT: relax.builtin.check %[[R]] is !relax.tensor<ndim = 1> as "the result of f"
// CHECK-NEXT: relax.shape_of %[[R]]
// CHECK-NEXT: relax.shape_of %[[R]]
// CHECK: %[[I:.*]] = relax.get_item %t[0]
// CHECK-NEXT: relax.builtin.check %[[I]] is !relax.tensor<*> as
// CHECK-NEXT: relax.shape_of %[[I]]
relax.func @reads(%t: !relax.tuple<!relax.tensor<*>>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.call_packed "f"() : () -> !relax.tensor<ndim = 1, f32>
  %1 = relax.shape_of %0 : !relax.tensor<ndim = 1, f32>
  %2 = relax.shape_of %0 : !relax.tensor<ndim = 1, f32>
  %3 = relax.get_item %t[0] : !relax.tuple<!relax.tensor<*>>
  %4 = relax.shape_of %3 : !relax.tensor<*>
  %5 = relax.tuple %1, %2, %4 : !relax.shape<ndim = 1>, !relax.shape<ndim = 1>, !relax.shape<*>
  relax.return %5 : !relax.tuple<!relax.shape<ndim = 1>, !relax.shape<ndim = 1>, !relax.shape<*>>
}

// A check in a branch says nothing of what comes after it.
// CHECK-LABEL: relax.func @branches
// CHECK-NEXT: relax.builtin.check %c is !relax.tensor<ndim = 0> as "argument 'c'"
// CHECK-NEXT: relax.if
// CHECK-NEXT: relax.builtin.check %x is !relax.tensor<*>
// CHECK-NEXT: relax.shape_of
// CHECK: } else {
// CHECK-NEXT: relax.null_value
// CHECK: }
// CHECK-NEXT: relax.builtin.check %x is !relax.tensor<*>
// CHECK-NEXT: relax.shape_of
relax.func @branches(%c: !relax.tensor<[], i1>, %x: !relax.tensor<*>) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    %1 = relax.shape_of %x : !relax.tensor<*>
    relax.yield %1 : !relax.shape<*>
  } else {
    %1 = relax.null_value
    relax.yield %1 : !relax.object
  }
  %2 = relax.shape_of %x : !relax.tensor<*>
  %3 = relax.tuple %0, %2 : !relax.object, !relax.shape<*>
  relax.return %3 : !relax.tuple<!relax.object, !relax.shape<*>>
}

// A function value is one before it is called.
// CHECK-LABEL: relax.func impure @calls
// CHECK-NEXT: relax.builtin.check %f is !relax.func<derive = @default_derive> as "argument 'f'"
// CHECK-NEXT: relax.call %f
relax.func @calls(%f: !relax.func<derive = @default_derive>, %x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.call %f : !relax.func<derive = @default_derive> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// Declared bounds are promises of the caller here.
// CHECK-LABEL: relax.func @bounds
// CHECK-NOT: tir_var_upper_bound
// CHECK-NOT: check_bounds
// CHECK: relax.return
relax.func @bounds(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_upper_bound = {n = 4}} {
  relax.return %x : !relax.tensor<[n], f32>
}

// What keeps sizes from being negative stays, unless nobody reads the variable.
// CHECK-LABEL: relax.func @not_negative
// CHECK: %[[N:.*]] = relax.builtin.dim %s[0]
// CHECK-NEXT: relax.builtin.check_not_negative %[[N]] of "dimension 0 of argument 's'" where "n"
// CHECK-NOT: relax.builtin.dim
// CHECK-NOT: relax.builtin.check_not_negative
// CHECK: relax.builtin.alloc_tensor(%[[N]])
relax.func @not_negative(%s: !relax.shape<[n, m]>) -> !relax.object {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
