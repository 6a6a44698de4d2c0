//===- RaiseLoops.cpp - Raise loops to linalg -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Raises a loop nest whose statements store elements to one linalg operation
// for each store (loop distribution). This is the same program where
//
// - a store covers each element of its memref once, or accumulates: its indices
//   are loops, each with as many iterations as the dimension has elements, and
//   the other loops reduce;
// - there are no other dependences between iterations: what is stored in the
//   nest, and touched by several statements or by another iteration, is touched
//   at the same iteration of the loops around all of them: `C[i, ...]` in the
//   loop over i.
//
// A statement under the condition that loops are at their first iteration, as
// `T.init` has it, is one outside of these loops that comes before the others.
//
// Everything else is left as it is.
//
//===----------------------------------------------------------------------===//

#include "RaiseKernels.h"

#include "relax-mlir/IR/KernelStructInfo.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// The number of elements of a memref along a dimension; null where it is not
/// known.
static PrimExprAttr getSize(Value memref, int64_t axis);

/// Returns an integer in terms of the parameters; null where it is not known.
static PrimExprAttr getInteger(Value value) {
  MLIRContext *context = value.getContext();
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return PrimExprAttr::getInt(context, *constant);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!kernel || !value.getType().isInteger())
      return {};
    auto type = dyn_cast_or_null<PrimStructInfoType>(
        getDeclaredStructInfo(kernel, argument.getArgNumber()));
    if (type && type.getValue())
      return type.getValue();
    return PrimExprAttr::getVar(
        context, "arg" + std::to_string(argument.getArgNumber()));
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return getInteger(op->getOperand(0));
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    std::optional<int64_t> axis = dim.getConstantIndex();
    return axis ? getSize(dim.getSource(), *axis) : PrimExprAttr();
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {};
  PrimExprAttr lhs = getInteger(op->getOperand(0));
  PrimExprAttr rhs = getInteger(op->getOperand(1));
  if (!lhs || !rhs)
    return {};
  PrimExprAttr result = isa<arith::AddIOp>(op) ? PrimExprAttr::getAdd(lhs, rhs)
                        : isa<arith::SubIOp>(op)
                            ? PrimExprAttr::getSub(lhs, rhs)
                            : PrimExprAttr::getMul(lhs, rhs);
  return result.isTooLarge() ? PrimExprAttr() : result;
}

static PrimExprAttr getSize(Value memref, int64_t axis) {
  auto type = cast<MemRefType>(memref.getType());
  MLIRContext *context = memref.getContext();
  if (axis < 0 || axis >= type.getRank())
    return {};
  if (!type.isDynamicDim(axis))
    return PrimExprAttr::getInt(context, type.getDimSize(axis));
  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    auto kernel = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    if (!kernel)
      return {};
    auto info = dyn_cast_or_null<TensorStructInfoType>(
        getDeclaredStructInfo(kernel, argument.getArgNumber()));
    if (info && info.hasShape() && info.getNdim() == type.getRank())
      return info.getDims()[axis];
    return PrimExprAttr::getVar(
        context, "arg" + std::to_string(argument.getArgNumber()) + "_" +
                     std::to_string(axis));
  }
  unsigned dynamic = type.getDynamicDimIndex(axis);
  if (auto alloc = memref.getDefiningOp<memref::AllocOp>())
    return getInteger(alloc.getDynamicSizes()[dynamic]);
  if (auto alloca = memref.getDefiningOp<memref::AllocaOp>())
    return getInteger(alloca.getDynamicSizes()[dynamic]);
  return {};
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

namespace {
/// A store, and what it is made of.
struct Statement {
  memref::StoreOp store;
  SmallVector<scf::ForOp> loops;   // around it, outermost first
  SmallVector<scf::ForOp> removed; // of which it runs in the first iteration
  unsigned position = 0;
  llvm::SetVector<Operation *> slice; // inside of the nest, in order
  SmallVector<memref::LoadOp> loads;  // of the slice

  bool touches(Value memref) const {
    memref::StoreOp written = store;
    return written.getMemRef() == memref ||
           llvm::any_of(loads, [&](memref::LoadOp load) {
             return load.getMemRef() == memref;
           });
  }
};

/// Raises one operation of the entry block: a nest, or a store.
class NestRaiser {
public:
  explicit NestRaiser(Operation *root) : root(root) {}

