//===- ShapeVars.cpp - The variables of StructInfo -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finding, erasing, replacing and matching variables. Function types bind
// variables, so each procedure says what becomes of them.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/StructInfo.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// Names that stand for one unknown value while types are compared. They cannot
/// be written in a program, and no function type binds them.
static bool isRigid(StringRef name) { return name.starts_with('?'); }

static void walkNames(PrimExprAttr expr,
                      llvm::function_ref<void(StringRef)> visit) {
  (void)findUnbound(expr, [&](StringRef name) {
    visit(name);
    return true;
  });
}

llvm::StringSet<> mlir::relax::getOwnVars(FuncStructInfoType func) {
  llvm::StringSet<> names;
  for (Type param : func.getParams())
    collectBindingVars(param, names);
  SmallVector<StringRef> rigid;
  llvm::copy_if(names.keys(), std::back_inserter(rigid), isRigid);
  for (StringRef name : rigid)
    names.erase(name);
  return names;
}

static void walkFreeVars(FuncStructInfoType func,
                         llvm::function_ref<void(const ShapeVarUse &)> visit) {
  llvm::StringSet<> own = getOwnVars(func);
  auto visitFree = [&](ShapeVarUse use) {
    use.mayBind = false;
    if (!own.contains(use.name))
      visit(use);
  };
  for (Type param : func.getParams())
    walkVars(param, visitFree);
  walkVars(func.getRet(), visitFree);
}

void mlir::relax::walkVars(
    Type type, llvm::function_ref<void(const ShapeVarUse &)> visit) {
  auto visitExpr = [&](PrimExprAttr expr) {
    walkNames(expr, [&](StringRef name) {
      visit({name, /*mayBind=*/expr.isVar(), /*isShape=*/false, /*ndim=*/-1});
    });
  };
  auto visitShapeVar = [&](StringAttr var, int64_t ndim, bool mayBind) {
    visit({var.getValue(), mayBind, /*isShape=*/true, ndim});
  };
  auto visitFunc = [&](Type func) {
    walkFreeVars(cast<FuncStructInfoType>(func), visit);
  };
  asStructInfo(type).walkShapes({visitExpr, visitShapeVar, visitFunc});
}

/// Does not enter function types, so that getOwnVars takes time in proportion.
void mlir::relax::collectBindingVars(Type type, llvm::StringSet<> &names) {
  auto addExpr = [&](PrimExprAttr expr) {
    if (expr.isVar())
      names.insert(expr.getName());
  };
  auto addShapeVar = [&](StringAttr var, int64_t, bool mayBind) {
    if (mayBind)
      names.insert(var.getValue());
  };
  asStructInfo(type).walkShapes({addExpr, addShapeVar});
}

void mlir::relax::collectNames(Type type, llvm::StringSet<> &names) {
  auto addExpr = [&](PrimExprAttr expr) { collectVars(expr, names); };
  auto addShapeVar = [&](StringAttr var, int64_t, bool) {
    names.insert(var.getValue());
  };
  auto addFunc = [&](Type type) {
    auto func = cast<FuncStructInfoType>(type);
    for (Type param : func.getParams())
      collectNames(param, names);
    collectNames(func.getRet(), names);
  };
  asStructInfo(type).walkShapes({addExpr, addShapeVar, addFunc});
}

