// RUN: relax-opt %s -relax-pool-constants | FileCheck %s

// VM09: each constant is listed once, whatever function uses it, behind those
// that are in the pool already. Resources are compared by their elements.
// CHECK: module attributes {relax.constants = [dense<7> : tensor<i64>, dense<1.000000e+00> : tensor<2xf32>, dense_resource<one> : tensor<2xf32>, dense_resource<other> : tensor<2xf32>]}
module attributes {relax.constants = [dense<7> : tensor<i64>]} {

func.func private @add(%x: memref<2xf32>, %y: memref<2xf32>) { return }

// What a kernel only reads is shared.
// CHECK-LABEL: relax.func @VM09_shared
// CHECK: relax.builtin.load_constant 1 : !relax.tensor<[2], f32>
// CHECK: relax.builtin.load_constant 2 : !relax.tensor<[2], f32>
// CHECK: relax.builtin.load_constant 2 : !relax.tensor<[2], f32>
// CHECK: relax.builtin.load_constant 3 : !relax.tensor<[2], f32>
relax.func @VM09_shared(%y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.constant dense<1.0> : tensor<2xf32>
  relax.builtin.call_kernel @add(%0) outs(%y) : (!relax.tensor<[2], f32>) -> !relax.tensor<ndim = 1, f32>
  %1 = relax.constant dense_resource<one> : tensor<2xf32>
  relax.builtin.call_kernel @add(%1) outs(%y) : (!relax.tensor<[2], f32>) -> !relax.tensor<ndim = 1, f32>
  %2 = relax.constant dense_resource<same> : tensor<2xf32>
  relax.builtin.call_kernel @add(%2) outs(%y) : (!relax.tensor<[2], f32>) -> !relax.tensor<ndim = 1, f32>
  %3 = relax.constant dense_resource<other> : tensor<2xf32>
  relax.builtin.call_kernel @add(%3) outs(%y) : (!relax.tensor<[2], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %y : !relax.tensor<ndim = 1, f32>
}

// What leaves, and what a kernel updates, is a copy.
// CHECK-LABEL: relax.func impure @VM09_fresh
// CHECK: relax.builtin.load_constant 1 fresh : !relax.tensor<[2], f32>
// CHECK: relax.builtin.load_constant 0 fresh : !relax.tensor<[], i64>
relax.func @VM09_fresh(%y: !relax.tensor<ndim = 1, f32>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.constant dense<1.0> : tensor<2xf32>
  relax.builtin.call_kernel @add(%y, %0) outs() inplace [1] : (!relax.tensor<ndim = 1, f32>, !relax.tensor<[2], f32>) -> ()
  %1 = relax.constant dense<7> : tensor<i64>
  relax.return %1 : !relax.tensor<[], i64>
}

// A module within has a pool of its own.
// CHECK: module @within
// CHECK: relax.constant
module @within {
  relax.func @main() -> !relax.tensor<[], i64> {
    %0 = relax.constant dense<9> : tensor<i64>
    relax.return %0 : !relax.tensor<[], i64>
  }
}

}

{-#
  dialect_resources: {
    builtin: {
      one: "0x040000000000803F00000040",
      same: "0x040000000000803F00000040",
      other: "0x040000000000803F00004040"
    }
  }
#-}