  /// Whether it has been replaced.
  bool run();

private:
  bool collect(Operation *op, ArrayRef<scf::ForOp> loops,
               ArrayRef<scf::ForOp> removed);
  bool collectSlice(Statement &statement, Operation *op);
  bool isIndependent() const;
  bool isAligned(Value memref, scf::ForOp loop) const;
  bool keepsOrder(const Statement &statement) const;
  bool alwaysRuns(const Statement &statement) const;

  Operation *root;
  std::vector<Statement> statements;
  llvm::DenseMap<Operation *, unsigned> positions;
};

/// Writes a statement as a linalg operation.
class StatementWriter {
public:
  StatementWriter(Statement &statement, Operation *root)
      : statement(statement), root(root), builder(root) {}

  bool plan();
  void write();

private:
  bool planOutput();
  bool planReduction();
  void planInput(memref::LoadOp load);
  AffineExpr getAffine(Value index) const;
  std::optional<unsigned> getLoop(Value index) const;
  AffineExpr getPlace(Value index, Value memref, int64_t axis) const;
  bool isInBounds(AffineExpr expr, Value memref, int64_t axis) const;
  bool isInside(Operation *op) const {
    return root->isAncestor(op) && op != root;
  }
  bool writeFill();

  Statement &statement;
  Operation *root;
  OpBuilder builder;
  SmallVector<scf::ForOp> loops; // parallel ones, then those that reduce
  unsigned numParallel = 0;
  AffineMap outputMap;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps; // of the inputs
  /// The element that a load is: an input by number, or the output.
  llvm::DenseMap<Operation *, unsigned> elements;
  static constexpr unsigned kOutput = ~0u;
};
} // namespace

/// A loop from 0 in steps of 1 that differs from others in its variable alone.
static bool isPlain(scf::ForOp loop) {
  if (getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1 || loop.getNumRegionIterArgs())
    return false;
  // Loops over threads are not what they seem.
  return !RelaxDialect::ThreadAttrHelper(loop.getContext()).isAttrPresent(loop);
}

/// The loops that are at their first iteration where a condition holds.
static bool collectFirst(Value condition, ArrayRef<scf::ForOp> loops,
                         SmallVectorImpl<scf::ForOp> &first) {
  Operation *op = condition.getDefiningOp();
  if (!op)
    return false;
  if (isa<arith::AndIOp>(op))
    return collectFirst(op->getOperand(0), loops, first) &&
           collectFirst(op->getOperand(1), loops, first);
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq ||
      getConstantIntValue(compare.getRhs()) != 0)
    return false;
  Value value = compare.getLhs();
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  for (scf::ForOp loop : loops)
    if (loop.getInductionVar() == value) {
      first.push_back(loop);
      return true;
    }
  return false;
}

bool NestRaiser::collect(Operation *op, ArrayRef<scf::ForOp> loops,
                         ArrayRef<scf::ForOp> removed) {
  positions[op] = positions.size();
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    Statement &statement = statements.emplace_back();
    statement.store = store;
    statement.loops = llvm::to_vector(loops);
    statement.removed = llvm::to_vector(removed);
    statement.position = positions[op];
    return collectSlice(statement, store);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (!isPlain(loop))
      return false;
    SmallVector<scf::ForOp> inner(loops);
    inner.push_back(loop);
    return llvm::all_of(loop.getBody()->without_terminator(), [&](auto &next) {
      return collect(&next, inner, removed);
    });
  }
  auto branch = dyn_cast<scf::IfOp>(op);
  if (branch && branch.getNumResults() == 0) {
    SmallVector<scf::ForOp> first, others, all(removed);
    if (branch.elseBlock() ||
        !collectFirst(branch.getCondition(), loops, first))
      return false;
    llvm::append_range(all, first);
    llvm::copy_if(loops, std::back_inserter(others), [&](scf::ForOp loop) {
      return !llvm::is_contained(first, loop);
    });
    return llvm::all_of(
        branch.thenBlock()->without_terminator(),
        [&](auto &next) { return collect(&next, others, all); });
  }
  // A part of statements: it is copied to each of them.
  bool isValue = isa<memref::LoadOp>(op) || isMemoryEffectFree(op);
  if (branch)
    isValue = !branch
                   ->walk([](Operation *inner) {
                     return isa<memref::LoadOp, scf::IfOp>(inner) ||
                                    isMemoryEffectFree(inner)
                                ? WalkResult::advance()
                                : WalkResult::interrupt();
                   })
                   .wasInterrupted();
  if (isValue)
    op->walk([&](Operation *inner) {
      positions.try_emplace(inner, positions.size());
    });
  return isValue;
}

