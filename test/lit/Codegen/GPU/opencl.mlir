// RUN: relax-opt %s -relax-map-kernels-to-gpu -canonicalize | FileCheck %s
// RUN: relax-opt %s -relax-map-kernels-to-gpu -relax-gather-device-kernels | FileCheck %s --check-prefix=GATHER
// RUN: relax-opt %s -relax-map-kernels-to-gpu -canonicalize -relax-phase-outline | FileCheck %s --check-prefix=IMAGE

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A row has a block of threads, which reduce through shared memory: devices of
// OpenCL have no warps.
// CHECK-LABEL: func.func private @relax.kernel.sum
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<512xf32, #gpu.address_space<workgroup>>)
// CHECK-NOT: gpu.shuffle
// CHECK: memref.store %{{.*}}, %[[SHARED]]
// CHECK: gpu.barrier
// CHECK: scf.while
// CHECK-NOT: gpu.shuffle
// CHECK-LABEL: func.func private @relax.kernel.other
// CHECK: gpu.shuffle

// A module of its own, beside those for CUDA.
// GATHER: gpu.launch_func @relax_device_opencl::@relax_sum
// GATHER: gpu.launch_func @relax_device_sm_80::@relax_other
// GATHER: gpu.module @relax_device_opencl attributes {spirv.target_env = #spirv.target_env<#spirv.vce<v1.0, [Kernel, Addresses, {{.*}}Float16, Float64], []>, api=OpenCL
// GATHER: gpu.func @relax_sum
// GATHER: gpu.module @relax_device_sm_80 [#nvvm.target<{{.*}}>]

// The image is the size of the SPIR-V and its words.
// IMAGE: llvm.call @relax_device_launch
// IMAGE: llvm.mlir.global internal constant @relax.string{{.*}}("{{.*}}\00\00\00\00\03\02#\07
func.func private @relax.kernel.sum(%x: memref<?x?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"opencl", 0>} {
  linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}
func.func private @relax.kernel.other(%x: memref<?x?xf32>, %y: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}
