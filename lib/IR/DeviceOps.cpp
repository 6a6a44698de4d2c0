//===- DeviceOps.cpp - Virtual devices -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The devices of a module
//===----------------------------------------------------------------------===//

LogicalResult
VDeviceAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    StringRef, int64_t devId, StringRef memScope) {
  if (devId < 0)
    return emitError() << "expected a device id of 0 or more, but got "
                       << devId;
  if (memScope.empty())
    return emitError() << "expected the name of a memory scope";
  return success();
}

DictionaryAttr mlir::relax::getGlobalInfo(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  return RelaxDialect::GlobalInfoAttrHelper(op->getContext()).getAttr(module);
}

VDeviceAttr mlir::relax::lookupVDevice(Operation *op, FlatSymbolRefAttr name) {
  DictionaryAttr devices = getGlobalInfo(op);
  if (!name || !devices)
    return {};
  return devices.getAs<VDeviceAttr>(name.getAttr());
}

namespace {
/// Reports devices that the module does not list, each name once.
class WF24Verifier {
public:
  explicit WF24Verifier(ModuleOp module)
      : module(module), devices(getGlobalInfo(module)) {}

  void visit(Operation *op) {
    for (Type type : op->getResultTypes())
      visit(op, type);
    for (NamedAttribute attribute : op->getAttrs())
      attribute.getValue().walk(
          [&](TensorStructInfoType type) { check(op, type.getVdevice()); });
    if (auto move = dyn_cast<ToVDeviceOp>(op))
      check(op, move.getVdeviceAttr());
  }

  LogicalResult result = success();

private:
  void visit(Operation *op, Type type) {
    type.walk([&](TensorStructInfoType t) { check(op, t.getVdevice()); });
  }

  void check(Operation *op, FlatSymbolRefAttr name) {
    if (!name || (devices && devices.contains(name.getAttr())) ||
        !reported.insert(name.getValue()).second)
      return;
    result = failure();
    InFlightDiagnostic diag =
        op->emitOpError() << "names virtual device " << name
                          << ", which is not listed in '"
                          << RelaxDialect::GlobalInfoAttrHelper::getNameStr()
                          << "' [WF24]";
    Diagnostic &note = diag.attachNote(module.getLoc());
    if (!devices || devices.empty()) {
      note << "the module lists no virtual devices";
      return;
    }
    note << "the module lists ";
    llvm::interleaveComma(devices, note, [&](NamedAttribute device) {
      note << '@' << device.getName().getValue();
    });
  }

  ModuleOp module;
  DictionaryAttr devices;
  llvm::StringSet<> reported;
};
} // namespace

LogicalResult mlir::relax::verifyVDevices(ModuleOp module) {
  LogicalResult result = success();
  for (Operation &function : *module.getBody()) {
    WF24Verifier verifier(module);
    function.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { verifier.visit(op); });
    if (failed(verifier.result))
      result = failure();
  }
  return result;
}

/// The kind in a target: the first word of a tag or of options, or what a
/// configuration in JSON says.
static std::string getTargetKind(StringRef target) {
  target = target.trim();
  if (!target.starts_with("{"))
    return target.take_until([](char c) { return c == ' '; }).str();
  llvm::Expected<llvm::json::Value> config = llvm::json::parse(target);
  if (!config) {
    llvm::consumeError(config.takeError());
    return target.str();
  }
  const llvm::json::Object *object = config->getAsObject();
  std::optional<llvm::StringRef> kind =
      object ? object->getString("kind") : std::nullopt;
  return kind ? kind->str() : target.str();
}

std::optional<int32_t> mlir::relax::getDLDeviceType(VDeviceAttr device) {
  constexpr int32_t kDLCPU = 1, kDLCUDA = 2, kDLOpenCL = 4;
  return llvm::StringSwitch<std::optional<int32_t>>(
             getTargetKind(device.getTarget()))
      .Cases({"", "llvm", "c", "cpu"}, kDLCPU)
      .Case("cuda", kDLCUDA)
      .Case("opencl", kDLOpenCL)
      .Default(std::nullopt);
}

VDeviceAttr mlir::relax::getKernelDevice(Operation *kernel) {
  return dyn_cast_or_null<VDeviceAttr>(
      RelaxDialect::DeviceAttrHelper(kernel->getContext()).getAttr(kernel));
}

//===----------------------------------------------------------------------===//
// Devices in types
//===----------------------------------------------------------------------===//

static Type withVDevice(TensorStructInfoType tensor,
                        FlatSymbolRefAttr vdevice) {
  return TensorStructInfoType::get(tensor.getContext(), tensor.getShape(),
                                   tensor.getNdim(), tensor.getDtype(), vdevice,
                                   tensor.getShapeVar(), tensor.getSharding());
}

Type mlir::relax::moveToVDevice(Type type, FlatSymbolRefAttr vdevice) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return withVDevice(tensor, vdevice);
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  if (!tuple)
    return {};
  SmallVector<Type> fields;
  for (Type field : tuple.getFields()) {
    fields.push_back(moveToVDevice(field, vdevice));
    if (!fields.back())
      return {};
  }
  return TupleStructInfoType::get(type.getContext(), fields);
}

