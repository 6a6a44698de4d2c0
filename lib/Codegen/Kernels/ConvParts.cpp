//===- ConvParts.cpp - The parts of a convolution ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConvParts.h"

#include "Contraction.h"
#include "KernelTile.h"

#include "relax-mlir/IR/RelaxDialect.h"
#include "relax-mlir/IR/Schedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The time of all tiles of one row, per element of the depth. Each product of
/// vectors takes a unit, and so does each load; fewer than eight sums wait for
/// each other. Other work on the sums is shared by the whole depth. Two threads
/// that share a core wait for its decoder, and vectors of weights come from the
/// L2 cache; tiles for vectors of 512 bits hide both, as they are larger and
/// products load elements themselves.
static double estimateTime(const ConvTile &tile, int64_t width,
                           int64_t channels, int64_t depth) {
  constexpr double kTypicalWidth = 28, kFinish = 6;
  constexpr double kInstructions = 1.5, kWeight = 4;
  constexpr int64_t kManyLanes = 16;
  double loop = tile.lanes < kManyLanes ? 1 : 0.3;
  double pixels = tile.pixels, vectors = tile.vectors;
  // Of a row of unknown width half of the last tile is lost.
  double tiles = ShapedType::isDynamic(width)
                     ? kTypicalWidth / pixels + 0.5
                     : llvm::divideCeil(width, tile.pixels);
  double panels = llvm::divideCeil(channels, tile.channels());
  double products = pixels * vectors, loads = pixels + vectors;
  double step = std::max({products, loads, 8.0});
  if (tile.lanes < kManyLanes)
    step =
        std::max({step, (products + loads) / kInstructions, vectors * kWeight});
  double finish = double(tile.channels()) *
                  llvm::divideCeil(tile.pixels, tile.lanes) * kFinish;
  return tiles * panels * (step + loop + finish / std::max<double>(depth, 1));
}

ConvTile ConvTile::get(const TargetModel &target, int64_t width,
                       int64_t channels, int64_t depth,
                       std::optional<int64_t> vectors, bool fillsPanels) {
  // AVX-512 has 32 registers, vectors of other widths are taken to have 16.
  int64_t registers = target.vectorBits == 512 ? 32 : 16;
  std::optional<ConvTile> best;
  double least = 0;
  for (int64_t j = vectors.value_or(1); j <= vectors.value_or(8); ++j) {
    if (fillsPanels && channels % (j * target.lanes(/*bits=*/32)) != 0)
      continue;
    // Sums, a row of a panel and a pixel are in registers.
    int64_t most = std::max<int64_t>((registers - 1 - j) / j, 1);
    if (!ShapedType::isDynamic(width))
      most = std::min(most, std::max<int64_t>(width, 1));
    for (int64_t i = 1; i <= most; ++i) {
      ConvTile tile = {target.lanes(/*bits=*/32), i, j};
      double time = estimateTime(tile, width, channels, depth);
      if (!best || time < least) {
        best = tile;
        least = time;
      }
    }
  }
  return *best;
}

/// A pixel, or a word of pixels, in all lanes.
static Value broadcastPixel(IndexBuilder &b, VectorType type, Value scratch,
                            Value place,
                            const std::optional<WordProducts> &words) {
  if (!words)
    return vector::BroadcastOp::create(
        b, type, memref::LoadOp::create(b, scratch, place));
  Type element = cast<MemRefType>(scratch.getType()).getElementType();
  Value elements = vector::LoadOp::create(
      b, VectorType::get(words->size(), element), scratch, place);
  Value word = vector::BitCastOp::create(
      b, VectorType::get(1, type.getElementType()), elements);
  return vector::BroadcastOp::create(b, type,
                                     vector::ExtractOp::create(b, word, 0));
}

