//===- ConvParts.h - The parts of a convolution -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matches convolutions, and names the dimensions of their image, weights and
// result: batch, groups, channels, pixels, window.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_CONVPARTS_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_CONVPARTS_H

#include "Epilogue.h"
#include "ImageWindow.h"
#include "KernelClass.h"
#include "MatmulEmitter.h"
#include "Winograd.h"

namespace mlir::relax {

/// Sums of pixels of a row x vectors of output channels, which stay in
/// registers.
struct ConvTile {
  int64_t lanes = 1, pixels = 1, vectors = 1;

  int64_t channels() const { return vectors * lanes; }

  /// Adds to sums, pixel by pixel, the products of pixels in `scratch`,
  /// `stride` elements apart, and of vectors of weights. With `words` they are
  /// words of elements.
  SmallVector<Value>
  addProducts(IndexBuilder &b, ValueRange sums, Value scratch, Value pixel,
              int64_t stride, Value weights, Value weight,
              const std::optional<WordProducts> &words = std::nullopt) const;

  /// The tile that takes the least time for rows of `width` pixels (which may
  /// be dynamic) and groups of `channels`. `vectors` may be known; with
  /// `fillsPanels` they divide the channels.
  static ConvTile get(const TargetModel &target, int64_t width,
                      int64_t channels, int64_t depth,
                      std::optional<int64_t> vectors = std::nullopt,
                      bool fillsPanels = false);
};

/// The position of sums in the result: some pixels of a row of some output
/// channels.
struct ConvPlace {
  Value image, channel, pixel; // the first ones
  Value channels, pixels;      // how many there are
};

/// An image of memory, of one group of channels.
struct Image {
  Value base, offset;
  Value channels, height, width;
};

/// A kernel that convolves images in NCHW with weights in OIHW, which are of
/// f32 or of what WordProducts has instructions for. Depthwise ones may be of
/// any elements that are narrow, with sums of 32 bits. With `hasHalves`, for
/// devices, image and weights may be of f16 or bf16 instead; sums are of f32.
struct ConvParts {
  static std::optional<ConvParts>
  match(func::FuncOp kernel, const TargetModel &target, bool hasHalves = false);

  linalg::LinalgOp op;
  BlockArgument image, weight;
  Type sumType;
  /// Words are made of input channels, or of columns of the window; the weights
  /// have to be in panels then.
  std::optional<WordProducts> words;
  /// Words are made of neighboring columns, in a depthwise convolution.
  std::optional<WordProducts> columnWords;
  bool isImageUnsigned = false, isWeightUnsigned = false;
  int64_t groups = 1;
  /// Of a group; may be dynamic where the weights are not in panels.
  int64_t inChannels, outChannels;
  Window rows, columns;
  bool isPadded = false;
  /// Where the weights come in panels of output channels.
  std::optional<ConvTile> tile;
  /// Where they come in panels of as many output channels as the tile of a
  /// product has rows, so that pixels are lanes.
  bool hasRowPanels = false;
  /// Where they are transformed; then the pixels of `tile` are tiles.
  std::optional<WinogradTile> winograd;
  Epilogue epilogue;
  MatmulBlocking blocking;
  int64_t l2Bytes = 0;
  /// The one of a schedule: output channels, pixels.
  ArrayRef<int64_t> givenTile;

