// Lanes of the generic route that go backwards or in steps, and rows that may be
// too short for them.
// RUN: relax-opt %s --relax-attach-target=vector-bits=512 --relax-lower-linalg --split-input-file | FileCheck %s

// Vectors are read whole, and reversed in registers; so are masks.
// CHECK-LABEL: func.func @flip
// CHECK:         %[[VALUES:.*]] = vector.load
// CHECK-NEXT:    vector.shuffle %[[VALUES]], %[[VALUES]] [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
// CHECK:         %[[MASK:.*]] = vector.create_mask
// CHECK:         %[[BACK:.*]] = vector.shuffle %[[MASK]], %[[MASK]] [15,
// CHECK:         vector.maskedload %{{.*}}, %[[BACK]]
// CHECK-NOT:     vector.gather
func.func @flip(%x: memref<?xf32>, %size: index, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%out : memref<?xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %j = arith.subi %size, %i : index
    %0 = memref.load %x[%j] : memref<?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// The second vector ends with the last element that is needed.
// CHECK-LABEL: func.func @even
// CHECK:         %[[LAST:.*]] = arith.constant 15 : index
// CHECK:         %[[HIGH:.*]] = arith.addi %{{.*}}, %[[LAST]]
// CHECK:         %[[A:.*]] = vector.load
// CHECK:         %[[B:.*]] = vector.load %{{.*}}[%[[HIGH]]]
// CHECK:         vector.shuffle %[[A]], %[[B]] [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK-NOT:     vector.gather
func.func @even(%x: memref<?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%out : memref<?xf32>) {
  ^bb0(%old: f32):
    %c2 = arith.constant 2 : index
    %i = linalg.index 0 : index
    %j = arith.muli %i, %c2 : index
    %0 = memref.load %x[%j] : memref<?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// Where rows have less than 32 elements, lanes are rows.
// CHECK-LABEL: func.func @last
// CHECK:         %[[SHORT:.*]] = arith.cmpi sle, %{{.*}}, %c31
// CHECK:         scf.if %[[SHORT]] {
// CHECK:           scf.for {{.*}} -> (vector<16xf32>) {
// CHECK:             vector.from_elements
// CHECK:           vector.store
// CHECK:         } else {
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
func.func @last(%x: memref<?x?xf32>, %sums: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%sums : memref<?xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// Eight vectors of results, then four, then one under a mask.
// CHECK-LABEL: func.func @first
// CHECK:         scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:         scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:         vector.create_mask
// CHECK:         scf.for {{.*}} -> (vector<16xf32>)
func.func @first(%x: memref<?x?xf32>, %sums: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x : memref<?x?xf32>) outs(%sums : memref<?xf32>) {
  ^bb0(%0: f32, %1: f32):
    %2 = arith.addf %0, %1 : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// Loops over vectors end where the index wraps around.
// CHECK-LABEL: func.func @tile
// CHECK:         %[[SIZE:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK:         scf.for %[[TURN:.*]] =
// CHECK:           %[[START:.*]] = arith.muli %[[TURN]], %[[SIZE]]
// CHECK:           scf.for %[[AT:.*]] =
// CHECK:             %[[PLACE:.*]] = arith.subi %[[AT]], %[[START]]
// CHECK:             vector.load %{{.*}}[%[[PLACE]]]
// CHECK-NOT:     vector.gather
func.func @tile(%x: memref<?xf32>, %size: index, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%out : memref<?xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %j = arith.remui %i, %size : index
    %0 = memref.load %x[%j] : memref<?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// Four lanes share an element; so they do in what is left.
// CHECK-LABEL: func.func @repeat
// CHECK:         %[[VALUES:.*]] = vector.load {{.*}}, vector<4xf32>
// CHECK-NEXT:    vector.shuffle %[[VALUES]], %[[VALUES]] [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
// CHECK:         %[[MASK:.*]] = vector.create_mask
// CHECK:         %[[FEW:.*]] = vector.shuffle %[[MASK]], %[[MASK]] [0, 4, 8, 12]
// CHECK:         vector.maskedload %{{.*}}, %[[FEW]], %{{.*}} into vector<4xf32>
// CHECK-NOT:     vector.gather
func.func @repeat(%x: memref<?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%out : memref<?xf32>) {
  ^bb0(%old: f32):
    %c4 = arith.constant 4 : index
    %i = linalg.index 0 : index
    %j = arith.divui %i, %c4 : index
    %0 = memref.load %x[%j] : memref<?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// A vector may begin inside of what three lanes share: places are small numbers.
// CHECK-LABEL: func.func @repeat_by_three
// CHECK:         arith.divui %{{.*}} : vector<16xi32>
// CHECK:         arith.index_cast %{{.*}} : i32 to index
// CHECK:         vector.from_elements
// CHECK:         vector.gather {{.*}} vector<16xi32>
func.func @repeat_by_three(%x: memref<?xf32>, %out: memref<?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%out : memref<?xf32>) {
  ^bb0(%old: f32):
    %c3 = arith.constant 3 : index
    %i = linalg.index 0 : index
    %j = arith.divui %i, %c3 : index
    %0 = memref.load %x[%j] : memref<?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// Four rows are gathered at the same places, element by element, and then what
// is left under a mask.
// CHECK-LABEL: func.func @columns
// CHECK:         scf.parallel
// CHECK-COUNT-4:   vector.from_elements {{.*}} : vector<16xf32>
// CHECK-COUNT-4:   vector.store
// CHECK:           vector.gather
// CHECK:           vector.maskedstore
func.func @columns(%x: memref<?x?xf32>, %places: memref<?xi64>, %out: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%places : memref<?xi64>) outs(%out : memref<?x?xf32>) {
  ^bb0(%place: i64, %old: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %place : i64 to index
    %0 = memref.load %x[%i, %j] : memref<?x?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// Planes are gathered at the same places, though rows are between them and the
// lanes: three together, as there are six.
// CHECK-LABEL: func.func @planes
// CHECK:         scf.parallel
// CHECK-COUNT-3:   vector.from_elements {{.*}} : vector<16xf32>
// CHECK-COUNT-3:   vector.store
func.func @planes(%x: memref<6x?xf32>, %places: memref<?x32xi64>, %out: memref<6x?x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%places : memref<?x32xi64>) outs(%out : memref<6x?x32xf32>) {
  ^bb0(%place: i64, %old: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %place : i64 to index
    %0 = memref.load %x[%i, %j] : memref<6x?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// Of many values one has 64 bits: it takes two registers.
// CHECK-LABEL: func.func @few_wide_values
// CHECK:         vector.load {{.*}} vector<16xi64>
// CHECK:         arith.trunci {{.*}} : vector<16xi64> to vector<16xi32>
// CHECK:         vector.store {{.*}} vector<16xi32>
func.func @few_wide_values(%x: memref<?xi64>, %out: memref<?xi32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : memref<?xi64>) outs(%out : memref<?xi32>) {
  ^bb0(%in: i64, %old: i32):
    %0 = arith.trunci %in : i64 to i32
    %1 = arith.muli %0, %0 : i32
    %2 = arith.addi %1, %0 : i32
    %3 = arith.muli %2, %2 : i32
    %4 = arith.addi %3, %0 : i32
    %5 = arith.muli %4, %4 : i32
    %6 = arith.addi %5, %0 : i32
    %7 = arith.muli %6, %6 : i32
    %8 = arith.addi %7, %0 : i32
    linalg.yield %8 : i32
  }
  return
}
