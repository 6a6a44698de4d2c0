//===- TidyKernel.cpp - One form for equal kernels --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels on tensors come from operators, from tensor expressions and from
// text. They ask for dimensions and constants wherever they need them; here
// each is left once, at a position that does not depend on the order of
// requests.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

#include <map>

using namespace mlir;
using namespace mlir::relax;

/// Has the dimensions of arguments be computed first, in their order.
static void hoistDims(Block &entry) {
  std::map<std::pair<unsigned, int64_t>, SmallVector<tensor::DimOp>> dims;
  entry.walk([&](tensor::DimOp dim) {
    auto argument = dyn_cast<BlockArgument>(dim.getSource());
    std::optional<int64_t> axis = dim.getConstantIndex();
    if (argument && axis && argument.getOwner() == &entry)
      dims[{argument.getArgNumber(), *axis}].push_back(dim);
  });
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (auto &[place, ops] : dims) {
    Location loc = ops.front().getLoc();
    Value axis = arith::ConstantIndexOp::create(builder, loc, place.second);
    Value dim = tensor::DimOp::create(builder, loc,
                                      entry.getArgument(place.first), axis);
    for (tensor::DimOp op : ops) {
      op.replaceAllUsesWith(dim);
      op.erase();
    }
  }
}

/// Merges equal computations, except for memory, which numbers keep distinct.
static void mergeScalars(func::FuncOp kernel) {
  RelaxDialect::NumberAttrHelper number(kernel.getContext());
  Builder builder(kernel.getContext());
  int64_t count = 0;
  kernel.walk([&](tensor::EmptyOp empty) {
    number.setAttr(empty, builder.getI64IntegerAttr(count++));
  });
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  kernel.walk([&](tensor::EmptyOp empty) { number.removeAttr(empty); });
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
      continue;
    }
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        eraseDead(inner);
  }
}

/// Gives each block that uses a constant one of its own.
static void moveToUses(func::FuncOp kernel) {
  SmallVector<arith::ConstantOp> constants;
  kernel.walk([&](arith::ConstantOp op) { constants.push_back(op); });
  for (arith::ConstantOp constant : constants) {
    llvm::SmallDenseMap<Block *, Operation *> copies;
    copies[constant->getBlock()] = constant;
    for (OpOperand &use : llvm::make_early_inc_range(constant->getUses())) {
      Block *block = use.getOwner()->getBlock();
      Operation *&copy = copies[block];
      if (!copy) {
        OpBuilder builder = OpBuilder::atBlockBegin(block);
        copy = builder.clone(*constant);
      }
      use.set(copy->getResult(0));
    }
    if (constant->use_empty())
      constant.erase();
  }
}

/// Has constants stand right before the first operation that uses them.
static void sinkConstants(Block &block) {
  llvm::SmallPtrSet<Operation *, 16> placed;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        sinkConstants(inner);
    if (isa<arith::ConstantOp>(op))
      continue;
    op.walk<WalkOrder::PreOrder>([&](Operation *user) {
      for (Value operand : user->getOperands()) {
        auto constant = operand.getDefiningOp<arith::ConstantOp>();
        if (constant && constant->getBlock() == &block &&
            placed.insert(constant).second)
          constant->moveBefore(&op);
      }
    });
  }
}

void mlir::relax::tidyKernel(func::FuncOp kernel) {
  if (kernel.isExternal())
    return;
  Block &entry = kernel.getBody().front();
  hoistDims(entry);
  mergeScalars(kernel);
  eraseDead(entry);
  moveToUses(kernel);
  sinkConstants(entry);
}
