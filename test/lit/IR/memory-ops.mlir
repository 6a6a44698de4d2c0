// RUN: %roundtrip

// Storages, tensors in them, and views.

// RF09: the size is an expression before shapes are lowered, and an operand after it.
// CHECK-LABEL: relax.func @rf09_alloc_storage
relax.func @rf09_alloc_storage(%s: !relax.shape<[n, m]>, %o: !relax.object) -> !relax.object {
  // CHECK: relax.builtin.alloc_storage size <m * n * 4>
  %0 = relax.builtin.alloc_storage size <n * m * 4>
  %1 = relax.builtin.dim %s[0] : !relax.shape<[n, m]>
  // CHECK: relax.builtin.alloc_storage(%{{.*}}) {device = #relax.vdevice<"llvm", 1>}
  %2 = relax.builtin.alloc_storage(%1) {device = #relax.vdevice<"llvm", 1>}
  // CHECK: relax.builtin.alloc_storage size <0>
  %3 = relax.builtin.alloc_storage size <0>
  // CHECK: relax.builtin.kill %{{.*}} : !relax.object
  relax.builtin.kill %0 : !relax.object
  relax.return %o : !relax.object
}

// RF09: two tensors at one place, and one behind them.
// CHECK-LABEL: relax.func @rf09_alloc_tensor_from
relax.func @rf09_alloc_tensor_from(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.builtin.alloc_storage size <n * 4 + 64>
  // CHECK: relax.builtin.alloc_tensor from %[[S:.*]] at 0 : !relax.tensor<[16], f32>
  %1 = relax.builtin.alloc_tensor from %0 at 0 : !relax.tensor<[16], f32>
  // CHECK: relax.builtin.alloc_tensor from %[[S]] at 64 : !relax.tensor<[n], f32>
  %2 = relax.builtin.alloc_tensor from %0 at 64 : !relax.tensor<[n], f32>
  %3 = relax.builtin.dim %x[0] : !relax.tensor<[n], f32>
  // CHECK: relax.builtin.alloc_tensor(%{{.*}}) from %[[S]] at 64 : !relax.tensor<ndim = 1, f32>
  %4 = relax.builtin.alloc_tensor(%3) from %0 at 64 : !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<[n], f32>
}

// RF09: the dimensions of a view.
// CHECK-LABEL: relax.func @rf09_view
relax.func @rf09_view(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // CHECK: relax.builtin.view %x : {{.*}}<[n, 4], f32> -> {{.*}}<[n * 4], f32>
  %0 = relax.builtin.view %x : !relax.tensor<[n, 4], f32> -> !relax.tensor<[n * 4], f32>
  %1 = relax.builtin.dim %0[0] : !relax.tensor<[n * 4], f32>
  // CHECK: relax.builtin.view %x(%{{.*}}) : {{.*}}<[n, 4], f32> -> {{.*}}<ndim = 1, f32>
  %2 = relax.builtin.view %x(%1) : !relax.tensor<[n, 4], f32> -> !relax.tensor<ndim = 1, f32>
  relax.return %2 : !relax.tensor<ndim = 1, f32>
}