  /// The pixels of a row of the result; may be dynamic.
  int64_t getWidth() const {
    return cast<ShapedType>(epilogue.getOutput().getType()).getDimSize(3);
  }
  int64_t getHeight() const {
    return cast<ShapedType>(epilogue.getOutput().getType()).getDimSize(2);
  }
  /// The pixels of the result; may be dynamic.
  int64_t countPixels() const {
    int64_t width = getWidth(), height = getHeight();
    return ShapedType::isDynamicShape({height, width}) ? ShapedType::kDynamic
                                                       : height * width;
  }
  /// Whether elements are of 8 or 16 bits.
  bool isNarrow() const {
    return !getElementTypeOrSelf(image.getType()).isF32();
  }
  int64_t wordSize() const { return words ? words->size() : 1; }
  /// How many words the channels of an element of the window are.
  int64_t wordsOfChannels() const {
    return llvm::divideCeil(inChannels, wordSize());
  }
  /// The pixels of the channels of a word, where the row of an image's first
  /// channel begins at `row`, and zeros of channels that there are not.
  Value loadWord(IndexBuilder &b, const RowLoader::Load &load, Value row,
                 Value word, Value channelSize) const;
  /// How many neighboring elements of a row have a word of columns of each of
  /// `lanes` windows: a power of 2.
  int64_t getColumnSpan(int64_t lanes) const {
    int64_t last = (lanes - 1) * columns.stride +
                   (columnWords->size() - 1) * columns.dilation;
    return llvm::PowerOf2Ceil(last + 1);
  }
  /// The number of products of a sum, where it is known.
  int64_t getDepth() const { return inChannels * rows.size * columns.size; }

  /// Whether pixels are lanes, and not output channels.
  bool prefersPixelLanes() const;

  /// Whether the columns of a window are the innermost dimension of weights in
  /// panels, of which words are made.
  bool hasColumnsInside() const;

  /// The order in which panels have the dimensions of weights but for the
  /// output channels: rows of the window, then its columns and input channels,
  /// the larger of which is innermost. Where pixels are lanes it is their own,
  /// unless words are made of channels.
  SmallVector<int64_t> getWeightOrder() const {
    if (hasColumnsInside())
      return {2, 1, 3};
    if (prefersPixelLanes() && !words)
      return {1, 2, 3};
    return {2, 3, 1};
  }

  /// The tiles that take the least time, where that is less than without; the
  /// weights are constants.
  std::optional<WinogradTile> chooseWinograd(const TargetModel &target) const;
  /// The tile of sums for weights that are constants: the one of a schedule, or
  /// the one that takes the least time.
  ConvTile chooseTile(const TargetModel &target,
                      std::optional<int64_t> vectors = std::nullopt) const;
  /// The maximum number of tiles of a task.
  int64_t getMostTiles(const WinogradTile &winograd) const;

  /// Does what follows on sums in scratch memory: `width` for each channel.
  void finish(IndexBuilder &b, const ConvPlace &place, Value scratch,
              Value offset, int64_t width, int64_t lanes);

  /// Whether a window is one element, the place of which is that of the pixel.
  bool isPointwise() const {
    return rows.size == 1 && columns.size == 1 && rows.stride == 1 &&
           columns.stride == 1 && !isPadded;
  }

  /// Whether output channels have one input channel each, and windows that are
  /// small enough to be unrolled.
  bool isDepthwise() const {
    constexpr int64_t kMostProducts = 64;
    return groups > 1 && inChannels == 1 && !tile &&
           !ShapedType::isDynamic(outChannels) &&
           rows.size * columns.size <= kMostProducts;
  }

private:
  bool prefersPixelLanesOfWords() const;
  bool isSupported() const;
  void makeColumnWords(int64_t lanes);
  bool matchLoops(const TargetModel &target, bool hasHalves);
  bool matchGroups(Value &data, Value &filter, Value &result);
  bool matchImage(Value data);
  bool matchWeight(Value filter, int64_t lanes, int64_t &panelWidth);
};

/// Emits a convolution whose weights are in panels.
void emitDirectConv(IndexBuilder &b, func::FuncOp kernel, ConvParts &parts,
                    ValueRange arguments);

/// Emits a convolution of single channels.
void emitDepthwiseConv(IndexBuilder &b, func::FuncOp kernel, ConvParts &parts,
                       ValueRange arguments);

/// Emits a convolution whose weights are transformed, and in panels.
void emitWinogradConv(IndexBuilder &b, func::FuncOp kernel, ConvParts &parts,
                      ValueRange arguments);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_CONVPARTS_H
