//===- relax-translate.cpp - mlir-translate for Relax -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module after the phase `shapes` becomes text assembly of the virtual
// machine, and one lowered to the LLVM dialect LLVM IR:
//
//   relax-translate --relax-to-vm shapes.mlir
//   relax-translate --mlir-to-llvmir lowered.mlir
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Codegen/VM.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;

int main(int argc, char **argv) {
  registerAllTranslations();
  TranslateFromMLIRRegistration toVM(
      "relax-to-vm", "translate Relax to text assembly of the virtual machine",
      [](ModuleOp module, raw_ostream &os) {
        return relax::translateToVM(module, os);
      },
      [](DialectRegistry &registry) {
        registerAllDialects(registry);
        registry.insert<relax::RelaxDialect>();
      });
  return failed(mlirTranslateMain(argc, argv, "Relax translation driver\n"));
}
