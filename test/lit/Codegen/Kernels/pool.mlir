// RUN: relax-opt %s --relax-attach-target=vector-bits=512 --relax-emit-kernels --canonicalize --cse | FileCheck %s

// A vector is of neighbouring windows. What the image does not have is the
// padding, which loads under a mask give: nothing has the size of the padded
// image. The operations that follow are computed on the result.
#id = affine_map<(n, c, y, x) -> (n, c, y, x)>
#image = affine_map<(n, c, y, x, i, j) -> (n, c, y * 2 + i, x * 2 + j)>
#window = affine_map<(n, c, y, x, i, j) -> (i, j)>
#result = affine_map<(n, c, y, x, i, j) -> (n, c, y, x)>
// CHECK-LABEL: func.func private @max(
// CHECK-SAME:    %[[IMAGE:.*]]: memref<?x4x?x?xf32>, %[[OUT:.*]]: memref<?x4x?x?xf32>)
// CHECK-SAME:    relax.kernel_class = "pool2d"
// CHECK-DAG:     %[[LOWEST:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK-DAG:     %[[FROM:.*]] = memref.reinterpret_cast %[[IMAGE]]
// CHECK-DAG:     %[[TO:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK-NOT:     memref.alloc
// CHECK:         scf.parallel
// CHECK:           scf.for {{.*}} iter_args(%[[MOST:.*]] = %[[LOWEST]]) -> (vector<16xf32>)
// CHECK:             %[[LOW:.*]] = vector.maskedload %[[FROM]]{{.*}}%[[LOWEST]]
// CHECK:             %[[HIGH:.*]] = vector.maskedload %[[FROM]]{{.*}}%[[LOWEST]]
// CHECK:             %[[EVEN:.*]] = vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK:             %[[VALUE:.*]] = arith.select %{{.*}}, %[[EVEN]], %[[LOWEST]]
// CHECK:             arith.maximumf %[[MOST]], %[[VALUE]]
// CHECK:           arith.mulf {{.*}} : vector<16xf32>
// CHECK:           vector.maskedstore %[[TO]]
func.func private @max(%x: tensor<?x4x?x?xf32>, %out: tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %x, %c0 : tensor<?x4x?x?xf32>
  %h = tensor.dim %x, %c2 : tensor<?x4x?x?xf32>
  %v = tensor.dim %x, %c3 : tensor<?x4x?x?xf32>
  %hp = arith.addi %h, %c2 : index
  %vp = arith.addi %v, %c2 : index
  %e = tensor.empty(%n, %hp, %vp) : tensor<?x4x?x?xf32>
  %lowest = arith.constant 0xFF800000 : f32
  %two = arith.constant 2.0 : f32
  %all = linalg.fill ins(%lowest : f32) outs(%e : tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  %slice = tensor.extract_slice %all[0, 0, 1, 1] [%n, 4, %h, %v] [1, 1, 1, 1] : tensor<?x4x?x?xf32> to tensor<?x4x?x?xf32>
  %copy = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<?x4x?x?xf32>) outs(%slice : tensor<?x4x?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?x4x?x?xf32>
  %padded = tensor.insert_slice %copy into %all[0, 0, 1, 1] [%n, 4, %h, %v] [1, 1, 1, 1] : tensor<?x4x?x?xf32> into tensor<?x4x?x?xf32>
  %shape = tensor.empty() : tensor<3x3xf32>
  %fill = linalg.fill ins(%lowest : f32) outs(%out : tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  %0 = linalg.generic {indexing_maps = [#image, #window, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %shape : tensor<?x4x?x?xf32>, tensor<3x3xf32>) outs(%fill : tensor<?x4x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.maximumf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<?x4x?x?xf32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      outs(%0 : tensor<?x4x?x?xf32>) {
  ^bb0(%o: f32):
    %m = arith.mulf %o, %two : f32
    linalg.yield %m : f32
  } -> tensor<?x4x?x?xf32>
  %2 = bufferization.materialize_in_destination %1 in %out : (tensor<?x4x?x?xf32>, tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
  return %2 : tensor<?x4x?x?xf32>
}
