//===- Int4.cpp - Tensors of integers of 4 bits -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Int4.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isInt4(Type dtype) {
  return dtype && dtype.isInteger(4) && !dtype.isSignedInteger();
}

Type mlir::relax::getWideInt4(Type dtype) {
  auto integer = cast<IntegerType>(dtype);
  return IntegerType::get(dtype.getContext(), 8, integer.getSignedness());
}

/// The data type of 4 bits of a tensor, or of one in a tuple; null without any.
static Type findInt4(Type type) {
  if (auto tensor = dyn_cast<TensorStructInfoType>(type))
    return isInt4(tensor.getDtype()) ? tensor.getDtype() : Type();
  if (auto tuple = dyn_cast<TupleStructInfoType>(type))
    for (Type field : tuple.getFields())
      if (Type found = findInt4(field))
        return found;
  return {};
}

LogicalResult mlir::relax::checkInt4(OptionalLoc location, StringRef name,
                                     TypeRange operands, TypeRange results) {
  static const llvm::StringSet<> operators = {
      AstypeOp::getOperationName(),      BroadcastToOp::getOperationName(),
      ConcatOp::getOperationName(),      DequantizeOp::getOperationName(),
      ExpandDimsOp::getOperationName(),  FlattenOp::getOperationName(),
      PermuteDimsOp::getOperationName(), QuantizeOp::getOperationName(),
      ReshapeOp::getOperationName(),     SqueezeOp::getOperationName(),
      StridedSliceOp::getOperationName()};
  for (TypeRange types : {operands, results})
    for (Type type : types)
      if (Type found = findInt4(type); found && !operators.contains(name))
        return inferError(location,
                          "expected a data type of 8 bits or more, or "
                          "Booleans, but got ",
                          found, "; insert relax.astype");
  return success();
}

TensorStructInfoType mlir::relax::getInt4Memory(TensorStructInfoType tensor) {
  MLIRContext *context = tensor.getContext();
  PrimExprAttr count = PrimExprAttr::getProduct(context, tensor.getDims());
  PrimExprAttr bytes = PrimExprAttr::getFloorDiv(
      PrimExprAttr::getAdd(count, PrimExprAttr::getInt(context, 1)),
      PrimExprAttr::getInt(context, 2));
  Type byte = IntegerType::get(context, 8, IntegerType::Unsigned);
  return withDims(withDType(tensor, byte), bytes);
}

void mlir::relax::packInt4(ArrayRef<char> elements, std::string &packed) {
  packed.assign((elements.size() + 1) / 2, 0);
  for (auto [index, element] : llvm::enumerate(elements))
    packed[index / 2] |= (element & 15) << (index % 2 * 4);
}

SmallVector<char> mlir::relax::unpackInt4(ArrayRef<char> packed, int64_t count,
                                          Type dtype) {
  SmallVector<char> elements;
  elements.reserve(count);
  int sign = dtype.isUnsignedInteger() ? 0 : 8;
  for (int64_t i = 0; i < count; ++i) {
    int half = packed[i / 2] >> (i % 2 * 4) & 15;
    elements.push_back(static_cast<char>((half ^ sign) - sign));
  }
  return elements;
}
