// RUN: relax-opt %s -relax-lower-call-tir | FileCheck %s

func.func private @exp(%x: memref<?xf32>, %y: memref<?xf32>) { return }
func.func private @both(%x: memref<?xf32>, %k: i64, %y: memref<?xf32>, %z: memref<?xf32>) { return }

// OP01: one output.
// CHECK-LABEL: relax.func @OP01_one
// CHECK: %[[Y:.*]] = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
// CHECK: relax.builtin.call_kernel @exp(%x) outs(%[[Y]])
// CHECK: relax.return %[[Y]]
relax.func @OP01_one(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.call_tir @exp(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// OP01: several outputs, and integers; a field taken at once needs no tuple.
// CHECK-LABEL: relax.func @OP01_several
// CHECK: %[[Y:.*]] = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
// CHECK: %[[Z:.*]] = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
// CHECK: relax.builtin.call_kernel @both(%x) packed_ints %{{.*}} : !relax.shape<[n]> outs(%[[Y]], %[[Z]])
// CHECK-NOT: relax.tuple
// CHECK: relax.return %[[Z]]
relax.func @OP01_several(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %s = relax.shape <[n]>
  %0 = relax.call_tir @both(%x) packed_ints %s : !relax.shape<[n]>
    : (!relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  %1 = relax.get_item %0[1] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  relax.return %1 : !relax.tensor<[n], f32>
}

// OP03: the outputs are the last arguments of the packed function.
// CHECK-LABEL: relax.func @OP03_packed
// CHECK: %[[Y:.*]] = relax.builtin.alloc_tensor : !relax.tensor<[n * 2], f32>
// CHECK: relax.call_packed "tile"(%x, %[[Y]]) : (!relax.tensor<[n], f32>, !relax.tensor<[n * 2], f32>) -> !relax.object
// CHECK: relax.return %[[Y]]
relax.func @OP03_packed(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32> {
  %0 = relax.call_dps_packed "tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>
  relax.return %0 : !relax.tensor<[n * 2], f32>
}

// OP03: a function value is called as one.
// CHECK-LABEL: relax.func @OP03_value
// CHECK: relax.call %f : !relax.func<derive = @default_derive>(%x, %{{.*}}) : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.object
relax.func @OP03_value(%f: !relax.func<derive = @default_derive>, %x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {relax.force_pure = true} {
  %0 = relax.call_dps_packed %f : !relax.func<derive = @default_derive> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

func.func private @three(%x: memref<?xf32>, %y: memref<?xf32>, %k: i64, %z: memref<?xf32>) { return }

// OP02: outputs in their order, allocated or updated.
// CHECK-LABEL: relax.func @OP02_mixed
// CHECK: %[[X:.*]] = relax.exp
// CHECK: %[[Z:.*]] = relax.builtin.alloc_tensor : !relax.tensor<[2], f32>
// CHECK-NOT: relax.builtin.alloc_tensor
// CHECK: relax.builtin.call_kernel @three(%y, %[[X]]) packed_ints %{{.*}} : !relax.shape<[n]> outs(%[[Z]]) inplace [-1, 1]
// CHECK: relax.tuple %[[Z]], %[[X]]
relax.func @OP02_mixed(%y: !relax.tensor<[n], f32>) -> !relax.object {
  %s = relax.shape <[n]>
  %x = relax.exp %y : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %0 = relax.call_tir_inplace @three(%y, %x) packed_ints %s : !relax.shape<[n]> inplace [-1, 1]
    : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[2], f32>, !relax.tensor<[n], f32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[2], f32>, !relax.tensor<[n], f32>>
}

// OP05, OP06: what is called, without the promise.
// CHECK-LABEL: relax.func @OP05_OP06
// CHECK: relax.call_packed "f"(%y) : (!relax.tensor<[n], f32>) -> !relax.prim<i64>
// CHECK: relax.call %f : !relax.func<derive = @default_derive>(%{{.*}}) : (!relax.tensor<[n], f32>) -> !relax.object
relax.func @OP05_OP06(%f: !relax.func<derive = @default_derive>, %y: !relax.tensor<[n], f32>) -> !relax.object attributes {relax.force_pure = true} {
  %0 = relax.call_pure_packed "f"(%y) : (!relax.tensor<[n], f32>) -> !relax.prim<i64>
  %1 = relax.exp %y : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.call_inplace_packed %f : !relax.func<derive = @default_derive> (%1) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.object
  %3 = relax.tuple %0, %2 : !relax.prim<i64>, !relax.object
  relax.return %3 : !relax.tuple<!relax.prim<i64>, !relax.object>
}

func.func private @scale(%s: f32, %x: memref<?xf32>, %y: memref<?xf32>) { return }

// OP01: scalars are inputs, too.
// CHECK-LABEL: relax.func @OP01_scalar
// CHECK: relax.builtin.call_kernel @scale(%s, %x) outs(%{{.*}}) : (!relax.prim<f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
relax.func @OP01_scalar(%x: !relax.tensor<[n], f32>, %s: !relax.prim<f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.call_tir @scale(%s, %x) : (!relax.prim<f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// Printing and assertions give the format to packed functions.
// CHECK-LABEL: relax.func impure @debug
// CHECK: %[[F:.*]] = relax.string "x: {}"
// CHECK: relax.call_packed "relax_mlir.run.print"(%[[F]], %x)
// CHECK: %[[U:.*]] = relax.tuple()
// CHECK: %[[E:.*]] = relax.string ""
// CHECK: relax.call_packed "relax_mlir.run.assert_op"(%c, %[[E]], %x, %x)
// CHECK: relax.return %[[U]]
relax.func impure @debug(%x: !relax.tensor<[n], f32>, %c: !relax.prim<i1>) -> !relax.tuple<> {
  %0 = relax.print "x: {}"(%x) : (!relax.tensor<[n], f32>) -> !relax.tuple<>
  %1 = relax.assert_op %c, ""(%x, %x) : !relax.prim<i1>, (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}
