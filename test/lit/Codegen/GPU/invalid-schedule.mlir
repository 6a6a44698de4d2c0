// RUN: relax-opt %s -relax-emit-kernels -split-input-file -verify-diagnostics

// Kernels of devices have classes of their own, and no tiles to choose.
// expected-error @below {{expected the class of a kernel of devices, one of attention, matmul, conv2d, none, but got 'rows'}}
func.func private @rows(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %out: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>, relax.schedule = {class = "rows"}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%fill : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// expected-error @below {{expected no tile for the class 'matmul' of devices, but got [4, 16]}}
func.func private @tile(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %out: tensor<4x4xf32>) -> tensor<4x4xf32>
    attributes {relax.device = #relax.vdevice<"cuda", 0>, relax.schedule = {class = "matmul", tile = array<i64: 4, 16>}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) outs(%fill : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
