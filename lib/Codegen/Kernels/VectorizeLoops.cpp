//===- VectorizeLoops.cpp - Loops that programs vectorize -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns loops that a program calls vectorized (T.vectorized) into loops over
// vectors, where no iteration sees what another one writes and bodies load,
// compute and store single elements. Iterations are lanes:
//
// - indices are sums with a multiple of the loop's variable, and what is the
//   same in all lanes stays a scalar;
// - elements that follow one another, forwards or backwards, are loaded and
//   stored as vectors, every second one as two vectors; others one by one;
// - loads and stores of a few elements next to each other in each lane are
//   transposed in registers.
//
// Loops that are parallel are marked before, while their accesses are those of
// elements.
//
//===----------------------------------------------------------------------===//

#include "FlatMemory.h"
#include "Transpose.h"
#include "VectorBody.h"

#include "relax-mlir/Analysis/IndependentLoops.h"
#include "relax-mlir/Analysis/TargetModel.h"
#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXVECTORIZELOOPSPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// An index as `factor` times the variable of the loop, and the rest, which is
/// the same in all lanes and may be a known number.
struct LaneIndex {
  int64_t factor = 0;
  std::optional<int64_t> rest;
};

/// A load or a store of a body.
struct LaneAccess {
  Operation *op;
  Value memref;
  SmallVector<Value> indices;
  SmallVector<LaneIndex> lanes; // of the indices

  bool varies() const {
    return llvm::any_of(lanes, [](LaneIndex lane) { return lane.factor != 0; });
  }
};

/// The lanes that a vector has, and how many of them count.
struct Lanes {
  int64_t count;
  Value used; // null: all of them

  std::optional<int64_t> known() const {
    return used ? getConstantIntValue(used) : std::optional<int64_t>(count);
  }
};

class LoopVectorizer {
public:
  LoopVectorizer(scf::ForOp loop, const TargetModel &target)
      : loop(loop), target(target) {}

  /// Whether the loop can be one over vectors; changes nothing.
  bool match();
  void emit();

private:
  bool matchOp(Operation &op);
  bool matchAccess(Operation &op);
  std::optional<LaneIndex> getLaneIndex(Value value);
  void findGroups();
  void findGroups(SmallVector<const LaneAccess *> open, bool areLoads);
  bool isTransposed(const LaneAccess &access) const;

  void emitShared(IndexBuilder &b);
  void emitLoops(IndexBuilder &b);
  bool updatesMemory();
  void emitRest(IndexBuilder &b, Value begin, Value rest);
  void emitLanes(IndexBuilder &b, Value begin, Lanes lanes);

  std::pair<Value, Value> getAddress(IndexBuilder &b, const LaneAccess &access,
                                     const IRMapping &values);
  Value load(IndexBuilder &b, const LaneAccess &access, const IRMapping &values,
             Lanes lanes);
  Value loadWhole(IndexBuilder &b, Value elements, Value address, Lanes lanes);
  Value loadPairs(IndexBuilder &b, Value elements, Value address,
                  int64_t parity, Lanes lanes);
  void store(IndexBuilder &b, const LaneAccess &access, const IRMapping &values,
             Lanes lanes);
  void storeWhole(IndexBuilder &b, Value vector, Value elements, Value address,
                  Lanes lanes);
  void loadGroup(IndexBuilder &b, ArrayRef<const LaneAccess *> group,
                 IRMapping &values, Lanes lanes);
  void storeGroup(IndexBuilder &b, ArrayRef<const LaneAccess *> group,
                  const IRMapping &values, Lanes lanes);

  scf::ForOp loop;
  const TargetModel &target;
  int64_t lanes = 0;
  llvm::DenseMap<Value, std::optional<LaneIndex>> laneIndices;
  llvm::DenseSet<Value> vectors;      // values that differ between lanes
  llvm::DenseSet<Operation *> shared; // operations that are the same for all
  llvm::MapVector<Operation *, LaneAccess> accesses;
  /// The accesses that are one transposition, by the first load or the last
  /// store of them.
  llvm::DenseMap<Operation *, SmallVector<const LaneAccess *>> groups;
  llvm::DenseSet<Operation *> grouped;
  llvm::MapVector<Value, FlatMemory> memories;
  IRMapping sharedValues;
};
} // namespace

