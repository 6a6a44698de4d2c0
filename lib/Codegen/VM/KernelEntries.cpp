//===- KernelEntries.cpp - Entry points for bytecode ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parameters of a kernel on memrefs are taken from three arrays. The
// virtual machine knows that a tensor is compact, so its dimensions say all.
//
//===----------------------------------------------------------------------===//

#include "FunctionTranslator.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXMAKEKERNELENTRIESPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
class EntryBuilder {
public:
  explicit EntryBuilder(func::FuncOp kernel)
      : kernel(kernel), builder(kernel.getLoc(), kernel.getContext()),
        typeConverter(kernel.getContext()) {}

  LogicalResult build();

private:
  Type ptrType() { return LLVM::LLVMPointerType::get(builder.getContext()); }
  Value i64(int64_t value) {
    return LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                    builder.getI64IntegerAttr(value));
  }
  /// The element `index` of an array.
  Value load(Type type, Value array, int64_t index);
  Value makeTensor(MemRefType type, int64_t index);
  /// Null where there is no such parameter of a kernel.
  Value makeScalar(Type type, int64_t index);

  func::FuncOp kernel;
  ImplicitLocOpBuilder builder;
  LLVMTypeConverter typeConverter;
  Value data, dims, scalars;
};
} // namespace

Value EntryBuilder::load(Type type, Value array, int64_t index) {
  Value address = LLVM::GEPOp::create(
      builder, ptrType(), type, array,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))});
  return LLVM::LoadOp::create(builder, type, address);
}

Value EntryBuilder::makeTensor(MemRefType type, int64_t index) {
  Location loc = builder.getLoc();
  Value elements = load(ptrType(), data, index);
  auto memref =
      MemRefDescriptor::poison(builder, loc, typeConverter.convertType(type));
  memref.setAllocatedPtr(builder, loc, elements);
  memref.setAlignedPtr(builder, loc, elements);
  memref.setOffset(builder, loc, i64(0));
  int64_t rank = type.getRank();
  Value sizes = rank != 0 ? load(ptrType(), dims, index) : Value();
  Value stride = i64(1);
  for (int64_t i = rank - 1; i >= 0; --i) {
    Value size = load(builder.getI64Type(), sizes, i);
    memref.setSize(builder, loc, i, size);
    memref.setStride(builder, loc, i, stride);
    if (i > 0)
      stride = LLVM::MulOp::create(builder, stride, size);
  }
  return UnrealizedConversionCastOp::create(builder, type, Value(memref))
      .getResult(0);
}

Value EntryBuilder::makeScalar(Type type, int64_t index) {
  Value bits = load(builder.getI64Type(), scalars, index);
  if (type.isInteger(64))
    return bits;
  if (isa<IndexType>(type))
    return arith::IndexCastOp::create(builder, type, bits);
  if (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() < 64)
    return arith::TruncIOp::create(builder, type, bits);
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() > 64)
    return {};
  Value number = arith::BitcastOp::create(builder, builder.getF64Type(), bits);
  return type.isF64() ? number : arith::TruncFOp::create(builder, type, number);
}

LogicalResult EntryBuilder::build() {
  bool mayFail = returnsStatus(kernel);
  if (kernel.getNumResults() != (mayFail ? 1 : 0))
    return kernel.emitOpError() << "expected a kernel without results, but it "
                                   "does not update its outputs in place";
  StringRef name = getKernelLabel(kernel.getSymName());
  builder.setInsertionPointAfter(kernel);
  SmallVector<Type> arrays(3, ptrType());
  auto entry = func::FuncOp::create(
      builder, ("relax_kernel_" + name).str(),
      FunctionType::get(builder.getContext(), arrays, {builder.getI32Type()}));
  builder.setInsertionPointToStart(entry.addEntryBlock());
  data = entry.getArgument(0);
  dims = entry.getArgument(1);
  scalars = entry.getArgument(2);
  SmallVector<Value> args;
  int64_t numTensors = 0, numScalars = 0;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    args.push_back(memref ? makeTensor(memref, numTensors++)
                          : makeScalar(type, numScalars++));
    if (!args.back())
      return kernel.emitOpError()
             << "expected parameter " << index
             << " to be a memref, an integer or a float, but got " << type;
  }
  auto call = func::CallOp::create(builder, kernel, args);
  Value status = mayFail
                     ? call.getResult(0)
                     : LLVM::ConstantOp::create(builder, builder.getI32Type(),
                                                builder.getI32IntegerAttr(0));
  func::ReturnOp::create(builder, status);
  return llvm::success();
}

namespace {
struct RelaxMakeKernelEntriesPass
    : relax::impl::RelaxMakeKernelEntriesPassBase<RelaxMakeKernelEntriesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::SetVector<func::FuncOp> kernels;
    module.walk([&](CallKernelOp call) {
      if (auto kernel = symbols.lookup<func::FuncOp>(call.getCallee()))
        kernels.insert(kernel);
    });
    for (func::FuncOp kernel : kernels)
      if (failed(EntryBuilder(kernel).build()))
        return signalPassFailure();
    llvm::DenseSet<Operation *> native = vm::findNativeFunctions(module);
    for (relax::FuncOp func :
         llvm::make_early_inc_range(module.getOps<relax::FuncOp>()))
      if (!native.contains(func))
        func.erase();
  }
};
} // namespace