SmallVector<Value>
ConvTile::addProducts(IndexBuilder &b, ValueRange sums, Value scratch,
                      Value pixel, int64_t stride, Value weights, Value weight,
                      const std::optional<WordProducts> &words) const {
  auto type = cast<VectorType>(sums.front().getType());
  int64_t size = lanes * (words ? words->size() : 1);
  auto factorType = VectorType::get(
      size, cast<MemRefType>(weights.getType()).getElementType());
  SmallVector<Value> factors, results;
  for (int64_t j = 0; j < vectors; ++j)
    factors.push_back(vector::LoadOp::create(b, factorType, weights,
                                             b.add(weight, j * size)));
  for (int64_t i = 0; i < pixels; ++i) {
    Value all =
        broadcastPixel(b, type, scratch, b.add(pixel, i * stride), words);
    for (int64_t j = 0; j < vectors; ++j) {
      Value sum = sums[i * vectors + j];
      results.push_back(
          words ? words->multiplyAdd(b, factors[j], all, sum)
                : vector::FMAOp::create(b, all, factors[j], sum).getResult());
    }
  }
  return results;
}

static constexpr int64_t kFewLanes = 8, kManyPixels = 400;

/// The pixels of an image of the result, or of one row of it; may be dynamic.
static int64_t countResults(Operation *op, int64_t dims) {
  auto sums = cast<ShapedType>(op->getResult(0).getType());
  int64_t count = 1;
  for (int64_t size : sums.getShape().take_back(dims)) {
    if (ShapedType::isDynamic(size))
      return size;
    count *= size;
  }
  return count;
}

/// Pixels are worth being lanes, as sums lie as the result does then: they need
/// not be transposed, which counts where channels are few, and a tile has
/// pixels of several rows, which counts where rows are short. It takes a copy
/// of each window, which many output channels use. Vectors of 512 bits want
/// many pixels, as the last tile of an image is larger, and no copies.
bool ConvParts::prefersPixelLanes() const {
  constexpr int64_t kManyChannels = 16;
  if (words)
    return prefersPixelLanesOfWords();
  // Where the number of channels is not known, it is negative.
  if (inChannels <= 0 || getDepth() <= 1)
    return false;
  if (blocking.lanes > kFewLanes) {
    int64_t pixels = countResults(op, /*dims=*/2);
    return isPointwise() &&
           (ShapedType::isDynamic(pixels) || pixels >= kManyPixels);
  }
  bool isStrided = rows.stride > 1 || columns.stride > 1;
  return isPointwise() || (isStrided && outChannels >= kManyChannels);
}

/// Words are made once for all elements of a window where channels are lanes,
/// and for each of them where pixels are. That pays where channels do not fill
/// vectors, or windows are one element, unless sums are long and the last tile
/// of a small image is; and at the beginning of networks.
bool ConvParts::prefersPixelLanesOfWords() const {
  constexpr int64_t kManyWords = 128, kFewChannels = 4, kFewWords = 32;
  bool isOneElement = rows.size == 1 && columns.size == 1;
  if (groups != 1)
    return isOneElement || outChannels % blocking.lanes != 0;
  if (outChannels < blocking.lanes / 2)
    return true;
  bool isWide = blocking.lanes > kFewLanes;
  int64_t pixels = countResults(op, /*dims=*/2),
          width = countResults(op, /*dims=*/1), words = wordsOfChannels();
  if (isOneElement)
    return !isWide || !isPointwise() || ShapedType::isDynamic(pixels) ||
           pixels >= kManyPixels || words < kManyWords ||
           outChannels < blocking.lanes;
  return isWide && inChannels <= kFewChannels &&
         words * rows.size * columns.size <= kFewWords &&
         !ShapedType::isDynamic(width) && width % blocking.lanes == 0;
}

/// A word has elements that are not of the window where its columns are no
/// multiple of words. Their weights are zeros, with which floats that are
/// infinite make no zeros.
bool ConvParts::hasColumnsInside() const {
  if (prefersPixelLanes() || columns.size <= inChannels)
    return false;
  return !words || (columns.dilation == 1 &&
                    (sumType.isInteger() || columns.size % wordSize() == 0));
}

