//===- LambdaLift.cpp - Make functions of closures -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A closure becomes a private function that takes what it captures first: one
// shape that holds the captured shape variables, then the captured values. The
// closures inside of it are lifted afterwards, out of the new function. A call
// of a closure that is known, in the closure itself or after it, passes the
// captured values along and needs no closure.
//
// Kernels that are called or used as values get a function around them, which
// checks the arguments. A name of a packed function that a function of the
// module has as its `global_symbol` stands for that function.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLAMBDALIFTPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Shape variables
//===----------------------------------------------------------------------===//

namespace {
/// The variables that types and attributes use.
struct UsedVars {
  llvm::StringSet<> dims;            // stand for an integer: [n]
  llvm::SetVector<Attribute> shapes; // stand for a shape: var = s
};
} // namespace

static void addWalks(AttrTypeWalker &walker, UsedVars &used) {
  walker.addWalk([&](PrimExprAttr expr) {
    if (expr.isVar())
      used.dims.insert(expr.getName());
  });
  walker.addWalk([&](TensorStructInfoType type) {
    if (StringAttr var = type.getShapeVar())
      used.shapes.insert(var);
  });
  walker.addWalk([&](ShapeStructInfoType type) {
    if (StringAttr var = type.getVar())
      used.shapes.insert(var);
  });
}