/// Adds what the operands of an operation are made of, each before its uses.
bool NestRaiser::collectSlice(Statement &statement, Operation *op) {
  SmallVector<Operation *> next = {op};
  llvm::SetVector<Operation *> found;
  while (!next.empty()) {
    Operation *current = next.pop_back_val();
    auto visit = [&](Operation *user) {
      if (auto load = dyn_cast<memref::LoadOp>(user))
        statement.loads.push_back(load);
      for (Value operand : user->getOperands()) {
        Operation *source = operand.getDefiningOp();
        if (!source || !root->isAncestor(source) || source == root ||
            current->isProperAncestor(source) || !positions.contains(source))
          continue;
        if (found.insert(source))
          next.push_back(source);
      }
    };
    if (current == op)
      visit(current);
    else
      current->walk(visit);
  }
  SmallVector<Operation *> ordered = found.takeVector();
  llvm::sort(ordered, [&](Operation *lhs, Operation *rhs) {
    return positions.lookup(lhs) < positions.lookup(rhs);
  });
  statement.slice.insert_range(ordered);
  llvm::sort(statement.loads, [&](memref::LoadOp lhs, memref::LoadOp rhs) {
    return positions.lookup(lhs) < positions.lookup(rhs);
  });
  // The variable of a loop that it is taken out of is 0 there, not a loop.
  bool usesRemoved = false;
  auto check = [&](Operation *user) {
    for (Value operand : user->getOperands())
      for (scf::ForOp loop : statement.removed)
        usesRemoved |= operand == loop.getInductionVar();
  };
  check(op);
  for (Operation *source : statement.slice)
    source->walk(check);
  return !usesRemoved;
}

/// Whether all statements touch a memref in the iteration of a loop that they
/// are in.
bool NestRaiser::isAligned(Value memref, scf::ForOp loop) const {
  std::optional<unsigned> axis;
  auto isAtLoop = [&](ValueRange indices) {
    for (auto [number, index] : llvm::enumerate(indices)) {
      Value value = index;
      while (auto cast = value.getDefiningOp<arith::IndexCastOp>())
        value = cast.getIn();
      if (value != loop.getInductionVar())
        continue;
      if (!axis)
        axis = number;
      if (*axis == number)
        return true;
    }
    return false;
  };
  for (const Statement &statement : statements) {
    if (!llvm::is_contained(statement.loops, loop))
      continue;
    memref::StoreOp store = statement.store;
    if (store.getMemRef() == memref && !isAtLoop(store.getIndices()))
      return false;
    for (memref::LoadOp load : statement.loads)
      if (load.getMemRef() == memref && !isAtLoop(load.getIndices()))
        return false;
  }
  return true;
}

/// Whether each load of a statement still reads what it has read.
bool NestRaiser::keepsOrder(const Statement &statement) const {
  memref::StoreOp store = statement.store;
  for (memref::LoadOp load : statement.loads) {
    unsigned position = positions.lookup(load);
    for (const Statement &other : statements) {
      memref::StoreOp written = other.store;
      if (written.getMemRef() != load.getMemRef())
        continue;
      if (other.position > position && other.position < statement.position)
        return false;
      // A sum is in a loop that its old value was not read in.
      if (written == store && load->getParentOfType<scf::ForOp>() !=
                                  store->getParentOfType<scf::ForOp>())
        return false;
    }
  }
  // In later iterations of these loops others come before it.
  return llvm::all_of(statements, [&](const Statement &other) {
    memref::StoreOp written = other.store;
    bool shares = llvm::any_of(other.loops, [&](scf::ForOp loop) {
      return llvm::is_contained(statement.removed, loop);
    });
    return other.position >= statement.position || !shares ||
           (!statement.touches(written.getMemRef()) &&
            !other.touches(store.getMemRef()));
  });
}

