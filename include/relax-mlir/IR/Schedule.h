//===- Schedule.h - What users ask of a kernel ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attribute `relax.schedule` of a kernel takes the place of what the
// compiler would choose for it:
//
//   {class = "matmul", tile = array<i64: 4, 16>}
//
// On a function that is to become one kernel it is that of the kernel.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_SCHEDULE_H
#define RELAX_MLIR_IR_SCHEDULE_H

#include "mlir/IR/Operation.h"

namespace mlir::relax {

struct KernelSchedule {
  /// The class that leaves a kernel to bufferization and the generic route.
  static constexpr llvm::StringLiteral kNoClass = "none";

  /// The class that is to emit the kernel; empty where nothing is asked for.
  StringRef kernelClass;
  /// The sizes of its innermost tile; empty where its model chooses them.
  ArrayRef<int64_t> tile;

  /// That of a kernel or function, which may have none.
  static KernelSchedule get(Operation *function);
  void set(Operation *function) const;

  /// Whether an attribute is one, of any class.
  static bool isValid(Attribute attribute);

  explicit operator bool() const { return !kernelClass.empty(); }
  /// Whether the kernel may be of a class.
  bool allows(StringRef name) const {
    return kernelClass.empty() || kernelClass == name;
  }
};

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_SCHEDULE_H
