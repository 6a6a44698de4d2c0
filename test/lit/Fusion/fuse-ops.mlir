// RUN: relax-opt %s -split-input-file -relax-legalize-ops -relax-fuse-ops | FileCheck %s
// RUN: relax-opt %s -split-input-file -relax-legalize-ops -relax-fuse-ops=max-depth=2 | FileCheck %s --check-prefix=TWO

// RF16: a chain of operations on elements is a function, whose parameters are
// what it reads. Numbers are part of it.
!x = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: relax.func @chain
// CHECK: relax.dataflow
// CHECK-NEXT: relax.call @fused_multiply_exp_add(%x, %y) {relax.fresh} : (!relax.tensor<[n, 8], f32>, !relax.tensor<[8], f32>) -> !relax.tensor<[n, 8], f32>
// CHECK-NEXT: relax.output
// CHECK: relax.func private @fused_multiply_exp_add(%arg0: !relax.tensor<[n, 8], f32>, %arg1: !relax.tensor<[8], f32>) -> !relax.tensor<[n, 8], f32> attributes {Primitive = true} {
// CHECK-NEXT: relax.dataflow
// CHECK-NEXT: relax.constant dense<2.000000e+00>
// CHECK-NEXT: relax.call_tir @multiply(%arg0, %{{.*}})
// CHECK-NEXT: relax.call_tir @exp
// CHECK-NEXT: relax.call_tir @add(%{{.*}}, %arg1)
// CHECK-NEXT: relax.output
// TWO-LABEL: relax.func @chain
// TWO: relax.call @fused_multiply_exp(
// TWO-NEXT: relax.call_tir @add
relax.func @chain(%x: !x, %y: !relax.tensor<[8], f32>) -> !x {
  %0 = relax.dataflow -> !x {
    %c = relax.constant dense<2.0> : tensor<f32>
    %1 = relax.multiply %x, %c : (!x, !relax.tensor<[], f32>) -> !x
    %2 = relax.exp %1 : (!x) -> !x
    %3 = relax.add %2, %y : (!x, !relax.tensor<[8], f32>) -> !x
    relax.output %3 : !x
  }
  relax.return %0 : !x
}

// -----

// What follows a matrix product goes along with it, and not what comes before.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>

// CHECK-LABEL: relax.func @product
// CHECK: relax.call_tir @exp
// CHECK-NEXT: relax.call @fused_matmul_add_relu(
// CHECK-NEXT: relax.output
relax.func @product(%x: !x, %w: !w, %y: !relax.tensor<[8], f32>) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.exp %x : (!x) -> !x
    %2 = relax.matmul %1, %w : (!x, !w) -> !x
    %3 = relax.add %2, %y : (!x, !relax.tensor<[8], f32>) -> !x
    %4 = relax.relu %3 : (!x) -> !x
    relax.output %4 : !x
  }
  relax.return %0 : !x
}

// -----

// Of two products that are added, one takes the sum along.
!x = !relax.tensor<[n, 8], f32>
!w = !relax.tensor<[8, 8], f32>

// CHECK-LABEL: relax.func @sum_of_products
// CHECK: %[[P:.*]] = relax.call_tir @matmul(%x, %v)
// CHECK-NEXT: relax.call @fused_matmul_add(%x, %w, %[[P]])
// CHECK-NEXT: relax.output
relax.func @sum_of_products(%x: !x, %w: !w, %v: !w) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.matmul %x, %w : (!x, !w) -> !x
    %2 = relax.matmul %x, %v : (!x, !w) -> !x
    %3 = relax.add %1, %2 : (!x, !x) -> !x
    relax.output %3 : !x
  }
  relax.return %0 : !x
}

// -----

// Rows: a softmax and a normalization have them in common.
!x = !relax.tensor<[b, n, 8], f32>
!p = !relax.tensor<[8], f32>

// CHECK-LABEL: relax.func @rows
// CHECK: relax.call @fused_multiply_softmax_layer_norm(
// CHECK-NEXT: relax.output
relax.func @rows(%x: !x, %p: !p) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.multiply %x, %p : (!x, !p) -> !x
    %2 = relax.softmax %1 {axis = -1} : (!x) -> !x
    %3 = relax.layer_norm %2, %p, %p {axes = array<i64: -1>} : (!x, !p, !p) -> !x
    relax.output %3 : !x
  }
  relax.return %0 : !x
}

// -----

// Columns are not rows.
!x = !relax.tensor<[n, 8], f32>

// CHECK-LABEL: relax.func @columns
// CHECK: relax.call_tir @softmax(
// CHECK: relax.call_tir @softmax1(
// CHECK-NOT: Primitive
relax.func @columns(%x: !x) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.softmax %x {axis = 0} : (!x) -> !x
    %2 = relax.softmax %1 {axis = 1} : (!x) -> !x
    relax.output %2 : !x
  }
  relax.return %0 : !x
}

