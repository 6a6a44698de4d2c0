// RUN: relax-opt %s -relax-gather-device-kernels -split-input-file -verify-diagnostics

func.func private @none(%x: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  // expected-error @below {{expected relax.resident_blocks from 1 to 32, but got -1 : i32}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %one, %x[%tx] : memref<?xf32>
    gpu.terminator
  } {relax.resident_blocks = -1 : i32}
  return
}

// -----

func.func private @too_many(%x: memref<?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  // expected-error @below {{expected relax.resident_blocks from 1 to 32, but got 36893488147419103232 : i128}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %one, %x[%tx] : memref<?xf32>
    gpu.terminator
  } {relax.resident_blocks = 36893488147419103232 : i128}
  return
}
