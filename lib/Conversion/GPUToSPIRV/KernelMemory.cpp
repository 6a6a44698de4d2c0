//===- KernelMemory.cpp - Memrefs as pointers of SPIR-V ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's conversion of memrefs knows no sizes and strides that are found
// when a program runs. Here a memref is a pointer to elements beside its
// offset, sizes and strides, which are values: an access computes its place
// from them. Views only change these values.
//
//===----------------------------------------------------------------------===//

#include "KernelMemory.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::relax;

Type mlir::relax::getElementBits(Type type) {
  auto number = dyn_cast<FloatType>(type);
  if (!number || number.isF16() || number.getWidth() >= 32)
    return type;
  return IntegerType::get(type.getContext(), number.getWidth());
}

namespace {
/// What a memref is.
struct Memory {
  /// A spirv.ptr to the elements.
  Value pointer;
  /// Of type index; the offset is null where it is 0.
  Value offset;
  SmallVector<Value> sizes, strides;
};

class KernelMemory {
public:
  KernelMemory(gpu::GPUFuncOp kernel, spirv::ModuleOp module)
      : kernel(kernel), module(module),
        b(kernel.getLoc(), kernel.getContext()) {}

  FailureOr<spirv::FuncOp> lower();

private:
  LogicalResult checkTypes();
  Type getPointerType(MemRefType type, spirv::StorageClass storage);
  SmallVector<Type> getParameterTypes();
  void bindParameters(ValueRange parameters);
  void bindMemory(Value memref, ValueRange &parameters);
  void bindScalar(Value scalar, Value word);
  void bindShared(Value memref, unsigned number);
  void bindArray(Value memref, Value array);

  LogicalResult lower(Operation &op);
  bool lowerAccess(Operation &op);
  bool lowerViewOrQuery(Operation &op);
  void lowerView(memref::ReinterpretCastOp op);
  void lowerMetadata(memref::ExtractStridedMetadataOp op);
  void lowerAddress(memref::ExtractAlignedPointerAsIndexOp op);
  void lowerSize(memref::DimOp op);
  void lowerAlloca(memref::AllocaOp op);
  void lowerLoad(Operation &op, Value memref, ValueRange indices);
  void lowerStore(Operation &op, Value value, Value memref, ValueRange indices);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value asIndex(Value word) {
    return arith::IndexCastOp::create(b, b.getIndexType(), word);
  }
  Value asWord(Value value) {
    return arith::IndexCastOp::create(b, b.getI64Type(), value);
  }
  Value getPlace(const Memory &memory, ValueRange indices);
  Value getPointer(const Memory &memory, ValueRange indices, Type type);
  spirv::MemoryAccessAttr getAccess() {
    return spirv::MemoryAccessAttr::get(b.getContext(),
                                        spirv::MemoryAccess::Aligned);
  }
  IntegerAttr getAlignment(Type type);
  void drop(Operation &op) { dropped.push_back(&op); }

  gpu::GPUFuncOp kernel;
  spirv::ModuleOp module;
  ImplicitLocOpBuilder b;
  llvm::DenseMap<Value, Memory> memories;
  SmallVector<Operation *> dropped;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The type of an element, or of several, in memory; null where there is none.
static Type getMemoryType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) {
    Type element = getMemoryType(vector.getElementType());
    if (!element || vector.getRank() > 1 || vector.isScalable())
      return {};
    return vector.getNumElements() == 1 ? element : vector.clone(element);
  }
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 64);
  Type bits = getElementBits(type);
  if (!bits.isIntOrFloat() || bits.isInteger(1) ||
      !llvm::isPowerOf2_32(bits.getIntOrFloatBitWidth()) ||
      bits.getIntOrFloatBitWidth() < 8 || bits.getIntOrFloatBitWidth() > 64)
    return {};
  return bits;
}

LogicalResult KernelMemory::checkTypes() {
  for (Type type : kernel.getBody().getArgumentTypes()) {
    auto memref = dyn_cast<MemRefType>(type);
    bool isKnown = memref ? bool(getMemoryType(memref.getElementType()))
                          : type.isIntOrIndexOrFloat();
    if (!isKnown)
      return kernel.emitOpError()
             << "cannot have a parameter of type " << type << " on OpenCL";
  }
  return success();
}

