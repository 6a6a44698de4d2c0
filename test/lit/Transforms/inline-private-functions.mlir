// RUN: relax-opt %s -relax-inline-private-functions -split-input-file | FileCheck %s

// Variables become the dimensions of the arguments: what is m in the callee is n
// in the first call, and 4 in the second one.
// CHECK-NOT: @transpose
// CHECK-LABEL: relax.func @main
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: %[[A:.*]] = relax.permute_dims %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32>
// CHECK-NEXT: %[[B:.*]] = relax.permute_dims %[[A]] : (!relax.tensor<[4, n], f32>) -> !relax.tensor<[n, 4], f32>
// CHECK-NEXT: relax.output %[[B]]
relax.func private @transpose(%x: !relax.tensor<[m, n], f32>) -> !relax.tensor<[n, m], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, m], f32> {
    %1 = relax.permute_dims %x : (!relax.tensor<[m, n], f32>) -> !relax.tensor<[n, m], f32>
    relax.output %1 : !relax.tensor<[n, m], f32>
  }
  relax.return %0 : !relax.tensor<[n, m], f32>
}
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, 4], f32> {
    %1 = relax.call @transpose(%x) : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[4, n], f32>
    %2 = relax.call @transpose(%1) : (!relax.tensor<[4, n], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %2 : !relax.tensor<[n, 4], f32>
  }
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

// What the type of an argument does not tell is bound by a cast, as by the call,
// under a name that the caller does not have.
// CHECK-LABEL: relax.func @unknown
// CHECK-NEXT: %[[C:.*]] = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[n_1], f32>
// CHECK-NEXT: %[[E:.*]] = relax.exp %[[C]] : (!relax.tensor<[n_1], f32>) -> !relax.tensor<[n_1], f32>
// CHECK-NEXT: relax.match_cast %[[E]] : !relax.tensor<[n_1], f32> -> !relax.tensor<ndim = 1, f32>
relax.func private @exp(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
relax.func @unknown(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.call @exp(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

// Callees first; a variable that the body binds gets a new name in each copy.
// CHECK-NOT: private
// CHECK-LABEL: relax.func @nested
// CHECK: relax.match_cast %{{.*}} -> !relax.tensor<[k], f32>
// CHECK: relax.match_cast %{{.*}} -> !relax.tensor<[k_1], f32>
// CHECK: relax.return
relax.func @nested(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.call @outer(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  %1 = relax.call @outer(%0) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %1 : !relax.tensor<ndim = 1, f32>
}
relax.func private @outer(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.call @inner(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}
relax.func private @inner(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32>
  %1 = relax.exp %0 : (!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
  relax.return %1 : !relax.tensor<[k], f32>
}

// -----

// Left alone: recursive functions, those with bounds, for libraries, and control
// flow in a dataflow block.
// CHECK-LABEL: relax.func @left_alone
// CHECK: relax.call @recursive
// CHECK: relax.call @bounded
// CHECK: relax.call @library
// CHECK: relax.call @branches
relax.func private @recursive(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.call @recursive(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
relax.func private @bounded(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    attributes {tir_var_upper_bound = {n = 128}} {
  relax.return %x : !relax.tensor<[n], f32>
}
relax.func private @library(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    attributes {Codegen = "dnnl"} {
  relax.return %x : !relax.tensor<[n], f32>
}
relax.func private @branches(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[n], f32> {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    relax.yield %x : !relax.tensor<[n], f32>
  } else {
    relax.yield %x : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}
relax.func @left_alone(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[n], f32> {
  %0 = relax.call @recursive(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call @bounded(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.call @library(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %3 = relax.dataflow -> !relax.tensor<[n], f32> {
    %4 = relax.call @branches(%2, %c) : (!relax.tensor<[n], f32>, !relax.tensor<[], i1>) -> !relax.tensor<[n], f32>
    relax.output %4 : !relax.tensor<[n], f32>
  }
  relax.return %3 : !relax.tensor<[n], f32>
}
