//===- ShapeScope.h - Where shape variables are visible -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where shape variables are visible, and what is known of them there: by
// declared bounds, by the dimensions of tensors, which are not negative, and by
// casts, which compare what they know of the value with what they check.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_SHAPESCOPE_H
#define RELAX_MLIR_IR_SHAPESCOPE_H

#include "relax-mlir/IR/PrimExprFacts.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::relax {

class FuncOp;

/// Checks that every shape variable of `func` is bound before it is used (WF03
/// to WF06, WF14 to WF16). The signature binds for the whole function, a
/// match_cast for the rest of the branch or function around it.
LogicalResult verifyShapeScopes(FuncOp func);

/// Adds the shape variables that are bound where `op` stands: by the signatures
/// of the functions around it and by the casts before it.
void collectScope(Operation *op, llvm::StringSet<> &names);

/// `type`, derived inside of a region of `op`, without the shape variables that
/// are not in scope behind `op` (DR07).
Type eraseOutOfScope(Type type, Operation *op);

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

/// The declared bounds of shape variables of `func`, in order of their names:
/// tir_var_lower_bound and tir_var_upper_bound.
SmallVector<std::pair<StringRef, PrimExprRange>> getDeclaredBounds(FuncOp func);

/// Adds what holds where a value of `type` exists: dimensions are not negative.
void addFactsOfValue(Type type, PrimExprFacts &facts);

/// Adds what holds behind a cast: the dimensions, and primitive values, of both
/// types are equal.
void addFactsOfCast(Type from, Type to, PrimExprFacts &facts);

/// What is known where `op` stands: by the signature of the function or closure
/// around it and the casts before it. A closure says itself what it relies on,
/// as it becomes a function of its own.
PrimExprFacts collectFacts(Operation *op);

/// Whether a value of type `sub` is of type `super` where `op` stands. Facts
/// are only collected where the types alone do not say it.
Ternary isSubtypeAt(Operation *op, Type sub, Type super);

/// Whether the declared types of `op`, which is valid, follow only from facts
/// where it stands.
bool reliesOnFacts(Operation *op);

/// What is in scope and known at one place after the other, each operation
/// visited once where the places come in the order of the program. The
/// operations before a place stay; the types of results may change.
class ScopeAnalysis {
public:
  /// Goes to the place in front of `op`.
  void moveTo(Operation *op);

  bool isInScope(StringRef name) const;
  const PrimExprFacts &getFacts() const;

private:
  /// What the operations of a block before `next` add.
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
/// by what operands say, then under the facts where the operation stands.
LogicalResult verifyInferredTypes(
    std::optional<Location> location, StringRef name, ValueRange operands,
    TypeRange declared,
    llvm::function_ref<LogicalResult(SmallVectorImpl<Type> &)> infer,
    llvm::function_ref<bool(TypeRange, TypeRange)> areCompatible);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_SHAPESCOPE_H
