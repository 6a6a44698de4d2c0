//===- Attributes.cpp - Expressions in Python -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

namespace {

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

/// The facts at an operation: bounds by name, then pairs that are equal, then
/// pairs of which the first is at most the second.
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

} // namespace

void bindAttributes(nb::module_ &m) {
  bindFacts(m);
  bindPrimExpr(m);
  bindShapeExpr(m);
}
