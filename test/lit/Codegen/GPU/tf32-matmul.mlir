// RUN: relax-opt %s -relax-attach-target=tf32=true -relax-emit-kernels | FileCheck %s
// RUN: relax-opt %s -relax-attach-target -relax-emit-kernels | FileCheck %s --check-prefix=EXACT

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#sum = affine_map<(m, n, k) -> (m, n)>

// Both matrices go from shared memory by ldmatrix, as 16 bytes of a row are
// four elements of the depth. Only where the target allows it, tensor cores
// multiply f32.
// CHECK-LABEL: gpu.func @deep
// CHECK: nvgpu.ldmatrix {{.*}}f32{{.*}} -> vector<4x1xf32>
// CHECK: nvvm.convert.float.to.tf32 {{.*}} {rnd = #nvvm.fp_rnd_mode<rna>}
// CHECK: nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<tf32>
// CHECK-SAME: shape = #nvvm.shape<m = 16, n = 8, k = 8>
// EXACT-LABEL: gpu.func @deep
// EXACT-NOT: nvvm.mma.sync
// EXACT: math.fma
func.func private @deep(%x: tensor<64x64xf32>, %w: tensor<128x64xf32>, %out: tensor<64x128xf32>) -> tensor<64x128xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x128xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x64xf32>, tensor<128x64xf32>) outs(%zeros : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x128xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
  return %result : tensor<64x128xf32>
}

// Columns are contiguous: ldmatrix does not transpose elements of 32 bits, so
// lanes load them.
// CHECK-LABEL: gpu.func @columns
// CHECK-COUNT-4: nvgpu.ldmatrix
// CHECK: vector.load {{.*}}, vector<1xf32>
// CHECK-NOT: nvgpu.ldmatrix {{.*}} transpose = true
// CHECK: nvvm.mma.sync
func.func private @columns(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>, %out: tensor<128x128xf32>) -> tensor<128x128xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x128xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x128xf32>) -> tensor<128x128xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #columns, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<128x64xf32>, tensor<64x128xf32>) outs(%zeros : tensor<128x128xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x128xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}
