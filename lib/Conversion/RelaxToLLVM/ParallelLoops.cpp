//===- ParallelLoops.cpp - Loops that several threads run -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a parallel loop becomes a function of a range of iterations. What
// it needs from around it is in a struct on the stack of the kernel, which
// waits for the end of the loop.
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"

#include "relax-mlir/Analysis/IndependentLoops.h"
#include "relax-mlir/Conversion/Passes.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXOUTLINEPARALLELLOOPSPASS
#include "relax-mlir/Conversion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Loops that programs call parallel
//===----------------------------------------------------------------------===//

/// Whether a loop may become one that threads share.
static bool isParallel(scf::ForOp loop) {
  auto kind = RelaxDialect::LoopAttrHelper(loop.getContext()).getAttr(loop);
  if (!kind || loop.getNumResults() != 0 ||
      !loop.getInductionVar().getType().isIndex() ||
      loop->getParentOfType<scf::ParallelOp>() ||
      !matchPattern(loop.getStep(), m_One()))
    return false;
  return isKnownIndependent(loop) || (kind.getValue() == "parallel" &&
                                      hasIndependentIterations(loop, loop));
}

/// A loop that a program calls parallel, as one that is.
static void makeParallel(scf::ForOp loop) {
  if (!isParallel(loop))
    return;
  OpBuilder builder(loop);
  auto parallel = scf::ParallelOp::create(
      builder, loop.getLoc(), ValueRange{loop.getLowerBound()},
      ValueRange{loop.getUpperBound()}, ValueRange{loop.getStep()});
  RelaxDialect::GrainAttrHelper helper(loop.getContext());
  IntegerAttr grain = helper.getAttr(loop);
  helper.setAttr(parallel, grain ? grain : builder.getI64IntegerAttr(1));
  Block *body = loop.getBody(), *target = parallel.getBody();
  loop.getInductionVar().replaceAllUsesWith(parallel.getInductionVars()[0]);
  target->getOperations().splice(target->begin(), body->getOperations(),
                                 body->begin(), std::prev(body->end()));
  loop.erase();
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

/// The only operation that frees a buffer; null where there are others.
static memref::DeallocOp findDeallocation(memref::AllocOp alloc) {
  memref::DeallocOp found;
  for (Operation *user : alloc->getUsers())
    if (auto dealloc = dyn_cast<memref::DeallocOp>(user)) {
      if (found)
        return {};
      found = dealloc;
    }
  return found;
}

/// Allocates the buffers of an iteration once for all of them, where sizes are
/// the same for all. A short row takes less time than the calls of the runtime.
static void shareBuffers(scf::ForOp loop) {
  for (auto alloc :
       llvm::make_early_inc_range(loop.getBody()->getOps<memref::AllocOp>())) {
    memref::DeallocOp dealloc = findDeallocation(alloc);
    if (!dealloc || dealloc->getBlock() != loop.getBody() ||
        !llvm::all_of(alloc->getOperands(), [&](Value size) {
          return loop.isDefinedOutsideOfLoop(size);
        }))
      continue;
    alloc->moveBefore(loop);
    dealloc->moveAfter(loop);
  }
}

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

namespace {
class Outliner {
public:
  Outliner(RuntimeModule &runtime, SymbolTable &symbols)
      : runtime(runtime), symbols(symbols),
        builder(UnknownLoc::get(runtime.getContext()), runtime.getContext()),
        typeConverter(runtime.getContext()) {}

  LogicalResult outline(scf::ParallelOp loop, int64_t grain);

private:
  Value i64(int64_t value) {
    return LLVM::ConstantOp::create(builder, builder.getI64Type(),
                                    builder.getI64IntegerAttr(value));
  }
  Value cast(Type type, Value value) {
    if (value.getType() == type)
      return value;
    return UnrealizedConversionCastOp::create(builder, type, value)
        .getResult(0);
  }
  Value fieldOf(Value context, Type type, size_t index) {
    return LLVM::GEPOp::create(
        builder, runtime.ptrType(), type, context,
        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(index)});
  }
  func::FuncOp makeBody(scf::ParallelOp loop, int64_t grain,
                        func::FuncOp kernel, ArrayRef<Value> captures,
                        Type contextType);

  RuntimeModule &runtime;
  SymbolTable &symbols;
  ImplicitLocOpBuilder builder;
  LLVMTypeConverter typeConverter;
};
} // namespace

/// Whether an operation gives the same value at any position.
static bool canBeRepeated(Operation *op) {
  return op && op->getNumOperands() == 0 && op->getNumRegions() == 0 &&
         op->getNumResults() == 1 && isPure(op);
}

/// Returns the values that the body uses from outside; what costs nothing is
/// repeated inside.
static SmallVector<Value> captureValues(scf::ParallelOp loop) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  used.insert(loop.getLowerBound()[0]);
  used.insert(loop.getStep()[0]);
  return used.takeVector();
}

