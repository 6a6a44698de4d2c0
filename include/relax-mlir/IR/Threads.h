//===- Threads.h - The number of threads of kernels -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_THREADS_H
#define RELAX_MLIR_IR_THREADS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::relax {

/// How many threads may share a loop when the kernel runs: a region in the
/// place of which `relax-outline-parallel-loops` puts the number.
Value countThreads(ImplicitLocOpBuilder &b);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_THREADS_H
