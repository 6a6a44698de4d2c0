// RUN: relax-opt %s --relax-phase-normalize="vector-bits=512 features=avx512f,avx512bw,avx512bf16" --relax-phase-legalize --relax-phase-memory --relax-phase-shapes --relax-prepare-kernels --relax-emit-kernels --canonicalize --cse | FileCheck %s

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

// f16 is multiplied as f32.
// CHECK-LABEL: func.func private @relax.kernel.attention1(
// CHECK-SAME:    relax.kernel_class = "attention"
// CHECK:         scf.parallel
// CHECK:           arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// CHECK-COUNT-16:  vector.fma
// CHECK:           arith.truncf %{{.*}} : vector<16xf32> to vector<16xf16>
relax.func @half(%q: !relax.tensor<[b, n, 4, 64], f16>) -> !relax.tensor<[b, n, 4, 64], f16> {
  %0 = relax.attention %q, %q, %q : (!relax.tensor<[b, n, 4, 64], f16>, !relax.tensor<[b, n, 4, 64], f16>, !relax.tensor<[b, n, 4, 64], f16>) -> !relax.tensor<[b, n, 4, 64], f16>
  relax.return %0 : !relax.tensor<[b, n, 4, 64], f16>
}

// Words of bf16: of features in products with keys, of keys in products with
// values. Few queries multiply f32.
// CHECK-LABEL: func.func private @relax.kernel.attention2(
// CHECK-SAME:    relax.kernel_class = "attention"
// CHECK:         scf.parallel
// CHECK-COUNT-16:  vector.fma
// CHECK:         scf.parallel
// CHECK-NOT:       vector.fma
// CHECK:           vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xf32>
// CHECK-COUNT-24:  llvm.call @llvm.x86.avx512bf16.dpbf16ps.512
// CHECK:           arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK-COUNT-24:  llvm.call @llvm.x86.avx512bf16.dpbf16ps.512
relax.func @words(%q: !relax.tensor<[b, n, 4, 64], bf16>) -> !relax.tensor<[b, n, 4, 64], bf16> {
  %0 = relax.attention %q, %q, %q : (!relax.tensor<[b, n, 4, 64], bf16>, !relax.tensor<[b, n, 4, 64], bf16>, !relax.tensor<[b, n, 4, 64], bf16>) -> !relax.tensor<[b, n, 4, 64], bf16>
  relax.return %0 : !relax.tensor<[b, n, 4, 64], bf16>
}
