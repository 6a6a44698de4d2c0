//===- FuseOps.cpp - Outline groups of kernel calls -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outlines each fusion group as a private function. Its parameters are what the
// group reads, then, where the types of these do not bind all shape variables
// that it uses, a shape of the others. Equal groups share a function.
//
//===----------------------------------------------------------------------===//

#include "FusionGroups.h"
#include "MergeKernels.h"
#include "RaiseKernels.h"

#include "Fusion.h"
#include "relax-mlir/Codegen/Kernels.h"
#include "relax-mlir/Fusion/Passes.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXFUSEOPSPASS
#include "relax-mlir/Fusion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// Turns groups into functions.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), symbols(module) {}

  void outline(const FusionGroup &group);
  /// Whether the kernel that a group becomes is attention.
  bool isAttention(const FusionGroup &group);

private:
  /// The values and shape variables that a function takes from outside its
  /// group.
  struct Inputs {
    llvm::SetVector<Value> values;
    SmallVector<PrimExprAttr> vars;
  };
  FuncOp build(const FusionGroup &group, Inputs &inputs);
  FuncOp shareOrInsert(FuncOp function, StringRef stem, Operation *user);

  ModuleOp module;
  SymbolTable symbols;
  std::vector<FuncOp> made;
};
} // namespace

/// Whether a constant is small enough to be part of a kernel.
static bool isScalarConstant(Value value) {
  auto constant = value.getDefiningOp<relax::ConstantOp>();
  return constant && isa<DenseElementsAttr>(constant.getValue()) &&
         constant.getValue().getShapedType().getRank() == 0;
}

/// Returns the values that the operations read from outside, in order of the
/// reads.
static llvm::SetVector<Value> collectInputs(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 16> members(ops.begin(), ops.end());
  llvm::SetVector<Value> inputs;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!members.contains(operand.getDefiningOp()) &&
          !operand.getDefiningOp<ShapeOp>() && !isScalarConstant(operand))
        inputs.insert(operand);
  return inputs;
}

/// The shape variables that operations use and the types of inputs do not bind.
static SmallVector<PrimExprAttr> collectOpenVars(ArrayRef<Operation *> ops,
                                                 ValueRange inputs) {
  llvm::StringSet<> bound, used;
  for (Value input : inputs)
    collectBindingVars(input.getType(), bound);
  for (Operation *op : ops) {
    for (Type type : op->getOperandTypes())
      collectNames(type, used);
    for (Type type : op->getResultTypes())
      collectNames(type, used);
  }
  SmallVector<StringRef> names;
  for (StringRef name : used.keys())
    if (!bound.contains(name))
      names.push_back(name);
  llvm::sort(names);
  return llvm::map_to_vector(names, [&](StringRef name) {
    return PrimExprAttr::getVar(ops.front()->getContext(), name);
  });
}

/// "fused_matmul_add_relu", with "etc" for what is too long.
static std::string makeName(ArrayRef<Operation *> ops) {
  constexpr size_t kLongest = 80;
  std::string name = "fused";
  for (Operation *op : ops) {
    auto call = dyn_cast<CallTIROp>(op);
    if (!call)
      continue;
    if (name.size() + call.getCallee().size() > kLongest)
      return name + "_etc";
    // Of two kernels "add" and "add1", both add.
    name += "_" + call.getCallee().rtrim("0123456789").str();
  }
  return name;
}

static bool areEquivalent(FuncOp lhs, FuncOp rhs) {
  return lhs.getFunctionType() == rhs.getFunctionType() &&
         OperationEquivalence::isRegionEquivalentTo(
             &lhs.getBody(), &rhs.getBody(),
             OperationEquivalence::IgnoreLocations);
}

/// Returns the function that equals `function`, which is erased then; else
/// `function`, inserted after the function that uses it.
FuncOp Outliner::shareOrInsert(FuncOp function, StringRef stem,
                               Operation *user) {
  for (FuncOp other : made)
    if (areEquivalent(function, other)) {
      function.erase();
      return other;
    }
  std::string name = stem.str();
  for (unsigned suffix = 1; symbols.lookup(name); ++suffix)
    name = (stem + Twine(suffix)).str();
  function.setSymName(name);
  auto around = user->getParentOfType<FuncOp>();
  symbols.insert(function, std::next(Block::iterator(around)));
  made.push_back(function);
  return function;
}

