// RUN: relax-opt %s --split-input-file --relax-attach-target=vector-bits=512 --relax-emit-kernels --canonicalize --cse | FileCheck %s

// Images are padded with zeros, and the window moves by two: a panel is written
// from every other element of two vectors, the sums are of rows of panels, and
// what follows is computed on them. Nothing has the size of the padded image.
#id = affine_map<(n, c, y, x) -> (n, c, y, x)>
#channel = affine_map<(n, c, y, x) -> (0, c, 0, 0)>
#image2 = affine_map<(n, o, y, x, c, i, j) -> (n, c, y * 2 + i, x * 2 + j)>
#weight = affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>
#result = affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>
// CHECK-LABEL: func.func private @padded(
// CHECK-SAME:    %[[IMAGE:.*]]: memref<?x4x?x?xf32>, %{{.*}}: memref<6x4x3x3xf32>, %[[BIAS:.*]]: memref<1x6x1x1xf32>, %{{.*}}: memref<?x6x?x?xf32>)
// CHECK-SAME:    relax.kernel_class = "conv2d"
// CHECK:         memref.reinterpret_cast %[[BIAS]]
// CHECK:         %[[FROM:.*]] = memref.reinterpret_cast %[[IMAGE]]
// CHECK:         scf.parallel
// CHECK-COUNT-1:   memref.alloc
// CHECK:           %[[LOW:.*]] = vector.maskedload %[[FROM]]
// CHECK:           %[[HIGH:.*]] = vector.maskedload %[[FROM]]
// CHECK:           vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK:           vector.maskedstore
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, {{.*}}, vector<16xf32>)
// CHECK:             vector.fma
// CHECK:           arith.addf {{.*}} : vector<16xf32>
// CHECK:           arith.maximumf {{.*}} : vector<16xf32>
// CHECK:           vector.maskedstore
// CHECK-NOT:     memref.alloc
func.func private @padded(%x: tensor<?x4x?x?xf32>, %w: tensor<6x4x3x3xf32>, %bias: tensor<1x6x1x1xf32>, %out: tensor<?x6x?x?xf32>) -> tensor<?x6x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?x4x?x?xf32>
  %h = tensor.dim %x, %c2 : tensor<?x4x?x?xf32>
  %v = tensor.dim %x, %c3 : tensor<?x4x?x?xf32>
  %hp = arith.addi %h, %c2 : index
  %vp = arith.addi %v, %c2 : index
  %e = tensor.empty(%n, %hp, %vp) : tensor<?x4x?x?xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%e : tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  %slice = tensor.extract_slice %zeros[0, 0, 1, 1] [%n, 4, %h, %v] [1, 1, 1, 1] : tensor<?x4x?x?xf32> to tensor<?x4x?x?xf32>
  %copy = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x4x?x?xf32>) outs(%slice : tensor<?x4x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x4x?x?xf32>
  %padded = tensor.insert_slice %copy into %zeros[0, 0, 1, 1] [%n, 4, %h, %v] [1, 1, 1, 1] : tensor<?x4x?x?xf32> into tensor<?x4x?x?xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x6x?x?xf32>) -> tensor<?x6x?x?xf32>
  %0 = linalg.generic {indexing_maps = [#image2, #weight, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%padded, %w : tensor<?x4x?x?xf32>, tensor<6x4x3x3xf32>) outs(%fill : tensor<?x6x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x6x?x?xf32>
  %1 = linalg.generic {indexing_maps = [#channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%bias : tensor<1x6x1x1xf32>) outs(%0 : tensor<?x6x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    %r = arith.maximumf %s, %zero : f32
    linalg.yield %r : f32
  } -> tensor<?x6x?x?xf32>
  %2 = bufferization.materialize_in_destination %1 in %out : (tensor<?x6x?x?xf32>, tensor<?x6x?x?xf32>) -> tensor<?x6x?x?xf32>
  return %2 : tensor<?x6x?x?xf32>
}

// -----

// A window of one element reads the image where it lies.
#image = affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>
#weight = affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>
#result = affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>
// CHECK-LABEL: func.func private @pointwise(
// CHECK-SAME:    %[[IMAGE:.*]]: memref<1x4x?x?xf32>, %{{.*}}: memref<20x4x1x1xf32>, %{{.*}}: memref<1x20x?x?xf32>)
// CHECK-SAME:    relax.kernel_class = "conv2d"
// CHECK:         %[[FROM:.*]] = memref.reinterpret_cast %[[IMAGE]]
// CHECK:         vector.maskedload %[[FROM]]
// CHECK-NOT:     vector.shuffle {{.*}}[0, 2, 4
// CHECK:         vector.fma
func.func private @pointwise(%x: tensor<1x4x?x?xf32>, %w: tensor<20x4x1x1xf32>, %out: tensor<1x20x?x?xf32>) -> tensor<1x20x?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<1x20x?x?xf32>) -> tensor<1x20x?x?xf32>
  %0 = linalg.generic {indexing_maps = [#image, #weight, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x4x?x?xf32>, tensor<20x4x1x1xf32>) outs(%fill : tensor<1x20x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x20x?x?xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<1x20x?x?xf32>, tensor<1x20x?x?xf32>) -> tensor<1x20x?x?xf32>
  return %1 : tensor<1x20x?x?xf32>
}

// -----

// Weights in panels of output channels, which are lanes: seven pixels of a row
// are two vectors each. A task copies rows of the image, each element of which
// is multiplied where it lies; the finished tile is transposed.
#image = affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>
#weight = affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>
#result = affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>
// CHECK-LABEL: func.func private @panels(
// CHECK-SAME:    %[[IMAGE:.*]]: memref<?x4x9x9xf32>, %[[WEIGHT:.*]]: memref<2x3x3x4x32xf32>, %[[OUT:.*]]: memref<?x64x7x7xf32>)
// CHECK-SAME:    relax.kernel_class = "conv2d"
// CHECK-DAG:     %[[FROM:.*]] = memref.reinterpret_cast %[[IMAGE]]
// CHECK-DAG:     %[[PANELS:.*]] = memref.reinterpret_cast %[[WEIGHT]]
// CHECK-DAG:     %[[TO:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK:         scf.parallel
// CHECK-COUNT-1:   %[[ROWS:.*]] = memref.alloc
// CHECK:           vector.maskedload %[[FROM]]
// CHECK:           vector.store %{{.*}}, %[[ROWS]]
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, {{.*}}, vector<16xf32>)
// CHECK-COUNT-2:     vector.load %[[PANELS]]
// CHECK:             memref.load %[[ROWS]]
// CHECK-COUNT-28:    vector.fma
// CHECK-NOT:         vector.fma
// CHECK:           vector.shuffle
// CHECK:           vector.maskedstore %[[TO]]
// CHECK-NOT:     memref.alloc
func.func private @panels(%x: tensor<?x4x9x9xf32>, %panels: tensor<2x3x3x4x32xf32>, %out: tensor<?x64x7x7xf32>) -> tensor<?x64x7x7xf32> {
  %e = tensor.empty() : tensor<64x4x3x3xf32>
  %w = linalg.unpack %panels outer_dims_perm = [0, 2, 3, 1] inner_dims_pos = [0] inner_tiles = [32] into %e : tensor<2x3x3x4x32xf32> -> tensor<64x4x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x64x7x7xf32>) -> tensor<?x64x7x7xf32>
  %0 = linalg.generic {indexing_maps = [#image, #weight, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<?x4x9x9xf32>, tensor<64x4x3x3xf32>) outs(%fill : tensor<?x64x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x64x7x7xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<?x64x7x7xf32>, tensor<?x64x7x7xf32>) -> tensor<?x64x7x7xf32>
  return %1 : tensor<?x64x7x7xf32>
}

// -----

// What differs along the rows of the result is not contiguous over its pixels:
// this is a kernel of another class.
#id = affine_map<(n, c, y, x) -> (n, c, y, x)>
#column = affine_map<(n, c, y, x) -> (x)>
#image = affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>
#weight = affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>
#result = affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>
// CHECK-LABEL: func.func private @columns(
// CHECK-NOT:     "conv2d"
// CHECK:         return
func.func private @columns(%x: tensor<1x4x9x9xf32>, %w: tensor<6x4x3x3xf32>, %bias: tensor<7xf32>, %out: tensor<1x6x7x7xf32>) -> tensor<1x6x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<1x6x7x7xf32>) -> tensor<1x6x7x7xf32>
  %0 = linalg.generic {indexing_maps = [#image, #weight, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%x, %w : tensor<1x4x9x9xf32>, tensor<6x4x3x3xf32>) outs(%fill : tensor<1x6x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x6x7x7xf32>
  %1 = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%bias : tensor<7xf32>) outs(%0 : tensor<1x6x7x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<1x6x7x7xf32>
  %2 = bufferization.materialize_in_destination %1 in %out : (tensor<1x6x7x7xf32>, tensor<1x6x7x7xf32>) -> tensor<1x6x7x7xf32>
  return %2 : tensor<1x6x7x7xf32>
}
