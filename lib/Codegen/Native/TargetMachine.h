//===- TargetMachine.h - The machine that code is made for ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_NATIVE_TARGETMACHINE_H
#define RELAX_MLIR_LIB_CODEGEN_NATIVE_TARGETMACHINE_H

#include "relax-mlir/Codegen/Native.h"

#include "llvm/Target/TargetMachine.h"

namespace mlir::relax {

/// Registers the target of this machine with LLVM, once.
void initializeNativeTarget();

/// Fills in what `target` leaves to this machine. Returns null and sets `error`
/// for a target that LLVM does not know. Each thread keeps the machines of the
/// last target, a millisecond each to make, until it asks for another target.
llvm::TargetMachine *getTargetMachine(NativeTarget &target, unsigned optLevel,
                                      std::string &error);

/// Returns the features of the processor, of those that the runtime can query.
std::vector<std::string>
getQueryableFeatures(const llvm::TargetMachine &machine);

/// Runs LLVM's passes on a module: all of a level from 0 to 3 where there are
/// loops over numbers, else those that clean up.
llvm::Error optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                           unsigned optLevel, bool hasScalarLoops);

/// Turns a module of LLVM into the bytes of an object file.
LogicalResult writeObject(llvm::Module &module, llvm::TargetMachine &machine,
                          SmallVectorImpl<char> &bytes);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_NATIVE_TARGETMACHINE_H
