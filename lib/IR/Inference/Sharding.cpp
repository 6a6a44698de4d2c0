//===- Sharding.cpp - Operators of distributed tensors ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table says by which rule the axis groups of an operator are found:
// elementwise and broadcast, reductions, products, moves of dimensions, and
// operators that need some axes as a whole. What shardings of operands make of
// the result follows from the groups, for all operators alike.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Sharding.h"

#include "relax-mlir/IR/PrimExprFacts.h"

#include "mlir/IR/Block.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::relax;

using Groups = SmallVector<AxisGroup>;

namespace {
/// How the axis groups of an operator are found.
struct AxisRule {
  Groups (*find)(const ShardableOp &op, StringRef argument);
  /// The reduction, or the name of the attribute, that the rule asks for.
  StringRef argument;
};
} // namespace

//===----------------------------------------------------------------------===//
// Attributes and types
//===----------------------------------------------------------------------===//

/// The axes that an attribute lists, as counted from the front; all axes where
/// there is no attribute. Their range is checked by the derivation.
static SmallVector<int64_t> axesOf(const ShardableOp &op, StringRef name,
                                   int64_t ndim) {
  SmallVector<int64_t> axes;
  Attribute attribute = op.attributes ? op.attributes.get(name) : Attribute();
  if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(attribute))
    llvm::append_range(axes, list.asArrayRef());
  else if (auto one = dyn_cast_or_null<IntegerAttr>(attribute))
    axes.push_back(one.getInt());
  else
    llvm::append_range(axes, llvm::seq<int64_t>(ndim));
  for (int64_t &axis : axes)
    axis = axis < 0 ? axis + ndim : axis;
  return axes;
}

static TensorStructInfoType tensorAt(TypeRange types, unsigned index) {
  return cast<TensorStructInfoType>(types[index]);
}

/// Operators have rules for tensors of known shape.
static LogicalResult requireShapes(OptionalLoc location,
                                   const ShardableOp &op) {
  for (TypeRange types : {op.operands, op.results})
    for (Type type : types)
      if (auto tensor = dyn_cast<TensorStructInfoType>(type);
          tensor && !tensor.hasShape())
        return inferError(location,
                          "expected distributed tensors of known "
                          "shape for ",
                          op.name, ", but got ", type,
                          "; insert relax.match_cast");
  return success();
}

