//===- Order.h - Places and order of elements -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ORDER_H
#define RELAX_RUNTIME_ORDER_H

#include "Internal.h"

#include <vector>

namespace relax_runtime {

// Where the elements of compact memory are that are not 0, in order. They are
// counted first, so that they can be written where they belong.
class NonzeroPlaces {
public:
  // The data type has elements.
  NonzeroPlaces(const char *data, int64_t size, DLDataType dtype);

  int64_t count() const { return begins.back(); }
  void write(int64_t *to) const;

private:
  const char *data;
  int64_t size;
  DLDataType dtype;
  std::vector<int64_t> begins; // of the places of each block, and their end
};

// For each element a number that is less, equal or greater as the elements are:
// those that are not a number are equal, and after all others.
std::vector<uint64_t> orderKeys(const char *data, int64_t size,
                                DLDataType dtype);

// The places of keys in their order; of those that are equal as they come.
std::vector<int64_t> sortedPlaces(const std::vector<uint64_t> &keys);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ORDER_H
