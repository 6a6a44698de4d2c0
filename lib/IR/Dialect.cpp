//===- Dialect.cpp - Registration of the Relax dialect -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DialectInterfaces.h"

#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/Schedule.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::relax;

#include "relax-mlir/IR/RelaxDialect.cpp.inc"
#include "relax-mlir/IR/RelaxOpInterfaces.cpp.inc"

void RelaxDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerRelaxDialectOperations(this);
  addBytecodeInterface(this);
  addInlinerInterface(this);
}

/// Reports that an attribute stands on the wrong operation.
static LogicalResult emitMisplaced(Operation *op, NamedAttribute attribute,
                                   StringRef place) {
  return op->emitOpError() << "has '" << attribute.getName().getValue()
                           << "', which belongs on " << place;
}

/// Reports that an attribute is not what it should be.
static LogicalResult emitMistyped(Operation *op, NamedAttribute attribute,
                                  StringRef expected) {
  return op->emitOpError() << "expected '" << attribute.getName().getValue()
                           << "' to be " << expected << ", but got "
                           << attribute.getValue();
}

/// GR03: a dictionary of devices.
static LogicalResult verifyGlobalInfo(Operation *op, NamedAttribute attribute) {
  if (!isa<ModuleOp>(op))
    return emitMisplaced(op, attribute, "a module");
  auto devices = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (!devices)
    return emitMistyped(op, attribute, "a dictionary");
  for (NamedAttribute device : devices)
    if (!isa<VDeviceAttr>(device.getValue()))
      return op->emitOpError()
             << "expected virtual device '" << device.getName().getValue()
             << "' to be #relax.vdevice, but got " << device.getValue();
  return success();
}

/// A dictionary of lists of meshes.
static LogicalResult verifyDeviceMeshes(Operation *op,
                                        NamedAttribute attribute) {
  if (!isa<ModuleOp>(op))
    return emitMisplaced(op, attribute, "a module");
  auto lists = dyn_cast<DictionaryAttr>(attribute.getValue());
  bool isValid =
      lists && llvm::all_of(lists, [](NamedAttribute list) {
        auto meshes = dyn_cast<ArrayAttr>(list.getValue());
        return meshes && llvm::all_of(meshes, llvm::IsaPred<DeviceMeshAttr>);
      });
  if (!isValid)
    return emitMistyped(op, attribute,
                        "a dictionary of lists of #relax.device_mesh");
  return success();
}

/// WF21: the promise needs a function that is pure.
static LogicalResult verifyForcePure(Operation *op, NamedAttribute attribute) {
  auto flag = dyn_cast<BoolAttr>(attribute.getValue());
  if (!flag)
    return emitMistyped(op, attribute, "true or false");
  bool isPure = false;
  if (auto func = dyn_cast<FuncOp>(op))
    isPure = func.getIsPure();
  else if (isa<ClosureOp>(op)) // which is not verified yet
    isPure = llvm::all_of(op->getResultTypes(), [](Type type) {
      auto func = dyn_cast<FuncStructInfoType>(type);
      return !func || func.getPure();
    });
  else
    return emitMisplaced(op, attribute, "a Relax function");
  if (flag.getValue() && !isPure)
    return op->emitOpError() << "has '" << attribute.getName().getValue()
                             << "', so it has to be pure [WF21]";
  return success();
}

/// Verifies how the memory of a function is planned.
static LogicalResult verifyPlanEachCall(Operation *op,
                                        NamedAttribute attribute) {
  if (!isa<FuncOp>(op))
    return emitMisplaced(op, attribute, "a relax.func");
  if (!isa<BoolAttr>(attribute.getValue()))
    return emitMistyped(op, attribute, "true or false");
  return success();
}

/// Captured values are passed by closures of the module only. The function is
/// not verified yet.
static LogicalResult verifyCaptures(Operation *op, NamedAttribute attribute) {
  auto func = dyn_cast<FuncOp>(op);
  if (!func || func.getSymVisibility().value_or("") != "private")
    return emitMisplaced(op, attribute, "a private relax.func");
  auto count = dyn_cast<IntegerAttr>(attribute.getValue());
  TypeAttr typeAttr = func.getFunctionTypeAttr();
  auto type =
      dyn_cast_or_null<FunctionType>(typeAttr ? typeAttr.getValue() : Type());
  if (!type)
    return success(); // reported as invalid
  if (!count || !count.getType().isInteger(64) || count.getInt() < 0 ||
      count.getInt() > static_cast<int64_t>(type.getNumInputs()))
    return emitMistyped(op, attribute, "a number of arguments");
  return success();
}

/// Verifies the StructInfo that a lowered function keeps as text.
static LogicalResult verifyRuntimeStructInfo(Operation *op,
                                             NamedAttribute attribute) {
  if (!isa<FuncOp>(op))
    return emitMisplaced(op, attribute, "a relax.func");
  if (!isa<StringAttr>(attribute.getValue()))
    return emitMistyped(op, attribute, "a string");
  return success();
}

/// VM09: a list of tensors.
static LogicalResult verifyConstants(Operation *op, NamedAttribute attribute) {
  if (!isa<ModuleOp>(op))
    return emitMisplaced(op, attribute, "a module");
  auto constants = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!constants)
    return emitMistyped(op, attribute, "an array");
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

/// Which classes there are is known where kernels are emitted.
static LogicalResult verifySchedule(Operation *op, NamedAttribute attribute) {
  if (!isa<FunctionOpInterface>(op))
    return emitMisplaced(op, attribute, "a kernel or a function");
  if (!KernelSchedule::isValid(attribute.getValue()))
    return emitMistyped(op, attribute,
                        "{class = \"<name>\"}, with or without tile = "
                        "array<i64: <positive numbers>>");
  return success();
}

LogicalResult RelaxDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  auto verify =
      llvm::StringSwitch<LogicalResult (*)(Operation *, NamedAttribute)>(
          attribute.getName().getValue())
          .Case(GlobalInfoAttrHelper::getNameStr(), verifyGlobalInfo)
          .Case(DeviceMeshesAttrHelper::getNameStr(), verifyDeviceMeshes)
          .Case(ForcePureAttrHelper::getNameStr(), verifyForcePure)
          .Case(PlanEachCallAttrHelper::getNameStr(), verifyPlanEachCall)
          .Case(CapturesAttrHelper::getNameStr(), verifyCaptures)
          .Case(ConstantsAttrHelper::getNameStr(), verifyConstants)
          .Case(RuntimeStructInfoAttrHelper::getNameStr(),
                verifyRuntimeStructInfo)
          .Case(ScheduleAttrHelper::getNameStr(), verifySchedule)
          .Default(nullptr);
  return verify ? verify(op, attribute) : success();
}
