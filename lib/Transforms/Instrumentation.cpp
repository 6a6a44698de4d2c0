//===- Instrumentation.cpp - For passes of MLIR -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Instrumentation.h"

#include "relax-mlir/IR/Relax.h"

#include "mlir/Analysis/DataFlow/LivenessAnalysis.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/ADT/DenseMap.h"
#include <mutex>

using namespace mlir;

/// Whether a function has a reference other than a call.
static bool isReferenced(ArrayRef<Operation *> users) {
  return !llvm::all_of(users, llvm::IsaPred<CallOpInterface>);
}

/// Whether no call of a function, or none that is live, uses a result.
static bool isResultDead(ArrayRef<Operation *> calls,
                         dataflow::RunLivenessAnalysis &liveness) {
  return llvm::none_of(calls, [&](Operation *call) {
    return llvm::any_of(call->getResults(), [&](Value result) {
      const dataflow::Liveness *state = liveness.getLiveness(result);
      return state && state->isLive;
    });
  });
}

namespace {
class SignatureKeeper : public PassInstrumentation {
public:
  void runBeforePass(Pass *pass, Operation *root) override {
    if (pass->getArgument() != "remove-dead-values")
      return;
    SymbolTableCollection tables;
    SymbolUserMap symbols(tables, root);
    dataflow::RunLivenessAnalysis liveness(root);
    SmallVector<FunctionOpInterface> functions;
    root->walk([&](FunctionOpInterface func) {
      if (!func.isPrivate())
        return;
      ArrayRef<Operation *> users = symbols.getUsers(func);
      // A function of Relax has one result, needed or not.
      if (isReferenced(users) ||
          (isa<relax::FuncOp>(func) && isResultDead(users, liveness)))
        functions.push_back(func);
    });
    for (FunctionOpInterface func : functions)
      func.setPublic();
    std::scoped_lock lock(mutex);
    published[root] = std::move(functions);
  }

  void runAfterPass(Pass *, Operation *root) override { restore(root); }
  void runAfterPassFailed(Pass *, Operation *root) override { restore(root); }

private:
  /// Makes private again what the pass, which erases no function, left.
  void restore(Operation *root) {
    SmallVector<FunctionOpInterface> functions;
    {
      std::scoped_lock lock(mutex);
      auto found = published.find(root);
      if (found == published.end())
        return;
      functions = std::move(found->second);
      published.erase(found);
    }
    for (FunctionOpInterface func : functions)
      func.setPrivate();
  }

  /// The functions made public per root; several roots have passes at once.
  llvm::DenseMap<Operation *, SmallVector<FunctionOpInterface>> published;
  std::mutex mutex;
};
} // namespace

std::unique_ptr<PassInstrumentation> relax::createSignatureKeeper() {
  return std::make_unique<SignatureKeeper>();
}
