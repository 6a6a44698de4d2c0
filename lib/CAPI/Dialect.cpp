//===- Dialect.cpp - C interface of modules and phases ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, what is asked of modules and operations, code for the virtual
// machine, and the phases of compilation.
//
//===----------------------------------------------------------------------===//

#include "Wrap.h"

#include "relax-mlir/Analysis/TargetModel.h"
#include "relax-mlir/Codegen/VM.h"
#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/Nesting.h"
#include "relax-mlir/IR/WellFormed.h"
#include "relax-mlir/Pipelines/Pipelines.h"
#include "relax-mlir/TransformOps/Registration.h"
#include "relax-mlir/Transforms/Instrumentation.h"

#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Registration.h"
#include "mlir/CAPI/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <mutex>

using namespace mlir;
using namespace mlir::relax;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Relax, relax, mlir::relax::RelaxDialect)

//===----------------------------------------------------------------------===//
// Well-formedness
//===----------------------------------------------------------------------===//

MlirModule mlirRelaxModuleParseUnverified(MlirContext context,
                                          MlirStringRef text) {
  ParserConfig config(loaded(context), /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(unwrap(text), config);
  return {module ? module.release().getOperation() : nullptr};
}

intptr_t mlirRelaxFindDeepNesting(MlirStringRef text, unsigned limit) {
  std::optional<size_t> place = findDeepNesting(unwrap(text), limit);
  return place ? unwrap(text).take_front(*place).count('\n') + 1 : 0;
}

bool mlirRelaxCheckWellFormed(MlirModule module) {
  return succeeded(checkWellFormed(unwrap(module)));
}

void mlirRelaxTidyKernel(MlirOperation op) {
  if (auto kernel = dyn_cast<func::FuncOp>(unwrap(op)))
    tidyKernel(kernel);
}

bool mlirRelaxOperationIsPure(MlirOperation op) {
  auto purity = dyn_cast<PurityOpInterface>(unwrap(op));
  return !purity || purity.isPureOp();
}

bool mlirRelaxOperationIsAModule(MlirOperation op) {
  return isa<ModuleOp>(unwrap(op));
}

//===----------------------------------------------------------------------===//
// Code for the virtual machine
//===----------------------------------------------------------------------===//

bool mlirRelaxTranslateToVM(MlirModule module, bool isCompiled,
                            MlirStringCallback callback, void *userData) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(
          translateToVM(unwrap(module), os, ConstantMode::External,
                        isCompiled ? ExecMode::Compiled : ExecMode::Bytecode)))
    return false;
  callback(wrap(StringRef(text)), userData);
  return true;
}

intptr_t mlirRelaxModuleGetNumConstants(MlirModule module) {
  return getConstants(unwrap(module)).size();
}

MlirAttribute mlirRelaxModuleGetConstant(MlirModule module, intptr_t index) {
  return wrap(Attribute(getConstants(unwrap(module))[index]));
}

void mlirRelaxConstantGetDataType(MlirAttribute constant,
                                  MlirStringCallback callback, void *userData) {
  std::string name =
      getDataTypeName(cast<ElementsAttr>(unwrap(constant)).getElementType());
  callback(wrap(StringRef(name)), userData);
}

void mlirRelaxConstantGetBytes(MlirAttribute constant,
                               MlirRelaxBytesCallback callback,
                               void *userData) {
  std::string storage;
  ArrayRef<char> bytes =
      getConstantBytes(cast<ElementsAttr>(unwrap(constant)), storage);
  bool isOwned = bytes.data() != storage.data();
  callback(bytes.data(), bytes.size(), isOwned, userData);
}

//===----------------------------------------------------------------------===//
// Passes and phases
//===----------------------------------------------------------------------===//

void mlirRelaxRegisterTransformExtension(MlirDialectRegistry registry) {
  registerTransformExtension(*unwrap(registry));
}

void mlirRelaxRegisterPasses() {
  static std::once_flag once;
  std::call_once(once, registerPassesAndPipelines);
}

void mlirRelaxKeepSignatures(MlirPassManager passManager) {
  unwrap(passManager)->addInstrumentation(createSignatureKeeper());
}

intptr_t mlirRelaxGetNumPhases() { return getPhases().size(); }

MlirStringRef mlirRelaxPhaseGetName(intptr_t index) {
  return wrap(StringRef(getPhases()[index].name));
}

MlirStringRef mlirRelaxPhaseGetDescription(intptr_t index) {
  return wrap(StringRef(getPhases()[index].description));
}

MlirRelaxFastProducts mlirRelaxGetFastProducts(intptr_t vectorBits,
                                               MlirStringRef features) {
  TargetModel target;
  target.vectorBits = vectorBits;
  target.features = unwrap(features).str();
  return {target.multipliesShorts(), target.multipliesBytes(),
          target.multipliesBFloats()};
}