std::optional<StringRef>
mlir::relax::findUnbound(Type type,
                         llvm::function_ref<bool(StringRef)> isBound) {
  std::optional<StringRef> result;
  walkVars(type, [&](const ShapeVarUse &use) {
    if (!result && !isBound(use.name))
      result = use.name;
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Erasing
//===----------------------------------------------------------------------===//

/// A function type with its parameters and result replaced.
static Type mapComponents(FuncStructInfoType func,
                          llvm::function_ref<Type(Type)> map) {
  return FuncStructInfoType::get(
      func.getContext(), llvm::map_to_vector(func.getParams(), map),
      map(func.getRet()), func.getPure(), func.getDerive());
}

namespace {
/// Erases what uses a variable that is not in scope.
///
/// A function type whose parameter loses the dimension that binds a variable
/// loses all dimensions that use it: nothing would give it a value.
class Eraser {
public:
  using Predicate = llvm::function_ref<bool(StringRef)>;

  Eraser(Predicate isShapeInScope, Predicate isDimInScope,
         const llvm::StringSet<> &around)
      : isShapeInScope(isShapeInScope), isDimInScope(isDimInScope),
        around(around) {}

  Type erase(Type type) const {
    return eraseAround(type, [&](Type func) {
      return eraseInFunc(cast<FuncStructInfoType>(func));
    });
  }

private:
  Type eraseAround(Type type, llvm::function_ref<Type(Type)> mapFunc) const;
  Type eraseInFunc(FuncStructInfoType func) const;

  Predicate isShapeInScope, isDimInScope;
  /// The variables that the enclosing function types bind, so that those inside
  /// do not.
  const llvm::StringSet<> &around;
};
} // namespace

Type Eraser::eraseAround(Type type,
                         llvm::function_ref<Type(Type)> mapFunc) const {
  auto mapExpr = [&](PrimExprAttr expr) {
    return findUnbound(expr, isDimInScope) ? PrimExprAttr() : expr;
  };
  auto mapShapeVar = [&](StringAttr var) -> Attribute {
    return isShapeInScope(var.getValue()) ? var : StringAttr();
  };
  return asStructInfo(type).mapShapes({mapExpr, mapShapeVar, mapFunc});
}

Type Eraser::eraseInFunc(FuncStructInfoType func) const {
  llvm::StringSet<> own = getOwnVars(func);
  for (const auto &entry : around)
    own.erase(entry.getKey());
  llvm::StringSet<> inside = around;
  inside.insert_range(own.keys());
  llvm::StringSet<> bound = own;
  auto isBoundOr = [&](Predicate isInScope) {
    return [&own, &bound, isInScope](StringRef name) {
      return own.contains(name) ? bound.contains(name) : isInScope(name);
    };
  };
  auto isShapeBound = isBoundOr(isShapeInScope);
  auto isDimBound = isBoundOr(isDimInScope);
  Eraser eraser(isShapeBound, isDimBound, inside);
  // Each round may take away what bound the variables of another dimension.
  for (bool changed = true; changed;) {
    llvm::StringSet<> left;
    for (Type param : func.getParams())
      collectBindingVars(eraser.eraseAround(param, /*mapFunc=*/{}), left);
    size_t before = bound.size();
    for (const auto &entry : own)
      if (!left.contains(entry.getKey()))
        bound.erase(entry.getKey());
    changed = bound.size() != before;
  }
  return mapComponents(func,
                       [&](Type component) { return eraser.erase(component); });
}

Type mlir::relax::eraseToWellDefined(
    Type type, llvm::function_ref<bool(StringRef)> isShapeInScope,
    llvm::function_ref<bool(StringRef)> isDimInScope) {
  llvm::StringSet<> around;
  return Eraser(isShapeInScope, isDimInScope, around).erase(type);
}

Type mlir::relax::eraseDims(Type type) {
  auto mapExpr = [](PrimExprAttr) { return PrimExprAttr(); };
  auto mapShapeVar = [](StringAttr) { return Attribute(); };
  auto mapFunc = [](Type func) {
    return mapComponents(cast<FuncStructInfoType>(func), eraseDims);
  };
  return asStructInfo(type).mapShapes({mapExpr, mapShapeVar, mapFunc});
}

static SmallVector<Type> eraseAll(ArrayRef<Type> types) {
  return llvm::map_to_vector(types, eraseStructInfo);
}

Type mlir::relax::eraseStructInfo(Type type) {
  MLIRContext *context = type.getContext();
  return TypeSwitch<Type, Type>(type)
      .Case([&](TensorStructInfoType tensor) {
        return TensorStructInfoType::get(context, tensor.getNdim(),
                                         tensor.getDtype());
      })
      .Case([&](TupleStructInfoType tuple) {
        return TupleStructInfoType::get(context, eraseAll(tuple.getFields()));
      })
      .Case([&](FuncStructInfoType func) {
        if (func.isPacked())
          return FuncStructInfoType::get(context,
                                         FuncStructInfoType::kEmptyDerive);
        return FuncStructInfoType::get(eraseAll(func.getParams()),
                                       eraseStructInfo(func.getRet()),
                                       /*pure=*/false);
      })
      .Default([](Type other) { return eraseDims(other); });
}

//===----------------------------------------------------------------------===//
// Replacing
//===----------------------------------------------------------------------===//

/// The names in what `values` puts for those of `names`.
static llvm::StringSet<> namesOfValues(const ShapeVarMap &values,
                                       const llvm::StringSet<> &names) {
  llvm::StringSet<> result;
  for (const auto &entry : values.dims)
    if (names.contains(entry.getKey()))
      collectVars(entry.getValue(), result);
  for (const auto &entry : values.shapes) {
    if (!names.contains(entry.getKey()))
      continue;
    if (auto var = dyn_cast<StringAttr>(entry.getValue()))
      result.insert(var.getValue());
    else
      for (PrimExprAttr dim : cast<ShapeExprAttr>(entry.getValue()))
        collectVars(dim, result);
  }
  return result;
}

/// `name`, or the first of `name_0`, `name_1` and so on, that is not taken.
static std::string freshName(StringRef name, const llvm::StringSet<> &taken) {
  std::string fresh = name.str();
  for (unsigned index = 0; taken.contains(fresh); ++index)
    fresh = (name + "_" + Twine(index)).str();
  return fresh;
}

void mlir::relax::renameVar(ShapeVarMap &map, MLIRContext *context,
                            StringRef from, StringRef to) {
  map.dims[from] = PrimExprAttr::getVar(context, to);
  map.shapes[from] = StringAttr::get(context, to);
}

static Type substituteInFunc(FuncStructInfoType func,
                             const ShapeVarMap &values) {
  llvm::StringSet<> names;
  collectNames(func, names);
  llvm::StringSet<> captured = namesOfValues(values, names);
  llvm::StringSet<> taken = names;
  taken.insert_range(captured.keys());
  ShapeVarMap inner = values;
  SmallVector<StringRef> own;
  llvm::StringSet<> ownNames = getOwnVars(func);
  llvm::append_range(own, ownNames.keys());
  llvm::sort(own); // new names do not depend on the order of a hash table
  llvm::StringSet<> bound; // by their new names
  for (StringRef name : own) {
    if (values.contains(name))
      continue;
    std::string fresh = name.str();
    if (captured.contains(name)) {
      fresh = freshName(name, taken);
      taken.insert(fresh);
      renameVar(inner, func.getContext(), name, fresh);
    }
    bound.insert(fresh);
  }
  Type result = mapComponents(
      func, [&](Type component) { return substitute(component, inner); });
  // A dimension that has become too large does not bind variables any more.
  llvm::StringSet<> left = getOwnVars(cast<FuncStructInfoType>(result));
  for (StringRef name : left.keys())
    bound.erase(name);
  if (bound.empty())
    return result;
  auto isLeft = [&](StringRef name) { return !bound.contains(name); };
  return Eraser(isLeft, isLeft, /*around=*/bound).erase(result);
}

Type mlir::relax::substitute(Type type, const ShapeVarMap &values) {
  if (values.empty())
    return type;
  auto mapExpr = [&](PrimExprAttr expr) {
    return substitute(expr, values.dims);
  };
  auto mapShapeVar = [&](StringAttr var) -> Attribute {
    auto it = values.shapes.find(var.getValue());
    return it == values.shapes.end() ? var : it->second;
  };
  auto mapFunc = [&](Type func) {
    return substituteInFunc(cast<FuncStructInfoType>(func), values);
  };
  return asStructInfo(type).mapShapes({mapExpr, mapShapeVar, mapFunc});
}

bool mlir::relax::growsTooLarge(Type type, const ShapeVarMap &values) {
  bool result = false;
  auto visitExpr = [&](PrimExprAttr expr) {
    result |= !substitute(expr, values.dims);
  };
  auto visitFunc = [&](Type type) {
    auto func = cast<FuncStructInfoType>(type);
    result |= growsTooLarge(func.getRet(), values);
    for (Type param : func.getParams())
      result |= growsTooLarge(param, values);
  };
  asStructInfo(type).walkShapes({visitExpr, /*shapeVar=*/{}, visitFunc});
  return result;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

static void matchTypes(Type formal, Type actual, ShapeVarMap &mapping) {
  if (formal.getTypeID() == actual.getTypeID())
    asStructInfo(formal).matchSameKind(actual, mapping);
}

/// Splits pairs of types into those of functions and those of other values,
/// also where they are fields of tuples.
static void splitPairs(TypeRange formals, TypeRange actuals,
                       SmallVectorImpl<std::pair<Type, Type>> &values,
                       SmallVectorImpl<std::pair<Type, Type>> &functions) {
  if (formals.size() != actuals.size())
    return;
  for (auto [formal, actual] : llvm::zip(formals, actuals)) {
    auto formalTuple = dyn_cast<TupleStructInfoType>(formal);
    auto actualTuple = dyn_cast<TupleStructInfoType>(actual);
    if (formalTuple && actualTuple)
      splitPairs(formalTuple.getFields(), actualTuple.getFields(), values,
                 functions);
    else
      (isa<FuncStructInfoType>(formal) ? functions : values)
          .emplace_back(formal, actual);
  }
}

void mlir::relax::getShapeVarMapping(TypeRange formals, TypeRange actuals,
                                     ShapeVarMap &mapping) {
  SmallVector<std::pair<Type, Type>> values, functions;
  splitPairs(formals, actuals, values, functions);
  // The type of a value takes precedence over what a function accepts.
  for (auto [formal, actual] :
       llvm::concat<std::pair<Type, Type>>(values, functions))
    matchTypes(formal, actual, mapping);
}

void mlir::relax::getShapeVarMapping(Type formal, Type actual,
                                     ShapeVarMap &mapping) {
  auto formalFunc = dyn_cast<FuncStructInfoType>(formal);
  auto actualFunc = dyn_cast<FuncStructInfoType>(actual);
  if (formalFunc && actualFunc)
    return getShapeVarMapping(formalFunc.getParams(), actualFunc.getParams(),
                              mapping);
  matchTypes(formal, actual, mapping);
}

ShapeVarMap mlir::relax::matchVars(const llvm::StringSet<> &names,
                                   TypeRange formals, TypeRange actuals) {
  ShapeVarMap all, result;
  getShapeVarMapping(formals, actuals, all);
  for (const auto &entry : all.dims)
    if (names.contains(entry.getKey()))
      result.dims[entry.getKey()] = entry.getValue();
  for (const auto &entry : all.shapes)
    if (names.contains(entry.getKey()))
      result.shapes[entry.getKey()] = entry.getValue();
  return result;
}

CallSignature
mlir::relax::instantiate(FuncStructInfoType callee, TypeRange arguments,
                         llvm::function_ref<bool(StringRef)> isInScope) {
  llvm::StringSet<> own = getOwnVars(callee);
  ShapeVarMap mapping = matchVars(own, callee.getParams(), arguments);
  auto isKnown = [&](StringRef name) {
    if (own.contains(name))
      return mapping.contains(name);
    return !isInScope || isInScope(name);
  };
  Type ret = Eraser(isKnown, isKnown, /*around=*/own).erase(callee.getRet());
  CallSignature signature;
  signature.ret = substitute(ret, mapping);
  for (StringRef name : own.keys())
    if (!mapping.contains(name))
      renameVar(mapping, callee.getContext(), name, ("?" + name).str());
  for (Type param : callee.getParams()) {
    signature.params.push_back(substitute(param, mapping));
    signature.isOpen.push_back(growsTooLarge(param, mapping));
  }
  return signature;
}

//===----------------------------------------------------------------------===//
// Object
//===----------------------------------------------------------------------===//

Type ObjectStructInfoType::mapShapes(const StructInfoMapper &) const {
  return *this;
}
void ObjectStructInfoType::walkShapes(const StructInfoVisitor &) const {}
void ObjectStructInfoType::matchSameKind(Type, ShapeVarMap &) const {}

//===----------------------------------------------------------------------===//
// Tensor and shape
//===----------------------------------------------------------------------===//

/// Maps all dimensions; null where one of them is erased.
static ShapeExprAttr mapDims(ShapeExprAttr shape, const StructInfoMapper &map) {
  if (!shape)
    return {};
  SmallVector<PrimExprAttr> dims;
  for (PrimExprAttr dim : shape) {
    PrimExprAttr mapped = map.expr(dim);
    if (!mapped)
      return {};
    dims.push_back(mapped);
  }
  return ShapeExprAttr::get(shape.getContext(), dims);
}

/// Replaces the variable of a shape, in place. Dimensions of another rank than
/// the type says are not put for it.
static void mapShapeVar(StringAttr &var, ShapeExprAttr &dims, int64_t &ndim,
                        const StructInfoMapper &map) {
  Attribute mapped = map.shapeVar(var);
  var = dyn_cast_or_null<StringAttr>(mapped);
  auto shape = dyn_cast_or_null<ShapeExprAttr>(mapped);
  if (!shape || (ndim != -1 && ndim != static_cast<int64_t>(shape.size())))
    return;
  dims = shape;
  ndim = shape.size();
}

static void visitDims(ShapeExprAttr shape, const StructInfoVisitor &visitor) {
  if (shape && visitor.expr)
    llvm::for_each(shape.getDims(), visitor.expr);
}

static void matchExpr(PrimExprAttr formal, PrimExprAttr actual,
                      ShapeVarMap &mapping) {
  if (formal.isVar() && !mapping.contains(formal.getName()))
    mapping.dims[formal.getName()] = actual;
}

static void matchDims(ShapeExprAttr formal, ShapeExprAttr actual,
                      ShapeVarMap &mapping) {
  if (!formal || !actual || formal.size() != actual.size())
    return;
  for (auto [mine, theirs] : llvm::zip(formal, actual))
    matchExpr(mine, theirs, mapping);
}

Type TensorStructInfoType::mapShapes(const StructInfoMapper &map) const {
  StringAttr var = getShapeVar();
  ShapeExprAttr shape = mapDims(getShape(), map);
  int64_t ndim = getNdim();
  if (var)
    mapShapeVar(var, shape, ndim, map);
  // A shape of another rank may take the place of a variable.
  ShardingAttr sharding = ndim == getNdim() ? getSharding() : ShardingAttr();
  return get(getContext(), shape, ndim, getDtype(), getVdevice(), var,
             sharding);
}

void TensorStructInfoType::walkShapes(const StructInfoVisitor &visitor) const {
  visitDims(getShape(), visitor);
  if (getShapeVar() && visitor.shapeVar)
    visitor.shapeVar(getShapeVar(), getNdim(), /*mayBind=*/false);
}

void TensorStructInfoType::matchSameKind(Type actual,
                                         ShapeVarMap &mapping) const {
  matchDims(getShape(), cast<TensorStructInfoType>(actual).getShape(), mapping);
}

Type ShapeStructInfoType::mapShapes(const StructInfoMapper &map) const {
  StringAttr var = getVar();
  ShapeExprAttr values = mapDims(getValues(), map);
  int64_t ndim = getNdim();
  if (var)
    mapShapeVar(var, values, ndim, map);
  return get(getContext(), values, ndim, var);
}

void ShapeStructInfoType::walkShapes(const StructInfoVisitor &visitor) const {
  visitDims(getValues(), visitor);
  if (getVar() && visitor.shapeVar)
    visitor.shapeVar(getVar(), getNdim(), /*mayBind=*/true);
}

void ShapeStructInfoType::matchSameKind(Type actual,
                                        ShapeVarMap &mapping) const {
  auto shape = cast<ShapeStructInfoType>(actual);
  matchDims(getValues(), shape.getValues(), mapping);
  bool fits =
      getNdim() == -1 || shape.getNdim() == -1 || getNdim() == shape.getNdim();
  if (!getVar() || !fits || mapping.contains(getVar().getValue()))
    return;
  if (shape.getValues())
    mapping.shapes[getVar().getValue()] = shape.getValues();
  else if (shape.getVar())
    mapping.shapes[getVar().getValue()] = shape.getVar();
}

//===----------------------------------------------------------------------===//
// Primitive values
//===----------------------------------------------------------------------===//

Type PrimStructInfoType::mapShapes(const StructInfoMapper &map) const {
  return get(getContext(), getDtype(),
             getValue() ? map.expr(getValue()) : PrimExprAttr());
}

void PrimStructInfoType::walkShapes(const StructInfoVisitor &visitor) const {
  if (getValue() && visitor.expr)
    visitor.expr(getValue());
}

void PrimStructInfoType::matchSameKind(Type actual,
                                       ShapeVarMap &mapping) const {
  PrimExprAttr value = cast<PrimStructInfoType>(actual).getValue();
  if (getValue() && value)
    matchExpr(getValue(), value, mapping);
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

Type TupleStructInfoType::mapShapes(const StructInfoMapper &map) const {
  return get(getContext(), llvm::map_to_vector(getFields(), [&](Type field) {
               return asStructInfo(field).mapShapes(map);
             }));
}

void TupleStructInfoType::walkShapes(const StructInfoVisitor &visitor) const {
  for (Type field : getFields())
    asStructInfo(field).walkShapes(visitor);
}

void TupleStructInfoType::matchSameKind(Type actual,
                                        ShapeVarMap &mapping) const {
  getShapeVarMapping(getFields(), cast<TupleStructInfoType>(actual).getFields(),
                     mapping);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Type FuncStructInfoType::mapShapes(const StructInfoMapper &map) const {
  return map.func ? map.func(*this) : Type(*this);
}

void FuncStructInfoType::walkShapes(const StructInfoVisitor &visitor) const {
  if (visitor.func)
    visitor.func(*this);
}

/// Whether a value names one of `names`.
static bool mentions(Attribute value, const llvm::StringSet<> &names) {
  auto isOther = [&](StringRef name) { return !names.contains(name); };
  if (auto var = dyn_cast<StringAttr>(value))
    return !isOther(var.getValue());
  if (auto expr = dyn_cast<PrimExprAttr>(value))
    return findUnbound(expr, isOther).has_value();
  return llvm::any_of(cast<ShapeExprAttr>(value), [&](PrimExprAttr dim) {
    return findUnbound(dim, isOther).has_value();
  });
}

/// The type of a parameter says something about the enclosing scope only where
/// it is in terms of that scope.
void FuncStructInfoType::matchSameKind(Type actual,
                                       ShapeVarMap &mapping) const {
  auto func = cast<FuncStructInfoType>(actual);
  llvm::StringSet<> own = getOwnVars(func);
  ShapeVarMap inner;
  getShapeVarMapping(getParams(), func.getParams(), inner);
  for (const auto &entry : inner.dims)
    if (!mapping.contains(entry.getKey()) && !mentions(entry.getValue(), own))
      mapping.dims[entry.getKey()] = entry.getValue();
  for (const auto &entry : inner.shapes)
    if (!mapping.contains(entry.getKey()) && !mentions(entry.getValue(), own))
      mapping.shapes[entry.getKey()] = entry.getValue();
}
