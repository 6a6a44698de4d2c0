//===- InlinePrivateFunctions.cpp - Inline private functions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Callees first, so that a body is inlined once it is complete. Each shape
// variable of a callee is replaced:
//
// - by the dimension of an argument, where its type tells it;
// - by a name that the caller does not have, which a cast of the argument, or
//   what bound it in the body, binds.
//
//===----------------------------------------------------------------------===//

#include "InlineDataflow.h"

#include "relax-mlir/IR/Inliner.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/Transforms/InlineCall.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Analysis/CallGraph.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXINLINEPRIVATEFUNCTIONSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// Functions that call each other twice in a chain double in each step; beyond
/// this many operations the pass ends with an error.
static constexpr int64_t kMaxOperations = 1 << 20;

//===----------------------------------------------------------------------===//
// One call
//===----------------------------------------------------------------------===//

/// What each shape variable that a callee names is at a call.
static ShapeVarMap mapVars(CallOp call, FuncOp callee,
                           llvm::StringSet<> &taken) {
  llvm::StringSet<> names;
  collectNames(callee, names);
  ShapeVarMap values =
      matchVars(getOwnVars(callee.getFuncStructInfo()),
                callee.getArgumentTypes(), call.getArgs().getTypes());
  SmallVector<StringRef> fresh;
  for (StringRef name : names.keys())
    if (!values.contains(name))
      fresh.push_back(name);
  llvm::sort(fresh);
  for (StringRef name : fresh)
    renameVar(values, call.getContext(), name,
              taken.insert(name).second ? name.str()
                                        : makeFreshName(name, taken));
  return values;
}

/// Copies an operation of a callee to the place of a call.
static void inlineOp(Operation &op, CallOp call, const ShapeVarMap &values,
                     IRMapping &mapping, RewriterBase &rewriter) {
  rewriter.setInsertionPoint(call);
  Operation *copy = rewriter.clone(op, mapping);
  replaceVars(copy, values);
  copy->walk([&](Operation *each) {
    each->setLoc(CallSiteLoc::get(each->getLoc(), call.getLoc()));
  });
  auto dataflow = dyn_cast<DataflowOp>(copy);
  if (dataflow && isa<DataflowOp>(call->getParentOp()))
    mapping.map(op.getResults(),
                ValueRange(inlineDataflow(dataflow, rewriter)));
}

void mlir::relax::inlineCall(CallOp call, FuncOp callee, RewriterBase &rewriter,
                             llvm::StringSet<> &taken) {
  ShapeVarMap values = mapVars(call, callee, taken);
  auto castTo = [&](Value value, Type type) -> Value {
    if (value.getType() == type)
      return value;
    return MatchCastOp::create(rewriter, call.getLoc(), type, value);
  };
  rewriter.setInsertionPoint(call);
  IRMapping mapping;
  for (auto [param, arg] : llvm::zip(callee.getArguments(), call.getArgs()))
    mapping.map(param, castTo(arg, substitute(param.getType(), values)));
  for (Operation &op : callee.getBody().front()) {
    if (auto result = dyn_cast<ReturnOp>(op)) {
      Value value = mapping.lookupOrDefault(result.getValue());
      rewriter.setInsertionPoint(call);
      rewriter.replaceOp(call, castTo(value, call.getType()));
      return;
    }
    inlineOp(op, call, values, mapping, rewriter);
  }
}

bool mlir::relax::fitsAt(CallOp call, FuncOp callee) {
  return !isa<DataflowOp>(call->getParentOp()) ||
         llvm::none_of(callee.getBody().front().getOperations(),
                       llvm::IsaPred<IfOp, SeqOp>);
}

//===----------------------------------------------------------------------===//
// All calls
//===----------------------------------------------------------------------===//

namespace {
class PrivateInliner {
public:
  explicit PrivateInliner(ModuleOp module)
      : module(module), symbols(module), rewriter(module.getContext()) {}
  LogicalResult run();

private:
  void collectFunctions();
  LogicalResult inlineInto(FuncOp caller);
  void eraseUnused();

  ModuleOp module;
  SymbolTable symbols;
  IRRewriter rewriter;
  SmallVector<FuncOp> functions; // callees first
  llvm::DenseSet<Operation *> recursive;
  llvm::SetVector<Operation *> inlined;
};
} // namespace

/// Functions in an order in which callees come first, and those that reach
/// themselves.
void PrivateInliner::collectFunctions() {
  const CallGraph graph(module);
  for (auto it = llvm::scc_begin(&graph); !it.isAtEnd(); ++it)
    for (const CallGraphNode *node : *it) {
      if (node->isExternal())
        continue;
      auto func = dyn_cast<FuncOp>(node->getCallableRegion()->getParentOp());
      if (!func)
        continue;
      functions.push_back(func);
      if (it.hasCycle())
        recursive.insert(func);
    }
}

static int64_t countOps(FuncOp func) {
  int64_t count = 0;
  func->walk([&](Operation *) { ++count; });
  return count;
}

LogicalResult PrivateInliner::inlineInto(FuncOp caller) {
  SmallVector<CallOp> calls;
  caller->walk([&](CallOp call) { calls.push_back(call); });
  llvm::StringSet<> taken;
  int64_t count = 0;
  for (CallOp call : calls) {
    auto callee =
        call.getCallee() ? symbols.lookup<FuncOp>(*call.getCallee()) : FuncOp();
    if (!callee || !callee.isPrivate() || recursive.contains(callee) ||
        !mayInline(callee) || !fitsAt(call, callee))
      continue;
    if (count == 0) {
      collectNames(caller, taken);
      count = countOps(caller);
    }
    count += countOps(callee);
    if (count > kMaxOperations)
      return caller->emitError()
             << "expected at most " << kMaxOperations
             << " operations after its calls are inlined, but got more";
    inlineCall(call, callee, rewriter, taken);
    inlined.insert(callee);
  }
  return success();
}

/// Callers come first, so that no use by a function that goes is left.
void PrivateInliner::eraseUnused() {
  for (FuncOp func : llvm::reverse(functions))
    if (inlined.contains(func) &&
        SymbolTable::symbolKnownUseEmpty(func, module))
      symbols.erase(func);
}

LogicalResult PrivateInliner::run() {
  collectFunctions();
  for (FuncOp func : functions)
    if (failed(inlineInto(func)))
      return failure();
  eraseUnused();
  return success();
}

namespace {
struct RelaxInlinePrivateFunctionsPass
    : relax::impl::RelaxInlinePrivateFunctionsPassBase<
          RelaxInlinePrivateFunctionsPass> {
  void runOnOperation() override {
    if (failed(PrivateInliner(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
