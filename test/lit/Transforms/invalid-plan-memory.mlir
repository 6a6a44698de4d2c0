// RUN: relax-opt %s -relax-plan-memory -split-input-file -verify-diagnostics

// RF09: in a dataflow block there is no order in which tensors live.
relax.func @rf09_dataflow(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // expected-error@+1 {{'relax.dataflow' op leaves open when its operations run: run relax-lambda-lift and relax-to-non-dataflow before}}
  %0 = relax.dataflow -> !relax.object {
    %1 = relax.call_pure_packed "f"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
    relax.output %1 : !relax.object
  }
  relax.return %0 : !relax.object
}