Value ConvParts::loadWord(IndexBuilder &b, const RowLoader::Load &load,
                          Value row, Value word, Value channelSize) const {
  int64_t size = wordSize();
  Value first = b.mul(word, size);
  SmallVector<Value> values;
  for (int64_t i = 0; i < size; ++i) {
    Value channel = b.add(first, i), isInside;
    if (i != 0 && inChannels % size != 0) {
      isInside = b.isBelow(channel, b.index(inChannels));
      channel = b.createOrFold<arith::SelectOp>(isInside, channel, first);
    }
    Value pixels = load(b, b.add(row, b.mul(channel, channelSize)));
    if (isInside)
      pixels = arith::SelectOp::create(
          b, isInside, pixels,
          arith::ConstantOp::create(b, b.getZeroAttr(pixels.getType())));
    values.push_back(pixels);
  }
  return words->interleave(b, values, isImageUnsigned, sumType);
}

ConvTile ConvParts::chooseTile(const TargetModel &target,
                               std::optional<int64_t> vectors) const {
  int64_t lanes = target.lanes(/*bits=*/32);
  if (isTile(givenTile, TileKind::VectorsByPixels, lanes))
    return {lanes, givenTile[1], givenTile[0] / lanes};
  if (!winograd)
    return ConvTile::get(target, isPointwise() ? countPixels() : getWidth(),
                         outChannels, getDepth() / wordSize(), vectors,
                         /*fillsPanels=*/groups != 1 &&
                             outChannels % lanes == 0);
  int64_t tiles = getMostTiles(*winograd);
  if (!ShapedType::isDynamic(getWidth()) &&
      !ShapedType::isDynamic(getHeight())) {
    int64_t columns = llvm::divideCeil(getWidth(), winograd->columns.outputs());
    int64_t rows = llvm::divideCeil(getHeight(), winograd->rows.outputs());
    if (columns <= tiles && columns * rows != 0) {
      int64_t blocks = llvm::divideCeil(rows, tiles / columns);
      tiles = llvm::divideCeil(rows, blocks) * columns;
    }
  }
  return ConvTile::get(target, tiles, outChannels, inChannels, vectors);
}

/// Transformed inputs leave three eighths of the second level of the cache to
/// weights and sums. Where few tiles fit, weights would be read again for each
/// of many blocks: then only the inputs of one place of all tiles are in the
/// cache at a time, which are written to memory, and read for each panel.
int64_t ConvParts::getMostTiles(const WinogradTile &winograd) const {
  constexpr int64_t kPanel = 64;
  constexpr double kLeastGain = 0.4;
  int64_t size = llvm::alignTo(inChannels, blocking.lanes) * 4;
  int64_t room = l2Bytes * 5 / 8, places = winograd.places();
  int64_t most = std::max<int64_t>(room / (places * size), 1);
  if (ShapedType::isDynamic(getWidth()) || ShapedType::isDynamic(getHeight()))
    return most;
  int64_t tiles = llvm::divideCeil(getWidth(), winograd.columns.outputs()) *
                  llvm::divideCeil(getHeight(), winograd.rows.outputs());
  int64_t more = std::clamp<int64_t>(room / size, most, std::max(tiles, most));
  // In inputs of a tile.
  auto countWeights = [&](int64_t most) {
    return double(llvm::divideCeil(tiles, most)) * outChannels;
  };
  double inputs = double(tiles) * (1 + llvm::divideCeil(outChannels, kPanel));
  bool isWorthIt =
      countWeights(more) + inputs < kLeastGain * countWeights(most);
  return isWorthIt ? more : most;
}

/// The rows of all windows that are in the image, for `height` rows of results:
/// the others are passed over by definition.
static double countRowsInside(const Window &rows, int64_t height,
                              int64_t imageHeight) {
  if (ShapedType::isDynamic(imageHeight))
    return double(height) * rows.size;
  int64_t count = 0;
  for (int64_t row = 0; row < height; ++row)
    for (int64_t i = 0; i < rows.size; ++i) {
      int64_t at = row * rows.stride + i * rows.dilation - rows.padding;
      count += 0 <= at && at < imageHeight;
    }
  return count;
}

