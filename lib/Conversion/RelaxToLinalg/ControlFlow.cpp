//===- ControlFlow.cpp - Loops and branches of kernels ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

Carried
mlir::relax::buildLoop(ImplicitLocOpBuilder &b, Value begin, Value end,
                       Value step, ValueRange carried,
                       llvm::function_ref<Carried(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, begin, end, step, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

Carried mlir::relax::buildPartLoop(
    ImplicitLocOpBuilder &b, Value size, Value count, Value length,
    ValueRange carried,
    llvm::function_ref<Carried(Value, Value, Value, ValueRange)> body) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  return buildLoop(b, zero, count, one, carried,
                   [&](Value part, ValueRange carried) {
                     Value begin = arith::MulIOp::create(b, part, length);
                     Value end = arith::MinUIOp::create(
                         b, arith::AddIOp::create(b, begin, length), size);
                     return body(part, begin, end, carried);
                   });
}

Carried mlir::relax::buildIf(ImplicitLocOpBuilder &b, TypeRange types,
                             Value condition,
                             llvm::function_ref<Carried()> thenBranch,
                             llvm::function_ref<Carried()> elseBranch) {
  auto conditional =
      scf::IfOp::create(b, types, condition, /*addThenBlock=*/true,
                        /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(conditional.thenBlock());
  scf::YieldOp::create(b, thenBranch());
  b.setInsertionPointToStart(conditional.elseBlock());
  scf::YieldOp::create(b, elseBranch());
  return llvm::to_vector_of<Value>(conditional.getResults());
}

Value mlir::relax::buildIf(ImplicitLocOpBuilder &b, Type type, Value condition,
                           llvm::function_ref<Value()> thenBranch,
                           llvm::function_ref<Value()> elseBranch) {
  return buildIf(
             b, TypeRange(type), condition,
             [&] { return Carried{thenBranch()}; },
             [&] { return Carried{elseBranch()}; })
      .front();
}

/// The lanes of a vector of i1 as bits, the first one as the lowest.
static Value buildLaneBits(ImplicitLocOpBuilder &b, Value lanes) {
  int64_t count = cast<VectorType>(lanes.getType()).getDimSize(0);
  Value bits = vector::BitCastOp::create(
      b, VectorType::get(1, b.getIntegerType(count)), lanes);
  return vector::ExtractOp::create(b, bits, 0);
}

static Value buildIntLike(ImplicitLocOpBuilder &b, Value like, int64_t number) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(like.getType(), number));
}

Value mlir::relax::buildAnyLane(ImplicitLocOpBuilder &b, Value lanes) {
  Value bits = buildLaneBits(b, lanes);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bits,
                               buildIntLike(b, bits, 0));
}

Carried mlir::relax::buildLaneLoop(
    ImplicitLocOpBuilder &b, Value lanes, ValueRange carried,
    llvm::function_ref<Carried(Value, ValueRange)> body) {
  auto asIndex = [&](Value number) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), number);
  };
  auto overLanes = [&] {
    Value bits = buildLaneBits(b, lanes), one = buildIntLike(b, bits, 1);
    Carried next = {bits};
    llvm::append_range(next, carried);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value step = arith::ConstantIndexOp::create(b, 1);
    next =
        buildLoop(b, zero, asIndex(math::CtPopOp::create(b, bits)), step, next,
                  [&](Value, ValueRange carried) {
                    Value bits = carried[0];
                    Value lane =
                        asIndex(math::CountTrailingZerosOp::create(b, bits));
                    Value rest = arith::AndIOp::create(
                        b, bits, arith::SubIOp::create(b, bits, one));
                    Carried next = {rest};
                    llvm::append_range(next, body(lane, carried.drop_front()));
                    return next;
                  });
    return Carried(ArrayRef<Value>(next).drop_front());
  };
  return buildIf(b, carried.getTypes(), buildAnyLane(b, lanes), overLanes,
                 [&] { return Carried(carried); });
}

static void setLoopKind(ImplicitLocOpBuilder &b, Operation *loop,
                        StringRef kind, int64_t grain) {
  MLIRContext *context = b.getContext();
  RelaxDialect::LoopAttrHelper(context).setAttr(loop, b.getStringAttr(kind));
  RelaxDialect::GrainAttrHelper(context).setAttr(loop,
                                                 b.getI64IntegerAttr(grain));
}

void mlir::relax::makeParallel(ImplicitLocOpBuilder &b, Operation *loop,
                               int64_t grain) {
  setLoopKind(b, loop, "parallel", grain);
}

void mlir::relax::makeIndependent(ImplicitLocOpBuilder &b, Operation *loop,
                                  int64_t grain) {
  setLoopKind(b, loop, "independent", grain);
}

void mlir::relax::makeVectorized(ImplicitLocOpBuilder &b, Operation *loop) {
  setLoopKind(b, loop, "vectorized", 1);
}