//===----------------------------------------------------------------------===//
// What a loop does
//===----------------------------------------------------------------------===//

/// Nothing where an index is no sum with a multiple of the loop's variable.
std::optional<LaneIndex> LoopVectorizer::getLaneIndex(Value value) {
  if (value == loop.getInductionVar())
    return LaneIndex{1, 0};
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return LaneIndex{0, constant};
  Operation *op = value.getDefiningOp();
  if (!op || !loop.getRegion().isAncestor(op->getParentRegion()))
    return LaneIndex{0, std::nullopt};
  auto [known, isNew] = laneIndices.try_emplace(value, std::nullopt);
  if (!isNew)
    return known->second;
  auto getOperand = [&](unsigned i) { return getLaneIndex(op->getOperand(i)); };
  std::optional<LaneIndex> result;
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
    std::optional<LaneIndex> lhs = getOperand(0), rhs = getOperand(1);
    if (!lhs || !rhs)
      return std::nullopt;
    bool hasRest = lhs->rest && rhs->rest;
    auto combine = [&](auto apply) {
      result = LaneIndex{apply(lhs->factor, rhs->factor), std::nullopt};
      if (hasRest)
        result->rest = apply(*lhs->rest, *rhs->rest);
    };
    if (isa<arith::AddIOp>(op))
      combine([](int64_t x, int64_t y) { return x + y; });
    else if (isa<arith::SubIOp>(op))
      combine([](int64_t x, int64_t y) { return x - y; });
    else if (rhs->factor == 0 && (rhs->rest || lhs->factor == 0))
      result = LaneIndex{lhs->factor * rhs->rest.value_or(0),
                         hasRest ? std::optional(*lhs->rest * *rhs->rest)
                                 : std::nullopt};
    else if (lhs->factor == 0 && lhs->rest)
      result = LaneIndex{rhs->factor * *lhs->rest,
                         hasRest ? std::optional(*lhs->rest * *rhs->rest)
                                 : std::nullopt};
  } else if (isa<arith::IndexCastOp>(op)) {
    result = getOperand(0);
  } else if (shared.contains(op)) {
    result = LaneIndex{0, std::nullopt};
  }
  return laneIndices[value] = result;
}

bool LoopVectorizer::matchAccess(Operation &op) {
  LaneAccess access;
  access.op = &op;
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    access.memref = load.getMemRef();
    access.indices = llvm::to_vector(load.getIndices());
  } else {
    auto store = cast<memref::StoreOp>(op);
    access.memref = store.getMemRef();
    access.indices = llvm::to_vector(store.getIndices());
  }
  auto type = cast<MemRefType>(access.memref.getType());
  Type element = type.getElementType();
  if (!type.getLayout().isIdentity() || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() < 8)
    return false;
  for (Value index : access.indices) {
    std::optional<LaneIndex> lane = getLaneIndex(index);
    if (!lane || vectors.contains(index))
      return false;
    access.lanes.push_back(*lane);
  }
  bool isLoad = isa<memref::LoadOp>(op);
  if (!isLoad && !access.varies())
    return false;
  if (isLoad && access.varies())
    vectors.insert(op.getResult(0));
  if (isLoad && !access.varies())
    shared.insert(&op);
  else
    accesses[&op] = std::move(access);
  return true;
}

