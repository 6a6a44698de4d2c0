//===- PropagateSharding.cpp - Distributed programs -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph has a node for each axis of each tensor of a function, and one for
// its mesh. Edges are the axis groups of operators. What annotations say is
// carried along edges; where several of them arrive the way decides: what comes
// from operands alone is stronger than a way with turns, and that is stronger
// than what comes from users alone. Nothing is carried past a tensor that has
// an annotation of its own.
//
// Then the function is rewritten from its parameters on: each operator derives
// the sharding of its result. Where the graph has another one the result is
// redistributed.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Sharding.h"
#include "relax-mlir/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXPROPAGATESHARDINGPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

namespace {
/// An axis of a tensor, which is a value or a field of a tuple.
struct AxisNode {
  static constexpr int64_t kMesh = -1;
  Value value;
  unsigned field;
  int64_t axis;
  std::pair<Value, std::pair<unsigned, int64_t>> key() const {
    return {value, {field, axis}};
  }
};

/// A dimension of a mesh; none for the mesh alone.
struct AxisSpec {
  DeviceMeshAttr mesh;
  std::optional<unsigned> dim;
  bool operator==(const AxisSpec &other) const {
    return mesh == other.mesh && dim == other.dim;
  }
};

enum Direction : unsigned { kToProducer = 1, kSideways = 2, kToUser = 4 };

class AxisGraph {
public:
  /// An edge from a producer to its user, and back.
  void joinUser(const AxisNode &from, const AxisNode &to) {
    join(from, to, kToUser, kToProducer);
  }
  void joinSiblings(const AxisNode &lhs, const AxisNode &rhs) {
    join(lhs, rhs, kSideways, kSideways);
  }
  void addSource(const AxisNode &node, AxisSpec spec) {
    sources[number(node)] = spec;
  }
  /// Nothing is carried to a node, and past it.
  void addCut(const AxisNode &node) { cuts.insert(number(node)); }
  size_t countCuts() const { return cuts.size(); }

  LogicalResult propagate();
  /// What has arrived at a node by the strongest way.
  struct Arrival {
    AxisSpec spec;
    unsigned priority;
  };
  std::optional<Arrival> lookup(const AxisNode &node) const;

private:
  struct Edge {
    unsigned to;
    unsigned direction;
  };

  unsigned number(const AxisNode &node) {
    auto [it, isNew] = numbers.insert({node.key(), nodes.size()});
    if (isNew) {
      nodes.push_back(node);
      edges.emplace_back();
    }
    return it->second;
  }
  void join(const AxisNode &from, const AxisNode &to, unsigned there,
            unsigned back) {
    unsigned lhs = number(from), rhs = number(to);
    edges[lhs].push_back({rhs, there});
    edges[rhs].push_back({lhs, back});
  }
  static unsigned priorityOf(unsigned way);
  void spread(unsigned source, AxisSpec spec);

  DenseMap<std::pair<Value, std::pair<unsigned, int64_t>>, unsigned> numbers;
  SmallVector<AxisNode> nodes;
  SmallVector<SmallVector<Edge, 4>> edges;
  llvm::MapVector<unsigned, AxisSpec> sources;
  DenseSet<unsigned> cuts;
  DenseMap<unsigned, SmallVector<Arrival, 1>> arrivals;
};
} // namespace

unsigned AxisGraph::priorityOf(unsigned way) {
  switch (way) {
  case 0: // the annotation itself
    return 3;
  case kToUser:
    return 2;
  case kToProducer:
    return 0;
  default:
    return 1;
  }
}

/// Carries a spec to all that it reaches, in ways of the fewest edges.
void AxisGraph::spread(unsigned source, AxisSpec spec) {
  DenseSet<unsigned> seen;
  SmallVector<std::pair<unsigned, unsigned>> work = {{source, 0}};
  for (size_t next = 0; next < work.size(); ++next) {
    auto [node, way] = work[next];
    auto other = sources.find(node);
    if (cuts.contains(node) || !seen.insert(node).second ||
        (other != sources.end() && !(other->second == spec)))
      continue;
    unsigned priority = priorityOf(way);
    SmallVector<Arrival, 1> &here = arrivals[node];
    auto *known = llvm::find_if(
        here, [&](const Arrival &arrival) { return arrival.spec == spec; });
    if (known == here.end())
      here.push_back({spec, priority});
    else
      known->priority = std::max(known->priority, priority);
    for (Edge edge : edges[node])
      work.push_back({edge.to, way | edge.direction});
  }
}

