// RUN: relax-opt %s --relax-attach-target=vector-bits=512 --relax-emit-kernels --canonicalize --cse | FileCheck %s

// Each output channel has one input channel: a task computes the image of one.
// Four rows at a time share the loads of six rows of the image; only those at the
// edges are checked, and nothing has the size of the padded image.
#id = affine_map<(n, c, y, x) -> (n, c, y, x)>
#image = affine_map<(n, g, o, y, x, c, i, j) -> (n, g, c, y + i, x + j)>
#weight = affine_map<(n, g, o, y, x, c, i, j) -> (g, o, c, i, j)>
#result = affine_map<(n, g, o, y, x, c, i, j) -> (n, g, o, y, x)>
// CHECK-LABEL: func.func private @depthwise(
// CHECK-SAME:    %[[IMAGE:.*]]: memref<1x6x?x?xf32>, %[[WEIGHT:.*]]: memref<6x1x3x3xf32>, %[[OUT:.*]]: memref<1x6x?x?xf32>)
// CHECK-SAME:    relax.kernel_class = "conv2d"
// CHECK-DAG:     %[[TO:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK-DAG:     %[[FROM:.*]] = memref.reinterpret_cast %[[IMAGE]]
// CHECK-DAG:     %[[WEIGHTS:.*]] = memref.reinterpret_cast %[[WEIGHT]]
// CHECK-NOT:     memref.alloc
// CHECK:         scf.parallel
// CHECK-COUNT-9:   memref.load %[[WEIGHTS]]
// CHECK:           scf.for
// Those at the top.
// CHECK:             scf.for
// CHECK:               arith.select {{.*}} : vector<16xf32>
// CHECK-COUNT-36:      vector.fma
// CHECK:               vector.maskedstore %[[TO]]
// Those inside.
// CHECK:             scf.for
// CHECK-NOT:           arith.select
// CHECK:               vector.maskedload %[[FROM]]
// CHECK-COUNT-36:      vector.fma
// CHECK-NOT:           vector.fma
// CHECK-COUNT-4:       vector.maskedstore %[[TO]]
// Those at the bottom, and what is left.
// CHECK:             scf.for
// CHECK:               arith.select {{.*}} : vector<16xf32>
// CHECK-COUNT-36:      vector.fma
// CHECK:             scf.for
// CHECK:               arith.select {{.*}} : vector<16xf32>
// CHECK-COUNT-9:       vector.fma
// CHECK-NOT:     memref.alloc
func.func private @depthwise(%x: tensor<1x6x?x?xf32>, %w: tensor<6x1x3x3xf32>, %out: tensor<1x6x?x?xf32>) -> tensor<1x6x?x?xf32> {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %h = tensor.dim %x, %c2 : tensor<1x6x?x?xf32>
  %v = tensor.dim %x, %c3 : tensor<1x6x?x?xf32>
  %hp = arith.addi %h, %c2 : index
  %vp = arith.addi %v, %c2 : index
  %e = tensor.empty(%hp, %vp) : tensor<1x6x?x?xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6x?x?xf32>) -> tensor<1x6x?x?xf32>
  %slice = tensor.extract_slice %zeros[0, 0, 1, 1] [1, 6, %h, %v] [1, 1, 1, 1] : tensor<1x6x?x?xf32> to tensor<1x6x?x?xf32>
  %copy = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x6x?x?xf32>) outs(%slice : tensor<1x6x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1x6x?x?xf32>
  %padded = tensor.insert_slice %copy into %zeros[0, 0, 1, 1] [1, 6, %h, %v] [1, 1, 1, 1] : tensor<1x6x?x?xf32> into tensor<1x6x?x?xf32>
  %images = tensor.expand_shape %padded [[0], [1, 2], [3], [4]] output_shape [1, 6, 1, %hp, %vp] : tensor<1x6x?x?xf32> into tensor<1x6x1x?x?xf32>
  %weights = tensor.expand_shape %w [[0, 1], [2], [3], [4]] output_shape [6, 1, 1, 3, 3] : tensor<6x1x3x3xf32> into tensor<6x1x1x3x3xf32>
  %e2 = tensor.empty(%h, %v) : tensor<1x6x1x?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x6x1x?x?xf32>) -> tensor<1x6x1x?x?xf32>
  %0 = linalg.generic {indexing_maps = [#image, #weight, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%images, %weights : tensor<1x6x1x?x?xf32>, tensor<6x1x1x3x3xf32>) outs(%fill : tensor<1x6x1x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x6x1x?x?xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2], [3], [4]] : tensor<1x6x1x?x?xf32> into tensor<1x6x?x?xf32>
  %2 = bufferization.materialize_in_destination %1 in %out : (tensor<1x6x?x?xf32>, tensor<1x6x?x?xf32>) -> tensor<1x6x?x?xf32>
  return %2 : tensor<1x6x?x?xf32>
}
