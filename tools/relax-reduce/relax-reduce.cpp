//===- relax-reduce.cpp - Make a module smaller -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes operations of a module as long as a command succeeds with what is
// left, in the manner of delta debugging: many at once first, then one by one.
// An operation of Relax with one result becomes an operand of the same type,
// zeros, or the only field that is left; anything without uses goes, and so do
// functions; blocks and branches become their contents.
//
// Upstream's mlir-reduce rewrites operations that it has erased before where
// patterns replace them, and so crashes on graphs.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/InitAll.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::relax;

namespace cl = llvm::cl;

static cl::opt<std::string> inputName(cl::Positional, cl::desc("<module>"),
                                      cl::Required);
static cl::opt<std::string> outputName("o",
                                       cl::desc("Output, else standard output"),
                                       cl::value_desc("file"), cl::init("-"));
static cl::opt<std::string>
    testName("test", cl::Required, cl::value_desc("command"),
             cl::desc("Command that gets the name of a file, and exits with 0 "
                      "if the module in it is interesting"));
static cl::list<std::string> testArgs("test-arg", cl::value_desc("argument"),
                                      cl::desc("Argument before the file"));

//===----------------------------------------------------------------------===//
// Whether a module is interesting
//===----------------------------------------------------------------------===//

namespace {
/// Runs the command on a module in a temporary file.
class Tester {
public:
  LogicalResult findCommand();
  bool isInteresting(ModuleOp module);

private:
  std::string command;
};
} // namespace

static LogicalResult fail(const Twine &message) {
  llvm::WithColor::error() << message << "\n";
  return failure();
}

LogicalResult Tester::findCommand() {
  auto found = llvm::sys::findProgramByName(testName);
  if (!found)
    return fail("expected a command, but '" + testName +
                "' is not found: " + found.getError().message());
  command = *found;
  if (!llvm::sys::fs::can_execute(command))
    return fail("expected a command, but '" + command + "' cannot be executed");
  return success();
}

bool Tester::isInteresting(ModuleOp module) {
  SmallString<128> path;
  int file;
  if (llvm::sys::fs::createTemporaryFile("relax-reduce", "mlir", file, path))
    return false;
  llvm::FileRemover remover(path);
  {
    llvm::raw_fd_ostream os(file, /*shouldClose=*/true);
    module.print(os);
  }
  SmallVector<StringRef> args = {command};
  llvm::append_range(args, testArgs);
  args.push_back(path);
  return llvm::sys::ExecuteAndWait(command, args, /*Env=*/std::nullopt,
                                   {std::nullopt, StringRef(), StringRef()}) ==
         0;
}

//===----------------------------------------------------------------------===//
// Edits of one operation
//===----------------------------------------------------------------------===//

/// Zeros of a type with known dimensions; null where there are none.
static Value makeZeros(RewriterBase &rewriter, Location loc, Type result) {
  auto type = dyn_cast<TensorStructInfoType>(result);
  if (!type || !type.hasShape() || !type.getDtype() || type.getVdevice())
    return {};
  SmallVector<int64_t> shape;
  for (PrimExprAttr dim : type.getDims()) {
    std::optional<int64_t> size = dim.getConstant();
    if (!size)
      return {};
    shape.push_back(*size);
  }
  auto zeros = dyn_cast_or_null<ElementsAttr>(
      rewriter.getZeroAttr(RankedTensorType::get(shape, type.getDtype())));
  return zeros ? ConstantOp::create(rewriter, loc, type, zeros) : Value();
}

/// Puts the operations of a region in the place of its operation.
static bool inlineRegion(Operation *op, Region &region,
                         RewriterBase &rewriter) {
  SmallVector<Value> values(region.front().getTerminator()->getOperands());
  for (auto [value, result] : llvm::zip(values, op->getResults()))
    if (value.getType() != result.getType())
      return false;
  rewriter.eraseOp(region.front().getTerminator());
  rewriter.inlineBlockBefore(&region.front(), op);
  rewriter.replaceOp(op, values);
  return true;
}

/// How an operation may become less; each is tried in turn.
enum class Edit { Erase, TakeOperand, TakeZeros, TakeFirst, TakeSecond };
static constexpr Edit kEdits[] = {Edit::Erase, Edit::TakeOperand,
                                  Edit::TakeZeros, Edit::TakeFirst,
                                  Edit::TakeSecond};

static bool replaceByOperand(Operation *op, RewriterBase &rewriter) {
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      rewriter.replaceOp(op, operand);
      return true;
    }
  return false;
}

