//===- Concat.cpp - Tensors one after another -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Concat.h"

#include "KernelParameters.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr llvm::StringLiteral kConcat = "relax_concat";

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// Parameters of a kernel, and where they are copied to.
struct Concatenation {
  BlockArgument result;
  int64_t axis = 0;
  SmallVector<BlockArgument> parts; // in order
};

/// A sum of constants and sizes.
struct Sum {
  int64_t constant = 0;
  SmallVector<Value> sizes;

  void add(OpFoldResult term) {
    if (std::optional<int64_t> known = getConstantIntValue(term)) {
      constant += *known;
      return;
    }
    auto value = cast<Value>(term);
    if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
      add(sum.getLhs());
      add(sum.getRhs());
      return;
    }
    sizes.push_back(value);
  }
  bool operator==(const Sum &other) const {
    return constant == other.constant && sizes.size() == other.sizes.size() &&
           std::is_permutation(sizes.begin(), sizes.end(), other.sizes.begin());
  }
};
} // namespace

/// Returns the parameter that is copied into a slice, as a whole.
static BlockArgument getCopied(tensor::InsertSliceOp insert) {
  if (auto parameter = dyn_cast<BlockArgument>(insert.getSource()))
    return parameter;
  auto copy = insert.getSource().getDefiningOp<linalg::GenericOp>();
  if (!copy || !linalg::isaCopyOpInterface(copy))
    return nullptr;
  return dyn_cast<BlockArgument>(copy.getDpsInputs()[0]);
}

/// Returns the axes along which a slice may not be the whole of what it is part
/// of. Of sizes that are not known, nothing here says that they are equal.
static SmallVector<int64_t> getSlicedAxes(tensor::InsertSliceOp insert) {
  SmallVector<int64_t> axes;
  RankedTensorType whole = insert.getDestType();
  RankedTensorType slice = insert.getSourceType();
  for (int64_t axis = 0; axis < whole.getRank(); ++axis)
    if (!isConstantIntValue(insert.getMixedOffsets()[axis], 0) ||
        whole.isDynamicDim(axis) ||
        whole.getDimSize(axis) != slice.getDimSize(axis))
      axes.push_back(axis);
  return axes;
}

/// Whether slices are inserted along one axis only, each after the one before.
static bool areInOrder(ArrayRef<tensor::InsertSliceOp> inserts, int64_t axis) {
  Sum end;
  for (tensor::InsertSliceOp insert : inserts) {
    Sum begin;
    begin.add(insert.getMixedOffsets()[axis]);
    if (!(begin == end) ||
        !llvm::all_of(insert.getMixedStrides(), [](OpFoldResult stride) {
          return isConstantIntValue(stride, 1);
        }))
      return false;
    for (int64_t other : getSlicedAxes(insert))
      if (other != axis)
        return false;
    end.add(insert.getMixedSizes()[axis]);
  }
  return true;
}

/// Whether a kernel has no operations but copies of slices and what tells where
/// they are.
static bool hasOnlyCopies(func::FuncOp kernel) {
  return llvm::all_of(
      kernel.getBody().front().without_terminator(), [](Operation &op) {
        return isa<bufferization::MaterializeInDestinationOp, linalg::GenericOp,
                   tensor::ExtractSliceOp, tensor::InsertSliceOp>(op) ||
               isScalarOp(op);
      });
}

