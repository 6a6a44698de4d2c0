//===- LegalizeOps.cpp - Lowering of operators to call_tir -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces each operator by a check of what its kernel relies on, where that is
// not proven, and `relax.call_tir` of the kernel, or a call of the runtime
// where no kernel can compute it. The result is of the derived type, which may
// say more than the declared one: operators after it see that type, all else
// the declared one.
//
// Kernels are found again by a key: operators with the same name, properties
// and parameters share one, where all of them run on the host or none does.
//
//===----------------------------------------------------------------------===//

#include "Float8.h"
#include "Int4.h"
#include "KernelDims.h"
#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/Passes.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/RuntimeSteps.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/Sharding.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLEGALIZEOPSPASS
#include "relax-mlir/Conversion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The tensors and scalars that a kernel takes, further integers, and the
/// tensors that it writes.
struct Signature {
  SmallVector<Type> inputs;
  SmallVector<PrimExprAttr> ints;
  SmallVector<TensorStructInfoType> outputs;
  bool isOnDevice = false;

  /// The integers that are not constant, which are parameters.
  SmallVector<PrimExprAttr> getIntParams() const {
    return llvm::filter_to_vector(
        ints, [](PrimExprAttr expr) { return !expr.getConstant(); });
  }
};

/// Lowers the operators of a module.
class Legalizer {
public:
  Legalizer(ModuleOp module, const LegalizationTable &table)
      : module(module), symbols(module), table(table) {}

  LogicalResult legalize(Operation *op, const LegalizationTable::Entry &entry);
  /// Replaces an operator that returns its operand.
  void drop(Operation *op);

private:
  FailureOr<Value> call(OpBuilder &builder, Operation *op, Type result,
                        const LegalizationTable::Entry &entry);
  FailureOr<func::FuncOp> getKernel(Operation *op, const Signature &signature,
                                    const KernelBody &body);
  FailureOr<func::FuncOp> buildKernel(Operation *op, const Signature &signature,
                                      const KernelBody &body);
  std::string getUniqueName(StringRef stem);
  void replaceResult(OpBuilder &builder, Operation *op, Value result);

  ModuleOp module;
  SymbolTable symbols;
  const LegalizationTable &table;
  /// By operator name, properties, and lists of parameters.
  DenseMap<Attribute, func::FuncOp> kernels;
  /// The number to try next for a name.
  llvm::StringMap<unsigned> suffixes;
};
} // namespace

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// The tensor that a kernel takes or writes for one of the program.
static TensorStructInfoType kernelTensor(TensorStructInfoType tensor) {
  return isInt4(tensor.getDtype()) ? getInt4Memory(tensor) : tensor;
}

/// The type of a tensor in a kernel: constant dimensions are static.
static RankedTensorType kernelType(TensorStructInfoType type) {
  TensorStructInfoType tensor = kernelTensor(type);
  SmallVector<int64_t> shape =
      llvm::map_to_vector(tensor.getDims(), [](PrimExprAttr dim) {
        return dim.getConstant().value_or(ShapedType::kDynamic);
      });
  return RankedTensorType::get(shape, getKernelElementType(tensor.getDtype()));
}

static Type dtypeOf(Type input) {
  if (auto prim = dyn_cast<PrimStructInfoType>(input))
    return prim.getDtype();
  return cast<TensorStructInfoType>(input).getDtype();
}

/// The type of a parameter of a kernel.
static Type paramType(Type input) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(input))
    return kernelType(tensor);
  return getKernelElementType(dtypeOf(input));
}

static LogicalResult collectInputs(Operation *op, Signature &signature) {
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    if (isa<PrimStructInfoType>(operand.getType()))
      signature.inputs.push_back(operand.getType());
    auto tensor = dyn_cast<TensorStructInfoType>(operand.getType());
    if (!tensor)
      continue;
    if (!tensor.hasShape() || !tensor.getDtype())
      return op->emitOpError()
             << "cannot be lowered: operand " << index << " is " << tensor
             << ", but its shape and data type must be known; insert "
                "relax.match_cast";
    signature.inputs.push_back(tensor);
  }
  return success();
}

