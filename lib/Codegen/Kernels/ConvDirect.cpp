//===- ConvDirect.cpp - Direct convolution with packed weights --*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Output channels are the lanes, and accumulators of some pixels of a row stay
// in registers: each element of a window is broadcast and multiplied by vectors
// of weights. Windows are never materialized (no im2col), and strides are free.
//
// A task computes some rows of some output channels. It copies the rows of the
// image that it needs to scratch memory, with padding beside them: row by row,
// and within a row channel by channel, so that what a tile reads of a row of
// the window stays in the L1 cache. Rows of a window that are outside of the
// image are skipped, and so are columns where they are far apart. Panels of
// weights stay in the L2 cache while they are reused over rows.
//
// Where windows are one element (pointwise), all pixels of an image are one row
// of it, which is read in place unless words are made of it. The last tile of a
// row in place begins early: it computes some sums again, which are not stored.
//
// Elements of 8 and 16 bits are multiplied as words. A cell of the copy is an
// element, or a word of channels. Words of columns are of cells that follow one
// another, from any cell on.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "ConvParts.h"
#include "PanelPart.h"
#include "Transpose.h"

#include "relax-mlir/IR/Threads.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// A dimension of the copy of an image. Of windows of one element it has only
/// what they have.
struct Strip {
  explicit Strip(const Window &window)
      : step(window.size == 1 ? window.stride : 1),
        stride(window.size == 1 ? 1 : window.stride),
        reach((window.size - 1) * window.dilation + 1),
        dilation(window.dilation), padding(window.padding) {}

  /// Returns the number of elements that `count` windows need.
  Value size(IndexBuilder &b, Value count) const {
    return b.add(b.mul(b.sub(count, b.index(1)), stride), reach);
  }

  int64_t step;   // in the image, between elements
  int64_t stride; // between windows
  int64_t reach;  // of a window
  int64_t dilation, padding;
};

/// How elements are grouped into words: cells of the copy are words of
/// channels, or a step takes the cells of a word of columns.
struct Grouping {
  explicit Grouping(const ConvParts &parts)
      : cellSize(parts.hasColumnsInside() ? 1 : parts.wordSize()),
        stepCells(parts.wordSize() / cellSize),
        channelCells(llvm::divideCeil(parts.inChannels, cellSize)),
        columnSteps(llvm::divideCeil(parts.columns.size, stepCells)) {}

  int64_t cellSize;     // elements of a cell
  int64_t stepCells;    // columns of a step
  int64_t channelCells; // of a pixel
  int64_t columnSteps;  // of a row of the window
};

/// The elements of a window along one dimension that are in the image.
struct Taps {
  Value begin, end;

  static Taps all(IndexBuilder &b, int64_t count) {
    return {b.index(0), b.index(count)};
  }
  /// Of windows the first and the last of which are the windows `first` and
  /// `last` of a dimension of `size` elements.
  static Taps findInside(IndexBuilder &b, const Window &window, Value first,
                         Value last, Value size) {
    Value zero = b.index(0), padding = b.index(window.padding);
    auto count = [&](Value elements) {
      return b.ceilDiv(b.max(elements, zero), b.index(window.dilation));
    };
    Value before = b.sub(padding, b.mul(last, window.stride));
    Value inside = b.sub(b.add(size, padding), b.mul(first, window.stride));
    return {count(before), b.min(count(inside), b.index(window.size))};
  }
};

/// Tasks that there should be for each of several threads.
constexpr int64_t kTasksOfThread = 4;

/// Emits the loops of one kernel.
class DirectConv {
public:
  DirectConv(IndexBuilder &b, func::FuncOp kernel, ConvParts &parts,
             ValueRange arguments);

  void emit(IndexBuilder &b);

private:
  /// The part of the result that a task computes.
  struct Task {
    Value batch;           // image and group
    Value row, rows;       // of the result
    Value column, columns; // of the result
    Value panel, panels;   // of weights
    Value source, origin;  // the copy, or the image, and its place there
    Value skipped, copied; // rows before those of the copy, and their number
    Value sums;            // of a tile
  };

