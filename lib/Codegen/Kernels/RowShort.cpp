//===- RowShort.cpp - Rows that are shorter than vectors --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of a few elements are the lanes of vectors, though the elements of a row
// are what is contiguous: as many rows as a vector has lanes are a block of
// memory, which is transposed in registers when operands are loaded and outputs
// stored. In between, the first elements of the rows are one vector in scratch
// memory, the second elements another, and so on.
//
// Where the size of rows is static, a block is as many vectors. Where it is
// dynamic, rows are padded to RowPlan::kShort elements by the transposition.
//
// Where blocks are reduced over other dimensions as well, that comes first:
// each vector of a block has an accumulator, and these are transposed at the
// end.
//
//===----------------------------------------------------------------------===//

#include "RowLanes.h"
#include "Transpose.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Rows that are lanes for a while
//===----------------------------------------------------------------------===//

/// The mask of a part of `count` elements that begins at `first`.
static Value makeMask(IndexBuilder &b, int64_t lanes, Value count,
                      int64_t first) {
  return vector::CreateMaskOp::create(b,
                                      VectorType::get({lanes}, b.getI1Type()),
                                      ValueRange{b.sub(count, b.index(first))});
}

/// Vectors next to each other, as many as become one of all lanes.
static SmallVector<Value> concatenate(IndexBuilder &b, SmallVector<Value> parts,
                                      int64_t lanes) {
  auto getLength = [&] {
    return cast<VectorType>(parts.front().getType()).getNumElements();
  };
  while (getLength() < lanes) {
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, 2 * getLength()));
    for (size_t i = 0; i < parts.size() / 2; ++i)
      parts[i] =
          vector::ShuffleOp::create(b, parts[2 * i], parts[2 * i + 1], all);
    parts.resize(parts.size() / 2);
  }
  return parts;
}

/// Makes vectors of the elements of rows of `size`, in the order of memory,
/// vectors of rows.
static SmallVector<Value> toLanes(IndexBuilder &b, SmallVector<Value> values,
                                  int64_t lanes, int64_t size) {
  if (llvm::isPowerOf2_64(size))
    return rotatePlaces(b, values, llvm::Log2_64(lanes));
  return permute(b, values, [&](int64_t place) {
    return place % lanes * size + place / lanes;
  });
}

/// And the other way round.
static SmallVector<Value> fromLanes(IndexBuilder &b, SmallVector<Value> values,
                                    int64_t lanes, int64_t size) {
  if (llvm::isPowerOf2_64(size))
    return rotatePlaces(b, values, llvm::Log2_64(size));
  return permute(b, values, [&](int64_t place) {
    return place % size * lanes + place / size;
  });
}

/// `emit` writes what is done where all rows exist, and where some are missing.
static SmallVector<Value>
emitIf(IndexBuilder &b, Value condition,
       llvm::function_ref<SmallVector<Value>(IndexBuilder &, bool)> emit) {
  auto branch = [&](bool isTrue) {
    return [&, isTrue](OpBuilder &nested, Location loc) {
      IndexBuilder inside(loc, nested);
      scf::YieldOp::create(inside, emit(inside, isTrue));
    };
  };
  auto op = scf::IfOp::create(b, condition, branch(true), branch(false));
  return llvm::to_vector(ValueRange(op.getResults()));
}

namespace {
/// Rows that are lanes, and that one vector after the other holds in memory.
class BlocksOfRows : public RowLanes {
public:
  explicit BlocksOfRows(const RowContext &context)
      : RowLanes(context), shortDim(*plan.shortDim), size(plan.getShortSize()) {
  }

protected:
  /// Rows from `base` on, of which so many are left.
  RowGroup makeBlock(IndexBuilder &b, const Positions &positions, Value base,
                     Value rowsLeft) const {
    RowGroup group(makeRow(positions, base, context.makeMask(b, rowsLeft)));
    // A reciprocal takes as long as some divisions.
    constexpr int64_t kWorthwhile = 6;
    group.sharesDivisors = size >= kWorthwhile;
    return group;
  }

