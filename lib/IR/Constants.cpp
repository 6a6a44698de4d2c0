//===- Constants.cpp - The pool of constants of a module ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Constants.h"

#include "relax-mlir/IR/Int4.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace mlir::relax;

SmallVector<ElementsAttr> mlir::relax::getConstants(ModuleOp module) {
  ArrayAttr constants =
      RelaxDialect::ConstantsAttrHelper(module.getContext()).getAttr(module);
  if (!constants)
    return {};
  return llvm::to_vector(constants.getAsRange<ElementsAttr>());
}

int64_t mlir::relax::getConstantSize(ElementsAttr constant) {
  if (isInt4(constant.getElementType()))
    return llvm::divideCeil(constant.getNumElements(), 2);
  unsigned bits = constant.getElementType().getIntOrFloatBitWidth();
  return constant.getNumElements() * static_cast<int64_t>((bits + 7) / 8);
}

static AsmResourceBlob *getBlob(ElementsAttr constant) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant);
  return resource ? resource.getRawHandle().getBlob() : nullptr;
}

LogicalResult mlir::relax::verifyConstant(Operation *op,
                                          ElementsAttr constant) {
  if (isa<DenseIntOrFPElementsAttr>(constant))
    return success();
  AsmResourceBlob *blob = getBlob(constant);
  if (!blob)
    return op->emitOpError() << "expected a dense constant";
  int64_t held = blob->getData().size(), needed = getConstantSize(constant);
  if (held == needed)
    return success();
  return op->emitOpError() << "expected " << needed << " bytes for "
                           << constant.getShapedType()
                           << ", but the resource holds " << held;
}

ArrayRef<char> mlir::relax::getConstantBytes(ElementsAttr constant,
                                             std::string &storage) {
  if (AsmResourceBlob *blob = getBlob(constant))
    return blob->getData();
  auto elements = cast<DenseElementsAttr>(constant);
  bool isBool = elements.getElementType().isInteger(1);
  bool isPacked = isInt4(elements.getElementType());
  if (!isBool && !isPacked && !elements.isSplat())
    return elements.getRawData();
  storage.clear();
  storage.reserve(elements.getNumElements());
  if (isBool) {
    for (bool value : elements.getValues<bool>())
      storage.push_back(value);
    return storage;
  }
  StringRef element(elements.getRawData().data(), elements.getRawData().size());
  int64_t copies = elements.isSplat() ? elements.getNumElements() : 1;
  for (int64_t i = 0; i < copies; ++i)
    storage += element;
  if (isPacked)
    packInt4(std::string(storage), storage);
  return storage;
}

bool mlir::relax::isOnlyRead(Value value) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<KillOp, DimOp, CheckOp, ShapeOfOp, ToDeviceOp>(user))
      return true;
    if (auto view = dyn_cast<ViewOp>(user))
      return isOnlyRead(view.getResult());
    auto call = dyn_cast<CallKernelOp>(user);
    if (!call || llvm::is_contained(call.getOutputs(), value))
      return false;
    return llvm::none_of(llvm::enumerate(call.getInputs()), [&](auto it) {
      return it.value() == value && call.isUpdated(it.index());
    });
  });
}

/// The contents of the pool cannot be queried before the module is verified.
LogicalResult LoadConstantOp::verifySymbolUses(SymbolTableCollection &) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto pool =
      module ? RelaxDialect::ConstantsAttrHelper(getContext()).getAttr(module)
             : ArrayAttr();
  size_t size = pool ? pool.size() : 0;
  if (getIndex() >= size)
    return emitOpError() << "expected a constant of the module, which has "
                         << size << ", but got " << getIndex();
  // The dialect reports one that is no tensor.
  auto constant = dyn_cast<ElementsAttr>(pool[getIndex()]);
  if (!constant)
    return success();
  ShapedType type = constant.getShapedType();
  SmallVector<PrimExprAttr> dims =
      llvm::map_to_vector(type.getShape(), [&](int64_t dim) {
        return PrimExprAttr::getInt(getContext(), dim);
      });
  Type actual = TensorStructInfoType::get(
      ShapeExprAttr::get(getContext(), dims), type.getElementType());
  if (isSubtype(actual, getResult().getType()) == Ternary::Yes)
    return success();
  return emitOpError() << "expected the type of constant " << getIndex()
                       << " of the module, " << actual << ", but got "
                       << getResult().getType();
}
