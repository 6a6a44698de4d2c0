//===- KernelCalls.cpp - Calls of kernels and of what writes outputs *- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels, and packed functions that write to tensors of their callers: the
// arguments and outputs, what is updated in place, and whether the parameters
// of the kernel take them.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Int4.h"
#include "relax-mlir/IR/KernelStructInfo.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/Sharding.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// The tensors that a call allocates: its result, or the fields of the tuple.
static SmallVector<TensorStructInfoType> outputTypes(Type result) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(result))
    return {tensor};
  return llvm::map_to_vector(
      cast<TupleStructInfoType>(result).getFields(),
      [](Type t) { return cast<TensorStructInfoType>(t); });
}

/// OP01, OP03: the caller allocates, so it must know shapes and data types.
static LogicalResult verifyOutputs(Operation *op) {
  Type result = op->getResult(0).getType();
  if (auto tuple = dyn_cast<TupleStructInfoType>(result))
    for (Type field : tuple.getFields())
      if (!isa<TensorStructInfoType>(field))
        return op->emitOpError()
               << "expected tensors as outputs, but got " << field;
  for (TensorStructInfoType type : outputTypes(result))
    if (!type.hasShape() || !type.getDtype())
      return op->emitOpError()
             << "expected outputs of known shape and data type, but got "
             << type;
  return success();
}

SmallVector<TensorStructInfoType> CallTIROp::getOutputTypes() {
  return outputTypes(getResult().getType());
}

SmallVector<TensorStructInfoType> CallDPSPackedOp::getOutputTypes() {
  return outputTypes(getResult().getType());
}

SmallVector<TensorStructInfoType> CallTIRInplaceOp::getOutputTypes() {
  return outputTypes(getResult().getType());
}

/// The types of the tensors in `types`, with tuples taken apart.
static void collectLeaves(TypeRange types, SmallVectorImpl<Type> &leaves) {
  for (Type type : types) {
    if (auto tuple = dyn_cast<TupleStructInfoType>(type))
      collectLeaves(tuple.getFields(), leaves);
    else
      leaves.push_back(type);
  }
}

/// OP01, OP02: kernels take tensors and scalars.
static LogicalResult verifyKernelArgs(Operation *op, ValueRange args) {
  SmallVector<Type> leaves;
  collectLeaves(args.getTypes(), leaves);
  for (Type leaf : leaves)
    if (!isa<TensorStructInfoType, PrimStructInfoType>(leaf))
      return op->emitOpError() << "expected tensors, primitive values, or "
                                  "tuples of them, as arguments, but got "
                               << leaf;
  return success();
}

LogicalResult CallTIROp::verify() {
  return failed(verifyKernelArgs(*this, getArgs())) ? failure()
                                                    : verifyOutputs(*this);
}

LogicalResult CallDPSPackedOp::verify() {
  if (failed(verifyPackedCallee(*this, getCalleeAttr(), getFunction())))
    return failure();
  return verifyOutputs(*this);
}

//===----------------------------------------------------------------------===//
// Updates in place
//===----------------------------------------------------------------------===//

LogicalResult mlir::relax::verifyIndices(Operation *op,
                                         ArrayRef<int64_t> indices,
                                         int64_t numArgs) {
  llvm::SmallSet<int64_t, 4> seen;
  for (int64_t index : indices) {
    if (index < -1 || index >= numArgs)
      return op->emitOpError()
             << "expected inplace_indices to be -1 or positions of the "
             << numArgs << " arguments, but got " << index;
    if (index != -1 && !seen.insert(index).second)
      return op->emitOpError() << "expected distinct inplace_indices, but got "
                               << index << " twice";
  }
  return success();
}

Value CallTIRInplaceOp::getArgHolding(int64_t index) {
  for (Value arg : getArgs()) {
    SmallVector<Type> leaves;
    collectLeaves(arg.getType(), leaves);
    index -= leaves.size();
    if (index < 0)
      return arg;
  }
  return {}; // the verifier reports the index
}

/// OP02: what is updated is the output, so it has its type, all dimensions
/// proven.
static LogicalResult verifyUpdatedArg(CallTIRInplaceOp call, int64_t index,
                                      Type output) {
  SmallVector<Type> leaves;
  collectLeaves(call.getArgs().getTypes(), leaves);
  Type actual = leaves[index];
  Ternary answer = isSubtypeAt(call, actual, output);
  if (answer == Ternary::Yes)
    return success();
  InFlightDiagnostic diag = call.emitOpError()
                            << "expected argument " << index
                            << ", which is updated in place, to have the type "
                            << output << " of its output, but got " << actual;
  if (answer == Ternary::Unknown)
    diag.attachNote() << "insert relax.match_cast to check it at run time";
  return diag;
}

