// RUN: relax-opt %s --split-input-file --relax-phase-normalize="vector-bits=512 features=avx512f,avx512bw,avx512vnni,avx512bf16" --relax-phase-legalize --relax-phase-memory --relax-phase-shapes --relax-prepare-kernels --relax-emit-kernels --canonicalize --cse | FileCheck %s

// Words of neighboring columns: a lane has four bytes of a row of the image, of
// which the window covers three. One instruction multiplies a row of the window,
// and six rows are loaded for four rows of the result.
// CHECK-LABEL: func.func private @relax.kernel.conv2d(
// CHECK-SAME:    memref<1x4x12x20xi8>, %{{.*}}: memref<4x1x3x3xi8>, %{{.*}}: memref<1x4x12x20xi32>)
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK-NOT:         vector.fma
// CHECK:             vector.maskedload {{.*}} vector<32xi8>
// CHECK-NEXT:        vector.shuffle {{.*}}[0, 1, 2, 32, 1, 2, 3, 32, {{.*}} 15, 16, 17, 32]
// CHECK-NEXT:        llvm.call @llvm.x86.avx512.vpdpbusd.512
// CHECK-COUNT-4:     vector.maskedstore
// Rows inside.
// CHECK-COUNT-12:    vpdpbusd
// CHECK-NOT:         vpdpbusd
// CHECK-COUNT-4:     vector.maskedstore
module {
  relax.func @bytes(%x: !relax.tensor<[1, 4, 12, 20], ui8>, %w: !relax.tensor<[4, 1, 3, 3], i8>) -> !relax.tensor<[1, 4, 12, 20], i32> {
    %0 = relax.conv2d %x, %w {groups = 4 : i64, padding = array<i64: 1, 1, 1, 1>, out_dtype = i32} : (!relax.tensor<[1, 4, 12, 20], ui8>, !relax.tensor<[4, 1, 3, 3], i8>) -> !relax.tensor<[1, 4, 12, 20], i32>
    relax.return %0 : !relax.tensor<[1, 4, 12, 20], i32>
  }
}

// -----

// 49 pixels are a tile of three vectors, and one more, of which the sums of
// eight rows are in a vector: each step multiplies the words of eight rows.
// CHECK-LABEL: func.func private @relax.kernel.conv2d_packed(
// CHECK-SAME:    %{{.*}}: memref<1x8x7x7xbf16>, %{{.*}}: memref<4x1x1x4x8x2xbf16>
// CHECK-NOT:     iter_args
// CHECK:         %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<16xbf16> to vector<8xf32>
// CHECK-NEXT:    vector.shuffle %[[WORDS]], %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8, 8] : vector<8xf32>, vector<8xf32>
// CHECK:         llvm.call @llvm.x86.avx512bf16.dpbf16ps.512
// CHECK-COUNT-8: memref.store
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-24: llvm.call @llvm.x86.avx512bf16.dpbf16ps.512
module {
  relax.func @few_pixels(%x: !relax.tensor<[1, 8, 7, 7], bf16>) -> !relax.tensor<[1, 32, 7, 7], f32> {
    %w = relax.constant dense<1.0> : tensor<32x8x1x1xbf16>
    %0 = relax.conv2d %x, %w {out_dtype = f32} : (!relax.tensor<[1, 8, 7, 7], bf16>, !relax.tensor<[32, 8, 1, 1], bf16>) -> !relax.tensor<[1, 32, 7, 7], f32>
    relax.return %0 : !relax.tensor<[1, 32, 7, 7], f32>
  }
}

// -----

// Words of four channels are made of rows of the image, and stay for all
// elements of the window. Two vectors of output channels are multiplied by a
// word of a pixel in all lanes.
// CHECK-LABEL: func.func private @relax.kernel.conv2d_packed(
// CHECK-SAME:    %{{.*}}: memref<1x8x14x14xi8>, %{{.*}}: memref<1x3x3x2x32x4xi8>
// CHECK:         %[[STRIP:.*]] = memref.alloc({{.*}}) {alignment = 64 : i64} : memref<{{.*}}xi8>
// CHECK-COUNT-4: vector.maskedload {{.*}} vector<16xi8>
// CHECK:         %[[WORDS:.*]] = vector.bitcast {{.*}} : vector<16xi32> to vector<64xi8>
// CHECK:         vector.store %[[WORDS]], %[[STRIP]]
// CHECK:         scf.for {{.*}} iter_args
// CHECK-COUNT-2:   vector.load {{.*}} vector<64xi8>
// CHECK:           %[[WORD:.*]] = vector.load %[[STRIP]]{{.*}} vector<4xi8>
// CHECK:           vector.bitcast %[[WORD]] : vector<4xi8> to vector<1xi32>
// CHECK-COUNT-28:  llvm.call @llvm.x86.avx512.vpdpbusd.512
module {
  relax.func @windows(%x: !relax.tensor<[1, 8, 14, 14], ui8>) -> !relax.tensor<[1, 32, 14, 14], i32> {
    %w = relax.constant dense<1> : tensor<32x8x3x3xi8>
    %0 = relax.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>, out_dtype = i32} : (!relax.tensor<[1, 8, 14, 14], ui8>, !relax.tensor<[32, 8, 3, 3], i8>) -> !relax.tensor<[1, 32, 14, 14], i32>
    relax.return %0 : !relax.tensor<[1, 32, 14, 14], i32>
  }
}

// -----

// Three channels of seven columns are six words of columns, which are loaded
// from the bytes of the image.
// CHECK-LABEL: func.func private @relax.kernel.conv2d_packed(
// CHECK-SAME:    %{{.*}}: memref<1x3x14x14xi8>, %{{.*}}: memref<1x7x3x2x32x4xi8>
// CHECK:         %[[STRIP:.*]] = memref.alloc({{.*}}) {alignment = 64 : i64} : memref<{{.*}}xi8>
// CHECK:         %[[ROW:.*]] = vector.maskedload {{.*}} vector<16xi8>
// CHECK:         vector.store %[[ROW]], %[[STRIP]]
// CHECK:         %[[WORD:.*]] = vector.load %[[STRIP]]{{.*}} vector<4xi8>
module {
  relax.func @columns(%x: !relax.tensor<[1, 3, 14, 14], ui8>) -> !relax.tensor<[1, 32, 14, 14], i32> {
    %w = relax.constant dense<1> : tensor<32x3x7x7xi8>
    %0 = relax.conv2d %x, %w {padding = array<i64: 3, 3, 3, 3>, out_dtype = i32} : (!relax.tensor<[1, 3, 14, 14], ui8>, !relax.tensor<[32, 3, 7, 7], i8>) -> !relax.tensor<[1, 32, 14, 14], i32>
    relax.return %0 : !relax.tensor<[1, 32, 14, 14], i32>
  }
}
