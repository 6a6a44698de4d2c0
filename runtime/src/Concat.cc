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

template <size_t Size>
static void copyColumn(char *to, int64_t stride, const char *from,
                       int64_t rows) {
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(to + row * stride, from + row * Size, Size);
}

// Writes rows of a part. A call of memcpy takes longer than a few bytes do.
static void copyColumn(char *to, int64_t stride, const char *from, int64_t size,
                       int64_t rows) {
  switch (size) {
  case 1:
    return copyColumn<1>(to, stride, from, rows);
  case 2:
    return copyColumn<2>(to, stride, from, rows);
  case 4:
    return copyColumn<4>(to, stride, from, rows);
  case 8:
    return copyColumn<8>(to, stride, from, rows);
  case 16:
    return copyColumn<16>(to, stride, from, rows);
  default:
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(to + row * stride, from + row * size, size);
  }
}

void Concat::copyRows(int64_t begin, int64_t end) const {
  int64_t step = std::max<int64_t>(kRowsInCache / width, 1);
  for (int64_t row = begin; row < end; row += step) {
    char *to = result + row * rowBytes;
    for (int64_t i = 0; i < count; ++i) {
      int64_t size = parts[i].row_bytes;
      if (size == 0)
        continue;
      copyColumn(to, rowBytes,
                 static_cast<const char *>(parts[i].data) + row * size, size,
                 std::min(step, end - row));
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
