// RUN: relax-opt %s -relax-pool-constants -split-input-file -verify-diagnostics

relax.func @main() -> !relax.object {
  // expected-error @below {{expected a dense constant}}
  %0 = relax.constant sparse<[[0]], [1.0]> : tensor<2xf32>
  relax.return %0 : !relax.tensor<[2], f32>
}

// -----

relax.func @main() -> !relax.object {
  // expected-error @below {{expected 8 bytes for 'tensor<2xf32>', but the resource holds 4}}
  %0 = relax.constant dense_resource<short> : tensor<2xf32>
  relax.return %0 : !relax.tensor<[2], f32>
}

{-#
  dialect_resources: {
    builtin: {
      short: "0x040000000000803F"
    }
  }
#-}

// -----

module attributes {relax.global_info = {cpu1 = #relax.vdevice<"llvm", 1>}} {
  relax.func @on_a_device() -> !relax.tensor<[2], f32, @cpu1> {
    // expected-error @below {{is on device @cpu1: expected relax-realize-vdevice to copy it there}}
    %0 = relax.constant dense<0.0> : tensor<2xf32> -> !relax.tensor<[2], f32, @cpu1>
    relax.return %0 : !relax.tensor<[2], f32, @cpu1>
  }
}
