//===- RewriteReshape.cpp - Reshapes become views -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result of an operator is memory of its own. It becomes a view of the
// operand where the elements are proven to be the same ones, and nobody can
// tell the difference (`mayBeViewOf`).
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Alias.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXREWRITERESHAPEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Whether it is a view
//===----------------------------------------------------------------------===//

/// The type that follows from the operands; null where none does.
static TensorStructInfoType deriveResult(Operation *op) {
  SmallVector<Type> types;
  auto inference = cast<InferTypeOpInterface>(op);
  if (failed(inference.inferReturnTypes(
          op->getContext(), /*location=*/std::nullopt, op->getOperands(),
          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
          op->getRegions(), types)))
    return {};
  return dyn_cast<TensorStructInfoType>(types.front());
}

/// Whether the declared result is known to have the elements of the operand,
/// with no check left to make.
static bool isView(Operation *op) {
  auto from = dyn_cast<TensorStructInfoType>(op->getOperand(0).getType());
  auto to = dyn_cast<TensorStructInfoType>(op->getResult(0).getType());
  if (!from || !to || !from.hasShape() || !to.hasShape() || !from.getDtype() ||
      from.getDtype() != to.getDtype() || from.getVdevice() != to.getVdevice())
    return false;
  PrimExprFacts facts = collectFacts(op);
  addFactsOfValue(from, facts);
  FactsScope scope(facts);
  TensorStructInfoType derived = deriveResult(op);
  if (!derived || !derived.hasShape() ||
      proveEqual(derived.getDims(), to.getDims(), facts) != Ternary::Yes)
    return false;
  MLIRContext *context = op->getContext();
  PrimExprAttr have = PrimExprAttr::getProduct(context, from.getDims());
  PrimExprAttr need = PrimExprAttr::getProduct(context, to.getDims());
  if (have.isTooLarge() || need.isTooLarge())
    return false;
  if (have != need && proveEqual(have, need, facts) != Ternary::Yes)
    return false;
  // Of the dimensions that squeeze removes, only those known to be 1 need no
  // check; where the sizes are equal but not known, n may be 0.
  auto squeeze = dyn_cast<SqueezeOp>(op);
  if (!squeeze || !squeeze.getAxis())
    return true;
  return llvm::all_of(*squeeze.getAxis(), [&](int64_t axis) {
    PrimExprAttr dim = from.getDims()[axis < 0 ? axis + from.getNdim() : axis];
    return dim.getConstant() == 1;
  });
}

namespace {
struct RelaxRewriteReshapePass
    : relax::impl::RelaxRewriteReshapePassBase<RelaxRewriteReshapePass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    SmallVector<Operation *> reshapes;
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(op))
        reshapes.push_back(op);
    });
    for (Operation *op : reshapes) {
      // A reshape that became a view before shares memory now.
      if (!isView(op) || !mayBeViewOf(op, op->getOperand(0)))
        continue;
      OpBuilder builder(op);
      auto view = ViewOp::create(builder, op->getLoc(),
                                 op->getResult(0).getType(), op->getOperand(0));
      op->getResult(0).replaceAllUsesWith(view.getResult());
      op->erase();
    }
  }
};
} // namespace
