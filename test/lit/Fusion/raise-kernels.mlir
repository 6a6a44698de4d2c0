// RUN: relax-opt %s -relax-raise-kernels | FileCheck %s

// RF16: kernels on memrefs become kernels on tensors, by which fusion and kernel
// classes know them.

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// CHECK-DAG: #[[ID:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[SWAP:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[SHIFT:.+]] = affine_map<(d0) -> (d0 * 2 + 1)>
// CHECK-DAG: #[[LHS:.+]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[RHS:.+]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[OUT:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// Operations on memrefs.
// CHECK-LABEL: func.func private @structured
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32> {{.*}}, %[[B:.*]]: tensor<8xf32>, %[[O:.*]]: tensor<?x8xf32> {{.*}}) -> tensor<?x8xf32>
// CHECK: %[[R:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[B]] : {{.*}}) outs(%[[O]]
// CHECK: return %[[R]]
func.func @structured(%x: memref<?x8xf32> {relax.struct_info = !relax.tensor<[n, 8], f32>}, %b: memref<8xf32>, %o: memref<?x8xf32> {relax.struct_info = !relax.tensor<[n, 8], f32>}) {
  linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : memref<?x8xf32>, memref<8xf32>) outs(%o : memref<?x8xf32>) {
  ^bb0(%a: f32, %c: f32, %d: f32):
    %0 = arith.addf %a, %c : f32
    linalg.yield %0 : f32
  }
  return
}

// What is computed on the way is a tensor of its own, of the same sizes. Loops on elements are joined.
// CHECK-LABEL: func.func private @temporary
// CHECK-NOT: memref
// CHECK: math.exp
// CHECK-NEXT: arith.negf
// CHECK: return
func.func @temporary(%x: memref<?x8xf32>, %o: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %t = memref.alloc(%n) : memref<?x8xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x8xf32>) outs(%t : memref<?x8xf32>) {
  ^bb0(%a: f32, %d: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<?x8xf32>) outs(%o : memref<?x8xf32>) {
  ^bb0(%a: f32, %d: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  memref.dealloc %t : memref<?x8xf32>
  return
}

// A part of the output is written: the rest stays what it was.
// CHECK-LABEL: func.func private @part
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[O:.*]][2] [4] [1]
// CHECK: %[[R:.*]] = linalg.generic {{.*}} outs(%[[SLICE]]
// CHECK: %[[ALL:.*]] = tensor.insert_slice %[[R]] into %[[O]][2] [4] [1]
// CHECK: return %[[ALL]]
func.func @part(%x: memref<4xf32>, %o: memref<8xf32>) {
  %v = memref.subview %o[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<4xf32>) outs(%v : memref<4xf32, strided<[1], offset: 2>>) {
  ^bb0(%a: f32, %d: f32):
    linalg.yield %a : f32
  }
  return
}

// Loops, in the order of the result.
// CHECK-LABEL: func.func private @transposed
// CHECK: linalg.generic {indexing_maps = [#[[SWAP]], #[[ID]]], iterator_types = ["parallel", "parallel"]}
func.func @transposed(%x: memref<?x8xf32> {relax.struct_info = !relax.tensor<[n, 8], f32>}, %o: memref<8x?xf32> {relax.struct_info = !relax.tensor<[8, n], f32>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %0 = memref.load %x[%i, %j] : memref<?x8xf32>
      memref.store %0, %o[%j, %i] : memref<8x?xf32>
    } {relax.loop = "vectorized"}
  } {relax.loop = "parallel"}
  return
}

// A sum that begins inside of the loop over rows: two operations.
// CHECK-LABEL: func.func private @sum
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ROW]]], iterator_types = ["parallel", "reduction"]} {{.*}} outs(%[[ZERO]]
// CHECK: arith.addf
func.func @sum(%x: memref<4x8xf32>, %o: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %o[%i] : memref<4xf32>
    scf.for %j = %c0 to %c8 step %c1 {
      %0 = memref.load %o[%i] : memref<4xf32>
      %1 = memref.load %x[%i, %j] : memref<4x8xf32>
      %2 = arith.addf %0, %1 : f32
      memref.store %2, %o[%i] : memref<4xf32>
    }
  }
  return
}