using MapTensorFn = llvm::function_ref<Type(TensorStructInfoType)>;
using ZipTensorFn =
    llvm::function_ref<Type(TensorStructInfoType, TensorStructInfoType)>;

/// Replaces each tensor of a type.
static Type mapTensors(Type type, MapTensorFn map) {
  auto mapAll = [&](ArrayRef<Type> types) {
    return llvm::map_to_vector(types,
                               [&](Type t) { return mapTensors(t, map); });
  };
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return map(tensor);
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    return TupleStructInfoType::get(type.getContext(),
                                    mapAll(tuple.getFields()));
  auto func = dyn_cast<FuncStructInfoType>(type);
  if (!func || func.isPacked())
    return type;
  return FuncStructInfoType::get(
      mapAll(func.getParams()), mapTensors(func.getRet(), map), func.getPure());
}

/// Replaces each tensor of `type` that `like` has a tensor at the place of.
static Type zipTensors(Type type, Type like, ZipTensorFn map) {
  auto zipAll = [&](ArrayRef<Type> types, ArrayRef<Type> likes) {
    SmallVector<Type> result;
    for (auto [l, r] : llvm::zip(types, likes))
      result.push_back(zipTensors(l, r, map));
    return result;
  };
  if (type.getTypeID() != like.getTypeID())
    return type;
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return map(tensor, cast<TensorStructInfoType>(like));
  if (auto tuple = dyn_cast<TupleStructInfoType>(type)) {
    ArrayRef<Type> fields = cast<TupleStructInfoType>(like).getFields();
    if (tuple.getFields().size() != fields.size())
      return type;
    return TupleStructInfoType::get(type.getContext(),
                                    zipAll(tuple.getFields(), fields));
  }
  auto func = dyn_cast<FuncStructInfoType>(type);
  if (!func)
    return type;
  auto other = cast<FuncStructInfoType>(like);
  if (func.isPacked() || other.isPacked() ||
      func.getParams().size() != other.getParams().size())
    return type;
  return FuncStructInfoType::get(zipAll(func.getParams(), other.getParams()),
                                 zipTensors(func.getRet(), other.getRet(), map),
                                 func.getPure());
}

Type mlir::relax::eraseVDevices(Type type) {
  return mapTensors(type, [](TensorStructInfoType tensor) {
    return withVDevice(tensor, FlatSymbolRefAttr());
  });
}

Type mlir::relax::fillVDevices(Type type, Type like) {
  return zipTensors(
      type, like,
      [](TensorStructInfoType tensor, TensorStructInfoType other) -> Type {
        return tensor.getVdevice() ? Type(tensor)
                                   : withVDevice(tensor, other.getVdevice());
      });
}

Type mlir::relax::fillVDevices(Type type, FlatSymbolRefAttr vdevice) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return tensor.getVdevice() ? type : withVDevice(tensor, vdevice);
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    return TupleStructInfoType::get(
        type.getContext(), llvm::map_to_vector(tuple.getFields(), [&](Type t) {
          return fillVDevices(t, vdevice);
        }));
  auto func = dyn_cast<FuncStructInfoType>(type);
  if (!func || func.isPacked())
    return type;
  return FuncStructInfoType::get(
      func.getParams(), fillVDevices(func.getRet(), vdevice), func.getPure());
}

std::optional<VDeviceConflict> mlir::relax::findVDeviceConflict(Type type,
                                                                Type like) {
  std::optional<VDeviceConflict> conflict;
  zipTensors(
      type, like,
      [&](TensorStructInfoType tensor, TensorStructInfoType other) -> Type {
        if (!conflict && tensor.getVdevice() && other.getVdevice() &&
            tensor.getVdevice() != other.getVdevice())
          conflict = {tensor.getVdevice(), other.getVdevice()};
        return tensor;
      });
  return conflict;
}

bool mlir::relax::hasOpenVDevice(Type type) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return !tensor.getVdevice();
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  return tuple && llvm::any_of(tuple.getFields(), hasOpenVDevice);
}

Ternary mlir::relax::isSubtypeBeforeRealize(Type sub, Type super) {
  return isSubtype(fillVDevices(sub, super), super);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static LogicalResult cannotMove(OptionalLoc loc, Type type) {
  return inferError(loc, "expected a tensor, or a tuple of tensors, but got ",
                    type);
}

/// The device is known once the module is available: `relax-realize-vdevice`.
LogicalResult HintOnDeviceOp::inferReturnTypes(MLIRContext *, OptionalLoc loc,
                                               Adaptor adaptor,
                                               InferredTypes &results) {
  Type type = adaptor.getData().getType();
  Type moved = moveToVDevice(type, FlatSymbolRefAttr());
  if (!moved)
    return cannotMove(loc, type);
  results.push_back(moved);
  return success();
}

LogicalResult ToVDeviceOp::inferReturnTypes(MLIRContext *, OptionalLoc loc,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  Type type = adaptor.getData().getType();
  Type moved = moveToVDevice(type, adaptor.getVdeviceAttr());
  if (!moved)
    return cannotMove(loc, type);
  results.push_back(moved);
  return success();
}
