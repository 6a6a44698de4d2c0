//===- ConvDepthwise.cpp - Convolutions of single channels ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each output channel has one input channel, so that there is no depth to
// block: a task computes the image of a channel. A vector holds neighboring
// pixels of a row; several rows are computed together and share their loads.
// Columns outside of the image are masked, and rows are checked only where a
// window may leave the image. Where words of neighboring elements are
// multiplied by one instruction, a lane has those that its window covers in a
// row of the image, a word at a time.
//
// Cases: rows whose windows are inside of the image; rows at the edges; those
// that are left.
//
//===----------------------------------------------------------------------===//

#include "ConvParts.h"

#include "Contraction.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// Emits the loops of a kernel.
class DepthwiseConv {
public:
  DepthwiseConv(ConvParts &parts, int64_t lanes) : parts(parts), lanes(lanes) {}

  void emit(IndexBuilder &b, func::FuncOp kernel, ValueRange arguments);

private:
  /// What is known of a task.
  struct Channel {
    Value image, channel; // of the result
    Value source, next;   // where the image of its input and the next one begin
    SmallVector<Value> weights;          // for each step of each row
    Value column;                        // the first pixel of a vector
    SmallVector<RowLoader::Load> loads;  // for each step
    SmallVector<RowLoader::Pairs> pairs; // or for each two of them
  };

  void emitChannel(IndexBuilder &b, Value task);
  void emitColumns(IndexBuilder &b, Channel &channel);
  /// Rows from `begin` to `end`, `count` at a time.
  void emitRows(IndexBuilder &b, const Channel &channel, Value begin, Value end,
                int64_t count, bool isChecked);
  /// The stride of columns is 2, so two of them share their loads.
  bool hasPairs() const;
  int64_t countFetched() const;
  void fetchNext(IndexBuilder &b, const Channel &channel, Value row);
  SmallVector<Value> loadRow(IndexBuilder &b, const Channel &channel,
                             int64_t number, Value row, bool isChecked);
  Value makeFactor(IndexBuilder &b, Value pixels, int64_t step);
  Value multiplyAdd(IndexBuilder &b, Value pixels, Value weights, Value sum);
  void loadWeights(IndexBuilder &b, Channel &channel);

  /// As many rows as hide the latency of products with two vectors of sums in
  /// flight, and leave registers for weights.
  static constexpr int64_t kRows = 4;

  ConvParts &parts;
  int64_t lanes;
  int64_t stepSize, steps; // the columns of a step, and the steps of a row
  VectorType type;         // of sums; those of bytes are exact in f32
  Value zero;              // a vector of pixels as they are stored
  Value image, weight, height, width, readable;
  Value outChannels, outHeight, outWidth;
};
} // namespace

/// What the columns of a step have for the pixels of a vector: elements, or
/// words. Where a word has more columns than are left it is filled with zeros.
Value DepthwiseConv::makeFactor(IndexBuilder &b, Value pixels, int64_t step) {
  if (!parts.columnWords)
    return extend(b, pixels, b.getF32Type(), parts.isImageUnsigned);
  const Window &columns = parts.columns;
  int64_t span = cast<VectorType>(pixels.getType()).getNumElements();
  SmallVector<int64_t> places;
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (int64_t i = 0; i < stepSize; ++i)
      places.push_back(step * stepSize + i < columns.size
                           ? lane * columns.stride + i * columns.dilation
                           : span);
  Value elements = vector::ShuffleOp::create(b, pixels, zero, places);
  return parts.columnWords->make(b, elements, parts.isImageUnsigned,
                                 parts.sumType);
}

bool DepthwiseConv::hasPairs() const {
  return !parts.columnWords && parts.columns.stride == 2 &&
         parts.columns.dilation == 1;
}

/// What a step of the window, or two of them, meet in a row of the image, which
/// may be outside of it where it is checked.
SmallVector<Value> DepthwiseConv::loadRow(IndexBuilder &b,
                                          const Channel &channel,
                                          int64_t number, Value row,
                                          bool isChecked) {
  // A checked index is clamped: what is read of another row is ignored.
  Value at = isChecked ? b.clamp(row, height) : row;
  Value place = b.add(channel.source, b.mul(at, width));
  SmallVector<Value> loaded;
  if (hasPairs())
    llvm::append_range(loaded, channel.pairs[number].load(b, place));
  else
    loaded.push_back(channel.loads[number](b, place));
  for (auto [i, pixels] : llvm::enumerate(loaded)) {
    if (isChecked)
      pixels =
          arith::SelectOp::create(b, b.isInside(row, height), pixels, zero);
    pixels = makeFactor(b, pixels, number * loaded.size() + i);
  }
  return loaded;
}

Value DepthwiseConv::multiplyAdd(IndexBuilder &b, Value pixels, Value weights,
                                 Value sum) {
  if (parts.columnWords)
    return parts.columnWords->multiplyAdd(b, weights, pixels, sum);
  return vector::FMAOp::create(b, pixels, weights, sum);
}

