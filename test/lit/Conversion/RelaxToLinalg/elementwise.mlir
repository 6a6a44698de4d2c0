// RUN: relax-opt %s -relax-legalize-ops -split-input-file | FileCheck %s

// Symbolic dimensions are dynamic in the kernel, which returns its output.
// CHECK-LABEL: relax.func @unary
// CHECK-SAME:    (%[[X:.*]]: !relax.tensor<[n, 4], f32>)
// CHECK:         relax.call_tir @exp(%[[X]]) : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
// CHECK:       func.func private @exp(%[[IN:.*]]: tensor<?x4xf32>, %[[OUT:.*]]: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK:         %[[R:.*]] = linalg.generic
// CHECK-SAME:      iterator_types = ["parallel", "parallel"]
// CHECK-SAME:      ins(%[[IN]] : tensor<?x4xf32>) outs(%[[OUT]] : tensor<?x4xf32>)
// CHECK:           math.exp %{{.*}} : f32
// CHECK:         return %[[R]]
relax.func @unary(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
  relax.return %0 : !relax.tensor<[n, 4], f32>
}

// -----

// A dimension that is 1 is read at 0; leading ones are dropped from the map.
// CHECK-DAG:   #[[SCALAR:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-DAG:   #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG:   #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: relax.func @broadcast
// CHECK:       func.func private @where(%{{.*}}: tensor<1x?xi1>, %{{.*}}: tensor<?xf32>, %{{.*}}: tensor<?x?xf32>, %{{.*}}: tensor<?x?xf32>)
// CHECK:         indexing_maps = [#[[SCALAR]], #[[ROW]], #[[ALL]], #[[ALL]]]
// CHECK:           arith.select
relax.func @broadcast(%c: !relax.tensor<[1, m], i1>, %x: !relax.tensor<[m], f32>,
                      %y: !relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32> {
  %0 = relax.where %c, %x, %y : (!relax.tensor<[1, m], i1>, !relax.tensor<[m], f32>, !relax.tensor<[n, m], f32>) -> !relax.tensor<[n, m], f32>
  relax.return %0 : !relax.tensor<[n, m], f32>
}

// -----

// Floats of 16 bits are computed with as f32.
// CHECK-LABEL: relax.func @half
// CHECK:       func.func private @tanh
// CHECK:         %[[WIDE:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[R:.*]] = math.tanh %[[WIDE]] : f32
// CHECK:         arith.truncf %[[R]] : f32 to bf16
relax.func @half(%x: !relax.tensor<[n], bf16>) -> !relax.tensor<[n], bf16> {
  %0 = relax.tanh %x : (!relax.tensor<[n], bf16>) -> !relax.tensor<[n], bf16>
  relax.return %0 : !relax.tensor<[n], bf16>
}

// -----

// Equal operators share a kernel, also with other variables; other data types,
// signedness or constants make another. Names of the module are not taken.
// CHECK-LABEL: relax.func @share
// CHECK-NEXT:    relax.call_tir @maximum1(%a, %b)
// CHECK-NEXT:    relax.call_tir @maximum1(%b, %a)
// CHECK-NEXT:    relax.call_tir @maximum1(%c, %c)
// CHECK-NEXT:    relax.call_tir @maximum2(%u, %u)
// CHECK-NEXT:    relax.call_tir @maximum3(%k, %k)
// CHECK:       relax.func private @maximum()
// CHECK:       func.func private @maximum1
// CHECK:         arith.maxsi
// CHECK:       func.func private @maximum2
// CHECK:         arith.maxui
// CHECK:       func.func private @maximum3
// CHECK-NOT:   func.func
relax.func @share(%a: !relax.tensor<[n], i8>, %b: !relax.tensor<[n], i8>, %c: !relax.tensor<[m], i8>,
                  %u: !relax.tensor<[n], ui8>, %k: !relax.tensor<[4], i8>) -> !relax.object {
  %0 = relax.maximum %a, %b : (!relax.tensor<[n], i8>, !relax.tensor<[n], i8>) -> !relax.tensor<[n], i8>
  %1 = relax.maximum %b, %a : (!relax.tensor<[n], i8>, !relax.tensor<[n], i8>) -> !relax.tensor<[n], i8>
  %2 = relax.maximum %c, %c : (!relax.tensor<[m], i8>, !relax.tensor<[m], i8>) -> !relax.tensor<[m], i8>
  %3 = relax.maximum %u, %u : (!relax.tensor<[n], ui8>, !relax.tensor<[n], ui8>) -> !relax.tensor<[n], ui8>
  %4 = relax.maximum %k, %k : (!relax.tensor<[4], i8>, !relax.tensor<[4], i8>) -> !relax.tensor<[4], i8>
  relax.return %4 : !relax.tensor<[4], i8>
}
relax.func private @maximum() -> !relax.object {
  %0 = relax.null_value
  relax.return %0 : !relax.object
}

// -----

// The derived types replace weaker declared ones, in nested blocks as well.
// CHECK-LABEL: relax.func @weaker
// CHECK:         relax.dataflow
// CHECK:           %[[A:.*]] = relax.call_tir @abs(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
// CHECK:           relax.call_tir @negative(%[[A]]) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
relax.func @weaker(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.dataflow -> !relax.tensor<*> {
    %1 = relax.abs %x : (!relax.tensor<[n], f32>) -> !relax.tensor<*>
    %2 = relax.negative %1 : (!relax.tensor<*>) -> !relax.tensor<*>
    relax.output %2 : !relax.tensor<*>
  }
  relax.return %0 : !relax.tensor<*>
}

// -----

// A divisor of 0 gives 0, and neither it nor -1 reaches the division.
// CHECK-LABEL: func.func private @divide
// CHECK:         %[[ZERO:.*]] = arith.cmpi eq, %[[B:.*]], %[[C0:.*]] : i32
// CHECK:         %[[MINUS:.*]] = arith.cmpi eq, %[[B]], %{{.*}} : i32
// CHECK:         %[[UNSAFE:.*]] = arith.ori %[[ZERO]], %[[MINUS]]
// CHECK:         %[[SAFE:.*]] = arith.select %[[UNSAFE]], %{{.*}}, %[[B]]
// CHECK:         arith.divsi %{{.*}}, %[[SAFE]] : i32
// CHECK:         arith.select %[[ZERO]], %[[C0]]
relax.func @divide_ints(%x: !relax.tensor<[n], i32>, %y: !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32> {
  %0 = relax.divide %x, %y : (!relax.tensor<[n], i32>, !relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>
  relax.return %0 : !relax.tensor<[n], i32>
}

// -----

// A conversion to the data type that there is leaves no kernel.
// CHECK-LABEL: relax.func @astype_same
// CHECK-NEXT: return %{{.*}} : !relax.tensor<[n], f32>
relax.func @astype_same(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.astype %x {dtype = f32} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// -----

// Only a float in range is converted to an integer. Where all of its integers
// are floats, others become the nearest one of them before, and NaN 0.
// CHECK-LABEL: func.func private @astype
// CHECK:         %[[INSIDE:.*]] = arith.andi
// CHECK:         %[[SAFE:.*]] = arith.select %[[INSIDE]]
// CHECK:         arith.fptosi %[[SAFE]] : f32 to i32
// CHECK-LABEL: func.func private @astype1
// CHECK:         %[[LOW:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[IS_ABOVE:.*]] = arith.cmpf ogt, %[[X:.*]], %[[LOW]]
// CHECK:         %[[ABOVE:.*]] = arith.select %[[IS_ABOVE]], %[[X]], %[[LOW]]
// CHECK:         %[[HIGH:.*]] = arith.constant 2.550000e+02 : f32
// CHECK:         %[[IS_BELOW:.*]] = arith.cmpf olt, %[[ABOVE]], %[[HIGH]]
// CHECK:         %[[CLAMPED:.*]] = arith.select %[[IS_BELOW]], %[[ABOVE]], %[[HIGH]]
// CHECK-NOT:     arith.cmpf
// CHECK:         %[[WIDE:.*]] = arith.fptosi %[[CLAMPED]] : f32 to i32
// CHECK:         arith.trunci %[[WIDE]] : i32 to i8
// CHECK-LABEL: func.func private @astype2
// CHECK:         %[[IS_NUMBER:.*]] = arith.cmpf oeq, %[[X:.*]], %[[X]]
// CHECK:         %[[SAFE:.*]] = arith.select %[[IS_NUMBER]]
// CHECK:         arith.fptosi %[[SAFE]] : f32 to i32
relax.func @cast(%x: !relax.tensor<[n], f32>) -> !relax.object {
  %0 = relax.astype %x {dtype = i32} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i32>
  %1 = relax.astype %x {dtype = ui8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], ui8>
  %2 = relax.astype %x {dtype = i8} : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], i8>
  %3 = relax.tuple %0, %1, %2 : !relax.tensor<[n], i32>, !relax.tensor<[n], ui8>, !relax.tensor<[n], i8>
  relax.return %3 : !relax.tuple<!relax.tensor<[n], i32>, !relax.tensor<[n], ui8>, !relax.tensor<[n], i8>>
}

// -----

// Comparisons of floats are ordered, but for !=; of unsigned ones unsigned.
// CHECK-LABEL: func.func private @less
// CHECK:         arith.cmpf olt
// CHECK-LABEL: func.func private @not_equal
// CHECK:         arith.cmpf une
// CHECK-LABEL: func.func private @less1
// CHECK:         arith.cmpi ult
relax.func @compare(%x: !relax.tensor<[n], f32>, %u: !relax.tensor<[n], ui32>) -> !relax.object {
  %0 = relax.less %x, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], i1>
  %1 = relax.not_equal %x, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], i1>
  %2 = relax.less %u, %u : (!relax.tensor<[n], ui32>, !relax.tensor<[n], ui32>) -> !relax.tensor<[n], i1>
  relax.return %2 : !relax.tensor<[n], i1>
}

// -----

// What was declared stays for all but operators: the device is open here.
// CHECK-LABEL: relax.func @declared
relax.func @declared(%x: !relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32, @b> {
  // CHECK: %[[EXP:.*]] = relax.call_tir @exp{{.*}}(%x) : (!relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32, @a>
  %0 = relax.exp %x : (!relax.tensor<[n], f32, @a>) -> !relax.tensor<[n], f32>
  // CHECK: %[[DECLARED:.*]] = relax.match_cast %[[EXP]] : !relax.tensor<[n], f32, @a> -> !relax.tensor<[n], f32>
  // CHECK: relax.call_tir @abs{{.*}}(%[[EXP]])
  %1 = relax.abs %0 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32, @a>
  // CHECK: relax.return %[[DECLARED]]
  relax.return %0 : !relax.tensor<[n], f32>
}
