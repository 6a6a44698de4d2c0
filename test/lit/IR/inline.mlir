// RUN: relax-opt %s -inline -split-input-file | FileCheck %s

// Upstream's inliner takes calls whose variables mean the same on both sides.
// CHECK-LABEL: relax.func @same_names
// CHECK-NEXT: %[[E:.*]] = relax.exp %x
// CHECK-NEXT: %[[O:.*]] = relax.match_cast %[[E]] : !relax.tensor<[n], f32> -> !relax.tensor<ndim = 1, f32>
// CHECK-NEXT: relax.return %[[O]]
relax.func private @exp(%x: !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
relax.func @same_names(%x: !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.call @exp(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

// CHECK-LABEL: relax.func @other_names
// CHECK-NEXT: relax.call @exp
relax.func private @exp(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
relax.func @other_names(%x: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %0 = relax.call @exp(%x) : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
  relax.return %0 : !relax.tensor<[m], f32>
}

// -----

// CHECK-LABEL: relax.func @binds
// CHECK-NEXT: relax.call @cast
relax.func private @cast(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.tensor<[k], f32>
}
relax.func @binds(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<[k], f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.call @cast(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}
