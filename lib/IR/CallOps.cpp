//===- CallOps.cpp - Calls and the lowered host program -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

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

LogicalResult CallTIROp::verify() { return verifyOutputs(*this); }

LogicalResult CallDPSPackedOp::verify() { return verifyOutputs(*this); }

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Relax integers may be unsigned; kernels hold them in signless ones.
static Type kernelElementType(Type dtype) {
  if (dtype.isUnsignedInteger())
    return IntegerType::get(dtype.getContext(), dtype.getIntOrFloatBitWidth());
  return dtype;
}

/// That a tensor may be passed for a shaped parameter of a kernel.
static LogicalResult verifyKernelTensor(Operation *op, unsigned index,
                                        TensorStructInfoType tensor,
                                        Type param) {
  auto shaped = dyn_cast<ShapedType>(param);
  auto fail = [&]() -> InFlightDiagnostic {
    return op->emitOpError()
           << "expected a value for kernel parameter " << index << " of type "
           << param << ", but got " << tensor;
  };
  if (!shaped || !shaped.hasRank())
    return fail();
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

static LogicalResult verifyKernelCall(Operation *op,
                                      SymbolTableCollection &symbols,
                                      FlatSymbolRefAttr callee,
                                      ArrayRef<TensorStructInfoType> inputs,
                                      std::optional<int64_t> numInts,
                                      ArrayRef<TensorStructInfoType> outputs) {
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
  for (auto [index, tensor] : llvm::enumerate(inputs))
    if (failed(verifyKernelTensor(op, index, tensor, params[index])))
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
  return success();
}

static SmallVector<TensorStructInfoType> tensorTypes(ValueRange values) {
  return llvm::map_to_vector(values, [](Value value) {
    return cast<TensorStructInfoType>(value.getType());
  });
}

/// The number of integers in an optional shape value; none where it is unknown.
static std::optional<int64_t> countInts(Value packedInts) {
  if (!packedInts)
    return 0;
  int64_t ndim = cast<ShapeStructInfoType>(packedInts.getType()).getNdim();
  return ndim == -1 ? std::nullopt : std::optional(ndim);
}

LogicalResult CallTIROp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyKernelCall(*this, symbols, getCalleeAttr(),
                          tensorTypes(getArgs()), countInts(getPackedInts()),
                          getOutputTypes());
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

LogicalResult AllocTensorOp::verify() {
  TensorStructInfoType type = getResult().getType();
  if (!type.getDtype())
    return emitOpError() << "expected a known data type, but got " << type;
  if (getDims().empty() && type.getNdim() != 0 && !type.hasShape())
    return emitOpError() << "expected dimensions, in the type or as operands, "
                            "but got "
                         << type;
  if (!getDims().empty() &&
      static_cast<int64_t>(getDims().size()) != type.getNdim())
    return emitOpError() << "expected " << type.getNdim()
                         << " dimensions, but got " << getDims().size();
  return success();
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

bool CallPackedOp::isPureOp() { return false; }

bool CallOp::isPureOp() {
  if (Value function = getFunction())
    return cast<FuncStructInfoType>(function.getType()).getPure();
  auto callee =
      SymbolTable::lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  return callee && callee.getIsPure();
}

/// DR12: arity, arguments, and the result derived from the callee's type.
static LogicalResult verifyClosureCall(CallOp call, FuncStructInfoType callee) {
  ArrayRef<Type> params = callee.getParams();
  if (params.size() != call.getArgs().size())
    return call.emitOpError()
           << "expected " << params.size() << " arguments, but got "
           << call.getArgs().size();
  PrimExprMap mapping;
  for (auto [param, arg] : llvm::zip(params, call.getArgs().getTypes()))
    getShapeVarMapping(param, arg, mapping);
  for (auto [index, param] : llvm::enumerate(params)) {
    Type actual = call.getArgs()[index].getType();
    Type expected = substitute(param, mapping);
    if (checkCompatibility(actual, expected) == Ternary::No)
      return call.emitOpError() << "expected argument " << index << " of type "
                                << expected << ", but got " << actual;
  }
  // A variable of the callee without a counterpart here says nothing here.
  Type derived = substitute(eraseToWellDefined(callee.getRet(),
                                               [&](StringRef name) {
                                                 return mapping.contains(name);
                                               }),
                            mapping);
  if (isSubtype(derived, call.getResult().getType()) == Ternary::Yes)
    return success();
  return call.emitOpError() << "derives a result of type " << derived
                            << ", which is not a subtype of the declared "
                            << call.getResult().getType();
}

LogicalResult CallOp::verify() {
  if (static_cast<bool>(getCalleeAttr()) == static_cast<bool>(getFunction()))
    return emitOpError() << "expected either a callee or a function value";
  if (!getFunction())
    return success();
  auto type = cast<FuncStructInfoType>(getFunction().getType());
  return type.isPacked() ? success() : verifyClosureCall(*this, type);
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getCallee())
    return success();
  auto callee =
      symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr().getAttr());
  if (!callee)
    return emitOpError() << "expected " << getCalleeAttr()
                         << " to be a relax.func of the module";
  return verifyClosureCall(*this, callee.getFuncStructInfo());
}
