// RUN: relax-opt %s -relax-annotate-op-pattern -split-input-file -verify-diagnostics

// RF16: a kernel states a kind by its number.
// expected-error @below {{expected op_pattern to be the number of a kind of kernel, 0 to 4, 7 or 8, but got 5 : i64}}
func.func private @five(%o: tensor<4xf32>) -> tensor<4xf32> attributes {op_pattern = 5 : i64} {
  return %o : tensor<4xf32>
}

// -----

// expected-error @below {{expected op_pattern to be the number of a kind of kernel, 0 to 4, 7 or 8, but got "elementwise"}}
func.func private @name(%o: tensor<4xf32>) -> tensor<4xf32> attributes {op_pattern = "elementwise"} {
  return %o : tensor<4xf32>
}
