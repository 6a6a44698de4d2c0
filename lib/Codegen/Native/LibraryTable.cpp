//===- LibraryTable.cpp - Table of a shared library -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the variable `relax_library` (see relax_runtime.h for its layout), the
// exported functions, and the constructor that tells the runtime where the
// library is:
//
//   int __tvm_ffi_main(void *handle, const TVMFFIAny *args, int32_t nargs,
//                      TVMFFIAny *result) {
//     return relax_library_call(&relax_library, 0, args, nargs, result);
//   }
//
//===----------------------------------------------------------------------===//

#include "TargetMachine.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
class TableBuilder {
public:
  TableBuilder(llvm::Module &module)
      : module(module), builder(module.getContext()), ptr(builder.getPtrTy()) {}

  void build(ArrayRef<std::string> symbols, ArrayRef<std::string> exports,
             ArrayRef<std::string> features);

private:
  llvm::Constant *string(StringRef text);
  llvm::Constant *array(ArrayRef<llvm::Constant *> elements);
  llvm::Constant *declare(StringRef symbol);
  void addExport(StringRef name, unsigned index, llvm::Value *library);
  void addConstructor(llvm::Value *library);

  llvm::Module &module;
  llvm::IRBuilder<> builder;
  llvm::PointerType *ptr;
};
} // namespace

llvm::Constant *TableBuilder::string(StringRef text) {
  llvm::GlobalVariable *variable = builder.CreateGlobalString(
      text, "relax.name", /*AddressSpace=*/0, &module);
  return variable;
}

llvm::Constant *TableBuilder::array(ArrayRef<llvm::Constant *> elements) {
  auto *type = llvm::ArrayType::get(ptr, elements.size());
  return new llvm::GlobalVariable(
      module, type, /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage,
      llvm::ConstantArray::get(type, elements), "relax.table");
}

/// A symbol of one of the objects; only its address is used.
llvm::Constant *TableBuilder::declare(StringRef symbol) {
  auto *variable = new llvm::GlobalVariable(
      module, builder.getInt8Ty(), /*isConstant=*/false,
      llvm::GlobalValue::ExternalLinkage, /*Initializer=*/nullptr, symbol);
  variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
  variable->setDSOLocal(true);
  return variable;
}

void TableBuilder::addExport(StringRef name, unsigned index,
                             llvm::Value *library) {
  llvm::Type *i32 = builder.getInt32Ty();
  auto *type = llvm::FunctionType::get(i32, {ptr, ptr, i32, ptr}, false);
  auto *function = llvm::Function::Create(
      type, llvm::GlobalValue::ExternalLinkage, kEntryPrefix + name, module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "", function));
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      "relax_library_call",
      llvm::FunctionType::get(i32, {ptr, i32, ptr, i32, ptr}, false));
  llvm::CallInst *call = builder.CreateCall(
      callee, {library, builder.getInt32(index), function->getArg(1),
               function->getArg(2), function->getArg(3)});
  call->setTailCall();
  builder.CreateRet(call);
}

/// A function that runs when the library is loaded.
void TableBuilder::addConstructor(llvm::Value *library) {
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), false);
  auto *function = llvm::Function::Create(
      type, llvm::GlobalValue::InternalLinkage, "relax.open", module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "", function));
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      "relax_library_open",
      llvm::FunctionType::get(builder.getVoidTy(), {ptr}, false));
  builder.CreateCall(callee, {library});
  builder.CreateRetVoid();
  llvm::appendToGlobalCtors(module, function, /*Priority=*/65535);
}

void TableBuilder::build(ArrayRef<std::string> symbols,
                         ArrayRef<std::string> exports,
                         ArrayRef<std::string> features) {
  SmallVector<llvm::Constant *> names, addresses, exported, needed;
  for (const std::string &symbol : symbols) {
    names.push_back(string(symbol));
    addresses.push_back(declare(symbol));
  }
  for (const std::string &name : exports)
    exported.push_back(string(name));
  for (StringRef feature : features)
    needed.push_back(string(feature));
  llvm::Type *i32 = builder.getInt32Ty();
  auto *type =
      llvm::StructType::get(i32, i32, i32, i32, ptr, ptr, ptr, ptr, ptr);
  auto *library = new llvm::GlobalVariable(
      module, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantStruct::get(
          type, builder.getInt32(2), builder.getInt32(symbols.size()),
          builder.getInt32(exports.size()), builder.getInt32(features.size()),
          array(names), array(addresses), array(exported),
          llvm::ConstantPointerNull::get(ptr), array(needed)),
      "relax_library");
  for (auto [index, name] : llvm::enumerate(exports))
    addExport(name, index, library);
  addConstructor(library);
}

LogicalResult mlir::relax::emitLibraryTable(MLIRContext *context,
                                            const NativeTarget &target,
                                            ArrayRef<std::string> symbols,
                                            ArrayRef<std::string> exports,
                                            NativeObject &object) {
  object = NativeObject();
  object.target = target;
  Location loc = UnknownLoc::get(context);
  std::string error;
  llvm::TargetMachine *machine =
      getTargetMachine(object.target, /*optLevel=*/2, error);
  if (!machine)
    return emitError(loc, error);
  llvm::LLVMContext llvmContext;
  llvm::Module module("relax-library", llvmContext);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  TableBuilder(module).build(symbols, exports, getQueryableFeatures(*machine));
  if (failed(writeObject(module, *machine, object.bytes)))
    return emitError(loc, "no object files are written for ")
           << object.target.triple;
  return success();
}