LogicalResult CallTIRInplaceOp::verify() {
  if (failed(verifyKernelArgs(*this, getArgs())) ||
      failed(verifyOutputs(*this)))
    return failure();
  SmallVector<TensorStructInfoType> outputs = getOutputTypes();
  ArrayRef<int64_t> indices = getInplaceIndices();
  if (indices.size() != outputs.size())
    return emitOpError() << "expected one of inplace_indices for each of the "
                         << outputs.size() << " outputs, but got "
                         << indices.size();
  SmallVector<Type> leaves;
  collectLeaves(getArgs().getTypes(), leaves);
  if (failed(verifyIndices(*this, indices, leaves.size())))
    return failure();
  for (auto [index, output] : llvm::zip(indices, outputs))
    if (index != -1 && failed(verifyUpdatedArg(*this, index, output)))
      return failure();
  return success();
}

SmallVector<int64_t> CallKernelOp::getUpdatedParams() {
  int64_t next = getInputs().size() + getInts().size();
  if (Value packed = getPackedInts())
    next += std::max<int64_t>(
        cast<ShapeStructInfoType>(packed.getType()).getNdim(), 0);
  SmallVector<int64_t> params;
  if (auto indices = getInplaceIndices()) {
    for (int64_t index : *indices)
      params.push_back(index == -1 ? next++ : index);
    return params;
  }
  for (size_t i = 0, e = getOutputs().size(); i < e; ++i)
    params.push_back(next++);
  return params;
}

bool CallKernelOp::isUpdated(unsigned input) {
  auto indices = getInplaceIndices();
  return indices && llvm::is_contained(*indices, int64_t(input));
}

LogicalResult CallKernelOp::verify() {
  auto indices = getInplaceIndices();
  if (!indices)
    return success();
  if (failed(verifyIndices(*this, *indices, getInputs().size())))
    return failure();
  for (int64_t index : *indices)
    if (index != -1 && !isa<TensorStructInfoType>(getInputs()[index].getType()))
      return emitOpError() << "expected input " << index
                           << ", which is updated in place, to be a tensor, "
                              "but got "
                           << getInputs()[index].getType();
  int64_t allocated = llvm::count(*indices, -1);
  if (allocated != static_cast<int64_t>(getOutputs().size()))
    return emitOpError() << "expected -1 in inplace_indices for each of the "
                         << getOutputs().size() << " outputs, but got "
                         << allocated;
  return success();
}

//===----------------------------------------------------------------------===//
// Normal form: arguments are tuple literals (NF05)
//===----------------------------------------------------------------------===//

static bool hasTuple(ValueRange args) {
  return llvm::any_of(args.getTypes(), llvm::IsaPred<TupleStructInfoType>);
}

/// Replaces a tuple by its fields, in place.
static void expandTuples(RewriterBase &rewriter, Operation *call,
                         MutableOperandRange operands) {
  rewriter.setInsertionPoint(call);
  SmallVector<Value> args = llvm::to_vector(ValueRange(OperandRange(operands)));
  while (hasTuple(args)) {
    SmallVector<Value> expanded;
    for (Value arg : args) {
      auto tuple = dyn_cast<TupleStructInfoType>(arg.getType());
      if (!tuple) {
        expanded.push_back(arg);
        continue;
      }
      for (size_t i = 0, e = tuple.getFields().size(); i < e; ++i)
        expanded.push_back(GetItemOp::create(rewriter, call->getLoc(), arg, i));
    }
    args = std::move(expanded);
  }
  rewriter.modifyOpInPlace(call, [&] { operands.assign(args); });
}