/// Products of vectors take a unit of time each. Other work on an element of a
/// tile, and reading weights from memory, is counted in these units.
std::optional<WinogradTile>
ConvParts::chooseWinograd(const TargetModel &target) const {
  constexpr double kElement = 7, kWeight = 0.6, kLeastGain = 0.9;
  constexpr int64_t kTypicalSize = 28;
  int64_t lanes = target.lanes(/*bits=*/32);
  auto fits = [](const Window &window) {
    return window.stride == 1 &&
           (window.size == 1 ||
            (window.size == Winograd::kWindow && window.dilation == 1));
  };
  if (rows.size * columns.size == 1 || !fits(rows) || !fits(columns) ||
      groups != 1 || lanes < 4 || inChannels <= 0 || outChannels < lanes)
    return std::nullopt;
  auto known = [](int64_t size, int64_t typical) {
    return ShapedType::isDynamic(size) ? typical : size;
  };
  int64_t width = known(getWidth(), kTypicalSize);
  int64_t height = known(getHeight(), kTypicalSize);
  auto type = cast<ShapedType>(epilogue.getOutput().getType());
  double batch = known(type.getDimSize(0), 1);
  double matrix = double(inChannels) * outChannels;
  double vectors = double(llvm::divideCeil(inChannels, lanes)) +
                   llvm::divideCeil(outChannels, lanes);
  auto estimate = [&](double pixels, double places, double element) {
    double products = pixels * places * matrix / lanes;
    double elements = pixels * element * vectors;
    return std::max(batch * (products + elements), places * matrix * kWeight);
  };
  std::optional<WinogradTile> best;
  int64_t imageHeight = cast<ShapedType>(image.getType()).getDimSize(2);
  double rowsInside = countRowsInside(rows, height, imageHeight) / height;
  double least =
      kLeastGain * estimate(double(width) * height, rowsInside * columns.size,
                            /*element=*/0);
  for (int64_t outputs : {2, 4}) {
    WinogradTile winograd(outputs, rows.size, columns.size);
    double tiles = double(llvm::divideCeil(width, winograd.columns.outputs())) *
                   llvm::divideCeil(height, winograd.rows.outputs());
    double places = winograd.places();
    double time = estimate(tiles, places, kElement * places);
    if (time < least) {
      best = winograd;
      least = time;
    }
  }
  return best;
}

void ConvParts::finish(IndexBuilder &b, const ConvPlace &place, Value scratch,
                       Value offset, int64_t width, int64_t lanes) {
  auto vectorType = VectorType::get(lanes, sumType);
  Value zero = b.index(0);
  b.loop(zero, place.channels, 1, [&](IndexBuilder &b, Value i) {
    Value channel = b.add(place.channel, i);
    for (int64_t begin = 0; begin < width; begin += lanes) {
      Value from = b.add(b.add(offset, b.mul(i, width)), begin);
      Value values = vector::LoadOp::create(b, vectorType, scratch, from);
      Value mask =
          makeLaneMask(b, lanes, zero, b.sub(place.pixels, b.index(begin)));
      // Pixels are counted along the columns: no operand needs the row alone.
      Value indices[] = {place.image, channel, zero, b.add(place.pixel, begin)};
      epilogue.finish(b, values, indices, mask);
    }
  });
}

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// The tensor of which dimension `axis` of four becomes a known number of
/// groups and their parts.
static Value findUngrouped(Value tensor, int64_t axis, int64_t &groups) {
  auto expand = tensor.getDefiningOp<tensor::ExpandShapeOp>();
  if (!expand || expand.getSrcType().getRank() != 4)
    return {};
  SmallVector<ReassociationIndices> indices;
  for (int64_t i = 0; i < 4; ++i)
    indices.push_back({i <= axis ? i : i + 1});
  indices[axis].push_back(axis + 1);
  groups = expand.getResultType().getDimSize(axis);
  if (expand.getReassociationIndices() != indices || groups <= 0)
    return {};
  return expand.getSrc();
}

