// RUN: relax-opt %s -pass-pipeline='builtin.module(func.func(relax-approximate-math))' | FileCheck %s
// RUN: relax-opt %s -pass-pipeline='builtin.module(func.func(relax-approximate-math{fast=true}))' | FileCheck %s --check-prefix=FAST
// RUN: relax-opt %s -pass-pipeline='builtin.module(relax-attach-target{vector-bits=512 features=avx512f},func.func(relax-approximate-math))' | FileCheck %s --check-prefix=SCALEF
// RUN: relax-opt %s -pass-pipeline='builtin.module(relax-attach-target{vector-bits=512 features=avx512f,avx512bf16},func.func(relax-approximate-math{flush-bf16}))' | FileCheck %s --check-prefix=FLUSH

// Numbers and vectors become the same arithmetic, without calls and branches.

// CHECK-LABEL: func.func @scalar
// CHECK-NOT: math.exp
// CHECK: arith.mulf {{.*}} fastmath<contract> : f32
// CHECK: arith.bitcast {{.*}} : i32 to f32
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @vector
// CHECK-NOT: math.tanh
// CHECK: arith.divf {{.*}} : vector<5xf32>
// CHECK-NOT: math.tanh
// CHECK: return
func.func @vector(%x: vector<5xf32>) -> vector<5xf32> {
  %0 = math.tanh %x : vector<5xf32>
  return %0 : vector<5xf32>
}

// Of sines, large numbers take a longer way.
// CHECK-LABEL: func.func @sine
// CHECK: %[[LARGE:.*]] = arith.cmpf oge, {{.*}} : vector<2x4xf32>
// CHECK: %[[FLAT:.*]] = vector.shape_cast %[[LARGE]] : vector<2x4xi1> to vector<8xi1>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[FLAT]]
// CHECK: scf.if %[[ANY]] -> (vector<2x4xi32>, vector<2x4xf32>)
// CHECK-COUNT-14: math.roundeven
// CHECK: } else {
// CHECK-NOT: math.roundeven
func.func @sine(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = math.sin %x : vector<2x4xf32>
  return %0 : vector<2x4xf32>
}

// CHECK-LABEL: func.func @halves
// CHECK: arith.extf %{{.*}} : vector<4xf16> to vector<4xf32>
// CHECK-NOT: math.log
// CHECK: arith.truncf %{{.*}} : vector<4xf32> to vector<4xf16>
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK-NOT: math.powf
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @halves(%x: vector<4xf16>, %y: bf16) -> (vector<4xf16>, bf16) {
  %0 = math.log %x : vector<4xf16>
  %1 = math.powf %y, %y : bf16
  return %0, %1 : vector<4xf16>, bf16
}

// What libm computes.
// CHECK-LABEL: func.func @stay
// CHECK: math.sin %{{.*}} : f64
// CHECK: arith.remf %{{.*}} : f64
// CHECK: math.cbrt %{{.*}} : f32
// CHECK: math.exp %{{.*}} : vector<[4]xf32>
func.func @stay(%x: f64, %y: f32, %z: vector<[4]xf32>) -> (f64, f64, f32, vector<[4]xf32>) {
  %0 = math.sin %x : f64
  %1 = arith.remf %x, %x : f64
  %2 = math.cbrt %y : f32
  %3 = math.exp %z : vector<[4]xf32>
  return %0, %1, %2, %3 : f64, f64, f32, vector<[4]xf32>
}

// CHECK-LABEL: func.func @inverse
// CHECK-NOT: math.a{{(cos|sin|tan)}}
// CHECK: return
func.func @inverse(%x: f32, %y: vector<8xf32>) -> (f32, f32, f32, f32, f32, vector<8xf32>) {
  %0 = math.acos %x : f32
  %1 = math.acosh %x : f32
  %2 = math.asin %x : f32
  %3 = math.asinh %x : f32
  %4 = math.atanh %x : f32
  %5 = math.atan2 %y, %y : vector<8xf32>
  return %0, %1, %2, %3, %4, %5 : f32, f32, f32, f32, f32, vector<8xf32>
}

// CHECK-LABEL: func.func @doubles
// CHECK-NOT: math.{{exp|log}}
// CHECK: arith.shli %{{.*}} : vector<4xi64>
// CHECK: return
func.func @doubles(%x: vector<4xf64>) -> (vector<4xf64>, vector<4xf64>) {
  %0 = math.exp %x : vector<4xf64>
  %1 = math.log %x : vector<4xf64>
  return %0, %1 : vector<4xf64>, vector<4xf64>
}

