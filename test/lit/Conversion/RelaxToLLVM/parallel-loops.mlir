// RUN: relax-opt %s -split-input-file -relax-outline-parallel-loops | FileCheck %s

// The body becomes a function of a range of iterations, with what it needs in a
// struct; constants are repeated.

// CHECK-LABEL: func.func private @rows(
// CHECK: %[[CONTEXT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(f32, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, i64)>
// CHECK: %[[SIZE:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[COUNT:.*]] = arith.ceildivsi %[[SIZE]]
// CHECK: %[[N:.*]] = arith.index_cast %[[COUNT]] : index to i64
// CHECK: %[[F:.*]] = constant @rows.parallel : (!llvm.ptr, i64, i64) -> i32
// CHECK: %[[BODY:.*]] = builtin.unrealized_conversion_cast %[[F]]
// CHECK: %[[GRAIN:.*]] = llvm.mlir.constant(16 : i64)
// CHECK: llvm.call @relax_parallel_for(%[[BODY]], %[[CONTEXT]], %[[N]], %[[GRAIN]])
// CHECK-NOT: scf.parallel

// CHECK-LABEL: func.func private @rows.parallel(
// CHECK-SAME: %[[ARG:.*]]: !llvm.ptr, %[[BEGIN:.*]]: i64, %[[END:.*]]: i64) -> i32 attributes {relax.status}
// CHECK: llvm.getelementptr %[[ARG]][0, 0]
// CHECK: %[[STEP:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[LOW:.*]] = arith.index_cast %[[BEGIN]]
// CHECK-DAG: %[[HIGH:.*]] = arith.index_cast %[[END]]
// CHECK: scf.for %[[I:.*]] = %[[LOW]] to %[[HIGH]]
// CHECK: %[[SCALED:.*]] = arith.muli %[[I]], %[[STEP]]
// CHECK: %[[NUMBER:.*]] = arith.addi %[[SCALED]]
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[NUMBER]]]
// CHECK: return
func.func private @rows(%x: memref<?xf32>, %low: index, %n: index, %f: f32) {
  %c2 = arith.constant 2 : index
  scf.parallel (%i) = (%low) to (%n) step (%c2) {
    memref.store %f, %x[%i] : memref<?xf32>
  } {relax.grain = 16 : i64}
  return
}

// -----

// Loops that nothing says are worth threads, of two dimensions, with
// reductions, and in other ones stay.

// CHECK-LABEL: func.func private @stay(
// CHECK-NOT: relax_parallel_for
// CHECK-COUNT-3: scf.parallel
// CHECK: llvm.call @relax_parallel_for
// CHECK-NOT: relax_parallel_for
// CHECK-LABEL: func.func private @stay.parallel(
// CHECK: scf.parallel
// CHECK-NOT: llvm.call @relax_parallel_for
func.func private @stay(%x: memref<?xf32>, %n: index, %f: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    memref.store %f, %x[%i] : memref<?xf32>
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %c1) step (%c1, %c1) {
    memref.store %f, %x[%i] : memref<?xf32>
  } {relax.grain = 16 : i64}
  %sum = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%f) -> f32 {
    scf.reduce(%f : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  } {relax.grain = 16 : i64}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    scf.parallel (%j) = (%c0) to (%n) step (%c1) {
      memref.store %sum, %x[%i] : memref<?xf32>
    } {relax.grain = 1 : i64}
  } {relax.grain = 1 : i64}
  return
}

// -----

// A loop that a program calls parallel is one where iterations are apart.

// CHECK-LABEL: func.func private @apart(
// CHECK: llvm.call @relax_parallel_for
func.func private @apart(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %t = memref.alloca() : memref<1xf32>
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.load %x[%j, %i] : memref<?x?xf32>
      %b = memref.load %y[%i, %j] : memref<?x?xf32>
      %c = arith.addf %a, %b : f32
      memref.store %c, %t[%c0] : memref<1xf32>
      memref.store %c, %y[%i, %j] : memref<?x?xf32>
    }
  } {relax.loop = "parallel"}
  return
}

// -----

// Each iteration has sixteen indices of its own, but no more: neither another
// constant, nor another loop.
// CHECK-LABEL: func.func private @blocks(
// CHECK: call @relax_parallel_for
// CHECK-NOT: relax_parallel_for
// CHECK: scf.for
func.func private @blocks(%y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %n step %c1 {
    %first = arith.muli %i, %c16 : index
    %last = arith.addi %first, %c15 : index
    scf.for %j = %c0 to %c16 step %c1 {
      %each = arith.addi %first, %j : index
      %a = memref.load %y[%last] : memref<?xf32>
      memref.store %a, %y[%each] : memref<?xf32>
    }
  } {relax.loop = "parallel"}
  scf.for %i = %c0 to %n step %c1 {
    %first = arith.muli %i, %c16 : index
    %next = arith.addi %first, %c16 : index
    %a = memref.load %y[%next] : memref<?xf32>
    memref.store %a, %y[%first] : memref<?xf32>
  } {relax.loop = "parallel"}
  scf.for %i = %c0 to %n step %c1 {
    %first = arith.muli %i, %c15 : index
    scf.for %j = %c0 to %c16 step %c1 {
      %each = arith.addi %first, %j : index
      %a = memref.load %y[%first] : memref<?xf32>
      memref.store %a, %y[%each] : memref<?xf32>
    }
  } {relax.loop = "parallel"}
  return
}

