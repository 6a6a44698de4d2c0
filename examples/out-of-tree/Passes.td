//===- Passes.td - The passes of this project --------------*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SQUARE_PASSES
#define SQUARE_PASSES

include "mlir/Pass/PassBase.td"

def MultiplyToSquarePass : Pass<"multiply-to-square"> {
  let summary = "Replaces x * x by square(x)";
  let description = [{
    `relax.multiply %x, %x` becomes `relax.square %x`, which reads its operand
    once.
  }];
}

#endif // SQUARE_PASSES
