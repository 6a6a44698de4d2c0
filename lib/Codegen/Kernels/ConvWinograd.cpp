//===- ConvWinograd.cpp - Convolution with fewer products -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Windows of 3 x 3, 3 x 1 and 1 x 3 by the algorithm of Winograd (Winograd.h).
// A task computes
// some rows of tiles of some output channels, in three steps:
//
// - Inputs are transformed with input channels as lanes. For each place of a
//   tile, the elements of all tiles and channels make a matrix.
// - That is multiplied by the matrix of the transformed weights at the place.
//   Output channels are lanes, and sums of some tiles stay in registers.
// - Sums are transformed to results, which become vectors of pixels.
//
// An element that is infinite, not a number or very large would reach all
// results of its tiles. A task that finds one computes its results by
// definition.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "ConvParts.h"
#include "Transpose.h"

#include "relax-mlir/IR/Threads.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// Emits the loops of one kernel.
class WinogradConv {
public:
  WinogradConv(IndexBuilder &b, func::FuncOp kernel, ConvParts &parts,
               ValueRange arguments);

  void emit(IndexBuilder &b);

private:
  /// The part of the result that a task computes, and the layout of its scratch
  /// memory.
  struct Task {
    Value image;
    Value row, rows, column, columns; // of tiles
    Value tiles;                      // rounded up to those of a block of sums
    Value panel, panels;
    Value scratch;
    Value strip, products, results, block;
  };

  void divide(IndexBuilder &b);
  void emitTask(IndexBuilder &b, Value index);
  void allocate(IndexBuilder &b, Task &task);
  Value copyStrip(IndexBuilder &b, const Task &task, Value channel,
                  Value largest);
  void transformInputs(IndexBuilder &b, const Task &task, Value channel);
  void multiply(IndexBuilder &b, const Task &task, Value panel);
  void multiplyBlock(IndexBuilder &b, const Task &task, Value weight,
                     Value inputs, Value products);
  void finishRow(IndexBuilder &b, const Task &task, Value panel, Value row,
                 Value vector);
  void emitByDefinition(IndexBuilder &b, const Task &task);
  void addWindow(IndexBuilder &b, const Task &task, Value channel, Value row,
                 Value column, Value pixels);
  SmallVector<Value> getWeights(IndexBuilder &b, Value channel, Value input);

  /// The positions in a tile.
  int64_t places() const { return winograd.places(); }
  Value place(IndexBuilder &b, int64_t i, int64_t j, Value stride) const {
    return b.mul(stride, b.index(i * winograd.columns.size() + j));
  }

  ConvParts &parts;
  ConvTile tile;
  WinogradTile winograd;
  int64_t lanes;
  VectorType vectorType, bitsType;
  int64_t panels;
  int64_t inputStride; // between tiles: what tiles read does not collide
  Value image, weights;
  Value height, width, channelSize; // of the image
  Value outHeight, outWidth;        // of the result
  Value tileRows, tileColumns;
  Value batch;
  Value taskRows, rowBlocks, taskColumns, columnBlocks, taskPanels, panelBlocks;
  Value stripWidth, resultWidth; // of a task: whole vectors of pixels
};
} // namespace

WinogradConv::WinogradConv(IndexBuilder &b, func::FuncOp kernel,
                           ConvParts &parts, ValueRange arguments)
    : parts(parts), tile(*parts.tile), winograd(*parts.winograd),
      lanes(tile.lanes), vectorType(VectorType::get(lanes, b.getF32Type())),
      bitsType(VectorType::get(lanes, b.getI32Type())),
      panels(llvm::divideCeil(parts.outChannels, tile.channels())),
      inputStride(llvm::alignTo(parts.inChannels, lanes) + lanes) {
  Value data = arguments[parts.image.getArgNumber()];
  Value output = arguments[parts.epilogue.getOutput().getArgNumber()];
  parts.epilogue.begin(b, kernel, arguments);
  image = flatten(b, data);
  weights = flatten(b, arguments[parts.weight.getArgNumber()]);
  height = getDim(b, data, 2);
  width = getDim(b, data, 3);
  channelSize = b.mul(height, width);
  batch = getDim(b, output, 0);
  outHeight = getDim(b, output, 2);
  outWidth = getDim(b, output, 3);
  tileRows = b.ceilDiv(outHeight, b.index(winograd.rows.outputs()));
  tileColumns = b.ceilDiv(outWidth, b.index(winograd.columns.outputs()));
}

