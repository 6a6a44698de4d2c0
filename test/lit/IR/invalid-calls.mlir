// RUN: %invalid

relax.func @op01_no_kernel(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected @missing to be a func.func of the module}}
  %0 = relax.call_tir @missing(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// A Relax function is no kernel.
relax.func @op01_relax_function(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected @op01_relax_function to be a func.func of the module}}
  %0 = relax.call_tir @op01_relax_function(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// expected-note@+1 {{the kernel is defined here}}
func.func private @relu(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

// GR02
relax.func @op01_number_of_parameters(%x: !relax.tensor<[n], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op passes 3 values (inputs, integers, outputs), but the kernel takes 2}}
  %0 = relax.call_tir @relu(%x) packed_ints %s : !relax.shape<[n]> : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @relu(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

relax.func @op01_data_type(%x: !relax.tensor<[n], f16>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 0 of type 'tensor<?xf32>', but got '!relax.tensor<[n], f16>'}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<[n], f16>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @relu(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

relax.func @op01_rank(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 0 of type 'tensor<?xf32>', but got '!relax.tensor<[n, 4], f32>'}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @relu(memref<?x4xf32>, memref<?x4xf32>)

relax.func @op01_static_dimension(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 1 of type 'memref<?x4xf32>', but got '!relax.tensor<[n, n], f32>'}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, n], f32>
  relax.return %0 : !relax.tensor<[n, n], f32>
}

// -----

// What the kernel relies on must be known.
func.func private @relu(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

relax.func @op01_unknown_shape(%x: !relax.tensor<ndim = 1, f32>, %s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 0 of type 'tensor<?xf32>', but got '!relax.tensor<ndim = 1, f32>': its shape and data type must be known; insert relax.match_cast}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @relu(tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>

relax.func @op01_unranked_kernel(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 0 of type 'tensor<*xf32>', but got '!relax.tensor<[n], f32>'}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @relu(f32, tensor<?xf32>) -> tensor<?xf32>

relax.func @op01_scalar_parameter(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 0 of type 'f32', but got '!relax.tensor<[n], f32>'}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @iota(index, tensor<?xf32>) -> tensor<?xf32>

relax.func @op01_integer_parameter(%s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected kernel parameter 0 to be i64, but got 'index'}}
  %0 = relax.call_tir @iota() packed_ints %s : !relax.shape<[n]> : () -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @iota(i64, tensor<4xf32>) -> tensor<4xf32>

relax.func @op01_integers_of_any_rank(%s: !relax.shape<*>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected packed_ints of known rank, but got a shape of any rank}}
  %0 = relax.call_tir @iota() packed_ints %s : !relax.shape<*> : () -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

func.func private @relu(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

relax.func @op01_result_shape(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected outputs of known shape and data type, but got '!relax.tensor<ndim = 1, f32>'}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

func.func private @relu(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>

relax.func @op01_result_kind(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected tensors as outputs, but got '!relax.shape<[n]>'}}
  %0 = relax.call_tir @relu(%x) : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.shape<[n]>>
  relax.return %0 : !relax.tuple<!relax.shape<[n]>>
}

// -----

relax.func @op01_argument_kind(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op operand #0 must be variadic of a Relax tensor, primitive value or tuple, but got '!relax.object'}}
  %0 = relax.call_tir @relu(%x) : (!relax.object) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

relax.func @op03_result_data_type(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_dps_packed' op expected outputs of known shape and data type, but got '!relax.tensor<[n]>'}}
  %0 = relax.call_dps_packed "my.tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n]>
  relax.return %0 : !relax.tensor<[n]>
}

// -----

relax.func @op03_result_kind(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_dps_packed' op expected tensors as outputs, but got '!relax.object'}}
  %0 = relax.call_dps_packed "my.tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.object>
  relax.return %0 : !relax.tuple<!relax.tensor<[n], f32>, !relax.object>
}

// -----

relax.func @op03_object_result(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_dps_packed' op result #0 must be a Relax tensor or tuple, but got '!relax.object'}}
  %0 = relax.call_dps_packed "my.tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func @op04_symbol(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{custom op 'relax.call_packed' invalid kind of attribute specified}}
  %0 = relax.call_packed @print(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// MLIR values that are not Relax values stay out.
relax.func @op04_argument(%x: !relax.prim<i64>) -> !relax.object {
  %0 = relax.builtin.dim %x[0] : !relax.prim<i64>
  // expected-error@+1 {{'relax.call_packed' op operand #0 must be variadic of a Relax value, but got 'i64'}}
  %1 = relax.call_packed "my.print"(%0) : (i64) -> !relax.object
  relax.return %1 : !relax.object
}

// -----

// SC01: only the functions of the module are in scope.
relax.func @gr14_no_function(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected @missing to be a relax.func or func.func of the module}}
  %0 = relax.call @missing(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// DR14: called directly, a kernel gives an empty tuple.
func.func private @kernel(tensor<4xf32>) -> tensor<4xf32>

relax.func impure @gr14_kernel(%x: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op derives a result of type '!relax.tuple<>', which is not a subtype of the declared}}
  %0 = relax.call @kernel(%x) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

relax.func private @pair(!relax.object, !relax.object) -> !relax.object

relax.func @dr12_arity(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected 2 arguments, but got 1}}
  %0 = relax.call @pair(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func private @relu(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>

relax.func @dr12_argument(%x: !relax.tensor<[n], i32>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected argument 0 of type '!relax.tensor<[n], f32>', but got '!relax.tensor<[n], i32>'}}
  %0 = relax.call @relu(%x) : (!relax.tensor<[n], i32>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// DR12: the variable `n` of the callee would have to be 3 and 4.
relax.func private @add(!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>

relax.func @dr12_two_values_of_a_variable(%x: !relax.tensor<[3], f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected argument 1 of type '!relax.tensor<[3], f32>', but got '!relax.tensor<[4], f32>'}}
  %0 = relax.call @add(%x, %y) : (!relax.tensor<[3], f32>, !relax.tensor<[4], f32>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func private @double(!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>

relax.func @dr12_result(%x: !relax.tensor<[m], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op derives a result of type '!relax.tensor<[m * 2], f32>', which is not a subtype of the declared '!relax.tensor<[m * 3], f32>'}}
  %0 = relax.call @double(%x) : (!relax.tensor<[m], f32>) -> !relax.tensor<[m * 3], f32>
  relax.return %0 : !relax.tensor<[m * 3], f32>
}

// -----

// DR12: nothing is known of `n` here, so of the result only its rank.
relax.func private @double(!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>

relax.func @dr12_erased_result(%x: !relax.object, %s: !relax.shape<[n]>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op derives a result of type '!relax.tensor<ndim = 1, f32>', which is not a subtype of the declared '!relax.tensor<[n * 2], f32>'}}
  %0 = relax.call @double(%x) : (!relax.object) -> !relax.tensor<[n * 2], f32>
  relax.return %0 : !relax.tensor<[n * 2], f32>
}

// -----

// GR14: a function value is checked in the same way.
relax.func @dr12_arity_of_a_value(%f: !relax.func<(!relax.object) -> !relax.object, pure>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected 1 arguments, but got 0}}
  %0 = relax.call %f : !relax.func<(!relax.object) -> !relax.object, pure> () : () -> !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func @gr14_no_function_value(%f: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.call' op operand #0 must be a Relax function, but got '!relax.object'}}
  %0 = relax.call %f : !relax.object () : () -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// GR14: neither a function of the module nor a value.
relax.func @gr14_no_callee() -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected either a callee or a function value}}
  %0 = "relax.call"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func @gr14_two_callees(%f: !relax.func<() -> !relax.object, pure>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op expected either a callee or a function value}}
  %0 = "relax.call"(%f) <{callee = @gr14_two_callees, operandSegmentSizes = array<i32: 1, 0>}> : (!relax.func<() -> !relax.object, pure>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func @rf09_data_type() -> !relax.object {
  // expected-error@+1 {{'relax.builtin.alloc_tensor' op expected a known data type, but got '!relax.tensor<[4]>'}}
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4]>
  relax.return %0 : !relax.tensor<[4]>
}