/// The type that follows from the operands (DR11).
static FailureOr<Type> deriveResult(Operation *op) {
  SmallVector<Type> types;
  auto inference = cast<InferTypeOpInterface>(op);
  if (failed(inference.inferReturnTypes(
          op->getContext(), op->getLoc(), op->getOperands(),
          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
          op->getRegions(), types)))
    return failure();
  return types.front();
}

/// The tensors of a result, which is one or a tuple of them.
static SmallVector<TensorStructInfoType> getTensors(Type result) {
  SmallVector<TensorStructInfoType> tensors;
  if (auto tuple = dyn_cast<TupleStructInfoType>(result)) {
    for (Type field : tuple.getFields())
      tensors.push_back(cast<TensorStructInfoType>(field));
  } else {
    tensors.push_back(cast<TensorStructInfoType>(result));
  }
  return tensors;
}

/// The same where operands alone leave the shape open, under the facts at the
/// operator.
static FailureOr<Type> deriveResultInScope(Operation *op) {
  FailureOr<Type> result = deriveResult(op);
  if (failed(result) ||
      llvm::all_of(getTensors(*result), [](TensorStructInfoType tensor) {
        return tensor.hasShape();
      }))
    return result;
  PrimExprFacts facts = collectFacts(op);
  FactsScope scope(facts);
  return deriveResult(op);
}

static LogicalResult collectOutputs(Operation *op, Type result,
                                    Signature &signature) {
  for (TensorStructInfoType tensor : getTensors(result)) {
    if (!tensor.hasShape() || !tensor.getDtype())
      return op->emitOpError()
             << "cannot be lowered: its result is " << tensor
             << ", but its shape must be known; insert relax.match_cast of its "
                "operands to dimensions that are known to fit";
    signature.outputs.push_back(tensor);
  }
  return success();
}

