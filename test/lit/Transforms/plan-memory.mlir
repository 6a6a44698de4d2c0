// RUN: relax-opt %s -split-input-file -relax-plan-memory=inplace=false | FileCheck %s

func.func private @f(memref<*xf32>, memref<*xf32>)
func.func private @g(memref<*xf32>, memref<*xf32>, memref<*xf32>)

// RF09, RF10: three tensors in a chain need two places; the result has its own.
// CHECK-LABEL: relax.func @RF09_chain
// CHECK: %[[S:.*]] = relax.builtin.alloc_storage size <32>
// CHECK: relax.builtin.alloc_tensor from %[[S]] at 0
// CHECK: relax.builtin.alloc_tensor from %[[S]] at 16
// CHECK: relax.builtin.alloc_tensor from %[[S]] at 0
// CHECK: relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
relax.func @RF09_chain(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%0) outs(%1) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%1) outs(%2) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%2) outs(%3) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  relax.return %3 : !relax.tensor<[4], f32>
}

// RF10: n * m and m * n share; the storage is as large as one of them.
// CHECK-LABEL: relax.func @RF10_product
// CHECK-DAG: %[[A:.*]] = relax.builtin.alloc_storage size <m * n * 4>
// CHECK: relax.builtin.alloc_tensor from %[[A]] at 0 : !relax.tensor<[n, m], f32>
// CHECK: relax.builtin.alloc_storage size <m * n * 4>
// CHECK: relax.builtin.alloc_tensor from %[[A]] at 0 : !relax.tensor<[m, n], f32>
// CHECK-NOT: alloc_storage
relax.func @RF10_product(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[m, n], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n, m], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[m * n], f32>
  relax.builtin.call_kernel @f(%0) outs(%1) : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m * n], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[m, n], f32>
  relax.builtin.call_kernel @f(%1) outs(%2) : (!relax.tensor<[m * n], f32>) -> !relax.tensor<[m, n], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[m, n], f32>
  relax.builtin.call_kernel @f(%2) outs(%3) : (!relax.tensor<[m, n], f32>) -> !relax.tensor<[m, n], f32>
  relax.return %3 : !relax.tensor<[m, n], f32>
}

// RF10: a larger storage serves a smaller tensor, whichever comes first.
// CHECK-LABEL: relax.func @RF10_larger
// CHECK: %[[A:.*]] = relax.builtin.alloc_storage size <n * 8>
// CHECK: relax.builtin.alloc_tensor from %[[A]] at 0 : !relax.tensor<[n], f32>
// CHECK: relax.builtin.alloc_storage size <n * 4>
// CHECK: relax.builtin.alloc_tensor from %[[A]] at 0 : !relax.tensor<[n * 2], f32>
relax.func @RF10_larger(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%0) outs(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[n * 2], f32>
  relax.builtin.call_kernel @f(%1) outs(%2) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%2) outs(%3) : (!relax.tensor<[n * 2], f32>) -> !relax.tensor<[n], f32>
  relax.return %3 : !relax.tensor<[n], f32>
}

