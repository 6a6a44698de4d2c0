//===- Ops.cpp - Generated definitions of all operations -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing but generated code: it takes long to compile and changes seldom.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::relax;

void RelaxDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "relax-mlir/IR/RelaxOps.cpp.inc"
      >();
}

/// Parses the branches of relax.if. MLIR drops the uses of what a region
/// defines where the region is wrong itself; where something behind it is,
/// uses ahead of the region would outlive their definitions.
static ParseResult parseBranches(OpAsmParser &parser, Region &thenRegion,
                                 Region &elseRegion) {
  if (parser.parseRegion(thenRegion))
    return failure();
  if (parser.parseKeyword("else") || parser.parseRegion(elseRegion)) {
    for (Block &block : thenRegion)
      block.dropAllDefinedValueUses();
    return failure();
  }
  for (Region *region : {&thenRegion, &elseRegion})
    if (region->empty())
      region->emplaceBlock(); // the verifier asks for a terminator
  return success();
}

static void printBranches(OpAsmPrinter &printer, Operation *,
                          Region &thenRegion, Region &elseRegion) {
  printer.printRegion(thenRegion);
  printer << " else ";
  printer.printRegion(elseRegion);
}

#define GET_OP_CLASSES
#include "relax-mlir/IR/RelaxOps.cpp.inc"