bool LoopVectorizer::matchOp(Operation &op) {
  if (isa<memref::LoadOp, memref::StoreOp>(op))
    return matchAccess(op);
  if (op.getNumRegions() != 0 || op.getNumResults() != 1 ||
      !isMemoryEffectFree(&op))
    return false;
  Value result = op.getResult(0);
  bool isVector = llvm::any_of(
      op.getOperands(), [&](Value value) { return vectors.contains(value); });
  bool isShared = llvm::all_of(op.getOperands(), [&](Value value) {
    Operation *from = value.getDefiningOp();
    return value != loop.getInductionVar() &&
           (!from || !loop.getRegion().isAncestor(from->getParentRegion()) ||
            shared.contains(from));
  });
  if (isShared) {
    shared.insert(&op);
    return true;
  }
  if (!isVector) // an index
    return getLaneIndex(result).has_value();
  auto isElement = [](Type type) { return type.isIntOrFloat(); };
  // A number that is computed from the loop's variable differs between lanes.
  bool usesIndex = llvm::any_of(op.getOperands(), [&](Value value) {
    Operation *from = value.getDefiningOp();
    return value == loop.getInductionVar() ||
           (from && loop.getRegion().isAncestor(from->getParentRegion()) &&
            !vectors.contains(value) && !shared.contains(from));
  });
  if (usesIndex || !OpTrait::hasElementwiseMappableTraits(&op) ||
      !isElement(result.getType()) ||
      !llvm::all_of(op.getOperandTypes(), isElement))
    return false;
  vectors.insert(result);
  return true;
}

/// Whether lanes are not next to each other in memory.
bool LoopVectorizer::isTransposed(const LaneAccess &access) const {
  return !llvm::all_of(ArrayRef(access.lanes).drop_back(), [](LaneIndex lane) {
    return lane.factor == 0;
  }) || std::abs(access.lanes.back().factor) != 1;
}

/// An index as a value and a number that is added to it.
static std::pair<Value, int64_t> splitSum(Value index) {
  int64_t sum = 0;
  while (auto add = index.getDefiningOp<arith::AddIOp>()) {
    if (std::optional<int64_t> number = getConstantIntValue(add.getRhs())) {
      index = add.getLhs();
      sum += *number;
    } else if (std::optional<int64_t> number =
                   getConstantIntValue(add.getLhs())) {
      index = add.getRhs();
      sum += *number;
    } else {
      break;
    }
  }
  if (std::optional<int64_t> number = getConstantIntValue(index))
    return {Value(), sum + *number};
  return {index, sum};
}

/// Finds accesses that are next to each other in each lane: of memory that the
/// body either loads or stores.
void LoopVectorizer::findGroups() {
  llvm::SmallPtrSet<Value, 8> loaded, stored;
  for (auto &[op, access] : accesses)
    (isa<memref::LoadOp>(op) ? loaded : stored).insert(access.memref);
  for (bool areLoads : {true, false}) {
    SmallVector<const LaneAccess *> open;
    for (auto &[op, access] : accesses)
      if (isa<memref::LoadOp>(op) == areLoads && isTransposed(access) &&
          access.lanes.back().factor == 0 &&
          !(areLoads ? stored : loaded).contains(access.memref))
        open.push_back(&access);
    findGroups(std::move(open), areLoads);
  }
}

void LoopVectorizer::findGroups(SmallVector<const LaneAccess *> open,
                                bool areLoads) {
  auto getOffset = [](const LaneAccess *access) {
    return splitSum(access->indices.back()).second;
  };
  while (!open.empty()) {
    const LaneAccess *begin = open.front();
    SmallVector<const LaneAccess *> group, others;
    for (const LaneAccess *access : open) {
      bool belongs = access->memref == begin->memref &&
                     splitSum(access->indices.back()).first ==
                         splitSum(begin->indices.back()).first;
      for (size_t i = 0; belongs && i + 1 < access->indices.size(); ++i)
        belongs = access->lanes[i].factor == begin->lanes[i].factor &&
                  (access->indices[i] == begin->indices[i] ||
                   (access->lanes[i].rest &&
                    access->lanes[i].rest == begin->lanes[i].rest));
      (belongs ? group : others).push_back(access);
    }
    open = others;
    Operation *place = areLoads ? group.front()->op : group.back()->op;
    llvm::stable_sort(group, [&](auto *lhs, auto *rhs) {
      return getOffset(lhs) < getOffset(rhs);
    });
    bool isRow = group.size() > 1;
    for (size_t i = 0; i < group.size(); ++i)
      isRow &= getOffset(group[i]) == getOffset(group[0]) + int64_t(i);
    // Other stores keep their order among these.
    if (!areLoads && llvm::count_if(accesses, [&](const auto &entry) {
                       return entry.second.memref == begin->memref;
                     }) != int64_t(group.size()))
      continue;
    auto type = cast<MemRefType>(begin->memref.getType());
    if (areLoads && group.size() == 2 && type.getShape().back() == 2)
      continue; // pairs that follow one another
    if (!isRow)
      continue;
    for (const LaneAccess *access : group)
      grouped.insert(access->op);
    groups[place] = group;
  }
}

