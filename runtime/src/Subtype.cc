//===- Subtype.cc - Whether a closure is what is expected -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The subtype relation of StructInfo (ST02 to ST06). Variables of the expected
// function stand for any value; those of the actual function get the dimension
// at their position in the expected one, and where that is unknown, a value
// which is only equal to itself.
//
//===----------------------------------------------------------------------===//

#include "Dim.h"
#include "StructInfo.h"

using namespace relax_runtime;

using Kind = StructInfo::Kind;

namespace {

// A StructInfo and the values of the variables in it.
struct Scoped {
  const StructInfo &info;
  const DimMap &values;
};

class Subtyping {
public:
  // Whether `sub` is a subtype of `super`; where not, `mismatch` says why.
  bool check(Scoped sub, Scoped super);
  std::optional<Mismatch> mismatch;

private:
  bool checkTensor(Scoped sub, Scoped super);
  bool checkPrim(Scoped sub, Scoped super);
  bool checkDType(const StructInfo &sub, const StructInfo &super);
  bool checkDims(Scoped sub, Scoped super);
  bool checkTuple(Scoped sub, Scoped super);
  bool checkFunc(Scoped sub, Scoped super);
  bool checkSignature(const StructInfo &sub, const StructInfo &super);
  bool checkParams(Scoped sub, Scoped super);

  Dim resolve(const DimExpr &dim, const DimMap &values);
  Dim resolveAt(Scoped shape, size_t index);
  void bindVars(const StructInfo &info, DimMap &values);
  void bindVars(const StructInfo &info, DimMap &values, Scoped other);

  bool checkAt(const std::string &place, Scoped sub, Scoped super);
  bool fail(const char *kind, const std::string &text);
  bool failEqual(const char *kind, const std::string &what,
                 const std::string &sub, const std::string &super);

  std::string path; // "parameter 0: field 1: "
  int64_t lastId = 0;
  // The values of dimensions of known rank that are not known.
  std::map<std::pair<const StructInfo *, size_t>, Dim> unknown;
};

} // namespace

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static constexpr const char *kUnknown = "unknown";

bool Subtyping::fail(const char *kind, const std::string &text) {
  mismatch = Mismatch{kind, path + text};
  return false;
}

// "rank 1 is not 2", "dimension 0: n cannot be shown to be 4".
bool Subtyping::failEqual(const char *kind, const std::string &what,
                          const std::string &sub, const std::string &super) {
  bool isSure = sub != kUnknown;
  return fail(kind, what + " " + sub +
                        (isSure ? " is not " : " cannot be shown to be ") +
                        super);
}