// -----

relax.func @rf09_dimensions() -> !relax.object {
  // expected-error@+1 {{'relax.builtin.alloc_tensor' op expected dimensions, in the type or as operands, but got '!relax.tensor<ndim = 1, f32>'}}
  %0 = relax.builtin.alloc_tensor : !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

relax.func @rf09_number_of_dimensions(%x: !relax.prim<i64>) -> !relax.object {
  %0 = relax.builtin.dim %x[0] : !relax.prim<i64>
  // expected-error@+1 {{'relax.builtin.alloc_tensor' op expected 2 dimensions, but got 1}}
  %1 = relax.builtin.alloc_tensor(%0) : !relax.tensor<ndim = 2, f32>
  relax.return %1 : !relax.tensor<ndim = 2, f32>
}

// -----

relax.func @op01_call_kernel(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.call_kernel' op expected @missing to be a function of the module}}
  relax.builtin.call_kernel @missing(%x) outs(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// -----

// OP01: a tuple of arguments is a tuple of tensors.
func.func private @op01_kernel(memref<?xf32>, memref<?xf32>)
relax.func @op01_tuple_of_objects(%t: !relax.tuple<!relax.tensor<[n], f32>, !relax.object>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected tensors, primitive values, or tuples of them, as arguments, but got '!relax.object'}}
  %0 = relax.call_tir @op01_kernel(%t) : (!relax.tuple<!relax.tensor<[n], f32>, !relax.object>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

// OP02: likewise.
func.func private @op02_kernel(memref<?xf32>)
relax.func @op02_tuple_of_objects(%t: !relax.tuple<!relax.object>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_inplace' op expected tensors, primitive values, or tuples of them, as arguments, but got '!relax.object'}}
  %0 = relax.call_tir_inplace @op02_kernel(%t) inplace [0] : (!relax.tuple<!relax.object>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

// OP01: the fields of a tuple have to fit the kernel before they are taken.
// expected-note@+1 {{the kernel is defined here}}
func.func private @op01_kernel(memref<?xf32>, memref<?xf32>)
relax.func @op01_tuple_of_two(%t: !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op passes 3 values (inputs, integers, outputs), but the kernel takes 2}}
  %0 = relax.call_tir @op01_kernel(%t) : (!relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

// OP01: a primitive value is passed for a scalar of its data type.
func.func private @op01_scale(memref<?xf32>, f32, memref<?xf32>)
relax.func @op01_scalar_type(%x: !relax.tensor<[n], f32>, %s: !relax.prim<f64>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 1 of type 'f32', but got '!relax.prim<f64>'}}
  %0 = relax.call_tir @op01_scale(%x, %s) : (!relax.tensor<[n], f32>, !relax.prim<f64>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

func.func private @op01_double(memref<f32>, memref<?xf32>)
relax.func @op01_scalar_for_buffer(%s: !relax.prim<f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 0 of type 'memref<f32>', but got '!relax.prim<f32>'}}
  %0 = relax.call_tir @op01_double(%s) : (!relax.prim<f32>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}

// -----

// OP02: a scalar is nothing to update.
func.func private @op02_scale(f32)
relax.func @op02_scalar(%s: !relax.prim<f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir_inplace' op expected argument 0, which is updated in place, to have the type '!relax.tensor<[], f32>' of its output, but got '!relax.prim<f32>'}}
  %0 = relax.call_tir_inplace @op02_scale(%s) inplace [0] : (!relax.prim<f32>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}

// -----

func.func private @op02_scale(f32)
relax.func @op02_kernel_scalar(%s: !relax.prim<f32>) -> !relax.object {
  // expected-error@+1 {{'relax.builtin.call_kernel' op expected input 0, which is updated in place, to be a tensor, but got '!relax.prim<f32>'}}
  relax.builtin.call_kernel @op02_scale(%s) outs() inplace [0] : (!relax.prim<f32>) -> ()
  relax.return %s : !relax.prim<f32>
}

// -----

// DR14: a kernel that returns a scalar gives that, never something stronger.
func.func private @dr14_count(memref<?xf32>) -> i64
relax.func impure @dr14_stronger(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op derives a result of type '!relax.prim<i64>', which is not a subtype of the declared '!relax.prim<f32>'}}
  %0 = relax.call @dr14_count(%x) : (!relax.tensor<[n], f32>) -> !relax.prim<f32>
  relax.return %0 : !relax.prim<f32>
}

// -----

// DR15: one that takes memory may change it.
func.func private @dr15_count(%x: memref<?xf32>) -> i64 {
  %c = arith.constant 1 : i64
  return %c : i64
}
// expected-note@+1 {{the function is pure}}
relax.func @dr15_pure(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op is impure, which is not allowed in a pure function [DR15]}}
  %0 = relax.call @dr15_count(%x) : (!relax.tensor<[n], f32>) -> !relax.prim<i64>
  relax.return %0 : !relax.prim<i64>
}

// -----

// One that calls something else may do anything.
func.func private @dr15_extern(i64) -> i64
func.func private @dr15_indirect(%n: i64) -> i64 {
  %0 = func.call @dr15_extern(%n) : (i64) -> i64
  return %0 : i64
}
// expected-note@+1 {{the function is pure}}
relax.func @dr15_pure(%n: !relax.prim<i64>) -> !relax.object {
  // expected-error@+1 {{'relax.call' op is impure, which is not allowed in a pure function [DR15]}}
  %0 = relax.call @dr15_indirect(%n) : (!relax.prim<i64>) -> !relax.prim<i64>
  relax.return %0 : !relax.prim<i64>
}

// -----

func.func private @kernel_memory_space(%x: memref<?xf32, 3>, %y: memref<?xf32>) { return }
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // expected-error@+1 {{'relax.call_tir' op expected a value for kernel parameter 0 of type 'memref<?xf32, 3>', but got '!relax.tensor<[n], f32>': tensors are compact, in the default memory space}}
  %0 = relax.call_tir @kernel_memory_space(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
