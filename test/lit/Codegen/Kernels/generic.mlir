// RUN: relax-opt %s --relax-attach-target=vector-bits=256 --relax-lower-linalg --split-input-file | FileCheck %s

// Elements at computed places are next to each other along the last loop: whole
// vectors, and the rest under a mask. Whole rows, and parts of them, are shared
// by threads. What all lanes read is read once.
// CHECK-LABEL: func.func @take
// CHECK:         scf.parallel
// CHECK:           %[[ROW:.*]] = memref.load
// CHECK:           scf.for
// CHECK:             arith.index_cast %[[ROW]] : i64 to index
// CHECK:             vector.load {{.*}} : memref<?xf32>, vector<8xf32>
// CHECK:             vector.store
// CHECK:           scf.for
// CHECK:             %[[MASK:.*]] = vector.create_mask
// CHECK:             vector.maskedload %{{.*}}, %[[MASK]]
// CHECK:             vector.maskedstore %{{.*}}, %[[MASK]]
// CHECK:         relax.grain
#row = affine_map<(i, j) -> (i)>
#full = affine_map<(i, j) -> (i, j)>
func.func @take(%x: memref<?x?xf32>, %rows: memref<?xi64>, %out: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#row, #full], iterator_types = ["parallel", "parallel"]} ins(%rows : memref<?xi64>) outs(%out : memref<?x?xf32>) {
  ^bb0(%row: i64, %old: f32):
    %i = arith.index_cast %row : i64 to index
    %j = linalg.index 1 : index
    %0 = memref.load %x[%i, %j] : memref<?x?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// Elements that are far apart are gathered; lanes read only what their
// condition allows.
// CHECK-LABEL: func.func @shift
// CHECK:         %[[IN:.*]] = arith.cmpi sgt, %{{.*}} : vector<8xindex>
// CHECK-NOT:     scf.if
// CHECK:         vector.gather %{{.*}}, %[[IN]],
// CHECK:         arith.select %[[IN]]
func.func @shift(%x: memref<100xf32>, %out: memref<16xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%out : memref<16xf32>) {
  ^bb0(%old: f32):
    %c3 = arith.constant 3 : index
    %zero = arith.constant 0.0 : f32
    %i = linalg.index 0 : index
    %in = arith.cmpi sgt, %i, %c3 : index
    %0 = scf.if %in -> f32 {
      %1 = arith.muli %i, %c3 : index
      %2 = memref.load %x[%1] : memref<100xf32>
      scf.yield %2 : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %0 : f32
  }
  return
}

// -----

// A reduction with two results, of four vectors at a time.
// CHECK-LABEL: func.func @best
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK-COUNT-8:     vector.load
// CHECK:             scf.for {{.*}} -> (vector<4xf32>, vector<4xi64>, vector<4xf32>, vector<4xi64>, vector<4xf32>, vector<4xi64>, vector<4xf32>, vector<4xi64>)
// CHECK-COUNT-8:     vector.store
#in = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @best(%x: memref<?x?xf32>, %best: memref<?xf32>, %place: memref<?xi64>) {
  linalg.generic {indexing_maps = [#in, #column, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<?x?xf32>) outs(%best, %place : memref<?xf32>, memref<?xi64>) {
  ^bb0(%next: f32, %old: f32, %at: i64):
    %i = linalg.index 0 : index
    %here = arith.index_cast %i : index to i64
    %better = arith.cmpf ogt, %next, %old : f32
    %0 = arith.select %better, %next, %old : f32
    %1 = arith.select %better, %here, %at : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// -----

// Lanes reduce a part of the row each, and are combined at the end; of several
// that are the best, the first one is taken.
// CHECK-LABEL: func.func @row
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK:             vector.load
// CHECK:           scf.for
// CHECK:             vector.maskedload
// CHECK:           scf.for
// CHECK:             vector.extract
// CHECK:             arith.cmpi slt
// CHECK:           memref.store
#rows = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func @row(%x: memref<?x?xf32>, %best: memref<?xf32>, %place: memref<?xi64>) {
  linalg.generic {indexing_maps = [#all, #rows, #rows], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%best, %place : memref<?xf32>, memref<?xi64>) {
  ^bb0(%next: f32, %old: f32, %at: i64):
    %i = linalg.index 1 : index
    %here = arith.index_cast %i : index to i64
    %better = arith.cmpf ogt, %next, %old : f32
    %0 = arith.select %better, %next, %old : f32
    %1 = arith.select %better, %here, %at : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// -----

// Results are next to each other where elements are not: threads share a loop
// over elements. The loop that reduces goes inside of it.
// CHECK-LABEL: func.func @elements
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK:             memref.load
// CHECK-NOT:     vector.
func.func @elements(%x: memref<?x?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (i)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<?x?xf32>) outs(%out : memref<?xf32>) {
  ^bb0(%next: f32, %old: f32):
    %0 = arith.subf %next, %old : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// What reads its own results elsewhere runs in order.
// CHECK-LABEL: func.func @inorder
// CHECK-NOT:     scf.parallel
// CHECK:         scf.for
// CHECK:           memref.store
func.func @inorder(%x: memref<100xf32>) {
  %from = memref.subview %x[0] [99] [1] : memref<100xf32> to memref<99xf32, strided<[1]>>
  %to = memref.subview %x[1] [99] [1] : memref<100xf32> to memref<99xf32, strided<[1], offset: 1>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%from : memref<99xf32, strided<[1]>>) outs(%to : memref<99xf32, strided<[1], offset: 1>>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// Parts of memory are copied by loops, whole buffers at once.
// CHECK-LABEL: func.func @copies
// CHECK:         scf.parallel
// CHECK:           vector.load
// CHECK:           vector.store
// CHECK:         memref.copy %{{.*}}, %{{.*}} : memref<4x32xf32> to memref<4x32xf32>
func.func @copies(%x: memref<4x64xf32>, %part: memref<4x32xf32>, %whole: memref<4x32xf32>) {
  %from = memref.subview %x[0, 8] [4, 32] [1, 1] : memref<4x64xf32> to memref<4x32xf32, strided<[64, 1], offset: 8>>
  memref.copy %from, %part : memref<4x32xf32, strided<[64, 1], offset: 8>> to memref<4x32xf32>
  memref.copy %part, %whole : memref<4x32xf32> to memref<4x32xf32>
  return
}
