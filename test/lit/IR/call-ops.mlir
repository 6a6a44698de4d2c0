// RUN: %roundtrip

// Calls of kernels, packed functions, Relax functions and function values.

// CHECK-LABEL: func.func private @exp
func.func private @exp(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
// CHECK-LABEL: func.func private @split
func.func private @split(memref<?xi8>, memref<?x4xf32>, i64, i64, memref<?xf32>, memref<f32>)
// CHECK-LABEL: func.func private @fill
func.func private @fill(tensor<2x?xi8>) -> tensor<2x?xi8>

// CHECK-LABEL: relax.func @op01_call_tir
relax.func @op01_call_tir(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // CHECK: relax.call_tir @exp(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %0 = relax.call_tir @exp(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// OP01: integers, and a tuple of outputs; the static dimension of the kernel is known.
// CHECK-LABEL: relax.func @op01_packed_ints
relax.func @op01_packed_ints(%x: !relax.tensor<[n], i8>, %y: !relax.tensor<[m, 4], f32>, %s: !relax.shape<[n, m]>) -> !relax.object {
  // CHECK: relax.call_tir @split(%x, %y) packed_ints %s : !relax.shape<[n, m]> : (!relax.tensor<[n], i8>, !relax.tensor<[m, 4], f32>) -> !relax.tuple<!relax.tensor<[m + n], f32>, !relax.tensor<[], f32>>
  %0 = relax.call_tir @split(%x, %y) packed_ints %s : !relax.shape<[n, m]> : (!relax.tensor<[n], i8>, !relax.tensor<[m, 4], f32>) -> !relax.tuple<!relax.tensor<[m + n], f32>, !relax.tensor<[], f32>>
  relax.return %0 : !relax.tuple<!relax.tensor<[m + n], f32>, !relax.tensor<[], f32>>
}

// OP01: no inputs. Kernels hold unsigned integers in signless ones.
// CHECK-LABEL: relax.func @op01_no_inputs
relax.func @op01_no_inputs(%s: !relax.shape<[n]>) -> !relax.tensor<[2, n], ui8> {
  // CHECK: relax.call_tir @fill() : () -> !relax.tensor<[2, n], ui8>
  %0 = relax.call_tir @fill() : () -> !relax.tensor<[2, n], ui8>
  relax.return %0 : !relax.tensor<[2, n], ui8>
}

// CHECK-LABEL: relax.func @op03_call_dps_packed
relax.func @op03_call_dps_packed(%x: !relax.tensor<[n], f32>, %o: !relax.object) -> !relax.object {
  // CHECK: relax.call_dps_packed "my.tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>
  %0 = relax.call_dps_packed "my.tile"(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * 2], f32>
  // Any value as an argument, and several outputs.
  // CHECK: relax.call_dps_packed "my.pair"(%x, %o) : (!relax.tensor<[n], f32>, !relax.object) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[1], i64>>
  %1 = relax.call_dps_packed "my.pair"(%x, %o) : (!relax.tensor<[n], f32>, !relax.object) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[1], i64>>
  // CHECK: relax.call_dps_packed "my.none"() : () -> !relax.tuple<>
  %2 = relax.call_dps_packed "my.none"() : () -> !relax.tuple<>
  relax.return %o : !relax.object
}

// CHECK-LABEL: relax.func impure @op04_call_packed
relax.func impure @op04_call_packed(%x: !relax.tensor<[n], f32>) -> !relax.object {
  // CHECK: relax.call_packed "my.print"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %0 = relax.call_packed "my.print"(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  // CHECK: relax.call_packed "my.shape"() : () -> !relax.shape<ndim = 2>
  %1 = relax.call_packed "my.shape"() : () -> !relax.shape<ndim = 2>
  relax.return %0 : !relax.object
}

// CHECK-LABEL: relax.func private @square
relax.func private @square(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n * n], f32>

// GR14, DR12: the variable `n` of the callee is `m * 2` here.
// CHECK-LABEL: relax.func @gr14_call
relax.func @gr14_call(%x: !relax.tensor<[m * 2], f32>, %s: !relax.shape<[m]>) -> !relax.tensor<[m * m * 4], f32> {
  // CHECK: relax.call @square(%x) : (!relax.tensor<[m * 2], f32>) -> !relax.tensor<[m * m * 4], f32>
  %0 = relax.call @square(%x) : (!relax.tensor<[m * 2], f32>) -> !relax.tensor<[m * m * 4], f32>
  relax.return %0 : !relax.tensor<[m * m * 4], f32>
}

// DR12: what is not known of the argument is not known of the result, and what
// cannot be proven of it is checked on entry of the callee.
// CHECK-LABEL: relax.func @dr12_erased_result
relax.func @dr12_erased_result(%x: !relax.tensor<*, f32>, %o: !relax.object) -> !relax.object {
  // CHECK: relax.call @square(%x) : (!relax.tensor<*, f32>) -> !relax.tensor<ndim = 1, f32>
  %0 = relax.call @square(%x) : (!relax.tensor<*, f32>) -> !relax.tensor<ndim = 1, f32>
  // CHECK: relax.call @square(%o) : (!relax.object) -> !relax.tensor<ndim = 1>
  %1 = relax.call @square(%o) : (!relax.object) -> !relax.tensor<ndim = 1>
  relax.return %1 : !relax.tensor<ndim = 1>
}

// SC01: functions see each other and themselves.
// CHECK-LABEL: relax.func @sc01_even
relax.func @sc01_even(%x: !relax.prim<i64>) -> !relax.prim<i1> {
  // CHECK: relax.call @sc01_odd(%x) : (!relax.prim<i64>) -> !relax.prim<i1>
  %0 = relax.call @sc01_odd(%x) : (!relax.prim<i64>) -> !relax.prim<i1>
  relax.return %0 : !relax.prim<i1>
}
// CHECK-LABEL: relax.func @sc01_odd
relax.func @sc01_odd(%x: !relax.prim<i64>) -> !relax.prim<i1> {
  // CHECK: relax.call @sc01_even(%x) : (!relax.prim<i64>) -> !relax.prim<i1>
  %0 = relax.call @sc01_even(%x) : (!relax.prim<i64>) -> !relax.prim<i1>
  // CHECK: relax.call @sc01_odd(%x) : (!relax.prim<i64>) -> !relax.prim<i1>
  %1 = relax.call @sc01_odd(%x) : (!relax.prim<i64>) -> !relax.prim<i1>
  relax.return %1 : !relax.prim<i1>
}

// GR14: function values are called like functions.
// CHECK-LABEL: relax.func impure @gr14_function_values
relax.func impure @gr14_function_values(%f: !relax.func<(!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>, pure>, %x: !relax.tensor<[n], f32>) -> !relax.object {
  // CHECK: relax.call %f : !relax.func<(!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>, pure>(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %0 = relax.call %f : !relax.func<(!relax.tensor<[k], f32>) -> !relax.tensor<[k], f32>, pure>(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // GR13, DR10: a packed function derives an object.
  // CHECK: relax.extern_func "my.function"
  %1 = relax.extern_func "my.function"
  // CHECK: relax.call %{{.*}} : !relax.func<derive = @default_derive>(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  %2 = relax.call %1 : !relax.func<derive = @default_derive>(%x) : (!relax.tensor<[n], f32>) -> !relax.object
  relax.return %2 : !relax.object
}

// A pure call may stand in a dataflow block (WF07).
// CHECK-LABEL: relax.func @wf07_pure_call
relax.func @wf07_pure_call(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n * n], f32> {
  // CHECK: relax.dataflow -> !relax.tensor<[n * n], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n * n], f32> {
    // CHECK: relax.call @square(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * n], f32>
    %1 = relax.call @square(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n * n], f32>
    // CHECK: relax.output
    relax.output %1 : !relax.tensor<[n * n], f32>
  }
  relax.return %0 : !relax.tensor<[n * n], f32>
}

// CHECK-LABEL: func.func private @scale
func.func private @scale(memref<?xf32>, f32, i8, i1, memref<?xf32>)

// OP01: scalars, alone and in a tuple. Kernels hold unsigned ones in signless ones.
// CHECK-LABEL: relax.func @op01_scalars
relax.func @op01_scalars(%x: !relax.tensor<[n], f32>, %s: !relax.prim<f32>, %t: !relax.tuple<!relax.prim<ui8>, !relax.prim<i1>>) -> !relax.tensor<[n], f32> {
  // CHECK: relax.call_tir @scale(%x, %s, %t) : (!relax.tensor<[n], f32>, !relax.prim<f32>, !relax.tuple<!relax.prim<ui8>, !relax.prim<i1>>) -> !relax.tensor<[n], f32>
  %0 = relax.call_tir @scale(%x, %s, %t) : (!relax.tensor<[n], f32>, !relax.prim<f32>, !relax.tuple<!relax.prim<ui8>, !relax.prim<i1>>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}

// CHECK-LABEL: func.func private @scale_in_place
func.func private @scale_in_place(f32, memref<?xf32>)

// OP02: the position of what is updated counts scalars.
// CHECK-LABEL: relax.func @op02_scalar
relax.func @op02_scalar(%x: !relax.tensor<[n], f32>, %s: !relax.prim<f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  // CHECK: relax.call_tir_inplace @scale_in_place(%s, %{{.*}}) inplace [1]
  %1 = relax.call_tir_inplace @scale_in_place(%s, %0) inplace [1] : (!relax.prim<f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %1 : !relax.tensor<[n], f32>
}

// CHECK-LABEL: func.func private @twice
func.func private @twice(%n: i64) -> i64 {
  %0 = arith.addi %n, %n : i64
  return %0 : i64
}
// CHECK-LABEL: func.func private @is_even
func.func private @is_even(%n: i64) -> i1 {
  %c = arith.constant 2 : i64
  %zero = arith.constant 0 : i64
  %twice = func.call @twice(%n) : (i64) -> i64
  %r = arith.remsi %twice, %c : i64
  %0 = arith.cmpi eq, %r, %zero : i64
  return %0 : i1
}

// DR14, DR15: a kernel of scalars alone gives a scalar and is pure.
// CHECK-LABEL: relax.func @dr14_scalar_kernel
relax.func @dr14_scalar_kernel(%n: !relax.prim<i64>) -> !relax.prim<i1> {
  // CHECK: relax.call @is_even(%n) : (!relax.prim<i64>) -> !relax.prim<i1>
  %0 = relax.call @is_even(%n) : (!relax.prim<i64>) -> !relax.prim<i1>
  relax.return %0 : !relax.prim<i1>
}
