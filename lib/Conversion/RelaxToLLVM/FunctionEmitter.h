//===- FunctionEmitter.h - One Relax function in LLVM -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function becomes `__tvm_ffi_<name>(handle, args, nargs, result) -> status`.
// Each Relax value is the address of a TVMFFIAny: that of an argument, or of a
// slot in the frame, an array on the stack that owns what it holds. A step of
// the runtime that fails branches to the one error exit; both exits release the
// frame. A tensor in a storage that only kernels use has no object: it is an
// address and dimensions.
//
// Operations that are calls of the runtime say so themselves
// (`RuntimeStepOpInterface`): Steps.cpp. Each other group has a file:
// Integers.cpp, Kernels.cpp, RawTensors.cpp, Values.cpp, Calls.cpp,
// Profile.cpp; the frame and control flow are in ConvertRelaxToLLVM.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLLVM_FUNCTIONEMITTER_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLLVM_FUNCTIONEMITTER_H

#include "RuntimeCalls.h"

#include "relax-mlir/IR/RuntimeSteps.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::relax {

class FunctionEmitter {
public:
  /// With `isProfiled`, the function says when a call begins and ends.
  FunctionEmitter(RuntimeModule &runtime, FuncOp source, bool isProfiled)
      : runtime(runtime), source(source), isProfiled(isProfiled),
        builder(source.getLoc(), source.getContext()),
        typeConverter(source.getContext()) {}

  /// The type of all entries.
  static FunctionType entryType(MLIRContext *context);

  LogicalResult emit();

private:
  // The frame of the function.
  void emitPrologue();
  void emitEpilogue();
  /// The number of slots of the frame, times `unit`; known when all is emitted.
  Value slotCount(int64_t unit);
  Value nextSlot();
  Value slotAt(int64_t index);
  Value resultSlot(Operation *op);
  Value emitStackArray(ArrayRef<Value> values, Type elementType);
  Value emitCondition(Value condition);

  // Calls of the function itself whose result it returns.
  bool isSelfTailCall(CallOp op);
  void emitLoopHeader();
  void emitSelfTailCall(CallOp op);

  // Steps.
  Value constant(Type type, int64_t value);
  Value i32(int64_t value) { return constant(builder.getI32Type(), value); }
  Value i64(int64_t value) { return constant(builder.getI64Type(), value); }
  Value site(StringRef what, StringRef expected = "");
  /// The arguments of the C function that an operand is.
  void addArgs(const StepOperand &operand, SmallVectorImpl<Value> &args);
  void emitComparison(const RuntimeStep &step, arith::CmpIPredicate predicate);
  void emitDivisorCheck(const RuntimeStep &step);
  /// Calls the C function of a step; `slot` is that of the result, null for
  /// none. Returns the status.
  Value emitStepCall(const RuntimeStep &step, Value slot);
  /// Calls a runtime function that may fail; goes on in a new block.
  void emitStep(StringRef name, ValueRange args);
  /// A status that is not zero is a failure.
  void leaveUnlessZero(Value status);
  void branchToError(Value failed);
  void emitAssert(Value holds, function_ref<void()> raise);

  // Calls that a profile measures.
  /// Emits a call and goes on in a new block unless its status is a failure;
  /// the status is null where the call cannot fail.
  void emitMeasured(StringRef kind, StringRef name, ValueRange operands,
                    function_ref<Value()> emitCall);
  /// Returns the description of the call that begins.
  Value beginKernel(StringRef name, ValueRange operands);
  Value beginCall(StringRef kind, StringRef name, ValueRange operands);