/// As many rows of tiles as the second level of the cache has room for, or a
/// part of one. For threads, fewer rows, as long as sums of several blocks
/// share weights; then fewer panels. Where these are not enough, or cannot be
/// divided evenly, a task may have one block.
void WinogradConv::divide(IndexBuilder &b) {
  constexpr int64_t kTasksOfThread = 2, kMinBlocks = 2, kMinPanels = 4;
  Value most = b.index(parts.getMostTiles(winograd));
  columnBlocks = b.ceilDiv(tileColumns, most);
  taskColumns = b.divideEvenly(tileColumns, columnBlocks);

  Value threads = countThreads(b);
  Value wanted = b.countTasks(threads, kTasksOfThread);
  wanted = b.ceilDiv(wanted, b.atLeastOne(b.mul(batch, columnBlocks)));
  Value mostRows = b.floorDiv(most, b.atLeastOne(taskColumns));
  Value tiles = b.mul(tileRows, taskColumns);
  auto divideRows = [&](Value wanted, int64_t leastTiles) {
    Value most = b.floorDiv(tiles, b.index(leastTiles));
    return b.max(rowBlocks, b.min(wanted, most));
  };
  rowBlocks = b.ceilDiv(tileRows, b.atLeastOne(mostRows));
  rowBlocks = divideRows(wanted, kMinBlocks * tile.pixels);
  Value blocks = b.atLeastOne(b.mul(b.mul(batch, columnBlocks), rowBlocks));
  Value hasIdle = b.isBelow(b.mul(blocks, panels), threads);
  // Some threads have one more than others of few panels.
  Value isUneven = b.isBelow(b.index(0), b.rem(b.index(panels), threads));
  for (auto [count, limit] : {std::pair(blocks, threads),
                              {b.index(panels), b.mul(threads, kMinPanels)}})
    isUneven = b.createOrFold<arith::AndIOp>(isUneven, b.isBelow(count, limit));
  wanted = b.createOrFold<arith::SelectOp>(hasIdle, wanted,
                                           b.ceilDiv(threads, blocks));
  rowBlocks = b.createOrFold<arith::SelectOp>(
      b.createOrFold<arith::OrIOp>(hasIdle, isUneven),
      divideRows(wanted, tile.pixels), rowBlocks);
  taskRows = b.divideEvenly(tileRows, rowBlocks);

  // Tasks of other panels transform the same inputs.
  Value others = b.mul(b.mul(batch, columnBlocks), rowBlocks);
  panelBlocks =
      b.min(b.ceilDiv(threads, b.atLeastOne(others)), b.index(panels));
  taskPanels = b.divideEvenly(b.index(panels), panelBlocks);

  Value pixels = b.mul(taskColumns, winograd.columns.outputs());
  stripWidth = b.roundUp(b.add(pixels, winograd.columns.window() - 1), lanes);
  resultWidth = b.roundUp(pixels, lanes);
}

void WinogradConv::emit(IndexBuilder &b) {
  divide(b);
  Value tasks =
      b.mul(b.mul(panelBlocks, batch), b.mul(rowBlocks, columnBlocks));
  b.parallel(tasks, /*grain=*/1,
             [&](IndexBuilder &b, Value index) { emitTask(b, index); });
}