/// Reports an axis that may be cut in two ways.
LogicalResult AxisGraph::propagate() {
  arrivals.clear();
  for (auto [source, spec] : sources)
    spread(source, spec);
  for (auto [number, node] : llvm::enumerate(nodes)) {
    SmallVector<Arrival, 1> &here = arrivals[number];
    if (here.size() < 2)
      continue;
    llvm::stable_sort(here, [](const Arrival &lhs, const Arrival &rhs) {
      return lhs.priority > rhs.priority;
    });
    if (here[0].priority != here[1].priority)
      continue;
    InFlightDiagnostic diag = mlir::emitError(node.value.getLoc());
    if (node.axis == AxisNode::kMesh)
      diag << "expected annotations that place a tensor on one mesh, but got "
           << here[0].spec.mesh << " and " << here[1].spec.mesh;
    else
      diag << "expected annotations that cut axis " << node.axis
           << " of a tensor along one dimension of a mesh, but got dimension "
           << *here[0].spec.dim << " of " << here[0].spec.mesh
           << " and dimension " << *here[1].spec.dim << " of "
           << here[1].spec.mesh;
    return diag << "; annotate the tensor itself", failure();
  }
  return success();
}

std::optional<AxisGraph::Arrival>
AxisGraph::lookup(const AxisNode &node) const {
  auto number = numbers.find(node.key());
  if (number == numbers.end())
    return std::nullopt;
  auto here = arrivals.find(number->second);
  if (here == arrivals.end() || here->second.empty())
    return std::nullopt;
  return here->second.front();
}

//===----------------------------------------------------------------------===//
// Tensors of values
//===----------------------------------------------------------------------===//

/// The tensor that is a value or a field of it; null for anything else.
static TensorStructInfoType leafType(Type type, unsigned field) {
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    return field < tuple.getFields().size()
               ? dyn_cast<TensorStructInfoType>(tuple.getFields()[field])
               : TensorStructInfoType();
  return field == 0 ? dyn_cast<TensorStructInfoType>(type)
                    : TensorStructInfoType();
}

static unsigned countLeaves(Type type) {
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  return tuple ? tuple.getFields().size() : 1;
}

/// `type`, with the shardings of `like`, a type of the same structure.
static Type withShardingsOf(Type type, Type like) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return tensor.withSharding(getSharding(like));
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  auto other = dyn_cast<TupleStructInfoType>(like);
  if (!tuple || !other || tuple.getFields().size() != other.getFields().size())
    return type;
  SmallVector<Type> fields;
  for (auto [field, from] : llvm::zip(tuple.getFields(), other.getFields()))
    fields.push_back(withShardingsOf(field, from));
  return TupleStructInfoType::get(type.getContext(), fields);
}

namespace {
class ShardingPropagator {
public:
  explicit ShardingPropagator(FuncOp func) : func(func) {}
  LogicalResult run();

private:
  LogicalResult build();
  LogicalResult visit(Operation *op);
  void joinOperator(Operation *op);
  void joinMeshes(Operation *op);
  void joinSame(Value from, unsigned fromField, Value to, unsigned toField);
  void joinSame(Value from, Value to);
  void addAnnotation(AnnotateShardingOp op);

  LogicalResult cutAxes();
  LogicalResult cutAxes(Value value);
  LogicalResult cutAxes(Value value, unsigned field);

  ShardingAttr wanted(Value value, unsigned field);
  Type wantedType(Value value);
  LogicalResult rewrite();
  LogicalResult rewrite(Operation *op);
  LogicalResult derive(Operation *op);
  void redistributeResults(Operation *op);
  void redistribute(OpBuilder &builder, OpResult result);

  FuncOp func;
  AxisGraph graph;
  SmallVector<AnnotateShardingOp> annotations;
};
} // namespace

//===----------------------------------------------------------------------===//
// Building the graph
//===----------------------------------------------------------------------===//

void ShardingPropagator::joinSame(Value from, unsigned fromField, Value to,
                                  unsigned toField) {
  TensorStructInfoType lhs = leafType(from.getType(), fromField);
  TensorStructInfoType rhs = leafType(to.getType(), toField);
  if (!lhs || !rhs)
    return;
  int64_t ndim = lhs.getNdim() == rhs.getNdim() ? lhs.getNdim() : 0;
  for (int64_t axis = AxisNode::kMesh; axis < ndim; ++axis)
    graph.joinUser({from, fromField, axis}, {to, toField, axis});
}

