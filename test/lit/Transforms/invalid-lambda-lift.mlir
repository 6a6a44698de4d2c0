// RUN: relax-opt %s -relax-lambda-lift -split-input-file -verify-diagnostics

// SE04, VM09: the name stands for a kernel whose parameters are no values of Relax.
func.func private @k(%x: index) attributes {global_symbol = "k"} { return }

relax.func @main() -> !relax.object attributes {is_pure = false} {
  // expected-error @below {{expected @k to be a function of Relax values}}
  %0 = relax.call_packed "k"() : () -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// What counts captured values belongs on functions that only closures call.
// expected-error @below {{has 'relax.captures', which belongs on a private relax.func}}
relax.func @public() -> !relax.object attributes {relax.captures = 0 : i64} {
  %0 = relax.null_value
  relax.return %0 : !relax.object
}

// -----

// expected-error @below {{expected 'relax.captures' to be a number of arguments, but got 1 : i64}}
relax.func private @many() -> !relax.object attributes {relax.captures = 1 : i64} {
  %0 = relax.null_value
  relax.return %0 : !relax.object
}