/// Applies an edit; returns whether it fits the operation.
static bool apply(Edit edit, Operation *op, RewriterBase &rewriter) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return false;
  bool hasBlocks = isa<DataflowOp, SeqOp, IfOp>(op);
  rewriter.setInsertionPoint(op);
  switch (edit) {
  case Edit::Erase: {
    bool isUsed = !op->use_empty();
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      isUsed = !SymbolTable::symbolKnownUseEmpty(op, op->getParentOp());
    if (!isUsed)
      rewriter.eraseOp(op);
    return !isUsed;
  }
  case Edit::TakeOperand:
    return op->getNumResults() == 1 && replaceByOperand(op, rewriter);
  case Edit::TakeZeros: {
    Value zeros =
        op->getNumResults() == 1 && !isa<ConstantOp>(op)
            ? makeZeros(rewriter, op->getLoc(), op->getResult(0).getType())
            : Value();
    if (zeros)
      rewriter.replaceOp(op, zeros);
    return static_cast<bool>(zeros);
  }
  case Edit::TakeFirst:
    return hasBlocks && inlineRegion(op, op->getRegion(0), rewriter);
  case Edit::TakeSecond:
    return isa<IfOp>(op) && inlineRegion(op, op->getRegion(1), rewriter);
  }
  llvm_unreachable("all edits are handled");
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

/// The operations of a module in the order in which uses come first.
static SmallVector<Operation *> listOps(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (op != module)
      ops.push_back(op);
  });
  std::reverse(ops.begin(), ops.end());
  return ops;
}

namespace {
class Reducer {
public:
  Reducer(OwningOpRef<ModuleOp> module, Tester &tester)
      : module(std::move(module)), tester(tester) {}
  void run();
  ModuleOp getModule() { return *module; }

private:
  bool tryEdit(Edit edit, size_t begin, size_t end);
  bool reduceBy(Edit edit);

  OwningOpRef<ModuleOp> module;
  Tester &tester;
};
} // namespace

/// Applies an edit to some of the operations, and keeps what is interesting.
bool Reducer::tryEdit(Edit edit, size_t begin, size_t end) {
  OwningOpRef<ModuleOp> copy = module->clone();
  SmallVector<Operation *> ops = listOps(*copy);
  // An operation in a region may go with what is around it, which comes first.
  llvm::DenseSet<Operation *> erased;
  struct Listener : RewriterBase::Listener {
    explicit Listener(llvm::DenseSet<Operation *> &erased) : erased(erased) {}
    void notifyOperationErased(Operation *op) override { erased.insert(op); }
    llvm::DenseSet<Operation *> &erased;
  } listener(erased);
  IRRewriter rewriter(copy->getContext(), &listener);
  bool hasChanged = false;
  for (size_t i = begin; i < std::min(end, ops.size()); ++i)
    if (!erased.contains(ops[i]))
      hasChanged |= apply(edit, ops[i], rewriter);
  ScopedDiagnosticHandler quiet(copy->getContext(),
                                [](Diagnostic &) { return success(); });
  if (!hasChanged || failed(verify(*copy)) || !tester.isInteresting(*copy))
    return false;
  module = std::move(copy);
  return true;
}

/// Tries an edit on all operations, then on halves, and so on.
bool Reducer::reduceBy(Edit edit) {
  bool hasChanged = false;
  for (size_t size = listOps(*module).size(); size > 0; size /= 2)
    for (size_t begin = 0; begin < listOps(*module).size(); begin += size)
      hasChanged |= tryEdit(edit, begin, begin + size);
  return hasChanged;
}

void Reducer::run() {
  bool hasChanged;
  do {
    hasChanged = false;
    for (Edit edit : kEdits)
      hasChanged |= reduceBy(edit);
  } while (hasChanged);
}

static LogicalResult reduce() {
  DialectRegistry registry;
  relax::registerAll(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(inputName, ParserConfig(&context));
  Tester tester;
  if (!module || failed(tester.findCommand()))
    return failure();
  if (!tester.isInteresting(*module))
    return fail("expected an interesting module, but the command fails for '" +
                inputName + "'");
  Reducer reducer(std::move(module), tester);
  reducer.run();
  std::string message;
  auto output = openOutputFile(outputName, &message);
  if (!output)
    return fail(message);
  reducer.getModule().print(output->os());
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Make a module smaller\n");
  return failed(reduce());
}
