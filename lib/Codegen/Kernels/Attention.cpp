//===- Attention.cpp - Recognition of attention -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operator and what is written out with a softmax are the same sequence of
// linalg operations: a contraction, operations on elements, the largest score,
// exponentials, their sum, and a contraction. The quotient by the sum comes
// before or after the latter.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"

#include "Contraction.h"

#include "relax-mlir/Codegen/Kernels.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::relax;

struct AttentionParts::Matcher {
  explicit Matcher(func::FuncOp kernel) : kernel(kernel) {}

  bool run();

  func::FuncOp kernel;
  AttentionParts parts;

private:
  bool findReductions();
  bool matchScores();
  bool matchSoftmax();
  void matchVisible();
  bool matchValues();
  bool matchResult();
  bool findSizes();

  /// A map to the dimensions of an operand, given the place of each loop of an
  /// operation among ours.
  AffineMap toLoops(AffineMap map, ArrayRef<unsigned> places);
  /// A map to the first `count` loops.
  AffineMap getFirst(unsigned count);

  linalg::LinalgOp products[2], largest, sum, exps;
  Value normalized; // weights, as the second product reads them
  AffineMap sums;   // where it writes, in our loops
  SmallVector<ParameterAccess> reads;
};

//===----------------------------------------------------------------------===//
// Maps
//===----------------------------------------------------------------------===//

AffineMap AttentionParts::Matcher::toLoops(AffineMap map,
                                           ArrayRef<unsigned> places) {
  SmallVector<AffineExpr> dims;
  for (unsigned place : places)
    dims.push_back(getAffineDimExpr(place, map.getContext()));
  return map.replaceDimsAndSymbols(dims, {}, parts.numLoops(), 0);
}

AffineMap AttentionParts::Matcher::getFirst(unsigned count) {
  SmallVector<unsigned> loops = llvm::to_vector(llvm::seq(count));
  return AffineMap::getMultiDimMapWithTargets(parts.numLoops(), loops,
                                              kernel.getContext());
}

/// Assigns the positions in `targets` to the loops that `map` takes, each as a
/// dimension of its own; false where it takes anything else.
static bool assignLoops(AffineMap map, ArrayRef<unsigned> targets,
                        MutableArrayRef<std::optional<unsigned>> places) {
  for (auto [expr, target] : llvm::zip_equal(map.getResults(), targets)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || places[dim.getPosition()])
      return false;
    places[dim.getPosition()] = target;
  }
  return true;
}

/// Puts `target` in the only place that is left.
static bool assignRest(MutableArrayRef<std::optional<unsigned>> places,
                       unsigned target) {
  auto isOpen = [](std::optional<unsigned> place) { return !place; };
  if (llvm::count_if(places, isOpen) != 1)
    return false;
  *llvm::find_if(places, isOpen) = target;
  return true;
}

static SmallVector<unsigned> getPlaces(ArrayRef<std::optional<unsigned>> all) {
  return llvm::map_to_vector(all, [](auto place) { return *place; });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static bool isFloat32(Value value) {
  return getElementTypeOrSelf(value.getType()).isF32();
}

/// Whether the elements may be those of parameters and results.
static bool isOfElements(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isF32() || type.isF16() || type.isBF16();
}

static bool isParallel(linalg::LinalgOp op) {
  return op.isAllParallelLoops() && op->getNumResults() == 1;
}

/// Whether a row, all but the last dimension, is reduced by `Op` from what
/// `isInit` takes on.
template <typename Op>
static bool reducesRow(linalg::LinalgOp op,
                       llvm::function_ref<bool(Value)> isInit) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1)
    return false;
  unsigned loops = op.getNumLoops();
  MLIRContext *context = op.getContext();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (op.getNumReductionLoops() != 1 ||
      op.getIteratorTypesArray().back() != utils::IteratorType::reduction ||
      !maps[0].isIdentity() ||
      maps[1] != AffineMap::getMultiDimIdentityMap(loops, context)
                     .dropResult(loops - 1))
    return false;
  Block &body = *op.getBlock();
  auto combine = body.getTerminator()->getOperand(0).getDefiningOp<Op>();
  auto fill = op.getDpsInitOperand(0)->get().getDefiningOp<linalg::FillOp>();
  if (!combine || !fill || !isInit(fill.getInputs()[0]))
    return false;
  Value first = body.getArgument(0), second = body.getArgument(1);
  return (combine.getLhs() == first && combine.getRhs() == second) ||
         (combine.getLhs() == second && combine.getRhs() == first);
}