Type KernelMemory::getPointerType(MemRefType type,
                                  spirv::StorageClass storage) {
  return spirv::PointerType::get(getMemoryType(type.getElementType()), storage);
}

IntegerAttr KernelMemory::getAlignment(Type type) {
  Type element = getElementTypeOrSelf(type);
  return b.getI32IntegerAttr(
      static_cast<int32_t>(element.getIntOrFloatBitWidth() / 8));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// A memref is two addresses, its offset, sizes and strides.
SmallVector<Type> KernelMemory::getParameterTypes() {
  SmallVector<Type> types;
  Type word = b.getI64Type();
  for (Type type : kernel.getArgumentTypes()) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref) {
      types.push_back(word);
      continue;
    }
    types.append(2,
                 getPointerType(memref, spirv::StorageClass::CrossWorkgroup));
    types.append(1 + 2 * memref.getRank(), word);
  }
  return types;
}

void KernelMemory::bindMemory(Value memref, ValueRange &parameters) {
  auto type = cast<MemRefType>(memref.getType());
  auto take = [&] {
    Value first = parameters.front();
    parameters = parameters.drop_front();
    return first;
  };
  auto [strides, offset] = type.getStridesAndOffset();
  auto bind = [&](int64_t known) {
    Value word = take();
    return ShapedType::isDynamic(known) ? asIndex(word) : index(known);
  };
  take(); // what was allocated
  Memory &memory = memories[memref];
  memory.pointer = take();
  Value begin = bind(offset);
  if (offset != 0)
    memory.offset = begin;
  for (int64_t size : type.getShape())
    memory.sizes.push_back(bind(size));
  for (int64_t stride : strides)
    memory.strides.push_back(bind(stride));
}

void KernelMemory::bindScalar(Value scalar, Value word) {
  Type type = scalar.getType();
  Value value = word;
  if (type.isIndex()) {
    value = asIndex(word);
  } else if (unsigned width = type.getIntOrFloatBitWidth(); width <= 64) {
    Type bits = b.getIntegerType(width);
    if (width < 64)
      value = arith::TruncIOp::create(b, bits, word);
    if (isa<FloatType>(type))
      value = arith::BitcastOp::create(b, type, value);
  }
  scalar.replaceAllUsesWith(value);
}

/// Memory of a known size that begins where `array` points.
void KernelMemory::bindArray(Value memref, Value array) {
  auto type = cast<MemRefType>(memref.getType());
  auto pointer = cast<spirv::PointerType>(array.getType());
  Value zero = spirv::ConstantOp::getZero(b.getI64Type(), b.getLoc(), b);
  Memory &memory = memories[memref];
  memory.pointer = spirv::AccessChainOp::create(
      b, getPointerType(type, pointer.getStorageClass()), array,
      ValueRange(zero));
  for (int64_t size : type.getShape())
    memory.sizes.push_back(index(size));
  for (int64_t stride : type.getStridesAndOffset().first)
    memory.strides.push_back(index(stride));
}

static Type getArrayType(MemRefType type) {
  return spirv::ArrayType::get(getMemoryType(type.getElementType()),
                               type.getNumElements());
}

/// Memory that the threads of a block share is a variable of the module.
void KernelMemory::bindShared(Value memref, unsigned number) {
  auto type = cast<MemRefType>(memref.getType());
  OpBuilder outer = OpBuilder::atBlockBegin(module.getBody());
  auto variable = spirv::GlobalVariableOp::create(
      outer, b.getLoc(),
      spirv::PointerType::get(getArrayType(type),
                              spirv::StorageClass::Workgroup),
      (kernel.getName() + ".shared" + Twine(number)).str());
  bindArray(memref, spirv::AddressOfOp::create(b, variable));
}

