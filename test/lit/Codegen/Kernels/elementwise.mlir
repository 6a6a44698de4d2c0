// Kernels without reductions. Dimensions that are walked through one after the
// other in memory are one loop, in parts of 4096 elements.
// RUN: relax-opt %s -relax-prepare-kernels -relax-attach-target=vector-bits=256 -relax-emit-kernels -canonicalize -cse | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#swap = affine_map<(i, j) -> (j, i)>
#last = affine_map<(i, j) -> (j)>
#first = affine_map<(i, j) -> (i, 0)>

module {
  relax.func @main(%x: !relax.tensor<ndim = 2, f32>, %b: !relax.tensor<ndim = 1, f32>, %c: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<ndim = 2, f32>, %z: !relax.tensor<ndim = 2, i1>) -> !relax.tensor<ndim = 2, f32> {
    relax.builtin.call_kernel @relu(%x) outs(%y) : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
    relax.builtin.call_kernel @broadcast(%x, %b, %c) outs(%z) : (!relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, i1>
    relax.builtin.call_kernel @transpose(%x) outs(%y) : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
    relax.builtin.call_kernel @add_transposed(%x, %c) outs(%y) : (!relax.tensor<ndim = 2, f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
    relax.return %y : !relax.tensor<ndim = 2, f32>
  }

  // One dimension: its size is the product of both.
  // CHECK: func.func private @relax.kernel.relu(%{{.*}}: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>) attributes {relax.kernel_class = "elementwise"}
  // CHECK: scf.parallel (%[[CHUNK:.*]]) =
  // CHECK: %[[BEGIN:.*]] = arith.muli %[[CHUNK]], %c4096
  // CHECK: arith.minui
  // CHECK-NOT: arith.muli
  // CHECK: scf.for %{{.*}} = %[[BEGIN]]
  // CHECK-COUNT-4: vector.store
  // CHECK: scf.for
  // CHECK: vector.maskedstore
  func.func private @relu(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %zero = arith.constant 0.0 : f32
      %1 = arith.maximumf %in, %zero : f32
      linalg.yield %1 : f32
    } -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }

  // Rows shorter than a vector are one range of elements: what does not lie like
  // the result is written to scratch memory as the result has it, the bias once,
  // the column for some multiple of 32 rows at a time.
  // CHECK: func.func private @relax.kernel.broadcast({{.*}}: memref<?x?xi8>) attributes {relax.kernel_class = "elementwise"}
  // CHECK: %[[SHORT:.*]] = arith.cmpi sle, %{{.*}}, %c7
  // CHECK: scf.if %[[SHORT]] {
  // CHECK: %[[MULTIPLES:.*]] = arith.divui %c1024
  // CHECK: %[[ROWS:.*]] = arith.muli %[[MULTIPLES]], %c32
  // CHECK: scf.parallel
  // CHECK: %[[BIAS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1032xf32>
  // CHECK: %[[COLUMN:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1032xf32>
  // CHECK: %[[ROW:.*]] = vector.maskedload
  // CHECK: scf.for
  // CHECK: vector.store %[[ROW]], %[[BIAS]]
  // CHECK: scf.for %{{.*}} step %[[ROWS]]
  // CHECK: %[[ELEMENT:.*]] = memref.load
  // CHECK: %[[SAME:.*]] = vector.broadcast %[[ELEMENT]]
  // CHECK: vector.store %[[SAME]], %[[COLUMN]]
  // CHECK: scf.for %{{.*}} step %c32
  // CHECK-COUNT-4: vector.load %[[COLUMN]]
  // CHECK-COUNT-4: vector.store
  // CHECK: vector.maskedstore

  // In longer ones, what is the same for a row is read once. Booleans are bytes.
  // Vectors are read before any is written, four of them, then one.
  // CHECK: } else {
  // CHECK: scf.parallel
  // CHECK: %[[C:.*]] = memref.load
  // CHECK: scf.for
  // CHECK-COUNT-2: vector.load
  // CHECK: vector.broadcast %[[C]]
  // CHECK: %[[BITS:.*]] = arith.cmpf
  // CHECK-COUNT-6: vector.load
  // CHECK: %[[BYTES:.*]] = arith.extui %[[BITS]] : vector<8xi1> to vector<8xi8>
  // CHECK: vector.store %[[BYTES]]
  // CHECK-COUNT-3: vector.store
  // CHECK: scf.for
  // CHECK: vector.store
  // CHECK: scf.for
  // CHECK: vector.maskedstore
  func.func private @broadcast(%x: tensor<?x?xf32>, %b: tensor<?xf32>, %c: tensor<?x1xf32>, %z: tensor<?x?xi1>) -> tensor<?x?xi1> {
    %0 = linalg.generic {indexing_maps = [#id, #last, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b, %c : tensor<?x?xf32>, tensor<?xf32>, tensor<?x1xf32>) outs(%z : tensor<?x?xi1>) {
    ^bb0(%0: f32, %1: f32, %2: f32, %out: i1):
      %3 = arith.addf %0, %1 : f32
      %4 = arith.cmpf olt, %3, %2 : f32
      linalg.yield %4 : i1
    } -> tensor<?x?xi1>
    return %0 : tensor<?x?xi1>
  }

  // CHECK: func.func private @relax.kernel.transpose({{.*}} attributes {relax.kernel_class = "elementwise"}
  // Narrow matrices are read element by element. Of others a task has 64 x 64
  // elements, which it transposes 8 x 8 at a time in registers. What is not there
  // is masked, or is the last row again.
  // CHECK: %[[NARROW:.*]] = arith.cmpi sle, %{{.*}}, %c7
  // CHECK: scf.if %[[NARROW]] {
  // CHECK-COUNT-4: memref.load
  // CHECK: %[[FEW:.*]] = vector.from_elements
  // CHECK: vector.store %[[FEW]]
  // CHECK: %[[ELEMENT:.*]] = memref.load
  // CHECK: memref.store %[[ELEMENT]]
  // CHECK: } else {
  // CHECK: scf.parallel
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK-COUNT-8: vector.load
  // CHECK-COUNT-24: vector.shuffle
  // CHECK-COUNT-8: vector.store
  // CHECK: } else {
  // CHECK: vector.create_mask
  // CHECK-COUNT-7: arith.minui
  // CHECK: vector.maskedload
  // CHECK-COUNT-24: vector.shuffle
  // CHECK-COUNT-8: vector.maskedstore
  // CHECK-NOT: vector.gather
  // CHECK: return
  func.func private @transpose(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %0 = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }

  // A tile of the transposed operand goes to scratch memory; the elements of the
  // one that lies like the result are read in place.
  // CHECK: func.func private @relax.kernel.add_transposed(%[[X:.*]]: memref<?x?xf32>, %{{.*}}: memref<?x?xf32>, {{.*}} attributes {relax.kernel_class = "elementwise"}
  // CHECK: %[[FLAT:.*]] = memref.reinterpret_cast %[[X]]
  // CHECK: } else {
  // CHECK: scf.parallel
  // CHECK: %[[TILE:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4096xf32>
  // CHECK-COUNT-24: vector.shuffle
  // CHECK-COUNT-8: vector.store %{{.*}}, %[[TILE]]
  // CHECK: vector.load %[[FLAT]]
  // CHECK: vector.load %[[TILE]]
  // CHECK: arith.addf
  func.func private @add_transposed(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %0 = linalg.generic {indexing_maps = [#id, #swap, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%0: f32, %1: f32, %out: f32):
      %2 = arith.addf %0, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<?x?xf32>
    return %0 : tensor<?x?xf32>
  }
}
