//===- ConvertRelaxToLLVM.cpp - Lower Relax functions to LLVM -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame of a function, control flow, and the pass.
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "relax-mlir/Analysis/HostProgram.h"
#include "relax-mlir/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXCONVERTTOLLVMPASS
#include "relax-mlir/Conversion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

std::string mlir::relax::entryName(StringRef function) {
  return ("__tvm_ffi_" + function).str();
}

FunctionType FunctionEmitter::entryType(MLIRContext *context) {
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i32 = IntegerType::get(context, 32);
  return FunctionType::get(context, {ptr, ptr, i32, ptr}, {i32});
}

//===----------------------------------------------------------------------===//
// The frame
//===----------------------------------------------------------------------===//

Value FunctionEmitter::slotCount(int64_t unit) {
  auto count = LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                        builder.getI64IntegerAttr(0));
  slotCounts.emplace_back(count, unit);
  return count;
}

Value FunctionEmitter::slotAt(int64_t index) {
  return LLVM::GEPOp::create(
      builder, runtime.ptrType(), runtime.anyType(), frame,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))});
}

Value FunctionEmitter::nextSlot() { return slotAt(usedSlots++); }

Value FunctionEmitter::resultSlot(Operation *op) {
  Value slot = nextSlot();
  mapping.map(op->getResult(0), slot);
  return slot;
}

SmallVector<Value> FunctionEmitter::map(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value v) { return map(v); });
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

  frame = LLVM::AllocaOp::create(builder, runtime.ptrType(), runtime.anyType(),
                                 slotCount(1));
  LLVM::MemsetOp::create(builder, frame, constant(builder.getI8Type(), 0),
                         slotCount(16), // sizeof(TVMFFIAny)
                         /*isVolatile=*/false);
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
  runtime.call(builder, "relax_frame_leave", Type(), {frame, slotCount(1)});
  func::ReturnOp::create(builder, i32(-1));
  for (auto [count, unit] : slotCounts)
    count.setValueAttr(builder.getI64IntegerAttr(unit * usedSlots));
}

//===----------------------------------------------------------------------===//
// Calls of the function itself
//===----------------------------------------------------------------------===//

bool FunctionEmitter::isSelfTailCall(CallOp op) {
  return op.getCallee() && *op.getCallee() == source.getSymName() &&
         op.getArgs().size() == source.getNumArguments() &&
         isReturned(op.getResult());
}

/// The first slots hold the arguments of the next round, the ones after them
/// those of this round.
void FunctionEmitter::emitLoopHeader() {
  int64_t count = source.getNumArguments();
  usedSlots = 2 * count;
  for (int64_t i = 0; i < count; ++i)
    runtime.call(builder, "relax_value_assign", Type(),
                 {slotAt(i), map(source.getArgument(i))});
  loopHeader = new Block();
  cf::BranchOp::create(builder, loopHeader);
  entry.getBody().push_back(loopHeader);
  builder.setInsertionPointToStart(loopHeader);
  for (int64_t i = 0; i < count; ++i) {
    Value held = slotAt(count + i);
    runtime.call(builder, "relax_value_assign", Type(), {held, slotAt(i)});
    runtime.call(builder, "relax_value_kill", Type(), {slotAt(i)});
    mapping.map(source.getArgument(i), held);
  }
  emitStep("relax_signals_check", {});
}

