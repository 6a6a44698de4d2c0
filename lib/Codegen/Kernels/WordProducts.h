//===- WordProducts.h - Products of several elements at a time --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The instructions that multiply elements of 8 or 16 bits and add the products
// of those in a word of 32 bits to one sum of 32 bits. The elements of a word
// follow one another along the depth of a product of matrices, whose panels are
// made of words then.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_WORDPRODUCTS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_WORDPRODUCTS_H

#include "IndexBuilder.h"

#include "relax-mlir/Analysis/TargetModel.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::relax {

/// An operand of a product: the type of its elements, and whether integers are
/// extended by zeros.
struct FactorType {
  static FactorType get(linalg::LinalgOp op, unsigned operand);

  Type element;
  bool isUnsigned = false;
};

/// An element, or a vector of them, of a wider type.
Value extend(ImplicitLocOpBuilder &b, Value value, Type element,
             bool isUnsigned = false);

/// Declares an intrinsic of LLVM in the module that the builder is in: a
/// function of that name, of which bufferization knows that it has no memory.
Operation *declareIntrinsic(IndexBuilder &b, StringRef name,
                            ArrayRef<Type> parameters, Type result);
Value callIntrinsic(IndexBuilder &b, Operation *function, ValueRange arguments);

/// The instructions of a target, as intrinsics of LLVM, that multiply unsigned
/// bytes by signed ones.
struct ByteProducts {
  /// Nothing where the target has none for its vectors.
  static std::optional<ByteProducts> find(const TargetModel &target);

  /// Sums of two products, as 16 bits; sums of two of these, as 32 bits.
  StringRef multiply, addPairs;
  /// Adds four products to a sum of 32 bits; empty where the target cannot.
  StringRef accumulate = {};
};

/// How words are multiplied. In registers and in panels, words have the type of
/// sums.
class WordProducts {
public:
  /// Nothing where the target has no such instruction for these, or a slow one:
  /// beside a matrix unit it may be slow, as it multiplies few rows.
  static std::optional<WordProducts> find(const FactorType &lhs,
                                          const FactorType &rhs, Type sum,
                                          const TargetModel &target,
                                          bool hasMatrixUnit = false);

  /// How many elements a word has.
  int64_t size() const { return kind == Kind::Bytes ? 4 : 2; }
  /// Whether one instruction multiplies and adds to the sums.
  bool areFused() const { return kind != Kind::Shorts; }

  /// The words of elements that follow one another, each a number or a vector.
  Value interleave(IndexBuilder &b, ArrayRef<Value> elements, bool isUnsigned,
                   Type word) const;
  /// The words of a vector of elements.
  Value make(IndexBuilder &b, Value elements, bool isUnsigned, Type word) const;

  /// Whether one operand has to be signed and the other one unsigned, and both
  /// are the same. Then the left one is moved by 128, by `flipSigns`, and the
  /// products of the right one with `getOffset` are to be taken from sums.
  bool movesLhs() const { return isMoved; }
  Value flipSigns(IndexBuilder &b, Value words) const;
  Value getOffset(IndexBuilder &b, VectorType words) const;

  /// Prepares products of vectors of `lanes` words: declares what they call in
  /// the module that the builder is in.
  void begin(IndexBuilder &b, int64_t lanes, Type sum);
  /// Adds products of vectors of words to a vector of sums.
  Value multiplyAdd(IndexBuilder &b, Value lhs, Value rhs, Value sum) const;

private:
  enum class Kind {
    Shorts,  // pmaddwd, which LLVM makes of arithmetic; vpdpwssd
    Bytes,   // vpdpbusd
    BFloats, // vdpbf16ps
  };

  explicit WordProducts(Kind kind) : kind(kind) {}
  Value widen(IndexBuilder &b, Value elements, bool isUnsigned) const;
  VectorType getFactorType(IndexBuilder &b, int64_t lanes) const;
  Value multiplyAddShorts(IndexBuilder &b, Value lhs, Value rhs,
                          Value sum) const;

  Kind kind;
  StringRef intrinsic = {};      // of bytes and floats
  Operation *function = nullptr; // that declares it
  bool isLhsUnsigned = false;    // of bytes, as they are multiplied
  bool isMoved = false;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_WORDPRODUCTS_H