bool LoopVectorizer::match() {
  auto kind = RelaxDialect::LoopAttrHelper(loop.getContext()).getAttr(loop);
  if (!kind || kind.getValue() != "vectorized" || loop.getNumResults() != 0 ||
      !loop.getInductionVar().getType().isIndex() ||
      getConstantIntValue(loop.getStep()) != 1 ||
      loop->getParentOfType<gpu::LaunchOp>() ||
      !hasIndependentIterations(loop, loop))
    return false;
  for (Operation &op : loop.getBody()->without_terminator())
    if (!matchOp(op))
      return false;
  unsigned bits = 8;
  for (Value value : vectors)
    if (!value.getType().isInteger(1))
      bits = std::max(bits, value.getType().getIntOrFloatBitWidth());
  for (auto &[op, access] : accesses)
    bits = std::max(
        bits,
        cast<MemRefType>(access.memref.getType()).getElementTypeBitWidth());
  lanes = target.lanes(bits);
  if (accesses.empty() || lanes < 2)
    return false;
  findGroups();
  return true;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// The address of the first lane, and the step from lane to lane.
std::pair<Value, Value> LoopVectorizer::getAddress(IndexBuilder &b,
                                                   const LaneAccess &access,
                                                   const IRMapping &values) {
  const FlatMemory &memory = memories[access.memref];
  Value address = memory.offset, step = b.index(0);
  for (auto [index, lane, stride] :
       llvm::zip(access.indices, access.lanes, memory.strides)) {
    Value place = values.lookupOrDefault(index);
    address = b.add(address, b.mul(place, stride));
    if (lane.factor != 0)
      step = b.add(step, b.mul(stride, lane.factor));
  }
  return {address, step};
}

Value LoopVectorizer::loadWhole(IndexBuilder &b, Value elements, Value address,
                                Lanes lanes) {
  Type element = cast<MemRefType>(elements.getType()).getElementType();
  auto type = VectorType::get({lanes.count}, element);
  if (!lanes.used)
    return vector::LoadOp::create(b, type, elements, ValueRange{address});
  auto maskType = VectorType::get({lanes.count}, b.getI1Type());
  Value mask = vector::CreateMaskOp::create(b, maskType, lanes.used);
  Value zero = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getZeroAttr(element)));
  return vector::MaskedLoadOp::create(b, type, elements, ValueRange{address},
                                      mask, zero);
}

void LoopVectorizer::storeWhole(IndexBuilder &b, Value vector, Value elements,
                                Value address, Lanes lanes) {
  if (!lanes.used) {
    vector::StoreOp::create(b, vector, elements, ValueRange{address});
    return;
  }
  auto maskType = VectorType::get({lanes.count}, b.getI1Type());
  Value mask = vector::CreateMaskOp::create(b, maskType, lanes.used);
  vector::MaskedStoreOp::create(b, elements, ValueRange{address}, mask, vector);
}

/// The lanes in the order of their numbers in `places`.
static Value pickLanes(IndexBuilder &b, Value first, Value second,
                       int64_t count, llvm::function_ref<int64_t(int64_t)> of) {
  SmallVector<int64_t> places;
  for (int64_t lane = 0; lane < count; ++lane)
    places.push_back(of(lane));
  return vector::ShuffleOp::create(b, first, second, places);
}

