// RUN: relax-opt %s -relax-emit-kernels | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#sum = affine_map<(m, n, k) -> (m, n)>

// On sm_90a products of many tiles are by wgmma: of few ones by mma.sync, of
// more by tiles of 128 columns, of many by tiles of 256. Copies are fenced for
// the tensor cores, and a product is waited for while the next one runs.
// CHECK-LABEL: func.func private @product
// CHECK-SAME: relax.kernel_class = "matmul"
// CHECK: gpu.func @product
// CHECK: nvvm.mma.sync
// CHECK: gpu.launch {{.*}} dynamic_shared_memory_size
// CHECK: scf.for
// CHECK: nvgpu.device_async_wait {{.*}} {numGroups = 3 : i32}
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 128, k = 16>
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvgpu.device_async_copy
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: gpu.launch {{.*}} dynamic_shared_memory_size
// CHECK: nvgpu.device_async_wait {{.*}} {numGroups = 1 : i32}
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 256, k = 16>
func.func private @product(%x: tensor<?x?xf16>, %w: tensor<?x?xf16>, %out: tensor<?x?xf32>) -> tensor<?x?xf32>
    attributes {relax.device = #relax.vdevice<"cuda -arch=sm_90a", 0>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf16>
  %n = tensor.dim %w, %c0 : tensor<?x?xf16>
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<?x?xf16>, tensor<?x?xf16>) outs(%zeros : tensor<?x?xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<?x?xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %result : tensor<?x?xf32>
}
