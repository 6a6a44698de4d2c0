//===- MergeKernels.cpp - One kernel of several calls -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Concatenates the bodies of kernels. The output of a producer that a consumer
// reads becomes a tensor inside of the kernel. Its dimensions are those of a
// parameter, where one has the same by the types of the function; the others
// are passed as integers.
//
// Each value of the function is traced to its origin: a parameter, a field of
// one, a constant, or an output of a call.
//
//===----------------------------------------------------------------------===//

#include "MergeKernels.h"

#include "Fusion.h"
#include "relax-mlir/Analysis/OpPattern.h"
#include "relax-mlir/Conversion/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::relax;

/// Appends the operations of a block; false where one is of another kind.
static bool appendStraightLine(Block &block,
                               SmallVectorImpl<Operation *> &ops) {
  for (Operation &op : block.without_terminator()) {
    if (auto dataflow = dyn_cast<DataflowOp>(op)) {
      if (!appendStraightLine(dataflow.getBody().front(), ops))
        return false;
      continue;
    }
    if (!isa<CallTIROp, GetItemOp, TupleOp, relax::ConstantOp, ShapeOp,
             PrimValueOp>(op))
      return false;
    ops.push_back(&op);
  }
  return true;
}

std::optional<SmallVector<Operation *>>
mlir::relax::getStraightLine(FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return std::nullopt;
  SmallVector<Operation *> ops;
  if (!appendStraightLine(function.getBody().front(), ops))
    return std::nullopt;
  return ops;
}

/// The value in a dataflow block that an output of the block is.
static Value lookIntoDataflow(Value value) {
  while (auto dataflow = value.getDefiningOp<DataflowOp>())
    value = dataflow.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
  return value;
}

namespace {
/// An output of a call.
struct Output {
  CallTIROp call;
  unsigned number;
};

class Merger {
public:
  Merger(FuncOp function, const SymbolTable &symbols)
      : function(function), symbols(symbols), builder(function.getContext()) {}

  func::FuncOp run();

private:
  bool collect();
  bool collectResults();
  Value resolve(Value value);
  std::optional<Output> findOutput(Value value);
  bool isInlined(CallTIROp call, unsigned arg);

  void createKernel();
  void addCall(CallTIROp call);
  Value getElements(Value arg, Type type);
  Value getDestination(CallTIROp call, unsigned number, Type type);
  Value convert(Value tensor, Type type);
  OpFoldResult getDim(PrimExprAttr dim);
  Value getInt(PrimExprAttr expr);
  Value addInt(PrimExprAttr expr);
  void rebuildFunction();

  FuncOp function;
  const SymbolTable &symbols;
  OpBuilder builder;
  SmallVector<CallTIROp> calls;
  llvm::DenseMap<Operation *, std::unique_ptr<KernelFacts>> facts;
  llvm::SetVector<Value> inputs; // what the kernel gets
  SmallVector<Output> results;   // what it makes
  bool returnsTuple = false;

  func::FuncOp kernel;
  llvm::MapVector<PrimExprAttr, Value> ints; // parameters
  llvm::DenseMap<PrimExprAttr, std::pair<Value, int64_t>> dims;
  llvm::DenseMap<Value, Value> elements; // of inputs
  llvm::DenseMap<std::pair<Operation *, unsigned>, Value> outputs;
};
} // namespace

//===----------------------------------------------------------------------===//
// Values in scope
//===----------------------------------------------------------------------===//

/// Returns the value itself, without going through blocks and tuples.
Value Merger::resolve(Value value) {
  while (true) {
    value = lookIntoDataflow(value);
    auto item = value.getDefiningOp<GetItemOp>();
    if (!item)
      return value;
    auto tuple =
        lookIntoDataflow(item.getTupleValue()).getDefiningOp<TupleOp>();
    if (!tuple)
      return value;
    value = tuple.getFields()[item.getIndex()];
  }
}