/// One element of each pair, of which all are there. What other loads of pairs
/// load is the same.
Value LoopVectorizer::loadPairs(IndexBuilder &b, Value elements, Value address,
                                int64_t parity, Lanes lanes) {
  address = b.sub(address, b.index(parity));
  Lanes low = lanes, high = lanes;
  if (lanes.used) {
    Value count = b.mul(lanes.used, 2);
    low.used = b.min(count, b.index(lanes.count));
    high.used = b.sub(count, low.used);
  }
  Value first = loadWhole(b, elements, address, low), second = first;
  if (!high.used || getConstantIntValue(high.used) != 0)
    second = loadWhole(b, elements, b.add(address, lanes.count), high);
  return pickLanes(b, first, second, lanes.count,
                   [&](int64_t lane) { return 2 * lane + parity; });
}

Value LoopVectorizer::load(IndexBuilder &b, const LaneAccess &access,
                           const IRMapping &values, Lanes lanes) {
  Value elements = memories[access.memref].elements;
  auto [address, step] = getAddress(b, access, values);
  std::optional<int64_t> known = getConstantIntValue(step);
  if (known == 1)
    return loadWhole(b, elements, address, lanes);
  auto reverse = [&](int64_t lane) { return lanes.count - 1 - lane; };
  if (known == -1 && !lanes.used) {
    Value vector =
        loadWhole(b, elements, b.sub(address, b.index(lanes.count - 1)), lanes);
    return pickLanes(b, vector, vector, lanes.count, reverse);
  }
  if (known == -1) {
    // The lanes that count are the first ones in memory, as well.
    Value begin = b.sub(address, b.sub(lanes.used, b.index(1)));
    Value vector = loadWhole(b, elements, begin, lanes);
    std::optional<int64_t> count = lanes.known();
    if (count)
      return pickLanes(b, vector, vector, lanes.count, [&](int64_t lane) {
        return std::max<int64_t>(*count - 1 - lane, 0);
      });
  }
  auto type = cast<MemRefType>(access.memref.getType());
  LaneIndex last = access.lanes.back();
  if (known == 2 && last.rest && last.factor % 2 == 0 &&
      !type.isDynamicDim(type.getRank() - 1) &&
      type.getDimSize(type.getRank() - 1) % 2 == 0)
    return loadPairs(b, elements, address, *last.rest & 1, lanes);
  SmallVector<Value> scalars;
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    Value number = b.index(lane);
    if (lanes.used) // the last one again
      number = b.min(number, b.sub(lanes.used, b.index(1)));
    Value place = b.add(address, b.mul(step, number));
    scalars.push_back(memref::LoadOp::create(b, elements, place));
  }
  return vector::FromElementsOp::create(
      b, VectorType::get({lanes.count}, type.getElementType()), scalars);
}

void LoopVectorizer::store(IndexBuilder &b, const LaneAccess &access,
                           const IRMapping &values, Lanes lanes) {
  Value elements = memories[access.memref].elements;
  auto [address, step] = getAddress(b, access, values);
  Value value = values.lookupOrDefault(
      cast<memref::StoreOp>(access.op).getValueToStore());
  std::optional<int64_t> known = getConstantIntValue(step),
                         count = lanes.known();
  Value vector = VectorBody(b, lanes.count).broadcast(value);
  if (known == 1)
    return storeWhole(b, vector, elements, address, lanes);
  if (known == -1 && count) {
    vector = pickLanes(b, vector, vector, lanes.count, [&](int64_t lane) {
      return std::max<int64_t>(*count - 1 - lane, 0);
    });
    return storeWhole(b, vector, elements, b.sub(address, b.index(*count - 1)),
                      lanes);
  }
  auto storeLane = [&](IndexBuilder &inside, int64_t lane) {
    Value element = vector::ExtractOp::create(inside, vector, lane);
    Value place = inside.add(address, inside.mul(step, inside.index(lane)));
    memref::StoreOp::create(inside, element, elements, place);
  };
  for (int64_t lane = 0; lane < lanes.count; ++lane) {
    if (!lanes.used) {
      storeLane(b, lane);
      continue;
    }
    b.branch(b.isBelow(b.index(lane), lanes.used),
             [&](IndexBuilder &inside) { storeLane(inside, lane); });
  }
}

