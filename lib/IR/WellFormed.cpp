//===- WellFormed.cpp - The criteria of the specification -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verification stops at the first operation that is not valid. This check goes
// on: it runs the verifiers one by one and remembers which operations are
// malformed, that is, break a rule of MLIR rather than one of Relax. Nothing is
// asked of those, since their operands and attributes may not be there.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/WellFormed.h"

#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Verifiers, one by one
//===----------------------------------------------------------------------===//

/// Whether a message ends with the id of a rule: "... [WF05]".
static bool namesRule(StringRef message) {
  return message.consume_back("]") && message.size() > 5 &&
         message.drop_back(4).ends_with(" [") &&
         llvm::all_of(message.take_back(4).take_front(2), llvm::isUpper) &&
         llvm::all_of(message.take_back(2), llvm::isDigit);
}

namespace {
class CallGraph;

/// Counts errors, and of those the ones that name no rule of Relax.
class ErrorCounter {
public:
  explicit ErrorCounter(MLIRContext *context)
      : handler(context, [this](Diagnostic &diag) {
          if (diag.getSeverity() == DiagnosticSeverity::Error) {
            ++errors;
            if (!namesRule(diag.str()))
              ++otherErrors;
          }
          return failure(); // now to the handler that shows it
        }) {}

  unsigned errors = 0, otherErrors = 0;

private:
  ScopedDiagnosticHandler handler;
};

class WellFormedChecker {
  using SymbolMap = llvm::MapVector<StringAttr, Operation *>;

public:
  explicit WellFormedChecker(ModuleOp module)
      : module(module), counter(module.getContext()) {}
  LogicalResult check();

private:
  void verify(Operation *op);
  void verifyInvariants(Operation *op);
  bool verifyBlocks(Operation *op);
  void verifySymbols();
  bool verifySymbolTable(Operation *table, SymbolMap &symbols);
  void checkOperands(Operation *op);
  void checkSizes(Operation *op);
  void checkKill(KillOp kill);
  void checkDataflowCall(CallOp call, const CallGraph &graph);
  void checkRecursion(const CallGraph &graph);
  void checkEntryPoints();

  bool isMalformed(Operation *op) const { return malformed.contains(op); }

  ModuleOp module;
  ErrorCounter counter;
  DominanceInfo dominance;
  DenseSet<Operation *> malformed;
};
} // namespace

static void verifyDialectAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (Dialect *dialect = attribute.getNameDialect())
      (void)dialect->verifyOperationAttribute(op, attribute);
}

void WellFormedChecker::verifyInvariants(Operation *op) {
  unsigned before = counter.otherErrors;
  verifyDialectAttributes(op);
  if (std::optional<RegisteredOperationName> name = op->getRegisteredInfo())
    (void)name->verifyInvariants(op);
  if (llvm::is_contained(op->getOperands(), Value()))
    op->emitError("expected an operand, but got none");
  if (counter.otherErrors != before)
    malformed.insert(op);
}

/// Whether all blocks end with a terminator.
bool WellFormedChecker::verifyBlocks(Operation *op) {
  if (!op->isRegistered() || op->hasTrait<OpTrait::NoTerminator>())
    return true;
  bool isValid = true;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      if (!block.empty() &&
          block.back().mightHaveTrait<OpTrait::IsTerminator>())
        continue;
      isValid = false;
      op->emitOpError("expected each of its blocks to end with a terminator");
    }
  return isValid;
}

void WellFormedChecker::verify(Operation *op) {
  verifyInvariants(op);
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      verify(&inner);
  // Region invariants rely on well-formed blocks and terminators.
  if (!verifyBlocks(op) || isMalformed(op) || op == module)
    return;
  unsigned before = counter.otherErrors;
  if (std::optional<RegisteredOperationName> name = op->getRegisteredInfo())
    (void)name->verifyRegionInvariants(op);
  if (counter.otherErrors != before)
    malformed.insert(op);
}

