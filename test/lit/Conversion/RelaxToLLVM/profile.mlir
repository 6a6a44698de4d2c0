// RUN: relax-opt %s -convert-relax-to-llvm=profile=true | FileCheck %s
// RUN: relax-opt %s -convert-relax-to-llvm | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: relax_profile

func.func private @relax.kernel.exp(%x: memref<?x4xf32>, %y: memref<?x4xf32>) -> i32 attributes {relax.status} {
  %0 = arith.constant 0 : i32
  return %0 : i32
}

// A profile measures calls, which end before their status is looked at. The call site has the data
// type and rank of each operand of a kernel, which gets their dimensions.
// CHECK-LABEL: func.func @__tvm_ffi_main(
// CHECK: %[[ALLOC:.*]] = llvm.mlir.addressof @[[ALLOC_CALL:relax.call.*]] :
// CHECK: llvm.call @relax_profile_begin_values(%[[ALLOC]]
// CHECK: %[[STATUS:.*]] = llvm.call @relax_tensor_alloc
// CHECK-NEXT: llvm.call @relax_profile_end(%[[ALLOC]], %[[STATUS]])
// CHECK: cf.cond_br
// CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @[[KERNEL_CALL:relax.call.*]] :
// CHECK: llvm.call @relax_profile_begin(%[[KERNEL]], %{{.*}})
// CHECK-NEXT: %[[STATUS:.*]] = call @relax.kernel.exp
// CHECK-NEXT: llvm.call @relax_profile_end(%[[KERNEL]], %[[STATUS]])
// CHECK: cf.cond_br
// CHECK: %[[PACKED:.*]] = llvm.mlir.addressof @[[PACKED_CALL:relax.call.*]] :
// CHECK: llvm.call @relax_profile_begin_values(%[[PACKED]], %{{.*}}, %{{.*}})
// CHECK: %[[STATUS:.*]] = llvm.call @relax_function_call
// CHECK-NEXT: llvm.call @relax_profile_end(%[[PACKED]], %[[STATUS]])
relax.func impure @main(%x: !relax.tensor<ndim = 2, f32>) -> !relax.object {
  %n = relax.builtin.dim %x[0] : !relax.tensor<ndim = 2, f32>
  %c4 = arith.constant 4 : i64
  %y = relax.builtin.alloc_tensor(%n, %c4) : !relax.tensor<ndim = 2, f32>
  relax.builtin.call_kernel @relax.kernel.exp(%x) outs(%y) : (!relax.tensor<ndim = 2, f32>) -> !relax.tensor<ndim = 2, f32>
  %0 = relax.call_packed "f"(%y) : (!relax.tensor<ndim = 2, f32>) -> !relax.object
  relax.return %0 : !relax.object
}

// float32 is 2 | 32 << 8 | 1 << 16.
// CHECK-DAG: llvm.mlir.global internal constant @[[OPERANDS:.*]](dense<[73730, 2, 73730, 2]> : tensor<4xi32>)
// CHECK-DAG: llvm.mlir.global internal constant @[[KERNEL_CALL]]() {{.*}}!llvm.struct<(ptr, ptr, ptr, i32, i32, ptr)>
