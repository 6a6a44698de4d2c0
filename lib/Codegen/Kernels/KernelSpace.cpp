//===- KernelSpace.cpp - The common iteration space of a kernel -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSpace.h"

#include "VectorBody.h"

#include "relax-mlir/Analysis/OpPattern.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

const Access::Term *Access::find(unsigned dim) const {
  const Term *found = nullptr;
  for (const Term &term : terms)
    if (term.dim == dim) {
      if (found)
        return nullptr;
      found = &term;
    }
  return found;
}

bool Access::uses(unsigned dim) const {
  return llvm::any_of(terms, [&](const Term &term) { return term.dim == dim; });
}

bool Access::isContiguous(unsigned dim) const {
  const Term *term = find(dim);
  if (!term || term->factor != 1)
    return false;
  return llvm::all_of(getType().getShape().drop_front(term->axis + 1),
                      [](int64_t size) { return size == 1; });
}

//===----------------------------------------------------------------------===//
// View
//===----------------------------------------------------------------------===//

namespace {
/// How the elements of a tensor lie in a parameter.
struct View {
  /// Nothing where it is no parameter, nor an expanded one, nor a slice without
  /// gaps from a known place on.
  static std::optional<View> find(Value tensor);

  /// A parameter that `tensor` is collapsed to, if it is.
  static std::optional<View> findCollapsed(RankedTensorType tensor,
                                           tensor::CollapseShapeOp collapse,
                                           BlockArgument param);

  BlockArgument param;
  RankedTensorType type;
  /// By axis of the parameter, the axes of the tensor that it is.
  SmallVector<ReassociationIndices, 4> axes;
  /// By axis of the parameter, where the tensor begins, and whether it may end
  /// before the parameter does.
  SmallVector<int64_t> offsets;
  SmallVector<bool> isPart;

private:
  static std::optional<View> make(BlockArgument param, RankedTensorType type,
                                  ArrayRef<ReassociationIndices> axes);
};
} // namespace

std::optional<View> View::make(BlockArgument param, RankedTensorType type,
                               ArrayRef<ReassociationIndices> axes) {
  // An index along a group is linear where all sizes but the first are known.
  for (const ReassociationIndices &group : axes)
    if (llvm::any_of(ArrayRef(group).drop_front(),
                     [&](int64_t axis) { return type.isDynamicDim(axis); }))
      return std::nullopt;
  return View{param, type, llvm::to_vector<4>(axes),
              SmallVector<int64_t>(axes.size(), 0),
              SmallVector<bool>(axes.size(), false)};
}

std::optional<View> View::find(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type)
    return std::nullopt;
  if (auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>()) {
    auto param = dyn_cast<BlockArgument>(expand.getSrc());
    return param ? make(param, type, expand.getReassociationIndices())
                 : std::nullopt;
  }
  auto slice = tensor.getDefiningOp<tensor::ExtractSliceOp>();
  auto param =
      slice ? findSlicedParameter(slice) : dyn_cast<BlockArgument>(tensor);
  if (!param)
    return std::nullopt;
  SmallVector<ReassociationIndices, 4> axes;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    axes.push_back({axis});
  std::optional<View> view = make(param, type, axes);
  if (!slice)
    return view;
  view->offsets.assign(slice.getStaticOffsets().begin(),
                       slice.getStaticOffsets().end());
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    view->isPart[axis] =
        type.isDynamicDim(axis) ||
        type.getDimSize(axis) != slice.getSourceType().getDimSize(axis);
  return view;
}

std::optional<View> View::findCollapsed(RankedTensorType tensor,
                                        tensor::CollapseShapeOp collapse,
                                        BlockArgument param) {
  return collapse ? make(param, tensor, collapse.getReassociationIndices())
                  : find(param);
}

//===----------------------------------------------------------------------===//
// SpaceBuilder
//===----------------------------------------------------------------------===//

namespace mlir::relax {
/// Finds the common space, or returns false where there is none.
class SpaceBuilder {
public:
  SpaceBuilder(KernelSpace &space) : space(space) {}
  bool build();

private:
  using Loop = std::pair<Operation *, unsigned>;