/// Whether each name is bound once in `table`, the module or a table in it. The
/// part of a symbol table's verification that goes on after an error.
bool WellFormedChecker::verifySymbolTable(Operation *table,
                                          SymbolMap &symbols) {
  bool isValid = true;
  for (Operation &op : table->getRegion(0).getOps()) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (!name)
      continue;
    auto [entry, isNew] = symbols.insert({name, &op});
    if (isNew)
      continue;
    isValid = false;
    InFlightDiagnostic diag = op.emitError()
                              << "'" << name.getValue()
                              << "' is bound twice in the module [WF02]";
    diag.attachNote(entry->second->getLoc()) << "it is bound here, too";
  }
  return isValid;
}

void WellFormedChecker::verifySymbols() {
  SymbolMap symbols;
  bool isValid = verifySymbolTable(module, symbols);
  module.walk([&](Operation *op) {
    SymbolMap inner;
    if (op != module && op->hasTrait<OpTrait::SymbolTable>())
      isValid &= verifySymbolTable(op, inner);
  });
  if (!isValid) // the meaning of a name is unknown
    return;
  SymbolTableCollection tables;
  module.walk([&](SymbolUserOpInterface user) {
    bool isSafe = !isMalformed(user);
    for (NamedAttribute attribute : user->getAttrs())
      attribute.getValue().walk([&](SymbolRefAttr symbol) {
        Operation *callee = symbols.lookup(symbol.getRootReference());
        isSafe &= !callee || !isMalformed(callee);
      });
    if (isSafe)
      (void)user.verifySymbolUses(tables);
  });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// WF01-WF03: each operand is bound, and visible, where it is used.
void WellFormedChecker::checkOperands(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (!value || dominance.properlyDominates(value, op))
      continue;
    Operation *definition = value.getDefiningOp();
    Region *home = value.getParentRegion();
    InFlightDiagnostic diag = op->emitOpError()
                              << "operand " << operand.getOperandNumber();
    if (definition && definition->isAncestor(op)) {
      diag << " is the result of the binding it is in: a function refers to "
              "itself by 'rec', and nothing else does [WF02]";
      if (definition != op)
        diag.attachNote(definition->getLoc()) << "the binding is here";
      continue;
    }
    if (home->isAncestor(op->getParentRegion())) {
      diag << " is used before it is bound [WF03]";
    } else if (auto dataflow = dyn_cast<DataflowOp>(home->getParentOp())) {
      diag << " is used outside of the dataflow block that binds it [WF01]";
      diag.attachNote(dataflow.getLoc()) << "the dataflow block begins here";
    } else {
      diag << " is not in scope here [WF03]";
    }
    diag.attachNote(value.getLoc()) << "it is bound here";
  }
}

//===----------------------------------------------------------------------===//
// Recursion
//===----------------------------------------------------------------------===//

namespace {
/// A function of the module and those that it calls, in closures, too.
struct CallNode {
  FuncOp func;
  SmallVector<CallNode *> callees;
};

/// The functions of a module. Two that may call each other, directly or not,
/// are in one cycle.
class CallGraph {
public:
  CallGraph(ModuleOp module, llvm::function_ref<bool(Operation *)> skip);

  /// Whether a call of `callee` in `caller` may lead to a call of `caller`.
  bool isRecursive(FuncOp caller, FuncOp callee) const {
    return cycles.lookup(caller) == cycles.lookup(callee);
  }

  CallNode root; // calls all of them

private:
  llvm::MapVector<Operation *, CallNode> nodes;
  DenseMap<Operation *, unsigned> cycles;
};
} // namespace

template <> struct llvm::GraphTraits<CallGraph *> {
  using NodeRef = CallNode *;
  using ChildIteratorType = SmallVectorImpl<CallNode *>::iterator;
  static NodeRef getEntryNode(CallGraph *graph) { return &graph->root; }
  static ChildIteratorType child_begin(NodeRef node) {
    return node->callees.begin();
  }
  static ChildIteratorType child_end(NodeRef node) {
    return node->callees.end();
  }
};

