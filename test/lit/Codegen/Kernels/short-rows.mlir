// Rows that are shorter than vectors: as many as a vector has lanes are computed together. Their memory is transposed in
// registers on the way to scratch memory, where the same element of all of them is one vector.
// RUN: relax-opt %s -relax-prepare-kernels -relax-attach-target=vector-bits=256 -relax-emit-kernels -canonicalize -cse | FileCheck %s

#full = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

module {
  relax.func @main(%x: !relax.tensor<[n, 3], f32>, %y: !relax.tensor<[n, 3], f32>, %v: !relax.tensor<[n, m], f32>, %w: !relax.tensor<[n, m], f32>, %z: !relax.tensor<[20, 40, 3], f32>, %s: !relax.tensor<[40], f32>) -> !relax.tensor<[n, 3], f32> {
    relax.builtin.call_kernel @known(%x) outs(%y) : (!relax.tensor<[n, 3], f32>) -> !relax.tensor<[n, 3], f32>
    relax.builtin.call_kernel @dynamic(%v) outs(%w) : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
    relax.builtin.call_kernel @both_sides(%z) outs(%s) : (!relax.tensor<[20, 40, 3], f32>) -> !relax.tensor<[40], f32>
    relax.return %y : !relax.tensor<[n, 3], f32>
  }

  // Eight rows of three elements are three vectors of memory, and two of them are put together at a time.
  // CHECK: func.func private @relax.kernel.known(%[[X:.*]]: memref<?x3xf32>, %[[Y:.*]]: memref<?x3xf32>) attributes {relax.kernel_class = "rows"}
  // CHECK-DAG: %[[XS:.*]] = memref.reinterpret_cast %[[X]]
  // CHECK-DAG: %[[YS:.*]] = memref.reinterpret_cast %[[Y]]
  // CHECK: scf.parallel
  // CHECK-DAG: %[[IN:.*]] = memref.alloc() {alignment = 64 : i64} : memref<24xf32>
  // CHECK-DAG: %[[OUT:.*]] = memref.alloc() {alignment = 64 : i64} : memref<24xf32>
  // CHECK: scf.for
  // CHECK: scf.if
  // CHECK-COUNT-3: vector.load %[[XS]]
  // CHECK: } else {
  // CHECK-COUNT-3: vector.maskedload %[[XS]]
  // CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 3, 6, 9, 12, 15, 6, 7] : vector<8xf32>, vector<8xf32>
  // CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 2, 3, 4, 5, 10, 13] : vector<8xf32>, vector<8xf32>
  // CHECK-COUNT-3: vector.store %{{.*}} : memref<24xf32>
  // Exponentials wait in the block of the output, and are added row by row.
  // CHECK: scf.for %{{.*}} = %c0 to %c3 {{.*}} iter_args
  // CHECK: math.exp %{{.*}} : vector<8xf32>
  // CHECK: arith.addf %{{.*}} : vector<8xf32>
  // CHECK-NOT: vector.reduction
  // CHECK: scf.for
  // CHECK: arith.divf %{{.*}} : vector<8xf32>
  // CHECK-COUNT-6: vector.shuffle
  // CHECK: scf.if
  // CHECK-COUNT-3: vector.store %{{.*}}, %[[YS]]
  // CHECK: } else {
  // CHECK-COUNT-3: vector.maskedstore %[[YS]]
  func.func private @known(%x: tensor<?x3xf32>, %y: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x3xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %exp = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x3xf32>) outs(%y : tensor<?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = math.exp %in : f32
      linalg.yield %0 : f32
    } -> tensor<?x3xf32>
    %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<?x3xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %result = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<?x3xf32>, tensor<?xf32>) outs(%y : tensor<?x3xf32>) {
    ^bb0(%in: f32, %t: f32, %out: f32):
      %0 = arith.divf %in, %t : f32
      linalg.yield %0 : f32
    } -> tensor<?x3xf32>
    return %result : tensor<?x3xf32>
  }

  // Rows that turn out to be short are padded to eight elements. Others are computed as ever.
  // CHECK: func.func private @relax.kernel.dynamic(%[[V:.*]]: memref<?x?xf32>, %[[W:.*]]: memref<?x?xf32>) attributes {relax.kernel_class = "rows"}
  // CHECK-DAG: %[[VS:.*]] = memref.reinterpret_cast %[[V]]
  // CHECK-DAG: %[[IS_SHORT:.*]] = arith.cmpi sle, %{{.*}}, %c8
  // CHECK-DAG: %[[ARE_MANY:.*]] = arith.cmpi uge, %{{.*}}, %c4
  // CHECK: %[[BOTH:.*]] = arith.andi %[[IS_SHORT]], %[[ARE_MANY]]
  // CHECK: scf.if %[[BOTH]]
  // CHECK: scf.parallel
  // CHECK-COUNT-8: vector.maskedload %[[VS]]
  // CHECK: } else {
  // A row that is missing is the last one again.
  // CHECK: arith.minsi
  // CHECK: vector.maskedload %[[VS]]
  // CHECK-COUNT-24: vector.shuffle
  // CHECK-NOT: vector.reduction
  // CHECK-COUNT-24: vector.shuffle
  // CHECK-COUNT-16: vector.maskedstore
  // CHECK: } else {
  // CHECK: scf.parallel
  // CHECK: vector.reduction <add>
  func.func private @dynamic(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %n = tensor.dim %x, %c0 : tensor<?x?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
    %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<?xf32>
    %result = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%y : tensor<?x?xf32>) {
    ^bb0(%in: f32, %t: f32, %out: f32):
      %0 = arith.divf %in, %t : f32
      linalg.yield %0 : f32
    } -> tensor<?x?xf32>
    return %result : tensor<?x?xf32>
  }

  // Each vector of a block has an accumulator, which are transposed and added at the end.
  // CHECK: func.func private @relax.kernel.both_sides(
  // CHECK: scf.parallel
  // CHECK: %{{.*}}:3 = scf.for %{{.*}} = %c0 to %c20
  // CHECK-COUNT-3: vector.maskedload
  // CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}} : vector<8xf32>, vector<8xf32>, vector<8xf32>
  // CHECK-COUNT-6: vector.shuffle
  // CHECK-COUNT-2: arith.addf %{{.*}} : vector<8xf32>
  // CHECK: vector.maskedstore
  func.func private @both_sides(%x: tensor<20x40x3xf32>, %s: tensor<40xf32>) -> tensor<40xf32> {
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%s : tensor<40xf32>) -> tensor<40xf32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j)>], iterator_types = ["reduction", "parallel", "reduction"]} ins(%x : tensor<20x40x3xf32>) outs(%f : tensor<40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<40xf32>
    return %sum : tensor<40xf32>
  }
}