// -----

// A costly value that is repeated is computed once; a cheap one again.
!x = !relax.tensor<[n, 8], f32>
!p = !relax.tensor<[8], f32>

// CHECK-LABEL: relax.func @costly
// CHECK: relax.call_tir @exp
// CHECK-NEXT: relax.call_tir @multiply
// CHECK-LABEL: relax.func @cheap
// CHECK: relax.call @fused_negative_multiply
relax.func @costly(%x: !x, %p: !p) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.exp %p : (!p) -> !p
    %2 = relax.multiply %x, %1 : (!x, !p) -> !x
    relax.output %2 : !x
  }
  relax.return %0 : !x
}
relax.func @cheap(%x: !x, %p: !p) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.negative %p : (!p) -> !p
    %2 = relax.multiply %x, %1 : (!x, !p) -> !x
    relax.output %2 : !x
  }
  relax.return %0 : !x
}

// -----

// All paths from %1 lead to the sum; %4 is used outside, too, so the kernel has
// two results.
!x = !relax.tensor<[n], f32>
!t = !relax.tuple<!x, !x>

// CHECK-LABEL: relax.func @diamond
// CHECK: %[[T:.*]] = relax.call @fused_exp_sin_cos_add_negative(%x)
// CHECK-NEXT: %[[A:.*]] = relax.get_item %[[T]][0]
// CHECK-NEXT: %[[B:.*]] = relax.get_item %[[T]][1]
// CHECK-NEXT: relax.output %[[A]], %[[B]]
relax.func @diamond(%x: !x) -> !t {
  %a, %b = relax.dataflow -> !x, !x {
    %1 = relax.exp %x : (!x) -> !x
    %2 = relax.sin %1 : (!x) -> !x
    %3 = relax.cos %1 : (!x) -> !x
    %4 = relax.add %2, %3 : (!x, !x) -> !x
    %5 = relax.negative %4 : (!x) -> !x
    relax.output %4, %5 : !x, !x
  }
  %t = relax.tuple %a, %b : !x, !x
  relax.return %t : !t
}

// A scan reads %1 before the sum is there.
// CHECK-LABEL: relax.func @read_before_the_end
// CHECK: %[[A:.*]] = relax.call_tir @exp(%x)
// CHECK-NEXT: %[[B:.*]] = relax.call_tir @cumsum(%[[A]])
// CHECK-NEXT: %[[C:.*]] = relax.call @fused_negative_add(%[[A]], %[[B]])
// CHECK-NEXT: relax.output %[[C]]
relax.func @read_before_the_end(%x: !x) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.exp %x : (!x) -> !x
    %2 = relax.negative %1 : (!x) -> !x
    %3 = relax.cumsum %1 {axis = 0 : i64} : (!x) -> !x
    %4 = relax.add %2, %3 : (!x, !x) -> !x
    relax.output %4 : !x
  }
  relax.return %0 : !x
}

// -----

// A shape variable that the parameters do not bind is passed as a shape.
!x = !relax.tensor<[n * 2], f32>

// CHECK-LABEL: relax.func @open
// CHECK: %[[S:.*]] = relax.shape <[n]>
// CHECK-NEXT: relax.call @fused_exp_sin(%{{.*}}, %[[S]]) {relax.fresh} : (!relax.tensor<[n * 2], f32>, !relax.shape<[n]>)
relax.func @open(%x: !x, %y: !relax.tensor<[n], f32>) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.exp %x : (!x) -> !x
    %2 = relax.sin %1 : (!x) -> !x
    relax.output %2 : !x
  }
  relax.return %0 : !x
}

// -----

// A conversion to wider elements belongs to the sum that reads it, and not to
// the product before, whose result is smaller so.
!x = !relax.tensor<[n, 8], f32>
!h = !relax.tensor<[n, 8], f16>
!w = !relax.tensor<[8, 8], f32>

// CHECK-LABEL: relax.func @conversion
// CHECK: %[[LHS:.*]] = relax.call @fused_matmul_astype({{.*}} -> !relax.tensor<[n, 8], f16>
// CHECK-NEXT: relax.call @fused_{{.*}}(%{{.*}}, %{{.*}}, %[[LHS]])
// CHECK-NEXT: relax.output
relax.func @conversion(%x: !x, %w: !w) -> !x {
  %0 = relax.dataflow -> !x {
    %1 = relax.matmul %x, %w : (!x, !w) -> !x
    %2 = relax.matmul %x, %w : (!x, !w) -> !x
    %3 = relax.astype %2 {dtype = f16} : (!x) -> !h
    %4 = relax.astype %3 {dtype = f32} : (!h) -> !x
    %5 = relax.add %1, %4 : (!x, !x) -> !x
    relax.output %5 : !x
  }
  relax.return %0 : !x
}

