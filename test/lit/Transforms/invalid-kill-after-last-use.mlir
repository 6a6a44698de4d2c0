// RUN: relax-opt %s -relax-kill-after-last-use -split-input-file -verify-diagnostics

relax.func @rf09_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.dataflow' op has no last uses, as it has no order of execution: run relax-to-non-dataflow before}}
  %0 = relax.dataflow -> !relax.object {
    %1 = relax.call_pure_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}
