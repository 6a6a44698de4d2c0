//===- PtxTensorCore.cc - Matrices of a warp ------------------ -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix, stmatrix and mma.sync. A lane l holds, of a matrix of 8 rows, parts
// of row l / 4; see "Matrix Fragments" in the manual of PTX.
//
//===----------------------------------------------------------------------===//

#include "PtxAccess.h"
#include "PtxFormats.h"

#include <algorithm>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Loads and stores of matrices
//===----------------------------------------------------------------------===//

static void needWarp(Mask mask) {
  if (mask != kAllLanes)
    fault(kLaunchFailed, __builtin_ctz(~mask),
          "the lane does not take part, as all of a warp must");
}

// The address of each row is that of a lane.
static uint32_t rowPlace(Warp &warp, const Instruction &in, int lane) {
  uint64_t address = warp.file[in.base + lane] + static_cast<Word>(in.offset);
  if (in.space == Space::Generic && spaceOf(lane, address) != Space::Shared)
    fault(kIllegalAddress, lane, "the row is not in shared memory");
  return sharedPlace(lane, address);
}

static void loadMatrix(Warp &warp, const Instruction &in, Mask mask) {
  needWarp(mask);
  Word result[4][kLanes];
  for (int k = 0; k < in.vector; ++k) {
    uint16_t rows[8][8];
    for (int row = 0; row < 8; ++row) {
      int lane = 8 * k + row;
      const uint8_t *data =
          warp.machine->shared.read(rowPlace(warp, in, lane), sizeof(rows[0]),
                                    threadOf(warp, lane), /*atomic=*/false);
      std::memcpy(rows[row], data, sizeof(rows[0]));
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      int i = lane / 4, j = lane % 4 * 2;
      bool isTransposed = in.mode;
      uint32_t low = isTransposed ? rows[j][i] : rows[i][j];
      uint32_t high = isTransposed ? rows[j + 1][i] : rows[i][j + 1];
      result[k][lane] = low | high << 16;
    }
  }
  for (int k = 0; k < in.vector; ++k)
    std::copy(result[k], result[k] + kLanes, lanes(warp, in, k));
}

static void storeMatrix(Warp &warp, const Instruction &in, Mask mask) {
  needWarp(mask);
  for (int k = 0; k < in.vector; ++k) {
    uint16_t rows[8][8];
    const Word *from = lanes(warp, in, k);
    for (int lane = 0; lane < kLanes; ++lane)
      for (int half = 0; half < 2; ++half) {
        int i = lane / 4, j = lane % 4 * 2 + half;
        (in.mode ? rows[j][i] : rows[i][j]) =
            static_cast<uint16_t>(from[lane] >> (16 * half));
      }
    for (int row = 0; row < 8; ++row) {
      int lane = 8 * k + row;
      warp.machine->shared.write(rowPlace(warp, in, lane), sizeof(rows[0]),
                                 rows[row], threadOf(warp, lane),
                                 /*atomic=*/false);
    }
  }
}

static bool readMatrixWords(const Name &name, Instruction &in) {
  in.flags |= kAligned;
  in.mode = name.has("trans");
  in.vector = name.has("x4") ? 4 : name.has("x2") ? 2 : 1;
  bool isShared = name.has("shared") || name.has("shared::cta");
  in.space = isShared ? Space::Shared : Space::Generic;
  return name.type() == Type::B16 && name.has("m8n8");
}
static Handler pickLoadMatrix(const Name &name, Instruction &in) {
  return readMatrixWords(name, in) && in.count[0] == in.vector ? loadMatrix
                                                               : nullptr;
}
static Handler pickStoreMatrix(const Name &name, Instruction &in) {
  return readMatrixWords(name, in) && in.count[1] == in.vector ? storeMatrix
                                                               : nullptr;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

// Two elements a word.
template <class Format> struct Halves {
  static constexpr int kElements = 2;
  using Value = float;
  static Value get(Word word, int i) { return Format::get(word >> (16 * i)); }
};
// The other bits of the mantissa are not used.
struct Single {
  static constexpr int kElements = 1;
  using Value = float;
  static Value get(Word word, int) { return F32::get(word & ~Word(0x1fff)); }
};
template <class T> struct Bytes {
  static constexpr int kElements = 4;
  using Value = int32_t;
  static Value get(Word word, int i) { return T(word >> (8 * i)); }
};

// How sums are held.
struct SumF32 {
  using Value = float;
  static constexpr int kElements = 1;
  static Value get(Word word, int) { return F32::get(word); }
  static Word put(const Value *values) { return F32::put(values[0]); }
};
struct SumF16 {
  using Value = float;
  static constexpr int kElements = 2;
  static Value get(Word word, int i) { return F16::get(word >> (16 * i)); }
  static Word put(const Value *values) {
    return F16::put(values[0]) | F16::put(values[1]) << 16;
  }
};
struct SumS32 {
  using Value = int32_t;
  static constexpr int kElements = 1;
  static Value get(Word word, int) { return int32_t(word); }
  static Word put(const Value *values) { return uint32_t(values[0]); }
};

} // namespace

constexpr int kRows = 16, kColumns = 8;

// Where the words of operands begin among the slots.
template <class Sum, class A, int kDepth> struct Layout {
  static constexpr int kSums = 4 / Sum::kElements;
  static constexpr int kA = kRows * kDepth / kLanes / A::kElements;
  static constexpr int kB = kColumns * kDepth / kLanes / A::kElements;
  static constexpr int kFirstA = kSums, kFirstB = kSums + kA,
                       kFirstC = kSums + kA + kB;
};

