// RUN: relax-opt %s -relax-kill-after-last-use | FileCheck %s

func.func private @exp(%x: memref<?xf32>, %y: memref<?xf32>) { return }

// A value dies behind its last use, also one in a branch; what is returned does not.
// CHECK-LABEL: relax.func @RF09_kill
// CHECK: %[[A:.*]] = relax.builtin.alloc_tensor
// CHECK: %[[B:.*]] = relax.builtin.alloc_tensor
// CHECK: relax.builtin.call_kernel @exp(%[[A]]) outs(%[[B]])
// CHECK-NOT: kill
// CHECK: %[[C:.*]] = relax.if
// CHECK:   relax.yield %[[A]]
// CHECK-NOT: kill
// CHECK: }
// CHECK: relax.builtin.kill %[[A]]
// CHECK-NEXT: relax.builtin.kill %[[B]]
// CHECK: relax.return %[[C]]
relax.func @RF09_kill(%d: !relax.tensor<[], i1>) -> !relax.tensor<ndim = 1, f32> {
  %n = arith.constant 4 : i64
  %a = relax.builtin.alloc_tensor(%n) : !relax.tensor<ndim = 1, f32>
  %b = relax.builtin.alloc_tensor(%n) : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @exp(%a) outs(%b) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  %c = relax.if %d : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
    relax.yield %a : !relax.tensor<ndim = 1, f32>
  } else {
    relax.yield %b : !relax.tensor<ndim = 1, f32>
  }
  relax.return %c : !relax.tensor<ndim = 1, f32>
}

// A value that is never used dies at once.
// CHECK-LABEL: relax.func @unused
// CHECK: %[[S:.*]] = relax.string "s"
// CHECK-NEXT: relax.builtin.kill %[[S]]
relax.func @unused(%x: !relax.object) -> !relax.object {
  %s = relax.string "s"
  relax.return %x : !relax.object
}

