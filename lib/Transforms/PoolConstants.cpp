//===- PoolConstants.cpp - Lay out constants in one pool ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equal attributes are the same object. Only resources may hold equal elements
// under two names, so those of one type are compared.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXPOOLCONSTANTSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
class Pool {
public:
  /// Where a constant is; it is put at the end if there is no equal one.
  int64_t getIndex(ElementsAttr constant);
  ArrayAttr get(MLIRContext *context) const;

private:
  llvm::MapVector<Attribute, int64_t> indices;
  llvm::DenseMap<Type, SmallVector<ElementsAttr>> resources;
};
} // namespace

int64_t Pool::getIndex(ElementsAttr constant) {
  int64_t next = indices.size();
  auto [known, isNew] = indices.try_emplace(constant, next);
  if (!isNew)
    return known->second;
  if (!isa<DenseResourceElementsAttr>(constant))
    return next;
  std::string unused;
  ArrayRef<char> bytes = getConstantBytes(constant, unused);
  SmallVector<ElementsAttr> &others = resources[constant.getShapedType()];
  for (ElementsAttr other : others) {
    if (getConstantBytes(other, unused) != bytes)
      continue;
    indices.pop_back();
    return indices.lookup(other);
  }
  others.push_back(constant);
  return next;
}

ArrayAttr Pool::get(MLIRContext *context) const {
  return ArrayAttr::get(context, llvm::map_to_vector(indices, [](auto &entry) {
                          return entry.first;
                        }));
}

/// Constants are in host memory; what copies them has run.
static LogicalResult verifyDevice(ConstantOp op) {
  auto tensor = dyn_cast<TensorStructInfoType>(op.getResult().getType());
  if (!tensor || !tensor.getVdevice())
    return success();
  return op.emitOpError() << "is on device " << tensor.getVdevice()
                          << ": expected relax-realize-vdevice to copy it "
                             "there";
}

namespace {
struct RelaxPoolConstantsPass
    : relax::impl::RelaxPoolConstantsPassBase<RelaxPoolConstantsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Pool pool;
    for (ElementsAttr constant : getConstants(module))
      pool.getIndex(constant);
    SmallVector<ConstantOp> constants;
    bool isValid = true;
    // A module within has a pool of its own.
    module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op != module && isa<ModuleOp>(op))
        return WalkResult::skip();
      if (auto constant = dyn_cast<ConstantOp>(op)) {
        isValid &= succeeded(verifyConstant(op, constant.getValue())) &&
                   succeeded(verifyDevice(constant));
        constants.push_back(constant);
      }
      return WalkResult::advance();
    });
    if (!isValid)
      return signalPassFailure();
    for (ConstantOp op : constants) {
      OpBuilder builder(op);
      auto load = LoadConstantOp::create(
          builder, op.getLoc(), op.getResult().getType(),
          pool.getIndex(op.getValue()), !isOnlyRead(op.getResult()));
      op.replaceAllUsesWith(load.getResult());
      op.erase();
    }
    if (!constants.empty())
      RelaxDialect::ConstantsAttrHelper(&getContext())
          .setAttr(module, pool.get(&getContext()));
  }
};
} // namespace