bool CallTIROp::isNormalized() { return !hasTuple(getArgs()); }
void CallTIROp::normalize(RewriterBase &rewriter) {
  expandTuples(rewriter, *this, getArgsMutable());
}
bool CallTIRInplaceOp::isNormalized() { return !hasTuple(getArgs()); }
void CallTIRInplaceOp::normalize(RewriterBase &rewriter) {
  expandTuples(rewriter, *this, getArgsMutable());
}
bool CallDPSPackedOp::isNormalized() { return !hasTuple(getArgs()); }
void CallDPSPackedOp::normalize(RewriterBase &rewriter) {
  expandTuples(rewriter, *this, getArgsMutable());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Relax integers may be unsigned; kernels hold them in signless ones.
static Type kernelElementType(Type dtype) {
  if (dtype.isUnsignedInteger())
    return IntegerType::get(dtype.getContext(), dtype.getIntOrFloatBitWidth());
  return dtype;
}

/// Verifies that a tensor may be passed for a shaped parameter of a kernel.
static LogicalResult verifyKernelTensor(Operation *op, unsigned index,
                                        TensorStructInfoType tensor,
                                        Type param) {
  auto shaped = dyn_cast<ShapedType>(param);
  auto fail = [&]() -> InFlightDiagnostic {
    return op->emitOpError()
           << "expected a value for kernel parameter " << index << " of type "
           << param << ", but got " << tensor;
  };
  if (isInt4(tensor.getDtype()))
    return fail() << ": kernels take no integers of 4 bits; insert "
                     "relax.astype";
  if (!shaped || !shaped.hasRank())
    return fail();
  if (auto memref = dyn_cast<MemRefType>(param))
    if (memref.getMemorySpace() || !memref.getLayout().isIdentity())
      return fail() << ": tensors are compact, in the default memory space";
  if (tensor.getDtype() &&
      kernelElementType(tensor.getDtype()) != shaped.getElementType())
    return fail();
  if (tensor.hasRank() && tensor.getNdim() != shaped.getRank())
    return fail();
  if (!tensor.hasShape() || !tensor.getDtype())
    return fail() << ": its shape and data type must be known; insert "
                     "relax.match_cast";
  for (auto [dim, size] : llvm::zip(tensor.getDims(), shaped.getShape()))
    if (!ShapedType::isDynamic(size) && dim.getConstant() != size)
      return fail();
  return success();
}

/// Verifies that a primitive value may be passed for a scalar parameter of a
/// kernel.
static LogicalResult verifyKernelScalar(Operation *op, unsigned index,
                                        PrimStructInfoType prim, Type param) {
  if (kernelElementType(prim.getDtype()) == param)
    return success();
  return op->emitOpError() << "expected a value for kernel parameter " << index
                           << " of type " << param << ", but got " << prim;
}

static LogicalResult verifyKernelInput(Operation *op, unsigned index,
                                       Type input, Type param) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(input))
    return verifyKernelTensor(op, index, tensor, param);
  return verifyKernelScalar(op, index, cast<PrimStructInfoType>(input), param);
}

/// Returns the type of a parameter in terms of shape variables, as the kernel
/// declares it, or else the type of the argument.
static Type kernelParamType(func::FuncOp kernel, unsigned index, Type actual) {
  Type declared = getDeclaredStructInfo(kernel, index);
  if (!declared)
    return actual;
  if (auto tensor = dyn_cast<TensorStructInfoType>(actual)) {
    auto type = dyn_cast<TensorStructInfoType>(declared);
    if (type && type.hasShape() && type.getNdim() == tensor.getNdim())
      return TensorStructInfoType::get(type.getShape(), tensor.getDtype(),
                                       tensor.getVdevice())
          .withSharding(tensor.getSharding());
    return actual;
  }
  auto prim = dyn_cast<PrimStructInfoType>(declared);
  if (prim && prim.getValue() &&
      prim.getDtype() == cast<PrimStructInfoType>(actual).getDtype())
    return prim;
  return actual;
}

/// Verifies that the shape variables of a kernel may each have one value.
static LogicalResult verifyKernelVars(Operation *op, func::FuncOp kernel,
                                      ArrayRef<Type> actuals) {
  SmallVector<Type> formals;
  for (auto [index, actual] : llvm::enumerate(actuals))
    formals.push_back(kernelParamType(kernel, index, actual));
  if (ArrayRef<Type>(formals) == actuals)
    return success();
  auto type = FuncStructInfoType::get(
      formals, ObjectStructInfoType::get(op->getContext()), /*pure=*/false);
  CallSignature signature = instantiate(type, actuals);
  for (auto [index, actual] : llvm::enumerate(actuals)) {
    Type expected = signature.params[index];
    if (signature.isOpen[index] || isSubtype(actual, expected) != Ternary::No)
      continue;
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected a value for kernel parameter "
                              << index << " of type " << expected
                              << ", as what stands before it determines, but "
                                 "got "
                              << actual;
    diag.attachNote(kernel.getLoc()) << "the kernel is defined here";
    return diag;
  }
  return success();
}

/// The number of integers in an optional shape value; none where it is unknown.
static std::optional<int64_t> countInts(Value packedInts) {
  if (!packedInts)
    return 0;
  int64_t ndim = cast<ShapeStructInfoType>(packedInts.getType()).getNdim();
  return ndim == -1 ? std::nullopt : std::optional(ndim);
}

