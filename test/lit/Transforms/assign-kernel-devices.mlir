// RUN: relax-opt %s -relax-assign-kernel-devices | FileCheck %s

// A kernel is on the device of its tensors; of one that is called on two
// devices, each has a copy.
// CHECK: relax.builtin.call_kernel @add(%x)
// CHECK: relax.builtin.call_kernel @add_0(%y)
// CHECK: func.func private @add(
// CHECK-NOT: relax.device
// CHECK: func.func private @add_0
// CHECK-SAME: relax.device = #relax.vdevice<"cuda", 0>
module attributes {relax.global_info = {gpu = #relax.vdevice<"cuda", 0>, host = #relax.vdevice<"llvm", 0>}} {
relax.func @main(%x: !relax.tensor<ndim = 1, f32, @host>, %y: !relax.tensor<ndim = 1, f32, @gpu>, %out: !relax.tensor<ndim = 1, f32, @host>, %other: !relax.tensor<ndim = 1, f32, @gpu>) -> !relax.tensor<ndim = 1, f32, @gpu> {
  relax.builtin.call_kernel @add(%x) outs(%out) : (!relax.tensor<ndim = 1, f32, @host>) -> !relax.tensor<ndim = 1, f32, @host>
  relax.builtin.call_kernel @add(%y) outs(%other) : (!relax.tensor<ndim = 1, f32, @gpu>) -> !relax.tensor<ndim = 1, f32, @gpu>
  relax.return %other : !relax.tensor<ndim = 1, f32, @gpu>
}
func.func private @add(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
}
