// RUN: relax-opt %s --relax-extrema-to-llvm | FileCheck %s

// The right operand comes first: x86 looks for NaN there.
// CHECK-LABEL: func.func @vectors(
// CHECK-SAME:    %[[X:.*]]: vector<16xf32>, %[[Y:.*]]: vector<16xf32>)
// CHECK-NEXT:  %[[MOST:.*]] = llvm.intr.maximum(%[[Y]], %[[X]]) {fastmathFlags = #llvm.fastmath<nsz>} : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// CHECK-NEXT:  llvm.intr.minimum(%[[Y]], %[[MOST]]) {fastmathFlags = #llvm.fastmath<nsz>}
func.func @vectors(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = arith.maximumf %x, %y : vector<16xf32>
  %1 = arith.minimumf %0, %y : vector<16xf32>
  return %1 : vector<16xf32>
}

// CHECK-LABEL: func.func @numbers(
// CHECK-NEXT:  llvm.intr.maximum({{.*}}) {fastmathFlags = #llvm.fastmath<nnan, nsz>} : (f64, f64) -> f64
func.func @numbers(%x: f64, %y: f64) -> f64 {
  %0 = arith.maximumf %x, %y fastmath<nnan> : f64
  return %0 : f64
}

// CHECK-LABEL: func.func @matrices(
// CHECK-NEXT:  arith.maximumf
func.func @matrices(%x: vector<2x8xf32>, %y: vector<2x8xf32>) -> vector<2x8xf32> {
  %0 = arith.maximumf %x, %y : vector<2x8xf32>
  return %0 : vector<2x8xf32>
}

// CHECK-LABEL: func.func @relu(
// CHECK:       arith.maximumf
func.func @relu(%x: vector<8xf32>) -> vector<8xf32> {
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %0 = arith.maximumf %x, %zero : vector<8xf32>
  return %0 : vector<8xf32>
}
