//===- ConvertRelaxToLLVM.cpp - Lower Relax functions to LLVM -*- C++ -*-===//
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
// frame.
//
// Cases: checks and dimensions; allocation and kernels; values; calls; control
// flow.
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "relax-mlir/Codegen/Constants.h"
#include "relax-mlir/Codegen/Devices.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXCONVERTTOLLVMPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

static constexpr int32_t kCpu = 1; // kDLCPU

static std::string entryName(StringRef function) {
  return ("__tvm_ffi_" + function).str();
}

namespace {
class FunctionEmitter {
public:
  FunctionEmitter(RuntimeModule &runtime, FuncOp source)
      : runtime(runtime), source(source),
        builder(source.getLoc(), source.getContext()),
        typeConverter(source.getContext()) {}

  /// The type of all entries.
  static FunctionType entryType(MLIRContext *context);

  LogicalResult emit();

private:
  // The frame of the function.
  void emitPrologue();
  void emitEpilogue();
  void countSlots();
  Value nextSlot();
  Value resultSlot(Operation *op);
  Value emitStackArray(ArrayRef<Value> values, Type elementType);

  // Steps.
  Value constant(Type type, int64_t value);
  Value i32(int64_t value) { return constant(builder.getI32Type(), value); }
  Value i64(int64_t value) { return constant(builder.getI64Type(), value); }
  Value site(StringRef what, StringRef expected = "");
  /// The kind and the number of a device, as DLPack counts them.
  std::pair<Value, Value> device(VDeviceAttr device);
  /// Calls a runtime function that may fail; goes on in a new block.
  void emitStep(StringRef name, ValueRange args);
  void branchToError(Value failed);
  void emitAssert(Value holds, function_ref<void()> raise);

  // Operations.
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation *op);
  LogicalResult emit(AllocTensorOp op);
  LogicalResult emit(CallKernelOp op);
  LogicalResult emit(CallOp op);
  LogicalResult emit(CallPackedOp op);
  LogicalResult emit(relax::CastOp op);
  LogicalResult emit(CheckDimOp op);
  LogicalResult emit(CheckBoundsOp op);
  LogicalResult emit(CheckDivisorOp op);
  LogicalResult emit(CheckFunctionOp op);
  LogicalResult emit(CheckOp op);
  LogicalResult emit(CheckShapeOp op);
  LogicalResult emit(DimOp op);
  LogicalResult emit(DTypeOp op);
  LogicalResult emit(ExternFuncOp op);
  LogicalResult emit(GetItemOp op);
  LogicalResult emit(IfOp op);
  LogicalResult emit(KillOp op);
  LogicalResult emit(LoadConstantOp op);
  LogicalResult emit(MakeClosureOp op);
  LogicalResult emit(MakePrimOp op);
  LogicalResult emit(MakeShapeOp op);
  LogicalResult emit(NullValueOp op);
  LogicalResult emit(PrimValueOp op);
  LogicalResult emit(ReturnOp op);
  LogicalResult emit(ShapeOfOp op);
  LogicalResult emit(StringOp op);
  LogicalResult emit(ToDeviceOp op);
  LogicalResult emit(TupleOp op);
  LogicalResult emit(YieldOp op);

  Value map(Value value) { return mapping.lookup(value); }
  SmallVector<Value> map(ValueRange values);
  /// How a kernel uses a tensor.
  enum class Access { Read, Update, Output };
  Value emitData(Value tensor, const Twine &what, Access access);
  Value emitMemref(Value tensor, MemRefType type, Value data);
  void emitDisjoint(CallKernelOp op, ArrayRef<Value> data);
  Value emitScalar(Value prim, Type type);
  void emitPrim(Operation *op, Value number, Type dtype);
  LogicalResult emitKernelCall(CallOp op, func::FuncOp kernel);
  SmallVector<Value> emitFunctionInfo(FuncStructInfoType type, ArrayAttr names,
                                      ValueRange dims);
  Value entryAddress(StringRef function);
  void emitCall(Operation *op, Value callee, StringRef what, ValueRange args);

  RuntimeModule &runtime;
  FuncOp source;
  func::FuncOp entry;
  ImplicitLocOpBuilder builder;
  LLVMTypeConverter typeConverter;
  IRMapping mapping;
  Block *errorExit = nullptr;
  Value frame;
  int64_t numSlots = 0, usedSlots = 0;
};
} // namespace

FunctionType FunctionEmitter::entryType(MLIRContext *context) {
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i32 = IntegerType::get(context, 32);
  return FunctionType::get(context, {ptr, ptr, i32, ptr}, {i32});
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

/// One slot for each result, and for each kernel input one that may hold a
/// compact copy, for each packed call one that holds the callee.
void FunctionEmitter::countSlots() {
  source.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      numSlots += isa<StructInfoTypeInterface>(type);
    if (auto call = dyn_cast<CallKernelOp>(op))
      numSlots += llvm::count_if(call.getInputs().getTypes(),
                                 llvm::IsaPred<TensorStructInfoType>);
    numSlots += isa<CallPackedOp>(op);
  });
}

