// RUN: relax-opt %s -relax-lower-shapes -cse -relax-eliminate-checks -cse | FileCheck %s

// A value is checked once for what it is said to be (MC02), and a dimension is
// read and compared once.
// CHECK-LABEL: relax.func @repeated
// CHECK: relax.builtin.check %u is !relax.tensor<ndim = 1, f32>
// CHECK: relax.builtin.check_dim
// CHECK-NOT: relax.builtin.check
// CHECK-NOT: relax.builtin.dim
// CHECK: relax.tuple
relax.func @repeated(%n: !relax.prim<i64, n>, %u: !relax.object) -> !relax.object {
  %0 = relax.match_cast %u : !relax.object -> !relax.tensor<[n], f32>
  %1 = relax.match_cast %u : !relax.object -> !relax.tensor<[n], f32>
  %2 = relax.match_cast %u : !relax.object -> !relax.tensor<ndim = 1>
  %3 = relax.tuple %0, %1, %2 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<ndim = 1>
  relax.return %3 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<ndim = 1>>
}

// What is not implied by the first check is checked still.
// CHECK-LABEL: relax.func @stronger
// CHECK: relax.builtin.check %u is !relax.tensor<ndim = 1>
// CHECK: relax.builtin.check %u is !relax.tensor<ndim = 1, f32>
relax.func @stronger(%u: !relax.object) -> !relax.object {
  %0 = relax.match_cast %u : !relax.object -> !relax.tensor<ndim = 1>
  %1 = relax.match_cast %u : !relax.object -> !relax.tensor<ndim = 1, f32>
  relax.return %1 : !relax.tensor<ndim = 1, f32>
}

// A check in a branch says nothing of the other one, nor of what comes after.
// CHECK-LABEL: relax.func @branches
// CHECK: relax.if
// CHECK: relax.builtin.check %u is !relax.tensor<ndim = 1, f32>
// CHECK-NOT: relax.builtin.check
// CHECK: else
// CHECK: relax.builtin.check %u is !relax.tensor<ndim = 1, f32>
// CHECK: relax.builtin.check %u is !relax.tensor<ndim = 1, f32>
relax.func @branches(%c: !relax.tensor<[], i1>, %u: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
    %1 = relax.match_cast %u : !relax.object -> !relax.tensor<ndim = 1, f32>
    %2 = relax.match_cast %u : !relax.object -> !relax.tensor<ndim = 1, f32>
    relax.yield %2 : !relax.tensor<ndim = 1, f32>
  } else {
    %1 = relax.match_cast %u : !relax.object -> !relax.tensor<ndim = 1, f32>
    relax.yield %1 : !relax.tensor<ndim = 1, f32>
  }
  %3 = relax.match_cast %u : !relax.object -> !relax.tensor<ndim = 1, f32>
  relax.return %3 : !relax.tensor<ndim = 1, f32>
}

// Dimensions of what is made here are those it is made with: a tensor, a shape,
// a constant.
// CHECK-LABEL: relax.func @constructed
// CHECK: %[[N:.*]] = relax.builtin.dim %x[0]
// CHECK-NOT: relax.builtin.check
// CHECK-NOT: relax.builtin.dim
// CHECK: relax.return
relax.func @constructed(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n + 1], f32>
  %1 = relax.match_cast %0 : !relax.tensor<[n + 1], f32> -> !relax.tensor<[k], f32>
  %2 = relax.shape <[n, 4]>
  %3 = relax.match_cast %2 : !relax.shape<[n, 4]> -> !relax.shape<[a, b]>
  %4 = relax.constant dense<1.0> : tensor<2x3xf32>
  %5 = relax.match_cast %4 : !relax.tensor<[2, 3], f32> -> !relax.tensor<[i, j], f32>
  %6 = relax.shape <[k, a, b, i, j]>
  relax.return %6 : !relax.shape<[k, a, b, i, j]>
}
// CHECK-LABEL: relax.func @after
relax.func @after(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}

// The shape of a tensor has the dimensions of the tensor.
// CHECK-LABEL: relax.func @shape_of
// CHECK: relax.builtin.dim %x[0]
// CHECK-NOT: relax.builtin.dim
// CHECK: relax.builtin.make_shape
relax.func @shape_of(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.shape_of %x : !relax.tensor<[n], f32>
  %1 = relax.match_cast %0 : !relax.shape<[n]> -> !relax.shape<[k]>
  %2 = relax.shape <[k]>
  relax.return %2 : !relax.shape<[k]>
}

// Facts prove checks (ST12): dimensions that were compared are one number, also
// in expressions.
// CHECK-LABEL: relax.func @expressions
// CHECK: relax.builtin.check_dim
// CHECK-NOT: relax.builtin.check_dim
// CHECK: relax.return
relax.func @expressions(%x: !relax.tensor<[n], f32>, %u: !relax.object, %v: !relax.object) -> !relax.object {
  %0 = relax.match_cast %u : !relax.object -> !relax.tensor<[n * 2, k], f32>
  %1 = relax.match_cast %0 : !relax.tensor<[n * 2, k], f32> -> !relax.tensor<[n + n, k], f32>
  %2 = relax.match_cast %0 : !relax.tensor<[n * 2, k], f32> -> !relax.tensor<[n * 2, max(k, 0)], f32>
  relax.return %2 : !relax.tensor<[n * 2, max(k, 0)], f32>
}

// Without a relation between both, a dimension is compared.
// CHECK-LABEL: relax.func @open
// CHECK: relax.builtin.check_dim
// CHECK: relax.builtin.check_dim
// CHECK-NOT: relax.builtin.check_dim
// CHECK: relax.return
relax.func @open(%x: !relax.tensor<[n, m], f32>, %p: !relax.prim<i64, p>) -> !relax.object {
  %0 = relax.match_cast %x : !relax.tensor<[n, m], f32> -> !relax.tensor<[m, m], f32>
  %1 = relax.match_cast %p : !relax.prim<i64, p> -> !relax.prim<i64, max(p, 0)>
  %2 = relax.match_cast %0 : !relax.tensor<[m, m], f32> -> !relax.tensor<[n, n], f32>
  relax.return %2 : !relax.tensor<[n, n], f32>
}

// Declared bounds are checked on entry, and proven where they follow from what
// is known.
// CHECK-LABEL: relax.func @bounds
// CHECK: relax.builtin.check_bounds %{{.*}} from 1 to 128 of "n"
// CHECK-NOT: relax.builtin.check_
// CHECK: relax.return
relax.func @bounds(%x: !relax.tensor<[n, m], f32>) -> !relax.object attributes {tir_var_lower_bound = {m = 0, n = 1}, tir_var_upper_bound = {n = 128}} {
  %0 = relax.match_cast %x : !relax.tensor<[n, m], f32> -> !relax.tensor<[min(n, 128), m], f32>
  %1 = relax.shape <[m floordiv n]>
  relax.return %1 : !relax.shape<[m floordiv n]>
}

// A branch whose value is not used goes together with what is in it.
// CHECK-LABEL: relax.func @unused_branch
// CHECK-NOT: relax.if
// CHECK: relax.return %x
relax.func @unused_branch(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tuple<!relax.object> {
    %1 = relax.tuple %x : !relax.object
    relax.yield %1 : !relax.tuple<!relax.object>
  } else {
    %2 = relax.tuple %x : !relax.object
    relax.yield %2 : !relax.tuple<!relax.object>
  }
  relax.return %x : !relax.object
}
