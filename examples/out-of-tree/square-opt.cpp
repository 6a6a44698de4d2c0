//===- square-opt.cpp - relax-opt with a pass more --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Passes.h"

#include "relax-mlir/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::relax::registerAll(registry);
  square::registerSquarePasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Relax, and squares\n", registry));
}