std::optional<Output> Merger::findOutput(Value value) {
  value = resolve(value);
  unsigned number = 0;
  if (auto item = value.getDefiningOp<GetItemOp>()) {
    number = item.getIndex();
    value = resolve(item.getTupleValue());
  } else if (isa<TupleStructInfoType>(value.getType())) {
    return std::nullopt;
  }
  if (auto call = value.getDefiningOp<CallTIROp>())
    return Output{call, number};
  return std::nullopt;
}

/// Whether an argument is a number that becomes part of the kernel. Loops have
/// to read it: what else does gets a tensor.
bool Merger::isInlined(CallTIROp call, unsigned arg) {
  Value value = resolve(call.getArgs()[arg]);
  if (auto prim = value.getDefiningOp<PrimValueOp>())
    return isa<IntegerAttr, FloatAttr>(prim.getValue());
  auto constant = value.getDefiningOp<relax::ConstantOp>();
  if (!constant || !isa<DenseElementsAttr>(constant.getValue()) ||
      constant.getValue().getShapedType().getRank() != 0)
    return false;
  Type type = constant.getValue().getElementType();
  if (!type.isF16() && !type.isBF16() && !type.isF32() && !type.isF64() &&
      !type.isInteger())
    return false;
  auto places = facts[call]->getReads(arg);
  return places && llvm::all_of(*places, [](KernelFacts::Read read) {
           return isa<linalg::GenericOp>(read.op.getOperation());
         });
}

bool Merger::collect() {
  std::optional<SmallVector<Operation *>> ops = getStraightLine(function);
  if (!ops)
    return false;
  for (Operation *op : *ops) {
    auto call = dyn_cast<CallTIROp>(op);
    if (!call)
      continue;
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    Value ints = call.getPackedInts();
    if (!callee || !call.isNormalized() ||
        (ints && !cast<ShapeStructInfoType>(ints.getType()).getValues()))
      return false;
    facts[call] = std::make_unique<KernelFacts>(callee);
    if (!facts[call]->isMergeable)
      return false;
    SmallVector<TensorStructInfoType> types = call.getOutputTypes();
    for (Type type : call.getArgs().getTypes())
      if (auto tensor = dyn_cast<TensorStructInfoType>(type))
        types.push_back(tensor);
    if (llvm::any_of(types, [](TensorStructInfoType type) {
          return !type.hasShape() || type.getShape().isTooLarge();
        }))
      return false;
    for (auto [index, arg] : llvm::enumerate(call.getArgs()))
      if (!findOutput(arg) && !isInlined(call, index))
        inputs.insert(resolve(arg));
    calls.push_back(call);
  }
  return calls.size() > 1 && collectResults();
}

