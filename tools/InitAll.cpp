//===- InitAll.cpp - Registration of everything -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the tools use this file. In Python, upstream registers itself, and Relax
// registers through its C API.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/InitAll.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Pipelines/Pipelines.h"
#include "relax-mlir/TransformOps/Registration.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void mlir::relax::registerAll(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllPasses();
  registerAllToLLVMIRTranslations(registry);
  registry.insert<RelaxDialect>();
  registerTransformExtension(registry);
  registerPassesAndPipelines();
}
