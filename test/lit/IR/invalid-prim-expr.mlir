// RUN: %invalid

// GR01: what is no expression.
// expected-error@+1 {{expected a dimension: an integer, a variable or an expression}}
relax.func private @gr01_empty(!relax.shape<[n, ]>) -> !relax.object

// -----

// A comparison is written as a call.
// expected-error@+1 {{unbalanced '<' character in pretty dialect name}}
relax.func private @gr01_operator(!relax.shape<[n < 4]>) -> !relax.object

// -----

// expected-error@+1 {{expected a dimension: an integer, a variable or an expression}}
relax.func private @gr01_missing_operand(!relax.shape<[n + ]>) -> !relax.object

// -----

// expected-error@+1 {{unbalanced '(' character in pretty dialect name}}
relax.func private @gr01_parenthesis(!relax.shape<[(n + 1]>) -> !relax.object

// -----

// A name like `min` is always a call.
// expected-error@+1 {{expected '('}}
relax.func private @gr01_call_without_operands(!relax.shape<[min]>) -> !relax.object

// -----

// expected-error@+1 {{expected 2 operands of 'min', but got 1}}
relax.func private @gr01_arity(!relax.shape<[n, min(n)]>) -> !relax.object

// -----

// expected-error@+1 {{expected 3 operands of 'select', but got 2}}
relax.func private @gr01_arity_of_select(!relax.shape<[n, select(n, 1)]>) -> !relax.object

// -----

// expected-error@+1 {{expected a divisor other than 0}}
relax.func private @gr01_division_by_zero(!relax.shape<[n, n floordiv 0]>) -> !relax.object

// -----

// The divisor is 0 after simplification.
// expected-error@+1 {{expected a divisor other than 0}}
relax.func private @gr01_remainder_by_zero(!relax.shape<[n, n mod (n - n)]>) -> !relax.object

// -----

// expected-error@+1 {{expected an integer of 64 bits}}
relax.func private @gr01_large_integer(!relax.shape<[18446744073709551616]>) -> !relax.object

// -----

// One more than the largest negative integer; the sign belongs to the number.
// expected-error@+1 {{expected an integer of 64 bits}}
relax.func private @gr01_large_negative_integer(!relax.shape<[-9223372036854775809]>) -> !relax.object

// -----

// expected-error@+1 {{expected a dimension: an integer, a variable or an expression}}
relax.func private @gr01_not_an_integer(!relax.shape<[1.5]>) -> !relax.object

// -----

// The attribute on its own.
relax.func @gr01_attribute() -> !relax.object {
  // expected-error@+1 {{expected a dimension: an integer, a variable or an expression}}
  %0 = relax.prim_value #relax.expr<>
  relax.return %0 : !relax.prim<i64>
}

// -----

relax.func @gr01_attribute_list() -> !relax.object {
  // expected-error@+1 {{expected '>'}}
  %0 = relax.prim_value #relax.expr<n, m>
  relax.return %0 : !relax.prim<i64>
}

// -----

relax.func @gr12_shape_attribute() -> !relax.object {
  // expected-error@+1 {{expected '['}}
  %0 = relax.shape <n>
  relax.return %0 : !relax.shape<*>
}

// -----

// Nesting is limited, so that no program overflows the stack.
// expected-error@+1 {{expected an expression nested at most 128 deep}}
relax.func private @gr01_depth(!relax.shape<[((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((n))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))]>) -> !relax.object

// -----

// A chain of calls nests just as parentheses do.
// expected-error@+1 {{expected an expression nested at most 128 deep}}
relax.func private @gr01_depth_of_calls(!relax.shape<[not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(not(n))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))]>) -> !relax.object

// -----

// So does a chain of divisions.
// expected-error@+1 {{expected an expression nested at most 128 deep}}
relax.func private @gr01_depth_of_divisions(!relax.shape<[n, m, n mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m mod m]>) -> !relax.object
