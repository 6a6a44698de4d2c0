//===- RuntimeStructInfo.cpp - StructInfo at run time -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a type as the JSON that relax_runtime.h describes. A variable is
// captured, bound by a function around it, or unknown; dimensions that use an
// unknown one are left out.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::relax;
namespace json = llvm::json;

namespace {
class Writer {
public:
  Writer(ArrayRef<StringRef> captured, DictionaryAttr devices)
      : devices(devices) {
    for (auto [index, name] : llvm::enumerate(captured))
      captures.try_emplace(name, index);
  }

  json::Object write(Type type);

private:
  std::optional<json::Value> writeDim(PrimExprAttr expr);
  std::optional<json::Value> writeDims(ShapeExprAttr shape);
  json::Array writeList(ArrayRef<Type> types);
  json::Object writeShaped(const char *kind, ShapeExprAttr shape, int64_t ndim);
  json::Object writeFunction(FuncStructInfoType type);
  std::optional<json::Value> writeDevice(FlatSymbolRefAttr vdevice);

  DictionaryAttr devices;
  llvm::StringMap<int64_t> captures;
  /// The variables that the enclosing function types bind.
  llvm::StringSet<> bound;
};
} // namespace

std::string mlir::relax::getDataTypeName(Type dtype) {
  if (auto integer = dyn_cast<IntegerType>(dtype)) {
    if (integer.getWidth() == 1)
      return "bool";
    return ((integer.isUnsigned() ? "uint" : "int") + Twine(integer.getWidth()))
        .str();
  }
  unsigned width = dtype.getIntOrFloatBitWidth();
  if (isa<BFloat16Type>(dtype))
    return "bfloat16";
  if (width > 8)
    return ("float" + Twine(width)).str();
  return llvm::TypeSwitch<Type, std::string>(dtype)
      .Case([](Float8E3M4Type) { return "float8_e3m4"; })
      .Case([](Float8E4M3Type) { return "float8_e4m3"; })
      .Case([](Float8E4M3B11FNUZType) { return "float8_e4m3b11fnuz"; })
      .Case([](Float8E4M3FNType) { return "float8_e4m3fn"; })
      .Case([](Float8E4M3FNUZType) { return "float8_e4m3fnuz"; })
      .Case([](Float8E5M2Type) { return "float8_e5m2"; })
      .Case([](Float8E5M2FNUZType) { return "float8_e5m2fnuz"; })
      .Default([](Type) { return "float8_e8m0fnu"; });
}

std::optional<json::Value> Writer::writeDim(PrimExprAttr expr) {
  if (std::optional<int64_t> value = expr.getConstant())
    return json::Value(*value);
  llvm::StringSet<> names;
  collectVars(expr, names);
  SmallVector<StringRef> sorted = llvm::to_vector(names.keys());
  llvm::sort(sorted);
  json::Array vars;
  json::Object captured;
  for (StringRef name : sorted) {
    if (auto it = captures.find(name); it != captures.end())
      captured[name.str()] = it->second;
    else if (bound.contains(name))
      vars.push_back(name.str());
    else
      return std::nullopt;
  }
  if (expr.isVar() && vars.empty())
    return json::Object{{"capture", captures.lookup(expr.getName())}};
  if (expr.isVar())
    return json::Value(expr.getName().str());
  return json::Object{{"expr", expr.str()},
                      {"vars", std::move(vars)},
                      {"captures", std::move(captured)}};
}

std::optional<json::Value> Writer::writeDims(ShapeExprAttr shape) {
  json::Array dims;
  for (PrimExprAttr expr : shape) {
    std::optional<json::Value> dim = writeDim(expr);
    if (!dim)
      return std::nullopt;
    dims.push_back(std::move(*dim));
  }
  return dims;
}

json::Object Writer::writeShaped(const char *kind, ShapeExprAttr shape,
                                 int64_t ndim) {
  json::Object result{{"kind", kind}, {"ndim", ndim}};
  if (shape)
    if (std::optional<json::Value> dims = writeDims(shape))
      result["dims"] = std::move(*dims);
  return result;
}

/// As in DLPack: kind and number. A device that is not known here is left out.
std::optional<json::Value> Writer::writeDevice(FlatSymbolRefAttr vdevice) {
  VDeviceAttr device;
  if (vdevice && devices)
    device = devices.getAs<VDeviceAttr>(vdevice.getAttr());
  std::optional<int32_t> kind;
  if (device)
    kind = getDLDeviceType(device);
  if (!kind)
    return std::nullopt;
  return json::Array{*kind, device.getDevId()};
}

json::Array Writer::writeList(ArrayRef<Type> types) {
  json::Array result;
  for (Type type : types)
    result.push_back(write(type));
  return result;
}

/// The variables of a function are known in its parameters and its result.
json::Object Writer::writeFunction(FuncStructInfoType type) {
  if (type.isPacked())
    return json::Object{{"kind", "packed"}};
  llvm::StringSet<> around = bound;
  for (Type param : type.getParams())
    collectBindingVars(param, bound);
  json::Object result{{"kind", "func"},
                      {"params", writeList(type.getParams())},
                      {"ret", write(type.getRet())},
                      {"pure", type.getPure()}};
  bound = std::move(around);
  return result;
}

json::Object Writer::write(Type type) {
  return llvm::TypeSwitch<Type, json::Object>(type)
      .Case([&](TensorStructInfoType tensor) {
        json::Object result =
            writeShaped("tensor", tensor.getShape(), tensor.getNdim());
        if (Type dtype = tensor.getDtype())
          result["dtype"] = getDataTypeName(dtype);
        if (std::optional<json::Value> device =
                writeDevice(tensor.getVdevice()))
          result["device"] = std::move(*device);
        return result;
      })
      .Case([&](ShapeStructInfoType shape) {
        return writeShaped("shape", shape.getValues(), shape.getNdim());
      })
      .Case([&](PrimStructInfoType prim) {
        json::Object result{{"kind", "prim"},
                            {"dtype", getDataTypeName(prim.getDtype())}};
        if (PrimExprAttr expr = prim.getValue())
          if (std::optional<json::Value> value = writeDim(expr))
            result["value"] = std::move(*value);
        return result;
      })
      .Case([&](TupleStructInfoType tuple) {
        return json::Object{{"kind", "tuple"},
                            {"fields", writeList(tuple.getFields())}};
      })
      .Case([&](FuncStructInfoType func) { return writeFunction(func); })
      .Default([](Type) { return json::Object{{"kind", "object"}}; });
}

std::string mlir::relax::toRuntimeStructInfo(Type type,
                                             ArrayRef<StringRef> captured,
                                             DictionaryAttr devices) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << json::Value(Writer(captured, devices).write(type));
  return text;
}

//===----------------------------------------------------------------------===//
// Variables in function types
//===----------------------------------------------------------------------===//

void mlir::relax::collectFunctionVars(Type type, llvm::StringSet<> &names) {
  AttrTypeWalker inside;
  inside.addWalk([&](PrimExprAttr expr) { collectVars(expr, names); });
  AttrTypeWalker walker;
  walker.addWalk([&](FuncStructInfoType func) { inside.walk(func); });
  walker.walk(type);
}

bool mlir::relax::holdsFunction(Type type) {
  return type.walk([](FuncStructInfoType) { return WalkResult::interrupt(); })
      .wasInterrupted();
}