/// How many elements of the next image are fetched with each block of rows.
/// Images are gone through in columns of vectors, which processors do not know
/// as streams.
int64_t DepthwiseConv::countFetched() const {
  std::optional<int64_t> rows = getConstantIntValue(height),
                         columns = getConstantIntValue(width);
  int64_t blocks = llvm::divideCeil(parts.getHeight(), kRows) *
                   llvm::divideCeil(parts.getWidth(), lanes);
  if (!rows || !columns || blocks <= 0)
    return 0;
  return llvm::divideCeil(*rows * *columns, blocks);
}

void DepthwiseConv::fetchNext(IndexBuilder &b, const Channel &channel,
                              Value row) {
  constexpr int64_t kLineBits = 512;
  int64_t count = countFetched();
  if (count == 0)
    return;
  int64_t step =
      kLineBits / cast<MemRefType>(image.getType()).getElementTypeBitWidth();
  Value blocks = b.ceilDiv(outHeight, b.index(kRows));
  Value block = b.add(b.mul(b.floorDiv(channel.column, b.index(lanes)), blocks),
                      b.floorDiv(row, b.index(kRows)));
  Value place = b.add(channel.next, b.mul(block, count));
  for (int64_t i = 0; i < count; i += step)
    memref::PrefetchOp::create(b, image, b.add(place, i), /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
}

void DepthwiseConv::emitRows(IndexBuilder &b, const Channel &channel,
                             Value begin, Value end, int64_t count,
                             bool isChecked) {
  const Window &rows = parts.rows;
  b.loop(begin, end, count, [&](IndexBuilder &b, Value y) {
    fetchNext(b, channel, y);
    Value top = b.sub(b.mul(y, rows.stride), b.index(rows.padding));
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
    SmallVector<Value> sums(count, none);
    llvm::DenseMap<std::pair<int64_t, int64_t>, SmallVector<Value>> loaded;
    int64_t together = hasPairs() ? 2 : 1;
    for (int64_t i = 0; i < rows.size; ++i)
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t k = 0; k < count; ++k) {
          int64_t row = k * rows.stride + i * rows.dilation;
          int64_t number = step / together;
          SmallVector<Value> &pixels = loaded[{row, number}];
          if (pixels.empty())
            pixels = loadRow(b, channel, number, b.add(top, row), isChecked);
          sums[k] = multiplyAdd(b, pixels[step % together],
                                channel.weights[i * steps + step], sums[k]);
        }
    if (hasPairs() && !channel.pairs.front().places.empty())
      for (Value &sum : sums)
        sum = vector::ShuffleOp::create(b, sum, sum,
                                        channel.pairs.front().places);
    Value left = b.sub(outWidth, channel.column);
    auto finish = [&](IndexBuilder &b, Value mask) {
      for (auto [k, sum] : llvm::enumerate(sums)) {
        Value indices[] = {channel.image, channel.channel, b.add(y, k),
                           channel.column};
        Value total = sum;
        if (type.getElementType() != parts.sumType)
          total = arith::FPToSIOp::create(b, type.clone(parts.sumType), sum);
        parts.epilogue.finish(b, total, indices, mask);
      }
    };
    std::optional<int64_t> size = getConstantIntValue(outWidth);
    Value rest = size ? b.index(*size % lanes) : left;
    if (isConstantIntValue(rest, 0))
      return finish(b, /*mask=*/Value());
    // With a branch for each row LLVM would compute sums one after another.
    b.branch(
        b.isBelow(b.index(lanes - 1), left),
        [&](IndexBuilder &b) { finish(b, /*mask=*/Value()); },
        [&](IndexBuilder &b) {
          finish(b, makeLaneMask(b, lanes, b.index(0), rest));
        });
  });
}

void DepthwiseConv::emitColumns(IndexBuilder &b, Channel &channel) {
  const Window &columns = parts.columns, &rows = parts.rows;
  // Words are made of elements that follow one another.
  RowLoader loader(image, readable, parts.columnWords ? 1 : columns.stride,
                   zero);
  Value count = b.index(cast<VectorType>(zero.getType()).getNumElements());
  for (int64_t step = 0; step < steps; step += hasPairs() ? 2 : 1) {
    Value first = b.sub(b.add(b.mul(channel.column, columns.stride),
                              b.index(step * stepSize * columns.dilation)),
                        b.index(columns.padding));
    if (hasPairs())
      channel.pairs.push_back(loader.preparePairs(b, first, count));
    else
      channel.loads.push_back(
          loader.prepare(b, first, count, /*isInside=*/Value()));
  }
  // Windows of rows from `top` to `bottom` are inside of the image; blocks that
  // have others are checked.
  Value none = b.index(0), stride = b.index(rows.stride);
  Value top =
      b.min(b.index(llvm::divideCeil(rows.padding, rows.stride)), outHeight);
  int64_t reach = (rows.size - 1) * rows.dilation + 1;
  Value fits = b.sub(b.add(height, rows.padding + rows.stride), b.index(reach));
  Value bottom =
      b.min(b.max(b.floorDiv(b.max(fits, none), stride), top), outHeight);
  auto roundDown = [&](Value row) {
    return b.mul(b.floorDiv(row, b.index(kRows)), kRows);
  };
  Value whole = roundDown(outHeight);
  Value first = b.min(b.roundUp(top, kRows), whole);
  Value last = b.max(roundDown(bottom), first);
  bool isKnown = !ShapedType::isDynamic(parts.getHeight());
  int64_t left = isKnown ? parts.getHeight() % kRows : 0;
  emitRows(b, channel, none, first, kRows, /*isChecked=*/true);
  emitRows(b, channel, first, last, kRows, /*isChecked=*/false);
  emitRows(b, channel, last, whole, kRows, /*isChecked=*/true);
  emitRows(b, channel, whole, outHeight, left ? left : 1, /*isChecked=*/true);
}