/// Blocks of as many loads as a vector has lanes at most are transposed. Lanes
/// that do not count are the last one that does.
void LoopVectorizer::loadGroup(IndexBuilder &b,
                               ArrayRef<const LaneAccess *> group,
                               IRMapping &values, Lanes lanes) {
  Value elements = memories[group.front()->memref].elements;
  auto [address, step] = getAddress(b, *group.front(), values);
  int64_t width = group.size();
  for (int64_t first = 0; first < width; first += lanes.count) {
    int64_t rest = std::min(width - first, lanes.count);
    int64_t columns = llvm::PowerOf2Ceil(rest);
    Lanes loaded = {columns, rest < columns ? b.index(rest) : Value()};
    // Of fewer columns than lanes, several rows are in a vector.
    SmallVector<Value> rows;
    for (int64_t lane = 0; lane < lanes.count; ++lane) {
      Value number = b.index(lane);
      if (lanes.used)
        number = b.min(number, b.sub(lanes.used, b.index(1)));
      Value place = b.add(b.add(address, b.mul(step, number)), first);
      rows.push_back(loadWhole(b, elements, place, loaded));
    }
    SmallVector<Value> parts = transpose(b, rows);
    // Each has as many elements of a row as it has lanes.
    for (int64_t i = 0; i < rest; ++i) {
      int64_t pieces = lanes.count / columns;
      Value vector = parts[i * pieces];
      for (int64_t piece = 1; piece < pieces; piece *= 2)
        for (int64_t j = 0; j < pieces; j += 2 * piece) {
          Value low = parts[i * pieces + j],
                high = parts[i * pieces + j + piece];
          int64_t size = columns * piece;
          parts[i * pieces + j] =
              pickLanes(b, low, high, 2 * size, [](int64_t k) { return k; });
          vector = parts[i * pieces];
        }
      values.map(group[first + i]->op->getResult(0), vector);
    }
  }
}

/// Blocks of as many stores as a vector has lanes at most are transposed.
void LoopVectorizer::storeGroup(IndexBuilder &b,
                                ArrayRef<const LaneAccess *> group,
                                const IRMapping &values, Lanes lanes) {
  Value elements = memories[group.front()->memref].elements;
  auto [address, step] = getAddress(b, *group.front(), values);
  int64_t width = group.size();
  VectorBody body(b, lanes.count);
  for (int64_t first = 0; first < width; first += lanes.count) {
    int64_t rest = std::min(width - first, lanes.count);
    int64_t columns = llvm::PowerOf2Ceil(rest);
    SmallVector<Value> rows;
    for (int64_t i = 0; i < columns; ++i) {
      Operation *op = group[first + std::min(i, rest - 1)]->op;
      rows.push_back(body.broadcast(
          values.lookupOrDefault(cast<memref::StoreOp>(op).getValueToStore())));
    }
    SmallVector<Value> parts = transpose(b, rows);
    if (getConstantIntValue(step) == columns && rest == columns &&
        lanes.known()) {
      // Lanes are next to each other.
      for (auto [number, part] : llvm::enumerate(parts)) {
        int64_t begin = number * lanes.count, end = *lanes.known() * columns;
        if (begin >= end)
          break;
        Lanes stored = {lanes.count, {}};
        if (end - begin < lanes.count)
          stored.used = b.index(end - begin);
        storeWhole(b, part, elements, b.add(address, begin), stored);
      }
      continue;
    }
    for (int64_t lane = 0; lane < lanes.count; ++lane) {
      int64_t place = lane * columns;
      Value row = parts[place / lanes.count];
      if (columns < lanes.count)
        row = vector::ExtractStridedSliceOp::create(b, row, place % lanes.count,
                                                    columns, 1);
      Lanes stored = {columns, rest < columns ? b.index(rest) : Value()};
      Value begin = b.add(b.add(address, b.mul(step, lane)), first);
      Value isUsed = lanes.used
                         ? b.isBelow(b.index(lane), lanes.used)
                         : arith::ConstantOp::create(b, b.getBoolAttr(true));
      b.branch(isUsed, [&](IndexBuilder &inside) {
        storeWhole(inside, row, elements, begin, stored);
      });
    }
  }
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// What is the same for all lanes comes before the loop.
void LoopVectorizer::emitShared(IndexBuilder &b) {
  for (auto &[op, access] : accesses)
    if (!memories.contains(access.memref))
      memories[access.memref] = FlatMemory::get(b, access.memref);
  for (Operation &op : loop.getBody()->without_terminator())
    if (shared.contains(&op))
      b.clone(op, sharedValues);
}

void LoopVectorizer::emitLanes(IndexBuilder &b, Value begin, Lanes lanes) {
  IRMapping values = sharedValues;
  values.map(loop.getInductionVar(), begin);
  VectorBody body(b, lanes.count);
  if (lanes.used)
    body.mask = vector::CreateMaskOp::create(
        b, VectorType::get({lanes.count}, b.getI1Type()), lanes.used);
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (shared.contains(&op))
      continue;
    if (isa<memref::LoadOp>(op)) {
      if (auto found = groups.find(&op); found != groups.end())
        loadGroup(b, found->second, values, lanes);
      else if (!grouped.contains(&op))
        values.map(op.getResult(0), load(b, accesses[&op], values, lanes));
    } else if (isa<memref::StoreOp>(op)) {
      if (auto found = groups.find(&op); found != groups.end())
        storeGroup(b, found->second, values, lanes);
      else if (!grouped.contains(&op))
        store(b, accesses[&op], values, lanes);
    } else if (vectors.contains(op.getResult(0))) {
      values.map(op.getResult(0), body.compute(op, values));
    } else {
      b.clone(op, values);
    }
  }
}

