//===- Threads.cpp - The number of threads of kernels -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Threads.h"

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::relax;

/// The pass that makes calls of parallel loops puts the number in the place of
/// the region. What the region yields goes through memory, where no pass before
/// knows that it is 1.
Value mlir::relax::countThreads(ImplicitLocOpBuilder &b) {
  auto count = scf::ExecuteRegionOp::create(b, b.getIndexType(),
                                            /*no_inline=*/true);
  RelaxDialect::LoopAttrHelper(b.getContext())
      .setAttr(count, b.getStringAttr("threads"));
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&count.getRegion());
  Value memory =
      memref::AllocaOp::create(b, MemRefType::get({}, b.getIndexType()));
  memref::StoreOp::create(b, arith::ConstantIndexOp::create(b, 1), memory);
  Value one = memref::LoadOp::create(b, memory);
  scf::YieldOp::create(b, one);
  return count.getResult(0);
}
