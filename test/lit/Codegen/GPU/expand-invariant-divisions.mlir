// RUN: relax-opt %s -relax-expand-invariant-divisions -canonicalize -cse -split-input-file | FileCheck %s

// The host computes a magic number and two shifts of a size, as schoolbooks
// divide; a thread multiplies and shifts, once for quotient and remainder.
// CHECK-LABEL: func.func private @index
// CHECK-SAME: %[[X:.*]]: memref<?x?xf32>
// CHECK: %[[DIM:.*]] = memref.dim %[[X]]
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[DIM]] : index to i64
// CHECK: %[[D:.*]] = arith.maxui %[[WIDE]], %{{.*}} : i64
// CHECK: math.ctlz
// CHECK: %[[FIRST:.*]] = arith.minui
// CHECK: %[[SECOND:.*]] = arith.subi %{{.*}}, %[[FIRST]]
// CHECK: scf.for
// CHECK: arith.divui %{{.*}}, %[[D]] : i64
// CHECK: arith.remui %{{.*}}, %[[D]] : i64
// CHECK: gpu.launch
// CHECK-NOT: divui
// CHECK-NOT: remui
// CHECK: %[[HIGH:.*]] = llvm.call_intrinsic "llvm.nvvm.mulhi.ull"(%{{.*}}, %{{.*}})
// CHECK: %[[T:.*]] = arith.index_cast %[[HIGH]] : i64 to index
// CHECK: %[[REST:.*]] = arith.subi %[[N:.*]], %[[T]] : index
// CHECK: %[[HALF:.*]] = arith.shrui %[[REST]], %{{.*}} : index
// CHECK: %[[SUM:.*]] = arith.addi %[[T]], %[[HALF]] : index
// CHECK: %[[Q:.*]] = arith.shrui %[[SUM]], %{{.*}} : index
// CHECK: %[[P:.*]] = arith.muli %[[Q]], %[[DIM]] : index
// CHECK: %[[R:.*]] = arith.subi %[[N]], %[[P]] : index
// CHECK-NOT: mulhi
// CHECK: memref.store %{{.*}}, %[[X]][%[[Q]], %[[R]]]
func.func private @index(%x: memref<?x?xf32>) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %one = arith.constant 1.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %n = memref.dim %x, %c1 : memref<?x?xf32>
    %q = arith.divui %tx, %n : index
    %r = arith.remui %tx, %n : index
    memref.store %one, %x[%q, %r] : memref<?x?xf32>
    gpu.terminator
  }
  return
}

// -----

// Numbers of 32 bits are divided at once on the host.
// CHECK-LABEL: func.func private @narrow
// CHECK: arith.divui %{{.*}}, %{{.*}} : i64
// CHECK-NOT: scf.for
// CHECK: gpu.launch
// CHECK-NOT: divui
// CHECK: llvm.call_intrinsic "llvm.nvvm.mulhi.ui"
func.func private @narrow(%x: memref<?xi32>, %n: i32) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %a = memref.load %x[%tx] : memref<?xi32>
    %q = arith.divui %a, %n : i32
    memref.store %q, %x[%tx] : memref<?xi32>
    gpu.terminator
  }
  return
}

// -----

// The host knows how many threads and blocks there are.
// CHECK-LABEL: func.func private @threads
// CHECK-SAME: %[[N:[a-z0-9]+]]: index)
// CHECK: arith.muli %[[N]], %{{.*}} : index
// CHECK: scf.for
// CHECK: gpu.launch
// CHECK-NOT: divui
// CHECK: llvm.call_intrinsic "llvm.nvvm.mulhi.ull"
func.func private @threads(%x: memref<?xindex>, %n: index) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
    %four = arith.muli %sx, %c4 : index
    %0 = arith.divui %tx, %four : index
    memref.store %0, %x[%tx] : memref<?xindex>
    gpu.terminator
  }
  return
}

// -----

// What stays: constants, which LLVM expands, divisors that threads compute or
// load, quotients with signs, and other types.
// CHECK-LABEL: func.func private @others
// CHECK: gpu.launch
// CHECK-NOT: mulhi
// CHECK: arith.divui %{{.*}}, %c3
// CHECK: arith.remui
// CHECK: arith.divui
// CHECK: arith.divsi
// CHECK: arith.divui %{{.*}} : i64
func.func private @others(%x: memref<?xindex>, %n: index, %m: i64) attributes {relax.device = #relax.vdevice<"cuda", 0>} {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %0 = arith.divui %tx, %c3 : index
    %1 = memref.load %x[%0] : memref<?xindex>
    %2 = arith.remui %1, %bx : index
    %3 = arith.divui %2, %1 : index
    %4 = arith.divsi %3, %n : index
    %5 = arith.index_cast %4 : index to i64
    %6 = arith.divui %5, %m : i64
    %7 = arith.index_cast %6 : i64 to index
    memref.store %7, %x[%tx] : memref<?xindex>
    gpu.terminator
  }
  return
}

// -----

// Devices of OpenCL divide.
// CHECK-LABEL: func.func private @opencl
// CHECK: gpu.launch
// CHECK: arith.divui
func.func private @opencl(%x: memref<?xindex>, %n: index) attributes {relax.device = #relax.vdevice<"opencl", 0>} {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %0 = arith.divui %tx, %n : index
    memref.store %0, %x[%tx] : memref<?xindex>
    gpu.terminator
  }
  return
}
