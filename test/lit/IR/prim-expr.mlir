// RUN: %roundtrip

// Dimensions print in canonical form, so these cases read: what is written, what
// it is (GR01). The round trip shows that the canonical form is its own.

// CHECK-LABEL: @gr01_sums
relax.func @gr01_sums(%s: !relax.shape<[n, m, k]>) -> !relax.object {
  // Terms are ordered: by degree, then by name, the constant last.
  // CHECK: <[m + n, n + 1, n * n + n + 1]>
  %0 = relax.shape <[n + m, 1 + n, 1 + n + n * n]>
  // Equal terms are collected and vanish where they cancel.
  // CHECK: <[n * 3, 0, -n, -m + n]>
  %1 = relax.shape <[n * 2 + n, n - n, n - 2 * n, n - m]>
  // CHECK: <[-m - n, -n * 2 - 1, n - 1, n + 1, n]>
  %2 = relax.shape <[-(n + m), -(n * 2 + 1), n + -1, n - -1, - -n]>
  relax.return %s : !relax.shape<[n, m, k]>
}

// CHECK-LABEL: @gr01_products
relax.func @gr01_products(%s: !relax.shape<[n, m, k]>) -> !relax.object {
  // CHECK: <[m * n, k * m * n, n * 6, 0]>
  %0 = relax.shape <[n * m, n * m * k, 2 * n * 3, n * 0]>
  // Products of sums are multiplied out.
  // CHECK: <[n * 2 + 2, m * n + m + n * 2 + 2, n * n - 1]>
  %1 = relax.shape <[2 * (n + 1), (n + 1) * (m + 2), (n + 1) * (n - 1)]>
  // CHECK: <[-m * n, -n * n * 3]>
  %2 = relax.shape <[-n * m, n * (n - 4 * n)]>
  relax.return %s : !relax.shape<[n, m, k]>
}

// CHECK-LABEL: @gr01_divisions
relax.func @gr01_divisions(%s: !relax.shape<[n, m, k]>) -> !relax.object {
  // Division rounds down, and the remainder has the sign of the divisor.
  // CHECK: <[3, -4, 1, -4, -1]>
  %0 = relax.shape <[7 floordiv 2, -7 floordiv 2, -7 mod 2, 7 floordiv -2, 7 mod -2]>
  // What a constant divides leaves the division; the rest stays.
  // CHECK: <[n, n + 1, n + (m + 5) floordiv 4]>
  %1 = relax.shape <[n * 4 floordiv 4, (n * 4 + 6) floordiv 4, (n * 4 + m + 5) floordiv 4]>
  // CHECK: <[1, (m + 5) mod 4, n, 0]>
  %2 = relax.shape <[(n * 4 + 5) mod 4, (n * 4 + m + 5) mod 4, n floordiv 1, n mod 1]>
  // CHECK: <[n floordiv m, n mod m, n floordiv (m * 2), n floordiv (-2)]>
  %3 = relax.shape <[n floordiv m, n mod m, n floordiv (2 * m), n floordiv -2]>
  relax.return %s : !relax.shape<[n, m, k]>
}

// Parentheses are printed where they are needed, and only there.
// CHECK-LABEL: @gr01_precedence
relax.func @gr01_precedence(%s: !relax.shape<[n, m, k]>) -> !relax.object {
  // Divisions and products bind alike and group to the left.
  // CHECK: <[n floordiv 2 floordiv 3, m * n floordiv 2, n * (m floordiv 2)]>
  %0 = relax.shape <[(n floordiv 2) floordiv 3, n * m floordiv 2, n * (m floordiv 2)]>
  // CHECK: <[n floordiv 6, n floordiv (m floordiv 2), n floordiv 2 mod m]>
  %1 = relax.shape <[n floordiv (2 * 3), n floordiv (m floordiv 2), (n floordiv 2) mod m]>
  // CHECK: <[n + m floordiv 2, (m + n) floordiv 2, n - m floordiv 2 * 3]>
  %2 = relax.shape <[n + m floordiv 2, (n + m) floordiv 2, n - (m floordiv 2) * 3]>
  // A minus sign binds to the factor behind it.
  // CHECK: <[-n floordiv 2, -(n floordiv 2), -(m mod 2) * (n mod 2)]>
  %3 = relax.shape <[(-n) floordiv 2, -(n floordiv 2), -((n mod 2) * (m mod 2))]>
  relax.return %s : !relax.shape<[n, m, k]>
}

