//===- RawTensors.cpp - Tensors without an object -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor in a storage that only kernels use is an address in the storage and
// its dimensions; so is a view that kernels only read. Nothing of the runtime
// is called for either. That a tensor fits the storage is checked here all the
// same, unless the numbers are known: a product of dimensions may overflow.
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "relax-mlir/IR/RuntimeSteps.h"
#include "relax-mlir/IR/VDevice.h"

#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::relax;

/// Whether a call of a kernel only reads a tensor.
static bool isOnlyReadBy(CallKernelOp call, Value tensor) {
  if (llvm::is_contained(call.getOutputs(), tensor))
    return false;
  return llvm::none_of(llvm::enumerate(call.getInputs()), [&](auto it) {
    return it.value() == tensor && call.isUpdated(it.index());
  });
}

/// Whether all uses of a tensor are in order without an object; with `readOnly`
/// none of them may write it.
static bool hasOnlyRawUses(Value tensor, bool readOnly) {
  auto type = dyn_cast<TensorStructInfoType>(tensor.getType());
  if (!type || type.getNdim() < 0)
    return false;
  return llvm::all_of(tensor.getUsers(), [&](Operation *user) {
    if (isa<ViewOp, relax::CastOp>(user))
      return hasOnlyRawUses(user->getResult(0), readOnly);
    if (auto call = dyn_cast<CallKernelOp>(user))
      return !readOnly || isOnlyReadBy(call, tensor);
    return isa<DimOp, KillOp>(user);
  });
}

/// Whether `lhs` runs before `rhs`, or in another branch.
static bool isBefore(Operation *lhs, Operation *rhs) {
  for (Operation *op = lhs; op; op = op->getParentOp())
    if (Operation *other = op->getBlock()->findAncestorOpInBlock(*rhs))
      return op == other || op->isBeforeInBlock(other);
  return false;
}

/// Whether the memory of an object is there as long as what refers to it: a
/// view, and views of that. A storage dies with the last of these.
static bool outlives(Value object, Value view) {
  auto alloc = object.getDefiningOp<AllocTensorOp>();
  if (alloc && alloc.getStorage())
    return true;
  auto isEarly = [&](Operation *kill, Operation *user) {
    return isa<KillOp>(kill) && !isa<KillOp>(user) && !isBefore(user, kill);
  };
  return llvm::all_of(view.getUsers(), [&](Operation *user) {
    if (isa<ViewOp, relax::CastOp>(user) &&
        !outlives(object, user->getResult(0)))
      return false;
    return llvm::none_of(object.getUsers(),
                         [&](Operation *kill) { return isEarly(kill, user); });
  });
}

bool FunctionEmitter::isRaw(Value tensor) {
  auto found = rawness.find(tensor);
  if (found != rawness.end())
    return found->second;
  Operation *definition = tensor.getDefiningOp();
  bool result = false;
  if (auto alloc = dyn_cast_or_null<AllocTensorOp>(definition)) {
    Value storage = alloc.getStorage();
    result = storage && storage.getDefiningOp<AllocStorageOp>() &&
             hasOnlyRawUses(tensor, /*readOnly=*/false);
  } else if (auto view = dyn_cast_or_null<ViewOp>(definition)) {
    // A view of an object must see the object itself where it is written.
    auto from = cast<TensorStructInfoType>(view.getData().getType());
    result =
        isRaw(view.getData()) ||
        (from.getNdim() >= 0 && hasOnlyRawUses(tensor, /*readOnly=*/true) &&
         outlives(view.getData(), tensor));
  } else if (auto cast = dyn_cast_or_null<relax::CastOp>(definition)) {
    result = isRaw(cast.getValue());
  }
  return rawness[tensor] = result;
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getConstant(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)))
    return std::nullopt;
  return number.getSExtValue();
}

/// Whether a tensor is known to fit its storage.
static bool isKnownToFit(AllocTensorOp op) {
  auto storage = op.getStorage().getDefiningOp<AllocStorageOp>();
  std::optional<int64_t> have = getConstant(storage.getBytes());
  int64_t need = getElementBytes(op.getResult().getType().getDtype());
  for (Value dim : op.getDims()) {
    std::optional<int64_t> size = getConstant(dim);
    if (!size || *size < 0 || llvm::MulOverflow(need, *size, need))
      return false;
  }
  return have && !llvm::AddOverflow(need, op.getOffsetAttr().getInt(), need) &&
         need <= *have;
}

