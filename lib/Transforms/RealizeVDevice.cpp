//===- RealizeVDevice.cpp - Decide the device of each tensor -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// DR16. Devices flow along the edges of the program in both directions until
// nothing changes: backward as the specification lists it (rules 1 to 4),
// forward as types derive. A device that is known is never replaced, so this
// ends, and two different ones on one edge are an error.
//
// A hint counts as a tensor on its device; at the end it becomes a move, or
// goes. A constant has no device, and neither has a number that becomes a
// tensor: each use on a device gets a moved one.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXREALIZEVDEVICEPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
class Realizer {
public:
  explicit Realizer(ModuleOp module) : module(module) {}
  LogicalResult run();

private:
  // Hints.
  FailureOr<FlatSymbolRefAttr> resolveHint(HintOnDeviceOp hint);
  LogicalResult resolveHints();
  void replaceHints();

  void moveConstants();

  // The rules, one for each kind of edge. Each works in both directions.
  LogicalResult visitFunctions();
  LogicalResult visit(Operation *op);
  LogicalResult visitReturn(ReturnOp op);
  LogicalResult visitOutput(OutputOp op);
  LogicalResult visitYield(YieldOp op);
  LogicalResult visitIf(IfOp op);
  LogicalResult visitCast(MatchCastOp op);
  LogicalResult visitTuple(TupleOp op);
  LogicalResult visitGetItem(GetItemOp op);
  LogicalResult visitGlobalVar(GlobalVarOp op);
  LogicalResult visitClosure(ClosureOp op);
  LogicalResult visitCall(CallOp op);
  LogicalResult visitPacked(Operation *op);
  LogicalResult visitOperator(Operation *op);

  // Edges.
  LogicalResult fill(Value value, Type like, Operation *user, Location from);
  LogicalResult fill(OpOperand &use, Type like, Location from);
  LogicalResult fillResult(FuncOp func, Type like, Operation *user,
                           Location from);
  LogicalResult link(OpOperand &use, Value other);
  Value moveConstant(Value constant, FlatSymbolRefAttr vdevice);
  LogicalResult reportConflict(Operation *user, VDeviceConflict conflict,
                               Location first, Location second);
  /// Where the device of a value was decided.
  Location origin(Value value);

  LogicalResult verifyRealized();

  ModuleOp module;
  bool changed = false;
  DenseMap<Value, Location> origins;
  DenseMap<Operation *, Location> resultOrigins;
  llvm::MapVector<Operation *, FlatSymbolRefAttr> hints;
};
} // namespace

//===----------------------------------------------------------------------===//
// Kinds of operations
//===----------------------------------------------------------------------===//

/// Whether an operation is the call of an Op of the specification that works on
/// tensors of one device.
static bool isOperator(Operation *op) {
  if (isa<CallTIROp, CallTIRInplaceOp, CallDPSPackedOp>(op))
    return true;
  if (auto call = dyn_cast<CallOp>(op)) // a PrimFunc
    return call.getCalleeAttr() &&
           isa_and_nonnull<func::FuncOp>(SymbolTable::lookupNearestSymbolFrom(
               call, call.getCalleeAttr()));
  return isa_and_nonnull<RelaxDialect>(op->getDialect()) &&
         isa<InferTypeOpInterface>(op) &&
         !isa<ADTGetOp, ADTMakeOp, ADTTagOp, AssertOp, ConstantOp, DTypeOp,
              ExternFuncOp, FatalOp, GetItemOp, HintOnDeviceOp, NullValueOp,
              PrimValueOp, PrintOp, ShapeOp, StringOp, ToVDeviceOp, TupleOp>(
             op);
}

/// Calls of packed functions: what they return is as declared.
static bool isPackedCall(Operation *op) {
  return isa<CallPackedOp, CallPurePackedOp, CallInplacePackedOp>(op);
}

/// Whether an operation makes a tensor of the host without one: a constant, or
/// the call that makes a tensor of a number.
static bool isConstant(Operation *op) {
  auto call = dyn_cast_or_null<CallPurePackedOp>(op);
  return isa_and_nonnull<ConstantOp>(op) ||
         (call && call.getCallee() == "relax_mlir.run.scalar_tensor");
}