/// A group for each axis of the result but `whole`, with the same axis of the
/// first operand.
static Groups sameAxes(const ShardableOp &op, ArrayRef<int64_t> whole = {}) {
  Groups groups;
  for (int64_t axis : llvm::seq(tensorAt(op.results, 0).getNdim()))
    if (!llvm::is_contained(whole, axis))
      groups.push_back({{{0, axis}}, {{0, axis}}});
  return groups;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static Groups axesOfElementwise(const ShardableOp &op, StringRef) {
  return sameAxes(op);
}

/// Aligned at the end; a dimension of 1 is repeated, which is no loop over it.
static void alignBroadcast(Groups &groups, ArrayRef<PrimExprAttr> result,
                           unsigned operand, ArrayRef<PrimExprAttr> dims) {
  size_t offset = result.size() - dims.size();
  for (auto [axis, dim] : llvm::enumerate(dims))
    if (dim.getConstant() != 1 || result[axis + offset].getConstant() == 1)
      groups[axis + offset].operands.push_back(
          {operand, static_cast<int64_t>(axis)});
}

static Groups axesOfBroadcast(const ShardableOp &op, StringRef) {
  ArrayRef<PrimExprAttr> dims = tensorAt(op.results, 0).getDims();
  Groups groups(dims.size());
  for (auto [axis, group] : llvm::enumerate(groups))
    group.results.push_back({0, static_cast<int64_t>(axis)});
  for (auto [index, type] : llvm::enumerate(op.operands))
    if (auto tensor = dyn_cast<TensorStructInfoType>(type))
      alignBroadcast(groups, dims, index, tensor.getDims());
  return groups;
}

/// Axes stay, but those that are reduced, along which parts are `reduction`s;
/// they are needed as a whole where it is empty.
static Groups axesOfReduction(const ShardableOp &op, StringRef reduction) {
  int64_t ndim = tensorAt(op.operands, 0).getNdim();
  SmallVector<int64_t> reduced = axesOf(op, "axis", ndim);
  bool keepdims = tensorAt(op.results, 0).getNdim() == ndim;
  Groups groups;
  int64_t next = 0;
  for (int64_t axis : llvm::seq(ndim)) {
    bool isReduced = llvm::is_contained(reduced, axis);
    if (!isReduced)
      groups.push_back({{{0, axis}}, {{0, next}}});
    else if (!reduction.empty())
      groups.push_back({{{0, axis}}, {}, reduction});
    next += !isReduced || keepdims;
  }
  return groups;
}

/// The axes of an attribute are needed as a whole.
static Groups axesBut(const ShardableOp &op, StringRef attribute) {
  int64_t ndim = tensorAt(op.operands, 0).getNdim();
  return sameAxes(op, axesOf(op, attribute, ndim));
}

static Groups axesOfMatmul(const ShardableOp &op, StringRef) {
  TensorStructInfoType lhs = tensorAt(op.operands, 0);
  TensorStructInfoType rhs = tensorAt(op.operands, 1);
  ArrayRef<PrimExprAttr> dims = tensorAt(op.results, 0).getDims();
  int64_t rows = lhs.getNdim() > 1, columns = rhs.getNdim() > 1;
  auto batch = static_cast<int64_t>(dims.size()) - rows - columns;
  Groups groups(batch);
  for (auto [axis, group] : llvm::enumerate(groups))
    group.results.push_back({0, static_cast<int64_t>(axis)});
  auto prefix = dims.take_front(batch);
  alignBroadcast(groups, prefix, 0,
                 lhs.getDims().drop_back(std::min<int64_t>(2, 1 + rows)));
  alignBroadcast(groups, prefix, 1,
                 rhs.getDims().drop_back(std::min<int64_t>(2, 1 + columns)));
  if (rows)
    groups.push_back({{{0, lhs.getNdim() - 2}}, {{0, batch}}});
  if (columns)
    groups.push_back({{{1, rhs.getNdim() - 1}}, {{0, batch + rows}}});
  groups.push_back(
      {{{0, lhs.getNdim() - 1}, {1, rhs.getNdim() - 1 - columns}}, {}, "sum"});
  return groups;
}

/// batch, query or key, head, features; a bias is batch, head, query, key.
static Groups axesOfAttention(const ShardableOp &op, StringRef) {
  Groups groups = {{{{0, 0}, {1, 0}, {2, 0}}, {{0, 0}}},
                   {{{0, 1}}, {{0, 1}}},
                   {{{0, 2}, {1, 2}, {2, 2}}, {{0, 2}}},
                   {{{2, 3}}, {{0, 3}}}};
  if (op.operands.size() < 4)
    return groups;
  ArrayRef<PrimExprAttr> bias = tensorAt(op.operands, 3).getDims();
  constexpr unsigned kGroups[] = {0, 2, 1};
  for (auto [axis, index] : llvm::enumerate(kGroups))
    if (bias[axis].getConstant() != 1)
      groups[index].operands.push_back({3, static_cast<int64_t>(axis)});
  return groups;
}

static Groups axesOfPermute(const ShardableOp &op, StringRef) {
  int64_t ndim = tensorAt(op.operands, 0).getNdim();
  SmallVector<int64_t> axes = axesOf(op, "axes", ndim);
  if (!op.attributes || !op.attributes.get("axes"))
    std::reverse(axes.begin(), axes.end());
  Groups groups;
  for (auto [to, from] : llvm::enumerate(axes))
    groups.push_back({{{0, from}}, {{0, static_cast<int64_t>(to)}}});
  return groups;
}

/// Links the outermost dimensions of two lists that have the same product: a
/// part of either is a part of the other.
static void linkBlock(Groups &groups, ArrayRef<PrimExprAttr> from,
                      int64_t firstFrom, ArrayRef<PrimExprAttr> to,
                      int64_t firstTo) {
  auto outermost = [](ArrayRef<PrimExprAttr> dims) {
    const auto *it = llvm::find_if(
        dims, [](PrimExprAttr dim) { return dim.getConstant() != 1; });
    return it == dims.end() ? -1 : it - dims.begin();
  };
  int64_t lhs = outermost(from), rhs = outermost(to);
  if (lhs != -1 && rhs != -1)
    groups.push_back({{{0, firstFrom + lhs}}, {{0, firstTo + rhs}}});
}

/// Dimensions that are taken together until both sides have the same product.
static Groups axesOfReshape(const ShardableOp &op, StringRef) {
  ArrayRef<PrimExprAttr> from = tensorAt(op.operands, 0).getDims();
  ArrayRef<PrimExprAttr> to = tensorAt(op.results, 0).getDims();
  MLIRContext *context = op.results[0].getContext();
  Groups groups;
  // What is equal at the end stays out of the blocks in front of it.
  size_t tail = 0;
  while (tail < std::min(from.size(), to.size()) &&
         proveEqual(from[from.size() - 1 - tail], to[to.size() - 1 - tail]) ==
             Ternary::Yes)
    ++tail;
  size_t fromEnd = from.size() - tail, toEnd = to.size() - tail;
  for (size_t i = 0, j = 0; i < fromEnd && j < toEnd;) {
    size_t firstFrom = i, firstTo = j;
    auto lhs = from.slice(i++, 1), rhs = to.slice(j++, 1);
    auto product = [&](ArrayRef<PrimExprAttr> dims) {
      return PrimExprAttr::getProduct(context, dims);
    };
    while (proveEqual(product(lhs), product(rhs)) != Ternary::Yes &&
           (i < fromEnd || j < toEnd)) {
      std::optional<int64_t> l = product(lhs).getConstant();
      std::optional<int64_t> r = product(rhs).getConstant();
      bool growLhs = i < fromEnd && (j == toEnd || !l || !r || *l < *r);
      bool growRhs = j < toEnd && (!growLhs || !l || !r);
      i += growLhs;
      j += growRhs;
      lhs = from.slice(firstFrom, i - firstFrom);
      rhs = to.slice(firstTo, j - firstTo);
    }
    linkBlock(groups, lhs, firstFrom, rhs, firstTo);
  }
  for (size_t k = 0; k < tail; ++k)
    groups.push_back({{{0, static_cast<int64_t>(fromEnd + k)}},
                      {{0, static_cast<int64_t>(toEnd + k)}}});
  return groups;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static llvm::StringMap<AxisRule> makeRules() {
  llvm::StringMap<AxisRule> rules;
  auto add = [&](AxisRule rule, std::initializer_list<StringRef> names) {
    for (StringRef name : names)
      rules[("relax." + name).str()] = rule;
  };
  add({axesOfElementwise, ""},
      {"abs",      "acos",      "acosh",     "allreduce", "asin",
       "asinh",    "astype",    "atan",      "atanh",     "bitwise_not",
       "ceil",     "clip",      "cos",       "cosh",      "erf",
       "exp",      "floor",     "gelu",      "gelu_tanh", "isfinite",
       "isinf",    "isnan",     "leakyrelu", "log",       "logical_not",
       "negative", "ones_like", "relu",      "round",     "rsqrt",
       "selu",     "sigmoid",   "sign",      "silu",      "sin",
       "sinh",     "softplus",  "sqrt",      "square",    "tan",
       "tanh",     "trunc",     "zeros_like"});
  add({axesOfBroadcast, ""},
      {"add",           "atan2",        "bitwise_and", "bitwise_or",
       "bitwise_xor",   "broadcast_to", "divide",      "equal",
       "ewise_fma",     "floor_divide", "floor_mod",   "greater",
       "greater_equal", "left_shift",   "less",        "less_equal",
       "log_add_exp",   "logical_and",  "logical_or",  "logical_xor",
       "maximum",       "minimum",      "mod",         "multiply",
       "not_equal",     "power",        "right_shift", "subtract",
       "where"});
  add({axesOfReduction, "sum"}, {"sum"});
  add({axesOfReduction, "prod"}, {"prod"});
  add({axesOfReduction, "min"}, {"min"});
  add({axesOfReduction, "max"}, {"max"});
  add({axesOfReduction, "avg"}, {"mean"});
  add({axesOfReduction, ""}, {"argmax", "argmin", "std", "variance"});
  add({axesBut, "axis"}, {"log_softmax", "softmax"});
  add({axesBut, "axes"}, {"layer_norm", "rms_norm"});
  add({axesOfMatmul, ""}, {"matmul"});
  add({axesOfAttention, ""}, {"attention"});
  add({axesOfPermute, ""}, {"permute_dims"});
  add({axesOfReshape, ""}, {"expand_dims", "flatten", "reshape", "squeeze"});
  return rules;
}

FailureOr<Groups> mlir::relax::getAxisGroups(OptionalLoc location,
                                             const ShardableOp &op) {
  static const llvm::StringMap<AxisRule> rules = makeRules();
  auto rule = rules.find(op.name);
  if (rule == rules.end())
    return inferError(location,
                      "expected an operator that has a rule for "
                      "distributed tensors, but got ",
                      op.name,
                      "; insert relax.redistribute to replicas and compute it "
                      "in a function of plain tensors");
  if (failed(requireShapes(location, op)))
    return failure();
  return rule->second.find(op, rule->second.argument);
}

DictionaryAttr mlir::relax::getOperatorAttributes(Operation *op) {
  return dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
}

FailureOr<Groups> mlir::relax::getAxisGroups(OptionalLoc location,
                                             Operation *op) {
  SmallVector<Type> operands =
      llvm::map_to_vector(op->getOperandTypes(), eraseShardings);
  SmallVector<Type> results =
      llvm::map_to_vector(op->getResultTypes(), eraseShardings);
  return getAxisGroups(location, {op->getName().getStringRef(), operands,
                                  results, getOperatorAttributes(op)});
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// "S[0]", or "R": how a mesh dimension cuts an operand.
static std::string describeCut(ShardingAttr sharding, unsigned dim) {
  int64_t axis = sharding ? sharding.getPlacement().getAxes()[dim]
                          : PlacementAttr::kReplica;
  return axis == PlacementAttr::kReplica ? "R"
                                         : "S[" + std::to_string(axis) + "]";
}

/// The group of an axis of an operand; null for one that has to be whole.
static const AxisGroup *findGroup(ArrayRef<AxisGroup> groups, TensorAxis axis) {
  for (const AxisGroup &group : groups)
    if (llvm::is_contained(group.operands, axis))
      return &group;
  return nullptr;
}

/// The group that a dimension of the mesh cuts; null where it cuts none.
static FailureOr<const AxisGroup *>
findCutGroup(OptionalLoc location, const ShardableOp &op,
             ArrayRef<ShardingAttr> operands, ArrayRef<AxisGroup> groups,
             unsigned dim) {
  const AxisGroup *cut = nullptr;
  for (auto [index, sharding] : llvm::enumerate(operands)) {
    int64_t axis = sharding ? sharding.getPlacement().getAxes()[dim]
                            : PlacementAttr::kReplica;
    if (axis == PlacementAttr::kReplica)
      continue;
    const AxisGroup *group =
        findGroup(groups, {static_cast<unsigned>(index), axis});
    if (!group)
      return inferError(
          location, "expected operand ", index, " of ", op.name,
          " to be whole along axis ", axis, ", but it is sharded as ",
          sharding.getPlacement().str(), "; insert relax.redistribute");
    if (cut && cut != group)
      return inferError(location, "expected dimension ", dim,
                        " of the mesh to cut the same axis of all operands of ",
                        op.name, ", but operand ", index, " is ",
                        describeCut(sharding, dim),
                        "; insert relax.redistribute");
    cut = group;
  }
  if (!cut)
    return cut;
  for (TensorAxis member : cut->operands)
    if (ShardingAttr sharding = operands[member.tensor];
        !sharding || sharding.getPlacement().getAxes()[dim] != member.axis)
      return inferError(
          location, "expected operand ", member.tensor, " of ", op.name,
          " to be sharded as S[", member.axis, "] along dimension ", dim,
          " of the mesh, as other operands are, but got ",
          describeCut(sharding, dim), "; insert relax.redistribute");
  return cut;
}

FailureOr<ShardedOp> mlir::relax::shardOperator(OptionalLoc location,
                                                const ShardableOp &op,
                                                ArrayRef<ShardingAttr> operands,
                                                ArrayRef<AxisGroup> groups) {
  ShardedOp sharded;
  for (ShardingAttr sharding : operands) {
    if (!sharding)
      continue;
    if (sharded.mesh && sharded.mesh != sharding.getMesh())
      return inferError(location,
                        "expected operands on the same mesh, but got ",
                        sharded.mesh, " and ", sharding.getMesh(),
                        "; insert relax.redistribute");
    sharded.mesh = sharding.getMesh();
  }
  size_t numDims = sharded.mesh.getShape().size();
  SmallVector<SmallVector<int64_t>> results(
      op.results.size(),
      SmallVector<int64_t>(numDims, PlacementAttr::kReplica));
  for (unsigned dim = 0; dim < numDims; ++dim) {
    FailureOr<const AxisGroup *> cut =
        findCutGroup(location, op, operands, groups, dim);
    if (failed(cut))
      return failure();
    sharded.reductions.push_back(*cut ? (*cut)->reduction : StringRef());
    if (*cut)
      for (TensorAxis member : (*cut)->results)
        results[member.tensor][dim] = member.axis;
  }
  MLIRContext *context = sharded.mesh.getContext();
  for (ArrayRef<int64_t> axes : results)
    sharded.results.push_back(ShardingAttr::get(
        context, sharded.mesh, PlacementAttr::get(context, axes)));
  return sharded;
}

FailureOr<ShardedOp> mlir::relax::shardOperator(Operation *op) {
  FailureOr<Groups> groups = getAxisGroups(op->getLoc(), op);
  if (failed(groups))
    return failure();
  SmallVector<Type> results =
      llvm::map_to_vector(op->getResultTypes(), eraseShardings);
  return shardOperator(op->getLoc(),
                       {op->getName().getStringRef(), op->getOperandTypes(),
                        results, getOperatorAttributes(op)},
                       llvm::map_to_vector(op->getOperandTypes(), getSharding),
                       *groups);
}

/// Along the first axis of the whole tensor, what the devices have is one after
/// the other.
static LogicalResult inferGatherParts(OptionalLoc location, Value x,
                                      DictionaryAttr attributes,
                                      InferredTypes &results) {
  TensorStructInfoType type = tensorType(x);
  ShardingAttr sharding = type.getSharding();
  ArrayRef<int64_t> extents = sharding.getMesh().getShape();
  auto count =
      attributes ? attributes.getAs<IntegerAttr>("num_workers") : IntegerAttr();
  if (extents.size() != 1 || sharding.getPlacement().getAxes()[0] != 0 ||
      !count || count.getInt() != extents[0])
    return inferError(location,
                      "expected x to be sharded as S[0] on a mesh of "
                      "num_workers devices, but got ",
                      Type(type));
  MLIRContext *context = x.getContext();
  results.push_back(type.withSharding(ShardingAttr::get(
      context, sharding.getMesh(),
      PlacementAttr::get(context,
                         ArrayRef<int64_t>(PlacementAttr::kReplica)))));
  return success();
}

LogicalResult mlir::relax::inferDistributed(
    MLIRContext *context, OptionalLoc location, StringRef name,
    ValueRange operands, DictionaryAttr attributes,
    function_ref<LogicalResult(ValueRange, InferredTypes &)> inferPlain,
    InferredTypes &results) {
  if (name == AllGatherOp::getOperationName() &&
      getSharding(operands[0].getType()))
    return inferGatherParts(location, operands[0], attributes, results);
  // Values of the same types without shardings.
  Block block;
  Location place = location.value_or(UnknownLoc::get(context));
  SmallVector<Value> plain;
  SmallVector<ShardingAttr> shardings;
  for (Value operand : operands) {
    Type type = operand.getType();
    shardings.push_back(getSharding(type));
    if (!shardings.back() && isDistributed(type))
      return inferError(location, "expected operands of ", name,
                        " to be tensors, but got ", type,
                        ", which has distributed ones");
    plain.push_back(shardings.back()
                        ? block.addArgument(eraseShardings(type), place)
                        : operand);
  }
  SmallVector<Type> types;
  if (failed(inferPlain(plain, types)))
    return failure();
  ShardableOp op = {name, ValueRange(plain).getTypes(), types, attributes};
  FailureOr<Groups> groups = getAxisGroups(location, op);
  if (failed(groups))
    return failure();
  FailureOr<ShardedOp> sharded =
      shardOperator(location, op, shardings, *groups);
  if (failed(sharded))
    return failure();
  for (auto [type, sharding] : llvm::zip(types, sharded->results))
    results.push_back(cast<TensorStructInfoType>(type).withSharding(sharding));
  return success();
}