  void divide(IndexBuilder &b);
  void divideRow(IndexBuilder &b);
  void dividePanels(IndexBuilder &b, Value others);
  void setTaskColumns(IndexBuilder &b, Value columns, Value blocks);
  /// Cells of an image in half of the second level of the cache.
  int64_t countRoom() const {
    int64_t bits = grouping.cellSize * element.getIntOrFloatBitWidth();
    return parts.l2Bytes / 2 * 8 / bits;
  }
  void emitTask(IndexBuilder &b, Value index);
  void findCopiedRows(IndexBuilder &b, Task &task);
  void copyRows(IndexBuilder &b, const Task &task);
  void storeCells(IndexBuilder &b, const Task &task, Value cells, Value cell);
  void emitTile(IndexBuilder &b, const Task &task, Value panel, Value row,
                Value column);
  SmallVector<Value> computeSums(IndexBuilder &b, const Task &task, Value from,
                                 Value panel, Value part, Value count,
                                 const Taps &tapRows, const Taps &tapColumns);
  void finish(IndexBuilder &b, const Task &task, const ConvPlace &place,
              ArrayRef<Value> sums, Value skipped);

  /// Whether the pixels of an image are one row.
  bool isFlat() const { return parts.isPointwise() && parts.countPixels() > 0; }
  /// Whether the result is one row of windows, as over one dimension.
  bool isOneRow() const {
    return parts.rows.size == 1 && getConstantIntValue(outHeight) == 1;
  }
  /// Whether the image is read where it is.
  bool isInPlace() const { return isFlat() && !parts.words; }
  /// Whether windows may have rows outside of the image, or a tile of windows
  /// columns.
  bool skipsRows() const { return parts.isPadded && parts.rows.size > 1; }
  bool skipsColumns() const {
    return parts.isPadded && !parts.hasColumnsInside() &&
           columnStrip.reach > tile.pixels * columnStrip.stride;
  }
  int64_t roundedPixels() const {
    return llvm::alignTo(tile.pixels, tile.lanes);
  }

  ConvParts &parts;
  ConvTile tile;
  Type element;
  VectorType sumsType;
  Strip rowStrip, columnStrip;
  Grouping grouping;
  int64_t panels; // of a group
  Value image, weights;
  Value height, width;       // of the image
  Value outHeight, outWidth; // of the result
  Value stripWidth, rowSize; // cells: whole vectors, for all channels
  Value threads;
  Value batch, taskRows, rowBlocks, taskColumns, columnBlocks, taskPanels,
      panelBlocks;
};
} // namespace

DirectConv::DirectConv(IndexBuilder &b, func::FuncOp kernel, ConvParts &parts,
                       ValueRange arguments)
    : parts(parts), tile(*parts.tile),
      element(getElementTypeOrSelf(parts.image.getType())),
      sumsType(VectorType::get(tile.lanes, parts.sumType)),
      rowStrip(parts.rows), columnStrip(parts.columns), grouping(parts) {
  Value data = arguments[parts.image.getArgNumber()];
  Value output = arguments[parts.epilogue.getOutput().getArgNumber()];
  parts.epilogue.begin(b, kernel, arguments);
  if (parts.words)
    parts.words->begin(b, tile.lanes, parts.sumType);
  panels = llvm::divideCeil(parts.outChannels, tile.channels());
  image = flatten(b, data);
  weights = flatten(b, arguments[parts.weight.getArgNumber()]);
  height = getDim(b, data, 2);
  width = getDim(b, data, 3);
  outHeight = getDim(b, output, 2);
  outWidth = getDim(b, output, 3);
  if (isFlat()) {
    width = outWidth = b.mul(height, width);
    height = outHeight = b.index(1);
    tile.pixels = std::min(tile.pixels, parts.countPixels());
  }
  batch = b.mul(getDim(b, output, 0), parts.groups);
  setTaskColumns(b, outWidth, b.index(1));
}

void DirectConv::setTaskColumns(IndexBuilder &b, Value columns, Value blocks) {
  taskColumns = columns;
  columnBlocks = blocks;
  // Words of columns reach beyond the window.
  int64_t beyond =
      grouping.columnSteps * grouping.stepCells - parts.columns.size;
  Value pixels = b.roundUp(columns, tile.pixels);
  stripWidth =
      isInPlace()
          ? width
          : b.roundUp(b.add(columnStrip.size(b, pixels), beyond), tile.lanes);
  rowSize = b.mul(stripWidth, grouping.channelCells);
}