static std::optional<Concatenation> recognize(func::FuncOp kernel) {
  auto results =
      kernel.getBody().getOps<bufferization::MaterializeInDestinationOp>();
  if (!llvm::hasSingleElement(results) || !hasOnlyCopies(kernel))
    return std::nullopt;
  bufferization::MaterializeInDestinationOp stored = *results.begin();
  Concatenation found;
  found.result = dyn_cast<BlockArgument>(stored.getDest());
  SmallVector<tensor::InsertSliceOp> inserts;
  Value value = stored.getSource();
  while (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
    BlockArgument part = getCopied(insert);
    if (!part || part == found.result ||
        insert.getSourceType().getRank() != insert.getDestType().getRank())
      return std::nullopt;
    found.parts.push_back(part);
    inserts.push_back(insert);
    value = insert.getDest();
  }
  if (!found.result || value != found.result || inserts.empty())
    return std::nullopt;
  std::reverse(found.parts.begin(), found.parts.end());
  std::reverse(inserts.begin(), inserts.end());
  // The last part begins after the others, if it is not the only one with
  // elements.
  SmallVector<int64_t> axes = getSlicedAxes(inserts.back());
  found.axis = axes.empty() ? 0 : axes.front();
  Type element = inserts.front().getSourceType().getElementType();
  if (!element.isIntOrFloat() ||
      (!element.isInteger(1) && element.getIntOrFloatBitWidth() % 8 != 0) ||
      !areInOrder(inserts, found.axis))
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

static Value toI64(IndexBuilder &b, Value index) {
  return arith::IndexCastOp::create(b, b.getI64Type(), index);
}

static Value getPointer(IndexBuilder &b, Value memref) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()),
                                  toI64(b, address));
}

/// Returns the product of the sizes of some dimensions.
static Value countElements(IndexBuilder &b, ArrayRef<Value> sizes) {
  Value count = b.index(1);
  for (Value size : sizes)
    count = b.mul(count, size);
  return count;
}

/// The type of the runtime's function.
static LLVM::LLVMFunctionType getConcatType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = IntegerType::get(context, 64);
  return LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                     {pointer, i64, i64, pointer, i64});
}

static void emitConcat(IndexBuilder &b, const Concatenation &concatenation,
                       ValueRange arguments) {
  Value result = arguments[concatenation.result.getArgNumber()];
  int64_t axis = concatenation.axis;
  int64_t bytes =
      cast<MemRefType>(result.getType()).getElementTypeBitWidth() / 8;
  // What follows one another in memory of one step of the outer dimensions.
  auto getRowBytes = [&](const FlatMemory &memory) {
    ArrayRef<Value> inner = ArrayRef(memory.sizes).drop_front(axis);
    return toI64(b, b.mul(countElements(b, inner), bytes));
  };
  FlatMemory whole = FlatMemory::get(b, result);
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type i64 = b.getI64Type();
  auto partType =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {pointer, i64});
  auto constant = [&](int64_t value) {
    return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(value));
  };
  Value count = constant(concatenation.parts.size());
  Value parts = LLVM::AllocaOp::create(b, pointer, partType, count);
  for (auto [index, argument] : llvm::enumerate(concatenation.parts)) {
    Value part = arguments[argument.getArgNumber()];
    auto store = [&](int32_t field, Value value) {
      Value place = LLVM::GEPOp::create(
          b, pointer, partType, parts,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index), field});
      LLVM::StoreOp::create(b, value, place);
    };
    store(0, getPointer(b, part));
    store(1, getRowBytes(FlatMemory::get(b, part)));
  }
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  LLVM::LLVMFunctionType type = getConcatType(b.getContext());
  LLVM::LLVMFuncOp function = *LLVM::lookupOrCreateFn(
      b, module, kConcat, type.getParams(), type.getReturnType());
  Value rows =
      toI64(b, countElements(b, ArrayRef(whole.sizes).take_front(axis)));
  LLVM::CallOp::create(b, function,
                       ValueRange{getPointer(b, result), rows,
                                  getRowBytes(whole), parts, count});
}

/// Whether the name of the runtime's function is free, or that function's.
static bool canCall(ModuleOp module) {
  Operation *other = module.lookupSymbol(kConcat);
  auto function = dyn_cast_or_null<LLVM::LLVMFuncOp>(other);
  return !other || (function && function.getFunctionType() ==
                                    getConcatType(module.getContext()));
}

std::unique_ptr<KernelEmitter> mlir::relax::matchConcat(func::FuncOp kernel,
                                                        const TargetModel &) {
  auto module = kernel->getParentOfType<ModuleOp>();
  std::optional<Concatenation> found = recognize(kernel);
  if (!found || !module || !canCall(module))
    return nullptr;
  return makeEmitter([found = *found](IndexBuilder &b, ValueRange arguments) {
    emitConcat(b, found, arguments);
  });
}
