// RUN: %roundtrip

// The lowered host program: each operation is one step of the runtime.

// CHECK-LABEL: func.func private @exp
func.func private @exp(memref<?xf32>, memref<?xf32>)
// CHECK-LABEL: func.func private @fill
func.func private @fill(memref<?xf32>)
// CHECK-LABEL: func.func private @scale
func.func private @scale(memref<?xf32>, i64, memref<?xf32>)

// RF09: dimensions stand in the type before shapes are lowered, and are operands after it.
// CHECK-LABEL: relax.func @rf09_alloc_tensor
relax.func @rf09_alloc_tensor(%s: !relax.shape<[n, m]>, %o: !relax.object) -> !relax.object {
  // CHECK: relax.builtin.dim %s[0] : !relax.shape<[n, m]>
  %0 = relax.builtin.dim %s[0] : !relax.shape<[n, m]>
  // CHECK: relax.builtin.alloc_tensor : !relax.tensor<[m * n], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[m * n], f32>
  // CHECK: relax.builtin.alloc_tensor : !relax.tensor<[], i1>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[], i1>
  // CHECK: relax.builtin.alloc_tensor : !relax.tensor<ndim = 0, f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<ndim = 0, f32>
  // CHECK: relax.builtin.alloc_tensor(%[[D:.*]], %[[D]]) : !relax.tensor<ndim = 2, f32, @cuda0>
  %4 = relax.builtin.alloc_tensor(%0, %0) : !relax.tensor<ndim = 2, f32, @cuda0>
  // CHECK: relax.builtin.kill %{{.*}} : !relax.tensor<ndim = 2, f32, @cuda0>
  relax.builtin.kill %4 : !relax.tensor<ndim = 2, f32, @cuda0>
  relax.return %o : !relax.object
}

// CHECK-LABEL: relax.func @op01_call_kernel
relax.func @op01_call_kernel(%x: !relax.tensor<[n], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  // Without inputs, and with several outputs.
  // CHECK: relax.builtin.call_kernel @fill() outs(%x) : () -> !relax.tensor<[n], f32>
  relax.builtin.call_kernel @fill() outs(%x) : () -> !relax.tensor<[n], f32>
  // CHECK: relax.builtin.call_kernel @exp() outs(%x, %x) : () -> (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>)
  relax.builtin.call_kernel @exp() outs(%x, %x) : () -> (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>)
  // CHECK: relax.builtin.call_kernel @exp(%x) outs(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.builtin.call_kernel @exp(%x) outs(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // CHECK: relax.builtin.call_kernel @scale(%x) packed_ints %s : !relax.shape<[n]> outs(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.builtin.call_kernel @scale(%x) packed_ints %s : !relax.shape<[n]> outs(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // CHECK: relax.builtin.dim %s[0] : !relax.shape<[n]>
  %0 = relax.builtin.dim %s[0] : !relax.shape<[n]>
  // CHECK: relax.builtin.call_kernel @scale(%x) ints(%{{.*}}) outs(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.builtin.call_kernel @scale(%x) ints(%0) outs(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %x : !relax.tensor<[n], f32>
}

// MC07, MC08: checks name the value, what is expected of it, and where.
// CHECK-LABEL: relax.func @mc07_checks
relax.func @mc07_checks(%x: !relax.object, %t: !relax.tensor<ndim = 2, f32>, %p: !relax.prim<i64>) -> !relax.object {
  // What was checked has that type from here on.
  // CHECK: relax.builtin.cast %x : !relax.object -> !relax.tensor<ndim = 1, f32>
  %c = relax.builtin.cast %x : !relax.object -> !relax.tensor<ndim = 1, f32>
  // CHECK: relax.builtin.check %x is !relax.tensor<ndim = 1, f32> as "argument 'x'" expecting "!relax.tensor<[n], f32>" : !relax.object
  relax.builtin.check %x is !relax.tensor<ndim = 1, f32> as "argument 'x'" expecting "!relax.tensor<[n], f32>" : !relax.object
  // CHECK: %[[D:.*]] = relax.builtin.dim %t[1] : !relax.tensor<ndim = 2, f32>
  %0 = relax.builtin.dim %t[1] : !relax.tensor<ndim = 2, f32>
  // CHECK: %[[P:.*]] = relax.builtin.dim %p[0] : !relax.prim<i64>
  %1 = relax.builtin.dim %p[0] : !relax.prim<i64>
  // CHECK: relax.builtin.check_dim %[[D]] equals %[[P]] at 1 of "argument 't'" expecting "!relax.tensor<[n, m], f32>" where "m"
  relax.builtin.check_dim %0 equals %1 at 1 of "argument 't'" expecting "!relax.tensor<[n, m], f32>" where "m"
  // CHECK: relax.builtin.check_bounds %[[P]] from 1 to 128 of "m"
  relax.builtin.check_bounds %1 from 1 to 128 of "m"
  // CHECK: relax.builtin.check_bounds %[[P]] from 1 of "m"
  relax.builtin.check_bounds %1 from 1 of "m"
  // CHECK: relax.builtin.check_bounds %[[P]] to 128 of "m"
  relax.builtin.check_bounds %1 to 128 of "m"
  // CHECK: relax.builtin.check_divisor %[[P]] of "m floordiv n"
  relax.builtin.check_divisor %1 of "m floordiv n"
  // CHECK: relax.builtin.check_not_negative %[[P]] of "argument 'n'" where "n"
  relax.builtin.check_not_negative %1 of "argument 'n'" where "n"
  relax.return %x : !relax.object
}

// CHECK-LABEL: relax.func @rf08_values
relax.func @rf08_values(%p: !relax.prim<i64>) -> !relax.object {
  // CHECK: %[[N:.*]] = relax.builtin.dim
  %0 = relax.builtin.dim %p[0] : !relax.prim<i64>
  // CHECK: relax.builtin.make_shape(%[[N]], %[[N]]) : !relax.shape<ndim = 2>
  %1 = relax.builtin.make_shape(%0, %0) : !relax.shape<ndim = 2>
  // CHECK: relax.builtin.make_shape() : !relax.shape<ndim = 0>
  %2 = relax.builtin.make_shape() : !relax.shape<ndim = 0>
  // CHECK: relax.builtin.make_prim %[[N]] : !relax.prim<i64>
  %3 = relax.builtin.make_prim %0 : !relax.prim<i64>
  relax.return %3 : !relax.prim<i64>
}
