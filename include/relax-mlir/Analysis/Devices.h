//===- Devices.h - Devices that a program can run on ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_DEVICES_H
#define RELAX_MLIR_ANALYSIS_DEVICES_H

#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// Verifies that target 'llvm' can run a function on the devices that it names.
LogicalResult verifyDevices(FuncOp func);

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_DEVICES_H