  bool collect();
  bool isSupported(Operation &op);
  bool isSupported(linalg::LinalgOp op);
  void findLiveOps();
  bool isUnit(Loop loop) { return sizes[loop.first][loop.second] == 1; }
  bool unite(Loop lhs, Loop rhs);
  bool uniteProducersAndConsumers();
  void uniteReaders();
  void numberDims();
  int dimOf(Loop loop) {
    return isUnit(loop) ? -1 : numbers.lookup(root(loop));
  }
  Loop root(Loop loop) { return classes.getOrInsertLeaderValue(loop); }
  bool addAccesses();
  std::optional<Access> makeAccess(linalg::LinalgOp op, AffineMap map,
                                   const View &view);
  bool addTerms(linalg::LinalgOp op, AffineExpr expr, int64_t factor,
                unsigned axis, Access &access);
  bool addOutputs();
  void findWholeAccesses();
  void addSizes(linalg::LinalgOp op, OpOperand &operand);
  bool findSizes();

  /// What is written to a parameter: the result, collapsed if it has more
  /// dimensions.
  struct Result {
    Value value;
    BlockArgument param;
    tensor::CollapseShapeOp collapse;
  };

  KernelSpace &space;
  SmallVector<Result> results;
  DenseMap<Operation *, SmallVector<int64_t, 4>> sizes;
  llvm::EquivalenceClasses<Loop> classes;
  DenseMap<Loop, int> numbers;
};
} // namespace mlir::relax

BlockArgument KernelSpace::findParameter(Value tensor) {
  std::optional<View> view = View::find(tensor);
  return view ? view->param : BlockArgument();
}

bool SpaceBuilder::isSupported(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics() || !isVectorizable(op) ||
      op.getNumParallelLoops() + op.getNumReductionLoops() != op.getNumLoops())
    return false;
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    Value value = operand.get();
    if (map.getNumSymbols() != 0)
      return false;
    bool isResult = value.getDefiningOp<linalg::LinalgOp>();
    if ((op.isDpsInit(&operand) || isResult) &&
        !map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
    // Text may call a loop a reduction that results are indexed by.
    if (op.isDpsInit(&operand) && llvm::any_of(reductions, [&](unsigned loop) {
          return map.isFunctionOfDim(loop);
        }))
      return false;
    if (value.getDefiningOp<tensor::EmptyOp>()) {
      if (KernelSpace::isRead(op, operand))
        return false;
    } else if (isa<TensorType>(value.getType()) && !isResult &&
               !KernelSpace::findParameter(value)) {
      return false;
    }
  }
  return true;
}

bool SpaceBuilder::isSupported(Operation &op) {
  if (isa<tensor::EmptyOp, func::ReturnOp>(op))
    return true;
  // Those that are no views of parameters, or no outputs, are refused where
  // they are used.
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::ExtractSliceOp>(op))
    return true;
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return dim.getConstantIndex().has_value();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return isSupported(linalgOp);
  if (auto put = dyn_cast<bufferization::MaterializeInDestinationOp>(op)) {
    Value source = put.getSource();
    auto collapse = source.getDefiningOp<tensor::CollapseShapeOp>();
    if (collapse)
      source = collapse.getSrc();
    auto param = dyn_cast<BlockArgument>(put.getDest());
    if (!param || !source.getDefiningOp<linalg::LinalgOp>() ||
        llvm::any_of(results,
                     [&](const Result &other) { return other.param == param; }))
      return false;
    results.push_back({source, param, collapse});
    return true;
  }
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         llvm::all_of(op.getOperandTypes(), isScalar) &&
         llvm::all_of(op.getResultTypes(), isScalar);
}

bool SpaceBuilder::collect() {
  for (Operation &op : space.kernel.getBody().front())
    if (!isSupported(op))
      return false;
  return !results.empty();
}

void SpaceBuilder::findLiveOps() {
  llvm::SmallPtrSet<Operation *, 16> live;
  SmallVector<Value> worklist;
  for (const Result &result : results)
    worklist.push_back(result.value);
  while (!worklist.empty()) {
    auto op = worklist.pop_back_val().getDefiningOp<linalg::LinalgOp>();
    if (!op || !live.insert(op).second)
      continue;
    for (OpOperand &operand : op->getOpOperands())
      if (KernelSpace::isRead(op, operand))
        worklist.push_back(operand.get());
  }
  for (auto op : space.kernel.getBody().front().getOps<linalg::LinalgOp>())
    if (live.contains(op)) {
      space.ops.push_back(op);
      sizes[op] = op.getStaticLoopRanges();
    }
}

/// Makes two loops one dimension, unless one operation would have two loops
/// over it.
bool SpaceBuilder::unite(Loop lhs, Loop rhs) {
  if (isUnit(lhs) || isUnit(rhs))
    return true;
  classes.insert(lhs);
  classes.insert(rhs);
  if (classes.isEquivalent(lhs, rhs))
    return true;
  for (auto it = classes.findLeader(lhs); it != classes.member_end(); ++it)
    for (auto other = classes.findLeader(rhs); other != classes.member_end();
         ++other)
      if (it->first == other->first)
        return false;
  classes.unionSets(lhs, rhs);
  return true;
}

