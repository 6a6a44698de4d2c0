//===- MatrixUnit.cpp - The matrix unit of a processor ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixUnit.h"

#include "mlir/Dialect/AMX/AMXDialect.h"

using namespace mlir;
using namespace mlir::relax;

std::optional<MatrixUnit> MatrixUnit::find(const FactorType &lhs,
                                           const FactorType &rhs, Type sum,
                                           const TargetModel &target) {
  auto are = [&](auto fits) { return fits(lhs.element) && fits(rhs.element); };
  bool areBFloats = are([](Type type) { return type.isBF16(); });
  bool areBytes = are([](Type type) { return type.isInteger(8); });
  bool hasProducts =
      (areBFloats && sum.isF32() && target.hasTilesOfBFloats()) ||
      (areBytes && sum.isInteger(32) && target.hasTilesOfBytes());
  return hasProducts ? std::optional(MatrixUnit(lhs, rhs, sum)) : std::nullopt;
}

Type MatrixUnit::getSumsType() const {
  return amx::TileType::get({kSize, kSize}, sum);
}

Type MatrixUnit::getWordsType() const {
  int64_t elements = 32 / lhs.element.getIntOrFloatBitWidth();
  return amx::TileType::get({kSize, kSize * elements}, lhs.element);
}

Value MatrixUnit::makeZeros(IndexBuilder &b) const {
  return amx::TileZeroOp::create(b, getSumsType());
}

Value MatrixUnit::loadSums(IndexBuilder &b, Value memory, Value offset,
                           Value stride) const {
  return amx::TileLoadOp::create(b, getSumsType(), memory, offset, stride);
}

void MatrixUnit::storeSums(IndexBuilder &b, Value sums, Value memory,
                           Value offset, Value stride) const {
  amx::TileStoreOp::create(b, memory, offset, sums, stride);
}

Value MatrixUnit::loadWords(IndexBuilder &b, Value memory, Value offset,
                            Value stride) const {
  return amx::TileLoadOp::create(b, getWordsType(), memory, offset, stride);
}

Value MatrixUnit::multiplyAdd(IndexBuilder &b, Value lhsTile, Value rhsTile,
                              Value sums) const {
  if (isa<FloatType>(sum))
    return amx::TileMulFOp::create(b, sums.getType(), lhsTile, rhsTile, sums);
  return amx::TileMulIOp::create(b, sums.getType(), lhsTile, rhsTile, sums,
                                 lhs.isUnsigned, rhs.isUnsigned);
}
