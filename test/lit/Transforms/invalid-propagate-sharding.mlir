// RUN: relax-opt %s -relax-propagate-sharding -split-input-file -verify-diagnostics

// Annotations that cannot be followed.

// expected-error@+1 {{expected annotations that cut one axis of a tensor along dimension 0 of the mesh, but got axes 0 and 1; annotate the tensor itself}}
relax.func @two_axes(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.annotate_sharding %0 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %2 = relax.sin %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %3 = relax.annotate_sharding %2 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[1]]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %4 = relax.add %1, %3 : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %4 : !relax.tensor<[n, 4], f32>
}

// -----

// expected-error@+1 {{expected annotations that place a tensor on one mesh, but got #relax.device_mesh<[2], [0, 1]> and #relax.device_mesh<[2], [2, 3]>; annotate the tensor itself}}
relax.func @two_meshes(%x: !relax.tensor<[n, 4], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %1 = relax.annotate_sharding %0 {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[R]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %2 = relax.sin %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %3 = relax.annotate_sharding %2 {device_mesh = #relax.device_mesh<[2], [2, 3]>, placement = #relax.placement<[R]>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  %4 = relax.tuple %1, %3 : !relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>
  relax.return %4 : !relax.tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>
}

// -----

relax.func @no_rule(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{expected an operator that has a rule for distributed tensors, but got relax.sort}}
  %1 = relax.sort %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}

// -----

relax.func @packed(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.call_pure_packed' op has no rule for distributed tensors}}
  %1 = relax.call_pure_packed "f"(%0) : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %1 : !relax.object
}

// -----

relax.func @branches(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.annotate_sharding %x {device_mesh = #relax.device_mesh<[2], [0, 1]>, placement = #relax.placement<[S[0]]>} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // expected-error@+1 {{'relax.if' op is not supported by relax-propagate-sharding: expected dataflow blocks}}
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    relax.yield %0 : !relax.tensor<[n], f32>
  } else {
    relax.yield %x : !relax.tensor<[n], f32>
  }
  relax.return %1 : !relax.tensor<[n], f32>
}
