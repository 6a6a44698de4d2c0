//===- Calls.cpp - What schedules and patterns ask of a program -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isOperator(Operation *op) {
  return isa_and_nonnull<RelaxDialect>(op->getDialect()) &&
         isa<InferTypeOpInterface>(op) && isPureOperation(op) &&
         op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         areTensors(op->getResult(0).getType(),
                    [](TensorStructInfoType) { return true; }) &&
         !isa<ConstantOp, GetItemOp, TupleOp>(op);
}

bool mlir::relax::isPureOperation(Operation *op) {
  auto purity = dyn_cast<PurityOpInterface>(op);
  return !purity || purity.isPureOp();
}

Operation *mlir::relax::findCallee(Operation *call) {
  FlatSymbolRefAttr name;
  if (auto kernel = dyn_cast<CallTIROp>(call))
    name = kernel.getCalleeAttr();
  else if (auto inplace = dyn_cast<CallTIRInplaceOp>(call))
    name = inplace.getCalleeAttr();
  else if (auto function = dyn_cast<relax::CallOp>(call))
    name = function.getCalleeAttr();
  return name ? SymbolTable::lookupNearestSymbolFrom(call, name) : nullptr;
}

static constexpr OpPattern kOpPatterns[] = {OpPattern::Elementwise,
                                            OpPattern::Broadcast,
                                            OpPattern::Injective,
                                            OpPattern::Reduction,
                                            OpPattern::OutElementwiseFusable,
                                            OpPattern::Opaque};

std::optional<OpPattern> mlir::relax::findOpPattern(StringRef name) {
  for (OpPattern pattern : kOpPatterns)
    if (getOpPatternName(pattern) == name)
      return pattern;
  return std::nullopt;
}

std::string mlir::relax::listOpPatterns() {
  return llvm::join(llvm::map_range(kOpPatterns, getOpPatternName), ", ");
}

bool mlir::relax::areTensors(
    Type type, llvm::function_ref<bool(TensorStructInfoType)> holds) {
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    return !tuple.getFields().empty() &&
           llvm::all_of(tuple.getFields(),
                        [&](Type field) { return areTensors(field, holds); });
  auto tensor = dyn_cast<TensorStructInfoType>(type);
  return tensor && holds(tensor);
}

bool mlir::relax::isStatic(TensorStructInfoType type) {
  return type.hasShape() && llvm::all_of(type.getDims(), [](PrimExprAttr dim) {
           return dim.getConstant().has_value();
         });
}
