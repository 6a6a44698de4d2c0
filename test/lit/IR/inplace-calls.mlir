// RUN: %roundtrip

// Calls that update arguments: what is updated belongs to the function, and
// nobody looks at it afterwards.

func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
func.func private @both(memref<?xf32>, memref<?xf32>, i64, memref<?xf32>)

// CHECK-LABEL: relax.func @op02_own_tensor
relax.func @op02_own_tensor(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // CHECK: relax.call_tir_inplace @relu(%{{.*}}) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // The output may be updated again.
  %2 = relax.call_tir_inplace @relu(%1) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %2 : !relax.tensor<[n], f32>
}

// OP02: updated and allocated outputs, integers, and other tensors that live on.
// CHECK-LABEL: relax.func @op02_mixed
relax.func @op02_mixed(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %s = relax.shape <[n]>
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // CHECK: relax.call_tir_inplace @both(%{{.*}}, %x) packed_ints %{{.*}} : !relax.shape<[n]> inplace [-1, 0]
  %1 = relax.call_tir_inplace @both(%0, %x) packed_ints %s : !relax.shape<[n]> inplace [-1, 0] : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tuple<!relax.tensor<[2], f32>, !relax.tensor<[n], f32>>
  %2 = relax.tuple %1, %x : !relax.tuple<!relax.tensor<[2], f32>, !relax.tensor<[n], f32>>, !relax.tensor<[n], f32>
  relax.return %2 : !relax.tuple<!relax.tuple<!relax.tensor<[2], f32>, !relax.tensor<[n], f32>>, !relax.tensor<[n], f32>>
}

// OP02: an impure function may mutate what it was given.
// CHECK-LABEL: relax.func impure @op02_impure
relax.func @op02_impure(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {is_pure = false} {
  // CHECK: relax.call_tir_inplace
  %0 = relax.call_tir_inplace @relu(%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// OP06: one branch updates the tensor, the other one does not; one field of a
// tuple is updated, the other one is used later.
// CHECK-LABEL: relax.func @op06_branches
relax.func @op06_branches(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.abs %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.tuple %0, %1 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  %3 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    // CHECK: relax.call_inplace_packed "f"(%{{.*}}) inplace [0] {sinfo_args = [!relax.tensor<[n], f32>]}
    %4 = relax.call_inplace_packed "f"(%0) inplace [0] {sinfo_args = [!relax.tensor<[n], f32>]} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %4 : !relax.tensor<[n], f32>
  } else {
    relax.yield %0 : !relax.tensor<[n], f32>
  }
  %5 = relax.get_item %2[1] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  %6 = relax.tuple %3, %5 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  relax.return %6 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
}

// OP05, OP06: function values, and in a dataflow block.
// CHECK-LABEL: relax.func @op05_op06_values
relax.func @op05_op06_values(%f: !relax.func<derive = @default_derive>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    // CHECK: relax.call_pure_packed %f : !relax.func<derive = @default_derive>(%x) : (!relax.tensor<[n], f32>) -> !relax.object
    %1 = relax.call_pure_packed %f : !relax.func<derive = @default_derive> (%x) : (!relax.tensor<[n], f32>) -> !relax.object
    %2 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    // CHECK: relax.call_inplace_packed %f : !relax.func<derive = @default_derive>(%{{.*}}, %x) inplace [-1, 0]
    %3 = relax.call_inplace_packed %f : !relax.func<derive = @default_derive> (%2, %x) inplace [-1, 0] : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.object
    relax.output %3 : !relax.object
  }
  relax.return %0 : !relax.object
}
