// RUN: relax-opt %s -relax-emit-kernels | FileCheck %s

#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#sum = affine_map<(b, m, n, k) -> (b, m, n)>

// Where rows of both matrices begin at 16 bytes, a thread loads four elements of
// each, one step of the depth ahead; otherwise one at a time. The columns of the
// right matrix are stored as they are, those of the left one across.
// CHECK-LABEL: gpu.func @aligned
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: scf.if
// CHECK: gpu.launch blocks
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf32{{.*}}>, vector<4xf32>
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf32{{.*}}>, vector<4xf32>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: math.fma
// CHECK: relax.resident_blocks = 3 : i32
// CHECK: } else {
// CHECK: gpu.launch blocks
// CHECK-NOT: vector.load
// CHECK: gpu.barrier
// CHECK: math.fma
// CHECK: gpu.return
func.func private @aligned(%x: tensor<4x64x32xf32>, %w: tensor<4x32x64xf32>, %out: tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x64x32xf32>, tensor<4x32x64xf32>) outs(%zeros : tensor<4x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<4x64x64xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %result : tensor<4x64x64xf32>
}

// No row of 9 elements is aligned, which is known. Tiles are small, however many
// there are, as half of large ones would be empty.
// CHECK-LABEL: gpu.func @elements
// CHECK: gpu.launch {{.*}} memref<2176xf32
// CHECK-NOT: vector.load
// CHECK: math.fma
// CHECK-NOT: vector.load
// CHECK: gpu.return
func.func private @elements(%x: tensor<200x64x9xf32>, %w: tensor<200x9x64xf32>, %out: tensor<200x64x64xf32>) -> tensor<200x64x64xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<200x64x64xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<200x64x64xf32>) -> tensor<200x64x64xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<200x64x9xf32>, tensor<200x9x64xf32>) outs(%zeros : tensor<200x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<200x64x64xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<200x64x64xf32>, tensor<200x64x64xf32>) -> tensor<200x64x64xf32>
  return %result : tensor<200x64x64xf32>
}

// Tiles of a single step of the depth have all registers that there are, so that
// the assembler spills none.
// CHECK-LABEL: gpu.func @one_step
// CHECK-COUNT-2: relax.resident_blocks = 1 : i32
// CHECK: gpu.return
func.func private @one_step(%x: tensor<128x128x8xf32>, %w: tensor<128x8x72xf32>, %out: tensor<128x128x72xf32>) -> tensor<128x128x72xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128x128x72xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<128x128x72xf32>) -> tensor<128x128x72xf32>
  %sums = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<128x128x8xf32>, tensor<128x8x72xf32>) outs(%zeros : tensor<128x128x72xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<128x128x72xf32>
  %result = bufferization.materialize_in_destination %sums in %out : (tensor<128x128x72xf32>, tensor<128x128x72xf32>) -> tensor<128x128x72xf32>
  return %result : tensor<128x128x72xf32>
}