/// Whether cheap operations update elements where they are.
bool LoopVectorizer::updatesMemory() {
  auto isUpdated = [&](Value memref) {
    bool isLoaded = false, isStored = false;
    for (auto &[op, access] : accesses)
      if (access.memref == memref)
        (isa<memref::LoadOp>(op) ? isLoaded : isStored) = true;
    return isLoaded && isStored;
  };
  bool isCheap =
      llvm::none_of(loop.getBody()->without_terminator(), [](Operation &op) {
        return isa<math::MathDialect>(op.getDialect());
      });
  return isCheap && llvm::any_of(accesses, [&](auto &entry) {
           return isUpdated(entry.second.memref);
         });
}

/// Fewer iterations than lanes, under a mask. Processors have loads wait for a
/// masked store before that is less than a vector away, as the next row is
/// where rows are short: updates are halves, quarters and so on of a vector.
void LoopVectorizer::emitRest(IndexBuilder &b, Value begin, Value rest) {
  if (!groups.empty() || !updatesMemory())
    return b.branch(b.isBelow(b.index(0), rest), [&](IndexBuilder &inside) {
      emitLanes(inside, begin, {lanes, rest});
    });
  for (int64_t count = lanes / 2; count >= 1; count /= 2) {
    Value left = b.rem(rest, b.index(2 * count));
    Value place = b.add(begin, b.sub(rest, left));
    b.branch(b.isBelow(b.index(count - 1), left), [&](IndexBuilder &inside) {
      emitLanes(inside, place, {count, {}});
    });
  }
}

