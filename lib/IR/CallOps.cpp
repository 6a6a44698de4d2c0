//===- CallOps.cpp - Calls of functions and packed functions ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What calls of functions, closures and packed functions return, and what they
// may be given. Calls of kernels: KernelCalls.cpp.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "relax-mlir/IR/DeriveFunc.h"
#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/KernelStructInfo.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/WellFormed.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Packed functions
//===----------------------------------------------------------------------===//

LogicalResult mlir::relax::verifyCallee(Operation *call, Attribute callee,
                                        Value function) {
  if (static_cast<bool>(callee) == static_cast<bool>(function))
    return call->emitOpError()
           << "expected either a callee or a function value";
  return success();
}

LogicalResult mlir::relax::verifyPackedCallee(Operation *call, Attribute callee,
                                              Value function) {
  if (failed(verifyCallee(call, callee, function)))
    return failure();
  if (function && !cast<FuncStructInfoType>(function.getType()).isPacked())
    return call->emitOpError()
           << "expected a packed function as the function value, but got "
           << function.getType() << "; relax.call calls closures";
  return success();
}

/// DR10: from sinfo_args where they are given, else what is declared.
static Type derivePacked(Operation *call, ArrayAttr sinfoArgs) {
  if (!sinfoArgs)
    return call->getResult(0).getType();
  return defaultDerive(call->getContext(),
                       llvm::to_vector(sinfoArgs.getAsValueRange<TypeAttr>()));
}

/// Verifies that the derived type of a call is a subtype of the declared one.
static LogicalResult verifyDerived(Operation *call, Type derived) {
  Type declared = call->getResult(0).getType();
  if (isSubtypeAt(call, derived, declared) == Ternary::Yes)
    return success();
  return call->emitOpError()
         << "derives a result of type " << derived
         << ", which is not a subtype of the declared " << declared;
}

static LogicalResult verifyStructInfoArgs(Operation *call,
                                          ArrayAttr sinfoArgs) {
  if (sinfoArgs)
    for (Type type : sinfoArgs.getAsValueRange<TypeAttr>())
      if (!isa<StructInfoTypeInterface>(type))
        return call->emitOpError()
               << "expected sinfo_args to be StructInfo, but got " << type;
  return success();
}

template <typename CallOpTy>
static LogicalResult verifyPackedResult(CallOpTy call) {
  if (failed(verifyStructInfoArgs(call, call.getSinfoArgsAttr())))
    return failure();
  return verifyDerived(call, derivePacked(call, call.getSinfoArgsAttr()));
}

LogicalResult CallPackedOp::verify() { return verifyPackedResult(*this); }
LogicalResult CallPackedOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(derivePacked(*this, getSinfoArgsAttr()));
  return success();
}

LogicalResult CallPurePackedOp::verify() {
  return failed(verifyPackedCallee(*this, getCalleeAttr(), getFunction()))
             ? failure()
             : verifyPackedResult(*this);
}
LogicalResult
CallPurePackedOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(derivePacked(*this, getSinfoArgsAttr()));
  return success();
}

LogicalResult CallInplacePackedOp::verify() {
  if (failed(verifyPackedCallee(*this, getCalleeAttr(), getFunction())) ||
      failed(verifyIndices(*this, getInplaceIndices(), getArgs().size())))
    return failure();
  if (llvm::all_of(getInplaceIndices(), [](int64_t i) { return i == -1; }))
    return emitOpError() << "expected an argument that is updated in "
                            "inplace_indices; relax.call_pure_packed updates "
                            "none";
  for (int64_t index : getInplaceIndices())
    if (index != -1)
      if (Type type = getArgs()[index].getType();
          !isa<TensorStructInfoType, ObjectStructInfoType>(type))
        return emitOpError() << "expected argument " << index
                             << ", which is updated in place, to be a tensor "
                                "or object, but got "
                             << type;
  return verifyPackedResult(*this);
}
LogicalResult
CallInplacePackedOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(derivePacked(*this, getSinfoArgsAttr()));
  return success();
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

