//===- StructInfo.cpp - Reasoning about StructInfo -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Subtyping, compatibility, least upper bounds, erasure and substitution. The
// free functions settle Object and mixed kinds; each type settles its own kind.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/StructInfo.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/VDevice.h"

using namespace mlir;
using namespace mlir::relax;

using MapFn = llvm::function_ref<PrimExprAttr(PrimExprAttr)>;
using VisitFn = llvm::function_ref<void(PrimExprAttr)>;
using ZipFn = llvm::function_ref<void(PrimExprAttr, PrimExprAttr)>;

//===----------------------------------------------------------------------===//
// Any kind
//===----------------------------------------------------------------------===//

static bool sameKind(Type lhs, Type rhs) {
  return lhs.getTypeID() == rhs.getTypeID();
}

static StructInfoTypeInterface asStructInfo(Type type) {
  return cast<StructInfoTypeInterface>(type);
}

Ternary mlir::relax::isSubtype(Type sub, Type super) {
  if (sub == super || isa<ObjectStructInfoType>(super)) // ST01
    return Ternary::Yes;
  if (!sameKind(sub, super))
    return Ternary::No;
  return asStructInfo(sub).isSubtypeOfSameKind(super);
}

bool mlir::relax::areSubtypes(TypeRange subs, TypeRange supers) {
  return subs.size() == supers.size() &&
         llvm::all_of(llvm::zip(subs, supers), [](auto pair) {
           auto [sub, super] = pair;
           return isSubtypeBeforeRealize(sub, super) == Ternary::Yes;
         });
}

Ternary mlir::relax::checkCompatibility(Type actual, Type expected) {
  if (actual == expected || isa<ObjectStructInfoType>(expected))
    return Ternary::Yes;
  // An object may turn out to be anything: entry checks decide.
  if (isa<ObjectStructInfoType>(actual))
    return Ternary::Unknown;
  if (!sameKind(actual, expected))
    return Ternary::No;
  return asStructInfo(actual).isCompatibleWithSameKind(expected);
}

Type mlir::relax::defaultDerive(MLIRContext *context, TypeRange sinfoArgs) {
  if (sinfoArgs.empty())
    return ObjectStructInfoType::get(context);
  if (sinfoArgs.size() == 1)
    return sinfoArgs.front();
  return TupleStructInfoType::get(context, llvm::to_vector(sinfoArgs));
}

Type mlir::relax::unifyStructInfo(Type lhs, Type rhs) {
  if (lhs == rhs || isa<ObjectStructInfoType>(lhs))
    return lhs;
  if (isa<ObjectStructInfoType>(rhs))
    return rhs;
  if (!sameKind(lhs, rhs))
    return ObjectStructInfoType::get(lhs.getContext());
  return asStructInfo(lhs).unifyWithSameKind(rhs);
}

Type mlir::relax::eraseToWellDefined(
    Type type, llvm::function_ref<bool(StringRef)> isInScope) {
  return asStructInfo(type).mapPrimExprs([&](PrimExprAttr expr) {
    return findUnbound(expr, isInScope) ? PrimExprAttr() : expr;
  });
}

Type mlir::relax::eraseDims(Type type) {
  return asStructInfo(type).mapPrimExprs(
      [](PrimExprAttr) { return PrimExprAttr(); });
}

Type mlir::relax::substitute(Type type, const PrimExprMap &values) {
  if (values.empty())
    return type;
  return asStructInfo(type).mapPrimExprs(
      [&](PrimExprAttr expr) { return substitute(expr, values); });
}

void mlir::relax::getShapeVarMapping(Type formal, Type actual,
                                     PrimExprMap &mapping) {
  if (!sameKind(formal, actual))
    return;
  asStructInfo(formal).zipPrimExprsSameKind(
      actual, [&](PrimExprAttr mine, PrimExprAttr theirs) {
        if (mine.isVar())
          mapping.try_emplace(mine.getName(), theirs);
      });
}

void mlir::relax::collectBindingVars(Type type, llvm::StringSet<> &names) {
  asStructInfo(type).walkPrimExprs([&](PrimExprAttr expr) {
    if (expr.isVar())
      names.insert(expr.getName());
  });
}

