// RUN: relax-opt %s -convert-relax-to-llvm | FileCheck %s

module attributes {relax.constants = [dense<1.0> : tensor<2xf32>, dense<[1.0, 2.0]> : tensor<2xf32>]} {

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

// SE02: a constant that only kernels read is that of the pool; one that leaves
// is copied. No code holds elements.
// CHECK-LABEL: func.func @__tvm_ffi_SE02_constant(
// CHECK: %[[P:.*]] = llvm.mlir.addressof @relax_constants
// CHECK: %[[FIRST:.*]] = llvm.load %[[P]]
// CHECK: %[[C:.*]] = llvm.getelementptr %[[FIRST]][1]
// CHECK: llvm.call @relax_tensor_to_device(%{{.*}}, %{{.*}}, %[[C]],
// CHECK: llvm.call @relax_tensor_dims(%{{.*}})
// CHECK-NOT: llvm.call @relax_value_kill
// CHECK: return
relax.func @SE02_constant(%x: !relax.object) -> !relax.object {
  %0 = relax.builtin.load_constant 1 fresh : !relax.tensor<ndim = 1, f32>
  %1 = relax.builtin.load_constant 0 : !relax.tensor<ndim = 1, f32>
  %2 = relax.builtin.dim %1[0] : !relax.tensor<ndim = 1, f32>
  relax.builtin.kill %1 : !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
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

// VM03, VM05: a value of an algebraic data type, its tag and fields, an error.
// CHECK-LABEL: func.func @__tvm_ffi_VM03_adt(
// CHECK: llvm.call @relax_adt_make
// CHECK: llvm.call @relax_adt_tag
// CHECK: llvm.call @relax_adt_get
// CHECK: llvm.call @relax_error_raise
relax.func @VM03_adt(%x: !relax.object) -> !relax.object attributes {relax.force_pure = true} {
  %v = relax.adt_make 1(%x, %x) : !relax.object, !relax.object
  %tag = relax.builtin.tag %v : !relax.object
  %prim = relax.builtin.make_prim %tag : !relax.prim<i64>
  %field = relax.adt_get %v[1] : !relax.object
  relax.builtin.raise "stop"
  %t = relax.tuple %prim, %field : !relax.prim<i64>, !relax.object
  relax.return %t : !relax.tuple<!relax.prim<i64>, !relax.object>
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
  %c = relax.builtin.load_constant 0 fresh : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @add(%x, %y, %c) outs() inplace [1, 2] : (!relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>) -> ()
  relax.return %c : !relax.tensor<ndim = 1, f32>
}

func.func private @scalars(%x: memref<?xf32>, %f: f32, %d: f64, %b: i1, %i: i8, %y: memref<?xf32>) { return }

// OP01: scalars are taken from their slots, and have no data.
// CHECK-LABEL: func.func @__tvm_ffi_OP01_scalars(
// CHECK-COUNT-2: llvm.call @relax_tensor_data(
// CHECK-NOT: llvm.call @relax_tensor_data(
// CHECK: %[[F:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: %[[D:.*]] = arith.select
// CHECK: %[[B:.*]] = arith.trunci %{{.*}} : i64 to i1
// CHECK: %[[I:.*]] = arith.trunci %{{.*}} : i64 to i8
// CHECK: call @scalars(%{{.*}}, %[[F]], %[[D]], %[[B]], %[[I]], %{{.*}})
relax.func @OP01_scalars(%x: !relax.tensor<ndim = 1, f32>, %f: !relax.prim<f32>, %d: !relax.prim<f64>, %b: !relax.prim<i1>, %i: !relax.prim<ui8>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  relax.builtin.call_kernel @scalars(%x, %f, %d, %b, %i) outs(%y) : (!relax.tensor<ndim = 1, f32>, !relax.prim<f32>, !relax.prim<f64>, !relax.prim<i1>, !relax.prim<ui8>) -> !relax.tensor<ndim = 1, f32>
  relax.return %y : !relax.tensor<ndim = 1, f32>
}

func.func private @half(%n: i64) -> f16 { %0 = arith.sitofp %n : i64 to f16 return %0 : f16 }
func.func private @is_zero(%n: i64) -> i1 { %c = arith.constant 0 : i64 %0 = arith.cmpi eq, %n, %c : i64 return %0 : i1 }
func.func private @byte(%n: i64) -> i8 { %0 = arith.trunci %n : i64 to i8 return %0 : i8 }

// DR14: what kernels return becomes primitive values.
// CHECK-LABEL: func.func @__tvm_ffi_DR14_scalar_results(
// CHECK: %[[H:.*]] = call @half
// CHECK: %[[HD:.*]] = arith.extf %[[H]] : f16 to f64
// CHECK: llvm.call @relax_prim_set_float(%{{.*}}, %[[HD]])
// CHECK: %[[Z:.*]] = call @is_zero
// CHECK: %[[ZI:.*]] = arith.extui %[[Z]] : i1 to i32
// CHECK: llvm.call @relax_prim_set_bool(%{{.*}}, %[[ZI]])
// CHECK: %[[B:.*]] = call @byte
// CHECK: %[[BI:.*]] = arith.extsi %[[B]] : i8 to i64
// CHECK: llvm.call @relax_prim_set_int(%{{.*}}, %[[BI]])
relax.func @DR14_scalar_results(%n: !relax.prim<i64>) -> !relax.object {
  %0 = relax.call @half(%n) : (!relax.prim<i64>) -> !relax.prim<f16>
  %1 = relax.call @is_zero(%n) : (!relax.prim<i64>) -> !relax.prim<i1>
  %2 = relax.call @byte(%n) : (!relax.prim<i64>) -> !relax.prim<i8>
  %3 = relax.tuple %0, %1, %2 : !relax.prim<f16>, !relax.prim<i1>, !relax.prim<i8>
  relax.return %3 : !relax.tuple<!relax.prim<f16>, !relax.prim<i1>, !relax.prim<i8>>
}

// RF08: no step of a dimension wraps. The least integer is not divided by -1.
// CHECK-LABEL: func.func @__tvm_ffi_RF08_exact(
// CHECK: %[[BOTH:.*]] = "llvm.intr.smul.with.overflow"
// CHECK: %[[FLAG:.*]] = llvm.extractvalue %[[BOTH]][1]
// CHECK: %[[FITS:.*]] = arith.xori %[[FLAG]],
// CHECK: cf.cond_br %[[FITS]], ^{{.*}}, ^{{.*}}
// CHECK: llvm.call @relax_overflow_raise
// CHECK: %[[PRODUCT:.*]] = llvm.extractvalue %[[BOTH]][0]
// CHECK: arith.cmpi ne, %[[PRODUCT]], %{{.*}}
// CHECK: arith.cmpi ne
// CHECK: arith.floordivsi %[[PRODUCT]]
// CHECK: arith.cmpi sge
// CHECK: llvm.call @relax_dim_raise
relax.func @RF08_exact(%n: !relax.prim<i64>) -> !relax.object {
  %0 = relax.builtin.dim %n[0] : !relax.prim<i64>
  %1 = arith.muli %0, %0 {relax.expr = "n * n"} : i64
  %2 = arith.floordivsi %1, %0 : i64
  relax.builtin.check_not_negative %2 of "argument 'n'" where "n"
  %3 = relax.builtin.make_prim %2 : !relax.prim<i64>
  relax.return %3 : !relax.prim<i64>
}

}
