// RUN: %roundtrip

// DR11: the declared type may say less than the derived one, in each respect.

// CHECK-LABEL: relax.func @dr11_weaker
relax.func @dr11_weaker(%x: !relax.tensor<[n, 4], f32, @cuda0>, %s: !relax.shape<[n, 4]>) -> !relax.object {
  // CHECK: relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<[n, 4], f32>
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<[n, 4], f32>
  // CHECK: relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<ndim = 2, f32>
  %1 = relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<ndim = 2, f32>
  // CHECK: relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<[n, 4]>
  %2 = relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<[n, 4]>
  // CHECK: relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<*>
  %3 = relax.exp %x : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tensor<*>
  // CHECK: relax.split %x {axis = 1 : i64, sections = 2 : i64} : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tuple<!relax.object, !relax.tensor<ndim = 2>>
  %4 = relax.split %x {axis = 1 : i64, sections = 2 : i64} : (!relax.tensor<[n, 4], f32, @cuda0>) -> !relax.tuple<!relax.object, !relax.tensor<ndim = 2>>
  relax.return %x : !relax.tensor<[n, 4], f32, @cuda0>
}

// ST12: equal dimensions may be written differently: they print in one form.
// CHECK-LABEL: relax.func @st12_equal_dimensions
relax.func @st12_equal_dimensions(%x: !relax.tensor<[n, m], f32>) -> !relax.tensor<[n * m], f32> {
  // CHECK: relax.flatten %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[m * n], f32>
  %0 = relax.flatten %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n * m], f32>
  // CHECK: relax.return %{{.*}} : !relax.tensor<[m * n], f32>
  relax.return %0 : !relax.tensor<[m * n], f32>
}

// Types that are not derived from operands: of a constant (DR02), of literals
// (DR03), of a tuple (DR04) and of a shape (DR05).
// CHECK-LABEL: relax.func @dr02_dr03_dr04_dr05
relax.func @dr02_dr03_dr04_dr05(%x: !relax.tensor<[n], f32>, %o: !relax.object) -> !relax.object {
  // CHECK: relax.constant dense<1.000000e+00> : tensor<2xf32>
  %0 = relax.constant dense<1.0> : tensor<2xf32>
  // CHECK: %[[PRIM:.*]] = relax.prim_value 3 : i64
  %1 = relax.prim_value 3 : i64
  // CHECK: %[[SHAPE:.*]] = relax.shape <[n, 2]>
  %2 = relax.shape <[n, 2]>
  // CHECK: relax.tuple %{{.*}}, %[[PRIM]], %[[SHAPE]] : !relax.tensor<[2], f32>, !relax.prim<i64, 3>, !relax.shape<[n, 2]>
  %3 = relax.tuple %0, %1, %2 : !relax.tensor<[2], f32>, !relax.prim<i64, 3>, !relax.shape<[n, 2]>
  relax.return %3 : !relax.tuple<!relax.tensor<[2], f32>, !relax.prim<i64, 3>, !relax.shape<[n, 2]>>
}

// Subtyping, as returns check it. ST01: everything is an object.
// CHECK-LABEL: relax.func @st01_object
relax.func @st01_object(%x: !relax.func<() -> !relax.object, pure>) -> !relax.object {
  relax.return %x : !relax.func<() -> !relax.object, pure>
}

// ST02
// CHECK-LABEL: relax.func @st02_tensor
relax.func @st02_tensor(%x: !relax.tensor<[n + n], f32, @cuda0>, %s: !relax.shape<[n]>) -> !relax.tensor<[n * 2], f32> {
  relax.return %x : !relax.tensor<[n * 2], f32, @cuda0>
}

// The rank 0 says all of a shape.
// CHECK-LABEL: relax.func @st02_scalar
relax.func @st02_scalar(%x: !relax.tensor<ndim = 0, f32>) -> !relax.tensor<[], f32> {
  relax.return %x : !relax.tensor<ndim = 0, f32>
}

// ST03
// CHECK-LABEL: relax.func @st03_shape
relax.func @st03_shape(%x: !relax.shape<[n, 4]>) -> !relax.shape<ndim = 2> {
  relax.return %x : !relax.shape<[n, 4]>
}

// ST05
// CHECK-LABEL: relax.func @st05_prim
relax.func @st05_prim(%x: !relax.prim<i64, n>) -> !relax.prim<i64> {
  relax.return %x : !relax.prim<i64, n>
}

// ST04: field by field.
// CHECK-LABEL: relax.func @st04_tuple
relax.func @st04_tuple(%x: !relax.tuple<!relax.shape<[n]>, !relax.tensor<[n], f32>>) -> !relax.tuple<!relax.shape<*>, !relax.object> {
  relax.return %x : !relax.tuple<!relax.shape<[n]>, !relax.tensor<[n], f32>>
}

// ST06: a function that takes more and gives more; its variables have other names.
// CHECK-LABEL: relax.func @st06_function
relax.func @st06_function(%x: !relax.func<(!relax.tensor<ndim = 1, f32>) -> !relax.shape<[2]>, pure>) -> !relax.func<(!relax.tensor<[k], f32>) -> !relax.shape<ndim = 1>, impure> {
  relax.return %x : !relax.func<(!relax.tensor<ndim = 1, f32>) -> !relax.shape<[2]>, pure>
}