Value FunctionEmitter::nextSlot() {
  return LLVM::GEPOp::create(
      builder, runtime.ptrType(), runtime.anyType(), frame,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(usedSlots++))});
}

Value FunctionEmitter::resultSlot(Operation *op) {
  Value slot = nextSlot();
  mapping.map(op->getResult(0), slot);
  return slot;
}

/// Stack memory is taken in the entry block, so that it is taken once.
static Value allocateStack(ImplicitLocOpBuilder &builder, Block &entryBlock,
                           Type elementType, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&entryBlock);
  Value size = LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                        builder.getI64IntegerAttr(count));
  return LLVM::AllocaOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), elementType,
      size);
}

/// Stores values in an array on the stack.
Value FunctionEmitter::emitStackArray(ArrayRef<Value> values,
                                      Type elementType) {
  Value array = allocateStack(builder, entry.getBody().front(), elementType,
                              std::max<size_t>(values.size(), 1));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value address = LLVM::GEPOp::create(
        builder, runtime.ptrType(), elementType, array,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))});
    LLVM::StoreOp::create(builder, value, address);
  }
  return array;
}

void FunctionEmitter::emitPrologue() {
  MLIRContext *context = source.getContext();
  entry = func::FuncOp::create(builder, entryName(source.getSymName()),
                               entryType(context));
  if (source.isPrivate())
    entry.setPrivate();
  Block *block = entry.addEntryBlock();
  errorExit = new Block();
  builder.setInsertionPointToStart(block);

  frame = allocateStack(builder, *block, runtime.anyType(),
                        std::max<int64_t>(numSlots, 1));
  int64_t bytes = 16 * numSlots; // sizeof(TVMFFIAny)
  LLVM::MemsetOp::create(builder, frame, constant(builder.getI8Type(), 0),
                         i64(bytes), /*isVolatile=*/false);
  // Before the frame is entered there is nothing to leave.
  Value where = site("");
  // The caller of a closure knows nothing of what it captured.
  Value nargs = entry.getArgument(2);
  int64_t captures = source.getNumCaptures();
  if (captures != 0)
    nargs = LLVM::SubOp::create(builder, nargs, i32(captures));
  Value status =
      runtime.call(builder, "relax_args_check", builder.getI32Type(),
                   {where, nargs, i32(source.getNumArguments() - captures)});
  Block *failed = new Block();
  auto leaveUnless = [&](Value status) {
    Value bad = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, status,
                                      i32(0));
    Block *next = new Block();
    entry.getBody().push_back(next);
    cf::CondBranchOp::create(builder, bad, failed, next);
    builder.setInsertionPointToStart(next);
  };
  leaveUnless(status);
  leaveUnless(runtime.call(builder, "relax_frame_enter", builder.getI32Type(),
                           {where}));
  entry.getBody().push_back(failed);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(failed);
  func::ReturnOp::create(builder, i32(-1));
}

void FunctionEmitter::emitEpilogue() {
  entry.getBody().push_back(errorExit);
  builder.setInsertionPointToStart(errorExit);
  runtime.call(builder, "relax_frame_leave", Type(), {frame, i64(numSlots)});
  func::ReturnOp::create(builder, i32(-1));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Value FunctionEmitter::constant(Type type, int64_t value) {
  return LLVM::ConstantOp::create(builder, type,
                                  builder.getIntegerAttr(type, value));
}

Value FunctionEmitter::site(StringRef what, StringRef expected) {
  return runtime.site(builder, source.getSymName(), what, expected);
}

std::pair<Value, Value> FunctionEmitter::device(VDeviceAttr device) {
  if (!device)
    return {i32(kCpu), i32(0)};
  return {i32(getDLDeviceType(device).value_or(kCpu)), i32(device.getDevId())};
}

void FunctionEmitter::branchToError(Value failed) {
  Block *next = new Block();
  entry.getBody().push_back(next);
  cf::CondBranchOp::create(builder, failed, errorExit, next);
  builder.setInsertionPointToStart(next);
}

void FunctionEmitter::emitStep(StringRef name, ValueRange args) {
  Value status = runtime.call(builder, name, builder.getI32Type(), args);
  branchToError(
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, status, i32(0)));
}

SmallVector<Value> FunctionEmitter::map(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) { return map(v); });
}

