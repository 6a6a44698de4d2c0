// RUN: %invalid

// Each way in which something may be the tensor that is updated in place.

// OP02: the tensor itself.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_later_use(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP02: a cast of it.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_match_cast(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.match_cast %0 : !relax.tensor<[n], f32> -> !relax.tensor<*>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.tensor<*>
}

// -----

// OP02: a tuple that holds it.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_tuple(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.tuple %0, %x : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  %2 = relax.get_item %1[0] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  relax.return %2 : !relax.tensor<[n], f32>
}

// -----

// OP02: a tuple in a tuple.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_nested_tuple(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.tuple %0, %x : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  %2 = relax.tuple %1 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  %3 = relax.get_item %2[0] : !relax.tuple<!relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>>
  relax.return %r : !relax.tensor<[n], f32>
}

// -----

// OP02: an output of a dataflow block.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.dataflow -> !relax.tensor<[n], f32> {
    relax.output %0 : !relax.tensor<[n], f32>
  }
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

// OP02: one of two branches.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_if(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    relax.yield %0 : !relax.tensor<[n], f32>
  } else {
    relax.yield %x : !relax.tensor<[n], f32>
  }
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

// OP02: a sequence.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_seq(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.seq -> !relax.tensor<[n], f32> {
    relax.yield %0 : !relax.tensor<[n], f32>
  }
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

// OP02: a hint is no copy.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_hint(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.hint_on_device %0 on 0 : !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

// OP02: a function may return its argument.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_pure_call(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call @op02_pure_call(%0) : (!relax.tensor<[n], f32>) -> !relax.object
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.object
}

// -----

// OP02: and so may a packed one.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_packed_call(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_packed "f"(%0) : (!relax.tensor<[n], f32>) -> !relax.object
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.object
}

// -----

// OP02: a packed function may keep what it is given, and another one return it.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_kept_by_others(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_packed "keep"(%0) : (!relax.tensor<[n], f32>) -> !relax.shape<*>
  %2 = relax.call_packed "get"() : () -> !relax.object
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %2 : !relax.object
}

// -----

// OP02: a pure packed function may return its argument.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_pure_packed(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_pure_packed "f"(%0) : (!relax.tensor<[n], f32>) -> !relax.object
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.object
}

// -----

// OP02: a closure that captured it is called.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_captured(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %f = relax.closure () -> !relax.tensor<[n], f32> {
    relax.return %0 : !relax.tensor<[n], f32>
  }
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  %2 = relax.call %f : !relax.func<() -> !relax.tensor<[n], f32>, pure> () : () -> !relax.tensor<[n], f32>
  relax.return %2 : !relax.tensor<[n], f32>
}

// -----

// OP02: in a region behind it.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_in_a_region(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    // expected-note@+1 {{it is used here}}
    relax.yield %0 : !relax.tensor<[n], f32>
  } else {
    relax.yield %r : !relax.tensor<[n], f32>
  }
  relax.return %2 : !relax.tensor<[n], f32>
}

// -----

// OP02: in a function literal behind it.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_literal_behind(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.closure () -> !relax.tensor<[n], f32> {
    // expected-note@+1 {{it is used here}}
    relax.return %0 : !relax.tensor<[n], f32>
  }
  relax.return %2 : !relax.func<() -> !relax.tensor<[n], f32>, pure>
}

// -----

// OP02: behind the branch that updates it.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_around(%x: !relax.tensor<[n], f32>, %c: !relax.tensor<[], i1>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
    %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %r : !relax.tensor<[n], f32>
  } else {
    relax.yield %x : !relax.tensor<[n], f32>
  }
  // expected-note@+1 {{it is used here}}
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP02: parameters may share memory.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_parameters(%x: !relax.tensor<[n], f32>, %0: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %x : !relax.tensor<[n], f32>
}

// -----

// OP02: the caller of a pure function has the parameter still.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_pure_parameter(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it may be argument 'x' of a pure function, whose caller would see it}}
  %r = relax.call_tir_inplace @relu(%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %r : !relax.tensor<[n], f32>
}

// -----

// OP02: also through a field and a cast.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_pure_field(%t: !relax.tuple<!relax.object, !relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32> {
  %0 = relax.get_item %t[0] : !relax.tuple<!relax.object, !relax.tensor<[n], f32>>
  %1 = relax.match_cast %0 : !relax.object -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it may be argument 't' of a pure function, whose caller would see it}}
  %r = relax.call_tir_inplace @relu(%1) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %r : !relax.tensor<[n], f32>
}

// -----

// OP02: the parameter of a pure function literal.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_pure_literal() -> !relax.object {
  %f = relax.closure (%a: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
    // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it may be argument 'a' of a pure function, whose caller would see it}}
    %r = relax.call_tir_inplace @relu(%a) inplace [0] : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    relax.return %r : !relax.tensor<[4], f32>
  }
  relax.return %f : !relax.func<(!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>, pure>
}

// -----

// OP02: the next call of a closure would see it, an impure one too.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_captured_update(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %f = relax.closure impure () -> !relax.tensor<[n], f32> {
    // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but a closure does not own what it captures}}
    %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.return %r : !relax.tensor<[n], f32>
  }
  relax.return %f : !relax.func<() -> !relax.tensor<[n], f32>, impure>
}

// -----

// OP02: a parameter of a closure may be what it captured.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_literal_parameter(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %f = relax.closure impure (%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
    %r = relax.call_tir_inplace @relu(%a) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    // expected-note@+1 {{it is used here}}
    relax.return %0 : !relax.tensor<[n], f32>
  }
  relax.return %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, impure>
}

// -----

// OP02: twice in one call.
func.func private @two(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_twice(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but another argument may be the same tensor}}
  %r = relax.call_tir_inplace @two(%0, %0) inplace [0] : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %r : !relax.tensor<[n], f32>
}

// -----

// OP06: the same rules for a packed function; the function is no argument.
relax.func @op06_later_use(%f: !relax.func<derive = @default_derive>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_inplace_packed' op updates argument 1 in place, but it, or what may alias it, is used later}}
  %r = relax.call_inplace_packed %f : !relax.func<derive = @default_derive> (%x, %0) inplace [1] : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.object
  // expected-note@+1 {{it is used here}}
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// OP06
relax.func @op06_pure_parameter(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.call_inplace_packed' op updates argument 0 in place, but it may be argument 'x' of a pure function, whose caller would see it}}
  %r = relax.call_inplace_packed "f"(%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %r : !relax.object
}

// -----

// OP06: what comes back may be any argument.
relax.func @op06_result(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.abs %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.call_inplace_packed "f"(%0, %1) inplace [0] : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_inplace_packed' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %3 = relax.call_inplace_packed "g"(%2) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

// OP02: a tensor in the same storage.
func.func private @relu(tensor<?xf32>) -> tensor<?xf32>
relax.func @op02_storage() -> !relax.object {
  %s = relax.builtin.alloc_storage size <64>
  %0 = relax.builtin.alloc_tensor from %s at 0 : !relax.tensor<[8], f32>
  %1 = relax.builtin.alloc_tensor from %s at 16 : !relax.tensor<[8], f32>
  // expected-error@+1 {{'relax.call_tir_inplace' op updates argument 0 in place, but it, or what may alias it, is used later}}
  %r = relax.call_tir_inplace @relu(%0) inplace [0] : (!relax.tensor<[8], f32>) -> !relax.tensor<[8], f32>
  // expected-note@+1 {{it is used here}}
  relax.return %1 : !relax.tensor<[8], f32>
}