std::optional<StringRef>
mlir::relax::findUnbound(Type type,
                         llvm::function_ref<bool(StringRef)> isBound) {
  std::optional<StringRef> result;
  asStructInfo(type).walkPrimExprs([&](PrimExprAttr expr) {
    if (!result)
      result = findUnbound(expr, isBound);
  });
  return result;
}

/// Maps all dimensions; null where one of them is erased.
static ShapeExprAttr mapDims(ShapeExprAttr shape, MapFn map) {
  if (!shape)
    return {};
  SmallVector<PrimExprAttr> dims;
  for (PrimExprAttr dim : shape) {
    PrimExprAttr mapped = map(dim);
    if (!mapped)
      return {};
    dims.push_back(mapped);
  }
  return ShapeExprAttr::get(shape.getContext(), dims);
}

static void zipDims(ShapeExprAttr lhs, ShapeExprAttr rhs, ZipFn visit) {
  if (!lhs || !rhs || lhs.size() != rhs.size())
    return;
  for (auto [l, r] : llvm::zip(lhs, rhs))
    visit(l, r);
}

/// Whether dimensions `sub` are among those that `super` allows.
static Ternary dimsBelow(ShapeExprAttr sub, int64_t subRank,
                         ShapeExprAttr super, int64_t superRank) {
  if (superRank == -1)
    return Ternary::Yes;
  if (subRank != superRank)
    return subRank == -1 ? Ternary::Unknown : Ternary::No;
  if (!super || superRank == 0)
    return Ternary::Yes;
  if (!sub)
    return Ternary::Unknown;
  return proveEqual(sub.getDims(), super.getDims());
}

/// The answer where `super` leaves open (null), requires, and `sub` has or
/// lacks a property.
static Ternary propertyBelow(Attribute sub, Attribute super) {
  if (!super || sub == super)
    return Ternary::Yes;
  return sub ? Ternary::No : Ternary::Unknown;
}

//===----------------------------------------------------------------------===//
// Object
//===----------------------------------------------------------------------===//

Ternary ObjectStructInfoType::isSubtypeOfSameKind(Type) const {
  return Ternary::Yes;
}
Ternary ObjectStructInfoType::isCompatibleWithSameKind(Type) const {
  return Ternary::Yes;
}
Type ObjectStructInfoType::unifyWithSameKind(Type) const { return *this; }
Type ObjectStructInfoType::mapPrimExprs(MapFn) const { return *this; }
void ObjectStructInfoType::walkPrimExprs(VisitFn) const {}
void ObjectStructInfoType::zipPrimExprsSameKind(Type, ZipFn) const {}

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

static Ternary dtypeBelow(Type sub, Type super) {
  if (!super || sub == super)
    return Ternary::Yes;
  return sub ? Ternary::No : Ternary::Unknown;
}

Ternary TensorStructInfoType::isSubtypeOfSameKind(Type other) const {
  auto super = cast<TensorStructInfoType>(other);
  Ternary dims =
      dimsBelow(getShape(), getNdim(), super.getShape(), super.getNdim());
  return both(both(dims, dtypeBelow(getDtype(), super.getDtype())),
              propertyBelow(getVdevice(), super.getVdevice()));
}

Ternary TensorStructInfoType::isCompatibleWithSameKind(Type other) const {
  return isSubtypeOfSameKind(other);
}

Type TensorStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<TensorStructInfoType>(other);
  int64_t ndim = getNdim() == rhs.getNdim() ? getNdim() : kUnknownDim;
  Type dtype = getDtype() == rhs.getDtype() ? getDtype() : Type();
  FlatSymbolRefAttr vdevice =
      getVdevice() == rhs.getVdevice() ? getVdevice() : FlatSymbolRefAttr();
  ShapeExprAttr shape;
  if (hasShape() && rhs.hasShape() &&
      proveEqual(getDims(), rhs.getDims()) == Ternary::Yes)
    shape = getShape();
  return get(getContext(), shape, ndim, dtype, vdevice);
}

Type TensorStructInfoType::mapPrimExprs(MapFn map) const {
  return get(getContext(), mapDims(getShape(), map), getNdim(), getDtype(),
             getVdevice());
}