/// The weights of each step of each row, in all lanes.
void DepthwiseConv::loadWeights(IndexBuilder &b, Channel &channel) {
  int64_t rows = parts.rows.size, columns = parts.columns.size;
  Value first = b.mul(channel.channel, rows * columns);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t begin = 0; begin < columns; begin += stepSize) {
      SmallVector<Value> elements;
      for (int64_t column = begin; column < begin + stepSize; ++column)
        elements.push_back(
            column < columns
                ? memref::LoadOp::create(b, weight,
                                         b.add(first, row * columns + column))
                      .getResult()
                : arith::ConstantOp::create(
                      b, b.getZeroAttr(elements.front().getType())));
      Value number = parts.columnWords
                         ? parts.columnWords->interleave(b, elements,
                                                         parts.isWeightUnsigned,
                                                         parts.sumType)
                         : extend(b, elements.front(), b.getF32Type(),
                                  parts.isWeightUnsigned);
      channel.weights.push_back(vector::BroadcastOp::create(b, type, number));
    }
}

void DepthwiseConv::emitChannel(IndexBuilder &b, Value task) {
  Channel channel;
  channel.image = b.floorDiv(task, outChannels);
  channel.channel = b.rem(task, outChannels);
  // Each input channel has as many output channels.
  auto findImage = [&](Value task) {
    return b.mul(b.floorDiv(task, b.index(parts.outChannels)),
                 b.mul(height, width));
  };
  channel.source = findImage(task);
  channel.next = findImage(b.add(task, 1));
  loadWeights(b, channel);
  b.loop(b.index(0), outWidth, lanes, [&](IndexBuilder &b, Value x) {
    Channel here = channel;
    here.column = x;
    emitColumns(b, here);
  });
}

void DepthwiseConv::emit(IndexBuilder &b, func::FuncOp kernel,
                         ValueRange arguments) {
  // Products that are worth a thread.
  constexpr int64_t kGrain = 1 << 15;
  Value data = arguments[parts.image.getArgNumber()];
  Value output = arguments[parts.epilogue.getOutput().getArgNumber()];
  parts.epilogue.begin(b, kernel, arguments);
  stepSize = parts.columnWords ? parts.columnWords->size() : 1;
  steps = llvm::divideCeil(parts.columns.size, stepSize);
  type = VectorType::get(lanes,
                         parts.columnWords ? parts.sumType : b.getF32Type());
  if (parts.columnWords)
    parts.columnWords->begin(b, lanes, parts.sumType);
  image = flatten(b, data);
  Type stored = cast<MemRefType>(image.getType()).getElementType();
  int64_t span = parts.columnWords ? parts.getColumnSpan(lanes) : lanes;
  zero = arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get(span, stored)));
  weight = flatten(b, arguments[parts.weight.getArgNumber()]);
  height = getDim(b, data, 2);
  width = getDim(b, data, 3);
  Value none = b.index(0);
  readable =
      b.createOrFold<arith::SelectOp>(b.isEqual(height, none), none, width);
  outChannels = getDim(b, output, 1);
  outHeight = getDim(b, output, 2);
  outWidth = getDim(b, output, 3);
  int64_t pixels = 1; // of a channel, as far as it is known
  for (int64_t size : {parts.getHeight(), parts.getWidth()})
    pixels *= ShapedType::isDynamic(size) ? 16 : std::max<int64_t>(size, 1);
  int64_t products = pixels * parts.rows.size * parts.columns.size;
  b.parallel(b.mul(getDim(b, output, 0), outChannels),
             llvm::divideCeil(kGrain, products),
             [&](IndexBuilder &b, Value task) { emitChannel(b, task); });
}

void mlir::relax::emitDepthwiseConv(IndexBuilder &b, func::FuncOp kernel,
                                    ConvParts &parts, ValueRange arguments) {
  DepthwiseConv(parts, parts.blocking.lanes).emit(b, kernel, arguments);
}