/// The element of `tensor`, read as it is along the first loops, that the body
/// of an operation has; null where there is none, or several.
static Value findElement(linalg::LinalgOp op, Value tensor) {
  Value found;
  for (OpOperand &operand : op->getOpOperands()) {
    if (operand.get() != tensor || !op.payloadUsesValueFromOperand(&operand))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    auto first =
        AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op.getContext());
    if (found || map != first.getMajorSubMap(map.getNumResults()))
      return {};
    found = op.getMatchingBlockArgument(&operand);
  }
  return found;
}

/// Whether a value is computed without `elements`.
static bool isIndependent(Value value, ArrayRef<Value> elements) {
  if (llvm::is_contained(elements, value))
    return false;
  Operation *op = value.getDefiningOp();
  return !op || llvm::all_of(op->getOperands(), [&](Value operand) {
    return isIndependent(operand, elements);
  });
}

/// Whether the body computes exp(score - largest), or 0 where something else
/// says so.
static bool computesWeights(linalg::LinalgOp op, Value scores, Value largest) {
  Value score = findElement(op, scores), max = findElement(op, largest);
  if (!score || !max)
    return false;
  Value result = op.getBlock()->getTerminator()->getOperand(0);
  if (auto select = result.getDefiningOp<arith::SelectOp>()) {
    if (!isIndependent(select.getCondition(), {score, max}) ||
        !matchPattern(select.getFalseValue(), m_PosZeroFloat()))
      return false;
    result = select.getTrueValue();
  }
  auto exp = result.getDefiningOp<math::ExpOp>();
  auto sub =
      exp ? exp.getOperand().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  return sub && sub.getLhs() == score && sub.getRhs() == max;
}

/// Whether the body divides what is in one tensor by what is in another.
static bool computesQuotient(linalg::LinalgOp op, Value lhs, Value rhs) {
  Value dividend = findElement(op, lhs), divisor = findElement(op, rhs);
  auto div = op.getBlock()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::DivFOp>();
  return dividend && divisor && div && div.getLhs() == dividend &&
         div.getRhs() == divisor;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Two contractions and two reductions of rows, in this order.
bool AttentionParts::Matcher::findReductions() {
  SmallVector<linalg::LinalgOp> found;
  for (auto op : kernel.getBody().front().getOps<linalg::LinalgOp>())
    if (op.getNumReductionLoops() != 0)
      found.push_back(op);
  if (found.size() != 4)
    return false;
  products[0] = found[0];
  largest = found[1];
  sum = found[2];
  products[1] = found[3];
  for (linalg::LinalgOp product : products)
    if (!isSumOfProducts(product) || product.getNumReductionLoops() != 1 ||
        !isFloat32(product->getResult(0)) ||
        !llvm::all_of(product->getOperands(), isOfElements))
      return false;
  auto isLowest = [](Value value) {
    return matchPattern(value, m_NegInfFloat());
  };
  auto isZero = [](Value value) {
    return matchPattern(value, m_PosZeroFloat());
  };
  return reducesRow<arith::MaximumFOp>(largest, isLowest) &&
         reducesRow<arith::AddFOp>(sum, isZero) &&
         isFloat32(largest->getResult(0)) && isFloat32(sum->getResult(0));
}

/// The dimensions of the first product are the batch, queries, and keys.
bool AttentionParts::Matcher::matchScores() {
  linalg::LinalgOp op = products[0];
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned rank = maps[2].getNumResults();
  if (rank < 2 || op.getNumLoops() != rank + 1 ||
      largest.getNumLoops() != rank || sum.getNumLoops() != rank)
    return false;
  parts.numBatch = rank - 2;
  SmallVector<std::optional<unsigned>> places(op.getNumLoops());
  SmallVector<unsigned> targets = llvm::to_vector(llvm::seq(rank));
  if (!assignLoops(maps[2], targets, places) ||
      !assignRest(places, parts.depthLoop()))
    return false;
  parts.sizes.resize(parts.numLoops());
  for (auto [place, size] : llvm::zip_equal(places, op.getStaticLoopRanges()))
    parts.sizes[*place].known = size;
  for (unsigned operand : {0, 1}) {
    AffineMap map = toLoops(maps[operand], getPlaces(places));
    bool isQuery = map.isFunctionOfDim(parts.queryLoop());
    if (isQuery == map.isFunctionOfDim(parts.keyLoop()))
      return false;
    Elements &elements = isQuery ? parts.query : parts.key;
    elements = {op->getOperand(operand), map, parts.depthLoop()};
  }
  parts.scores = {largest.getDpsInputOperand(0)->get(),
                  getFirst(rank),
                  parts.keyLoop(),
                  {{op->getResult(0), getFirst(rank)}}};
  return parts.query.tensor && parts.key.tensor;
}

bool AttentionParts::Matcher::matchSoftmax() {
  unsigned rank = parts.numBatch + 2;
  Value scores = parts.scores.tensor, max = largest->getResult(0);
  exps = sum.getDpsInputOperand(0)->get().getDefiningOp<linalg::LinalgOp>();
  if (!exps || !isParallel(exps) || exps.getNumLoops() != rank ||
      !isFloat32(exps->getResult(0)) || !computesWeights(exps, scores, max))
    return false;
  parts.weights = {exps->getResult(0),
                   getFirst(rank),
                   parts.keyLoop(),
                   {{scores, getFirst(rank)}, {max, getFirst(rank - 1)}}};

  matchVisible();

  // The quotient is a weight of the second product, or none is.
  normalized = exps->getResult(0);
  for (Operation *user : normalized.getUsers()) {
    auto op = dyn_cast<linalg::LinalgOp>(user);
    if (!op || !isParallel(op) || op.getNumLoops() != rank ||
        !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() ||
        !computesQuotient(op, exps->getResult(0), sum->getResult(0)))
      continue;
    normalized = op->getResult(0);
    parts.isNormalized = true;
    break;
  }
  return true;
}

/// Whether a value is the index of a loop.
static bool isLoop(Value value, unsigned loop) {
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && index.getDim() == loop;
}

/// Whether a comparison of integers is of the key with something; null where it
/// is not.
static Value findBound(Value condition, arith::CmpIPredicate predicate,
                       unsigned keyLoop) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  bool isBound = compare && compare.getPredicate() == predicate &&
                 isLoop(compare.getLhs(), keyLoop);
  return isBound ? compare.getRhs() : Value();
}