/// As many rows as leave half of the second level of the cache to weights,
/// fewer where threads need them, and then fewer channels. More rows than a
/// window has are worth copying its edges.
void DirectConv::divide(IndexBuilder &b) {
  threads = countThreads(b);
  if (isFlat() || isOneRow())
    return divideRow(b);
  Value room = b.floorDiv(b.index(countRoom()), b.atLeastOne(rowSize));
  Value edge = b.index(rowStrip.reach);
  if (skipsRows())
    edge = b.min(edge, height);
  Value most = b.add(b.floorDiv(b.max(b.sub(room, edge), b.index(0)),
                                b.index(rowStrip.stride)),
                     1);
  // Rows that are far apart are worth more memory than the cache has.
  if (rowStrip.dilation > 1)
    most = b.max(most, b.floorDiv(edge, b.index(2)));
  Value wanted =
      b.ceilDiv(b.countTasks(threads, kTasksOfThread), b.atLeastOne(batch));
  Value limit = b.floorDiv(outHeight, b.index(2 * rowStrip.reach));
  rowBlocks = b.max(b.ceilDiv(outHeight, most), b.min(wanted, limit));
  taskRows = b.divideEvenly(outHeight, rowBlocks);
  dividePanels(b, b.mul(batch, rowBlocks));
}

/// Divides the one row that there is. In place tasks share nothing, and panels
/// come first, since their weights are what most of the memory has. Tasks that
/// copy the same pixels do so again: they are worth it where they have more
/// tiles than that.
void DirectConv::divideRow(IndexBuilder &b) {
  int64_t leastTiles =
      std::max<int64_t>(4, llvm::divideCeil(2 * columnStrip.reach,
                                            tile.pixels * columnStrip.stride));
  rowBlocks = taskRows = b.index(1);
  Value tiles = b.ceilDiv(outWidth, b.index(tile.pixels)), blocks;
  Value wanted =
      b.ceilDiv(b.countTasks(threads, kTasksOfThread), b.atLeastOne(batch));
  if (isInPlace()) {
    panelBlocks = b.min(wanted, b.index(panels));
    taskPanels = b.divideEvenly(b.index(panels), panelBlocks);
    blocks = b.min(b.ceilDiv(wanted, panelBlocks), tiles);
  } else {
    int64_t most = std::max<int64_t>(countRoom() / grouping.channelCells /
                                         (tile.pixels * columnStrip.stride),
                                     isFlat() ? 1 : leastTiles);
    Value several =
        b.shareEvenly(b.floorDiv(tiles, b.index(leastTiles)), threads);
    blocks = b.max(b.ceilDiv(tiles, b.index(most)), b.min(wanted, several));
  }
  Value size = b.mul(b.divideEvenly(tiles, blocks), tile.pixels);
  setTaskColumns(b, size, blocks);
  if (!isInPlace())
    dividePanels(b, b.mul(batch, blocks));
}

/// Divides panels where threads would have different numbers of few tasks.
void DirectConv::dividePanels(IndexBuilder &b, Value others) {
  Value one = b.index(1);
  auto select = [&](Value condition, Value yes, Value no) {
    return b.createOrFold<arith::SelectOp>(condition, yes, no);
  };
  Value isEven = b.isAtMost(b.rem(others, threads), 0);
  panelBlocks = select(b.isBelow(others, b.countTasks(threads, kTasksOfThread)),
                       select(isEven, one, threads), one);
  panelBlocks = b.min(panelBlocks, b.index(panels));
  taskPanels = b.divideEvenly(b.index(panels), panelBlocks);
}

void DirectConv::emit(IndexBuilder &b) {
  divide(b);
  Value tasks =
      b.mul(panelBlocks, b.mul(batch, b.mul(rowBlocks, columnBlocks)));
  b.parallel(tasks, /*grain=*/1,
             [&](IndexBuilder &b, Value index) { emitTask(b, index); });
}

