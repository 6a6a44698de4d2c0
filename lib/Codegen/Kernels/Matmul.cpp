//===- Matmul.cpp - Kernels that are matrix products ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

#include "Contraction.h"
#include "Epilogue.h"
#include "MatmulEmitter.h"

using namespace mlir;
using namespace mlir::relax;

/// The type to sum up in; null where there is no such.
static FloatType getSumType(linalg::LinalgOp op) {
  auto element = [&](unsigned operand) {
    return getElementTypeOrSelf(op->getOperand(operand).getType());
  };
  auto type = dyn_cast<FloatType>(element(2));
  if (!type || !(type.isF32() || type.isF64()))
    return {};
  for (unsigned operand : {0, 1}) {
    auto stored = dyn_cast<FloatType>(element(operand));
    if (!stored || (stored != type && !stored.isF16() && !stored.isBF16()))
      return {};
  }
  return type;
}

/// The only operation with reductions.
static linalg::LinalgOp findReduction(Block &body) {
  linalg::LinalgOp found;
  for (auto op : body.getOps<linalg::LinalgOp>()) {
    if (op.getNumReductionLoops() == 0)
      continue;
    if (found)
      return {};
    found = op;
  }
  return found;
}

namespace {
class MatmulKernel : public KernelEmitter {
public:
  MatmulKernel(func::FuncOp kernel, Contraction contraction, Epilogue epilogue,
               FloatType sumType, MatmulBlocking blocking)
      : kernel(kernel), contraction(std::move(contraction)),
        epilogue(std::move(epilogue)), sumType(sumType), blocking(blocking) {}

  void emit(ImplicitLocOpBuilder &builder, ValueRange arguments) override;

private:
  func::FuncOp kernel;
  Contraction contraction;
  Epilogue epilogue;
  FloatType sumType;
  MatmulBlocking blocking;
};
} // namespace

void MatmulKernel::emit(ImplicitLocOpBuilder &builder, ValueRange arguments) {
  IndexBuilder b(builder.getLoc(), builder);
  const Contraction &c = contraction;
  auto argument = [&](unsigned operand) {
    auto parameter = cast<BlockArgument>(contraction.op->getOperand(operand));
    return arguments[parameter.getArgNumber()];
  };
  Value output = arguments[epilogue.getOutput().getArgNumber()];
  LoopMemory memory(b, c.maps, {argument(0), argument(1), output});
  epilogue.begin(b, kernel, arguments);

  auto view = [&](unsigned operand, const LoopGroup &rows,
                  const LoopGroup &columns) {
    MatrixView matrix;
    matrix.base = flatten(b, argument(operand));
    matrix.rowStride = memory.stride(b, operand, rows);
    matrix.columnStride = memory.stride(b, operand, columns);
    return [&, matrix, operand](IndexBuilder &b, Value batch) {
      SmallVector<Value> indices(c.getNumLoops());
      memory.delinearize(b, batch, c.batch, indices);
      MatrixView result = matrix;
      result.offset = b.index(0);
      for (unsigned loop : c.batch)
        result.offset =
            b.add(result.offset,
                  b.mul(indices[loop], memory.stride(b, operand, loop)));
      return result;
    };
  };
  MatmulProblem problem;
  problem.batch = memory.size(b, c.batch);
  problem.m = memory.size(b, c.rows);
  problem.n = memory.size(b, c.columns);
  problem.k = memory.size(b, c.depth);
  problem.lhs = view(c.lhs, c.rows, c.depth);
  problem.rhs = view(c.rhs, c.depth, c.columns);
  problem.sumType = sumType;
  problem.finish = [&](IndexBuilder &b, Value sums,
                       const MatmulProblem::Place &place) {
    // Loops that run once are at 0.
    SmallVector<Value> loops(c.getNumLoops(), b.index(0)), indices;
    memory.delinearize(b, place.batch, c.batch, loops);
    memory.delinearize(b, place.row, c.rows, loops);
    memory.delinearize(b, place.column, c.columns, loops);
    for (AffineExpr expr : c.maps[2].getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      indices.push_back(dim ? loops[dim.getPosition()] : b.index(0));
    }
    epilogue.finish(b, sums, indices, place.mask);
  };
  emitMatmul(b, problem, blocking);
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchMatmul(func::FuncOp kernel, const TargetModel &target) {
  linalg::LinalgOp reduction = findReduction(kernel.getBody().front());
  if (!reduction)
    return nullptr;
  std::optional<Contraction> contraction = Contraction::match(reduction);
  FloatType sumType = contraction ? getSumType(reduction) : FloatType();
  if (!sumType)
    return nullptr;
  FailureOr<Epilogue> epilogue = Epilogue::match(kernel, reduction);
  if (failed(epilogue))
    return nullptr;
  for (unsigned operand : {0, 1}) {
    auto argument = dyn_cast<BlockArgument>(reduction->getOperand(operand));
    if (!argument || argument == epilogue->getOutput())
      return nullptr;
  }
  MatmulBlocking blocking = MatmulBlocking::get(
      target.vectorBits, target.l1Bytes, target.l2Bytes, sumType.getWidth());
  return std::make_unique<MatmulKernel>(kernel, *contraction, *epilogue,
                                        sumType, blocking);
}
