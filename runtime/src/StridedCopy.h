//===- StridedCopy.h - Copies of elements that are apart --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_STRIDEDCOPY_H
#define RELAX_RUNTIME_STRIDEDCOPY_H

#include <cstdint>
#include <cstring>

namespace relax_runtime {

// Elements that are `stride` bytes apart.
template <typename Byte> struct Strided {
  Byte *data;
  int64_t stride;
};

template <int64_t Size>
inline void copyStrided(Strided<char> to, Strided<const char> from,
                        int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to.data + i * to.stride, from.data + i * from.stride, Size);
}

// Copies elements of `size` bytes. A call of memcpy takes longer than a few
// bytes do.
inline void copyStrided(Strided<char> to, Strided<const char> from,
                        int64_t size, int64_t count) {
  switch (size) {
  case 1:
    return copyStrided<1>(to, from, count);
  case 2:
    return copyStrided<2>(to, from, count);
  case 4:
    return copyStrided<4>(to, from, count);
  case 8:
    return copyStrided<8>(to, from, count);
  case 16:
    return copyStrided<16>(to, from, count);
  default:
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to.data + i * to.stride, from.data + i * from.stride, size);
  }
}

} // namespace relax_runtime

#endif // RELAX_RUNTIME_STRIDEDCOPY_H
