// RUN: relax-opt %s -convert-relax-to-llvm | FileCheck %s

func.func private @exp(%x: memref<?x4xf32>, %k: i64, %y: memref<?x4xf32>) { return }

// The entry counts its arguments, enters a frame, and leaves it on both ways out.
// CHECK-LABEL: func.func @__tvm_ffi_main(
// CHECK-SAME: %[[SELF:.*]]: !llvm.ptr, %[[ARGS:.*]]: !llvm.ptr, %[[NARGS:.*]]: i32, %[[RESULT:.*]]: !llvm.ptr) -> i32
// CHECK: %[[FRAME:.*]] = llvm.alloca {{.*}} x !llvm.struct<(i32, i32, i64)>
// CHECK: llvm.intr.memset
// CHECK: llvm.call @relax_args_check(%{{.*}}, %[[NARGS]], %{{.*}})
// CHECK: llvm.call @relax_frame_enter
// CHECK: llvm.call @relax_tensor_check
// CHECK: llvm.call @relax_tensor_dims
// CHECK: llvm.call @relax_tensor_alloc
// CHECK-COUNT-2: llvm.call @relax_tensor_data(
// CHECK: %[[X:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<?x4xf32>
// CHECK: %[[Y:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<?x4xf32>
// CHECK: call @exp(%[[X]], %{{.*}}, %[[Y]])
// CHECK: llvm.call @relax_value_return(%{{.*}}, %[[RESULT]], %{{.*}})
// CHECK: llvm.call @relax_frame_leave(%[[FRAME]]
// CHECK: llvm.call @relax_frame_leave(%[[FRAME]]
relax.func @main(%x: !relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32> {
  relax.builtin.check %x is !relax.tensor<ndim = 2, f32> as "argument 'x'" expecting "!relax.tensor<[n, 4], f32>" : !relax.tensor<ndim = 2, f32>
  %n = relax.builtin.dim %x[0] : !relax.tensor<ndim = 2, f32>
  %c4 = arith.constant 4 : i64
  %y = relax.builtin.alloc_tensor(%n, %c4) : !relax.tensor<ndim = 2, f32>
  relax.builtin.call_kernel @exp(%x) ints(%n) outs(%y) : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %y : !relax.tensor<ndim = 2, f32>
}

// OP04, GR13: packed functions by name, looked up once.
// CHECK-LABEL: func.func private @__tvm_ffi_OP04_packed(
// CHECK: llvm.call @relax_function_get
// CHECK: llvm.call @relax_function_call
// CHECK: llvm.call @relax_value_kill
relax.func private impure @OP04_packed(%x: !relax.object) -> !relax.object {
  %0 = relax.call_packed "f"(%x) : (!relax.object) -> !relax.object
  relax.builtin.kill %0 : !relax.object
  relax.return %x : !relax.object
}

// GR14: a call of a function of the module goes to its entry and hands on the
// handle, through which closures find what keeps the code alive.
// CHECK-LABEL: func.func @__tvm_ffi_GR14_call(
// CHECK-SAME: %[[HANDLE:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i32,
// CHECK: %[[F:.*]] = constant @__tvm_ffi_OP04_packed
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[F]]
// CHECK: llvm.call @relax_entry_call(%[[HANDLE]], %{{.*}}, %[[P]],
relax.func impure @GR14_call(%x: !relax.object) -> !relax.object {
  %0 = relax.call @OP04_packed(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// A constant that only kernels read is shared; one that leaves is copied.
// CHECK-LABEL: func.func @__tvm_ffi_SE02_constant(
// CHECK: %[[FRESH:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.call @relax_constant_get(
relax.func @SE02_constant(%x: !relax.object) -> !relax.object {
  %0 = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>
  relax.return %0 : !relax.tensor<[2], f32>
}

// GR15: both branches store in the slot of the result.
// CHECK-LABEL: func.func @__tvm_ffi_GR15_if(
// CHECK: llvm.call @relax_tensor_bool
// CHECK: cf.cond_br
// CHECK: llvm.call @relax_value_assign
// CHECK: llvm.call @relax_value_assign
relax.func @GR15_if(%c: !relax.tensor<ndim = 0, i1>, %x: !relax.object, %y: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<ndim = 0, i1> -> !relax.object {
    relax.yield %x : !relax.object
  } else {
    relax.yield %y : !relax.object
  }
  relax.return %0 : !relax.object
}

// GR10, GR11: tuples, primitive values, strings, data types, the null object.
// CHECK-LABEL: func.func @__tvm_ffi_GR11_values(
// CHECK: llvm.call @relax_prim_set_int
// CHECK: llvm.call @relax_prim_set_float
// CHECK: llvm.call @relax_prim_set_bool
// CHECK: llvm.call @relax_string_make
// CHECK: llvm.call @relax_dtype_make
// CHECK: llvm.call @relax_tuple_make
// CHECK: llvm.call @relax_tuple_get
relax.func @GR11_values() -> !relax.object {
  %0 = relax.prim_value 3 : i64
  %1 = relax.prim_value 2.5 : f32
  %2 = relax.prim_value true
  %3 = relax.string "s"
  %4 = relax.dtype f32
  %5 = relax.null_value
  %6 = relax.tuple %0, %1, %2, %3, %4, %5 : !relax.prim<i64, 3>, !relax.prim<f32>, !relax.prim<i1, 1>, !relax.object, !relax.object, !relax.object
  %7 = relax.get_item %6[3] : !relax.tuple<!relax.prim<i64, 3>, !relax.prim<f32>, !relax.prim<i1, 1>, !relax.object, !relax.object, !relax.object>
  relax.return %7 : !relax.object
}

func.func private @add(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) { return }

// OP02: what is updated must be compact and share no memory with the rest.
// CHECK-LABEL: func.func @__tvm_ffi_OP02_inplace(
// CHECK: llvm.call @relax_tensor_data(
// CHECK: llvm.call @relax_tensor_data_inplace(
// CHECK: llvm.call @relax_tensor_data_inplace(
// CHECK-COUNT-3: llvm.call @relax_tensor_check_disjoint(
// CHECK-NOT: llvm.call @relax_tensor_check_disjoint(
// CHECK: call @add(
relax.func @OP02_inplace(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object attributes {is_pure = false} {
  %c = relax.constant dense<1.0> : tensor<2xf32>
  relax.builtin.call_kernel @add(%x, %y, %c) outs() inplace [1, 2] : (!relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<[2], f32>) -> ()
  relax.return %c : !relax.tensor<[2], f32>
}
