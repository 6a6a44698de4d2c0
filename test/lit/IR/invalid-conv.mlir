// RUN: %invalid

// Convolution and pooling (DR11).

relax.func @data_rank(%x: !relax.tensor<[n, 3, h], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected data of rank 4, as its layout is 'NCHW', but got '!relax.tensor<[n, 3, h], f32>'}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, 3, h], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @weight_rank(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected weight of rank 4, as its layout is 'OIHW', but got '!relax.tensor<[8, 3, 3], f32>'}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @channels(%x: !relax.tensor<[n, 4, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected data of 3 channels, but got 4}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, 4, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @group_channels(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected data of 6 channels, but got 3}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {groups = 2 : i64} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @output_channels(%x: !relax.tensor<[n, 9, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected a multiple of 3 groups as output channels, but got 8}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {groups = 3 : i64} : (!relax.tensor<[n, 9, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @groups(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected groups from 1 to 2147483647, but got 0}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {groups = 0 : i64} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @strides(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected strides from 1 to 2147483647, but got 0}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {strides = array<i64: 0, 1>} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @strides_count(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected 2 numbers as strides, but got 1}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {strides = array<i64: 1>} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @padding(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected padding from 0 to 2147483647, but got -1}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {padding = array<i64: 0, 0, 0, -1>} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @padding_count(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected 4 numbers as padding, but got 2}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {padding = array<i64: 1, 1>} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @dilation(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected dilation from 1 to 2147483647, but got 0}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {dilation = array<i64: 1, 0>} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @data_layout(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected data_layout to be a permutation of 'NCHW', but got 'NCHW4c'}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {data_layout = "NCHW4c"} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @kernel_layout(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected kernel_layout to be a permutation of 'OIHW', but got 'OIWW'}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {kernel_layout = "OIWW"} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @out_layout(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected out_layout to be a permutation of 'NCHW', but got 'NCW'}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {out_layout = "NCW"} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @window(%x: !relax.tensor<[n, 3, 1, 9], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected a padded dimension that the window fits into, but got a result of #relax.shape<[n, 8, -1, 7]>}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, 3, 1, 9], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @data_types(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f16>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f16'; insert relax.astype}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f16>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @boolean(%x: !relax.tensor<[n, 3, h, w], i1>, %y: !relax.tensor<[8, 3, 3, 3], i1>) -> !relax.object {
  // expected-error@+2 {{expected data of integer or float data type, but got '!relax.tensor<[n, 3, h, w], i1>'}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, 3, h, w], i1>, !relax.tensor<[8, 3, 3, 3], i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @out_dtype(%x: !relax.tensor<[n, 3, h, w], f32>, %y: !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected dtype to be a data type, but got 'tensor<1xf32>'}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y {out_dtype = tensor<1xf32>} : (!relax.tensor<[n, 3, h, w], f32>, !relax.tensor<[8, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @devices(%x: !relax.tensor<[n, 3, h, w], f32, @cpu0>, %y: !relax.tensor<[8, 3, 3, 3], f32, @cpu1>) -> !relax.object {
  // expected-error@+2 {{expected operands on the same virtual device, but got @cpu0 and @cpu1; insert relax.to_vdevice}}
  // expected-error@+1 {{'relax.conv2d' op failed to infer returned types}}
  %0 = relax.conv2d %x, %y : (!relax.tensor<[n, 3, h, w], f32, @cpu0>, !relax.tensor<[8, 3, 3, 3], f32, @cpu1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pool_rank(%x: !relax.tensor<[n, 3, h], f32>) -> !relax.object {
  // expected-error@+2 {{expected data of rank 4, as its layout is 'NCHW', but got '!relax.tensor<[n, 3, h], f32>'}}
  // expected-error@+1 {{'relax.max_pool2d' op failed to infer returned types}}
  %0 = relax.max_pool2d %x {pool_size = array<i64: 2, 2>} : (!relax.tensor<[n, 3, h], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pool_size(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  // expected-error@+2 {{expected pool_size from 1 to 2147483647, but got 0}}
  // expected-error@+1 {{'relax.max_pool2d' op failed to infer returned types}}
  %0 = relax.max_pool2d %x {pool_size = array<i64: 0, 2>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pool_size_count(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  // expected-error@+2 {{expected 2 numbers as pool_size, but got 1}}
  // expected-error@+1 {{'relax.avg_pool2d' op failed to infer returned types}}
  %0 = relax.avg_pool2d %x {pool_size = array<i64: 2>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pool_layout(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  // expected-error@+2 {{expected layout to be a permutation of 'NCHW', but got 'NCDHW'}}
  // expected-error@+1 {{'relax.avg_pool2d' op failed to infer returned types}}
  %0 = relax.avg_pool2d %x {layout = "NCDHW", pool_size = array<i64: 2, 2>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pool_window(%x: !relax.tensor<[n, 3, 3, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected a padded dimension that the window fits into, but got a result of #relax.shape<[n, 3, -1, -1]>}}
  // expected-error@+1 {{'relax.avg_pool2d' op failed to infer returned types}}
  %0 = relax.avg_pool2d %x {pool_size = array<i64: 5, 5>} : (!relax.tensor<[n, 3, 3, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pool_boolean(%x: !relax.tensor<[n, 3, h, w], i1>) -> !relax.object {
  // expected-error@+2 {{expected data of integer or float data type, but got '!relax.tensor<[n, 3, h, w], i1>'}}
  // expected-error@+1 {{'relax.max_pool2d' op failed to infer returned types}}
  %0 = relax.max_pool2d %x {pool_size = array<i64: 2, 2>} : (!relax.tensor<[n, 3, h, w], i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @output_size(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  // expected-error@+2 {{expected output_size from 1 to 2147483647, but got 0}}
  // expected-error@+1 {{'relax.adaptive_avg_pool2d' op failed to infer returned types}}
  %0 = relax.adaptive_avg_pool2d %x {output_size = array<i64: 0, 2>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @output_size_count(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  // expected-error@+2 {{expected 2 numbers as output_size, but got 1}}
  // expected-error@+1 {{'relax.adaptive_avg_pool2d' op failed to infer returned types}}
  %0 = relax.adaptive_avg_pool2d %x {output_size = array<i64: 2>} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @adaptive_layout(%x: !relax.tensor<[n, 3, h, w], f32>) -> !relax.object {
  // expected-error@+2 {{expected layout to be a permutation of 'NCHW', but got 'NHW'}}
  // expected-error@+1 {{'relax.adaptive_avg_pool2d' op failed to infer returned types}}
  %0 = relax.adaptive_avg_pool2d %x {layout = "NHW"} : (!relax.tensor<[n, 3, h, w], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}
