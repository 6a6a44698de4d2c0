// RUN: relax-opt %s -relax-derive-struct-info -split-input-file -verify-diagnostics

// DR01: who calls itself has to say what it returns.
// expected-error@+1 {{'relax.func' op calls itself, so its result cannot be derived: declare it and remove 'derive_result'}}
relax.func @dr01_recursive(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {derive_result} {
  %0 = relax.call @dr01_recursive(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

// DR04, DR06: a tuple is known to be none once the branches are derived.
relax.func @dr04_index(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[2], f32>, %y: !relax.tensor<[3], f32>) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<ndim = 1, f32> {
    relax.yield %x : !relax.tensor<[2], f32>
  } else {
    %2 = relax.add %y, %y : (!relax.tensor<[3], f32>, !relax.tensor<[3], f32>) -> !relax.tensor<*>
    relax.yield %x : !relax.tensor<[2], f32>
  }
  // DR11: both branches give two elements, so this addition cannot be.
  // expected-error@+1 {{dimension}}
  %1 = relax.add %0, %y : (!relax.tensor<ndim = 1, f32>, !relax.tensor<[3], f32>) -> !relax.tensor<*>
  relax.return %1 : !relax.tensor<*>
}

// -----

// DR09
relax.func @dr09_rank(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-warning@+1 {{this cast from '!relax.tensor<[n, m], f32>' to '!relax.tensor<[k], f32>' always fails}}
  %0 = relax.match_cast %x : !relax.tensor<[n, m], f32> -> !relax.tensor<[k], f32>
  relax.return %0 : !relax.tensor<[k], f32>
}

// -----

// DR09, MC02
relax.func @dr09_dimension(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-warning@+1 {{this cast from '!relax.tensor<[n], f32>' to '!relax.tensor<[n + 1], f32>' always fails}}
  %0 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.tensor<[n + 1], f32>
  relax.return %0 : !relax.tensor<[n + 1], f32>
}

// -----

// DR09, MC06: also where the type of the operand is derived here.
relax.func @dr09_kind(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<*>
  // expected-warning@+1 {{this cast from '!relax.tensor<[n], f32>' to '!relax.tensor<ndim = 2>' always fails}}
  %1 = relax.match_cast %0 : !relax.tensor<*> -> !relax.tensor<ndim = 2>
  // expected-warning@+1 {{this cast from '!relax.tensor<[n], f32>' to '!relax.shape<ndim = 1>' always fails}}
  %2 = relax.match_cast %x : !relax.tensor<[n], f32> -> !relax.shape<ndim = 1>
  relax.return %2 : !relax.shape<ndim = 1>
}

// -----

relax.func private @dr12_callee(%x: !relax.tensor<[n, n], f32>) -> !relax.tensor<[n], f32>

// DR12: an argument that may or may not fit.
relax.func @dr12_possibly(%x: !relax.tensor<[k, m], f32>) -> !relax.object {
  // expected-warning@+1 {{argument 0 of type '!relax.tensor<[k, m], f32>' may not be of type '!relax.tensor<[k, k], f32>': relax.match_cast would check it here, or else the callee does}}
  %0 = relax.call @dr12_callee(%x) : (!relax.tensor<[k, m], f32>) -> !relax.object
  relax.return %0 : !relax.object
}

// -----

relax.func private @dr12_callee(%x: !relax.tensor<[n, n], f32>) -> !relax.tensor<[n], f32>

// DR12: an argument that turns out not to fit.
relax.func @dr12_incompatible(%x: !relax.tensor<[2, 3], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[2, 3], f32>) -> !relax.tensor<*>
  // expected-error@+1 {{'relax.call' op expected argument 0 of type '!relax.tensor<[2, 2], f32>', but got '!relax.tensor<[2, 3], f32>'}}
  %1 = relax.call @dr12_callee(%0) : (!relax.tensor<*>) -> !relax.object
  relax.return %1 : !relax.object
}

// -----

// DR13: a result that may or may not be what is declared.
relax.func @dr13_possibly(%x: !relax.tensor<[n], f32>, %o: !relax.object) -> !relax.tensor<[4], f32> {
  // expected-warning@+1 {{a result of type '!relax.tensor<[n], f32>' may not be of the declared type '!relax.tensor<[4], f32>': relax.match_cast would check it here, or else the function does on return}}
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// DR08, DR13: the same in a function literal.
relax.func @dr08_literal_result(%o: !relax.object) -> !relax.object {
  %f = relax.closure () -> !relax.shape<ndim = 1> {
    // expected-warning@+1 {{a result of type '!relax.object' may not be of the declared type '!relax.shape<ndim = 1>'}}
    relax.return %o : !relax.object
  }
  relax.return %f : !relax.func<() -> !relax.shape<ndim = 1>, pure>
}