void KernelMemory::bindParameters(ValueRange parameters) {
  // Those of the block are more.
  unsigned numGiven = kernel.getFunctionType().getNumInputs();
  for (BlockArgument argument : kernel.getArguments().take_front(numGiven)) {
    if (isa<MemRefType>(argument.getType())) {
      bindMemory(argument, parameters);
      continue;
    }
    bindScalar(argument, parameters.front());
    parameters = parameters.drop_front();
  }
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

Value KernelMemory::getPlace(const Memory &memory, ValueRange indices) {
  Value place = memory.offset;
  for (auto [at, stride] : llvm::zip_equal(indices, memory.strides)) {
    Value step = b.createOrFold<arith::MulIOp>(at, stride);
    place = place ? b.createOrFold<arith::AddIOp>(place, step) : step;
  }
  return place;
}

/// A pointer to a value of `type` at a place.
Value KernelMemory::getPointer(const Memory &memory, ValueRange indices,
                               Type type) {
  Value pointer = memory.pointer;
  if (Value place = getPlace(memory, indices))
    pointer = spirv::PtrAccessChainOp::create(b, pointer.getType(), pointer,
                                              asWord(place), ValueRange());
  auto from = cast<spirv::PointerType>(pointer.getType());
  auto to = spirv::PointerType::get(type, from.getStorageClass());
  return to == from ? pointer : spirv::BitcastOp::create(b, to, pointer);
}

/// Loads an element, or a vector of them.
void KernelMemory::lowerLoad(Operation &op, Value memref, ValueRange indices) {
  Type type = op.getResult(0).getType(), stored = getMemoryType(type);
  Value value = spirv::LoadOp::create(
      b, stored, getPointer(memories[memref], indices, stored), getAccess(),
      getAlignment(stored));
  if (type.isIndex())
    value = asIndex(value);
  else if (isa<VectorType>(type) && !isa<VectorType>(stored))
    value = vector::BroadcastOp::create(b, VectorType::get({1}, stored), value);
  if (value.getType() != type)
    value = arith::BitcastOp::create(b, type, value);
  op.getResult(0).replaceAllUsesWith(value);
  drop(op);
}

void KernelMemory::lowerStore(Operation &op, Value value, Value memref,
                              ValueRange indices) {
  Type type = value.getType(), stored = getMemoryType(type);
  if (type.isIndex()) {
    value = asWord(value);
  } else if (isa<VectorType>(type) && !isa<VectorType>(stored)) {
    value = vector::ExtractOp::create(b, value, ArrayRef<int64_t>{0});
  }
  if (value.getType() != stored)
    value = arith::BitcastOp::create(b, stored, value);
  spirv::StoreOp::create(b, getPointer(memories[memref], indices, stored),
                         value, getAccess(), getAlignment(stored));
  drop(op);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void KernelMemory::lowerView(memref::ReinterpretCastOp op) {
  Memory memory = {memories[op.getSource()].pointer, {}, {}, {}};
  auto getAll = [&](ArrayRef<OpFoldResult> values) {
    return llvm::map_to_vector(values, [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(b, b.getLoc(), value);
    });
  };
  OpFoldResult offset = op.getMixedOffsets().front();
  if (getConstantIntValue(offset) != 0)
    memory.offset = getAll(offset).front();
  memory.sizes = getAll(op.getMixedSizes());
  memory.strides = getAll(op.getMixedStrides());
  memories[op.getResult()] = memory;
  drop(*op);
}

void KernelMemory::lowerMetadata(memref::ExtractStridedMetadataOp op) {
  Memory memory = memories[op.getSource()];
  memories[op.getBaseBuffer()] = {memory.pointer, {}, {}, {}};
  op.getOffset().replaceAllUsesWith(memory.offset ? memory.offset : index(0));
  for (auto [result, size] : llvm::zip_equal(op.getSizes(), memory.sizes))
    result.replaceAllUsesWith(size);
  for (auto [result, stride] : llvm::zip_equal(op.getStrides(), memory.strides))
    result.replaceAllUsesWith(stride);
  drop(*op);
}

void KernelMemory::lowerAddress(memref::ExtractAlignedPointerAsIndexOp op) {
  Value address = spirv::ConvertPtrToUOp::create(
      b, b.getI64Type(), memories[op.getSource()].pointer);
  op.getResult().replaceAllUsesWith(asIndex(address));
  drop(*op);
}

void KernelMemory::lowerSize(memref::DimOp op) {
  op.getResult().replaceAllUsesWith(
      memories[op.getSource()].sizes[*op.getConstantIndex()]);
  drop(*op);
}

/// A variable is in the first block of a function.
void KernelMemory::lowerAlloca(memref::AllocaOp op) {
  OpBuilder::InsertionGuard guard(b);
  Block &entry = op->getParentRegion()->front();
  b.setInsertionPointToStart(&entry);
  auto type = spirv::PointerType::get(getArrayType(op.getType()),
                                      spirv::StorageClass::Function);
  bindArray(op.getResult(),
            spirv::VariableOp::create(b, type, spirv::StorageClass::Function,
                                      /*initializer=*/Value()));
  drop(*op);
}

/// Whether an operation is an access of elements, which is lowered then.
bool KernelMemory::lowerAccess(Operation &op) {
  auto isKnown = [&](Value memref, Type accessed) {
    return memories.contains(memref) && getMemoryType(accessed);
  };
  auto load = [&](auto access, Value memref) {
    if (!isKnown(memref, access.getType()))
      return false;
    lowerLoad(op, memref, access.getIndices());
    return true;
  };
  auto store = [&](auto access, Value memref) {
    Value value = access.getValueToStore();
    if (!isKnown(memref, value.getType()))
      return false;
    lowerStore(op, value, memref, access.getIndices());
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case([&](memref::LoadOp access) {
        return load(access, access.getMemRef());
      })
      .Case(
          [&](vector::LoadOp access) { return load(access, access.getBase()); })
      .Case([&](memref::StoreOp access) {
        return store(access, access.getMemRef());
      })
      .Case([&](vector::StoreOp access) {
        return store(access, access.getBase());
      })
      .Default(false);
}

/// Whether an operation is a view of memory, or asks for what it is; it is
/// lowered then.
bool KernelMemory::lowerViewOrQuery(Operation &op) {
  if (op.getNumOperands() == 0 || !memories.contains(op.getOperand(0)))
    return false;
  if (auto view = dyn_cast<memref::ReinterpretCastOp>(op))
    return lowerView(view), true;
  if (auto metadata = dyn_cast<memref::ExtractStridedMetadataOp>(op))
    return lowerMetadata(metadata), true;
  if (auto address = dyn_cast<memref::ExtractAlignedPointerAsIndexOp>(op))
    return lowerAddress(address), true;
  if (auto size = dyn_cast<memref::DimOp>(op); size && size.getConstantIndex())
    return lowerSize(size), true;
  auto cast = dyn_cast<memref::CastOp>(op);
  if (!cast || !isa<MemRefType>(cast.getType()))
    return false;
  Memory memory = memories[cast.getSource()];
  memories[cast.getResult()] = memory;
  drop(op);
  return true;
}

static bool usesMemory(Operation &op) {
  auto isMemory = llvm::IsaPred<BaseMemRefType>;
  return llvm::any_of(op.getOperandTypes(), isMemory) ||
         llvm::any_of(op.getResultTypes(), isMemory);
}

LogicalResult KernelMemory::lower(Operation &op) {
  b.setLoc(op.getLoc());
  b.setInsertionPoint(&op);
  if (!usesMemory(op) || lowerAccess(op) || lowerViewOrQuery(op))
    return success();
  auto alloca = dyn_cast<memref::AllocaOp>(op);
  if (!alloca || !alloca.getType().hasStaticShape() ||
      !getMemoryType(alloca.getType().getElementType()))
    return op.emitOpError() << "cannot be lowered in a kernel of OpenCL";
  lowerAlloca(alloca);
  return success();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

FailureOr<spirv::FuncOp> KernelMemory::lower() {
  if (failed(checkTypes()))
    return failure();
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = getParameterTypes();
  auto function = spirv::FuncOp::create(b, kernel.getName(),
                                        b.getFunctionType(types, TypeRange()));
  Block &entry = kernel.getBody().front();
  unsigned numGiven = entry.getNumArguments();
  SmallVector<Value> parameters;
  for (Type type : types)
    parameters.push_back(entry.addArgument(type, kernel.getLoc()));
  b.setInsertionPointToStart(&entry);
  bindParameters(parameters);
  for (auto [number, memory] :
       llvm::enumerate(kernel.getWorkgroupAttributions()))
    bindShared(memory, number);
  for (Block *block : getBlocksSortedByDominance(kernel.getBody()))
    for (Operation &op : llvm::make_early_inc_range(*block))
      if (failed(lower(op)))
        return failure();
  for (Operation *op : llvm::reverse(dropped))
    op->erase();
  entry.eraseArguments(0, numGiven);
  function.getBody().takeBody(kernel.getBody());
  return function;
}

FailureOr<spirv::FuncOp>
mlir::relax::lowerKernelMemory(gpu::GPUFuncOp kernel, spirv::ModuleOp module) {
  return KernelMemory(kernel, module).lower();
}
