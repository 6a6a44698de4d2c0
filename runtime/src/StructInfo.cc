//===- StructInfo.cc - StructInfo at run time -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the StructInfo of closures. The text is that of generated
// code or of a caller in Python, so it is checked throughout.
//
//===----------------------------------------------------------------------===//

#include "StructInfo.h"

#include "Dim.h"

#include <tvm/ffi/extra/json.h>

using namespace relax_runtime;

using JsonObject = ffi::json::Object;
using JsonArray = ffi::json::Array;
using Kind = StructInfo::Kind;

static const struct {
  Kind kind;
  const char *name;
} kKinds[] = {{Kind::Object, "object"}, {Kind::Tensor, "tensor"},
              {Kind::Shape, "shape"},   {Kind::Prim, "prim"},
              {Kind::Tuple, "tuple"},   {Kind::Func, "func"},
              {Kind::Packed, "packed"}};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

[[noreturn]] RELAX_COLD static void throwExpected(const std::string &expected,
                                                  const ffi::Any &actual) {
  RELAX_THROW(ValueError) << "StructInfo: expected " << expected << ", but got "
                          << std::string(ffi::json::Stringify(actual));
}

namespace {

class Reader {
public:
  explicit Reader(ffi::ShapeView captured) : captured(captured) {}
  StructInfo read(const ffi::Any &json) const;

private:
  DimExpr readDim(const ffi::Any &json) const;
  DimExpr readExpr(const JsonObject &json) const;
  int64_t readCapture(const ffi::Any &index) const;
  void readDims(const JsonObject &json, StructInfo &info) const;
  std::vector<StructInfo> readList(const ffi::Any &json) const;

  ffi::ShapeView captured;
};

} // namespace

static std::optional<ffi::Any> find(const JsonObject &json, const char *key) {
  return json.Get(ffi::String(key));
}

// Returns the value under a key as a T; none where there is nothing.
template <typename T>
static std::optional<T> find(const JsonObject &json, const char *key,
                             const char *expected) {
  std::optional<ffi::Any> value = find(json, key);
  if (!value)
    return std::nullopt;
  if (std::optional<T> result = value->as<T>())
    return result;
  throwExpected(expected + std::string(" as ") + key, *value);
}

static JsonArray readArray(const ffi::Any &json) {
  if (auto array = json.as<JsonArray>())
    return *array;
  throwExpected("an array", json);
}

static std::string readName(const ffi::Any &json) {
  auto name = json.as<ffi::String>();
  if (name && isIdentifier(std::string(*name)))
    return *name;
  throwExpected("the name of a variable", json);
}

int64_t Reader::readCapture(const ffi::Any &index) const {
  auto i = index.as<int64_t>();
  if (i && *i >= 0 && *i < int64_t(captured.size()))
    return captured[static_cast<size_t>(*i)];
  throwExpected("the index of one of " +
                    countText(captured.size(), "captured dimension"),
                index);
}

static DimExpr constantDim(int64_t value) {
  return DimExpr{value, std::to_string(value), {}};
}

DimExpr Reader::readExpr(const JsonObject &json) const {
  auto text = find<ffi::String>(json, "expr", "a string");
  if (!text)
    throwExpected("a dimension", json);
  std::map<std::string, std::string, std::less<>> values;
  if (auto captures = find<JsonObject>(json, "captures", "an object"))
    for (const auto &[name, index] : *captures) {
      int64_t value = readCapture(index);
      std::string digits = std::to_string(value);
      values[readName(name)] = value < 0 ? "(" + digits + ")" : digits;
    }
  DimExpr dim{std::nullopt, replaceIdentifiers(std::string(*text), values), {}};
  if (auto vars = find<JsonArray>(json, "vars", "an array"))
    for (const ffi::Any &name : *vars)
      dim.vars.push_back(readName(name));
  if (dim.vars.empty())
    if (auto value = parseDim(dim.text, DimMap()).asConstant())
      return constantDim(*value);
  return dim;
}

