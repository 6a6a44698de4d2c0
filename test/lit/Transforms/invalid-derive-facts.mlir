// RUN: relax-opt %s -relax-derive-struct-info -split-input-file -verify-diagnostics

// What the facts in scope refute is an error, though types alone leave it open.

relax.func private @square(%x: !relax.tensor<[p, p], f32>) -> !relax.tensor<[p], f32>

relax.func @DR12_refuted(%x: !relax.tensor<[n, m], f32>, %s: !relax.shape<[n]>) -> !relax.object {
  %0 = relax.match_cast %s : !relax.shape<[n]> -> !relax.shape<[m + 1]>
  // expected-error@+1 {{expected argument 0 of type '!relax.tensor<[n, n], f32>', but got '!relax.tensor<[n, m], f32>'}}
  %1 = relax.call @square(%x) : (!relax.tensor<[n, m], f32>) -> !relax.object
  relax.return %1 : !relax.object
}

// -----

// expected-note@+1 {{the type is declared here}}
relax.func @DR13_refuted(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> attributes {tir_var_upper_bound = {n = 4}, tir_var_lower_bound = {m = 5}} {
  // expected-error@+1 {{expected a result of type '!relax.tensor<[m], f32>', but got '!relax.tensor<[n], f32>'}}
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// DR09: a cast that always fails is warned of; it fails at run time.
relax.func @DR09_refuted(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {tir_var_upper_bound = {n = 4}} {
  // expected-warning@+1 {{this cast from '!relax.tensor<[n], f32>' to '!relax.tensor<[5], f32>' always fails}}
  %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[5], f32>
  relax.return %0 : !relax.tensor<[5], f32>
}

// -----

// DR11: operators whose operands never fit.
relax.func @DR11_refuted(%x: !relax.tensor<[n, 3], f32>, %y: !relax.tensor<[k, 4], f32>) -> !relax.object attributes {tir_var_lower_bound = {n = 9}, tir_var_upper_bound = {k = 4}} {
  %1 = relax.permute_dims %x : (!relax.tensor<[n, 3], f32>) -> !relax.tensor<[3, n], f32>
  // expected-error@+1 {{expected equal inner dimensions, but got n and k}}
  %0 = relax.matmul %1, %y : (!relax.tensor<[3, n], f32>, !relax.tensor<[k, 4], f32>) -> !relax.tensor<ndim = 2, f32>
  relax.return %0 : !relax.tensor<ndim = 2, f32>
}
