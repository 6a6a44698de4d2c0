// RUN: relax-opt %s -relax-normalize | FileCheck %s
// RUN: relax-opt %s -relax-normalize > %t.once
// RUN: relax-opt %t.once -relax-normalize > %t.twice
// RUN: diff %t.once %t.twice

// NF02: a sequence goes into the block around it, the innermost first, in order (NF04).
// CHECK-LABEL: relax.func impure @nf02_nf04_flatten
// CHECK-NEXT: %[[A:.*]] = relax.call_packed "a"(%x)
// CHECK-NEXT: %[[B:.*]] = relax.call_packed "b"(%[[A]])
// CHECK-NEXT: %[[C:.*]] = relax.call_packed "c"(%[[B]])
// CHECK-NEXT: %[[D:.*]] = relax.call_packed "d"(%[[B]])
// CHECK-NEXT: relax.return %[[D]]
relax.func impure @nf02_nf04_flatten(%x: !relax.object) -> !relax.object {
  %0 = relax.seq -> !relax.object {
    %1 = relax.call_packed "a"(%x) : (!relax.object) -> !relax.object
    %2 = relax.seq -> !relax.object {
      %3 = relax.call_packed "b"(%1) : (!relax.object) -> !relax.object
      relax.yield %3 : !relax.object
    }
    %4 = relax.call_packed "c"(%2) : (!relax.object) -> !relax.object
    relax.yield %2 : !relax.object
  }
  %5 = relax.call_packed "d"(%0) : (!relax.object) -> !relax.object
  relax.return %5 : !relax.object
}

// The declared type stays, where it says less than the value.
// CHECK-LABEL: relax.func @nf02_declared_type
// CHECK: %[[E:.*]] = relax.exp %x
// CHECK-NEXT: %[[F:.*]] = relax.match_cast %[[E]] : !relax.tensor<[n], f32> -> !relax.tensor<ndim = 1, f32>
// CHECK-NEXT: relax.return %[[F]] : !relax.tensor<ndim = 1, f32>
relax.func @nf02_declared_type(%x: !relax.tensor<[n], f32>) -> !relax.tensor<ndim = 1, f32> {
  %0 = relax.seq -> !relax.tensor<ndim = 1, f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %1 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<ndim = 1, f32>
}

// In branches and closures, too.
// CHECK-LABEL: relax.func @nf02_regions
// CHECK: relax.closure
// CHECK-NOT: relax.seq
// CHECK: relax.if
// CHECK-NOT: relax.seq
// CHECK: relax.return
relax.func @nf02_regions(%c: !relax.tensor<[], i1>, %x: !relax.object) -> !relax.object {
  %f = relax.closure (%y: !relax.object) -> !relax.object {
    %0 = relax.seq -> !relax.object {
      relax.yield %y : !relax.object
    }
    relax.return %0 : !relax.object
  }
  %1 = relax.if %c : !relax.tensor<[], i1> -> !relax.object {
    %2 = relax.seq -> !relax.object {
      relax.yield %x : !relax.object
    }
    relax.yield %2 : !relax.object
  } else {
    relax.yield %f : !relax.func<(!relax.object) -> !relax.object, pure>
  }
  relax.return %1 : !relax.object
}

// SC03: `k` of the sequence and the `k` behind it are two variables; `l` is one of its own.
// CHECK-LABEL: relax.func @sc03_two_variables
// CHECK: relax.match_cast %x : !relax.object -> !relax.tensor<[k_2, l], f32>
// CHECK: relax.shape <[k_2 + n, l]>
// CHECK: relax.match_cast %{{.*}} : !relax.shape<[k_2 + n, l]> -> !relax.shape<ndim = 2>
// CHECK: relax.match_cast %y : !relax.object -> !relax.tensor<[k, k_1], f32>
relax.func @sc03_two_variables(%x: !relax.object, %y: !relax.object, %z: !relax.shape<[n]>) -> !relax.object {
  %0 = relax.seq -> !relax.shape<ndim = 2> {
    %1 = relax.match_cast %x : !relax.object -> !relax.tensor<[k, l], f32>
    %2 = relax.shape <[k + n, l]>
    relax.yield %2 : !relax.shape<[k + n, l]>
  }
  %3 = relax.match_cast %y : !relax.object -> !relax.tensor<[k, k_1], f32>
  relax.return %0 : !relax.shape<ndim = 2>
}

// The same at the end of a dataflow block, whose scope goes on behind it.
// CHECK-LABEL: relax.func @sc03_behind_the_dataflow_block
// CHECK: relax.match_cast %x : !relax.object -> !relax.shape<[k_1]>
// CHECK: relax.match_cast %x : !relax.object -> !relax.shape<[k]>
relax.func @sc03_behind_the_dataflow_block(%x: !relax.object) -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    %1 = relax.seq -> !relax.object {
      %2 = relax.dataflow -> !relax.object {
        %3 = relax.match_cast %x : !relax.object -> !relax.shape<[k]>
        relax.output %3 : !relax.shape<[k]>
      }
      relax.yield %2 : !relax.object
    }
    relax.output %1 : !relax.object
  }
  %4 = relax.null_value
  %5 = relax.match_cast %x : !relax.object -> !relax.shape<[k]>
  relax.return %0 : !relax.object
}

