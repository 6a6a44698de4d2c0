//===- RelaxModule.cpp - The Python extension -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types and attributes of the dialect as subclasses of mlir.ir.Type and
// mlir.ir.Attribute, with their accessors and a static method `get` that takes
// attributes and types only. relax_mlir/ir.py derives the public classes, whose
// constructors take Python values. Wrong input is a ValueError.
//
//===----------------------------------------------------------------------===//

#include "Native.h"

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

namespace {

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

std::string toString(MlirStringRef text) {
  return std::string(text.data, text.length);
}

/// Yes, no or None.
std::optional<bool> toOptional(MlirRelaxTernary answer) {
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
  throw nb::value_error(message.c_str());
}

void requireContext(MlirContext actual, MlirContext expected) {
  if (!mlirContextEqual(actual, expected))
    throw nb::value_error(
        "expected types and expressions of one context, but got two");
}

MlirAttribute orNull(std::optional<MlirAttribute> attr, MlirContext context) {
  if (!attr)
    return {nullptr};
  requireContext(mlirAttributeGetContext(*attr), context);
  return *attr;
}

MlirType orNull(std::optional<MlirType> type, MlirContext context) {
  if (!type)
    return {nullptr};
  requireContext(mlirTypeGetContext(*type), context);
  return *type;
}

std::optional<MlirAttribute> orNone(MlirAttribute attr) {
  if (mlirAttributeIsNull(attr))
    return std::nullopt;
  return attr;
}

std::optional<MlirType> orNone(MlirType type) {
  if (mlirTypeIsNull(type))
    return std::nullopt;
  return type;
}

/// A name, or None for the empty one.
std::optional<std::string> nameOrNone(MlirStringRef name) {
  if (name.length == 0)
    return std::nullopt;
  return toString(name);
}

void requireShape(std::optional<MlirAttribute> attr) {
  if (attr && !mlirRelaxAttributeIsAShapeExpr(*attr))
    throw nb::value_error("expected a ShapeExpr");
}

void requireExpr(MlirAttribute attr) {
  if (!mlirRelaxAttributeIsAPrimExpr(attr))
    throw nb::value_error("expected a PrimExpr");
}

void requireExprs(MlirAttribute lhs, MlirAttribute rhs) {
  requireExpr(lhs);
  requireExpr(rhs);
  requireContext(mlirAttributeGetContext(rhs), mlirAttributeGetContext(lhs));
}

void requireStructInfo(MlirType type) {
  if (!mlirRelaxTypeIsAStructInfo(type))
    throw nb::value_error("expected StructInfo");
}

void requireStructInfo(MlirType lhs, MlirType rhs) {
  requireStructInfo(lhs);
  requireStructInfo(rhs);
  requireContext(mlirTypeGetContext(rhs), mlirTypeGetContext(lhs));
}

void requireTypes(const std::vector<MlirType> &types, MlirContext context) {
  for (MlirType type : types)
    requireContext(mlirTypeGetContext(type), context);
}

/// Appends the name to the list at `userData`.
void appendName(MlirStringRef name, void *userData) {
  static_cast<std::vector<std::string> *>(userData)->push_back(toString(name));
}

/// Appends text to the string at `userData`.
void appendText(MlirStringRef text, void *userData) {
  static_cast<std::string *>(userData)->append(text.data, text.length);
}

std::vector<MlirStringRef> toRefs(const std::vector<std::string> &names) {
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

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// Takes the errors that are reported in a context, until it is finished. What
/// operations are called may be any bytes, so messages are, too.
class ErrorCollector {
public:
  explicit ErrorCollector(MlirContext context) : context(context) {
    handler = mlirContextAttachDiagnosticHandler(context, &collect, this,
                                                 /*deleteUserData=*/nullptr);
  }
  ErrorCollector(const ErrorCollector &) = delete;
  ErrorCollector &operator=(const ErrorCollector &) = delete;
  ~ErrorCollector() { detach(); }

  /// What was collected: (message, location, notes), notes likewise.
  nb::list finish() {
    detach();
    return toList(errors);
  }

private:
  struct Diagnostic {
    std::string message;
    MlirLocation location;
    std::vector<Diagnostic> notes;
  };

  void detach() {
    if (isAttached)
      mlirContextDetachDiagnosticHandler(context, handler);
    isAttached = false;
  }

  static Diagnostic read(MlirDiagnostic diagnostic) {
    Diagnostic result;
    mlirDiagnosticPrint(
        diagnostic,
        [](MlirStringRef part, void *data) {
          static_cast<std::string *>(data)->append(part.data, part.length);
        },
        &result.message);
    result.location = mlirDiagnosticGetLocation(diagnostic);
    for (intptr_t i = 0, e = mlirDiagnosticGetNumNotes(diagnostic); i < e; ++i)
      result.notes.push_back(read(mlirDiagnosticGetNote(diagnostic, i)));
    return result;
  }

  static MlirLogicalResult collect(MlirDiagnostic diagnostic, void *self) {
    if (mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError)
      return mlirLogicalResultFailure(); // for other handlers
    static_cast<ErrorCollector *>(self)->errors.push_back(read(diagnostic));
    return mlirLogicalResultSuccess();
  }

  static nb::list toList(const std::vector<Diagnostic> &diagnostics) {
    nb::list result;
    for (const Diagnostic &diagnostic : diagnostics)
      result.append(nb::make_tuple(
          nb::steal(PyUnicode_DecodeUTF8(diagnostic.message.data(),
                                         diagnostic.message.size(),
                                         "backslashreplace")),
          diagnostic.location, toList(diagnostic.notes)));
    return result;
  }

  MlirContext context;
  MlirDiagnosticHandlerID handler;
  bool isAttached = true;
  std::vector<Diagnostic> errors;
};

void bindDiagnostics(nb::module_ &m) {
  nb::class_<ErrorCollector>(m, "ErrorCollector")
      .def(nb::init<MlirContext>(), nb::arg("context"), nb::keep_alive<1, 2>())
      .def("finish", &ErrorCollector::finish);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const char *const kKindNames[] = {"var", "int", "add", "mul",    "floordiv",
                                  "mod", "min", "max", "select", "not",
                                  "and", "or",  "eq",  "lt",     "le"};

std::string exprText(MlirAttribute self) {
  std::string text;
  mlirRelaxPrimExprPrint(
      self,
      [](MlirStringRef part, void *data) {
        static_cast<std::string *>(data)->append(part.data, part.length);
      },
      &text);
  return text;
}

std::vector<MlirAttribute> exprOperands(MlirAttribute self) {
  std::vector<MlirAttribute> operands;
  for (intptr_t i = 0, e = mlirRelaxPrimExprGetNumOperands(self); i < e; ++i)
    operands.push_back(mlirRelaxPrimExprGetOperand(self, i));
  return operands;
}

std::vector<std::string> exprVars(MlirAttribute self) {
  std::vector<std::string> names;
  mlirRelaxPrimExprCollectVars(self, appendName, &names);
  return names;
}

bool isConstant(MlirAttribute expr, int64_t value) {
  return mlirRelaxPrimExprGetKind(expr) == MlirRelaxPrimExprInt &&
         mlirRelaxPrimExprGetInt(expr) == value;
}

/// An expression that was made; an error where it would be beyond the limits.
MlirAttribute requireBounded(MlirAttribute expr) {
  if (!mlirAttributeIsNull(expr))
    return expr;
  throw nb::value_error(
      ("expected an expression nested at most " +
       std::to_string(MLIR_RELAX_PRIM_EXPR_MAX_DEPTH) + " deep, with at most " +
       std::to_string(MLIR_RELAX_PRIM_EXPR_MAX_SIZE) + " nodes")
          .c_str());
}

/// An operation of two expressions, by the name of its kind; null where the
/// result is too large.
MlirAttribute binaryOrNull(const std::string &kind, MlirAttribute lhs,
                           MlirAttribute rhs) {
  requireExprs(lhs, rhs);
  if ((kind == "floordiv" || kind == "mod") && isConstant(rhs, 0)) {
    PyErr_SetString(PyExc_ZeroDivisionError, "expected a divisor other than 0");
    throw nb::python_error();
  }
  if (kind == "add")
    return mlirRelaxPrimExprAddGet(lhs, rhs);
  if (kind == "sub")
    return mlirRelaxPrimExprSubGet(lhs, rhs);
  if (kind == "mul")
    return mlirRelaxPrimExprMulGet(lhs, rhs);
  if (kind == "floordiv")
    return mlirRelaxPrimExprFloorDivGet(lhs, rhs);
  if (kind == "mod")
    return mlirRelaxPrimExprModGet(lhs, rhs);
  throw nb::value_error(("unknown operation '" + kind + "'").c_str());
}

MlirAttribute exprBinary(const std::string &kind, MlirAttribute lhs,
                         MlirAttribute rhs) {
  return requireBounded(binaryOrNull(kind, lhs, rhs));
}

MlirAttribute exprCall(const std::string &kind,
                       const std::vector<MlirAttribute> &operands) {
  for (MlirAttribute operand : operands)
    requireExprs(operands.front(), operand);
  for (int i = MlirRelaxPrimExprMin; i <= MlirRelaxPrimExprLe; ++i) {
    if (kind != kKindNames[i])
      continue;
    auto known = static_cast<MlirRelaxPrimExprKind>(i);
    if (static_cast<intptr_t>(operands.size()) !=
        mlirRelaxPrimExprGetArity(known))
      break;
    return requireBounded(
        mlirRelaxPrimExprCallGet(known, operands.size(), operands.data()));
  }
  throw nb::value_error(
      ("'" + kind + "' is not an operation of so many operands").c_str());
}

std::optional<int64_t> exprEvaluate(MlirAttribute self,
                                    const std::map<std::string, int64_t> &map) {
  Bindings<int64_t> bindings(map);
  int64_t result;
  if (mlirRelaxPrimExprEvaluate(self, bindings.names.size(),
                                bindings.names.data(), bindings.values.data(),
                                &result))
    return result;
  return std::nullopt;
}

MlirAttribute exprSubstitute(MlirAttribute self,
                             const std::map<std::string, MlirAttribute> &map) {
  for (const auto &entry : map)
    requireExprs(self, entry.second);
  Bindings<MlirAttribute> bindings(map);
  return requireBounded(mlirRelaxPrimExprSubstitute(self, bindings.names.size(),
                                                    bindings.names.data(),
                                                    bindings.values.data()));
}

/// Owns facts. Their expressions are of one context, that of the first one;
/// relax_mlir/ir.py keeps the expressions, and so the context, alive meanwhile.
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

/// The facts where an operation stands: bounds by name, then pairs that are
/// equal, then pairs of which the first is at most the second.
nb::tuple collectFacts(MlirOperation op) {
  struct Lists {
    nb::dict bounds;
    nb::list equal, lessEqual;
  } lists;
  MlirRelaxPrimExprFacts facts = mlirRelaxCollectFacts(op);
  mlirRelaxPrimExprFactsVisit(
      facts,
      [](MlirStringRef name, const int64_t *lower, const int64_t *upper,
         void *data) {
        auto end = [](const int64_t *value) -> nb::object {
          return value ? nb::cast(*value) : nb::none();
        };
        static_cast<Lists *>(data)->bounds[nb::str(name.data, name.length)] =
            nb::make_tuple(end(lower), end(upper));
      },
      [](MlirAttribute lhs, MlirAttribute rhs, bool isEquality, void *data) {
        auto *lists = static_cast<Lists *>(data);
        (isEquality ? lists->equal : lists->lessEqual)
            .append(nb::make_tuple(lhs, rhs));
      },
      &lists);
  mlirRelaxPrimExprFactsDestroy(facts);
  return nb::make_tuple(lists.bounds, lists.equal, lists.lessEqual);
}

void bindFacts(nb::module_ &m) {
  m.def("collect_facts", &collectFacts, nb::arg("op"));
  nb::class_<Facts>(m, "PrimExprFacts")
      .def(nb::init<>())
      .def("add_bounds", &Facts::addBounds, nb::arg("name"),
           nb::arg("lower").none(), nb::arg("upper").none())
      .def("add_equal", &Facts::addEqual, nb::arg("lhs"), nb::arg("rhs"))
      .def("add_less_equal", &Facts::addLessEqual, nb::arg("lhs"),
           nb::arg("rhs"));
}

void bindPrimExpr(nb::module_ &m) {
  mlir_attribute_subclass cls(m, "PrimExpr", mlirRelaxAttributeIsAPrimExpr);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxPrimExprGetTypeID);
  cls.def_staticmethod(
      "get_var",
      [](const std::string &name, MlirContext context) {
        return mlirRelaxPrimExprVarGet(context, toRef(name));
      },
      nb::arg("name"), nb::arg("context"));
  cls.def_staticmethod(
      "get_int",
      [](int64_t value, MlirContext context) {
        return mlirRelaxPrimExprIntGet(context, value);
      },
      nb::arg("value"), nb::arg("context"));
  cls.def_staticmethod("get_binary", &exprBinary, nb::arg("kind"),
                       nb::arg("lhs"), nb::arg("rhs"));
  cls.def_staticmethod("get_call", &exprCall, nb::arg("kind"),
                       nb::arg("operands"));
  cls.def_property_readonly("kind", [](MlirAttribute self) {
    return std::string(kKindNames[mlirRelaxPrimExprGetKind(self)]);
  });
  cls.def_property_readonly(
      "value", [](MlirAttribute self) -> std::optional<int64_t> {
        if (mlirRelaxPrimExprGetKind(self) != MlirRelaxPrimExprInt)
          return std::nullopt;
        return mlirRelaxPrimExprGetInt(self);
      });
  cls.def_property_readonly(
      "name", [](MlirAttribute self) -> std::optional<std::string> {
        if (mlirRelaxPrimExprGetKind(self) != MlirRelaxPrimExprVar)
          return std::nullopt;
        return toString(mlirRelaxPrimExprGetName(self));
      });
  cls.def_property_readonly("operands", &exprOperands);
  cls.def_property_readonly("variables", &exprVars);
  cls.def_property_readonly("text", &exprText);
  cls.def("_prove_equal",
          [](MlirAttribute self, MlirAttribute other, const Facts &facts) {
            requireExprs(self, other);
            return toOptional(mlirRelaxPrimExprProveEqualUnder(
                self, other, facts.about(self)));
          });
  cls.def("_prove_less_equal",
          [](MlirAttribute self, MlirAttribute other, const Facts &facts) {
            requireExprs(self, other);
            return toOptional(mlirRelaxPrimExprProveLessEqual(
                self, other, facts.about(self)));
          });
  cls.def("_simplify", [](MlirAttribute self, const Facts &facts) {
    return mlirRelaxPrimExprSimplify(self, facts.about(self));
  });
  cls.def("_evaluate", &exprEvaluate);
  cls.def("_substitute", &exprSubstitute);
}

std::vector<MlirAttribute> shapeDims(MlirAttribute self) {
  std::vector<MlirAttribute> dims;
  for (intptr_t i = 0, e = mlirRelaxShapeExprGetNumDims(self); i < e; ++i)
    dims.push_back(mlirRelaxShapeExprGetDim(self, i));
  return dims;
}

void bindShapeExpr(nb::module_ &m) {
  mlir_attribute_subclass cls(m, "ShapeExpr", mlirRelaxAttributeIsAShapeExpr);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxShapeExprGetTypeID);
  cls.def_staticmethod(
      "get",
      [](const std::vector<MlirAttribute> &dims, MlirContext context) {
        for (MlirAttribute dim : dims) {
          requireExpr(dim);
          requireContext(mlirAttributeGetContext(dim), context);
        }
        return mlirRelaxShapeExprGet(context, dims.size(), dims.data());
      },
      nb::arg("dims"), nb::arg("context"));
  cls.def_property_readonly("dims", &shapeDims);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

void bindObject(nb::module_ &m) {
  mlir_type_subclass cls(m, "ObjectStructInfo",
                         mlirRelaxTypeIsAObjectStructInfo);
  cls.def_staticmethod("get_static_typeid",
                       &mlirRelaxObjectStructInfoGetTypeID);
  cls.def_staticmethod("get", &mlirRelaxObjectStructInfoGet,
                       nb::arg("context"));
}

MlirType getTensor(std::optional<MlirAttribute> shape, int64_t ndim,
                   std::optional<MlirType> dtype, const std::string &vdevice,
                   const std::string &shapeVar, MlirContext context) {
  requireShape(shape);
  return getChecked(context, [&](MlirLocation loc) {
    return mlirRelaxTensorStructInfoGetChecked(loc, orNull(shape, context),
                                               ndim, orNull(dtype, context),
                                               toRef(vdevice), toRef(shapeVar));
  });
}

void bindTensor(nb::module_ &m) {
  mlir_type_subclass cls(m, "TensorStructInfo",
                         mlirRelaxTypeIsATensorStructInfo);
  cls.def_staticmethod("get_static_typeid",
                       &mlirRelaxTensorStructInfoGetTypeID);
  cls.def_staticmethod("get", &getTensor, nb::arg("shape").none(),
                       nb::arg("ndim"), nb::arg("dtype").none(),
                       nb::arg("vdevice"), nb::arg("shape_var"),
                       nb::arg("context"));
  cls.def_property_readonly("shape", [](MlirType self) {
    return orNone(mlirRelaxTensorStructInfoGetShape(self));
  });
  cls.def_property_readonly("ndim", &mlirRelaxTensorStructInfoGetNdim);
  cls.def_property_readonly("element_type", [](MlirType self) {
    return orNone(mlirRelaxTensorStructInfoGetDtype(self));
  });
  cls.def_property_readonly("vdevice", [](MlirType self) {
    return nameOrNone(mlirRelaxTensorStructInfoGetVDevice(self));
  });
  cls.def_property_readonly("shape_var", [](MlirType self) {
    return nameOrNone(mlirRelaxTensorStructInfoGetShapeVar(self));
  });
}

void bindShape(nb::module_ &m) {
  mlir_type_subclass cls(m, "ShapeStructInfo", mlirRelaxTypeIsAShapeStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxShapeStructInfoGetTypeID);
  cls.def_staticmethod(
      "get",
      [](std::optional<MlirAttribute> values, int64_t ndim,
         const std::string &var, MlirContext context) {
        requireShape(values);
        return getChecked(context, [&](MlirLocation loc) {
          return mlirRelaxShapeStructInfoGetChecked(
              loc, orNull(values, context), ndim, toRef(var));
        });
      },
      nb::arg("values").none(), nb::arg("ndim"), nb::arg("var"),
      nb::arg("context"));
  cls.def_property_readonly("values", [](MlirType self) {
    return orNone(mlirRelaxShapeStructInfoGetValues(self));
  });
  cls.def_property_readonly("ndim", &mlirRelaxShapeStructInfoGetNdim);
  cls.def_property_readonly("var", [](MlirType self) {
    return nameOrNone(mlirRelaxShapeStructInfoGetVar(self));
  });
}

void bindPrim(nb::module_ &m) {
  mlir_type_subclass cls(m, "PrimStructInfo", mlirRelaxTypeIsAPrimStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxPrimStructInfoGetTypeID);
  cls.def_staticmethod(
      "get",
      [](MlirType dtype, std::optional<MlirAttribute> value) {
        MlirContext context = mlirTypeGetContext(dtype);
        if (value)
          requireExpr(*value);
        return getChecked(context, [&](MlirLocation loc) {
          return mlirRelaxPrimStructInfoGetChecked(loc, dtype,
                                                   orNull(value, context));
        });
      },
      nb::arg("dtype"), nb::arg("value").none());
  cls.def_property_readonly("element_type", &mlirRelaxPrimStructInfoGetDtype);
  cls.def_property_readonly("value", [](MlirType self) {
    return orNone(mlirRelaxPrimStructInfoGetValue(self));
  });
}

std::vector<MlirType> tupleFields(MlirType self) {
  std::vector<MlirType> fields;
  for (intptr_t i = 0, e = mlirRelaxTupleStructInfoGetNumFields(self); i < e;
       ++i)
    fields.push_back(mlirRelaxTupleStructInfoGetField(self, i));
  return fields;
}

void bindTuple(nb::module_ &m) {
  mlir_type_subclass cls(m, "TupleStructInfo", mlirRelaxTypeIsATupleStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxTupleStructInfoGetTypeID);
  cls.def_staticmethod(
      "get",
      [](const std::vector<MlirType> &fields, MlirContext context) {
        requireTypes(fields, context);
        return getChecked(context, [&](MlirLocation loc) {
          return mlirRelaxTupleStructInfoGetChecked(loc, fields.size(),
                                                    fields.data());
        });
      },
      nb::arg("fields"), nb::arg("context"));
  cls.def_property_readonly("fields", &tupleFields);
}

std::vector<MlirType> funcParams(MlirType self) {
  std::vector<MlirType> params;
  for (intptr_t i = 0, e = mlirRelaxFuncStructInfoGetNumParams(self); i < e;
       ++i)
    params.push_back(mlirRelaxFuncStructInfoGetParam(self, i));
  return params;
}

MlirType getFunc(const std::vector<MlirType> &params, MlirType ret,
                 bool isPure) {
  MlirContext context = mlirTypeGetContext(ret);
  requireTypes(params, context);
  return getChecked(context, [&](MlirLocation loc) {
    return mlirRelaxFuncStructInfoGetChecked(loc, params.size(), params.data(),
                                             ret, isPure);
  });
}

void bindFunc(nb::module_ &m) {
  mlir_type_subclass cls(m, "FuncStructInfo", mlirRelaxTypeIsAFuncStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxFuncStructInfoGetTypeID);
  cls.def_staticmethod("get", &getFunc, nb::arg("params"), nb::arg("ret"),
                       nb::arg("is_pure"));
  cls.def_staticmethod(
      "get_packed",
      [](const std::string &derive, MlirContext context) {
        return mlirRelaxFuncStructInfoPackedGet(context, toRef(derive));
      },
      nb::arg("derive"), nb::arg("context"));
  cls.def_property_readonly("params", &funcParams);
  cls.def_property_readonly("ret", &mlirRelaxFuncStructInfoGetResult);
  cls.def_property_readonly("is_pure", &mlirRelaxFuncStructInfoIsPure);
  cls.def_property_readonly("derive", [](MlirType self) {
    return nameOrNone(mlirRelaxFuncStructInfoGetDerive(self));
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

MlirType eraseToWellDefined(MlirType type,
                            const std::vector<std::string> &shapeVars,
                            const std::vector<std::string> &dimVars) {
  requireStructInfo(type);
  std::vector<MlirStringRef> shapes = toRefs(shapeVars), dims = toRefs(dimVars);
  return mlirRelaxEraseToWellDefined(type, shapes.size(), shapes.data(),
                                     dims.size(), dims.data());
}

/// Values are PrimExpr, ShapeExpr or names.
MlirType substitute(MlirType type,
                    const std::map<std::string, MlirAttribute> &map) {
  requireStructInfo(type);
  for (const auto &[name, value] : map) {
    requireContext(mlirAttributeGetContext(value), mlirTypeGetContext(type));
    if (!mlirRelaxAttributeIsAPrimExpr(value) &&
        !mlirRelaxAttributeIsAShapeExpr(value) &&
        !mlirAttributeIsAString(value))
      throw nb::value_error("expected a PrimExpr, a ShapeExpr or a name");
  }
  Bindings<MlirAttribute> bindings(map);
  return mlirRelaxSubstitute(type, bindings.names.size(), bindings.names.data(),
                             bindings.values.data());
}

std::map<std::string, MlirAttribute> getShapeVarMapping(MlirType formal,
                                                        MlirType actual) {
  requireStructInfo(formal, actual);
  std::map<std::string, MlirAttribute> map;
  mlirRelaxGetShapeVarMapping(
      formal, actual,
      [](MlirStringRef name, MlirAttribute value, void *userData) {
        auto &map =
            *static_cast<std::map<std::string, MlirAttribute> *>(userData);
        map.emplace(toString(name), value);
      },
      &map);
  return map;
}

std::vector<std::string> bindingVars(MlirType type) {
  requireStructInfo(type);
  std::vector<std::string> names;
  mlirRelaxCollectBindingVars(type, appendName, &names);
  return names;
}

/// The type of a call, and the arguments that are possibly of the type
/// expected.
using DerivedCall =
    std::pair<MlirType, std::vector<std::pair<intptr_t, MlirType>>>;

DerivedCall deriveCallResult(MlirType callee,
                             const std::vector<MlirType> &arguments) {
  if (!mlirRelaxTypeIsAFuncStructInfo(callee))
    throw nb::value_error("expected a FuncStructInfo");
  for (MlirType argument : arguments)
    requireStructInfo(callee, argument);
  if (mlirRelaxFuncStructInfoGetDerive(callee).length != 0)
    return {mlirRelaxFuncStructInfoGetResult(callee), {}};
  struct {
    std::string error;
    DerivedCall call;
  } state;
  using State = decltype(state);
  state.call.first = mlirRelaxDeriveCallResult(
      callee, arguments.size(), arguments.data(),
      [](MlirStringRef message, void *data) {
        static_cast<State *>(data)->error.assign(message.data, message.length);
      },
      [](intptr_t index, MlirType expected, void *data) {
        static_cast<State *>(data)->call.second.emplace_back(index, expected);
      },
      &state);
  if (mlirTypeIsNull(state.call.first))
    throw nb::value_error(state.error.c_str());
  return state.call;
}

std::string runtimeStructInfo(MlirType type,
                              std::optional<MlirAttribute> devices) {
  requireStructInfo(type);
  std::string json;
  mlirRelaxGetRuntimeStructInfo(type, devices.value_or(MlirAttribute{nullptr}),
                                appendText, &json);
  return json;
}

//===----------------------------------------------------------------------===//
// Derive functions
//===----------------------------------------------------------------------===//

std::vector<MlirType> toVector(intptr_t count, MlirType const *types) {
  return std::vector<MlirType>(types, types + count);
}

/// What a Python function gives; what it raises is reported at the call.
MlirType callPython(MlirLocation location, intptr_t numArguments,
                    MlirType const *arguments, intptr_t numStructInfoArgs,
                    MlirType const *structInfoArgs, void *userData) {
  auto fail = [&](const std::string &message) {
    mlirEmitError(location, ("a derive function in Python " + message).c_str());
    return MlirType{nullptr};
  };
  if (!Py_IsInitialized())
    return fail("cannot be called after the end of the interpreter");
  // MLIR holds the lock of the interpreter while its threads work, so that
  // taking it in one of them would wait for ever.
  if (!PyGILState_Check())
    return fail("cannot be called by a thread of MLIR: call "
                "context.enable_multithreading(False)");
  try {
    nb::object function = nb::borrow(static_cast<PyObject *>(userData));
    nb::object result = function(toVector(numArguments, arguments),
                                 toVector(numStructInfoArgs, structInfoArgs));
    MlirType type;
    if (!nb::try_cast(result, type))
      return fail("gave " + std::string(nb::repr(result).c_str()) +
                  ", which is not StructInfo");
    if (!mlirContextEqual(mlirTypeGetContext(type),
                          mlirLocationGetContext(location)))
      return fail("gave a type of another context");
    return type;
  } catch (nb::python_error &error) {
    return fail("raised " +
                nb::cast<std::string>(nb::str(error.type().attr("__name__"))) +
                ": " + nb::cast<std::string>(nb::str(error.value())));
  } catch (std::exception &error) {
    return fail(std::string("failed: ") + error.what());
  }
}

/// Functions that were registered live until they are replaced; at the end of
/// the interpreter they are left to the system.
void releasePython(void *function) {
  if (!Py_IsInitialized())
    return;
  nb::gil_scoped_acquire acquire;
  Py_DECREF(static_cast<PyObject *>(function));
}

void registerDeriveFunc(const std::string &name, nb::callable function,
                        bool override) {
  PyObject *owned = function.inc_ref().ptr();
  if (mlirRelaxRegisterDeriveFunc(toRef(name), callPython, owned, releasePython,
                                  override))
    return;
  Py_DECREF(owned);
  throw nb::value_error(
      ("expected the name of a new derive function, but there is '" + name +
       "' already")
          .c_str());
}

std::vector<std::string> deriveFuncNames() {
  std::vector<std::string> names;
  mlirRelaxGetDeriveFuncNames(appendName, &names);
  return names;
}

MlirType deriveByName(const std::string &name,
                      const std::vector<MlirType> &arguments,
                      const std::vector<MlirType> &structInfoArgs,
                      MlirContext context) {
  for (const auto *types : {&arguments, &structInfoArgs})
    for (MlirType type : *types) {
      requireStructInfo(type);
      requireContext(mlirTypeGetContext(type), context);
    }
  return getChecked(context, [&](MlirLocation location) {
    return mlirRelaxDeriveByName(toRef(name), location, arguments.size(),
                                 arguments.data(), structInfoArgs.size(),
                                 structInfoArgs.data());
  });
}

std::vector<std::pair<std::string, std::string>> phases() {
  std::vector<std::pair<std::string, std::string>> result;
  for (intptr_t i = 0, e = mlirRelaxGetNumPhases(); i < e; ++i)
    result.emplace_back(toString(mlirRelaxPhaseGetName(i)),
                        toString(mlirRelaxPhaseGetDescription(i)));
  return result;
}

void bindStructInfoFunctions(nb::module_ &m) {
  m.def("is_struct_info", &mlirRelaxTypeIsAStructInfo, nb::arg("type"));
  m.def("is_subtype", [](MlirType sub, MlirType super, const Facts &facts) {
    return toOptional(
        mlirRelaxIsSubtypeUnder(sub, super, facts.about(sub, super)));
  });
  m.def("check_compatibility",
        [](MlirType actual, MlirType expected, const Facts &facts) {
          return toOptional(mlirRelaxCheckCompatibilityUnder(
              actual, expected, facts.about(actual, expected)));
        });
  m.def("unify", [](MlirType lhs, MlirType rhs, const Facts &facts) {
    return mlirRelaxUnifyStructInfoUnder(lhs, rhs, facts.about(lhs, rhs));
  });
  m.def("erase_dims", [](MlirType type) {
    requireStructInfo(type);
    return mlirRelaxEraseDims(type);
  });
  m.def("erase_struct_info", [](MlirType type) {
    requireStructInfo(type);
    return mlirRelaxEraseStructInfo(type);
  });
  m.def("substitute", &substitute);
  m.def("get_shape_var_mapping", &getShapeVarMapping);
  m.def("erase_to_well_defined", &eraseToWellDefined);
  m.def("binding_vars", &bindingVars);
  m.def("register_derive_func", &registerDeriveFunc, nb::arg("name"),
        nb::arg("function"), nb::arg("override"));
  m.def("derive_func_names", &deriveFuncNames);
  m.def("derive_by_name", &deriveByName, nb::arg("name"), nb::arg("arguments"),
        nb::arg("sinfo_args"), nb::arg("context"));
  m.def("derive_call_result", &deriveCallResult);
  m.def("runtime_struct_info", &runtimeStructInfo, nb::arg("type"),
        nb::arg("devices") = nb::none());
  m.def("function_struct_info",
        [](MlirOperation function) -> std::optional<MlirType> {
          MlirType type = mlirRelaxGetFuncStructInfo(function);
          return mlirTypeIsNull(type) ? std::nullopt : std::optional(type);
        });
}

//===----------------------------------------------------------------------===//
// Code and constants
//===----------------------------------------------------------------------===//

std::optional<std::string> translateToVM(MlirModule module, bool isCompiled) {
  std::string text;
  if (!mlirRelaxTranslateToVM(module, isCompiled, appendText, &text))
    return std::nullopt;
  return text;
}

/// A constant of the pool: data type, dimensions, the address and the size of
/// its elements, and these themselves where nobody else holds them.
nb::tuple describeConstant(MlirAttribute constant) {
  std::string dtype;
  mlirRelaxConstantGetDataType(constant, appendText, &dtype);
  MlirType type = mlirAttributeGetType(constant);
  nb::list dims;
  for (intptr_t i = 0, e = mlirShapedTypeGetRank(type); i < e; ++i)
    dims.append(mlirShapedTypeGetDimSize(type, i));
  nb::tuple held;
  mlirRelaxConstantGetBytes(
      constant,
      [](const void *bytes, size_t size, bool isOwned, void *result) {
        nb::object copy = nb::none();
        if (!isOwned)
          copy = nb::bytes(bytes, size);
        *static_cast<nb::tuple *>(result) =
            nb::make_tuple(reinterpret_cast<uintptr_t>(bytes), size, copy);
      },
      &held);
  return nb::make_tuple(dtype, dims, held[0], held[1], held[2]);
}

nb::list constants(MlirModule module) {
  nb::list result;
  for (intptr_t i = 0, e = mlirRelaxModuleGetNumConstants(module); i < e; ++i)
    result.append(describeConstant(mlirRelaxModuleGetConstant(module, i)));
  return result;
}

void bindCode(nb::module_ &m) {
  m.def("translate_to_vm", &translateToVM, nb::arg("module"),
        nb::arg("is_compiled"));
  m.def("constants", &constants, nb::arg("module"));
}

} // namespace

NB_MODULE(_relax_mlir, m) {
  m.doc() = "The Relax dialect of MLIR";
  m.def(
      "register_dialects",
      [](MlirDialectRegistry registry) {
        mlirDialectHandleInsertDialect(mlirGetDialectHandle__relax__(),
                                       registry);
      },
      nb::arg("registry"));
  m.def(
      "load_dialect",
      [](MlirContext context) {
        mlirDialectHandleLoadDialect(mlirGetDialectHandle__relax__(), context);
      },
      nb::arg("context"));
  m.def(
      "clone_module",
      [](MlirModule module) {
        return mlirModuleFromOperation(
            mlirOperationClone(mlirModuleGetOperation(module)));
      },
      nb::arg("module"));
  m.def(
      "copy_as_module",
      [](MlirOperation op) {
        if (!mlirRelaxOperationIsAModule(op))
          throw nb::value_error("expected a module");
        return mlirModuleFromOperation(mlirOperationClone(op));
      },
      nb::arg("operation"));
  m.def(
      "parse_unverified",
      [](const std::string &text,
         MlirContext context) -> std::optional<MlirModule> {
        MlirModule module =
            mlirRelaxModuleParseUnverified(context, toRef(text));
        if (mlirModuleIsNull(module))
          return std::nullopt;
        return module;
      },
      nb::arg("text"), nb::arg("context"));
  m.def("check_well_formed", &mlirRelaxCheckWellFormed, nb::arg("module"));
  m.def("is_pure", &mlirRelaxOperationIsPure, nb::arg("operation"));
  m.def("tidy_kernel", &mlirRelaxTidyKernel, nb::arg("operation"));
  m.def(
      "next_operation",
      [](MlirOperation op) -> std::optional<MlirOperation> {
        MlirOperation next = mlirOperationGetNextInBlock(op);
        if (mlirOperationIsNull(next))
          return std::nullopt;
        return next;
      },
      nb::arg("operation"));
  m.def("phases", &phases);
  bindDiagnostics(m);
  bindFacts(m);
  bindPrimExpr(m);
  bindShapeExpr(m);
  bindObject(m);
  bindTensor(m);
  bindShape(m);
  bindPrim(m);
  bindTuple(m);
  bindFunc(m);
  bindStructInfoFunctions(m);
  bindNative(m);
  bindCode(m);
  mlirRelaxRegisterPasses();
}
