//===- KernelSpace.h - The common iteration space of a kernel ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each linalg operation of a kernel has an iteration space of its own. Where a
// consumer reads at [i, j] what its producer wrote at [i, j], or both read a
// parameter along the same axis, their loops are one dimension of a common
// space, over which all operations are computed together. A parameter may be
// read with an axis expanded to several, as groups and their channels, or from
// a known place on, and a result that is collapsed may be an output.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELSPACE_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELSPACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::relax {

using DimSet = llvm::SmallBitVector;

/// The position of the elements of a parameter: the index along an axis is the
/// sum of its terms and its offset.
struct Access {
  struct Term {
    unsigned dim, axis;
    int64_t factor;
    bool operator==(const Term &other) const {
      return dim == other.dim && axis == other.axis && factor == other.factor;
    }
  };

  BlockArgument param;
  SmallVector<Term> terms;
  SmallVector<int64_t> offsets;
  /// Axes that no dimension goes through from begin to end: those that windows
  /// slide over, and those of a window that is part of a merged dimension.
  SmallVector<unsigned, 0> partial;
  /// Whether the elements lie as those of the first output do.
  bool isWhole = false;

  bool operator==(const Access &other) const {
    return param == other.param && terms == other.terms &&
           offsets == other.offsets;
  }
  RankedTensorType getType() const {
    return cast<RankedTensorType>(param.getType());
  }
  /// The only term of a dimension; null where it has none or several.
  const Term *find(unsigned dim) const;
  bool uses(unsigned dim) const;
  /// Whether the next element along the dimension is the next one in memory.
  bool isContiguous(unsigned dim) const;
};

class KernelSpace {
public:
  /// A size: a number, or that of a parameter along an axis.
  struct Factor {
    int64_t size = ShapedType::kDynamic;
    BlockArgument param;
    unsigned axis = 0;
    bool isKnown() const { return !ShapedType::isDynamic(size); }
  };

  struct Dim {
    /// The size is their product.
    SmallVector<Factor, 1> factors;
    /// ShapedType::kDynamic where it is not known.
    int64_t getSize() const;
  };

  struct Output {
    Value value;
    Access place;
    DimSet dims;
  };

  /// Null where operations have no common space, or are not linalg operations
  /// over parallel and reduction loops whose bodies can be computed on vectors.
  static std::unique_ptr<KernelSpace> analyze(func::FuncOp kernel);

  unsigned getNumDims() const { return dims.size(); }
  /// A reduction of one element is none.
  bool isReduction(linalg::LinalgOp op) const {
    return getReducedDims(op).any();
  }
  /// The dimensions of the loops of an operation, and of those that reduce.
  const DimSet &getDims(Operation *op) const {
    return opInfo.find(op)->second.dims;
  }
  const DimSet &getReducedDims(Operation *op) const {
    return opInfo.find(op)->second.reduced;
  }
  /// The dimension of a loop; nothing where it makes one step.
  std::optional<unsigned> getLoopDim(Operation *op, unsigned loop) const;
  /// Returns the access of an operation to a parameter.
  const Access &getAccess(OpOperand &operand) const {
    return accesses.find(&operand)->second;
  }
  DimSet getDims(const Access &access) const;

  /// The parameter that a tensor is, or is a view of: expanded, or a slice.
  /// Null otherwise.
  static BlockArgument findParameter(Value tensor);

  /// Whether the body reads the operand.
  static bool isRead(linalg::LinalgOp op, OpOperand &operand);

  /// Whether an access goes through both dimensions as through one.
  bool isMergeable(const Access &access, unsigned outer, unsigned inner) const;

  /// Makes one dimension of those that are walked through one after the other
  /// in memory. `mayMerge` says which pairs may be.
  void mergeDims(llvm::function_ref<bool(unsigned, unsigned)> mayMerge);

  func::FuncOp kernel;
  /// The operations that the outputs need, in program order.
  SmallVector<linalg::LinalgOp> ops;
  SmallVector<Output> outputs;
  /// A dimension that was merged with the next one is in no set any more.
  SmallVector<Dim> dims;

private:
  friend class SpaceBuilder;
  struct OpInfo {
    SmallVector<int> loops;
    DimSet dims, reduced;
  };
  bool isMergeable(unsigned outer, unsigned inner) const;
  void merge(unsigned outer, unsigned inner);

  llvm::MapVector<Operation *, OpInfo> opInfo;
  llvm::MapVector<OpOperand *, Access> accesses;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_KERNELSPACE_H
