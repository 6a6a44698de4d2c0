// RUN: relax-opt %s -relax-map-kernels-to-gpu -canonicalize -split-input-file | FileCheck %s

#each = affine_map<(d0, d1) -> (d0, d1)>
#line = affine_map<(d0, d1) -> (d0)>
#one = affine_map<(d0) -> (d0)>

// A scan: short lines have a thread each, others a block. A warp combines its elements by shuffles,
// and what warps have together comes to all of them by shared memory.
// CHECK-LABEL: func.func private @scan
// CHECK: scf.if
// CHECK: gpu.launch
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: gpu.barrier
// CHECK: else
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<16xf32, #gpu.address_space<workgroup>>)
// CHECK: scf.for
// CHECK-COUNT-5: gpu.shuffle up
// CHECK: memref.store %{{.*}}, %[[SHARED]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[SHARED]]
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %arg1
// CHECK-NOT: gpu.barrier
// CHECK: memref.dealloc
func.func private @scan(%x: memref<?x?xf32>, %y: memref<?x?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %x, %c0 : memref<?x?xf32>
  %total = memref.alloc(%n) : memref<?xf32>
  linalg.fill ins(%zero : f32) outs(%total : memref<?xf32>)
  linalg.generic {indexing_maps = [#each, #each, #line], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%y, %total : memref<?x?xf32>, memref<?xf32>) {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %0 = arith.addf %t, %a : f32
    linalg.yield %0, %0 : f32, f32
  }
  memref.dealloc %total : memref<?xf32>
  return
}

// -----

#each = affine_map<(d0) -> (d0)>
#line = affine_map<(d0) -> ()>

// A total that is a result is written, when all threads have read what there was. Numbers of 64 bits
// are exchanged in two parts.
// CHECK-LABEL: func.func private @total
// CHECK-NOT: scf.if
// CHECK: gpu.launch blocks(%{{.*}}) in (%{{.*}} = %c1{{.*}}) threads(%{{.*}}) in (%{{.*}} = %c128
// CHECK: memref.load %arg2[]
// CHECK-COUNT-10: gpu.shuffle up
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}}, %arg2[]
func.func private @total(%x: memref<1000xi64>, %y: memref<1000xi64>, %total: memref<i64>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#each, #each, #line], iterator_types = ["reduction"]} ins(%x : memref<1000xi64>) outs(%y, %total : memref<1000xi64>, memref<i64>) {
  ^bb0(%a: i64, %b: i64, %t: i64):
    %0 = arith.addi %t, %a : i64
    linalg.yield %t, %0 : i64, i64
  }
  return
}

// -----

#each = affine_map<(d0) -> (d0)>
#line = affine_map<(d0) -> ()>

// An element that depends on the total: no scan.
// CHECK-LABEL: func.func private @recurrence
// CHECK: gpu.launch blocks(%{{.*}}) in (%{{.*}} = %c1{{.*}}) threads(%{{.*}}) in (%{{.*}} = %c1
// CHECK-NOT: gpu.shuffle
// CHECK: return
func.func private @recurrence(%x: memref<1000xf32>, %y: memref<1000xf32>, %total: memref<f32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#each, #each, #line], iterator_types = ["reduction"]} ins(%x : memref<1000xf32>) outs(%y, %total : memref<1000xf32>, memref<f32>) {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %0 = arith.mulf %t, %a : f32
    %1 = arith.addf %t, %0 : f32
    linalg.yield %1, %1 : f32, f32
  }
  return
}

// -----

#each = affine_map<(d0) -> (d0)>
#line = affine_map<(d0) -> ()>

// Numbers that lanes do not exchange: no scan either.
// CHECK-LABEL: func.func private @wide
// CHECK-NOT: gpu.shuffle
// CHECK: return
func.func private @wide(%x: memref<1000xi128>, %y: memref<1000xi128>, %total: memref<i128>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#each, #each, #line], iterator_types = ["reduction"]} ins(%x : memref<1000xi128>) outs(%y, %total : memref<1000xi128>, memref<i128>) {
  ^bb0(%a: i128, %b: i128, %t: i128):
    %0 = arith.addi %t, %a : i128
    linalg.yield %t, %0 : i128, i128
  }
  return
}

// -----

#one = affine_map<(d0) -> (d0)>

// A loop of the host, which launches two operations in each iteration.
// CHECK-LABEL: func.func private @rounds
// CHECK: scf.for
// CHECK: gpu.launch
// CHECK: gpu.terminator
// CHECK: gpu.launch
// CHECK: gpu.terminator
// CHECK-NOT: gpu.launch
// CHECK: return
func.func private @rounds(%x: memref<?xf32>, %y: memref<?xf32>, %rounds: index) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %rounds step %c1 {
    linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : memref<?xf32>) outs(%y : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %a : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%y : memref<?xf32>) outs(%x : memref<?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.mulf %a, %a : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

#one = affine_map<(d0) -> (d0)>

// What a launch needs is loaded in each iteration: all of the loop is one thread's.
// CHECK-LABEL: func.func private @rounds_with_a_load
// CHECK: gpu.launch blocks(%{{.*}}) in (%{{.*}} = %c1{{.*}}) threads(%{{.*}}) in (%{{.*}} = %c1
// CHECK: scf.for
// CHECK: scf.for
func.func private @rounds_with_a_load(%x: memref<?xf32>, %rounds: index) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %rounds step %c1 {
    %first = memref.load %x[%c0] : memref<?xf32>
    linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%x : memref<?xf32>) {
    ^bb0(%b: f32):
      %0 = arith.addf %b, %first : f32
      linalg.yield %0 : f32
    }
  }
  return
}
