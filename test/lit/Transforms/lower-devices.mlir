// RUN: relax-opt %s -relax-lower-shapes | FileCheck %s
// RUN: relax-opt %s -relax-lower-shapes -convert-relax-to-llvm | FileCheck %s --check-prefix=LLVM

module attributes {relax.global_info = {cpu0 = #relax.vdevice<"llvm", 0>, cpu1 = #relax.vdevice<"llvm", 1>}} {

// MC02, MC08: a device that the type names is checked, any other will do.
// CHECK-LABEL: relax.func @MC02_arguments
// CHECK: relax.builtin.check %x is !relax.tensor<ndim = 1, f32, @cpu1> as "argument 'x'" expecting "!relax.tensor<ndim = 1, f32, @cpu1>" {device = #relax.vdevice<"llvm", 1>}
// CHECK: relax.builtin.check %y is !relax.tensor<*> as "argument 'y'" expecting "!relax.tensor<*>" :
// LLVM-LABEL: func.func @__tvm_ffi_MC02_arguments
// LLVM: %[[RANK:.*]] = llvm.mlir.constant(1 : i32)
// LLVM: llvm.call @relax_tensor_check
// LLVM: %[[ANY:.*]] = llvm.mlir.constant(0 : i32)
// LLVM: llvm.call @relax_tensor_check
relax.func @MC02_arguments(%x: !relax.tensor<ndim = 1, f32, @cpu1>, %y: !relax.tensor<*>) -> !relax.object {
  relax.return %x : !relax.tensor<ndim = 1, f32, @cpu1>
}

// OP08: allocations are on the device of their type; a move is a copy.
// CHECK-LABEL: relax.func @OP08_memory
// CHECK: relax.builtin.alloc_tensor(%{{.*}}) {device = #relax.vdevice<"llvm", 1>} : !relax.tensor<ndim = 1, f32, @cpu1>
// CHECK: relax.builtin.to_device %{{.*}} to <"llvm", 0> : !relax.tensor<ndim = 1, f32, @cpu1> -> !relax.tensor<ndim = 1, f32, @cpu0>
// LLVM-LABEL: func.func @__tvm_ffi_OP08_memory
// LLVM: llvm.call @relax_tensor_alloc
// LLVM: llvm.call @relax_tensor_to_device
relax.func @OP08_memory(%n: !relax.prim<i64, n>) -> !relax.object {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32, @cpu1>
  %1 = relax.to_vdevice %0 to @cpu0 : !relax.tensor<[n], f32, @cpu1>
  relax.return %1 : !relax.tensor<[n], f32, @cpu0>
}

}