/// The function of the module that a call names, itself or as a value.
static FuncOp findCallee(CallOp call) {
  FlatSymbolRefAttr name = call.getCalleeAttr();
  if (Value function = call.getFunction())
    if (auto global = function.getDefiningOp<GlobalVarOp>())
      name = global.getNameAttr();
  return name ? SymbolTable::lookupNearestSymbolFrom<FuncOp>(call, name)
              : FuncOp();
}

CallGraph::CallGraph(ModuleOp module,
                     llvm::function_ref<bool(Operation *)> skip) {
  for (auto func : module.getOps<FuncOp>())
    if (!skip(func))
      nodes.insert({func, {func, {}}});
  for (auto &[op, node] : nodes) {
    root.callees.push_back(&node);
    op->walk([&, caller = &node](CallOp call) {
      if (skip(call))
        return;
      if (auto callee = nodes.find(findCallee(call)); callee != nodes.end())
        caller->callees.push_back(&callee->second);
    });
  }
  unsigned count = 0;
  for (auto it = llvm::scc_begin(this); !it.isAtEnd(); ++it, ++count)
    for (CallNode *node : *it)
      if (node->func)
        cycles[node->func] = count;
}

/// The closure around `op` that a call calls by its own name.
static ClosureOp findCalledSelf(CallOp call) {
  auto self = dyn_cast_or_null<BlockArgument>(call.getFunction());
  if (!self || self.getArgNumber() != 0)
    return {};
  auto closure = dyn_cast<ClosureOp>(self.getOwner()->getParentOp());
  return closure && closure->isProperAncestor(call) ? closure : ClosureOp();
}

/// Whether the bytes of a tensor, or of a part of it that strides count, are
/// beyond 64 bits. A dimension may be 0, but not those around it.
static bool isTooLarge(TensorStructInfoType type) {
  if (!type.hasShape())
    return false;
  int64_t bytes =
      type.getDtype() ? (type.getDtype().getIntOrFloatBitWidth() + 7) / 8 : 1;
  return llvm::any_of(type.getDims(), [&](PrimExprAttr dim) {
    int64_t size = std::max<int64_t>(dim.getConstant().value_or(1), 1);
    return llvm::MulOverflow(bytes, size, bytes);
  });
}

/// Sizes that are only known when the program runs are checked then.
void WellFormedChecker::checkSizes(Operation *op) {
  auto check = [&](Type type) {
    type.walk([&](TensorStructInfoType tensor) {
      if (isTooLarge(tensor))
        op->emitOpError() << "expected a tensor of fewer than 2^63 bytes, but "
                             "got "
                          << tensor;
    });
  };
  llvm::for_each(op->getResultTypes(), check);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::for_each(block.getArgumentTypes(), check);
}

/// Whether `user` may run after `op`: not in the other branch of a relax.if.
static bool mayRunLater(Operation *user, Operation *op) {
  for (Operation *above = op; above->getBlock(); above = above->getParentOp())
    if (Operation *other = above->getBlock()->findAncestorOpInBlock(*user))
      return other != above && above->isBeforeInBlock(other);
  return false;
}

/// Nothing uses a value after a program has killed it.
void WellFormedChecker::checkKill(KillOp kill) {
  for (Operation *user : kill->getOperand(0).getUsers()) {
    if (!mayRunLater(user, kill))
      continue;
    InFlightDiagnostic diag = user->emitOpError()
                              << "uses a value that was killed before";
    diag.attachNote(kill.getLoc()) << "it is killed here";
  }
}

