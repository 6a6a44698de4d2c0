// RUN: relax-opt %s -relax-map-kernels-to-gpu -canonicalize -split-input-file | FileCheck %s

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
