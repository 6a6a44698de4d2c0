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
    result = isRaw(view.getData()) ||
             (from.getNdim() >= 0 && hasOnlyRawUses(tensor, /*readOnly=*/true));
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

/// Raises what the allocation of an object would, where the tensor does not
/// fit.
void FunctionEmitter::checkFits(AllocTensorOp op, ArrayRef<Value> dims) {
  if (isKnownToFit(op))
    return;
  Type pair = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), {builder.getI64Type(), builder.getI1Type()});
  Type dtype = op.getResult().getType().getDtype();
  Value bytes = i64(getElementBytes(dtype)), failed;
  auto fail = [&](Value flag) {
    failed =
        failed ? arith::OrIOp::create(builder, failed, flag).getResult() : flag;
  };
  auto split = [&](Value both) {
    bytes = LLVM::ExtractValueOp::create(builder, both, 0);
    fail(LLVM::ExtractValueOp::create(builder, both, 1));
  };
  for (auto [dim, size] : llvm::zip(op.getDims(), dims)) {
    if (!isKnownNonNegative(dim))
      fail(arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, size,
                                 i64(0)));
    split(LLVM::UMulWithOverflowOp::create(builder, pair, bytes, size));
  }
  if (op.getOffsetAttr().getInt() != 0)
    split(LLVM::UAddWithOverflowOp::create(builder, pair, bytes,
                                           i64(op.getOffsetAttr().getInt())));
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
  emitAssert(fits, [&] {
    Value array = emitStackArray(dims, builder.getI64Type());
    runtime.call(builder, "relax_tensor_from_storage", builder.getI32Type(),
                 {site("alloc_tensor"), scratchSlot, map(op.getStorage()),
                  i64(op.getOffsetAttr().getInt()), i32(dims.size()), array,
                  i32(encodeDType(dtype))});
  });
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

void FunctionEmitter::emitRawView(ViewOp op) {
  auto product = [&](ArrayRef<Value> dims) {
    Value result = i64(1);
    for (Value dim : dims)
      result = arith::MulIOp::create(builder, result, dim);
    return result;
  };
  SmallVector<Value> from = emitDims(op.getData()), to = map(op.getDims());
  Value same = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                     product(from), product(to));
  emitAssert(same, [&] {
    emitRaise("view", "ValueError",
              "the tensor and its view differ in the number of elements");
  });
  Value data = emitData(op.getData(), "view", Access::Read);
  rawTensors[op.getResult()] = {data, to};
}
