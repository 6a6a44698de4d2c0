//===- DebugOps.cpp - Printing, assertions and errors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

using namespace mlir;
using namespace mlir::relax;

static LogicalResult inferNothing(MLIRContext *context,
                                  InferredTypes &results) {
  results.push_back(TupleStructInfoType::get(context, {}));
  return success();
}

bool PrintOp::isPureOp() { return false; }
bool AssertOp::isPureOp() { return false; }
bool FatalOp::isPureOp() { return false; }

LogicalResult PrintOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                        Adaptor, InferredTypes &results) {
  return inferNothing(context, results);
}

LogicalResult AssertOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                         Adaptor, InferredTypes &results) {
  return inferNothing(context, results);
}

LogicalResult FatalOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                        Adaptor, InferredTypes &results) {
  return inferNothing(context, results);
}

/// Properties of the condition that are not known are checked at run time.
LogicalResult AssertOp::verify() {
  Type type = getCondition().getType();
  Type boolean = IntegerType::get(getContext(), 1);
  if (auto prim = dyn_cast<PrimStructInfoType>(type)) {
    if (prim.getDtype() == boolean)
      return success();
  } else {
    auto tensor = cast<TensorStructInfoType>(type);
    if ((!tensor.getDtype() || tensor.getDtype() == boolean) &&
        (!tensor.hasRank() || tensor.getNdim() == 0))
      return success();
  }
  return emitOpError() << "expected a Boolean scalar as condition, but got "
                       << type;
}