/// Inner loops share buffers first, so that these may leave outer ones, too. A
/// thread has few iterations of a small grain, which are long.
func::FuncOp Outliner::makeBody(scf::ParallelOp loop, int64_t grain,
                                func::FuncOp kernel, ArrayRef<Value> captures,
                                Type contextType) {
  Type i64Type = builder.getI64Type(), i32Type = builder.getI32Type();
  builder.setInsertionPointAfter(kernel);
  auto body = func::FuncOp::create(
      builder, (kernel.getSymName() + ".parallel").str(),
      builder.getFunctionType({runtime.ptrType(), i64Type, i64Type},
                              {i32Type}));
  body.setPrivate();
  setReturnsStatus(body);
  symbols.insert(body); // renames on conflict
  builder.setInsertionPointToStart(body.addEntryBlock());
  IRMapping mapping;
  size_t index = 0;
  for (Value value : captures) {
    if (Operation *op = value.getDefiningOp(); canBeRepeated(op)) {
      builder.clone(*op, mapping);
      continue;
    }
    Type type = typeConverter.convertType(value.getType());
    Value field = LLVM::LoadOp::create(
        builder, type, fieldOf(body.getArgument(0), contextType, index++));
    mapping.map(value, cast(value.getType(), field));
  }
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, builder.getIndexType(), value);
  };
  Value one = arith::ConstantIndexOp::create(builder, 1);
  auto iterations = scf::ForOp::create(builder, toIndex(body.getArgument(1)),
                                       toIndex(body.getArgument(2)), one);
  builder.setInsertionPointToStart(iterations.getBody());
  Value number = arith::MulIOp::create(builder, iterations.getInductionVar(),
                                       mapping.lookup(loop.getStep()[0]));
  number = arith::AddIOp::create(builder, number,
                                 mapping.lookup(loop.getLowerBound()[0]));
  mapping.map(loop.getInductionVars()[0], number);
  for (Operation &op : loop.getBody()->without_terminator())
    builder.clone(op, mapping);
  builder.setInsertionPointAfter(iterations);
  Value success =
      LLVM::ConstantOp::create(builder, i32Type, builder.getI32IntegerAttr(0));
  func::ReturnOp::create(builder, success);
  body.walk([&](scf::ForOp inner) {
    if (inner != iterations || grain > 1)
      shareBuffers(inner);
  });
  return body;
}

LogicalResult Outliner::outline(scf::ParallelOp loop, int64_t grain) {
  builder.setLoc(loop.getLoc());
  auto kernel = loop->getParentOfType<func::FuncOp>();
  SmallVector<Value> captures = captureValues(loop), held;
  SmallVector<Type> fields;
  for (Value value : captures) {
    if (canBeRepeated(value.getDefiningOp()))
      continue;
    Type type = typeConverter.convertType(value.getType());
    if (!type || !LLVM::isCompatibleType(type))
      return loop.emitOpError()
             << "cannot hand a value of " << value.getType() << " to threads";
    held.push_back(value);
    fields.push_back(type);
  }
  Type contextType =
      LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  func::FuncOp body = makeBody(loop, grain, kernel, captures, contextType);

  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value context =
      LLVM::AllocaOp::create(builder, runtime.ptrType(), contextType, i64(1));
  builder.setInsertionPoint(loop);
  for (auto [index, value] : llvm::enumerate(held))
    LLVM::StoreOp::create(builder, cast(fields[index], value),
                          fieldOf(context, contextType, index));
  Value size = arith::SubIOp::create(builder, loop.getUpperBound()[0],
                                     loop.getLowerBound()[0]);
  if (!matchPattern(loop.getStep()[0], m_One()))
    size = arith::CeilDivSIOp::create(builder, size, loop.getStep()[0]);
  size = arith::IndexCastOp::create(builder, builder.getI64Type(), size);
  Value address = cast(
      runtime.ptrType(),
      func::ConstantOp::create(builder, body.getFunctionType(),
                               FlatSymbolRefAttr::get(body.getSymNameAttr())));
  runtime.call(builder, kParallelFor, builder.getI32Type(),
               {address, context, size, i64(grain)});
  loop.erase();
  return success();
}

/// Puts the number of threads in the place of a region that stands for it.
static void lowerThreadCount(scf::ExecuteRegionOp region,
                             RuntimeModule &runtime) {
  auto kind = RelaxDialect::LoopAttrHelper(region.getContext()).getAttr(region);
  if (!kind || kind.getValue() != "threads" || region.getNumResults() != 1 ||
      !region.getResult(0).getType().isIndex())
    return;
  ImplicitLocOpBuilder builder(region.getLoc(), region);
  Value count = runtime.call(builder, "relax_num_threads_get",
                             builder.getI32Type(), ValueRange());
  region.getResult(0).replaceAllUsesWith(
      arith::IndexCastOp::create(builder, builder.getIndexType(), count));
  region.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct RelaxOutlineParallelLoopsPass
    : relax::impl::RelaxOutlineParallelLoopsPassBase<
          RelaxOutlineParallelLoopsPass> {
  void runOnOperation() override {
    if (failed(verifyKernels(getOperation())))
      return signalPassFailure();
    SmallVector<scf::ForOp> serial;
    getOperation().walk([&](func::FuncOp func) {
      // Outer loops first.
      func.walk<WalkOrder::PreOrder>(
          [&](scf::ForOp loop) { serial.push_back(loop); });
    });
    for (scf::ForOp loop : serial)
      makeParallel(loop);

    SmallVector<std::pair<scf::ParallelOp, int64_t>> loops;
    getOperation().walk([&](func::FuncOp func) {
      func.walk<WalkOrder::PreOrder>([&](scf::ParallelOp loop) {
        IntegerAttr grain =
            RelaxDialect::GrainAttrHelper(&getContext()).getAttr(loop);
        if (!grain || loop.getNumLoops() != 1 || loop.getNumReductions() != 0)
          return WalkResult::advance();
        loops.emplace_back(loop, grain.getInt());
        return WalkResult::skip();
      });
    });
    RuntimeModule runtime(getOperation());
    SymbolTable symbols(getOperation());
    getOperation().walk([&](scf::ExecuteRegionOp region) {
      lowerThreadCount(region, runtime);
    });
    for (auto [loop, grain] : loops)
      if (failed(Outliner(runtime, symbols).outline(loop, grain)))
        return signalPassFailure();
  }
};
} // namespace
