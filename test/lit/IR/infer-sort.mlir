// RUN: %invalid

// DR11: operators that order and search. The declared type is wrong on purpose, so that the
// error shows the derived one.

relax.func @dr11_topk(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.topk' op inferred type(s) '!relax.tuple<!relax.tensor<[n, 3], f32>, !relax.tensor<[n, 3], i32>>' are incompatible with return type(s) of operation '!relax.tuple<>'}}
  // expected-error@+1 {{'relax.topk' op failed to infer returned types}}
  %0 = relax.topk %x {k = 3 : i64} : (!relax.tensor<[n, m], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_topk_all(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.topk' op inferred type(s) '!relax.tensor<[n, m], i64>' are incompatible with return type(s) of operation '!relax.tuple<>'}}
  // expected-error@+1 {{'relax.topk' op failed to infer returned types}}
  %0 = relax.topk %x {axis = 0 : i64, dtype = i64, k = 0 : i64, ret_type = "indices"} : (!relax.tensor<[n, m], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_topk_unknown(%x: !relax.tensor<ndim = 2, f16>) -> !relax.object {
  // expected-error@+2 {{'relax.topk' op inferred type(s) '!relax.tensor<ndim = 2, f16>' are incompatible with return type(s) of operation '!relax.tuple<>'}}
  // expected-error@+1 {{'relax.topk' op failed to infer returned types}}
  %0 = relax.topk %x {k = 3 : i64, ret_type = "values"} : (!relax.tensor<ndim = 2, f16>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_kth_index(%x: !relax.tensor<[n, m], f32>, %k: !relax.prim<i64, m floordiv 2>) -> !relax.object {
  // expected-error@+2 {{'relax.kth_index' op inferred type(s) '!relax.tensor<[n, 1], i64>' are incompatible with return type(s) of operation '!relax.tensor<[], f32>'}}
  // expected-error@+1 {{'relax.kth_index' op failed to infer returned types}}
  %0 = relax.kth_index %x, %k {dtype = i64} : (!relax.tensor<[n, m], f32>, !relax.prim<i64, m floordiv 2>) -> !relax.tensor<[], f32>
  relax.return %0 : !relax.tensor<[], f32>
}
