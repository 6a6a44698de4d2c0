// RUN: relax-opt %s -relax-map-kernels-to-gpu -canonicalize -split-input-file | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>

// All elements alike: a thread loads four of them before it stores.
// CHECK-LABEL: func.func private @elements
// CHECK: %[[X:.*]] = memref.collapse_shape
// CHECK: gpu.launch
// CHECK: scf.for
// CHECK-COUNT-4: memref.load
// CHECK-COUNT-4: memref.store
// CHECK: scf.for
func.func private @elements(%x: memref<?x8xf32>, %y: memref<?x8xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Rows: one launch of a block for each, whose sums stay in registers.
// CHECK-LABEL: func.func private @rows
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%{{.*}} : memref<512xf32, #gpu.address_space<workgroup>>)
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: arith.divf
// CHECK: memref.store
// CHECK-NOT: gpu.launch
func.func private @rows(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %sum = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%sum : memref<?xf32>)
  linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%sum : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : memref<?x?xf32>, memref<?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: f32, %s: f32, %b: f32):
    %0 = arith.divf %a, %s : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %sum : memref<?xf32>
  return
}

// -----

#map = affine_map<(d0, d1) -> (d1, d0)>
#row = affine_map<(d0, d1) -> (d0)>

// Columns: neighbouring threads have neighbouring columns.
// CHECK-LABEL: func.func private @columns
// CHECK: gpu.launch
// CHECK: %[[LANE:.*]] = arith.remui
// CHECK: scf.for
// CHECK: gpu.barrier
func.func private @columns(%x: memref<?x?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Iterations that depend on each other are run by one thread, and so is a value
// that they depend on.
// CHECK-LABEL: func.func private @sequence
// CHECK: gpu.launch blocks(%{{.*}}) in (%{{.*}} = %c1{{.*}}) threads(%{{.*}}) in (%{{.*}} = %c1
// CHECK: memref.load
// CHECK: scf.for
// CHECK: memref.store
// CHECK: gpu.terminator
// CHECK-NOT: memref.load
// CHECK: return
func.func private @sequence(%x: memref<?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %first = memref.load %x[%c0] : memref<?xf32>
  scf.for %i = %c1 to %n step %c1 {
    %before = arith.subi %i, %c1 : index
    %0 = memref.load %y[%before] : memref<?xf32>
    %1 = arith.addf %0, %first : f32
    memref.store %1, %y[%i] : memref<?xf32>
  }
  return
}

// -----

// The kernels of the host are left alone.
// CHECK-LABEL: func.func private @host
// CHECK-NOT: gpu.launch
func.func private @host(%y: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<?xf32>)
  return
}

// -----

// A copy becomes a launch, too, where nothing else is a linalg operation.
// CHECK-LABEL: func.func private @copy
// CHECK: gpu.launch
// CHECK: memref.load
// CHECK: memref.store
// CHECK-NOT: memref.copy
func.func private @copy(%x: memref<?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  memref.copy %x, %y : memref<?xf32> to memref<?xf32>
  return
}

// -----

// Updates of rows at computed places: threads share the columns, and each goes
// through the rows in their order, as places may be the same.
// CHECK-LABEL: func.func private @columns_of_a_nest
// CHECK-SAME: (%[[PLACES:.*]]: memref<?xindex>, %[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?x?xf32>)
// CHECK: gpu.launch
// CHECK-SAME: = %c256
// CHECK: %[[COLUMN:.*]] = arith.addi
// CHECK: scf.if
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: %[[PLACE:.*]] = memref.load %[[PLACES]][%[[ROW]]]
// CHECK-NOT: scf.for
// CHECK: memref.load %[[X]][%[[ROW]], %[[COLUMN]]]
// CHECK: memref.store %{{.*}}, %[[Y]][%[[PLACE]], %[[COLUMN]]]
func.func private @columns_of_a_nest(%places: memref<?xindex>, %x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %m step %c1 {
    %place = memref.load %places[%i] : memref<?xindex>
    scf.for %j = %c0 to %n step %c1 {
      %0 = memref.load %x[%i, %j] : memref<?x?xf32>
      memref.store %0, %y[%place, %j] : memref<?x?xf32>
    }
  }
  return
}

// -----

