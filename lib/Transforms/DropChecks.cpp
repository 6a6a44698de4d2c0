//===- DropChecks.cpp - Remove checks of structural information -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mode of compilation that trusts the caller. First all checks go, with the
// dimensions that only they read. Then values that come from elsewhere
// (arguments, results of calls, fields of tuples) get one check of kind and
// rank in front of their first read: without it, reading a string as a tensor
// would be a crash. Values that only pass through are not checked.
//
//===----------------------------------------------------------------------===//

#include "DropChecks.h"

#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The description of the value in a check that was removed.
struct Description {
  StringAttr what, expected;
};

class CheckDropper {
public:
  explicit CheckDropper(FuncOp func) : func(func) {}
  void run();

private:
  void dropAll();
  void dropUnusedVariables();
  void guardReads(Operation *op);
  void guard(Operation *reader, Value value);
  /// Whether `value` was checked in front of `reader`.
  bool isGuarded(Value value, Type type, Operation *reader);

  FuncOp func;
  DenseMap<Value, Description> descriptions;
  DenseMap<Value, SmallVector<CheckOp>> guards;
};
} // namespace

Value mlir::relax::stripCasts(Value value) {
  while (auto cast = value.getDefiningOp<relax::CastOp>())
    value = cast.getValue();
  return value;
}

//===----------------------------------------------------------------------===//
// Dead code
//===----------------------------------------------------------------------===//

/// Whether nothing is divided by a divisor any more.
static bool isDivisorUnused(CheckDivisorOp check) {
  return llvm::none_of(check.getDivisor().getUsers(), [&](Operation *user) {
    auto division = dyn_cast<arith::FloorDivSIOp>(user);
    return division && division.getRhs() == check.getDivisor();
  });
}

static bool isDead(Operation *op) {
  if (auto check = dyn_cast<CheckDivisorOp>(op))
    return isDivisorUnused(check);
  if (isa<DimOp, MakeShapeOp, MakePrimOp>(op))
    return op->use_empty();
  return isa_and_nonnull<arith::ArithDialect, RelaxDialect>(op->getDialect()) &&
         isOpTriviallyDead(op);
}

void mlir::relax::eraseDeadDims(FuncOp func) {
  // Backward, an operation comes after those in it: it takes them along.
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : llvm::reverse(ops))
    if (op != func && isDead(op))
      op->erase();
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

/// Whether the kind of a value is what its type says, whatever the caller did.
static bool isTrusted(Value value) {
  return isa_and_nonnull<AllocStorageOp, AllocTensorOp, ConstantOp, DTypeOp,
                         ExternFuncOp, LoadConstantOp, MakeClosureOp,
                         MakePrimOp, MakeShapeOp, PrimValueOp, ShapeOfOp,
                         StringOp, TupleOp, ViewOp>(value.getDefiningOp());
}

/// The values that an operation looks into, where the runtime does not look
/// itself at what it gets.
static SmallVector<Value> getReads(Operation *op) {
  if (isa<relax::CastOp, CheckOp, GetItemOp, KillOp, MakeClosureOp, OutputOp,
          ReturnOp, ToDeviceOp, TupleOp, YieldOp, CallPackedOp, ADTMakeOp,
          ADTGetOp, TagOp>(op))
    return {};
  Value callee;
  if (auto call = dyn_cast<CallOp>(op))
    callee = call.getFunction();
  else if (auto call = dyn_cast<CallPurePackedOp>(op))
    callee = call.getFunction();
  else if (auto call = dyn_cast<CallInplacePackedOp>(op))
    callee = call.getFunction();
  else
    return llvm::to_vector(op->getOperands());
  return callee ? SmallVector<Value>{callee} : SmallVector<Value>();
}

/// Returns the type that has to be checked to keep a read safe.
static Type guardType(Type type) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return TensorStructInfoType::get(type.getContext(), tensor.getNdim(),
                                     Type());
  return type;
}

bool CheckDropper::isGuarded(Value value, Type type, Operation *reader) {
  return llvm::any_of(guards[value], [&](CheckOp check) {
    Operation *ancestor = check->getBlock()->findAncestorOpInBlock(*reader);
    return ancestor && check->isBeforeInBlock(ancestor) &&
           isSubtype(check.getType(), type) == Ternary::Yes;
  });
}

void CheckDropper::guard(Operation *reader, Value value) {
  Value root = stripCasts(value);
  if (!isa<StructInfoTypeInterface>(value.getType()) ||
      isa<ObjectStructInfoType>(value.getType()) || isTrusted(root))
    return;
  Type type = guardType(value.getType());
  if (isGuarded(root, type, reader))
    return;
  ImplicitLocOpBuilder builder(reader->getLoc(), reader);
  Description description = descriptions.lookup(root);
  if (!description.what)
    description = {builder.getStringAttr("an operand of " +
                                         reader->getName().getStringRef()),
                   builder.getStringAttr(toString(value.getType()))};
  guards[root].push_back(CheckOp::create(builder, value, TypeAttr::get(type),
                                         description.what, description.expected,
                                         /*device=*/VDeviceAttr()));
}

void CheckDropper::guardReads(Operation *op) {
  for (Value value : getReads(op))
    guard(op, value);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void CheckDropper::dropAll() {
  SmallVector<Operation *> checks;
  func.walk([&](Operation *op) {
    if (auto check = dyn_cast<CheckOp>(op))
      descriptions.try_emplace(
          stripCasts(check.getValue()),
          Description{check.getWhatAttr(), check.getExpectedAttr()});
    if (auto check = dyn_cast<CheckFunctionOp>(op))
      descriptions.try_emplace(
          stripCasts(check.getValue()),
          Description{
              check.getWhatAttr(),
              StringAttr::get(func.getContext(), toString(check.getType()))});
    if (isa<CheckOp, CheckBoundsOp, CheckDimOp, CheckFunctionOp, CheckShapeOp>(
            op))
      checks.push_back(op);
  });
  for (Operation *check : checks)
    check->erase();
}

/// A variable that nothing computes with may be any number.
void CheckDropper::dropUnusedVariables() {
  func.walk([](CheckNotNegativeOp check) {
    if (llvm::all_of(check.getValue().getUsers(),
                     llvm::IsaPred<CheckNotNegativeOp>))
      check.erase();
  });
  eraseDeadDims(func);
}

void CheckDropper::run() {
  dropAll();
  eraseDeadDims(func);
  dropUnusedVariables();
  SmallVector<Operation *> ops;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ArrayRef(ops).drop_front())
    guardReads(op);
}

void mlir::relax::dropChecks(FuncOp func) { CheckDropper(func).run(); }
