//===- ElementBody.cpp - The body of an operation, on elements --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementBody.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::relax;

static SmallVector<Value> mapPlace(IndexBuilder &b, AffineMap map,
                                   ArrayRef<Value> place) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
    return affine::expandAffineExpr(b, b.getLoc(), expr, place,
                                    /*symbolValues=*/{});
  });
}

bool mlir::relax::hasOrderOfLoops(linalg::GenericOp op, OpOperand &operand) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  return type && type.getLayout().isIdentity() &&
         op.getMatchingIndexingMap(&operand).isIdentity();
}

Value mlir::relax::viewFlat(IndexBuilder &b, Value memref) {
  SmallVector<ReassociationIndices> all(1);
  llvm::append_range(
      all.front(),
      llvm::seq<int64_t>(0, cast<MemRefType>(memref.getType()).getRank()));
  return memref::CollapseShapeOp::create(b, memref, all);
}

void ElementBody::flatten(IndexBuilder &b) {
  if (op.getNumLoops() < 2)
    return;
  for (OpOperand &operand : op->getOpOperands())
    flat.push_back(hasOrderOfLoops(op, operand) ? viewFlat(b, operand.get())
                                                : Value());
}

std::pair<Value, SmallVector<Value>>
ElementBody::locate(IndexBuilder &b, OpOperand &operand,
                    const ElementPlace &place) const {
  unsigned which = operand.getOperandNumber();
  if (!flat.empty() && flat[which])
    return {flat[which], {place.number}};
  auto generic = op;
  return {operand.get(),
          mapPlace(b, generic.getMatchingIndexingMap(&operand), place.indices)};
}

Value ElementBody::loadOperand(IndexBuilder &b, OpOperand &operand,
                               const ElementPlace &place) const {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  if (known)
    if (Value element = known->lookup(operand.get()))
      return element;
  auto [memory, indices] = locate(b, operand, place);
  return memref::LoadOp::create(b, memory, indices);
}

SmallVector<Value> ElementBody::loadRead(IndexBuilder &b,
                                         MutableArrayRef<OpOperand> those,
                                         const ElementPlace &place) const {
  auto generic = op;
  SmallVector<Value> operands;
  for (OpOperand &operand : those)
    operands.push_back(generic.payloadUsesValueFromOperand(&operand)
                           ? loadOperand(b, operand, place)
                           : Value());
  return operands;
}

SmallVector<Value> ElementBody::load(IndexBuilder &b,
                                     const ElementPlace &place) const {
  return loadRead(b, op->getOpOperands(), place);
}

SmallVector<Value> ElementBody::loadInputs(IndexBuilder &b,
                                           const ElementPlace &place) const {
  auto generic = op;
  return loadRead(b, op->getOpOperands().take_front(generic.getNumDpsInputs()),
                  place);
}

SmallVector<Value> ElementBody::compute(IndexBuilder &b,
                                        const ElementPlace &place,
                                        ArrayRef<Value> operands) const {
  auto generic = op;
  Block &body = generic.getRegion().front();
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip(body.getArguments(), operands))
    if (value)
      mapping.map(argument, value);
  for (Operation &inner : body.without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(), place.indices[index.getDim()]);
      continue;
    }
    Operation *copy = b.clone(inner, mapping);
    copy->walk([&](linalg::IndexOp index) {
      index.replaceAllUsesWith(place.indices[index.getDim()]);
      index.erase();
    });
  }
  return llvm::map_to_vector(body.getTerminator()->getOperands(), [&](Value v) {
    return mapping.lookupOrDefault(v);
  });
}

void ElementBody::store(IndexBuilder &b, const ElementPlace &place,
                        ArrayRef<Value> results) const {
  auto generic = op;
  for (auto [init, result] : llvm::zip(generic.getDpsInitsMutable(), results)) {
    auto [memory, indices] = locate(b, init, place);
    memref::StoreOp::create(b, result, memory, indices);
  }
}

llvm::SetVector<Value> mlir::relax::findBuffers(Operation *op) {
  llvm::SetVector<Value> buffers;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (auto memref = dyn_cast<MemrefValue>(operand))
        buffers.insert(memref::skipViewLikeOps(memref));
  });
  return buffers;
}

SmallVector<Value> mlir::relax::getLoopSizes(IndexBuilder &b,
                                             linalg::GenericOp op) {
  auto structured = cast<linalg::LinalgOp>(op.getOperation());
  return llvm::map_to_vector(
      structured.createLoopRanges(b, b.getLoc()), [&](const Range &range) {
        return getValueOrCreateConstantIndexOp(b, b.getLoc(), range.size);
      });
}

SmallVector<Value> mlir::relax::delinearize(IndexBuilder &b, Value place,
                                            ArrayRef<Value> sizes,
                                            bool isSmall) {
  auto cast = [&](Value value, Type type) -> Value {
    return b.createOrFold<arith::IndexCastUIOp>(type, value);
  };
  auto narrow = [&](Value value) {
    return isSmall ? cast(value, b.getI32Type()) : value;
  };
  auto widen = [&](Value value) {
    return isSmall ? cast(value, b.getIndexType()) : value;
  };
  SmallVector<Value> indices(sizes.size());
  if (sizes.size() <= 1) {
    if (!sizes.empty())
      indices.front() = place;
    return indices;
  }
  place = narrow(place);
  for (size_t i = sizes.size(); i-- > 1;) {
    Value size = narrow(sizes[i]);
    indices[i] = widen(b.rem(place, size));
    place = b.floorDiv(place, size);
  }
  indices.front() = widen(place);
  return indices;
}

Value mlir::relax::makeProduct(IndexBuilder &b, ArrayRef<Value> sizes) {
  Value product = b.index(1);
  for (Value size : sizes)
    product = b.mul(product, size);
  return product;
}
