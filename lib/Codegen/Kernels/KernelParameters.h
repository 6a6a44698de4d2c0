//===- KernelParameters.h - Kernel parameters as memory ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parameters of a kernel as flat memory with strides, and its uniform
// scalars, for everything that evaluates elements of its tensors.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELPARAMETERS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELPARAMETERS_H

#include "FlatMemory.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::relax {

/// Whether a value of a kernel is the same for all elements and can be computed
/// in memory: sizes and numbers.
bool isKnownScalar(Value value);

/// Whether an operation runs once, before all elements: it gives the size of a
/// parameter, or is about numbers.
bool isScalarOp(Operation &op);

class KernelParameters {
public:
  KernelParameters() = default;
  /// `arguments` are the parameters in memory. Computes what is known of a
  /// kernel before its elements: where these lie, and known scalars.
  KernelParameters(IndexBuilder &b, func::FuncOp kernel, ValueRange arguments);

  const FlatMemory &operator[](BlockArgument parameter) const {
    return memory[parameter.getArgNumber()];
  }

  /// The size of a tensor along an axis, that of what it is made from; null
  /// where it is not known before the elements.
  Value getSize(IndexBuilder &b, Value tensor, int64_t axis) const;

  /// The known scalars of the kernel.
  IRMapping scalars;

private:
  std::vector<FlatMemory> memory; // by number; empty for scalars
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELPARAMETERS_H
