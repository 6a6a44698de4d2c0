//===- RowKernel.cpp - Elementwise kernels, reductions of rows --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans row kernels, and emits each plan in its form. Where a form depends on
// sizes that are not known, there are two plans, and the kernel has both.
//
//===----------------------------------------------------------------------===//

#include "RowKernel.h"

#include "RowForm.h"

using namespace mlir;
using namespace mlir::relax;

/// Returns the form of a plan: the first one whose dimension it has chosen.
static std::unique_ptr<RowForm> makeForm(const RowContext &context) {
  const RowPlan &plan = context.plan;
  if (plan.tileDim)
    return makeTiledRows(context);
  if (plan.isFlat())
    return makeRowsAsRange(context);
  if (plan.shortDim)
    return plan.isReducedFirst ? makeReducedBlocks(context)
                               : makeShortRows(context);
  if (plan.lane)
    return makeRowLanes(context);
  if (plan.isScalar)
    return makeRowsByElement(context);
  return makeLongRows(context);
}

namespace {
class RowKernel : public KernelEmitter {
public:
  /// `narrow` is the plan for rows, or tiles, that turn out to be narrow.
  RowKernel(std::unique_ptr<RowPlan> plan,
            std::unique_ptr<RowPlan> narrow = nullptr)
      : plan(std::move(plan)), narrow(std::move(narrow)) {}

  void emit(ImplicitLocOpBuilder &builder, ValueRange arguments) override;

private:
  Value isNarrow(IndexBuilder &b, const RowContext &context) const;

  std::unique_ptr<RowPlan> plan, narrow;
};
} // namespace

/// Whether sizes turn out to be those of the other plan.
Value RowKernel::isNarrow(IndexBuilder &b, const RowContext &context) const {
  if (plan->tileDim)
    return b.isAtMost(b.createOrFold<arith::MinUIOp>(
                          context.getSize(*plan->tileDim),
                          context.getSize(plan->loops.front().dims.back())),
                      RowPlan::kNarrow - 1);
  if (!narrow->shortDim)
    return b.isAtMost(context.getSize(plan->loops.front().dims.back()),
                      narrow->getLongestFlatRow());
  // Few rows leave most lanes empty.
  Value areMany =
      b.compare(arith::CmpIPredicate::uge, context.getSize(*narrow->lane),
                b.index(narrow->lanes / 2));
  return b.createOrFold<arith::AndIOp>(
      b.isAtMost(context.getSize(*narrow->shortDim), RowPlan::kShort), areMany);
}

void RowKernel::emit(ImplicitLocOpBuilder &builder, ValueRange arguments) {
  IndexBuilder b(builder.getLoc(), builder);
  RowContext context(b, *plan, arguments);
  if (!narrow)
    return makeForm(context)->emit(b);
  b.branch(
      isNarrow(b, context),
      [&](IndexBuilder &inside) {
        makeForm(RowContext(inside, *narrow, arguments))->emit(inside);
      },
      [&](IndexBuilder &inside) { makeForm(context)->emit(inside); });
}

//===----------------------------------------------------------------------===//
// The classes
//===----------------------------------------------------------------------===//

/// Whether results are made of several elements.
static bool reduces(linalg::LinalgOp op) {
  return llvm::any_of(
      llvm::zip(op.getStaticLoopRanges(), op.getIteratorTypesArray()),
      [](auto loop) {
        auto [size, kind] = loop;
        return size != 1 && kind == utils::IteratorType::reduction;
      });
}

static std::unique_ptr<RowPlan>
makePlan(func::FuncOp kernel, const TargetModel &target, bool hasReductions,
         RowPlan::Form form = RowPlan::Form::Any) {
  if (llvm::any_of(kernel.getOps<linalg::LinalgOp>(), reduces) != hasReductions)
    return nullptr;
  std::unique_ptr<KernelSpace> space = KernelSpace::analyze(kernel);
  return space ? RowPlan::make(std::move(space), target, form) : nullptr;
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchElementwise(func::FuncOp kernel, const TargetModel &target) {
  auto plan = makePlan(kernel, target, /*hasReductions=*/false);
  if (!plan)
    return nullptr;
  // Square blocks of a matrix that is narrow are empty for the most part, and
  // so are vectors of short rows.
  std::unique_ptr<RowPlan> narrow;
  if (plan->tileDim) {
    narrow = makePlan(kernel, target, /*hasReductions=*/false,
                      RowPlan::Form::Elements);
  } else if (plan->outer.any() && !plan->isScalar) {
    if (plan->hasKnownRows()) {
      plan->flatten();
    } else {
      narrow = makePlan(kernel, target, /*hasReductions=*/false);
      if (narrow && !narrow->flatten())
        narrow = nullptr;
    }
  }
  return std::make_unique<RowKernel>(std::move(plan), std::move(narrow));
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchRows(func::FuncOp kernel, const TargetModel &target) {
  auto plan = makePlan(kernel, target, /*hasReductions=*/true);
  if (!plan)
    return nullptr;
  std::optional<unsigned> shortDim = plan->findShortDim();
  if (plan->lane || !shortDim)
    return std::make_unique<RowKernel>(std::move(plan));
  bool isKnown = !ShapedType::isDynamic(plan->space->dims[*shortDim].getSize());
  // LLVM makes vectors of a few operations by itself where the size is known.
  constexpr int64_t kCheap = 16;
  if (isKnown && plan->cost <= kCheap && plan->loops.front().dims.size() == 1) {
    plan = makePlan(kernel, target, /*hasReductions=*/true,
                    RowPlan::Form::Elements);
    return std::make_unique<RowKernel>(std::move(plan));
  }
  auto shortRows = makePlan(kernel, target, /*hasReductions=*/true,
                            RowPlan::Form::ShortRows);
  if (shortRows && isKnown)
    return std::make_unique<RowKernel>(std::move(shortRows));
  return std::make_unique<RowKernel>(std::move(plan), std::move(shortRows));
}
