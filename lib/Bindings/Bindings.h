//===- Bindings.h - Shared parts of the extension ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_BINDINGS_BINDINGS_H
#define RELAX_MLIR_LIB_BINDINGS_BINDINGS_H

#include "relax-mlir-c/Dialect.h"

#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"
#include "mlir/Bindings/Python/Diagnostics.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include "nanobind/stl/map.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/pair.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/vector.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using mlir::python::CollectDiagnosticsToStringScope;
using mlir::python::nanobind_adaptors::mlir_attribute_subclass;
using mlir::python::nanobind_adaptors::mlir_type_subclass;

/// Adds Facts, and the attributes PrimExpr and ShapeExpr.
void bindAttributes(nb::module_ &m);
/// Adds the types of the dialect, StructInfo.
void bindTypes(nb::module_ &m);

inline MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

inline std::string toString(MlirStringRef text) {
  return std::string(text.data, text.length);
}

/// Yes, no or None.
inline std::optional<bool> toOptional(MlirRelaxTernary answer) {
  if (answer == MlirRelaxTernaryUnknown)
    return std::nullopt;
  return answer == MlirRelaxTernaryYes;
}

/// Makes one type; where that fails, the diagnostics become a ValueError.
template <typename Make> MlirType getChecked(MlirContext context, Make make) {
  CollectDiagnosticsToStringScope diagnostics(context);
  MlirType type = make(mlirLocationUnknownGet(context));
  std::string message = diagnostics.takeMessage();
  if (!mlirTypeIsNull(type))
    return type;
  // The place is always unknown here.
  static const std::string kPlace = "at loc(unknown): ";
  if (message.rfind(kPlace, 0) == 0)
    message.erase(0, kPlace.size());
  // The id of a rule, " [WF10]", is for programs.
  constexpr size_t kRuleSize = 7;
  if (message.size() > kRuleSize && message.back() == ']' &&
      message.compare(message.size() - kRuleSize, 2, " [") == 0)
    message.erase(message.size() - kRuleSize);
  throw nb::value_error(message.c_str());
}

inline void requireContext(MlirContext actual, MlirContext expected) {
  if (!mlirContextEqual(actual, expected))
    throw nb::value_error(
        "expected types and expressions of one context, but got two");
}

inline MlirAttribute orNull(std::optional<MlirAttribute> attr,
                            MlirContext context) {
  if (!attr)
    return {nullptr};
  requireContext(mlirAttributeGetContext(*attr), context);
  return *attr;
}

inline MlirType orNull(std::optional<MlirType> type, MlirContext context) {
  if (!type)
    return {nullptr};
  requireContext(mlirTypeGetContext(*type), context);
  return *type;
}

inline std::optional<MlirAttribute> orNone(MlirAttribute attr) {
  if (mlirAttributeIsNull(attr))
    return std::nullopt;
  return attr;
}

inline std::optional<MlirType> orNone(MlirType type) {
  if (mlirTypeIsNull(type))
    return std::nullopt;
  return type;
}

/// A name, or None for the empty one.
inline std::optional<std::string> nameOrNone(MlirStringRef name) {
  if (name.length == 0)
    return std::nullopt;
  return toString(name);
}

inline void requireShape(std::optional<MlirAttribute> attr) {
  if (attr && !mlirRelaxAttributeIsAShapeExpr(*attr))
    throw nb::value_error("expected a ShapeExpr");
}

inline void requireExpr(MlirAttribute attr) {
  if (!mlirRelaxAttributeIsAPrimExpr(attr))
    throw nb::value_error("expected a PrimExpr");
}

inline void requireExprs(MlirAttribute lhs, MlirAttribute rhs) {
  requireExpr(lhs);
  requireExpr(rhs);
  requireContext(mlirAttributeGetContext(rhs), mlirAttributeGetContext(lhs));
}

inline void requireStructInfo(MlirType type) {
  if (!mlirRelaxTypeIsAStructInfo(type))
    throw nb::value_error("expected StructInfo");
}

inline void requireStructInfo(MlirType lhs, MlirType rhs) {
  requireStructInfo(lhs);
  requireStructInfo(rhs);
  requireContext(mlirTypeGetContext(rhs), mlirTypeGetContext(lhs));
}

inline void requireTypes(const std::vector<MlirType> &types,
                         MlirContext context) {
  for (MlirType type : types)
    requireContext(mlirTypeGetContext(type), context);
}

/// Appends the name to the list at `userData`.
inline void appendName(MlirStringRef name, void *userData) {
  static_cast<std::vector<std::string> *>(userData)->push_back(toString(name));
}

/// Appends text to the string at `userData`.
inline void appendText(MlirStringRef text, void *userData) {
  static_cast<std::string *>(userData)->append(text.data, text.length);
}

inline std::vector<MlirStringRef>
toRefs(const std::vector<std::string> &names) {
  std::vector<MlirStringRef> refs;
  for (const std::string &name : names)
    refs.push_back(toRef(name));
  return refs;
}

template <typename T> struct Bindings {
  explicit Bindings(const std::map<std::string, T> &map) {
    for (const auto &[name, value] : map) {
      names.push_back(toRef(name));
      values.push_back(value);
    }
  }
  std::vector<MlirStringRef> names;
  std::vector<T> values;
};

/// Owns facts. Their expressions are of one context, that of the first one;
/// relax_mlir/core/ir.py keeps the expressions, and so the context, alive
/// meanwhile.
class Facts {
public:
  Facts() : facts(mlirRelaxPrimExprFactsCreate()) {}
  Facts(const Facts &) = delete;
  Facts &operator=(const Facts &) = delete;
  ~Facts() { mlirRelaxPrimExprFactsDestroy(facts); }

  void addBounds(const std::string &name, std::optional<int64_t> lower,
                 std::optional<int64_t> upper) {
    mlirRelaxPrimExprFactsAddBounds(facts, toRef(name),
                                    lower ? &*lower : nullptr,
                                    upper ? &*upper : nullptr);
  }
  void addEqual(MlirAttribute lhs, MlirAttribute rhs) {
    requireSameContext(lhs, rhs);
    mlirRelaxPrimExprFactsAddEqual(facts, lhs, rhs);
  }
  void addLessEqual(MlirAttribute lhs, MlirAttribute rhs) {
    requireSameContext(lhs, rhs);
    mlirRelaxPrimExprFactsAddLessEqual(facts, lhs, rhs);
  }
  /// The facts, for questions about `expr`.
  MlirRelaxPrimExprFacts about(MlirAttribute expr) const {
    return in(mlirAttributeGetContext(expr));
  }
  /// The facts, for questions about two types.
  MlirRelaxPrimExprFacts about(MlirType lhs, MlirType rhs) const {
    requireStructInfo(lhs, rhs);
    return in(mlirTypeGetContext(lhs));
  }

private:
  MlirRelaxPrimExprFacts in(MlirContext other) const {
    if (context)
      requireContext(other, *context);
    return facts;
  }
  void requireSameContext(MlirAttribute lhs, MlirAttribute rhs) {
    requireExprs(lhs, rhs);
    if (!context)
      context = mlirAttributeGetContext(lhs);
    requireContext(mlirAttributeGetContext(lhs), *context);
  }

  MlirRelaxPrimExprFacts facts;
  std::optional<MlirContext> context;
};

#endif // RELAX_MLIR_LIB_BINDINGS_BINDINGS_H
