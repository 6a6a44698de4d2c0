//===- PanelPart.h - What a tile fetches of the next panel ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles that are computed from one panel share in bringing the next one into
// the cache: from memory, a whole panel takes longer than the products of one
// tile.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_PANELPART_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_PANELPART_H

#include "IndexBuilder.h"

namespace mlir::relax {

/// Elements that are fetched while a tile goes through the depth: from `begin`
/// on, and `step` further with each step of it.
struct PanelPart {
  /// Part `number` of `count` of a panel at `panel`, which has `width` elements
  /// for each step of `depth`. A step fetches no more than `most`, if given.
  static PanelPart get(IndexBuilder &b, Value panel, Value number, Value count,
                       Value depth, int64_t width,
                       std::optional<int64_t> most = std::nullopt) {
    Value step = b.ceilDiv(b.index(width), count);
    if (most)
      step = b.min(step, b.index(*most));
    // Parts overlap, as each has whole elements for a step.
    Value first = b.floorDiv(b.mul(number, b.mul(depth, width)), count);
    Value last = b.mul(depth, b.sub(b.index(width), step));
    return {b.add(panel, b.min(first, last)), step};
  }

  Value begin, step;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_PANELPART_H
