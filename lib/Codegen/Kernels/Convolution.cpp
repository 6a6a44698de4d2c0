//===- Convolution.cpp - Convolution as an implicit GEMM --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is a product of matrices, one for each image and group of
// channels: weights (output channels x window) by windows (window x pixels),
// where a column of the right matrix is the window at a pixel over all input
// channels. Only the panel that the innermost loops read is materialized; it is
// packed from the image, with zeros for padding.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"

#include "Contraction.h"
#include "ConvParts.h"
#include "GPU/Matmul.h"
#include "GPU/WindowMatrix.h"
#include "KernelTile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Windows of an image
//===----------------------------------------------------------------------===//

namespace {
/// Writes the columns of the right matrix: what windows have of an image.
class WindowPacker {
public:
  WindowPacker(const ConvParts &parts, const Image &image, Value outWidth)
      : parts(parts), rows(parts.rows), columns(parts.columns),
        lanes(parts.blocking.lanes), panelWidth(parts.blocking.columns()),
        image(image), outWidth(outWidth) {}

  void pack(IndexBuilder &b, const MatmulProblem::Columns &panel, Value scratch,
            Value offset);

private:
  /// Pixels of one row that fill a vector.
  struct Pixels {
    Value row, column, count;
  };
  void packPixels(IndexBuilder &b, const Pixels &pixels,
                  const MatmulProblem::Columns &panel, Value scratch,
                  Value offset);
  void
  loopOverChannels(IndexBuilder &b, Value element,
                   const MatmulProblem::Columns &panel,
                   llvm::function_ref<void(IndexBuilder &, Value, Value)> body);
  const ConvParts &parts;
  Window rows, columns;
  int64_t lanes, panelWidth;
  Image image;
  Value outWidth;
};
} // namespace

/// Pixels of a panel lie in several rows, each of which is as many vectors as
/// it needs.
void WindowPacker::pack(IndexBuilder &b, const MatmulProblem::Columns &panel,
                        Value scratch, Value offset) {
  Value end = b.add(panel.column, panel.columns);
  Value firstRow = b.floorDiv(panel.column, outWidth);
  Value rowsEnd = b.add(b.floorDiv(b.sub(end, b.index(1)), outWidth), 1);
  b.loop(firstRow, rowsEnd, 1, [&](IndexBuilder &b, Value row) {
    Value rowBegin = b.mul(row, outWidth);
    Value from = b.max(rowBegin, panel.column);
    Value to = b.min(b.add(rowBegin, outWidth), end);
    b.loop(from, to, lanes, [&](IndexBuilder &b, Value pixel) {
      Value count = b.min(b.sub(to, pixel), b.index(lanes));
      packPixels(b, {row, b.sub(pixel, rowBegin), count}, panel, scratch,
                 b.add(offset, b.sub(pixel, panel.column)));
    });
  });
}

/// The place of an element of a window, and whether it is in the image: row or
/// column `at` of the result, element `i` of the window.
static std::pair<Value, Value> findInWindow(IndexBuilder &b,
                                            const Window &window, Value at,
                                            Value i, Value size) {
  Value place =
      b.sub(b.add(b.mul(at, window.stride), b.mul(i, window.dilation)),
            b.index(window.padding));
  Value isInside = b.isInside(place, size);
  return {place, isInside};
}

/// Calls `body` with each channel, or word of channels, of an element of the
/// window that is in a panel, and with its row there. A word has channels of
/// one element; other channels have the elements of their windows together.
void WindowPacker::loopOverChannels(
    IndexBuilder &b, Value element, const MatmulProblem::Columns &panel,
    llvm::function_ref<void(IndexBuilder &, Value, Value)> body) {
  if (parts.words) {
    Value words = b.index(parts.wordsOfChannels());
    Value first = b.mul(element, words);
    Value begin = b.max(b.sub(panel.begin, first), b.index(0));
    Value end = b.min(b.sub(b.add(panel.begin, panel.depth), first), words);
    b.loop(begin, end, 1, [&](IndexBuilder &b, Value word) {
      body(b, word, b.sub(b.add(first, word), panel.begin));
    });
    return;
  }
  // From the first channel on whose element is not before the panel.
  int64_t size = rows.size * columns.size;
  Value rest = b.sub(b.index(size - 1), element);
  Value begin = b.floorDiv(b.add(panel.begin, rest), b.index(size));
  Value end =
      b.floorDiv(b.add(b.add(panel.begin, panel.depth), rest), b.index(size));
  b.loop(begin, end, 1, [&](IndexBuilder &b, Value channel) {
    body(b, channel, b.sub(b.add(b.mul(channel, size), element), panel.begin));
  });
}

