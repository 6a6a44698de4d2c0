// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// The rows are sorted in place, with a second copy of them, by threads: a loop over rounds, two over
// runs in each, and one over the elements of two runs.
// CHECK-LABEL: func.func private @sort(
// CHECK:         %[[SCRATCH:.*]] = tensor.empty
// CHECK:         scf.for {{.*}} -> (tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK:           math.ctlz
// CHECK:           scf.for {{.*}} -> (tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK:             scf.for {{.*}} -> (tensor<?x?xf32>)
// CHECK:               scf.for {{.*}} -> (index, index, index, index, tensor<?x?xf32>)
// CHECK:                 arith.cmpf ord
// CHECK:                 arith.cmpf ult
// CHECK-COUNT-2:         tensor.insert
// CHECK:             scf.for {{.*}} -> (index, index, tensor<?x?xf32>)
// CHECK:             scf.for {{.*}} -> (tensor<?x?xf32>)
// CHECK:         } {relax.grain = {{.*}}, relax.loop = "parallel"}
relax.func @sort_rows(%x: !relax.tensor<[n, m], f32>) -> !relax.object {
  %0 = relax.sort %x : (!relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

// Places move with the elements, and the first ones are taken. That there are as many is checked.
// CHECK-LABEL: relax.func @topk_rows
// CHECK:         relax.match_cast
// CHECK:         relax.call_tir @topk
// CHECK-LABEL: func.func private @topk(
// CHECK:         scf.for {{.*}} -> (index, index, tensor<?x?xf16>, tensor<?x?xi32>)
// CHECK:         tensor.extract_slice {{.*}} : tensor<?x?xf16> to tensor<?x200xf16>
// CHECK:         tensor.extract_slice {{.*}} : tensor<?x?xi32> to tensor<?x200xi32>
relax.func @topk_rows(%x: !relax.tensor<[n, m], f16>) -> !relax.object {
  %0 = relax.topk %x {k = 200 : i64} : (!relax.tensor<[n, m], f16>) -> !relax.tuple<!relax.tensor<[n, 200], f16>, !relax.tensor<[n, 200], i32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n, 200], f16>, !relax.tensor<[n, 200], i32>>
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
