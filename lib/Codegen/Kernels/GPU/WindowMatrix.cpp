//===- WindowMatrix.cpp - Windows of an image on GPUs -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread loads elements of several rows of the matrix, which are elements of
// a window, and of several columns, which are pixels. It computes what depends
// on the row alone for each row, and on the column alone before the loop over
// the depth. What is left for an element is a sum of two places, and whether it
// is in the image: a bit for each element of a small window.
//
//===----------------------------------------------------------------------===//

#include "WindowMatrix.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::relax;

/// The most elements of a window that have bits.
static constexpr int64_t kMostBits = 64;

namespace {
/// Computes with places in an image, as numbers of 32 bits where these do:
/// there is an instruction for each operation then.
class PlaceBuilder {
public:
  PlaceBuilder(IndexBuilder &b, bool isSmall)
      : b(b), type(isSmall ? Type(b.getI32Type()) : Type(b.getIndexType())) {}

  Value cast(Value value) { return castTo(type, value); }
  Value number(int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }
  Value mul(Value value, int64_t factor) {
    return b.mul(value, number(factor));
  }
  Value toIndex(Value place) { return castTo(b.getIndexType(), place); }

private:
  Value castTo(Type wanted, Value value) {
    return value.getType() == wanted
               ? value
               : b.createOrFold<arith::IndexCastOp>(wanted, value);
  }

  IndexBuilder &b;
  Type type;
};

/// Numbers with a bit for each element of a window.
class BitBuilder {
public:
  BitBuilder(IndexBuilder &b, int64_t count)
      : b(b), type(b.getIntegerType(count <= 32 ? 32 : 64)) {}

  Value none() { return number(0); }
  Value first() { return number(1); }
  Value where(Value condition, Value bits) {
    return b.createOrFold<arith::SelectOp>(condition, bits, none());
  }
  Value combine(Value lhs, Value rhs) {
    return b.createOrFold<arith::OrIOp>(lhs, rhs);
  }
  Value shift(Value bits, int64_t count) {
    return b.createOrFold<arith::ShLIOp>(bits, number(count));
  }
  Value shift(Value bits, Value count) {
    Value cast = count.getType().isIndex()
                     ? b.createOrFold<arith::IndexCastOp>(type, count)
                 : count.getType() == type
                     ? count
                     : b.createOrFold<arith::ExtUIOp>(type, count);
    return b.createOrFold<arith::ShLIOp>(bits, cast);
  }
  Value haveCommon(Value lhs, Value rhs) {
    return b.compare(arith::CmpIPredicate::ne,
                     b.createOrFold<arith::AndIOp>(lhs, rhs), none());
  }

private:
  Value number(int64_t value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }

  IndexBuilder &b;
  Type type;
};

class WindowMatrix {
public:
  WindowMatrix(IndexBuilder &b, const ConvParts &parts, const Image &image,
               Value outWidth, bool isSmall)
      : b(b), places(b, isSmall), rows(parts.rows), columns(parts.columns),
        image(image), height(places.cast(image.height)),
        width(places.cast(image.width)), outWidth(places.cast(outWidth)) {}

  Value load(Value depth, Value pixel, Value isDepth, Value isPixel);

private:
  /// An element of windows, whatever the pixel: its channel, its place in a
  /// window, and the row and the column of that.
  struct Element {
    Value channel, place, row, column;
  };
  /// The first element of the window of a pixel, counted from the first one of
  /// the padding.
  struct Corner {
    Value row, column;
  };

  Element findElement(Value depth);
  Corner findCorner(Value pixel);
  Value isInImage(const Window &window, Value place, Value size);
  Value findBits(BitBuilder &bits, const Corner &corner);
  Value isInside(const Element &element, const Corner &corner, Value isDepth,
                 Value isPixel);

  IndexBuilder &b;
  PlaceBuilder places;
  const Window &rows, &columns;
  const Image &image;
  Value height, width, outWidth;
};
} // namespace

