//===- Passes.h - The passes of this project --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SQUARE_PASSES_H
#define SQUARE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace square {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "Passes.h.inc"
} // namespace square

#endif // SQUARE_PASSES_H
