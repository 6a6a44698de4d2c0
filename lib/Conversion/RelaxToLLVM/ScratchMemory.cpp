//===- ScratchMemory.cpp - Memory that kernels need -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// memref.alloc becomes a call of the runtime, which may fail. So a kernel that
// allocates, calls one that does, or runs such a body in parallel returns a
// status, and leaves at once where something fails. Memory that it holds then
// is freed by the runtime: at that point it is not known what is allocated.
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "relax-mlir/Conversion/Passes.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXLOWERSCRATCHMEMORYPASS
#include "relax-mlir/Conversion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// The function whose address is `value`; null where it is not known.
static func::FuncOp findFunction(Value value, const SymbolTable &symbols) {
  auto cast = value.getDefiningOp<UnrealizedConversionCastOp>();
  if (!cast || cast.getNumOperands() != 1)
    return {};
  auto constant = cast.getOperand(0).getDefiningOp<func::ConstantOp>();
  return constant ? symbols.lookup<func::FuncOp>(constant.getValue())
                  : func::FuncOp();
}

/// Whether an operation launches a kernel of a device, which may fail.
static bool isLaunch(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  return call && call.getCallee() == kDeviceLaunch;
}

/// The function that an operation runs: that which it calls, or the body of a
/// parallel loop.
static func::FuncOp findCallee(Operation *op, const SymbolTable &symbols) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return symbols.lookup<func::FuncOp>(call.getCallee());
  auto call = dyn_cast<LLVM::CallOp>(op);
  if (!call || call.getCallee() != kParallelFor)
    return {};
  return findFunction(call.getArgOperands().front(), symbols);
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

namespace {
class ScratchLowering {
public:
  ScratchLowering(RuntimeModule &runtime, func::FuncOp func)
      : runtime(runtime), func(func), builder(func.getLoc(), func.getContext()),
        typeConverter(func.getContext()) {}

  /// `calls`: the operations whose last result is a status.
  LogicalResult lower(ArrayRef<Operation *> calls);

private:
  Value i64(int64_t value) {
    return LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                    builder.getI64IntegerAttr(value));
  }
  Value i32(int64_t value) {
    return LLVM::ConstantOp::create(builder, builder.getI32Type(),
                                    builder.getI32IntegerAttr(value));
  }
  LogicalResult lower(memref::AllocOp op);
  LogicalResult lower(memref::DeallocOp op);
  FailureOr<Value> emitBytes(memref::AllocOp op, ArrayRef<Value> sizes);
  /// The rest of the block runs where `failed` is false.
  void leaveIf(Value failed);
  Block *getErrorExit();

  RuntimeModule &runtime;
  func::FuncOp func;
  ImplicitLocOpBuilder builder;
  LLVMTypeConverter typeConverter;
  Block *errorExit = nullptr;
};
} // namespace

/// Leaves with a status of -1. The other results are not looked at.
Block *ScratchLowering::getErrorExit() {
  if (errorExit)
    return errorExit;
  OpBuilder::InsertionGuard guard(builder);
  errorExit = new Block();
  func.getBody().push_back(errorExit);
  builder.setInsertionPointToStart(errorExit);
  SmallVector<Value> results;
  for (Type type : func.getResultTypes().drop_back()) {
    Type converted = typeConverter.convertType(type);
    Value none = LLVM::PoisonOp::create(builder, converted);
    if (converted != type)
      none =
          UnrealizedConversionCastOp::create(builder, type, none).getResult(0);
    results.push_back(none);
  }
  results.push_back(i32(-1));
  func::ReturnOp::create(builder, results);
  return errorExit;
}

void ScratchLowering::leaveIf(Value failed) {
  Block *block = builder.getInsertionBlock();
  Block *rest = block->splitBlock(builder.getInsertionPoint());
  builder.setInsertionPointToEnd(block);
  cf::CondBranchOp::create(builder, failed, getErrorExit(), rest);
  builder.setInsertionPointToStart(rest);
}

/// The number of bytes; INT64_MAX where it overflows. A size below 0 is a large
/// one, as the factors have no sign.
FailureOr<Value> ScratchLowering::emitBytes(memref::AllocOp op,
                                            ArrayRef<Value> sizes) {
  MemRefType type = op.getType();
  DataLayout layout = DataLayout::closest(op);
  Type element = typeConverter.convertType(type.getElementType());
  if (!element)
    return failure();
  uint64_t known = layout.getTypeSize(element).getFixedValue();
  bool overflows = false;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      overflows |= __builtin_mul_overflow(known, uint64_t(size), &known);
  if (overflows || known > uint64_t(INT64_MAX))
    return i64(INT64_MAX);
  Value bytes = i64(known), overflow;
  for (auto [index, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size))
      continue;
    auto product = LLVM::UMulWithOverflowOp::create(
        builder,
        LLVM::LLVMStructType::getLiteral(
            builder.getContext(), {builder.getI64Type(), builder.getI1Type()}),
        bytes, sizes[index]);
    bytes = LLVM::ExtractValueOp::create(builder, product, 0);
    Value flag = LLVM::ExtractValueOp::create(builder, product, 1);
    overflow =
        overflow ? Value(LLVM::OrOp::create(builder, overflow, flag)) : flag;
  }
  if (!overflow)
    return bytes;
  return Value(
      LLVM::SelectOp::create(builder, overflow, i64(INT64_MAX), bytes));
}