/// Stores some lanes. Where there are no registers for masks, what the other
/// lanes have is stored again: no other thread has this scratch memory, which
/// has room for them.
static void storeSome(IndexBuilder &b, Value scratch, Value place, Value mask,
                      Value values) {
  auto type = cast<VectorType>(values.getType());
  if (hasMaskRegisters(type)) {
    vector::MaskedStoreOp::create(b, scratch, place, mask, values);
    return;
  }
  Value others = vector::LoadOp::create(b, type, scratch, place);
  vector::StoreOp::create(b, arith::SelectOp::create(b, mask, values, others),
                          scratch, place);
}

/// For each element of the window, the same pixels of all channels: where the
/// image ends is the same for them.
void WindowPacker::packPixels(IndexBuilder &b, const Pixels &pixels,
                              const MatmulProblem::Columns &panel,
                              Value scratch, Value offset) {
  Value zero = b.index(0);
  Value channelSize = b.mul(image.height, image.width);
  Value count = makeLaneMask(b, lanes, zero, pixels.count);
  auto type = VectorType::get(
      lanes, cast<MemRefType>(image.base.getType()).getElementType());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  RowLoader loader(image.base, image.width, columns.stride, zeros);
  b.loop(zero, b.index(rows.size), 1, [&](IndexBuilder &b, Value i) {
    Value row, isInside;
    std::tie(row, isInside) =
        findInWindow(b, rows, pixels.row, i, image.height);
    Value rowOffset = b.add(image.offset, b.mul(row, image.width));
    b.loop(zero, b.index(columns.size), 1, [&](IndexBuilder &b, Value j) {
      Value first = b.sub(b.add(b.mul(pixels.column, columns.stride),
                                b.mul(j, columns.dilation)),
                          b.index(columns.padding));
      RowLoader::Load load = loader.prepare(b, first, pixels.count, isInside);
      Value element = b.add(b.mul(i, columns.size), j);
      auto pack = [&](IndexBuilder &b, Value channel, Value k) {
        Value values =
            parts.words
                ? parts.loadWord(b, load, rowOffset, channel, channelSize)
                : load(b, b.add(rowOffset, b.mul(channel, channelSize)));
        storeSome(b, scratch, b.add(offset, b.mul(k, panelWidth)), count,
                  values);
      };
      loopOverChannels(b, element, panel, pack);
    });
  });
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// The right matrix is that of windows of an image, element by element.
static void emitWindowMatmul(IndexBuilder &b, const ConvParts &parts,
                             MatmulProblem &problem, const Image &whole,
                             Value outWidth) {
  Value imageSize = b.mul(whole.channels, b.mul(whole.height, whole.width));
  auto emit = [&](IndexBuilder &in, bool isSmall) {
    problem.rhs = [&, isSmall](IndexBuilder &b, Value batch) {
      Image image = whole;
      image.offset = b.mul(batch, imageSize);
      return viewWindows(b, parts, image, outWidth, isSmall);
    };
    emitDeviceMatmul(in, problem);
  };
  // Sums of a few places are small, too.
  constexpr int64_t kSmall = int64_t(1) << 29;
  Value isSmall =
      b.isAtMost(b.max(b.max(imageSize, problem.n), problem.k), kSmall);
  // An image of no pixels has padding alone, and no memory.
  Value hasPixels = b.compare(arith::CmpIPredicate::ne, imageSize, b.index(0));
  problem.k = b.createOrFold<arith::SelectOp>(hasPixels, problem.k, b.index(0));
  b.branch(
      isSmall, [&](IndexBuilder &in) { emit(in, /*isSmall=*/true); },
      [&](IndexBuilder &in) { emit(in, /*isSmall=*/false); });
}

/// The right matrix is that of windows: packed a panel at a time, or element by
/// element on devices.
static void emitImplicitGemm(IndexBuilder &b, func::FuncOp kernel,
                             ConvParts &parts, ValueRange arguments,
                             bool isOnDevice) {
  Value data = arguments[parts.image.getArgNumber()];
  Value weight = arguments[parts.weight.getArgNumber()];
  Value output = arguments[parts.epilogue.getOutput().getArgNumber()];
  parts.epilogue.begin(b, kernel, arguments);

  Value groups = b.index(parts.groups);
  Image whole;
  whole.base = flatten(b, data);
  whole.channels = b.floorDiv(getDim(b, data, 1), groups);
  whole.height = getDim(b, data, 2);
  whole.width = getDim(b, data, 3);
  Value outWidth = getDim(b, output, 3);
  Value channelSize = b.mul(whole.height, whole.width);
  Value imageSize = b.mul(whole.channels, channelSize);

  MatmulProblem problem;
  problem.batch = b.mul(getDim(b, output, 0), groups);
  problem.m = b.floorDiv(getDim(b, output, 1), groups);
  problem.n = b.mul(getDim(b, output, 2), outWidth);
  problem.k = b.mul(whole.channels, parts.rows.size * parts.columns.size);
  problem.sumType = parts.sumType;
  problem.words = parts.words;
  Value depth = problem.k; // of a column of weights, in words if there are any
  if (parts.words) {
    depth =
        b.index(parts.wordsOfChannels() * parts.rows.size * parts.columns.size);
    if (!parts.isPointwise()) // where the last word may have fewer channels
      problem.k = b.mul(depth, parts.wordSize());
  }
  problem.isLhsPacked = parts.hasRowPanels;
  MatrixView weights = {flatten(b, weight), b.index(0), problem.k, b.index(1)};
  problem.lhs = [&, depth](IndexBuilder &b, Value batch) {
    MatrixView view = weights;
    view.offset = b.mul(b.rem(batch, groups), b.mul(problem.m, depth));
    return view;
  };
  if (parts.isPointwise())
    problem.rhs = [&](IndexBuilder &b, Value batch) {
      return MatrixView{whole.base, b.mul(batch, imageSize), channelSize,
                        b.index(1), parts.isImageUnsigned};
    };
  else if (!isOnDevice)
    problem.packRhs = [&](IndexBuilder &b, const MatmulProblem::Columns &panel,
                          Value scratch, Value offset) {
      Image image = whole;
      image.offset = b.mul(panel.batch, imageSize);
      WindowPacker(parts, image, outWidth).pack(b, panel, scratch, offset);
    };
  // Pixels are counted along the columns: no operand needs the row alone.
  auto getIndices = [&](IndexBuilder &b, const MatmulProblem::Place &place) {
    Value group = b.rem(place.batch, groups);
    Value channel = b.add(b.mul(group, problem.m), place.row);
    return SmallVector<Value>{b.floorDiv(place.batch, groups), channel,
                              b.index(0), place.column};
  };
  problem.finish = [&](IndexBuilder &b, Value sums,
                       const MatmulProblem::Place &place) {
    parts.epilogue.finish(b, sums, getIndices(b, place), place.mask,
                          place.isAligned);
  };
  constexpr int64_t kFewSteps = 256;
  problem.isShallow = parts.inChannels > 0 && parts.getDepth() <= kFewSteps;
  if (problem.isShallow)
    problem.prefetchResult = [&](IndexBuilder &b,
                                 const MatmulProblem::Place &place,
                                 int64_t columns) {
      parts.epilogue.prefetch(b, getIndices(b, place), columns);
    };
  problem.canAlign = [&](IndexBuilder &b, int64_t pixels) {
    return areAligned(b, arguments, problem.n, pixels);
  };
  if (!isOnDevice)
    emitMatmul(b, problem, parts.blocking);
  else if (problem.rhs)
    emitDeviceMatmul(b, problem);
  else
    emitWindowMatmul(b, parts, problem, whole, outWidth);
}

static void emitOnHost(IndexBuilder &b, func::FuncOp kernel, ConvParts &parts,
                       ValueRange arguments) {
  emitImplicitGemm(b, kernel, parts, arguments, /*isOnDevice=*/false);
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchConv2d(func::FuncOp kernel, const TargetModel &target) {
  std::optional<ConvParts> parts = ConvParts::match(kernel, target);
  if (!parts || (parts->words && !parts->hasRowPanels && !parts->tile))
    return nullptr;
  auto *emit = parts->winograd        ? emitWinogradConv
               : parts->tile          ? emitDirectConv
               : parts->isDepthwise() ? emitDepthwiseConv
                                      : emitOnHost;
  return makeEmitter([=, parts = *std::move(parts)](
                         IndexBuilder &b, ValueRange arguments) mutable {
    emit(b, kernel, parts, arguments);
  });
}

LogicalResult mlir::relax::verifyConv2dTile(func::FuncOp kernel,
                                            const TargetModel &target) {
  std::optional<ConvParts> parts = ConvParts::match(kernel, target);
  if (parts && parts->isDepthwise())
    return rejectTile(kernel, "a depthwise convolution");
  TileKind kind = parts && parts->tile ? TileKind::VectorsByPixels
                                       : TileKind::RowsByVectors;
  return verifyTile(kernel, kind, target.lanes(/*bits=*/32), "output channels",
                    "pixels");
}

/// Tiles of a product with fewer rows would be empty for the most part.
static constexpr int64_t kLeastChannels = 8;

std::unique_ptr<KernelEmitter>
mlir::relax::matchDeviceConv2d(func::FuncOp kernel, const TargetModel &target) {
  std::optional<ConvParts> parts =
      ConvParts::match(kernel, target, /*hasHalves=*/true);
  bool hasFewChannels = parts && !ShapedType::isDynamic(parts->outChannels) &&
                        parts->outChannels < kLeastChannels;
  if (!parts || parts->tile || parts->hasRowPanels || parts->winograd ||
      hasFewChannels)
    return nullptr;
  return makeEmitter([=, parts = *std::move(parts)](
                         IndexBuilder &b, ValueRange arguments) mutable {
    emitImplicitGemm(b, kernel, parts, arguments, /*isOnDevice=*/true);
  });
}

std::optional<PackedMatrix>
mlir::relax::findPackableWeight(func::FuncOp kernel, const TargetModel &target,
                                bool winograd) {
  std::optional<ConvParts> parts = ConvParts::match(kernel, target);
  if (!parts || parts->tile || parts->hasRowPanels ||
      (parts->isNarrow() && !parts->words))
    return std::nullopt;
  auto type = cast<RankedTensorType>(parts->weight.getType());
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return std::nullopt;
  // Nothing else needs the weights as they are.
  auto isWeight = [&](OpOperand &use) {
    Operation *user = use.getOwner();
    return isa<tensor::DimOp>(user) ||
           (user == parts->op && use.getOperandNumber() == 1) ||
           (parts->groups != 1 && isa<tensor::ExpandShapeOp>(user));
  };
  if (!llvm::all_of(parts->weight.getUses(), isWeight))
    return std::nullopt;
  // No panel is of two groups.
  int64_t channels = parts->outChannels, rows = parts->blocking.rows;
  auto fits = [&](int64_t width) {
    return parts->groups == 1 || channels % width == 0;
  };
  if (parts->prefersPixelLanes())
    return fits(rows) ? std::optional(PackedMatrix{
                            parts->weight.getArgNumber(), /*columnAxis=*/0,
                            rows, parts->getWeightOrder(),
                            /*winograd=*/std::nullopt, parts->wordSize()})
                      : std::nullopt;
  // Channels are lanes: there are enough of them. A tile of a schedule is one
  // of pixels, of which transformed ones have none.
  if (winograd && parts->givenTile.empty() && !parts->words)
    parts->winograd = parts->chooseWinograd(target);
  ConvTile tile = parts->chooseTile(target);
  if (channels < tile.lanes / 2 || !fits(tile.channels()))
    return std::nullopt;
  return PackedMatrix{
      parts->weight.getArgNumber(), /*columnAxis=*/0, tile.channels(),
      parts->getWeightOrder(),      parts->winograd,  parts->wordSize()};
}
