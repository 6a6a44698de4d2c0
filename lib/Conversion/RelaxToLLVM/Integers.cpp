//===- Integers.cpp - Exact arithmetic of dimensions in LLVM -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler proves things of dimensions as numbers. They hold of 64 bits
// because no step of an expression goes beyond: each sum, difference, product
// and quotient of a Relax function is exact or an error.
//
//===----------------------------------------------------------------------===//

#include "FunctionEmitter.h"

#include "relax-mlir/Analysis/Sites.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

void FunctionEmitter::raiseOverflow(Operation *op, StringRef sign,
                                    ArrayRef<Value> operands) {
  runtime.call(builder, "relax_overflow_raise", builder.getI32Type(),
               {site(describeExpr(op)), runtime.string(builder, sign),
                operands[0], operands[1]});
}

/// The result of an intrinsic that also says whether it overflows.
template <typename OpTy>
void FunctionEmitter::emitExact(Operation *op, StringRef sign) {
  Type pair = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), {builder.getI64Type(), builder.getI1Type()});
  SmallVector<Value> operands = map(op->getOperands());
  Value both = OpTy::create(builder, pair, operands[0], operands[1]);
  Value overflows = LLVM::ExtractValueOp::create(builder, both, 1);
  Value fits = arith::XOrIOp::create(builder, overflows,
                                     constant(builder.getI1Type(), 1));
  emitAssert(fits, [&] { raiseOverflow(op, sign, operands); });
  mapping.map(op->getResult(0),
              LLVM::ExtractValueOp::create(builder, both, 0).getResult());
}

/// The least integer has no quotient by -1, and machines trap.
void FunctionEmitter::emitExactDivision(arith::FloorDivSIOp op) {
  APInt known;
  SmallVector<Value> operands = map(op->getOperands());
  if (!matchPattern(op.getRhs(), m_ConstantInt(&known)) || known.isAllOnes()) {
    auto differs = [&](Value value, int64_t from) -> Value {
      return arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, value,
                                   i64(from));
    };
    Value isLarger = differs(operands[0], INT64_MIN);
    Value isOther = differs(operands[1], -1);
    Value fits = arith::OrIOp::create(builder, isLarger, isOther);
    emitAssert(fits, [&] { raiseOverflow(op, "floordiv", operands); });
  }
  builder.clone(*op, mapping);
}

void FunctionEmitter::emitArith(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isInteger(64)) {
    builder.clone(*op, mapping);
    return;
  }
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](arith::AddIOp op) {
        emitExact<LLVM::SAddWithOverflowOp>(op, "+");
      })
      .Case([&](arith::SubIOp op) {
        emitExact<LLVM::SSubWithOverflowOp>(op, "-");
      })
      .Case([&](arith::MulIOp op) {
        emitExact<LLVM::SMulWithOverflowOp>(op, "*");
      })
      .Case([&](arith::FloorDivSIOp op) { emitExactDivision(op); })
      .Default([&](Operation *op) { builder.clone(*op, mapping); });
}
