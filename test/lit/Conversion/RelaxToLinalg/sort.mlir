// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// Threads share the rows, or each of them where they are long and few. Short ones are sorted by the
// ranks of their elements, and others by digits.
// CHECK-LABEL: func.func private @sort(
// CHECK:         %[[FEW:.*]] = arith.andi
// CHECK:         scf.if %[[FEW]] -> (tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK:           relax.loop = "independent"
// CHECK:         } else {
// CHECK:           scf.for {{.*}} -> (tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK:             %[[SHORT:.*]] = arith.cmpi ule, %{{.*}}, %c192
// CHECK:             scf.if %[[SHORT]] -> (tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK:               vector.transfer_read {{.*}} tensor<192xi32>, vector<16xi32>
// CHECK:               scf.for {{.*}} -> (vector<16xi32>)
// CHECK:                 arith.cmpi sle, {{.*}} : vector<16xi32>
// CHECK:             } else {
// CHECK:               arith.shrui
// CHECK:           } {relax.grain = {{.*}}, relax.loop = "parallel"}
relax.func @sort_rows(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.sort %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

// CHECK-LABEL: func.func private @sort(
// CHECK-NOT:     scf.if
// CHECK:         arith.cmpi sle, {{.*}} : vector<16xi64>
relax.func @sort_short_rows(%x: !relax.tensor<[n, 100], i64>) -> !relax.object {
  %0 = relax.sort %x : (!relax.tensor<[n, 100], i64>) -> !relax.tensor<[n, 100], i64>
  relax.return %0 : !relax.tensor<[n, 100], i64>
}

// -----

// The last one of the first elements is found bit by bit; those that are less, and some that are
// equal, are collected and sorted. That there are as many is checked.
// CHECK-LABEL: relax.func @topk_rows
// CHECK:         relax.match_cast
// CHECK:         relax.call_tir @topk
// CHECK-LABEL: func.func private @topk(
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?xf16>) outs(%{{.*}} : tensor<?x?xi16>)
// CHECK:         scf.for {{.*}} -> (tensor<?x200xf16>, tensor<?x200xi32>)
// CHECK:           scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} -> (i16, i16)
// CHECK:             scf.for {{.*}} -> (vector<16xi32>)
// CHECK:               arith.cmpi slt, {{.*}} : vector<16xi16>
// CHECK:           scf.for {{.*}} -> (index, tensor<?x200xf16>, tensor<?x200xi32>)
// CHECK:             arith.cmpi slt, {{.*}} : vector<16xi16>
// CHECK:           scf.for {{.*}} -> (index, tensor<?x200xf16>, tensor<?x200xi32>)
// CHECK:             arith.cmpi eq, {{.*}} : vector<16xi16>
// CHECK:         } {relax.grain = {{.*}}, relax.loop = "parallel"}
// CHECK:         scf.for {{.*}} -> (tensor<?x200xf16>, tensor<?x200xi32>, tensor<?x200xf16>, tensor<?x200xi32>)
relax.func @topk_rows(%x: !relax.tensor<[n, m], f16>) -> !relax.object {
  %0 = relax.topk %x {k = 200 : i64} : (!relax.tensor<[n, m], f16>) -> !relax.tuple<!relax.tensor<[n, 200], f16>, !relax.tensor<[n, 200], i32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n, 200], f16>, !relax.tensor<[n, 200], i32>>
}

// -----

// That the number is one of an element is checked.
// CHECK-LABEL: relax.func @median
// CHECK:         relax.match_cast
// CHECK:         relax.call_tir @kth_index
// CHECK-LABEL: func.func private @kth_index(
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<?x?xf32>) outs(%{{.*}} : tensor<?x?xi32>)
// CHECK:         scf.for {{.*}} -> (tensor<1x?xi64>)
// CHECK:           arith.cmpi slt, {{.*}} : vector<16xi32>
// CHECK:           scf.for {{.*}} -> (index, index)
// CHECK:             arith.cmpi eq, {{.*}} : vector<16xi32>
relax.func @median(%x: !relax.tensor<[n, m], f32>, %k: !relax.prim<i64, n floordiv 2>) -> !relax.object {
  %0 = relax.kth_index %x, %k {axis = 0 : i64, dtype = i64} : (!relax.tensor<[n, m], f32>, !relax.prim<i64, n floordiv 2>) -> !relax.tensor<[1, m], i64>
  relax.return %0 : !relax.tensor<[1, m], i64>
}

// -----

// Few elements are kept in order, in vectors. Groups of elements are compared with the last one of them.
// CHECK-LABEL: func.func private @topk(
// CHECK-NOT:     tensor.empty
// CHECK:         scf.for {{.*}} -> (tensor<?x2xf32>, tensor<?x2xi32>)
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xi32>)
// CHECK:             vector.transfer_read {{.*}} vector<16xf32>
// CHECK:             arith.cmpf ult, {{.*}} vector<16xf32>
// CHECK:             scf.if {{.*}} -> (vector<16xf32>, vector<16xi32>)
// CHECK:               vector.shuffle
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xi32>)
// CHECK:           vector.transfer_write {{.*}} vector<2xf32>
// CHECK:           vector.transfer_write {{.*}} vector<2xi32>
relax.func @first_two(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.topk %x {k = 2 : i64} : (!relax.tensor<[n, m], f32>) -> !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], i32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], i32>>
}

// -----

// Elements of columns are read one by one, and floats of 16 bits are compared as f32.
// CHECK-LABEL: func.func private @topk(
// CHECK-NOT:     vector.transfer_read
// CHECK:         tensor.extract {{.*}} : tensor<?x?xf16>
// CHECK:         vector.shuffle {{.*}} vector<16xf32>
// CHECK:         tensor.insert {{.*}} : tensor<2x?xf16>
relax.func @first_of_columns(%x: !relax.tensor<[n, m], f16>) -> !relax.object {
  %0 = relax.topk %x {k = 2 : i64, axis = 0 : i64} : (!relax.tensor<[n, m], f16>) -> !relax.tuple<!relax.tensor<[2, m], f16>, !relax.tensor<[2, m], i32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[2, m], f16>, !relax.tensor<[2, m], i32>>
}

// -----

// CHECK-LABEL: func.func private @bucketize(
// CHECK:         linalg.generic
// CHECK:           scf.for {{.*}} -> (index)
// CHECK:             tensor.extract
relax.func @search(%x: !relax.tensor<[n], f32>, %b: !relax.tensor<[m], f32>) -> !relax.object {
  %0 = relax.bucketize %x, %b : (!relax.tensor<[n], f32>, !relax.tensor<[m], f32>) -> !relax.tensor<[n], i64>
  relax.return %0 : !relax.tensor<[n], i64>
}