/// Panels are the outermost dimension of tasks: their weights serve all images.
void DirectConv::emitTask(IndexBuilder &b, Value index) {
  Task task;
  Value rest = index;
  // The place of a block among `count`, the innermost ones first.
  auto next = [&](Value count) {
    Value block = b.rem(rest, count);
    rest = b.floorDiv(rest, count);
    return block;
  };
  task.column = b.mul(next(columnBlocks), taskColumns);
  task.columns = b.min(b.sub(outWidth, task.column), taskColumns);
  task.row = b.mul(next(rowBlocks), taskRows);
  task.rows = b.min(b.sub(outHeight, task.row), taskRows);
  task.batch = next(batch);
  task.panel = b.mul(rest, taskPanels);
  task.panels = b.min(b.sub(b.index(panels), task.panel), taskPanels);
  auto allocate = [&](Type element, Value size) -> Value {
    return memref::AllocOp::create(
        b, MemRefType::get(ShapedType::kDynamic, element), size,
        b.getI64IntegerAttr(64));
  };
  Value zero = b.index(0);
  // Sums that are skipped move what is loaded by less than a vector.
  task.sums =
      allocate(parts.sumType,
               b.index(roundedPixels() * tile.channels() + roundedPixels()));
  if (isInPlace()) {
    task.source = image;
    task.origin = b.mul(task.batch, rowSize);
  } else {
    findCopiedRows(b, task);
    Value cells = b.mul(task.copied, rowSize);
    task.source = allocate(element, b.mul(cells, grouping.cellSize));
    task.origin = zero;
    copyRows(b, task);
  }
  Value end = b.add(task.column, task.columns);
  b.loop(zero, task.panels, 1, [&](IndexBuilder &b, Value panel) {
    b.loop(zero, task.rows, 1, [&](IndexBuilder &b, Value row) {
      b.loop(task.column, end, tile.pixels, [&](IndexBuilder &b, Value column) {
        emitTile(b, task, b.add(task.panel, panel), row, column);
      });
    });
  });
}

/// Stores vectors of elements, or of words.
void DirectConv::storeCells(IndexBuilder &b, const Task &task, Value cells,
                            Value cell) {
  auto type = VectorType::get(tile.lanes * grouping.cellSize, element);
  if (cells.getType() != type)
    cells = vector::BitCastOp::create(b, type, cells);
  vector::StoreOp::create(b, cells, task.source,
                          b.mul(cell, grouping.cellSize));
}

void DirectConv::findCopiedRows(IndexBuilder &b, Task &task) {
  task.skipped = b.index(0);
  task.copied = rowStrip.size(b, task.rows);
  if (!skipsRows())
    return;
  Value first =
      b.sub(b.mul(task.row, parts.rows.stride), b.index(rowStrip.padding));
  Value begin = b.max(first, b.index(0));
  Value end = b.min(b.add(first, task.copied), height);
  task.skipped = b.sub(begin, first);
  task.copied = b.max(b.sub(end, begin), b.index(0));
}

/// Copies what windows of the rows of a task have of the image, channel by
/// channel, or word by word, as it lies there.
void DirectConv::copyRows(IndexBuilder &b, const Task &task) {
  // As many vectors of a row have their masks ahead.
  constexpr int64_t kMostPrepared = 4;
  Value zero = b.index(0);
  Value channelSize = b.mul(height, width);
  Value from = b.mul(task.batch, b.mul(channelSize, parts.inChannels));
  auto getZeros = [&](int64_t count) -> Value {
    return arith::ConstantOp::create(
        b, b.getZeroAttr(VectorType::get(count, element)));
  };
  RowLoader loader(image, width, columnStrip.step, getZeros(tile.lanes));
  Value zeros = getZeros(tile.lanes * grouping.cellSize);
  auto prepare = [&](IndexBuilder &b, Value j) {
    Value element = b.add(b.mul(task.column, columnStrip.stride), j);
    Value column =
        b.sub(b.mul(element, columnStrip.step), b.index(columnStrip.padding));
    return loader.prepare(b, column, b.index(tile.lanes),
                          /*isInside=*/Value());
  };
  int64_t known = getConstantIntValue(stripWidth).value_or(0);
  SmallVector<RowLoader::Load> loads;
  if (known <= kMostPrepared * tile.lanes)
    for (int64_t j = 0; j < known; j += tile.lanes)
      loads.push_back(prepare(b, b.index(j)));
  Value first = b.add(
      b.sub(b.mul(task.row, parts.rows.stride), b.index(rowStrip.padding)),
      task.skipped);
  auto copyCells = [&](IndexBuilder &b, const RowLoader::Load &load, Value row,
                       Value channel, Value cell) {
    Value cells = grouping.cellSize > 1
                      ? parts.loadWord(b, load, row, channel, channelSize)
                      : load(b, b.add(row, b.mul(channel, channelSize)));
    storeCells(b, task, cells, cell);
  };
  auto copyRow = [&](IndexBuilder &b, Value row, Value channel, Value to) {
    if (loads.empty())
      return b.loop(zero, stripWidth, tile.lanes,
                    [&](IndexBuilder &b, Value j) {
                      copyCells(b, prepare(b, j), row, channel, b.add(to, j));
                    });
    for (auto [j, load] : llvm::enumerate(loads))
      copyCells(b, load, row, channel, b.add(to, b.index(j * tile.lanes)));
  };
  Value channels = b.index(grouping.channelCells);
  b.loop(zero, channels, 1, [&](IndexBuilder &b, Value channel) {
    b.loop(zero, task.copied, 1, [&](IndexBuilder &b, Value i) {
      Value row = b.add(first, b.mul(i, rowStrip.step));
      Value to = b.add(b.mul(i, rowSize), b.mul(channel, stripWidth));
      if (skipsRows())
        return copyRow(b, b.add(from, b.mul(row, width)), channel, to);
      Value isInside = b.isInside(row, height);
      b.branch(
          isInside,
          [&](IndexBuilder &b) {
            copyRow(b, b.add(from, b.mul(row, width)), channel, to);
          },
          [&](IndexBuilder &b) {
            b.loop(zero, stripWidth, tile.lanes, [&](IndexBuilder &b, Value j) {
              storeCells(b, task, zeros, b.add(to, j));
            });
          });
    });
  });
}

