// RUN: relax-opt %s -relax-lower-call-tir -split-input-file -verify-diagnostics

// RF09: effects of lowered calls are none of a dataflow block.
relax.func @rf09_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-note@+1 {{the dataflow block begins here}}
  %0 = relax.dataflow -> !relax.object {
    // expected-error@+1 {{'relax.call_pure_packed' op is in a dataflow block: run relax-to-non-dataflow before}}
    %1 = relax.call_pure_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}

// -----

// NF05: a kernel takes tensors one by one.
func.func private @kernel(memref<?xf32>, memref<?xf32>)
relax.func @nf05_tuple(%t: !relax.tuple<!relax.tensor<[n], f32>>) -> !relax.object {
  // expected-error@+1 {{'relax.call_tir' op takes a tuple as argument: run relax-normalize before}}
  %0 = relax.call_tir @kernel(%t) : (!relax.tuple<!relax.tensor<[n], f32>>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[4], f32>
}