/// The loop of a result of a map.
static std::optional<unsigned> getLoop(AffineMap map, unsigned result) {
  if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(result)))
    return dim.getPosition();
  return std::nullopt;
}

bool SpaceBuilder::uniteProducersAndConsumers() {
  for (linalg::LinalgOp op : space.ops)
    for (OpOperand &operand : op->getOpOperands()) {
      auto producer = operand.get().getDefiningOp<linalg::LinalgOp>();
      if (!producer || !KernelSpace::isRead(op, operand))
        continue;
      AffineMap written =
          producer.getIndexingMapMatchingResult(cast<OpResult>(operand.get()));
      AffineMap read = op.getMatchingIndexingMap(&operand);
      auto shape = cast<RankedTensorType>(operand.get().getType()).getShape();
      for (unsigned i = 0; i < read.getNumResults(); ++i) {
        std::optional<unsigned> from = getLoop(written, i);
        std::optional<unsigned> to = getLoop(read, i);
        if (from && to && !unite({producer, *from}, {op, *to}))
          return false;
        // Only a part of what the producer computes is read.
        if (from && !to && shape[i] != 1)
          return false;
      }
    }
  return true;
}

/// Loops over the same axis of a parameter are as long.
void SpaceBuilder::uniteReaders() {
  DenseMap<std::pair<Value, unsigned>, SmallVector<Loop>> readers;
  for (linalg::LinalgOp op : space.ops)
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (!isa<TensorType>(value.getType()) ||
          !KernelSpace::findParameter(value))
        continue;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (unsigned axis = 0; axis < map.getNumResults(); ++axis)
        if (std::optional<unsigned> loop = getLoop(map, axis)) {
          auto &others = readers[{value, axis}];
          for (Loop other : others)
            if (unite(other, {op, *loop}))
              break;
          others.push_back({op, *loop});
        }
    }
}

/// Dimensions are in the order of the outputs, then of what is read.
void SpaceBuilder::numberDims() {
  SmallVector<std::pair<linalg::LinalgOp, AffineMap>> maps;
  for (const Result &result : results) {
    auto op = result.value.getDefiningOp<linalg::LinalgOp>();
    maps.emplace_back(
        op, op.getIndexingMapMatchingResult(cast<OpResult>(result.value)));
  }
  for (linalg::LinalgOp op : space.ops) {
    for (OpOperand &operand : op->getOpOperands())
      maps.emplace_back(op, op.getMatchingIndexingMap(&operand));
    maps.emplace_back(op, AffineMap::getMultiDimIdentityMap(op.getNumLoops(),
                                                            op.getContext()));
  }
  for (auto &[op, map] : maps)
    for (unsigned i = 0; i < map.getNumResults(); ++i) {
      std::optional<unsigned> loop = getLoop(map, i);
      if (!loop || isUnit({op, *loop}))
        continue;
      if (numbers.try_emplace(root({op, *loop}), space.dims.size()).second)
        space.dims.emplace_back().factors.emplace_back();
    }
  for (linalg::LinalgOp op : space.ops) {
    KernelSpace::OpInfo info;
    info.dims.resize(space.dims.size());
    info.reduced.resize(space.dims.size());
    for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
      int dim = dimOf({op, loop});
      info.loops.push_back(dim);
      if (dim < 0)
        continue;
      info.dims.set(dim);
      if (iterator == utils::IteratorType::reduction)
        info.reduced.set(dim);
    }
    space.opInfo[op] = std::move(info);
  }
}

bool SpaceBuilder::addTerms(linalg::LinalgOp op, AffineExpr expr,
                            int64_t factor, unsigned axis, Access &access) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    access.offsets[axis] += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int number = dimOf({op, dim.getPosition()});
    if (number >= 0)
      access.terms.push_back({static_cast<unsigned>(number), axis, factor});
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(op, binary.getLHS(), factor, axis, access) &&
           addTerms(op, binary.getRHS(), factor, axis, access);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Mul && constant &&
         addTerms(op, binary.getLHS(), factor * constant.getValue(), axis,
                  access);
}

