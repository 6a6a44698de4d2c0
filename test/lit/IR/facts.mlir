// RUN: relax-opt %s | relax-opt | FileCheck %s

// Declared types follow from the facts in scope where operands alone leave them
// open.

// ST12: a cast says that what it knows of the value is what it checks.
// CHECK-LABEL: relax.func @ST12_cast
// CHECK: relax.add %x, %0 : (!relax.tensor<[n, m], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[n, m], f32>
relax.func @ST12_cast(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.match_cast %x : !relax.tensor<[n, m], f32> -> !relax.tensor<[k, m], f32>
  %1 = relax.add %x, %0 : (!relax.tensor<[n, m], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[n, m], f32>
  %2 = relax.add %x, %0 : (!relax.tensor<[n, m], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<[k, m], f32>
  relax.return %1 : !relax.tensor<[n, m], f32>
}

// Also one in a dataflow block before, or around a branch.
// CHECK-LABEL: relax.func @ST12_scopes
relax.func @ST12_scopes(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.tensor<[k], f32> {
    %1 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[k], f32>
    relax.output %1 : !relax.tensor<[k], f32>
  }
  // DR06: the bound of both branches is what one of them says.
  // CHECK: relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32>
  %2 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %3 = relax.add %x, %0 : (!relax.tensor<[n], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[n], f32>
    relax.yield %3 : !relax.tensor<[n], f32>
  } else {
    relax.yield %0 : !relax.tensor<[k], f32>
  }
  relax.return %2 : !relax.tensor<[n], f32>
}

// The fields of tuples, the dimensions of shapes, primitive values.
// CHECK-LABEL: relax.func @ST12_kinds
relax.func @ST12_kinds(%t: !relax.tuple<!relax.tensor<[n], f32>, !relax.object>, %s: !relax.shape<[a]>, %p: !relax.prim<i64, b>, %x: !relax.tensor<[n, a, b], f32>, %y: !relax.tensor<[k, c, d], f32>, %k: !relax.shape<[k, c, d]>) -> !relax.object {
  %0 = relax.match_cast %t : !relax.tuple<!relax.tensor<[n], f32>, !relax.object> -> !relax.tuple<!relax.tensor<[k], f32>, !relax.object>
  %1 = relax.match_cast %s : !relax.shape<[a]> -> !relax.shape<[c]>
  %2 = relax.match_cast %p : !relax.prim<i64, b> -> !relax.prim<i64, d>
  // CHECK: relax.add %x, %y {{.*}} -> !relax.tensor<[n, a, b], f32>
  %3 = relax.add %x, %y : (!relax.tensor<[n, a, b], f32>, !relax.tensor<[k, c, d], f32>) -> !relax.tensor<[n, a, b], f32>
  relax.return %3 : !relax.tensor<[n, a, b], f32>
}

// The dimensions of a tensor are not negative.
// CHECK-LABEL: relax.func @ST12_dimensions
relax.func @ST12_dimensions(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[max(n, 0)], f32>) -> !relax.tensor<[n], f32> {
  // CHECK: relax.add %x, %y {{.*}} -> !relax.tensor<[n], f32>
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[max(n, 0)], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// Declared bounds.
// CHECK-LABEL: relax.func @ST12_bounds
// CHECK-SAME: attributes {tir_var_lower_bound = {n = 1 : i64}, tir_var_upper_bound = {m = 7 : i64, n = 128 : i64}}
relax.func @ST12_bounds(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[max(n, m floordiv 8 + 1)], f32>, %m: !relax.tensor<[m], f32>) -> !relax.object attributes {tir_var_lower_bound = {n = 1}, tir_var_upper_bound = {n = 128, m = 7}} {
  // CHECK: relax.add %x, %y {{.*}} -> !relax.tensor<[n], f32>
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[max(n, m floordiv 8 + 1)], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// Without facts: floor division and remainder belong together for any integers.
// CHECK-LABEL: relax.func @ST12_remainder
relax.func @ST12_remainder(%n: !relax.prim<i64, n>, %x: !relax.prim<i64, n floordiv 3 * 3 + n mod 3>) -> !relax.prim<i64, n> {
  relax.return %x : !relax.prim<i64, n floordiv 3 * 3 + n mod 3>
}