void ShardingPropagator::joinSame(Value from, Value to) {
  for (unsigned i = 0, e = countLeaves(from.getType()); i < e; ++i)
    joinSame(from, i, to, i);
}

void ShardingPropagator::joinMeshes(Operation *op) {
  for (Value operand : op->getOperands())
    for (Value result : op->getResults())
      for (unsigned i = 0, e = countLeaves(result.getType()); i < e; ++i)
        if (leafType(operand.getType(), 0) && leafType(result.getType(), i))
          graph.joinUser({operand, 0, AxisNode::kMesh},
                         {result, i, AxisNode::kMesh});
}

/// An operator that has no rule is an error where its operands turn out to be
/// distributed.
void ShardingPropagator::joinOperator(Operation *op) {
  FailureOr<SmallVector<AxisGroup>> groups =
      getAxisGroups(/*location=*/std::nullopt, op);
  if (failed(groups))
    return;
  auto node = [&](ValueRange values, TensorAxis axis) -> AxisNode {
    return {values[axis.tensor], 0, axis.axis};
  };
  for (const AxisGroup &group : *groups) {
    for (TensorAxis to : group.results)
      for (TensorAxis from : group.operands)
        graph.joinUser(node(op->getOperands(), from),
                       node(op->getResults(), to));
    if (group.results.empty())
      for (TensorAxis other : ArrayRef(group.operands).drop_front())
        graph.joinSiblings(node(op->getOperands(), group.operands.front()),
                           node(op->getOperands(), other));
  }
  joinMeshes(op);
}

void ShardingPropagator::addAnnotation(AnnotateShardingOp op) {
  annotations.push_back(op);
  joinSame(op.getInput(), op.getResult());
  DeviceMeshAttr mesh = op.getDeviceMesh();
  Value result = op.getResult();
  graph.addSource({result, 0, AxisNode::kMesh}, {mesh, std::nullopt});
  ArrayRef<int64_t> axes = op.getPlacement().getAxes();
  for (auto [dim, axis] : llvm::enumerate(axes))
    if (axis != PlacementAttr::kReplica)
      graph.addSource({result, 0, axis}, {mesh, unsigned(dim)});
  for (int64_t axis : llvm::seq(std::max<int64_t>(
           0, cast<TensorStructInfoType>(result.getType()).getNdim())))
    if (!llvm::is_contained(axes, axis))
      graph.addCut({result, 0, axis});
}

LogicalResult ShardingPropagator::visit(Operation *op) {
  if (auto annotation = dyn_cast<AnnotateShardingOp>(op))
    return addAnnotation(annotation), success();
  if (op->hasTrait<OpTrait::TensorOperator>()) {
    joinOperator(op);
  } else if (auto dataflow = dyn_cast<DataflowOp>(op)) {
    Operation *output = dataflow.getBody().front().getTerminator();
    for (auto [from, to] :
         llvm::zip(output->getOperands(), dataflow->getResults()))
      joinSame(from, to);
  } else if (auto tuple = dyn_cast<TupleOp>(op)) {
    for (auto [index, field] : llvm::enumerate(tuple.getFields()))
      joinSame(field, 0, tuple.getResult(), index);
  } else if (auto item = dyn_cast<GetItemOp>(op)) {
    joinSame(item.getTupleValue(), item.getIndex(), item.getResult(), 0);
  } else if (isa<EndCheckpointOp, NoGradOp, StartCheckpointOp, StopLiftParamsOp,
                 MatchCastOp>(op)) {
    joinSame(op->getOperand(0), op->getResult(0));
  } else if (op->getNumRegions()) {
    return op->emitOpError("is not supported by relax-propagate-sharding: "
                           "expected dataflow blocks, and no other operations "
                           "with regions, in a function with annotations");
  }
  return success();
}

