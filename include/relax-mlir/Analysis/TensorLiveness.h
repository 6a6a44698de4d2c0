//===- TensorLiveness.h - Live ranges of tensors ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors that a function allocates, and the operations between which each
// holds something that is needed. Operations are numbered in program order. A
// range that ends in one branch of relax.if does not cover the other one.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_TENSORLIVENESS_H
#define RELAX_MLIR_ANALYSIS_TENSORLIVENESS_H

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::relax {

/// Sets of operations by their numbers: ranges, sorted and apart.
class LiveRanges {
public:
  struct Range {
    unsigned begin, end; // both are in it
  };

  void add(unsigned begin, unsigned end);
  void unite(const LiveRanges &other);
  bool empty() const { return ranges.empty(); }
  unsigned begin() const { return ranges.front().begin; }
  unsigned end() const { return ranges.back().end; }
  ArrayRef<Range> getRanges() const { return ranges; }

  bool overlaps(const LiveRanges &other) const;
  /// Whether the operation after `point` is not in it any more.
  bool endsAt(unsigned point) const;
  /// Whether `point` is all that both have in common.
  bool meetsOnlyAt(const LiveRanges &other, unsigned point) const;

private:
  SmallVector<Range, 2> ranges;
};

/// A tensor that is allocated, and what refers to it.
struct LiveTensor {
  mutable AllocTensorOp alloc; // the accessors of operations are not const
  /// The values through which it is seen: casts, views, tuples, results of
  /// branches.
  SmallVector<Value> aliases;
  /// Where it holds something: from the operation that writes it first to the
  /// last that reads it.
  LiveRanges ranges;
  /// Whether it leaves the function or is given to functions, which may keep
  /// it.
  bool escapes = false;
};

/// The tensors of a function whose outputs are allocated, in program order.
class TensorLiveness {
public:
  explicit TensorLiveness(FuncOp func);

  ArrayRef<LiveTensor> getTensors() const { return tensors; }
  /// The tensors that a value may refer to, as indices.
  ArrayRef<unsigned> getTensors(Value value) const;
  unsigned getNumber(Operation *op) const { return numbers.lookup(op).begin; }
  /// Whether both are never live together: in the same operation, or because
  /// only one branch of a relax.if is taken.
  bool interfere(unsigned lhs, unsigned rhs) const;
  /// Whether two operations are in different branches of a relax.if.
  static bool areExclusive(Operation *lhs, Operation *rhs);

private:
  void number(Block &block, unsigned &next);
  void collectAliases(unsigned index);
  void addRange(const LiveTensor &tensor, Value value, LiveRanges &ranges);
  void addRange(Block &block, unsigned begin, ArrayRef<Operation *> users,
                LiveRanges &ranges);

  llvm::DenseMap<Operation *, LiveRanges::Range> numbers;
  std::vector<LiveTensor> tensors;
  llvm::DenseMap<Value, SmallVector<unsigned, 1>> references;
};

/// Collects the values through which the tensor `value` may be seen, itself
/// first. Whether that is all: false where an operation may keep it.
bool collectTensorAliases(Value value, SmallVectorImpl<Value> &aliases);

/// Whether a kernel on tensors may write parameter `output` to where it reads
/// parameter `input`: it is one operation that computes each element of the one
/// from the same element of the other.
bool mayWriteOver(FunctionOpInterface kernel, unsigned input, unsigned output);

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_TENSORLIVENESS_H
