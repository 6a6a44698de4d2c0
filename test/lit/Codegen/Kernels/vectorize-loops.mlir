// RUN: relax-opt %s -split-input-file -pass-pipeline='builtin.module(relax-attach-target{vector-bits=256},func.func(relax-vectorize-loops,canonicalize,cse))' | FileCheck %s

// Neighbours, of a number of iterations that is not known: four vectors at a
// time, then one, then the rest under a mask.
// CHECK-LABEL: func.func @neighbours
// CHECK: scf.for
// CHECK-COUNT-4: vector.store
// CHECK: scf.for
// CHECK: vector.load
// CHECK: vector.store
// CHECK: vector.create_mask
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func @neighbours(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<?xf32>
    %1 = arith.mulf %0, %0 : f32
    memref.store %1, %y[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// -----

// A row that is updated where it is: what is left of it is half a vector, a
// quarter and so on, as the next row may begin within a masked store.
// CHECK-LABEL: func.func @update
// CHECK: vector.store {{.*}} vector<8xf32>
// CHECK-NOT: vector.create_mask
// CHECK: vector.store {{.*}} vector<4xf32>
// CHECK: vector.store {{.*}} vector<2xf32>
// CHECK: vector.store {{.*}} vector<1xf32>
func.func @update(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<?xf32>
    %1 = memref.load %y[%i] : memref<?xf32>
    %2 = arith.mulf %0, %1 : f32
    memref.store %2, %y[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// -----

// Iterations that write one element each from a place on, which is computed
// twice, see nothing of each other.
// CHECK-LABEL: func.func @block
// CHECK: vector.load {{.*}} vector<8xf32>
// CHECK: vector.store {{.*}} vector<8xf32>
func.func @block(%x: memref<?xf32>, %b: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %first = arith.muli %b, %c16 : index
    %from = arith.addi %first, %i : index
    %0 = memref.load %x[%from] : memref<?xf32>
    %1 = arith.mulf %0, %0 : f32
    %again = arith.muli %b, %c16 : index
    %to = arith.addi %again, %i : index
    memref.store %1, %x[%to] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// -----

// From different places on, they may.
// CHECK-LABEL: func.func @two_blocks
// CHECK-NOT: vector.load
func.func @two_blocks(%x: memref<?xf32>, %a: index, %b: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %from = arith.addi %a, %i : index
    %0 = memref.load %x[%from] : memref<?xf32>
    %1 = arith.mulf %0, %0 : f32
    %to = arith.addi %b, %i : index
    memref.store %1, %x[%to] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// -----

// Backwards, and every second element of pairs; no loop for a single vector.
// CHECK-LABEL: func.func @strides
// CHECK-NOT: scf.for
// CHECK: vector.load
// CHECK: vector.shuffle {{.*}} [7, 6, 5, 4, 3, 2, 1, 0]
// CHECK: vector.shuffle {{.*}} [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK: vector.store
func.func @strides(%x: memref<16xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %back = arith.subi %c7, %i : index
    %0 = memref.load %x[%back] : memref<16xf32>
    %twice = arith.muli %i, %c2 : index
    %odd = arith.addi %twice, %c1 : index
    %1 = memref.load %x[%odd] : memref<16xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %y[%i] : memref<8xf32>
  } {relax.loop = "vectorized"}
  return
}

// -----

// Stores next to each other in each lane are transposed in registers: here, of
// two columns, lanes follow one another.
// CHECK-LABEL: func.func @transposed
// CHECK: vector.shuffle {{.*}} [0, 8, 1, 9, 2, 10, 3, 11]
// CHECK: vector.shuffle {{.*}} [4, 12, 5, 13, 6, 14, 7, 15]
// CHECK-COUNT-2: vector.store {{.*}} vector<8xf32>
// CHECK-NOT: memref.store
func.func @transposed(%x: memref<8xf32>, %y: memref<8x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %x[%i] : memref<8xf32>
    %1 = arith.negf %0 : f32
    memref.store %0, %y[%i, %c0] : memref<8x2xf32>
    memref.store %1, %y[%i, %c1] : memref<8x2xf32>
  } {relax.loop = "vectorized"}
  return
}

// -----

// An iteration sees what the one before has written: the loop stays.
// CHECK-LABEL: func.func @in_order
// CHECK: scf.for
// CHECK: memref.store
// CHECK: relax.loop = "vectorized"
func.func @in_order(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c1 to %n step %c1 {
    %before = arith.subi %i, %c1 : index
    %0 = memref.load %x[%before] : memref<?xf32>
    memref.store %0, %x[%i] : memref<?xf32>
  } {relax.loop = "vectorized"}
  return
}

// -----

// A loop that is called parallel, and is: buffers of an iteration are its own.
// CHECK-LABEL: func.func @parallel
// CHECK: scf.for
// CHECK: memref.alloca
// CHECK: relax.grain = {{[0-9]+}} : i64, relax.loop = "independent"
func.func @parallel(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  scf.for %r = %c0 to %n step %c1 {
    %kept = memref.alloca() : memref<2x4xf32>
    %flat = memref.collapse_shape %kept [[0, 1]] : memref<2x4xf32> into memref<8xf32>
    %0 = memref.load %x[%r, %c0] : memref<?x8xf32>
    memref.store %0, %kept[%c0, %c1] : memref<2x4xf32>
    %1 = memref.load %flat[%c1] : memref<8xf32>
    memref.store %1, %y[%r, %c0] : memref<?x8xf32>
  } {relax.loop = "parallel"}
  return
}

// -----

// A prefetch changes no memory: other iterations may read what it names.
// CHECK-LABEL: func.func @prefetched
// CHECK: memref.prefetch
// CHECK: relax.loop = "independent"
func.func @prefetched(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %r = %c0 to %n step %c1 {
    %ahead = arith.addi %r, %c1 : index
    memref.prefetch %x[%ahead], read, locality<3>, data : memref<?xf32>
    %0 = memref.load %x[%r] : memref<?xf32>
    memref.store %0, %y[%r] : memref<?xf32>
  } {relax.loop = "parallel"}
  return
}
