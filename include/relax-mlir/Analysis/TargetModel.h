//===- TargetModel.h - The processor, as kernels see it ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The width of its vectors and the sizes of its caches, from which tiles and
// panels follow, and instructions that few processors have. The pass
// relax-attach-target puts them on the module, in the attributes of DLTI.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_ANALYSIS_TARGETMODEL_H
#define RELAX_MLIR_ANALYSIS_TARGETMODEL_H

#include <algorithm>
#include <cstdint>
#include <string>

namespace llvm {
class StringRef;
} // namespace llvm

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace mlir::relax {

struct TargetModel {
  /// The width of a vector register.
  unsigned vectorBits = 128;
  /// The sizes in bytes of the caches that a core has for itself.
  int64_t l1Bytes = 32 << 10, l2Bytes = 512 << 10;
  /// Instructions that kernels are written for, as LLVM calls them, with commas
  /// between them. Vectors of any width are code for any processor, and not all
  /// of these are: they have to be asked for.
  std::string features;

  /// Whether GPUs may round elements of f32 to tf32, whose significands have 11
  /// bits, before they multiply them.
  bool allowsTF32 = false;

  bool has(llvm::StringRef feature) const;

  /// Whether its vectors have instructions that multiply elements of a type and
  /// add the products up as 32 bits, in less time than products of float32.
  bool multipliesShorts() const;
  bool multipliesBytes() const;
  bool multipliesBFloats() const;
  /// Whether they have one for sums of two products of bytes, as 16 bits.
  bool multipliesBytePairs() const;
  /// Whether it has a matrix unit (AMX), whose tiles have rows of 512 bits as
  /// vectors do, for elements of a type.
  bool hasTilesOfBytes() const;
  bool hasTilesOfBFloats() const;

  /// The processor that this runs on.
  static const TargetModel &getHost();

  /// The target of the module around an operation; the host where the module
  /// has none.
  static TargetModel get(Operation *op);

  /// Puts this on a module.
  void attach(ModuleOp module) const;

  /// Returns the number of elements of a type with `bits` that a register
  /// holds.
  int64_t lanes(unsigned bits) const {
    return std::max<int64_t>(vectorBits / bits, 1);
  }
};

} // namespace mlir::relax

#endif // RELAX_MLIR_ANALYSIS_TARGETMODEL_H
