//===- DeriveStructInfo.cpp - Derive the types of a module -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over each function in program order: when an operation is reached,
// the types of its operands and of its regions are final. Callees come before
// callers, so one run is enough and a second one changes nothing.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXDERIVESTRUCTINFOPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The order of functions
//===----------------------------------------------------------------------===//

namespace {
/// The call graph: calls of functions, and uses of their names as values.
class CallOrder {
public:
  explicit CallOrder(ModuleOp module);

  /// All functions, callees first.
  ArrayRef<FuncOp> get() const { return order; }
  /// Whether a function may call itself, also by way of others.
  bool isRecursive(FuncOp func) const;

private:
  void visit(FuncOp func);

  llvm::MapVector<FuncOp, SmallVector<FuncOp>> callees;
  llvm::SmallPtrSet<Operation *, 16> visited;
  SmallVector<FuncOp> order;
};
} // namespace

CallOrder::CallOrder(ModuleOp module) {
  SymbolTable symbols(module);
  for (FuncOp func : module.getOps<FuncOp>()) {
    SmallVector<FuncOp> &mine = callees[func];
    func.walk([&](Operation *op) {
      FlatSymbolRefAttr name;
      if (auto call = dyn_cast<CallOp>(op))
        name = call.getCalleeAttr();
      else if (auto var = dyn_cast<GlobalVarOp>(op))
        name = var.getNameAttr();
      if (name)
        if (auto callee = symbols.lookup<FuncOp>(name.getAttr()))
          mine.push_back(callee);
    });
  }
  for (FuncOp func : module.getOps<FuncOp>())
    visit(func);
}

/// A chain of calls may be as long as the module, so the stack is explicit.
void CallOrder::visit(FuncOp func) {
  SmallVector<std::pair<FuncOp, unsigned>> stack;
  auto enter = [&](FuncOp func) {
    if (visited.insert(func).second)
      stack.push_back({func, 0});
  };
  enter(func);
  while (!stack.empty()) {
    auto &[current, next] = stack.back();
    ArrayRef<FuncOp> mine = callees[current];
    if (next < mine.size()) {
      enter(mine[next++]);
      continue;
    }
    order.push_back(current);
    stack.pop_back();
  }
}

