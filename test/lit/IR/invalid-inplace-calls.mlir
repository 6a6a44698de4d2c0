// RUN: %invalid

// What the operations that update arguments ask of their operands.

// OP02
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_number(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_inplace' op expected one of inplace_indices for each of the 1 outputs, but got 2}}
  %0 = relax.call_tir_inplace @relu(%x) inplace [0, -1] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP02
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_range(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_inplace' op expected inplace_indices to be -1 or positions of the 1 arguments, but got 1}}
  %0 = relax.call_tir_inplace @relu(%x) inplace [1] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP02
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_range(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_inplace' op expected inplace_indices to be -1 or positions of the 1 arguments, but got -2}}
  %0 = relax.call_tir_inplace @relu(%x) inplace [-2] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP02
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_distinct(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_inplace' op expected distinct inplace_indices, but got 0 twice}}
  %0 = relax.call_tir_inplace @relu(%x) inplace [0, 0] : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
}

// -----

// OP02: the data type differs.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_data_type(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_inplace' op expected argument 0, which is updated in place, to have the type '!relax.tensor<[n], f16>' of its output, but got '!relax.tensor<[n], f32>'}}
  %0 = relax.call_tir_inplace @relu(%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f16>
  relax.return %0 : !relax.tensor<[n], f16>
}

// -----

// OP02: the shape is not proven.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_shape(%x: !relax.tensor<[n], f32>, %s: !relax.shape<[m]>) -> !relax.object {
  // expected-error@+2 {{'relax.call_tir_inplace' op expected argument 0, which is updated in place, to have the type '!relax.tensor<[m], f32>' of its output, but got '!relax.tensor<[n], f32>'}}
  // expected-note@+1 {{insert relax.match_cast to check it at run time}}
  %0 = relax.call_tir_inplace @relu(%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[m], f32>
  relax.return %0 : !relax.tensor<[m], f32>
}

// -----

// OP02: a kernel gets no place for what is updated.
// expected-note@+1 {{the kernel is defined here}}
func.func private @two(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_kernel(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  // expected-error@+1 {{'relax.call_tir_inplace' op passes 1 values (inputs, integers, outputs), but the kernel takes 2}}
  %0 = relax.call_tir_inplace @two(%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP06
relax.func @op06_range(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_inplace_packed' op expected inplace_indices to be -1 or positions of the 1 arguments, but got 1}}
  %0 = relax.call_inplace_packed "f"(%x) inplace [1] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP06
relax.func @op06_distinct(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_inplace_packed' op expected distinct inplace_indices, but got 0 twice}}
  %0 = relax.call_inplace_packed "f"(%x) inplace [0, 0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP06
relax.func @op06_none(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_inplace_packed' op expected an argument that is updated in inplace_indices; relax.call_pure_packed updates none}}
  %0 = relax.call_inplace_packed "f"(%x) inplace [-1] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP06
relax.func @op06_kind(%s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.call_inplace_packed' op expected argument 0, which is updated in place, to be a tensor or object, but got '!relax.shape<[n]>'}}
  %0 = relax.call_inplace_packed "f"(%s) inplace [0] : (!relax.shape<[n]>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// OP06, DR10
relax.func @op06_derived(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  // expected-error@+1 {{'relax.call_inplace_packed' op derives a result of type '!relax.object', which is not a subtype of the declared '!relax.tensor<[n], f32>'}}
  %0 = relax.call_inplace_packed "f"(%x) inplace [0] {sinfo_args = [!relax.object]} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP05, DR10
relax.func @op05_derived(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_pure_packed' op derives a result of type '!relax.tuple<!relax.object, !relax.object>', which is not a subtype of the declared '!relax.tuple<!relax.object>'}}
  %0 = relax.call_pure_packed "f"(%x) {sinfo_args = [!relax.object, !relax.object]} : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.object>
  relax.return %0 : !relax.tuple<!relax.object>
}

// -----

// OP05: a closure is no packed function.
relax.func @op05_closure(%f: !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_pure_packed' op expected a packed function as the function value, but got '!relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>'; relax.call calls closures}}
  %0 = relax.call_pure_packed %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP06: a closure is no packed function.
relax.func @op06_closure(%f: !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_inplace_packed' op expected a packed function as the function value, but got '!relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>'; relax.call calls closures}}
  %0 = relax.call_inplace_packed %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP03: a closure is no packed function.
relax.func @op03_closure(%f: !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_dps_packed' op expected a packed function as the function value, but got '!relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>'; relax.call calls closures}}
  %0 = relax.call_dps_packed %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP05: not a name and a value.
relax.func @op05_both(%f: !relax.func<derive = @default_derive>) -> !relax.object {
  // expected-error@+1 {{'relax.call_pure_packed' op expected either a callee or a function value}}
  %0 = "relax.call_pure_packed"(%f) <{callee = "f", operandSegmentSizes = array<i32: 1, 0>}> : (!relax.func<derive = @default_derive>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// OP02: what the lowered call says of its outputs.
func.func private @relu(memref<?xf32>)
relax.func @op02_lowered(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.call_kernel' op expected -1 in inplace_indices for each of the 0 outputs, but got 1}}
  relax.builtin.call_kernel @relu(%x) outs() inplace [-1] : (!relax.tensor<ndim = 1, f32>) -> ()
  relax.return %x : !relax.tensor<ndim = 1, f32>
}