/// key <= query + offset, and key > that - window. Conditions of another form
/// only cost time.
void AttentionParts::Matcher::matchVisible() {
  Value result = exps.getBlock()->getTerminator()->getOperand(0);
  auto select = result.getDefiningOp<arith::SelectOp>();
  if (!select)
    return;
  using P = arith::CmpIPredicate;
  Value condition = select.getCondition(), window;
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    window = findBound(both.getRhs(), P::sgt, parts.keyLoop());
    condition = both.getLhs();
  }
  Value last = findBound(condition, P::sle, parts.keyLoop());
  if (!last)
    return;
  if (auto sum = last.getDefiningOp<arith::AddIOp>()) {
    if (!isLoop(sum.getLhs(), parts.queryLoop()) || !isSameForAll(sum.getRhs()))
      return;
    parts.offset = sum.getRhs();
  } else if (!isLoop(last, parts.queryLoop())) {
    return;
  }
  parts.isCausal = true;
  auto first = window ? window.getDefiningOp<arith::SubIOp>() : arith::SubIOp();
  if (first && first.getLhs() == last)
    parts.window = getConstantIntValue(first.getRhs());
}

/// The map at which `target` is read where `tensor` is computed at `map`; null
/// where it is not, or in several places.
static AffineMap findAccess(Value tensor, AffineMap map, Value target) {
  if (tensor == target)
    return map;
  auto op = tensor.getDefiningOp<linalg::LinalgOp>();
  AffineMap found;
  if (!op || !isParallel(op))
    return found;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()) ||
        !op.payloadUsesValueFromOperand(&operand))
      continue;
    AffineMap access =
        findAccess(operand.get(),
                   op.getMatchingIndexingMap(&operand).compose(map), target);
    if (access && found && access != found)
      return {};
    if (access)
      found = access;
  }
  return found;
}

