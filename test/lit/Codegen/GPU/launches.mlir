// RUN: relax-opt %s -relax-gather-device-kernels | FileCheck %s --check-prefix=GATHER
// RUN: relax-opt %s -gpu-kernel-outlining -relax-gather-device-kernels | FileCheck %s --check-prefix=OUTLINED
// RUN: relax-opt %s -relax-phase-outline -relax-phase-llvm | FileCheck %s
// RUN: relax-opt %s -relax-phase-outline -relax-phase-llvm | FileCheck %s --check-prefix=PTX
// RUN: relax-opt %s -relax-phase-outline -relax-phase-llvm | FileCheck %s --check-prefix=KINDS

// One module for the kernels of a target, with names that PTX can have.
// GATHER: gpu.launch_func @relax_device_sm_90::@relax_f_1
// GATHER: gpu.launch_func @relax_device_sm_90::@relax_g
// GATHER: gpu.module @relax_device_sm_90 [#nvvm.target<O = 3, chip = "sm_90">]
// GATHER: gpu.func @relax_f_1
// A bound of registers is one of the kernel.
// GATHER-SAME: nvvm.minctasm = 2 : i32
// GATHER: gpu.func @relax_g
// GATHER-NOT: nvvm.minctasm

// What is outlined already has none.
// OUTLINED: gpu.func @relax_f_1
// OUTLINED-NOT: nvvm.minctasm

// Which parameters are addresses: of a memref, the first two.
// KINDS: llvm.mlir.global internal constant @relax.string{{.*}}"ppvvv\00"

// The PTX is a constant; a launch has the sizes and parameters in memory, and
// may fail.
// PTX: llvm.mlir.global internal constant @relax.string{{.*}}.target sm_90{{.*}}.entry relax_f_1{{.*}}.maxntid 32, 1, 1\0A.minnctapersm 2
// CHECK-LABEL: llvm.func @relax.kernel.f.1
// CHECK-SAME: -> i32
// CHECK: %[[STATUS:.*]] = llvm.call @relax_device_launch
// CHECK: %[[FAILED:.*]] = llvm.icmp "ne" %[[STATUS]]
// CHECK: llvm.cond_br %[[FAILED]]
func.func private @relax.kernel.f.1(%x: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda -arch=sm_90", 0>} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    memref.store %one, %x[%tx] : memref<?xf32>
    gpu.terminator
  } {relax.resident_blocks = 2 : i32}
  return
}

// Scratch memory is that of the device.
// CHECK-LABEL: llvm.func @relax.kernel.g
// CHECK: llvm.call @relax_device_scratch_alloc
// CHECK: llvm.call @relax_device_launch
// CHECK: llvm.call @relax_device_scratch_free
func.func private @relax.kernel.g(%n: index) attributes {relax.device = #relax.vdevice<"cuda -arch=sm_90", 0>} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %x = memref.alloc(%n) : memref<?xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %one, %x[%tx] : memref<?xf32>
    gpu.terminator
  }
  memref.dealloc %x : memref<?xf32>
  return
}