/// Whether a statement that is taken out of loops may run where these have no
/// iteration: nothing has been written then that it would change.
bool NestRaiser::alwaysRuns(const Statement &statement) const {
  if (llvm::all_of(statement.removed, [](scf::ForOp loop) {
        return getConstantIntValue(loop.getUpperBound()).value_or(0) > 0;
      }))
    return true;
  memref::StoreOp store = statement.store;
  Value memref = store.getMemRef();
  for (const Statement &other : statements) {
    memref::StoreOp written = other.store;
    if (written.getMemRef() == memref && other.position < statement.position)
      return false;
  }
  return llvm::none_of(memref.getUsers(), [&](Operation *user) {
    Operation *op = root->getBlock()->findAncestorOpInBlock(*user);
    return op && op->isBeforeInBlock(root) && !isa<memref::DimOp>(op);
  });
}

/// Whether all iterations of a statement can come before those of the next one.
bool NestRaiser::isIndependent() const {
  for (const Statement &statement : statements) {
    if (!keepsOrder(statement) || !alwaysRuns(statement))
      return false;
    memref::StoreOp store = statement.store;
    Value memref = store.getMemRef();
    for (const Statement &other : statements) {
      if (other.position == statement.position || !other.touches(memref))
        continue;
      for (scf::ForOp loop : statement.loops)
        if (llvm::is_contained(other.loops, loop) && !isAligned(memref, loop))
          return false;
    }
  }
  return true;
}

/// A memref that no other value is a part of, as far as the kernel knows.
static bool isWhole(Value memref) {
  return isa<BlockArgument>(memref) ||
         memref.getDefiningOp<memref::AllocOp>() ||
         memref.getDefiningOp<memref::AllocaOp>();
}

