// RUN: relax-translate --relax-to-vm %s -split-input-file -verify-diagnostics

// An operator that was not legalized.
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error @below {{cannot be translated to bytecode: run the phases normalize, legalize, memory and shapes before}}
  %0 = relax.exp %x : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

// A constant that is not in the pool.
relax.func @main() -> !relax.object {
  // expected-error @below {{cannot be translated to bytecode}}
  %0 = relax.constant dense<1.0> : tensor<2xf32>
  relax.return %0 : !relax.tensor<[2], f32>
}

// -----

// expected-error @below {{has no body to translate}}
relax.func private @main(!relax.object) -> !relax.object

// -----

// A kernel of another rank would read dimensions that are not there.
func.func private @k(%x: tensor<?x?xf32>) -> tensor<?x?xf32> { return %x : tensor<?x?xf32> }
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error @below {{expected parameter 0 of k to be a memref of rank 1, but got 'tensor<?x?xf32>'}}
  relax.builtin.call_kernel @k() outs(%x) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

func.func private @k(%x: memref<?xf32>, %y: memref<?xf32>) { return }
relax.func @main(%a: !relax.prim<f32>, %x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error @below {{expected parameter 0 of k to be a scalar, but got 'memref<?xf32>'}}
  relax.builtin.call_kernel @k(%a) outs(%x) : (!relax.prim<f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

func.func private @k(%x: memref<?xf32>) { return }
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error @below {{expected 1 values for the kernel}}
  relax.builtin.call_kernel @k(%x) outs(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

relax.func @f(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}
relax.func @main(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error @below {{expected @f to be a func.func}}
  relax.builtin.call_kernel @f() outs(%x) : () -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

relax.func @main(%s: !relax.shape<ndim = 2>) -> !relax.object {
  %0 = relax.builtin.dim %s[0] : !relax.shape<ndim = 2>
  // expected-error @below {{cannot be translated to bytecode: expected arithmetic of i64}}
  %1 = arith.divui %0, %0 : i64
  %2 = relax.builtin.make_shape(%1) : !relax.shape<ndim = 1>
  relax.return %2 : !relax.shape<ndim = 1>
}

// -----

relax.func @main(%s: !relax.shape<ndim = 2>) -> !relax.object {
  %0 = relax.builtin.dim %s[0] : !relax.shape<ndim = 2>
  // expected-error @below {{cannot be translated to bytecode: expected a comparison of signed integers}}
  %1 = arith.cmpi ult, %0, %0 : i64
  %2 = arith.extui %1 : i1 to i64
  %3 = relax.builtin.make_shape(%2) : !relax.shape<ndim = 1>
  relax.return %3 : !relax.shape<ndim = 1>
}

// -----

// Sizes over shape variables.
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error @below {{has a size that is not lowered: run relax-lower-shapes before}}
  %0 = relax.builtin.view %x : !relax.tensor<[n, 4], f32> -> !relax.tensor<[n * 4], f32>
  relax.return %0 : !relax.tensor<[n * 4], f32>
}

// -----

relax.func @main() -> !relax.object {
  // expected-error @below {{has a size that is not lowered: run relax-lower-shapes before}}
  %0 = relax.builtin.alloc_storage size <64>
  relax.return %0 : !relax.object
}