// A product whose sums begin in the first iteration, as `T.init` has it, with the
// loop that reduces in the middle.
// CHECK-LABEL: func.func private @product
// CHECK: %[[ZERO:.*]] = linalg.fill
// CHECK: linalg.generic {indexing_maps = [#[[LHS]], #[[RHS]], #[[OUT]]], iterator_types = ["parallel", "parallel", "reduction"]} {{.*}} outs(%[[ZERO]]
func.func @product(%x: memref<4x8xf32>, %y: memref<8x5xf32>, %o: memref<4x5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      scf.for %j = %c0 to %c5 step %c1 {
        %k64 = arith.index_cast %k : index to i64
        %zero64 = arith.constant 0 : i64
        %first = arith.cmpi eq, %k64, %zero64 : i64
        scf.if %first {
          %zero = arith.constant 0.0 : f32
          memref.store %zero, %o[%i, %j] : memref<4x5xf32>
        }
        %0 = memref.load %o[%i, %j] : memref<4x5xf32>
        %1 = memref.load %x[%i, %k] : memref<4x8xf32>
        %2 = memref.load %y[%k, %j] : memref<8x5xf32>
        %3 = arith.mulf %1, %2 : f32
        %4 = arith.addf %0, %3 : f32
        memref.store %4, %o[%i, %j] : memref<4x5xf32>
      }
    }
  }
  return
}

// A place that is a multiple of a loop, and one that is computed.
// CHECK-LABEL: func.func private @places
// CHECK: linalg.generic {indexing_maps = [#[[SHIFT]], {{.*}}], iterator_types = ["parallel"]}
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[AT:.*]] = tensor.extract %{{.*}}[%[[I]]] : tensor<4xi64>
// CHECK: tensor.extract %{{.*}}[%{{.*}}] : tensor<9xf32>
func.func @places(%x: memref<9xf32>, %at: memref<4xi64>, %o: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %0 = arith.muli %i, %c2 : index
    %1 = arith.addi %0, %c1 : index
    %2 = memref.load %x[%1] : memref<9xf32>
    %c = arith.cmpi eq, %i, %c4 : index
    %3 = scf.if %c -> f32 {
      %j = memref.load %at[%i] : memref<4xi64>
      %k = arith.index_cast %j : i64 to index
      %4 = memref.load %x[%k] : memref<9xf32>
      scf.yield %4 : f32
    } else {
      scf.yield %2 : f32
    }
    %5 = arith.addf %2, %3 : f32
    memref.store %5, %o[%i] : memref<4xf32>
  }
  return
}

// An element is made of the one before it.
// CHECK-LABEL: func.func @scan
// CHECK: scf.for
func.func @scan(%x: memref<8xf32>, %o: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %x[%i] : memref<8xf32>
    %1 = memref.load %o[%i] : memref<9xf32>
    %2 = arith.addf %0, %1 : f32
    %3 = arith.addi %i, %c1 : index
    memref.store %2, %o[%3] : memref<9xf32>
  }
  return
}

// The order of what is combined matters.
// CHECK-LABEL: func.func @horner
// CHECK: scf.for
func.func @horner(%x: memref<8xf32>, %o: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %half = arith.constant 0.5 : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %o[] : memref<f32>
    %1 = memref.load %x[%i] : memref<8xf32>
    %2 = arith.mulf %0, %half : f32
    %3 = arith.addf %2, %1 : f32
    memref.store %3, %o[] : memref<f32>
  }
  return
}

// One element for all of them: iterations follow one another.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for
func.func @carried(%x: memref<8xf32>, %o: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = memref.alloca() : memref<1xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %x[%i] : memref<8xf32>
    %1 = math.exp %0 : f32
    memref.store %1, %t[%c0] : memref<1xf32>
    %2 = memref.load %t[%c0] : memref<1xf32>
    memref.store %2, %o[%i] : memref<8xf32>
  }
  return
}

// What the sum is begun with comes after elements that are added, in all
// iterations but the first one.
// CHECK-LABEL: func.func @late
// CHECK: scf.for
func.func @late(%x: memref<8xf32>, %o: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    %0 = memref.load %o[%c0] : memref<1xf32>
    %1 = memref.load %x[%i] : memref<8xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %o[%c0] : memref<1xf32>
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      %zero = arith.constant 0.0 : f32
      memref.store %zero, %o[%c0] : memref<1xf32>
    }
  }
  return
}