void LoopVectorizer::emitLoops(IndexBuilder &b) {
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  Value count = b.sub(end, begin);
  Value rest = b.rem(count, b.index(lanes)), whole = b.sub(end, rest);
  // Short bodies are repeated: branches take as long as they do.
  int64_t size = 0;
  for (Operation &op : loop.getBody()->without_terminator())
    size += isa<memref::StoreOp>(op) ||
            (op.getNumResults() == 1 && vectors.contains(op.getResult(0)));
  int64_t factor = size <= 4 ? 4 : size <= 12 ? 2 : 1;
  if (std::optional<int64_t> known = getConstantIntValue(count))
    while (factor > 1 && *known / lanes < 2 * factor)
      factor /= 2;
  Value at = begin;
  for (; factor >= 1; factor = factor > 1 ? 1 : 0) {
    Value most = b.sub(whole, b.rem(b.sub(whole, at), b.index(factor * lanes)));
    if (!isConstantIntValue(b.sub(most, at), 0))
      b.loop(at, most, factor * lanes, [&](IndexBuilder &inside, Value place) {
        for (int64_t i = 0; i < factor; ++i)
          emitLanes(inside, inside.add(place, i * lanes), {lanes, {}});
      });
    at = most;
  }
  std::optional<int64_t> known = getConstantIntValue(rest);
  if (known == 0)
    return;
  if (known) {
    int64_t fewer = llvm::PowerOf2Ceil(*known);
    emitLanes(b, at, {fewer, fewer == *known ? Value() : rest});
    return;
  }
  emitRest(b, at, rest);
}

void LoopVectorizer::emit() {
  IndexBuilder b(loop.getLoc(), loop);
  // Without iterations nothing may be loaded, or divided.
  Value isAny = b.isBelow(loop.getLowerBound(), loop.getUpperBound());
  b.branch(isAny, [&](IndexBuilder &inside) {
    emitShared(inside);
    emitLoops(inside);
  });
  loop.erase();
}

//===----------------------------------------------------------------------===//
// Loops that threads share
//===----------------------------------------------------------------------===//

/// Estimates the time of a block, in operations on vectors.
static int64_t estimateTime(Block &block, int64_t lanes) {
  constexpr int64_t kMost = 1 << 20;
  int64_t time = 0;
  for (Operation &op : block) {
    int64_t inner = isMemoryEffectFree(&op) ? estimateCost(op) : 1;
    for (Region &region : op.getRegions())
      for (Block &body : region)
        inner += estimateTime(body, lanes);
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      std::optional<int64_t> begin = getConstantIntValue(loop.getLowerBound()),
                             end = getConstantIntValue(loop.getUpperBound());
      int64_t count =
          begin && end ? std::max<int64_t>(*end - *begin, 0) : int64_t(64);
      auto kind = RelaxDialect::LoopAttrHelper(loop.getContext()).getAttr(loop);
      if (kind && kind.getValue() == "vectorized")
        count = llvm::divideCeil(count, lanes);
      inner *= std::min(count, kMost);
    }
    time = std::min(time + inner, kMost);
  }
  return time;
}

/// Marks a loop that is parallel, and says how many iterations are worth a
/// thread.
static void markParallel(scf::ForOp loop, const TargetModel &target) {
  MLIRContext *context = loop.getContext();
  RelaxDialect::LoopAttrHelper kinds(context);
  auto kind = kinds.getAttr(loop);
  if (!kind || kind.getValue() != "parallel" ||
      loop->getParentOfType<gpu::LaunchOp>() ||
      !hasIndependentIterations(loop, loop))
    return;
  kinds.setAttr(loop, StringAttr::get(context, "independent"));
  RelaxDialect::GrainAttrHelper grains(context);
  if (grains.getAttr(loop))
    return;
  int64_t time = estimateTime(*loop.getBody(), target.lanes(32));
  int64_t grain = std::max<int64_t>((1 << 15) / std::max<int64_t>(time, 1), 1);
  grains.setAttr(loop, Builder(context).getI64IntegerAttr(grain));
}

namespace {
struct RelaxVectorizeLoopsPass
    : relax::impl::RelaxVectorizeLoopsPassBase<RelaxVectorizeLoopsPass> {
  using RelaxVectorizeLoopsPassBase::RelaxVectorizeLoopsPassBase;

  void runOnOperation() override {
    TargetModel target = TargetModel::get(getOperation());
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      markParallel(loop, target);
    for (scf::ForOp loop : loops) {
      LoopVectorizer vectorizer(loop, target);
      if (vectorizer.match())
        vectorizer.emit();
    }
  }
};
} // namespace
