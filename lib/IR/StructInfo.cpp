//===- StructInfo.cpp - Relations of StructInfo -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Subtyping, compatibility and least upper bounds. The free functions settle
// Object and mixed kinds; each type settles its own kind.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/StructInfo.h"

#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/Sharding.h"
#include "relax-mlir/IR/VDevice.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Any kind
//===----------------------------------------------------------------------===//

static bool sameKind(Type lhs, Type rhs) {
  return lhs.getTypeID() == rhs.getTypeID();
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

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

namespace {
/// The properties that tensors and shapes share: dimensions, a variable for all
/// of them, or neither, and a rank.
struct ShapeInfo {
  explicit ShapeInfo(TensorStructInfoType type)
      : dims(type.getShape()), var(type.getShapeVar()), ndim(type.getNdim()),
        isTensor(true) {}
  explicit ShapeInfo(ShapeStructInfoType type)
      : dims(type.getValues()), var(type.getVar()), ndim(type.getNdim()),
        isTensor(false) {}

  bool isKnown() const { return dims || var; }

  ShapeExprAttr dims;
  StringAttr var;
  int64_t ndim;
  bool isTensor;
};
} // namespace

/// Whether the shape of a value is another one. An unknown shape, and a
/// variable, may be any shape; all shapes of rank 0 are one. The value exists,
/// so that no dimension of it is negative where it is a tensor.
static Ternary proveSameShape(const ShapeInfo &lhs, const ShapeInfo &rhs) {
  if (lhs.ndim == 0 && rhs.ndim == 0)
    return Ternary::Yes;
  if (lhs.dims && rhs.dims)
    return DimensionProver(lhs.isTensor ? lhs.dims.getDims()
                                        : ArrayRef<PrimExprAttr>())
        .proveEqual(lhs.dims.getDims(), rhs.dims.getDims());
  return lhs.var && lhs.var == rhs.var ? Ternary::Yes : Ternary::Unknown;
}

// Where `sub` lacks a rank, a data type or a device that `super` requires, it
// is no subtype: `lacking` is No. It may still be compatible: `lacking` is
// Unknown. Dimensions that are not known are possibly equal, in both relations.

static Ternary rankBelow(const ShapeInfo &sub, const ShapeInfo &super,
                         Ternary lacking) {
  if (super.ndim == -1 || sub.ndim == super.ndim)
    return Ternary::Yes;
  return sub.ndim == -1 ? lacking : Ternary::No;
}

static Ternary shapeBelow(const ShapeInfo &sub, const ShapeInfo &super,
                          Ternary lacking) {
  Ternary rank = rankBelow(sub, super, lacking);
  return super.isKnown() ? both(rank, proveSameShape(sub, super)) : rank;
}

template <typename T>
static Ternary propertyBelow(T sub, T super, Ternary lacking) {
  if (!super || sub == super)
    return Ternary::Yes;
  return sub ? Ternary::No : lacking;
}

static Ternary tensorBelow(TensorStructInfoType sub, TensorStructInfoType super,
                           Ternary lacking) {
  // A distributed tensor is of another kind than one that each worker has.
  if (sub.getSharding() != super.getSharding())
    return Ternary::No;
  return both(both(shapeBelow(ShapeInfo(sub), ShapeInfo(super), lacking),
                   propertyBelow(sub.getDtype(), super.getDtype(), lacking)),
              propertyBelow(sub.getVdevice(), super.getVdevice(), lacking));
}

/// Rules 4.1 to 4.5.
Ternary TensorStructInfoType::isSubtypeOfSameKind(Type other) const {
  return tensorBelow(*this, cast<TensorStructInfoType>(other), Ternary::No);
}

/// Rules 6.1 to 6.8.
Ternary TensorStructInfoType::isCompatibleWithSameKind(Type other) const {
  return tensorBelow(*this, cast<TensorStructInfoType>(other),
                     Ternary::Unknown);
}

Type TensorStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<TensorStructInfoType>(other);
  if (getSharding() != rhs.getSharding())
    return ObjectStructInfoType::get(getContext());
  if (getSharding()) {
    Type plain = withSharding({}).unifyWithSameKind(rhs.withSharding({}));
    auto tensor = cast<TensorStructInfoType>(plain);
    if (findMissingAxis(getSharding().getPlacement(), tensor.getNdim()))
      return ObjectStructInfoType::get(getContext());
    return tensor.withSharding(getSharding());
  }
  int64_t ndim = getNdim() == rhs.getNdim() ? getNdim() : kUnknownDim;
  Type dtype = getDtype() == rhs.getDtype() ? getDtype() : Type();
  FlatSymbolRefAttr vdevice =
      getVdevice() == rhs.getVdevice() ? getVdevice() : FlatSymbolRefAttr();
  auto withShapeOf = [&](TensorStructInfoType type) {
    return get(getContext(), type.getShape(), ndim, dtype, vdevice,
               type.getShapeVar());
  };
  ShapeInfo mine(*this), theirs(rhs);
  if (mine.ndim != theirs.ndim || !mine.isKnown() || !theirs.isKnown())
    return get(getContext(), ndim, dtype, vdevice);
  // [n - 1] has some of the values of [max(n - 1, 0)], which is the bound then.
  if (proveSameShape(theirs, mine) == Ternary::Yes)
    return withShapeOf(*this);
  if (proveSameShape(mine, theirs) == Ternary::Yes)
    return withShapeOf(rhs);
  return get(getContext(), ndim, dtype, vdevice);
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// Rules 5.1 to 5.3.
Ternary ShapeStructInfoType::isSubtypeOfSameKind(Type other) const {
  return shapeBelow(ShapeInfo(*this),
                    ShapeInfo(cast<ShapeStructInfoType>(other)), Ternary::No);
}

/// Rules 4.1 to 4.5. Unlike for a tensor, an unknown rank does not match a
/// known one.
Ternary ShapeStructInfoType::isCompatibleWithSameKind(Type other) const {
  return isSubtypeOfSameKind(other);
}

Type ShapeStructInfoType::unifyWithSameKind(Type other) const {
  ShapeInfo mine(*this), theirs(cast<ShapeStructInfoType>(other));
  if (mine.ndim != theirs.ndim)
    return get(getContext(), ShapeExprAttr(), -1);
  if (mine.isKnown() && theirs.isKnown() &&
      proveSameShape(mine, theirs) == Ternary::Yes)
    return *this;
  return get(getContext(), ShapeExprAttr(), getNdim());
}

//===----------------------------------------------------------------------===//
// Primitive values
//===----------------------------------------------------------------------===//

/// Rules 7.1 to 7.3.
Ternary PrimStructInfoType::isSubtypeOfSameKind(Type other) const {
  auto super = cast<PrimStructInfoType>(other);
  if (getDtype() != super.getDtype())
    return Ternary::No;
  if (!super.getValue())
    return Ternary::Yes;
  return getValue()
             ? DimensionProver({}).proveEqual(getValue(), super.getValue())
             : Ternary::Unknown;
}

/// Rules 5.1 to 5.4.
Ternary PrimStructInfoType::isCompatibleWithSameKind(Type other) const {
  return isSubtypeOfSameKind(other);
}

Type PrimStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<PrimStructInfoType>(other);
  if (getDtype() != rhs.getDtype())
    return ObjectStructInfoType::get(getContext());
  if (getValue() && rhs.getValue() &&
      DimensionProver({}).proveEqual(getValue(), rhs.getValue()) ==
          Ternary::Yes)
    return *this;
  return get(getContext(), getDtype(), PrimExprAttr());
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

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//
//
// Two closures are compared with their own variables renamed apart, to names
// that stand for one unknown value each: `?0`, `?1`, ... Such a variable is
// bound around whatever is inside, so no function type binds it again.

namespace {
/// A closure whose own variables have names that occur nowhere else.
class OpenedClosure {
public:
  /// The new names are not among `taken`, and are added to it.
  OpenedClosure(FuncStructInfoType func, llvm::StringSet<> &taken);

  ArrayRef<Type> getParams() const { return params; }
  Type getRet() const { return ret; }
  /// Matches the own variables with the parameters `actuals`.
  ShapeVarMap match(ArrayRef<Type> actuals) const {
    return matchVars(own, params, actuals);
  }
  /// The new names replaced by the original ones.
  Type restore(Type type) const { return substitute(type, originals); }

private:
  SmallVector<Type> params;
  Type ret;
  llvm::StringSet<> own;
  ShapeVarMap originals;
};
} // namespace

OpenedClosure::OpenedClosure(FuncStructInfoType func,
                             llvm::StringSet<> &taken) {
  MLIRContext *context = func.getContext();
  ShapeVarMap renamed;
  llvm::StringSet<> names = getOwnVars(func);
  unsigned next = 0;
  for (StringRef name : names.keys()) {
    std::string fresh;
    do
      fresh = "?" + std::to_string(next++);
    while (!taken.insert(fresh).second);
    own.insert(fresh);
    renameVar(renamed, context, name, fresh);
    renameVar(originals, context, fresh, name);
  }
  for (Type param : func.getParams())
    params.push_back(substitute(param, renamed));
  ret = substitute(func.getRet(), renamed);
}

/// Compares two closures: parameters contravariant, results covariant.
static Ternary compareClosures(FuncStructInfoType lhs, FuncStructInfoType rhs,
                               llvm::function_ref<Ternary(Type, Type)> below) {
  if (lhs.getParams().size() != rhs.getParams().size() ||
      (rhs.getPure() && !lhs.getPure()))
    return Ternary::No;
  llvm::StringSet<> taken;
  collectNames(lhs, taken);
  collectNames(rhs, taken);
  OpenedClosure sub(lhs, taken), super(rhs, taken);
  ShapeVarMap mapping = sub.match(super.getParams());
  auto grows = [&](Type type) { return growsTooLarge(type, mapping); };
  if (grows(sub.getRet()) || llvm::any_of(sub.getParams(), grows))
    return Ternary::Unknown;
  Ternary result = below(substitute(sub.getRet(), mapping), super.getRet());
  for (auto [l, r] : llvm::zip(sub.getParams(), super.getParams()))
    result = both(result, below(r, substitute(l, mapping)));
  return result;
}

Ternary FuncStructInfoType::isSubtypeOfSameKind(Type other) const {
  auto super = cast<FuncStructInfoType>(other);
  if (isPacked() != super.isPacked())
    return Ternary::No;
  if (isPacked()) // ST06: identical, or below the weakest one
    return getDerive() == super.getDerive() ||
                   super.getDerive().getValue() == kEmptyDerive
               ? Ternary::Yes
               : Ternary::No;
  return compareClosures(*this, super, isSubtype);
}

Ternary FuncStructInfoType::isCompatibleWithSameKind(Type other) const {
  auto expected = cast<FuncStructInfoType>(other);
  if (isPacked() != expected.isPacked())
    return Ternary::No;
  if (isPacked()) // rule 7.2
    return getDerive() == expected.getDerive() ? Ternary::Yes
                                               : Ternary::Unknown;
  return compareClosures(*this, expected, checkCompatibility);
}

/// Whether the parameters of two closures are the same, up to the names of
/// their own variables.
static bool haveSameParams(FuncStructInfoType lhs, FuncStructInfoType rhs) {
  auto object = ObjectStructInfoType::get(lhs.getContext());
  auto l = FuncStructInfoType::get(lhs.getParams(), object, true);
  auto r = FuncStructInfoType::get(rhs.getParams(), object, true);
  return isSubtype(l, r) == Ternary::Yes && isSubtype(r, l) == Ternary::Yes;
}

Type FuncStructInfoType::unifyWithSameKind(Type other) const {
  auto rhs = cast<FuncStructInfoType>(other);
  auto object = ObjectStructInfoType::get(getContext());
  if (isPacked() != rhs.isPacked())
    return object;
  if (isPacked())
    return getDerive() == rhs.getDerive() ? *this
                                          : get(getContext(), kEmptyDerive);
  if (!haveSameParams(*this, rhs))
    return object;
  llvm::StringSet<> taken;
  collectNames(*this, taken);
  collectNames(rhs, taken);
  OpenedClosure mine(*this, taken), theirs(rhs, taken);
  Type ret = unifyStructInfo(
      mine.getRet(),
      substitute(theirs.getRet(), theirs.match(mine.getParams())));
  return get(getParams(), mine.restore(ret), getPure() && rhs.getPure());
}
