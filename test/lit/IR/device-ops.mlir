// RUN: relax-opt %s | relax-opt | FileCheck %s
// RUN: relax-opt %s -mlir-print-op-generic | relax-opt | FileCheck %s

// GR03, GR19: the devices of a module, by name.
// CHECK: module attributes {relax.global_info = {cpu0 = #relax.vdevice<"llvm", 0>, cuda1 = #relax.vdevice<"cuda", 1, "shared">}}
module attributes {relax.global_info = {
  cpu0 = #relax.vdevice<"llvm", 0>, cuda1 = #relax.vdevice<"cuda", 1, "shared">}} {

// OP08: the result of a move is on the device, whatever the operand is.
// CHECK-LABEL: relax.func @OP08_move
// CHECK: %0 = relax.to_vdevice %x to @cuda1 : !relax.tensor<[n], f32, @cpu0>
// CHECK: relax.return %0 : !relax.tensor<[n], f32, @cuda1>
relax.func @OP08_move(%x: !relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32, @cuda1> {
  %0 = relax.to_vdevice %x to @cuda1 : !relax.tensor<[n], f32, @cpu0>
  relax.return %0 : !relax.tensor<[n], f32, @cuda1>
}

// CHECK-LABEL: relax.func @OP08_tuple
// CHECK: relax.return %0 : !relax.tuple<!relax.tensor<*, @cpu0>, !relax.tuple<!relax.tensor<[n], @cpu0>>>
relax.func @OP08_tuple(%t: !relax.tuple<!relax.tensor<*>, !relax.tuple<!relax.tensor<[n]>>>) -> !relax.object {
  %0 = relax.to_vdevice %t to @cpu0 : !relax.tuple<!relax.tensor<*>, !relax.tuple<!relax.tensor<[n]>>>
  relax.return %0 : !relax.tuple<!relax.tensor<*, @cpu0>, !relax.tuple<!relax.tensor<[n], @cpu0>>>
}

// A hint leaves the device of its result open until the module is looked at.
// CHECK-LABEL: relax.func @OP08_hint
// CHECK: relax.hint_on_device %x on 1 : !relax.tensor<[n], f32, @cpu0>
// CHECK: relax.return %0 : !relax.tensor<[n], f32>
relax.func @OP08_hint(%x: !relax.tensor<[n], f32, @cpu0>) -> !relax.tensor<[n], f32> {
  %0 = relax.hint_on_device %x on 1 : !relax.tensor<[n], f32, @cpu0>
  relax.return %0 : !relax.tensor<[n], f32>
}

// DR11: what an operator computes is where its operands are.
// CHECK-LABEL: relax.func @DR11_operators
relax.func @DR11_operators(%x: !relax.tensor<[n, 4], f32, @cpu0>, %y: !relax.tensor<[4], f32>,
                           %i: !relax.tensor<[2], i64, @cpu0>) -> !relax.object {
  // CHECK: relax.add {{.*}} -> !relax.tensor<[n, 4], f32, @cpu0>
  %0 = relax.add %x, %y : (!relax.tensor<[n, 4], f32, @cpu0>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32, @cpu0>
  // CHECK: relax.sum {{.*}} -> !relax.tensor<[n], f32, @cpu0>
  %1 = relax.sum %0 {axis = array<i64: 1>} : (!relax.tensor<[n, 4], f32, @cpu0>) -> !relax.tensor<[n], f32, @cpu0>
  // CHECK: relax.matmul {{.*}} -> !relax.tensor<[n], f32, @cpu0>
  %2 = relax.matmul %0, %y : (!relax.tensor<[n, 4], f32, @cpu0>, !relax.tensor<[4], f32>) -> !relax.tensor<[n], f32, @cpu0>
  // CHECK: relax.take {{.*}} -> !relax.tensor<[2], f32, @cpu0>
  %3 = relax.take %y, %i : (!relax.tensor<[4], f32>, !relax.tensor<[2], i64, @cpu0>) -> !relax.tensor<[2], f32, @cpu0>
  relax.return %3 : !relax.tensor<[2], f32, @cpu0>
}

// GR04: a device that is not decided yet may become the one that is declared.
// CHECK-LABEL: relax.func @GR04_open
relax.func @GR04_open(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32, @cpu0> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32, @cpu0>
  relax.return %x : !relax.tensor<[n], f32>
}

}
