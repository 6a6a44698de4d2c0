// RUN: relax-opt %s -relax-legalize-ops | FileCheck %s

// Facts in scope decide shapes of results, and what need not be checked (ST12).

// CHECK-LABEL: relax.func @result
// CHECK: relax.call_tir @add(%x, %y) {{.*}} -> !relax.tensor<[n], f32>
relax.func @result(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.object {
  %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
  %1 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %1 : !relax.tensor<ndim = 1, f32>
}

// CHECK-LABEL: relax.func @proven
// CHECK-NOT: relax.checks
// CHECK: relax.return
relax.func @proven(%x: !relax.tensor<[n, m], f32>, %k: !relax.shape<[k]>) -> !relax.object attributes {tir_var_lower_bound = {m = 3}, tir_var_upper_bound = {m = 3}} {
  %0 = relax.match_cast %k : !relax.shape<[k]> -> !relax.shape<[n * 3]>
  %1 = relax.shape <[k]>
  %2 = relax.reshape %x, %1 : (!relax.tensor<[n, m], f32>, !relax.shape<[k]>) -> !relax.tensor<[k], f32>
  relax.return %2 : !relax.tensor<[k], f32>
}

// CHECK-LABEL: relax.func @open
// CHECK: relax.match_cast {{.*}} {relax.checks = "relax.reshape"}
relax.func @open(%x: !relax.tensor<[n, m], f32>, %k: !relax.shape<[k]>) -> !relax.object {
  %0 = relax.match_cast %k : !relax.shape<[k]> -> !relax.shape<[n * 3]>
  %1 = relax.shape <[k]>
  %2 = relax.reshape %x, %1 : (!relax.tensor<[n, m], f32>, !relax.shape<[k]>) -> !relax.tensor<[k], f32>
  relax.return %2 : !relax.tensor<[k], f32>
}