LogicalResult ShardingPropagator::build() {
  WalkResult result =
      func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
        return failed(visit(op)) ? WalkResult::interrupt()
                                 : WalkResult::advance();
      });
  return success(!result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Axes that cannot be cut
//===----------------------------------------------------------------------===//

static InFlightDiagnostic reportTwoAxes(Value value, unsigned dim, int64_t axis,
                                        int64_t other) {
  return mlir::emitError(value.getLoc())
         << "expected annotations that cut one axis of a tensor along "
            "dimension "
         << dim << " of the mesh, but got axes " << axis << " and " << other
         << "; annotate the tensor itself";
}

/// Has axes of a tensor stay whole: one whose dimension is less than the number
/// of devices; and one of two that are to be cut along the same dimension of
/// the mesh, where the other one has a stronger reason.
LogicalResult ShardingPropagator::cutAxes(Value value, unsigned field) {
  TensorStructInfoType type = leafType(value.getType(), field);
  if (!type)
    return success();
  auto mesh = graph.lookup({value, field, AxisNode::kMesh});
  llvm::SmallDenseMap<unsigned, std::pair<int64_t, unsigned>> taken;
  for (int64_t axis = 0; axis < type.getNdim(); ++axis) {
    auto found = graph.lookup({value, field, axis});
    if (!found)
      continue;
    AxisSpec spec = found->spec;
    if (mesh && mesh->spec.mesh != spec.mesh)
      return mlir::emitError(value.getLoc())
             << "expected annotations that place a tensor on one mesh, but got "
             << mesh->spec.mesh << " and, for axis " << axis << ", "
             << spec.mesh << "; annotate the tensor itself";
    std::optional<int64_t> size =
        type.hasShape() ? type.getDims()[axis].getConstant() : std::nullopt;
    if (size && *size < spec.mesh.getShape()[*spec.dim]) {
      graph.addCut({value, field, axis});
      continue;
    }
    auto [other, isNew] = taken.insert({*spec.dim, {axis, found->priority}});
    if (isNew)
      continue;
    auto &[otherAxis, priority] = other->second;
    if (priority == found->priority)
      return reportTwoAxes(value, *spec.dim, otherAxis, axis);
    bool isStronger = found->priority > priority;
    graph.addCut({value, field, isStronger ? otherAxis : axis});
    if (isStronger)
      other->second = {axis, found->priority};
  }
  return success();
}

LogicalResult ShardingPropagator::cutAxes(Value value) {
  for (unsigned i = 0, e = countLeaves(value.getType()); i < e; ++i)
    if (failed(cutAxes(value, i)))
      return failure();
  return success();
}

LogicalResult ShardingPropagator::cutAxes() {
  for (Value argument : func.getArguments())
    if (failed(cutAxes(argument)))
      return failure();
  WalkResult result = func.getBody().walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(cutAxes(value)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return success(!result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// The sharding that the graph has for a tensor; null where it is on no mesh.
ShardingAttr ShardingPropagator::wanted(Value value, unsigned field) {
  TensorStructInfoType type = leafType(value.getType(), field);
  auto mesh = graph.lookup({value, field, AxisNode::kMesh});
  if (!type || !mesh)
    return {};
  DeviceMeshAttr attribute = mesh->spec.mesh;
  SmallVector<int64_t> axes(attribute.getShape().size(),
                            PlacementAttr::kReplica);
  for (int64_t axis = 0; axis < type.getNdim(); ++axis)
    if (auto found = graph.lookup({value, field, axis}))
      axes[*found->spec.dim] = axis;
  MLIRContext *context = type.getContext();
  return ShardingAttr::get(context, attribute,
                           PlacementAttr::get(context, axes));
}

Type ShardingPropagator::wantedType(Value value) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(value.getType()))
    return tensor.withSharding(wanted(value, 0));
  auto tuple = dyn_cast<TupleStructInfoType>(value.getType());
  if (!tuple)
    return value.getType();
  SmallVector<Type> fields;
  for (auto [index, field] : llvm::enumerate(tuple.getFields())) {
    auto tensor = dyn_cast<TensorStructInfoType>(field);
    fields.push_back(tensor ? tensor.withSharding(wanted(value, index))
                            : field);
  }
  return TupleStructInfoType::get(value.getContext(), fields);
}

/// Gives the results of an operation the shardings that follow from those of
/// its operands.
LogicalResult ShardingPropagator::derive(Operation *op) {
  if (!isDistributed(op->getOperandTypes()))
    return success();
  if (auto cast = dyn_cast<MatchCastOp>(op)) {
    Type type = withShardingsOf(op->getResult(0).getType(),
                                op->getOperand(0).getType());
    op->getResult(0).setType(type);
    return success();
  }
  auto rule = dyn_cast<InferTypeOpInterface>(op);
  if (!rule && op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (!rule)
    return op->emitOpError("has no rule for distributed tensors; insert "
                           "relax.dist.annotate_sharding so that its operands "
                           "are none, or compute it in another function");
  SmallVector<Type> types;
  if (failed(rule.inferReturnTypes(
          op->getContext(), op->getLoc(), op->getOperands(),
          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
          op->getRegions(), types)))
    return failure();
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    result.setType(withShardingsOf(result.getType(), type));
  return success();
}

void ShardingPropagator::redistribute(OpBuilder &builder, OpResult result) {
  ShardingAttr sharding = wanted(result, 0);
  ShardingAttr derived = getSharding(result.getType());
  bool isReplica = !derived && sharding && sharding.isReplicated();
  if (!sharding || sharding == derived || isReplica)
    return;
  Type type =
      cast<TensorStructInfoType>(result.getType()).withSharding(sharding);
  auto moved =
      RedistributeOp::create(builder, result.getLoc(), type, result,
                             sharding.getMesh(), sharding.getPlacement());
  result.replaceAllUsesExcept(moved.getResult(), moved);
}

/// Where the graph has another sharding than what is derived, the result is
/// redistributed. Fields of tuples are, where they are taken.
void ShardingPropagator::redistributeResults(Operation *op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getOpResults())
    if (isa<TensorStructInfoType>(result.getType()))
      redistribute(builder, result);
}

LogicalResult ShardingPropagator::rewrite(Operation *op) {
  if (auto dataflow = dyn_cast<DataflowOp>(op)) {
    for (Operation &inner :
         llvm::make_early_inc_range(dataflow.getBody().front().getOperations()))
      if (failed(rewrite(&inner)))
        return failure();
    Operation *output = dataflow.getBody().front().getTerminator();
    for (auto [from, to] :
         llvm::zip(output->getOperands(), dataflow->getResults()))
      to.setType(withShardingsOf(to.getType(), from.getType()));
    return success();
  }
  if (auto annotation = dyn_cast<AnnotateShardingOp>(op)) {
    Type type = annotation.getInput().getType();
    auto sharding =
        ShardingAttr::get(op->getContext(), annotation.getDeviceMesh(),
                          annotation.getPlacement());
    Value input = annotation.getInput();
    bool isReplica = !getSharding(type) && sharding.isReplicated();
    if (getSharding(type) != sharding && !isReplica) {
      OpBuilder builder(op);
      input = RedistributeOp::create(
                  builder, op->getLoc(),
                  cast<TensorStructInfoType>(type).withSharding(sharding),
                  input, sharding.getMesh(), sharding.getPlacement())
                  .getResult();
    }
    annotation.getResult().replaceAllUsesWith(input);
    annotation.erase();
    return success();
  }
  if (failed(derive(op)))
    return failure();
  redistributeResults(op);
  return success();
}

LogicalResult ShardingPropagator::rewrite() {
  SmallVector<Type> inputs;
  for (BlockArgument argument : func.getArguments()) {
    argument.setType(wantedType(argument));
    inputs.push_back(argument.getType());
  }
  Block &body = func.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body.getOperations()))
    if (failed(rewrite(&op)))
      return failure();
  Type declared = func.getFunctionType().getResult(0);
  Type returned = body.getTerminator()->getOperand(0).getType();
  func.setFunctionType(FunctionType::get(func.getContext(), inputs,
                                         withShardingsOf(declared, returned)));
  return success();
}

LogicalResult ShardingPropagator::run() {
  if (failed(build()))
    return failure();
  if (annotations.empty())
    return success();
  // Each round but the last one adds a node that nothing is carried to.
  size_t before;
  do {
    before = graph.countCuts();
    if (failed(graph.propagate()) || failed(cutAxes()))
      return failure();
  } while (graph.countCuts() != before);
  return rewrite();
}

namespace {
struct RelaxPropagateShardingPass
    : relax::impl::RelaxPropagateShardingPassBase<RelaxPropagateShardingPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<relax::FuncOp>()) {
      bool hasAnnotations = false;
      func.walk([&](AnnotateShardingOp) { hasAnnotations = true; });
      if (!hasAnnotations)
        continue;
      if (failed(ShardingPropagator(func).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
