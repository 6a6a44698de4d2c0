// RUN: relax-opt %s -convert-relax-to-llvm | FileCheck %s

func.func private @relax.kernel.exp(%x: memref<?xf32>, %y: memref<?xf32>) { return }

// RF09: tensors that only kernels use have no object; sizes that are known are not checked.
// CHECK-LABEL: func.func @__tvm_ffi_rf09_raw
// CHECK: llvm.call @relax_storage_alloc
// CHECK: %[[DATA:.*]] = llvm.call @relax_storage_data
// CHECK-NOT: relax_tensor_from_storage
// CHECK: llvm.getelementptr %[[DATA]]
// CHECK: call @relax.kernel.exp
// CHECK-NOT: relax_tensor_from_storage
// CHECK: call @relax.kernel.exp
// CHECK: llvm.call @relax_value_kill
relax.func @rf09_raw(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %b = arith.constant 64 : i64
  %c = arith.constant 16 : i64
  %s = relax.builtin.alloc_storage(%b)
  %0 = relax.builtin.alloc_tensor(%c) from %s at 0 : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @relax.kernel.exp(%x) outs(%0) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  %1 = relax.builtin.alloc_tensor(%c) : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @relax.kernel.exp(%0) outs(%1) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.builtin.kill %0 : !relax.tensor<ndim = 1, f32>
  relax.builtin.kill %s : !relax.object
  relax.return %1 : !relax.tensor<ndim = 1, f32>
}

// RF09: a tensor that is returned has an object. A size that is not known is checked, out of line.
// CHECK-LABEL: func.func @__tvm_ffi_rf09_object
// CHECK: llvm.call @relax_tensor_from_storage
// CHECK: llvm.intr.umul.with.overflow
// CHECK: cf.cond_br
relax.func @rf09_object(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %n = relax.builtin.dim %x[0] : !relax.tensor<ndim = 1, f32>
  %s = relax.builtin.alloc_storage(%n)
  %0 = relax.builtin.alloc_tensor(%n) from %s at 0 : !relax.tensor<ndim = 1, f32>
  %1 = relax.builtin.alloc_tensor(%n) from %s at 0 : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @relax.kernel.exp(%x) outs(%1) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// RF09: a view that kernels read is an address, one that is returned an object.
// CHECK-LABEL: func.func @__tvm_ffi_rf09_view
// CHECK: llvm.call @relax_tensor_data
// CHECK: call @relax.kernel.exp
// CHECK: llvm.call @relax_tensor_view
relax.func @rf09_view(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %n = relax.builtin.dim %y[0] : !relax.tensor<ndim = 1, f32>
  %0 = relax.builtin.view %x(%n) : !relax.tensor<ndim = 2, f32> -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @relax.kernel.exp(%0) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  %1 = relax.builtin.view %x(%n) : !relax.tensor<ndim = 2, f32> -> !relax.tensor<ndim = 1, f32>
  relax.return %1 : !relax.tensor<ndim = 1, f32>
}

// A function that ends in a call of itself goes back to its start.
// CHECK-LABEL: func.func @__tvm_ffi_se07_tail
// CHECK: cf.br ^[[LOOP:.*]]
// CHECK: ^[[LOOP]]:
// CHECK: llvm.call @relax_values_kill
// CHECK-NEXT: cf.br ^[[LOOP]]
// CHECK-NOT: relax_entry_call
relax.func @se07_tail(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %r = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    %0 = relax.call @se07_tail(%c, %x) : (!relax.tensor<[], i1>, !relax.object) -> !relax.object
    relax.builtin.kill %x : !relax.object
    relax.yield %0 : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  relax.return %r : !relax.object
}
// CHECK: func.func @__tvm_ffi_end
relax.func @end(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}