/// Returns the number of output channels of a panel that weights are unpacked
/// from; 0 where they are not of this layout. Words are of the last one of the
/// other dimensions.
static int64_t matchPanels(linalg::UnPackOp op, ArrayRef<int64_t> rowOrder,
                           int64_t wordSize) {
  auto type = cast<ShapedType>(op.getSource().getType());
  SmallVector<int64_t> order = {0}, tiled = {0};
  order.append(rowOrder.begin(), rowOrder.end());
  if (wordSize > 1)
    tiled.push_back(rowOrder.back());
  if (!type.hasStaticShape() || op.getInnerDimsPos() != ArrayRef(tiled) ||
      op.getOuterDimsPerm() != ArrayRef(order) ||
      (wordSize > 1 && op.getStaticInnerTiles().back() != wordSize))
    return 0;
  return op.getStaticInnerTiles().front();
}

/// The transformed weights that an operation computes weights from; null where
/// it does not say so.
static Value matchTransformed(Value filter,
                              std::optional<WinogradTile> &winograd) {
  Operation *op = filter.getDefiningOp();
  IntegerAttr outputs =
      op ? RelaxDialect::WinogradAttrHelper(op->getContext()).getAttr(op)
         : IntegerAttr();
  if (!outputs || op->getNumRegions() != 1 ||
      (outputs.getInt() != 2 && outputs.getInt() != 4))
    return {};
  auto reads = op->getRegion(0).getOps<tensor::ExtractOp>();
  if (reads.empty())
    return {};
  auto getWindow = [](Value weights) {
    return cast<ShapedType>(weights.getType()).getShape().take_back(2);
  };
  ArrayRef<int64_t> window = getWindow(filter);
  if (!llvm::all_of(window, [](int64_t size) {
        return size == 1 || size == Winograd::kWindow;
      }))
    return {};
  winograd.emplace(outputs.getInt(), window[0], window[1]);
  Value tiles = (*reads.begin()).getTensor();
  ArrayRef<int64_t> sizes = getWindow(tiles);
  bool isTile =
      sizes[0] == winograd->rows.size() && sizes[1] == winograd->columns.size();
  return isTile ? tiles : Value();
}

/// Whether the operation is a convolution of these types, with the loops and
/// operands in order.
bool ConvParts::matchLoops(const TargetModel &target, bool hasHalves) {
  if (!op || !isSumOfProducts(op))
    return false;
  FactorType image = FactorType::get(op, 0), weight = FactorType::get(op, 1);
  sumType = getElementTypeOrSelf(op->getOperand(2).getType());
  auto isFloat = [&](Type type) {
    return type.isF32() || (hasHalves && (type.isF16() || type.isBF16()));
  };
  isImageUnsigned = image.isUnsigned;
  isWeightUnsigned = weight.isUnsigned;
  if (!isFloat(image.element) || weight.element != image.element ||
      !sumType.isF32()) {
    // Few processors have masks for elements this small.
    bool areFloats = isa<FloatType>(sumType);
    auto isNarrow = [&](Type type) {
      return areFloats ? type.isF16() || type.isBF16() : type.isInteger(8);
    };
    if (hasHalves || !target.has("avx512bw") || !isNarrow(image.element) ||
        !isNarrow(weight.element) ||
        (!sumType.isF32() && !sumType.isInteger(32)))
      return false;
    // Weights are the left matrix.
    words = WordProducts::find(weight, image, sumType, target);
  }
  auto loops = matchWindows(op, rows, columns);
  return loops && loops->batch.size() == 1 && loops->depth.size() <= 1 &&
         loops->outputChannel.size() == 1 && loops->inputChannel.size() == 1;
}

/// Replaces tensors in which groups are a dimension by those that they are
/// reshaped from, and the result by what it is reshaped to.
bool ConvParts::matchGroups(Value &data, Value &filter, Value &result) {
  if (cast<ShapedType>(result.getType()).getRank() == 4)
    return true;
  int64_t filterGroups = 0;
  data = findUngrouped(data, /*axis=*/1, groups);
  filter = findUngrouped(filter, /*axis=*/0, filterGroups);
  if (!data || !filter || filterGroups != groups || !result.hasOneUse())
    return false;
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(*result.user_begin());
  if (!collapse || collapse.getReassociationIndices() !=
                       SmallVector<ReassociationIndices>{{0}, {1, 2}, {3}, {4}})
    return false;
  result = collapse.getResult();
  return true;
}

