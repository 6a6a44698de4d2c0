// RUN: relax-opt %s --relax-emit-kernels --canonicalize --cse | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>

// One call of the runtime copies all operands: it gets the bytes of a row of
// each of them, here what follows the first dimension.
// CHECK-LABEL: func.func private @columns(
// CHECK-SAME:    %[[X:.*]]: memref<2x?xf32>, %[[Y:.*]]: memref<2x3xf32>, %[[OUT:.*]]: memref<2x?xf32>)
// CHECK-SAME:    relax.kernel_class = "concat"
// CHECK-DAG:     %[[ROW:.*]] = arith.constant 12 : i64
// CHECK-DAG:     %[[COUNT:.*]] = llvm.mlir.constant(2 : i64) : i64
// CHECK-DAG:     %[[ROWS:.*]] = arith.constant 2 : i64
// CHECK-DAG:     %[[PARTS:.*]] = llvm.alloca %[[COUNT]] x !llvm.struct<(ptr, i64)>
// CHECK-NOT:     scf
// CHECK:         llvm.store %[[ROW]]
// CHECK:         llvm.call @relax_concat(%{{.*}}, %[[ROWS]], %{{.*}}, %[[PARTS]], %[[COUNT]])
// CHECK-NEXT:    return
func.func private @columns(%x: tensor<2x?xf32>, %y: tensor<2x3xf32>, %out: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c1 : tensor<2x?xf32>
  %a = tensor.extract_slice %out[0, 0] [2, %m] [1, 1] : tensor<2x?xf32> to tensor<2x?xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x?xf32>) outs(%a : tensor<2x?xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<2x?xf32>
  %c = tensor.insert_slice %b into %out[0, 0] [2, %m] [1, 1] : tensor<2x?xf32> into tensor<2x?xf32>
  %d = tensor.extract_slice %c[0, %m] [2, 3] [1, 1] : tensor<2x?xf32> to tensor<2x3xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<2x3xf32>) outs(%d : tensor<2x3xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<2x3xf32>
  %f = tensor.insert_slice %e into %c[0, %m] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<2x?xf32>
  %g = bufferization.materialize_in_destination %f in %out : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  return %g : tensor<2x?xf32>
}

// A kernel may also update a part of its rows, or have elements of index type.
// CHECK-LABEL: func.func private @rows_of_unknown_number(
// CHECK-NOT:     relax.kernel_class
// CHECK:         tensor.insert_slice
func.func private @rows_of_unknown_number(%x: tensor<?x?xf32>, %y: tensor<?x3xf32>, %out: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?x?xf32>
  %m = tensor.dim %x, %c1 : tensor<?x?xf32>
  %k = tensor.dim %y, %c0 : tensor<?x3xf32>
  %a = tensor.extract_slice %out[0, 0] [%n, %m] [1, 1] : tensor<?x?xf32> to tensor<?x?xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%a : tensor<?x?xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<?x?xf32>
  %c = tensor.insert_slice %b into %out[0, 0] [%n, %m] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
  %d = tensor.extract_slice %c[0, %m] [%k, 3] [1, 1] : tensor<?x?xf32> to tensor<?x3xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x3xf32>) outs(%d : tensor<?x3xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<?x3xf32>
  %f = tensor.insert_slice %e into %c[0, %m] [%k, 3] [1, 1] : tensor<?x3xf32> into tensor<?x?xf32>
  %g = bufferization.materialize_in_destination %f in %out : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %g : tensor<?x?xf32>
}

// CHECK-LABEL: func.func private @indices(
// CHECK-NOT:     relax.kernel_class
// CHECK:         tensor.insert_slice
func.func private @indices(%x: tensor<2xindex>, %out: tensor<4xindex>) -> tensor<4xindex> {
  %a = tensor.insert_slice %x into %out[0] [2] [1] : tensor<2xindex> into tensor<4xindex>
  %b = tensor.insert_slice %x into %a[2] [2] [1] : tensor<2xindex> into tensor<4xindex>
  %c = bufferization.materialize_in_destination %b in %out : (tensor<4xindex>, tensor<4xindex>) -> tensor<4xindex>
  return %c : tensor<4xindex>
}

// Slices that are not one after another: the second one would be copied to the
// wrong place.
// CHECK-LABEL: func.func private @gap(
// CHECK-NOT:     relax.kernel_class
// CHECK:         tensor.insert_slice
func.func private @gap(%x: tensor<2x2xf32>, %out: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %a = tensor.extract_slice %out[0, 0] [2, 2] [1, 1] : tensor<2x5xf32> to tensor<2x2xf32>
  %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x2xf32>) outs(%a : tensor<2x2xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %c = tensor.insert_slice %b into %out[0, 0] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<2x5xf32>
  %d = tensor.extract_slice %c[0, 3] [2, 2] [1, 1] : tensor<2x5xf32> to tensor<2x2xf32>
  %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x2xf32>) outs(%d : tensor<2x2xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %f = tensor.insert_slice %e into %c[0, 3] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<2x5xf32>
  %g = bufferization.materialize_in_destination %f in %out : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x5xf32>
  return %g : tensor<2x5xf32>
}

// What is inserted is no copy.
// CHECK-LABEL: func.func private @transposed(
// CHECK-NOT:     relax.kernel_class
// CHECK:         linalg.generic
func.func private @transposed(%x: tensor<2x2xf32>, %out: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %a = tensor.extract_slice %out[0, 0] [2, 2] [1, 1] : tensor<2x2xf32> to tensor<2x2xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x2xf32>) outs(%a : tensor<2x2xf32>) {
  ^bb0(%in: f32, %o: f32):
    linalg.yield %in : f32
  } -> tensor<2x2xf32>
  %c = tensor.insert_slice %b into %out[0, 0] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<2x2xf32>
  %g = bufferization.materialize_in_destination %c in %out : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %g : tensor<2x2xf32>
}
