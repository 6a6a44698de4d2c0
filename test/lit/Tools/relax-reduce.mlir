// RUN: relax-reduce %s --test=grep --test-arg=-q --test-arg=relax.softmax | FileCheck %s
// RUN: not relax-reduce %s --test=grep --test-arg=-q --test-arg=relax.matmull 2>&1 | FileCheck %s --check-prefix=BORING
// RUN: not relax-reduce %s --test=%t.missing 2>&1 | FileCheck %s --check-prefix=MISSING

// What is left is the operator that the command looks for.
// CHECK: module {
// CHECK-NEXT: relax.func @main
// CHECK-NEXT: relax.softmax %x
// CHECK-NEXT: relax.return
// CHECK-NEXT: }
// CHECK-NEXT: }
// BORING: error: expected an interesting module, but the command fails for
// MISSING: error: expected a command, but '{{.*}}.missing' cannot be executed
relax.func private @other(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, 4], f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[n, 4], f32> {
  %0 = relax.dataflow -> !relax.tensor<[n, 4], f32> {
    %z = relax.constant dense<1.0> : tensor<4x4xf32>
    %1 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    %2 = relax.add %w, %z : (!relax.tensor<[4, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[4, 4], f32>
    %3 = relax.matmul %1, %2 : (!relax.tensor<[n, 4], f32>, !relax.tensor<[4, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.output %3 : !relax.tensor<[n, 4], f32>
  }
  %4 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n, 4], f32> {
    %5 = relax.softmax %0 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
    relax.yield %5 : !relax.tensor<[n, 4], f32>
  } else {
    relax.yield %0 : !relax.tensor<[n, 4], f32>
  }
  relax.return %4 : !relax.tensor<[n, 4], f32>
}