bool NestRaiser::run() {
  if (!collect(root, {}, {}) || statements.empty())
    return false;
  for (Statement &statement : statements)
    if (!isWhole(statement.store.getMemRef()) ||
        !llvm::all_of(statement.loads, [](memref::LoadOp load) {
          return isWhole(load.getMemRef());
        }))
      return false;
  if (!isIndependent())
    return false;
  std::vector<StatementWriter> writers;
  for (Statement &statement : statements)
    if (!writers.emplace_back(statement, root).plan())
      return false;
  for (StatementWriter &writer : writers)
    writer.write();
  root->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The loop that an index is the variable of.
std::optional<unsigned> StatementWriter::getLoop(Value index) const {
  while (auto cast = index.getDefiningOp<arith::IndexCastOp>())
    index = cast.getIn();
  for (auto [number, loop] : llvm::enumerate(loops)) {
    scf::ForOp op = loop;
    if (op.getInductionVar() == index)
      return number;
  }
  return std::nullopt;
}

/// An index in terms of the loops; null where it is no sum of multiples.
AffineExpr StatementWriter::getAffine(Value index) const {
  MLIRContext *context = index.getContext();
  if (std::optional<int64_t> constant = getConstantIntValue(index))
    return getAffineConstantExpr(*constant, context);
  if (std::optional<unsigned> loop = getLoop(index))
    return getAffineDimExpr(*loop, context);
  Operation *op = index.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::IndexCastOp>(op))
    return getAffine(op->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return {};
  AffineExpr lhs = getAffine(op->getOperand(0));
  AffineExpr rhs = getAffine(op->getOperand(1));
  if (!lhs || !rhs)
    return {};
  if (isa<arith::AddIOp>(op))
    return lhs + rhs;
  if (isa<arith::SubIOp>(op))
    return lhs - rhs;
  return lhs.isSymbolicOrConstant() || rhs.isSymbolicOrConstant()
             ? lhs * rhs
             : AffineExpr();
}

/// Whether a place that is no single loop is one of the elements, as far as
/// sizes are known; where they are not, the program says so.
bool StatementWriter::isInBounds(AffineExpr expr, Value memref,
                                 int64_t axis) const {
  int64_t low = 0, high = 0;
  bool isKnown = true;
  SmallVector<int64_t> factors;
  if (failed(getFlattenedAffineExpr(expr, loops.size(), 0, &factors)) ||
      factors.size() != loops.size() + 1)
    return false;
  low = high = factors.back();
  for (auto [loop, factor] : llvm::zip(loops, ArrayRef(factors).drop_back())) {
    scf::ForOp op = loop;
    if (factor == 0)
      continue;
    std::optional<int64_t> count = getConstantIntValue(op.getUpperBound());
    if (!count) {
      isKnown = false;
      if (factor < 0)
        return false;
      continue;
    }
    int64_t last = std::max<int64_t>(*count - 1, 0);
    int64_t most = 0;
    if (llvm::MulOverflow(last, factor, most) ||
        llvm::AddOverflow(factor < 0 ? low : high, most,
                          factor < 0 ? low : high))
      return false;
  }
  auto type = cast<MemRefType>(memref.getType());
  return low >= 0 &&
         (!isKnown || type.isDynamicDim(axis) || high < type.getDimSize(axis));
}

/// Returns an index in a form that linalg may read: a loop over all elements,
/// or a position that is in bounds. Null where it is not known to be one.
AffineExpr StatementWriter::getPlace(Value index, Value memref,
                                     int64_t axis) const {
  AffineExpr expr = getAffine(index);
  if (!expr)
    return {};
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    scf::ForOp loop = loops[dim.getPosition()];
    PrimExprAttr count = getInteger(loop.getUpperBound());
    return count && count == getSize(memref, axis) ? expr : AffineExpr();
  }
  return isInBounds(expr, memref, axis) ? expr : AffineExpr();
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Loops are in the order of the dimensions of the output.
bool StatementWriter::planOutput() {
  memref::StoreOp store = statement.store;
  loops = statement.loops;
  SmallVector<scf::ForOp> ordered;
  SmallVector<AffineExpr> results;
  auto type = cast<MemRefType>(store.getMemRef().getType());
  for (auto [axis, index] : llvm::enumerate(store.getIndices())) {
    if (getConstantIntValue(index) == 0 && type.getDimSize(axis) == 1) {
      results.push_back(builder.getAffineConstantExpr(0));
      continue;
    }
    std::optional<unsigned> loop = getLoop(index);
    if (!loop || !getPlace(index, store.getMemRef(), axis) ||
        llvm::is_contained(ordered, loops[*loop]))
      return false;
    results.push_back(builder.getAffineDimExpr(ordered.size()));
    ordered.push_back(loops[*loop]);
  }
  numParallel = ordered.size();
  for (scf::ForOp loop : loops)
    if (!llvm::is_contained(ordered, loop))
      ordered.push_back(loop);
  loops = ordered;
  outputMap = AffineMap::get(loops.size(), 0, results, builder.getContext());
  return true;
}

/// Whether an operation gives the same in any order of what it combines.
static bool combines(Operation *op) {
  return isa_and_nonnull<arith::AddFOp, arith::AddIOp, arith::MulFOp,
                         arith::MulIOp, arith::MaximumFOp, arith::MinimumFOp,
                         arith::MaxNumFOp, arith::MinNumFOp, arith::MaxSIOp,
                         arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
                         arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op);
}

/// Plans a reduction: the stored value combines the old value with one that
/// does not depend on it.
bool StatementWriter::planReduction() {
  if (numParallel == loops.size())
    return true;
  memref::StoreOp store = statement.store;
  Operation *op = store.getValue().getDefiningOp();
  if (!combines(op) || op->getBlock() != store->getBlock())
    return false;
  unsigned count = 0;
  for (memref::LoadOp load : statement.loads)
    if (load.getMemRef() == store.getMemRef()) {
      ++count;
      if (!load->hasOneUse() || *load->getUsers().begin() != op ||
          load->getBlock() != store->getBlock())
        return false;
    }
  return count == 1;
}