/// Whether a dimension is one of a tensor, which is not negative.
static bool isKnownNonNegative(Value dim) {
  if (std::optional<int64_t> size = getConstant(dim))
    return *size >= 0;
  auto read = dim.getDefiningOp<DimOp>();
  return read && isa<TensorStructInfoType>(read.getValue().getType());
}

/// Adds what a pair of a value and a flag says to `failed`; returns the value.
static Value split(ImplicitLocOpBuilder &builder, Value both, Value &failed) {
  Value flag = LLVM::ExtractValueOp::create(builder, both, 1);
  failed =
      failed ? arith::OrIOp::create(builder, failed, flag).getResult() : flag;
  return LLVM::ExtractValueOp::create(builder, both, 0);
}

static Type getPairType(ImplicitLocOpBuilder &builder) {
  return LLVM::LLVMStructType::getLiteral(
      builder.getContext(), {builder.getI64Type(), builder.getI1Type()});
}

Value FunctionEmitter::emitProduct(ArrayRef<Value> dims, int64_t factor,
                                   Value &failed) {
  Value product = i64(factor);
  for (Value dim : dims)
    product = split(builder,
                    LLVM::UMulWithOverflowOp::create(
                        builder, getPairType(builder), product, dim),
                    failed);
  return product;
}

/// Raises what the allocation of an object would, where the tensor does not
/// fit.
void FunctionEmitter::checkFits(AllocTensorOp op, ArrayRef<Value> dims) {
  if (isKnownToFit(op))
    return;
  Type dtype = op.getResult().getType().getDtype();
  Value failed = constant(builder.getI1Type(), 0);
  auto fail = [&](Value flag) {
    failed = arith::OrIOp::create(builder, failed, flag);
  };
  for (auto [dim, size] : llvm::zip(op.getDims(), dims))
    if (!isKnownNonNegative(dim))
      fail(arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, size,
                                 i64(0)));
  Value bytes = emitProduct(dims, getElementBytes(dtype), failed);
  if (int64_t offset = op.getOffsetAttr().getInt())
    bytes = split(builder,
                  LLVM::UAddWithOverflowOp::create(
                      builder, getPairType(builder), bytes, i64(offset)),
                  failed);
  auto storage = op.getStorage().getDefiningOp<AllocStorageOp>();
  fail(arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt, bytes,
                             map(storage.getBytes())));
  Value fits =
      arith::XOrIOp::create(builder, failed, constant(builder.getI1Type(), 1));
  if (!scratchSlot) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(frame);
    scratchSlot = nextSlot();
  }
  SmallVector<RuntimeStep, 1> steps;
  op.getRuntimeSteps(steps);
  emitAssert(fits, [&] { emitStepCall(steps.front(), scratchSlot); });
}

void FunctionEmitter::emitRawTensor(AllocTensorOp op) {
  SmallVector<Value> dims = map(op.getDims());
  checkFits(op, dims);
  Value data = LLVM::GEPOp::create(
      builder, runtime.ptrType(), builder.getI8Type(),
      storageData.lookup(op.getStorage()),
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(i64(op.getOffsetAttr().getInt()))});
  rawTensors[op.getResult()] = {data, dims};
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The dimensions of the view may be any numbers. Those of the tensor are not:
/// it exists, so that their product overflows at most where one of them is 0,
/// and is 0 all the same.
void FunctionEmitter::emitRawView(ViewOp op) {
  SmallVector<Value> from = emitDims(op.getData()), to = map(op.getDims());
  Value have = i64(1), failed = constant(builder.getI1Type(), 0);
  for (Value dim : from)
    have = arith::MulIOp::create(builder, have, dim);
  for (auto [dim, size] : llvm::zip(op.getDims(), to))
    if (!isKnownNonNegative(dim))
      failed = arith::OrIOp::create(
          builder, failed,
          arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, size,
                                i64(0)));
  Value need = emitProduct(to, 1, failed);
  Value differs =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, have, need);
  Value wrong = arith::OrIOp::create(builder, failed, differs);
  Value same =
      arith::XOrIOp::create(builder, wrong, constant(builder.getI1Type(), 1));
  emitAssert(same, [&] {
    emitRaise("view", "ValueError",
              "the tensor and its view differ in the number of elements");
  });
  FlatSymbolRefAttr vdevice =
      cast<TensorStructInfoType>(op.getData().getType()).getVdevice();
  VDeviceAttr device = vdevice ? lookupVDevice(op, vdevice) : VDeviceAttr();
  bool isOnDevice = device && getDLDeviceType(device) != kCpu;
  Value data = emitData(op.getData(), "view", Access::Read, isOnDevice);
  rawTensors[op.getResult()] = {data, to};
}
