// RUN: relax-opt %s -relax-legalize-ops -split-input-file -verify-diagnostics

relax.func @unknown_shape(%x: !relax.tensor<[n, m], f32>, %y: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  // expected-error @below {{cannot be lowered: operand 1 is '!relax.tensor<ndim = 2, f32>', but its shape and data type must be known; insert relax.match_cast}}
  %0 = relax.add %x, %y : (!relax.tensor<[n, m], f32>, !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @unknown_dtype(%x: !relax.tensor<[]>) -> !relax.object {
  // expected-error @below {{cannot be lowered: operand 0 is '!relax.tensor<[]>', but its shape and data type must be known}}
  %0 = relax.exp %x : (!relax.tensor<[]>) -> !relax.tensor<[]>
  relax.return %0 : !relax.tensor<[]>
}

// -----

relax.func @undecided_broadcast(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.object {
  // expected-error @below {{cannot be lowered: its result is '!relax.tensor<ndim = 1, f32>', but its shape must be known; insert relax.match_cast of its operands to dimensions that are known to fit}}
  %0 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

relax.func @undecided_matmul(%x: !relax.tensor<[n, k], f32>, %y: !relax.tensor<[j, m], f32>) -> !relax.object {
  // expected-error @below {{cannot be lowered: its result is '!relax.tensor<ndim = 2, f32>', but its shape must be known}}
  %0 = relax.matmul %x, %y : (!relax.tensor<[n, k], f32>, !relax.tensor<[j, m], f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @unknown_target(%s: !relax.shape<ndim = 1>) -> !relax.object {
  // expected-error @below {{cannot be lowered: its result is '!relax.tensor<ndim = 1, f32>', but its shape must be known}}
  %0 = relax.zeros %s {dtype = f32} : (!relax.shape<ndim = 1>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}
