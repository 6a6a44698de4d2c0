//===- MemoryOps.cpp - Storages, tensors and views -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/StructInfo.h"

#include "relax-mlir/IR/Relax.h"

using namespace mlir;
using namespace mlir::relax;

int64_t mlir::relax::getElementBytes(Type dtype) {
  // A Boolean, and what has less bits than a byte, takes one.
  return llvm::divideCeil(dtype.getIntOrFloatBitWidth(), 8);
}

PrimExprAttr mlir::relax::getByteSize(TensorStructInfoType type) {
  if (!type.hasShape() || !type.getDtype())
    return {};
  SmallVector<PrimExprAttr> factors(type.getDims());
  factors.push_back(PrimExprAttr::getInt(type.getContext(),
                                         getElementBytes(type.getDtype())));
  return PrimExprAttr::getProduct(type.getContext(), factors);
}

/// Verifies that the dimensions of a result are in its type or are operands.
static LogicalResult verifyDims(Operation *op, TensorStructInfoType type,
                                ValueRange dims) {
  if (dims.empty() && type.getNdim() != 0 && !type.hasShape())
    return op->emitOpError() << "expected dimensions, in the type or as "
                                "operands, but got "
                             << type;
  if (!dims.empty() && static_cast<int64_t>(dims.size()) != type.getNdim())
    return op->emitOpError() << "expected " << type.getNdim()
                             << " dimensions, but got " << dims.size();
  return success();
}

LogicalResult AllocStorageOp::verify() {
  if (!getSizeAttr() == !getBytes())
    return emitOpError() << "expected a size, either as an expression or as an "
                            "operand";
  if (PrimExprAttr size = getSizeAttr())
    if (std::optional<int64_t> bytes = size.getConstant(); bytes && *bytes < 0)
      return emitOpError() << "expected a size of 0 or more, but got "
                           << *bytes;
  return success();
}

/// Verifies that a tensor fits in its storage, where both sizes are known.
static LogicalResult verifyFits(AllocTensorOp op) {
  auto storage = op.getStorage().getDefiningOp<AllocStorageOp>();
  PrimExprAttr size = getByteSize(op.getResult().getType());
  if (!storage || !storage.getSizeAttr() || !size)
    return success();
  std::optional<int64_t> have = storage.getSizeAttr().getConstant();
  std::optional<int64_t> need = size.getConstant();
  if (!have || !need || *need <= *have - op.getOffsetAttr().getInt())
    return success();
  InFlightDiagnostic diag = op.emitOpError()
                            << "needs " << *need << " bytes at "
                            << op.getOffsetAttr().getInt()
                            << ", but the storage has " << *have;
  diag.attachNote(storage.getLoc()) << "it is allocated here";
  return diag;
}

LogicalResult AllocTensorOp::verify() {
  TensorStructInfoType type = getResult().getType();
  if (!type.getDtype())
    return emitOpError() << "expected a known data type, but got " << type;
  if (failed(verifyDims(*this, type, getDims())))
    return failure();
  if (!getStorage() != !getOffsetAttr())
    return emitOpError() << "expected a storage and an offset, or neither";
  if (!getStorage())
    return success();
  if (getOffsetAttr().getInt() < 0)
    return emitOpError() << "expected an offset of 0 or more, but got "
                         << getOffsetAttr().getInt();
  return verifyFits(*this);
}

LogicalResult ViewOp::verify() {
  TensorStructInfoType from = getData().getType(), to = getResult().getType();
  if (from.getDtype() != to.getDtype() || from.getVdevice() != to.getVdevice())
    return emitOpError() << "expected a view to keep data type and device of "
                         << from << ", but got " << to;
  if (failed(verifyDims(*this, to, getDims())))
    return failure();
  if (!from.hasShape() || !to.hasShape())
    return success();
  PrimExprAttr have = PrimExprAttr::getProduct(getContext(), from.getDims());
  PrimExprAttr need = PrimExprAttr::getProduct(getContext(), to.getDims());
  if (proveEqual(have, need) == Ternary::No)
    return emitOpError() << "expected a view to have as many elements as "
                         << from << ", but got " << to;
  return success();
}
