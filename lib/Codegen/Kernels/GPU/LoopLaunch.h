//===- LoopLaunch.h - Threads for iterations --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_LOOPLAUNCH_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_LOOPLAUNCH_H

#include "IndexBuilder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::relax {

/// A launch of a thread for each iteration of loops from 0 with steps of 1, of
/// which `body` takes the indices.
gpu::LaunchOp launchIterations(
    IndexBuilder &b, ArrayRef<Value> sizes,
    llvm::function_ref<void(IndexBuilder &, ArrayRef<Value>)> body);

/// Makes the iterations of loops, each of which is all of the body of the one
/// before, and starts at 0 with steps of 1, the threads of a launch.
void launchLoops(SmallVector<scf::ForOp> loops);

/// The same for a loop that is parallel.
void launchParallel(scf::ParallelOp op);

/// Makes the iterations of those loops of a nest, at any depth, that threads
/// may share the threads of a launch, each of which runs the rest in order.
/// Returns whether there are any.
bool launchNest(scf::ForOp nest);

/// Makes a loop of each step of a parallel loop that allocates, so that threads
/// can share the loops inside of it, too. Buffers are those of all iterations
/// then, and are allocated before. A loop that is not known to be parallel
/// stays, and its buffers are allocated once.
void distributeParallelLoop(scf::ForOp loop);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_LOOPLAUNCH_H
