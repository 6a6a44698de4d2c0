// RUN: relax-opt %s --split-input-file --relax-phase-normalize="vector-bits=512 features=avx512f,avx512bw,avx512vnni,avx512bf16,avx512fp16,amx-bf16,amx-int8" --relax-phase-legalize --relax-phase-memory --relax-phase-shapes --relax-prepare-kernels --relax-emit-kernels --canonicalize --cse | FileCheck %s

// Two rows of tiles times two columns of them: four tiles of sums stay in
// registers. The right matrix lies in panels of words, 32 in a row, a tile of
// the left one lies together.
// CHECK-LABEL: func.func private @relax.kernel.matmul(
// CHECK:         %[[RIGHT:.*]] = memref.cast %{{.*}} : memref<4096xf32> to memref<?xf32>
// CHECK:         scf.parallel
// CHECK:           %[[LEFT:.*]] = memref.alloc
// CHECK:           vector.load {{.*}} vector<32xbf16>
// CHECK-COUNT-4:   amx.tile_zero : !amx.tile<16x16xf32>
// CHECK-NOT:       amx.tile_zero
// CHECK:           scf.for
// CHECK-COUNT-16:    memref.prefetch
// CHECK-COUNT-2:     amx.tile_load %[[RIGHT]][%{{.*}}], %c32 : memref<?xf32> into !amx.tile<16x32xbf16>
// CHECK:             amx.tile_load %[[LEFT]][%{{.*}}], %c16
// CHECK-COUNT-2:     amx.tile_mulf
// CHECK:             amx.tile_load %[[LEFT]][%{{.*}}], %c16
// CHECK-COUNT-2:     amx.tile_mulf
// CHECK:             scf.yield
// CHECK-COUNT-4:   amx.tile_store
// CHECK-NOT:       amx.tile_
module {
  relax.func @known(%x: !relax.tensor<[64, 128], bf16>, %y: !relax.tensor<[128, 64], bf16>) -> !relax.tensor<[64, 64], f32> {
    %0 = relax.matmul %x, %y {out_dtype = f32} : (!relax.tensor<[64, 128], bf16>, !relax.tensor<[128, 64], bf16>) -> !relax.tensor<[64, 64], f32>
    relax.return %0 : !relax.tensor<[64, 64], f32>
  }
}

// -----

// Few rows are multiplied by vectors. Up to 16 rows are one row of tiles. The
// last rows of a panel, here nine words, are copied and filled up with zeros,
// as another panel follows it.
// CHECK-LABEL: func.func private @relax.kernel.matmul_packed(
// CHECK-SAME:    %[[PANELS:.*]]: memref<3x25x32x4xi8>
// CHECK:         llvm.call @llvm.x86.avx512.vpdpbusd.512
// CHECK:         vector.load {{.*}} vector<64xi8>
// CHECK:         vector.maskedload {{.*}} vector<64xi8>
// CHECK:         amx.tile_zero
// CHECK:         amx.tile_load %{{.*}}[%{{.*}}], %c128 : memref<?xi8> into !amx.tile<16x64xi8>
// CHECK:         amx.tile_muli %{{.*}} zext, %{{.*}}, %{{.*}} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
// CHECK:         amx.tile_load %{{.*}}[%{{.*}}], %c32 : memref<?xi32> into !amx.tile<16x64xi8>
module {
  relax.func @some(%x: !relax.tensor<[m, 100], ui8>) -> !relax.tensor<[m, 70], i32> {
    %w = relax.constant dense<1> : tensor<100x70xi8>
    %0 = relax.matmul %x, %w {out_dtype = i32} : (!relax.tensor<[m, 100], ui8>, !relax.tensor<[100, 70], i8>) -> !relax.tensor<[m, 70], i32>
    relax.return %0 : !relax.tensor<[m, 70], i32>
  }
}
