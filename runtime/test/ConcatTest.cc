//===- ConcatTest.cc - Concatenation of tensors -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of any size from several parts, next to memory that stays as it is.
//
//===----------------------------------------------------------------------===//

#include "Test.h"

#include <vector>

namespace {

char byteOf(size_t part, int64_t place) {
  return static_cast<char>(part * 37 + place * 11 + place / 251);
}

// Concatenates parts with so many bytes in a row, with `gap` bytes between
// rows, and checks every byte of the result and after it.
void check(int64_t rows, const std::vector<int64_t> &sizes, int64_t gap = 0) {
  std::vector<std::vector<char>> data;
  std::vector<relax_concat_part> parts;
  int64_t width = gap;
  for (size_t part = 0; part < sizes.size(); ++part) {
    data.emplace_back(rows * sizes[part]);
    for (int64_t place = 0; place < rows * sizes[part]; ++place)
      data.back()[place] = byteOf(part, place);
    parts.push_back({data.back().data(), sizes[part]});
    width += sizes[part];
  }
  std::vector<char> result(rows * width + 64, 'x');
  relax_concat(result.data(), rows, width, parts.data(),
               static_cast<int64_t>(parts.size()));
  const char *next = result.data();
  bool isRight = true;
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t part = 0; part < sizes.size(); ++part)
      for (int64_t i = 0; i < sizes[part]; ++i)
        isRight &= *next++ == byteOf(part, row * sizes[part] + i);
    for (int64_t i = 0; i < gap; ++i)
      isRight &= *next++ == 'x';
  }
  for (int i = 0; i < 64; ++i)
    isRight &= *next++ == 'x';
  CHECK(isRight);
}

} // namespace

void testConcat() {
  for (int32_t threads : {1, 2, 5}) {
    CHECK(relax_num_threads_set(threads) == 0);
    check(1, {});
    check(0, {4, 8});
    check(3, {0, 0});
    check(1, {1});
    check(7, {3, 0, 5});
    check(1000, {1, 2, 4, 8, 16});
    check(5000, {4, 12, 4});
    check(33, {4096, 100, 20000});
    check(3, {300000, 1, 130000});
    check(1, {1 << 20, 7, 1 << 19});
    check(40, {100, 28}, /*gap=*/5);
    check(2, {200000, 100000}, /*gap=*/3);
  }
  CHECK(relax_num_threads_set(0) == 0);
}
