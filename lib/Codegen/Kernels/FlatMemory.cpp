//===- FlatMemory.cpp - Memrefs in one dimension ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlatMemory.h"

#include "Contraction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

FlatMemory FlatMemory::get(IndexBuilder &b, Value memref) {
  FlatMemory memory{flatten(b, memref), b.index(0), {}, {}};
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  for (int64_t axis = 0; axis < rank; ++axis)
    memory.sizes.push_back(getDim(b, memref, axis));
  memory.strides.resize(rank);
  Value stride = b.index(1);
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    memory.strides[axis] = stride;
    stride = b.mul(stride, memory.sizes[axis]);
  }
  return memory;
}

FlatMemory FlatMemory::getStrided(IndexBuilder &b, Value memref) {
  FlatMemory memory;
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  auto toValue = [&](OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), number);
  };
  memory.offset = toValue(metadata.getConstifiedMixedOffset());
  Value size = b.add(memory.offset, 1);
  for (auto [count, stride] : llvm::zip(metadata.getConstifiedMixedSizes(),
                                        metadata.getConstifiedMixedStrides())) {
    memory.sizes.push_back(toValue(count));
    memory.strides.push_back(toValue(stride));
    Value last = b.sub(memory.sizes.back(), b.index(1));
    size = b.add(size, b.mul(last, memory.strides.back()));
  }
  auto type = cast<MemRefType>(memref.getType());
  auto flat =
      MemRefType::get({ShapedType::kDynamic}, type.getElementType(),
                      MemRefLayoutAttrInterface(), type.getMemorySpace());
  memory.elements = memref::ReinterpretCastOp::create(
      b, flat, metadata.getBaseBuffer(), b.getIndexAttr(0),
      ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
  return memory;
}