// Each iteration of the inner loop reads what another one wrote: one thread.
// CHECK-LABEL: func.func private @dependent_nest
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %c1, %{{.*}} = %c1, %{{.*}} = %c1) threads({{.*}}) in (%{{.*}} = %c1, %{{.*}} = %c1, %{{.*}} = %c1)
// CHECK: scf.for
// CHECK: scf.for
func.func private @dependent_nest(%places: memref<?xindex>, %x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?x?xf32>
  %n = memref.dim %x, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %m step %c1 {
    %place = memref.load %places[%i] : memref<?xindex>
    scf.for %j = %c1 to %n step %c1 {
      %before = arith.subi %j, %c1 : index
      %0 = memref.load %y[%place, %before] : memref<?x?xf32>
      memref.store %0, %y[%place, %j] : memref<?x?xf32>
    }
  }
  return
}

// -----

// A loop that says so is shared without proof: each thread goes over all updates
// and makes its own.
// CHECK-LABEL: func.func private @independent_nest
// CHECK: gpu.launch
// CHECK-SAME: = %c256
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: gpu.terminator
func.func private @independent_nest(%places: memref<?xindex>, %x: memref<?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %n = memref.dim %y, %c0 : memref<?xf32>
  scf.for %own = %c0 to %n step %c1 {
    scf.for %i = %c0 to %m step %c1 {
      %place = memref.load %places[%i] : memref<?xindex>
      %isOwn = arith.cmpi eq, %place, %own : index
      scf.if %isOwn {
        %0 = memref.load %x[%i] : memref<?xf32>
        memref.store %0, %y[%place] : memref<?xf32>
      }
    }
  } {relax.loop = "independent"}
  return
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The largest elements of rows and their places: a block of threads for each,
// which compare what they have found both ways.
// CHECK-LABEL: func.func private @best
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%[[VALUES:.*]] : memref<512xf32, #gpu.address_space<workgroup>>, %[[PLACES:.*]] : memref<512xi64, #gpu.address_space<workgroup>>)
// CHECK: scf.for {{.*}} -> (f32, i64)
// CHECK: gpu.barrier
// CHECK: scf.while
// CHECK-COUNT-2: memref.load %[[VALUES]]
// CHECK-DAG: %[[OTHER:.*]] = arith.cmpf ogt, %[[B:.*]], %[[A:.*]] : f32
// CHECK-DAG: %[[MINE:.*]] = arith.cmpf ogt, %[[A]], %[[B]] : f32
// CHECK: %[[LATER:.*]] = arith.cmpi sgt
// CHECK: %[[DIFFER:.*]] = arith.xori %[[OTHER]], %[[MINE]] : i1
// CHECK: %[[BYPLACE:.*]] = arith.cmpi eq, %[[OTHER]], %[[LATER]] : i1
// CHECK: arith.select %[[DIFFER]], %[[OTHER]], %[[BYPLACE]]
func.func private @best(%x: memref<?x?xf32>, %best: memref<?xf32>, %places: memref<?xi64>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#map, #row, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%best, %places : memref<?xf32>, memref<?xi64>) {
  ^bb0(%a: f32, %most: f32, %before: i64):
    %j = linalg.index 1 : index
    %here = arith.index_cast %j : index to i64
    %isBetter = arith.cmpf ogt, %a, %most : f32
    %0 = arith.select %isBetter, %a, %most : f32
    %1 = arith.select %isBetter, %here, %before : i64
    linalg.yield %0, %1 : f32, i64
  }
  return
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Elements and flat memory: the number of a place is that of an element which
// lies in memory so, and only what is broadcast divides it.
// CHECK-LABEL: func.func private @broadcast
// CHECK-SAME: (%[[X:.*]]: memref<?x?xf32>, %[[Y:.*]]: memref<?xf32>, %[[Z:.*]]: memref<?x?xf32>)
// CHECK-DAG: %[[FX:.*]] = memref.collapse_shape %[[X]]
// CHECK-DAG: %[[FZ:.*]] = memref.collapse_shape %[[Z]]
// CHECK: gpu.launch
// CHECK: scf.for %[[I:.*]] =
// CHECK-DAG: memref.load %[[FX]][%[[I]]]
// CHECK-DAG: memref.load %[[Y]]
// CHECK: memref.store %{{.*}}, %[[FZ]][%[[I]]]
// CHECK-NOT: memref.load %[[X]]
// CHECK: return
func.func private @broadcast(%x: memref<?x?xf32>, %y: memref<?xf32>, %z: memref<?x?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]} ins(%x, %y : memref<?x?xf32>, memref<?xf32>) outs(%z : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#map = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>

// All elements as one: blocks reduce parts of them where there are many, and
// another launch reduces these, or all elements.
// CHECK-LABEL: func.func private @all
// CHECK: %[[PARTS:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK: %[[MANY:.*]] = arith.cmpi sgt, %[[PARTS]], %c1
// CHECK: %[[SIZE:.*]] = arith.select %[[MANY]], %[[PARTS]], %c0
// CHECK: %[[SCRATCH:.*]] = memref.alloc(%[[SIZE]])
// CHECK: scf.if %[[MANY]]
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %[[PARTS]]
// CHECK: memref.store %{{.*}}, %[[SCRATCH]]
// CHECK: gpu.launch blocks({{.*}}) in (%{{.*}} = %c1
// CHECK: memref.load %[[SCRATCH]]
// CHECK: memref.dealloc %[[SCRATCH]]
func.func private @all(%x: memref<?x?xf32>, %y: memref<f32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#map, #none], iterator_types = ["reduction", "reduction"]} ins(%x : memref<?x?xf32>) outs(%y : memref<f32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#image = affine_map<(d0, d1) -> (d0 * 2 + d1)>
#window = affine_map<(d0, d1) -> (d1)>
#result = affine_map<(d0, d1) -> (d0)>

// A window: a thread for each result, which it keeps in a register. The operand
// that says how large the window is has no elements that somebody reads.
// CHECK-LABEL: func.func private @window
// CHECK-SAME: (%[[X:.*]]: memref<?xf32>, %{{.*}}: memref<3xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK: gpu.launch blocks({{.*}}) threads({{.*}}) in (%{{.*}} = %c256
// CHECK: %[[BEFORE:.*]] = memref.load %[[Y]][%[[PLACE:.*]]]
// CHECK: %[[MOST:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[BEFORE]]) -> (f32)
// CHECK: memref.load %[[X]]
// CHECK: scf.yield
// CHECK: memref.store %[[MOST]], %[[Y]][%[[PLACE]]]
func.func private @window(%x: memref<?xf32>, %size: memref<3xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#image, #window, #result], iterator_types = ["parallel", "reduction"]} ins(%x, %size : memref<?xf32>, memref<3xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %none: f32, %b: f32):
    %0 = arith.maximumf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// A slice that is copied to where it is.
// CHECK-LABEL: func.func private @same_slice
// CHECK-NOT: gpu.launch
// CHECK: return
func.func private @same_slice(%x: memref<?xf32>, %n: index) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %from = memref.subview %x[1] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  %to = memref.subview %x[1] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1], offset: 1>>
  memref.copy %from, %to : memref<?xf32, strided<[1], offset: 1>> to memref<?xf32, strided<[1], offset: 1>>
  return
}

// -----

#image = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
#weight = affine_map<(d0, d1, d2) -> (d0, d2)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>

// A depthwise convolution: all pixels read the weights, whose last loop is
// innermost, so that these are no rows.
// CHECK-LABEL: func.func private @depthwise
// CHECK: gpu.launch
// CHECK-NOT: workgroup
// CHECK: scf.for {{.*}} -> (f32)
// CHECK-NOT: gpu.barrier
// CHECK: return
func.func private @depthwise(%x: memref<?x?xf32>, %w: memref<?x3xf32>, %y: memref<?x?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#image, #weight, #result], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<?x?xf32>, memref<?x3xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// A parallel loop with a buffer is distributed: a launch for each step, whose
// threads are iterations of both loops, and a buffer for all rows.
// CHECK-LABEL: func.func private @steps
// CHECK: memref.alloc(%{{.*}}) : memref<?x16xf32>
// CHECK: gpu.launch
// CHECK: memref.store %{{.*}} : memref<?x16xf32>
// CHECK: gpu.launch
// CHECK: memref.load %{{.*}} : memref<?x16xf32>
// CHECK-NOT: gpu.launch
// CHECK: memref.dealloc
func.func private @steps(%x: memref<?x16xf32>, %y: memref<?x16xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %x, %c0 : memref<?x16xf32>
  scf.for %r = %c0 to %n step %c1 {
    %kept = memref.alloc() : memref<16xf32>
    scf.for %i = %c0 to %c16 step %c1 {
      %0 = memref.load %x[%r, %i] : memref<?x16xf32>
      memref.store %0, %kept[%i] : memref<16xf32>
    } {relax.loop = "vectorized"}
    scf.for %i = %c0 to %c16 step %c1 {
      %back = arith.subi %c15, %i : index
      %0 = memref.load %kept[%back] : memref<16xf32>
      memref.store %0, %y[%r, %i] : memref<?x16xf32>
    } {relax.loop = "vectorized"}
    memref.dealloc %kept : memref<16xf32>
  } {relax.loop = "parallel"}
  return
}

// -----

// Hints are for processors.
// CHECK-LABEL: func.func private @prefetched
// CHECK-NOT: memref.prefetch
// CHECK: gpu.launch
// CHECK-NOT: memref.prefetch
func.func private @prefetched(%x: memref<?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
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