// RF10: where nothing is known of two sizes, the storage has their maximum.
// CHECK-LABEL: relax.func @RF10_maximum
// CHECK: %[[A:.*]] = relax.builtin.alloc_storage size <max(m * 4, n * 4)>
// CHECK: relax.builtin.alloc_tensor from %[[A]] at 0 : !relax.tensor<[n], f32>
// CHECK: relax.builtin.alloc_storage size <4>
// CHECK: relax.builtin.alloc_tensor from %[[A]] at 0 : !relax.tensor<[m], f32>
relax.func @RF10_maximum(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[], f32>
  relax.builtin.call_kernel @f(%0) outs(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[m], f32>
  relax.builtin.call_kernel @g(%1, %y) outs(%2) : (!relax.tensor<[], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[m], f32>
  relax.builtin.call_kernel @f(%2) outs(%3) : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
  relax.return %3 : !relax.tensor<[m], f32>
}

// RF10: an upper bound makes the plan static.
// CHECK-LABEL: relax.func @RF10_upper_bound
// CHECK: %[[S:.*]] = relax.builtin.alloc_storage size <1024>
// CHECK: relax.builtin.alloc_tensor from %[[S]] at 0 : !relax.tensor<[n], f32>
// CHECK: relax.builtin.alloc_tensor from %[[S]] at 512 : !relax.tensor<[n], f32>
relax.func @RF10_upper_bound(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {tir_var_upper_bound = {n = 128 : i64}} {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%0) outs(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%1) outs(%2) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %2 : !relax.tensor<[n], f32>
}

// The function says that memory is planned for what a call needs: two storages
// of the size that it has serve one after the other.
// CHECK-LABEL: relax.func @RF10_plan_each_call
// CHECK-NOT: size <1024>
// CHECK: relax.builtin.alloc_storage size <n * 4>
// CHECK: relax.builtin.alloc_storage size <n * 4>
// CHECK-NOT: alloc_storage
// CHECK: relax.return
relax.func @RF10_plan_each_call(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {relax.plan_each_call = true, tir_var_upper_bound = {n = 128 : i64}} {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%0) outs(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%1) outs(%2) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %2 : !relax.tensor<[n], f32>
}

// A size that depends on what a cast finds cannot be allocated before it.
// CHECK-LABEL: relax.func @RF10_bound_late
// CHECK: relax.builtin.alloc_storage size <n * 4>
// CHECK: relax.match_cast
// CHECK: relax.builtin.alloc_storage size <k * 4>
relax.func @RF10_bound_late(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<[], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[], f32>
  relax.builtin.call_kernel @f(%0) outs(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[], f32>
  %2 = relax.match_cast %y : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[k], f32>
  relax.builtin.call_kernel @g(%1, %2) outs(%3) : (!relax.tensor<[], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>
  %4 = relax.builtin.alloc_tensor : !relax.tensor<[], f32>
  relax.builtin.call_kernel @f(%3) outs(%4) : (!relax.tensor<[k], f32>) -> !relax.tensor<[], f32>
  relax.return %4 : !relax.tensor<[], f32>
}

// The branches share with each other, not with what stays alive across them.
// CHECK-LABEL: relax.func @RF10_branches
// CHECK: %[[S:.*]] = relax.builtin.alloc_storage size <48>
// CHECK: %[[A:.*]] = relax.builtin.alloc_tensor from %[[S]] at 0
// CHECK: relax.if
// CHECK:   relax.builtin.alloc_tensor from %[[S]] at 16
// CHECK:   relax.builtin.alloc_tensor from %[[S]] at 32
// CHECK: } else {
// CHECK:   relax.builtin.alloc_tensor from %[[S]] at 16
// CHECK:   relax.builtin.alloc_tensor from %[[S]] at 32
// CHECK: }
relax.func @RF10_branches(%x: !relax.tensor<[4], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[4], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[4], f32> {
    %2 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
    relax.builtin.call_kernel @f(%x) outs(%2) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    %3 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
    relax.builtin.call_kernel @f(%2) outs(%3) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    relax.yield %3 : !relax.tensor<[4], f32>
  } else {
    %2 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
    relax.builtin.call_kernel @f(%x) outs(%2) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    %3 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
    relax.builtin.call_kernel @f(%2) outs(%3) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    relax.yield %3 : !relax.tensor<[4], f32>
  }
  %4 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @g(%0, %1) outs(%4) : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  relax.return %4 : !relax.tensor<[4], f32>
}

// What only one branch needs is allocated in it.
// CHECK-LABEL: relax.func @RF09_one_branch
// CHECK-NOT: alloc_storage
// CHECK: relax.if
// CHECK: relax.builtin.alloc_storage size <n * 4>
// CHECK: } else {
// CHECK-NOT: alloc_storage
relax.func @RF09_one_branch(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[n], f32> {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %1 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
    relax.builtin.call_kernel @f(%x) outs(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.builtin.alloc_tensor : !relax.tensor<[n], f32>
    relax.builtin.call_kernel @f(%1) outs(%2) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %2 : !relax.tensor<[n], f32>
  } else {
    relax.yield %x : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// Seen through a cast, a view, a tuple and a branch, a tensor stays where it is.
// CHECK-LABEL: relax.func @RF10_aliases
// CHECK: %[[S:.*]] = relax.builtin.alloc_storage size <32>
// CHECK: relax.builtin.alloc_tensor from %[[S]] at 0
// CHECK: relax.builtin.alloc_tensor from %[[S]] at 16
// CHECK: relax.builtin.call_kernel @g
relax.func @RF10_aliases(%x: !relax.tensor<[4], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[4], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %1 = relax.match_cast %0 : !relax.tensor<[4], f32> -> !relax.tensor<ndim = 1, f32>
  %2 = relax.match_cast %1 : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[4], f32>
  %3 = relax.builtin.view %2 : !relax.tensor<[4], f32> -> !relax.tensor<[2, 2], f32>
  %4 = relax.tuple %3 : !relax.tensor<[2, 2], f32>
  %5 = relax.if %c : !relax.tensor<[], i1> -> !relax.tuple<!relax.tensor<[2, 2], f32>> {
    relax.yield %4 : !relax.tuple<!relax.tensor<[2, 2], f32>>
  } else {
    relax.yield %4 : !relax.tuple<!relax.tensor<[2, 2], f32>>
  }
  %6 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%x) outs(%6) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %7 = relax.get_item %5[0] : !relax.tuple<!relax.tensor<[2, 2], f32>>
  %8 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @g(%7, %6) outs(%8) : (!relax.tensor<[2, 2], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  relax.return %8 : !relax.tensor<[4], f32>
}

// What leaves the function in a tuple, through a view or a call keeps its memory.
// CHECK-LABEL: relax.func @RF09_escapes
// CHECK-NOT: alloc_storage
// CHECK: relax.return
relax.func @RF09_escapes(%x: !relax.tensor<[4], f32>) -> !relax.object attributes {relax.force_pure = true} {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%x) outs(%0) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %1 = relax.call_packed "keep"(%0) : (!relax.tensor<[4], f32>) -> !relax.object
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%x) outs(%2) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %3 = relax.builtin.view %2 : !relax.tensor<[4], f32> -> !relax.tensor<[2, 2], f32>
  %4 = relax.builtin.alloc_tensor : !relax.tensor<[4], f32>
  relax.builtin.call_kernel @f(%x) outs(%4) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %5 = relax.tuple %3, %4 : !relax.tensor<[2, 2], f32>, !relax.tensor<[4], f32>
  relax.return %5 : !relax.tuple<!relax.tensor<[2, 2], f32>, !relax.tensor<[4], f32>>
}
