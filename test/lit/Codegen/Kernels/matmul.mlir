// RUN: relax-opt %s --split-input-file --relax-attach-target=vector-bits=512 --relax-emit-kernels --canonicalize --cse | FileCheck %s

// The number of rows decides at run time: one and few rows read the right
// matrix where it lies, more rows copy blocks of both to scratch memory.
// CHECK-LABEL: func.func private @dynamic(
// CHECK-SAME:    %{{.*}}: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>)
// CHECK-SAME:    relax.kernel_class = "matmul"
// CHECK:         scf.if
// CHECK:           scf.parallel
// CHECK:         scf.if
// CHECK:           scf.parallel
// CHECK:             scf.for {{.*}} -> (vector<16xf32>, {{.*}}, vector<16xf32>)
// CHECK:         scf.if
// CHECK:         scf.parallel
// CHECK:           memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xf32>
// CHECK:           vector.shuffle
// CHECK:           memref.load
// CHECK:           vector.fma
// CHECK:           vector.maskedstore
func.func private @dynamic(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x?xf32>) -> tensor<?x?xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%fill : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// -----

// With one row only that case is left. A matrix that is a single vector is one
// of its rows, also where it is the right one: these are dot products.
// CHECK-LABEL: func.func private @row(
// CHECK-NOT:     scf.if
// CHECK-COUNT-18: vector.fma
// CHECK-NOT:     vector.fma
// CHECK-LABEL: func.func private @dots(
// CHECK:         vector.reduction <add>
func.func private @row(%a: tensor<1x?xf32>, %b: tensor<?x?xf32>, %out: tensor<1x?xf32>) -> tensor<1x?xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<1x?xf32>) -> tensor<1x?xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1x?xf32>, tensor<?x?xf32>) outs(%fill : tensor<1x?xf32>) -> tensor<1x?xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<1x?xf32>, tensor<1x?xf32>) -> tensor<1x?xf32>
  return %1 : tensor<1x?xf32>
}
func.func private @dots(%a: tensor<?x?xf32>, %b: tensor<?x1xf32>, %out: tensor<?x1xf32>) -> tensor<?x1xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x1xf32>) -> tensor<?x1xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x1xf32>) outs(%fill : tensor<?x1xf32>) -> tensor<?x1xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  return %1 : tensor<?x1xf32>
}

// -----

// What follows is computed while sums are in a register; nothing but the result
// is written.
#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func private @epilogue(
// CHECK-SAME:    %{{.*}}: memref<1x?xf32>, %{{.*}}: memref<?x?xf32>, %[[BIAS:.*]]: memref<?xf32>, %[[OUT:.*]]: memref<1x?xf16>)
// CHECK:         %[[TO:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK:         %[[BIASED:.*]] = arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK:         %[[NARROW:.*]] = arith.truncf %[[BIASED]] : vector<16xf32> to vector<16xf16>
// CHECK:         vector.maskedstore %[[TO]][{{.*}}], %{{.*}}, %[[NARROW]]
// CHECK-NOT:     maskedstore
func.func private @epilogue(%a: tensor<1x?xf32>, %b: tensor<?x?xf32>, %bias: tensor<?xf32>, %out: tensor<1x?xf16>) -> tensor<1x?xf16> {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %n = tensor.dim %b, %c1 : tensor<?x?xf32>
  %empty = tensor.empty(%n) : tensor<1x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x?xf32>) -> tensor<1x?xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1x?xf32>, tensor<?x?xf32>) outs(%fill : tensor<1x?xf32>) -> tensor<1x?xf32>
  %1 = linalg.generic {indexing_maps = [#ij, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%0, %bias : tensor<1x?xf32>, tensor<?xf32>) outs(%out : tensor<1x?xf16>) {
  ^bb0(%x: f32, %y: f32, %o: f16):
    %sum = arith.addf %x, %y : f32
    %narrow = arith.truncf %sum : f32 to f16
    linalg.yield %narrow : f16
  } -> tensor<1x?xf16>
  %2 = bufferization.materialize_in_destination %1 in %out : (tensor<1x?xf16>, tensor<1x?xf16>) -> tensor<1x?xf16>
  return %2 : tensor<1x?xf16>
}

// -----

// Integers wrap around.
// CHECK-LABEL: func.func private @integers
// CHECK-SAME:  relax.kernel_class = "matmul"
// CHECK:         arith.muli %{{.*}} : vector<
// CHECK-NEXT:    arith.addi %{{.*}} : vector<
// CHECK-NOT:     vector.fma
// CHECK:         vector.maskedstore
func.func private @integers(%a: tensor<?x?xi32>, %b: tensor<?x?xi32>, %out: tensor<?x?xi32>) -> tensor<?x?xi32> {
  %zero = arith.constant 0 : i32
  %fill = linalg.fill ins(%zero : i32) outs(%out : tensor<?x?xi32>) -> tensor<?x?xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<?x?xi32>, tensor<?x?xi32>) outs(%fill : tensor<?x?xi32>) -> tensor<?x?xi32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
  return %1 : tensor<?x?xi32>
}

