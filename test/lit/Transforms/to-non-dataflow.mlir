// RUN: relax-opt %s -relax-to-non-dataflow | FileCheck %s

// Outputs are replaced by the values themselves; the order stays.
// CHECK-LABEL: relax.func impure @two_blocks
// CHECK-NOT: relax.dataflow
// CHECK: %[[A:.*]] = relax.exp %x
// CHECK: %[[U:.*]] = relax.call_packed "use"(%[[A]])
// CHECK: %[[B:.*]] = relax.abs %[[A]]
// CHECK: relax.return %[[B]]
relax.func impure @two_blocks(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %a = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %a : !relax.tensor<[n], f32>
  }
  %u = relax.call_packed "use"(%0) : (!relax.tensor<[n], f32>) -> !relax.object
  %1 = relax.dataflow -> !relax.tensor<[n], f32> {
    %b = relax.abs %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %b : !relax.tensor<[n], f32>
  }
  relax.return %1 : !relax.tensor<[n], f32>
}

// A variable that a cast binds in the block stays bound behind it.
// CHECK-LABEL: relax.func @binds_for_the_rest
// CHECK: relax.match_cast
// CHECK: relax.shape <[m]>
relax.func @binds_for_the_rest(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  relax.dataflow {
    %a = relax.match_cast %x : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
    relax.output
  }
  %s = relax.shape <[m]>
  relax.return %s : !relax.shape<[m]>
}

// What is declared for an output may say less than what the block gives.
// CHECK-LABEL: relax.func @declared
// CHECK: %[[SHAPE:.*]] = relax.match_cast %x : !relax.shape<[n]> -> !relax.object
// CHECK: relax.return %[[SHAPE]] : !relax.object
relax.func @declared(%x: !relax.shape<[n]>) -> !relax.tensor<*> {
  %0 = relax.dataflow -> !relax.object {
    relax.output %x : !relax.shape<[n]>
  }
  relax.return %0 : !relax.object
}
