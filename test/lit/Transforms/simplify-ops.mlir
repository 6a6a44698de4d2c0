// RUN: relax-opt %s -relax-simplify-ops -relax-dead-code-elimination -split-input-file | FileCheck %s
// RUN: relax-opt %s -canonicalize -split-input-file | FileCheck %s --check-prefix=CANON

// Neutral elements, on both sides where that is the same, and broadcast.
// CHECK-LABEL: relax.func @neutral_elements
// CHECK: %[[X:.*]] = relax.exp
// CHECK-NEXT: relax.output %[[X]]
// CANON-LABEL: relax.func @neutral_elements
// CANON: %[[X:.*]] = relax.exp
// CANON-NEXT: relax.output %[[X]]
relax.func @neutral_elements(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, 4], f32> {
    %one = relax.constant dense<1.0> : tensor<f32>
    %zeros = relax.constant dense<0.0> : tensor<4xf32>
    %negative = relax.constant dense<-0.0> : tensor<1x4xf32>
    %1 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %2 = relax.multiply %one, %1 : (!relax.tensor<[], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %3 = relax.subtract %2, %zeros : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
    %4 = relax.divide %3, %one : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
    %5 = relax.add %4, %negative : (!relax.tensor<[n, 4], f32>, !relax.tensor<[1, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %6 = relax.power %5, %one : (!relax.tensor<[n, 4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %6 : !relax.tensor<[n, 4], f32>
  }
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

// -0.0 + 0.0 is 0.0; 0 - x and 1 / x are not x; floor_divide rounds; the other
// operand decides on the shape.
// CHECK-LABEL: relax.func @not_neutral
// CHECK: relax.add
// CHECK-NEXT: relax.subtract
// CHECK-NEXT: relax.divide
// CHECK-NEXT: relax.floor_divide
// CHECK-NEXT: relax.multiply
relax.func @not_neutral(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[3, 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[3, 4], f32> {
    %one = relax.constant dense<1.0> : tensor<f32>
    %zero = relax.constant dense<0.0> : tensor<f32>
    %ones = relax.constant dense<1.0> : tensor<3x4xf32>
    %1 = relax.add %x, %zero : (!relax.tensor<[4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[4], f32>
    %2 = relax.subtract %zero, %1 : (!relax.tensor<[], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    %3 = relax.divide %one, %2 : (!relax.tensor<[], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
    %4 = relax.floor_divide %3, %one : (!relax.tensor<[4], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[4], f32>
    %5 = relax.multiply %4, %ones : (!relax.tensor<[4], f32>, !relax.tensor<[3, 4], f32>) -> !relax.tensor<[3, 4], f32>
    relax.output %5 : !relax.tensor<[3, 4], f32>
  }
  relax.return %0 : !relax.tensor<[3, 4], f32>
}

// -----

// CHECK-LABEL: relax.func @integers
// CHECK: %[[X:.*]] = relax.abs
// CHECK-NEXT: relax.output %[[X]]
relax.func @integers(%x: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %0 = relax.dataflow -> !relax.tensor<[n], i32> {
    %zero = relax.constant dense<0> : tensor<i32>
    %one = relax.constant dense<1> : tensor<i32>
    %all = relax.constant dense<-1> : tensor<i32>
    %1 = relax.negative %x : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
    %2 = relax.abs %1 : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
    %3 = relax.add %zero, %2 : (!relax.tensor<[], i32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
    %4 = relax.floor_divide %3, %one : (!relax.tensor<[n], i32>, !relax.tensor<[], i32>) -> !relax.tensor<[n], i32>
    %5 = relax.bitwise_and %all, %4 : (!relax.tensor<[], i32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
    %6 = relax.bitwise_xor %5, %zero : (!relax.tensor<[n], i32>, !relax.tensor<[], i32>) -> !relax.tensor<[n], i32>
    %7 = relax.left_shift %6, %zero : (!relax.tensor<[n], i32>, !relax.tensor<[], i32>) -> !relax.tensor<[n], i32>
    %8 = relax.bitwise_not %7 : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
    %9 = relax.bitwise_not %8 : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
    %10 = relax.abs %9 : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
    relax.output %10 : !relax.tensor<[n], i32>
  }
  relax.return %0 : !relax.tensor<[n], i32>
}

// -----

// The second of two roundings, whichever they are.
// CHECK-LABEL: relax.func @second_time
// CHECK: relax.floor
// CHECK-NEXT: %[[Y:.*]] = relax.relu
// CHECK-NEXT: relax.output %[[Y]]
relax.func @second_time(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n], f32> {
    %1 = relax.floor %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.ceil %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %3 = relax.relu %2 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %4 = relax.relu %3 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.output %4 : !relax.tensor<[n], f32>
  }
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// A conversion without loss on the way: i8 to f32 to f64, and back to i8.
// CHECK-LABEL: relax.func @conversions
// CHECK: %[[A:.*]] = relax.astype %{{.*}} {dtype = f64} : (!relax.tensor<[n], i8>)
// CHECK-NEXT: relax.negative
// CHECK-NEXT: relax.output %[[A]]
relax.func @conversions(%x: !relax.tensor<[n], i8>) -> !relax.tuple<!relax.tensor<[n], f64>, !relax.tensor<[n], i8>> {
  %0:2 = relax.dataflow -> !relax.tensor<[n], f64>, !relax.tensor<[n], i8> {
    %1 = relax.astype %x {dtype = f32} : (!relax.tensor<[n], i8>) -> !relax.tensor<[n], f32>
    %2 = relax.astype %1 {dtype = f64} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f64>
    %3 = relax.astype %1 {dtype = i8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i8>
    %4 = relax.negative %3 : (!relax.tensor<[n], i8>) -> !relax.tensor<[n], i8>
    relax.output %2, %4 : !relax.tensor<[n], f64>, !relax.tensor<[n], i8>
  }
  %t = relax.tuple %0#0, %0#1 : !relax.tensor<[n], f64>, !relax.tensor<[n], i8>
  relax.return %t : !relax.tuple<!relax.tensor<[n], f64>, !relax.tensor<[n], i8>>
}

// -----

// Floats saturate when they become integers, so bounds beyond those of the
// integers go; narrower ones stay, and so do those of integers.
// CHECK-LABEL: relax.func @bounds
// CHECK:      %[[A:.*]] = relax.astype %x {dtype = ui8}
// CHECK-NEXT: %[[B:.*]] = relax.astype %x {dtype = i8}
// CHECK-NEXT: %[[CLIP:.*]] = relax.clip %x
// CHECK-NEXT: %[[C:.*]] = relax.astype %[[CLIP]] {dtype = ui8}
// CHECK-NEXT: %[[CLIP:.*]] = relax.clip %i
// CHECK-NEXT: %[[D:.*]] = relax.astype %[[CLIP]] {dtype = ui8}
// CHECK-NEXT: relax.output %[[A]], %[[B]], %[[C]], %[[D]]
relax.func @bounds(%x: !relax.tensor<[n], f32>, %i: !relax.tensor<[n], i32>) -> !relax.tuple<!relax.tensor<[n], ui8>, !relax.tensor<[n], i8>, !relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>> {
  %low = relax.prim_value 0 : i64
  %least = relax.prim_value -128.5 : f32
  %high = relax.prim_value 255 : i64
  %more = relax.prim_value 254.5 : f32
  %0:4 = relax.dataflow -> !relax.tensor<[n], ui8>, !relax.tensor<[n], i8>, !relax.tensor<[n], ui8>, !relax.tensor<[n], ui8> {
    %1 = relax.clip %x, %low, %high : (!relax.tensor<[n], f32>, !relax.prim<i64, 0>, !relax.prim<i64, 255>) -> !relax.tensor<[n], f32>
    %2 = relax.astype %1 {dtype = ui8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], ui8>
    %3 = relax.clip %x, %least, %high : (!relax.tensor<[n], f32>, !relax.prim<f32>, !relax.prim<i64, 255>) -> !relax.tensor<[n], f32>
    %4 = relax.astype %3 {dtype = i8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i8>
    %5 = relax.clip %x, %low, %more : (!relax.tensor<[n], f32>, !relax.prim<i64, 0>, !relax.prim<f32>) -> !relax.tensor<[n], f32>
    %6 = relax.astype %5 {dtype = ui8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], ui8>
    %7 = relax.clip %i, %low, %high : (!relax.tensor<[n], i32>, !relax.prim<i64, 0>, !relax.prim<i64, 255>) -> !relax.tensor<[n], i32>
    %8 = relax.astype %7 {dtype = ui8} : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], ui8>
    relax.output %2, %4, %6, %8 : !relax.tensor<[n], ui8>, !relax.tensor<[n], i8>, !relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>
  }
  %t = relax.tuple %0#0, %0#1, %0#2, %0#3 : !relax.tensor<[n], ui8>, !relax.tensor<[n], i8>, !relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>
  relax.return %t : !relax.tuple<!relax.tensor<[n], ui8>, !relax.tensor<[n], i8>, !relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>>
}

// -----

// A lower and an upper bound are one operator, if both are numbers, nothing else
// reads what is between them, and they do not broadcast the tensor.
// CHECK-LABEL: relax.func @two_bounds
// CHECK-DAG:  %[[LOW:.*]] = relax.prim_value 0.{{.*}} : f64
// CHECK-DAG:  %[[HIGH:.*]] = relax.prim_value 6.{{.*}} : f64
// CHECK-NEXT: %[[A:.*]] = relax.clip %x, %[[LOW]], %[[HIGH]]
// CHECK-NEXT: %[[B:.*]] = relax.maximum %x
// CHECK-NEXT: %[[C:.*]] = relax.minimum %[[B]]
// CHECK-NEXT: %[[D:.*]] = relax.maximum %x
// CHECK-NEXT: %[[E:.*]] = relax.minimum %[[D]]
// CHECK-NEXT: relax.output %[[A]], %[[B]], %[[C]], %[[E]]
relax.func @two_bounds(%x: !relax.tensor<[n], f16>) -> !relax.tuple<!relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[1, n], f16>> {
  %low = relax.constant dense<0.0> : tensor<f16>
  %high = relax.constant dense<6.0> : tensor<1xf16>
  %matrix = relax.constant dense<6.0> : tensor<1x1xf16>
  %0:4 = relax.dataflow -> !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[1, n], f16> {
    %1 = relax.maximum %x, %low : (!relax.tensor<[n], f16>, !relax.tensor<[], f16>) -> !relax.tensor<[n], f16>
    %2 = relax.minimum %1, %high : (!relax.tensor<[n], f16>, !relax.tensor<[1], f16>) -> !relax.tensor<[n], f16>
    %3 = relax.maximum %x, %low : (!relax.tensor<[n], f16>, !relax.tensor<[], f16>) -> !relax.tensor<[n], f16>
    %4 = relax.minimum %3, %high : (!relax.tensor<[n], f16>, !relax.tensor<[1], f16>) -> !relax.tensor<[n], f16>
    %5 = relax.maximum %x, %low : (!relax.tensor<[n], f16>, !relax.tensor<[], f16>) -> !relax.tensor<[n], f16>
    %6 = relax.minimum %5, %matrix : (!relax.tensor<[n], f16>, !relax.tensor<[1, 1], f16>) -> !relax.tensor<[1, n], f16>
    relax.output %2, %3, %4, %6 : !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[1, n], f16>
  }
  %t = relax.tuple %0#0, %0#1, %0#2, %0#3 : !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[1, n], f16>
  relax.return %t : !relax.tuple<!relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[n], f16>, !relax.tensor<[1, n], f16>>
}

// -----

// f32 to f16 rounds; i32 has more digits than f32; from i8 to u8 integers wrap
// around, and floats saturate.
// CHECK-LABEL: relax.func @conversions_with_loss
// CHECK-COUNT-6: relax.astype
relax.func @conversions_with_loss(%x: !relax.tensor<[n], f32>, %i: !relax.tensor<[n], i32>, %b: !relax.tensor<[n], i8>) -> !relax.tensor<[n], ui8> {
  %0:3 = relax.dataflow -> !relax.tensor<[n], f32>, !relax.tensor<[n], i32>, !relax.tensor<[n], ui8> {
    %1 = relax.astype %x {dtype = f16} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f16>
    %2 = relax.astype %1 {dtype = f32} : (!relax.tensor<[n], f16>) -> !relax.tensor<[n], f32>
    %3 = relax.astype %i {dtype = f32} : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], f32>
    %4 = relax.astype %3 {dtype = i32} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i32>
    %5 = relax.astype %b {dtype = f32} : (!relax.tensor<[n], i8>) -> !relax.tensor<[n], f32>
    %6 = relax.astype %5 {dtype = ui8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], ui8>
    relax.output %2, %4, %6 : !relax.tensor<[n], f32>, !relax.tensor<[n], i32>, !relax.tensor<[n], ui8>
  }
  %t = relax.add %0#0, %0#0 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %u = relax.add %0#1, %0#1 : (!relax.tensor<[n], i32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
  relax.return %0#2 : !relax.tensor<[n], ui8>
}

// -----

// Two transposes are one, or none.
// CHECK-LABEL: relax.func @transposes
// CHECK: relax.permute_dims %x {axes = array<i64: 1, 2, 0>}
// CHECK-NEXT: relax.exp %x
// CHECK-NEXT: relax.output
relax.func @transposes(%x: !relax.tensor<[a, b, c], f32>) -> !relax.tensor<[b, c, a], f32> {
  %0:2 = relax.dataflow -> !relax.tensor<[b, c, a], f32>, !relax.tensor<[a, b, c], f32> {
    %1 = relax.permute_dims %x : (!relax.tensor<[a, b, c], f32>) -> !relax.tensor<[c, b, a], f32>
    %2 = relax.permute_dims %1 {axes = array<i64: 1, 0, -1>} : (!relax.tensor<[c, b, a], f32>) -> !relax.tensor<[b, c, a], f32>
    %3 = relax.permute_dims %1 : (!relax.tensor<[c, b, a], f32>) -> !relax.tensor<[a, b, c], f32>
    %4 = relax.exp %3 : (!relax.tensor<[a, b, c], f32>) -> !relax.tensor<[a, b, c], f32>
    relax.output %2, %4 : !relax.tensor<[b, c, a], f32>, !relax.tensor<[a, b, c], f32>
  }
  %5 = relax.negative %0#1 : (!relax.tensor<[a, b, c], f32>) -> !relax.tensor<[a, b, c], f32>
  relax.return %0#0 : !relax.tensor<[b, c, a], f32>
}

// -----

// Reshapes of all kinds.
// CHECK-LABEL: relax.func @reshapes
// CHECK: %[[S:.*]] = relax.shape <[2, n * 2]>
// CHECK-NEXT: relax.reshape %x, %[[S]]
// CHECK-NEXT: relax.exp %x
relax.func @reshapes(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[2, n * 2], f32> {
  %0:2 = relax.dataflow -> !relax.tensor<[2, n * 2], f32>, !relax.tensor<[n, 4], f32> {
    %1 = relax.flatten %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
    %2 = relax.expand_dims %1 {axis = array<i64: 0>} : (!relax.tensor<[n * 4], f32>) -> !relax.tensor<[1, n * 4], f32>
    %s = relax.shape <[2, n * 2]>
    %3 = relax.reshape %2, %s : (!relax.tensor<[1, n * 4], f32>, !relax.shape<[2, n * 2]>) -> !relax.tensor<[2, n * 2], f32>
    %4 = relax.expand_dims %x {axis = array<i64: 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 1, 4], f32>
    %5 = relax.squeeze %4 {axis = array<i64: 1>} : (!relax.tensor<[n, 1, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %6 = relax.exp %5 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %3, %6 : !relax.tensor<[2, n * 2], f32>, !relax.tensor<[n, 4], f32>
  }
  %7 = relax.negative %0#1 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0#0 : !relax.tensor<[2, n * 2], f32>
}

// -----

// A transpose of merged dimensions moves each of them, as that of the keys in exports of PyTorch to
// ONNX; not where others than those that were merged are there behind it, or the product is none.
// CHECK-LABEL: relax.func @merged_dims
// CHECK: relax.permute_dims %x {axes = array<i64: 0, 1, 3, 2>} {{.*}} -> !relax.tensor<[b, 6, 64, n], f32>
// CHECK: relax.permute_dims %x {axes = array<i64: 2, 3, 0, 1>} {{.*}} -> !relax.tensor<[n, 64, b, 6], f32>
// CHECK: relax.permute_dims {{.*}} -> !relax.tensor<[64, n, b * 6], f32>
// CHECK: relax.reshape {{.*}} -> !relax.tensor<[64, n, 6, b], f32>
relax.func @merged_dims(%x: !relax.tensor<[b, 6, n, 64], f32>) -> !relax.tensor<[b, 6, 64, n], f32> {
  %0:3 = relax.dataflow -> !relax.tensor<[b, 6, 64, n], f32>, !relax.tensor<[n, 64, b, 6], f32>, !relax.tensor<[64, n, 6, b], f32> {
    %s = relax.shape <[b * 6, n, 64]>
    %1 = relax.reshape %x, %s : (!relax.tensor<[b, 6, n, 64], f32>, !relax.shape<[b * 6, n, 64]>) -> !relax.tensor<[b * 6, n, 64], f32>
    %2 = relax.permute_dims %1 {axes = array<i64: 0, 2, 1>} : (!relax.tensor<[b * 6, n, 64], f32>) -> !relax.tensor<[b * 6, 64, n], f32>
    %t = relax.shape <[b, 6, 64, n]>
    %3 = relax.reshape %2, %t : (!relax.tensor<[b * 6, 64, n], f32>, !relax.shape<[b, 6, 64, n]>) -> !relax.tensor<[b, 6, 64, n], f32>
    %u = relax.shape <[b * 6, n * 64]>
    %4 = relax.reshape %x, %u : (!relax.tensor<[b, 6, n, 64], f32>, !relax.shape<[b * 6, n * 64]>) -> !relax.tensor<[b * 6, n * 64], f32>
    %5 = relax.permute_dims %4 : (!relax.tensor<[b * 6, n * 64], f32>) -> !relax.tensor<[n * 64, b * 6], f32>
    %v = relax.shape <[n, 64, b, 6]>
    %6 = relax.reshape %5, %v : (!relax.tensor<[n * 64, b * 6], f32>, !relax.shape<[n, 64, b, 6]>) -> !relax.tensor<[n, 64, b, 6], f32>
    %7 = relax.permute_dims %1 : (!relax.tensor<[b * 6, n, 64], f32>) -> !relax.tensor<[64, n, b * 6], f32>
    %w = relax.shape <[64, n, 6, b]>
    %8 = relax.reshape %7, %w : (!relax.tensor<[64, n, b * 6], f32>, !relax.shape<[64, n, 6, b]>) -> !relax.tensor<[64, n, 6, b], f32>
    relax.output %3, %6, %8 : !relax.tensor<[b, 6, 64, n], f32>, !relax.tensor<[n, 64, b, 6], f32>, !relax.tensor<[64, n, 6, b], f32>
  }
  %9 = relax.negative %0#1 : (!relax.tensor<[n, 64, b, 6], f32>) -> !relax.tensor<[n, 64, b, 6], f32>
  %10 = relax.negative %0#2 : (!relax.tensor<[64, n, 6, b], f32>) -> !relax.tensor<[64, n, 6, b], f32>
  relax.return %0#0 : !relax.tensor<[b, 6, 64, n], f32>
}

// -----

// Outside of a dataflow block a reshape that may fail stays.
// CHECK-LABEL: relax.func @reshape_with_check
// CHECK-COUNT-2: relax.reshape
relax.func @reshape_with_check(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[1, 4], f32> {
  %s = relax.shape <[4]>
  %0 = relax.reshape %x, %s : (!relax.tensor<[n], f32>, !relax.shape<[4]>) -> !relax.tensor<[4], f32>
  %t = relax.shape <[1, 4]>
  %1 = relax.reshape %0, %t : (!relax.tensor<[4], f32>, !relax.shape<[1, 4]>) -> !relax.tensor<[1, 4], f32>
  relax.return %1 : !relax.tensor<[1, 4], f32>
}

// -----

// CHECK-LABEL: relax.func @nothing_moves
// CHECK: %[[X:.*]] = relax.exp
// CHECK-NEXT: relax.output %[[X]]
relax.func @nothing_moves(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, 4], f32> {
    %s = relax.shape <[n, 4]>
    %begin = relax.shape <[0]>
    %end = relax.shape <[4]>
    %1 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %2 = relax.broadcast_to %1, %s : (!relax.tensor<[n, 4], f32>, !relax.shape<[n, 4]>) -> !relax.tensor<[n, 4], f32>
    %3 = relax.flip %2 {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %4 = relax.flip %3 {axis = -1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %5 = relax.tile %4 {repeats = array<i64: 1, 1>} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %6 = relax.repeat %5 {repeats = 1 : i64, axis = 0 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %7 = relax.strided_slice %6, %begin, %end {axes = array<i64: 1>} : (!relax.tensor<[n, 4], f32>, !relax.shape<[0]>, !relax.shape<[4]>) -> !relax.tensor<[n, 4], f32>
    %8 = relax.concat %7 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %8 : !relax.tensor<[n, 4], f32>
  }
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

// Concatenations of concatenations along the axis; all parts of a split.
// CHECK-LABEL: relax.func @concatenations
// CHECK: relax.concat %x, %y, %x
// CHECK-NEXT: relax.exp %x
relax.func @concatenations(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 10], f32> {
  %0:2 = relax.dataflow -> !relax.tensor<[n, 10], f32>, !relax.tensor<[n, 4], f32> {
    %1 = relax.concat %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 6], f32>
    %2 = relax.concat %1, %x {axis = -1 : i64} : (!relax.tensor<[n, 6], f32>, !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 10], f32>
    %3 = relax.split %x {sections = 2 : i64, axis = 1 : i64} : (!relax.tensor<[n, 4], f32>) -> !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>>
    %4 = relax.get_item %3[0] : !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>>
    %5 = relax.get_item %3[1] : !relax.tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>>
    %6 = relax.concat %4, %5 {axis = 1 : i64} : (!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 4], f32>
    %7 = relax.exp %6 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %2, %7 : !relax.tensor<[n, 10], f32>, !relax.tensor<[n, 4], f32>
  }
  %8 = relax.negative %0#1 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0#0 : !relax.tensor<[n, 10], f32>
}

// -----

// A slice of one part of a concatenation; one over two parts stays.
// CHECK-LABEL: relax.func @slice_of_concatenation
// CHECK-DAG: %[[ONE:.*]] = relax.shape <[1]>
// CHECK-DAG: %[[TWO:.*]] = relax.shape <[2]>
// CHECK: relax.strided_slice %y, %[[ONE]], %[[TWO]]
// CHECK: %[[C:.*]] = relax.concat
// CHECK: relax.strided_slice %[[C]]
relax.func @slice_of_concatenation(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 1], f32> {
  %0:2 = relax.dataflow -> !relax.tensor<[n, 1], f32>, !relax.tensor<[n, 2], f32> {
    %b = relax.shape <[5]>
    %e = relax.shape <[6]>
    %1 = relax.concat %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 6], f32>
    %2 = relax.strided_slice %1, %b, %e {axes = array<i64: 1>} : (!relax.tensor<[n, 6], f32>, !relax.shape<[5]>, !relax.shape<[6]>) -> !relax.tensor<[n, 1], f32>
    %b3 = relax.shape <[3]>
    %e5 = relax.shape <[5]>
    %3 = relax.concat %x, %y {axis = 1 : i64} : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 6], f32>
    %4 = relax.strided_slice %3, %b3, %e5 {axes = array<i64: 1>} : (!relax.tensor<[n, 6], f32>, !relax.shape<[3]>, !relax.shape<[5]>) -> !relax.tensor<[n, 2], f32>
    relax.output %2, %4 : !relax.tensor<[n, 1], f32>, !relax.tensor<[n, 2], f32>
  }
  %5 = relax.negative %0#1 : (!relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 2], f32>
  relax.return %0#0 : !relax.tensor<[n, 1], f32>
}

// -----

// CHECK-LABEL: relax.func @known_conditions
// CHECK-NOT: relax.where
// CHECK: relax.if
// CANON-LABEL: relax.func @known_conditions
// CANON-NEXT: %[[R:.*]] = relax.seq
// CANON-NEXT: relax.negative
// CANON-NEXT: relax.yield
relax.func @known_conditions(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>, %c: !relax.tensor<[n], i1>) -> !relax.tensor<[n], f32> {
  %true = relax.constant dense<true> : tensor<i1>
  %0 = relax.where %true, %x, %y : (!relax.tensor<[], i1>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.where %c, %0, %0 : (!relax.tensor<[n], i1>, !relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %2 = relax.if %true : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %3 = relax.negative %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %3 : !relax.tensor<[n], f32>
  } else {
    %3 = relax.exp %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %3 : !relax.tensor<[n], f32>
  }
  relax.return %2 : !relax.tensor<[n], f32>
}

// -----

// The caller would get the tensor that it gave, and could tell.
// CHECK-LABEL: relax.func @own_memory
// CHECK: %[[Y:.*]] = relax.multiply
// CHECK-NEXT: relax.return %[[Y]]
// CANON-LABEL: relax.func @own_memory
// CANON: %[[Y:.*]] = relax.multiply
// CANON-NEXT: relax.return %[[Y]]
relax.func @own_memory(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %one = relax.constant dense<1.0> : tensor<f32>
  %0 = relax.multiply %x, %one : (!relax.tensor<[n], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// What is read has been updated in between.
// CHECK-LABEL: relax.func impure @updated
// CHECK: relax.negative
// CHECK: relax.negative
relax.func impure @updated(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.negative %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_packed "update"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %2 = relax.negative %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %3 = relax.exp %2 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %3 : !relax.tensor<[n], f32>
}

// -----

// So has what is rounded.
// CHECK-LABEL: relax.func impure @rounded_and_updated
// CHECK: relax.floor
// CHECK: relax.ceil
relax.func impure @rounded_and_updated(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.floor %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.call_packed "update"(%0) : (!relax.tensor<[n], f32>) -> !relax.object
  %2 = relax.ceil %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %3 = relax.exp %2 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %3 : !relax.tensor<[n], f32>
}
