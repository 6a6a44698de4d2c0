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

#include "RowEmitter.h"
#include "Transpose.h"
#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

/// The block of an operand or output; null where it has none.
Value RowEmitter::getTile(const Access &access) const {
  const Access *block = llvm::find(plan->blocks, access);
  return block == plan->blocks.end() || tiles.empty()
             ? Value()
             : tiles[block - plan->blocks.begin()];
}

/// Returns the address of the element of all rows in blocks.
Value RowEmitter::getTileAddress() {
  return mul(positions[*plan->shortDim], index(plan->lanes));
}

//===----------------------------------------------------------------------===//
// Rows in memory
//===----------------------------------------------------------------------===//

/// The mask of a part of `count` elements that begins at `first`.
static Value makeMask(IndexBuilder &b, int64_t lanes, Value count,
                      int64_t first) {
  return vector::CreateMaskOp::create(b,
                                      VectorType::get({lanes}, b.getI1Type()),
                                      ValueRange{b.sub(count, b.index(first))});
}

/// Calls `visit` with the vectors of the memory of a block, of rows whose size
/// is known: their place and, where some rows are missing, their mask.
void RowEmitter::visitKnownRows(const Access &access, Scope &scope,
                                bool isWhole, VisitPart visit) {
  IndexBuilder b(builder->getLoc(), *builder);
  int64_t size = plan->getShortSize(), lanes = plan->lanes;
  Value address = getAddress(access, scope), count = b.mul(rowsLeft, size);
  for (int64_t i = 0; i < size; ++i)
    visit(b.add(address, i * lanes),
          isWhole ? Value() : makeMask(b, lanes, count, i * lanes));
}

