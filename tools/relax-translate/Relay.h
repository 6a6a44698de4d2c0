//===- Relay.h - Programs of Relay ------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_TOOLS_RELAX_TRANSLATE_RELAY_H
#define RELAX_MLIR_TOOLS_RELAX_TRANSLATE_RELAY_H

namespace mlir::relax {

/// Registers --relay-to-relax. `executable` is the path of this tool.
void registerRelayTranslation(const char *executable);

} // namespace mlir::relax

#endif // RELAX_MLIR_TOOLS_RELAX_TRANSLATE_RELAY_H
