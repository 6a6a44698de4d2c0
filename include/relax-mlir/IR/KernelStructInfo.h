//===- KernelStructInfo.h - StructInfo of kernel parameters -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_KERNELSTRUCTINFO_H
#define RELAX_MLIR_IR_KERNELSTRUCTINFO_H

#include "llvm/ADT/StringRef.h"

namespace mlir::relax {

/// On a parameter or result of a kernel: its StructInfo, where that says more
/// than its type: shape variables, unsigned integers.
inline constexpr llvm::StringLiteral kKernelStructInfo = "relax.struct_info";

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_KERNELSTRUCTINFO_H
