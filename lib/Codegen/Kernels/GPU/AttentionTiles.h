//===- AttentionTiles.h - Tiles of attention on GPUs ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention of parameters, for FlashAttention.cpp: what a block of threads does
// of it, and how blocks are launched.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ATTENTIONTILES_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ATTENTIONTILES_H

#include "Launch.h"
#include "TensorCores.h"

#include "Attention.h"

#include <numeric>

namespace mlir::relax {

/// Emits the launches of a kernel, and what blocks of threads do: each launch
/// by a copy.
class AttentionTiles {
public:
  AttentionTiles(IndexBuilder &b, func::FuncOp kernel,
                 const AttentionParts &parts, ValueRange arguments);
  void emit(IndexBuilder &b);

private:
  /// The queries of a warp and of a block, and the keys that are worked on at a
  /// time.
  static constexpr int64_t kWarpQueries = kMmaRows, kWarps = 4,
                           kQueries = kWarps * kWarpQueries, kKeys = 64;
  /// All threads of a block copy.
  static constexpr int64_t kCopiers = kWarps * kWarp;
  /// The rows of which a lane has results, its results in a tile, and the lanes
  /// that have a row.
  static constexpr int64_t kLaneRows = 2, kLaneResults = 4, kRowLanes = 4;

  /// What a lane carries from one block of keys to the next.
  struct State {
    SmallVector<Value> sums;            // [column tile][result]
    SmallVector<Value> largest, totals; // of its rows

    SmallVector<Value> pack() const;
    static State unpack(ValueRange values);
  };

  /// The values of a query, unnormalized, in a column, and its weights.
  struct Sums {
    Value values, weights;
  };

  Value getSize(IndexBuilder &b, unsigned loop);
  int64_t getKnown(unsigned loop) const { return parts.sizes[loop].known; }
  MatrixView view(IndexBuilder &in, const Elements &elements, unsigned row);
  SmallVector<Value> getBatch(IndexBuilder &in, Value place);
  void begin(IndexBuilder &in, gpu::LaunchOp op);
  void copy(IndexBuilder &in, const SharedTile &tile, const MatrixView &matrix,
            Value first, unsigned loop);
  void wait(IndexBuilder &in, int64_t pending);
  Value getEnd(IndexBuilder &in, Value query);
  Value getQuery(IndexBuilder &in, int64_t row);
  SmallVector<Value> getIndices(IndexBuilder &in, int64_t row);
  Value getColumn(IndexBuilder &in, int64_t tile, int64_t result);
  Value getKey(IndexBuilder &in, Value first, int64_t tile, int64_t result);
  SharedTile ofWarp(IndexBuilder &in, const SharedTile &tile);

  Value compute(IndexBuilder &in, const Elements &computed, Value first,
                int64_t index, ValueRange given, double otherwise);
  SmallVector<Value> computeScores(IndexBuilder &in, Value first);
  void rescale(IndexBuilder &in, ArrayRef<Value> scores, State &state);
  SmallVector<Value> weigh(IndexBuilder &in, Value first,
                           ArrayRef<Value> scores, State &state);
  void addValues(IndexBuilder &in, ArrayRef<Value> weights, State &state);
  std::pair<Value, Value> getKeys(IndexBuilder &in);
  State passKeys(IndexBuilder &in);
  void finishElement(IndexBuilder &in, ValueRange indices, const Sums &sums);
  void finish(IndexBuilder &in, const State &state);

  Value getPart(IndexBuilder &in, Value part, Value row);
  void keep(IndexBuilder &in, const State &state);
  Sums addParts(IndexBuilder &in, Value row, Value column);
  void combine(IndexBuilder &b);

  Value share(IndexBuilder &b);
  Value areAligned(IndexBuilder &b);
  void launchBlocks(IndexBuilder &b, Value blocks, bool areAligned,
                    bool shareKeys);

  /// The queries of a block of threads.
  int64_t numQueries() const { return sharesKeys ? kWarpQueries : kQueries; }
  /// The rows of the tile of queries, of which each thread copies as many
  /// chunks.
  int64_t numQueryRows() const {
    int64_t chunks = getKnown(parts.depthLoop()) / kChunk;
    return std::max(numQueries(), kCopiers / std::gcd(kCopiers, chunks));
  }
  /// The keys of a block of keys that a warp has.
  int64_t numKeys() const { return sharesKeys ? kKeys / kWarps : kKeys; }
  int64_t numColumns() const { return getKnown(parts.columnLoop()); }

  const AttentionParts &parts;
  func::FuncOp kernel;
  SmallVector<Value> arguments;
  ElementBuilder elements;
  SmallVector<Value> sizes; // of loops
  Type element;

  /// The blocks that share keys, and whether there are several.
  Value numSharing, isShared;
  /// Parts of keys, the queries of all places of the batch, and what these have
  /// in scratch memory: [part][row] [columns, largest, total].
  Value numParts, numRows, scratch;

  // Of a block of threads, a warp, a lane.
  bool isAligned = false, sharesKeys = false;
  SmallVector<Value> batch;
  Value firstRow;              // of the place of the batch, among all queries
  Value sharing, part;         // the place of the block, and of the warp
  Value firstQuery, warpQuery; // of the block; of the warp, in the block
  Value warpKey;               // in a block of keys
  Value thread, lane;
  MatrixView query, key, value;
  SharedTile queryTile, keyTile, valueTile;
  SmallVector<SmallVector<Value>> queryPairs; // of each 16 features
  /// Whether some keys of a block may be past the last one.
  bool isPartial = false;
  Value token; // of the first group: waiting needs one that is there
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_ATTENTIONTILES_H
