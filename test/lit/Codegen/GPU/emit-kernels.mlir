// RUN: relax-opt %s -relax-emit-kernels -split-input-file | FileCheck %s

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#sum = affine_map<(m, n, k) -> (m, n)>

// A product of f16: one row, few rows, many that are aligned to 16 bytes or not.
// CHECK-LABEL: func.func private @product
// CHECK-SAME: relax.kernel_class = "matmul"
// CHECK: gpu.func @product
// CHECK: scf.if
// CHECK: gpu.launch
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK: gpu.shuffle xor
// CHECK: gpu.launch
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK: gpu.launch
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK: gpu.launch
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: nvvm.mma.sync
func.func private @product(%x: tensor<?x?xf16>, %w: tensor<?x?xf16>, %out: tensor<?x?xf32>) -> tensor<?x?xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
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

// -----

// The elements of windows are loaded from the image: small tiles and large ones.
// CHECK-LABEL: func.func private @convolution
// CHECK-SAME: relax.kernel_class = "conv2d"
// CHECK: gpu.func @convolution
// CHECK: gpu.launch
// CHECK: math.fma
// CHECK: gpu.launch
// CHECK: math.fma
func.func private @convolution(%x: tensor<?x8x?x?xf32>, %w: tensor<16x8x3x3xf32>, %out: tensor<?x16x?x?xf32>) -> tensor<?x16x?x?xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %n = tensor.dim %out, %c0 : tensor<?x16x?x?xf32>
  %h = tensor.dim %out, %c2 : tensor<?x16x?x?xf32>
  %l = tensor.dim %out, %c3 : tensor<?x16x?x?xf32>
  %empty = tensor.empty(%n, %h, %l) : tensor<?x16x?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x16x?x?xf32>) -> tensor<?x16x?x?xf32>
  %sums = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<?x8x?x?xf32>, tensor<16x8x3x3xf32>)
      outs(%zeros : tensor<?x16x?x?xf32>) -> tensor<?x16x?x?xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<?x16x?x?xf32>, tensor<?x16x?x?xf32>) -> tensor<?x16x?x?xf32>
  return %result : tensor<?x16x?x?xf32>
}
