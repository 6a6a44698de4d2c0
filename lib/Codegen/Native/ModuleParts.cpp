//===- ModuleParts.cpp - A module to translate in parts ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A part holds functions, the small constants that they read, and declarations
// of all else. The first part also defines the variables of the module.
//
// Functions are moved, not copied: a copy costs as much as the translation.
//
//===----------------------------------------------------------------------===//

#include "ModuleParts.h"

#include "relax-mlir/Analysis/ScalarLoops.h"

#include "mlir/Dialect/LLVMIR/Transforms/LegalizeForExport.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::relax;

/// A part below this size is not worth its fixed cost.
static constexpr int64_t kLeastSize = 1500;
/// Even with many threads.
static constexpr int64_t kMostParts = 32;
/// Larger constants are not copied.
static constexpr int64_t kMostCopiedBytes = 4096;

namespace {
struct FunctionFacts {
  LLVM::LLVMFuncOp function;
  int64_t size = 0;
  bool hasScalarLoops = false;
};
} // namespace

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
    deal(functions);
    return;
  }
  ModulePart whole;
  whole.module = module;
  whole.hasScalarLoops = whole.definesVariables = true;
  whole.numFunctions = functions.size();
  allParts.push_back(std::move(whole));
}

void ModuleParts::deal(ArrayRef<LLVM::LLVMFuncOp> functions) {
  SmallVector<FunctionFacts> facts =
      llvm::map_to_vector(functions, [](auto op) { return describe(op); });
  // Each to the smallest part of its kind, the largest first.
  llvm::stable_sort(facts, [](const auto &lhs, const auto &rhs) {
    return lhs.size > rhs.size;
  });
  SmallVector<SmallVector<LLVM::LLVMFuncOp>> dealt;
  for (bool hasScalarLoops : {false, true}) {
    int64_t size = 0;
    for (const FunctionFacts &function : facts)
      if (function.hasScalarLoops == hasScalarLoops)
        size += function.size;
    if (size == 0)
      continue;
    unsigned first = allParts.size();
    int64_t count = std::clamp<int64_t>(size / kLeastSize, 1, kMostParts);
    allParts.resize(first + count);
    dealt.resize(first + count);
    for (const FunctionFacts &function : facts) {
      if (function.hasScalarLoops != hasScalarLoops)
        continue;
      unsigned least = first;
      for (unsigned part = first; part < allParts.size(); ++part)
        if (allParts[part].size < allParts[least].size)
          least = part;
      allParts[least].size += function.size;
      ++allParts[least].numFunctions;
      allParts[least].hasScalarLoops = hasScalarLoops;
      dealt[least].push_back(function.function);
    }
    // A large function may have left others with nothing.
    while (allParts.back().numFunctions == 0) {
      allParts.pop_back();
      dealt.pop_back();
    }
  }
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
  for (auto [part, partFunctions] : llvm::zip_equal(allParts, dealt)) {
    part.owned = ModuleOp::create(module.getLoc());
    part.module = *part.owned;
    part.module->setAttrs(module->getAttrDictionary());
    Block *body = part.module.getBody();
    for (LLVM::LLVMFuncOp function : partFunctions)
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
