//===- Dialect.cpp - Registration of the Relax dialect -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/Relax.h"

using namespace mlir;
using namespace mlir::relax;

#include "relax-mlir/IR/RelaxDialect.cpp.inc"
#include "relax-mlir/IR/RelaxOpInterfaces.cpp.inc"

void RelaxDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerRelaxDialectOperations(this);
}

/// GR03: a dictionary of devices.
static LogicalResult verifyGlobalInfo(Operation *op, Attribute value) {
  if (!isa<ModuleOp>(op))
    return op->emitOpError() << "has '" << RelaxDialect::kGlobalInfo
                             << "', which belongs on a module";
  auto devices = dyn_cast<DictionaryAttr>(value);
  if (!devices)
    return op->emitOpError() << "expected '" << RelaxDialect::kGlobalInfo
                             << "' to be a dictionary, but got " << value;
  for (NamedAttribute device : devices)
    if (!isa<VDeviceAttr>(device.getValue()))
      return op->emitOpError()
             << "expected virtual device '" << device.getName().getValue()
             << "' to be #relax.vdevice, but got " << device.getValue();
  return success();
}

/// WF21: the promise needs a function that is pure.
static LogicalResult verifyForcePure(Operation *op, Attribute value) {
  auto flag = dyn_cast<BoolAttr>(value);
  if (!flag)
    return op->emitOpError() << "expected '" << RelaxDialect::kForcePure
                             << "' to be true or false, but got " << value;
  bool isPure = false;
  if (auto func = dyn_cast<FuncOp>(op))
    isPure = func.getIsPure();
  else if (isa<ClosureOp>(op)) // which is not verified yet
    isPure = llvm::all_of(op->getResultTypes(), [](Type type) {
      auto func = dyn_cast<FuncStructInfoType>(type);
      return !func || func.getPure();
    });
  else
    return op->emitOpError() << "has '" << RelaxDialect::kForcePure
                             << "', which belongs on a Relax function";
  if (flag.getValue() && !isPure)
    return op->emitOpError() << "has '" << RelaxDialect::kForcePure
                             << "', so it has to be pure [WF21]";
  return success();
}

/// Captured values are passed by closures of the module only. The function is
/// not verified yet.
static LogicalResult verifyCaptures(Operation *op, Attribute value) {
  auto func = dyn_cast<FuncOp>(op);
  if (!func || func.getSymVisibility().value_or("") != "private")
    return op->emitOpError() << "has '" << RelaxDialect::kCaptures
                             << "', which belongs on a private relax.func";
  auto count = dyn_cast<IntegerAttr>(value);
  TypeAttr typeAttr = func.getFunctionTypeAttr();
  auto type =
      dyn_cast_or_null<FunctionType>(typeAttr ? typeAttr.getValue() : Type());
  if (!type)
    return success(); // reported as invalid
  if (!count || !count.getType().isInteger(64) || count.getInt() < 0 ||
      count.getInt() > static_cast<int64_t>(type.getNumInputs()))
    return op->emitOpError()
           << "expected '" << RelaxDialect::kCaptures
           << "' to be a number of arguments, but got " << value;
  return success();
}

/// Verifies the StructInfo that a lowered function keeps as text.
static LogicalResult verifyStructInfoText(Operation *op, Attribute value) {
  if (!isa<FuncOp>(op))
    return op->emitOpError() << "has '" << RelaxDialect::kStructInfo
                             << "', which belongs on a relax.func";
  if (!isa<StringAttr>(value))
    return op->emitOpError() << "expected '" << RelaxDialect::kStructInfo
                             << "' to be a string, but got " << value;
  return success();
}

/// VM09: a list of tensors.
static LogicalResult verifyConstants(Operation *op, Attribute value) {
  if (!isa<ModuleOp>(op))
    return op->emitOpError() << "has '" << RelaxDialect::kConstants
                             << "', which belongs on a module";
  auto constants = dyn_cast<ArrayAttr>(value);
  if (!constants)
    return op->emitOpError() << "expected '" << RelaxDialect::kConstants
                             << "' to be an array, but got " << value;
  for (auto [index, constant] : llvm::enumerate(constants)) {
    auto elements = dyn_cast<ElementsAttr>(constant);
    if (!elements || !isDataType(elements.getElementType()))
      return op->emitOpError() << "expected constant " << index
                               << " to be a tensor, but got " << constant;
    if (failed(verifyConstant(op, elements)))
      return failure();
  }
  return success();
}

LogicalResult RelaxDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == kGlobalInfo)
    return verifyGlobalInfo(op, attribute.getValue());
  if (name == kForcePure)
    return verifyForcePure(op, attribute.getValue());
  if (name == kCaptures)
    return verifyCaptures(op, attribute.getValue());
  if (name == kConstants)
    return verifyConstants(op, attribute.getValue());
  if (name == kStructInfo)
    return verifyStructInfoText(op, attribute.getValue());
  return success();
}
