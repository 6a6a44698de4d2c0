// RUN: %invalid

// expected-error @below {{has 'relax.constants', which belongs on a module}}
relax.func @main(%x: !relax.object) -> !relax.object attributes {relax.constants = []} {
  relax.return %x : !relax.object
}

// -----

// expected-error @below {{expected 'relax.constants' to be an array, but got 1 : i64}}
module attributes {relax.constants = 1} {}

// -----

// expected-error @below {{expected constant 1 to be a tensor, but got "x"}}
module attributes {relax.constants = [dense<1> : tensor<i64>, "x"]} {}

// -----

// expected-error @below {{expected constant 0 to be a tensor, but got dense<1> : tensor<index>}}
module attributes {relax.constants = [dense<1> : tensor<index>]} {}

// -----

// expected-error @below {{expected a dense constant}}
module attributes {relax.constants = [sparse<[[0]], [1.0]> : tensor<2xf32>]} {}

// -----

module attributes {relax.constants = [dense<1> : tensor<i64>]} {
  relax.func @main() -> !relax.object {
    // expected-error @below {{expected a constant of the module, which has 1, but got 1}}
    %0 = relax.builtin.load_constant 1 : !relax.tensor<[], i64>
    relax.return %0 : !relax.tensor<[], i64>
  }
}

// -----

relax.func @main() -> !relax.object {
  // expected-error @below {{expected a constant of the module, which has 0, but got 0}}
  %0 = relax.builtin.load_constant 0 : !relax.tensor<[], i64>
  relax.return %0 : !relax.tensor<[], i64>
}

// -----

module attributes {relax.constants = [dense<1> : tensor<i64>]} {
  relax.func @main() -> !relax.object {
    // expected-error @below {{expected the type of constant 0 of the module, '!relax.tensor<[], i64>', but got '!relax.tensor<ndim = 1, i64>'}}
    %0 = relax.builtin.load_constant 0 : !relax.tensor<ndim = 1, i64>
    relax.return %0 : !relax.tensor<ndim = 1, i64>
  }
}

// -----

relax.func @main() -> !relax.object {
  // expected-error @below {{attribute 'index' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = relax.builtin.load_constant -1 : !relax.tensor<[], i64>
  relax.return %0 : !relax.tensor<[], i64>
}

// -----

// expected-error @below {{has 'relax.runtime_struct_info', which belongs on a relax.func}}
module attributes {relax.runtime_struct_info = "x"} {}

// -----

// expected-error @below {{expected 'relax.runtime_struct_info' to be a string, but got 1 : i64}}
relax.func @main(%x: !relax.object) -> !relax.object attributes {relax.runtime_struct_info = 1} {
  relax.return %x : !relax.object
}
