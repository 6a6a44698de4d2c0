// RUN: relax-opt %s -relax-derive-struct-info -split-input-file -verify-diagnostics | FileCheck %s

// Derivation under the facts in scope (ST12).

// DR11: operators on both sides of a cast.
// CHECK-LABEL: relax.func @DR11_cast
// CHECK-SAME: -> !relax.tensor<[n, m], f32> {
relax.func @DR11_cast(%x: !relax.tensor<[n, m], f32>) -> !relax.object attributes {derive_result} {
  %0 = relax.match_cast %x : !relax.tensor<[n, m], f32> -> !relax.tensor<[k, m], f32>
  // CHECK: relax.add %x, %0 {{.*}} -> !relax.tensor<[n, m], f32>
  %1 = relax.add %x, %0 : (!relax.tensor<[n, m], f32>, !relax.tensor<[k, m], f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %1 : !relax.tensor<ndim = 2, f32>
}

// -----

// DR06: branches that differ in the name only.
// CHECK-LABEL: relax.func @DR06_cast
// CHECK-SAME: -> !relax.tensor<[n], f32> {
relax.func @DR06_cast(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.object attributes {derive_result} {
  %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[k], f32>
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    relax.yield %x : !relax.tensor<[n], f32>
  } else {
    relax.yield %0 : !relax.tensor<[k], f32>
  }
  relax.return %1 : !relax.object
}

// -----

relax.func private @square(%x: !relax.tensor<[p, p], f32>) -> !relax.tensor<[p], f32>

// DR12: no warning of what the facts prove.
// CHECK-LABEL: relax.func @DR12_proven
relax.func @DR12_proven(%x: !relax.tensor<[n, m], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  %0 = relax.match_cast %s : !relax.shape<[n]> -> !relax.shape<[m]>
  %1 = relax.call @square(%x) : (!relax.tensor<[n, m], f32>) -> !relax.object
  relax.return %1 : !relax.object
}

// -----

relax.func private @square(%x: !relax.tensor<[p, p], f32>) -> !relax.tensor<[p], f32>

// DR12: but still of what they leave open.
// CHECK-LABEL: relax.func @DR12_open
relax.func @DR12_open(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-warning@+1 {{argument 0 of type '!relax.tensor<[n, m], f32>' may not be of type '!relax.tensor<[n, n], f32>'}}
  %1 = relax.call @square(%x) : (!relax.tensor<[n, m], f32>) -> !relax.object
  relax.return %1 : !relax.object
}

// -----

// DR13: nor of a result that is proven.
// CHECK-LABEL: relax.func @DR13_proven
relax.func @DR13_proven(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[m], f32>
  relax.return %x : !relax.tensor<[n], f32>
}
