//===- PrimExpr.cpp - C interface of dimension expressions ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expressions, what is known about their variables, and the shapes they make
// up.
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"

#include "relax-mlir/IR/ShapeScope.h"

using namespace mlir;
using namespace mlir::relax;

static_assert(static_cast<int>(PrimExprKind::Le) == MlirRelaxPrimExprLe &&
                  static_cast<int>(PrimExprKind::Min) == MlirRelaxPrimExprMin,
              "the kinds of the C interface are those of PrimExprKind");

bool mlirRelaxAttributeIsAPrimExpr(MlirAttribute attr) {
  return isa<PrimExprAttr>(unwrap(attr));
}

MlirTypeID mlirRelaxPrimExprGetTypeID() {
  return wrap(PrimExprAttr::getTypeID());
}

MlirAttribute mlirRelaxPrimExprVarGet(MlirContext context, MlirStringRef name) {
  return wrap(PrimExprAttr::getVar(loaded(context), unwrap(name)));
}

MlirAttribute mlirRelaxPrimExprIntGet(MlirContext context, int64_t value) {
  return wrap(PrimExprAttr::getInt(loaded(context), value));
}

static_assert(PrimExprAttr::kMaxDepth == MLIR_RELAX_PRIM_EXPR_MAX_DEPTH &&
                  PrimExprAttr::kMaxSize == MLIR_RELAX_PRIM_EXPR_MAX_SIZE,
              "the limits of the C interface are those of PrimExprAttr");

/// An expression that was built, or null where it is beyond the limits.
static MlirAttribute bounded(PrimExprAttr expr) {
  return wrap(expr.isTooLarge() ? PrimExprAttr() : expr);
}

