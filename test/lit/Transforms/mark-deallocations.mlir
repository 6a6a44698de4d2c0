// RUN: relax-opt %s -pass-pipeline='builtin.module(func.func(relax-mark-deallocations))' | FileCheck %s
// RUN: relax-opt %s -relax-phase-kernels | FileCheck %s --check-prefix=KERNELS

// What a kernel frees is marked, and upstream frees the rest.

// CHECK-LABEL: func.func @kernel
// CHECK: memref.alloc(%{{.*}}) {bufferization.manual_deallocation} : memref<?xf32>
// CHECK: memref.alloc(%{{.*}}) : memref<?xf64>
// CHECK: memref.dealloc %{{.*}} {bufferization.manual_deallocation}

// KERNELS-LABEL: func.func @kernel
// KERNELS-DAG: %[[OWN:.*]] = memref.alloc(%{{.*}}) {{.*}}: memref<?xf32>
// KERNELS-DAG: %[[REST:.*]] = memref.alloc(%{{.*}}) {{.*}}: memref<?xf64>
// KERNELS-COUNT-2: memref.dealloc
// KERNELS-NOT: memref.dealloc
func.func @kernel(%x: memref<?xf32>, %n: index, %f: f64) {
  %c0 = arith.constant 0 : index
  %0 = memref.alloc(%n) : memref<?xf32>
  %1 = memref.alloc(%n) : memref<?xf64>
  memref.store %f, %1[%c0] : memref<?xf64>
  %2 = memref.load %1[%c0] : memref<?xf64>
  %3 = arith.truncf %2 : f64 to f32
  memref.store %3, %0[%c0] : memref<?xf32>
  memref.copy %0, %x : memref<?xf32> to memref<?xf32>
  memref.dealloc %0 : memref<?xf32>
  return
}
