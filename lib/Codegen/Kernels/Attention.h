//===- Attention.h - Kernels that compute attention -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches softmax(q k^T) v, as the operator or written out, and emits it in one
// pass over the keys (AttentionLoops.h).
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_ATTENTION_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_ATTENTION_H

#include "Elements.h"
#include "KernelClass.h"

#include <limits>

namespace mlir::relax {

/// What the largest score begins with, and the score of a key that is not seen.
constexpr double kLowestScore = -std::numeric_limits<double>::infinity();

/// The parts of a kernel of this class, on f32; queries, keys, values and
/// results may be of f16 or bf16. Its loops are: as many of the batch as there
/// are, then queries, keys, features of both, columns of the values.
struct AttentionParts {
  static std::optional<AttentionParts> match(func::FuncOp kernel);

  unsigned numBatch = 0;
  unsigned queryLoop() const { return numBatch; }
  unsigned keyLoop() const { return numBatch + 1; }
  unsigned depthLoop() const { return numBatch + 2; }
  unsigned columnLoop() const { return numBatch + 3; }
  unsigned numLoops() const { return numBatch + 4; }

  /// Elements of the products' operands.
  Elements query, key, value;
  /// The scores that the largest is taken of: given a product.
  Elements scores;
  /// Given a score and the largest one of its query.
  Elements weights;
  /// Given sums of the values and the sum of the weights.
  Elements result;
  /// Whether a weight is divided by the sum before it is multiplied.
  bool isNormalized = false;
  BlockArgument output;
  AffineMap outputMap;

  /// The keys that a query sees, where its weights of others are zeros: those
  /// up to its own position plus `offset` (null: 0), and no more than `window`.
  bool isCausal = false;
  Value offset;
  std::optional<int64_t> window;

  /// The size of each loop: a number, or a dimension of a parameter.
  struct Size {
    int64_t known = ShapedType::kDynamic;
    BlockArgument parameter;
    int64_t axis = 0;
  };
  SmallVector<Size> sizes;

private:
  struct Matcher;
};

std::unique_ptr<KernelEmitter> matchAttention(func::FuncOp kernel,
                                              const TargetModel &target);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_ATTENTION_H
