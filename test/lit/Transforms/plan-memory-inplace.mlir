// RUN: relax-opt %s -relax-plan-memory | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>

func.func private @exp(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @add(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @transpose(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func private @twice(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.exp %in : f32
    linalg.yield %1 : f32
  } -> tensor<4x4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %2 = arith.addf %a, %b : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func private @gather(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xf32>) outs(%y : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = tensor.extract %x[%c0, %c0] : tensor<4x4xf32>
    %2 = arith.addf %in, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// An input that dies is written over, one that lives on is not.
// CHECK-LABEL: relax.func @RF10_dies
// CHECK: alloc_storage size <128>
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: alloc_tensor from %{{.*}} at 64
// CHECK: alloc_tensor from %{{.*}} at 0
relax.func @RF10_dies(%x: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%x) outs(%0) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%0) outs(%1) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%1) outs(%2) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @add(%1, %2) outs(%3) : (!relax.tensor<[4, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %4 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%3) outs(%4) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  relax.return %4 : !relax.tensor<[4, 4], f32>
}

// A kernel that reads elsewhere, later, or in another order does not write over what it reads.
// CHECK-LABEL: relax.func @RF10_order
// CHECK: alloc_storage size <128>
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: alloc_tensor from %{{.*}} at 64
// CHECK: call_kernel @transpose
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: call_kernel @twice
// CHECK: alloc_tensor from %{{.*}} at 64
// CHECK: call_kernel @gather
relax.func @RF10_order(%x: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%x) outs(%0) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %1 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @transpose(%0) outs(%1) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @twice(%1) outs(%2) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @gather(%2) outs(%3) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %4 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%3) outs(%4) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  relax.return %4 : !relax.tensor<[4, 4], f32>
}

// The same tensor twice, once under a view: both are read where they are written.
// CHECK-LABEL: relax.func @RF10_seen_twice
// CHECK: alloc_storage size <64>
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: alloc_tensor from %{{.*}} at 0
relax.func @RF10_seen_twice(%x: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%x) outs(%0) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %1 = relax.builtin.view %0 : !relax.tensor<[4, 4], f32> -> !relax.tensor<[4, 4], f32>
  %2 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @add(%0, %1) outs(%2) : (!relax.tensor<[4, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%2) outs(%3) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  relax.return %3 : !relax.tensor<[4, 4], f32>
}

// In a branch: what the other branch reads may be written over in this one.
// CHECK-LABEL: relax.func @RF10_in_branch
// CHECK: alloc_storage size <64>
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: relax.if
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: } else {
// CHECK: alloc_tensor from %{{.*}} at 0
relax.func @RF10_in_branch(%x: !relax.tensor<[4, 4], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[4, 4], f32> {
  %0 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%x) outs(%0) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[4, 4], f32> {
    %2 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
    relax.builtin.call_kernel @exp(%0) outs(%2) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
    relax.yield %2 : !relax.tensor<[4, 4], f32>
  } else {
    %2 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
    relax.builtin.call_kernel @add(%0, %0) outs(%2) : (!relax.tensor<[4, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
    relax.yield %2 : !relax.tensor<[4, 4], f32>
  }
  %3 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%1) outs(%3) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  relax.return %3 : !relax.tensor<[4, 4], f32>
}

// An input that a branch passes on lives on, also where the output is not needed.
// CHECK-LABEL: relax.func @RF10_passed_on
// CHECK: relax.if
// CHECK: alloc_storage size <128>
// CHECK: alloc_tensor from %{{.*}} at 0
// CHECK: alloc_tensor from %{{.*}} at 64
relax.func @RF10_passed_on(%x: !relax.tensor<[4, 4], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[4, 4], f32> {
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[4, 4], f32> {
    %2 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
    relax.builtin.call_kernel @exp(%x) outs(%2) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
    %3 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
    relax.builtin.call_kernel @exp(%2) outs(%3) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
    relax.yield %2 : !relax.tensor<[4, 4], f32>
  } else {
    relax.yield %x : !relax.tensor<[4, 4], f32>
  }
  %4 = relax.builtin.alloc_tensor : !relax.tensor<[4, 4], f32>
  relax.builtin.call_kernel @exp(%1) outs(%4) : (!relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
  relax.return %4 : !relax.tensor<[4, 4], f32>
}