// The remainder of small quotients is a difference of doubles; that of large
// ones takes ten of them.
// CHECK-LABEL: func.func @remainder
// CHECK: %[[QUOTIENT:.*]] = arith.divf {{.*}} : vector<8xf32>
// CHECK: %[[WHOLE:.*]] = math.trunc %[[QUOTIENT]] : vector<8xf32>
// CHECK: %[[LARGE:.*]] = arith.cmpf oge, %[[WHOLE]]
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[LARGE]]
// CHECK: scf.if %[[ANY]] -> (vector<8xf64>)
// CHECK-COUNT-10: math.trunc {{.*}} : vector<8xf64>
// CHECK: } else {
// CHECK-NOT: math.trunc
// CHECK-NOT: arith.divf
// CHECK: math.copysign
func.func @remainder(%x: vector<8xf32>, %y: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.remf %x, %y : vector<8xf32>
  return %0 : vector<8xf32>
}

// Devices have their own.
// CHECK-LABEL: func.func @remainder_on_device
// CHECK: arith.remf %{{.*}} : f32
func.func @remainder_on_device(%x: memref<f32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1)
             threads(%g, %h, %i) in (%j = %c1, %k = %c1, %l = %c1) {
    %0 = memref.load %x[] : memref<f32>
    %1 = arith.remf %0, %0 : f32
    memref.store %1, %x[] : memref<f32>
    gpu.terminator
  }
  return
}

// What is computed in doubles for the sake of powers of the base.
// CHECK-LABEL: func.func @other_base
// CHECK-NOT: math.
// CHECK-NOT: arith.truncf
// CHECK: return
func.func @other_base(%x: f32) -> (f32, f32, f32) {
  %log2 = arith.constant 0.69314718055994529 : f64
  %per_log2 = arith.constant 1.4426950408889634 : f64
  %per_log10 = arith.constant 0.43429448190325176 : f64
  %0 = arith.extf %x : f32 to f64
  %1 = math.log %0 : f64
  %2 = arith.mulf %1, %per_log2 : f64
  %3 = arith.truncf %2 : f64 to f32
  %4 = arith.mulf %1, %per_log10 : f64
  %5 = arith.truncf %4 : f64 to f32
  %6 = arith.mulf %0, %log2 : f64
  %7 = math.exp %6 : f64
  %8 = arith.truncf %7 : f64 to f32
  return %3, %5, %8 : f32, f32, f32
}

// CHECK-LABEL: func.func @natural_base
// CHECK: arith.truncf %{{.*}} : f64 to f32
func.func @natural_base(%x: f32) -> f32 {
  %factor = arith.constant 1.4426950408889634 : f64
  %0 = arith.extf %x : f32 to f64
  %1 = arith.mulf %0, %factor : f64
  %2 = math.exp %1 : f64
  %3 = arith.truncf %2 : f64 to f32
  return %3 : f32
}

// With `fast`, signs of zeros do not matter, but for the arithmetic that a
// function is made of, and powers take no doubles.
// CHECK-LABEL: func.func @fast
// CHECK: arith.addf %arg0, %arg1 : f32
// CHECK: arith.extf %{{.*}} : f32 to f64
// FAST-LABEL: func.func @fast
// FAST: arith.addf %arg0, %arg1 fastmath<nsz,contract> : f32
// FAST-NOT: f64
// FAST-NOT: fastmath<{{.*}}nsz
// FAST: return
func.func @fast(%x: f32, %y: f32) -> f32 {
  %0 = arith.addf %x, %y : f32
  %1 = math.powf %0, %y : f32
  return %1 : f32
}

// What a loop accumulates may be computed in any order, and nothing else: x - x
// is not a number where x is infinite.
// FAST-LABEL: func.func @fast_sum
// FAST: arith.subf {{.*}} fastmath<nsz,contract>
// FAST: arith.addf {{.*}} fastmath<nsz,contract>
// FAST: arith.mulf {{.*}} fastmath<reassoc,nsz,contract>
// FAST: arith.addf {{.*}} fastmath<reassoc,nsz,contract>
func.func @fast_sum(%x: memref<?xf32>, %y: memref<f32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%product = %one) -> f32 {
    %a = memref.load %x[%i] : memref<?xf32>
    %b = arith.subf %a, %one : f32
    %c = arith.addf %b, %a : f32
    %d = arith.mulf %product, %c : f32
    %sum = memref.load %y[] : memref<f32>
    %e = arith.addf %sum, %a : f32
    memref.store %e, %y[] : memref<f32>
    scf.yield %d : f32
  }
  return %r : f32
}

