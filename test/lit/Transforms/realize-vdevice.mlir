// RUN: relax-opt %s -relax-realize-vdevice -split-input-file | FileCheck %s
// RUN: relax-opt %s -relax-realize-vdevice -relax-realize-vdevice -split-input-file | FileCheck %s

// DR16, rules 1 and 2: from the result of the function to its value, from the
// result of an operator to its operands, to the parameters.
module attributes {relax.global_info = {cpu0 = #relax.vdevice<"llvm", 0>, cpu1 = #relax.vdevice<"llvm", 1>}} {
// CHECK-LABEL: relax.func @DR16_backward
// CHECK-SAME: %x: !relax.tensor<[n], f32, @cpu1>, %y: !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.exp %x {{.*}} -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.add %0, %y {{.*}} -> !relax.tensor<[n], f32, @cpu1>
relax.func @DR16_backward(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32, @cpu1> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.add %0, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}

// Forward: what derives from a value on a device, through fields of a tuple.
// CHECK-LABEL: relax.func @DR16_forward
// CHECK-SAME: -> !relax.tensor<[n], f32, @cpu0>
// CHECK: relax.split {{.*}} -> !relax.tuple<!relax.tensor<[n], f32, @cpu0>, !relax.tensor<[n], f32, @cpu0>>
// CHECK: relax.get_item {{.*}}@cpu0
// CHECK: relax.tuple %1, %x : !relax.tensor<[n], f32, @cpu0>, !relax.tensor<[n * 2], f32, @cpu0>
// CHECK: relax.return %3 : !relax.tensor<[n], f32, @cpu0>
relax.func @DR16_forward(%x: !relax.tensor<[n * 2], f32, @cpu0>, %n: !relax.prim<i64, n>) -> !relax.tensor<[n], f32> {
  %0 = relax.split %x {sections = 2 : i64, axis = 0 : i64} : (!relax.tensor<[n * 2], f32, @cpu0>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  %1 = relax.get_item %0[0] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  %2 = relax.tuple %1, %x : !relax.tensor<[n], f32>, !relax.tensor<[n * 2], f32, @cpu0>
  %3 = relax.get_item %2[0] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n * 2], f32, @cpu0>>
  relax.return %3 : !relax.tensor<[n], f32>
}

// Rule 3: through blocks and branches, and the value of a sequence.
// CHECK-LABEL: relax.func @DR16_blocks
// CHECK: relax.dataflow -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.output {{.*}}@cpu1
// CHECK: relax.if {{.*}} -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.yield {{.*}}@cpu1
// CHECK: relax.yield {{.*}}@cpu1
// CHECK: relax.seq -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.yield {{.*}}@cpu1
relax.func @DR16_blocks(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32, @cpu1> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %a : !relax.tensor<[n], f32>
  }
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    relax.yield %0 : !relax.tensor<[n], f32>
  } else {
    relax.yield %y : !relax.tensor<[n], f32>
  }
  %2 = relax.seq -> !relax.tensor<[n], f32> {
    relax.yield %1 : !relax.tensor<[n], f32>
  }
  relax.return %2 : !relax.tensor<[n], f32>
}