std::optional<Access>
SpaceBuilder::makeAccess(linalg::LinalgOp op, AffineMap map, const View &view) {
  Access access;
  access.param = view.param;
  access.offsets = view.offsets;
  for (auto [axis, group] : llvm::enumerate(view.axes)) {
    int64_t factor = 1;
    bool isPart = view.isPart[axis];
    for (int64_t part : llvm::reverse(group)) {
      AffineExpr expr = map.getResult(part);
      if (!addTerms(op, expr, factor, axis, access))
        return std::nullopt;
      isPart |= !isa<AffineDimExpr>(expr);
      // Only the size of the first one may be unknown.
      factor *= view.type.getDimSize(part);
    }
    if (isPart)
      access.partial.push_back(axis);
  }
  return access;
}

bool SpaceBuilder::addAccesses() {
  for (linalg::LinalgOp op : space.ops)
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<View> view = View::find(operand.get());
      if (!view || !KernelSpace::isRead(op, operand))
        continue;
      std::optional<Access> access =
          makeAccess(op, op.getMatchingIndexingMap(&operand), *view);
      if (!access)
        return false;
      space.accesses[&operand] = *access;
    }
  return true;
}

bool SpaceBuilder::addOutputs() {
  for (auto [value, param, collapse] : results) {
    auto op = value.getDefiningOp<linalg::LinalgOp>();
    AffineMap map = op.getIndexingMapMatchingResult(cast<OpResult>(value));
    auto view = View::findCollapsed(cast<RankedTensorType>(value.getType()),
                                    collapse, param);
    std::optional<Access> place =
        view ? makeAccess(op, map, *view) : std::nullopt;
    if (!place)
      return false;
    space.outputs.push_back({value, *place, space.getDims(*place)});
  }
  return true;
}

/// The dimensions in the order of memory, where an access goes through all of
/// its parameter by one dimension for each axis.
static std::optional<SmallVector<unsigned>> getOrder(const Access &access) {
  SmallVector<unsigned> order;
  ArrayRef<int64_t> shape = access.getType().getShape();
  for (unsigned axis = 0; axis < shape.size(); ++axis) {
    size_t before = order.size();
    for (const Access::Term &term : access.terms)
      if (term.axis == axis && term.factor == 1)
        order.push_back(term.dim);
    size_t found = order.size() - before;
    if (found > 1 || (found == 0 && shape[axis] != 1) ||
        (found == 1 && llvm::is_contained(access.partial, axis)) ||
        access.offsets[axis] != 0)
      return std::nullopt;
  }
  if (order.size() != access.terms.size())
    return std::nullopt;
  return order;
}

void SpaceBuilder::findWholeAccesses() {
  auto order = getOrder(space.outputs.front().place);
  auto check = [&](Access &access) {
    access.isWhole = order && getOrder(access) == order;
  };
  for (auto &[operand, access] : space.accesses)
    check(access);
  for (KernelSpace::Output &output : space.outputs)
    check(output.place);
}

/// Takes the sizes of dimensions from an operand, read or not.
void SpaceBuilder::addSizes(linalg::LinalgOp op, OpOperand &operand) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return;
  std::optional<View> view = View::find(operand.get());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (unsigned axis = 0; axis < map.getNumResults(); ++axis) {
    std::optional<unsigned> loop = getLoop(map, axis);
    int dim = loop ? dimOf({op, *loop}) : -1;
    if (dim < 0)
      continue;
    KernelSpace::Factor &size = space.dims[dim].factors.front();
    if (!type.isDynamicDim(axis))
      size.size = type.getDimSize(axis);
    if (!view)
      continue;
    for (auto [own, group] : llvm::enumerate(view->axes))
      if (ArrayRef(group) == ArrayRef(int64_t(axis)) && !view->isPart[own]) {
        size.param = view->param;
        size.axis = own;
      }
  }
}

bool SpaceBuilder::findSizes() {
  for (linalg::LinalgOp op : space.ops)
    for (OpOperand &operand : op->getOpOperands())
      addSizes(op, operand);
  for (const KernelSpace::Output &output : space.outputs)
    for (const Access::Term &term : output.place.terms) {
      KernelSpace::Factor &size = space.dims[term.dim].factors.front();
      if (llvm::count_if(output.place.terms, [&](const Access::Term &other) {
            return other.axis == term.axis;
          }) != 1)
        continue;
      size.param = output.place.param;
      size.axis = term.axis;
    }
  return llvm::all_of(space.dims, [](const KernelSpace::Dim &dim) {
    return dim.factors.front().isKnown() || dim.factors.front().param;
  });
}

bool SpaceBuilder::build() {
  if (!collect())
    return false;
  findLiveOps();
  if (!uniteProducersAndConsumers())
    return false;
  uniteReaders();
  numberDims();
  if (!addAccesses() || !addOutputs() || !findSizes())
    return false;
  findWholeAccesses();
  return true;
}

//===----------------------------------------------------------------------===//
// KernelSpace
//===----------------------------------------------------------------------===//