// Where the processor multiplies by a power of 2 in one instruction, vectors of
// 16 numbers, or 8 doubles, need no other steps.
// SCALEF-LABEL: func.func @scale
// SCALEF: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// SCALEF-NOT: arith.shli
// SCALEF: return
// CHECK-LABEL: func.func @scale
// CHECK: arith.shli
func.func @scale(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// SCALEF-LABEL: func.func @scale_double
// SCALEF: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.pd.512"({{.*}}) : (vector<8xf64>, vector<8xf64>, vector<8xf64>, i8, i32) -> vector<8xf64>
// SCALEF-NOT: arith.shli
// SCALEF: return
func.func @scale_double(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.exp %x : vector<8xf64>
  return %0 : vector<8xf64>
}

// Others stay as they are.
// SCALEF-LABEL: func.func @scale_half
// SCALEF-NOT: llvm.call_intrinsic
// SCALEF: return
func.func @scale_half(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// An operation that may be less accurate takes the shorter way without `fast`.
// CHECK-LABEL: func.func @less_accurate
// CHECK-COUNT-2: arith.divf
// CHECK-NOT: arith.divf
// CHECK-NOT: math.erf
// CHECK: return
func.func @less_accurate(%x: f32) -> (f32, f32) {
  %0 = math.erf %x fastmath<afn> : f32
  %1 = math.tanh %x fastmath<afn> : f32
  return %0, %1 : f32, f32
}

// 1 + erf(x) is one exponential; the polynomials of erf, a product of x at
// first, are there where something else needs it.
// CHECK-LABEL: func.func @one_plus_erf
// CHECK: %[[TWO:.*]] = arith.constant dense<2.0{{.*}}> : vector<16xf32>
// CHECK: %[[ABOVE:.*]] = arith.subf %[[TWO]], %[[BELOW:.*]] : vector<16xf32>
// CHECK: %[[IS_BELOW:.*]] = arith.cmpf olt, %arg0
// CHECK-NEXT: %[[RESULT:.*]] = arith.select %[[IS_BELOW]], %[[BELOW]], %[[ABOVE]]
// CHECK-NEXT: return %[[RESULT]]
func.func @one_plus_erf(%x: vector<16xf32>) -> vector<16xf32> {
  %one = arith.constant dense<1.0> : vector<16xf32>
  %0 = math.erf %x : vector<16xf32>
  %1 = arith.addf %one, %0 : vector<16xf32>
  return %1 : vector<16xf32>
}

// CHECK-LABEL: func.func @erf_and_one_plus_erf
// CHECK: math.copysign
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: return %{{.*}}, %[[SUM]]
func.func @erf_and_one_plus_erf(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %0 = math.erf %x : f32
  %1 = arith.addf %0, %one : f32
  return %0, %1 : f32, f32
}

// GELU is one exponential, with fewer terms where the result is rounded.
// CHECK-LABEL: func.func @gelu
// CHECK-NOT: math.erf
// CHECK: %[[MAGNITUDE:.*]] = math.absf
// CHECK: arith.constant -1.15110409 : f32
// CHECK: %[[ABOVE:.*]] = arith.select %{{.*}}, %{{.*}}, %arg0 : f32
// CHECK-NEXT: %[[NEGATIVE:.*]] = arith.negf %[[MAGNITUDE]] : f32
// CHECK-NEXT: %[[BELOW:.*]] = arith.mulf %[[NEGATIVE]], %{{.*}} fastmath<contract> : f32
// CHECK-NEXT: %[[GELU:.*]] = arith.addf %[[BELOW]], %[[ABOVE]] fastmath<contract> : f32
// CHECK: arith.constant -1.14877
// CHECK: return %[[GELU]], %{{.*}} : f32, bf16
func.func @gelu(%x: f32, %y: f32) -> (f32, bf16) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %scale = arith.constant 0.707106769 : f32
  %0 = arith.mulf %x, %scale : f32
  %1 = math.erf %0 : f32
  %2 = arith.addf %1, %one : f32
  %3 = arith.mulf %half, %x : f32
  %4 = arith.mulf %3, %2 : f32
  %5 = arith.mulf %y, %scale : f32
  %6 = math.erf %5 : f32
  %7 = arith.addf %6, %one : f32
  %8 = arith.mulf %y, %half : f32
  %9 = arith.mulf %7, %8 : f32
  %10 = arith.truncf %9 : f32 to bf16
  return %4, %10 : f32, bf16
}

// Half of it is none where something else needs the error function.
// CHECK-LABEL: func.func @erf_and_gelu
// CHECK: math.copysign
// CHECK: arith.mulf
func.func @erf_and_gelu(%x: f32) -> (f32, f32) {
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %scale = arith.constant 0.707106769 : f32
  %0 = arith.mulf %x, %scale : f32
  %1 = math.erf %0 : f32
  %2 = arith.addf %1, %one : f32
  %3 = arith.mulf %half, %x : f32
  %4 = arith.mulf %3, %2 : f32
  return %1, %4 : f32, f32
}

// CHECK-LABEL: func.func @round
// CHECK-COUNT-2: arith.truncf
// FLUSH-LABEL: func.func @round
// FLUSH: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtneps2bf16.512"(%arg0) : (vector<16xf32>) -> vector<16xbf16>
// FLUSH: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
func.func @round(%x: vector<16xf32>, %y: vector<8xf32>) -> (vector<16xbf16>, vector<8xbf16>) {
  %0 = arith.truncf %x : vector<16xf32> to vector<16xbf16>
  %1 = arith.truncf %y : vector<8xf32> to vector<8xbf16>
  return %0, %1 : vector<16xbf16>, vector<8xbf16>
}
