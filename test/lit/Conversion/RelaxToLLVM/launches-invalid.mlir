// RUN: relax-opt %s -verify-diagnostics -relax-to-llvm

// The device of a target that runs no kernels.
func.func private @columns(%x: memref<?x?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"parallel", 0>} {
  // expected-error@+1 {{'gpu.launch_func' op expected a kernel of a device}}
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}
