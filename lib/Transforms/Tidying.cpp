//===- Tidying.cpp - Simplification of functions ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes of upstream that run between those of this project.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

void mlir::relax::addTidying(OpPassManager &pm, bool simplifyBlocks) {
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal(false);
  // What a change may enable is visited at once: a second round over all
  // operations finds nothing.
  config.setMaxIterations(1);
  if (!simplifyBlocks)
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  pm.addPass(createCanonicalizerPass(config));
  pm.addPass(createCSEPass());
}
