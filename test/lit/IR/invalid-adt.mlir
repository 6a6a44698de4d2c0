// RUN: relax-opt %s -split-input-file -verify-diagnostics

relax.func @VM03_tag() -> !relax.object {
  // expected-error@+1 {{'relax.adt_make' op attribute 'tag' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = relax.adt_make -1()
  relax.return %0 : !relax.object
}

// -----

relax.func @VM03_field(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{'relax.adt_get' op attribute 'index' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = relax.adt_get %x[-1] : !relax.object
  relax.return %0 : !relax.object
}

// -----

// DR15: an error is seen outside.
// expected-note@+1 {{the function is pure}}
relax.func @VM05_fatal() -> !relax.tuple<> {
  // expected-error@+1 {{is impure}}
  %0 = relax.fatal "stop"
  relax.return %0 : !relax.tuple<>
}
