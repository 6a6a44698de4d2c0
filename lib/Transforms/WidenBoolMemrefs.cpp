//===- WidenBoolMemrefs.cpp - Store Booleans in bytes -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A Boolean tensor takes a byte an element, in NumPy, PyTorch and DLPack alike,
// while the lowering of memref to LLVM has no i1 in memory. Types change in
// place; loads and stores convert.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXWIDENBOOLMEMREFSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;

static Type widen(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.getElementType().isInteger(1))
    return type;
  return MemRefType::Builder(memref).setElementType(
      IntegerType::get(type.getContext(), 8));
}

static void widen(Value value) { value.setType(widen(value.getType())); }

static SmallVector<Type> widen(TypeRange types) {
  return llvm::map_to_vector(types, [](Type type) { return widen(type); });
}

/// A byte that is not zero is true.
static void convertLoad(memref::LoadOp load) {
  OpBuilder builder(load);
  builder.setInsertionPointAfter(load);
  Location loc = load.getLoc();
  Value byte = load.getResult();
  byte.setType(builder.getI8Type());
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 8);
  auto flag =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, byte, zero);
  byte.replaceAllUsesExcept(flag, flag);
}

static void convertStore(memref::StoreOp store) {
  OpBuilder builder(store);
  store.getValueMutable().assign(arith::ExtUIOp::create(
      builder, store.getLoc(), builder.getI8Type(), store.getValue()));
}

static bool hasBoolElements(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType().isInteger(1);
}

namespace {
struct RelaxWidenBoolMemrefsPass
    : relax::impl::RelaxWidenBoolMemrefsPassBase<RelaxWidenBoolMemrefsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    SmallVector<memref::LoadOp> loads;
    SmallVector<memref::StoreOp> stores;
    func.walk([&](Operation *op) {
      if (auto load = dyn_cast<memref::LoadOp>(op);
          load && hasBoolElements(load.getMemref()))
        loads.push_back(load);
      if (auto store = dyn_cast<memref::StoreOp>(op);
          store && hasBoolElements(store.getMemref()))
        stores.push_back(store);
    });
    func.walk([](Operation *op) {
      for (Value result : op->getResults())
        widen(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            widen(argument);
    });
    func.setFunctionType(FunctionType::get(&getContext(),
                                           widen(func.getArgumentTypes()),
                                           widen(func.getResultTypes())));
    llvm::for_each(loads, convertLoad);
    llvm::for_each(stores, convertStore);
  }
};
} // namespace
