//===- IndependentLoops.h - Loops whose iterations are apart ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_INDEPENDENTLOOPS_H
#define RELAX_MLIR_ANALYSIS_INDEPENDENTLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::relax {

/// Whether threads may share the iterations of a loop: each of them would run
/// all of `scope`, which is the loop or has it inside, but of the loop an
/// iteration of its own. Memory from outside of the loop that `scope` writes is
/// only loaded and stored, at indices of which one and the same is of the
/// iteration alone; what is only read may be reshaped. Different memrefs of a
/// kernel share no memory where one is written.
bool hasIndependentIterations(scf::ForOp loop, scf::ForOp scope);

/// Whether kernels of operators say so, with `relax.loop = "independent"`.
bool isKnownIndependent(scf::ForOp loop);

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_INDEPENDENTLOOPS_H