// -----

// Equal groups are one function.
!x = !relax.tensor<[n], f32>

// CHECK-LABEL: relax.func @twice
// CHECK: relax.call @fused_exp_sin(
// CHECK: relax.call @fused_exp_sin(
// CHECK-COUNT-1: Primitive
// CHECK-NOT: Primitive
relax.func @twice(%x: !x, %y: !x) -> !relax.tuple<!x, !x> {
  %a, %b = relax.dataflow -> !x, !x {
    %1 = relax.exp %x : (!x) -> !x
    %2 = relax.sin %1 : (!x) -> !x
    %3 = relax.exp %y : (!x) -> !x
    %4 = relax.sin %3 : (!x) -> !x
    relax.output %2, %4 : !x, !x
  }
  %t = relax.tuple %a, %b : !x, !x
  relax.return %t : !relax.tuple<!x, !x>
}

// -----

// Outside of dataflow blocks the order of bindings counts.
!x = !relax.tensor<[n], f32>

// CHECK-LABEL: relax.func @bindings
// CHECK: relax.call_tir @exp
// CHECK: relax.call_tir @sin
relax.func @bindings(%x: !x) -> !x {
  %1 = relax.exp %x : (!x) -> !x
  %2 = relax.sin %1 : (!x) -> !x
  relax.return %2 : !x
}

// -----

// A sum of rows at computed places reads them where they are.
!rows = !relax.tensor<[b, 32, 256], f32>

// CHECK-LABEL: relax.func @bags
// CHECK: relax.dataflow
// CHECK-NEXT: relax.call @fused_take_sum(%w, %x)
// CHECK-NEXT: relax.output
relax.func @bags(%w: !relax.tensor<[9999, 256], f32>, %x: !relax.tensor<[b, 32], i64>) -> !relax.tensor<[b, 256], f32> {
  %0 = relax.dataflow -> !relax.tensor<[b, 256], f32> {
    %1 = relax.take %w, %x {axis = 0 : i64} : (!relax.tensor<[9999, 256], f32>, !relax.tensor<[b, 32], i64>) -> !rows
    %2 = relax.sum %1 {axis = array<i64: 1>} : (!rows) -> !relax.tensor<[b, 256], f32>
    relax.output %2 : !relax.tensor<[b, 256], f32>
  }
  relax.return %0 : !relax.tensor<[b, 256], f32>
}

// -----

// Rows at computed places stay rows where what follows permutes them.
!rows = !relax.tensor<[b, 32, 256], f32>
!columns = !relax.tensor<[b, 256, 32], f32>

// CHECK-LABEL: relax.func @permuted
// CHECK: relax.dataflow
// CHECK-NEXT: relax.call @fused_take_negative(
// CHECK-NEXT: relax.call_tir @permute_dims(
// CHECK-NEXT: relax.output
relax.func @permuted(%w: !relax.tensor<[9999, 256], f32>, %x: !relax.tensor<[b, 32], i64>) -> !columns {
  %0 = relax.dataflow -> !columns {
    %1 = relax.take %w, %x {axis = 0 : i64} : (!relax.tensor<[9999, 256], f32>, !relax.tensor<[b, 32], i64>) -> !rows
    %2 = relax.negative %1 : (!rows) -> !rows
    %3 = relax.permute_dims %2 {axes = array<i64: 0, 2, 1>} : (!rows) -> !columns
    relax.output %3 : !columns
  }
  relax.return %0 : !columns
}

// -----

// A scatter reads its updates where they are in a longer vector.
!x = !relax.tensor<[n], f32>

// CHECK-LABEL: relax.func @scatter_of_slice
// CHECK-NOT: relax.call_tir
// CHECK: relax.call @fused_strided_slice_scatter_elements(
// CHECK-NEXT: relax.output
relax.func @scatter_of_slice(%x: !x, %i: !relax.tensor<[m], i64>, %v: !relax.tensor<[k], f32>) -> !x {
  %0 = relax.dataflow -> !x {
    %begin = relax.shape <[1]>
    %end = relax.shape <[m + 1]>
    %step = relax.shape <[1]>
    %1 = relax.strided_slice %v, %begin, %end, %step {assume_inbound = true, axes = array<i64: 0>} : (!relax.tensor<[k], f32>, !relax.shape<[1]>, !relax.shape<[m + 1]>, !relax.shape<[1]>) -> !relax.tensor<[m], f32>
    %2 = relax.scatter_elements %x, %i, %1 {reduction = "add"} : (!x, !relax.tensor<[m], i64>, !relax.tensor<[m], f32>) -> !x
    relax.output %2 : !x
  }
  relax.return %0 : !x
}
