// RUN: relax-translate --mlir-to-llvmir %s | FileCheck %s

// What is lowered to the LLVM dialect becomes LLVM IR.

// CHECK-LABEL: define i64 @double(i64 %0)
llvm.func @double(%n: i64) -> i64 {
  // CHECK: add i64 %0, %0
  %0 = llvm.add %n, %n : i64
  llvm.return %0 : i64
}
