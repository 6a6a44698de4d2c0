// RUN: relax-opt %s -relax-emit-kernels | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#sum = affine_map<(m, n, k) -> (m, n)>

// There is one tile: eight blocks sum up 256 of the depth each, and a second
// launch adds their sums.
// CHECK-LABEL: gpu.func @deep
// CHECK: %[[SCRATCH:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: gpu.launch blocks
// CHECK: nvvm.mma.sync
// CHECK: vector.store {{.*}}, %[[SCRATCH]]
// CHECK: gpu.launch blocks
// CHECK: scf.for
// CHECK: memref.load %[[SCRATCH]]
// CHECK: memref.dealloc %[[SCRATCH]]
func.func private @deep(%x: tensor<16x2048xf16>, %w: tensor<2048x64xf16>, %out: tensor<16x64xf32>) -> tensor<16x64xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x64xf32>) -> tensor<16x64xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x2048xf16>, tensor<2048x64xf16>) outs(%zeros : tensor<16x64xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<16x64xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %result : tensor<16x64xf32>
}

// It is not deep enough.
// CHECK-LABEL: gpu.func @shallow
// CHECK-NOT: memref.alloc
// CHECK: nvvm.mma.sync
// CHECK-NOT: memref.alloc
// CHECK: gpu.return
func.func private @shallow(%x: tensor<16x256xf16>, %w: tensor<256x64xf16>, %out: tensor<16x64xf32>) -> tensor<16x64xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<16x64xf32>) -> tensor<16x64xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<16x256xf16>, tensor<256x64xf16>) outs(%zeros : tensor<16x64xf32>) {
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %0 = arith.extf %a : f16 to f32
    %1 = arith.extf %b : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<16x64xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  return %result : tensor<16x64xf32>
}
