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

// OP02: parameters that are updated, in the order of the results; one that is
// returned in place of another one is copied first.
// CHECK: func.func private @relax.kernel.swap(%[[A:.*]]: tensor<?xf32> {bufferization.writable = true}, %[[B:.*]]: tensor<?xf32> {bufferization.writable = true}, %{{.*}}: tensor<?xf32> {bufferization.writable = false})
// CHECK: %[[B1:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK: %[[A1:.*]] = bufferization.alloc_tensor() copy(%[[A]])
// CHECK: %[[R0:.*]] = bufferization.materialize_in_destination %[[B1]] in %[[A]]
// CHECK: %[[R1:.*]] = bufferization.materialize_in_destination %[[A1]] in %[[B]]
// CHECK: return %[[R0]], %[[R1]]
func.func private @swap(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  return %b, %a : tensor<?xf32>, tensor<?xf32>
}

relax.func @OP02_swap(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<ndim = 1, f32>, %z: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @swap(%x, %y, %z) outs() inplace [0, 1] : (!relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>) -> ()
  relax.return %x : !relax.tensor<ndim = 1, f32>
}

// A loop that writes elements works in place, unless the output is used in another way.
// CHECK: func.func private @relax.kernel.rows(
// CHECK: %[[R:.*]] = scf.for
// CHECK-NOT: bufferization.materialize_in_destination
// CHECK: return %[[R]]
func.func private @rows(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%to = %y) -> (tensor<?xf32>) {
    %a = tensor.extract %x[%i] : tensor<?xf32>
    %b = tensor.insert %a into %to[%i] : tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// CHECK: func.func private @relax.kernel.reversed(%{{.*}}, %[[Y:[a-z0-9]*]]: tensor<?xf32>
// CHECK: %[[R:.*]] = scf.for
// CHECK: %[[M:.*]] = bufferization.materialize_in_destination %[[R]] in %[[Y]]
// CHECK: return %[[M]]
func.func private @reversed(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%to = %y) -> (tensor<?xf32>) {
    %a = tensor.extract %y[%i] : tensor<?xf32>
    %at = arith.subi %n, %i : index
    %b = tensor.insert %a into %to[%at] : tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

// So does one that writes to a copy on some path, and reads an element before.
// CHECK: func.func private @relax.kernel.scattered(
// CHECK: linalg.copy
// CHECK: %[[R:.*]] = scf.for
// CHECK-NOT: bufferization.materialize_in_destination
// CHECK: return %[[R]]
func.func private @scattered(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %copy = linalg.copy ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) -> tensor<?xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%to = %copy) -> (tensor<?xf32>) {
    %isFirst = arith.cmpi eq, %i, %c0 : index
    %1 = scf.if %isFirst -> (tensor<?xf32>) {
      %a = tensor.extract %to[%i] : tensor<?xf32>
      %b = arith.addf %a, %a : f32
      %c = tensor.insert %b into %to[%i] : tensor<?xf32>
      scf.yield %c : tensor<?xf32>
    } else {
      scf.yield %to : tensor<?xf32>
    }
    scf.yield %1 : tensor<?xf32>
  }
  return %0 : tensor<?xf32>
}

relax.func @main(%x: !relax.tensor<ndim = 1, f32>, %y: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.builtin.call_kernel @exp(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @scattered(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @rows(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @reversed(%x) outs(%y) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %y : !relax.tensor<ndim = 1, f32>
}
