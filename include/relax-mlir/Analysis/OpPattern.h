//===- OpPattern.h - Pattern kinds of kernels -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kind of a kernel, and how it reads its inputs, read from its body.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_OPPATTERN_H
#define RELAX_MLIR_ANALYSIS_OPPATTERN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::tensor {
class ExpandShapeOp;
class ExtractSliceOp;
} // namespace mlir::tensor

namespace mlir::relax {

/// The kinds of kernels, with the numbers of TVM: an output element is made of
/// the input elements at the same place, of those at the same place where
/// inputs are repeated along dimensions, or of those at any one place; of many
/// (Reduction); of many products or windows, where what follows element by
/// element can be computed along (OutElementwiseFusable).
enum class OpPattern {
  Elementwise = 0,
  Broadcast = 1,
  Injective = 2,
  Reduction = 3,
  OutElementwiseFusable = 4,
  Tuple = 7,
  Opaque = 8
};

/// The attribute of a kernel that states its kind, an integer.
inline constexpr llvm::StringLiteral kOpPattern = "op_pattern";

/// "elementwise", "broadcast", ...
StringRef getOpPatternName(OpPattern pattern);

/// The kind of a kernel, by its body.
OpPattern computeOpPattern(func::FuncOp kernel);

/// The kind that the kernel states, else the one of its body. Failure where it
/// states something that is no kind.
FailureOr<OpPattern> getOpPattern(func::FuncOp kernel);

/// Whether the body is output + lhs * rhs. Everything but the product may be
/// converted to another width.
bool addsProducts(linalg::LinalgOp op);

/// Whether the body of a linalg operation is a sum of products of elements, of
/// which at least one is used for several outputs, or it reads windows.
bool isContractionOrWindow(linalg::LinalgOp op);

/// Whether it is one that sums products of the elements of windows.
bool isConvolution(linalg::LinalgOp op);

/// Whether computing an element twice costs next to nothing: a few operations
/// that take a cycle each.
bool isCheap(linalg::LinalgOp op);

/// Whether an operation gives each element as it is, read at another place: its
/// dimensions are permuted.
bool isPermutation(linalg::LinalgOp op);

/// The parameter that a slice is of, where it has no gaps and begins at a known
/// place, so that it is read where it lies; null otherwise.
BlockArgument findSlicedParameter(tensor::ExtractSliceOp slice);

/// The axis of the source that an axis of an expanded tensor is; nothing where
/// it is a part of one.
std::optional<int64_t> findSourceAxis(tensor::ExpandShapeOp expand,
                                      int64_t axis);

/// The properties of a kernel on tensors that fusion relies on.
class KernelFacts {
public:
  explicit KernelFacts(func::FuncOp kernel);

  /// A place where a parameter is read as a whole tensor by loops.
  struct Read {
    linalg::LinalgOp op;
    AffineMap map;
  };

  func::FuncOp kernel;
  OpPattern pattern;
  /// Whether the body can be put into that of another kernel.
  bool isMergeable = false;
  bool hasReduction = false;
  /// Whether it is nothing but loops, over parameters or views of them, with
  /// bodies that can be computed on vectors, reductions innermost, and
  /// whether what it computes of an element is cheap.
  bool isVectorizable = false, isCheap = false;
  /// Whether it is one nest of loops, but for fills, over parameters, and
  /// whether that could be computed on vectors but for elements that it reads
  /// at computed indices.
  bool isOneNest = false, isGather = false;
  /// Whether a body asks where it is, and whether a tensor holds Booleans.
  bool usesIndices = false, hasBooleans = false;
  /// Its only linalg operation but for fills, where that runs over parallel
  /// loops and writes the only result in order.
  linalg::LinalgOp elementwise;
  /// Whether it sums products of the elements of windows.
  bool isConvolution = false;
  /// Whether all results are slices of the first parameter that begin where it
  /// does, but along the last dimension.
  bool isSplit = false;
  /// Whether the only result is a slice of the first parameter, from a known
  /// place on and without gaps.
  bool isSlice = false;
  /// Whether the only result is what loops write, collapsed: a normalization
  /// of groups.
  bool isCollapsed = false;
  /// The number of outer loops that all operations have in common: each of
  /// their iterations could run to the end before the next one begins. Zero
  /// where there is none.
  unsigned rows = 0;

  /// The places that read a parameter, but for its dimensions; none where it is
  /// also read in another way.
  std::optional<ArrayRef<Read>> getReads(unsigned param) const;
  /// The operation whose loops are all parallel, and write a result in order;
  /// null where a result comes from anything else.
  linalg::LinalgOp getWriter(unsigned result) const;
  /// Whether an iteration of the outer `numRows` loops reads, of this
  /// parameter, what belongs to the iteration and nothing else.
  bool readsByRow(unsigned param, unsigned numRows) const;
  /// Whether each operation reads and writes by row what the kernel makes.
  bool computesByRow(unsigned numRows) const;

private:
  void collectReads();
  void collectRows();
  void findSplit();

  SmallVector<std::optional<SmallVector<Read>>> reads; // of each parameter
  SmallVector<linalg::LinalgOp> ops;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_OPPATTERN_H
