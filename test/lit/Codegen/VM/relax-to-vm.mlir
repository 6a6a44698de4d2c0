// RUN: relax-translate --relax-to-vm %s | FileCheck %s

// VM06, VM09: the pool comes first, then what functions need beside it, each
// value once.
// CHECK: constant #0 = tensor float32 [2] 0x0000803f00000040
// CHECK-NEXT: constant #1 = tensor bool [2] 0x0100
// CHECK-NEXT: constant #2 = none
// CHECK-NEXT: constant #3 = int 3
// CHECK-NEXT: constant #4 = float 2.5
// CHECK-NEXT: constant #5 = bool true
// CHECK-NEXT: constant #6 = string "s\0a\ff\""
// CHECK-NEXT: constant #7 = dtype float32
// CHECK-NEXT: constant #8 = shape [4, 4]
// CHECK-NEXT: constant #9 = float 0x7ff0000000000000
module attributes {relax.constants = [dense<[1.0, 2.0]> : tensor<2xf32>, dense<[true, false]> : tensor<2xi1>]} {

func.func private @exp(%x: memref<?xf32>, %k: i64, %y: memref<?xf32>) { return }
func.func private @scale(%x: tensor<?xf32>, %a: f32, %b: i32, %y: tensor<?xf32>) -> tensor<?xf32> { return %y : tensor<?xf32> }
func.func private @update(%x: memref<?xf32>, %y: memref<?xf32>) { return }
func.func private @work(%x: memref<?xf32>) { return }

// RF07, RF08: the shape heap holds dimensions; what is dead leaves its register
// to what comes. The parameter is dead after the first kernel.
// CHECK-LABEL: function RF08_chain(x) registers 2 heap 1 info "{}" {
// CHECK-NEXT: site 0 = "argument 'x'", "!relax.tensor<[n], f32>", "{{.*}}relax-to-vm.mlir:[[#]]:3"
// CHECK: call builtin tensor_check(site 0, %0, 1, float32, 1, 0)
// CHECK-NEXT: $0 = call builtin dim(site [[#]], %0, 0)
// CHECK-NEXT: %1 = call builtin tensor_alloc(site [[#]], [$0], float32, 1, 0)
// CHECK-NEXT: call kernel "exp"(read %0, scalar $0, write %1) site [[#]]
// CHECK-NEXT: %0 = call builtin tensor_alloc(site [[#]], [$0], float32, 1, 0)
// CHECK-NEXT: call kernel "exp"(read %1, scalar $0, write %0) site [[#]]
// CHECK-NEXT: call builtin value_kill(%1)
// CHECK-NEXT: %1 = call builtin tensor_alloc(site [[#]], [$0], float32, 1, 0)
// CHECK-NEXT: call kernel "exp"(read %0, scalar $0, write %1) site [[#]]
// CHECK-NEXT: ret %1
relax.func @RF08_chain(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32> attributes {relax.runtime_struct_info = "{}"} {
  relax.builtin.check %x is !relax.tensor<ndim = 1, f32> as "argument 'x'" expecting "!relax.tensor<[n], f32>" : !relax.tensor<ndim = 1, f32>
  %n = relax.builtin.dim %x[0] : !relax.tensor<ndim = 1, f32>
  %a = relax.builtin.alloc_tensor(%n) : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @exp(%x) ints(%n) outs(%a) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  %b = relax.builtin.alloc_tensor(%n) : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @exp(%a) ints(%n) outs(%b) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.builtin.kill %a : !relax.tensor<ndim = 1, f32>
  %c = relax.builtin.alloc_tensor(%n) : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @exp(%b) ints(%n) outs(%c) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  relax.return %c : !relax.tensor<ndim = 1, f32>
}

// RF08: arithmetic of dimensions; slots are reused. Comparisons are 0 and 1.
// CHECK-LABEL: function RF08_arithmetic(s) registers 1 heap 3 {
// CHECK: $0 = call builtin dim(site [[#]], %0, 0)
// CHECK-NEXT: $1 = call builtin dim(site [[#]], %0, 1)
// CHECK-NEXT: call builtin divisor_check(site [[#]], $1)
// CHECK-NEXT: $2 = call builtin exact_floordiv(site [[#]], $0, $1)
// CHECK-NEXT: $0 = call builtin exact_mul(site [[#]], $2, $1)
// CHECK-NEXT: $1 = call builtin lt($0, 17)
// CHECK-NEXT: $2 = call builtin select($1, $0, -3)
// CHECK-NEXT: $0 = call builtin max($2, $1)
// CHECK-NEXT: call builtin dim_check(site [[#]], 1, "n * 4", $0, $2)
// CHECK-NEXT: call builtin lower_bound_check(site [[#]], "tir_var_lower_bound['n']", 1, $0)
// CHECK-NEXT: call builtin upper_bound_check(site [[#]], "tir_var_upper_bound['n']", 9, $0)
// CHECK-NEXT: %0 = call builtin shape_make([$0, 4])
// CHECK-NEXT: ret %0
relax.func @RF08_arithmetic(%s: !relax.shape<ndim = 2>) -> !relax.object {
  %a = relax.builtin.dim %s[0] : !relax.shape<ndim = 2>
  %b = relax.builtin.dim %s[1] : !relax.shape<ndim = 2>
  relax.builtin.check_divisor %b of "n floordiv m"
  %c4 = arith.constant 4 : i64
  %c17 = arith.constant 17 : i64
  %cn = arith.constant -3 : i64
  %0 = arith.floordivsi %a, %b : i64
  %1 = arith.muli %0, %b : i64
  %2 = arith.cmpi slt, %1, %c17 : i64
  %3 = arith.select %2, %1, %cn : i64
  %4 = arith.extui %2 : i1 to i64
  %5 = arith.maxsi %3, %4 : i64
  relax.builtin.check_dim %3 equals %5 at 1 of "match_cast" expecting "!relax.shape<[m, n * 4]>" where "n * 4"
  relax.builtin.check_bounds %5 from 1 to 9 of "n"
  %6 = relax.builtin.make_shape(%5, %c4) : !relax.shape<ndim = 2>
  relax.return %6 : !relax.shape<ndim = 2>
}

// VM09: on each path a value dies after its last use there, or where the path
// begins; both branches put the result in one register without a copy.
// CHECK-LABEL: function VM09_branches(c, x) registers 4 heap 0 {
// CHECK: %2 = call packed "make"(%1) site [[#]]
// CHECK-NEXT: %3 = call packed "make"(%1) site [[#]]
// CHECK-NEXT: if %0 else L0
// CHECK-NEXT: call builtin value_kill(%3)
// CHECK-NEXT: %0 = call packed "use"(%2) site [[#]]
// CHECK-NEXT: call builtin value_kill(%2)
// CHECK-NEXT: %1 = call packed "use"(%0) site [[#]]
// CHECK-NEXT: call builtin value_kill(%0)
// CHECK-NEXT: goto L1
// CHECK-NEXT: L0:
// CHECK-NEXT: call builtin value_kill(%2)
// CHECK-NEXT: %1 = call packed "use"(%3) site [[#]]
// CHECK-NEXT: call builtin value_kill(%3)
// CHECK-NEXT: L1:
// CHECK-NEXT: %0 = call builtin tuple_make(site [[#]], [%1, %1])
// CHECK-NEXT: ret %0
relax.func impure @VM09_branches(%c: !relax.tensor<ndim = 0, i1>, %x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %big = relax.call_packed "make"(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.object
  %other = relax.call_packed "make"(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.object
  %0 = relax.if %c : !relax.tensor<ndim = 0, i1> -> !relax.object {
    %1 = relax.call_packed "use"(%big) : (!relax.object) -> !relax.object
    %2 = relax.call_packed "use"(%1) : (!relax.object) -> !relax.object
    relax.yield %2 : !relax.object
  } else {
    %3 = relax.call_packed "use"(%other) : (!relax.object) -> !relax.object
    relax.yield %3 : !relax.object
  }
  %4 = relax.tuple %0, %0 : !relax.object, !relax.object
  relax.return %4 : !relax.tuple<!relax.object, !relax.object>
}

// VM03, VM05: a value of an algebraic data type, its tag and fields, an error.
// CHECK-LABEL: function VM03_adt(x) registers {{[0-9]+}} heap 1 {
// CHECK: %[[#V:]] = call builtin adt_make(site [[#]], 1, [%0, %0])
// CHECK-NEXT: $0 = call builtin adt_tag(site [[#]], %[[#V]])
// CHECK: call builtin adt_get(site [[#]], %[[#V]], 1)
// CHECK: call builtin error_raise(site [[#]], "RuntimeError", "stop")
relax.func @VM03_adt(%x: !relax.object) -> !relax.object attributes {relax.force_pure = true} {
  %v = relax.adt_make 1(%x, %x) : !relax.object, !relax.object
  %tag = relax.builtin.tag %v : !relax.object
  %prim = relax.builtin.make_prim %tag : !relax.prim<i64>
  %field = relax.adt_get %v[1] : !relax.object
  relax.builtin.raise "stop"
  %t = relax.tuple %prim, %field : !relax.prim<i64>, !relax.object
  relax.return %t : !relax.tuple<!relax.prim<i64>, !relax.object>
}

// A value that lives on is copied, a constant is loaded; a cast is its operand.
// CHECK-LABEL: function VM05_copies(c, x) registers 3 heap 0 {
// CHECK: if %0 else L0
// CHECK-NEXT: %0 = call builtin value_assign(%1)
// CHECK-NEXT: goto L1
// CHECK-NEXT: L0:
// CHECK-NEXT: %0 = call builtin value_assign(#2)
// CHECK-NEXT: L1:
// CHECK-NEXT: %2 = call builtin tuple_make(site [[#]], [%0, %1])
// CHECK-NEXT: ret %2
relax.func @VM05_copies(%c: !relax.tensor<ndim = 0, i1>, %x: !relax.object) -> !relax.object {
  %0 = relax.if %c : !relax.tensor<ndim = 0, i1> -> !relax.object {
    %1 = relax.builtin.cast %x : !relax.object -> !relax.tensor<*>
    %2 = relax.builtin.cast %1 : !relax.tensor<*> -> !relax.object
    relax.yield %2 : !relax.object
  } else {
    %3 = relax.null_value
    relax.yield %3 : !relax.object
  }
  %4 = relax.tuple %0, %x : !relax.object, !relax.object
  relax.return %4 : !relax.tuple<!relax.object, !relax.object>
}

// VM09: branches at the end return themselves, however deep, so a call there is a
// tail call, with nothing between it and its return.
// CHECK-LABEL: function VM09_tail_call(n, x) registers {{[0-9]+}} heap 2 {
// CHECK: if %[[#C:]] else L0
// CHECK: if %[[#C]] else L2
// CHECK: %[[#R:]] = call @VM09_tail_call(%{{[0-9]+}}, %1)
// CHECK-NEXT: ret %[[#R]]
// CHECK-NEXT: L2:
// CHECK: %[[#S:]] = call packed "f"(%1)
// CHECK-NEXT: ret %[[#S]]
// CHECK-NEXT: L0:
// CHECK-NEXT: ret %1
// CHECK-NEXT: }
relax.func impure @VM09_tail_call(%n: !relax.prim<i64>, %x: !relax.object) -> !relax.object {
  %i = relax.builtin.dim %n[0] : !relax.prim<i64>
  %one = arith.constant 1 : i64
  %m = arith.subi %i, %one : i64
  %t = relax.builtin.make_prim %m : !relax.prim<i64>
  %c = relax.call_packed "positive"(%n) : (!relax.prim<i64>) -> !relax.tensor<ndim = 0, i1>
  %0 = relax.if %c : !relax.tensor<ndim = 0, i1> -> !relax.object {
    %1 = relax.if %c : !relax.tensor<ndim = 0, i1> -> !relax.object {
      %2 = relax.call @VM09_tail_call(%t, %x) : (!relax.prim<i64>, !relax.object) -> !relax.object
      relax.yield %2 : !relax.object
    } else {
      %3 = relax.call_packed "f"(%x) : (!relax.object) -> !relax.object
      relax.yield %3 : !relax.object
    }
    relax.yield %1 : !relax.object
  } else {
    relax.yield %x : !relax.object
  }
  relax.builtin.kill %c : !relax.tensor<ndim = 0, i1>
  relax.return %0 : !relax.object
}

// A function that calls a kernel as a function is machine code.
// CHECK-LABEL: private native function work.closure(x)
// CHECK-NOT: {
relax.func private @work.closure(%x: !relax.tensor<ndim = 1, f32>) -> !relax.tuple<> attributes {is_pure = false} {
  %0 = relax.call @work(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tuple<>
  relax.return %0 : !relax.tuple<>
}

// OP01, OP02, VM06: scalars are numbers, floats the bits of a double. What is
// only a constant needs no instruction.
// CHECK-LABEL: function VM06_values(a, b, x) registers 4 heap 2 {
// CHECK: %3 = call builtin constant_get(site [[#]], #1, 1)
// CHECK-NEXT: $0 = call builtin prim_float(site [[#]], %0)
// CHECK-NEXT: $1 = call builtin prim_int(site [[#]], %1)
// CHECK-NEXT: call kernel "scale"(read #0, scalar $0, scalar $1, write %2) site [[#]]
// CHECK-NEXT: call kernel "update"(update %2, update %3) site [[#]]
// CHECK-NEXT: %0 = call @work.closure(%2)
// CHECK-NEXT: call builtin value_kill(%0)
// CHECK-NEXT: %0 = call builtin tuple_make(site [[#]], [#3, #4, #5, #6, #7, #2, #8, #9, %3, #4])
// CHECK-NEXT: ret %0
relax.func impure @VM06_values(%a: !relax.prim<f32>, %b: !relax.prim<i32>, %x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %0 = relax.prim_value 3 : i64
  %1 = relax.prim_value 2.5 : f32
  %2 = relax.prim_value true
  %3 = relax.string "s\0A\FF\""
  %4 = relax.dtype f32
  %5 = relax.null_value
  %d = arith.constant 4 : i64
  %s = relax.builtin.make_shape(%d, %d) : !relax.shape<ndim = 2>
  %inf = relax.prim_value 0x7F800000 : f32
  %k = relax.builtin.load_constant 1 fresh : !relax.tensor<ndim = 1, i1>
  %l = relax.builtin.load_constant 0 : !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @scale(%l, %a, %b) outs(%x) : (!relax.tensor<ndim = 1, f32>, !relax.prim<f32>, !relax.prim<i32>) -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @update(%x, %k) outs() inplace [0, 1] : (!relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, i1>) -> ()
  %w = relax.call @work.closure(%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tuple<>
  %6 = relax.prim_value 2.5 : f32
  %7 = relax.tuple %0, %1, %2, %3, %4, %5, %s, %inf, %k, %6 : !relax.prim<i64, 3>, !relax.prim<f32>, !relax.prim<i1, 1>, !relax.object, !relax.object, !relax.object, !relax.shape<ndim = 2>, !relax.prim<f32>, !relax.tensor<ndim = 1, i1>, !relax.prim<f32>
  relax.return %7 : !relax.tuple<!relax.prim<i64, 3>, !relax.prim<f32>, !relax.prim<i1, 1>, !relax.object, !relax.object, !relax.object, !relax.shape<ndim = 2>, !relax.prim<f32>, !relax.tensor<ndim = 1, i1>, !relax.prim<f32>>
}

// VM04: closures over a function, with captured values and dimensions; calls of
// them; packed functions as values.
// CHECK-LABEL: private function VM04_inner(y, arg1) registers 2 heap 0 captures 1 {
relax.func private @VM04_inner(%y: !relax.object, %0: !relax.object) -> !relax.object attributes {relax.captures = 1 : i64} {
  relax.return %y : !relax.object
}
// CHECK-LABEL: function VM04_closures(x) registers {{[0-9]+}} heap 1 {
// CHECK: %[[#F:]] = call builtin closure_make(site [[#]], @VM04_inner, [%0], "{{{.*}}}", [$0])
// CHECK-NEXT: call builtin closure_check(site [[#]], %[[#F]], "{{{.*}}}", [$0])
// CHECK-NEXT: %[[#R:]] = call %[[#F]](%0) site [[#]]
// CHECK: %[[#P:]] = call builtin function_get(site [[#]], "test.f")
// CHECK-NEXT: call builtin packed_check(site [[#]], %[[#P]])
relax.func impure @VM04_closures(%x: !relax.tensor<ndim = 1, f32>) -> !relax.object {
  %n = relax.builtin.dim %x[0] : !relax.tensor<ndim = 1, f32>
  %f = relax.builtin.make_closure @VM04_inner(%x) of !relax.func<(!relax.object) -> !relax.tensor<[n], f32>, pure> where ["n"](%n) : (!relax.tensor<ndim = 1, f32>) -> !relax.func<(!relax.object) -> !relax.tensor<ndim = 1, f32>, pure>
  relax.builtin.check_function %f is !relax.func<(!relax.object) -> !relax.tensor<[n], f32>, pure> where ["n"](%n) as "f" : !relax.func<(!relax.object) -> !relax.tensor<ndim = 1, f32>, pure>
  %0 = relax.call %f : !relax.func<(!relax.object) -> !relax.tensor<ndim = 1, f32>, pure> (%x) : (!relax.tensor<ndim = 1, f32>) -> !relax.tensor<ndim = 1, f32>
  %1 = relax.extern_func "test.f"
  relax.builtin.check_function %1 is !relax.func<derive = @default_derive> where []() as "g" : !relax.func<derive = @default_derive>
  %2 = relax.tuple %0, %1 : !relax.tensor<ndim = 1, f32>, !relax.func<derive = @default_derive>
  relax.return %2 : !relax.tuple<!relax.tensor<ndim = 1, f32>, !relax.func<derive = @default_derive>>
}

// VM11: a copy on another device; a constant that kernels read is on all of them.
// Names that are no words are in quotes.
// CHECK-LABEL: function "VM11 devices"(x) registers {{[0-9]+}} heap 0 {
// CHECK: %[[#T:]] = call builtin tensor_to_device(site [[#]], %0, 1, 1)
// CHECK-NEXT: call kernel "update"(read #0, update %[[#T]]) site [[#]]
// CHECK-NEXT: %[[#G:]] = call builtin tuple_get(site [[#]], %[[#T]], 1)
// CHECK: call @"VM11 devices"(%0)
relax.func impure @"VM11 devices"(%x: !relax.object) -> !relax.object {
  %0 = relax.builtin.cast %x : !relax.object -> !relax.tensor<ndim = 1, f32>
  %1 = relax.builtin.to_device %0 to <"llvm", 1> : !relax.tensor<ndim = 1, f32> -> !relax.tensor<ndim = 1, f32>
  %2 = relax.builtin.load_constant 0 : !relax.tensor<ndim = 1, f32>
  %3 = relax.builtin.to_device %2 to <"llvm", 1> : !relax.tensor<ndim = 1, f32> -> !relax.tensor<ndim = 1, f32>
  relax.builtin.call_kernel @update(%3, %1) outs() inplace [1] : (!relax.tensor<ndim = 1, f32>, !relax.tensor<ndim = 1, f32>) -> ()
  %4 = relax.builtin.cast %1 : !relax.tensor<ndim = 1, f32> -> !relax.tuple<!relax.object, !relax.object>
  %5 = relax.get_item %4[1] : !relax.tuple<!relax.object, !relax.object>
  %6 = relax.call @"VM11 devices"(%x) : (!relax.object) -> !relax.object
  %7 = relax.tuple %5, %6 : !relax.object, !relax.object
  relax.return %7 : !relax.tuple<!relax.object, !relax.object>
}

}