// DR06: branches on two devices are fine where nobody asks for one.
// CHECK-LABEL: relax.func @DR16_branches
// CHECK: relax.if {{.*}} -> !relax.tensor<[n], f32> {
relax.func @DR16_branches(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32, @cpu0>, %y: !relax.tensor<[n], f32, @cpu1>) -> !relax.tensor<[n], f32> {
  %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    relax.yield %x : !relax.tensor<[n], f32, @cpu0>
  } else {
    relax.yield %y : !relax.tensor<[n], f32, @cpu1>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// Rule 3.2: a cast and its value are on one device.
// CHECK-LABEL: relax.func @DR16_cast
// CHECK-SAME: %x: !relax.tensor<ndim = 1, f32, @cpu1>
// CHECK: relax.match_cast %x : !relax.tensor<ndim = 1, f32, @cpu1> -> !relax.tensor<[k], f32, @cpu1>
// CHECK: relax.shape_of
relax.func @DR16_cast(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32, @cpu1>
  %1 = relax.shape_of %x : !relax.tensor<ndim = 1, f32>
  relax.return %0 : !relax.tensor<[k], f32, @cpu1>
}

// Rule 2: calls of functions, in both directions; of kernels and of packed
// functions.
// CHECK-LABEL: relax.func private @callee
// CHECK-SAME: -> !relax.tensor<[n], f32, @cpu1>
relax.func private @callee(%x: !relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32> {
  %0 = relax.to_vdevice %x to @cpu1 : !relax.tensor<[n], f32, @cpu0>
  relax.return %0 : !relax.tensor<[n], f32, @cpu1>
}
func.func private @kernel(%x: memref<?xf32>, %y: memref<?xf32>) {
  return
}
// CHECK-LABEL: relax.func impure @DR16_calls
// CHECK-SAME: %x: !relax.tensor<[n], f32, @cpu0>
// CHECK: relax.call @callee(%x) : (!relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.call_tir @kernel({{.*}}@cpu1>) -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.call_packed "f"({{.*}}@cpu1>) -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.global_var @callee : {{.*}} -> !relax.tensor<[n], f32, @cpu1>
// CHECK: relax.call %{{.*}}(%x) : (!relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32, @cpu1>
relax.func @DR16_calls(%x: !relax.tensor<[n], f32>) -> !relax.object attributes {is_pure = false} {
  %0 = relax.call @callee(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_tir @kernel(%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.call_packed "f"(%1) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32, @cpu1>
  %f = relax.global_var @callee : !relax.func<(!relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32>, pure>
  %3 = relax.call %f : !relax.func<(!relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32>, pure> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %3 : !relax.tensor<[n], f32>
}

// update_struct_info of a function: its result.
// CHECK-LABEL: relax.func @DR16_closure
// CHECK: relax.closure (%a: !relax.tensor<[2], f32, @cpu1>) -> !relax.tensor<[2], f32, @cpu1>
// CHECK: relax.exp %a {{.*}} -> !relax.tensor<[2], f32, @cpu1>
// CHECK: relax.call %{{.*}}(%x) : (!relax.tensor<[2], f32, @cpu1>) -> !relax.tensor<[2], f32, @cpu1>
relax.func @DR16_closure(%x: !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32, @cpu1> {
  %f = relax.closure (%a: !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32> {
    %0 = relax.exp %a : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
    relax.return %0 : !relax.tensor<[2], f32>
  }
  %1 = relax.call %f : !relax.func<(!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>, pure> (%x) : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
  relax.return %1 : !relax.tensor<[2], f32>
}

// A constant has no device of its own; each use on a device gets a moved one.
// CHECK-LABEL: relax.func @DR02_constant
// CHECK: %[[C:.*]] = relax.constant
// CHECK: %[[C1:.*]] = relax.to_vdevice %[[C]] to @cpu1 : !relax.tensor<[2], f32>
// CHECK-NOT: to_vdevice
// CHECK: relax.add %x, %[[C1]]
// CHECK: relax.multiply {{.*}}, %[[C1]]
relax.func @DR02_constant(%x: !relax.tensor<[2], f32, @cpu1>) -> !relax.object {
  %c = relax.constant dense<1.0> : tensor<2xf32>
  %0 = relax.add %x, %c : (!relax.tensor<[2], f32, @cpu1>, !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
  %1 = relax.multiply %0, %c : (!relax.tensor<[2], f32>, !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
  relax.return %1 : !relax.tensor<[2], f32>
}

// So does a number that becomes a tensor.
// CHECK-LABEL: relax.func @number
// CHECK: %[[N:.*]] = relax.call_pure_packed "relax_mlir.run.scalar_tensor"({{.*}}) : ({{.*}}) -> !relax.tensor<[], f32>
// CHECK-NEXT: %[[M:.*]] = relax.to_vdevice %[[N]] to @cpu1 : !relax.tensor<[], f32>
// CHECK: relax.add %x, %[[M]]
relax.func @number(%x: !relax.tensor<[2], f32, @cpu1>, %n: !relax.prim<f32>) -> !relax.object {
  %dtype = relax.dtype f32
  %0 = relax.call_pure_packed "relax_mlir.run.scalar_tensor"(%n, %dtype) : (!relax.prim<f32>, !relax.object) -> !relax.tensor<[], f32>
  %1 = relax.add %x, %0 : (!relax.tensor<[2], f32, @cpu1>, !relax.tensor<[], f32>) -> !relax.tensor<[2], f32>
  relax.return %1 : !relax.tensor<[2], f32>
}

// A constant that is declared to be on a device is moved there.
// CHECK-LABEL: relax.func @DR02_declared
// CHECK: %[[C:.*]] = relax.constant
// CHECK-NEXT: %[[M:.*]] = relax.to_vdevice %[[C]] to @cpu1 : !relax.tensor<[2], f32>
// CHECK-NEXT: relax.return %[[M]] : !relax.tensor<[2], f32, @cpu1>
relax.func @DR02_declared() -> !relax.object {
  %0 = "relax.constant"() <{value = dense<1.0> : tensor<2xf32>}> : () -> !relax.tensor<[2], f32, @cpu1>
  relax.return %0 : !relax.tensor<[2], f32, @cpu1>
}

// An operator without tensors is where its result is needed.
// CHECK-LABEL: relax.func @DR16_create
// CHECK: relax.zeros {{.*}} -> !relax.tensor<[n], f32, @cpu1>
relax.func @DR16_create(%x: !relax.tensor<[n], f32, @cpu1>) -> !relax.object {
  %s = relax.shape <[n]>
  %0 = relax.zeros %s {dtype = f32} : (!relax.shape<[n]>) -> !relax.tensor<[n], f32>
  %1 = relax.add %x, %0 : (!relax.tensor<[n], f32, @cpu1>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}

// OP08: a hint on data of no or another device is a move, any other goes.
// CHECK-LABEL: relax.func @OP08_hints
// CHECK-NEXT: %[[A:.*]] = relax.to_vdevice %open to @cpu1 : !relax.tensor<[n], f32>
// CHECK-NEXT: %[[B:.*]] = relax.to_vdevice %other to @cpu1 : !relax.tensor<[n], f32, @cpu0>
// CHECK-NEXT: %[[T:.*]] = relax.tuple %there, %there
// CHECK-NEXT: relax.tuple %[[A]], %[[B]], %there, %[[T]]
relax.func @OP08_hints(%open: !relax.tensor<[n], f32>, %other: !relax.tensor<[n], f32, @cpu0>, %there: !relax.tensor<[n], f32, @cpu1>) -> !relax.object {
  %0 = relax.hint_on_device %open on 1 : !relax.tensor<[n], f32>
  %1 = relax.hint_on_device %other on 1 : !relax.tensor<[n], f32, @cpu0>
  %2 = relax.hint_on_device %there on 1 : !relax.tensor<[n], f32, @cpu1>
  %t = relax.tuple %there, %there : !relax.tensor<[n], f32, @cpu1>, !relax.tensor<[n], f32, @cpu1>
  %3 = relax.hint_on_device %t on 1 : !relax.tuple<!relax.tensor<[n], f32, @cpu1>, !relax.tensor<[n], f32, @cpu1>>
  %4 = relax.tuple %0, %1, %2, %3 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>
  relax.return %4 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>, !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>>
}
}

// -----

// Without devices nothing is decided.
// CHECK-LABEL: relax.func @none
// CHECK: relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
relax.func @none(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