/// The first device that a tensor, or one in a tuple, names.
static FlatSymbolRefAttr firstVDevice(Type type) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return tensor.getVdevice();
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    for (Type field : tuple.getFields())
      if (FlatSymbolRefAttr vdevice = firstVDevice(field))
        return vdevice;
  return {};
}

static bool isData(Type type) {
  return isa<TensorStructInfoType, TupleStructInfoType>(type);
}

/// A type with all its tensors on one device.
static Type allOn(Type type, FlatSymbolRefAttr vdevice) {
  return fillVDevices(eraseVDevices(type), vdevice);
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

Location Realizer::origin(Value value) {
  auto it = origins.find(value);
  return it == origins.end() ? value.getLoc() : it->second;
}

LogicalResult Realizer::reportConflict(Operation *user,
                                       VDeviceConflict conflict, Location first,
                                       Location second) {
  InFlightDiagnostic diag = user->emitOpError()
                            << "needs virtual devices " << conflict.first
                            << " and " << conflict.second
                            << " to be one; insert relax.to_vdevice";
  diag.attachNote(first) << conflict.first << " comes from here";
  diag.attachNote(second) << conflict.second << " comes from here";
  return diag;
}

/// Gives the tensors of `value` the devices of `like`, which were decided at
/// `from`, on behalf of `user`.
LogicalResult Realizer::fill(Value value, Type like, Operation *user,
                             Location from) {
  Type type = value.getType();
  if (auto conflict = findVDeviceConflict(type, like))
    return reportConflict(user, *conflict, origin(value), from);
  Type filled = fillVDevices(type, like);
  if (filled == type)
    return success();
  origins.try_emplace(value, from);
  value.setType(filled);
  changed = true;
  return success();
}

LogicalResult Realizer::fill(OpOperand &use, Type like, Location from) {
  if (!isConstant(use.get().getDefiningOp()))
    return fill(use.get(), like, use.getOwner(), from);
  if (FlatSymbolRefAttr vdevice = firstVDevice(like))
    use.set(moveConstant(use.get(), vdevice));
  return success();
}

/// The same for the result that a function declares.
LogicalResult Realizer::fillResult(FuncOp func, Type like, Operation *user,
                                   Location from) {
  Type type = func.getResultTypes().front();
  auto it = resultOrigins.find(func);
  if (auto conflict = findVDeviceConflict(type, like))
    return reportConflict(
        user, *conflict, it == resultOrigins.end() ? func.getLoc() : it->second,
        from);
  Type filled = fillVDevices(type, like);
  if (filled == type)
    return success();
  resultOrigins.try_emplace(func, from);
  func.setFunctionType(
      FunctionType::get(func.getContext(), func.getArgumentTypes(), {filled}));
  changed = true;
  return success();
}

/// Both values are the same one.
LogicalResult Realizer::link(OpOperand &use, Value other) {
  if (failed(fill(use, other.getType(), origin(other))))
    return failure();
  Value value = use.get();
  return fill(other, value.getType(), use.getOwner(), origin(value));
}

/// A constant on a device: one for all its uses there.
Value Realizer::moveConstant(Value constant, FlatSymbolRefAttr vdevice) {
  changed = true;
  for (Operation *user : constant.getUsers())
    if (auto move = dyn_cast<ToVDeviceOp>(user);
        move && move.getVdeviceAttr() == vdevice &&
        move == constant.getDefiningOp()->getNextNode())
      return move.getResult();
  OpBuilder builder(constant.getContext());
  builder.setInsertionPointAfterValue(constant);
  return ToVDeviceOp::create(builder, constant.getLoc(), constant, vdevice);
}

/// A constant that is declared to be on a device is made and moved there.
void Realizer::moveConstants() {
  module.walk([&](Operation *op) {
    if (!isConstant(op))
      return;
    Value value = op->getResult(0);
    FlatSymbolRefAttr vdevice = firstVDevice(value.getType());
    if (!vdevice)
      return;
    value.setType(eraseVDevices(value.getType()));
    Value moved = moveConstant(value, vdevice);
    value.replaceAllUsesExcept(moved, moved.getDefiningOp());
  });
}

//===----------------------------------------------------------------------===//
// Values that are passed on
//===----------------------------------------------------------------------===//

/// Rule 1: the result of a function is that of its body.
LogicalResult Realizer::visitReturn(ReturnOp op) {
  OpOperand &use = op->getOpOperand(0);
  Operation *parent = op->getParentOp();
  if (auto closure = dyn_cast<ClosureOp>(parent)) {
    FuncStructInfoType type = closure.getFuncStructInfo();
    if (failed(fill(use, type.getRet(), origin(closure.getResult()))))
      return failure();
    auto returned = FuncStructInfoType::get(
        type.getParams(), use.get().getType(), type.getPure());
    return fill(closure.getResult(), returned, op, origin(use.get()));
  }
  auto func = cast<FuncOp>(parent);
  auto it = resultOrigins.find(func);
  Location from = it == resultOrigins.end() ? func.getLoc() : it->second;
  if (failed(fill(use, func.getResultTypes().front(), from)))
    return failure();
  return fillResult(func, use.get().getType(), op, origin(use.get()));
}

LogicalResult Realizer::visitOutput(OutputOp op) {
  for (OpOperand &use : op->getOpOperands())
    if (failed(link(use, op->getParentOp()->getResult(use.getOperandNumber()))))
      return failure();
  return success();
}

/// Rule 3. The branches of an `if` may be on different devices, unless one is
/// asked for.
LogicalResult Realizer::visitYield(YieldOp op) {
  Value result = op->getParentOp()->getResult(0);
  OpOperand &use = op->getOpOperand(0);
  if (isa<SeqOp>(op->getParentOp()))
    return link(use, result);
  return fill(use, result.getType(), origin(result));
}

/// DR06: what both branches say.
LogicalResult Realizer::visitIf(IfOp op) {
  auto branch = [](Region &region) {
    return cast<YieldOp>(region.front().getTerminator()).getValue();
  };
  Value first = branch(op.getThenRegion()), second = branch(op.getElseRegion());
  return fill(op.getResult(),
              unifyStructInfo(first.getType(), second.getType()), op,
              origin(first));
}

/// Rule 3.2.
LogicalResult Realizer::visitCast(MatchCastOp op) {
  return link(op.getValueMutable(), op.getResult());
}

LogicalResult Realizer::visitTuple(TupleOp op) {
  auto fields = cast<TupleStructInfoType>(op.getResult().getType()).getFields();
  for (auto [use, field] : llvm::zip(op->getOpOperands(), fields))
    if (failed(fill(use, field, origin(op.getResult()))))
      return failure();
  auto derived = TupleStructInfoType::get(
      op.getContext(), llvm::to_vector(op.getFields().getTypes()));
  return fill(op.getResult(), derived, op, op.getLoc());
}

LogicalResult Realizer::visitGetItem(GetItemOp op) {
  OpOperand &use = op.getTupleValueMutable();
  auto tuple = cast<TupleStructInfoType>(use.get().getType());
  SmallVector<Type> fields(tuple.getFields());
  Type &field = fields[op.getIndex()];
  if (failed(fill(op.getResult(), field, op, origin(use.get()))))
    return failure();
  field = fillVDevices(field, op.getResult().getType());
  return fill(use, TupleStructInfoType::get(op.getContext(), fields),
              origin(op.getResult()));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The parameters are the arguments of the block.
LogicalResult Realizer::visitFunctions() {
  for (auto func : module.getOps<FuncOp>()) {
    if (func.isExternal())
      continue;
    SmallVector<Type> types(func.getBody().getArgumentTypes());
    if (TypeRange(types) != TypeRange(func.getArgumentTypes()))
      func.setFunctionType(
          FunctionType::get(func.getContext(), types, func.getResultTypes()));
  }
  return success();
}

LogicalResult Realizer::visitClosure(ClosureOp op) {
  FuncStructInfoType type = op.getFuncStructInfo();
  for (auto [param, declared] : llvm::zip(op.getParams(), type.getParams()))
    if (failed(fill(param, declared, op, origin(op.getResult()))))
      return failure();
  if (failed(fill(op.getResult(), op.getSelf().getType(), op,
                  origin(op.getSelf()))))
    return failure();
  SmallVector<Type> params = llvm::map_to_vector(
      op.getParams(), [](BlockArgument param) { return param.getType(); });
  auto derived = FuncStructInfoType::get(
      params, op.getFuncStructInfo().getRet(), type.getPure());
  if (failed(fill(op.getResult(), derived, op, op.getLoc())))
    return failure();
  return fill(op.getSelf(), op.getResult().getType(), op, op.getLoc());
}

LogicalResult Realizer::visitGlobalVar(GlobalVarOp op) {
  Operation *symbol =
      SymbolTable::lookupNearestSymbolFrom(op, op.getNameAttr());
  FuncStructInfoType type = getFuncStructInfo(symbol);
  if (type && failed(fill(op.getResult(), type, op, symbol->getLoc())))
    return failure();
  auto func = dyn_cast<FuncOp>(symbol);
  auto wanted = dyn_cast<FuncStructInfoType>(op.getResult().getType());
  if (!func || !wanted || wanted.isPacked())
    return success();
  return fillResult(func, wanted.getRet(), op, origin(op.getResult()));
}

/// Rule 2 for a function of the module or a value. A parameter that names a
/// device decides for its argument; others take that of the result.
LogicalResult Realizer::visitCall(CallOp op) {
  FuncOp func;
  FuncStructInfoType callee;
  if (Value function = op.getFunction()) {
    callee = cast<FuncStructInfoType>(function.getType());
  } else {
    func = SymbolTable::lookupNearestSymbolFrom<FuncOp>(op, op.getCalleeAttr());
    callee = getFuncStructInfo(func);
  }
  if (!callee)
    return success();
  if (callee.isPacked())
    return visitPacked(op);
  Value result = op.getResult();
  Location place = func ? func.getLoc() : origin(op.getFunction());
  if (failed(fill(result, callee.getRet(), op, place)))
    return failure();
  auto wanted = cast<FuncStructInfoType>(FuncStructInfoType::get(
      callee.getParams(), result.getType(), callee.getPure()));
  if (func ? failed(fillResult(func, result.getType(), op, origin(result)))
           : failed(fill(op.getFunctionMutable()[0], wanted, origin(result))))
    return failure();
  auto tensor = dyn_cast<TensorStructInfoType>(result.getType());
  for (auto [use, param] : llvm::zip(op.getArgsMutable(), callee.getParams())) {
    Type like = fillVDevices(eraseVDevices(use.get().getType()), param);
    if (failed(fill(use, like, place)))
      return failure();
    if (!tensor || !tensor.getVdevice())
      continue;
    like = fillVDevices(like, tensor.getVdevice());
    if (failed(fill(use, like, origin(result))))
      return failure();
  }
  return success();
}

/// Rule 2 where nothing is known of the callee: an argument is where the result
/// is.
LogicalResult Realizer::visitPacked(Operation *op) {
  Value result = op->getResult(0);
  auto tensor = dyn_cast<TensorStructInfoType>(result.getType());
  if (!tensor || !tensor.getVdevice())
    return success();
  for (OpOperand &use : op->getOpOperands())
    if (failed(fill(use, allOn(use.get().getType(), tensor.getVdevice()),
                    origin(result))))
      return failure();
  return success();
}

/// Rule 2, and forward: all tensors of an operator are on one device.
LogicalResult Realizer::visitOperator(Operation *op) {
  FlatSymbolRefAttr vdevice;
  std::optional<Location> from;
  auto look = [&](Value value) {
    if (vdevice || !isData(value.getType()))
      return;
    if (FlatSymbolRefAttr found = firstVDevice(value.getType())) {
      vdevice = found;
      from = origin(value);
    }
  };
  llvm::for_each(op->getOperands(), look);
  llvm::for_each(op->getResults(), look);
  if (!vdevice)
    return success();
  for (OpOperand &use : op->getOpOperands())
    if (isData(use.get().getType()) &&
        failed(fill(use, allOn(use.get().getType(), vdevice), *from)))
      return failure();
  for (Value result : op->getResults())
    if (isData(result.getType()) &&
        failed(fill(result, allOn(result.getType(), vdevice), op, *from)))
      return failure();
  return success();
}

LogicalResult Realizer::visit(Operation *op) {
  if (isOperator(op))
    return visitOperator(op);
  if (isPackedCall(op))
    return visitPacked(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ReturnOp op) { return visitReturn(op); })
      .Case([&](OutputOp op) { return visitOutput(op); })
      .Case([&](YieldOp op) { return visitYield(op); })
      .Case([&](IfOp op) { return visitIf(op); })
      .Case([&](MatchCastOp op) { return visitCast(op); })
      .Case([&](TupleOp op) { return visitTuple(op); })
      .Case([&](GetItemOp op) { return visitGetItem(op); })
      .Case([&](GlobalVarOp op) { return visitGlobalVar(op); })
      .Case([&](ClosureOp op) { return visitClosure(op); })
      .Case([&](CallOp op) { return visitCall(op); })
      .Default([](Operation *) { return success(); });
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

FailureOr<FlatSymbolRefAttr> Realizer::resolveHint(HintOnDeviceOp hint) {
  SmallVector<StringRef> names;
  if (DictionaryAttr devices = getGlobalInfo(module))
    for (NamedAttribute device : devices)
      if (auto vdevice = dyn_cast<VDeviceAttr>(device.getValue());
          vdevice &&
          vdevice.getDevId() == static_cast<int64_t>(hint.getDevice()))
        names.push_back(device.getName().getValue());
  if (names.size() == 1)
    return FlatSymbolRefAttr::get(module.getContext(), names.front());
  InFlightDiagnostic diag = hint.emitOpError()
                            << "expected one virtual device with the id "
                            << hint.getDevice() << " in '"
                            << RelaxDialect::GlobalInfoAttrHelper::getNameStr()
                            << "', but ";
  if (names.empty())
    return diag << "there is none", failure();
  diag << "there are ";
  llvm::interleaveComma(names, diag,
                        [&](StringRef name) { diag << '@' << name; });
  return diag << "; use relax.to_vdevice", failure();
}

LogicalResult Realizer::resolveHints() {
  LogicalResult result = success();
  module.walk([&](HintOnDeviceOp hint) {
    FailureOr<FlatSymbolRefAttr> vdevice = resolveHint(hint);
    if (failed(vdevice)) {
      result = failure();
      return;
    }
    hints[hint] = *vdevice;
    Value value = hint.getResult();
    value.setType(allOn(value.getType(), *vdevice));
  });
  return result;
}

/// OP08: data that is there already is left alone, any other is moved.
void Realizer::replaceHints() {
  for (auto [op, vdevice] : hints) {
    auto hint = cast<HintOnDeviceOp>(op);
    Value data = hint.getData();
    if (moveToVDevice(data.getType(), vdevice) != data.getType()) {
      OpBuilder builder(hint);
      data = ToVDeviceOp::create(builder, hint.getLoc(), data, vdevice);
    }
    hint.getResult().replaceAllUsesWith(data);
  }
  for (auto [op, vdevice] : hints)
    op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Verifies that the operands of operators have a device by now.
LogicalResult Realizer::verifyRealized() {
  LogicalResult result = success();
  module.walk([&](Operation *op) {
    if (!isOperator(op) && !isa<CallPurePackedOp, CallInplacePackedOp>(op))
      return;
    for (OpOperand &use : op->getOpOperands()) {
      if (!hasOpenVDevice(use.get().getType()))
        continue;
      InFlightDiagnostic diag = op->emitOpError()
                                << "expected operand " << use.getOperandNumber()
                                << " on a known virtual device, but got "
                                << use.get().getType();
      diag.attachNote(use.get().getLoc())
          << "name the device in the type of this value, or insert "
             "relax.to_vdevice";
      result = failure();
      return;
    }
  });
  return result;
}

LogicalResult Realizer::run() {
  if (failed(verifyVDevices(module)) || failed(resolveHints()))
    return failure();
  DictionaryAttr devices = getGlobalInfo(module);
  if (!devices || devices.empty())
    return success();
  moveConstants();
  do {
    changed = false;
    SmallVector<Operation *> ops;
    for (auto func : module.getOps<FuncOp>())
      func.walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : llvm::reverse(ops))
      if (failed(visit(op)))
        return failure();
    for (Operation *op : ops)
      if (failed(visit(op)))
        return failure();
    if (failed(visitFunctions()))
      return failure();
  } while (changed);
  replaceHints();
  return verifyRealized();
}

namespace {
struct RelaxRealizeVDevicePass
    : relax::impl::RelaxRealizeVDevicePassBase<RelaxRealizeVDevicePass> {
  void runOnOperation() override {
    if (failed(Realizer(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
