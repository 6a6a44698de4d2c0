// RUN: %invalid

// DR11: normalization and attention. The declared type is wrong on purpose, so that the
// error shows the derived one.

// The moving mean and variance are results, too.
relax.func @dr11_batch_norm(%x: !relax.tensor<[n, c, 4], f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>, %v: !relax.tensor<[c], f32>, %u: !relax.tensor<[c], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.batch_norm' op inferred type(s) '!relax.tuple<!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>>' are incompatible with return type(s) of operation '!relax.tuple<>'}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_batch_norm_rank(%x: !relax.tensor<ndim = 2, f16>, %y: !relax.tensor<[4], f16>, %w: !relax.tensor<[4], f16>, %v: !relax.tensor<ndim = 1, f16>, %u: !relax.tensor<[4], f16>) -> !relax.object {
  // expected-error@+2 {{'relax.batch_norm' op inferred type(s) '!relax.tuple<!relax.tensor<ndim = 2, f16>, !relax.tensor<ndim = 1, f16>, !relax.tensor<[4], f16>>' are incompatible with return type(s) of operation '!relax.tuple<>'}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = -1 : i64, training = false} : (!relax.tensor<ndim = 2, f16>, !relax.tensor<[4], f16>, !relax.tensor<[4], f16>, !relax.tensor<ndim = 1, f16>, !relax.tensor<[4], f16>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_batch_norm_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<*, f32>, %w: !relax.tensor<*, f32>, %v: !relax.tensor<*, f32>, %u: !relax.tensor<*, f32>) -> !relax.object {
  // expected-error@+2 {{'relax.batch_norm' op inferred type(s) '!relax.tuple<!relax.tensor<*, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>>' are incompatible with return type(s) of operation '!relax.tuple<>'}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>, !relax.tensor<*, f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @dr11_group_norm(%x: !relax.tensor<[n, 4, h, w], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.group_norm' op inferred type(s) '!relax.tensor<[n, 4, h, w], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.group_norm' op failed to infer returned types}}
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 2, 3>, channel_axis = 1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, 4, h, w], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Whether `c` is a multiple of the groups is checked at run time.
relax.func @dr11_group_norm_symbolic(%x: !relax.tensor<[n, m, c], f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.group_norm' op inferred type(s) '!relax.tensor<[n, m, c], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.group_norm' op failed to infer returned types}}
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 1>, center = false, channel_axis = -1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, m, c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_instance_norm(%x: !relax.tensor<[n, c, h, w], f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.instance_norm' op inferred type(s) '!relax.tensor<[n, c, h, w], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.instance_norm' op failed to infer returned types}}
  %0 = relax.instance_norm %x, %y, %w {axes = array<i64: 2, 3>, channel_axis = 1 : i64} : (!relax.tensor<[n, c, h, w], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_instance_norm_rank(%x: !relax.tensor<ndim = 3, f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.instance_norm' op inferred type(s) '!relax.tensor<ndim = 3, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.instance_norm' op failed to infer returned types}}
  %0 = relax.instance_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 1 : i64} : (!relax.tensor<ndim = 3, f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_rms_norm(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.rms_norm' op inferred type(s) '!relax.tensor<[n, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.rms_norm' op failed to infer returned types}}
  %0 = relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_rms_norm_axes(%x: !relax.tensor<[n, m, k], f64>, %y: !relax.tensor<[m, k], f64>) -> !relax.object {
  // expected-error@+2 {{'relax.rms_norm' op inferred type(s) '!relax.tensor<[n, m, k], f64>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.rms_norm' op failed to infer returned types}}
  %0 = relax.rms_norm %x, %y {axes = array<i64: 1, 2>, epsilon = 5.000000e-01 : f64} : (!relax.tensor<[n, m, k], f64>, !relax.tensor<[m, k], f64>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_rms_norm_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.rms_norm' op inferred type(s) '!relax.tensor<*, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.rms_norm' op failed to infer returned types}}
  %0 = relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<*, f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_attention(%x: !relax.tensor<[b, n, 8, 64], f32>, %y: !relax.tensor<[b, m, 8, 64], f32>, %w: !relax.tensor<[b, m, 8, 32], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.attention' op inferred type(s) '!relax.tensor<[b, n, 8, 32], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[b, n, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 32], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

// Several heads of the query have one of key and value in common.
relax.func @dr11_attention_heads(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 2, 4], f32>, %w: !relax.tensor<[2, 7, 2, 4], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.attention' op inferred type(s) '!relax.tensor<[2, 5, 8, 4], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w {causal_mask = "BottomRight", scale = 2.500000e-01 : f64, window_size = 4 : i64} : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 2, 4], f32>, !relax.tensor<[2, 7, 2, 4], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_attention_bias(%x: !relax.tensor<[b, n, 8, 64], f32>, %y: !relax.tensor<[b, m, 8, 64], f32>, %w: !relax.tensor<[b, m, 8, 64], f32>, %v: !relax.tensor<[b, 1, n, m], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.attention' op inferred type(s) '!relax.tensor<[b, n, 8, 64], f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w, %v {causal_mask = "TopLeft"} : (!relax.tensor<[b, n, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, 1, n, m], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_attention_rank(%x: !relax.tensor<ndim = 4, f16>, %y: !relax.tensor<ndim = 4, f16>, %w: !relax.tensor<ndim = 4, f16>) -> !relax.object {
  // expected-error@+2 {{'relax.attention' op inferred type(s) '!relax.tensor<ndim = 4, f16>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<ndim = 4, f16>, !relax.tensor<ndim = 4, f16>, !relax.tensor<ndim = 4, f16>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}

// -----

relax.func @dr11_attention_unknown(%x: !relax.tensor<*, f32>, %y: !relax.tensor<[b, m, 8, 64], f32>, %w: !relax.tensor<[b, m, 8, 32], f32>) -> !relax.object {
  // expected-error@+2 {{'relax.attention' op inferred type(s) '!relax.tensor<ndim = 4, f32>' are incompatible with return type(s) of operation '!relax.tensor<[99], ui64>'}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<*, f32>, !relax.tensor<[b, m, 8, 64], f32>, !relax.tensor<[b, m, 8, 32], f32>) -> !relax.tensor<[99], ui64>
  relax.return %0 : !relax.tensor<[99], ui64>
}