/// The types of the integers in an optional shape value.
static void appendIntTypes(Value packedInts, SmallVectorImpl<Type> &types) {
  if (!packedInts)
    return;
  auto shape = cast<ShapeStructInfoType>(packedInts.getType());
  Type i64 = IntegerType::get(shape.getContext(), 64);
  if (!shape.getValues())
    return types.append(shape.getNdim(), PrimStructInfoType::get(i64));
  for (PrimExprAttr value : shape.getValues())
    types.push_back(PrimStructInfoType::get(i64, value));
}

static LogicalResult verifyKernelCall(Operation *op,
                                      SymbolTableCollection &symbols,
                                      FlatSymbolRefAttr callee,
                                      ArrayRef<Type> inputs, Value packedInts,
                                      ArrayRef<TensorStructInfoType> outputs) {
  std::optional<int64_t> numInts = countInts(packedInts);
  auto kernel =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(op, callee.getAttr());
  if (!kernel)
    return op->emitOpError()
           << "expected " << callee << " to be a func.func of the module";
  if (!numInts)
    return op->emitOpError()
           << "expected packed_ints of known rank, but got a shape of any rank";
  ArrayRef<Type> params = kernel.getArgumentTypes();
  size_t expected = inputs.size() + *numInts + outputs.size();
  if (params.size() != expected) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "passes " << expected
                              << " values (inputs, integers, outputs), but the "
                                 "kernel takes "
                              << params.size();
    diag.attachNote(kernel.getLoc()) << "the kernel is defined here";
    return diag;
  }
  for (auto [index, input] : llvm::enumerate(inputs))
    if (failed(verifyKernelInput(op, index, input, params[index])))
      return failure();
  for (int64_t i = 0; i < *numInts; ++i)
    if (!params[inputs.size() + i].isInteger(64))
      return op->emitOpError()
             << "expected kernel parameter " << inputs.size() + i
             << " to be i64, but got " << params[inputs.size() + i];
  size_t first = inputs.size() + *numInts;
  for (auto [index, tensor] : llvm::enumerate(outputs))
    if (failed(verifyKernelTensor(op, first + index, tensor,
                                  params[first + index])))
      return failure();
  SmallVector<Type> actuals(inputs);
  appendIntTypes(packedInts, actuals);
  llvm::append_range(actuals, outputs);
  return verifyKernelVars(op, kernel, actuals);
}

/// Returns the inputs of the kernel in normal form: the fields of tuples, one
/// by one.
static SmallVector<Type> inputTypes(ValueRange args) {
  SmallVector<Type> leaves;
  collectLeaves(args.getTypes(), leaves);
  return leaves;
}

LogicalResult CallTIRLocalViewOp::verify() { return verifyOutputs(*this); }

/// Kernels take the parts of distributed tensors.
LogicalResult
CallTIRLocalViewOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto localize = [&](TypeRange types) -> FailureOr<SmallVector<Type>> {
    SmallVector<Type> locals;
    for (Type type : types) {
      FailureOr<Type> local = getLocalType(type, [&] { return emitOpError(); });
      if (failed(local))
        return failure();
      locals.push_back(*local);
    }
    return locals;
  };
  FailureOr<SmallVector<Type>> inputs = localize(getArgs().getTypes());
  if (failed(inputs))
    return failure();
  FailureOr<SmallVector<Type>> outputs = localize(getResult().getType());
  if (failed(outputs))
    return failure();
  return verifyKernelCall(*this, symbols, getCalleeAttr(), *inputs,
                          /*packedInts=*/Value(),
                          outputTypes(outputs->front()));
}

LogicalResult CallTIROp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernelCall(*this, symbols, getCalleeAttr(),
                          inputTypes(getArgs()), getPackedInts(),
                          getOutputTypes());
}

/// Outputs that are allocated follow the arguments.
LogicalResult
CallTIRInplaceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  SmallVector<TensorStructInfoType> outputs;
  for (auto [type, index] : llvm::zip(getOutputTypes(), getInplaceIndices()))
    if (index == -1)
      outputs.push_back(type);
  return verifyKernelCall(*this, symbols, getCalleeAttr(),
                          inputTypes(getArgs()), getPackedInts(), outputs);
}

/// After lowering, types carry no dimensions any more, so only the existence of
/// the kernel is left to check.
LogicalResult CallKernelOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getCalleeAttr().getAttr());
  if (!kernel)
    return emitOpError() << "expected " << getCalleeAttr()
                         << " to be a function of the module";
  return success();
}
