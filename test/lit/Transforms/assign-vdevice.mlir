// RUN: relax-opt %s -relax-assign-vdevice="device=cuda arch=sm_90" -relax-realize-vdevice -split-input-file | FileCheck %s
// RUN: relax-opt %s -relax-assign-vdevice -split-input-file | FileCheck %s --check-prefix=HOST

// All tensors are on the device; constants are moved to it.
// CHECK: relax.global_info = {device = #relax.vdevice<"cuda -arch=sm_90", 0>}
// CHECK-LABEL: relax.func @main
// CHECK-SAME: (%x: !relax.tensor<[n], f32, @device>) -> !relax.tensor<[n], f32, @device>
// CHECK: %[[C:.*]] = relax.constant
// CHECK: %[[MOVED:.*]] = relax.to_vdevice %[[C]] to @device
// CHECK: relax.add %x, %[[MOVED]]
// CHECK-SAME: -> !relax.tensor<[n], f32, @device>
// HOST-NOT: relax.global_info
// HOST-NOT: to_vdevice
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %c = relax.constant dense<1.0> : tensor<1xf32>
  %0 = relax.add %x, %c : (!relax.tensor<[n], f32>, !relax.tensor<[1], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Of a program without functions of Relax, the module lists the device.
// CHECK: module attributes {relax.global_info = {device = #relax.vdevice<"cuda -arch=sm_90", 0>}}
// CHECK: func.func private @kernel
// HOST: func.func private @kernel
func.func private @kernel(memref<?xf32>)