/// Whether the results are tensors of a device other than the host.
static bool hasDevice(Operation *op, const Signature &signature) {
  return llvm::any_of(signature.outputs, [&](TensorStructInfoType tensor) {
    FlatSymbolRefAttr name = tensor.getVdevice();
    VDeviceAttr device = name ? lookupVDevice(op, name) : VDeviceAttr();
    return device && getDLDeviceType(device).value_or(kCpu) != kCpu;
  });
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Those pairs of dimensions that are not known to be equal.
static llvm::SetVector<std::pair<PrimExprAttr, PrimExprAttr>>
findOpen(Operation *op, const DimPairs &pairs) {
  llvm::SetVector<std::pair<PrimExprAttr, PrimExprAttr>> open;
  for (auto pair : pairs)
    if (proveEqual(pair.first, pair.second) != Ternary::Yes)
      open.insert(pair);
  if (open.empty())
    return open;
  PrimExprFacts facts = collectFacts(op);
  for (Type type : op->getOperandTypes())
    addFactsOfValue(type, facts);
  open.remove_if([&](const std::pair<PrimExprAttr, PrimExprAttr> &pair) {
    return proveEqual(pair.first, pair.second, facts) == Ternary::Yes;
  });
  return open;
}

/// Checks at run time those pairs of dimensions that are not known to be equal.
/// All variables are bound here, so a cast to one compares. The attribute names
/// the operator in the message of the error.
static LogicalResult emitChecks(OpBuilder &builder, Operation *op,
                                const DimPairs &pairs) {
  llvm::SetVector<std::pair<PrimExprAttr, PrimExprAttr>> open =
      findOpen(op, pairs);
  for (auto [actual, expected] : open)
    if (actual.isTooLarge() || expected.isTooLarge())
      return op->emitOpError()
             << "cannot be lowered: what its shapes have to satisfy is an "
                "expression beyond the limits of "
             << PrimExprAttr::kMaxSize << " operations and depth "
             << PrimExprAttr::kMaxDepth
             << "; insert relax.match_cast of its operands to variables";
  SmallVector<PrimExprAttr> actual =
      llvm::to_vector(llvm::make_first_range(open));
  SmallVector<PrimExprAttr> expected =
      llvm::to_vector(llvm::make_second_range(open));
  if (actual.empty())
    return success();
  MLIRContext *context = builder.getContext();
  auto from = ShapeExprAttr::get(context, actual);
  auto to = ShapeExprAttr::get(context, expected);
  Value shape = ShapeOp::create(builder, op->getLoc(),
                                ShapeStructInfoType::get(from), from);
  auto check = MatchCastOp::create(builder, op->getLoc(),
                                   ShapeStructInfoType::get(to), shape);
  RelaxDialect::ChecksAttrHelper(context).setAttr(
      check, builder.getStringAttr(op->getName().getStringRef()));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// "add", "add1", ...: the first name that the module does not use yet.
std::string Legalizer::getUniqueName(StringRef stem) {
  unsigned &suffix = suffixes[stem];
  std::string name;
  do {
    name = suffix == 0 ? stem.str() : (stem + Twine(suffix)).str();
    ++suffix;
  } while (symbols.lookup(name));
  return name;
}

/// The data type that an operator computes with: that of its last tensor, as
/// the first one may be a condition.
static Type computationType(const Signature &signature) {
  for (Type input : llvm::reverse(signature.inputs))
    if (isa<TensorStructInfoType>(input))
      return dtypeOf(input);
  return signature.outputs.front().getDtype();
}

/// The integers of a kernel, some of which are parameters.
static SmallVector<Value>
buildInts(KernelBuilder &b, const Signature &signature, ValueRange params) {
  SmallVector<Value> ints;
  for (PrimExprAttr expr : signature.ints) {
    if (std::optional<int64_t> constant = expr.getConstant()) {
      ints.push_back(b.index(*constant));
      continue;
    }
    ints.push_back(
        arith::IndexCastOp::create(b, b.getIndexType(), params.front()));
    params = params.drop_front();
  }
  return ints;
}

FailureOr<func::FuncOp> Legalizer::buildKernel(Operation *op,
                                               const Signature &signature,
                                               const KernelBody &body) {
  SmallVector<Type> params = llvm::map_to_vector(signature.inputs, paramType);
  size_t numInts = signature.getIntParams().size();
  params.append(numInts, IntegerType::get(op->getContext(), 64));
  SmallVector<Type> results =
      llvm::map_to_vector(signature.outputs, [](TensorStructInfoType type) {
        return Type(kernelType(type));
      });
  llvm::append_range(params, results);
  auto type = FunctionType::get(op->getContext(), params, results);
  func::FuncOp kernel = func::FuncOp::create(
      op->getLoc(), getUniqueName(op->getName().stripDialect()), type);
  kernel.setPrivate();
  Block *block = kernel.addEntryBlock();
  KernelBuilder builder(op->getLoc(), block, computationType(signature));
  builder.setOnDevice(signature.isOnDevice);
  ValueRange arguments = block->getArguments();
  size_t numInputs = signature.inputs.size();
  builder.setInts(
      buildInts(builder, signature, arguments.slice(numInputs, numInts)));
  FailureOr<SmallVector<Value>> values =
      body(builder, op, arguments.take_front(numInputs),
           arguments.drop_front(numInputs + numInts));
  if (failed(values)) {
    kernel.erase();
    return failure();
  }
  func::ReturnOp::create(builder, *values);
  tidyKernel(kernel);
  symbols.insert(kernel);
  return kernel;
}

/// Returns the key that distinguishes kernels. Data types are those of Relax,
/// as they say which integers are unsigned.
static Attribute kernelKey(Operation *op, const Signature &signature) {
  Builder builder(op->getContext());
  SmallVector<Attribute> key = {
      op->getName().getIdentifier(),
      builder.getI64IntegerAttr(signature.inputs.size())};
  if (Attribute properties = op->getPropertiesAsAttribute())
    key.push_back(properties);
  if (signature.isOnDevice)
    key.push_back(builder.getUnitAttr());
  auto add = [&](Type type) {
    key.push_back(TypeAttr::get(paramType(type)));
    key.push_back(TypeAttr::get(dtypeOf(type)));
  };
  llvm::for_each(signature.inputs, add);
  for (PrimExprAttr expr : signature.ints)
    key.push_back(expr.getConstant() ? Attribute(expr) : builder.getUnitAttr());
  llvm::for_each(signature.outputs, add);
  return builder.getArrayAttr(key);
}

FailureOr<func::FuncOp> Legalizer::getKernel(Operation *op,
                                             const Signature &signature,
                                             const KernelBody &body) {
  Attribute key = kernelKey(op, signature);
  if (func::FuncOp kernel = kernels.lookup(key))
    return kernel;
  FailureOr<func::FuncOp> kernel = buildKernel(op, signature, body);
  if (succeeded(kernel))
    kernels[key] = *kernel;
  return kernel;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// The declared type may matter to others: the devices that are still open to
/// relax-realize-vdevice, and dimensions that they do not agree with.
void Legalizer::replaceResult(OpBuilder &builder, Operation *op, Value result) {
  Value declared = op->getResult(0);
  if (result.getType() == declared.getType())
    return declared.replaceAllUsesWith(result);
  declared.replaceUsesWithIf(result, [&](OpOperand &use) {
    return table.lookup(use.getOwner()) != nullptr;
  });
  if (declared.use_empty())
    return;
  declared.replaceAllUsesWith(
      MatchCastOp::create(builder, op->getLoc(), declared.getType(), result));
}

/// The integers that a kernel takes as a shape; null where there are none.
static Value packInts(OpBuilder &builder, Operation *op,
                      const Signature &signature) {
  SmallVector<PrimExprAttr> ints = signature.getIntParams();
  if (ints.empty())
    return {};
  auto shape = ShapeExprAttr::get(op->getContext(), ints);
  return ShapeOp::create(builder, op->getLoc(), ShapeStructInfoType::get(shape),
                         shape);
}

/// Writes the call that computes an operator, after the checks of its shapes.
FailureOr<Value> Legalizer::call(OpBuilder &builder, Operation *op, Type result,
                                 const LegalizationTable::Entry &entry) {
  Signature signature;
  if (failed(collectInputs(op, signature)) ||
      failed(collectOutputs(op, result, signature)))
    return failure();
  if (entry.ints)
    signature.ints = entry.ints(op, result);
  signature.isOnDevice = hasDevice(op, signature);
  if (entry.call && signature.isOnDevice)
    return op->emitOpError()
           << "cannot be lowered: it runs on the host, but its "
              "result is "
           << result << "; insert relax.to_vdevice";
  FailureOr<func::FuncOp> kernel = func::FuncOp();
  if (!entry.call)
    kernel = getKernel(op, signature, entry.body);
  if (failed(kernel) ||
      (entry.checks &&
       failed(emitChecks(builder, op, entry.checks(op, result)))))
    return failure();
  if (entry.call)
    return entry.call(builder, op, result);
  SmallVector<Value> args;
  for (Value value : op->getOperands())
    if (isa<TensorStructInfoType, PrimStructInfoType>(value.getType()))
      args.push_back(viewInt4Memory(builder, op->getLoc(), value));
  auto tensor = dyn_cast<TensorStructInfoType>(result);
  Type written = tensor ? Type(kernelTensor(tensor)) : result;
  Value computed = CallTIROp::create(builder, op->getLoc(), written,
                                     FlatSymbolRefAttr::get(*kernel), args,
                                     packInts(builder, op, signature))
                       .getResult();
  return written == result ? computed
                           : viewAs(builder, op->getLoc(), computed, tensor);
}

LogicalResult Legalizer::legalize(Operation *op,
                                  const LegalizationTable::Entry &entry) {
  FailureOr<Type> result = deriveResultInScope(op);
  if (failed(result))
    return failure();
  // Without tensors as operands the device is that of the declared type.
  *result = fillVDevices(*result, op->getResult(0).getType());
  OpBuilder builder(op);
  FailureOr<Value> computed = call(builder, op, *result, entry);
  if (failed(computed))
    return failure();
  replaceResult(builder, op, *computed);
  op->erase();
  return success();
}

void Legalizer::drop(Operation *op) {
  OpBuilder builder(op);
  replaceResult(builder, op, op->getOperand(0));
  op->erase();
}

/// Whether an operator returns its operand: a hint, or a conversion to the data
/// type that there is.
static bool returnsOperand(Operation *op) {
  if (isa<AnnotateShardingOp, EndCheckpointOp, NoGradOp, StartCheckpointOp,
          StopLiftParamsOp>(op))
    return true;
  return isa<AstypeOp>(op) &&
         op->getResult(0).getType() == op->getOperand(0).getType();
}

/// A shape of rank 0 is known, also where a type states the rank alone.
static void stateScalarShapes(ModuleOp module) {
  MLIRContext *context = module.getContext();
  auto empty = ShapeExprAttr::get(context, {});
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](TensorStructInfoType type) -> std::optional<Type> {
        if (type.hasShape() || type.getShapeVar() || type.getNdim() != 0)
          return std::nullopt;
        return TensorStructInfoType::get(empty, type.getDtype(),
                                         type.getVdevice());
      });
  replacer.addReplacement([&](ShapeStructInfoType type) -> std::optional<Type> {
    if (type.getValues() || type.getVar() || type.getNdim() != 0)
      return std::nullopt;
    return ShapeStructInfoType::get(empty);
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

/// Programs of workers have parts of tensors.
static LogicalResult checkUndistributed(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    auto func = dyn_cast<relax::FuncOp>(op);
    bool isFound = func ? isDistributed(func.getFunctionType().getInputs()) ||
                              isDistributed(func.getFunctionType().getResults())
                        : isDistributed(op->getResultTypes());
    if (!isFound)
      return WalkResult::advance();
    op->emitOpError("cannot be lowered: expected no distributed tensors; "
                    "LowerDistIR of relax_mlir.distributed makes the program "
                    "of each worker");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct RelaxLegalizeOpsPass
    : public relax::impl::RelaxLegalizeOpsPassBase<RelaxLegalizeOpsPass> {
  LogicalResult initialize(MLIRContext *) override {
    populateCollective(table);
    populateElementwise(table);
    populateManipulate(table);
    populateReduce(table);
    populateNN(table);
    populateCreate(table);
    populateConv(table);
    populateNorm(table);
    populateIndex(table);
    populateScatter(table);
    populateQuantize(table);
    populateSort(table);
    return success();
  }

  void runOnOperation() override {
    if (failed(checkUndistributed(getOperation())))
      return signalPassFailure();
    stateScalarShapes(getOperation());
    if (failed(checkKernelCalls()))
      return signalPassFailure();
    Legalizer legalizer(getOperation(), table);
    RelaxDialect::KeepAttrHelper keep(&getContext());
    computeWide(keep, computesFloat8, computeFloat8InF32);
    computeWide(keep, computesInt4, computeInt4InBytes);
    SmallVector<Operation *> operators;
    for (auto func : getOperation().getOps<relax::FuncOp>())
      func.walk<WalkOrder::PreOrder>([&](Operation *op) {
        if ((table.lookup(op) || returnsOperand(op)) && !keep.isAttrPresent(op))
          operators.push_back(op);
      });
    // In program order: an operator sees the derived types of its operands.
    for (Operation *op : operators) {
      if (returnsOperand(op))
        legalizer.drop(op);
      else if (failed(legalizer.legalize(op, *table.lookup(op))))
        return signalPassFailure();
    }
  }

  /// Operators that no kernel computes with a data type become those of a wider
  /// one, and conversions.
  void computeWide(RelaxDialect::KeepAttrHelper keep,
                   function_ref<bool(Operation *)> isNarrow,
                   function_ref<void(Operation *)> widen) {
    SmallVector<Operation *> operators;
    for (auto func : getOperation().getOps<relax::FuncOp>())
      func.walk([&](Operation *op) {
        if (table.lookup(op) && !keep.isAttrPresent(op) && isNarrow(op))
          operators.push_back(op);
      });
    llvm::for_each(operators, widen);
  }

  /// Kernels that come with the program are called with any shapes.
  LogicalResult checkKernelCalls() {
    WalkResult walk = getOperation().walk([](Operation *op) {
      OpBuilder builder(op);
      return WalkResult(emitChecks(builder, op, findKernelDims(op)));
    });
    return failure(walk.wasInterrupted());
  }

  LegalizationTable table;
};
} // namespace
