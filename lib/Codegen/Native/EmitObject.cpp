//===- EmitObject.cpp - From the LLVM dialect to an object ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates a module to LLVM, settles which symbols others see, optimizes it,
// and writes it: in parts, on the threads of the context. A part that was
// compiled before is not compiled again.
//
//===----------------------------------------------------------------------===//

#include "ModuleParts.h"
#include "ObjectCache.h"
#include "TargetMachine.h"

#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/Error.h"

#include <mutex>

using namespace mlir;
using namespace mlir::relax;

/// Whether a loader looks for the symbol.
static bool isSymbol(StringRef name) {
  return name.starts_with(kFunctionPrefix) ||
         name.starts_with(kKernelEntryPrefix) || name == kConstantsSymbol;
}

namespace {
/// Translates the parts of a module.
class Emitter {
public:
  Emitter(ModuleParts &parts, const NativeTarget &target, unsigned optLevel,
          EmitProgress progress)
      : parts(parts), target(target), optLevel(optLevel), progress(progress),
        objects(parts.parts().size()), symbols(parts.parts().size()) {
    for (const ModulePart &part : parts.parts())
      total += part.functions.size();
  }

  LogicalResult run(MLIRContext *context);
  LogicalResult collect(Location loc, NativeObject &object);

private:
  LogicalResult emit(unsigned index);
  void settleSymbols(llvm::Module &module, const ModulePart &part,
                     std::vector<std::string> &defined) const;
  void report(unsigned functions);

  ModuleParts &parts;
  const NativeTarget &target;
  unsigned optLevel;
  EmitProgress progress;
  std::mutex progressMutex;
  unsigned done = 0, total = 0;
  std::vector<ObjectCache::Object> objects;
  std::vector<std::vector<std::string>> symbols;
};
} // namespace

void Emitter::report(unsigned functions) {
  if (!progress)
    return;
  std::lock_guard<std::mutex> lock(progressMutex);
  done += functions;
  progress(done, total);
}

/// Renames the entries, hides what a loader or another part looks for and keeps
/// the rest to the object. The pool is set by the loader, so it is a definition
/// here.
void Emitter::settleSymbols(llvm::Module &module, const ModulePart &part,
                            std::vector<std::string> &defined) const {
  for (llvm::GlobalValue &value : module.global_values()) {
    auto *variable = dyn_cast<llvm::GlobalVariable>(&value);
    if (variable && variable->isDeclaration() && part.definesVariables &&
        variable->getName() == kConstantsSymbol)
      variable->setInitializer(
          llvm::Constant::getNullValue(variable->getValueType()));
    StringRef name = value.getName();
    // By this part, or by another.
    bool isShared = parts.shared().contains(name);
    if (isShared)
      value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    if ((value.isDeclaration() && !isShared) || value.hasLocalLinkage())
      continue;
    if (name.starts_with(kEntryPrefix))
      value.setName(kFunctionPrefix + name.drop_front(kEntryPrefix.size()));
    if (value.isDeclaration())
      continue;
    if (!isShared && !isSymbol(value.getName())) {
      value.setVisibility(llvm::GlobalValue::DefaultVisibility);
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
      continue;
    }
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
    value.setDSOLocal(true);
    if (isSymbol(value.getName()))
      defined.push_back(value.getName().str());
  }
}

LogicalResult Emitter::emit(unsigned index) {
  ModulePart &part = parts.parts()[index];
  NativeTarget own = target;
  std::string error;
  llvm::TargetMachine *machine = getTargetMachine(own, optLevel, error);
  if (!machine)
    return part.module.emitError(error);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(part.module, llvmContext, "relax",
                              /*disableVerification=*/true);
  if (!module)
    return failure();
  // Verified here, where what is wrong becomes an error.
  std::string refusal;
  llvm::raw_string_ostream stream(refusal);
  if (llvm::verifyModule(*module, &stream))
    return part.module.emitError("internal error: LLVM refuses the module: ")
           << StringRef(refusal).trim();
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  settleSymbols(*module, part, symbols[index]);
  ObjectCache::Key key =
      ObjectCache::makeKey(*module, own, optLevel, part.hasScalarLoops);
  objects[index] = ObjectCache::get().find(key);
  if (!objects[index]) {
    if (llvm::Error failed =
            optimizeModule(*module, *machine, optLevel, part.hasScalarLoops))
      return part.module.emitError(llvm::toString(std::move(failed)));
    auto object = std::make_shared<ObjectCache::Bytes>();
    if (failed(writeObject(*module, *machine, *object)))
      return part.module.emitError("no object files are written for ")
             << own.triple;
    objects[index] = object;
    ObjectCache::get().add(key, std::move(object));
  }
  report(part.functions.size());
  return success();
}

LogicalResult Emitter::run(MLIRContext *context) {
  report(0);
  return failableParallelForEach(context, llvm::seq<unsigned>(objects.size()),
                                 [&](unsigned index) { return emit(index); });
}

/// One object stays as it is; several become an archive.
LogicalResult Emitter::collect(Location loc, NativeObject &object) {
  for (std::vector<std::string> &defined : symbols)
    llvm::append_range(object.symbols, defined);
  if (objects.size() == 1) {
    object.bytes = *objects.front();
    return success();
  }
  std::vector<std::string> names;
  for (unsigned index = 0; index < objects.size(); ++index)
    names.push_back(("part" + Twine(index) + ".o").str());
  std::vector<llvm::NewArchiveMember> members;
  for (auto [name, bytes] : llvm::zip_equal(names, objects))
    members.emplace_back(llvm::MemoryBufferRef(
        StringRef(bytes->data(), bytes->size()), StringRef(name)));
  llvm::raw_svector_ostream stream(object.bytes);
  llvm::Error error = llvm::writeArchiveToStream(
      stream, members, llvm::SymtabWritingMode::NormalSymtab,
      members.front().detectKindFromObject(), /*Deterministic=*/true,
      /*Thin=*/false);
  if (error)
    return emitError(loc, llvm::toString(std::move(error)));
  return success();
}

LogicalResult mlir::relax::emitObject(ModuleOp module,
                                      const NativeTarget &target,
                                      unsigned optLevel, NativeObject &object,
                                      EmitProgress progress) {
  object = NativeObject();
  object.target = target;
  std::string error;
  // Fills in the target, and says what is wrong with it once.
  if (!getTargetMachine(object.target, optLevel, error))
    return module.emitError(error);
  MLIRContext *context = module.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  ModuleParts parts(module);
  Emitter emitter(parts, object.target, optLevel, progress);
  if (failed(emitter.run(context)))
    return failure();
  return emitter.collect(module.getLoc(), object);
}