bool CallOrder::isRecursive(FuncOp func) const {
  llvm::SmallPtrSet<Operation *, 16> reached;
  SmallVector<FuncOp> worklist = {func};
  while (!worklist.empty())
    for (FuncOp callee : callees.lookup(worklist.pop_back_val())) {
      if (callee == func)
        return true;
      if (reached.insert(callee).second)
        worklist.push_back(callee);
    }
  return false;
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

namespace {
class Derivation {
public:
  /// Derives the types of all values in a block; failure after an error.
  LogicalResult deriveBlock(Block &block);

private:
  LogicalResult deriveOp(Operation &op);
  LogicalResult deriveClosure(ClosureOp closure);
  LogicalResult checkReturn(ReturnOp ret);
  /// The types that the rule of an operation gives; none where it has no rule
  /// and its result is what is declared.
  FailureOr<SmallVector<Type>> deriveResults(Operation &op);
  LogicalResult refine(Operation &op, ArrayRef<Type> derived);

  ScopeAnalysis scope;
};
} // namespace

static constexpr llvm::StringLiteral kDeriveResult = "derive_result";

/// DR12: what is possibly compatible is checked on entry of the callee.
static FailureOr<SmallVector<Type>> deriveCall(CallOp call) {
  FailureOr<Type> type = call.deriveResult([&](unsigned index, Type expected) {
    emitWarning(call.getLoc())
        << "argument " << index << " of type "
        << call.getArgs()[index].getType() << " may not be of type " << expected
        << ": relax.match_cast would check it here, or else the callee does";
  });
  if (failed(type))
    return failure();
  return SmallVector<Type>{*type};
}

FailureOr<SmallVector<Type>> Derivation::deriveResults(Operation &op) {
  SmallVector<Type> types;
  auto isInScope = [&](StringRef name) { return scope.isInScope(name); };
  if (auto call = dyn_cast<CallOp>(op))
    return deriveCall(call);
  if (auto branch = dyn_cast<IfOp>(op))
    return SmallVector<Type>{branch.deriveResult(isInScope)};
  if (auto seq = dyn_cast<SeqOp>(op))
    return SmallVector<Type>{seq.deriveResult(isInScope)};
  if (auto rule = dyn_cast<DeriveOpInterface>(op)) {
    if (failed(rule.deriveResultTypes(types)))
      return failure();
    return types;
  }
  if (auto rule = dyn_cast<InferTypeOpInterface>(op)) {
    if (failed(rule.inferReturnTypes(
            op.getContext(), op.getLoc(), op.getOperands(),
            op.getDiscardableAttrDictionary(), op.getPropertiesStorage(),
            op.getRegions(), types)))
      return failure();
    return types;
  }
  // DR11: an operator without a rule derives Object.
  if (!op.isRegistered() &&
      llvm::any_of(op.getResultTypes(), llvm::IsaPred<StructInfoTypeInterface>))
    types.assign(op.getNumResults(),
                 ObjectStructInfoType::get(op.getContext()));
  return types;
}

/// DR08: a declared type may be weaker, and becomes the derived one.
LogicalResult Derivation::refine(Operation &op, ArrayRef<Type> derived) {
  for (auto [result, type] : llvm::zip(op.getResults(), derived)) {
    Type declared = result.getType();
    if (declared == type)
      continue;
    if (isSubtype(type, declared) != Ternary::Yes) {
      InFlightDiagnostic diag = op.emitOpError()
                                << "derives a result of type " << type
                                << ", which is not a subtype of the declared "
                                << declared;
      if (checkCompatibility(type, declared) == Ternary::Unknown)
        diag.attachNote() << "insert relax.match_cast to check it at run time";
      return diag;
    }
    // Where both say the same, the spelling of the program stays.
    if (isSubtype(declared, type) != Ternary::Yes)
      result.setType(type);
  }
  return success();
}

/// DR13, 15.5: what is possibly compatible is checked before the return. What
/// is not is for the verifier.
LogicalResult Derivation::checkReturn(ReturnOp ret) {
  Type actual = ret.getValue().getType(), declared = ret.getDeclaredType();
  if (checkCompatibility(actual, declared) == Ternary::No)
    return ret.verify(); // under the facts in scope
  if (isSubtype(actual, declared) != Ternary::Yes)
    emitWarning(ret.getLoc())
        << "a result of type " << actual << " may not be of the declared type "
        << declared << ": relax.match_cast would check it here, or else the "
        << "function does on return";
  return success();
}

/// DR08, 15.6: the body may call the closure by its declared type.
LogicalResult Derivation::deriveClosure(ClosureOp closure) {
  if (failed(deriveBlock(closure.getBody().front())))
    return failure();
  if (!closure->hasAttr(kDeriveResult))
    return success();
  auto ret = cast<ReturnOp>(closure.getBody().front().back());
  FuncStructInfoType declared = closure.getFuncStructInfo();
  llvm::StringSet<> params;
  for (Type param : declared.getParams())
    collectBindingVars(param, params);
  scope.moveTo(closure);
  Type body = eraseToWellDefined(ret.getValue().getType(), [&](StringRef name) {
    return params.contains(name) || scope.isInScope(name);
  });
  auto type =
      FuncStructInfoType::get(declared.getParams(), body, declared.getPure());
  closure->removeAttr(kDeriveResult);
  closure.getResult().setType(type);
  closure.getSelf().setType(type);
  return success();
}

LogicalResult Derivation::deriveOp(Operation &op) {
  if (auto closure = dyn_cast<ClosureOp>(op))
    return deriveClosure(closure);
  for (Region &region : op.getRegions())
    for (Block &block : region)
      if (failed(deriveBlock(block)))
        return failure();
  scope.moveTo(&op);
  FactsScope known(scope.getFacts());
  if (auto ret = dyn_cast<ReturnOp>(op))
    return checkReturn(ret);
  if (auto cast = dyn_cast<MatchCastOp>(op)) {
    if (cast.alwaysFails()) // DR09: it still fails at run time, and not before
      emitWarning(cast.getLoc())
          << "this cast from " << cast.getValue().getType() << " to "
          << cast.getResult().getType() << " always fails";
    return success();
  }
  if (op.getNumResults() == 0)
    return success();
  FailureOr<SmallVector<Type>> derived = deriveResults(op);
  return failed(derived) ? failure() : refine(op, *derived);
}

LogicalResult Derivation::deriveBlock(Block &block) {
  for (Operation &op : block)
    if (failed(deriveOp(op)))
      return failure();
  return success();
}

/// DR13, 15.6: the result is that of the body, without what only the body
/// knows.
static void deriveSignature(FuncOp func) {
  auto ret = cast<ReturnOp>(func.getBody().front().back());
  llvm::StringSet<> scope;
  for (Type type : func.getArgumentTypes())
    collectBindingVars(type, scope);
  Type result =
      eraseToWellDefined(ret.getValue().getType(),
                         [&](StringRef name) { return scope.contains(name); });
  func.setDeriveResult(false);
  func.setFunctionType(
      FunctionType::get(func.getContext(), func.getArgumentTypes(), {result}));
}

static LogicalResult derive(FuncOp func, bool isRecursive) {
  if (func.isExternal())
    return success();
  if (func.getDeriveResult() && isRecursive) // DR01
    return func.emitOpError()
           << "calls itself, so its result cannot be derived: declare it and "
              "remove 'derive_result'";
  if (failed(Derivation().deriveBlock(func.getBody().front())))
    return failure();
  if (func.getDeriveResult())
    deriveSignature(func);
  return success();
}

namespace {
struct RelaxDeriveStructInfoPass
    : relax::impl::RelaxDeriveStructInfoPassBase<RelaxDeriveStructInfoPass> {
  void runOnOperation() override {
    CallOrder order(getOperation());
    for (FuncOp func : order.get())
      if (failed(derive(func, order.isRecursive(func))))
        return signalPassFailure();
  }
};
} // namespace