// CHECK-LABEL: relax.func @st06_renamed
relax.func @st06_renamed(%x: !relax.func<(!relax.tensor<[a], f32>) -> !relax.tensor<[a * 2], f32>, pure>) -> !relax.func<(!relax.tensor<[b], f32>) -> !relax.tensor<[b * 2], f32>, pure> {
  relax.return %x : !relax.func<(!relax.tensor<[a], f32>) -> !relax.tensor<[a * 2], f32>, pure>
}

// Any packed function is one of which nothing is derived.
// CHECK-LABEL: relax.func @st06_packed
relax.func @st06_packed(%x: !relax.func<derive = @default_derive>) -> !relax.func<derive = @empty_derive> {
  relax.return %x : !relax.func<derive = @default_derive>
}

// ST06: the names that a function type binds do not matter.
// CHECK-LABEL: relax.func @st06_names
relax.func @st06_names(%x: !relax.func<(!relax.shape<[n]>) -> !relax.tensor<[n]>>) -> !relax.func<(!relax.shape<[m]>) -> !relax.tensor<[m]>> {
  relax.return %x : !relax.func<(!relax.shape<[n]>) -> !relax.tensor<[n]>>
}

// ST02: a shape variable that is in scope, in a cast and behind it.
// CHECK-LABEL: relax.func @st02_shape_variable
relax.func @st02_shape_variable(%x: !relax.object, %y: !relax.object) -> !relax.tensor<ndim = 2, f32> {
  %s = relax.match_cast %x : !relax.object -> !relax.shape<var = s, ndim = 2>
  %0 = relax.match_cast %y : !relax.object -> !relax.tensor<var = s, ndim = 2, f32>
  relax.return %0 : !relax.tensor<var = s, ndim = 2, f32>
}

// DR12: a shape variable of the callee is what the argument is.
relax.func private @dr12_callee(!relax.shape<var = s, ndim = 2>) -> !relax.tensor<var = s, ndim = 2, f32>
// CHECK-LABEL: relax.func @dr12_shape_variable
relax.func @dr12_shape_variable(%x: !relax.shape<[2, n]>) -> !relax.tensor<[2, n], f32> {
  %0 = relax.call @dr12_callee(%x) : (!relax.shape<[2, n]>) -> !relax.tensor<[2, n], f32>
  relax.return %0 : !relax.tensor<[2, n], f32>
}

// Operations whose text does not say the type of the result say it where it is weaker.
// CHECK-LABEL: relax.func @dr11_weaker_values
relax.func @dr11_weaker_values(%x: !relax.tensor<[n, 4], f32>, %o: !relax.object) -> !relax.object {
  // CHECK: relax.constant dense<1.000000e+00> : tensor<2xf32> -> !relax.tensor<ndim = 1, f32>
  %0 = relax.constant dense<1.0> : tensor<2xf32> -> !relax.tensor<ndim = 1, f32>
  // CHECK: relax.prim_value 3 : i64 -> !relax.prim<i64>
  %1 = relax.prim_value 3 : i64 -> !relax.prim<i64>
  // CHECK: relax.shape <[n, 2]> {note = "a"} -> !relax.shape<ndim = 2>
  %2 = relax.shape <[n, 2]> {note = "a"} -> !relax.shape<ndim = 2>
  // CHECK: relax.tuple %x, %o : !relax.tensor<[n, 4], f32>, !relax.object -> !relax.tuple<!relax.tensor<*>, !relax.object>
  %3 = relax.tuple %x, %o : !relax.tensor<[n, 4], f32>, !relax.object -> !relax.tuple<!relax.tensor<*>, !relax.object>
  // CHECK: relax.get_item %{{.*}}[0] : !relax.tuple<!relax.tensor<*>, !relax.object> -> !relax.object
  %4 = relax.get_item %3[0] : !relax.tuple<!relax.tensor<*>, !relax.object> -> !relax.object
  // CHECK: relax.shape_of %x : !relax.tensor<[n, 4], f32> -> !relax.shape<*>
  %5 = relax.shape_of %x : !relax.tensor<[n, 4], f32> -> !relax.shape<*>
  // CHECK: relax.hint_on_device %x on 0 : !relax.tensor<[n, 4], f32> -> !relax.tensor<*>
  %6 = relax.hint_on_device %x on 0 : !relax.tensor<[n, 4], f32> -> !relax.tensor<*>
  // CHECK: relax.to_vdevice %x to @cuda0 : !relax.tensor<[n, 4], f32> -> !relax.tensor<ndim = 2, f32, @cuda0>
  %7 = relax.to_vdevice %x to @cuda0 : !relax.tensor<[n, 4], f32> -> !relax.tensor<ndim = 2, f32, @cuda0>
  // CHECK: relax.tuple() {note = "b"}
  %8 = relax.tuple () {note = "b"}
  relax.return %o : !relax.object
}
