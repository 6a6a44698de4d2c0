// RUN: relax-opt %s -split-input-file -verify-diagnostics

// ST12: what a cast says holds behind it only.
relax.func @ST12_before(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<ndim = 1, f32>, %z: !relax.tensor<[k], f32>) -> !relax.object {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible with return type(s) of operation '!relax.tensor<[n], f32>'}}
  %0 = relax.add %x, %z : (!relax.tensor<[n], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// ST12: what one branch checks is not known in the other.
relax.func @ST12_branch(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>, %z: !relax.tensor<[k], f32>) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %1 = relax.match_cast %z : !relax.tensor<[k], f32> -> !relax.tensor<[n], f32>
    relax.yield %1 : !relax.tensor<[n], f32>
  } else {
    // expected-error@+2 {{failed to infer returned types}}
    // expected-error@+1 {{inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible}}
    %1 = relax.add %x, %z : (!relax.tensor<[n], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[n], f32>
    relax.yield %1 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// ST12: a closure becomes a function of its own, so it says what it relies on.
relax.func @ST12_closure(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[k], f32>
  %1 = relax.closure (%y: !relax.object) -> !relax.object {
    // expected-error@+2 {{failed to infer returned types}}
    // expected-error@+1 {{inferred type(s) '!relax.tensor<ndim = 1, f32>' are incompatible}}
    %2 = relax.add %x, %0 : (!relax.tensor<[n], f32>, !relax.tensor<[k], f32>) -> !relax.tensor<[n], f32>
    relax.return %2 : !relax.tensor<[n], f32>
  }
  relax.return %1 : !relax.func<(!relax.object) -> !relax.object, pure>
}

// -----

// Dimensions that differ for all sizes there are, and of which none is 1.
relax.func @ST12_dimensions(%n: !relax.shape<[n]>, %x: !relax.tensor<[n * n + 2], f32>, %y: !relax.tensor<[n * n + 3], f32>) -> !relax.object {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{expected dimensions that broadcast, but got n * n + 2 and n * n + 3}}
  %0 = relax.add %x, %y : (!relax.tensor<[n * n + 2], f32>, !relax.tensor<[n * n + 3], f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// -----

// expected-error@+1 {{declares a bound of 'm' in 'tir_var_upper_bound', which no argument binds as a dimension}}
relax.func @unknown(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_upper_bound = {m = 4}} {
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// expected-error@+1 {{declares a bound of 's' in 'tir_var_lower_bound', which no argument binds as a dimension}}
relax.func @shape(%x: !relax.shape<var = s, ndim = 2>) -> !relax.object attributes {tir_var_lower_bound = {s = 4}} {
  relax.return %x : !relax.shape<var = s, ndim = 2>
}

// -----

// expected-error@+1 {{expected the bound of 'n' in 'tir_var_upper_bound' to be an integer of 64 bits, but got "4"}}
relax.func @text(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_upper_bound = {n = "4"}} {
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// expected-error@+1 {{expected the bound of 'n' in 'tir_var_lower_bound' to be an integer of 64 bits, but got 4 : i32}}
relax.func @bits(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_lower_bound = {n = 4 : i32}} {
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// expected-error@+1 {{expected 'tir_var_upper_bound' to be a dictionary from shape variables to integers, but got 4}}
relax.func @number(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_upper_bound = 4} {
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// expected-error@+1 {{declares the lower bound 5 of 'n', which is above the upper bound 4}}
relax.func @order(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_lower_bound = {n = 5}, tir_var_upper_bound = {n = 4}} {
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

relax.func @closure(%x: !relax.object) -> !relax.object {
  // expected-error@+1 {{has 'tir_var_upper_bound', which belongs on a relax.func}}
  %0 = relax.closure (%y: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_upper_bound = {n = 4}} {
    relax.return %y : !relax.tensor<[n], f32>
  }
  relax.return %x : !relax.object
}