void DirectConv::emitTile(IndexBuilder &b, const Task &task, Value panel,
                          Value row, Value column) {
  Value first = column;
  if (isInPlace() && parts.countPixels() % tile.pixels != 0)
    // Behind the last pixel may be the end of memory.
    first = b.min(column, b.sub(outWidth, b.index(tile.pixels)));
  Value begin = isInPlace() ? first : b.sub(first, task.column);
  Value copiedRow = b.mul(row, rowStrip.stride);
  if (skipsRows())
    copiedRow = b.sub(copiedRow, task.skipped);
  Value from =
      b.add(b.mul(copiedRow, rowSize), b.mul(begin, columnStrip.stride));
  Taps tapRows = Taps::all(b, parts.rows.size);
  Taps tapColumns = Taps::all(b, grouping.columnSteps);
  if (skipsRows()) {
    Value window = b.add(task.row, row);
    tapRows = Taps::findInside(b, parts.rows, window, window, height);
  }
  if (skipsColumns())
    tapColumns = Taps::findInside(b, parts.columns, column,
                                  b.add(column, tile.pixels - 1), width);
  Value group = b.rem(task.batch, b.index(parts.groups));
  Value whole = b.add(b.mul(group, panels), panel);
  Value tiles = b.ceilDiv(task.columns, b.index(tile.pixels));
  Value part = b.add(b.mul(row, tiles), b.floorDiv(b.sub(column, task.column),
                                                   b.index(tile.pixels)));
  SmallVector<Value> sums =
      computeSums(b, task, b.add(task.origin, from), whole, part,
                  b.mul(task.rows, tiles), tapRows, tapColumns);
  ConvPlace place;
  place.image = b.floorDiv(task.batch, b.index(parts.groups));
  place.pixel = b.add(b.mul(b.add(task.row, row), outWidth), column);
  place.pixels = b.min(b.sub(outWidth, column), b.index(tile.pixels));
  Value channel = b.mul(panel, tile.channels());
  place.channel = b.add(b.mul(group, parts.outChannels), channel);
  place.channels = b.index(tile.channels());
  if (parts.outChannels % tile.channels() != 0)
    place.channels =
        b.min(b.sub(b.index(parts.outChannels), channel), place.channels);
  finish(b, task, place, sums, b.sub(column, first));
}