/// Panels are the outermost dimension of tasks: their weights serve all images.
void WinogradConv::emitTask(IndexBuilder &b, Value index) {
  Task task;
  // The first one of a block, and how many there are.
  auto take = [&](Value blocks, Value count, Value size) {
    Value first = b.mul(b.rem(index, blocks), size);
    index = b.floorDiv(index, blocks);
    return std::pair(first, b.min(b.sub(count, first), size));
  };
  std::tie(task.column, task.columns) =
      take(columnBlocks, tileColumns, taskColumns);
  std::tie(task.row, task.rows) = take(rowBlocks, tileRows, taskRows);
  task.image = take(batch, batch, b.index(1)).first;
  std::tie(task.panel, task.panels) =
      take(panelBlocks, b.index(panels), taskPanels);
  task.tiles = b.roundUp(b.mul(task.rows, task.columns), tile.pixels);
  allocate(b, task);

  Value zero = b.index(0);
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(bitsType));
  Value largest =
      b.reduce(zero, b.index(parts.inChannels), lanes, none,
               [&](IndexBuilder &b, Value channel, ValueRange carried) {
                 Value largest = copyStrip(b, task, channel, carried.front());
                 transformInputs(b, task, channel);
                 return SmallVector<Value>{largest};
               })
          .front();
  // Sums of a tile must not overflow where those of a window do not.
  constexpr int32_t kLimit = (127 + Winograd::kLargestInput) << 23;
  Value bits =
      vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, largest);
  Value isUsual =
      b.compare(arith::CmpIPredicate::ult, bits,
                arith::ConstantOp::create(b, b.getI32IntegerAttr(kLimit)));
  b.branch(
      isUsual,
      [&](IndexBuilder &b) {
        b.loop(zero, task.panels, 1, [&](IndexBuilder &b, Value index) {
          Value panel = b.add(task.panel, index);
          multiply(b, task, panel);
          b.loop(zero, task.rows, 1, [&](IndexBuilder &b, Value row) {
            b.loop(zero, b.index(tile.vectors), 1,
                   [&](IndexBuilder &b, Value vector) {
                     finishRow(b, task, panel, row, vector);
                   });
          });
        });
      },
      [&](IndexBuilder &b) { emitByDefinition(b, task); });
}

/// Transformed inputs are at the beginning: tile positions, tiles, channels.
void WinogradConv::allocate(IndexBuilder &b, Task &task) {
  int64_t outputs = winograd.rows.outputs();
  task.products = b.mul(task.tiles, places() * inputStride);
  task.strip =
      b.add(task.products, b.mul(task.tiles, places() * tile.channels()));
  Value stripRows =
      b.add(b.mul(task.rows, outputs), winograd.rows.window() - 1);
  task.results = b.add(task.strip, b.mul(b.mul(stripRows, stripWidth), lanes));
  task.block = b.add(task.results, b.mul(resultWidth, outputs * lanes));
  Value size = b.add(task.block, lanes * lanes);
  auto type = MemRefType::get(ShapedType::kDynamic, b.getF32Type());
  task.scratch =
      memref::AllocOp::create(b, type, size, b.getI64IntegerAttr(64));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Copies what tiles have of some channels of the image, with padding: pixels
/// of which each has its channels in one vector. Returns the largest one yet,
/// compared by the bits of absolute values.
Value WinogradConv::copyStrip(IndexBuilder &b, const Task &task, Value channel,
                              Value largest) {
  Value zero = b.index(0);
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  Value magnitude = arith::ConstantOp::create(
      b, DenseElementsAttr::get(bitsType, APInt(32, 0x7fffffff)));
  RowLoader loader(image, width, /*stride=*/1, zeros);
  Value firstChannel = b.mul(task.image, parts.inChannels);
  SmallVector<Value> planes;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value place = b.add(channel, lane);
    // Lanes behind the last channel have it, too, and are not multiplied.
    if (parts.inChannels % lanes != 0)
      place = b.min(place, b.index(parts.inChannels - 1));
    planes.push_back(b.mul(b.add(firstChannel, place), channelSize));
  }
  Value first = b.sub(b.mul(task.row, winograd.rows.outputs()),
                      b.index(parts.rows.padding));
  Value column = b.sub(b.mul(task.column, winograd.columns.outputs()),
                       b.index(parts.columns.padding));
  Value rows = b.add(b.mul(task.rows, winograd.rows.outputs()),
                     winograd.rows.window() - 1);
  auto copyRow = [&](IndexBuilder &b, Value i, ValueRange carried) {
    Value row = b.add(first, i);
    Value isInside = b.isInside(row, height);
    // Nothing is read of a row outside of the image.
    Value from = b.mul(row, width);
    Value to = b.add(task.strip, b.mul(b.mul(i, stripWidth), lanes));
    auto copyPixels = [&](IndexBuilder &b, Value j, ValueRange carried) {
      RowLoader::Load load =
          loader.prepare(b, b.add(column, j), b.index(lanes), isInside);
      SmallVector<Value> channels;
      Value largest = carried.front();
      for (Value plane : planes) {
        Value pixels = load(b, b.add(plane, from));
        Value bits = arith::AndIOp::create(
            b, arith::BitcastOp::create(b, bitsType, pixels), magnitude);
        largest = arith::MaxUIOp::create(b, largest, bits);
        channels.push_back(pixels);
      }
      for (auto [lane, pixel] : llvm::enumerate(transpose(b, channels))) {
        Value place = b.add(b.mul(j, lanes), lane * lanes);
        vector::StoreOp::create(b, pixel, task.scratch, b.add(to, place));
      }
      return SmallVector<Value>{largest};
    };
    return b.reduce(zero, stripWidth, lanes, carried, copyPixels);
  };
  return b.reduce(zero, rows, 1, largest, copyRow).front();
}

