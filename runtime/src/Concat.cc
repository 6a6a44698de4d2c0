//===- Concat.cc - Concatenation of tensors ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Threads share the rows of the result; long rows are cut into blocks.
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"
#include "relax_runtime.h"

#include <algorithm>
#include <cstring>

namespace {

// What is worth a thread, in bytes.
constexpr int64_t kBlock = 128 * 1024;
// What stays in the L1 cache while the parts of several rows are written.
constexpr int64_t kRowsInCache = 16 * 1024;

struct Concat {
  char *result;
  int64_t rowBytes; // from one row to the next one
  const relax_concat_part *parts;
  int64_t count;
  int64_t width = 0; // what the parts fill of a row
  int64_t blocksOfRow = 0;

  void copyRows(int64_t begin, int64_t end) const;
  void copyBlock(int64_t row, int64_t block) const;
};

} // namespace

void Concat::copyRows(int64_t begin, int64_t end) const {
  int64_t step = std::max<int64_t>(kRowsInCache / width, 1);
  for (int64_t row = begin; row < end; row += step) {
    char *to = result + row * rowBytes;
    for (int64_t i = 0; i < count; ++i) {
      int64_t size = parts[i].row_bytes;
      if (size == 0)
        continue;
      auto *part = static_cast<const char *>(parts[i].data);
      relax_runtime::copyStrided({to, rowBytes}, {part + row * size, size},
                                 size, std::min(step, end - row));
      to += size;
    }
  }
}

void Concat::copyBlock(int64_t row, int64_t block) const {
  int64_t begin = block * kBlock, end = std::min(begin + kBlock, width);
  int64_t first = 0; // of the part in the row
  for (int64_t i = 0; i < count && first < end; ++i) {
    int64_t size = parts[i].row_bytes;
    int64_t from = std::max(begin, first), to = std::min(end, first + size);
    if (from < to)
      std::memcpy(result + row * rowBytes + from,
                  static_cast<const char *>(parts[i].data) + row * size +
                      (from - first),
                  to - from);
    first += size;
  }
}

void relax_concat(void *result, int64_t rows, int64_t row_bytes,
                  const relax_concat_part *parts, int64_t count) {
  Concat concat = {static_cast<char *>(result), row_bytes, parts, count};
  for (int64_t i = 0; i < count; ++i)
    concat.width += parts[i].row_bytes;
  if (rows <= 0 || concat.width == 0)
    return;
  concat.blocksOfRow = (concat.width + kBlock - 1) / kBlock;
  if (concat.blocksOfRow == 1) {
    relax_parallel_for(
        [](void *context, int64_t begin, int64_t end) -> int32_t {
          static_cast<Concat *>(context)->copyRows(begin, end);
          return 0;
        },
        &concat, rows, kBlock / concat.width);
    return;
  }
  relax_parallel_for(
      [](void *context, int64_t begin, int64_t end) -> int32_t {
        auto &concat = *static_cast<Concat *>(context);
        for (int64_t block = begin; block < end; ++block)
          concat.copyBlock(block / concat.blocksOfRow,
                           block % concat.blocksOfRow);
        return 0;
      },
      &concat, rows *concat.blocksOfRow, 1);
}
