//===- LowerShapes.cpp - Turn shape variables into values -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over a function in program order. A scope maps each shape variable
// to an i64 value; the signature and casts add to it. Types are checked in two
// steps: kind, rank and data type by `builtin.check`, each dimension by
// `builtin.check_dim`. At the end types have no dimensions.
//
// Dimensions are proven as numbers, and as if no variable in them were
// negative. Both hold when the program runs: what binds a variable is checked,
// unless it is the dimension of a tensor; a dimension for which memory is taken
// is, unless its range says so; and arithmetic of `i64` in a Relax function is
// exact.
//
//===----------------------------------------------------------------------===//

#include "DropChecks.h"

#include "relax-mlir/IR/PrimExprFacts.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWERSHAPESPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The values of variables.
struct Scope {
  llvm::StringMap<Value> dims;   // an i64
  llvm::StringMap<Value> shapes; // a shape
};

/// A part of a value that is left to check when its kind is right: a dimension,
/// the variable of a shape, or a function type.
struct Site {
  Value holder;     // a tensor, shape, primitive value or function
  std::string what; // the value, for messages: "argument 'x'"
  std::string expected;
  int64_t index = 0; // the dimension in it
  PrimExprAttr expr = {};
  StringAttr shapeVar = {};
  FuncStructInfoType function = {};
};

class ShapeLowering {
public:
  explicit ShapeLowering(FuncOp func)
      : func(func), builder(func.getLoc(), func.getContext()) {}
  LogicalResult run();

private:
  void collectSizeVars();
  void bindCaptures(Scope &scope);
  void lowerSignature(Scope &scope);
  void checkBounds(const Scope &scope);
  void lowerBlock(Block &block, Scope &scope);
  void lowerOps(ArrayRef<Operation *> ops, Scope &scope);
  void lowerOp(Operation *op, Scope &scope);
  void lowerRegions(Operation *op, Scope &scope);
  void lowerCast(MatchCastOp op, Scope &scope);
  void lowerShape(ShapeOp op, Scope &scope);
  void lowerPrimValue(PrimValueOp op, Scope &scope);
  void lowerTag(ADTTagOp op);
  bool lowerTruth(CallPackedOp call);
  void lowerAlloc(AllocTensorOp op, Scope &scope);
  void lowerStorage(AllocStorageOp op, Scope &scope);
  void lowerView(ViewOp op, Scope &scope);
  void lowerMove(ToVDeviceOp op);
  void lowerKernelCall(CallKernelOp op);
  void lowerClosure(MakeClosureOp op, Scope &scope);
  void checkResult(Operation *call, Scope &scope);
  void checkReturn(ReturnOp op, Scope &scope);
  void checkCondition(IfOp op);
  void eraseTypes();
  void recordStructInfo();

  /// Checks all that `type` states about `value` but dimensions and functions;
  /// adds those to `sites`.
  void checkKind(Value value, Type type, const Twine &what,
                 SmallVectorImpl<Site> &sites);
  /// Binds the variable of a site, where it has a new one.
  bool bind(const Site &site, Scope &scope);
  void checkVariable(const Site &site, Value value);
  /// The dimensions of what an operation allocates or views.
  SmallVector<Value> materializeSizes(StringRef what, ShapeExprAttr shape,
                                      const Scope &scope);
  void check(const Site &site, const Scope &scope);
  void checkDim(const Site &site, const Scope &scope);
  Value readDim(const Site &site);
  std::pair<ArrayAttr, SmallVector<Value>> namesOf(Type type,
                                                   const Scope &scope);
  /// The device of a tensor type that names one, else null.
  VDeviceAttr deviceOf(Type type);

  /// The value of an expression whose variables are all in scope.
  Value materialize(PrimExprAttr expr, const Scope &scope);
  Value materializeCall(PrimExprAttr expr, ArrayRef<Value> operands);
  Value materializeSelect(PrimExprAttr expr, const Scope &scope);
  Value name(PrimExprAttr expr, Value step);
  SmallVector<Value> materialize(ShapeExprAttr shape, const Scope &scope);
  Value constant(int64_t value);

