//===- RowRanges.cpp - Contiguous rows as one range -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector for each row, or an almost empty tail, dominates where rows are
// short. If rows are contiguous in the outputs, vectors run across all of them
// as along one row. Operands of another layout, such as one element for each
// row, are expanded to scratch memory in that of the outputs, a block of rows
// at a time.
//
//===----------------------------------------------------------------------===//

#include "RowVectors.h"

using namespace mlir;
using namespace mlir::relax;

/// The share of the L1 cache for the expanded operands of a block.
static constexpr int64_t kBlockBytes = 16 << 10;

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

bool RowPlan::hasKnownRows() const {
  return llvm::all_of(loops.front().dims, [&](unsigned dim) {
    return !ShapedType::isDynamic(space->dims[dim].getSize());
  });
}

SmallVector<unsigned> RowPlan::getOrder() const {
  SmallVector<Access::Term> terms = space->outputs.front().place.terms;
  llvm::sort(terms, [](const Access::Term &lhs, const Access::Term &rhs) {
    return lhs.axis < rhs.axis;
  });
  return llvm::map_to_vector(terms,
                             [](const Access::Term &term) { return term.dim; });
}

bool RowPlan::flatten() {
  if (hasReduction || lane || tileDim || isScalar || lanes < 2 ||
      outer.none() || loops.size() != 1 || loops.front().dims.size() != 1)
    return false;
  unsigned rowDim = loops.front().dims.front();
  int64_t size = space->dims[rowDim].getSize();
  if (!ShapedType::isDynamic(size) && size > getLongestFlatRow())
    return false;
  for (const KernelSpace::Output &output : space->outputs)
    if (!output.place.isWhole || !output.place.isContiguous(rowDim))
      return false;
  SmallVector<Access> others;
  // Lanes would have several indices.
  for (linalg::LinalgOp op : space->ops)
    if (!op->getRegion(0).getOps<linalg::IndexOp>().empty())
      return false;
  for (const Access &access : getReads())
    if (!access.isWhole && space->getDims(access).any() &&
        !llvm::is_contained(others, access))
      others.push_back(access);
  flatDims = getOrder();
  flatDims.pop_back();
  expanded = std::move(others);
  outer.reset();
  return true;
}

//===----------------------------------------------------------------------===//
// Rows as one range of elements
//===----------------------------------------------------------------------===//

namespace {
class RowsAsRange : public RowVectors {
public:
  explicit RowsAsRange(const RowContext &context)
      : RowVectors(context), rowDim(plan.loops.front().dims.front()),
        blockSize(getBlockSize()) {}

  void emit(IndexBuilder &b) const override;

private:
  using Memory = ArrayRef<Value>;

  int64_t getRowMultiple() const { return getUnroll() * plan.lanes; }
  int64_t getBlockSize() const;
  bool isSameForRows(const Access &access) const;
  void emitExpansion(IndexBuilder &b, const Access &access, Value memory,
                     RowRange rows) const;
  void emitExpansions(IndexBuilder &b, Memory memory, RowRange rows,
                      bool areSame) const;
  void emitBlock(IndexBuilder &b, Memory memory, RowRange rows) const;

  const unsigned rowDim;
  /// The maximum number of elements that are expanded together.
  const int64_t blockSize;
};
} // namespace

/// A written element is not read again at once, which would wait for memory.
int64_t RowsAsRange::getBlockSize() const {
  int64_t bytes = 1;
  for (const Access &access : plan.expanded) {
    Type type = access.getType().getElementType();
    bytes += type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8;
  }
  return std::max(std::min<int64_t>(kBlockBytes / bytes, 1024),
                  getRowMultiple() * plan.getLongestFlatRow());
}

bool RowsAsRange::isSameForRows(const Access &access) const {
  return llvm::none_of(plan.flatDims,
                       [&](unsigned dim) { return access.uses(dim); });
}

