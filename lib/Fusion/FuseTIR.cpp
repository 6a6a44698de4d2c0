//===- FuseTIR.cpp - One kernel for each primitive function -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First each primitive function gets a kernel that does all that it does, which
// functions that do the same share. Then their bodies, which only call that
// kernel, are put where they are called, if the types say that no argument has
// to be checked. Functions and kernels without uses are erased, and a kernel
// takes over the name of its function.
//
// A kernel has the schedule of its function, or else the one of the kernels
// that it is made of.
//
//===----------------------------------------------------------------------===//

#include "MergeKernels.h"

#include "Fusion.h"
#include "relax-mlir/Fusion/Passes.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/Schedule.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXFUSETIRPASS
#include "relax-mlir/Fusion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isPrimitive(FuncOp function) {
  Attribute attr = function->getAttr(kPrimitive);
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr))
    return !number.getValue().isZero(); // true is one of them
  return isa_and_nonnull<UnitAttr>(attr);
}

namespace {
class Fuser {
public:
  explicit Fuser(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult run();

private:
  using Names = llvm::DenseMap<Operation *, StringAttr>;

  FailureOr<Attribute> findSchedule(FuncOp function);
  LogicalResult merge(FuncOp function);
  void inlineCall(relax::CallOp call);
  Names eraseUnused(SmallVector<Operation *> candidates);
  void renameKernels(const Names &gone);
  void eraseUnused();

  ModuleOp module;
  SymbolTable symbols;
  std::vector<func::FuncOp> merged;
  /// The function that a kernel was made of first.
  llvm::DenseMap<Operation *, FuncOp> origins;
  /// Kernels that were called by a function whose kernels are merged.
  llvm::SetVector<StringRef> replaced;
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static Attribute getSchedule(Operation *function) {
  return RelaxDialect::ScheduleAttrHelper(function->getContext())
      .getAttr(function);
}

static bool areEquivalent(func::FuncOp lhs, func::FuncOp rhs) {
  return lhs.getFunctionType() == rhs.getFunctionType() &&
         getSchedule(lhs) == getSchedule(rhs) &&
         OperationEquivalence::isRegionEquivalentTo(
             &lhs.getBody(), &rhs.getBody(),
             OperationEquivalence::IgnoreLocations);
}

/// The schedule of the kernel that a function becomes; null where nothing is
/// asked for.
FailureOr<Attribute> Fuser::findSchedule(FuncOp function) {
  if (Attribute own = getSchedule(function))
    return own;
  Attribute found;
  WalkResult result = function.walk([&](CallTIROp call) {
    auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
    Attribute schedule = kernel ? getSchedule(kernel) : Attribute();
    if (found && schedule && found != schedule) {
      function.emitError() << "expected its kernels to have one schedule, or "
                              "the function, but got "
                           << found << " and " << schedule;
      return WalkResult::interrupt();
    }
    if (schedule)
      found = schedule;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return found;
}

LogicalResult Fuser::merge(FuncOp function) {
  FailureOr<Attribute> schedule = findSchedule(function);
  if (failed(schedule))
    return failure();
  SmallVector<StringRef> callees;
  function.walk([&](CallTIROp call) { callees.push_back(call.getCallee()); });
  func::FuncOp kernel = mergeKernels(function, symbols);
  if (!kernel) {
    if (!getSchedule(function))
      return success();
    return function.emitError()
           << "expected a function with a schedule to call kernels that can "
              "become one, at least two, but got one that stays a function";
  }
  if (*schedule)
    RelaxDialect::ScheduleAttrHelper(module.getContext())
        .setAttr(kernel, cast<DictionaryAttr>(*schedule));
  replaced.insert_range(callees);
  CallTIROp call;
  function.walk([&](CallTIROp only) { call = only; });
  for (func::FuncOp other : merged)
    if (areEquivalent(kernel, other)) {
      kernel.erase();
      call.setCalleeAttr(FlatSymbolRefAttr::get(other));
      return success();
    }
  // The function has the name until it goes.
  std::string name;
  unsigned suffix = 0;
  do
    name = (function.getSymName() + "_kernel" +
            (suffix ? Twine(suffix) : Twine("")))
               .str();
  while (symbols.lookup(name) && ++suffix);
  kernel.setSymName(name);
  symbols.insert(kernel, Block::iterator(function));
  call.setCalleeAttr(FlatSymbolRefAttr::get(kernel));
  merged.push_back(kernel);
  origins[kernel] = function;
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Maps the variables of `function` to their values at the call; none where an
/// argument has to be checked first.
static std::optional<ShapeVarMap> bindVars(FuncOp function,
                                           relax::CallOp call) {
  if (function->hasAttr(RelaxDialect::kLowerBound) ||
      function->hasAttr(RelaxDialect::kUpperBound) ||
      function.getNumArguments() != call.getArgs().size())
    return std::nullopt;
  SmallVector<Type> actuals(call.getArgs().getTypes());
  CallSignature signature = instantiate(function.getFuncStructInfo(), actuals);
  for (auto [index, actual] : llvm::enumerate(actuals))
    if (signature.isOpen[index] ||
        isSubtype(actual, signature.params[index]) != Ternary::Yes)
      return std::nullopt;
  llvm::StringSet<> names;
  for (Type type : function.getArgumentTypes())
    collectBindingVars(type, names);
  ShapeVarMap vars = matchVars(names, function.getArgumentTypes(), actuals);
  for (StringRef name : names.keys())
    if (!vars.contains(name))
      return std::nullopt;
  return vars;
}

/// Whether each type of the operations is known in terms of the caller.
static bool canSubstitute(ArrayRef<Operation *> ops, const ShapeVarMap &vars) {
  return llvm::none_of(ops, [&](Operation *op) {
    return llvm::any_of(op->getResultTypes(),
                        [&](Type type) { return growsTooLarge(type, vars); });
  });
}

/// A copy of an operation in terms of the caller.
static Operation *cloneWith(OpBuilder &builder, Operation *op,
                            IRMapping &mapping, const ShapeVarMap &vars) {
  Operation *copy = builder.clone(*op, mapping);
  for (Value result : copy->getResults())
    result.setType(substitute(result.getType(), vars));
  if (auto shape = dyn_cast<ShapeOp>(copy)) {
    auto type = cast<ShapeStructInfoType>(shape.getResult().getType());
    shape.setValuesAttr(type.getValues());
  } else if (auto prim = dyn_cast<PrimValueOp>(copy)) {
    if (auto expr = dyn_cast<PrimExprAttr>(prim.getValue()))
      prim.setValueAttr(relax::substitute(expr, vars.dims));
  }
  return copy;
}

/// Puts the body of a function in place of a call of it.
void Fuser::inlineCall(relax::CallOp call) {
  if (!call.getCallee())
    return;
  auto function = symbols.lookup<FuncOp>(*call.getCallee());
  if (!function || !isPrimitive(function))
    return;
  std::optional<SmallVector<Operation *>> ops = getStraightLine(function);
  if (!ops || ops->empty())
    return;
  // A function that is no single kernel stays one.
  auto isCall = [](Operation *op) { return isa<CallTIROp>(op); };
  if (llvm::count_if(*ops, isCall) != 1)
    return;
  std::optional<ShapeVarMap> vars = bindVars(function, call);
  if (!vars || !canSubstitute(*ops, *vars))
    return;
  OpBuilder builder(call);
  IRMapping mapping;
  mapping.map(function.getArguments(), call.getArgs());
  function.walk([&](Operation *op) {
    if (llvm::is_contained(*ops, op))
      cloneWith(builder, op, mapping, *vars);
    if (auto output = dyn_cast<OutputOp>(op))
      for (auto [result, value] :
           llvm::zip(output->getParentOp()->getResults(), output.getValues()))
        mapping.map(result, mapping.lookup(value));
  });
  Value result =
      mapping.lookup(function.getBody().front().getTerminator()->getOperand(0));
  Type declared = call.getResult().getType();
  if (result.getType() != declared)
    result = relax::CastOp::create(builder, call.getLoc(), declared, result);
  call.getResult().replaceAllUsesWith(result);
  call.erase();
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Erases those of some symbols that are private and that nothing names, also
/// those that only erased ones name. Returns the names of what is gone.
Fuser::Names Fuser::eraseUnused(SmallVector<Operation *> candidates) {
  Names erased;
  size_t before;
  do {
    before = erased.size();
    SymbolTableCollection tables;
    SymbolUserMap users(tables, module);
    llvm::erase_if(candidates, [&](Operation *symbol) {
      if (!cast<SymbolOpInterface>(symbol).isPrivate() ||
          !users.useEmpty(symbol))
        return false;
      erased[symbol] = SymbolTable::getSymbolName(symbol);
      symbols.erase(symbol);
      return true;
    });
  } while (erased.size() != before);
  return erased;
}

/// Gives kernels the names of the functions that they were made of, where these
/// are gone.
void Fuser::renameKernels(const Names &gone) {
  SymbolTableCollection tables;
  SymbolUserMap users(tables, module);
  for (func::FuncOp kernel : merged)
    if (StringAttr name = gone.lookup(origins[kernel])) {
      symbols.remove(kernel);
      users.replaceAllUsesWith(kernel, name);
      kernel.setSymNameAttr(name);
      symbols.insert(kernel);
    }
}

void Fuser::eraseUnused() {
  SmallVector<Operation *> functions, kernels;
  for (auto function : module.getOps<relax::FuncOp>())
    if (isPrimitive(function))
      functions.push_back(function);
  renameKernels(eraseUnused(std::move(functions)));
  for (StringRef name : replaced)
    if (auto kernel = symbols.lookup<func::FuncOp>(name))
      kernels.push_back(kernel);
  eraseUnused(std::move(kernels));
}

LogicalResult Fuser::run() {
  SmallVector<FuncOp> primitives;
  for (auto function : module.getOps<relax::FuncOp>())
    if (isPrimitive(function))
      primitives.push_back(function);
  if (primitives.empty())
    return success();
  for (FuncOp function : primitives)
    if (failed(merge(function)))
      return failure();
  SmallVector<relax::CallOp> calls;
  module.walk([&](relax::CallOp call) { calls.push_back(call); });
  for (relax::CallOp call : calls)
    inlineCall(call);
  eraseUnused();
  return success();
}

namespace {
struct RelaxFuseTIRPass : relax::impl::RelaxFuseTIRPassBase<RelaxFuseTIRPass> {
  void runOnOperation() override {
    if (failed(Fuser(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
