// RUN: relax-opt %s -relax-check-well-formed | FileCheck %s

// What the criteria allow, next to what invalid-*.mlir shows them to refuse.

module attributes {relax.global_info = {cpu1 = #relax.vdevice<"llvm", 1>}} {
  // WF01: a value of a dataflow block is used in it, and leaves it as an output.
  // CHECK-LABEL: relax.func @wf01_dataflow_value
  relax.func @wf01_dataflow_value(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    %0 = relax.dataflow -> !relax.tensor<[n], f32> {
      %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %2 = relax.negative %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.output %2 : !relax.tensor<[n], f32>
    }
    relax.return %0 : !relax.tensor<[n], f32>
  }

  // WF09: an operator is called; what is passed as a value is a function.
  // CHECK-LABEL: relax.func @wf09_function_value
  // CHECK: relax.global_var @wf01_dataflow_value
  relax.func @wf09_function_value() -> !relax.object {
    %f = relax.global_var @wf01_dataflow_value : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
    relax.return %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
  }

  // WF10: as many dimensions as the rank says; WF19, WF22: an integer for a value.
  // CHECK-LABEL: relax.func @wf10_wf19_wf22_types
  // CHECK-SAME: !relax.tensor<[n, m], f32>
  // CHECK-SAME: !relax.prim<i64, n>
  // CHECK-SAME: !relax.prim<ui8>
  relax.func @wf10_wf19_wf22_types(%x: !relax.tensor<[n, m], f32>, %n: !relax.prim<i64, n>, %k: !relax.prim<ui8>) -> !relax.prim<i64, n> {
    relax.return %n : !relax.prim<i64, n>
  }

  // WF24: the device is listed.
  // CHECK-LABEL: relax.func @wf24_listed_device
  relax.func @wf24_listed_device(%x: !relax.tensor<[n], f32, @cpu1>) -> !relax.tensor<[n], f32, @cpu1> {
    relax.return %x : !relax.tensor<[n], f32, @cpu1>
  }
}