/// The sums of pixels x vectors, pixel by pixel. The first window begins at
/// `from`. Meanwhile, a part of the next panel comes into the cache: each tile
/// of the task fetches as much, `part` of `count`.
SmallVector<Value> DirectConv::computeSums(IndexBuilder &b, const Task &task,
                                           Value from, Value panel, Value part,
                                           Value count, const Taps &tapRows,
                                           const Taps &tapColumns) {
  int64_t rows = parts.rows.size, columns = grouping.columnSteps;
  int64_t channels = tile.channels() * parts.wordSize();
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(sumsType));
  int64_t panelSize = rows * columns * grouping.channelCells * channels;
  Value weightBegin = b.mul(panel, panelSize);
  // After the last panel, it itself is fetched: nothing is outside of memory.
  Value last = b.index(parts.groups * panels - 1);
  Value next = b.mul(b.min(b.add(panel, 1), last), panelSize);
  auto ahead = PanelPart::get(b, next, part, count,
                              b.index(panelSize / channels), channels);
  auto step = [&](IndexBuilder &b, Value pixel, Value k,
                  const IndexBuilder::Step &inner, ValueRange carried) {
    Value weight =
        b.add(b.add(weightBegin, b.mul(k, channels)), inner, channels);
    Value place = b.add(b.mul(k, ahead.step), inner, ahead.step);
    if (inner.offset % 2 == 0) // two steps are a line of the cache at most
      memref::PrefetchOp::create(b, weights, b.add(ahead.begin, place),
                                 /*isWrite=*/false, /*localityHint=*/2,
                                 /*isDataCache=*/true);
    return tile.addProducts(
        b, carried, task.source, b.mul(pixel, grouping.cellSize),
        columnStrip.stride * grouping.cellSize, weights, weight, parts.words);
  };
  // The columns and channels of a row of the window, the larger one innermost.
  int64_t outerSize = grouping.channelCells, innerSize = columns;
  Value outerStep = stripWidth,
        innerStep = b.index(columnStrip.dilation * grouping.stepCells);
  if (!parts.hasColumnsInside()) {
    std::swap(outerSize, innerSize);
    std::swap(outerStep, innerStep);
  }
  Taps outerTaps = parts.hasColumnsInside()
                       ? Taps::all(b, grouping.channelCells)
                       : tapColumns;
  int64_t steps = IndexBuilder::countSteps(tile.pixels * tile.vectors);
  SmallVector<Value> inits(tile.pixels * tile.vectors, zeros);
  auto addRow = [&](IndexBuilder &b, Value i, ValueRange carried) {
    Value row = b.add(from, b.mul(b.mul(i, rowStrip.dilation), rowSize));
    auto addOuter = [&](IndexBuilder &b, Value outer, ValueRange carried) {
      Value k = b.mul(b.add(b.mul(i, outerSize), outer), innerSize);
      Value pixel = b.add(row, b.mul(outer, outerStep));
      return b.reduceUnrolled(
          b.index(innerSize), innerSize >= steps ? steps : 1, carried,
          [&](IndexBuilder &b, const IndexBuilder::Step &inner,
              ValueRange carried) {
            return step(b, b.add(pixel, inner, innerStep), k, inner, carried);
          });
    };
    return b.reduce(outerTaps.begin, outerTaps.end, 1, carried, addOuter);
  };
  return b.reduce(tapRows.begin, tapRows.end, 1, inits, addRow);
}

/// Sums of a channel lie together in the result, so the tile is transposed. The
/// first ones of the tile may be skipped.
void DirectConv::finish(IndexBuilder &b, const Task &task,
                        const ConvPlace &place, ArrayRef<Value> sums,
                        Value skipped) {
  int64_t width = roundedPixels();
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(sumsType));
  for (int64_t j = 0; j < tile.vectors; ++j)
    for (int64_t begin = 0; begin < width; begin += tile.lanes) {
      SmallVector<Value> pixels;
      for (int64_t i = begin; i < begin + tile.lanes; ++i)
        pixels.push_back(i < tile.pixels ? sums[i * tile.vectors + j] : zeros);
      for (auto [i, channel] : llvm::enumerate(transpose(b, pixels))) {
        int64_t to = (j * tile.lanes + i) * width + begin;
        vector::StoreOp::create(b, channel, task.sums, b.index(to));
      }
    }
  parts.finish(b, place, task.sums, skipped, width, tile.lanes);
}

void mlir::relax::emitDirectConv(IndexBuilder &b, func::FuncOp kernel,
                                 ConvParts &parts, ValueRange arguments) {
  DirectConv(b, kernel, parts, arguments).emit(b);
}
