// RUN: relax-opt %s -relax-fuse-ops -split-input-file -verify-diagnostics

// RF16: the kinds of kernels that are called have to be kinds.
!t = tensor<?xf32>
!x = !relax.tensor<[n], f32>

// expected-error @below {{expected op_pattern to be the number of a kind of kernel, 0 to 4, 7 or 8, but got -1 : i64}}
func.func private @kernel(%x: !t, %o: !t) -> !t attributes {op_pattern = -1 : i64} {
  return %o : !t
}
relax.func @main(%x: !x) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.call_tir @kernel(%x) : (!x) -> !x
    relax.output %1 : !x
  }
  relax.return %0 : !x
}
