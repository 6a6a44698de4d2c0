//===- DeviceOps.cpp - Virtual devices -*- C++ -*-===//
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

LogicalResult
VDeviceAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    StringRef, int64_t devId, StringRef memScope) {
  if (devId < 0)
    return emitError() << "expected a device id of 0 or more, but got "
                       << devId;
  if (memScope.empty())
    return emitError() << "expected the name of a memory scope";
  return success();
}

LogicalResult HintOnDeviceOp::inferReturnTypes(MLIRContext *, OptionalLoc,
                                               Adaptor adaptor,
                                               InferredTypes &results) {
  results.push_back(adaptor.getData().getType());
  return success();
}

/// The type of what is copied to `vdevice`; null for what cannot be copied.
static Type moveTo(Type type, FlatSymbolRefAttr vdevice) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return TensorStructInfoType::get(type.getContext(), tensor.getShape(),
                                     tensor.getNdim(), tensor.getDtype(),
                                     vdevice, tensor.getShapeVar());
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  if (!tuple)
    return {};
  SmallVector<Type> fields;
  for (Type field : tuple.getFields()) {
    fields.push_back(moveTo(field, vdevice));
    if (!fields.back())
      return {};
  }
  return TupleStructInfoType::get(type.getContext(), fields);
}

LogicalResult ToVDeviceOp::inferReturnTypes(MLIRContext *, OptionalLoc loc,
                                            Adaptor adaptor,
                                            InferredTypes &results) {
  Type type = adaptor.getData().getType();
  Type moved = moveTo(type, adaptor.getVdeviceAttr());
  if (!moved)
    return inferError(loc, "expected a tensor, or a tuple of tensors, but got ",
                      type);
  results.push_back(moved);
  return success();
}