//===----------------------------------------------------------------------===//
// Checks and dimensions
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmitter::emit(CheckOp op) {
  Value where = site(op.getWhat(), op.getExpected());
  Value value = map(op.getValue());
  // Without virtual devices all tensors are on the host; with them, those that
  // name none may be on any.
  DictionaryAttr listed = getGlobalInfo(source);
  bool isAny = !op.getDeviceAttr() && listed && !listed.empty();
  llvm::TypeSwitch<Type>(op.getType())
      .Case([&](TensorStructInfoType type) {
        auto [kind, id] = device(op.getDeviceAttr());
        emitStep("relax_tensor_check", {where, value, i32(type.getNdim()),
                                        i32(encodeDType(type.getDtype())),
                                        isAny ? i32(0) : kind, id});
      })
      .Case([&](ShapeStructInfoType type) {
        emitStep("relax_shape_check", {where, value, i32(type.getNdim())});
      })
      .Case([&](PrimStructInfoType type) {
        emitStep("relax_prim_check",
                 {where, value, i32(encodeDType(type.getDtype()))});
      })
      .Case([&](TupleStructInfoType type) {
        emitStep("relax_tuple_check",
                 {where, value, i64(type.getFields().size())});
      })
      .Case([&](FuncStructInfoType) {
        emitStep("relax_function_check", {where, value});
      });
  return success();
}

/// The run-time StructInfo of a function type, the number of its captured
/// dimensions, and their values.
SmallVector<Value> FunctionEmitter::emitFunctionInfo(FuncStructInfoType type,
                                                     ArrayAttr names,
                                                     ValueRange dims) {
  std::string info = toRuntimeStructInfo(
      type, llvm::to_vector(names.getAsValueRange<StringAttr>()),
      getGlobalInfo(source));
  return {runtime.string(builder, info), i32(dims.size()),
          emitStackArray(map(dims), builder.getI64Type())};
}

LogicalResult FunctionEmitter::emit(CheckFunctionOp op) {
  auto type = cast<FuncStructInfoType>(op.getType());
  SmallVector<Value> args = {site(op.getWhat(), toString(type)),
                             map(op.getValue())};
  if (type.isPacked()) {
    emitStep("relax_packed_check", args);
    return success();
  }
  llvm::append_range(args, emitFunctionInfo(type, op.getNames(), op.getDims()));
  emitStep("relax_closure_check", args);
  return success();
}

LogicalResult FunctionEmitter::emit(CheckShapeOp op) {
  emitStep("relax_shape_equal_check", {site(op.getWhat(), op.getExpected()),
                                       map(op.getValue()), map(op.getShape())});
  return success();
}

/// The element `index` of an array of i64.
static Value loadElement(ImplicitLocOpBuilder &builder, Value array,
                         int64_t index) {
  Value address = LLVM::GEPOp::create(
      builder, array.getType(), builder.getI64Type(), array,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))});
  return LLVM::LoadOp::create(builder, builder.getI64Type(), address);
}

LogicalResult FunctionEmitter::emit(DimOp op) {
  Value value = map(op.getValue());
  if (isa<PrimStructInfoType>(op.getValue().getType())) {
    mapping.map(op.getResult(), runtime.call(builder, "relax_prim_int",
                                             builder.getI64Type(), {value}));
    return success();
  }
  bool isShape = isa<ShapeStructInfoType>(op.getValue().getType());
  Value dims =
      runtime.call(builder, isShape ? "relax_shape_dims" : "relax_tensor_dims",
                   runtime.ptrType(), {value});
  mapping.map(op.getResult(), loadElement(builder, dims, op.getIndex()));
  return success();
}

/// Goes on in a new block where `holds`; elsewhere `raise` sets an error.
void FunctionEmitter::emitAssert(Value holds, function_ref<void()> raise) {
  Block *fail = new Block(), *next = new Block();
  cf::CondBranchOp::create(builder, holds, next, fail);
  entry.getBody().push_back(fail);
  builder.setInsertionPointToStart(fail);
  raise();
  cf::BranchOp::create(builder, errorExit);
  entry.getBody().push_back(next);
  builder.setInsertionPointToStart(next);
}

LogicalResult FunctionEmitter::emit(CheckDimOp op) {
  Value actual = map(op.getActual()), wanted = map(op.getWanted());
  Value equal =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, actual, wanted);
  emitAssert(equal, [&] {
    runtime.call(builder, "relax_dim_raise", builder.getI32Type(),
                 {site(op.getWhat(), op.getExpected()), i64(op.getIndex()),
                  runtime.string(builder, op.getExpr()), wanted, actual});
  });
  return success();
}

