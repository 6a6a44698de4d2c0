//===- RowRanges.cpp - Contiguous rows as one range -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short rows are computed one after the other by the same iteration, so that
// their indices are computed once.
//
// A vector for each row, or an almost empty tail, dominates where rows are
// short. If rows are contiguous in the outputs, vectors run across all of them
// as along one row. Operands of another layout, such as one element for each
// row, are expanded to scratch memory in that of the outputs, a block of rows
// at a time.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

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
// Rows
//===----------------------------------------------------------------------===//

/// Rows by their number, in the order of memory. Where several dimensions make
/// up the position of a row, it is counted.
void RowEmitter::emitRowRange(ArrayRef<unsigned> dims, ArrayRef<Value> counts,
                              Value first, Value last,
                              llvm::function_ref<void(Value)> body) {
  SmallVector<Value> starts;
  Value rest = first;
  for (Value size : llvm::reverse(counts.drop_front())) {
    starts.push_back(builder->createOrFold<arith::RemUIOp>(rest, size));
    rest = builder->createOrFold<arith::DivUIOp>(rest, size);
  }
  if (!starts.empty())
    starts.push_back(rest);
  auto emitOne = [&](Value row, ValueRange places) {
    // The innermost one comes first.
    SmallVector<Value> next;
    Value carry;
    for (auto [dim, size, place] :
         llvm::zip(llvm::reverse(dims), llvm::reverse(counts), places)) {
      positions[dim] = place;
      Value stepped = carry
                          ? Value(arith::AddIOp::create(*builder, place, carry))
                          : add(place, index(1));
      if (dim == dims.front()) {
        next.push_back(stepped);
        break;
      }
      Value isOver = arith::CmpIOp::create(*builder, arith::CmpIPredicate::uge,
                                           stepped, size);
      next.push_back(
          arith::SelectOp::create(*builder, isOver, index(0), stepped));
      carry = arith::IndexCastUIOp::create(*builder, builder->getIndexType(),
                                           isOver);
    }
    if (places.empty())
      positions[dims.front()] = row;
    body(row);
    return next;
  };
  emitFor(first, last, index(1), starts, emitOne);
}

/// Returns the number of rows of a length with as many elements as a part of a
/// long one.
Value RowEmitter::getGroupSize(Value length) {
  length = builder->createOrFold<arith::MaxUIOp>(length, index(1));
  Value rows = builder->createOrFold<arith::DivUIOp>(index(kChunk), length);
  return builder->createOrFold<arith::MaxUIOp>(rows, index(1));
}

