// RUN: relax-opt %s --relax-bfloats-as-bits --split-input-file | FileCheck %s

// CHECK: relax.constants = [dense<1.000000e+00> : tensor<2xbf16>]
module attributes {relax.constants = [dense<1.0> : tensor<2xbf16>]} {
// CHECK-LABEL: llvm.func @move(
// CHECK-SAME: %[[P:.*]]: !llvm.ptr, %[[M:.*]]: vector<4xi1>, %[[X:.*]]: i16) -> vector<4xi16>
llvm.func @move(%p: !llvm.ptr, %m: vector<4xi1>, %x: bf16) -> vector<4xbf16> {
  // CHECK: %[[ZEROS:.*]] = llvm.mlir.constant(dense<0> : vector<4xi16>)
  %zeros = llvm.mlir.constant(dense<0.0> : vector<4xbf16>) : vector<4xbf16>
  // CHECK: %[[ONE:.*]] = llvm.mlir.constant(16256 : i16) : i16
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  // CHECK: llvm.getelementptr %[[P]][1] : (!llvm.ptr) -> !llvm.ptr, i16
  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, bf16
  // CHECK: llvm.intr.masked.load {{.*}} -> vector<4xi16>
  %v = llvm.intr.masked.load %q, %m, %zeros {alignment = 2 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xbf16>) -> vector<4xbf16>
  // CHECK: llvm.shufflevector {{.*}} : vector<4xi16>
  %s = llvm.shufflevector %v, %zeros [0, 4, 1, 5] : vector<4xbf16>
  // CHECK: llvm.store %[[ONE]], %[[P]] {{.*}}: i16
  llvm.store %one, %p {alignment = 2 : i64} : bf16, !llvm.ptr
  // CHECK: llvm.return %{{.*}} : vector<4xi16>
  llvm.return %s : vector<4xbf16>
}
}

// -----

// Arithmetic needs the type.
// CHECK-LABEL: llvm.func @add(
// CHECK: llvm.fadd %{{.*}} : bf16
llvm.func @add(%x: bf16) -> bf16 {
  %0 = llvm.fadd %x, %x : bf16
  llvm.return %0 : bf16
}

// -----

// Intrinsics keep their types.
// CHECK-LABEL: llvm.func @round(
// CHECK-SAME: %[[X:.*]]: vector<16xf32>) -> vector<16xi16>
// CHECK: %[[ROUNDED:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%[[X]]) : (vector<16xf32>) -> vector<16xbf16>
// CHECK: %[[BITS:.*]] = llvm.bitcast %[[ROUNDED]] : vector<16xbf16> to vector<16xi16>
// CHECK: llvm.return %[[BITS]]
llvm.func @round(%x: vector<16xf32>) -> vector<16xbf16> {
  %0 = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%x) : (vector<16xf32>) -> vector<16xbf16>
  llvm.return %0 : vector<16xbf16>
}