  FuncOp func;
  ImplicitLocOpBuilder builder;
  FunctionType signatureType = func.getFunctionType();
  /// The variables that the signature binds.
  Scope signature;
  /// The variables that dimensions of tensors depend on.
  llvm::StringSet<> sizeVars;
  bool hasErrors = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Value ShapeLowering::constant(int64_t value) {
  return arith::ConstantIntOp::create(builder, value, 64);
}

Value ShapeLowering::materialize(PrimExprAttr expr, const Scope &scope) {
  if (expr.isVar())
    return scope.dims.lookup(expr.getName());
  if (std::optional<int64_t> value = expr.getConstant())
    return constant(*value);
  PrimExprKind kind = expr.getKind();
  if (kind == PrimExprKind::Select)
    return materializeSelect(expr, scope);
  SmallVector<Value> operands =
      llvm::map_to_vector(expr.getOperands(), [&](PrimExprAttr e) {
        return materialize(e, scope);
      });
  if (kind != PrimExprKind::Add && kind != PrimExprKind::Mul)
    return materializeCall(expr, operands);
  Value result = operands.front();
  for (Value operand : ArrayRef(operands).drop_front())
    result =
        name(expr,
             kind == PrimExprKind::Add
                 ? arith::AddIOp::create(builder, result, operand).getResult()
                 : arith::MulIOp::create(builder, result, operand).getResult());
  return result;
}

/// Both sides are computed, but the one that is not chosen must not overflow:
/// it sees 1 for each variable.
Value ShapeLowering::materializeSelect(PrimExprAttr expr, const Scope &scope) {
  ArrayRef<PrimExprAttr> operands = expr.getOperands();
  Value condition = materialize(operands[0], scope);
  Value chosen = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                       condition, constant(0));
  auto side = [&](PrimExprAttr operand, bool isTrue) {
    if (operand.isVar() || operand.getConstant())
      return materialize(operand, scope);
    llvm::StringSet<> names;
    collectVars(operand, names);
    SmallVector<StringRef> sorted(names.keys());
    llvm::sort(sorted);
    Scope inner = scope;
    for (StringRef name : sorted) {
      Value &value = inner.dims[name];
      Value one = constant(1);
      value = arith::SelectOp::create(builder, chosen, isTrue ? value : one,
                                      isTrue ? one : value);
    }
    return materialize(operand, inner);
  };
  Value lhs = side(operands[1], true), rhs = side(operands[2], false);
  return arith::SelectOp::create(builder, chosen, lhs, rhs);
}

/// Says of a step of an expression what errors call it.
Value ShapeLowering::name(PrimExprAttr expr, Value step) {
  RelaxDialect::ExprAttrHelper(builder.getContext())
      .setAttr(step.getDefiningOp(), builder.getStringAttr(expr.str()));
  return step;
}

Value ShapeLowering::materializeCall(PrimExprAttr expr,
                                     ArrayRef<Value> operands) {
  auto isTrue = [&](Value value) -> Value {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, value,
                                 constant(0));
  };
  auto toInt = [&](Value flag) -> Value {
    return arith::ExtUIOp::create(builder, builder.getI64Type(), flag);
  };
  auto compare = [&](arith::CmpIPredicate predicate) -> Value {
    return toInt(
        arith::CmpIOp::create(builder, predicate, operands[0], operands[1]));
  };
  auto divide = [&]() -> Value {
    if (!expr.getOperands()[1].getConstant())
      CheckDivisorOp::create(builder, operands[1], expr.str());
    return name(expr,
                arith::FloorDivSIOp::create(builder, operands[0], operands[1]));
  };
  switch (expr.getKind()) {
  case PrimExprKind::FloorDiv:
    return divide();
  case PrimExprKind::Mod:
    return name(expr, arith::SubIOp::create(
                          builder, operands[0],
                          name(expr, arith::MulIOp::create(builder, divide(),
                                                           operands[1]))));
  case PrimExprKind::Min:
    return arith::MinSIOp::create(builder, operands[0], operands[1]);
  case PrimExprKind::Max:
    return arith::MaxSIOp::create(builder, operands[0], operands[1]);
  case PrimExprKind::Not:
    return toInt(arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                       operands[0], constant(0)));
  case PrimExprKind::And:
    return toInt(arith::AndIOp::create(builder, isTrue(operands[0]),
                                       isTrue(operands[1])));
  case PrimExprKind::Or:
    return toInt(arith::OrIOp::create(builder, isTrue(operands[0]),
                                      isTrue(operands[1])));
  case PrimExprKind::Eq:
    return compare(arith::CmpIPredicate::eq);
  case PrimExprKind::Lt:
    return compare(arith::CmpIPredicate::slt);
  case PrimExprKind::Le:
    return compare(arith::CmpIPredicate::sle);
  case PrimExprKind::Var:
  case PrimExprKind::Int:
  case PrimExprKind::Add:
  case PrimExprKind::Mul:
  case PrimExprKind::Select:
    break;
  }
  llvm_unreachable("handled by materialize");
}

