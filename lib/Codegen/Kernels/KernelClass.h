//===- KernelClass.h - Classes of kernels with own emitters -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A class matches a kind of kernel and emits it as loops over vectors. Kernels
// that no class matches are bufferized, and go the generic route
// (LowerLinalg.cpp). To add a class, write its `match` and put it into the
// table in EmitKernels.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELCLASS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELCLASS_H

#include "IndexBuilder.h"

#include "relax-mlir/Analysis/TargetModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <memory>

namespace mlir::relax {

/// A kernel that a class has recognized.
class KernelEmitter {
public:
  virtual ~KernelEmitter() = default;

  /// Writes the kernel at the builder; this cannot fail. `arguments` stand for
  /// its parameters: memrefs of the identity layout for tensors, whose elements
  /// are bytes (0 or not) for Booleans, and scalars as they are.
  virtual void emit(ImplicitLocOpBuilder &builder, ValueRange arguments) = 0;
};

/// An emitter of a kernel that calls emit(IndexBuilder &, ValueRange
/// arguments).
template <typename Emit> std::unique_ptr<KernelEmitter> makeEmitter(Emit emit) {
  struct Emitter : KernelEmitter {
    explicit Emitter(Emit call) : call(std::move(call)) {}
    void emit(ImplicitLocOpBuilder &builder, ValueRange arguments) override {
      IndexBuilder b(builder.getLoc(), builder);
      call(b, arguments);
    }
    Emit call;
  };
  return std::make_unique<Emitter>(std::move(emit));
}

struct KernelClass {
  llvm::StringLiteral name;
  llvm::StringLiteral description;

  /// Recognizes a kernel: one block of linalg operations on tensors, whose
  /// results end in bufferization.materialize_in_destination. Null where it is
  /// not of this class. It changes nothing.
  std::unique_ptr<KernelEmitter> (*match)(func::FuncOp kernel,
                                          const TargetModel &target);

  /// Whether the loops of a kernel of this class can have the tile of its
  /// `relax.schedule`, with an error where they cannot. Null for a class that
  /// has no tile to choose.
  LogicalResult (*verifyTile)(func::FuncOp kernel,
                              const TargetModel &target) = nullptr;
};

/// The classes, in the order in which they are tried.
ArrayRef<KernelClass> getKernelClasses();

/// Those of kernels that devices run: what they emit allocates and launches.
ArrayRef<KernelClass> getDeviceKernelClasses();

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELCLASS_H
