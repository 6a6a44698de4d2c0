// RUN: %invalid

// MC06: what a function is compared with.
relax.func @main(%x: !relax.object) -> !relax.object {
  // expected-error @below {{expected a function type, but got '!relax.object'}}
  relax.builtin.check_function %x is !relax.object where []() as "x" : !relax.object
  relax.return %x : !relax.object
}

// -----

// SE03: a closure captures what its function takes.
// expected-note @below {{the function is defined here}}
relax.func private @f(%x: !relax.object) -> !relax.object attributes {relax.captures = 1 : i64} {
  relax.return %x : !relax.object
}

relax.func @main() -> !relax.object {
  // expected-error @below {{expected 1 captured values, but got 0}}
  %0 = relax.builtin.make_closure @f() of !relax.func<() -> !relax.object, pure> where []() : () -> !relax.func<() -> !relax.object, pure>
  relax.return %0 : !relax.func<() -> !relax.object, pure>
}

// -----

relax.func @main() -> !relax.object {
  // expected-error @below {{expected @k to be a relax.func of the module}}
  %0 = relax.builtin.make_closure @k() of !relax.func<() -> !relax.object, pure> where []() : () -> !relax.func<() -> !relax.object, pure>
  relax.return %0 : !relax.func<() -> !relax.object, pure>
}

// -----

relax.func private @f(%x: !relax.object) -> !relax.object {
  relax.return %x : !relax.object
}

relax.func @main() -> !relax.object {
  %n = arith.constant 3 : i64
  // expected-error @below {{expected a value for each of 2 variables, but got 1}}
  %0 = relax.builtin.make_closure @f() of !relax.func<() -> !relax.shape<[n, m]>, pure> where ["n", "m"](%n) : () -> !relax.func<() -> !relax.object, pure>
  relax.return %0 : !relax.func<() -> !relax.object, pure>
}

// -----

// Nobody checks captured values when the function is called.
// expected-note @below {{the function is defined here}}
relax.func private @f(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {relax.captures = 1 : i64} {
  relax.return %x : !relax.tensor<[n], f32>
}

relax.func @main(%x: !relax.object) -> !relax.object {
  // expected-error @below {{expected captured value 0 of type '!relax.tensor<[n], f32>', but got '!relax.object'}}
  %0 = relax.call @f(%x) : (!relax.object) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// expected-note @below {{the function is defined here}}
relax.func private @f(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {relax.captures = 1 : i64} {
  relax.return %x : !relax.tensor<[n], f32>
}

relax.func @main(%x: !relax.object) -> !relax.object {
  // expected-error @below {{expected captured value 0 of type '!relax.tensor<[n], f32>', but got '!relax.object'}}
  %0 = relax.builtin.make_closure @f(%x) of !relax.func<() -> !relax.object, pure> where []() : (!relax.object) -> !relax.func<() -> !relax.object, pure>
  relax.return %0 : !relax.func<() -> !relax.object, pure>
}

// -----

relax.func @main(%x: !relax.object) -> !relax.object {
  // expected-error @below {{expected a body with one block}}
  %0 = relax.closure () -> !relax.object {}
  relax.return %x : !relax.object
}

// -----

// What belongs on a function is looked at before the function is.
// expected-error @below {{requires attribute 'function_type'}}
"relax.func"() <{sym_name = "f", sym_visibility = "private"}> ({
^bb0(%x: !relax.object):
  "relax.return"(%x) : (!relax.object) -> ()
}) {relax.captures = 1 : i64} : () -> ()

// -----

relax.func @main(%x: !relax.object) -> !relax.object {
  // expected-error @below {{result #0 must be a Relax function, but got '!relax.object'}}
  %0 = "relax.closure"() ({
  ^bb0(%self: !relax.object):
    relax.return %x : !relax.object
  }) {relax.force_pure = true} : () -> !relax.object
  relax.return %x : !relax.object
}