LogicalResult FunctionEmitter::emit(CheckBoundsOp op) {
  Value actual = map(op.getValue());
  auto check = [&](arith::CmpIPredicate predicate, StringRef relation,
                   std::optional<int64_t> end, StringRef attribute) {
    if (!end)
      return;
    Value bound = i64(*end);
    Value holds = arith::CmpIOp::create(builder, predicate, actual, bound);
    emitAssert(holds, [&] {
      std::string name = op.getName().str();
      std::string expected = name + relation.str() + std::to_string(*end);
      std::string expr = attribute.str() + "['" + name + "']";
      runtime.call(builder, "relax_dim_raise", builder.getI32Type(),
                   {site("shape variable '" + name + "'", expected), i64(-1),
                    runtime.string(builder, expr), bound, actual});
    });
  };
  check(arith::CmpIPredicate::sge, " >= ", op.getLower(),
        RelaxDialect::kLowerBound);
  check(arith::CmpIPredicate::sle, " <= ", op.getUpper(),
        RelaxDialect::kUpperBound);
  return success();
}

LogicalResult FunctionEmitter::emit(CheckDivisorOp op) {
  Value nonZero = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne,
                                        map(op.getDivisor()), i64(0));
  emitAssert(nonZero, [&] {
    runtime.call(builder, "relax_error_raise", builder.getI32Type(),
                 {site("dimension " + op.getExpr().str()),
                  runtime.string(builder, "ZeroDivisionError"),
                  runtime.string(builder, "the divisor is zero")});
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Allocation and kernels
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmitter::emit(AllocTensorOp op) {
  TensorStructInfoType type = op.getResult().getType();
  SmallVector<Value> dims = map(op.getDims());
  Value array = emitStackArray(dims, builder.getI64Type());
  auto [kind, id] = device(op.getDeviceAttr());
  emitStep("relax_tensor_alloc",
           {site("alloc_tensor"), resultSlot(op), i32(dims.size()), array,
            i32(encodeDType(type.getDtype())), kind, id});
  return success();
}

LogicalResult FunctionEmitter::emit(ToDeviceOp op) {
  // Kernels read the memory of any device of this target.
  if (op.getData().getDefiningOp<LoadConstantOp>() &&
      isOnlyRead(op.getResult()) &&
      llvm::none_of(op->getUsers(), llvm::IsaPred<CheckOp>)) {
    runtime.call(builder, "relax_value_assign", Type(),
                 {resultSlot(op), map(op.getData())});
    return success();
  }
  auto [kind, id] = device(op.getDevice());
  emitStep("relax_tensor_to_device",
           {site("to_vdevice"), resultSlot(op), map(op.getData()), kind, id});
  return success();
}

/// Fills the dimensions and row-major strides of a memref descriptor.
static void fillDims(ImplicitLocOpBuilder &builder, MemRefDescriptor &memref,
                     MemRefType type, ArrayRef<Value> dims) {
  Location loc = builder.getLoc();
  Value stride = LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                          builder.getI64IntegerAttr(1));
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    memref.setSize(builder, loc, i, dims[i]);
    memref.setStride(builder, loc, i, stride);
    if (i > 0)
      stride = LLVM::MulOp::create(builder, stride, dims[i]);
  }
}

/// The address of the elements of a tensor in row-major order. An input that is
/// not compact is copied first; one that is updated must be compact, or the
/// update would be lost.
Value FunctionEmitter::emitData(Value tensor, const Twine &what,
                                Access access) {
  Value value = map(tensor);
  Value address = emitStackArray({}, runtime.ptrType());
  if (access == Access::Update) {
    emitStep("relax_tensor_data_inplace", {site(what.str()), value, address});
  } else {
    // A fresh output is compact, its slot for a copy is never used.
    Value copy = access == Access::Output ? value : nextSlot();
    emitStep("relax_tensor_data", {site(what.str()), value, copy, address});
  }
  return LLVM::LoadOp::create(builder, runtime.ptrType(), address);
}

/// OP02: a tensor that is updated shares no memory with another input.
void FunctionEmitter::emitDisjoint(CallKernelOp op, ArrayRef<Value> data) {
  for (auto [index, updated] : llvm::enumerate(op.getInputs()))
    for (auto [other, input] : llvm::enumerate(op.getInputs()))
      // Of two that are updated, one check is enough.
      if (op.isUpdated(index) && other != index && data[other] &&
          (!op.isUpdated(other) || index < other))
        emitStep("relax_tensor_check_disjoint",
                 {site("kernel"), map(updated), data[index], i32(index),
                  map(input), data[other], i32(other)});
}

