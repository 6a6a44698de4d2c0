//===- VectorBody.h - Bodies of linalg operations, vectorized ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the body of a linalg operation, which computes one element, on all
// lanes of a vector. Values that are the same in all lanes stay scalars.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_VECTORBODY_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_VECTORBODY_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::relax {

inline bool isVector(Value value) { return isa<VectorType>(value.getType()); }

/// Whether VectorBody can compute the body of `op`.
bool isVectorizable(linalg::LinalgOp op);

/// Estimates the cost of the body of `op`, in additions.
int64_t estimateCost(linalg::LinalgOp op);

/// Estimates the cost of an operation of a body.
int64_t estimateCost(Operation &op);

/// Whether an operation traps where an operand is 0.
bool isDivisionOfIntegers(Operation &op);

/// The bits of the elements that fill a register: those of the widest values.
/// Where few of the values of elementwise operations have 64 bits, as where
/// random integers become floats, these take two registers, so that the others
/// fill one.
class LaneBits {
public:
  void add(unsigned bits) {
    widest = std::max(widest, bits);
    ++(bits > kNarrow ? numWide : numNarrow);
  }
  /// Has them be as many, whatever the values have.
  void requireAtLeast(unsigned bits) { widest = std::max(widest, bits); }
  unsigned get(bool isElementwise) const {
    bool areFewWide = isElementwise && numNarrow > kFew * numWide;
    return areFewWide ? std::min(widest, kNarrow) : widest;
  }

private:
  static constexpr unsigned kNarrow = 32, kFew = 8;
  unsigned widest = 8, numNarrow = 0, numWide = 0;
};

class VectorBody {
public:
  /// The index of a loop: a scalar, or a vector where lanes differ.
  using IndexOf = llvm::function_ref<Value(unsigned loop)>;

  VectorBody(ImplicitLocOpBuilder &builder, int64_t lanes)
      : builder(builder), lanes(lanes) {}

  /// The lanes that count, a vector of i1; null: all of them. The others may
  /// hold anything, and nothing traps because of it.
  Value mask;

  /// Whether x / y, where y is the same in all lanes, is x * (1 / y) where the
  /// operation allows that (`arcp`).
  bool useReciprocals = false;

  /// Vectors that many divisions share, as scalars do: lanes are rows, and this
  /// is what belongs to a row.
  SmallVector<Value> rowValues;

  /// Computes the values that the body yields from those of its arguments, each
  /// of which is a scalar or a vector. `scalars` maps what the body uses from
  /// outside.
  SmallVector<Value> compute(linalg::LinalgOp op, ValueRange arguments,
                             const IRMapping &scalars, IndexOf indexOf);

  /// Computes the result of an operation of a body, a vector where one of the
  /// values of its operands is.
  Value compute(Operation &op, const IRMapping &values);

  /// A scalar in all lanes; a vector as it is.
  Value broadcast(Value value);

private:
  Value divideBy(Value vector, Value divisor);
  bool isShared(Value value) const;

  ImplicitLocOpBuilder &builder;
  int64_t lanes;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_VECTORBODY_H
