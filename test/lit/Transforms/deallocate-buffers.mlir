// RUN: relax-opt %s -relax-deallocate-buffers -split-input-file | FileCheck %s

// What a kernel frees is left alone; the rest is freed where its block ends.

// CHECK-LABEL: func.func @local
// CHECK-NOT: manual_deallocation
// CHECK: %[[OWN:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: %[[REST:.*]] = memref.alloc(%{{.*}}) : memref<?xf64>
// CHECK: scf.for
// CHECK: %[[TILE:.*]] = memref.alloc() : memref<4xf64>
// CHECK: memref.store %{{.*}}, %[[REST]]
// CHECK-NEXT: memref.dealloc %[[TILE]]
// CHECK: memref.copy
// CHECK-NEXT: memref.dealloc %[[OWN]] : memref<?xf32>
// CHECK-NEXT: memref.dealloc %[[REST]] : memref<?xf64>
// CHECK-NEXT: return
func.func @local(%x: memref<?xf32>, %n: index, %f: f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.alloc(%n) : memref<?xf32>
  %1 = memref.alloc(%n) : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %4 = memref.alloc() : memref<4xf64>
    memref.store %f, %4[%c0] : memref<4xf64>
    %5 = memref.subview %4[1] [2] [1] : memref<4xf64> to memref<2xf64, strided<[1], offset: 1>>
    %6 = memref.load %5[%c1] : memref<2xf64, strided<[1], offset: 1>>
    memref.store %6, %1[%i] : memref<?xf64>
  }
  %2 = memref.load %1[%c0] : memref<?xf64>
  %3 = arith.truncf %2 : f64 to f32
  memref.store %3, %0[%c0] : memref<?xf32>
  memref.copy %0, %x : memref<?xf32> to memref<?xf32>
  memref.dealloc %0 : memref<?xf32>
  return
}

// -----

// Upstream frees what leaves its block; it is told what is freed already.

// CHECK-LABEL: func.func @chosen
// CHECK: %[[OWN:.*]] = memref.alloc() {{.*}}: memref<3xf32>
// CHECK: scf.if
// CHECK: memref.alloc
// CHECK: memref.alloc
// CHECK: memref.dealloc %[[OWN]]
// CHECK: memref.dealloc %{{.*}} : memref<f32>
// CHECK-NOT: memref.dealloc
func.func @chosen(%x: memref<4xf32>, %is_first: i1, %f: f32) {
  %c0 = arith.constant 0 : index
  %own = memref.alloc() : memref<3xf32>
  memref.store %f, %own[%c0] : memref<3xf32>
  %0 = scf.if %is_first -> memref<4xf32> {
    %1 = memref.alloc() : memref<4xf32>
    memref.store %f, %1[%c0] : memref<4xf32>
    scf.yield %1 : memref<4xf32>
  } else {
    %1 = memref.alloc() : memref<4xf32>
    memref.copy %x, %1 : memref<4xf32> to memref<4xf32>
    scf.yield %1 : memref<4xf32>
  }
  memref.copy %0, %x : memref<4xf32> to memref<4xf32>
  %1 = memref.load %own[%c0] : memref<3xf32>
  memref.store %1, %x[%c0] : memref<4xf32>
  memref.dealloc %own : memref<3xf32>
  return
}

// A buffer that is returned belongs to the caller.

// CHECK-LABEL: func.func @returned
// CHECK-NOT: memref.dealloc
// CHECK: return
func.func @returned() -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}

// -----

// A buffer that another block reads is freed after it there, and before where
// control goes elsewhere.

// CHECK-LABEL: func.func @blocks
// CHECK: %[[BUFFER:.*]] = memref.alloc()
// CHECK: scf.if
// CHECK-NEXT: memref.dealloc %[[BUFFER]]
// CHECK-NEXT: }
// CHECK-NEXT: cf.cond_br
// CHECK: memref.load %[[BUFFER]]
// CHECK: memref.dealloc %[[BUFFER]]
// CHECK-NOT: memref.dealloc
func.func @blocks(%x: memref<4xf32>, %f: f32, %is_read: i1) {
  %c0 = arith.constant 0 : index
  %0 = memref.alloc() : memref<4xf32>
  memref.store %f, %0[%c0] : memref<4xf32>
  cf.cond_br %is_read, ^read, ^end
^read:
  %1 = memref.load %0[%c0] : memref<4xf32>
  memref.store %1, %x[%c0] : memref<4xf32>
  cf.br ^end
^end:
  return
}
