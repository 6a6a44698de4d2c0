// RUN: relax-opt %s --split-input-file --relax-emit-kernels="vector-bits=512" --canonicalize --cse | FileCheck %s

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

// Sums that start with something else, products of integers, and an epilogue
// that reads what is not written yet.
// CHECK-NOT: relax.kernel_class = "matmul"
func.func private @accumulate(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>, %out: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func private @integers(%a: tensor<4x4xi32>, %b: tensor<4x4xi32>, %out: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %zero = arith.constant 0 : i32
  %fill = linalg.fill ins(%zero : i32) outs(%out : tensor<4x4xi32>) -> tensor<4x4xi32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x4xi32>, tensor<4x4xi32>) outs(%fill : tensor<4x4xi32>) -> tensor<4x4xi32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  return %1 : tensor<4x4xi32>
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