LogicalResult ScratchLowering::lower(memref::AllocOp op) {
  MemRefType type = op.getType();
  Type converted = typeConverter.convertType(type);
  if (!converted || !type.getLayout().isIdentity() ||
      !op.getSymbolOperands().empty())
    return op.emitOpError() << "expected a memref with the identity layout to "
                               "allocate, but got "
                            << type;
  builder.setLoc(op.getLoc());
  builder.setInsertionPoint(op);
  SmallVector<Value> sizes;
  auto dynamic = op.getDynamicSizes().begin();
  for (int64_t size : type.getShape())
    sizes.push_back(ShapedType::isDynamic(size)
                        ? Value(arith::IndexCastOp::create(
                              builder, builder.getI64Type(), *dynamic++))
                        : i64(size));
  FailureOr<Value> bytes = emitBytes(op, sizes);
  if (failed(bytes))
    return op.emitOpError()
           << "cannot allocate elements of " << type.getElementType();
  // The body of a parallel loop stands for the kernel.
  StringRef name = getKernelLabel(func.getSymName()).split(".parallel").first;
  Value site = runtime.site(builder, ("kernel '" + name + "'").str(), "", "");
  VDeviceAttr device = getKernelDevice(func);
  Value memory =
      device ? runtime.call(builder, "relax_device_scratch_alloc",
                            runtime.ptrType(),
                            {site, *bytes, i32(*getDLDeviceType(device)),
                             i32(device.getDevId())})
             : runtime.call(builder, "relax_scratch_alloc", runtime.ptrType(),
                            {site, *bytes, i64(op.getAlignment().value_or(1))});
  Value null = LLVM::ZeroOp::create(builder, runtime.ptrType());
  leaveIf(LLVM::ICmpOp::create(builder, LLVM::ICmpPredicate::eq, memory, null));

  Location loc = op.getLoc();
  auto memref = MemRefDescriptor::poison(builder, loc, converted);
  memref.setAllocatedPtr(builder, loc, memory);
  memref.setAlignedPtr(builder, loc, memory);
  memref.setOffset(builder, loc, i64(0));
  Value stride = i64(1);
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    memref.setSize(builder, loc, i, sizes[i]);
    memref.setStride(builder, loc, i, stride);
    if (i > 0)
      stride = LLVM::MulOp::create(builder, stride, sizes[i]);
  }
  auto cast = UnrealizedConversionCastOp::create(builder, type, Value(memref));
  op.replaceAllUsesWith(cast.getResult(0));
  op.erase();
  return success();
}

LogicalResult ScratchLowering::lower(memref::DeallocOp op) {
  Type converted = typeConverter.convertType(op.getMemref().getType());
  if (!converted || !isa<MemRefType>(op.getMemref().getType()))
    return op.emitOpError() << "expected a memref of known rank to free, but "
                               "got "
                            << op.getMemref().getType();
  builder.setLoc(op.getLoc());
  builder.setInsertionPoint(op);
  Value descriptor =
      UnrealizedConversionCastOp::create(builder, converted, op.getMemref())
          .getResult(0);
  Value memory =
      MemRefDescriptor(descriptor).allocatedPtr(builder, op.getLoc());
  bool isOnDevice = bool(getKernelDevice(func));
  runtime.call(builder,
               isOnDevice ? "relax_device_scratch_free" : "relax_scratch_free",
               Type(), {memory});
  op.erase();
  return success();
}

