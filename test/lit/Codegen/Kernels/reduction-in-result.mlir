// RUN: relax-opt %s --relax-attach-target=vector-bits=256 --relax-emit-kernels | FileCheck %s

// A loop that is called a reduction, but is one of the dimensions of the result,
// reduces nothing: no row kernel.
// CHECK-LABEL: func.func private @k
// CHECK: linalg.generic
func.func private @k(%l: tensor<?x?xf32>, %r: tensor<?x?xf32>, %out: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n, k)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%l, %r : tensor<?x?xf32>, tensor<?x?xf32>) outs(%fill : tensor<?x?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<?x?x?xf32>
  %w = bufferization.materialize_in_destination %0 in %out : (tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %w : tensor<?x?x?xf32>
}
