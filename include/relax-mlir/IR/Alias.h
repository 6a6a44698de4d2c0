//===- Alias.h - Values that may share memory -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bindings, tuples, casts, blocks and calls pass values by reference (SE02).
// Each value refers to a set of roots: tensors that are allocated in the
// function, what a parameter refers to, what an impure call gives. Two values
// may alias where their roots do.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_ALIAS_H
#define RELAX_MLIR_IR_ALIAS_H

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace mlir::relax {

class AliasInfo {
public:
  explicit AliasInfo(FuncOp func);

  /// Whether mutating one may be seen through the other.
  bool mayAlias(Value lhs, Value rhs) const;
  /// Whether the operation of `use` may see that `updated` was mutated. A
  /// get_item only looks at its field.
  bool maySee(OpOperand &use, Value updated) const;
  /// Whether both may refer to one and the same tensor as far as this function
  /// knows, which leaves out that its parameters may share memory.
  bool shareRoot(Value lhs, Value rhs) const;

  /// The parameter or call whose memory `value` may refer to although it is not
  /// the own memory of `function`, a FuncOp or ClosureOp. Null where there is
  /// none.
  Value getOutsideSource(Value value, Operation *function) const;

private:
  /// Memory that did not alias anything before it came up.
  struct Root {
    enum Kind { Fresh, Parameter, Unknown } kind;
    Value value; // where it comes up first
    /// An impure call may have kept it.
    bool hasEscaped = false;
  };
  using Roots = SmallVector<unsigned>; // sorted, without duplicates
  /// The memory that a value refers to: all roots, and those of each field
  /// where known.
  struct Node {
    Roots roots;
    SmallVector<const Node *> fields;
  };

  const Node *makeNode(Roots roots, ArrayRef<const Node *> fields = {});
  const Node *makeRoot(Root::Kind kind, Value value, Type type);
  const Node *merge(const Node *lhs, const Node *rhs, unsigned depth = 0);
  const Node *lookup(Value value) const;
  const Node *lookupUse(OpOperand &use) const;

  void visitBlock(Block &block);
  void visitOp(Operation &op);
  const Node *visitCall(Operation &op, bool isPure);
  const Node *visitInplaceCall(CallTIRInplaceOp op);
  const Node *visitAlloc(AllocTensorOp op);
  void visitClosure(ClosureOp closure);

  bool mayAlias(unsigned lhs, unsigned rhs) const;
  bool mayAlias(const Node *lhs, const Node *rhs) const;

  std::deque<Node> nodes;
  std::deque<Root> roots;
  llvm::DenseMap<Value, const Node *> references;
};

/// Whether an operation, regions aside, may change the elements of a tensor: it
/// updates one in place, or is impure.
bool mayUpdateTensors(Operation *op);

/// The values that an operation updates in place (OP02, OP06).
SmallVector<Value> getUpdatedValues(Operation *op);

/// Whether nobody can tell if the result of `op`, memory of its own, refers to
/// the memory of `value` instead, which is known before it.
bool mayBeViewOf(Operation *op, Value value);
/// Whether nobody can tell if the results of two operators with the same
/// elements, each memory of its own, are one: at least one of them is only
/// read.
bool mayShareMemory(Operation *first, Operation *second);

/// Checks each update in place of `func` (OP02, OP06): what is updated, and
/// whatever may alias it, has no later use, and in a pure function it is the
/// function's own.
LogicalResult verifyInplaceUses(FuncOp func);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_ALIAS_H