/// A tensor as a memref.
Value FunctionEmitter::emitMemref(Value tensor, MemRefType type, Value data) {
  Value dims = runtime.call(builder, "relax_tensor_dims", runtime.ptrType(),
                            {map(tensor)});
  SmallVector<Value> sizes =
      llvm::map_to_vector(llvm::seq<int64_t>(type.getRank()), [&](int64_t i) {
        return loadElement(builder, dims, i);
      });

  auto memref = MemRefDescriptor::poison(builder, builder.getLoc(),
                                         typeConverter.convertType(type));
  memref.setAllocatedPtr(builder, builder.getLoc(), data);
  memref.setAlignedPtr(builder, builder.getLoc(), data);
  memref.setOffset(builder, builder.getLoc(), i64(0));
  fillDims(builder, memref, type, sizes);
  return UnrealizedConversionCastOp::create(builder, type, Value(memref))
      .getResult(0);
}

LogicalResult FunctionEmitter::emit(CallKernelOp op) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, op.getCalleeAttr());
  if (!kernel)
    return op.emitOpError()
           << "expected " << op.getCalleeAttr() << " to be a func.func";
  if (kernel.getNumResults() != 0)
    return kernel.emitOpError() << "expected a kernel without results, but it "
                                   "does not update its outputs in place";
  SmallVector<Value> tensors(op.getInputs());
  llvm::append_range(tensors, op.getOutputs());
  if (kernel.getNumArguments() != tensors.size() + op.getInts().size())
    return op.emitOpError() << "expected " << kernel.getNumArguments()
                            << " values for the kernel";
  // A scalar has no data.
  SmallVector<Value> args, data;
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    data.push_back(
        isa<PrimStructInfoType>(input.getType())
            ? Value()
            : emitData(input, "kernel",
                       op.isUpdated(index) ? Access::Update : Access::Read));
  emitDisjoint(op, data);
  for (Value output : op.getOutputs())
    data.push_back(emitData(output, "kernel", Access::Output));
  auto addValues = [&](ValueRange values, ArrayRef<Value> data) {
    for (auto [value, elements] : llvm::zip(values, data)) {
      Type param = kernel.getArgumentTypes()[args.size()];
      if (!elements && isa<IntegerType, FloatType>(param)) {
        args.push_back(emitScalar(value, param));
        continue;
      }
      if (!elements)
        return LogicalResult(op.emitOpError()
                             << "expected parameter " << args.size() << " of "
                             << op.getCallee() << " to be a scalar, but got "
                             << param);
      auto memref = dyn_cast<MemRefType>(param);
      int64_t ndim = cast<TensorStructInfoType>(value.getType()).getNdim();
      if (!memref || memref.getRank() != ndim)
        return LogicalResult(op.emitOpError()
                             << "expected parameter " << args.size() << " of "
                             << op.getCallee() << " to be a memref of rank "
                             << ndim << ", but got " << param);
      args.push_back(emitMemref(value, memref, elements));
    }
    return success();
  };
  size_t numInputs = op.getInputs().size();
  if (failed(addValues(op.getInputs(), ArrayRef(data).take_front(numInputs))))
    return failure();
  llvm::append_range(args, map(op.getInts()));
  if (failed(addValues(op.getOutputs(), ArrayRef(data).drop_front(numInputs))))
    return failure();
  func::CallOp::create(builder, kernel, args);
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// One that is only read stays in the pool; it needs no slot.
LogicalResult FunctionEmitter::emit(LoadConstantOp op) {
  Value constant = runtime.constant(builder, op.getIndex());
  if (!op.getFresh()) {
    mapping.map(op.getResult(), constant);
    return success();
  }
  emitStep("relax_tensor_to_device",
           {site("constant"), resultSlot(op), constant, i32(kCpu), i32(0)});
  return success();
}

LogicalResult FunctionEmitter::emit(PrimValueOp op) {
  Value slot = resultSlot(op);
  if (auto number = dyn_cast<FloatAttr>(op.getValue())) {
    Value value = LLVM::ConstantOp::create(
        builder, builder.getF64Type(),
        builder.getF64FloatAttr(number.getValueAsDouble()));
    runtime.call(builder, "relax_prim_set_float", Type(), {slot, value});
    return success();
  }
  auto integer = cast<IntegerAttr>(op.getValue());
  if (integer.getType().isInteger(1))
    runtime.call(builder, "relax_prim_set_bool", Type(),
                 {slot, i32(integer.getValue().getZExtValue())});
  else
    runtime.call(builder, "relax_prim_set_int", Type(),
                 {slot, i64(integer.getType().isUnsignedInteger()
                                ? integer.getValue().getZExtValue()
                                : integer.getValue().getSExtValue())});
  return success();
}

LogicalResult FunctionEmitter::emit(MakePrimOp op) {
  runtime.call(builder, "relax_prim_set_int", Type(),
               {resultSlot(op), map(op.getValue())});
  return success();
}

LogicalResult FunctionEmitter::emit(MakeShapeOp op) {
  SmallVector<Value> dims = map(op.getDims());
  Value array = emitStackArray(dims, builder.getI64Type());
  emitStep("relax_shape_make", {resultSlot(op), i32(dims.size()), array});
  return success();
}