std::unique_ptr<KernelSpace> KernelSpace::analyze(func::FuncOp kernel) {
  auto space = std::make_unique<KernelSpace>();
  space->kernel = kernel;
  if (!SpaceBuilder(*space).build())
    return nullptr;
  return space;
}

int64_t KernelSpace::Dim::getSize() const {
  int64_t product = 1;
  for (const Factor &factor : factors) {
    if (!factor.isKnown())
      return ShapedType::kDynamic;
    product *= factor.size;
  }
  return product;
}

std::optional<unsigned> KernelSpace::getLoopDim(Operation *op,
                                                unsigned loop) const {
  int dim = opInfo.find(op)->second.loops[loop];
  return dim < 0 ? std::nullopt : std::optional<unsigned>(dim);
}

DimSet KernelSpace::getDims(const Access &access) const {
  DimSet set(dims.size());
  for (const Access::Term &term : access.terms)
    set.set(term.dim);
  return set;
}

bool KernelSpace::isRead(linalg::LinalgOp op, OpOperand &operand) {
  return op.payloadUsesValueFromOperand(&operand);
}

bool KernelSpace::isMergeable(const Access &access, unsigned outer,
                              unsigned inner) const {
  if (!access.uses(outer) && !access.uses(inner))
    return true;
  const Access::Term *from = access.find(outer), *to = access.find(inner);
  if (!from || !to)
    return false;
  if (from->axis == to->axis)
    return !ShapedType::isDynamic(dims[inner].getSize()) &&
           from->factor == to->factor * dims[inner].getSize();
  // The inner axis is gone through from its begin to its end, and then comes
  // the next index of the outer one.
  ArrayRef<int64_t> shape = access.getType().getShape();
  if (from->axis > to->axis || from->factor != 1 || to->factor != 1 ||
      access.offsets[to->axis] != 0 ||
      llvm::is_contained(access.partial, to->axis) ||
      llvm::count_if(access.terms, [&](const Access::Term &term) {
        return term.axis == to->axis;
      }) != 1)
    return false;
  for (unsigned axis = from->axis + 1; axis < to->axis; ++axis)
    if (shape[axis] != 1)
      return false;
  return true;
}

bool KernelSpace::isMergeable(unsigned outer, unsigned inner) const {
  for (auto &[op, info] : opInfo) {
    if (info.dims[outer] != info.dims[inner] ||
        info.reduced[outer] != info.reduced[inner])
      return false;
    // Bodies that ask for the index of a loop need it.
    if (info.dims[outer] &&
        llvm::any_of(op->getRegion(0).getOps<linalg::IndexOp>(),
                     [&](linalg::IndexOp index) {
                       int dim = info.loops[index.getDim()];
                       return dim == static_cast<int>(outer) ||
                              dim == static_cast<int>(inner);
                     }))
      return false;
  }
  auto check = [&](const Access &access) {
    return isMergeable(access, outer, inner);
  };
  return llvm::all_of(llvm::make_second_range(accesses), check) &&
         llvm::all_of(outputs, [&](const Output &output) {
           return check(output.place);
         });
}

void KernelSpace::merge(unsigned outer, unsigned inner) {
  llvm::append_range(dims[inner].factors, dims[outer].factors);
  auto drop = [&](Access &access) {
    const Access::Term *from = access.find(outer), *to = access.find(inner);
    if (from && to && from->axis != to->axis &&
        llvm::count_if(access.terms, [&](const Access::Term &term) {
          return term.axis == from->axis;
        }) != 1)
      access.partial.append({from->axis, to->axis});
    llvm::erase_if(access.terms,
                   [&](const Access::Term &term) { return term.dim == outer; });
  };
  for (auto &[operand, access] : accesses)
    drop(access);
  for (Output &output : outputs) {
    drop(output.place);
    output.dims.reset(outer);
  }
  for (auto &[op, info] : opInfo) {
    info.dims.reset(outer);
    info.reduced.reset(outer);
  }
}

void KernelSpace::mergeDims(
    llvm::function_ref<bool(unsigned, unsigned)> mayMerge) {
  DimSet merged(dims.size());
  for (unsigned inner = 0; inner < dims.size(); ++inner)
    for (unsigned outer = 0; outer < dims.size(); ++outer) {
      if (outer == inner || merged[outer] || merged[inner] ||
          !mayMerge(outer, inner) || !isMergeable(outer, inner))
        continue;
      merge(outer, inner);
      merged.set(outer);
      // Dimensions that were tried before may merge with the new one now.
      outer = -1;
    }
}