void WinogradConv::transformInputs(IndexBuilder &b, const Task &task,
                                   Value channel) {
  Value zero = b.index(0);
  Value stride = b.mul(task.tiles, inputStride); // between positions
  b.loop(zero, task.rows, 1, [&](IndexBuilder &b, Value row) {
    b.loop(zero, task.columns, 1, [&](IndexBuilder &b, Value column) {
      Value pixel =
          b.add(b.mul(row, b.mul(stripWidth, winograd.rows.outputs())),
                b.mul(column, winograd.columns.outputs()));
      Value from = b.add(task.strip, b.mul(pixel, lanes));
      Value tile = b.add(b.mul(row, task.columns), column);
      Value to = b.add(b.mul(tile, inputStride), channel);
      winograd.transformInputs(
          b,
          [&](IndexBuilder &b, int64_t i, int64_t j) -> Value {
            Value offset = b.mul(b.add(b.mul(stripWidth, i), j), lanes);
            return vector::LoadOp::create(b, vectorType, task.scratch,
                                          b.add(from, offset));
          },
          [&](IndexBuilder &b, int64_t i, int64_t j, Value value) {
            vector::StoreOp::create(b, value, task.scratch,
                                    b.add(to, place(b, i, j, stride)));
          });
    });
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Weights of a place are next to each other, and serve all tiles of the task.
void WinogradConv::multiply(IndexBuilder &b, const Task &task, Value panel) {
  int64_t channels = tile.channels();
  Value zero = b.index(0);
  b.loop(zero, b.index(places()), 1, [&](IndexBuilder &b, Value place) {
    Value weight = b.mul(b.add(b.mul(panel, places()), place),
                         parts.inChannels * channels);
    b.loop(zero, task.tiles, tile.pixels, [&](IndexBuilder &b, Value first) {
      Value row = b.add(b.mul(place, task.tiles), first);
      multiplyBlock(b, task, weight, b.mul(row, inputStride),
                    b.add(task.products, b.mul(row, channels)));
    });
  });
}

/// Sums of some tiles. Meanwhile the weights of the next place come into the
/// cache.
void WinogradConv::multiplyBlock(IndexBuilder &b, const Task &task,
                                 Value weight, Value inputs, Value products) {
  int64_t channels = tile.channels();
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  // After the last one, it itself is fetched: nothing is outside of memory.
  int64_t size = parts.inChannels * channels;
  Value ahead =
      b.min(b.add(weight, size), b.index(size * (panels * places() - 1)));
  constexpr int64_t kLine = 16; // elements of a line of the cache
  auto step = [&](IndexBuilder &b, const IndexBuilder::Step &k,
                  ValueRange carried) {
    for (int64_t j = 0; j < channels; j += kLine)
      memref::PrefetchOp::create(b, weights,
                                 b.add(b.add(ahead, k, channels), j),
                                 /*isWrite=*/false, /*localityHint=*/2,
                                 /*isDataCache=*/true);
    return tile.addProducts(b, carried, task.scratch, b.add(inputs, k, 1),
                            inputStride, weights, b.add(weight, k, channels));
  };
  SmallVector<Value> inits(tile.pixels * tile.vectors, zeros);
  SmallVector<Value> sums = b.reduceUnrolled(
      b.index(parts.inChannels),
      IndexBuilder::countSteps(tile.pixels * tile.vectors), inits, step);
  for (auto [i, sum] : llvm::enumerate(sums))
    vector::StoreOp::create(b, sum, task.scratch,
                            b.add(products, int64_t(i) * lanes));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Results of a row of tiles, of one vector of output channels.
void WinogradConv::finishRow(IndexBuilder &b, const Task &task, Value panel,
                             Value row, Value vector) {
  int64_t outputs = winograd.columns.outputs(), channels = tile.channels();
  int64_t outputRows = winograd.rows.outputs();
  Value zero = b.index(0);
  Value stride = b.mul(task.tiles, channels); // between positions
  Value resultStride = b.mul(resultWidth, lanes);
  b.loop(zero, task.columns, 1, [&](IndexBuilder &b, Value column) {
    Value index = b.add(b.mul(row, task.columns), column);
    Value from = b.add(b.add(task.products, b.mul(index, channels)),
                       b.mul(vector, lanes));
    Value to = b.add(task.results, b.mul(column, outputs * lanes));
    winograd.transformOutputs(
        b,
        [&](IndexBuilder &b, int64_t i, int64_t j) -> Value {
          return vector::LoadOp::create(b, vectorType, task.scratch,
                                        b.add(from, place(b, i, j, stride)));
        },
        [&](IndexBuilder &b, int64_t i, int64_t j, Value value) {
          Value pixel = b.add(b.mul(resultStride, i), j * lanes);
          vector::StoreOp::create(b, value, task.scratch, b.add(to, pixel));
        });
  });
  Value channel = b.add(b.mul(panel, channels), b.mul(vector, lanes));
  Value left = b.mul(task.column, outputs);
  Value columns = b.min(b.sub(outWidth, left), b.mul(task.columns, outputs));
  Value first = b.mul(b.add(task.row, row), outputRows);
  Value rows = b.min(b.sub(outHeight, first), b.index(outputRows));
  b.loop(zero, rows, 1, [&](IndexBuilder &b, Value i) {
    Value from = b.add(task.results, b.mul(i, resultStride));
    b.loop(zero, columns, lanes, [&](IndexBuilder &b, Value column) {
      SmallVector<Value> pixels;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Value pixel = b.add(b.mul(column, lanes), lane * lanes);
        pixels.push_back(vector::LoadOp::create(b, vectorType, task.scratch,
                                                b.add(from, pixel)));
      }
      for (auto [lane, values] : llvm::enumerate(transpose(b, pixels)))
        vector::StoreOp::create(b, values, task.scratch,
                                b.add(task.block, lane * lanes));
      ConvPlace place;
      place.image = task.image;
      place.channel = channel;
      place.channels =
          b.min(b.sub(b.index(parts.outChannels), channel), b.index(lanes));
      place.pixel =
          b.add(b.mul(b.add(first, i), outWidth), b.add(left, column));
      place.pixels = b.min(b.sub(columns, column), b.index(lanes));
      parts.finish(b, place, task.scratch, task.block, lanes, lanes);
    });
  });
}

//===----------------------------------------------------------------------===//
// By definition
//===----------------------------------------------------------------------===//

/// The results of a task, as vectors of pixels.
void WinogradConv::emitByDefinition(IndexBuilder &b, const Task &task) {
  auto getRange = [&](Value first, Value count, int64_t outputs, Value size) {
    Value begin = b.mul(first, outputs);
    return std::pair(begin, b.min(size, b.add(begin, b.mul(count, outputs))));
  };
  auto [row, rowsEnd] =
      getRange(task.row, task.rows, winograd.rows.outputs(), outHeight);
  auto [column, columnsEnd] =
      getRange(task.column, task.columns, winograd.columns.outputs(), outWidth);
  Value channel = b.mul(task.panel, tile.channels());
  Value channelsEnd =
      b.min(b.index(parts.outChannels),
            b.mul(b.add(task.panel, task.panels), tile.channels()));
  b.loop(channel, channelsEnd, 1, [&](IndexBuilder &b, Value channel) {
    b.loop(row, rowsEnd, 1, [&](IndexBuilder &b, Value row) {
      b.loop(column, columnsEnd, lanes, [&](IndexBuilder &b, Value column) {
        Value pixels = b.min(b.sub(columnsEnd, column), b.index(lanes));
        addWindow(b, task, channel, row, column, pixels);
      });
    });
  });
}

void WinogradConv::addWindow(IndexBuilder &b, const Task &task, Value channel,
                             Value row, Value column, Value pixels) {
  Value zero = b.index(0);
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
  RowLoader loader(image, width, /*stride=*/1, zeros);
  auto addChannel = [&](IndexBuilder &b, Value input, ValueRange carried) {
    SmallVector<Value> weights = getWeights(b, channel, input);
    Value plane =
        b.mul(b.add(b.mul(task.image, parts.inChannels), input), channelSize);
    Value sum = carried.front();
    for (int64_t i = 0; i < winograd.rows.window(); ++i) {
      Value y = b.add(row, b.index(i - parts.rows.padding));
      Value isInside = b.isInside(y, height);
      for (int64_t j = 0; j < winograd.columns.window(); ++j) {
        Value x = b.add(column, b.index(j - parts.columns.padding));
        RowLoader::Load load = loader.prepare(b, x, b.index(lanes), isInside);
        Value elements = load(b, b.add(plane, b.mul(y, width)));
        Value weight = vector::BroadcastOp::create(
            b, vectorType, weights[i * winograd.columns.window() + j]);
        sum = vector::FMAOp::create(b, elements, weight, sum);
      }
    }
    return SmallVector<Value>{sum};
  };
  Value sums =
      b.reduce(zero, b.index(parts.inChannels), 1, zeros, addChannel).front();
  // Pixels are counted along the columns: no operand needs the row alone.
  Value indices[] = {task.image, channel, zero,
                     b.add(b.mul(row, outWidth), column)};
  parts.epilogue.finish(b, sums, indices, makeLaneMask(b, lanes, zero, pixels));
}

/// The weights of two channels: transformed back.
SmallVector<Value> WinogradConv::getWeights(IndexBuilder &b, Value channel,
                                            Value input) {
  int64_t channels = tile.channels();
  Value panel = b.floorDiv(channel, b.index(channels));
  Value place =
      b.add(b.mul(input, channels), b.rem(channel, b.index(channels)));
  SmallVector<Value> weights;
  for (ArrayRef<double> rows : winograd.rows.getWeightInverse())
    for (ArrayRef<double> columns : winograd.columns.getWeightInverse()) {
      Value sum;
      for (auto [row, rowFactor] : llvm::enumerate(rows))
        for (auto [column, columnFactor] : llvm::enumerate(columns)) {
          double factor = rowFactor * columnFactor;
          if (factor == 0)
            continue;
          int64_t index = row * columns.size() + column;
          Value offset = b.mul(b.add(b.mul(panel, places()), index),
                               parts.inChannels * channels);
          Value term = arith::MulFOp::create(
              b, memref::LoadOp::create(b, this->weights, b.add(offset, place)),
              b.f32(factor));
          sum = sum ? arith::AddFOp::create(b, sum, term).getResult() : term;
        }
      weights.push_back(sum);
    }
  return weights;
}

void mlir::relax::emitWinogradConv(IndexBuilder &b, func::FuncOp kernel,
                                   ConvParts &parts, ValueRange arguments) {
  WinogradConv(b, kernel, parts, arguments).emit(b);
}