LogicalResult FunctionEmitter::emit(ShapeOfOp op) {
  emitStep("relax_shape_of", {resultSlot(op), map(op.getTensor())});
  return success();
}

LogicalResult FunctionEmitter::emit(StringOp op) {
  emitStep("relax_string_make",
           {resultSlot(op), runtime.string(builder, op.getValue()),
            i64(op.getValue().size())});
  return success();
}

LogicalResult FunctionEmitter::emit(DTypeOp op) {
  runtime.call(builder, "relax_dtype_make", Type(),
               {resultSlot(op), i32(encodeDType(op.getValue()))});
  return success();
}

LogicalResult FunctionEmitter::emit(NullValueOp op) {
  resultSlot(op); // None from the start
  return success();
}

LogicalResult FunctionEmitter::emit(TupleOp op) {
  SmallVector<Value> fields = map(op.getFields());
  Value array = emitStackArray(fields, runtime.ptrType());
  emitStep("relax_tuple_make",
           {site("tuple"), resultSlot(op), i64(fields.size()), array});
  return success();
}

LogicalResult FunctionEmitter::emit(GetItemOp op) {
  emitStep("relax_tuple_get", {site("get_item"), resultSlot(op),
                               map(op.getTupleValue()), i64(op.getIndex())});
  return success();
}

LogicalResult FunctionEmitter::emit(relax::CastOp op) {
  runtime.call(builder, "relax_value_assign", Type(),
               {resultSlot(op), map(op.getValue())});
  return success();
}

LogicalResult FunctionEmitter::emit(KillOp op) {
  auto constant = op.getValue().getDefiningOp<LoadConstantOp>();
  if (constant && !constant.getFresh())
    return success(); // the pool holds it
  runtime.call(builder, "relax_value_kill", Type(), {map(op.getValue())});
  return success();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmitter::emit(ExternFuncOp op) {
  StringRef name = op.getGlobalSymbol();
  emitStep("relax_function_get",
           {site("extern_func"), resultSlot(op), runtime.cache(builder),
            runtime.string(builder, name)});
  return success();
}

void FunctionEmitter::emitCall(Operation *op, Value callee, StringRef what,
                               ValueRange args) {
  SmallVector<Value> values = map(args);
  Value array = emitStackArray(values, runtime.ptrType());
  emitStep("relax_function_call",
           {site(what), resultSlot(op), callee, i32(values.size()), array});
}

LogicalResult FunctionEmitter::emit(CallPackedOp op) {
  Value callee = nextSlot();
  emitStep("relax_function_get",
           {site("call_packed"), callee, runtime.cache(builder),
            runtime.string(builder, op.getCallee())});
  emitCall(op, callee, "call_packed", op.getArgs());
  return success();
}

Value FunctionEmitter::entryAddress(StringRef function) {
  Value entry = func::ConstantOp::create(
      builder, entryType(source.getContext()),
      FlatSymbolRefAttr::get(source.getContext(), entryName(function)));
  return UnrealizedConversionCastOp::create(builder, runtime.ptrType(), entry)
      .getResult(0);
}

LogicalResult FunctionEmitter::emit(CallOp op) {
  if (Value function = op.getFunction()) {
    emitCall(op, map(function), "call", op.getArgs());
    return success();
  }
  if (auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          op, op.getCalleeAttr()))
    return emitKernelCall(op, kernel);
  SmallVector<Value> values = map(op.getArgs());
  Value array = emitStackArray(values, runtime.ptrType());
  emitStep("relax_entry_call",
           {entry.getArgument(0), resultSlot(op), entryAddress(*op.getCallee()),
            i32(values.size()), array});
  return success();
}

/// A double as the one of the two floats around it whose last bit is 1, unless
/// it is a float itself. Rounded once more, to fewer bits, the result is what
/// rounding the double at once would give; that has no instruction.
static Value roundToOdd(ImplicitLocOpBuilder &builder, Value number) {
  Type i32 = builder.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, builder.getI32IntegerAttr(value));
  };
  Value nearest =
      arith::TruncFOp::create(builder, builder.getF32Type(), number);
  Value back = arith::ExtFOp::create(builder, number.getType(), nearest);
  Value inexact =
      arith::CmpFOp::create(builder, arith::CmpFPredicate::ONE, back, number);
  Value isBelow = arith::CmpFOp::create(builder, arith::CmpFPredicate::OLT,
                                        LLVM::FAbsOp::create(builder, back),
                                        LLVM::FAbsOp::create(builder, number));
  Value bits = arith::BitcastOp::create(builder, i32, nearest);
  Value isEven = arith::CmpIOp::create(
      builder, arith::CmpIPredicate::eq,
      arith::AndIOp::create(builder, bits, constant(1)), constant(0));
  Value step =
      arith::SelectOp::create(builder, isBelow, constant(1), constant(-1));
  Value odd = arith::AddIOp::create(builder, bits, step);
  Value moves = arith::AndIOp::create(builder, inexact, isEven);
  return arith::BitcastOp::create(
      builder, builder.getF32Type(),
      arith::SelectOp::create(builder, moves, odd, bits));
}

