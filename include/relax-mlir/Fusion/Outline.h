//===- Outline.h - Groups of bindings as functions --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions whose calls of kernels become one kernel, and how a group of
// bindings becomes one of them: what `relax-fuse-ops` does with the groups that
// it finds, and `transform.relax.fuse` with those that it is given.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_FUSION_OUTLINE_H
#define RELAX_MLIR_FUSION_OUTLINE_H

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::relax {

/// On a function whose calls of kernels are to become one kernel: true, or an
/// integer that is not 0. The name is TVM's.
inline constexpr llvm::StringLiteral kPrimitive = "Primitive";

bool isPrimitive(FuncOp function);

/// Turns groups into private functions with the attribute. A group is bindings
/// of one block, in order; what others make of its results comes after its last
/// binding. The parameters are what the group reads, then, where the types of
/// these do not bind all shape variables that it uses, a shape of the others.
class GroupOutliner {
public:
  explicit GroupOutliner(ModuleOp module) : module(module), symbols(module) {}

  /// A function of the group that is in no module.
  FuncOp build(ArrayRef<Operation *> ops);
  /// Puts a call in the place of the last binding and erases the group. Equal
  /// groups share a function. It returns a tuple where several results are used
  /// outside.
  CallOp outline(ArrayRef<Operation *> ops, RewriterBase &rewriter);

  const SymbolTable &getSymbols() const { return symbols; }

private:
  /// What a function takes from outside of its group, and what it returns.
  struct Interface {
    llvm::SetVector<Value> inputs;
    SmallVector<PrimExprAttr> vars;
    SmallVector<Value> outputs;
  };
  static Interface describe(ArrayRef<Operation *> ops);
  FuncOp build(ArrayRef<Operation *> ops, const Interface &interface);
  FuncOp shareOrInsert(FuncOp function, StringRef stem, Operation *user);

  ModuleOp module;
  SymbolTable symbols;
  std::vector<FuncOp> made;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_FUSION_OUTLINE_H
