// RUN: relax-opt %s --relax-phase-normalize=vector-bits=512 --relax-phase-legalize --relax-phase-memory --relax-phase-shapes --relax-prepare-kernels --relax-emit-kernels --canonicalize --cse | FileCheck %s

// How many queries there are is decided at run time. Few of them read keys where
// they lie: dot products of 16 keys at a time. More of them copy keys to panels,
// and a tile is 6 queries by 64 keys. Scores are scratch memory of one block.
// Two heads of queries share one of keys.
// CHECK-LABEL: func.func private @relax.kernel.attention(
// CHECK-SAME:    %[[Q:.*]]: memref<?x?x4x64xf32>, %[[K:.*]]: memref<?x?x2x64xf32>, %[[V:.*]]: memref<?x?x2x64xf32>, %[[OUT:.*]]: memref<?x?x4x64xf32>)
// CHECK-SAME:    relax.kernel_class = "attention"
// CHECK:         scf.if
// CHECK:           scf.parallel
// CHECK:             memref.alloc({{.*}}) {alignment = 64 : i64}
// CHECK:             arith.divui
// CHECK:             memref.prefetch %{{.*}}, read, locality<2>, data
// CHECK-COUNT-16:    vector.fma
// CHECK:             arith.cmpi sle
// CHECK:             arith.maximumf
// CHECK:             arith.cmpf une
// CHECK:             math.exp %{{.*}} : f32
// CHECK:             math.exp %{{.*}} : vector<16xf32>
// CHECK:             memref.prefetch %{{.*}}, read, locality<2>, data
// CHECK-COUNT-4:     vector.fma
// CHECK-NOT:         memref.prefetch
// CHECK:           scf.parallel
// CHECK:             vector.shuffle
// CHECK-COUNT-24:    vector.fma
// CHECK:             math.exp %{{.*}} : vector<16xf32>
// CHECK-COUNT-24:    vector.fma
// CHECK:             vector.maskedstore
// CHECK:         return
relax.func @operator(%q: !relax.tensor<[b, n, 4, 64], f32>, %k: !relax.tensor<[b, m, 2, 64], f32>, %v: !relax.tensor<[b, m, 2, 64], f32>) -> !relax.tensor<[b, n, 4, 64], f32> {
  %0 = relax.attention %q, %k, %v {causal_mask = "TopLeft"} : (!relax.tensor<[b, n, 4, 64], f32>, !relax.tensor<[b, m, 2, 64], f32>, !relax.tensor<[b, m, 2, 64], f32>) -> !relax.tensor<[b, n, 4, 64], f32>
  relax.return %0 : !relax.tensor<[b, n, 4, 64], f32>
}

// What is stored as f16 is summed up as f32, in kernels of the generic route.
// CHECK-LABEL: func.func private @relax.kernel.attention1(
// CHECK-NOT:     relax.kernel_class
// CHECK:         linalg.generic
relax.func @half(%q: !relax.tensor<[b, n, 4, 64], f16>) -> !relax.tensor<[b, n, 4, 64], f16> {
  %0 = relax.attention %q, %q, %q : (!relax.tensor<[b, n, 4, 64], f16>, !relax.tensor<[b, n, 4, 64], f16>, !relax.tensor<[b, n, 4, 64], f16>) -> !relax.tensor<[b, n, 4, 64], f16>
  relax.return %0 : !relax.tensor<[b, n, 4, 64], f16>
}
