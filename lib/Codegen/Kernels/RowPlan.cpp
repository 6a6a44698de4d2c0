//===- RowPlan.cpp - The schedule of a row kernel ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPlan.h"

#include "VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

/// The cost of writing an element to a buffer and reading it again.
static constexpr int64_t kBufferCost = 6;

//===----------------------------------------------------------------------===//
// Combiners
//===----------------------------------------------------------------------===//

std::optional<Combiner> mlir::relax::getCombiner(linalg::LinalgOp reduction) {
  using K = vector::CombiningKind;
  using R = arith::AtomicRMWKind;
  if (reduction.getNumDpsInits() != 1)
    return std::nullopt;
  Value accumulator =
      reduction.getMatchingBlockArgument(reduction.getDpsInitOperand(0));
  Operation *yield = accumulator.getParentBlock()->getTerminator();
  Operation *op = yield->getOperand(0).getDefiningOp();
  if (!op || !accumulator.hasOneUse() || *accumulator.user_begin() != op)
    return std::nullopt;
  using Kinds = std::optional<std::pair<K, R>>;
  auto kinds =
      llvm::TypeSwitch<Operation *, Kinds>(op)
          .Case([](arith::AddFOp) { return std::pair(K::ADD, R::addf); })
          .Case([](arith::MulFOp) { return std::pair(K::MUL, R::mulf); })
          .Case([](arith::MaximumFOp) {
            return std::pair(K::MAXIMUMF, R::maximumf);
          })
          .Case([](arith::MinimumFOp) {
            return std::pair(K::MINIMUMF, R::minimumf);
          })
          .Case([](arith::MaxNumFOp) {
            return std::pair(K::MAXNUMF, R::maxnumf);
          })
          .Case([](arith::MinNumFOp) {
            return std::pair(K::MINNUMF, R::minnumf);
          })
          .Case([](arith::AddIOp) { return std::pair(K::ADD, R::addi); })
          .Case([](arith::MulIOp) { return std::pair(K::MUL, R::muli); })
          .Case([](arith::MaxSIOp) { return std::pair(K::MAXSI, R::maxs); })
          .Case([](arith::MinSIOp) { return std::pair(K::MINSI, R::mins); })
          .Case([](arith::MaxUIOp) { return std::pair(K::MAXUI, R::maxu); })
          .Case([](arith::MinUIOp) { return std::pair(K::MINUI, R::minu); })
          .Case([](arith::AndIOp) { return std::pair(K::AND, R::andi); })
          .Case([](arith::OrIOp) { return std::pair(K::OR, R::ori); })
          .Default([](Operation *) { return std::nullopt; });
  if (!kinds)
    return std::nullopt;
  OpBuilder builder(op);
  TypedAttr neutral = arith::getIdentityValueAttr(
      kinds->second, op->getResult(0).getType(), builder, op->getLoc());
  return Combiner{op, kinds->first, neutral};
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

bool RowPlan::isUniform(Operation *op) const {
  return space->isReduction(cast<linalg::LinalgOp>(op)) ||
         !space->getDims(op).test(outer);
}

bool RowPlan::isUniform(const Access &access) const {
  return !space->getDims(access).test(outer);
}

/// The dimensions of the loops of a row that an operation needs.
DimSet RowPlan::getRowDims(Operation *op) const {
  DimSet dims = space->isReduction(cast<linalg::LinalgOp>(op))
                    ? space->getReducedDims(op)
                    : space->getDims(op);
  return dims.reset(outer);
}

/// All reductions have the same rows.
bool RowPlan::findOuterDims() {
  outer = DimSet(space->getNumDims());
  hasReduction = false;
  for (linalg::LinalgOp op : space->ops) {
    if (!space->isReduction(op))
      continue;
    DimSet kept = space->getDims(op);
    kept.reset(space->getReducedDims(op));
    if (hasReduction && kept != outer)
      return false;
    outer = kept;
    hasReduction = true;
  }
  if (hasReduction)
    return true;
  // Without, the row is what is contiguous in the first output.
  const KernelSpace::Output &output = space->outputs.front();
  outer = output.dims;
  for (unsigned dim : output.dims.set_bits())
    if (output.place.isContiguous(dim))
      outer.reset(dim);
  return true;
}

bool RowPlan::checkOutputs() const {
  DimSet all(space->getNumDims());
  for (linalg::LinalgOp op : space->ops)
    all |= space->getDims(op);
  for (const KernelSpace::Output &output : space->outputs) {
    // Nothing is computed more than once.
    if (hasReduction ? outer.test(output.dims) : output.dims != all)
      return false;
    // An output that is also read is read where it is written right after.
    for (linalg::LinalgOp op : space->ops)
      for (OpOperand &operand : op->getOpOperands())
        if (KernelSpace::findParameter(operand.get()) == output.place.param &&
            KernelSpace::isRead(op, operand) &&
            (hasReduction || !(space->getAccess(operand) == output.place)))
          return false;
  }
  return true;
}

/// Whether a vector along the dimension would be empty for the most part.
bool RowPlan::isNarrow(unsigned dim) const {
  int64_t size = space->dims[dim].getSize();
  return !ShapedType::isDynamic(size) && size < kNarrow;
}

/// Returns the accesses that read parameters.
SmallVector<Access> RowPlan::getReads() const {
  SmallVector<Access> accesses;
  for (linalg::LinalgOp op : space->ops)
    for (OpOperand &operand : op->getOpOperands())
      if (isa<TensorType>(operand.get().getType()) &&
          KernelSpace::findParameter(operand.get()) &&
          KernelSpace::isRead(op, operand))
        accesses.push_back(space->getAccess(operand));
  return accesses;
}

/// Those, and where outputs are written.
SmallVector<Access> RowPlan::getAccesses() const {
  SmallVector<Access> accesses = getReads();
  for (const KernelSpace::Output &output : space->outputs)
    accesses.push_back(output.place);
  return accesses;
}

/// Counts the accesses to elements of rows that would have lanes next to each
/// other along a dimension, and those that would not.
RowPlan::Contiguity RowPlan::getContiguity(unsigned dim) const {
  Contiguity result;
  auto count = [&](const Access &access) {
    if (isUniform(access))
      return;
    if (access.isContiguous(dim))
      ++result.contiguous;
    else if (access.uses(dim))
      ++result.strided;
  };
  for (const Access &access : getAccesses())
    count(access);
  return result;
}

/// Puts the dimension along which most accesses are contiguous last. It depends
/// on the set of dimensions alone, as loops over the same share buffers.
RowPlan::Contiguity RowPlan::chooseVectorDim(Loop &loop) const {
  size_t best = 0;
  Contiguity contiguity;
  for (auto [index, dim] : llvm::enumerate(loop.dims)) {
    Contiguity next = getContiguity(dim);
    if (index != 0 && next.getScore() < contiguity.getScore())
      continue;
    best = index;
    contiguity = next;
  }
  std::swap(loop.dims[best], loop.dims.back());
  return contiguity;
}

/// Rows that are next to each other are worked on together where that makes
/// more accesses contiguous than vectors of elements of one row.
bool RowPlan::chooseLane(bool isRowContiguous, int64_t rowScore) {
  int64_t bestScore = isRowContiguous ? rowScore : -1;
  for (unsigned dim : outer.set_bits()) {
    Contiguity contiguity = getContiguity(dim);
    // Few rows leave most lanes of a vector empty.
    if (contiguity.contiguous == 0 || contiguity.getScore() <= bestScore ||
        (isRowContiguous && isNarrow(dim)))
      continue;
    lane = dim;
    bestScore = contiguity.getScore();
  }
  // Expensive elements are not computed in vectors that are almost empty.
  bool isWasteful = !isRowContiguous && lane && isNarrow(*lane) && cost > 20;
  return (isRowContiguous || lane) && !isWasteful;
}

static unsigned getBits(Type type) {
  if (type.isIndex())
    return 64;
  return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth();
}

int64_t RowPlan::getShortSize() const {
  int64_t size = space->dims[*shortDim].getSize();
  return ShapedType::isDynamic(size) ? kShort : size;
}

/// The dimension of rows if there is only one, and it may be short.
std::optional<unsigned> RowPlan::findShortDim() const {
  auto hasOneDim = [&](const Loop &loop) {
    return loop.dims.size() == 1 && loop.dims == loops.front().dims;
  };
  bool haveOneDim = llvm::all_of(loops, hasOneDim);
  bool isReduction = loops.size() == 1 && loops.front().outputs.empty() &&
                     loops.front().dims.size() > 1;
  if (loops.empty() || !(haveOneDim || isReduction))
    return std::nullopt;
  unsigned dim = loops.front().dims.back();
  int64_t size = space->dims[dim].getSize();
  bool isKnown = !ShapedType::isDynamic(size);
  if (isKnown ? size < 2 || size > kShort : !haveOneDim)
    return std::nullopt;
  return dim;
}

/// Whether the elements that are reduced are computed from what is in blocks,
/// and from what is the same for a whole block.
bool RowPlan::canReduceFirst(unsigned lane, unsigned row) const {
  for (linalg::LinalgOp op : space->ops) {
    if (!space->isReduction(op) && isUniform(op))
      continue;
    if (!op->getRegion(0).getOps<linalg::IndexOp>().empty())
      return false;
    for (OpOperand &operand : op->getOpOperands()) {
      bool isStart = space->isReduction(op) && op.isDpsInit(&operand);
      if (isStart || !KernelSpace::isRead(op, operand) ||
          !isa<TensorType>(operand.get().getType()))
        continue;
      if (auto producer = operand.get().getDefiningOp<linalg::LinalgOp>()) {
        if (isUniform(producer))
          return false;
      } else {
        const Access &access = space->getAccess(operand);
        if (access.uses(lane) != access.uses(row))
          return false;
      }
    }
  }
  return true;
}

/// Short rows that follow one another in memory are lanes.
bool RowPlan::chooseShortRows() {
  std::optional<unsigned> found = findShortDim();
  if (!found)
    return false;
  unsigned row = *found;
  bool isDynamic = ShapedType::isDynamic(space->dims[row].getSize());
  isReducedFirst = loops.front().dims.size() > 1;
  SmallVector<Access> accesses = getAccesses();
  for (unsigned dim : outer.set_bits()) {
    SmallVector<Access> parts;
    bool areAll = true;
    for (const Access &access : accesses) {
      if (!access.uses(row) || !access.uses(dim))
        continue;
      // Few bytes under a mask are written one by one by some processors.
      areAll &= access.isContiguous(row) &&
                space->isMergeable(access, dim, row) &&
                !(isDynamic && getBits(access.getType().getElementType()) < 32);
      if (!llvm::is_contained(parts, access))
        parts.push_back(access);
    }
    if (!areAll || isNarrow(dim) || parts.size() <= blocks.size() ||
        (isReducedFirst && !canReduceFirst(dim, row)))
      continue;
    lane = dim;
    blocks = parts;
  }
  if (lane)
    shortDim = row;
  return lane.has_value();
}

/// Whether the result is an operand as it is, in another order.
bool RowPlan::isCopy() const {
  if (space->ops.size() != 1 || space->outputs.size() != 1)
    return false;
  linalg::LinalgOp op = space->ops.front();
  auto argument =
      dyn_cast<BlockArgument>(op.getBlock()->getTerminator()->getOperand(0));
  return argument && argument.getOwner() == op.getBlock() &&
         transposed.size() == 1 &&
         space->getAccess(*op.getMatchingOpOperand(argument)) ==
             transposed.front();
}

/// Operands that elementwise kernels read across vectors. Most of them count.
void RowPlan::chooseTransposed() {
  if (hasReduction || loops.empty())
    return;
  unsigned vectorDim = loops.front().dims.back();
  llvm::MapVector<unsigned, SmallVector<Access>> candidates;
  for (const Access &access : getReads()) {
    if (!access.uses(vectorDim) || access.isContiguous(vectorDim))
      continue;
    for (unsigned dim : outer.set_bits())
      if (access.isContiguous(dim) &&
          !llvm::is_contained(candidates[dim], access))
        candidates[dim].push_back(access);
  }
  for (auto &[dim, accesses] : candidates)
    if (accesses.size() > transposed.size()) {
      tileDim = dim;
      transposed = accesses;
    }
  if (!tileDim)
    return;
  bool isNarrow = this->isNarrow(*tileDim);
  // Gathers take longer than a few operations on elements. The dimension that
  // is narrow is innermost: LLVM unrolls it, and makes vectors of what is left.
  if (isNarrow && cost <= 8) {
    isScalar = true;
    outer.set(vectorDim).reset(*tileDim);
    loops.front().dims.back() = *tileDim;
  }
  if (isNarrow || isScalar || lanes < 2) {
    tileDim = std::nullopt;
    transposed.clear();
  }
  if (isScalar)
    lanes = this->isNarrow(loops.front().dims.back())
                ? 1
                : std::min<int64_t>(lanes, 4);
  // A block of vectors stays in registers.
  if (tileDim)
    lanes = std::min<int64_t>(lanes, 32);
}

void RowPlan::chooseLanes(const TargetModel &target) {
  LaneBits bits;
  bool isElementwise = true;
  auto add = [&](Value value) { bits.add(getBits(value.getType())); };
  for (linalg::LinalgOp op : space->ops) {
    isElementwise &= !space->isReduction(op);
    if (isUniform(op) && !space->isReduction(op))
      continue;
    llvm::for_each(op->getRegion(0).getArguments(), add);
    for (Operation &inner : op->getRegion(0).front().without_terminator())
      if (!isa<arith::ConstantOp>(inner))
        add(inner.getResult(0));
  }
  lanes = target.lanes(bits.get(isElementwise));
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Calls `visit` with what computes the operands that an operation reads.
static void forEachProducer(linalg::LinalgOp op,
                            llvm::function_ref<void(linalg::LinalgOp)> visit) {
  for (OpOperand &operand : op->getOpOperands())
    if (auto producer = operand.get().getDefiningOp<linalg::LinalgOp>())
      if (KernelSpace::isRead(op, operand))
        visit(producer);
}

/// The pass of an operation is after those of the reductions that it needs.
void RowPlan::findLevels() {
  for (linalg::LinalgOp op : space->ops) {
    unsigned level = 0;
    forEachProducer(op, [&](linalg::LinalgOp producer) {
      level = std::max(level, levels.lookup(producer) +
                                  unsigned(space->isReduction(producer)));
    });
    levels[op] = level;
    numPasses = std::max(numPasses, level + 1);
  }
}

/// In which passes the elements of a row of each operation are needed.
void RowPlan::findUses() {
  uses.clear();
  for (linalg::LinalgOp op : space->ops)
    uses[op].resize(numPasses);
  for (const KernelSpace::Output &output : space->outputs) {
    Operation *op = output.value.getDefiningOp();
    if (!isUniform(op))
      uses[op].set(levels[op]);
  }
  for (linalg::LinalgOp op : llvm::reverse(space->ops)) {
    llvm::SmallBitVector needed = uses[op];
    if (space->isReduction(op))
      needed.set(levels[op]);
    else if (isUniform(op))
      continue;
    else if (llvm::any_of(op->getResults(), [&](Value result) {
               return buffers.contains(result);
             }))
      needed = getFirst(needed);
    forEachProducer(op, [&](linalg::LinalgOp producer) {
      if (!isUniform(producer))
        uses[producer] |= needed;
    });
  }
}

llvm::SmallBitVector
RowPlan::getFirst(const llvm::SmallBitVector &passes) const {
  llvm::SmallBitVector first(passes.size());
  if (passes.any())
    first.set(passes.find_first());
  return first;
}

int64_t RowPlan::getRecomputeCost(linalg::LinalgOp op) const {
  int64_t total = estimateCost(op);
  forEachProducer(op, [&](linalg::LinalgOp producer) {
    if (isUniform(producer))
      return;
    bool isStored = llvm::any_of(producer->getResults(), [&](Value result) {
      return buffers.contains(result);
    });
    total += isStored ? 1 : getRecomputeCost(producer);
  });
  return total;
}

/// Keeps what several passes need and what is expensive.
void RowPlan::findBuffers() {
  findUses();
  for (linalg::LinalgOp op : space->ops)
    if (!isUniform(op) && op->getNumResults() == 1 && uses[op].count() > 1 &&
        getRecomputeCost(op) > kBufferCost)
      buffers[op->getResult(0)] = {};
  // A value that only a buffered value needs is computed once: no buffer.
  findUses();
  buffers.remove_if([&](auto &entry) {
    return uses[entry.first.getDefiningOp()].count() < 2;
  });
}

RowPlan::Loop &RowPlan::getLoop(unsigned pass, DimSet dims) {
  for (auto [loop, key] : llvm::zip(loops, loopKeys))
    if (key.first == pass && key.second == dims)
      return loop;
  loopKeys.emplace_back(pass, dims);
  loops.emplace_back();
  loops.back().dims.assign(dims.set_bits_begin(), dims.set_bits_end());
  return loops.back();
}

bool RowPlan::chooseLoops(Form form) {
  for (unsigned pass = 0; pass < numPasses; ++pass) {
    for (linalg::LinalgOp op : space->ops) {
      if (levels[op] != pass || !space->isReduction(op))
        continue;
      if (!getCombiner(op))
        return false;
      getLoop(pass, getRowDims(op)).reductions.push_back(op);
    }
    for (auto [index, output] : llvm::enumerate(space->outputs)) {
      Operation *op = output.value.getDefiningOp();
      if (levels[op] != pass)
        continue;
      if (isUniform(op))
        rowOutputs.push_back(index);
      else
        getLoop(pass, getRowDims(op)).outputs.push_back(index);
    }
  }
  // A reduction over dimensions of size 1 alone is no loop over elements.
  bool isContiguous = true;
  int64_t score = std::numeric_limits<int64_t>::max();
  for (Loop &loop : loops) {
    if (loop.dims.empty()) {
      isContiguous = false;
      continue;
    }
    Contiguity contiguity = chooseVectorDim(loop);
    isContiguous &= contiguity.contiguous > 0 || contiguity.strided == 0;
    score = std::min(score, contiguity.getScore());
  }
  if (form == Form::ShortRows)
    return chooseShortRows();
  return hasReduction ? chooseLane(isContiguous, score) : isContiguous;
}

/// The loop that first computes the elements of a value; nothing where loops
/// over other dimensions need it, which do not go through a buffer.
std::optional<unsigned> RowPlan::findFirstLoop(Value value) const {
  Operation *op = value.getDefiningOp();
  const llvm::SmallBitVector &needed = uses.find(op)->second;
  DimSet dims = getRowDims(op);
  for (auto &[pass, other] : loopKeys)
    if (needed[pass] && other != dims)
      return std::nullopt;
  auto key = llvm::find(
      loopKeys, std::pair(unsigned(needed.find_first()), std::move(dims)));
  if (key == loopKeys.end())
    return std::nullopt;
  return key - loopKeys.begin();
}

/// The row of an output holds a buffer until the output is written, and a
/// second one from the loop on that is the last one to read the first one.
void RowPlan::placeBuffers() {
  size_t count;
  do {
    count = buffers.size();
    findUses();
    buffers.remove_if([&](auto &entry) { return !findFirstLoop(entry.first); });
  } while (buffers.size() != count);
  DenseMap<const KernelSpace::Output *, unsigned> lastReads;
  for (auto &[value, buffer] : buffers) {
    buffer.loop = *findFirstLoop(value);
    loops[buffer.loop].stored.push_back(value);
    Operation *op = value.getDefiningOp();
    unsigned first = uses[op].find_first(), last = uses[op].find_last();
    Type type = cast<RankedTensorType>(value.getType()).getElementType();
    auto hasVectors = [&, loop = buffer.loop](const Access &place) {
      return shortDim
                 ? llvm::is_contained(blocks, place)
                 : place.isContiguous(lane.value_or(loops[loop].dims.back()));
    };
    for (const KernelSpace::Output &output : space->outputs) {
      Operation *writer = output.value.getDefiningOp();
      DimSet rest = output.dims;
      if (isUniform(writer) || rest.reset(outer) != getRowDims(op) ||
          output.place.getType().getElementType() != type ||
          !hasVectors(output.place) || levels[writer] < last ||
          lastReads.lookup(&output) > first)
        continue;
      lastReads[&output] = last;
      buffer.output = &output;
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// RowPlan
//===----------------------------------------------------------------------===//

std::unique_ptr<RowPlan> RowPlan::make(std::unique_ptr<KernelSpace> space,
                                       const TargetModel &target, Form form) {
  auto plan = std::make_unique<RowPlan>();
  plan->space = std::move(space);
  if (!plan->findOuterDims())
    return nullptr;
  DimSet outer = plan->outer;
  bool hasReduction = plan->hasReduction;
  plan->space->mergeDims([&](unsigned lhs, unsigned rhs) {
    return !hasReduction || outer[lhs] == outer[rhs];
  });
  plan->findOuterDims();
  if (!plan->checkOutputs())
    return nullptr;
  plan->findLevels();
  plan->findBuffers();
  for (linalg::LinalgOp op : plan->space->ops)
    plan->cost += estimateCost(op) + 1;
  if (!plan->chooseLoops(form))
    return nullptr;
  plan->placeBuffers();
  bool isNarrow = llvm::all_of(plan->loops, [&](const Loop &loop) {
    return loop.dims.size() == 1 && plan->isNarrow(loop.dims.back());
  });
  plan->isScalar = !plan->lane && (form == Form::Elements || isNarrow);
  if (!plan->isScalar || (form == Form::Elements && !hasReduction))
    plan->chooseLanes(target);
  if (plan->shortDim && (plan->lanes < 4 || plan->lanes > 16))
    return nullptr;
  plan->chooseTransposed();
  return plan;
}
