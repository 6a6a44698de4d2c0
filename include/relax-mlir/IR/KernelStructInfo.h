//===- KernelStructInfo.h - StructInfo of kernel parameters -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_KERNELSTRUCTINFO_H
#define RELAX_MLIR_IR_KERNELSTRUCTINFO_H

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// Returns the StructInfo that a kernel declares for a parameter, where that
/// tells more than its type: shape variables, unsigned integers. Null for none.
inline Type getDeclaredStructInfo(func::FuncOp kernel, unsigned index) {
  auto attribute = kernel.getArgAttrOfType<TypeAttr>(
      index, RelaxDialect::StructInfoAttrHelper::getNameStr());
  return attribute ? attribute.getValue() : Type();
}

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_KERNELSTRUCTINFO_H
