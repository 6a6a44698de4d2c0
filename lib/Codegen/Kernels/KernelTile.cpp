//===- KernelTile.cpp - Tiles that users ask for ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTile.h"

#include "relax-mlir/IR/Schedule.h"

using namespace mlir;
using namespace mlir::relax;

/// No processor has more registers for vectors.
static constexpr int64_t kMostVectors = 32;

bool mlir::relax::isTile(ArrayRef<int64_t> tile, TileKind kind, int64_t lanes) {
  if (tile.size() != 2)
    return false;
  auto [others, elements] = std::pair(tile[0], tile[1]);
  if (kind == TileKind::VectorsByPixels)
    std::swap(others, elements);
  // Blocks of rows are transposed in registers when they are packed.
  bool fits = kind != TileKind::RowsByVectors || llvm::isPowerOf2_64(others);
  return fits && others > 0 && elements > 0 && elements % lanes == 0 &&
         others <= kMostVectors && elements / lanes <= kMostVectors / others;
}

/// Ends a message with the tile that the kernel has.
static void finish(InFlightDiagnostic &diag, func::FuncOp kernel) {
  diag << ", but got [";
  llvm::interleaveComma(KernelSchedule::get(kernel).tile, diag);
  diag << "]";
}

LogicalResult mlir::relax::verifyTile(func::FuncOp kernel, TileKind kind,
                                      int64_t lanes, StringRef first,
                                      StringRef second) {
  if (isTile(KernelSchedule::get(kernel).tile, kind, lanes))
    return success();
  std::string vectors =
      (", a multiple of " + Twine(lanes) + " (the lanes of a vector)").str();
  bool isRows = kind == TileKind::RowsByVectors;
  InFlightDiagnostic diag =
      kernel.emitError() << "expected a tile of " << first
                         << (isRows ? ", a power of two" : vectors) << ", and "
                         << second << (isRows ? vectors : "") << ", of at most "
                         << kMostVectors << " vectors of sums";
  finish(diag, kernel);
  return diag;
}

LogicalResult mlir::relax::rejectTile(func::FuncOp kernel, StringRef loops) {
  InFlightDiagnostic diag = kernel.emitError()
                            << "expected no tile for " << loops;
  finish(diag, kernel);
  return diag;
}
