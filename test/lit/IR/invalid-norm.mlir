// RUN: %invalid

// Normalization and attention (DR11).

relax.func @batch_axis(%x: !relax.tensor<[n, c, 4], f32>, %y: !relax.tensor<[c], f32>, %w: !relax.tensor<[c], f32>, %v: !relax.tensor<[c], f32>, %u: !relax.tensor<[c], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -3 to 2, but got 3}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 3 : i64} : (!relax.tensor<[n, c, 4], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>, !relax.tensor<[c], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @batch_gamma(%x: !relax.tensor<[n, 3, 4], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[3], f32>, %v: !relax.tensor<[3], f32>, %u: !relax.tensor<[3], f32>) -> !relax.object {
  // expected-error@+2 {{expected gamma with dimension 3 as x has at axis 1, but got 4}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<[n, 3, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @batch_moving_var(%x: !relax.tensor<[n, 3, 4], f32>, %y: !relax.tensor<[3], f32>, %w: !relax.tensor<[3], f32>, %v: !relax.tensor<[3], f32>, %u: !relax.tensor<[3, 1], f32>) -> !relax.object {
  // expected-error@+2 {{expected moving_var of rank 1, the number of axes, but got '!relax.tensor<[3, 1], f32>'}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<[n, 3, 4], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3, 1], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @batch_data_type(%x: !relax.tensor<[n, 3, 4], i32>, %y: !relax.tensor<[3], i32>, %w: !relax.tensor<[3], i32>, %v: !relax.tensor<[3], i32>, %u: !relax.tensor<[3], i32>) -> !relax.object {
  // expected-error@+2 {{expected data of float data type, but got '!relax.tensor<[n, 3, 4], i32>'}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<[n, 3, 4], i32>, !relax.tensor<[3], i32>, !relax.tensor<[3], i32>, !relax.tensor<[3], i32>, !relax.tensor<[3], i32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @batch_data_types(%x: !relax.tensor<[n, 3, 4], f16>, %y: !relax.tensor<[3], f32>, %w: !relax.tensor<[3], f32>, %v: !relax.tensor<[3], f32>, %u: !relax.tensor<[3], f32>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f16' and 'f32'; insert relax.astype}}
  // expected-error@+1 {{'relax.batch_norm' op failed to infer returned types}}
  %0 = relax.batch_norm %x, %y, %w, %v, %u {axis = 1 : i64} : (!relax.tensor<[n, 3, 4], f16>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// -----

relax.func @groups(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected one group or more, but got 0}}
  // expected-error@+1 {{'relax.group_norm' op failed to infer returned types}}
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 1 : i64, num_groups = 0 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @groups_divide(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected a multiple of 3 groups as channels, but got 4}}
  // expected-error@+1 {{'relax.group_norm' op failed to infer returned types}}
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 1 : i64, num_groups = 3 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @channel_in_axes(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected axes without channel_axis, but got 1}}
  // expected-error@+1 {{'relax.group_norm' op failed to infer returned types}}
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 2, 1>, channel_axis = 1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @channel_axis(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -3 to 2, but got 3}}
  // expected-error@+1 {{'relax.group_norm' op failed to infer returned types}}
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 3 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @group_beta(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[5], f32>) -> !relax.object {
  // expected-error@+2 {{expected beta with dimension 4 as x has at axis 1, but got 5}}
  // expected-error@+1 {{'relax.group_norm' op failed to infer returned types}}
  %0 = relax.group_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 1 : i64, num_groups = 2 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[4], f32>, !relax.tensor<[5], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @instance_axes(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected at least one axis}}
  // expected-error@+1 {{'relax.instance_norm' op failed to infer returned types}}
  %0 = relax.instance_norm %x, %y, %w {axes = array<i64>, channel_axis = 1 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @instance_axis(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -3 to 2, but got 3}}
  // expected-error@+1 {{'relax.instance_norm' op failed to infer returned types}}
  %0 = relax.instance_norm %x, %y, %w {axes = array<i64: 3>, channel_axis = 1 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @instance_gamma(%x: !relax.tensor<[n, 4, h], f32>, %y: !relax.tensor<[1, 4], f32>, %w: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected gamma of rank 1, the number of axes, but got '!relax.tensor<[1, 4], f32>'}}
  // expected-error@+1 {{'relax.instance_norm' op failed to infer returned types}}
  %0 = relax.instance_norm %x, %y, %w {axes = array<i64: 2>, channel_axis = 1 : i64} : (!relax.tensor<[n, 4, h], f32>, !relax.tensor<[1, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @rms_axes(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected at least one axis}}
  // expected-error@+1 {{'relax.rms_norm' op failed to infer returned types}}
  %0 = relax.rms_norm %x, %y {axes = array<i64>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @rms_repeated_axes(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected distinct axes, but got axis 1 twice}}
  // expected-error@+1 {{'relax.rms_norm' op failed to infer returned types}}
  %0 = relax.rms_norm %x, %y {axes = array<i64: 1, -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @rms_weight(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n + 5], f32>) -> !relax.object {
  // expected-error@+2 {{expected weight with dimension 4 as x has at axis 1, but got n + 5}}
  // expected-error@+1 {{'relax.rms_norm' op failed to infer returned types}}
  %0 = relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n + 5], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @rms_data_type(%x: !relax.tensor<[n, 4], i8>, %y: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{expected data of float data type, but got '!relax.tensor<[n, 4], i8>'}}
  // expected-error@+1 {{'relax.rms_norm' op failed to infer returned types}}
  %0 = relax.rms_norm %x, %y {axes = array<i64: -1>} : (!relax.tensor<[n, 4], i8>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_rank(%x: !relax.tensor<[n, 8, 4], f32>, %y: !relax.tensor<[1, n, 8, 4], f32>, %w: !relax.tensor<[1, n, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected query of rank 4, but got '!relax.tensor<[n, 8, 4], f32>'}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[n, 8, 4], f32>, !relax.tensor<[1, n, 8, 4], f32>, !relax.tensor<[1, n, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_batch(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[3, 7, 8, 4], f32>, %w: !relax.tensor<[3, 7, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected key with batch size 2, but got 3}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[3, 7, 8, 4], f32>, !relax.tensor<[3, 7, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_features(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 8, 5], f32>, %w: !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected key with number of features 4, but got 5}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 8, 5], f32>, !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_heads(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 3, 4], f32>, %w: !relax.tensor<[2, 7, 3, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected key with a number of heads that divides 8, but got 3}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 3, 4], f32>, !relax.tensor<[2, 7, 3, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_no_heads(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 0, 4], f32>, %w: !relax.tensor<[2, 7, 0, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected key with a number of heads that divides 8, but got 0}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 0, 4], f32>, !relax.tensor<[2, 7, 0, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_keys(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, n, 8, 4], f32>, %w: !relax.tensor<[2, n + 1, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected value with sequence length n, but got n + 1}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, n, 8, 4], f32>, !relax.tensor<[2, n + 1, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_bias(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 8, 4], f32>, %w: !relax.tensor<[2, 7, 8, 4], f32>, %v: !relax.tensor<[2, 8, 5, 6], f32>) -> !relax.object {
  // expected-error@+2 {{expected bias with number of keys 7, but got 6}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w, %v : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>, !relax.tensor<[2, 8, 5, 6], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_bias_heads(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 8, 4], f32>, %w: !relax.tensor<[2, 7, 8, 4], f32>, %v: !relax.tensor<[2, 2, 5, 7], f32>) -> !relax.object {
  // expected-error@+2 {{expected bias with number of heads 8, but got 2}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w, %v : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>, !relax.tensor<[2, 2, 5, 7], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_mask(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 8, 4], f32>, %w: !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected causal_mask 'TopLeft' or 'BottomRight', but got 'Left'}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w {causal_mask = "Left"} : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_window(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 8, 4], f32>, %w: !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected window_size of 1 or more with a causal_mask, but got 2 without one}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w {window_size = 2 : i64} : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_window_size(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 8, 4], f32>, %w: !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected window_size of 1 or more with a causal_mask, but got 0}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w {causal_mask = "TopLeft", window_size = 0 : i64} : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @attention_data_types(%x: !relax.tensor<[2, 5, 8, 4], f32>, %y: !relax.tensor<[2, 7, 8, 4], f16>, %w: !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f16'; insert relax.astype}}
  // expected-error@+1 {{'relax.attention' op failed to infer returned types}}
  %0 = relax.attention %x, %y, %w : (!relax.tensor<[2, 5, 8, 4], f32>, !relax.tensor<[2, 7, 8, 4], f16>, !relax.tensor<[2, 7, 8, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
