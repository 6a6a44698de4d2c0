//===- ADTOps.cpp - Algebraic data types ------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What values are derived, and the steps of the runtime that make and read
// them.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/RuntimeSteps.h"
#include "relax-mlir/IR/StructInfo.h"

using namespace mlir;
using namespace mlir::relax;

LogicalResult ADTMakeOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                          Adaptor, InferredTypes &results) {
  results.push_back(ObjectStructInfoType::get(context));
  return success();
}

LogicalResult ADTTagOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                         Adaptor, InferredTypes &results) {
  results.push_back(PrimStructInfoType::get(IntegerType::get(context, 64)));
  return success();
}

LogicalResult ADTGetOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                         Adaptor, InferredTypes &results) {
  results.push_back(ObjectStructInfoType::get(context));
  return success();
}

void ADTMakeOp::getRuntimeSteps(SmallVectorImpl<RuntimeStep> &steps) {
  steps.emplace_back("adt_make", "adt_make")
      .addInt64(getTag())
      .addValues(getFields());
}

void ADTGetOp::getRuntimeSteps(SmallVectorImpl<RuntimeStep> &steps) {
  steps.emplace_back("adt_get", "adt_get")
      .addValue(getValue())
      .addInt64(getIndex());
}