SmallVector<Value> ShapeLowering::materialize(ShapeExprAttr shape,
                                              const Scope &scope) {
  return llvm::map_to_vector(shape.getDims(), [&](PrimExprAttr dim) {
    return materialize(dim, scope);
  });
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

void ShapeLowering::checkKind(Value value, Type type, const Twine &what,
                              SmallVectorImpl<Site> &sites) {
  if (isa<ObjectStructInfoType>(type)) // MC01
    return;
  std::string name = what.str(), expected = toString(type);
  if (auto func = dyn_cast<FuncStructInfoType>(type)) { // MC06
    Site site{value, name, expected};
    site.function = func;
    sites.push_back(site);
    return;
  }
  CheckOp::create(builder, value, TypeAttr::get(eraseDims(type)),
                  builder.getStringAttr(name), builder.getStringAttr(expected),
                  deviceOf(type));
  // From here on it is of this kind.
  if (value.getType().getTypeID() != type.getTypeID())
    value = relax::CastOp::create(builder, eraseDims(type), value);
  auto addDims = [&](ArrayRef<PrimExprAttr> dims) {
    for (auto [index, dim] : llvm::enumerate(dims))
      sites.push_back(
          {value, name, expected, static_cast<int64_t>(index), dim});
  };
  auto addShapeVar = [&](StringAttr var) {
    Site site{value, name, expected};
    site.shapeVar = var;
    sites.push_back(site);
  };
  if (auto tensor = dyn_cast<TensorStructInfoType>(type)) { // MC02
    if (tensor.hasShape())
      addDims(tensor.getDims());
    if (StringAttr var = tensor.getShapeVar())
      addShapeVar(var);
  } else if (auto shape = dyn_cast<ShapeStructInfoType>(type)) { // MC04
    if (shape.getValues())
      addDims(shape.getValues().getDims());
    if (StringAttr var = shape.getVar())
      addShapeVar(var);
  } else if (auto prim = dyn_cast<PrimStructInfoType>(type)) { // MC03
    if (prim.getValue())
      addDims(prim.getValue());
  } else if (auto tuple = dyn_cast<TupleStructInfoType>(type)) { // MC05
    if (!isa<TupleStructInfoType>(value.getType()))
      value = relax::CastOp::create(builder, eraseDims(type), value);
    for (auto [index, field] : llvm::enumerate(tuple.getFields())) {
      if (isa<ObjectStructInfoType>(field))
        continue;
      Value item = GetItemOp::create(builder, eraseDims(field), value, index);
      checkKind(item, field, "field " + Twine(index) + " of " + name, sites);
    }
  }
}

VDeviceAttr ShapeLowering::deviceOf(Type type) {
  auto tensor = dyn_cast<TensorStructInfoType>(type);
  return tensor ? lookupVDevice(func, tensor.getVdevice()) : VDeviceAttr();
}

Value ShapeLowering::readDim(const Site &site) {
  if (auto prim = site.holder.getDefiningOp<MakePrimOp>())
    return prim.getValue();
  return DimOp::create(builder, builder.getI64Type(), site.holder, site.index);
}

/// A tensor has no negative dimension; a shape or a number may be anything. A
/// number that no dimension of a tensor depends on may be negative.
void ShapeLowering::checkVariable(const Site &site, Value value) {
  if (isa<TensorStructInfoType>(site.holder.getType()))
    return;
  std::string what = site.what;
  if (isa<ShapeStructInfoType>(site.holder.getType()))
    what = "dimension " + std::to_string(site.index) + " of " + what;
  else if (!sizeVars.contains(site.expr.getName()))
    return;
  CheckNotNegativeOp::create(builder, value, what, site.expr.str());
}

bool ShapeLowering::bind(const Site &site, Scope &scope) {
  if (site.expr && site.expr.isVar() &&
      !scope.dims.contains(site.expr.getName())) {
    Value value = readDim(site);
    scope.dims[site.expr.getName()] = value;
    checkVariable(site, value);
    return true;
  }
  // The shape of a tensor is only compared (WF14).
  if (!site.shapeVar || scope.shapes.contains(site.shapeVar) ||
      isa<TensorStructInfoType>(site.holder.getType()))
    return false;
  Value shape = site.holder;
  if (!isa<ShapeStructInfoType>(shape.getType()))
    shape = relax::CastOp::create(
        builder, ShapeStructInfoType::get(func.getContext(), {}, -1), shape);
  scope.shapes[site.shapeVar] = shape;
  return true;
}

void ShapeLowering::checkDim(const Site &site, const Scope &scope) {
  Value actual = readDim(site);
  Value wanted = materialize(site.expr, scope);
  // A primitive value is not a dimension of something.
  int64_t index =
      isa<PrimStructInfoType>(site.holder.getType()) ? -1 : site.index;
  if (actual != wanted)
    CheckDimOp::create(builder, actual, wanted, index, site.what, site.expected,
                       site.expr.str());
}

/// The variables of the scope that the functions in `type` use, with values.
std::pair<ArrayAttr, SmallVector<Value>>
ShapeLowering::namesOf(Type type, const Scope &scope) {
  llvm::StringSet<> used;
  collectFunctionVars(type, used);
  SmallVector<StringRef> names;
  llvm::copy_if(used.keys(), std::back_inserter(names),
                [&](StringRef name) { return scope.dims.contains(name); });
  llvm::sort(names);
  return {builder.getStrArrayAttr(names),
          llvm::map_to_vector(
              names, [&](StringRef n) { return scope.dims.lookup(n); })};
}

void ShapeLowering::check(const Site &site, const Scope &scope) {
  if (site.expr)
    return checkDim(site, scope);
  if (site.function) {
    auto [names, dims] = namesOf(site.function, scope);
    CheckFunctionOp::create(builder, site.holder, TypeAttr::get(site.function),
                            names, dims, builder.getStringAttr(site.what));
    return;
  }
  Value shape = scope.shapes.lookup(site.shapeVar);
  if (!shape) {
    emitError(builder.getLoc()) << "shape variable " << site.shapeVar << " of "
                                << site.what << " is used before it is bound";
    hasErrors = true;
  } else if (shape != site.holder) {
    CheckShapeOp::create(builder, site.holder, shape, site.what, site.expected);
  }
}

/// Whether a variable of `type` that stands alone is new.
static bool bindsNew(Type type, const Scope &scope) {
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    return llvm::any_of(tuple.getFields(),
                        [&](Type field) { return bindsNew(field, scope); });
  llvm::StringSet<> names;
  collectBindingVars(type, names);
  return llvm::any_of(names.keys(), [&](StringRef name) {
    return !scope.dims.contains(name) && !scope.shapes.contains(name);
  });
}

void ShapeLowering::collectSizeVars() {
  auto collect = [&](Value value) {
    SmallVector<Type> worklist = {value.getType()};
    while (!worklist.empty()) {
      Type type = worklist.pop_back_val();
      if (auto tuple = dyn_cast<TupleStructInfoType>(type))
        llvm::append_range(worklist, tuple.getFields());
      auto tensor = dyn_cast<TensorStructInfoType>(type);
      if (tensor && tensor.hasShape())
        for (PrimExprAttr dim : tensor.getDims())
          collectVars(dim, sizeVars);
    }
  };
  llvm::for_each(func.getArguments(), collect);
  func.walk([&](Operation *op) { llvm::for_each(op->getResults(), collect); });
}

/// The values that a closure passes are of the right kind. Where it captured a
/// variable that was a number, the tensors here were unknown to it.
void ShapeLowering::bindCaptures(Scope &scope) {
  for (Value value : func.getArguments().take_front(func.getNumCaptures())) {
    auto shape = dyn_cast<ShapeStructInfoType>(value.getType());
    if (!shape)
      continue;
    if (StringAttr var = shape.getVar())
      scope.shapes.try_emplace(var, value);
    if (ShapeExprAttr values = shape.getValues())
      for (auto [index, expr] : llvm::enumerate(values))
        bind({value, "a captured shape", "", static_cast<int64_t>(index), expr},
             scope);
  }
}

/// MC08: positions that bind come first, then all others from left to right.
void ShapeLowering::lowerSignature(Scope &scope) {
  bindCaptures(scope);
  unsigned first = func.getNumCaptures(), end = func.getNumArguments();
  SmallVector<SmallVector<Site>> sites(end);
  auto checkArgument = [&](unsigned index) {
    Value argument = func.getArgument(index);
    checkKind(argument, argument.getType(), func.describeArgument(index),
              sites[index]);
  };
  SmallVector<bool> isKnown(end);
  for (unsigned i = first; i < end; ++i) {
    isKnown[i] = bindsNew(func.getArgument(i).getType(), scope);
    if (!isKnown[i])
      continue;
    checkArgument(i);
    llvm::erase_if(sites[i], [&](Site &site) { return bind(site, scope); });
  }
  for (unsigned i = first; i < end; ++i) {
    if (!isKnown[i])
      checkArgument(i);
    for (const Site &site : sites[i])
      check(site, scope);
  }
  checkBounds(scope);
  signature = scope;
}

/// Checks the declared bounds, which the body relies on.
void ShapeLowering::checkBounds(const Scope &scope) {
  auto attribute = [&](std::optional<int64_t> end) {
    return end ? builder.getI64IntegerAttr(*end) : IntegerAttr();
  };
  for (auto [name, range] : getDeclaredBounds(func))
    CheckBoundsOp::create(builder, scope.dims.lookup(name),
                          attribute(range.lower), attribute(range.upper),
                          builder.getStringAttr(name));
  // The variables that they name are gone.
  func->removeAttr(RelaxDialect::kLowerBound);
  func->removeAttr(RelaxDialect::kUpperBound);
}

/// Whether a value of type `from` has to be looked at to be of type `to`. The
/// variables of functions may mean something else where the value was made, so
/// what types say of them is no proof.
static bool needsCheck(Type from, Type to, const Scope &scope) {
  llvm::StringSet<> names;
  collectFunctionVars(from, names);
  collectFunctionVars(to, names);
  return isSubtype(from, to) != Ternary::Yes || bindsNew(to, scope) ||
         (holdsFunction(to) && !names.empty());
}

/// Describes a cast in the source, for messages: that of a named value, or the
/// check that legalization put in front of an operator.
static std::string describeCast(MatchCastOp op) {
  if (auto checked =
          RelaxDialect::ChecksAttrHelper(op.getContext()).getAttr(op))
    return ("the operands of " + checked.getValue()).str();
  if (auto name = op->getLoc()->findInstanceOf<NameLoc>())
    return ("match_cast '" + name.getName().getValue() + "'").str();
  return "match_cast";
}

void ShapeLowering::lowerCast(MatchCastOp op, Scope &scope) {
  Type from = op.getValue().getType(), to = op.getResult().getType();
  if (needsCheck(from, to, scope)) {
    SmallVector<Site> sites;
    checkKind(op.getValue(), to, describeCast(op), sites);
    for (const Site &site : sites)
      if (!bind(site, scope))
        check(site, scope);
  }
  Value result = op.getValue();
  if (eraseDims(from) != eraseDims(to))
    result = CastOp::create(builder, to, result);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

/// Checks the result of a packed function or function value against the
/// declared type, whose variables are all bound.
void ShapeLowering::checkResult(Operation *call, Scope &scope) {
  builder.setInsertionPointAfter(call);
  SmallVector<Site> sites;
  StringRef callee = "a function value";
  if (auto packed = dyn_cast<CallPackedOp>(call))
    callee = packed.getCallee();
  checkKind(call->getResult(0), call->getResult(0).getType(),
            "the result of " + callee, sites);
  for (const Site &site : sites)
    check(site, scope);
  // The dimensions that they name are gone.
  if (auto packed = dyn_cast<CallPackedOp>(call))
    packed.removeSinfoArgsAttr();
  else if (auto value = dyn_cast<CallOp>(call))
    value.removeSinfoArgsAttr();
}

/// MC08: the result is checked where its type leaves open what is declared, and
/// where functions name variables that mean something else here than in the
/// signature.
void ShapeLowering::checkReturn(ReturnOp op, Scope &scope) {
  Type declared = signatureType.getResult(0);
  Type actual = op.getValue().getType();
  llvm::StringSet<> names;
  collectFunctionVars(declared, names);
  bool isSame = llvm::all_of(names.keys(), [&](StringRef name) {
    return scope.dims.lookup(name) == signature.dims.lookup(name);
  });
  if (isSubtype(actual, declared) == Ternary::Yes &&
      (!holdsFunction(declared) || (isSame && actual == declared) ||
       !needsCheck(actual, declared, signature)))
    return;
  SmallVector<Site> sites;
  checkKind(op.getValue(), declared, "the result", sites);
  for (const Site &site : sites)
    check(site, signature);
}

/// A condition must be one Boolean, which its type may leave open.
void ShapeLowering::checkCondition(IfOp op) {
  if (isa<PrimStructInfoType>(op.getCond().getType()))
    return;
  MLIRContext *context = builder.getContext();
  auto scalar = TensorStructInfoType::get(ShapeExprAttr::get(context, {}),
                                          builder.getI1Type());
  SmallVector<Site> sites;
  if (isSubtype(op.getCond().getType(), scalar) != Ternary::Yes)
    checkKind(op.getCond(), scalar, "the condition of relax.if", sites);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void ShapeLowering::lowerShape(ShapeOp op, Scope &scope) {
  auto shape = MakeShapeOp::create(builder, op.getResult().getType(),
                                   materialize(op.getValues(), scope));
  op.getResult().replaceAllUsesWith(shape.getResult());
  op.erase();
}

void ShapeLowering::lowerPrimValue(PrimValueOp op, Scope &scope) {
  auto expr = dyn_cast<PrimExprAttr>(op.getValue());
  if (!expr)
    return;
  auto prim = MakePrimOp::create(builder, op.getResult().getType(),
                                 materialize(expr, scope));
  op.getResult().replaceAllUsesWith(prim.getResult());
  op.erase();
}

/// A condition over shape variables needs no call.
bool ShapeLowering::lowerTruth(CallPackedOp call) {
  if (call.getCallee() != "relax_mlir.run.truth" || call.getArgs().size() != 1)
    return false;
  auto number = call.getArgs().front().getDefiningOp<MakePrimOp>();
  if (!number)
    return false;
  auto boolean =
      PrimStructInfoType::get(IntegerType::get(func.getContext(), 1));
  auto prim = MakePrimOp::create(builder, boolean, number.getValue());
  call.getResult().replaceAllUsesWith(prim.getResult());
  call.erase();
  return true;
}

void ShapeLowering::lowerTag(ADTTagOp op) {
  Value tag = TagOp::create(builder, builder.getI64Type(), op.getValue());
  auto prim = MakePrimOp::create(builder, op.getResult().getType(), tag);
  op.getResult().replaceAllUsesWith(prim.getResult());
  op.erase();
}

/// Whether an expression is not negative where no variable is.
static bool isNeverNegative(PrimExprAttr expr) {
  if (expr.isVar())
    return true;
  PrimExprFacts facts;
  llvm::StringSet<> names;
  collectVars(expr, names);
  for (StringRef name : names.keys())
    facts.addBounds(name, 0, std::nullopt);
  PrimExprRange range = getRange(expr, facts);
  return range.lower && *range.lower >= 0;
}

SmallVector<Value> ShapeLowering::materializeSizes(StringRef what,
                                                   ShapeExprAttr shape,
                                                   const Scope &scope) {
  SmallVector<Value> sizes = materialize(shape, scope);
  for (auto [index, expr] : llvm::enumerate(shape.getDims()))
    if (!isNeverNegative(expr))
      CheckNotNegativeOp::create(
          builder, sizes[index],
          ("dimension " + Twine(index) + " of " + what).str(), expr.str());
  return sizes;
}

void ShapeLowering::lowerAlloc(AllocTensorOp op, Scope &scope) {
  TensorStructInfoType type = op.getResult().getType();
  if (type.hasShape() && op.getDims().empty())
    op.getDimsMutable().assign(
        materializeSizes(toString(type), type.getShape(), scope));
  if (VDeviceAttr device = deviceOf(type))
    op.setDeviceAttr(device);
}

void ShapeLowering::lowerStorage(AllocStorageOp op, Scope &scope) {
  PrimExprAttr size = op.getSizeAttr();
  if (!size)
    return;
  op.getBytesMutable().assign(materialize(size, scope));
  op.removeSizeAttr();
}

void ShapeLowering::lowerView(ViewOp op, Scope &scope) {
  TensorStructInfoType type = op.getResult().getType();
  if (type.hasShape() && op.getDims().empty())
    op.getDimsMutable().assign(
        materializeSizes(toString(type), type.getShape(), scope));
}

/// OP08. The verifier of the module's devices reports one that is not listed.
void ShapeLowering::lowerMove(ToVDeviceOp op) {
  VDeviceAttr device = lookupVDevice(op, op.getVdeviceAttr());
  if (!device)
    return;
  auto copy = ToDeviceOp::create(builder, op.getResult().getType(),
                                 op.getData(), device);
  op.getResult().replaceAllUsesWith(copy.getResult());
  op.erase();
}

void ShapeLowering::lowerKernelCall(CallKernelOp op) {
  Value packed = op.getPackedInts();
  if (!packed)
    return;
  auto type = cast<ShapeStructInfoType>(packed.getType());
  SmallVector<Value> ints;
  for (int64_t i = 0; i < type.getNdim(); ++i)
    ints.push_back(DimOp::create(builder, builder.getI64Type(), packed, i));
  op.getIntsMutable().assign(ints);
  op.getPackedIntsMutable().clear();
}

void ShapeLowering::lowerClosure(MakeClosureOp op, Scope &scope) {
  if (!op.getDims().empty())
    return;
  SmallVector<Value> dims;
  for (StringRef name : op.getNames().getAsValueRange<StringAttr>()) {
    dims.push_back(scope.dims.lookup(name));
    if (!dims.back()) {
      op.emitOpError() << "shape variable '" << name
                       << "' is used before it is bound";
      hasErrors = true;
      return;
    }
  }
  op.getDimsMutable().assign(dims);
}

void ShapeLowering::lowerOp(Operation *op, Scope &scope) {
  builder.setInsertionPoint(op);
  builder.setLoc(op->getLoc());
  TypeSwitch<Operation *>(op)
      .Case([&](MatchCastOp cast) { lowerCast(cast, scope); })
      .Case([&](ShapeOp shape) { lowerShape(shape, scope); })
      .Case([&](PrimValueOp prim) { lowerPrimValue(prim, scope); })
      .Case([&](ADTTagOp tag) { lowerTag(tag); })
      .Case([&](AllocTensorOp alloc) { lowerAlloc(alloc, scope); })
      .Case([&](AllocStorageOp alloc) { lowerStorage(alloc, scope); })
      .Case([&](ViewOp view) { lowerView(view, scope); })
      .Case([&](ToVDeviceOp move) { lowerMove(move); })
      .Case([&](CallKernelOp call) { lowerKernelCall(call); })
      .Case([&](MakeClosureOp closure) { lowerClosure(closure, scope); })
      .Case([&](ReturnOp ret) { checkReturn(ret, scope); })
      .Case([&](CallPackedOp call) {
        if (!lowerTruth(call))
          checkResult(call, scope);
      })
      .Case([&](CallOp call) {
        // A function of the module checks its own result.
        if (call.getFunction())
          checkResult(call, scope);
      })
      .Case([&](IfOp branch) { checkCondition(branch); });
}

/// A dataflow block shares the scope around it; any other region has its own.
void ShapeLowering::lowerRegions(Operation *op, Scope &scope) {
  for (Region &region : op->getRegions()) {
    Scope inner = scope;
    for (Block &block : region)
      lowerBlock(block, isa<DataflowOp>(op) ? scope : inner);
  }
}

void ShapeLowering::lowerOps(ArrayRef<Operation *> ops, Scope &scope) {
  for (Operation *op : ops) {
    // Some operations are gone afterwards; none of those has regions.
    bool hasRegions = op->getNumRegions() != 0;
    lowerOp(op, scope);
    if (hasRegions)
      lowerRegions(op, scope);
  }
}

void ShapeLowering::lowerBlock(Block &block, Scope &scope) {
  // Checks are put after a call: they are not to be visited.
  SmallVector<Operation *> ops =
      llvm::map_to_vector(block, [](Operation &op) { return &op; });
  lowerOps(ops, scope);
}

/// Removes dimensions from the types of all values and of the function.
void ShapeLowering::eraseTypes() {
  auto erase = [](Value value) {
    if (isa<StructInfoTypeInterface>(value.getType()))
      value.setType(eraseDims(value.getType()));
  };
  func.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), erase);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), erase);
  });
  auto eraseAll = [](ArrayRef<Type> types) {
    return llvm::map_to_vector(types, [](Type t) { return eraseDims(t); });
  };
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         eraseAll(func.getArgumentTypes()),
                                         eraseAll(func.getResultTypes())));
}