  // Operations.
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation *op);
  LogicalResult emit(AllocStorageOp op);
  LogicalResult emit(AllocTensorOp op);
  LogicalResult emit(CallKernelOp op);
  LogicalResult emit(CallOp op);
  LogicalResult emit(CallPackedOp op);
  LogicalResult emit(relax::CastOp op);
  LogicalResult emit(DimOp op);
  LogicalResult emit(DTypeOp op);
  LogicalResult emit(ExternFuncOp op);
  LogicalResult emit(IfOp op);
  LogicalResult emit(KillOp op);
  LogicalResult emit(LoadConstantOp op);
  LogicalResult emit(MakePrimOp op);
  LogicalResult emit(MakeShapeOp op);
  LogicalResult emit(NullValueOp op);
  LogicalResult emit(PrimValueOp op);
  LogicalResult emit(ReturnOp op);
  LogicalResult emit(ShapeOfOp op);
  LogicalResult emit(StringOp op);
  LogicalResult emit(TagOp op);
  LogicalResult emit(ToDeviceOp op);
  LogicalResult emit(ViewOp op);
  LogicalResult emit(YieldOp op);
  void emitSteps(RuntimeStepOpInterface op);

  Value map(Value value) { return mapping.lookup(value); }
  SmallVector<Value> map(ValueRange values);

  // Tensors without an object.
  /// Whether nothing but kernels needs a tensor.
  bool isRaw(Value tensor);
  void emitRawTensor(AllocTensorOp op);
  void emitRawView(ViewOp op);
  void checkFits(AllocTensorOp op, ArrayRef<Value> dims);
  void emitRaise(StringRef what, StringRef kind, StringRef message);

  // Integers.
  void emitArith(Operation *op);
  template <typename OpTy> void emitExact(Operation *op, StringRef sign);
  void emitExactDivision(arith::FloorDivSIOp op);
  void raiseOverflow(Operation *op, StringRef sign, ArrayRef<Value> operands);
  /// The product of dimensions, times `factor`; sets `failed` where it is
  /// beyond 64 bits.
  Value emitProduct(ArrayRef<Value> dims, int64_t factor, Value &failed);

  /// The access of a kernel to a tensor.
  enum class Access { Read, Update, Output };
  Value emitData(Value tensor, const Twine &what, Access access,
                 bool isOnDevice = false);
  SmallVector<Value> emitDims(Value tensor);
  Value emitMemref(Value tensor, MemRefType type, Value data);
  void emitDisjoint(CallKernelOp op, ArrayRef<Value> data);
  Value emitScalar(Value prim, Type type);
  void emitPrim(Operation *op, Value number, Type dtype);
  LogicalResult emitKernelCall(CallOp op, func::FuncOp kernel);
  Value entryAddress(StringRef function);
  void emitCall(Operation *op, Value callee, StringRef what, StringRef kind,
                StringRef name, ValueRange args);

  /// A tensor without an object.
  struct RawTensor {
    Value data;
    SmallVector<Value> dims;
  };
  /// The values read from tensors that are not changed in between.
  struct Reads {
    llvm::DenseMap<Value, Value> data;
    llvm::DenseMap<Value, SmallVector<Value>> dims;
  };

  RuntimeModule &runtime;
  FuncOp source;
  bool isProfiled;
  int64_t numProfiledCalls = 0;
  func::FuncOp entry;
  ImplicitLocOpBuilder builder;
  LLVMTypeConverter typeConverter;
  IRMapping mapping;
  llvm::DenseMap<Value, bool> rawness;
  llvm::DenseMap<Value, RawTensor> rawTensors;
  llvm::DenseMap<Value, Value> storageData;
  Reads reads;
  Block *errorExit = nullptr;
  Block *loopHeader = nullptr; // where the function calls itself in the end
  bool hasCalledKernel = false;
  /// Whether a call has left the block: nothing runs after it.
  bool hasLeft = false;
  Value frame, scratchSlot;
  int64_t usedSlots = 0;
  SmallVector<std::pair<LLVM::ConstantOp, int64_t>> slotCounts;
};

/// The name of the entry of a function.
std::string entryName(StringRef function);

/// The element `index` of an array of i64.
Value loadElement(ImplicitLocOpBuilder &builder, Value array, int64_t index);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLLVM_FUNCTIONEMITTER_H