/// Whether the image is a parameter, which may be padded with zeros.
bool ConvParts::matchImage(Value data) {
  TypedAttr zero;
  Value inner = matchPadding(data, rows, columns, zero);
  isPadded = bool(inner);
  image = dyn_cast<BlockArgument>(inner ? inner : data);
  return image && (!inner || zero == Builder(op).getZeroAttr(zero.getType()));
}

/// Whether the weights are a parameter, as they are or in panels. Transformed
/// ones are in panels.
bool ConvParts::matchWeight(Value filter, int64_t lanes, int64_t &panelWidth) {
  auto type = cast<ShapedType>(filter.getType());
  inChannels = type.getDimSize(1);
  outChannels = type.getDimSize(0);
  if (!type.isDynamicDim(0))
    outChannels /= groups;
  if (Value tiles = matchTransformed(filter, winograd))
    filter = tiles;
  auto unpack = filter.getDefiningOp<linalg::UnPackOp>();
  weight = dyn_cast<BlockArgument>(unpack ? unpack.getSource() : filter);
  if (!unpack)
    return weight && !winograd;
  panelWidth = matchPanels(unpack, getWeightOrder(), wordSize());
  hasRowPanels = prefersPixelLanes();
  return weight && type.hasStaticShape() && panelWidth > 0 &&
         (hasRowPanels ? panelWidth == blocking.rows
                       : panelWidth % lanes == 0) &&
         (groups == 1 || outChannels % panelWidth == 0);
}

/// Whether there is an algorithm for narrow elements. Of groups with few
/// channels, words and tiles would be empty for the most part.
bool ConvParts::isSupported() const {
  if (isDepthwise())
    return true;
  return words && words->areFused() && !words->movesLhs() && inChannels > 0 &&
         (groups == 1 || inChannels >= 4);
}

/// There are no words of channels. Those of columns are made of a vector.
void ConvParts::makeColumnWords(int64_t lanes) {
  columnWords = std::exchange(words, std::nullopt);
  if (columnWords && (!columnWords->areFused() || columnWords->movesLhs() ||
                      getColumnSpan(lanes) > lanes * columnWords->size()))
    columnWords.reset();
}

std::optional<ConvParts> ConvParts::match(func::FuncOp kernel,
                                          const TargetModel &target,
                                          bool hasHalves) {
  ConvParts parts;
  parts.op = findReduction(kernel.getBody().front());
  if (!parts.matchLoops(target, hasHalves))
    return std::nullopt;
  parts.givenTile = KernelSchedule::get(kernel).tile;
  parts.blocking = MatmulBlocking::get(target.vectorBits, target.l1Bytes,
                                       target.l2Bytes, /*elementBits=*/32,
                                       /*areFused=*/true, parts.givenTile);
  Value data = parts.op->getOperand(0), filter = parts.op->getOperand(1);
  Value result = parts.op->getResult(0);
  int64_t lanes = target.lanes(/*bits=*/32), panelWidth = 0;
  if (!parts.matchGroups(data, filter, result) || !parts.matchImage(data) ||
      !parts.matchWeight(filter, lanes, panelWidth))
    return std::nullopt;
  if (!hasHalves && parts.isNarrow() && !parts.isSupported())
    return std::nullopt;
  if (parts.isDepthwise())
    parts.makeColumnWords(lanes);
  FailureOr<Epilogue> epilogue =
      Epilogue::match(kernel, result, {/*first=*/2, /*count=*/2});
  if (failed(epilogue) || epilogue->isOutput(parts.image) ||
      epilogue->isOutput(parts.weight))
    return std::nullopt;
  parts.epilogue = *epilogue;
  parts.l2Bytes = target.l2Bytes;
  if (panelWidth != 0 && !parts.hasRowPanels)
    parts.tile = parts.chooseTile(target, panelWidth / lanes);
  return parts;
}
