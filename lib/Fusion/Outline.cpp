//===- Outline.cpp - Groups of bindings as functions ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes and numbers that a group reads are copied into its function, so that
// they are known there.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Fusion/Outline.h"

#include "relax-mlir/IR/StructInfo.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The interface of a group
//===----------------------------------------------------------------------===//

/// Whether a constant is small enough to be part of a kernel.
static bool isScalarConstant(Value value) {
  if (auto prim = value.getDefiningOp<PrimValueOp>())
    return isa<IntegerAttr, FloatAttr>(prim.getValue());
  auto constant = value.getDefiningOp<relax::ConstantOp>();
  return constant && isa<DenseElementsAttr>(constant.getValue()) &&
         constant.getValue().getShapedType().getRank() == 0;
}

using Members = llvm::SmallPtrSet<Operation *, 16>;

/// Returns the values that the operations read from outside, in order of the
/// reads.
static llvm::SetVector<Value> collectInputs(ArrayRef<Operation *> ops,
                                            const Members &members) {
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

/// The results that are used outside; that of the last binding where there is
/// none.
static SmallVector<Value> collectOutputs(ArrayRef<Operation *> ops,
                                         const Members &members) {
  SmallVector<Value> outputs;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !members.contains(user);
          }))
        outputs.push_back(result);
  if (outputs.empty())
    outputs.push_back(ops.back()->getResult(0));
  return outputs;
}

GroupOutliner::Interface GroupOutliner::describe(ArrayRef<Operation *> ops) {
  Members members(ops.begin(), ops.end());
  Interface interface;
  interface.inputs = collectInputs(ops, members);
  interface.vars = collectOpenVars(ops, interface.inputs.getArrayRef());
  interface.outputs = collectOutputs(ops, members);
  return interface;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// What an operation computes, as a part of a name; empty where it is nothing.
static StringRef getStem(Operation *op) {
  // Of two kernels "add" and "add1", both add.
  if (auto call = dyn_cast<CallTIROp>(op))
    return call.getCallee().rtrim("0123456789");
  if (isa<ConstantOp, GetItemOp, PrimValueOp, ShapeOp, TupleOp>(op))
    return {};
  return op->getName().stripDialect();
}

/// "fused_matmul_add_relu", with "etc" for what is too long.
static std::string makeName(ArrayRef<Operation *> ops) {
  constexpr size_t kLongest = 80;
  std::string name = "fused";
  for (Operation *op : ops) {
    StringRef stem = getStem(op);
    if (stem.empty())
      continue;
    if (name.size() + stem.size() > kLongest)
      return name + "_etc";
    name += "_" + stem.str();
  }
  llvm::replace(name, '.', '_'); // relax.nn.relu
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
FuncOp GroupOutliner::shareOrInsert(FuncOp function, StringRef stem,
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

/// One type, or a tuple of several.
static Type joinTypes(MLIRContext *context, TypeRange types) {
  if (types.size() == 1)
    return types.front();
  return TupleStructInfoType::get(context, llvm::to_vector(types));
}

FuncOp GroupOutliner::build(ArrayRef<Operation *> ops) {
  return build(ops, describe(ops));
}

FuncOp GroupOutliner::build(ArrayRef<Operation *> ops,
                            const Interface &interface) {
  MLIRContext *context = module.getContext();
  SmallVector<Location> locs =
      llvm::map_to_vector(ops, [](Operation *op) { return op->getLoc(); });
  Location loc = FusedLoc::get(context, locs);
  SmallVector<Type> params =
      llvm::to_vector(ValueRange(interface.inputs.getArrayRef()).getTypes());
  if (!interface.vars.empty())
    params.push_back(
        ShapeStructInfoType::get(ShapeExprAttr::get(context, interface.vars)));
  Type result = joinTypes(context, ValueRange(interface.outputs).getTypes());
  OpBuilder detached(context);
  auto function = FuncOp::create(
      detached, loc, "fused", FunctionType::get(context, params, result), true);
  function.setPrivate();
  function->setAttr(kPrimitive, detached.getBoolAttr(true));

  SmallVector<Location> paramLocs =
      llvm::map_to_vector(interface.inputs, [](Value v) { return v.getLoc(); });
  paramLocs.resize(params.size(), loc);
  Block *entry =
      detached.createBlock(&function.getBody(), {}, params, paramLocs);
  auto dataflow = DataflowOp::create(detached, loc, TypeRange(result));
  ReturnOp::create(detached, loc, dataflow.getResult(0));
  detached.createBlock(&dataflow.getBody());
  IRMapping mapping;
  for (auto [input, param] : llvm::zip(interface.inputs, entry->getArguments()))
    mapping.map(input, param);
  for (Operation *op : ops) {
    if (op->use_empty() && op != interface.outputs.back().getDefiningOp())
      continue;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && !mapping.contains(operand))
        detached.clone(*source, mapping);
    detached.clone(*op, mapping);
  }
  SmallVector<Value> returned = llvm::map_to_vector(
      interface.outputs, [&](Value value) { return mapping.lookup(value); });
  if (returned.size() != 1)
    returned = {TupleOp::create(detached, loc, result, returned)};
  OutputOp::create(detached, loc, returned);
  return function;
}

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

/// Erases the bindings, and the numbers that nobody else reads.
static void eraseGroup(ArrayRef<Operation *> ops, RewriterBase &rewriter) {
  llvm::SetVector<Operation *> sources;
  for (Operation *op : llvm::reverse(ops)) {
    for (Value operand : op->getOperands())
      if (isScalarConstant(operand) &&
          !llvm::is_contained(ops, operand.getDefiningOp()))
        sources.insert(operand.getDefiningOp());
    rewriter.eraseOp(op);
  }
  for (Operation *source : sources)
    if (source->use_empty())
      rewriter.eraseOp(source);
}

CallOp GroupOutliner::outline(ArrayRef<Operation *> ops,
                              RewriterBase &rewriter) {
  Operation *last = ops.back();
  Location loc = last->getLoc();
  Interface interface = describe(ops);
  FuncOp function = shareOrInsert(build(ops, interface), makeName(ops), last);
  rewriter.setInsertionPoint(last);
  SmallVector<Value> args(interface.inputs.getArrayRef());
  if (!interface.vars.empty()) {
    auto vars = ShapeExprAttr::get(rewriter.getContext(), interface.vars);
    args.push_back(
        ShapeOp::create(rewriter, loc, ShapeStructInfoType::get(vars), vars));
  }
  Type result = joinTypes(rewriter.getContext(),
                          ValueRange(interface.outputs).getTypes());
  auto call = relax::CallOp::create(
      rewriter, loc, result, FlatSymbolRefAttr::get(function),
      /*function=*/Value(), args, /*sinfo_args=*/ArrayAttr(),
      /*arg_attrs=*/ArrayAttr(), /*res_attrs=*/ArrayAttr());
  if (interface.outputs.size() == 1) {
    rewriter.replaceAllUsesWith(interface.outputs.front(), call.getResult());
  } else {
    for (auto [index, output] : llvm::enumerate(interface.outputs))
      rewriter.replaceAllUsesWith(
          output, GetItemOp::create(rewriter, loc, output.getType(),
                                    call.getResult(), index)
                      .getResult());
  }
  eraseGroup(ops, rewriter);
  return call;
}