void TensorStructInfoType::walkPrimExprs(VisitFn visit) const {
  if (hasShape())
    llvm::for_each(getDims(), visit);
}

void TensorStructInfoType::zipPrimExprsSameKind(Type other, ZipFn visit) const {
  zipDims(getShape(), cast<TensorStructInfoType>(other).getShape(), visit);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

Ternary ShapeStructInfoType::isSubtypeOfSameKind(Type other) const {
  auto super = cast<ShapeStructInfoType>(other);
  return dimsBelow(getValues(), getNdim(), super.getValues(), super.getNdim());
}

Ternary ShapeStructInfoType::isCompatibleWithSameKind(Type other) const {
  return isSubtypeOfSameKind(other);
}

Type ShapeStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<ShapeStructInfoType>(other);
  if (getNdim() != rhs.getNdim())
    return get(getContext(), ShapeExprAttr(), -1);
  if (getValues() && rhs.getValues() &&
      proveEqual(getValues().getDims(), rhs.getValues().getDims()) ==
          Ternary::Yes)
    return *this;
  return get(getContext(), ShapeExprAttr(), getNdim());
}

Type ShapeStructInfoType::mapPrimExprs(MapFn map) const {
  return get(getContext(), mapDims(getValues(), map), getNdim());
}

void ShapeStructInfoType::walkPrimExprs(VisitFn visit) const {
  if (getValues())
    llvm::for_each(getValues().getDims(), visit);
}

void ShapeStructInfoType::zipPrimExprsSameKind(Type other, ZipFn visit) const {
  zipDims(getValues(), cast<ShapeStructInfoType>(other).getValues(), visit);
}

//===----------------------------------------------------------------------===//
// Primitive values
//===----------------------------------------------------------------------===//

Ternary PrimStructInfoType::isSubtypeOfSameKind(Type other) const {
  auto super = cast<PrimStructInfoType>(other);
  if (getDtype() != super.getDtype())
    return Ternary::No;
  if (!super.getValue())
    return Ternary::Yes;
  return getValue() ? proveEqual(getValue(), super.getValue())
                    : Ternary::Unknown;
}

Ternary PrimStructInfoType::isCompatibleWithSameKind(Type other) const {
  return isSubtypeOfSameKind(other);
}

Type PrimStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<PrimStructInfoType>(other);
  if (getDtype() != rhs.getDtype())
    return ObjectStructInfoType::get(getContext());
  if (getValue() && rhs.getValue() &&
      proveEqual(getValue(), rhs.getValue()) == Ternary::Yes)
    return *this;
  return get(getContext(), getDtype(), PrimExprAttr());
}

Type PrimStructInfoType::mapPrimExprs(MapFn map) const {
  return get(getContext(), getDtype(),
             getValue() ? map(getValue()) : PrimExprAttr());
}

void PrimStructInfoType::walkPrimExprs(VisitFn visit) const {
  if (getValue())
    visit(getValue());
}

void PrimStructInfoType::zipPrimExprsSameKind(Type other, ZipFn visit) const {
  PrimExprAttr theirs = cast<PrimStructInfoType>(other).getValue();
  if (getValue() && theirs)
    visit(getValue(), theirs);
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

/// Combines a question over the fields of two tuples.
static Ternary overFields(ArrayRef<Type> lhs, ArrayRef<Type> rhs,
                          llvm::function_ref<Ternary(Type, Type)> question) {
  if (lhs.size() != rhs.size())
    return Ternary::No;
  Ternary result = Ternary::Yes;
  for (auto [l, r] : llvm::zip(lhs, rhs))
    result = both(result, question(l, r));
  return result;
}

Ternary TupleStructInfoType::isSubtypeOfSameKind(Type other) const {
  return overFields(getFields(), cast<TupleStructInfoType>(other).getFields(),
                    isSubtype);
}

Ternary TupleStructInfoType::isCompatibleWithSameKind(Type other) const {
  return overFields(getFields(), cast<TupleStructInfoType>(other).getFields(),
                    checkCompatibility);
}

Type TupleStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<TupleStructInfoType>(other);
  if (getFields().size() != rhs.getFields().size())
    return ObjectStructInfoType::get(getContext());
  SmallVector<Type> fields;
  for (auto [l, r] : llvm::zip(getFields(), rhs.getFields()))
    fields.push_back(unifyStructInfo(l, r));
  return get(getContext(), fields);
}