// -----

// Sums that start with something else, and an epilogue that reads what is not
// written yet.
// CHECK-NOT: relax.kernel_class = "matmul"
func.func private @accumulate(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>, %out: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func private @transposed_after(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %out: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%fill : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.transpose ins(%0 : tensor<4x4xf32>) outs(%out : tensor<4x4xf32>) permutation = [1, 0]
  %2 = bufferization.materialize_in_destination %1 in %out : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// Threads pack the right matrix together. How the product is divided depends on
// how many they are. The depth is one block, so a tile is finished at once.
// CHECK-LABEL: func.func private @blocks(
// CHECK:         scf.execute_region -> index no_inline
// CHECK:         relax.loop = "threads"
// CHECK:         memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xf32>
// CHECK:         scf.for
// CHECK:           scf.parallel
// CHECK-NOT:         vector.fma
// CHECK:             vector.load
// CHECK:             vector.store
// CHECK:           scf.parallel
// CHECK:             memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xf32>
// CHECK:             vector.fma
// With a batch, tasks pack what they need.
// CHECK-LABEL: func.func private @batch(
// CHECK-NOT:     memref.alloc(
// CHECK:         scf.parallel
// CHECK:           memref.alloc
// CHECK-NOT:     scf.parallel
// CHECK:           vector.fma
func.func private @blocks(%a: tensor<64x512xf32>, %b: tensor<512x?xf32>, %out: tensor<64x?xf32>) -> tensor<64x?xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x?xf32>) -> tensor<64x?xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x512xf32>, tensor<512x?xf32>) outs(%fill : tensor<64x?xf32>) -> tensor<64x?xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x?xf32>, tensor<64x?xf32>) -> tensor<64x?xf32>
  return %1 : tensor<64x?xf32>
}
func.func private @batch(%a: tensor<?x64x512xf32>, %b: tensor<?x512x96xf32>, %out: tensor<?x64x96xf32>) -> tensor<?x64x96xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x64x96xf32>) -> tensor<?x64x96xf32>
  %0 = linalg.batch_matmul ins(%a, %b : tensor<?x64x512xf32>, tensor<?x512x96xf32>) outs(%fill : tensor<?x64x96xf32>) -> tensor<?x64x96xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<?x64x96xf32>, tensor<?x64x96xf32>) -> tensor<?x64x96xf32>
  return %1 : tensor<?x64x96xf32>
}

// -----

// Each element is written to the slice that it is in, and to nothing else.
#ij = affine_map<(i, j) -> (i, j)>
// CHECK-LABEL: func.func private @slices(
// CHECK-SAME:    %{{.*}}: memref<1x?xf32>, %{{.*}}: memref<?x30xf32>, %[[FIRST:.*]]: memref<1x10xf32>, %[[SECOND:.*]]: memref<1x20xf32>)
// CHECK-SAME:    relax.kernel_class = "matmul"
// CHECK-DAG:     %[[TO_FIRST:.*]] = memref.reinterpret_cast %[[FIRST]]
// CHECK-DAG:     %[[TO_SECOND:.*]] = memref.reinterpret_cast %[[SECOND]]
// CHECK:         vector.maskedstore %[[TO_FIRST]]
// CHECK:         vector.maskedstore %[[TO_SECOND]]
// CHECK-NOT:     maskedstore
func.func private @slices(%a: tensor<1x?xf32>, %b: tensor<?x30xf32>, %first: tensor<1x10xf32>, %second: tensor<1x20xf32>) -> (tensor<1x10xf32>, tensor<1x20xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x30xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x30xf32>) -> tensor<1x30xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1x?xf32>, tensor<?x30xf32>) outs(%fill : tensor<1x30xf32>) -> tensor<1x30xf32>
  %1 = tensor.extract_slice %0[0, 0] [1, 10] [1, 1] : tensor<1x30xf32> to tensor<1x10xf32>
  %2 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%1 : tensor<1x10xf32>) outs(%first : tensor<1x10xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<1x10xf32>
  %3 = tensor.extract_slice %0[0, 10] [1, 20] [1, 1] : tensor<1x30xf32> to tensor<1x20xf32>
  %4 = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%3 : tensor<1x20xf32>) outs(%second : tensor<1x20xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<1x20xf32>
  %5 = bufferization.materialize_in_destination %2 in %first : (tensor<1x10xf32>, tensor<1x10xf32>) -> tensor<1x10xf32>
  %6 = bufferization.materialize_in_destination %4 in %second : (tensor<1x20xf32>, tensor<1x20xf32>) -> tensor<1x20xf32>
  return %5, %6 : tensor<1x10xf32>, tensor<1x20xf32>
}
