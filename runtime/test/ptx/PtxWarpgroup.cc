//===- PtxWarpgroup.cc - Matrices of a warpgroup ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma: products of matrices in shared memory. Each warp of a warpgroup has 16
// of its 64 rows, so the warps are run one by one; see "Asynchronous Warpgroup
// Level Matrix Instructions" in the manual of PTX.
//
// A product is computed when it is started. Where shared memory that it reads
// changes before a wait for it, or a copy to it starts, that wait reports it.
//
//===----------------------------------------------------------------------===//

#include "PtxAccess.h"
#include "PtxFormats.h"

#include <algorithm>

using namespace relax_ptx;

constexpr int kWarpRows = 16, kDepth = 16, kGroupWarps = 4;
constexpr int kMostColumns = 256;
// The elements of 16 bytes, which stay together.
constexpr int kChunk = 8;
// Rows of the layout that is supported.
constexpr int kRowBytes = 128, kSwizzledRows = 8;

static void needWarp(Mask mask, const char *what) {
  if (mask != kAllLanes)
    fault(kLaunchFailed, __builtin_ctz(~mask),
          "the lane does not take part in %s, as all of a warp must", what);
}

//===----------------------------------------------------------------------===//
// Operands in shared memory
//===----------------------------------------------------------------------===//

namespace {

// A matrix descriptor: rows of 128 bytes, whose chunks are swizzled.
struct Descriptor {
  explicit Descriptor(Word word) {
    auto field = [&](int bit) {
      return static_cast<uint32_t>(word >> bit & 0x3fff) * 16;
    };
    start = field(0), leading = field(16), stride = field(32);
    if (word >> 62 != 1 || word >> 49 & 7)
      fault(kLaunchFailed, -1,
            "matrix descriptor %llx: only the swizzle of 128 bytes, from its "
            "first row on, is supported",
            (unsigned long long)word);
  }

  // The address of a chunk: of `column`, the rows or columns of the matrix, and
  // of `depth`. Along one of them chunks follow one another in a row.
  uint32_t place(int column, int depth, bool isAlongDepth) const {
    int inRow = isAlongDepth ? depth : column % (kRowBytes / 2);
    int rows = isAlongDepth ? column : depth;
    uint32_t at = start + inRow * 2 + rows / kSwizzledRows * stride +
                  rows % kSwizzledRows * kRowBytes;
    if (!isAlongDepth)
      at += column / (kRowBytes / 2) * leading;
    return at ^ (at / kRowBytes % kSwizzledRows) * 16;
  }

  uint32_t start, leading, stride;
};

// Reads chunks and remembers them.
class Reader {
public:
  Reader(Warp &warp, AsyncProduct &product)
      : warp(warp), product(product), thread(threadOf(warp, 0)) {}

  template <class Format> void read(uint32_t at, float *to, int step) {
    const uint8_t *data = warp.machine->shared.readAsync(at, 16, thread);
    AsyncProduct::Chunk &chunk = product.chunks.emplace_back();
    chunk.at = at;
    std::memcpy(chunk.bytes, data, sizeof(chunk.bytes));
    for (int i = 0; i < kChunk; ++i) {
      uint16_t half;
      std::memcpy(&half, data + 2 * i, sizeof(half));
      to[i * step] = Format::get(half);
    }
  }

private:
  Warp &warp;
  AsyncProduct &product;
  SharedMemory::Thread thread;
};

} // namespace

// Rows from `first` on to matrix[row][depth], or columns to
// matrix[depth][column].
template <class Format>
static void readLeft(Reader &reader, const Descriptor &from, int first,
                     bool isTransposed, float (*matrix)[kDepth]) {
  if (!isTransposed) {
    for (int i = 0; i < kWarpRows; ++i)
      for (int k = 0; k < kDepth; k += kChunk)
        reader.read<Format>(from.place(first + i, k, true), &matrix[i][k], 1);
    return;
  }
  for (int k = 0; k < kDepth; ++k)
    for (int i = 0; i < kWarpRows; i += kChunk)
      reader.read<Format>(from.place(first + i, k, false), &matrix[i][k],
                          kDepth);
}

