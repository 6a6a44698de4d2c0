// RUN: relax-opt %s -relax-dead-code-elimination | FileCheck %s

relax.func private @pure(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.object

// SE06: in a dataflow block all that nobody uses goes, though it might fail: an
// operator, a cast, a call of a pure function, the lookup of a name.
// CHECK-LABEL: relax.func @SE06_dataflow
// CHECK: relax.dataflow -> !relax.tensor<[n], f32> {
// CHECK-NEXT: relax.negative
// CHECK-NEXT: relax.output
// CHECK-NEXT: }
// CHECK-NEXT: relax.return
relax.func @SE06_dataflow(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<ndim = 1, f32>
    %2 = relax.match_cast %y : !relax.tensor<[m], f32> -> !relax.tensor<[n], f32>
    %3 = relax.call @pure(%x, %2) : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.object
    %4 = relax.extern_func "missing"
    %5 = relax.call_pure_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
    %6 = relax.negative %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %6 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// SE05: outside of one errors stay, and so do effects, as many as they are.
// CHECK-LABEL: relax.func impure @SE05_no_dataflow
// CHECK-NEXT: relax.add
// CHECK-NEXT: relax.match_cast
// CHECK-NEXT: relax.call @pure
// CHECK-NEXT: relax.extern_func
// CHECK-NEXT: relax.call_packed "f"
// CHECK-NEXT: relax.call_packed "f"
// CHECK-NEXT: relax.return
relax.func @SE05_no_dataflow(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[m], f32>) -> !relax.tensor<[n], f32> attributes {is_pure = false} {
  %1 = relax.add %x, %y : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<ndim = 1, f32>
  %2 = relax.match_cast %y : !relax.tensor<[m], f32> -> !relax.tensor<[n], f32>
  %3 = relax.call @pure(%x, %y) : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.object
  %4 = relax.extern_func "missing"
  %5 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %6 = relax.call_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %x : !relax.tensor<[n], f32>
}

// SE05, OP05: what can neither fail nor be seen goes everywhere, and with it what
// it was made of.
// CHECK-LABEL: relax.func @SE05_pure
// CHECK-NEXT: relax.return
relax.func @SE05_pure(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.constant dense<1.0> : tensor<2xf32>
  %1 = relax.tuple %0, %x : !relax.tensor<[2], f32>, !relax.tensor<[n], f32>
  %2 = relax.get_item %1[0] : !relax.tuple<!relax.tensor<[2], f32>, !relax.tensor<[n], f32>>
  %3 = relax.call_pure_packed "f"(%2) : (!relax.tensor<[2], f32>) -> !relax.object
  relax.return %x : !relax.tensor<[n], f32>
}

// SE06: a cast stays while it binds a variable that something names.
// CHECK-LABEL: relax.func @SE06_binding
// CHECK: relax.match_cast %y {{.*}} -> !relax.tensor<[m], f32>
// CHECK-NOT: relax.match_cast
// CHECK: relax.shape <[m]>
relax.func @SE06_binding(%y: !relax.tensor<ndim = 1, f32>, %z: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    %1 = relax.match_cast %y : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
    %2 = relax.match_cast %z : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[k], f32>
    %3 = relax.shape <[k]>
    %4 = relax.match_cast %z : !relax.tensor<ndim = 1, f32> -> !relax.tensor<[m], f32>
    %5 = relax.shape <[m]>
    relax.output %5 : !relax.shape<[m]>
  }
  relax.return %0 : !relax.object
}

// SE06: what nobody uses behind a block does not leave it.
// CHECK-LABEL: relax.func @SE06_outputs
// CHECK: relax.dataflow -> !relax.tensor<[n], f32> {
// CHECK-NEXT: relax.abs
// CHECK-NEXT: relax.output
// CHECK: relax.return
relax.func @SE06_outputs(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0:2 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<[n], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.abs %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %1, %2 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  }
  relax.return %0#1 : !relax.tensor<[n], f32>
}

// SE06: a whole block.
// CHECK-LABEL: relax.func @SE06_block
// CHECK-NEXT: relax.return
relax.func @SE06_block(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %1 : !relax.tensor<[n], f32>
  }
  relax.return %x : !relax.tensor<[n], f32>
}

// OP06: an update that only this function could see goes; one that others see stays.
// CHECK-LABEL: relax.func @OP06_own
// CHECK-NOT: relax.call_inplace_packed
// CHECK: relax.return
relax.func @OP06_own(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.call_inplace_packed "f"(%1) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.object
    relax.output %x : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}
// CHECK-LABEL: relax.func impure @OP06_seen
// CHECK: relax.call_inplace_packed
relax.func @OP06_seen(%x: !relax.tensor<[n], f32>, %y: !relax.object) -> !relax.object attributes {is_pure = false} {
  %2 = relax.dataflow -> !relax.shape<[n]> {
    %s = relax.shape <[n]>
    %0 = relax.call_inplace_packed "f"(%x) inplace [0] : (!relax.tensor<[n], f32>) -> !relax.object
    relax.output %s : !relax.shape<[n]>
  }
  relax.return %2 : !relax.shape<[n]>
}