// To drop a tensor that was updated in place is no later use of it (OP06).
// CHECK-LABEL: relax.func @op06_updated
// CHECK: %[[X:.*]] = relax.exp
// CHECK: %[[Y:.*]] = relax.call_inplace_packed "f"(%[[X]]) inplace [0]
// CHECK-DAG: relax.builtin.kill %[[X]]
// CHECK-DAG: relax.builtin.kill %[[Y]]
relax.func @op06_updated(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_inplace_packed "f"(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.object
  %2 = relax.null_value
  relax.return %2 : !relax.object
}

// A field of a tuple that is there is the value itself: it lives on.
// CHECK-LABEL: relax.func @known_fields
// CHECK-NOT: relax.tuple
// CHECK-NOT: relax.get_item
// CHECK: relax.builtin.check %x
// CHECK-NEXT: relax.builtin.check %[[Y:.*]] is
// CHECK-NOT: relax.builtin.kill
// CHECK: relax.return %[[Y]]
relax.func @known_fields(%x: !relax.object) -> !relax.object {
  %y = relax.string "y"
  %0 = relax.tuple %x, %y : !relax.object, !relax.object
  %1 = relax.get_item %0[0] : !relax.tuple<!relax.object, !relax.object>
  relax.builtin.check %1 is !relax.object as "field 0" expecting "!relax.object" : !relax.object
  %2 = relax.get_item %0[1] : !relax.tuple<!relax.object, !relax.object>
  relax.builtin.check %2 is !relax.object as "field 1" expecting "!relax.object" : !relax.object
  relax.return %2 : !relax.object
}

// A storage dies with the last tensor in it, seen through a view.
// CHECK-LABEL: relax.func @RF09_storage
// CHECK: %[[S:.*]] = relax.builtin.alloc_storage
// CHECK: %[[A:.*]] = relax.builtin.alloc_tensor
// CHECK-NEXT: %[[V:.*]] = relax.builtin.view %[[A]]
// CHECK-NEXT: relax.builtin.kill %[[A]]
// CHECK-NEXT: relax.builtin.call_kernel @exp(%[[V]])
// CHECK-NEXT: relax.builtin.kill %[[V]]
// CHECK-NEXT: relax.builtin.kill %[[S]] : !relax.object
relax.func @RF09_storage(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %n = arith.constant 16 : i64
  %s = relax.builtin.alloc_storage(%n)
  %c = arith.constant 4 : i64
  %a = relax.builtin.alloc_tensor(%c) from %s at 0 : !relax.tensor<ndim = 1, f32>
  %v = relax.builtin.view %a(%c) : !relax.tensor<ndim = 1, f32> -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @exp(%v) outs(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// What only one branch uses dies in it behind its last use, and at the start of the other one.
// CHECK-LABEL: relax.func @RF09_branches
// CHECK: %[[A:.*]] = relax.builtin.alloc_tensor
// CHECK: relax.if
// CHECK-NEXT: relax.builtin.call_kernel @exp(%[[A]])
// CHECK-NEXT: relax.builtin.kill %[[A]]
// CHECK-NEXT: relax.builtin.call_kernel @exp(%x)
// CHECK: } else {
// CHECK-NEXT: relax.builtin.kill %[[A]]
// CHECK: }
// CHECK-NOT: relax.builtin.kill %[[A]]
// CHECK: relax.return
relax.func @RF09_branches(%x: !relax.tensor<ndim = 1, f32>, %d: !relax.tensor<[], i1>) -> !relax.object {
  %n = arith.constant 4 : i64
  %a = relax.builtin.alloc_tensor(%n) : !relax.tensor<ndim = 1, f32>
  %c = relax.if %d : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
    relax.builtin.call_kernel @exp(%a) outs(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
    relax.builtin.call_kernel @exp(%x) outs(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
    relax.yield %x : !relax.tensor<ndim = 1, f32>
  } else {
    relax.yield %x : !relax.tensor<ndim = 1, f32>
  }
  relax.return %c : !relax.tensor<ndim = 1, f32>
}

// A storage in a branch dies there, though the tensor in it is passed on.
// CHECK-LABEL: relax.func @RF09_passed_on
// CHECK: %[[C:.*]] = relax.if
// CHECK: %[[S:.*]] = relax.builtin.alloc_storage
// CHECK-NEXT: %[[A:.*]] = relax.builtin.alloc_tensor
// CHECK-NEXT: relax.builtin.call_kernel @exp(%x) outs(%[[A]])
// CHECK-NEXT: relax.builtin.kill %[[S]]
// CHECK-NEXT: relax.yield %[[A]]
// CHECK: relax.builtin.call_kernel @exp(%[[C]])
// CHECK-NEXT: relax.builtin.kill %[[C]]
relax.func @RF09_passed_on(%x: !relax.tensor<ndim = 1, f32>, %d: !relax.tensor<[], i1>) -> !relax.object {
  %n = arith.constant 4 : i64
  %c = relax.if %d : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
    %s = relax.builtin.alloc_storage(%n)
    %a = relax.builtin.alloc_tensor(%n) from %s at 0 : !relax.tensor<ndim = 1, f32>
    relax.builtin.call_kernel @exp(%x) outs(%a) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
    relax.yield %a : !relax.tensor<ndim = 1, f32>
  } else {
    relax.yield %x : !relax.tensor<ndim = 1, f32>
  }
  relax.builtin.call_kernel @exp(%c) outs(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// A tensor dies with the last view of it, which may be its address.
// CHECK-LABEL: relax.func @viewed
// CHECK: %[[A:.*]] = relax.builtin.alloc_tensor
// CHECK-NEXT: %[[V:.*]] = relax.builtin.view %[[A]]
// CHECK-NEXT: relax.builtin.call_kernel @exp(%[[V]])
// CHECK-NEXT: relax.builtin.kill %[[V]]
// CHECK-NEXT: relax.builtin.kill %[[A]]
relax.func @viewed(%b: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %n = arith.constant 4 : i64
  %a = relax.builtin.alloc_tensor(%n, %n) : !relax.tensor<ndim = 2, f32>
  %v = relax.builtin.view %a(%n) : !relax.tensor<ndim = 2, f32> -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @exp(%v) outs(%b) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %b : !relax.tensor<ndim = 1, f32>
}

// Where the program kills values itself, they die where they do without that.
// CHECK-LABEL: relax.func impure @own_kills
// CHECK: %[[A:.*]] = relax.builtin.alloc_tensor
// CHECK-NEXT: relax.builtin.call_kernel @exp(%x) outs(%[[A]])
// CHECK-NEXT: relax.builtin.kill %[[A]]
// CHECK-NEXT: relax.call_packed
// CHECK-NOT: kill %[[A]]
// CHECK: relax.return
relax.func impure @own_kills(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %n = arith.constant 4 : i64
  %a = relax.builtin.alloc_tensor(%n) : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @exp(%x) outs(%a) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  %0 = relax.call_packed "f"() : () -> !relax.object
  relax.builtin.kill %a : !relax.tensor<ndim = 1, f32>
  relax.builtin.kill %x : !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.object
}
