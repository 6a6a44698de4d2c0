// RUN: relax-opt %s -relax-prepare-kernels | FileCheck %s

// Outputs are writable, and results are put in them.
// CHECK: func.func private @relax.kernel.exp(%{{.*}}: tensor<?xf32> {bufferization.writable = false}, %[[Y:.*]]: tensor<?xf32> {bufferization.writable = true})
// CHECK: %[[R:.*]] = linalg.exp
// CHECK: %[[M:.*]] = bufferization.materialize_in_destination %[[R]] in %[[Y]]
// CHECK: return %[[M]]
func.func private @exp(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// A function that is no kernel is left alone.
// CHECK: func.func private @other(%{{.*}}: tensor<?xf32>)
func.func private @other(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

relax.func @main(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @exp(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %y : !relax.tensor<ndim = 1, f32>
}
