// RUN: relax-opt %s --split-input-file --relax-phase-normalize="vector-bits=512 l2-bytes=1048576" --relax-phase-legalize | FileCheck %s --check-prefix=PACK
// RUN: relax-opt %s --split-input-file --relax-phase-normalize="vector-bits=512 l2-bytes=1048576" --relax-phase-legalize="winograd=false" | FileCheck %s --check-prefix=NONE
// RUN: relax-opt %s --split-input-file --relax-phase-normalize="vector-bits=512 l2-bytes=1048576" --relax-phase-legalize --relax-phase-memory --relax-phase-shapes --relax-prepare-kernels --relax-emit-kernels --canonicalize --cse | FileCheck %s --check-prefix=EMIT

// Constant weights of windows of 3 x 3 come as those of tiles of 6 x 6, and the
// kernel says how to get them back. It never does.
// PACK:         func.func private @conv2d_packed(%[[IMAGE:.*]]: tensor<1x16x28x28xf32>, %[[PANELS:.*]]: tensor<2x6x6x16x16xf32>,
// PACK:         %[[TILES:.*]] = linalg.unpack %[[PANELS]] outer_dims_perm = [0, 2, 3, 1] inner_dims_pos = [0] inner_tiles = [16]
// PACK-SAME:      -> tensor<32x16x6x6xf32>
// PACK:         linalg.generic
// PACK-SAME:      attrs = {relax.winograd = 4 : i64}
// PACK-COUNT-16:  tensor.extract %[[TILES]]
// PACK:         linalg.generic {{.*}} "reduction", "reduction", "reduction"]

// NONE-NOT:     relax.winograd
// NONE:         func.func private @conv2d{{.*}}(%{{.*}}: tensor<1x16x28x28xf32>, %{{.*}}: tensor<1x3x3x16x32xf32>,
// NONE-NOT:     relax.winograd

// Channels are lanes of what is transformed. The largest element of the image
// chooses: products for the 36 places of tiles, or windows.
// EMIT:         func.func private @relax.kernel.conv2d_packed(%[[IMAGE:.*]]: memref<1x16x28x28xf32>, %[[PANELS:.*]]: memref<2x6x6x16x16xf32>, %[[OUT:.*]]: memref<1x32x28x28xf32>)
// EMIT-SAME:      relax.kernel_class = "conv2d"
// EMIT-DAG:     %[[FROM:.*]] = memref.reinterpret_cast %[[IMAGE]]
// EMIT-DAG:     %[[WEIGHTS:.*]] = memref.reinterpret_cast %[[PANELS]]
// EMIT-DAG:     %[[TO:.*]] = memref.reinterpret_cast %[[OUT]]
// EMIT:         scf.parallel
// EMIT:           %[[SCRATCH:.*]] = memref.alloc
// EMIT-COUNT-16:  vector.maskedload %[[FROM]]
// EMIT:           vector.shuffle
// EMIT-COUNT-36:  vector.load %[[SCRATCH]]
// EMIT:           vector.fma
// EMIT-COUNT-36:  vector.store {{.*}}, %[[SCRATCH]]
// EMIT:           vector.reduction <maxui>
// EMIT:           scf.if
// EMIT:             scf.for %{{.*}} = %c0 to %c36
// EMIT:               memref.prefetch %[[WEIGHTS]]
// EMIT:               vector.load %[[WEIGHTS]]
// EMIT:               memref.load %[[SCRATCH]]
// EMIT:               vector.fma
// EMIT:             vector.shuffle
// EMIT:             vector.maskedstore %[[TO]]
// EMIT:           } else {
// EMIT-COUNT-16:    memref.load %[[WEIGHTS]]
// EMIT:             vector.maskedload %[[FROM]]
// EMIT:             vector.fma
// EMIT:             vector.maskedstore %[[TO]]
relax.func @main(%x: !relax.tensor<[1, 16, 28, 28], f32>) -> !relax.tensor<[1, 32, 28, 28], f32> {
  %w = relax.constant dense<0.5> : tensor<32x16x3x3xf32>
  %0 = relax.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>} : (!relax.tensor<[1, 16, 28, 28], f32>, !relax.tensor<[32, 16, 3, 3], f32>) -> !relax.tensor<[1, 32, 28, 28], f32>
  relax.return %0 : !relax.tensor<[1, 32, 28, 28], f32>
}

// -----

// A weight that is infinite is for windows that have it, not for tiles.
// PACK:         func.func private @conv2d{{.*}}(%{{.*}}: tensor<1x16x28x28xf32>, %{{.*}}: tensor<1x3x3x16x32xf32>,
// PACK-NOT:     relax.winograd
relax.func @main(%x: !relax.tensor<[1, 16, 28, 28], f32>) -> !relax.tensor<[1, 32, 28, 28], f32> {
  %w = relax.constant dense<0x7F800000> : tensor<32x16x3x3xf32>
  %0 = relax.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>} : (!relax.tensor<[1, 16, 28, 28], f32>, !relax.tensor<[32, 16, 3, 3], f32>) -> !relax.tensor<[1, 32, 28, 28], f32>
  relax.return %0 : !relax.tensor<[1, 32, 28, 28], f32>
}

// -----

// One dimension is transformed where windows have one column.
// PACK:         func.func private @conv2d_packed(%{{.*}}: tensor<1x16x28x28xf32>, %[[PANELS:.*]]: tensor<1x6x1x16x32xf32>,
// PACK:         %[[TILES:.*]] = linalg.unpack %[[PANELS]] {{.*}} -> tensor<32x16x6x1xf32>
// PACK:         attrs = {relax.winograd = 4 : i64}
// PACK-COUNT-4: tensor.extract %[[TILES]]
// EMIT:         func.func private @relax.kernel.conv2d_packed(%{{.*}}: memref<1x16x28x28xf32>, %{{.*}}: memref<1x6x1x16x32xf32>,
// EMIT:           vector.reduction <maxui>
// EMIT:             scf.for %{{.*}} = %c0 to %c6
relax.func @main(%x: !relax.tensor<[1, 16, 28, 28], f32>) -> !relax.tensor<[1, 32, 28, 28], f32> {
  %w = relax.constant dense<0.5> : tensor<32x16x3x1xf32>
  %0 = relax.conv2d %x, %w {padding = array<i64: 1, 0, 1, 0>} : (!relax.tensor<[1, 16, 28, 28], f32>, !relax.tensor<[32, 16, 3, 1], f32>) -> !relax.tensor<[1, 32, 28, 28], f32>
  relax.return %0 : !relax.tensor<[1, 32, 28, 28], f32>
}