DimExpr Reader::readDim(const ffi::Any &json) const {
  if (auto value = json.as<int64_t>())
    return constantDim(*value);
  if (json.as<ffi::String>()) {
    std::string name = readName(json);
    return DimExpr{std::nullopt, name, {name}};
  }
  auto object = json.as<JsonObject>();
  if (!object)
    throwExpected("a dimension", json);
  if (auto index = find(*object, "capture"))
    return constantDim(readCapture(*index));
  return readExpr(*object);
}

void Reader::readDims(const JsonObject &json, StructInfo &info) const {
  info.ndim = static_cast<int32_t>(
      find<int64_t>(json, "ndim", "an integer").value_or(-1));
  auto dims = find<JsonArray>(json, "dims", "an array");
  if (!dims)
    return;
  info.dims.emplace();
  for (const ffi::Any &dim : *dims)
    info.dims->push_back(readDim(dim));
  int32_t ndim = static_cast<int32_t>(info.dims->size());
  if (info.ndim != -1 && info.ndim != ndim)
    throwExpected(countText(info.ndim, "dimension"), *dims);
  info.ndim = ndim;
}

std::vector<StructInfo> Reader::readList(const ffi::Any &json) const {
  std::vector<StructInfo> list;
  for (const ffi::Any &item : readArray(json))
    list.push_back(read(item));
  return list;
}

static Kind readKind(const ffi::Any &json) {
  auto object = json.as<JsonObject>();
  auto name = object ? find<ffi::String>(*object, "kind", "a string")
                     : std::optional<ffi::String>();
  for (const auto &entry : kKinds)
    if (name && *name == entry.name)
      return entry.kind;
  throwExpected("an object with a kind", json);
}

static DLDevice readDevice(const ffi::Any &json) {
  JsonArray pair = readArray(json);
  if (pair.size() == 2)
    if (auto type = pair[0].as<int64_t>(), id = pair[1].as<int64_t>();
        type && id)
      return TVMFFIDLDeviceFromIntPair(static_cast<int32_t>(*type),
                                       static_cast<int32_t>(*id));
  throwExpected("the type and the id of a device", json);
}

StructInfo Reader::read(const ffi::Any &json) const {
  StructInfo info;
  info.kind = readKind(json);
  JsonObject object = json.cast<JsonObject>();
  if (auto dtype = find<ffi::String>(object, "dtype", "a string"))
    info.dtype = *dtype;
  readDims(object, info);
  if (auto value = find(object, "value"))
    info.dims = {readDim(*value)};
  if (info.kind == Kind::Prim)
    info.ndim = 1;
  if (auto device = find(object, "device"))
    info.device = readDevice(*device);
  if (auto list = find(object, info.kind == Kind::Func ? "params" : "fields"))
    info.fields = readList(*list);
  if (auto ret = find(object, "ret"))
    info.ret.push_back(read(*ret));
  info.isPure = find<bool>(object, "pure", "true or false").value_or(false);
  return info;
}

// The parser of tvm-ffi goes down with the text, on the stack.
static void checkNesting(std::string_view json) {
  constexpr int kDeepest = 400;
  int depth = 0;
  for (char c : json) {
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kDeepest)
      RELAX_THROW(ValueError)
          << "StructInfo: the text nests deeper than " << kDeepest << " levels";
  }
}

StructInfo StructInfo::parse(const char *json, ffi::ShapeView captured) {
  StructInfo info;
  info.kind = Kind::Func;
  if (!*json)
    return info;
  checkNesting(json);
  ffi::String error;
  ffi::Any value = ffi::json::Parse(json, &error);
  if (!error.empty())
    RELAX_THROW(ValueError) << "StructInfo: " << error;
  return Reader(captured).read(value);
}

//===----------------------------------------------------------------------===//
// Writing as JSON
//===----------------------------------------------------------------------===//

static ffi::Any writeDim(const DimExpr &dim) {
  if (dim.value)
    return *dim.value;
  if (dim.isVar())
    return ffi::String(dim.text);
  JsonArray vars;
  for (const std::string &name : dim.vars)
    vars.push_back(ffi::String(name));
  return JsonObject{{ffi::String("expr"), ffi::String(dim.text)},
                    {ffi::String("vars"), vars}};
}