/// The same where the size is not known: a row, as long as rows may be, is a
/// part, or several where vectors are shorter. `isLoad`: of rows that are
/// missing, the last one is read again.
void RowEmitter::visitPaddedRows(const Access &access, Scope &scope,
                                 bool isWhole, bool isLoad, VisitPart visit) {
  IndexBuilder b(builder->getLoc(), *builder);
  int64_t part = std::min(plan->lanes, RowPlan::kShort);
  Value size = getSize(*plan->shortDim), address = getAddress(access, scope);
  Value first = address, last = b.sub(rowsLeft, b.index(1));
  for (int64_t row = 0; row < plan->lanes; ++row) {
    Value count = size;
    if (!isWhole && isLoad) {
      address = b.add(first, b.mul(b.min(b.index(row), last), size));
    } else if (row > 0) {
      address = b.add(address, size);
      if (!isWhole)
        count = arith::SelectOp::create(
            b, b.compare(arith::CmpIPredicate::ugt, rowsLeft, b.index(row)),
            size, b.index(0));
    }
    for (int64_t i = 0; i < RowPlan::kShort; i += part)
      visit(b.add(address, i), makeMask(b, part, count, i));
  }
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

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

/// `emit` writes what is done where all rows exist, and where some are missing.
SmallVector<Value>
RowEmitter::emitIf(Value condition,
                   llvm::function_ref<SmallVector<Value>(bool)> emit) {
  auto branch = [&](bool isTrue) {
    return [&, isTrue](OpBuilder &nested, Location) {
      OpBuilder::InsertionGuard guard(*builder);
      builder->restoreInsertionPoint(nested.saveInsertionPoint());
      scf::YieldOp::create(*builder, emit(isTrue));
    };
  };
  auto op = scf::IfOp::create(*builder, condition, branch(true), branch(false));
  return llvm::to_vector(ValueRange(op.getResults()));
}

/// Makes vectors of the elements of rows, in the order of memory, vectors of
/// rows.
SmallVector<Value> RowEmitter::transposeBlock(SmallVector<Value> values) {
  IndexBuilder b(builder->getLoc(), *builder);
  int64_t lanes = plan->lanes, size = plan->getShortSize();
  if (llvm::isPowerOf2_64(size))
    return rotatePlaces(b, values, llvm::Log2_64(lanes));
  return permute(b, values, [&](int64_t place) {
    return place % lanes * size + place / lanes;
  });
}

/// The vectors of a block as they are in memory, each with an accumulator of
/// its own.
SmallVector<Value> RowEmitter::emitVectorsOfBlock(const RowPlan::Loop &loop,
                                                  ValueRange accumulators) {
  positions[*plan->shortDim] = index(0);
  return emitVectors(loop, accumulators, plan->getShortSize(),
                     [&](unsigned number) {
                       Scope scope;
                       scope.row = &rows.front();
                       scope.base = scope.row->base;
                       scope.mask = blockMasks[number];
                       scope.number = number;
                       return scope;
                     });
}

/// The place of such a vector.
Value RowEmitter::getBlockAddress(const Access &access, Scope &scope) {
  return add(getAddress(access, scope), index(scope.number * plan->lanes));
}

/// Loads a block and transposes it from rows to elements.
void RowEmitter::loadBlock(const Access &access, Value tile, Scope &scope,
                           Value isWhole) {
  IndexBuilder b(builder->getLoc(), *builder);
  Value memref = flat[access.param.getArgNumber()];
  int64_t lanes = plan->lanes;
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  SmallVector<Value> values = emitIf(isWhole, [&](bool isWhole) {
    SmallVector<Value> parts;
    auto visit = [&](Value address, Value mask) {
      int64_t length =
          mask ? cast<VectorType>(mask.getType()).getNumElements() : lanes;
      auto type = VectorType::get({length}, element);
      if (!mask) {
        parts.push_back(
            vector::LoadOp::create(*builder, type, memref, address));
        return;
      }
      Value nothing =
          arith::ConstantOp::create(*builder, builder->getZeroAttr(type));
      parts.push_back(vector::MaskedLoadOp::create(*builder, type, memref,
                                                   address, mask, nothing));
    };
    if (isShortSizeKnown())
      visitKnownRows(access, scope, isWhole, visit);
    else
      visitPaddedRows(access, scope, isWhole, /*isLoad=*/true, visit);
    return parts;
  });
  values = transposeBlock(concatenate(b, values, lanes));
  for (auto [number, value] : llvm::enumerate(values))
    vector::StoreOp::create(b, value, tile, b.index(number * lanes));
}

/// Transposes a block from elements to rows and stores it.
void RowEmitter::storeBlock(const Access &access, Value tile, Scope &scope,
                            Value isWhole) {
  IndexBuilder b(builder->getLoc(), *builder);
  Value memref = flat[access.param.getArgNumber()];
  int64_t lanes = plan->lanes, size = plan->getShortSize();
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  auto type = vectorType(element);
  SmallVector<Value> values;
  for (int64_t number = 0; number < size; ++number)
    values.push_back(vector::LoadOp::create(
        b, type, tile, ValueRange{b.index(number * lanes)}));
  if (llvm::isPowerOf2_64(size))
    values = rotatePlaces(b, values, llvm::Log2_64(size));
  else
    values = permute(b, values, [&](int64_t place) {
      return place % size * lanes + place / size;
    });
  emitIf(isWhole, [&](bool isWhole) {
    int64_t place = 0;
    auto visit = [&](Value address, Value mask) {
      Value value = values[place / lanes];
      int64_t length =
          mask ? cast<VectorType>(mask.getType()).getNumElements() : lanes;
      if (length < lanes)
        value = vector::ExtractStridedSliceOp::create(
            *builder, value, ArrayRef<int64_t>{place % lanes},
            ArrayRef<int64_t>{length}, ArrayRef<int64_t>{1});
      place += length;
      if (mask)
        vector::MaskedStoreOp::create(*builder, memref, address, mask, value);
      else
        vector::StoreOp::create(*builder, value, memref, address);
    };
    if (isShortSizeKnown())
      visitKnownRows(access, scope, isWhole, visit);
    else
      visitPaddedRows(access, scope, isWhole, /*isLoad=*/false, visit);
    return SmallVector<Value>();
  });
}

bool RowEmitter::isShortSizeKnown() const {
  return !ShapedType::isDynamic(space.dims[*plan->shortDim].getSize());
}

/// All is read before anything is written, as an output may be an input.
void RowEmitter::emitBlock(Value base) {
  Scope scope;
  scope.base = base;
  rowsLeft = arith::SubIOp::create(*builder, end, base);
  Value isWhole = arith::CmpIOp::create(*builder, arith::CmpIPredicate::uge,
                                        rowsLeft, index(plan->lanes));
  scope.mask = vector::CreateMaskOp::create(
      *builder, vectorType(builder->getI1Type()), ValueRange{rowsLeft});
  auto isOutput = [&](const Access &access) {
    return llvm::any_of(space.outputs, [&](const KernelSpace::Output &output) {
      return output.place == access;
    });
  };
  auto forEachBlock = [&](bool areOutputs, auto emit) {
    positions[*plan->shortDim] = index(0);
    for (auto [access, tile] : llvm::zip_equal(plan->blocks, tiles))
      if (isOutput(access) == areOutputs)
        (this->*emit)(access, tile, scope, isWhole);
  };
  if (plan->isReducedFirst) {
    IndexBuilder b(builder->getLoc(), *builder);
    int64_t size = plan->getShortSize();
    blockMasks.clear();
    for (int64_t i = 0; i < size; ++i)
      blockMasks.push_back(
          makeMask(b, plan->lanes, b.mul(rowsLeft, size), i * plan->lanes));
    return emitRow(scope);
  }
  forEachBlock(/*areOutputs=*/false, &RowEmitter::loadBlock);
  emitRow(scope);
  forEachBlock(/*areOutputs=*/true, &RowEmitter::storeBlock);
}

/// `dims` are the outer dimensions but for the one of lanes.
void RowEmitter::emitShortRows(ArrayRef<unsigned> dims) {
  vectorDim = *plan->lane;
  int64_t lanes = plan->lanes, size = plan->getShortSize();
  int64_t part =
      plan->isReducedFirst ? lanes : llvm::alignTo(kChunk / size, lanes);
  Value numParts = builder->createOrFold<arith::CeilDivUIOp>(getSize(vectorDim),
                                                             index(part));
  SmallVector<Value> counts;
  Value count = numParts;
  for (unsigned dim : dims) {
    counts.push_back(getSize(dim));
    count = mul(count, counts.back());
  }
  auto allocate = [&](Type type) -> Value {
    if (type.isInteger(1))
      type = builder->getI8Type();
    auto alloc = memref::AllocOp::create(*builder,
                                         MemRefType::get({size * lanes}, type));
    alloc.setAlignment(64);
    return alloc;
  };
  emitParallel(count, [&](Value number) {
    splitIndex(number, dims, counts, numParts, part, vectorDim);
    tiles.clear();
    if (!plan->isReducedFirst)
      for (const Access &access : plan->blocks)
        tiles.push_back(allocate(access.getType().getElementType()));
    for (auto &[value, buffer] : plan->buffers)
      bufferMemory[value] =
          buffer.output
              ? getTile(buffer.output->place)
              : allocate(
                    cast<RankedTensorType>(value.getType()).getElementType());
    emitFor(begin, end, index(lanes), {}, [&](Value base, ValueRange) {
      emitBlock(base);
      return SmallVector<Value>();
    });
  });
}