bool Subtyping::checkAt(const std::string &place, Scoped sub, Scoped super) {
  size_t size = path.size();
  path += place + ": ";
  bool holds = check(sub, super);
  path.resize(size);
  return holds;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

// A variable that nothing binds is equal to nothing.
Dim Subtyping::resolve(const DimExpr &dim, const DimMap &values) {
  if (dim.value)
    return Dim::constant(*dim.value);
  DimMap bound;
  for (const std::string &name : dim.vars) {
    auto value = values.find(name);
    bound[name] =
        value == values.end() ? Dim::symbol(name, ++lastId) : value->second;
  }
  return parseDim(dim.text, bound);
}

// The dimension `index` of something of known rank.
Dim Subtyping::resolveAt(Scoped shape, size_t index) {
  if (shape.info.dims)
    return resolve((*shape.info.dims)[index], shape.values);
  auto place = std::make_pair(&shape.info, index);
  auto known = unknown.find(place);
  if (known == unknown.end())
    known = unknown.emplace(place, Dim::symbol(kUnknown, ++lastId)).first;
  return known->second;
}

// Binds the variables that stand alone to values of their own.
void Subtyping::bindVars(const StructInfo &info, DimMap &values) {
  if (info.dims)
    for (const DimExpr &dim : *info.dims)
      if (dim.isVar() && !values.count(dim.text))
        values[dim.text] = Dim::symbol(dim.text, ++lastId);
  if (info.kind == Kind::Tuple && info.fields)
    for (const StructInfo &field : *info.fields)
      bindVars(field, values);
}

// Binds the variables that stand alone to the dimensions at the same position
// in `other`, as far as it has that position.
void Subtyping::bindVars(const StructInfo &info, DimMap &values, Scoped other) {
  if (info.kind != other.info.kind)
    return;
  if (info.dims && other.info.ndim == info.ndim)
    for (size_t i = 0; i < info.dims->size(); ++i) {
      const DimExpr &dim = (*info.dims)[i];
      if (dim.isVar() && !values.count(dim.text))
        values[dim.text] = resolveAt(other, i);
    }
  if (info.kind != Kind::Tuple || !info.fields || !other.info.fields)
    return;
  size_t size = std::min(info.fields->size(), other.info.fields->size());
  for (size_t i = 0; i < size; ++i)
    bindVars((*info.fields)[i], values,
             Scoped{(*other.info.fields)[i], other.values});
}

//===----------------------------------------------------------------------===//
// Tensors, shapes, primitive values, tuples
//===----------------------------------------------------------------------===//

bool Subtyping::checkDType(const StructInfo &sub, const StructInfo &super) {
  if (super.dtype.empty() || sub.dtype == super.dtype)
    return true;
  return failEqual("TypeError", "data type",
                   sub.dtype.empty() ? kUnknown : sub.dtype, super.dtype);
}

bool Subtyping::checkDims(Scoped sub, Scoped super) {
  if (super.info.ndim >= 0 && sub.info.ndim != super.info.ndim)
    return failEqual("ValueError", "rank",
                     sub.info.ndim < 0 ? kUnknown
                                       : std::to_string(sub.info.ndim),
                     std::to_string(super.info.ndim));
  if (!super.info.dims)
    return true;
  for (size_t i = 0; i < super.info.dims->size(); ++i) {
    Dim actual = resolveAt(sub, i), wanted = resolveAt(super, i);
    if (actual == wanted)
      continue;
    bool isSure = actual.asConstant() && wanted.asConstant();
    std::string what = super.info.kind == Kind::Prim
                           ? "value"
                           : "dimension " + std::to_string(i);
    return fail("ValueError",
                what + ": " + actual.text() +
                    (isSure ? " is not " : " cannot be shown to be ") +
                    wanted.text());
  }
  return true;
}

bool Subtyping::checkTensor(Scoped sub, Scoped super) {
  if (!checkDType(sub.info, super.info) || !checkDims(sub, super))
    return false;
  const auto &actual = sub.info.device, &wanted = super.info.device;
  if (!wanted || (actual && actual->device_type == wanted->device_type &&
                  actual->device_id == wanted->device_id))
    return true;
  return failEqual("ValueError", "device",
                   actual ? deviceText(*actual) : kUnknown,
                   deviceText(*wanted));
}

bool Subtyping::checkTuple(Scoped sub, Scoped super) {
  if (!super.info.fields)
    return true;
  if (!sub.info.fields || sub.info.fields->size() != super.info.fields->size())
    return failEqual("ValueError", "number of fields",
                     sub.info.fields ? std::to_string(sub.info.fields->size())
                                     : kUnknown,
                     std::to_string(super.info.fields->size()));
  for (size_t i = 0; i < super.info.fields->size(); ++i)
    if (!checkAt("field " + std::to_string(i),
                 {(*sub.info.fields)[i], sub.values},
                 {(*super.info.fields)[i], super.values}))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// ST06: what needs no dimensions.
bool Subtyping::checkSignature(const StructInfo &sub, const StructInfo &super) {
  if (super.fields &&
      (!sub.fields || sub.fields->size() != super.fields->size()))
    return failEqual("TypeError", "number of parameters",
                     sub.fields ? std::to_string(sub.fields->size()) : kUnknown,
                     std::to_string(super.fields->size()));
  if (super.isPure && !sub.isPure)
    return fail("TypeError", "purity: impure is not pure");
  return true;
}

// Contravariant: what is expected must be accepted.
bool Subtyping::checkParams(Scoped sub, Scoped super) {
  if (!super.info.fields)
    return true;
  for (size_t i = 0; i < super.info.fields->size(); ++i)
    if (!checkAt("parameter " + std::to_string(i),
                 {(*super.info.fields)[i], super.values},
                 {(*sub.info.fields)[i], sub.values}))
      return false;
  return true;
}

bool Subtyping::checkFunc(Scoped sub, Scoped super) {
  if (!checkSignature(sub.info, super.info))
    return false;
  DimMap superValues = super.values, subValues = sub.values;
  if (super.info.fields)
    for (size_t i = 0; i < super.info.fields->size(); ++i)
      bindVars((*super.info.fields)[i], superValues);
  if (super.info.fields)
    for (size_t i = 0; i < super.info.fields->size(); ++i)
      bindVars((*sub.info.fields)[i], subValues,
               {(*super.info.fields)[i], superValues});
  if (!checkParams({sub.info, subValues}, {super.info, superValues}))
    return false;
  static const StructInfo object;
  const auto result = [](const StructInfo &info) -> const StructInfo & {
    return info.ret.empty() ? object : info.ret.front();
  };
  return checkAt("result", {result(sub.info), subValues},
                 {result(super.info), superValues});
}

//===----------------------------------------------------------------------===//
// The relation
//===----------------------------------------------------------------------===//

bool Subtyping::check(Scoped sub, Scoped super) {
  if (super.info.kind == Kind::Object)
    return true;
  if (sub.info.kind != super.info.kind)
    return fail("TypeError", sub.info.typeText() + " is not accepted as " +
                                 super.info.typeText());
  switch (super.info.kind) {
  case Kind::Tensor:
    return checkTensor(sub, super);
  case Kind::Shape:
    return checkDims(sub, super);
  case Kind::Prim:
    return checkDType(sub.info, super.info) && checkDims(sub, super);
  case Kind::Tuple:
    return checkTuple(sub, super);
  case Kind::Func:
    return checkFunc(sub, super);
  default:
    return true;
  }
}

std::optional<Mismatch> relax_runtime::findMismatch(const StructInfo &sub,
                                                    const StructInfo &super) {
  Subtyping subtyping;
  const DimMap none;
  subtyping.check({sub, none}, {super, none});
  return std::move(subtyping.mismatch);
}
