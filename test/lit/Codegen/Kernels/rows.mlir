// Reductions of rows: a loop for each that waits for another one, with four
// accumulators, and one under a mask for what is left.
// RUN: relax-opt %s -relax-prepare-kernels -relax-attach-target=vector-bits=256 -relax-emit-kernels -canonicalize -cse | FileCheck %s
// RUN: not relax-opt %s -relax-attach-target=vector-bits=96 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: expected vector-bits to be 0 or a power of two from 64 on, but got 96

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#groups = affine_map<(i, g, c, j) -> (i, g, c, j)>
#group = affine_map<(i, g, c, j) -> (i, g)>
#channel = affine_map<(i, g, c, j) -> (g, c)>

module {
  relax.func @main(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<ndim = 2, f32>, %s: !relax.tensor<ndim = 1, f32>, %z: !relax.tensor<ndim = 3, f32>, %t: !relax.tensor<ndim = 3, f32>) -> !relax.tensor<ndim = 2, f32> {
    relax.builtin.call_kernel @softmax(%x) outs(%y) : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
    relax.builtin.call_kernel @centered(%x) outs(%y) : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
    relax.builtin.call_kernel @columns(%x) outs(%s) : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 1, f32>
    relax.builtin.call_kernel @expanded(%z, %s) outs(%t) : (!relax.tensor<ndim = 3, f32>, !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 3, f32>
    relax.return %y : !relax.tensor<ndim = 2, f32>
  }

  // CHECK: func.func private @relax.kernel.softmax(%[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?x?xf32>) attributes {relax.kernel_class = "rows"}
  // CHECK-DAG: %[[XS:.*]] = memref.reinterpret_cast %[[X]]
  // CHECK-DAG: %[[YS:.*]] = memref.reinterpret_cast %[[Y]]
  // CHECK: scf.parallel (%[[I:.*]]) =
  // The greatest number, and, for two vectors each, flags of lanes without NaN.
  // CHECK: %{{.*}}:6 = scf.for {{.*}} iter_args
  // CHECK-COUNT-4: arith.cmpf ogt, %{{.*}}, %{{.*}} : vector<8xf32>
  // CHECK-COUNT-2: arith.cmpf ord, %{{.*}}, %{{.*}} : vector<8xf32>
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: vector.create_mask
  // CHECK: vector.maskedload %[[XS]]
  // CHECK: arith.select
  // CHECK: %[[GREATEST:.*]] = vector.reduction <maxnumf>, %{{.*}} fastmath<reassoc,nnan,nsz>
  // CHECK: %[[FLAG:.*]] = vector.reduction <and>
  // CHECK: arith.select %[[FLAG]], %[[GREATEST]], %{{.*}} : f32
  // The exponentials wait in the row of the output for their sum.
  // CHECK: %{{.*}}:4 = scf.for {{.*}} iter_args
  // CHECK: math.exp
  // CHECK: vector.store %{{.*}}, %[[YS]]
  // CHECK: vector.reduction <add>, %{{.*}} fastmath<reassoc>
  // They are multiplied by its reciprocal, which the division allows.
  // CHECK: scf.for
  // CHECK: vector.load %[[YS]]
  // CHECK-NOT: arith.divf {{.*}} : vector
  // CHECK: vector.store %{{.*}}, %[[YS]]
  // CHECK: relax.grain =
  func.func private @softmax(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %n = tensor.dim %x, %c0 : tensor<?x?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %low = linalg.fill ins(%lowest : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%low : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.maximumf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %exp = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %max : tensor<?x?xf32>, tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%in: f32, %m: f32, %out: f32):
      %0 = arith.subf %in, %m : f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<?x?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %result = linalg.generic {indexing_maps = [#row, #full], iterator_types = ["parallel", "parallel"]} ins(%sum : tensor<?xf32>) outs(%exp : tensor<?x?xf32>) {
    ^bb0(%s: f32, %out: f32):
      %0 = arith.divf %out, %s fastmath<arcp> : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    return %result : tensor<?x?xf32>
  }

  // Elements of a row are far apart: 32 rows are worked on together, or, at the
  // end, 8 under a mask.
  // CHECK: func.func private @relax.kernel.columns({{.*}} attributes {relax.kernel_class = "rows"}
  // CHECK: scf.parallel
  // CHECK: scf.if
  // CHECK: scf.for
  // CHECK-COUNT-4: arith.addf %{{.*}} : vector<8xf32>
  // CHECK-NOT: vector.reduction
  // CHECK: } else {
  // CHECK: %[[MASK:.*]] = vector.create_mask
  // CHECK: scf.for
  // CHECK: vector.maskedload %{{.*}}, %[[MASK]]
  // CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
  func.func private @columns(%x: tensor<?x?xf32>, %s: tensor<?xf32>) -> tensor<?xf32> {
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%s : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#full, #column], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    return %sum : tensor<?xf32>
  }

  // Exponentials wait in the row of the output, then quotients take their place.
  // CHECK: func.func private @relax.kernel.centered(%[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?x?xf32>)
  // Short rows come first.
  // CHECK: scf.parallel
  // CHECK: scf.parallel
  // CHECK-NOT: memref.alloc
  // CHECK: math.exp
  // CHECK-NOT: memref.alloc
  // CHECK: vector.load %[[YS:.*]][
  // CHECK: vector.store %{{.*}}, %[[YS]]
  // CHECK: vector.reduction <add>
  // CHECK: vector.load %[[YS]]
  // CHECK: arith.subf
  // CHECK: vector.store %{{.*}}, %[[YS]]
  func.func private @centered(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %exp = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = math.exp %in : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %quotient = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%in: f32, %s: f32, %out: f32):
      %0 = arith.divf %in, %s : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    %total = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%quotient : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %result = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%quotient, %total : tensor<?x?xf32>, tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%in: f32, %t: f32, %out: f32):
      %0 = arith.subf %in, %t : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    return %result : tensor<?x?xf32>
  }

  // A row is a group of four channels, of which each has a factor. Elements lie
  // in the parameters where they are, without a copy.
  // CHECK: func.func private @relax.kernel.expanded(%[[X:.*]]: memref<?x8x?xf32>, %[[F:.*]]: memref<8xf32>, %[[Y:.*]]: memref<?x8x?xf32>) attributes {relax.kernel_class = "rows"}
  // CHECK-NOT: memref.alloc
  // CHECK: scf.parallel
  // CHECK: scf.for %{{.*}} = %{{.*}} to %c4
  // CHECK: vector.reduction <add>
  // CHECK: scf.for %{{.*}} = %{{.*}} to %c4
  // CHECK: vector.store
  // CHECK-NOT: memref.copy
  // CHECK: relax.grain =
  func.func private @expanded(%x: tensor<?x8x?xf32>, %f: tensor<8xf32>, %y: tensor<?x8x?xf32>) -> tensor<?x8x?xf32> {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x8x?xf32>
    %m = tensor.dim %x, %c2 : tensor<?x8x?xf32>
    %xs = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [%n, 2, 4, %m] : tensor<?x8x?xf32> into tensor<?x2x4x?xf32>
    %fs = tensor.expand_shape %f [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    %ys = tensor.expand_shape %y [[0], [1, 2], [3]] output_shape [%n, 2, 4, %m] : tensor<?x8x?xf32> into tensor<?x2x4x?xf32>
    %rows = tensor.dim %xs, %c0 : tensor<?x2x4x?xf32>
    %e = tensor.empty(%rows) : tensor<?x2xf32>
    %start = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
    %sum = linalg.generic {indexing_maps = [#groups, #group], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%xs : tensor<?x2x4x?xf32>) outs(%start : tensor<?x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?x2xf32>
    %r = linalg.generic {indexing_maps = [#groups, #group, #channel, #groups], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%xs, %sum, %fs : tensor<?x2x4x?xf32>, tensor<?x2xf32>, tensor<2x4xf32>) outs(%ys : tensor<?x2x4x?xf32>) {
    ^bb0(%in: f32, %s: f32, %factor: f32, %out: f32):
      %0 = arith.subf %in, %s : f32
      %1 = arith.mulf %0, %factor : f32
      linalg.yield %1 : f32
    } -> tensor<?x2x4x?xf32>
    %c = tensor.collapse_shape %r [[0], [1, 2], [3]] : tensor<?x2x4x?xf32> into tensor<?x8x?xf32>
    return %c : tensor<?x8x?xf32>
  }
}
