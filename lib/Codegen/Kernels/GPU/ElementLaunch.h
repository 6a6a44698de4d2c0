//===- ElementLaunch.h - A thread for several elements ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ELEMENTLAUNCH_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ELEMENTLAUNCH_H

#include "ElementBody.h"

namespace mlir::relax {

/// A thread for several elements of an operation all of whose loops are
/// parallel, in place of the operation.
void launchElements(linalg::GenericOp op);

/// So many iterations of an operation a thread loads before it stores, so that
/// it waits for memory once for all of them: about as many bytes, whatever the
/// type. Their places are those of `numLoops` loops.
int64_t getUnroll(linalg::GenericOp op, size_t numLoops);

/// The iterations of a thread, at the places that `at` makes of numbers: all
/// that is loaded comes before what is stored.
void emitPlaces(IndexBuilder &b, const ElementBody &body, Value begin,
                Value end, Value step, int64_t unroll,
                llvm::function_ref<ElementPlace(IndexBuilder &, Value)> at);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ELEMENTLAUNCH_H