bool Merger::collectResults() {
  Operation *ret = function.getBody().front().getTerminator();
  Value value = resolve(ret->getOperand(0));
  returnsTuple = isa<TupleStructInfoType>(value.getType());
  if (auto call = value.getDefiningOp<CallTIROp>()) {
    for (unsigned i = 0, end = call.getOutputTypes().size(); i < end; ++i)
      results.push_back({call, i});
    return true;
  }
  SmallVector<Value> fields = {value};
  if (auto tuple = value.getDefiningOp<TupleOp>())
    fields = llvm::to_vector(tuple.getFields());
  llvm::SmallSet<std::pair<Operation *, unsigned>, 4> seen;
  for (Value field : fields) {
    std::optional<Output> output = findOutput(field);
    // A tensor that is returned twice is one tensor.
    if (!output ||
        !seen.insert({output->call.getOperation(), output->number}).second)
      return false;
    results.push_back(*output);
  }
  return !results.empty();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// The type of a value in a kernel: constant dimensions are static.
static Type getKernelType(Type type) {
  if (auto prim = dyn_cast<PrimStructInfoType>(type))
    return getKernelElementType(prim.getDtype());
  auto tensor = cast<TensorStructInfoType>(type);
  SmallVector<int64_t> shape =
      llvm::map_to_vector(tensor.getDims(), [](PrimExprAttr dim) {
        return dim.getConstant().value_or(ShapedType::kDynamic);
      });
  return RankedTensorType::get(shape, getKernelElementType(tensor.getDtype()));
}

void Merger::createKernel() {
  SmallVector<Type> params, made;
  for (Value input : inputs)
    params.push_back(getKernelType(input.getType()));
  for (Output output : results)
    made.push_back(getKernelType(output.call.getOutputTypes()[output.number]));
  llvm::append_range(params, made);
  kernel = func::FuncOp::create(
      function.getLoc(), function.getSymName(),
      FunctionType::get(function.getContext(), params, made));
  kernel.setPrivate();
  Block *entry = kernel.addEntryBlock();
  builder.setInsertionPointToEnd(entry);

  auto addDims = [&](Value tensor, Type type) {
    auto info = dyn_cast<TensorStructInfoType>(type);
    if (!info)
      return;
    for (auto [axis, dim] : llvm::enumerate(info.getDims()))
      dims.try_emplace(dim, tensor, axis);
  };
  for (auto [input, param] : llvm::zip(inputs, entry->getArguments())) {
    elements[input] = param;
    addDims(param, input.getType());
  }
  for (auto [output, param] :
       llvm::zip(results, entry->getArguments().drop_front(inputs.size())))
    addDims(param, output.call.getOutputTypes()[output.number]);
}

/// Adds an integer after the inputs and the integers that are there.
Value Merger::addInt(PrimExprAttr expr) {
  Value &param = ints[expr];
  if (param)
    return param;
  unsigned index = inputs.size() + ints.size() - 1;
  (void)kernel.insertArgument(index, builder.getI64Type(), {}, kernel.getLoc());
  param = kernel.getArgument(index);
  return param;
}

OpFoldResult Merger::getDim(PrimExprAttr dim) {
  if (std::optional<int64_t> constant = dim.getConstant())
    return builder.getIndexAttr(*constant);
  Location loc = kernel.getLoc();
  if (auto it = dims.find(dim); it != dims.end())
    return tensor::getMixedSize(builder, loc, it->second.first,
                                it->second.second);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    addInt(dim))
      .getResult();
}

Value Merger::getInt(PrimExprAttr expr) {
  if (std::optional<int64_t> constant = expr.getConstant())
    return arith::ConstantOp::create(builder, kernel.getLoc(),
                                     builder.getI64IntegerAttr(*constant));
  return addInt(expr);
}

Value Merger::convert(Value tensor, Type type) {
  if (tensor.getType() == type)
    return tensor;
  return tensor::CastOp::create(builder, kernel.getLoc(), type, tensor);
}

/// Returns the elements that a kernel gets for an argument.
Value Merger::getElements(Value arg, Type type) {
  if (std::optional<Output> output = findOutput(arg))
    return convert(outputs.lookup({output->call, output->number}), type);
  Value value = resolve(arg);
  if (Value param = elements.lookup(value))
    return convert(param, type);
  if (auto prim = value.getDefiningOp<PrimValueOp>())
    return arith::ConstantOp::create(builder, prim.getLoc(), type,
                                     cast<TypedAttr>(prim.getValue()));
  auto constant = value.getDefiningOp<relax::ConstantOp>();
  auto data = cast<DenseElementsAttr>(constant.getValue());
  Type element = getKernelElementType(data.getElementType());
  if (element != data.getElementType())
    data = data.bitcast(element);
  return arith::ConstantOp::create(builder, constant.getLoc(), data);
}

