//===- Dequantization.cpp - Matrices of quantized numbers -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the body and the maps of a linalg operation as (code - zero) * scale.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/Dequantization.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::relax;

/// The operand of a block argument, or of one that is converted to a float.
static std::optional<Dequantization::Term> readTerm(linalg::LinalgOp op,
                                                    Value value) {
  Dequantization::Term term;
  if (auto cast = value.getDefiningOp();
      isa_and_present<arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp>(cast)) {
    term.isUnsigned = isa<arith::UIToFPOp>(cast);
    value = cast->getOperand(0);
  }
  APFloat number(0.0);
  if (matchPattern(value, m_ConstantFloat(&number))) {
    term.number = number.convertToDouble();
    return term;
  }
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer))) {
    term.number =
        term.isUnsigned ? integer.getZExtValue() : integer.getSExtValue();
    return term;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBlock() ||
      argument.getArgNumber() >= unsigned(op.getNumDpsInputs()))
    return std::nullopt;
  term.operand = argument.getArgNumber();
  return term;
}

/// Whether each index is a loop, a block of one, or 0.
static bool isMapOfBlocks(AffineMap map) {
  return llvm::all_of(map.getResults(), [](AffineExpr expr) {
    if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr))
      return binary.getKind() == AffineExprKind::FloorDiv &&
             isa<AffineDimExpr>(binary.getLHS()) &&
             isa<AffineConstantExpr>(binary.getRHS());
    return isa<AffineDimExpr, AffineConstantExpr>(expr);
  });
}

std::optional<Dequantization> Dequantization::match(linalg::LinalgOp op) {
  if (!op.isAllParallelLoops() || op.getNumLoops() != 2 ||
      op->getNumResults() != 1 || op.hasIndexSemantics() ||
      !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
    return std::nullopt;
  Dequantization result;
  result.op = op;
  result.maps = op.getIndexingMapsArray();
  auto product = op.getBlock()
                     ->getTerminator()
                     ->getOperand(0)
                     .getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  for (bool isSwapped : {false, true}) {
    Value code = isSwapped ? product.getRhs() : product.getLhs();
    Value scale = isSwapped ? product.getLhs() : product.getRhs();
    result.zero = {};
    if (auto difference = code.getDefiningOp<arith::SubFOp>()) {
      std::optional<Term> zero = readTerm(op, difference.getRhs());
      if (!zero)
        continue;
      result.zero = *zero;
      code = difference.getLhs();
    }
    std::optional<Term> codes = readTerm(op, code), step = readTerm(op, scale);
    if (!codes || !step || !codes->operand ||
        !op.getBlock()->getArgument(*codes->operand).getType().isInteger(8))
      continue;
    result.codes = *codes->operand;
    result.isUnsigned = codes->isUnsigned;
    result.scale = *step;
    bool isInOrder = result.maps[result.codes].isIdentity() &&
                     result.maps.back().isIdentity();
    if (isInOrder && llvm::all_of(result.maps, isMapOfBlocks))
      return result;
  }
  return std::nullopt;
}

std::optional<int64_t> Dequantization::getBlock(unsigned loop) const {
  int64_t block = 0;
  for (const Term &term : {scale, zero}) {
    if (!term.operand)
      continue;
    for (AffineExpr expr : maps[*term.operand].getResults()) {
      if (!expr.isFunctionOfDim(loop))
        continue;
      int64_t size = 1;
      if (auto division = dyn_cast<AffineBinaryOpExpr>(expr))
        size = cast<AffineConstantExpr>(division.getRHS()).getValue();
      int64_t low = std::min(block, size), high = std::max(block, size);
      if (low != 0 && high % low != 0)
        return std::nullopt;
      block = low == 0 ? high : low;
    }
  }
  return block;
}

bool mlir::relax::isUnpackedInRegisters(const Dequantization &matrix,
                                        unsigned depthLoop) {
  std::optional<int64_t> block = matrix.getBlock(depthLoop);
  return block && *block % kCodesOfWord == 0;
}