template <class Format>
static void readRight(Reader &reader, const Descriptor &from, int columns,
                      bool isTransposed, float (*matrix)[kMostColumns]) {
  if (isTransposed) {
    for (int k = 0; k < kDepth; ++k)
      for (int j = 0; j < columns; j += kChunk)
        reader.read<Format>(from.place(j, k, false), &matrix[k][j], 1);
    return;
  }
  for (int j = 0; j < columns; ++j)
    for (int k = 0; k < kDepth; k += kChunk)
      reader.read<Format>(from.place(j, k, true), &matrix[k][j], kMostColumns);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

// The operands after the sums.
enum Operands { kLeft, kRight, kScaleSum, kSignA, kSignB, kFlipA, kFlipB };

// A number that is the same for all lanes.
static Word uniform(Warp &warp, const Instruction &in, int operand) {
  const Word *values = lanes(warp, in, operand);
  for (int lane = 1; lane < kLanes; ++lane)
    if (values[lane] != values[0])
      fault(kLaunchFailed, lane, "operands of wgmma differ between lanes");
  return values[0];
}

template <class Format>
static void multiply(Warp &warp, const Instruction &in, Mask mask) {
  needWarp(mask, "wgmma");
  if (!warp.isFenced)
    fault(kLaunchFailed, -1, "wgmma without wgmma.fence before it");
  const std::vector<uint32_t> &sums = warp.machine->module.groups[in.target];
  const int columns = static_cast<int>(sums.size()) * 2;
  AsyncProduct product;
  product.group = warp.committedProducts;
  Reader reader(warp, product);
  float a[kWarpRows][kDepth], b[kDepth][kMostColumns];
  int first = static_cast<int>(warp.first / kLanes % kGroupWarps) * kWarpRows;
  readLeft<Format>(reader, Descriptor(uniform(warp, in, kLeft)), first,
                   uniform(warp, in, kFlipA), a);
  readRight<Format>(reader, Descriptor(uniform(warp, in, kRight)), columns,
                    uniform(warp, in, kFlipB), b);
  warp.products.push_back(std::move(product));
  const bool isAdded = predicate(warp, in, kScaleSum) & 1;
  for (int i = 0; i < kWarpRows; ++i) {
    // Of each 8 columns a lane has pairs of rows lane / 4 and lane / 4 + 8.
    float row[kMostColumns] = {};
    auto slot = [&](int j) -> Word & {
      return warp
          .file[sums[j / 8 * 4 + i / 8 * 2 + j % 2] + i % 8 * 4 + j % 8 / 2];
    };
    for (int j = 0; isAdded && j < columns; ++j)
      row[j] = F32::get(slot(j));
    for (int k = 0; k < kDepth; ++k)
      for (int j = 0; j < columns; ++j)
        row[j] += a[i][k] * b[k][j];
    for (int j = 0; j < columns; ++j)
      slot(j) = F32::put(row[j]);
  }
}

// wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
static Handler pickMultiply(const Name &name, Instruction &in) {
  in.flags |= kAligned;
  if (name.types.size() != 3 || name.type(0) != Type::F32 ||
      name.type(1) != name.type(2) || name.words.size() != 1)
    return nullptr;
  if (name.type(1) == Type::F16)
    return multiply<F16>;
  return name.type(1) == Type::BF16 ? multiply<BF16> : nullptr;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static void fenceRegisters(Warp &warp, const Instruction &, Mask mask) {
  needWarp(mask, "wgmma.fence");
  warp.isFenced = true;
}

static void commitProducts(Warp &warp, const Instruction &, Mask mask) {
  needWarp(mask, "wgmma.commit_group");
  ++warp.committedProducts;
}

static void waitForProducts(Warp &warp, const Instruction &in, Mask mask) {
  needWarp(mask, "wgmma.wait_group");
  uint32_t left = static_cast<uint32_t>(in.offset2);
  auto isDone = [&](const AsyncProduct &product) {
    return product.group + left < warp.committedProducts;
  };
  for (const AsyncProduct &product : warp.products)
    if (isDone(product))
      for (const AsyncProduct::Chunk &chunk : product.chunks)
        if (!warp.machine->shared.isUntouched(chunk.at, sizeof(chunk.bytes),
                                              chunk.bytes))
          fault(kLaunchFailed, -1,
                "byte %u of shared memory is written before a wait for the "
                "wgmma that reads it",
                chunk.at);
  auto end = std::remove_if(warp.products.begin(), warp.products.end(), isDone);
  warp.products.erase(end, warp.products.end());
  warp.isFenced = false; // registers may be used now
}

static void fenceProxy(Warp &warp, const Instruction &, Mask mask) {
  eachLane(mask, [&](int i) { warp.machine->shared.fence(threadOf(warp, i)); });
}

static Handler pickFence(const Name &, Instruction &in) {
  in.flags |= kAligned;
  return fenceRegisters;
}
static Handler pickCommit(const Name &, Instruction &in) {
  in.flags |= kAligned;
  return commitProducts;
}
static Handler pickWait(const Name &, Instruction &in) {
  in.flags |= kAligned;
  return waitForProducts;
}
static Handler pickFenceProxy(const Name &, Instruction &) {
  return fenceProxy;
}

static const Row kWarpgroupRows[] = {
    {"wgmma.fence.sync.aligned", "", "", pickFence, Flow::Sync},
    {"wgmma.commit_group.sync.aligned", "", "", pickCommit, Flow::Sync},
    {"wgmma.wait_group.sync.aligned", "", "i", pickWait, Flow::Sync},
    {"wgmma.mma_async.sync.aligned", "m64n128k16 m64n256k16", "G W W q b b b b",
     pickMultiply, Flow::Sync},
    {"fence.proxy.async", "shared::cta", "", pickFenceProxy, Flow::Next},
};

Rows relax_ptx::warpgroupRows() {
  return {std::begin(kWarpgroupRows), std::end(kWarpgroupRows)};
}
