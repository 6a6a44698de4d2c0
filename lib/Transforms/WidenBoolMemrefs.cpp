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
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

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
  auto type = dyn_cast<MemRefType>(memref.getType());
  return type && type.getElementType().isInteger(1);
}

static Value toBytes(OpBuilder &builder, Location loc, Value flags) {
  Type type = cast<VectorType>(flags.getType()).clone(builder.getI8Type());
  return arith::ExtUIOp::create(builder, loc, type, flags);
}

/// The vector of `op` that goes into memory, or stands for what is not read.
static OpOperand *getVectorOperand(Operation *op) {
  return llvm::TypeSwitch<Operation *, OpOperand *>(op)
      .Case<vector::StoreOp, vector::MaskedStoreOp, vector::ScatterOp>(
          [](auto store) { return &store.getValueToStoreMutable(); })
      .Case<vector::MaskedLoadOp, vector::GatherOp>(
          [](auto load) { return &load.getPassThruMutable(); })
      .Default([](Operation *) { return nullptr; });
}

/// Reads and writes vectors of bytes.
static void convertVectorAccess(Operation *op) {
  OpBuilder builder(op);
  if (OpOperand *operand = getVectorOperand(op))
    operand->set(toBytes(builder, op->getLoc(), operand->get()));
  if (op->getNumResults() == 0)
    return;
  builder.setInsertionPointAfter(op);
  Value bytes = op->getResult(0);
  auto type = cast<VectorType>(bytes.getType()).clone(builder.getI8Type());
  bytes.setType(type);
  Value zero = arith::ConstantOp::create(builder, op->getLoc(),
                                         builder.getZeroAttr(type));
  auto flags = arith::CmpIOp::create(builder, op->getLoc(),
                                     arith::CmpIPredicate::ne, bytes, zero);
  bytes.replaceAllUsesExcept(flags, flags);
}

namespace {
struct RelaxWidenBoolMemrefsPass
    : relax::impl::RelaxWidenBoolMemrefsPassBase<RelaxWidenBoolMemrefsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    SmallVector<memref::LoadOp> loads;
    SmallVector<memref::StoreOp> stores;
    SmallVector<Operation *> vectorAccesses;
    func.walk([&](Operation *op) {
      if (auto load = dyn_cast<memref::LoadOp>(op);
          load && hasBoolElements(load.getMemref()))
        loads.push_back(load);
      if (auto store = dyn_cast<memref::StoreOp>(op);
          store && hasBoolElements(store.getMemref()))
        stores.push_back(store);
      if (isa<vector::LoadOp, vector::StoreOp, vector::MaskedLoadOp,
              vector::MaskedStoreOp, vector::GatherOp, vector::ScatterOp>(op) &&
          llvm::any_of(op->getOperands(),
                       [](Value operand) { return hasBoolElements(operand); }))
        vectorAccesses.push_back(op);
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
    llvm::for_each(vectorAccesses, convertVectorAccess);
  }
};
} // namespace