/// The dimensions of the second product are those of the batch and queries, in
/// any order, and columns.
bool AttentionParts::Matcher::matchValues() {
  linalg::LinalgOp op = products[1];
  unsigned rank = parts.numBatch + 2;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned weights = op->getOperand(0) == normalized ? 0 : 1;
  if (op->getOperand(weights) != normalized ||
      op->getOperand(1 - weights) == normalized || op.getNumLoops() != rank + 1)
    return false;
  SmallVector<std::optional<unsigned>> places(op.getNumLoops());
  SmallVector<unsigned> targets = llvm::to_vector(llvm::seq(rank));
  if (!assignLoops(maps[weights], targets, places) ||
      !assignRest(places, parts.columnLoop()))
    return false;
  for (auto [place, size] : llvm::zip_equal(places, op.getStaticLoopRanges()))
    if (!ShapedType::isDynamic(size))
      parts.sizes[*place].known = size;
  sums = toLoops(maps[2], getPlaces(places));
  parts.value = {op->getOperand(1 - weights),
                 toLoops(maps[1 - weights], getPlaces(places)),
                 parts.columnLoop(),
                 {}};
  return !sums.isFunctionOfDim(parts.keyLoop()) &&
         parts.value.map.isFunctionOfDim(parts.keyLoop()) &&
         !parts.value.map.isFunctionOfDim(parts.queryLoop());
}

/// What is stored are sums of the second product, in any order of dimensions in
/// which the columns are the last one.
bool AttentionParts::Matcher::matchResult() {
  auto ret = dyn_cast<func::ReturnOp>(kernel.getBody().front().getTerminator());
  if (!ret || ret.getNumOperands() != 1)
    return false;
  Value result = ret.getOperand(0);
  // A kernel that is not prepared returns its last parameter, updated.
  parts.output = kernel.getArguments().back();
  if (auto store =
          result.getDefiningOp<bufferization::MaterializeInDestinationOp>()) {
    parts.output = dyn_cast<BlockArgument>(store.getDest());
    result = store.getSource();
  }
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!parts.output || !type || !isOfElements(result) ||
      parts.output.getType() != type)
    return false;
  auto identity =
      AffineMap::getMultiDimIdentityMap(type.getRank(), kernel.getContext());
  Value product = products[1]->getResult(0);
  AffineMap access = findAccess(result, identity, product);
  if (!access || !access.isPermutation())
    return false;
  parts.outputMap = inversePermutation(access).compose(sums);
  if (parts.outputMap.getResults().back() !=
      getAffineDimExpr(parts.columnLoop(), kernel.getContext()))
    return false;
  parts.result = {
      result,
      parts.outputMap,
      parts.columnLoop(),
      {{product, sums}, {sum->getResult(0), getFirst(parts.numBatch + 1)}}};
  return true;
}

/// Each loop is a dimension of what is read or written.
bool AttentionParts::Matcher::findSizes() {
  auto find = [&](unsigned loop) {
    Size &size = parts.sizes[loop];
    if (!ShapedType::isDynamic(size.known))
      return true;
    AffineExpr dim = getAffineDimExpr(loop, kernel.getContext());
    for (const ParameterAccess &read : reads)
      for (auto [axis, expr] : llvm::enumerate(read.map.getResults()))
        if (expr == dim) {
          size.parameter = read.parameter;
          size.axis = static_cast<int64_t>(axis);
          return true;
        }
    return false;
  };
  reads.insert(reads.begin(), {parts.output, parts.outputMap});
  return llvm::all_of(llvm::seq(parts.numLoops()), find);
}

bool AttentionParts::Matcher::run() {
  if (!kernel.getBody().hasOneBlock() || kernel.getNumArguments() == 0 ||
      !findReductions() || !matchScores() || !matchSoftmax() ||
      !matchValues() || !matchResult())
    return false;
  // A size is read from queries, keys or values: elements of other operands may
  // be repeated along a loop.
  for (const Elements *elements : {&parts.query, &parts.key, &parts.value})
    if (!canCompute(*elements, parts.output, reads))
      return false;
  SmallVector<ParameterAccess> others;
  for (const Elements *elements :
       {&parts.scores, &parts.weights, &parts.result})
    if (!canCompute(*elements, parts.output, others))
      return false;
  return findSizes();
}

std::optional<AttentionParts> AttentionParts::match(func::FuncOp kernel) {
  Matcher matcher(kernel);
  if (!matcher.run())
    return std::nullopt;
  return std::move(matcher.parts);
}

/// Products of rows that are longer than this are better off with blocks of
/// their depth, as a matrix product has them.
static constexpr int64_t kLongestRow = 512;

bool mlir::relax::isAttentionKernel(func::FuncOp kernel) {
  if (kernel.isExternal())
    return false;
  std::optional<AttentionParts> parts = AttentionParts::match(kernel);
  return parts && parts->sizes[parts->depthLoop()].known <= kLongestRow &&
         parts->sizes[parts->columnLoop()].known <= kLongestRow;
}