/// Where a kernel writes an output.
Value Merger::getDestination(CallTIROp call, unsigned number, Type type) {
  for (auto [index, output] : llvm::enumerate(results))
    if (output.call == call && output.number == number)
      return convert(kernel.getArgument(inputs.size() + ints.size() + index),
                     type);
  TensorStructInfoType info = call.getOutputTypes()[number];
  SmallVector<OpFoldResult> sizes = llvm::map_to_vector(
      info.getDims(), [&](PrimExprAttr dim) { return getDim(dim); });
  Value empty = tensor::EmptyOp::create(builder, call.getLoc(), sizes,
                                        getKernelElementType(info.getDtype()));
  return convert(empty, type);
}

void Merger::addCall(CallTIROp call) {
  func::FuncOp callee = facts[call]->kernel;
  ArrayRef<Type> types = callee.getArgumentTypes();
  SmallVector<Value> args;
  for (Value arg : call.getArgs())
    args.push_back(getElements(arg, types[args.size()]));
  if (Value packed = call.getPackedInts())
    for (PrimExprAttr expr :
         cast<ShapeStructInfoType>(packed.getType()).getValues())
      args.push_back(getInt(expr));
  for (unsigned i = 0, end = callee.getNumResults(); i < end; ++i)
    args.push_back(getDestination(call, i, types[args.size()]));

  Block &body = callee.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), args);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    outputs[{call, index}] = mapping.lookupOrDefault(value);
}

/// Has the function call the kernel with what it got, and nothing else.
void Merger::rebuildFunction() {
  Block &old = function.getBody().front();
  MLIRContext *context = function.getContext();
  Location loc = function.getLoc();
  Type result = old.getTerminator()->getOperand(0).getType();
  SmallVector<Type> made = llvm::map_to_vector(results, [](Output output) {
    return Type(output.call.getOutputTypes()[output.number]);
  });
  Type actual =
      returnsTuple ? Type(TupleStructInfoType::get(context, made)) : made[0];

  auto *entry = new Block();
  IRMapping mapping;
  for (BlockArgument argument : old.getArguments())
    mapping.map(argument,
                entry->addArgument(argument.getType(), argument.getLoc()));
  function.getBody().push_back(entry);
  builder.setInsertionPointToEnd(entry);
  auto dataflow = DataflowOp::create(builder, loc, TypeRange(result));
  ReturnOp::create(builder, loc, dataflow.getResult(0));
  builder.createBlock(&dataflow.getBody());

  // Fields of parameters, and constants.
  std::function<Value(Value)> rebuild = [&](Value value) -> Value {
    value = resolve(value);
    if (mapping.contains(value))
      return mapping.lookup(value);
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      mapping.map(operand, rebuild(operand));
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  };
  SmallVector<Value> args = llvm::map_to_vector(inputs, rebuild);
  Value packed;
  if (!ints.empty()) {
    auto shape = ShapeExprAttr::get(
        context, llvm::to_vector(llvm::make_first_range(ints)));
    packed =
        ShapeOp::create(builder, loc, ShapeStructInfoType::get(shape), shape);
  }
  auto call = CallTIROp::create(builder, loc, actual,
                                FlatSymbolRefAttr::get(kernel), args, packed);
  OutputOp::create(builder, loc, ValueRange(call.getResult()));
  old.dropAllDefinedValueUses();
  old.erase();
}

func::FuncOp Merger::run() {
  if (!collect())
    return {};
  createKernel();
  for (CallTIROp call : calls)
    addCall(call);
  SmallVector<Value> returned;
  for (auto [output, type] : llvm::zip(results, kernel.getResultTypes()))
    returned.push_back(
        convert(outputs.lookup({output.call, output.number}), type));
  func::ReturnOp::create(builder, kernel.getLoc(), returned);
  fuseLoops(kernel);
  foldConversions(kernel);
  tidyKernel(kernel);
  rebuildFunction();
  return kernel;
}

func::FuncOp mlir::relax::mergeKernels(FuncOp function,
                                       const SymbolTable &symbols) {
  return Merger(function, symbols).run();
}