// Not all elements, by loops that are not known to have as many iterations.
// CHECK-LABEL: func.func @others
// CHECK: scf.for
func.func @others(%x: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<?xf32>
    memref.store %0, %o[%i] : memref<?xf32>
  }
  return
}

// An input is written.
// CHECK-LABEL: func.func @input
// CHECK-SAME: memref
func.func @input(%x: memref<4xf32>, %o: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  linalg.fill ins(%zero : f32) outs(%o : memref<4xf32>)
  return
}

// An output is not.
// CHECK-LABEL: func.func @nothing
// CHECK-SAME: memref
func.func @nothing(%x: memref<4xf32>, %o: memref<4xf32>) {
  return
}

// Somebody else calls it.
// CHECK-LABEL: func.func @inplace
// CHECK-SAME: memref
func.func @inplace(%x: memref<4xf32>, %o: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<4xf32>)
  return
}

relax.func impure @main(%x: !relax.tensor<[n, 8], f32>, %b: !relax.tensor<[8], f32>, %s: !relax.tensor<[4, 8], f32>, %y: !relax.tensor<[8, 5], f32>, %z: !relax.tensor<[9], f32>, %at: !relax.tensor<[4], i64>, %f: !relax.tensor<[4], f32>, %v: !relax.tensor<[m], f32>) -> !relax.tensor<[n, 8], f32> {
  %0 = relax.call_tir @structured(%x, %b) : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8], f32>) -> !relax.tensor<[n, 8], f32>
  %1 = relax.call_tir @temporary(%x) : (!relax.tensor<[n, 8], f32>) -> !relax.tensor<[n, 8], f32>
  %2 = relax.call_tir @part(%f) : (!relax.tensor<[4], f32>) -> !relax.tensor<[8], f32>
  %3 = relax.call_tir @transposed(%x) : (!relax.tensor<[n, 8], f32>) -> !relax.tensor<[8, n], f32>
  %4 = relax.call_tir @sum(%s) : (!relax.tensor<[4, 8], f32>) -> !relax.tensor<[4], f32>
  %5 = relax.call_tir @product(%s, %y) : (!relax.tensor<[4, 8], f32>, !relax.tensor<[8, 5], f32>) -> !relax.tensor<[4, 5], f32>
  %6 = relax.call_tir @places(%z, %at) : (!relax.tensor<[9], f32>, !relax.tensor<[4], i64>) -> !relax.tensor<[4], f32>
  %7 = relax.call_tir @scan(%b) : (!relax.tensor<[8], f32>) -> !relax.tensor<[9], f32>
  %8 = relax.call_tir @horner(%b) : (!relax.tensor<[8], f32>) -> !relax.tensor<[], f32>
  %9 = relax.call_tir @carried(%b) : (!relax.tensor<[8], f32>) -> !relax.tensor<[8], f32>
  %10 = relax.call_tir @late(%b) : (!relax.tensor<[8], f32>) -> !relax.tensor<[1], f32>
  %11 = relax.call_tir @others(%v) : (!relax.tensor<[m], f32>) -> !relax.tensor<[m], f32>
  %12 = relax.call_tir @input(%f) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %13 = relax.call_tir @nothing(%f) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %14 = relax.call_tir @inplace(%f) : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  %15 = relax.call_tir_inplace @inplace(%f, %14) inplace [1] : (!relax.tensor<[4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
  relax.return %0 : !relax.tensor<[n, 8], f32>
}

// What a kernel asks for stays.
// CHECK: func.func private @scheduled({{.*}} -> tensor<8xf32> attributes {relax.schedule = {class = "elementwise"}}
func.func @scheduled(%x: memref<8xf32>, %o: memref<8xf32>) attributes {relax.schedule = {class = "elementwise"}} {
  linalg.exp ins(%x : memref<8xf32>) outs(%o : memref<8xf32>)
  return
}
relax.func @calls_scheduled(%x: !relax.tensor<[8], f32>) -> !relax.tensor<[8], f32> {
  %0 = relax.call_tir @scheduled(%x) : (!relax.tensor<[8], f32>) -> !relax.tensor<[8], f32>
  relax.return %0 : !relax.tensor<[8], f32>
}