/// Records the current signature, which callers from outside see.
void ShapeLowering::recordStructInfo() {
  RelaxDialect::RuntimeStructInfoAttrHelper helper(func.getContext());
  if (func.isPrivate() || helper.isAttrPresent(func))
    return;
  helper.setAttr(func, builder.getStringAttr(toRuntimeStructInfo(
                           getFuncStructInfo(func), {}, getGlobalInfo(func))));
}

LogicalResult ShapeLowering::run() {
  Scope scope;
  builder.setInsertionPointToStart(&func.getBody().front());
  // The operations of the body, before checks are put in front of them.
  SmallVector<Operation *> body = llvm::map_to_vector(
      func.getBody().front(), [](Operation &op) { return &op; });
  recordStructInfo();
  collectSizeVars();
  lowerSignature(scope);
  lowerOps(body, scope);
  eraseTypes();
  return failure(hasErrors);
}

/// Once shapes are gone an operation could not say what it needs to be lowered.
static LogicalResult verifyLowered(FuncOp func) {
  bool isLowered = true;
  func.walk([&](Operation *op) {
    if (!isa_and_nonnull<RelaxDialect>(op->getDialect()) ||
        op->getName().stripDialect().starts_with("builtin.") ||
        isa<ADTGetOp, ADTMakeOp, ADTTagOp, CallOp, CallPackedOp, ConstantOp,
            DTypeOp, ExternFuncOp, FuncOp, GetItemOp, IfOp, MatchCastOp,
            NullValueOp, PrimValueOp, ReturnOp, ShapeOfOp, ShapeOp, StringOp,
            ToVDeviceOp, TupleOp, YieldOp>(op))
      return;
    isLowered = false;
    op->emitOpError() << "has to be lowered before shapes are: the phases "
                         "normalize, legalize and memory do it";
  });
  return success(isLowered);
}

namespace {
struct RelaxLowerShapesPass
    : relax::impl::RelaxLowerShapesPassBase<RelaxLowerShapesPass> {
  using RelaxLowerShapesPassBase::RelaxLowerShapesPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    if (failed(verifyLowered(getOperation())) ||
        failed(ShapeLowering(getOperation()).run()))
      return signalPassFailure();
    if (checks == CheckMode::Necessary)
      dropChecks(getOperation());
  }
};
} // namespace
