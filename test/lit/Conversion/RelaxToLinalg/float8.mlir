// Floats of 8 bits are moved and converted; operators compute in f32.
// RUN: relax-opt %s --split-input-file --relax-legalize-ops | FileCheck %s

// The operands are converted before the operator, the result after it.
// CHECK-LABEL: relax.func @of_exp
// CHECK:         %[[WIDE:.*]] = relax.call_tir @astype(%x) {{.*}} -> !relax.tensor<[n], f32>
// CHECK:         %[[EXP:.*]] = relax.call_tir @exp(%[[WIDE]]) {{.*}} -> !relax.tensor<[n], f32>
// CHECK:         relax.call_tir @astype1(%[[EXP]]) {{.*}} -> !relax.tensor<[n], f8E4M3FN>
// CHECK-LABEL: func.func private @astype(
// CHECK:         arith.bitcast {{.*}} : f8E4M3FN to i8
// CHECK-LABEL: func.func private @exp(
// CHECK-SAME:    tensor<?xf32>
// CHECK-LABEL: func.func private @astype1(
// CHECK:         arith.bitcast {{.*}} : i8 to f8E4M3FN
relax.func @of_exp(%x: !relax.tensor<[n], f8E4M3FN>) -> !relax.object {
  %0 = relax.exp %x : (!relax.tensor<[n], f8E4M3FN>) -> !relax.tensor<[n], f8E4M3FN>
  relax.return %0 : !relax.tensor<[n], f8E4M3FN>
}

// -----

// The result is rounded where the attribute alone says its type.
// CHECK-LABEL: relax.func @of_zeros
// CHECK:         relax.call_tir @zeros({{.*}} -> !relax.tensor<[4], f32>
// CHECK:         relax.call_tir @astype({{.*}} -> !relax.tensor<[4], f8E5M2>
relax.func @of_zeros(%s: !relax.shape<[4]>) -> !relax.object {
  %0 = relax.zeros %s {dtype = f8E5M2} : (!relax.shape<[4]>) -> !relax.tensor<[4], f8E5M2>
  relax.return %0 : !relax.tensor<[4], f8E5M2>
}

// -----

// The declared type does not say the data type; the derived one does.
// CHECK-LABEL: relax.func @of_derived
// CHECK:         relax.call_tir @negative({{.*}} -> !relax.tensor<[n], f32>
// CHECK:         relax.call_tir @astype1({{.*}} -> !relax.tensor<[n], f8E4M3FN>
relax.func @of_derived(%x: !relax.tensor<[n], f8E4M3FN>) -> !relax.object {
  %0 = relax.negative %x : (!relax.tensor<[n], f8E4M3FN>) -> !relax.tensor<ndim = 1>
  relax.return %0 : !relax.tensor<ndim = 1>
}

// -----

// Fields of tuples are rounded, those of other types are not.
// CHECK-LABEL: relax.func @of_topk
// CHECK:         relax.call_tir @topk({{.*}} -> !relax.tuple<!relax.tensor<[n, 1], f32>, !relax.tensor<[n, 1], i64>>
// CHECK:         relax.call_tir @astype1({{.*}} -> !relax.tensor<[n, 1], f8E4M3FN>
relax.func @of_topk(%x: !relax.tensor<[n, 4], f8E4M3FN>) -> !relax.object {
  %0 = relax.topk %x {dtype = i64} : (!relax.tensor<[n, 4], f8E4M3FN>) -> !relax.tuple<!relax.tensor<[n, 1], f8E4M3FN>, !relax.tensor<[n, 1], i64>>
  relax.return %0 : !relax.tuple<!relax.tensor<[n, 1], f8E4M3FN>, !relax.tensor<[n, 1], i64>>
}

// -----

// What moves elements moves bytes.
// CHECK-LABEL: relax.func @permute
// CHECK:         relax.call_tir @permute_dims(%x) {{.*}} -> !relax.tensor<[4, n], f8E4M3FN>
// CHECK-NOT:     astype
relax.func @permute(%x: !relax.tensor<[n, 4], f8E4M3FN>) -> !relax.object {
  %0 = relax.permute_dims %x : (!relax.tensor<[n, 4], f8E4M3FN>) -> !relax.tensor<[4, n], f8E4M3FN>
  relax.return %0 : !relax.tensor<[4, n], f8E4M3FN>
}
