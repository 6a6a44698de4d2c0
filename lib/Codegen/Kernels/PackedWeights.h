//===- PackedWeights.h - Weights of 4 and 8 bits ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of quantized weights that a matrix product unpacks in registers.
// `relax-pack-constants` brings constants into it and writes an operation that
// says which matrix they are; the class of products recognizes that operation
// and never executes it.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_PACKEDWEIGHTS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_PACKEDWEIGHTS_H

#include "relax-mlir/Analysis/Dequantization.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::relax {

/// The right matrix of a product, which the kernel makes of three parameters:
/// codes, and scales and zeros unless these are numbers. The depth of packed
/// codes, of 4 or 8 bits, is rounded up to words.
struct QuantizedWeights {
  Dequantization matrix;
  unsigned columnLoop; // of the operation; the other one is the depth
  int64_t lanes;       // columns of a panel

  unsigned depthLoop() const { return 1 - columnLoop; }
  int64_t columns() const;
  int64_t depth() const;
  int64_t panels() const;
  int64_t words() const;
  /// How many indices of the depth share a scale, and how many groups that are.
  int64_t group() const;
  int64_t groups() const;
  /// The parameters that are to be constants; null for a number.
  BlockArgument getCodes() const;
  BlockArgument getParameter(const Dequantization::Term &term) const;
};

/// Packed codes of 4 or 8 bits.
struct PackedCodes {
  std::vector<char> bytes;
  int64_t bits;
};

/// The type of packed codes: panels x words x lanes of 32 bits, or panels x
/// words x codes of a word x lanes of `byte`.
RankedTensorType getPackedType(const QuantizedWeights &weights, int64_t bits,
                               Type byte);

/// Packs codes, in 4 bits where all of them fit.
PackedCodes packCodes(const QuantizedWeights &weights, ArrayRef<char> codes);

/// The elements of a scale or a zero, of `bytes` each, for all panels, groups
/// and lanes.
std::vector<char> packTerm(const QuantizedWeights &weights,
                           const Dequantization::Term &term,
                           ArrayRef<char> elements, int64_t bytes);

/// What a product has to know of packed weights.
struct PackedWeights {
  /// Null where this is no matrix that `replaceWithPacked` has written.
  static std::optional<PackedWeights> match(Value matrix);

  BlockArgument codes;
  Value scale, zero; // a parameter, or a number of the kernel
  int64_t bits, group;
  bool isUnsigned, isUnsignedZero;
  bool mayRoundRows; // of the left matrix, to 8 bits
  /// What is added to codes when they are packed.
  int64_t getBias() const { return bits == 4 && !isUnsigned ? 8 : 0; }
};

/// Makes the parameters of a kernel packed ones, and the matrix of these.
void replaceWithPacked(const QuantizedWeights &weights, int64_t bits,
                       bool mayRoundRows);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_PACKEDWEIGHTS_H