static ffi::Any write(const StructInfo &info) {
  JsonObject json;
  const auto set = [&json](const char *key, ffi::Any value) {
    json.Set(ffi::String(key), std::move(value));
  };
  for (const auto &entry : kKinds)
    if (entry.kind == info.kind)
      set("kind", ffi::String(entry.name));
  if (info.kind == Kind::Tensor || info.kind == Kind::Shape)
    set("ndim", int64_t(info.ndim));
  if (!info.dtype.empty())
    set("dtype", ffi::String(info.dtype));
  if (info.dims && info.kind == Kind::Prim)
    set("value", writeDim(info.dims->front()));
  else if (info.dims) {
    JsonArray dims;
    for (const DimExpr &dim : *info.dims)
      dims.push_back(writeDim(dim));
    set("dims", dims);
  }
  if (info.device)
    set("device", JsonArray{int64_t(info.device->device_type),
                            int64_t(info.device->device_id)});
  if (info.fields) {
    JsonArray fields;
    for (const StructInfo &field : *info.fields)
      fields.push_back(write(field));
    set(info.kind == Kind::Func ? "params" : "fields", fields);
  }
  if (!info.ret.empty())
    set("ret", write(info.ret.front()));
  if (info.kind == Kind::Func)
    set("pure", info.isPure);
  return json;
}

std::string StructInfo::json() const {
  return ffi::json::Stringify(write(*this));
}

//===----------------------------------------------------------------------===//
// Writing as a type
//===----------------------------------------------------------------------===//

// "f32" for float32.
static std::string dtypeTypeText(const std::string &dtype) {
  static const struct {
    std::string_view name, type;
  } prefixes[] = {{"float8_", "float8_"},
                  {"float", "f"},
                  {"bfloat", "bf"},
                  {"uint", "ui"},
                  {"int", "i"}};
  if (dtype == "bool")
    return "i1";
  for (const auto &prefix : prefixes)
    if (dtype.compare(0, prefix.name.size(), prefix.name) == 0)
      return std::string(prefix.type) + dtype.substr(prefix.name.size());
  return dtype;
}

template <typename List, typename Function>
static std::string join(const List &list, Function text) {
  std::string joined;
  for (const auto &item : list)
    joined += (joined.empty() ? "" : ", ") + text(item);
  return joined;
}

static std::string shapeTypeText(const StructInfo &info) {
  if (info.dims)
    return "[" + join(*info.dims, [](const DimExpr &dim) { return dim.text; }) +
           "]";
  return info.ndim < 0 ? "*" : "ndim = " + std::to_string(info.ndim);
}

static std::string typeOf(const StructInfo &info) { return info.typeText(); }

static std::string funcTypeText(const StructInfo &info) {
  std::string params = info.fields ? join(*info.fields, typeOf) : "...";
  return "!relax.func<(" + params + ") -> " +
         (info.ret.empty() ? "!relax.object" : typeOf(info.ret.front())) +
         (info.isPure ? ", pure>" : ", impure>");
}

std::string StructInfo::typeText() const {
  switch (kind) {
  case Kind::Object:
    return "!relax.object";
  case Kind::Tensor:
    return "!relax.tensor<" + shapeTypeText(*this) +
           (dtype.empty() ? "" : ", " + dtypeTypeText(dtype)) +
           (device ? ", " + deviceText(*device) : "") + ">";
  case Kind::Shape:
    return "!relax.shape<" + shapeTypeText(*this) + ">";
  case Kind::Prim:
    return "!relax.prim<" + (dtype.empty() ? "*" : dtypeTypeText(dtype)) +
           (dims ? ", " + dims->front().text : "") + ">";
  case Kind::Tuple:
    return "!relax.tuple<" + (fields ? join(*fields, typeOf) : "...") + ">";
  case Kind::Func:
    return funcTypeText(*this);
  case Kind::Packed:
    return "a packed function";
  }
  TVM_FFI_UNREACHABLE();
}