/// `part` of a row, or rows that follow one another, are one iteration. Rows of
/// known size that are computed element by element are those of one dimension,
/// of which LLVM makes vectors.
void RowEmitter::emitGroups(ArrayRef<unsigned> dims, ArrayRef<Value> counts,
                            Value numRows, Value numParts, int64_t part) {
  Value length = index(1);
  for (unsigned dim : plan->loops.front().dims)
    length = mul(length, getSize(dim));
  Value group = getGroupSize(length), count;
  auto countGroups = [&](Value rows) {
    return builder->createOrFold<arith::CeilDivUIOp>(rows, group);
  };
  bool isOneDim = plan->isScalar && plan->lanes == 1 && plan->hasKnownRows();
  SmallVector<Value> parts(counts);
  numGrouped = kChunk;
  if (isOneDim) {
    parts.back() = countGroups(parts.back());
    count = index(1);
    for (Value size : parts)
      count = mul(count, size);
    if (auto size = getConstantIntValue(counts.back()))
      numGrouped = std::min(kChunk, *size * *getConstantIntValue(length));
  } else {
    count = countGroups(numRows);
  }
  if (numParts)
    count = mul(count, numParts);
  unsigned splitDim = plan->loops.front().dims.back();
  // Data with the layout of the outputs is at the row number times its length.
  SmallVector<unsigned> order(dims);
  order.push_back(splitDim);
  bool isInOrder = !plan->hasReductions() &&
                   space.outputs.front().place.isWhole &&
                   order == plan->getOrder();
  auto emitOne = [&](Value row) {
    if (isInOrder && !isOneDim)
      rowBegin = mul(row, length);
    emitRow(Scope());
  };
  auto getEnd = [&](Value first, Value size) {
    return arith::MinUIOp::create(*builder, add(first, group), size);
  };
  emitParallel(count, [&](Value index) {
    if (isOneDim) {
      splitIndex(index, dims, parts, numParts, part, splitDim);
      Value first = mul(positions[dims.back()], group);
      return emitRowRange(dims.back(), counts.back(), first,
                          getEnd(first, counts.back()), emitOne);
    }
    if (numParts)
      index = splitPart(index, numParts, part, splitDim, /*isAll=*/false);
    Value first = mul(index, group);
    emitRowRange(dims, counts, first, getEnd(first, numRows), emitOne);
  });
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The elements of a row one by one, or a few of them at a time: elements that
/// are far apart are read faster than gathered, and written at once.
SmallVector<Value> RowEmitter::emitElementLoops(const RowPlan::Loop &loop,
                                                Value from, Value to,
                                                ValueRange accumulators) {
  auto emitOne = [&](Scope scope, ValueRange values) {
    scope.row = &rows.front();
    SmallVector<Value> written;
    SmallVector<Value> results = computeElements(loop, scope, values, written);
    storeElements(loop, scope, written);
    return results;
  };
  if (plan->lanes > 1) {
    Value lanes = index(plan->lanes), first = from;
    Value length = builder->createOrFold<arith::SubIOp>(to, from);
    Value rest = builder->createOrFold<arith::RemUIOp>(length, lanes);
    from = builder->createOrFold<arith::SubIOp>(to, rest);
    emitFor(first, from, lanes, {}, [&](Value position, ValueRange values) {
      Scope scope;
      scope.base = position;
      return emitOne(scope, values);
    });
  }
  return emitFor(from, to, index(1), accumulators,
                 [&](Value position, ValueRange values) {
                   positions[vectorDim] = position;
                   return emitOne(Scope(), values);
                 });
}

//===----------------------------------------------------------------------===//
// Rows as one range of elements
//===----------------------------------------------------------------------===//

/// Rows in numbers of this fill vectors, whatever their length.
int64_t RowEmitter::getRowMultiple() const { return getUnroll() * plan->lanes; }

/// The maximum number of elements that are expanded together: a written element
/// is not read again at once, which would wait for memory.
int64_t RowEmitter::getBlockSize() const {
  int64_t bytes = 1;
  for (const Access &access : plan->expanded) {
    Type type = access.getType().getElementType();
    bytes += type.isInteger(1) ? 1 : type.getIntOrFloatBitWidth() / 8;
  }
  return std::max(std::min<int64_t>(kBlockBytes / bytes, 1024),
                  getRowMultiple() * plan->getLongestFlatRow());
}

/// The last vector of a block may reach beyond it.
Value RowEmitter::allocateExpanded(const Access &access) {
  Type type = access.getType().getElementType();
  if (type.isInteger(1))
    type = builder->getI8Type();
  auto memory = MemRefType::get({getBlockSize() + plan->lanes}, type);
  auto alloc = memref::AllocOp::create(*builder, memory);
  alloc.setAlignment(64);
  return alloc;
}

/// Writes a whole vector for each row, one row after the other: lanes past the
/// end of a row are in the place of the next one.
void RowEmitter::emitExpansion(const Access &access, Value memory, Value first,
                               Value last) {
  Value length = getSize(vectorDim);
  Scope scope, whole;
  scope.base = whole.base = index(0);
  if (access.uses(vectorDim))
    scope.mask = vector::CreateMaskOp::create(
        *builder, vectorType(builder->getI1Type()), length);
  Value known = isSameForRows(access) ? loadFromMemory(access, scope) : Value();
  SmallVector<Value> counts = llvm::map_to_vector(
      plan->flatDims, [&](unsigned dim) { return getSize(dim); });
  emitRowRange(plan->flatDims, counts, first, last, [&](Value row) {
    Value value = known ? known : loadFromMemory(access, scope);
    Value place = arith::SubIOp::create(*builder, row, first);
    storeVector(value, memory, mul(place, length), whole);
  });
}

bool RowEmitter::isSameForRows(const Access &access) const {
  return llvm::none_of(plan->flatDims,
                       [&](unsigned dim) { return access.uses(dim); });
}

Value RowEmitter::loadExpanded(const Access &access, Scope &scope) {
  size_t number = llvm::find(plan->expanded, access) - plan->expanded.begin();
  Value place = arith::SubIOp::create(*builder, scope.base, expandedFrom);
  return loadVector(expansions[number], place, scope);
}

void RowEmitter::emitFlat() {
  vectorDim = plan->loops.front().dims.front();
  Value length = getSize(vectorDim), numRows = index(1);
  for (unsigned dim : plan->flatDims)
    numRows = mul(numRows, getSize(dim));
  Value multiple = index(getRowMultiple());
  Value blockRows = builder->createOrFold<arith::DivUIOp>(
      index(getBlockSize()),
      mul(builder->createOrFold<arith::MaxUIOp>(length, index(1)), multiple));
  blockRows = mul(blockRows, multiple);
  Value group = mul(builder->createOrFold<arith::CeilDivUIOp>(
                        getGroupSize(length), blockRows),
                    blockRows);
  Value count = builder->createOrFold<arith::CeilDivUIOp>(numRows, group);
  numGrouped = kChunk;
  auto getEnd = [&](Value first, Value rows, Value last) {
    return arith::MinUIOp::create(*builder, add(first, rows), last);
  };
  emitParallel(count, [&](Value number) {
    Value first = mul(number, group);
    Value last = getEnd(first, group, numRows);
    expansions.clear();
    for (const Access &access : plan->expanded)
      expansions.push_back(allocateExpanded(access));
    for (auto [access, memory] : llvm::zip(plan->expanded, expansions))
      if (isSameForRows(access))
        emitExpansion(access, memory, first, getEnd(first, blockRows, last));
    emitFor(first, last, blockRows, {}, [&](Value row, ValueRange) {
      Value rowEnd = getEnd(row, blockRows, last);
      for (auto [access, memory] : llvm::zip(plan->expanded, expansions))
        if (!isSameForRows(access))
          emitExpansion(access, memory, row, rowEnd);
      begin = expandedFrom = mul(row, length);
      end = mul(rowEnd, length);
      emitRow(Scope());
      return SmallVector<Value>();
    });
  });
}