/// Collects the variables that the signature and the body of a closure use, and
/// those in the types of the values that it captures.
static UsedVars collectUsedVars(ClosureOp closure, ValueRange captured) {
  UsedVars used;
  AttrTypeWalker walker;
  addWalks(walker, used);
  for (Type type : captured.getTypes())
    walker.walk(type);
  closure->walk([&](Operation *op) {
    walker.walk(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      walker.walk(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          walker.walk(type);
    if (auto inner = dyn_cast<MakeClosureOp>(op))
      for (StringRef name : inner.getNames().getAsValueRange<StringAttr>())
        used.dims.insert(name);
  });
  return used;
}

/// Those of `names` that are bound at `op`, in a fixed order.
static SmallVector<StringRef> namesInScope(const llvm::StringSet<> &names,
                                           Operation *op) {
  llvm::StringSet<> scope;
  collectScope(op, scope);
  SmallVector<StringRef> bound;
  llvm::copy_if(names.keys(), std::back_inserter(bound),
                [&](StringRef name) { return scope.contains(name); });
  llvm::sort(bound);
  return bound;
}

static bool bindsShape(Value value, StringAttr name) {
  auto shape = dyn_cast<ShapeStructInfoType>(value.getType());
  return shape && shape.getVar() == name;
}

/// The value before `op` that is the shape `name`; null where there is none.
static Value findShape(Operation *op, StringAttr name) {
  for (; op->getBlock(); op = op->getParentOp()) {
    for (Operation &before : *op->getBlock()) {
      if (&before == op)
        break;
      for (Value result : before.getResults())
        if (bindsShape(result, name))
          return result;
    }
    for (Value argument : op->getBlock()->getArguments())
      if (bindsShape(argument, name))
        return argument;
    if (isa_and_nonnull<FuncOp>(op->getParentOp()))
      break;
  }
  return {};
}

/// Whether a value of this type holds the shape `name`.
static bool holdsShape(Type type, StringAttr name) {
  if (auto shape = dyn_cast<ShapeStructInfoType>(type))
    return shape.getVar() == name;
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  return tuple && llvm::any_of(tuple.getFields(), [&](Type field) {
           return holdsShape(field, name);
         });
}

/// Whether a parameter or a cast of the closure binds the shape `name`.
static bool bindsShapeItself(ClosureOp closure, StringAttr name) {
  return llvm::any_of(
             closure.getParams(),
             [&](Value param) { return holdsShape(param.getType(), name); }) ||
         closure
             .walk([&](MatchCastOp cast) {
               return holdsShape(cast.getResult().getType(), name)
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted();
}

/// Takes `var = s` out of all types of `func`, for each of `names`.
static void eraseShapeVars(FuncOp func,
                           const llvm::SetVector<Attribute> &names) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](TensorStructInfoType type) -> std::optional<Type> {
        if (!type.getShapeVar() || !names.contains(type.getShapeVar()))
          return std::nullopt;
        return TensorStructInfoType::get(type.getContext(), type.getNdim(),
                                         type.getDtype(), type.getVdevice())
            .withSharding(type.getSharding());
      });
  replacer.addReplacement([&](ShapeStructInfoType type) -> std::optional<Type> {
    if (!type.getVar() || !names.contains(type.getVar()))
      return std::nullopt;
    return ShapeStructInfoType::get(type.getContext(), ShapeExprAttr(),
                                    type.getNdim());
  });
  replacer.recursivelyReplaceElementsIn(func, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

//===----------------------------------------------------------------------===//
// The lifting
//===----------------------------------------------------------------------===//

namespace {
class Lifter {
public:
  explicit Lifter(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run();

private:
  void collectGlobalSymbols();
  LogicalResult lowerFunction(FuncOp func);
  /// What a closure is given of the scope around it.
  struct Captures {
    /// Dimensions, shapes that types refer to, and values.
    SmallVector<Value> values;
    /// Shapes that types refer to and no value has.
    llvm::SetVector<Attribute> lostShapes;
  };
  static Captures findCaptures(ClosureOp closure);
  FuncOp declare(FuncOp outer, ClosureOp closure, ValueRange captures);
  void moveBody(ClosureOp closure, FuncOp lifted, ValueRange captures);
  void lift(FuncOp outer, ClosureOp closure);
  void replaceSelf(FuncOp lifted, BlockArgument self);
  void makeDirect(CallOp call, FlatSymbolRefAttr callee, ValueRange captures);
  LogicalResult lower(GlobalVarOp op);
  LogicalResult lower(CallOp op);
  LogicalResult lowerName(Operation *op, StringAttr name);
  FailureOr<FlatSymbolRefAttr> getFunction(Operation *user,
                                           FlatSymbolRefAttr name);
  FuncOp wrapKernel(func::FuncOp kernel, FuncStructInfoType type);
  std::string uniqueName(const Twine &stem);

  ModuleOp module;
  SymbolTable symbols;
  /// Functions of the module by their global symbol.
  llvm::StringMap<FlatSymbolRefAttr> globalSymbols;
  DenseMap<Operation *, FuncOp> wrappers;
  /// Functions whose closures are still to be lifted.
  SmallVector<FuncOp> worklist;
};
} // namespace

/// Calls `rewrite` for each call of a function value that does not also pass it
/// on as an argument; such a call may be erased.
static void forEachCall(Value function,
                        llvm::function_ref<void(CallOp)> rewrite) {
  for (Operation *user : llvm::make_early_inc_range(function.getUsers()))
    if (auto call = dyn_cast<CallOp>(user);
        call && call.getFunction() == function &&
        !llvm::is_contained(call.getArgs(), function))
      rewrite(call);
}

/// "main.f", "main.f1", ...: the first name that is free.
std::string Lifter::uniqueName(const Twine &stem) {
  std::string name = stem.str();
  for (unsigned suffix = 1; symbols.lookup(name); ++suffix)
    name = (stem + Twine(suffix)).str();
  return name;
}

/// A closure of a function of the module, whose variables are its own.
static MakeClosureOp makeClosure(OpBuilder &builder, Location loc,
                                 FlatSymbolRefAttr callee, ValueRange captures,
                                 FuncStructInfoType info) {
  return MakeClosureOp::create(builder, loc, info, callee, captures,
                               TypeAttr::get(info), builder.getStrArrayAttr({}),
                               /*dims=*/ValueRange());
}

/// A closure of the scope around it, whose variables it uses.
static Value makeLocalClosure(OpBuilder &builder, Location loc,
                              FlatSymbolRefAttr callee, ValueRange captures,
                              FuncStructInfoType info) {
  MakeClosureOp closure = makeClosure(builder, loc, callee, captures, info);
  llvm::StringSet<> names;
  collectFunctionVars(info, names);
  closure.setNamesAttr(builder.getStrArrayAttr(namesInScope(names, closure)));
  return closure.getResult();
}

/// Replaces a call of a closure by one of the function made of it. The type
/// that the callee derives from the captured values may be another name for the
/// one that the call declares; the callee checks that both are the same.
void Lifter::makeDirect(CallOp call, FlatSymbolRefAttr callee,
                        ValueRange captures) {
  OpBuilder builder(call);
  SmallVector<Value> args(captures);
  llvm::append_range(args, call.getArgs());
  Type declared = call.getResult().getType();
  auto direct =
      CallOp::create(builder, call.getLoc(), declared, callee,
                     /*function=*/Value(), args, /*sinfo_args=*/ArrayAttr(),
                     call.getArgAttrsAttr(), call.getResAttrsAttr());
  direct->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  Value result = direct.getResult();
  SmallVector<Type> derived;
  if (succeeded(direct.deriveResultTypes(derived)) &&
      isSubtype(derived.front(), declared) != Ternary::Yes) {
    result.setType(derived.front());
    result = relax::CastOp::create(builder, call.getLoc(), declared, result);
  }
  call.getResult().replaceAllUsesWith(result);
  call.erase();
}

/// Calls of itself pass on what was captured; only another use needs a closure.
void Lifter::replaceSelf(FuncOp lifted, BlockArgument self) {
  auto callee = FlatSymbolRefAttr::get(lifted);
  Block &body = lifted.getBody().front();
  unsigned numCaptures = lifted.getNumCaptures();
  SmallVector<Value> captures(body.getArguments().take_front(numCaptures));
  forEachCall(self, [&](CallOp call) { makeDirect(call, callee, captures); });
  if (self.use_empty())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  self.replaceAllUsesWith(
      makeLocalClosure(builder, lifted.getLoc(), callee, captures,
                       cast<FuncStructInfoType>(self.getType())));
}

/// The name of a closure in the source: that of the value it is bound to.
static StringRef closureName(ClosureOp closure) {
  if (auto name = closure->getLoc()->findInstanceOf<NameLoc>())
    return name.getName();
  return "lambda";
}

Lifter::Captures Lifter::findCaptures(ClosureOp closure) {
  MLIRContext *context = closure.getContext();
  llvm::SetVector<Value> values;
  getUsedValuesDefinedAbove(closure.getBody(), values);
  UsedVars used = collectUsedVars(closure, values.getArrayRef());
  Captures captures;
  SmallVector<StringRef> dimNames = namesInScope(used.dims, closure);
  if (!dimNames.empty()) {
    auto shape = ShapeExprAttr::get(
        context, llvm::map_to_vector(dimNames, [&](StringRef name) {
          return PrimExprAttr::getVar(context, name);
        }));
    OpBuilder builder(closure);
    captures.values.push_back(ShapeOp::create(builder, closure.getLoc(),
                                              ShapeStructInfoType::get(shape),
                                              shape)
                                  .getResult());
  }
  for (Attribute attr : used.shapes) {
    auto name = cast<StringAttr>(attr);
    if (Value shape = findShape(closure, name)) {
      if (!values.contains(shape))
        captures.values.push_back(shape);
    } else if (!bindsShapeItself(closure, name)) {
      captures.lostShapes.insert(name);
    }
  }
  llvm::append_range(captures.values, values);
  return captures;
}

/// A private function after `outer`, of the captures and then the parameters.
FuncOp Lifter::declare(FuncOp outer, ClosureOp closure, ValueRange captures) {
  FuncStructInfoType info = closure.getFuncStructInfo();
  OpBuilder builder(closure.getContext());
  SmallVector<Type> params = llvm::to_vector(captures.getTypes());
  llvm::append_range(params, info.getParams());
  auto lifted = FuncOp::create(
      builder, closure.getLoc(),
      uniqueName(outer.getSymName() + "." + closureName(closure)),
      builder.getFunctionType(params, info.getRet()), info.getPure());
  lifted->setDiscardableAttrs(closure->getDiscardableAttrDictionary());
  lifted.setPrivate();
  RelaxDialect::CapturesAttrHelper(closure.getContext())
      .setAttr(lifted, builder.getI64IntegerAttr(captures.size()));
  SmallVector<StringRef> argNames(captures.size());
  if (ArrayAttr given = closure.getArgNamesAttr())
    llvm::append_range(argNames, given.getAsValueRange<StringAttr>());
  argNames.resize(params.size());
  lifted.setArgNamesAttr(builder.getStrArrayAttr(argNames));
  symbols.insert(lifted, std::next(Block::iterator(outer)));
  return lifted;
}

/// Moves the body of the closure, which then uses parameters where it used the
/// captures and itself.
void Lifter::moveBody(ClosureOp closure, FuncOp lifted, ValueRange captures) {
  lifted.getBody().takeBody(closure.getBody());
  Block &body = lifted.getBody().front();
  for (auto [index, capture] : llvm::enumerate(captures)) {
    Value inside =
        body.insertArgument(index, capture.getType(), capture.getLoc());
    capture.replaceUsesWithIf(inside, [&](OpOperand &use) {
      return lifted.getBody().isAncestor(use.getOwner()->getParentRegion());
    });
  }
  replaceSelf(lifted, body.getArgument(captures.size()));
  body.eraseArgument(captures.size());
}

void Lifter::lift(FuncOp outer, ClosureOp closure) {
  auto [captures, lostShapes] = findCaptures(closure);
  FuncOp lifted = declare(outer, closure, captures);
  moveBody(closure, lifted, captures);
  if (!lostShapes.empty())
    eraseShapeVars(lifted, lostShapes);

  auto callee = FlatSymbolRefAttr::get(lifted);
  forEachCall(closure.getResult(), [&, &captures = captures](CallOp call) {
    makeDirect(call, callee, captures);
  });
  OpBuilder builder(closure);
  if (!closure.getResult().use_empty())
    closure.getResult().replaceAllUsesWith(
        makeLocalClosure(builder, closure.getLoc(), callee, captures,
                         closure.getFuncStructInfo()));
  closure.erase();
  worklist.push_back(lifted);
}

//===----------------------------------------------------------------------===//
// Functions and kernels of the module
//===----------------------------------------------------------------------===//

/// A function that checks the arguments of a kernel and calls it.
FuncOp Lifter::wrapKernel(func::FuncOp kernel, FuncStructInfoType type) {
  FuncOp &wrapper = wrappers[kernel];
  if (wrapper)
    return wrapper;
  MLIRContext *context = kernel.getContext();
  OpBuilder detached(context);
  wrapper = FuncOp::create(
      detached, kernel.getLoc(), uniqueName(kernel.getSymName() + ".closure"),
      FunctionType::get(context, type.getParams(), type.getRet()),
      type.getPure());
  wrapper.setPrivate();
  symbols.insert(wrapper, std::next(Block::iterator(kernel)));
  Block *body = wrapper.addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  auto call = CallOp::create(
      builder, kernel.getLoc(), type.getRet(), FlatSymbolRefAttr::get(kernel),
      /*function=*/Value(), body->getArguments(), /*sinfo_args=*/ArrayAttr(),
      /*arg_attrs=*/ArrayAttr(), /*res_attrs=*/ArrayAttr());
  ReturnOp::create(builder, kernel.getLoc(), call.getResult());
  return wrapper;
}

/// The relax.func that stands for a function of the module.
FailureOr<FlatSymbolRefAttr> Lifter::getFunction(Operation *user,
                                                 FlatSymbolRefAttr name) {
  Operation *symbol = symbols.lookup(name.getAttr());
  FuncStructInfoType type = getFuncStructInfo(symbol);
  if (!type)
    return user->emitOpError()
           << "expected " << name << " to be a function of Relax values";
  if (auto kernel = dyn_cast<func::FuncOp>(symbol))
    return FlatSymbolRefAttr::get(wrapKernel(kernel, type));
  return name;
}

LogicalResult Lifter::lower(GlobalVarOp op) {
  FailureOr<FlatSymbolRefAttr> callee = getFunction(op, op.getNameAttr());
  if (failed(callee))
    return failure();
  forEachCall(op.getResult(),
              [&](CallOp call) { makeDirect(call, *callee, {}); });
  if (!op.getResult().use_empty()) {
    OpBuilder builder(op);
    auto info = getFuncStructInfo(symbols.lookup(callee->getAttr()));
    Value closure =
        makeClosure(builder, op.getLoc(), *callee, {}, info).getResult();
    closure.setType(op.getResult().getType());
    op.getResult().replaceAllUsesWith(closure);
  }
  op.erase();
  return success();
}

/// A kernel is called by the function around it.
LogicalResult Lifter::lower(CallOp op) {
  if (!op.getCallee())
    return success();
  FailureOr<FlatSymbolRefAttr> callee = getFunction(op, op.getCalleeAttr());
  if (succeeded(callee))
    op.setCalleeAttr(*callee);
  return success(succeeded(callee));
}

void Lifter::collectGlobalSymbols() {
  for (Operation &op : *module.getBody())
    if (auto name = op.getAttrOfType<StringAttr>(RelaxDialect::kGlobalSymbol))
      if (isa<FuncOp, func::FuncOp>(op))
        globalSymbols[name.getValue()] = FlatSymbolRefAttr::get(
            name.getContext(), SymbolTable::getSymbolName(&op).getValue());
}

/// Where a function of the module has the name of a packed function, the value
/// stands for it. It states nothing about itself, as any packed function.
LogicalResult Lifter::lowerName(Operation *op, StringAttr name) {
  FlatSymbolRefAttr symbol = globalSymbols.lookup(name.getValue());
  if (!symbol)
    return success();
  FailureOr<FlatSymbolRefAttr> callee = getFunction(op, symbol);
  if (failed(callee))
    return failure();
  OpBuilder builder(op);
  auto info = FuncStructInfoType::get(op->getContext(), "default_derive");
  Value function =
      makeClosure(builder, op->getLoc(), *callee, {}, info).getResult();
  auto replaceBy = [&](Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ExternFuncOp extern_) {
        function.setType(extern_.getResult().getType());
        replaceBy(function);
      })
      .Case([&](CallPackedOp call) {
        replaceBy(CallOp::create(builder, op->getLoc(),
                                 call.getResult().getType(),
                                 /*callee=*/FlatSymbolRefAttr(), function,
                                 call.getArgs(), call.getSinfoArgsAttr(),
                                 /*arg_attrs=*/ArrayAttr(),
                                 /*res_attrs=*/ArrayAttr())
                      .getResult());
      })
      .Case<CallDPSPackedOp, CallInplacePackedOp, CallPurePackedOp>(
          [&](auto call) {
            call.removeCalleeAttr();
            call.getFunctionMutable().assign(function);
          });
  return success();
}

/// The name by which an operation refers to a packed function; null for none.
static StringAttr packedName(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringAttr>(op)
      .Case([](ExternFuncOp extern_) { return extern_.getGlobalSymbolAttr(); })
      .Case<CallPackedOp, CallDPSPackedOp, CallInplacePackedOp,
            CallPurePackedOp>([](auto call) { return call.getCalleeAttr(); })
      .Default([](Operation *) { return StringAttr(); });
}

LogicalResult Lifter::lowerFunction(FuncOp func) {
  SmallVector<ClosureOp> closures;
  func.walk<WalkOrder::PreOrder>([&](ClosureOp closure) {
    closures.push_back(closure);
    return WalkResult::skip();
  });
  for (ClosureOp closure : closures)
    lift(func, closure);
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<GlobalVarOp, CallOp>(op) || packedName(op))
      ops.push_back(op);
  });
  // The uses of a value are lowered before it, so that a call of a function by
  // name is not visited after it is replaced.
  for (Operation *op : llvm::reverse(ops)) {
    LogicalResult result = success();
    if (auto call = dyn_cast<CallOp>(op))
      result = lower(call);
    else if (auto var = dyn_cast<GlobalVarOp>(op))
      result = lower(var);
    else
      result = lowerName(op, packedName(op));
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult Lifter::run() {
  collectGlobalSymbols();
  llvm::append_range(worklist, module.getOps<FuncOp>());
  while (!worklist.empty())
    if (failed(lowerFunction(worklist.pop_back_val())))
      return failure();
  return success();
}

namespace {
struct RelaxLambdaLiftPass
    : relax::impl::RelaxLambdaLiftPassBase<RelaxLambdaLiftPass> {
  void runOnOperation() override {
    if (failed(Lifter(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