/// WF07: the calls of a dataflow block, without those of closures in it.
void WellFormedChecker::checkDataflowCall(CallOp call, const CallGraph &graph) {
  auto dataflow = dyn_cast<DataflowOp>(call->getParentOp());
  if (!dataflow)
    return;
  Operation *caller = call->getParentOfType<FuncOp>(), *callee = nullptr;
  if (ClosureOp closure = findCalledSelf(call))
    caller = callee = closure;
  else if (FuncOp func = findCallee(call))
    if (caller && graph.isRecursive(cast<FuncOp>(caller), func))
      callee = func;
  if (!callee)
    return;
  InFlightDiagnostic diag =
      call.emitOpError()
      << "is recursive, which is not allowed in a dataflow block [WF07]";
  diag.attachNote(dataflow.getLoc()) << "the dataflow block begins here";
  diag.attachNote(callee->getLoc())
      << (callee == caller ? "it calls the function that it is in"
                           : "it calls this function, which calls back");
}

/// WF08: nothing can be derived from a result that depends on itself.
void WellFormedChecker::checkRecursion(const CallGraph &graph) {
  for (CallNode *node : graph.root.callees) {
    if (!node->func.getDeriveResult())
      continue;
    node->func.walk([&](CallOp call) {
      FuncOp callee = isMalformed(call) ? FuncOp() : findCallee(call);
      if (!callee || isMalformed(callee) ||
          !graph.isRecursive(node->func, callee))
        return WalkResult::advance();
      InFlightDiagnostic diag =
          node->func.emitOpError()
          << "is recursive, so it has to state its result [WF08]";
      diag.attachNote(call.getLoc()) << "the call is here";
      return WalkResult::interrupt();
    });
  }
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// WF12, WF13. A module of kernels only is no program.
void WellFormedChecker::checkEntryPoints() {
  auto funcs = module.getOps<FuncOp>();
  if (!funcs.empty() && llvm::none_of(funcs, [&](FuncOp func) {
        return isMalformed(func) || func.isPublic();
      })) {
    InFlightDiagnostic diag =
        module.emitOpError()
        << "expected a function that is not private, to enter the program by "
           "[WF12]";
    diag.attachNote((*funcs.begin()).getLoc()) << "this one is private";
  }
  for (auto kernel : module.getOps<func::FuncOp>())
    if (!isMalformed(kernel))
      (void)verifyGlobalSymbol(kernel);
}

/// WF23.
static void checkNormalized(NormalizeOpInterface call) {
  if (!call.isNormalized())
    call.emitOpError() << "expected each argument by itself, but got a tuple: "
                          "relax-normalize takes its fields [WF23]";
}

LogicalResult WellFormedChecker::check() {
  verify(module);
  verifySymbols();
  CallGraph graph(module, [&](Operation *op) { return isMalformed(op); });
  module.walk([&](Operation *op) {
    checkOperands(op);
    if (isMalformed(op))
      return;
    checkSizes(op);
    if (auto kill = dyn_cast<KillOp>(op))
      checkKill(kill);
    if (auto call = dyn_cast<CallOp>(op))
      checkDataflowCall(call, graph);
    if (auto call = dyn_cast<NormalizeOpInterface>(op))
      checkNormalized(call);
  });
  checkRecursion(graph);
  checkEntryPoints();
  (void)verifyVDevices(module);
  return failure(counter.errors != 0);
}

LogicalResult mlir::relax::checkWellFormed(ModuleOp module) {
  return WellFormedChecker(module).check();
}

LogicalResult mlir::relax::verifyInFunction(Operation *op) {
  if (getFunctionAround(op))
    return success();
  return op->emitOpError() << "expected to be in a relax.func: nothing lowers "
                              "what names a function elsewhere";
}

LogicalResult mlir::relax::verifyGlobalSymbol(FunctionOpInterface func) {
  Attribute attribute = func->getAttr(RelaxDialect::kGlobalSymbol);
  if (!attribute)
    return success();
  if (isa<FuncOp>(func) && !func.isPublic())
    return func->emitOpError()
           << "is not public, so it has no 'global_symbol' [WF13]";
  auto symbol = dyn_cast<StringAttr>(attribute);
  if (symbol && symbol.getValue() == func.getName())
    return success();
  return func->emitOpError()
         << "expected 'global_symbol' to be its name, \"" << func.getName()
         << "\", but got " << attribute << " [WF13]";
}