// CHECK-LABEL: @gr01_calls
relax.func @gr01_calls(%s: !relax.shape<[n, m, k]>) -> !relax.object {
  // The operands of symmetric operations are ordered.
  // CHECK: <[min(m, n), max(m, n), eq(m, n), and(m, n), or(m, n)]>
  %0 = relax.shape <[min(n, m), max(n, m), eq(n, m), and(n, m), or(n, m)]>
  // CHECK: <[lt(n, m), le(m, n), not(n), select(lt(n, 4), n, 4)]>
  %1 = relax.shape <[lt(n, m), le(m, n), not(n), select(lt(n, 4), n, 4)]>
  // Calls are atoms of sums and products, and nest.
  // CHECK: <[min(k, max(m, n)) * 2 + 1, n * min(m, 16) - min(k, n)]>
  %2 = relax.shape <[1 + 2 * min(max(n, m), k), min(m, 16) * n - min(n, k)]>
  relax.return %s : !relax.shape<[n, m, k]>
}

// Calls fold where their value is known, even of symbolic operands.
// CHECK-LABEL: @gr01_folding
relax.func @gr01_folding(%s: !relax.shape<[n, m, k]>) -> !relax.object {
  // CHECK: <[3, 4, n, n + 1]>
  %0 = relax.shape <[min(3, 4), max(3, 4), min(n, n + 1), max(n, n + 1)]>
  // CHECK: <[1, 0, 0, 1, 0, 1]>
  %1 = relax.shape <[eq(n, n), eq(n, n + 1), eq(n * 2, 3), lt(n, n + 1), lt(n + 1, n), le(n, n)]>
  // CHECK: <[1, 0, 0, and(n, 1), 1, or(n, 0), 1, 0]>
  %2 = relax.shape <[not(0), not(7), and(n, 0), and(n, 1), or(n, 1), or(n, 0), and(1, 2), or(0, 0)]>
  // CHECK: <[n, m, m]>
  %3 = relax.shape <[select(1, n, m), select(0, n, m), select(n, m, m)]>
  relax.return %s : !relax.shape<[n, m, k]>
}

// Folding that would overflow 64 bits is left undone, and stays in parentheses.
// CHECK-LABEL: @gr01_overflow
relax.func @gr01_overflow(%s: !relax.shape<[n, m, k]>) -> !relax.object {
  // CHECK: <[9223372036854775807, -9223372036854775808]>
  %0 = relax.shape <[9223372036854775807, -9223372036854775808]>
  // CHECK: <[9223372036854775807 + 1, n * 9223372036854775807 * 2]>
  %1 = relax.shape <[9223372036854775807 + 1, n * 9223372036854775807 * 2]>
  // CHECK: <[1 + (n + 9223372036854775807 + 1), n * (9223372036854775807 + 1)]>
  %2 = relax.shape <[1 + (n + 9223372036854775807 + 1), n * (9223372036854775807 + 1)]>
  // CHECK: <[n - 9223372036854775807 - 2, 0 + (9223372036854775807 + 1) * (-1)]>
  %3 = relax.shape <[n - 9223372036854775807 - 2, -(9223372036854775807 + 1)]>
  relax.return %s : !relax.shape<[n, m, k]>
}

// As an attribute of its own, and with names that look like operations: only a
// parenthesis makes them one, and `floordiv` and `mod` are infix.
// CHECK-LABEL: @gr01_attribute
relax.func @gr01_attribute(%s: !relax.shape<[n, n.x, _m0, mod]>) -> !relax.object {
  // CHECK: #relax.expr<n * 4 + min(mod, 16)>
  %0 = relax.prim_value #relax.expr<n * 4 + min(mod, 16)>
  // CHECK: #relax.expr<_m0 + n + n.x + mod mod 2>
  %1 = relax.prim_value #relax.expr<n + n.x + _m0 + mod mod 2>
  relax.return %s : !relax.shape<[n, n.x, _m0, mod]>
}