/// A function of the group that is in no module.
FuncOp Outliner::build(const FusionGroup &group, Inputs &inputs) {
  MLIRContext *context = module.getContext();
  CallTIROp last = group.last;
  SmallVector<Operation *> ops(group.ops);
  ops.push_back(last);
  inputs.values = collectInputs(ops);
  inputs.vars = collectOpenVars(ops, inputs.values.getArrayRef());

  SmallVector<Location> locs =
      llvm::map_to_vector(ops, [](Operation *op) { return op->getLoc(); });
  Location loc = FusedLoc::get(context, locs);
  SmallVector<Type> params =
      llvm::to_vector(ValueRange(inputs.values.getArrayRef()).getTypes());
  if (!inputs.vars.empty())
    params.push_back(
        ShapeStructInfoType::get(ShapeExprAttr::get(context, inputs.vars)));
  Type result = last.getResult().getType();
  OpBuilder detached(context);
  auto function = FuncOp::create(
      detached, loc, "fused", FunctionType::get(context, params, result), true);
  function.setPrivate();
  function->setAttr(kPrimitive, detached.getBoolAttr(true));

  SmallVector<Location> paramLocs =
      llvm::map_to_vector(inputs.values, [](Value v) { return v.getLoc(); });
  paramLocs.resize(params.size(), loc);
  Block *entry =
      detached.createBlock(&function.getBody(), {}, params, paramLocs);
  auto dataflow = DataflowOp::create(detached, loc, TypeRange(result));
  ReturnOp::create(detached, loc, dataflow.getResult(0));
  detached.createBlock(&dataflow.getBody());
  IRMapping mapping;
  for (auto [input, param] : llvm::zip(inputs.values, entry->getArguments()))
    mapping.map(input, param);
  for (Operation *op : ops) {
    if (op != last && op->use_empty())
      continue;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !mapping.contains(operand))
        detached.clone(*source, mapping);
    detached.clone(*op, mapping);
  }
  OutputOp::create(detached, loc, mapping.lookup(last.getResult()));

  return function;
}

bool Outliner::isAttention(const FusionGroup &group) {
  Inputs inputs;
  FuncOp function = build(group, inputs);
  func::FuncOp kernel = mergeKernels(function, symbols);
  bool result = kernel && isAttentionKernel(kernel);
  if (kernel)
    kernel.erase();
  function.erase();
  return result;
}

void Outliner::outline(const FusionGroup &group) {
  CallTIROp last = group.last;
  Location loc = last.getLoc();
  SmallVector<Operation *> ops(group.ops);
  ops.push_back(last);
  Inputs inputs;
  FuncOp function = build(group, inputs);
  function = shareOrInsert(function, makeName(ops), last);
  OpBuilder builder(last);
  SmallVector<Value> args(inputs.values.getArrayRef());
  if (!inputs.vars.empty()) {
    auto vars = ShapeExprAttr::get(builder.getContext(), inputs.vars);
    args.push_back(
        ShapeOp::create(builder, loc, ShapeStructInfoType::get(vars), vars));
  }
  auto call = relax::CallOp::create(
      builder, loc, last.getResult().getType(),
      FlatSymbolRefAttr::get(function),
      /*function=*/Value(), args, /*sinfo_args=*/ArrayAttr(),
      /*arg_attrs=*/ArrayAttr(), /*res_attrs=*/ArrayAttr());
  last.getResult().replaceAllUsesWith(call.getResult());
  SmallVector<Value> constants;
  for (Operation *op : llvm::reverse(ops)) {
    llvm::copy_if(op->getOperands(), std::back_inserter(constants),
                  isScalarConstant);
    op->erase();
  }
  llvm::SmallPtrSet<Operation *, 4> sources;
  for (Value constant : constants)
    sources.insert(constant.getDefiningOp());
  for (Operation *source : sources)
    if (source->use_empty())
      source->erase();
}

namespace {
struct RelaxFuseOpsPass : relax::impl::RelaxFuseOpsPassBase<RelaxFuseOpsPass> {
  using RelaxFuseOpsPassBase::RelaxFuseOpsPassBase;

  using Find = llvm::function_ref<FailureOr<SmallVector<FusionGroup>>(Block &)>;

  /// Makes functions of the groups that are found in dataflow blocks.
  LogicalResult outlineGroups(Outliner &outliner, Find find) {
    SmallVector<FusionGroup> groups;
    for (auto function : getOperation().getOps<relax::FuncOp>()) {
      if (isPrimitive(function))
        continue;
      WalkResult result = function.walk([&](DataflowOp dataflow) {
        auto found = find(dataflow.getBody().front());
        if (failed(found))
          return WalkResult::interrupt();
        llvm::append_range(groups, *found);
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return failure();
    }
    for (const FusionGroup &group : groups)
      outliner.outline(group);
    return success();
  }

  void runOnOperation() override {
    raiseKernels(getOperation());
    KernelFactsCache kernels(getOperation());
    Outliner outliner(getOperation());
    auto findAttention = [&](Block &block) {
      return findAttentionGroups(block, kernels, maxDepth,
                                 [&](const FusionGroup &group) {
                                   return outliner.isAttention(group);
                                 });
    };
    auto findAll = [&](Block &block) {
      return findFusionGroups(block, kernels, maxDepth);
    };
    if (failed(outlineGroups(outliner, findAttention)) ||
        failed(outlineGroups(outliner, findAll)))
      signalPassFailure();
  }
};
} // namespace