/// The number in a primitive value that was checked. The value of a float may
/// be an integer.
Value FunctionEmitter::emitScalar(Value prim, Type type) {
  Value slot = map(prim);
  auto load = [&](int32_t field, Type fieldType) -> Value {
    Value address =
        LLVM::GEPOp::create(builder, runtime.ptrType(), runtime.anyType(), slot,
                            ArrayRef<LLVM::GEPArg>{0, field});
    return LLVM::LoadOp::create(builder, fieldType, address);
  };
  Value bits = load(2, builder.getI64Type());
  if (isa<IntegerType>(type))
    return type.isInteger(64)
               ? bits
               : arith::TruncIOp::create(builder, type, bits).getResult();
  constexpr int64_t kFloat = 3; // kTVMFFIFloat
  Type f64 = builder.getF64Type();
  Value isFloat =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                            load(0, builder.getI32Type()), i32(kFloat));
  Value number = arith::SelectOp::create(
      builder, isFloat, arith::BitcastOp::create(builder, f64, bits),
      arith::SIToFPOp::create(builder, f64, bits));
  if (type.isF64())
    return number;
  if (type.getIntOrFloatBitWidth() < 32)
    number = roundToOdd(builder, number);
  if (number.getType() != type)
    number = arith::TruncFOp::create(builder, type, number);
  return number;
}

/// A number as the value of an operation.
void FunctionEmitter::emitPrim(Operation *op, Value number, Type dtype) {
  Value slot = resultSlot(op);
  if (auto type = dyn_cast<FloatType>(number.getType())) {
    Type f64 = builder.getF64Type();
    if (type.getWidth() < 64)
      number = arith::ExtFOp::create(builder, f64, number);
    runtime.call(builder, "relax_prim_set_float", Type(), {slot, number});
    return;
  }
  bool isBool = number.getType().isInteger(1);
  Type held = isBool ? builder.getI32Type() : builder.getI64Type();
  if (number.getType() != held) {
    if (isBool || dtype.isUnsignedInteger())
      number = arith::ExtUIOp::create(builder, held, number);
    else
      number = arith::ExtSIOp::create(builder, held, number);
  }
  runtime.call(builder, isBool ? "relax_prim_set_bool" : "relax_prim_set_int",
               Type(), {slot, number});
}

/// SE07: a kernel may change its arguments in place, so none is copied.
LogicalResult FunctionEmitter::emitKernelCall(CallOp op, func::FuncOp kernel) {
  auto prim = dyn_cast<PrimStructInfoType>(op.getResult().getType());
  bool returnsScalar = kernel.getNumResults() == 1 && prim;
  if (kernel.getNumResults() != 0 && !returnsScalar)
    return kernel.emitOpError() << "expected a kernel without results, but it "
                                   "does not update its outputs in place";
  if (kernel.getNumArguments() != op.getArgs().size())
    return op.emitOpError() << "expected " << kernel.getNumArguments()
                            << " values for the kernel";
  SmallVector<Value> args;
  for (auto [index, param] : llvm::enumerate(kernel.getArgumentTypes())) {
    Value arg = op.getArgs()[index];
    auto memref = dyn_cast<MemRefType>(param);
    auto tensor = dyn_cast<TensorStructInfoType>(arg.getType());
    if (memref && tensor && tensor.getNdim() == memref.getRank()) {
      auto entryArgument = dyn_cast<BlockArgument>(arg);
      std::string what = ("argument " + Twine(index)).str();
      if (entryArgument && entryArgument.getOwner() == &source.front())
        what = source.describeArgument(entryArgument.getArgNumber());
      args.push_back(
          emitMemref(arg, memref, emitData(arg, what, Access::Update)));
    } else if (isa<PrimStructInfoType>(arg.getType()) &&
               isa<IntegerType, FloatType>(param)) {
      args.push_back(emitScalar(arg, param));
    } else {
      return op.emitOpError()
             << "cannot pass " << arg.getType() << " for parameter " << index
             << " of " << op.getCalleeAttr() << ", which is " << param;
    }
  }
  auto call = func::CallOp::create(builder, kernel, args);
  if (returnsScalar) {
    emitPrim(op, call.getResult(0), prim.getDtype());
    return success();
  }
  emitStep("relax_tuple_make", {site("tuple"), resultSlot(op), i64(0),
                                emitStackArray({}, runtime.ptrType())});
  return success();
}

