//===- ShapeScope.h - Scopes of shape variables -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scopes of shape variables, and the facts that hold there: by declared bounds,
// by the dimensions of tensors, which are not negative, and by casts, which
// compare what they know of the value with what they check.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_SHAPESCOPE_H
#define RELAX_MLIR_IR_SHAPESCOPE_H

#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/ShapeVars.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::relax {

class FuncOp;

/// Checks that every shape variable of `func` is bound before it is used (WF03
/// to WF06, WF14 to WF16). The signature binds for the whole function, a
/// match_cast for the rest of the branch or function around it.
LogicalResult verifyShapeScopes(FuncOp func);

/// Adds the shape variables that are bound at `op`: by the signatures of the
/// functions around it and by the casts before it.
void collectScope(Operation *op, llvm::StringSet<> &names);

/// `type`, derived inside of a region of `op`, without the shape variables that
/// are not in scope after `op` (DR07).
Type eraseOutOfScope(Type type, Operation *op);

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Adds every shape variable that `root` and the operations in it name.
void collectNames(Operation *root, llvm::StringSet<> &names);

/// A name that is not taken yet, made of `name`; it is taken from here on.
std::string makeFreshName(StringRef name, llvm::StringSet<> &taken);

/// Replaces shape variables in all attributes and types of `root` and the
/// operations in it, all at once.
void replaceVars(Operation *root, const ShapeVarMap &values);

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// The declared bounds of shape variables of `func`, in order of their names:
/// tir_var_lower_bound and tir_var_upper_bound.
SmallVector<std::pair<StringRef, PrimExprRange>> getDeclaredBounds(FuncOp func);

/// Adds what holds where a value of `type` exists: dimensions are not negative.
void addFactsOfValue(Type type, PrimExprFacts &facts);

/// Adds the facts that hold after a cast: the dimensions, and primitive values,
/// of both types are equal.
void addFactsOfCast(Type from, Type to, PrimExprFacts &facts);

/// Collects the facts that hold at `op`: from the signature of the function or
/// closure around it and the casts before it. A closure itself states the facts
/// that it relies on, as it becomes a function of its own.
PrimExprFacts collectFacts(Operation *op);

/// Whether a value of type `sub` is of type `super` at `op`. Facts are only
/// collected where the types alone do not say it.
Ternary isSubtypeAt(Operation *op, Type sub, Type super);

/// Whether the declared types of `op`, which is valid, follow only from facts
/// at `op`.
bool reliesOnFacts(Operation *op);

/// The scope and the facts at one point after another, each operation visited
/// once where the points come in program order. The operations before a point
/// stay; the types of results may change.
class ScopeAnalysis {
public:
  /// Goes to the place in front of `op`.
  void moveTo(Operation *op);

  bool isInScope(StringRef name) const;
  const PrimExprFacts &getFacts() const;

private:
  /// The names and facts that the operations of a block before `next` add.
  struct Frame {
    Block *block;
    Operation *next;
    llvm::StringSet<> names;
    PrimExprFacts facts; // those of the blocks around it too
  };
  void enter(Block *block);
  static void pass(Operation *op, Frame &frame);

  std::vector<Frame> frames; // from the function to the place
};

/// Verifies the declared types of an operation that derives its results: first
/// by what operands say, then under the facts at the operation.
LogicalResult verifyInferredTypes(
    std::optional<Location> location, StringRef name, ValueRange operands,
    TypeRange declared,
    llvm::function_ref<LogicalResult(SmallVectorImpl<Type> &)> infer,
    llvm::function_ref<bool(TypeRange, TypeRange)> areCompatible);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_SHAPESCOPE_H
