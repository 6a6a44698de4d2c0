// What integers of 4 bits are not for.
// RUN: relax-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected a data type (i1, i8 to i64, ui8 to ui64, f16, bf16, f32, f64 or an 8-bit float), but got 'i4' [WF19]}}
relax.func private @wf19_primitive(!relax.prim<i4>) -> !relax.object

// -----

relax.func @wf18_number() -> !relax.object {
  // expected-error@+1 {{expected a number of a data type or an expression, but got 3 : i4 [WF18]}}
  %0 = relax.prim_value 3 : i4
  relax.return %0 : !relax.prim<i4>
}

// -----

relax.func @operand(%x: !relax.tensor<[n], i4>) -> !relax.object {
  // expected-error@+2 {{expected a data type of 8 bits or more, or Booleans, but got 'i4'; insert relax.astype}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = relax.add %x, %x : (!relax.tensor<[n], i4>, !relax.tensor<[n], i4>) -> !relax.tensor<[n], i4>
  relax.return %0 : !relax.tensor<[n], i4>
}

// -----

relax.func @result(%s: !relax.shape<[4]>) -> !relax.object {
  // expected-error@+2 {{expected a data type of 8 bits or more, or Booleans, but got 'ui4'; insert relax.astype}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = relax.zeros %s {dtype = ui4} : (!relax.shape<[4]>) -> !relax.tensor<[4], ui4>
  relax.return %0 : !relax.tensor<[4], ui4>
}

// -----

func.func private @kernel(%x: tensor<?xi4>, %y: tensor<?xi4>) -> tensor<?xi4>
relax.func @kernel_call(%x: !relax.tensor<[n], i4>) -> !relax.object {
  // expected-error@+1 {{but got '!relax.tensor<[n], i4>': kernels take no integers of 4 bits; insert relax.astype}}
  %0 = relax.call_tir @kernel(%x) : (!relax.tensor<[n], i4>) -> !relax.tensor<[n], i4>
  relax.return %0 : !relax.tensor<[n], i4>
}
