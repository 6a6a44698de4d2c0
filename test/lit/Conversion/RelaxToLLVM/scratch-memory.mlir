// RUN: relax-opt %s -split-input-file -relax-lower-scratch-memory -verify-diagnostics | FileCheck %s

// A kernel that allocates returns a status, and so does one that calls it.

// CHECK-LABEL: func.func private @row(
// CHECK-SAME: -> i32 attributes {relax.status}
// CHECK: %[[MARK:.*]] = llvm.call @relax_scratch_mark()
// CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK: %[[C8:.*]] = llvm.mlir.constant(8 : i64)
// CHECK: %[[PRODUCT:.*]] = "llvm.intr.umul.with.overflow"(%[[C8]], %[[N]])
// CHECK: %[[BYTES:.*]] = llvm.extractvalue %[[PRODUCT]][0]
// CHECK: %[[OVERFLOW:.*]] = llvm.extractvalue %[[PRODUCT]][1]
// CHECK: %[[MOST:.*]] = llvm.mlir.constant(9223372036854775807 : i64)
// CHECK: %[[CLAMPED:.*]] = llvm.select %[[OVERFLOW]], %[[MOST]], %[[BYTES]]
// CHECK: %[[ALIGNMENT:.*]] = llvm.mlir.constant(128 : i64)
// CHECK: %[[MEMORY:.*]] = llvm.call @relax_scratch_alloc(%{{.*}}, %[[CLAMPED]], %[[ALIGNMENT]])
// CHECK: %[[NULL:.*]] = llvm.mlir.zero
// CHECK: %[[FAILED:.*]] = llvm.icmp "eq" %[[MEMORY]], %[[NULL]]
// CHECK: cf.cond_br %[[FAILED]], ^[[ERROR:.*]], ^
// CHECK: llvm.call @relax_scratch_free
// CHECK: %[[OK:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: return %[[OK]] : i32
// CHECK: ^[[ERROR]]:
// CHECK: llvm.call @relax_scratch_release(%[[MARK]])
// CHECK: %[[BAD:.*]] = llvm.mlir.constant(-1 : i32)
// CHECK: return %[[BAD]] : i32
func.func private @row(%x: memref<?xf32>, %n: index) {
  %t = memref.alloc(%n) {alignment = 128 : i64} : memref<?x2xf32>
  memref.dealloc %t : memref<?x2xf32>
  return
}

// CHECK-LABEL: func.func private @rows(
// CHECK-SAME: -> (f32, i32) attributes {relax.status}
// CHECK-NOT: relax_scratch
// CHECK: %[[STATUS:.*]] = call @row
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[BAD:.*]] = llvm.icmp "ne" %[[STATUS]], %[[ZERO]]
// CHECK: cf.cond_br %[[BAD]], ^[[ERROR:.*]], ^
// CHECK: return %{{.*}}, %{{.*}} : f32, i32
// CHECK: ^[[ERROR]]:
// CHECK: %[[NOTHING:.*]] = llvm.mlir.poison : f32
// CHECK: return %[[NOTHING]], %{{.*}} : f32, i32
func.func private @rows(%x: memref<?xf32>, %n: index, %f: f32) -> f32 {
  func.call @row(%x, %n) : (memref<?xf32>, index) -> ()
  return %f : f32
}

// What needs none stays as it is, but for stack memory in loops.
// CHECK-LABEL: func.func private @plain(
// CHECK-NOT: relax.status
// CHECK-NEXT: memref.alloca() : memref<4xf32>
// CHECK: cf.br ^[[LOOP:bb[0-9]+]](
// CHECK: ^[[LOOP]](
// CHECK-NOT: memref.alloca() : memref<4xf32>
// CHECK: memref.alloca(%{{.*}}) : memref<?xf32>
func.func private @plain(%n: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^loop(%c0 : index)
^loop(%i: index):
  %stays = memref.alloca(%n) : memref<?xf32>
  %t = memref.alloca() : memref<4xf32>
  memref.store %x, %t[%c0] : memref<4xf32>
  memref.store %x, %stays[%c0] : memref<?xf32>
  %next = arith.addi %i, %c1 : index
  %more = arith.cmpi slt, %next, %n : index
  cf.cond_br %more, ^loop(%next : index), ^end
^end:
  return
}

// -----

// A size that is known to overflow fails at run time.
// CHECK-LABEL: func.func private @huge
// CHECK: %[[MOST:.*]] = llvm.mlir.constant(9223372036854775807 : i64)
// CHECK: llvm.call @relax_scratch_alloc(%{{.*}}, %[[MOST]], %{{.*}})
func.func private @huge() {
  %t = memref.alloc() : memref<4611686018427387904xf32>
  memref.dealloc %t : memref<4611686018427387904xf32>
  return
}

// -----

func.func private @strided() {
  // expected-error @below {{expected a memref with the identity layout to allocate, but got 'memref<4xf32, strided<[2]>>'}}
  %t = memref.alloc() : memref<4xf32, strided<[2]>>
  return
}

// -----

func.func private @nested(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @below {{expected no operation between what may fail and the function, but it is in scf.for}}
    %t = memref.alloc() : memref<4xf32>
  }
  return
}

// -----

func.func private @unranked(%x: memref<*xf32>) {
  // expected-error @below {{expected a memref of known rank to free, but got 'memref<*xf32>'}}
  memref.dealloc %x : memref<*xf32>
  return
}

// -----

func.func private @allocates() {
  %t = memref.alloc() : memref<4xf32>
  memref.dealloc %t : memref<4xf32>
  return
}
func.func private @takes_address() -> (() -> ()) {
  // expected-error @below {{takes the address of @allocates, which needs scratch memory and may fail}}
  %f = func.constant @allocates : () -> ()
  return %f : () -> ()
}