// d = a * b + c: 16 rows, 8 columns.
template <class Sum, class A, class B, int kDepth>
static void multiply(Warp &warp, const Instruction &in, Mask mask) {
  needWarp(mask);
  using Places = Layout<Sum, A, kDepth>;
  using Value = typename Sum::Value;
  Value a[kRows][kDepth], b[kDepth][kColumns], sums[kRows][kColumns];
  constexpr int kStep = 4 * A::kElements; // columns that four lanes hold
  for (int lane = 0; lane < kLanes; ++lane) {
    int row = lane / 4, column = lane % 4;
    for (int k = 0; k < Places::kA; ++k)
      for (int e = 0; e < A::kElements; ++e)
        a[row + 8 * (k % 2)][kStep * (k / 2) + column * A::kElements + e] =
            A::get(lanes(warp, in, Places::kFirstA + k)[lane], e);
    for (int k = 0; k < Places::kB; ++k)
      for (int e = 0; e < A::kElements; ++e)
        b[kStep * k + column * A::kElements + e][row] =
            B::get(lanes(warp, in, Places::kFirstB + k)[lane], e);
    for (int k = 0; k < 4; ++k)
      sums[row + 8 * (k / 2)][2 * column + k % 2] =
          Sum::get(lanes(warp, in, Places::kFirstC + k / Sum::kElements)[lane],
                   k % Sum::kElements);
  }
  for (int i = 0; i < kRows; ++i)
    for (int k = 0; k < kDepth; ++k)
      for (int j = 0; j < kColumns; ++j)
        sums[i][j] += a[i][k] * b[k][j];
  for (int lane = 0; lane < kLanes; ++lane)
    for (int k = 0; k < Places::kSums; ++k) {
      int first = k * Sum::kElements;
      lanes(warp, in, k)[lane] =
          Sum::put(&sums[lane / 4 + 8 * (first / 2)][lane % 4 * 2 + first % 2]);
    }
}

template <class Sum, class A, class B, int kDepth>
static Handler checkCounts(const Instruction &in) {
  using Places = Layout<Sum, A, kDepth>;
  bool fits = in.count[0] == Places::kSums && in.count[1] == Places::kA &&
              in.count[2] == Places::kB && in.count[3] == Places::kSums;
  return fits ? &multiply<Sum, A, B, kDepth> : nullptr;
}

template <class A>
static Handler pickSum(Type sum, bool isDeep, const Instruction &in) {
  if (sum == Type::F32)
    return isDeep ? checkCounts<SumF32, A, A, 16>(in)
                  : checkCounts<SumF32, A, A, 8>(in);
  if (sum == Type::F16)
    return isDeep ? checkCounts<SumF16, A, A, 16>(in)
                  : checkCounts<SumF16, A, A, 8>(in);
  return nullptr;
}

template <class A, class B>
static Handler pickBytes(bool isDeep, const Instruction &in) {
  return isDeep ? checkCounts<SumS32, A, B, 32>(in)
                : checkCounts<SumS32, A, B, 16>(in);
}

// mma.sync.aligned.m16n8k16.row.col.d.a.b.c
static Handler pickMultiply(const Name &name, Instruction &in) {
  in.flags |= kAligned;
  Type sum = name.type(0), a = name.type(1), b = name.type(2);
  if (name.types.size() != 4 || sum != name.type(3) || !name.has("row") ||
      !name.has("col"))
    return nullptr;
  bool k4 = name.has("m16n8k4"), k8 = name.has("m16n8k8"),
       k16 = name.has("m16n8k16"), k32 = name.has("m16n8k32");
  if (a == Type::TF32 && b == a && sum == Type::F32)
    return k8   ? checkCounts<SumF32, Single, Single, 8>(in)
           : k4 ? checkCounts<SumF32, Single, Single, 4>(in)
                : nullptr;
  if (a == Type::F16 && b == a && (k8 || k16))
    return pickSum<Halves<F16>>(sum, k16, in);
  if (a == Type::BF16 && b == a && sum == Type::F32 && (k8 || k16))
    return pickSum<Halves<BF16>>(sum, k16, in);
  if (sum != Type::S32 || !(k16 || k32) || name.has("satfinite"))
    return nullptr;
  if (a == Type::S8 && b == Type::S8)
    return pickBytes<Bytes<int8_t>, Bytes<int8_t>>(k32, in);
  if (a == Type::U8 && b == Type::S8)
    return pickBytes<Bytes<uint8_t>, Bytes<int8_t>>(k32, in);
  if (a == Type::S8 && b == Type::U8)
    return pickBytes<Bytes<int8_t>, Bytes<uint8_t>>(k32, in);
  if (a == Type::U8 && b == Type::U8)
    return pickBytes<Bytes<uint8_t>, Bytes<uint8_t>>(k32, in);
  return nullptr;
}

static const char kMatrixWords[] = "m8n8 x1 x2 x4 trans shared shared::cta";

static const Row kTensorRows[] = {
    {"ldmatrix.sync.aligned", kMatrixWords, "D m", pickLoadMatrix, Flow::Sync},
    {"stmatrix.sync.aligned", kMatrixWords, "m A", pickStoreMatrix, Flow::Sync},
    {"mma.sync.aligned", "m16n8k4 m16n8k8 m16n8k16 m16n8k32 row col satfinite",
     "D A A A", pickMultiply, Flow::Sync},
};

Rows relax_ptx::tensorRows() {
  return {std::begin(kTensorRows), std::end(kTensorRows)};
}
