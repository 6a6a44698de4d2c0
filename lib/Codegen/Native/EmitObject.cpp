//===- EmitObject.cpp - From the LLVM dialect to an object ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates a module to LLVM, settles which symbols others see, optimizes it,
// and writes it.
//
//===----------------------------------------------------------------------===//

#include "TargetMachine.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

using namespace mlir;
using namespace mlir::relax;

/// Whether a loader looks for the symbol.
static bool isSymbol(StringRef name) {
  return name.starts_with(kFunctionPrefix) || name.starts_with(kKernelPrefix) ||
         name == kConstantsSymbol;
}

/// Renames the entries, hides what a loader looks for and keeps the rest to the
/// object. The pool is set by the loader, so it is a definition here.
static void settleSymbols(llvm::Module &module,
                          std::vector<std::string> &symbols) {
  for (llvm::GlobalValue &value : module.global_values()) {
    auto *variable = dyn_cast<llvm::GlobalVariable>(&value);
    if (variable && variable->isDeclaration() &&
        variable->getName() == kConstantsSymbol)
      variable->setInitializer(
          llvm::Constant::getNullValue(variable->getValueType()));
    if (value.isDeclaration() || value.hasLocalLinkage())
      continue;
    StringRef name = value.getName();
    if (name.starts_with(kEntryPrefix))
      value.setName(kFunctionPrefix + name.drop_front(kEntryPrefix.size()));
    if (!isSymbol(value.getName())) {
      value.setVisibility(llvm::GlobalValue::DefaultVisibility);
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
      continue;
    }
    value.setVisibility(llvm::GlobalValue::HiddenVisibility);
    value.setDSOLocal(true);
    symbols.push_back(value.getName().str());
  }
}

LogicalResult mlir::relax::emitObject(ModuleOp module,
                                      const NativeTarget &target,
                                      unsigned optLevel, NativeObject &object) {
  object = NativeObject();
  object.target = target;
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeTargetMachine(object.target, optLevel, error);
  if (!machine)
    return module.emitError(error);

  MLIRContext *context = module.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, llvmContext, "relax");
  if (!llvmModule)
    return failure();
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setPICLevel(llvm::PICLevel::BigPIC);
  settleSymbols(*llvmModule, object.symbols);

  auto optimize =
      makeOptimizingTransformer(optLevel, /*sizeLevel=*/0, machine.get());
  if (llvm::Error failed = optimize(llvmModule.get()))
    return module.emitError(llvm::toString(std::move(failed)));
  if (failed(writeObject(*llvmModule, *machine, object.bytes)))
    return module.emitError("no object files are written for ")
           << object.target.triple;
  return success();
}
