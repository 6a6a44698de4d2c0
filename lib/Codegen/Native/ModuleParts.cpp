//===- ModuleParts.cpp - A module to translate in parts ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part holds functions, the small constants that they read, and declarations
// of all else. The first part also defines the variables of the module. Kernels
// have parts of their own, which are the same where another module has the same
// kernel: such a part is compiled once (ObjectCache.h).
//
// Functions are moved, not copied: a copy costs as much as the translation.
//
//===----------------------------------------------------------------------===//

#include "ModuleParts.h"

#include "relax-mlir/Analysis/ScalarLoops.h"
#include "relax-mlir/IR/KernelStatus.h"

#include "mlir/Dialect/LLVMIR/Transforms/LegalizeForExport.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::relax;

/// A part below this size is not worth its fixed cost.
static constexpr int64_t kLeastSize = 1500;
/// A kernel below it is compiled with other functions.
static constexpr int64_t kLeastKernelSize = 64;
/// Of one group, even with many threads.
static constexpr int64_t kMostParts = 32;
/// Larger constants are not copied.
static constexpr int64_t kMostCopiedBytes = 4096;

struct mlir::relax::FunctionFacts {
  LLVM::LLVMFuncOp function;
  int64_t size = 0;
  bool hasScalarLoops = false;
};

static FunctionFacts describe(LLVM::LLVMFuncOp function) {
  FunctionFacts facts;
  facts.function = function;
  facts.hasScalarLoops = hasScalarLoops(function);
  for (Block &block : function.getBody())
    facts.size += block.getOperations().size();
  return facts;
}

/// Whether each part may have its own.
static bool isCopied(LLVM::GlobalOp global) {
  if (!global.getConstant() ||
      (global.getLinkage() != LLVM::Linkage::Internal &&
       global.getLinkage() != LLVM::Linkage::Private))
    return false;
  auto elements = dyn_cast_or_null<ElementsAttr>(global.getValueOrNull());
  return !elements || elements.getNumElements() <= kMostCopiedBytes / 8;
}

static bool isDeclaration(Operation *op) {
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    return function.isExternal();
  auto global = cast<LLVM::GlobalOp>(op);
  return !global.getValueOrNull() && !global.getInitializerBlock();
}

ModuleParts::ModuleParts(ModuleOp module) : module(module) {
  // As translation does first: parts are the same when it is done again.
  LLVM::ensureDistinctSuccessors(module);
  for (Operation &op : *module.getBody())
    order.push_back(&op);
  SmallVector<LLVM::LLVMFuncOp> functions;
  bool isSplittable = true;
  for (Operation *op : order) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && !function.isExternal())
      functions.push_back(function);
    isSplittable &= function || isa<LLVM::GlobalOp>(op);
  }
  if (isSplittable) {
    split(functions);
    return;
  }
  ModulePart whole;
  whole.module = module;
  whole.hasScalarLoops = whole.definesVariables = true;
  whole.functions = std::move(functions);
  allParts.push_back(std::move(whole));
}

static int64_t sizeOf(ArrayRef<FunctionFacts> functions) {
  int64_t size = 0;
  for (const FunctionFacts &function : functions)
    size += function.size;
  return size;
}

/// Groups the functions of kernels: those that refer to each other, such as the
/// bodies of its loops. The same kernel makes the same group in any module.
/// Other functions, and those of small kernels, are in the first group.
static SmallVector<SmallVector<FunctionFacts>>
groupByKernel(ArrayRef<LLVM::LLVMFuncOp> functions) {
  llvm::StringMap<unsigned> kernels;
  llvm::IntEqClasses classes(functions.size());
  for (unsigned index = 0; index < functions.size(); ++index)
    if (StringRef name = SymbolTable::getSymbolName(functions[index]);
        name.starts_with(kKernelPrefix))
      kernels[name] = index;
  for (const auto &kernel : kernels) {
    auto uses = SymbolTable::getSymbolUses(functions[kernel.second]);
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses)
      if (auto found = kernels.find(use.getSymbolRef().getRootReference());
          found != kernels.end())
        classes.join(kernel.second, found->second);
  }
  classes.compress();

  SmallVector<SmallVector<FunctionFacts>> groups(1 + classes.getNumClasses());
  for (unsigned index = 0; index < functions.size(); ++index) {
    bool isKernel =
        kernels.contains(SymbolTable::getSymbolName(functions[index]));
    groups[isKernel ? 1 + classes[index] : 0].push_back(
        describe(functions[index]));
  }
  for (auto &kernel : llvm::drop_begin(groups))
    if (sizeOf(kernel) < kLeastKernelSize)
      groups.front().append(std::exchange(kernel, {}));
  return groups;
}