/// Writes a whole vector for each row, one row after the other: lanes past the
/// end of a row are in the place of the next one.
void RowsAsRange::emitExpansion(IndexBuilder &b, const Access &access,
                                Value memory, RowRange rows) const {
  Value length = context.getSize(rowDim);
  RowScope scope;
  scope.vectorDim = rowDim;
  scope.isVector = true;
  if (access.uses(rowDim))
    scope.mask = context.makeMask(b, length);
  auto load = [&](IndexBuilder &inside, const Positions &positions) {
    scope.positions = positions;
    scope.positions[rowDim] = inside.index(0);
    return elements.loadParameter(inside, access, scope);
  };
  Value known = isSameForRows(access) ? load(b, getPositions({}, {})) : Value();
  emitRowRange(b, plan.flatDims, rows, getPositions({}, {}),
               [&](IndexBuilder &inside, Value row, const Positions &place) {
                 Value value = known ? known : load(inside, place);
                 Value address =
                     inside.mul(inside.sub(row, rows.begin), length);
                 elements.storeVector(inside, value, memory, address, scope,
                                      /*isPadded=*/true);
               });
}

/// Those of operands that are the same for all rows, or of the others.
void RowsAsRange::emitExpansions(IndexBuilder &b, Memory memory, RowRange rows,
                                 bool areSame) const {
  for (auto [access, place] : llvm::zip_equal(plan.expanded, memory))
    if (isSameForRows(access) == areSame)
      emitExpansion(b, access, place, rows);
}

void RowsAsRange::emitBlock(IndexBuilder &b, Memory memory,
                            RowRange rows) const {
  emitExpansions(b, memory, rows, /*areSame=*/false);
  Value length = context.getSize(rowDim);
  RowGroup group(RowScope{getPositions({}, {})});
  group.range = {b.mul(rows.begin, length), b.mul(rows.end, length)};
  group.start = b.index(0);
  for (auto [access, place] : llvm::zip_equal(plan.expanded, memory)) {
    RowCopy copy{place};
    copy.dims = {{rowDim, group.range.begin, length}};
    group.copies.emplace_back(access, copy);
  }
  emitRow(b, group);
}

void RowsAsRange::emit(IndexBuilder &b) const {
  Value length = context.getSize(rowDim), numRows = getSize(b, plan.flatDims);
  // Rows in such numbers fill vectors, whatever their length.
  Value multiple = b.index(getRowMultiple());
  Value blockRows = b.floorDiv(
      b.index(blockSize),
      b.mul(b.createOrFold<arith::MaxUIOp>(length, b.index(1)), multiple));
  blockRows = b.mul(blockRows, multiple);
  Value group = b.mul(
      b.createOrFold<arith::CeilDivUIOp>(getGroupSize(b, length), blockRows),
      blockRows);
  TaskGrid grid;
  grid.add(b.createOrFold<arith::CeilDivUIOp>(numRows, group));
  emitTasks(
      b, grid, TaskGrid::kChunk,
      [&](IndexBuilder &task, ArrayRef<Value> steps) {
        Value first = task.mul(steps.front(), group);
        Value last = getPartEnd(task, first, group, numRows);
        // The last vector of a block may reach beyond it.
        SmallVector<Value> memory =
            llvm::map_to_vector(plan.expanded, [&](const Access &access) {
              return allocateScratch(task, access.getType().getElementType(),
                                     task.getIndexAttr(blockSize + plan.lanes));
            });
        emitExpansions(task, memory,
                       {first, getPartEnd(task, first, blockRows, last)},
                       /*areSame=*/true);
        task.loop(first, last, blockRows, [&](IndexBuilder &inside, Value row) {
          emitBlock(inside, memory,
                    {row, getPartEnd(inside, row, blockRows, last)});
        });
      });
}

std::unique_ptr<RowForm>
mlir::relax::makeRowsAsRange(const RowContext &context) {
  return std::make_unique<RowsAsRange>(context);
}