MlirAttribute mlirRelaxPrimExprAddGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getAdd(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprSubGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getSub(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprMulGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getMul(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprFloorDivGet(MlirAttribute lhs,
                                           MlirAttribute rhs) {
  return bounded(PrimExprAttr::getFloorDiv(expr(lhs), expr(rhs)));
}

MlirAttribute mlirRelaxPrimExprModGet(MlirAttribute lhs, MlirAttribute rhs) {
  return bounded(PrimExprAttr::getMod(expr(lhs), expr(rhs)));
}

intptr_t mlirRelaxPrimExprGetArity(MlirRelaxPrimExprKind kind) {
  if (kind < MlirRelaxPrimExprMin || kind > MlirRelaxPrimExprLe)
    return 0;
  return kind == MlirRelaxPrimExprSelect ? 3
         : kind == MlirRelaxPrimExprNot  ? 1
                                         : 2;
}

MlirAttribute mlirRelaxPrimExprCallGet(MlirRelaxPrimExprKind kind,
                                       intptr_t numOperands,
                                       MlirAttribute const *operands) {
  if (numOperands == 0 || numOperands != mlirRelaxPrimExprGetArity(kind))
    return {nullptr};
  return bounded(PrimExprAttr::getCall(static_cast<PrimExprKind>(kind),
                                       exprs(numOperands, operands)));
}

MlirRelaxPrimExprKind mlirRelaxPrimExprGetKind(MlirAttribute attr) {
  return static_cast<MlirRelaxPrimExprKind>(expr(attr).getKind());
}

int64_t mlirRelaxPrimExprGetInt(MlirAttribute attr) {
  return expr(attr).getConstant().value_or(0);
}

MlirStringRef mlirRelaxPrimExprGetName(MlirAttribute attr) {
  return wrap(expr(attr).getName());
}

intptr_t mlirRelaxPrimExprGetNumOperands(MlirAttribute attr) {
  return expr(attr).getOperands().size();
}

MlirAttribute mlirRelaxPrimExprGetOperand(MlirAttribute attr, intptr_t index) {
  return wrap(expr(attr).getOperands()[index]);
}

void mlirRelaxPrimExprPrint(MlirAttribute attr, MlirStringCallback callback,
                            void *userData) {
  mlir::detail::CallbackOstream stream(callback, userData);
  printPrimExpr(stream, expr(attr));
}

void mlirRelaxPrimExprCollectVars(MlirAttribute attr,
                                  MlirRelaxNameCallback callback,
                                  void *userData) {
  llvm::StringSet<> names;
  collectVars(expr(attr), names);
  reportSorted(names, callback, userData);
}

MlirRelaxTernary mlirRelaxPrimExprProveEqual(MlirAttribute lhs,
                                             MlirAttribute rhs) {
  return wrap(proveEqual(expr(lhs), expr(rhs)));
}

bool mlirRelaxPrimExprEvaluate(MlirAttribute attr, intptr_t numVars,
                               MlirStringRef const *names,
                               int64_t const *values, int64_t *result) {
  llvm::StringMap<int64_t> bindings;
  for (intptr_t i = 0; i < numVars; ++i)
    bindings[unwrap(names[i])] = values[i];
  std::optional<int64_t> value = evaluate(expr(attr), bindings);
  if (value)
    *result = *value;
  return value.has_value();
}

MlirAttribute mlirRelaxPrimExprSubstitute(MlirAttribute attr, intptr_t numVars,
                                          MlirStringRef const *names,
                                          MlirAttribute const *values) {
  PrimExprMap bindings;
  for (intptr_t i = 0; i < numVars; ++i)
    bindings[unwrap(names[i])] = expr(values[i]);
  return wrap(substitute(expr(attr), bindings));
}

MlirRelaxPrimExprFacts mlirRelaxPrimExprFactsCreate() {
  return {new PrimExprFacts()};
}

void mlirRelaxPrimExprFactsDestroy(MlirRelaxPrimExprFacts known) {
  delete &facts(known);
}

void mlirRelaxPrimExprFactsAddBounds(MlirRelaxPrimExprFacts known,
                                     MlirStringRef name, int64_t const *lower,
                                     int64_t const *upper) {
  auto orNone = [](int64_t const *end) {
    return end ? std::optional<int64_t>(*end) : std::nullopt;
  };
  facts(known).addBounds(unwrap(name), orNone(lower), orNone(upper));
}

void mlirRelaxPrimExprFactsAddEqual(MlirRelaxPrimExprFacts known,
                                    MlirAttribute lhs, MlirAttribute rhs) {
  facts(known).addEqual(expr(lhs), expr(rhs));
}

void mlirRelaxPrimExprFactsAddLessEqual(MlirRelaxPrimExprFacts known,
                                        MlirAttribute lhs, MlirAttribute rhs) {
  facts(known).addLessEqual(expr(lhs), expr(rhs));
}

MlirRelaxTernary
mlirRelaxPrimExprProveEqualUnder(MlirAttribute lhs, MlirAttribute rhs,
                                 MlirRelaxPrimExprFacts known) {
  return wrap(proveEqual(expr(lhs), expr(rhs), facts(known)));
}

MlirRelaxTernary mlirRelaxPrimExprProveLessEqual(MlirAttribute lhs,
                                                 MlirAttribute rhs,
                                                 MlirRelaxPrimExprFacts known) {
  return wrap(proveLessEqual(expr(lhs), expr(rhs), facts(known)));
}

MlirAttribute mlirRelaxPrimExprSimplify(MlirAttribute attr,
                                        MlirRelaxPrimExprFacts known) {
  return wrap(simplify(expr(attr), facts(known)));
}

MlirRelaxPrimExprFacts mlirRelaxCollectFacts(MlirOperation op) {
  return {new PrimExprFacts(collectFacts(unwrap(op)))};
}

void mlirRelaxPrimExprFactsVisit(
    MlirRelaxPrimExprFacts known,
    void (*visitBounds)(MlirStringRef name, int64_t const *lower,
                        int64_t const *upper, void *userData),
    void (*visitRelation)(MlirAttribute lhs, MlirAttribute rhs, bool isEquality,
                          void *userData),
    void *userData) {
  SmallVector<StringRef> names(facts(known).getAllBounds().keys());
  llvm::sort(names);
  for (StringRef name : names) {
    PrimExprRange range = facts(known).getBounds(name);
    visitBounds(wrap(name), range.lower ? &*range.lower : nullptr,
                range.upper ? &*range.upper : nullptr, userData);
  }
  for (const PrimExprFacts::Relation &relation : facts(known).getRelations())
    visitRelation(wrap(relation.lhs), wrap(relation.rhs), relation.isEquality,
                  userData);
}

bool mlirRelaxAttributeIsAShapeExpr(MlirAttribute attr) {
  return isa<ShapeExprAttr>(unwrap(attr));
}

MlirTypeID mlirRelaxShapeExprGetTypeID() {
  return wrap(ShapeExprAttr::getTypeID());
}

MlirAttribute mlirRelaxShapeExprGet(MlirContext context, intptr_t numDims,
                                    MlirAttribute const *dims) {
  return wrap(ShapeExprAttr::get(loaded(context), exprs(numDims, dims)));
}

intptr_t mlirRelaxShapeExprGetNumDims(MlirAttribute shape) {
  return cast<ShapeExprAttr>(unwrap(shape)).size();
}

MlirAttribute mlirRelaxShapeExprGetDim(MlirAttribute shape, intptr_t index) {
  return wrap(cast<ShapeExprAttr>(unwrap(shape))[index]);
}