void ModuleParts::deal(ArrayRef<FunctionFacts> functions, bool hasScalarLoops) {
  SmallVector<FunctionFacts> ofKind;
  llvm::copy_if(functions, std::back_inserter(ofKind), [&](const auto &each) {
    return each.hasScalarLoops == hasScalarLoops;
  });
  if (ofKind.empty())
    return;
  llvm::stable_sort(ofKind, [](const auto &lhs, const auto &rhs) {
    return lhs.size > rhs.size;
  });
  unsigned first = allParts.size();
  allParts.resize(
      first + std::clamp<int64_t>(sizeOf(ofKind) / kLeastSize, 1, kMostParts));
  for (const FunctionFacts &function : ofKind) {
    ModulePart &least = *llvm::min_element(
        llvm::drop_begin(allParts, first),
        [](const auto &lhs, const auto &rhs) { return lhs.size < rhs.size; });
    least.size += function.size;
    least.hasScalarLoops = hasScalarLoops;
    least.functions.push_back(function.function);
  }
  // A large function may have left others with nothing.
  while (allParts.back().functions.empty())
    allParts.pop_back();
}

void ModuleParts::split(ArrayRef<LLVM::LLVMFuncOp> functions) {
  for (ArrayRef<FunctionFacts> each : groupByKernel(functions))
    for (bool hasScalarLoops : {false, true})
      deal(each, hasScalarLoops);
  if (allParts.empty())
    allParts.emplace_back();
  allParts.front().definesVariables = true;
  if (allParts.size() == 1) {
    allParts.front().module = module;
    return;
  }

  llvm::StringMap<Operation *> definitions;
  for (Operation *op : order)
    definitions[SymbolTable::getSymbolName(op)] = op;
  for (ModulePart &part : allParts) {
    part.owned = ModuleOp::create(module.getLoc());
    part.module = *part.owned;
    part.module->setAttrs(module->getAttrDictionary());
    Block *body = part.module.getBody();
    for (LLVM::LLVMFuncOp function : part.functions)
      function->moveBefore(body, body->end());
  }
  for (ModulePart &part : allParts)
    declareUses(part, definitions);
  llvm::stable_sort(allParts, [](const auto &lhs, const auto &rhs) {
    return lhs.size > rhs.size;
  });
}

/// Declares in one part a symbol that another part defines.
static Operation *declare(Operation *definition) {
  Operation *declaration = definition->cloneWithoutRegions();
  // Its location may be that of a subprogram, which the definition is.
  declaration->setLoc(UnknownLoc::get(definition->getContext()));
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(declaration)) {
    function.setLinkage(LLVM::Linkage::External);
    return declaration;
  }
  auto global = cast<LLVM::GlobalOp>(declaration);
  global.setLinkage(LLVM::Linkage::External);
  global.removeValueAttr();
  return declaration;
}

void ModuleParts::declareUses(ModulePart &part,
                              const llvm::StringMap<Operation *> &definitions) {
  Block *body = part.module.getBody();
  llvm::StringSet<> known;
  SmallVector<Operation *> open;
  auto add = [&](Operation *op, bool isNew) {
    known.insert(SymbolTable::getSymbolName(op).getValue());
    if (isNew)
      body->push_back(op);
    open.push_back(op);
  };
  for (Operation &op : *body)
    add(&op, /*isNew=*/false);
  if (part.definesVariables)
    for (Operation *op : order)
      if (auto global = dyn_cast<LLVM::GlobalOp>(op);
          global && !isCopied(global))
        add(op->clone(), /*isNew=*/true);
  while (!open.empty()) {
    auto uses = SymbolTable::getSymbolUses(open.pop_back_val());
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses) {
      StringRef name = use.getSymbolRef().getRootReference();
      auto found = definitions.find(name);
      if (known.contains(name) || found == definitions.end())
        continue;
      Operation *definition = found->second;
      auto global = dyn_cast<LLVM::GlobalOp>(definition);
      if (global && isCopied(global)) {
        add(definition->clone(), /*isNew=*/true);
        continue;
      }
      if (!isDeclaration(definition))
        sharedSymbols.insert(name);
      add(declare(definition), /*isNew=*/true);
    }
  }
}

ModuleParts::~ModuleParts() {
  if (allParts.size() < 2)
    return;
  Block *body = module.getBody();
  for (Operation *op : order)
    op->moveBefore(body, body->end());
}
