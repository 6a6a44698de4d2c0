// RUN: %invalid

// Operators that compute places (DR11).

relax.func @flip_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.flip' op failed to infer returned types}}
  %0 = relax.flip %x {axis = 2 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @repeats(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected repeats of 0 or more, but got -1}}
  // expected-error@+1 {{'relax.repeat' op failed to infer returned types}}
  %0 = relax.repeat %x {repeats = -1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @repeat_axis(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got -3}}
  // expected-error@+1 {{'relax.repeat' op failed to infer returned types}}
  %0 = relax.repeat %x {axis = -3 : i64, repeats = 1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @tile_repeats(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected repeats of 0 or more, but got -1}}
  // expected-error@+1 {{'relax.tile' op failed to infer returned types}}
  %0 = relax.tile %x {repeats = array<i64: 1, -1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @stack_shapes(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 5], f32>) -> !relax.object {
  // expected-error@+2 {{expected tensors of the same shape, but got '!relax.tensor<[n, 4], f32>' and '!relax.tensor<[n, 5], f32>'}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 5], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @stack_ranks(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected tensors of the same shape, but got '!relax.tensor<[n, 4], f32>' and '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @stack_symbolic(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n + 1, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected tensors of the same shape, but got '!relax.tensor<[n, 4], f32>' and '!relax.tensor<[n + 1, 4], f32>'}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n + 1, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @stack_data_types(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f16>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f16'; insert relax.astype}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f16>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @stack_axis(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -3 to 2, but got 3}}
  // expected-error@+1 {{'relax.stack' op failed to infer returned types}}
  %0 = relax.stack %x, %y {axis = 3 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @one_hot_indices(%x: !relax.tensor<[n], f32>, %y: !relax.prim<f32>, %w: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{expected indices of integer data type, but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.one_hot' op failed to infer returned types}}
  %0 = relax.one_hot %x, %y, %w {depth = 3 : i64} : (!relax.tensor<[n], f32>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @one_hot_depth(%x: !relax.tensor<[n], i64>, %y: !relax.prim<f32>, %w: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{expected a depth of 1 or more, but got 0}}
  // expected-error@+1 {{'relax.one_hot' op failed to infer returned types}}
  %0 = relax.one_hot %x, %y, %w {depth = 0 : i64} : (!relax.tensor<[n], i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @one_hot_values(%x: !relax.tensor<[n], i64>, %y: !relax.prim<f32>, %w: !relax.prim<i32>) -> !relax.object {
  // expected-error@+2 {{expected on_value and off_value of the same data type, but got 'f32' and 'i32'}}
  // expected-error@+1 {{'relax.one_hot' op failed to infer returned types}}
  %0 = relax.one_hot %x, %y, %w {depth = 3 : i64} : (!relax.tensor<[n], i64>, !relax.prim<f32>, !relax.prim<i32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @one_hot_axis(%x: !relax.tensor<[n], i64>, %y: !relax.prim<f32>, %w: !relax.prim<f32>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.one_hot' op failed to infer returned types}}
  %0 = relax.one_hot %x, %y, %w {axis = 2 : i64, depth = 3 : i64} : (!relax.tensor<[n], i64>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_elements_indices(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected indices of integer data type, but got '!relax.tensor<[n, 4], f32>'}}
  // expected-error@+1 {{'relax.gather_elements' op failed to infer returned types}}
  %0 = relax.gather_elements %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_elements_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n], i64>) -> !relax.object {
  // expected-error@+2 {{expected indices of rank 2, as data has, but got '!relax.tensor<[n], i64>'}}
  // expected-error@+1 {{'relax.gather_elements' op failed to infer returned types}}
  %0 = relax.gather_elements %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_elements_size(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 5], i64>) -> !relax.object {
  // expected-error@+2 {{expected indices of dimension 1 up to 4, but got 5}}
  // expected-error@+1 {{'relax.gather_elements' op failed to infer returned types}}
  %0 = relax.gather_elements %x, %y {axis = 0 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 5], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_elements_axis(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 4], i64>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.gather_elements' op failed to infer returned types}}
  %0 = relax.gather_elements %x, %y {axis = 2 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_nd_places(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 3], i64>) -> !relax.object {
  // expected-error@+2 {{expected places of up to 2 indices, but got 3}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 3], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_nd_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[], i64>) -> !relax.object {
  // expected-error@+2 {{expected indices of rank 1 or more, but got '!relax.tensor<[], i64>'}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_nd_batch_dims(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 1], i64>) -> !relax.object {
  // expected-error@+2 {{expected batch_dims from 0 to 1, but got 2}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y {batch_dims = 2 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 1], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_nd_negative(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 1], i64>) -> !relax.object {
  // expected-error@+2 {{expected batch_dims from 0 to 1, but got -1}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y {batch_dims = -1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 1], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_nd_batch(%x: !relax.tensor<[3, 4], f32>, %y: !relax.tensor<[2, 1], i64>) -> !relax.object {
  // expected-error@+2 {{expected indices with batch dimension 3, but got 2}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y {batch_dims = 1 : i64} : (!relax.tensor<[3, 4], f32>, !relax.tensor<[2, 1], i64>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @gather_nd_indices(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 1], i1>) -> !relax.object {
  // expected-error@+2 {{expected indices of integer data type, but got '!relax.tensor<[k, 1], i1>'}}
  // expected-error@+1 {{'relax.gather_nd' op failed to infer returned types}}
  %0 = relax.gather_nd %x, %y : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i1>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_reduction(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], i64>, %w: !relax.tensor<[n, 2], f32>) -> !relax.object {
  // expected-error@+2 {{expected reduction 'update', 'add', 'mul', 'min', 'max', 'mean', but got 'sub'}}
  // expected-error@+1 {{'relax.scatter_elements' op failed to infer returned types}}
  %0 = relax.scatter_elements %x, %y, %w {reduction = "sub"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_bool(%x: !relax.tensor<[n, 4], i1>, %y: !relax.tensor<[n, 2], i64>, %w: !relax.tensor<[n, 2], i1>) -> !relax.object {
  // expected-error@+2 {{expected data of integer or float data type, but got '!relax.tensor<[n, 4], i1>'}}
  // expected-error@+1 {{'relax.scatter_elements' op failed to infer returned types}}
  %0 = relax.scatter_elements %x, %y, %w {reduction = "add"} : (!relax.tensor<[n, 4], i1>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 2], i1>) -> !relax.tensor<[n, 4], i1>
  relax.return %0 : !relax.tensor<[n, 4], i1>
}

// -----

relax.func @scatter_shapes(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], i64>, %w: !relax.tensor<[n, 3], f32>) -> !relax.object {
  // expected-error@+2 {{expected updates of the shape of indices, '!relax.tensor<[n, 2], i64>', but got '!relax.tensor<[n, 3], f32>'}}
  // expected-error@+1 {{'relax.scatter_elements' op failed to infer returned types}}
  %0 = relax.scatter_elements %x, %y, %w {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 3], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_ranks(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], i64>, %w: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected updates of the shape of indices, '!relax.tensor<[n, 2], i64>', but got '!relax.tensor<[n], f32>'}}
  // expected-error@+1 {{'relax.scatter_elements' op failed to infer returned types}}
  %0 = relax.scatter_elements %x, %y, %w {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_data_types(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], i64>, %w: !relax.tensor<[n, 2], f16>) -> !relax.object {
  // expected-error@+2 {{expected operands of the same data type, but got 'f32' and 'f16'; insert relax.astype}}
  // expected-error@+1 {{'relax.scatter_elements' op failed to infer returned types}}
  %0 = relax.scatter_elements %x, %y, %w {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], i64>, !relax.tensor<[n, 2], f16>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_nd_reduction(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 1], i64>, %w: !relax.tensor<[k, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected reduction 'update', 'add', 'mul', 'min', 'max', but got 'mean'}}
  // expected-error@+1 {{'relax.scatter_nd' op failed to infer returned types}}
  %0 = relax.scatter_nd %x, %y, %w {reduction = "mean"} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_nd_places(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 3], i64>, %w: !relax.tensor<[k], f32>) -> !relax.object {
  // expected-error@+2 {{expected places of up to 2 indices, but got 3}}
  // expected-error@+1 {{'relax.scatter_nd' op failed to infer returned types}}
  %0 = relax.scatter_nd %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 3], i64>, !relax.tensor<[k], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_nd_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 1], i64>, %w: !relax.tensor<[k], f32>) -> !relax.object {
  // expected-error@+2 {{expected updates of rank 2, but got '!relax.tensor<[k], f32>'}}
  // expected-error@+1 {{'relax.scatter_nd' op failed to infer returned types}}
  %0 = relax.scatter_nd %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scatter_nd_dimension(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[k, 1], i64>, %w: !relax.tensor<[k, 5], f32>) -> !relax.object {
  // expected-error@+2 {{expected updates with dimension 4, but got 5}}
  // expected-error@+1 {{'relax.scatter_nd' op failed to infer returned types}}
  %0 = relax.scatter_nd %x, %y, %w : (!relax.tensor<[n, 4], f32>, !relax.tensor<[k, 1], i64>, !relax.tensor<[k, 5], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @index_map_rank(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  // expected-error@+2 {{expected x of rank 1, as index_map has dimensions, but got '!relax.tensor<[n, 4], f32>'}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0)>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @index_map_symbols(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected an index_map without symbols}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0)[s0] -> (d0 + s0)>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @index_map_negative(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected indices of 0 or more, but index_map leads to -1}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0 - 1)>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pad_value(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected pad_value of data type 'f32', but got 'i32'}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0)>, pad_value = 1 : i32} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @pad_value_kind(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+2 {{expected pad_value to be a number, but got dense<1.000000e+00> : tensor<1xf32>}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0)>, pad_value = dense<1.0> : tensor<1xf32>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scale_size(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[3], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{expected scale of size 4, as data has at axis 1, but got 3}}
  // expected-error@+1 {{'relax.quantize' op failed to infer returned types}}
  %0 = relax.quantize %x, %y, %w {axis = 1 : i64, out_dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[3], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @scale_rank(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[1, 4], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{expected scale of rank 0 or 1, but got '!relax.tensor<[1, 4], f32>'}}
  // expected-error@+1 {{'relax.quantize' op failed to infer returned types}}
  %0 = relax.quantize %x, %y, %w {axis = 1 : i64, out_dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[1, 4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @zero_point_size(%x: !relax.tensor<[n, 4], i8>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[5], i8>) -> !relax.object {
  // expected-error@+2 {{expected zero_point of size 4, as data has at axis 1, but got 5}}
  // expected-error@+1 {{'relax.dequantize' op failed to infer returned types}}
  %0 = relax.dequantize %x, %y, %w {axis = 1 : i64, out_dtype = f32} : (!relax.tensor<[n, 4], i8>, !relax.tensor<[4], f32>, !relax.tensor<[5], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @quantize_axis(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{expected an axis from -2 to 1, but got 2}}
  // expected-error@+1 {{'relax.quantize' op failed to infer returned types}}
  %0 = relax.quantize %x, %y, %w {axis = 2 : i64, out_dtype = i8} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @quantize_dtype(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{expected out_dtype to be an integer or float, but got 'i1'}}
  // expected-error@+1 {{'relax.quantize' op failed to infer returned types}}
  %0 = relax.quantize %x, %y, %w {out_dtype = i1} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @quantize_integers(%x: !relax.tensor<[n, 4], i8>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{expected data of float data type, but got '!relax.tensor<[n, 4], i8>'}}
  // expected-error@+1 {{'relax.quantize' op failed to infer returned types}}
  %0 = relax.quantize %x, %y, %w {out_dtype = i8} : (!relax.tensor<[n, 4], i8>, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @dequantize_dtype(%x: !relax.tensor<[n, 4], i8>, %y: !relax.tensor<[4], f32>, %w: !relax.tensor<[4], i8>) -> !relax.object {
  // expected-error@+2 {{expected out_dtype to be a float, but got 'i8'}}
  // expected-error@+1 {{'relax.dequantize' op failed to infer returned types}}
  %0 = relax.dequantize %x, %y, %w {out_dtype = i8} : (!relax.tensor<[n, 4], i8>, !relax.tensor<[4], f32>, !relax.tensor<[4], i8>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

relax.func @index_map_drops_a_dimension(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  // expected-error@+2 {{expected index_map to lead each element to a place of its own, but it does not depend on dimension 1}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0, d1) -> (d0)>} : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

relax.func @index_map_joins_elements(%x: !relax.tensor<[4], f32>) -> !relax.object {
  // expected-error@+2 {{expected index_map to lead each element to a place of its own, but there are 4 elements and 2 places}}
  // expected-error@+1 {{'relax.layout_transform' op failed to infer returned types}}
  %0 = relax.layout_transform %x {index_map = affine_map<(d0) -> (d0 floordiv 2)>} : (!relax.tensor<[4], f32>) -> !relax.tensor<[2], f32>
  relax.return %0 : !relax.tensor<[2], f32>
}