  const unsigned shortDim;
  /// The number of elements of a row, or the maximum of it.
  const int64_t size;
};

class ShortRows : public BlocksOfRows {
public:
  using BlocksOfRows::BlocksOfRows;
  void emit(IndexBuilder &b) const override;

private:
  /// Rows in memory: the place of the first element, how many there are, and
  /// whether that is as many as there are lanes.
  struct Block {
    RowScope first;
    Value rowsLeft, isWhole;
  };
  using VisitPart =
      llvm::function_ref<void(IndexBuilder &, Value address, Value mask)>;

  RowCopy allocate(IndexBuilder &b, Type element) const;
  void visitKnownRows(IndexBuilder &b, const Access &access, const Block &block,
                      bool isWhole, VisitPart visit) const;
  void visitPaddedRows(IndexBuilder &b, const Access &access,
                       const Block &block, bool isWhole, bool isLoad,
                       VisitPart visit) const;
  void visitRows(IndexBuilder &b, const Access &access, const Block &block,
                 bool isWhole, bool isLoad, VisitPart visit) const;
  void loadBlock(IndexBuilder &b, const Access &access, Value memory,
                 const Block &block) const;
  void storeBlock(IndexBuilder &b, const Access &access, Value memory,
                  const Block &block) const;
  void emitBlock(IndexBuilder &b, RowGroup group, Value rowsLeft) const;
};

/// Blocks are reduced as they are in memory.
class ReducedBlocks : public BlocksOfRows {
public:
  using BlocksOfRows::BlocksOfRows;
  void emit(IndexBuilder &b) const override;

private:
  SmallVector<Value> startReductions(IndexBuilder &b, const Loop &loop,
                                     const RowGroup &) const override {
    return makeAccumulators(b, loop, size);
  }
  ArrayRef<unsigned> getOuterDims(const Loop &loop) const override {
    return ArrayRef(loop.dims).drop_back();
  }
  SmallVector<Value> emitElements(IndexBuilder &b, const Loop &loop,
                                  RowGroup &group, Positions positions,
                                  ValueRange accumulators) const override;
  void finishReductions(IndexBuilder &b, const Loop &loop, RowGroup &group,
                        ArrayRef<Value> accumulators) const override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows in memory
//===----------------------------------------------------------------------===//

/// Calls `visit` with the vectors of the memory of a block, of rows whose size
/// is known: their place and, where some rows are missing, their mask.
void ShortRows::visitKnownRows(IndexBuilder &b, const Access &access,
                               const Block &block, bool isWhole,
                               VisitPart visit) const {
  int64_t lanes = plan.lanes;
  Value address = elements.getAddress(b, access, block.first);
  Value count = b.mul(block.rowsLeft, size);
  for (int64_t i = 0; i < size; ++i)
    visit(b, b.add(address, i * lanes),
          isWhole ? Value() : makeMask(b, lanes, count, i * lanes));
}

/// The same where the size is not known: a row, as long as rows may be, is a
/// part, or several where vectors are shorter. `isLoad`: of rows that are
/// missing, the last one is read again.
void ShortRows::visitPaddedRows(IndexBuilder &b, const Access &access,
                                const Block &block, bool isWhole, bool isLoad,
                                VisitPart visit) const {
  int64_t part = std::min(plan.lanes, RowPlan::kShort);
  Value length = context.getSize(shortDim), rowsLeft = block.rowsLeft;
  Value address = elements.getAddress(b, access, block.first);
  Value first = address, last = b.sub(rowsLeft, b.index(1));
  for (int64_t row = 0; row < plan.lanes; ++row) {
    Value count = length;
    if (!isWhole && isLoad) {
      address = b.add(first, b.mul(b.min(b.index(row), last), length));
    } else if (row > 0) {
      address = b.add(address, length);
      if (!isWhole)
        count = arith::SelectOp::create(
            b, b.compare(arith::CmpIPredicate::ugt, rowsLeft, b.index(row)),
            length, b.index(0));
    }
    for (int64_t i = 0; i < RowPlan::kShort; i += part)
      visit(b, b.add(address, i), makeMask(b, part, count, i));
  }
}

void ShortRows::visitRows(IndexBuilder &b, const Access &access,
                          const Block &block, bool isWhole, bool isLoad,
                          VisitPart visit) const {
  if (ShapedType::isDynamic(space.dims[shortDim].getSize()))
    visitPaddedRows(b, access, block, isWhole, isLoad, visit);
  else
    visitKnownRows(b, access, block, isWhole, visit);
}

/// Loads a block and transposes it from rows to elements.
void ShortRows::loadBlock(IndexBuilder &b, const Access &access, Value memory,
                          const Block &block) const {
  Value memref = context.getMemory(access);
  int64_t lanes = plan.lanes;
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  auto load = [&](IndexBuilder &inside, Value address, Value mask) -> Value {
    if (!mask)
      return vector::LoadOp::create(inside, context.getVectorType(element),
                                    memref, address);
    auto type = cast<VectorType>(mask.getType()).clone(element);
    Value nothing = arith::ConstantOp::create(inside, inside.getZeroAttr(type));
    return vector::MaskedLoadOp::create(inside, cast<VectorType>(type), memref,
                                        address, mask, nothing);
  };
  SmallVector<Value> values =
      emitIf(b, block.isWhole, [&](IndexBuilder &inside, bool isWhole) {
        SmallVector<Value> parts;
        visitRows(inside, access, block, isWhole, /*isLoad=*/true,
                  [&](IndexBuilder &part, Value address, Value mask) {
                    parts.push_back(load(part, address, mask));
                  });
        return parts;
      });
  values = toLanes(b, concatenate(b, values, lanes), lanes, size);
  for (auto [number, value] : llvm::enumerate(values))
    vector::StoreOp::create(b, value, memory, b.index(number * lanes));
}

/// Transposes a block from elements to rows and stores it.
void ShortRows::storeBlock(IndexBuilder &b, const Access &access, Value memory,
                           const Block &block) const {
  Value memref = context.getMemory(access);
  int64_t lanes = plan.lanes;
  VectorType type = context.getVectorType(
      cast<MemRefType>(memref.getType()).getElementType());
  SmallVector<Value> values;
  for (int64_t number = 0; number < size; ++number)
    values.push_back(vector::LoadOp::create(
        b, type, memory, ValueRange{b.index(number * lanes)}));
  values = fromLanes(b, values, lanes, size);
  emitIf(b, block.isWhole, [&](IndexBuilder &inside, bool isWhole) {
    int64_t place = 0;
    auto store = [&](IndexBuilder &part, Value address, Value mask) {
      Value value = values[place / lanes];
      int64_t length =
          mask ? cast<VectorType>(mask.getType()).getNumElements() : lanes;
      if (length < lanes)
        value = vector::ExtractStridedSliceOp::create(
            part, value, ArrayRef<int64_t>{place % lanes},
            ArrayRef<int64_t>{length}, ArrayRef<int64_t>{1});
      place += length;
      if (mask)
        vector::MaskedStoreOp::create(part, memref, address, mask, value);
      else
        vector::StoreOp::create(part, value, memref, address);
    };
    visitRows(inside, access, block, isWhole, /*isLoad=*/false, store);
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Short rows
//===----------------------------------------------------------------------===//

/// Scratch memory for a vector of each element.
RowCopy ShortRows::allocate(IndexBuilder &b, Type element) const {
  RowCopy copy{allocateScratch(b, element, b.getIndexAttr(size * plan.lanes))};
  copy.dims = {{shortDim, b.index(0), b.index(size)}};
  copy.lanes = plan.lanes;
  copy.isPadded = true;
  return copy;
}

/// All is read before anything is written, as an output may be an input.
void ShortRows::emitBlock(IndexBuilder &b, RowGroup group,
                          Value rowsLeft) const {
  Value isWhole =
      b.compare(arith::CmpIPredicate::uge, rowsLeft, b.index(plan.lanes));
  Block block = {group.rows.front(), rowsLeft, isWhole};
  block.first.positions[shortDim] = b.index(0);
  auto isOutput = [&](const Access &access) {
    return llvm::any_of(space.outputs, [&](const KernelSpace::Output &output) {
      return output.place == access;
    });
  };
  for (auto &[access, copy] : group.copies)
    if (!isOutput(access))
      loadBlock(b, access, copy.memory, block);
  emitRow(b, group);
  for (auto &[access, copy] : group.copies)
    if (isOutput(access))
      storeBlock(b, access, copy.memory, block);
}

void ShortRows::emit(IndexBuilder &b) const {
  int64_t part = llvm::alignTo(TaskGrid::kChunk / size, plan.lanes);
  auto emitPart = [&](IndexBuilder &task, const Positions &positions,
                      RowRange rows) {
    RowGroup shared{RowScope()};
    for (const Access &access : plan.blocks)
      shared.copies.emplace_back(
          access, allocate(task, access.getType().getElementType()));
    for (auto &[value, buffer] : plan.buffers)
      shared.buffers[value] = buffer.output
                                  ? *shared.findCopy(buffer.output->place)
                                  : allocate(task, getElementTypeOrSelf(value));
    task.loop(rows.begin, rows.end, plan.lanes,
              [&](IndexBuilder &inside, Value base) {
                Value rowsLeft = inside.sub(rows.end, base);
                RowGroup group = makeBlock(inside, positions, base, rowsLeft);
                group.copies = shared.copies;
                group.buffers = shared.buffers;
                emitBlock(inside, std::move(group), rowsLeft);
              });
  };
  emitParts(b, part, TaskGrid::kChunk, emitPart);
}

std::unique_ptr<RowForm> mlir::relax::makeShortRows(const RowContext &context) {
  return std::make_unique<ShortRows>(context);
}

//===----------------------------------------------------------------------===//
// Blocks that are reduced first
//===----------------------------------------------------------------------===//

/// The vectors of a block, each with an accumulator of its own.
SmallVector<Value> ReducedBlocks::emitElements(IndexBuilder &b,
                                               const Loop &loop,
                                               RowGroup &group,
                                               Positions positions,
                                               ValueRange accumulators) const {
  RowScope &row = group.rows.front();
  positions[shortDim] = b.index(0);
  SmallVector<RowScope, 0> scopes;
  for (auto [number, mask] : llvm::enumerate(group.masks)) {
    RowScope &scope = scopes.emplace_back(
        makeRow(positions, row.positions[lane], mask, number));
    scope.row = &row;
    scope.group = &group;
  }
  return emitVectors(b, loop, scopes, accumulators);
}

void ReducedBlocks::finishReductions(IndexBuilder &b, const Loop &loop,
                                     RowGroup &group,
                                     ArrayRef<Value> accumulators) const {
  SmallVector<Value> results;
  for (linalg::LinalgOp op : loop.reductions) {
    SmallVector<Value> values(accumulators.take_front(size));
    values = toLanes(b, values, plan.lanes, size);
    for (Value value : ArrayRef(values).drop_front())
      values.front() = combine(b, *getCombiner(op), values.front(), value);
    results.push_back(values.front());
    accumulators = accumulators.drop_front(size);
  }
  RowLanes::finishReductions(b, loop, group, results);
}

void ReducedBlocks::emit(IndexBuilder &b) const {
  int64_t lanes = plan.lanes;
  auto emitPart = [&](IndexBuilder &task, const Positions &positions,
                      RowRange rows) {
    task.loop(
        rows.begin, rows.end, lanes, [&](IndexBuilder &inside, Value base) {
          Value rowsLeft = inside.sub(rows.end, base);
          RowGroup group = makeBlock(inside, positions, base, rowsLeft);
          for (const Access &access : plan.blocks) {
            RowCopy copy{context.getMemory(access), &access};
            copy.lanes = lanes;
            group.copies.emplace_back(access, copy);
          }
          Value count = inside.mul(rowsLeft, size);
          for (int64_t i = 0; i < size; ++i)
            group.masks.push_back(makeMask(inside, lanes, count, i * lanes));
          emitRow(inside, std::move(group));
        });
  };
  emitParts(b, lanes, estimateElements() * lanes, emitPart);
}

std::unique_ptr<RowForm>
mlir::relax::makeReducedBlocks(const RowContext &context) {
  return std::make_unique<ReducedBlocks>(context);
}