void StatementWriter::planInput(memref::LoadOp load) {
  SmallVector<AffineExpr> results;
  for (auto [axis, index] : llvm::enumerate(load.getIndices())) {
    results.push_back(getPlace(index, load.getMemRef(), axis));
    if (!results.back())
      return;
  }
  auto map = AffineMap::get(loops.size(), 0, results, builder.getContext());
  for (auto [number, memref, other] : llvm::enumerate(inputs, maps))
    if (memref == load.getMemRef() && other == map) {
      elements[load] = number;
      return;
    }
  elements[load] = inputs.size();
  inputs.push_back(load.getMemRef());
  maps.push_back(map);
}

/// Whether the statement can be written; changes nothing.
bool StatementWriter::plan() {
  memref::StoreOp store = statement.store;
  if (!planOutput() || !planReduction())
    return false;
  for (memref::LoadOp load : statement.loads) {
    if (load.getMemRef() == store.getMemRef()) {
      // Not another element of what is being written, and always.
      if (load->getParentOfType<scf::IfOp>() !=
              store->getParentOfType<scf::IfOp>() ||
          !llvm::equal(load.getIndices(), store.getIndices(),
                       [&](Value lhs, Value rhs) {
                         AffineExpr expr = getAffine(lhs);
                         return expr && expr == getAffine(rhs);
                       }))
        return false;
      elements[load] = kOutput;
      continue;
    }
    // A read under a condition may be out of bounds without it.
    auto branch = load->getParentOfType<scf::IfOp>();
    if (!branch || branch.getNumResults() == 0)
      planInput(load);
  }
  // Loops get their numbers of iterations from dimensions.
  llvm::SmallBitVector covered(loops.size());
  covered.set(0, numParallel);
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        covered.set(dim.getPosition());
  return covered.all();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// All elements are one number: what products and reductions begin with.
bool StatementWriter::writeFill() {
  memref::StoreOp store = statement.store;
  Value value = store.getValue();
  Operation *op = value.getDefiningOp();
  if (!outputMap.isIdentity() ||
      (op && isInside(op) && !isa<arith::ConstantOp>(op)))
    return false;
  if (isa<BlockArgument>(value) &&
      !isa<func::FuncOp>(value.getParentBlock()->getParentOp()))
    return false;
  if (op && isInside(op))
    value = builder.clone(*op)->getResult(0);
  linalg::FillOp::create(builder, store.getLoc(), value, store.getMemRef());
  return true;
}

void StatementWriter::write() {
  if (writeFill())
    return;
  memref::StoreOp store = statement.store;
  SmallVector<utils::IteratorType> kinds(loops.size(),
                                         utils::IteratorType::reduction);
  std::fill_n(kinds.begin(), numParallel, utils::IteratorType::parallel);
  SmallVector<AffineMap> all(maps);
  all.push_back(outputMap);
  auto writeBody = [&](OpBuilder &inner, Location loc, ValueRange args) {
    IRMapping mapping;
    for (auto [number, loop] : llvm::enumerate(loops)) {
      scf::ForOp op = loop;
      mapping.map(op.getInductionVar(),
                  linalg::IndexOp::create(inner, loc, number).getResult());
    }
    auto getElement = [&](memref::LoadOp load) {
      unsigned number = elements.lookup(load);
      return number == kOutput ? args.back() : args[number];
    };
    for (Operation *op : statement.slice) {
      auto load = dyn_cast<memref::LoadOp>(op);
      if (load && elements.contains(load))
        mapping.map(load.getResult(), getElement(load));
      else
        inner.clone(*op, mapping);
    }
    linalg::YieldOp::create(inner, loc,
                            mapping.lookupOrDefault(store.getValue()));
  };
  auto op = linalg::GenericOp::create(builder, store.getLoc(), inputs,
                                      store.getMemRef(), all, kinds, writeBody);
  // Indices of elements that are operands now, and unused indices of loops.
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::reverse(op.getRegion().front())))
    if (isOpTriviallyDead(&inner))
      inner.erase();
}

void mlir::relax::raiseLoops(func::FuncOp kernel) {
  if (kernel.isExternal() || !kernel.getBody().hasOneBlock())
    return;
  for (Operation &op : llvm::make_early_inc_range(kernel.getBody().front()))
    if (isa<scf::ForOp, memref::StoreOp>(op))
      NestRaiser(&op).run();
}