LogicalResult ScratchLowering::lower(ArrayRef<Operation *> calls) {
  SmallVector<memref::AllocOp> allocs;
  SmallVector<memref::DeallocOp> deallocs;
  WalkResult walk = func.walk([&](Operation *op) {
    auto alloc = dyn_cast<memref::AllocOp>(op);
    if (alloc)
      allocs.push_back(alloc);
    else if (auto dealloc = dyn_cast<memref::DeallocOp>(op))
      deallocs.push_back(dealloc);
    if ((alloc || llvm::is_contained(calls, op)) &&
        op->getParentRegion() != &func.getBody()) {
      op->emitOpError() << "expected no operation between what may fail and "
                           "the function, but it is in "
                        << op->getParentOp()->getName();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (!allocs.empty()) {
    builder.setInsertionPointToStart(&func.getBody().front());
    Value mark =
        runtime.call(builder, "relax_scratch_mark", builder.getI64Type(), {});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(getErrorExit());
    runtime.call(builder, "relax_scratch_release", Type(), {mark});
  }
  for (memref::DeallocOp dealloc : deallocs)
    if (failed(lower(dealloc)))
      return failure();
  for (memref::AllocOp alloc : allocs)
    if (failed(lower(alloc)))
      return failure();
  for (Operation *call : calls) {
    builder.setLoc(call->getLoc());
    builder.setInsertionPointAfter(call);
    Value status = call->getResults().back();
    leaveIf(
        LLVM::ICmpOp::create(builder, LLVM::ICmpPredicate::ne, status, i32(0)));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Makes a function return 0 after its results.
static void addStatus(func::FuncOp func) {
  OpBuilder builder(func.getContext());
  SmallVector<Type> results(func.getResultTypes());
  results.push_back(builder.getI32Type());
  func.setFunctionType(
      builder.getFunctionType(func.getArgumentTypes(), results));
  if (ArrayAttr attrs = func.getAllResultAttrs()) {
    SmallVector<Attribute> extended(attrs.getValue());
    extended.push_back(builder.getDictionaryAttr({}));
    func.setAllResultAttrs(extended);
  }
  setReturnsStatus(func);
  func.walk([&](func::ReturnOp op) {
    builder.setInsertionPoint(op);
    Value success =
        LLVM::ConstantOp::create(builder, op.getLoc(), builder.getI32Type(),
                                 builder.getI32IntegerAttr(0));
    op.getOperandsMutable().append(success);
  });
}

/// The same call, of a function that returns a status now.
static Operation *callWithStatus(func::CallOp call, func::FuncOp callee) {
  OpBuilder builder(call);
  auto next =
      func::CallOp::create(builder, call.getLoc(), callee, call.getOperands());
  call.replaceAllUsesWith(next.getResults().drop_back());
  call.erase();
  return next;
}

/// Whether memory on the stack is only used where it is taken: nothing carries
/// it to the next iteration of a loop.
static bool staysInBlock(Value memory) {
  return llvm::all_of(memory.getUsers(), [](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return false;
    return !isa<ViewLikeOpInterface>(user) ||
           llvm::all_of(user->getResults(), staysInBlock);
  });
}

/// Stack memory that a loop takes would be held until the function returns.
static void hoistStackMemory(func::FuncOp func) {
  if (func.isExternal())
    return;
  Block &entry = func.getBody().front();
  SmallVector<memref::AllocaOp> allocas;
  func.walk([&](memref::AllocaOp op) {
    if (op->getBlock() != &entry && op->getParentRegion() == &func.getBody() &&
        op.getType().hasStaticShape() && op->getNumOperands() == 0 &&
        staysInBlock(op))
      allocas.push_back(op);
  });
  for (memref::AllocaOp op : llvm::reverse(allocas))
    op->moveBefore(&entry, entry.begin());
}

namespace {
struct RelaxLowerScratchMemoryPass
    : relax::impl::RelaxLowerScratchMemoryPassBase<
          RelaxLowerScratchMemoryPass> {
  void runOnOperation() override;

private:
  llvm::SetVector<func::FuncOp> findFailing(const SymbolTable &symbols);
  LogicalResult verifyAddresses(const llvm::SetVector<func::FuncOp> &failing,
                                const SymbolTable &symbols);
};
} // namespace

/// The functions that allocate, and those that run them.
llvm::SetVector<func::FuncOp>
RelaxLowerScratchMemoryPass::findFailing(const SymbolTable &symbols) {
  llvm::SetVector<func::FuncOp> failing;
  llvm::DenseMap<Operation *, SmallVector<func::FuncOp>> callers;
  for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
    func.walk([&](Operation *op) {
      if (isa<memref::AllocOp>(op) || isLaunch(op))
        failing.insert(func);
      else if (func::FuncOp callee = findCallee(op, symbols))
        callers[callee].push_back(func);
    });
  for (size_t i = 0; i < failing.size(); ++i)
    for (func::FuncOp caller : callers.lookup(failing[i]))
      failing.insert(caller);
  return failing;
}

/// The type of these functions changes, so all their callers must be known.
LogicalResult RelaxLowerScratchMemoryPass::verifyAddresses(
    const llvm::SetVector<func::FuncOp> &failing, const SymbolTable &symbols) {
  WalkResult walk = getOperation().walk([&](func::ConstantOp op) {
    auto func = symbols.lookup<func::FuncOp>(op.getValue());
    if (!func || !failing.contains(func) || returnsStatus(func))
      return WalkResult::advance();
    op.emitOpError() << "takes the address of @" << func.getSymName()
                     << ", which needs scratch memory and may fail";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

void RelaxLowerScratchMemoryPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
    hoistStackMemory(func);
  llvm::SetVector<func::FuncOp> failing = findFailing(symbols);
  if (failed(verifyAddresses(failing, symbols)))
    return signalPassFailure();
  for (func::FuncOp func : failing)
    if (!returnsStatus(func))
      addStatus(func);
  RuntimeModule runtime(getOperation());
  for (func::FuncOp func :
       llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
    SmallVector<Operation *> calls;
    func.walk([&](Operation *op) {
      func::FuncOp callee = findCallee(op, symbols);
      if (isLaunch(op) || (callee && failing.contains(callee)))
        calls.push_back(op);
    });
    for (Operation *&op : calls)
      if (auto call = dyn_cast<func::CallOp>(op))
        op = callWithStatus(call,
                            symbols.lookup<func::FuncOp>(call.getCallee()));
    if (failed(ScratchLowering(runtime, func).lower(calls)))
      return signalPassFailure();
  }
}
