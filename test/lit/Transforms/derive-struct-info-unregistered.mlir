// RUN: relax-opt %s -allow-unregistered-dialect -relax-derive-struct-info -verify-diagnostics

// DR11: an operator without a rule derives an object.
relax.func @DR11_object() -> !relax.object {
  %0 = "test.operator"() : () -> !relax.object
  relax.return %0 : !relax.object
}

// DR11: so it may not declare more.
relax.func @DR11_error_more() -> !relax.object {
  // expected-error@+2 {{'test.operator' op derives a result of type '!relax.object', which is not a subtype of the declared '!relax.tensor<[2], f32>'}}
  // expected-note@+1 {{insert relax.match_cast to check it at run time}}
  %0 = "test.operator"() : () -> !relax.tensor<[2], f32>
  relax.return %0 : !relax.tensor<[2], f32>
}
