// RUN: relax-opt %s -relax-lower-shapes -convert-relax-to-llvm -split-input-file -verify-diagnostics

// VM11: the devices of a target that is not this processor.
module attributes {relax.global_info = {gpu = #relax.vdevice<"vulkan -arch=x", 0>}} {
relax.func @VM11_move(%x: !relax.tensor<*>) -> !relax.object {
  // expected-error @+1 {{needs virtual device #relax.vdevice<"vulkan -arch=x", 0>, but there is no code for 'vulkan -arch=x', only for 'llvm', 'c', 'cpu', 'cuda' and 'opencl'}}
  %0 = relax.to_vdevice %x to @gpu : !relax.tensor<*>
  relax.return %0 : !relax.tensor<*, @gpu>
}
}

// -----

module attributes {relax.global_info = {gpu = #relax.vdevice<"{\"kind\": \"vulkan\"}", 0>}} {
// expected-error @+1 {{there is no code for '{"kind": "vulkan"}'}}
relax.func @VM11_argument(%x: !relax.tensor<*, @gpu>) -> !relax.object {
  relax.return %x : !relax.tensor<*, @gpu>
}
}