// -----

// Where a loop is known to be independent, iterations may write at places that they compute. A region stands
// for the number of threads.
// CHECK-LABEL: func.func private @places(
// CHECK-NOT: scf.execute_region
// CHECK: %[[THREADS:.*]] = llvm.call @relax_num_threads_get() : () -> i32
// CHECK: arith.index_cast %[[THREADS]] : i32 to index
// CHECK: llvm.call @relax_parallel_for
// CHECK-LABEL: func.func private @places.parallel(
func.func private @places(%x: memref<?xindex>, %y: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %threads = scf.execute_region -> index no_inline {
    scf.yield %c1 : index
  } {relax.loop = "threads"}
  scf.for %i = %c0 to %threads step %c1 {
    %place = memref.load %x[%i] : memref<?xindex>
    memref.store %i, %y[%place] : memref<?xindex>
  } {relax.grain = 1 : i64, relax.loop = "independent"}
  return
}

// -----

// CHECK-LABEL: func.func private @transposed(
// CHECK-NOT: relax_parallel_for
func.func private @transposed(%y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %b = memref.load %y[%j, %i] : memref<?x?xf32>
      memref.store %b, %y[%i, %j] : memref<?x?xf32>
    }
  } {relax.loop = "parallel"}
  return
}

// -----

// CHECK-LABEL: func.func private @sum(
// CHECK-NOT: relax_parallel_for
func.func private @sum(%x: memref<?xf32>, %y: memref<1xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %y[%c0] : memref<1xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %y[%c0] : memref<1xf32>
  } {relax.loop = "parallel"}
  return
}

// -----

// A view may be of anything, and so may a function do.
// CHECK-LABEL: func.func private @unknown(
// CHECK-NOT: relax_parallel_for
func.func private @f(f32) -> f32
func.func private @unknown(%x: memref<?x4xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %row = memref.subview %x[%i, 0] [1, 4] [1, 1]
      : memref<?x4xf32> to memref<4xf32, strided<[1], offset: ?>>
    %a = memref.load %row[%c0] : memref<4xf32, strided<[1], offset: ?>>
    memref.store %a, %row[%c1] : memref<4xf32, strided<[1], offset: ?>>
  } {relax.loop = "parallel"}
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %y[%i] : memref<?xf32>
    %b = func.call @f(%a) : (f32) -> f32
    memref.store %b, %y[%i] : memref<?xf32>
  } {relax.loop = "parallel"}
  return
}

// -----

// A vector is at many indices of the last dimension, but at one of the others.
// CHECK-LABEL: func.func private @vectors_of_rows(
// CHECK: relax_parallel_for
func.func private @vectors_of_rows(%x: memref<?x16xf32>, %y: memref<?x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %a = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [true]} : memref<?x16xf32>, vector<16xf32>
    vector.transfer_write %a, %y[%i, %c0] {in_bounds = [true]} : vector<16xf32>, memref<?x16xf32>
  } {relax.loop = "parallel"}
  return
}

// -----

// CHECK-LABEL: func.func private @overlapping_vectors(
// CHECK-NOT: relax_parallel_for
func.func private @overlapping_vectors(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %a = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<?xf32>, vector<16xf32>
    vector.transfer_write %a, %y[%i] {in_bounds = [true]} : vector<16xf32>, memref<?xf32>
  } {relax.loop = "parallel"}
  return
}

// -----

// The iterations of a thread share a buffer whose size they agree on, where
// a thread has many of them.

// CHECK-LABEL: func.func private @shared(
// CHECK-LABEL: func.func private @shared.parallel(
// CHECK:         %[[SHARED:.*]] = memref.alloc(
// CHECK:         scf.for
// CHECK-NOT:       memref.dealloc %[[SHARED]]
// CHECK:           %[[OWN:.*]] = memref.alloc(
// CHECK:           memref.dealloc %[[OWN]]
// CHECK:         }
// CHECK:         memref.dealloc %[[SHARED]]
func.func private @shared(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %shared = memref.alloc(%n) : memref<?xf32>
    %own = memref.alloc(%i) : memref<?xf32>
    memref.copy %x, %shared : memref<?xf32> to memref<?xf32>
    memref.copy %x, %own : memref<?xf32> to memref<?xf32>
    memref.dealloc %own : memref<?xf32>
    memref.dealloc %shared : memref<?xf32>
  } {relax.grain = 16 : i64}
  return
}

// -----

// CHECK-LABEL: func.func private @large_tasks(
// CHECK-LABEL: func.func private @large_tasks.parallel(
// CHECK:         scf.for
// CHECK:           %[[TASK:.*]] = memref.alloc(
// CHECK:           %[[ROW:.*]] = memref.alloc(
// CHECK:           scf.for
// CHECK-NOT:         memref.alloc
// CHECK:           memref.dealloc %[[ROW]]
// CHECK:           memref.dealloc %[[TASK]]
func.func private @large_tasks(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %task = memref.alloc(%n) : memref<?xf32>
    scf.for %j = %c0 to %n step %c1 {
      %row = memref.alloc(%i) : memref<?xf32>
      memref.copy %x, %row : memref<?xf32> to memref<?xf32>
      memref.dealloc %row : memref<?xf32>
    }
    memref.copy %x, %task : memref<?xf32> to memref<?xf32>
    memref.dealloc %task : memref<?xf32>
  } {relax.grain = 1 : i64}
  return
}