/// Goes back to the start, with all slots empty but those of the arguments:
/// deep recursion of this kind needs no stack.
void FunctionEmitter::emitSelfTailCall(CallOp op) {
  int64_t count = source.getNumArguments();
  for (auto [index, argument] : llvm::enumerate(op.getArgs()))
    runtime.call(builder, "relax_value_assign", Type(),
                 {slotAt(index), map(argument)});
  Value others = LLVM::SubOp::create(builder, slotCount(1), i64(count));
  runtime.call(builder, "relax_values_kill", Type(), {slotAt(count), others});
  cf::BranchOp::create(builder, loopHeader);
  hasLeft = true;
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// Whether a condition holds. What a comparison of integers gives is not read
/// from the primitive value that it becomes.
Value FunctionEmitter::emitCondition(Value condition) {
  using arith::CmpIPredicate;
  if (auto prim = condition.getDefiningOp<MakePrimOp>())
    return arith::CmpIOp::create(builder, CmpIPredicate::ne,
                                 map(prim.getValue()), i64(0));
  Value address = emitStackArray({}, builder.getI32Type());
  emitStep("relax_tensor_bool", {site("condition"), map(condition), address});
  Value flag = LLVM::LoadOp::create(builder, builder.getI32Type(), address);
  return arith::CmpIOp::create(builder, CmpIPredicate::ne, flag, i32(0));
}

LogicalResult FunctionEmitter::emit(IfOp op) {
  resultSlot(op);
  Value taken = emitCondition(op.getCond());
  Block *thenBlock = new Block(), *elseBlock = new Block(),
        *after = new Block();
  cf::CondBranchOp::create(builder, taken, thenBlock, elseBlock);
  LogicalResult result = success();
  bool isReached = false;
  for (auto [block, region] : {std::pair(thenBlock, &op.getThenRegion()),
                               std::pair(elseBlock, &op.getElseRegion())}) {
    entry.getBody().push_back(block);
    builder.setInsertionPointToStart(block);
    // A value read in one branch is not known in the other.
    Reads before = reads;
    if (failed(emitBlock(region->front())))
      result = failure();
    reads = std::move(before);
    if (!hasLeft)
      cf::BranchOp::create(builder, after);
    isReached |= !hasLeft;
    hasLeft = false;
  }
  if (!isReached) {
    delete after;
    hasLeft = true;
    return result;
  }
  reads.data.clear(); // a branch may have changed something
  entry.getBody().push_back(after);
  builder.setInsertionPointToStart(after);
  return result;
}

LogicalResult FunctionEmitter::emit(YieldOp op) {
  Value value = op.getValue();
  runtime.call(builder, "relax_value_assign", Type(),
               {map(op->getParentOp()->getResult(0)), map(value)});
  // From here on, the value that the branch made is known as its result.
  if (value.getParentRegion() == op->getParentRegion() && value.getDefiningOp())
    runtime.call(builder, "relax_value_kill", Type(), {map(value)});
  return success();
}

LogicalResult FunctionEmitter::emit(ReturnOp op) {
  emitStep("relax_value_return",
           {site("result"), entry.getArgument(3), map(op.getValue())});
  runtime.call(builder, "relax_frame_leave", Type(), {frame, slotCount(1)});
  func::ReturnOp::create(builder, i32(0));
  return success();
}

LogicalResult FunctionEmitter::emitOp(Operation *op) {
  builder.setLoc(op->getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AllocStorageOp, AllocTensorOp, CallKernelOp, CallOp, CallPackedOp,
            relax::CastOp, DimOp, DTypeOp, ExternFuncOp, IfOp, KillOp,
            LoadConstantOp, MakePrimOp, MakeShapeOp, NullValueOp, PrimValueOp,
            ReturnOp, ShapeOfOp, StringOp, TagOp, ToDeviceOp, ViewOp, YieldOp>(
          [&](auto op) { return emit(op); })
      .Case([&](RuntimeStepOpInterface op) {
        emitSteps(op);
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa_and_nonnull<arith::ArithDialect>(op->getDialect())) {
          emitArith(op);
          return success();
        }
        return op->emitOpError()
               << "cannot be lowered to LLVM: run relax-legalize-ops, "
                  "relax-lower-call-tir, relax-lower-shapes and "
                  "relax-pool-constants before";
      });
}

LogicalResult FunctionEmitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    if (failed(emitOp(&op)))
      return failure();
    if (hasLeft)
      return success();
  }
  return success();
}

LogicalResult FunctionEmitter::emit() {
  builder.setInsertionPoint(source);
  emitPrologue();
  for (auto [index, argument] : llvm::enumerate(source.getArguments()))
    mapping.map(
        argument,
        LLVM::GEPOp::create(
            builder, runtime.ptrType(), runtime.anyType(), entry.getArgument(1),
            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(static_cast<int32_t>(index))}));
  WalkResult tailCalls = source.walk([&](CallOp call) {
    return isSelfTailCall(call) ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  if (tailCalls.wasInterrupted())
    emitLoopHeader();
  LogicalResult result = emitBlock(source.getBody().front());
  emitEpilogue();
  return result;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult mlir::relax::verifyKernels(ModuleOp module) {
  WalkResult result = module.walk([](linalg::LinalgOp op) {
    op.emitOpError() << "cannot be lowered to LLVM: expected relax-phase-"
                        "kernels to make loops of it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Rejects code for devices, whose memory the lowerings that follow do not
/// know.
static LogicalResult verifyIsCompiled(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (op.getName().getStringRef() == "gpu.module")
      return op.emitOpError() << "cannot be lowered to LLVM: expected "
                                 "relax-phase-outline to compile it";
  return success();
}

namespace {
struct RelaxConvertToLLVMPass
    : relax::impl::RelaxConvertToLLVMPassBase<RelaxConvertToLLVMPass> {
  using RelaxConvertToLLVMPassBase::RelaxConvertToLLVMPassBase;

  void runOnOperation() override {
    if (failed(verifyKernels(getOperation())) ||
        failed(verifyIsCompiled(getOperation())))
      return signalPassFailure();
    RuntimeModule runtime(getOperation());
    SmallVector<FuncOp> functions(getOperation().getOps<FuncOp>());
    for (FuncOp func : functions) {
      if (func.isExternal()) {
        func.emitOpError() << "has no body to lower";
        return signalPassFailure();
      }
      if (failed(verifyHostProgram(func)) ||
          failed(FunctionEmitter(runtime, func, profile).emit()))
        return signalPassFailure();
    }
    for (FuncOp func : functions)
      func.erase();
  }
};
} // namespace