// NF02: dataflow blocks of a sequence in a dataflow block become part of it.
// CHECK-LABEL: relax.func @nf02_in_dataflow
// CHECK-NEXT: %[[O:.*]] = relax.dataflow -> !relax.tensor<[n], f32> {
// CHECK-NEXT:   %[[P:.*]] = relax.exp %x
// CHECK-NEXT:   %[[Q:.*]] = relax.sqrt %[[P]]
// CHECK-NEXT:   relax.output %[[Q]]
// CHECK-NEXT: }
// CHECK-NEXT: relax.return %[[O]]
relax.func @nf02_in_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.seq -> !relax.tensor<[n], f32> {
      %2 = relax.dataflow -> !relax.tensor<[n], f32> {
        %3 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.output %3 : !relax.tensor<[n], f32>
      }
      %4 = relax.dataflow -> !relax.tensor<[n], f32> {
        %5 = relax.sqrt %2 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.output %5 : !relax.tensor<[n], f32>
      }
      relax.yield %4 : !relax.tensor<[n], f32>
    }
    relax.output %1 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// NF03: blocks side by side become one, empty ones go. What only the second uses does not leave
// the block any more; attributes of both stay.
// CHECK-LABEL: relax.func @nf03_merge
// CHECK-NEXT: %[[R:.*]]:2 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32> attributes {relax.first, relax.last} {
// CHECK-NEXT:   %[[S:.*]] = relax.exp %x
// CHECK-NEXT:   %[[T:.*]] = relax.match_cast %[[S]] : !relax.tensor<[n], f32> -> !relax.tensor<ndim = 1, f32>
// CHECK-NEXT:   %[[U:.*]] = relax.sqrt %[[T]]
// CHECK-NEXT:   relax.output %x, %[[U]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[V:.*]] = relax.tuple %[[R]]#0, %[[R]]#1
// CHECK-NEXT: relax.return %[[V]]
relax.func @nf03_merge(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0:2 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32> attributes {relax.first} {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %x, %1 : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  }
  relax.dataflow {
    relax.output
  }
  %2 = relax.dataflow -> !relax.tensor<ndim = 1, f32> attributes {relax.last} {
    %3 = relax.sqrt %0#1 : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
    relax.output %3 : !relax.tensor<ndim = 1, f32>
  }
  %4 = relax.tuple %0#0, %2 : !relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>
  relax.return %4 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<ndim = 1, f32>>
}

// NF03: three in a row are one.
// CHECK-LABEL: relax.func @nf03_three
// CHECK-COUNT-1: relax.dataflow
// CHECK-NOT: relax.dataflow
// CHECK: relax.return
relax.func @nf03_three(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %1 : !relax.tensor<[n], f32>
  }
  %2 = relax.dataflow -> !relax.tensor<[n], f32> {
    %3 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %3 : !relax.tensor<[n], f32>
  }
  %4 = relax.dataflow -> !relax.tensor<[n], f32> {
    %5 = relax.exp %2 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %5 : !relax.tensor<[n], f32>
  }
  relax.return %4 : !relax.tensor<[n], f32>
}

// NF03: blocks stay apart where a closure in the second captures what the first computes.
// CHECK-LABEL: relax.func @nf03_captured
// CHECK-COUNT-2: relax.dataflow
relax.func @nf03_captured(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %1 : !relax.tensor<[n], f32>
  }
  %2 = relax.dataflow -> !relax.func<() -> !relax.tensor<[n], f32>, pure> {
    %3 = relax.closure () -> !relax.tensor<[n], f32> {
      relax.return %0 : !relax.tensor<[n], f32>
    }
    relax.output %3 : !relax.func<() -> !relax.tensor<[n], f32>, pure>
  }
  relax.return %2 : !relax.func<() -> !relax.tensor<[n], f32>, pure>
}

// NF03: an empty block forwards what it outputs.
// CHECK-LABEL: relax.func @nf03_forward
// CHECK-NEXT: relax.return %x : !relax.object
relax.func @nf03_forward(%x: !relax.object) -> !relax.object {
  %0 = relax.dataflow -> !relax.object {
    relax.output %x : !relax.object
  }
  relax.return %0 : !relax.object
}

// NF03: an ordinary binding keeps two dataflow blocks apart, and stays outside of them.
// CHECK-LABEL: relax.func impure @nf03_two_kinds
// CHECK: relax.dataflow
// CHECK: }
// CHECK-NEXT: relax.call_packed
// CHECK-NEXT: relax.dataflow
relax.func impure @nf03_two_kinds(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %1 : !relax.tensor<[n], f32>
  }
  %2 = relax.call_packed "use"(%0) : (!relax.tensor<[n], f32>) -> !relax.object
  %3 = relax.dataflow -> !relax.tensor<[n], f32> {
    %4 = relax.exp %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %4 : !relax.tensor<[n], f32>
  }
  relax.return %3 : !relax.tensor<[n], f32>
}

func.func private @kernel(tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)

// NF05: a kernel takes the fields of a tuple, each by itself.
// CHECK-LABEL: relax.func @nf05_variable
// CHECK-NEXT: %[[G0:.*]] = relax.get_item %t[0]
// CHECK-NEXT: %[[G1:.*]] = relax.get_item %t[1]
// CHECK-NEXT: relax.call_tir @kernel(%[[G0]], %[[G1]])
relax.func @nf05_variable(%t: !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.object {
  %0 = relax.call_tir @kernel(%t) : (!relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// NF05: those of a literal are there already.
// CHECK-LABEL: relax.func @nf05_literal
// CHECK-NOT: relax.get_item
// CHECK: relax.call_tir @kernel(%x, %x)
// CHECK: relax.call_dps_packed "f"(%x, %x)
relax.func @nf05_literal(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.tuple %x, %x : !relax.tensor<[n], f32>, !relax.tensor<[n], f32>
  %1 = relax.call_tir @kernel(%0) : (!relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32>
  %2 = relax.call_dps_packed "f"(%0) : (!relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}
