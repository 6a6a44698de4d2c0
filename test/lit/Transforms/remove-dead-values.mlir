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

// A function that has references other than calls keeps its signature, and is
// private afterwards.
// CHECK-LABEL: func.func private @first(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>)
func.func private @first(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: relax.func private @value
// CHECK-SAME: (%x: !relax.tensor<[4], f32>, %y: !relax.tensor<[4], f32>)
!v = !relax.tensor<[4], f32>
relax.func private @value(%x: !v, %y: !v) -> !v {
  relax.return %x : !v
}

// A function of Relax keeps its result though no call needs it.
// CHECK-LABEL: relax.func private @unused(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
relax.func private @unused(%x: !v) -> !v {
  relax.return %x : !v
}

// CHECK-LABEL: relax.func private @uncalled(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
relax.func private @uncalled(%x: !v) -> !v {
  relax.return %x : !v
}

// CHECK-LABEL: relax.func @references
relax.func @references(%a: !v) -> !relax.tuple<!relax.func<(!v, !v) -> !v>, !v> {
  // CHECK: relax.call_tir @first(%a)
  %0 = relax.call_tir @first(%a) : (!v) -> !v
  // CHECK: relax.call @value(%{{.*}}, %{{.*}})
  %1 = relax.call @value(%0, %0) : (!v, !v) -> !v
  // CHECK: relax.global_var @value
  %2 = relax.global_var @value : !relax.func<(!v, !v) -> !v>
  %3 = relax.tuple %2, %1 : !relax.func<(!v, !v) -> !v>, !v
  %4 = relax.call @unused(%a) : (!v) -> !v
  %5 = relax.exp %4 : (!v) -> !v
  relax.return %3 : !relax.tuple<!relax.func<(!v, !v) -> !v>, !v>
}