WindowMatrix::Element WindowMatrix::findElement(Value depth) {
  Value at = places.cast(depth);
  Value size = places.number(rows.size * columns.size),
        across = places.number(columns.size);
  Value place = b.rem(at, size);
  return {b.floorDiv(at, size), place,
          places.mul(b.floorDiv(place, across), rows.dilation),
          places.mul(b.rem(place, across), columns.dilation)};
}

WindowMatrix::Corner WindowMatrix::findCorner(Value pixel) {
  Value at = places.cast(pixel);
  return {places.mul(b.floorDiv(at, outWidth), rows.stride),
          places.mul(b.rem(at, outWidth), columns.stride)};
}

/// Whether row or column `place`, counted from the first one of the padding, is
/// in the image.
Value WindowMatrix::isInImage(const Window &window, Value place, Value size) {
  // One comparison tells what is before the image, too.
  return b.compare(arith::CmpIPredicate::ult,
                   b.sub(place, places.number(window.padding)), size);
}

/// The elements of the window of a pixel that are in the image, a bit for each.
Value WindowMatrix::findBits(BitBuilder &bits, const Corner &corner) {
  Value ofRow = bits.none(), all = bits.none();
  for (int64_t i = 0; i < columns.size; ++i) {
    Value column = b.add(corner.column, places.number(i * columns.dilation));
    Value bit = bits.where(isInImage(columns, column, width),
                           bits.shift(bits.first(), i));
    ofRow = bits.combine(ofRow, bit);
  }
  for (int64_t i = 0; i < rows.size; ++i) {
    Value row = b.add(corner.row, places.number(i * rows.dilation));
    Value those = bits.where(isInImage(rows, row, height),
                             bits.shift(ofRow, i * columns.size));
    all = bits.combine(all, those);
  }
  return all;
}

/// Whether an element of the window of a pixel is one of the matrix and in the
/// image.
Value WindowMatrix::isInside(const Element &element, const Corner &corner,
                             Value isDepth, Value isPixel) {
  int64_t size = rows.size * columns.size;
  if (size <= kMostBits) {
    BitBuilder bits(b, size);
    Value bit = bits.where(isDepth, bits.shift(bits.first(), element.place));
    return bits.haveCommon(bits.where(isPixel, findBits(bits, corner)), bit);
  }
  Value result = b.createOrFold<arith::AndIOp>(isDepth, isPixel);
  for (Value condition :
       {isInImage(rows, b.add(corner.row, element.row), height),
        isInImage(columns, b.add(corner.column, element.column), width)})
    result = b.createOrFold<arith::AndIOp>(result, condition);
  return result;
}

Value WindowMatrix::load(Value depth, Value pixel, Value isDepth,
                         Value isPixel) {
  Element element = findElement(depth);
  Corner corner = findCorner(pixel);
  Value isLoaded = isInside(element, corner, isDepth, isPixel);
  Value ofElement =
      b.add(b.mul(b.add(b.mul(element.channel, height), element.row), width),
            element.column);
  Value ofPixel =
      b.add(b.mul(b.sub(corner.row, places.number(rows.padding)), width),
            b.sub(corner.column, places.number(columns.padding)));
  Value place = arith::SelectOp::create(b, isLoaded, b.add(ofElement, ofPixel),
                                        places.number(0));
  Value loaded = memref::LoadOp::create(
      b, image.base, b.add(image.offset, places.toIndex(place)));
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(loaded.getType()));
  return arith::SelectOp::create(b, isLoaded, loaded, zero);
}

MatrixView mlir::relax::viewWindows(IndexBuilder &b, const ConvParts &parts,
                                    const Image &image, Value outWidth,
                                    bool isSmall) {
  MatrixView view = {image.base, image.offset, outWidth, b.index(1)};
  view.element = [&parts, image, outWidth,
                  isSmall](IndexBuilder &in, Value depth, Value pixel,
                           Value isDepth, Value isPixel) {
    return WindowMatrix(in, parts, image, outWidth, isSmall)
        .load(depth, pixel, isDepth, isPixel);
  };
  view.isWide = !isSmall;
  return view;
}
