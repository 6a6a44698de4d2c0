//===- MemoryLayout.cpp - Placing blocks in one piece of memory -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shortest layout is hard to find. Several good ones are made, by order
// (the largest block first, or as they come up) and by place (the lowest gap,
// or the tightest), and the shortest of them is taken.
//
//===----------------------------------------------------------------------===//

#include "MemoryLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace mlir::relax;

static int64_t getAlignment(int64_t size) {
  constexpr int64_t kMaxAlignment = 64;
  if (size >= kMaxAlignment)
    return kMaxAlignment;
  return llvm::PowerOf2Ceil(std::max<int64_t>(size, 1));
}

namespace {
enum class Place { LowestGap, TightestGap };

class Layouter {
public:
  Layouter(ArrayRef<int64_t> sizes,
           llvm::function_ref<bool(unsigned, unsigned)> interfere)
      : sizes(sizes), neighbours(sizes.size()) {
    for (unsigned i = 0, e = sizes.size(); i < e; ++i)
      for (unsigned j = 0; j < i; ++j)
        if (sizes[i] != 0 && sizes[j] != 0 && interfere(i, j)) {
          neighbours[i].push_back(j);
          neighbours[j].push_back(i);
        }
  }

  MemoryLayout layOut(ArrayRef<unsigned> order, Place place) const;

private:
  int64_t findOffset(unsigned block, const MemoryLayout &layout,
                     Place place) const;

  ArrayRef<int64_t> sizes;
  std::vector<SmallVector<unsigned>> neighbours;
};
} // namespace

int64_t Layouter::findOffset(unsigned block, const MemoryLayout &layout,
                             Place place) const {
  // The neighbours that are placed, from low to high.
  SmallVector<std::pair<int64_t, int64_t>> taken;
  for (unsigned other : neighbours[block])
    if (layout.offsets[other] >= 0)
      taken.emplace_back(layout.offsets[other],
                         layout.offsets[other] + sizes[other]);
  llvm::sort(taken);
  int64_t end = 0, best = -1, bestGap = 0;
  for (auto [from, to] : taken) {
    int64_t offset = llvm::alignTo(end, getAlignment(sizes[block]));
    int64_t gap = from - offset;
    if (gap >= sizes[block] && (best < 0 || gap < bestGap)) {
      best = offset;
      bestGap = gap;
      if (place == Place::LowestGap)
        return best;
    }
    end = std::max(end, to);
  }
  return best >= 0 ? best : llvm::alignTo(end, getAlignment(sizes[block]));
}

MemoryLayout Layouter::layOut(ArrayRef<unsigned> order, Place place) const {
  MemoryLayout layout;
  layout.offsets.assign(sizes.size(), -1);
  for (unsigned block : order) {
    layout.offsets[block] = findOffset(block, layout, place);
    layout.bytes = std::max(layout.bytes, layout.offsets[block] + sizes[block]);
  }
  return layout;
}

MemoryLayout mlir::relax::layOutMemory(
    ArrayRef<int64_t> sizes,
    llvm::function_ref<bool(unsigned, unsigned)> interfere) {
  Layouter layouter(sizes, interfere);
  SmallVector<unsigned> inOrder(sizes.size());
  std::iota(inOrder.begin(), inOrder.end(), 0);
  SmallVector<unsigned> bySize(inOrder);
  llvm::stable_sort(bySize, [&](unsigned lhs, unsigned rhs) {
    return sizes[lhs] > sizes[rhs];
  });
  MemoryLayout best = layouter.layOut(bySize, Place::LowestGap);
  auto attempt = [&](ArrayRef<unsigned> order, Place place) {
    MemoryLayout layout = layouter.layOut(order, place);
    if (layout.bytes < best.bytes)
      best = std::move(layout);
  };
  attempt(bySize, Place::TightestGap);
  attempt(inOrder, Place::LowestGap);
  attempt(inOrder, Place::TightestGap);
  return best;
}