bool CallPackedOp::isPureOp() { return false; }

/// Asked of calls that are not valid, too: those count as pure, since there is
/// another error to report.
bool CallOp::isPureOp() {
  if (!hasValidSegments(*this))
    return true;
  // The accessor asserts the type of the value.
  if (OperandRange function = getODSOperands(0); !function.empty()) {
    auto type = dyn_cast<FuncStructInfoType>(function.front().getType());
    return !type || type.getPure();
  }
  if (!getCalleeAttr())
    return true;
  Operation *callee =
      SymbolTable::lookupNearestSymbolFrom(*this, getCalleeAttr());
  if (auto func = dyn_cast_or_null<FuncOp>(callee))
    return func.getIsPure();
  FuncStructInfoType type = getFuncStructInfo(callee);
  return !callee || (type && type.getPure());
}

FailureOr<Type> mlir::relax::deriveClosureCall(
    FuncStructInfoType callee, TypeRange args,
    function_ref<InFlightDiagnostic()> emitError,
    function_ref<void(unsigned, Type)> reportUnproven,
    function_ref<bool(StringRef)> isInScope) {
  ArrayRef<Type> params = callee.getParams();
  if (params.size() != args.size())
    return emitError() << "expected " << params.size() << " arguments, but got "
                       << args.size();
  CallSignature signature = instantiate(callee, args, isInScope);
  for (auto [index, expected] : llvm::enumerate(signature.params)) {
    Ternary answer = checkCompatibility(args[index], expected);
    if (signature.isOpen[index])
      answer = both(answer, Ternary::Unknown);
    if (answer == Ternary::No)
      return emitError() << "expected argument " << index << " of type "
                         << expected << ", but got " << args[index];
    if (answer == Ternary::Unknown && reportUnproven)
      reportUnproven(index, expected);
  }
  return signature.ret;
}

/// DR10: by the derive function of the callee. By default it says nothing where
/// there are no sinfo_args, and what is declared is checked at run time.
static FailureOr<Type> derivePackedValue(CallOp call,
                                         FuncStructInfoType callee) {
  StringRef name = callee.getDerive().getValue();
  ArrayAttr sinfoArgs = call.getSinfoArgsAttr();
  if (name == FuncStructInfoType::kDefaultDerive)
    return derivePacked(call, sinfoArgs);
  SmallVector<Type> types;
  if (sinfoArgs)
    llvm::append_range(types, sinfoArgs.getAsValueRange<TypeAttr>());
  return deriveByName(name, call.getLoc(), call.getArgs().getTypes(), types);
}

/// Whether the result depends on more than the operation: on a symbol, or on a
/// function of the user, which may not run in any thread.
static bool isDerivedWithModule(CallOp call) {
  if (call.getCallee())
    return true;
  auto type = dyn_cast<FuncStructInfoType>(call.getFunction().getType());
  return type && type.isPacked() &&
         type.getDerive().getValue() != FuncStructInfoType::kDefaultDerive;
}

/// The type of a kernel, where Booleans may lie in bytes already.
static FuncStructInfoType withBooleans(FuncStructInfoType kernel,
                                       ValueRange args) {
  SmallVector<Type> params(kernel.getParams());
  for (auto [param, arg] : llvm::zip(params, args)) {
    auto bytes = dyn_cast<TensorStructInfoType>(param);
    auto flags = dyn_cast<TensorStructInfoType>(arg.getType());
    if (bytes && flags && flags.getDtype() && flags.getDtype().isInteger(1) &&
        bytes.getDtype().isInteger(8))
      param = TensorStructInfoType::get(kernel.getContext(), bytes.getShape(),
                                        bytes.getNdim(), flags.getDtype(),
                                        bytes.getVdevice());
  }
  return FuncStructInfoType::get(params, kernel.getRet(), kernel.getPure());
}

