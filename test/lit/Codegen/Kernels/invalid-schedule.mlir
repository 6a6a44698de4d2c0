// RUN: relax-opt %s --split-input-file --relax-attach-target=vector-bits=256 --relax-emit-kernels --verify-diagnostics

// The kernel has to be of the class that it asks for.
// expected-error @below {{expected a kernel of class 'rows': reductions of rows and what is computed from them, but got one of class 'elementwise'}}
func.func private @other(%x: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32>
    attributes {relax.schedule = {class = "rows"}} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// expected-error @below {{expected a kernel of class 'matmul': a contraction and elementwise operations on its result, but got one of none}}
func.func private @none(%x: tensor<64xf32>, %i: tensor<64xi64>, %out: tensor<64xf32>) -> tensor<64xf32>
    attributes {relax.schedule = {class = "matmul"}} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<64xi64>) outs(%out : tensor<64xf32>) {
  ^bb0(%a: i64, %o: f32):
    %index = arith.index_cast %a : i64 to index
    %e = tensor.extract %x[%index] : tensor<64xf32>
    linalg.yield %e : f32
  } -> tensor<64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// expected-error @below {{expected the class of a kernel of the host, one of elementwise, attention, matmul, conv2d, pool2d, rows, concat, none, but got 'gemm'}}
func.func private @unknown(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "gemm"}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// A tile has to be one of the loops.
// expected-error @below {{expected a tile of rows, a power of two, and columns, a multiple of 8 (the lanes of a vector), of at most 32 vectors of sums, but got [3, 16]}}
func.func private @power(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "matmul", tile = array<i64: 3, 16>}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// expected-error @below {{expected a tile of rows, a power of two, and columns, a multiple of 8 (the lanes of a vector), of at most 32 vectors of sums, but got [4, 20]}}
func.func private @lanes(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "matmul", tile = array<i64: 4, 20>}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// expected-error @below {{expected a tile of rows, a power of two, and columns, a multiple of 8 (the lanes of a vector), of at most 32 vectors of sums, but got [8, 40]}}
func.func private @registers(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "matmul", tile = array<i64: 8, 40>}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// expected-error @below {{expected a tile of rows, a power of two, and columns, a multiple of 8 (the lanes of a vector), of at most 32 vectors of sums, but got [4, 16, 8]}}
func.func private @three(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {relax.schedule = {class = "matmul", tile = array<i64: 4, 16, 8>}} {
  %zero = arith.constant 0.0 : f32
  %fill = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%fill : tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}

// -----

// Not all classes have tiles to choose.
// expected-error @below {{expected no tile for the class 'elementwise', but got [4, 16]}}
func.func private @tile(%x: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32>
    attributes {relax.schedule = {class = "elementwise", tile = array<i64: 4, 16>}} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// expected-error @below {{expected no tile for a kernel without class, but got [4, 16]}}
func.func private @tile_of_none(%x: tensor<64xf32>, %out: tensor<64xf32>) -> tensor<64xf32>
    attributes {relax.schedule = {class = "none", tile = array<i64: 4, 16>}} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<64xf32>
  %1 = bufferization.materialize_in_destination %0 in %out : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

// expected-error @below {{expected a kernel on tensors where a class is asked for, but got one on memrefs}}
func.func private @memrefs(%x: memref<64xf32>) attributes {relax.schedule = {class = "elementwise"}} {
  return
}
