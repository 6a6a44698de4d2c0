//===- Launches.cpp - Launches through the runtime --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The image of kernels is a constant of the program, so that it travels with
// its machine code: in memory, in a file and in a library. A launch gives the
// runtime the sizes and the parameters in 64 bits each.
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "relax-mlir/Conversion/Passes.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWERLAUNCHESPASS
#include "relax-mlir/Conversion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The globals of an image.
struct Image {
  gpu::BinaryOp binary;
  std::string text;
  LLVM::GlobalOp handle = {};
};

class LaunchLowering {
public:
  LaunchLowering(ModuleOp module) : module(module), runtime(module) {}

  LogicalResult lower();

private:
  LogicalResult lower(gpu::LaunchFuncOp op);
  LogicalResult readImages();
  Value makeArray(ImplicitLocOpBuilder &builder, func::FuncOp func,
                  ValueRange values);
  FailureOr<SmallVector<Value>> getParameters(ImplicitLocOpBuilder &builder,
                                              gpu::LaunchFuncOp op);

  ModuleOp module;
  RuntimeModule runtime;
  llvm::StringMap<Image> images;
};
} // namespace

LogicalResult LaunchLowering::readImages() {
  for (auto binary : module.getOps<gpu::BinaryOp>()) {
    ArrayAttr objects = binary.getObjectsAttr();
    if (objects.size() != 1)
      return binary.emitOpError() << "expected one object for a device";
    auto object = cast<gpu::ObjectAttr>(objects[0]);
    images[binary.getSymName()] =
        Image{binary, object.getObject().getValue().str()};
  }
  return success();
}

static Value i32(ImplicitLocOpBuilder &builder, int64_t value) {
  return LLVM::ConstantOp::create(builder, builder.getI32Type(),
                                  builder.getI32IntegerAttr(value));
}

/// The bits of a scalar.
static Value toBits(ImplicitLocOpBuilder &builder, Value value) {
  Type type = value.getType(), word = builder.getI64Type();
  if (isa<LLVM::LLVMPointerType>(type))
    return LLVM::PtrToIntOp::create(builder, word, value);
  if (isa<FloatType>(type)) {
    type = builder.getIntegerType(type.getIntOrFloatBitWidth());
    value = LLVM::BitcastOp::create(builder, type, value);
  }
  if (type == word)
    return value;
  return LLVM::ZExtOp::create(builder, word, value);
}

/// A character for each parameter: whether it is an address.
static std::string getKinds(ValueRange parameters) {
  std::string kinds;
  for (Value parameter : parameters)
    kinds += isa<LLVM::LLVMPointerType>(parameter.getType()) ? 'p' : 'v';
  return kinds;
}

/// An array on the stack of a function.
Value LaunchLowering::makeArray(ImplicitLocOpBuilder &builder,
                                func::FuncOp func, ValueRange values) {
  ImplicitLocOpBuilder entry(builder.getLoc(), builder.getContext());
  entry.setInsertionPointToStart(&func.getBody().front());
  Type word = builder.getI64Type();
  Type type =
      LLVM::LLVMArrayType::get(word, std::max<size_t>(values.size(), 1));
  Value array =
      LLVM::AllocaOp::create(entry, runtime.ptrType(), type, i32(entry, 1));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value place = LLVM::GEPOp::create(
        builder, runtime.ptrType(), word, array,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
    LLVM::StoreOp::create(builder, toBits(builder, value), place);
  }
  return array;
}

/// The parameters as kernels have them: a memref is its fields.
FailureOr<SmallVector<Value>>
LaunchLowering::getParameters(ImplicitLocOpBuilder &builder,
                              gpu::LaunchFuncOp op) {
  LLVMTypeConverter converter(builder.getContext());
  SmallVector<Value> converted;
  for (Value operand : op.getKernelOperands()) {
    Type type = converter.convertType(operand.getType());
    if (!type)
      return op.emitOpError()
             << "cannot pass " << operand.getType() << " to a device";
    converted.push_back(
        type == operand.getType()
            ? operand
            : UnrealizedConversionCastOp::create(builder, type, operand)
                  .getResult(0));
  }
  return SmallVector<Value>(converter.promoteOperands(
      op.getLoc(), op.getKernelOperands(), ValueRange(converted), builder));
}

LogicalResult LaunchLowering::lower(gpu::LaunchFuncOp op) {
  auto func = op->getParentOfType<func::FuncOp>();
  VDeviceAttr device = func ? getKernelDevice(func) : VDeviceAttr();
  auto found = images.find(op.getKernelModuleName());
  auto deviceType = device ? getDLDeviceType(device) : std::nullopt;
  if (!deviceType || found == images.end())
    return op.emitOpError() << "expected a kernel of a device";
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  FailureOr<SmallVector<Value>> parameters = getParameters(builder, op);
  if (failed(parameters))
    return failure();
  gpu::KernelDim3 grid = op.getGridSizeOperandValues(),
                  block = op.getBlockSizeOperandValues();
  SmallVector<Value> sizes = {grid.x,  grid.y,  grid.z,
                              block.x, block.y, block.z};
  for (Value &size : sizes)
    if (size.getType().isIndex())
      size = arith::IndexCastOp::create(builder, builder.getI64Type(), size);
  Value shared = op.getDynamicSharedMemorySize();
  sizes.push_back(shared ? shared : i32(builder, 0));
  StringRef name = getKernelLabel(func.getSymName());
  Image &image = found->second;
  Value handle = image.handle
                     ? Value(LLVM::AddressOfOp::create(builder, image.handle))
                     : runtime.cache(builder);
  if (!image.handle)
    image.handle = runtime.symbolTable().lookup<LLVM::GlobalOp>(
        handle.getDefiningOp<LLVM::AddressOfOp>().getGlobalName());
  Value status = runtime.call(
      builder, kDeviceLaunch, builder.getI32Type(),
      {runtime.site(builder, ("kernel '" + name + "'").str(), "", ""),
       runtime.cache(builder), handle, runtime.string(builder, image.text),
       runtime.string(builder, op.getKernelName().getValue()),
       i32(builder, *deviceType), i32(builder, device.getDevId()),
       makeArray(builder, func, sizes), makeArray(builder, func, *parameters),
       i32(builder, parameters->size()),
       runtime.string(builder, getKinds(*parameters))});
  (void)status;
  op.erase();
  return success();
}

LogicalResult LaunchLowering::lower() {
  if (failed(readImages()))
    return failure();
  SmallVector<gpu::LaunchFuncOp> launches;
  module.walk([&](gpu::LaunchFuncOp op) { launches.push_back(op); });
  for (gpu::LaunchFuncOp op : launches)
    if (failed(lower(op)))
      return failure();
  for (auto &image : images)
    image.second.binary.erase();
  return success();
}

namespace {
struct RelaxLowerLaunchesPass
    : relax::impl::RelaxLowerLaunchesPassBase<RelaxLowerLaunchesPass> {
  void runOnOperation() override {
    if (failed(LaunchLowering(getOperation()).lower()))
      signalPassFailure();
  }
};
} // namespace