static SmallVector<Type> mapTypes(ArrayRef<Type> types, MapFn map) {
  return llvm::map_to_vector(
      types, [&](Type type) { return asStructInfo(type).mapPrimExprs(map); });
}

Type TupleStructInfoType::mapPrimExprs(MapFn map) const {
  return get(getContext(), mapTypes(getFields(), map));
}

void TupleStructInfoType::walkPrimExprs(VisitFn visit) const {
  for (Type field : getFields())
    asStructInfo(field).walkPrimExprs(visit);
}

static void zipTypes(ArrayRef<Type> lhs, ArrayRef<Type> rhs, ZipFn visit) {
  if (lhs.size() != rhs.size())
    return;
  for (auto [l, r] : llvm::zip(lhs, rhs))
    if (sameKind(l, r))
      asStructInfo(l).zipPrimExprsSameKind(r, visit);
}

void TupleStructInfoType::zipPrimExprsSameKind(Type other, ZipFn visit) const {
  zipTypes(getFields(), cast<TupleStructInfoType>(other).getFields(), visit);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//
//
// The shape variables of a function type are bound by its own parameters, so
// they are not variables of the scope around it: maps and walks leave function
// types alone.

/// Whether substitution makes a dimension too large to be known.
static bool growsTooLarge(Type type, const PrimExprMap &values) {
  bool result = false;
  asStructInfo(type).walkPrimExprs(
      [&](PrimExprAttr expr) { result |= !substitute(expr, values); });
  return result;
}

/// Compares two closures: parameters contravariant, results covariant.
static Ternary compareClosures(FuncStructInfoType lhs, FuncStructInfoType rhs,
                               llvm::function_ref<Ternary(Type, Type)> below) {
  if (lhs.getParams().size() != rhs.getParams().size() ||
      (rhs.getPure() && !lhs.getPure()))
    return Ternary::No;
  PrimExprMap mapping;
  zipTypes(lhs.getParams(), rhs.getParams(),
           [&](PrimExprAttr mine, PrimExprAttr theirs) {
             if (mine.isVar())
               mapping.try_emplace(mine.getName(), theirs);
           });
  auto grows = [&](Type type) { return growsTooLarge(type, mapping); };
  if (grows(lhs.getRet()) || llvm::any_of(lhs.getParams(), grows))
    return Ternary::Unknown;
  Ternary result = below(substitute(lhs.getRet(), mapping), rhs.getRet());
  for (auto [l, r] : llvm::zip(lhs.getParams(), rhs.getParams()))
    result = both(result, below(r, substitute(l, mapping)));
  return result;
}

Ternary FuncStructInfoType::isSubtypeOfSameKind(Type other) const {
  auto super = cast<FuncStructInfoType>(other);
  if (isPacked() != super.isPacked())
    return Ternary::No;
  if (isPacked())
    return super.getDerive().getValue() == "empty_derive" ? Ternary::Yes
                                                          : Ternary::Unknown;
  return compareClosures(*this, super, isSubtype);
}

Ternary FuncStructInfoType::isCompatibleWithSameKind(Type other) const {
  auto expected = cast<FuncStructInfoType>(other);
  if (isPacked() != expected.isPacked())
    return Ternary::No;
  if (isPacked())
    return getDerive() == expected.getDerive() ? Ternary::Yes
                                               : Ternary::Unknown;
  return compareClosures(*this, expected, checkCompatibility);
}

Type FuncStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<FuncStructInfoType>(other);
  auto object = ObjectStructInfoType::get(getContext());
  if (isPacked() != rhs.isPacked())
    return object;
  if (isPacked())
    return get(getContext(), "empty_derive");
  if (getParams() != rhs.getParams())
    return object;
  return get(getParams(), unifyStructInfo(getRet(), rhs.getRet()),
             getPure() && rhs.getPure());
}

Type FuncStructInfoType::mapPrimExprs(MapFn) const { return *this; }
void FuncStructInfoType::walkPrimExprs(VisitFn) const {}
void FuncStructInfoType::zipPrimExprsSameKind(Type, ZipFn) const {}
