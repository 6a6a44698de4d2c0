// RUN: relax-opt %s --remove-dead-values | FileCheck %s

// Upstream's pass erases arguments that nothing needs, with their names and
// attributes.

!t = !relax.tensor<[n], f32>

// CHECK-LABEL: relax.func private @scaled
// CHECK-SAME: (%y: !relax.tensor<[n], f32> {my.note = "second"}, %w: !relax.tensor<[n], f32>) ->
// CHECK: relax.multiply %y, %w
relax.func private @scaled(%x: !t {my.note = "first"}, %y: !t {my.note = "second"}, %z: !t, %w: !t) -> !t {
  %0 = relax.multiply %y, %w : (!t, !t) -> !t
  relax.return %0 : !t
}

// Without attributes, and without names.
// CHECK-LABEL: relax.func private @nameless(%arg0: !relax.tensor<[n], f32>) ->
relax.func private @nameless(%arg0: !t, %arg1: !t) -> !t {
  relax.return %arg1 : !t
}

// An entry point keeps its signature.
// CHECK-LABEL: relax.func @main
// CHECK-SAME: (%a: !relax.tensor<[n], f32>, %b: !relax.tensor<[n], f32>, %c: !relax.tensor<[n], f32>)
relax.func @main(%a: !t, %b: !t, %c: !t) -> !t {
  // CHECK: relax.call @scaled(%b, %b) :
  %0 = relax.call @scaled(%a, %b, %a, %b) : (!t, !t, !t, !t) -> !t
  // CHECK: relax.call @nameless(%{{.*}}) :
  %1 = relax.call @nameless(%a, %0) : (!t, !t) -> !t
  relax.return %1 : !t
}