FuncStructInfoType CallOp::getCalleeType() {
  if (Value function = getFunction())
    return cast<FuncStructInfoType>(function.getType());
  Operation *symbol =
      SymbolTable::lookupNearestSymbolFrom(*this, getCalleeAttr());
  FuncStructInfoType type = getFuncStructInfo(symbol);
  return type && isa<func::FuncOp>(symbol) ? withBooleans(type, getArgs())
                                           : type;
}

FailureOr<Type>
CallOp::deriveResult(function_ref<void(unsigned, Type)> reportUnproven) {
  FuncStructInfoType type = getCalleeType();
  if (!type)
    return emitOpError() << "expected " << getCalleeAttr()
                         << " to be a relax.func or func.func of the module";
  if (type.isPacked())
    return derivePackedValue(*this, type);
  return deriveClosureCall(
      type, getArgs().getTypes(), [&] { return emitOpError(); },
      reportUnproven);
}

LogicalResult CallOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  FailureOr<Type> type = deriveResult();
  if (failed(type))
    return failure();
  results.push_back(*type);
  return success();
}

LogicalResult CallOp::verify() {
  if (failed(verifyCallee(*this, getCalleeAttr(), getFunction())) ||
      failed(verifyStructInfoArgs(*this, getSinfoArgsAttr())))
    return failure();
  if (isDerivedWithModule(*this))
    return success(); // verifySymbolUses
  FailureOr<Type> derived = deriveResult();
  return failed(derived) ? failure() : verifyDerived(*this, *derived);
}

/// A function does not check what closures capture for it, so it has to be
/// proven.
static LogicalResult verifyCaptures(Operation *op, FuncOp callee,
                                    ValueRange captures) {
  for (auto [index, value] : llvm::enumerate(captures)) {
    Type expected = callee.getArgumentTypes()[index];
    if (isSubtype(value.getType(), expected) == Ternary::Yes)
      continue;
    InFlightDiagnostic diag =
        op->emitOpError() << "expected captured value " << index << " of type "
                          << expected << ", but got " << value.getType();
    diag.attachNote(callee.getLoc()) << "the function is defined here";
    return diag;
  }
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!isDerivedWithModule(*this))
    return success();
  if (failed(verifyInFunction(*this)))
    return failure();
  FailureOr<Type> derived = deriveResult();
  if (failed(derived) || failed(verifyDerived(*this, *derived)))
    return failure();
  if (!getCallee())
    return success();
  auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return success();
  return verifyCaptures(*this, callee,
                        getArgs().take_front(callee.getNumCaptures()));
}

//===----------------------------------------------------------------------===//
// Functions at run time
//===----------------------------------------------------------------------===//

/// A function type, and a value for each name of a variable that it uses, but
/// none before shapes are lowered.
static LogicalResult verifyFunctionInfo(Operation *op, Type type,
                                        ArrayAttr names, ValueRange dims) {
  if (!isa<FuncStructInfoType>(type))
    return op->emitOpError() << "expected a function type, but got " << type;
  if (!dims.empty() && dims.size() != names.size())
    return op->emitOpError() << "expected a value for each of " << names.size()
                             << " variables, but got " << dims.size();
  return success();
}

LogicalResult CheckFunctionOp::verify() {
  return verifyFunctionInfo(*this, getType(), getNames(), getDims());
}

LogicalResult MakeClosureOp::verify() {
  return verifyFunctionInfo(*this, getInfo(), getNames(), getDims());
}

LogicalResult MakeClosureOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyInFunction(*this)))
    return failure();
  auto callee = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "expected " << getCalleeAttr()
                         << " to be a relax.func of the module";
  if (callee.getNumCaptures() == getCaptures().size())
    return verifyCaptures(*this, callee, getCaptures());
  InFlightDiagnostic diag =
      emitOpError() << "expected " << callee.getNumCaptures()
                    << " captured values, but got " << getCaptures().size();
  diag.attachNote(callee.getLoc()) << "the function is defined here";
  return diag;
}