LogicalResult FunctionEmitter::emit(MakeClosureOp op) {
  SmallVector<Value> captures = map(op.getCaptures());
  Value array = emitStackArray(captures, runtime.ptrType());
  SmallVector<Value> args = {site(("closure '" + op.getCallee() + "'").str()),
                             resultSlot(op),
                             entry.getArgument(0),
                             entryAddress(op.getCallee()),
                             i32(captures.size()),
                             array};
  llvm::append_range(args,
                     emitFunctionInfo(cast<FuncStructInfoType>(op.getInfo()),
                                      op.getNames(), op.getDims()));
  emitStep("relax_closure_make", args);
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult FunctionEmitter::emit(IfOp op) {
  resultSlot(op);
  Value value = map(op.getCond());
  Value address = emitStackArray({}, builder.getI32Type());
  emitStep("relax_tensor_bool", {site("condition"), value, address});
  Value flag = LLVM::LoadOp::create(builder, builder.getI32Type(), address);
  Value taken =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, flag, i32(0));
  Block *thenBlock = new Block(), *elseBlock = new Block(),
        *after = new Block();
  cf::CondBranchOp::create(builder, taken, thenBlock, elseBlock);
  LogicalResult result = success();
  for (auto [block, region] : {std::pair(thenBlock, &op.getThenRegion()),
                               std::pair(elseBlock, &op.getElseRegion())}) {
    entry.getBody().push_back(block);
    builder.setInsertionPointToStart(block);
    if (failed(emitBlock(region->front())))
      result = failure();
    cf::BranchOp::create(builder, after);
  }
  entry.getBody().push_back(after);
  builder.setInsertionPointToStart(after);
  return result;
}

LogicalResult FunctionEmitter::emit(YieldOp op) {
  runtime.call(builder, "relax_value_assign", Type(),
               {map(op->getParentOp()->getResult(0)), map(op.getValue())});
  return success();
}

LogicalResult FunctionEmitter::emit(ReturnOp op) {
  emitStep("relax_value_return",
           {site("result"), entry.getArgument(3), map(op.getValue())});
  runtime.call(builder, "relax_frame_leave", Type(), {frame, i64(numSlots)});
  func::ReturnOp::create(builder, i32(0));
  return success();
}

LogicalResult FunctionEmitter::emitOp(Operation *op) {
  builder.setLoc(op->getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AllocTensorOp, CallKernelOp, CallOp, CallPackedOp, relax::CastOp,
            CheckBoundsOp, CheckDimOp, CheckDivisorOp, CheckFunctionOp, CheckOp,
            CheckShapeOp, DimOp, DTypeOp, ExternFuncOp, GetItemOp, IfOp, KillOp,
            LoadConstantOp, MakeClosureOp, MakePrimOp, MakeShapeOp, NullValueOp,
            PrimValueOp, ReturnOp, ShapeOfOp, StringOp, ToDeviceOp, TupleOp,
            YieldOp>([&](auto op) { return emit(op); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa_and_nonnull<arith::ArithDialect>(op->getDialect())) {
          builder.clone(*op, mapping);
          return success();
        }
        return op->emitOpError()
               << "cannot be lowered to LLVM: run relax-legalize-ops, "
                  "relax-lower-call-tir, relax-lower-shapes and "
                  "relax-pool-constants before";
      });
}

LogicalResult FunctionEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(emitOp(&op)))
      return failure();
  return success();
}

LogicalResult FunctionEmitter::emit() {
  builder.setInsertionPoint(source);
  countSlots();
  emitPrologue();
  for (auto [index, argument] : llvm::enumerate(source.getArguments()))
    mapping.map(
        argument,
        LLVM::GEPOp::create(
            builder, runtime.ptrType(), runtime.anyType(), entry.getArgument(1),
            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))}));
  LogicalResult result = emitBlock(source.getBody().front());
  emitEpilogue();
  return result;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct RelaxConvertToLLVMPass
    : relax::impl::RelaxConvertToLLVMPassBase<RelaxConvertToLLVMPass> {
  void runOnOperation() override {
    RuntimeModule runtime(getOperation());
    SmallVector<FuncOp> functions(getOperation().getOps<FuncOp>());
    for (FuncOp func : functions) {
      if (func.isExternal()) {
        func.emitOpError() << "has no body to lower";
        return signalPassFailure();
      }
      if (failed(verifyDevices(func)) ||
          failed(FunctionEmitter(runtime, func).emit()))
        return signalPassFailure();
    }
    for (FuncOp func : functions)
      func.erase();
  }
};
} // namespace
