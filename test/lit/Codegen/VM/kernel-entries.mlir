// RUN: relax-opt %s -relax-make-kernel-entries | FileCheck %s

// Tensors by their place among the tensors, scalars by theirs among the scalars.
// CHECK: func.func private @relax.kernel.mix(
// CHECK: func.func @relax_kernel_mix(%[[DATA:.*]]: !llvm.ptr, %[[DIMS:.*]]: !llvm.ptr, %[[SCALARS:.*]]: !llvm.ptr) -> i32 {
// CHECK: %[[P0:.*]] = llvm.getelementptr %[[DATA]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: %[[D0:.*]] = llvm.load %[[P0]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.getelementptr %[[DIMS]][0]
// CHECK: %[[X:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<?x4xf32>
// CHECK: llvm.getelementptr %[[SCALARS]][0]
// CHECK: %[[N:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %[[SCALARS]][1]
// CHECK: %[[F:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: llvm.getelementptr %[[SCALARS]][2]
// CHECK: %[[B:.*]] = arith.trunci %{{.*}} : i64 to i1
// CHECK: llvm.getelementptr %[[SCALARS]][3]
// CHECK: %[[I:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: llvm.getelementptr %[[SCALARS]][4]
// CHECK: %[[G:.*]] = arith.bitcast %{{.*}} : i64 to f64
// CHECK: llvm.getelementptr %[[DATA]][1]
// CHECK-NOT: llvm.getelementptr %[[DIMS]]
// CHECK: %[[Y:.*]] = builtin.unrealized_conversion_cast %{{.*}} to memref<f32>
// CHECK: call @relax.kernel.mix(%[[X]], %[[N]], %[[F]], %[[B]], %[[I]], %[[G]], %[[Y]])
// CHECK: %[[OK:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: return %[[OK]]
func.func private @relax.kernel.mix(%x: memref<?x4xf32>, %n: i64, %f: f32, %b: i1, %i: index, %d: f64, %y: memref<f32>) { return }

// One that nobody calls has no entry.
// CHECK: func.func private @other
// CHECK-NOT: relax_kernel_other
func.func private @other(%x: memref<?xf32>) { return }

// CHECK: func.func private @work
// CHECK-NOT: relax_kernel_work
func.func private @work(%x: memref<?xf32>) { return }

// CHECK-NOT: relax.func @main
relax.func @main(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<ndim = 0, f32>, %f: !relax.prim<f32>, %b: !relax.prim<i1>) -> !relax.object {
  %n = relax.builtin.dim %x[0] : !relax.tensor<ndim = 2, f32>
  relax.builtin.call_kernel @relax.kernel.mix(%x, %f, %b) ints(%n) outs(%y) : (!relax.tensor<ndim = 2, f32>, !relax.prim<f32>, !relax.prim<i1>) -> !relax.tensor<ndim = 0, f32>
  relax.return %y : !relax.tensor<ndim = 0, f32>
}

// What calls a kernel as a function stays, and what that calls.
// CHECK: relax.func private impure @native
// CHECK: relax.func private @called
// CHECK-NOT: relax.func
relax.func private impure @native(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.call @work(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tuple<>
  %1 = relax.call @called(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.object
  relax.return %1 : !relax.object
}
relax.func private @called(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.return %x : !relax.tensor<ndim = 1, f32>
}
relax.func private impure @caller(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.call @native(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.object
  relax.return %0 : !relax.object
}
