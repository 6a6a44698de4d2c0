//===- Convolution.cpp - Kernels that convolve images -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is a product of matrices, one for each image and group of
// channels: weights (output channels x window) by windows (window x pixels),
// where a column of the right matrix is what the window at a pixel has of all
// input channels. There is never more of that matrix than the panel that the
// innermost loops read; it is written from the image, and padding is where the
// image is not.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"

#include "Contraction.h"
#include "Epilogue.h"
#include "MatmulEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

namespace {
/// The window along one dimension of an image: element j of the window at
/// position i is element i * stride + j * dilation - padding of the image.
struct Window {
  int64_t size = 1, stride = 1, dilation = 1, padding = 0;
};

/// What a kernel of this class consists of.
struct ConvParts {
  static std::optional<ConvParts> match(func::FuncOp kernel,
                                        const TargetModel &target);

  BlockArgument image, weight;
  int64_t groups = 1;
  Window rows, columns;
  bool isPadded, isPacked;
  Epilogue epilogue;
  MatmulBlocking blocking;

  /// Whether a window is one element, the place of which is that of the pixel.
  bool isPointwise() const {
    return rows.size == 1 && columns.size == 1 && rows.stride == 1 &&
           columns.stride == 1 && !isPadded;
  }
};
} // namespace

/// Whether the operation is a copy of its operand.
static bool isCopy(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block &body = *op.getBlock();
  return body.getTerminator()->getOperand(0) == body.getArgument(0);
}

/// The tensor that is copied into zeros, and the padding before its rows and
/// columns. Where zeros end does not matter: no window reaches beyond them.
static Value matchPadding(Value data, Window &rows, Window &columns) {
  auto insert = data.getDefiningOp<tensor::InsertSliceOp>();
  if (!insert || insert.getSourceType().getRank() != 4 ||
      !insert.hasUnitStride() || !isZeroFill(insert.getDest()))
    return {};
  ArrayRef<int64_t> offsets = insert.getStaticOffsets();
  if (offsets.size() != 4 || offsets[0] != 0 || offsets[1] != 0 ||
      ShapedType::isDynamicShape(offsets) || offsets[2] < 0 || offsets[3] < 0)
    return {};
  auto copy = insert.getSource().getDefiningOp<linalg::LinalgOp>();
  if (!copy || !isCopy(copy))
    return {};
  rows.padding = offsets[2];
  columns.padding = offsets[3];
  return copy.getDpsInputOperand(0)->get();
}

/// The tensor of which dimension `axis` of four becomes a known number of
/// groups and their parts.
static Value matchGroups(Value tensor, int64_t axis, int64_t &groups) {
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

/// Reads position * stride + element * dilation.
static bool matchWindow(AffineExpr expr, unsigned position, unsigned element,
                        unsigned numLoops, Window &window) {
  MLIRContext *context = expr.getContext();
  auto coefficient = [&](unsigned loop) -> int64_t {
    SmallVector<AffineExpr> ones(numLoops, getAffineConstantExpr(0, context));
    ones[loop] = getAffineConstantExpr(1, context);
    auto value = dyn_cast<AffineConstantExpr>(expr.replaceDims(ones));
    return value ? value.getValue() : 0;
  };
  window.stride = coefficient(position);
  window.dilation = coefficient(element);
  if (window.stride <= 0 || window.dilation <= 0)
    return false;
  AffineExpr expected = getAffineDimExpr(position, context) * window.stride +
                        getAffineDimExpr(element, context) * window.dilation;
  return simplifyAffineExpr(expr - expected, numLoops, 0) ==
         getAffineConstantExpr(0, context);
}

/// Whether the loops of a convolution are image, group (where there are
/// several), output channel, row, column, input channel, row and column of the
/// window, and the operands have them in this order.
static bool matchLoops(linalg::LinalgOp op, Window &rows, Window &columns) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned numLoops = op.getNumLoops();
  bool isGrouped = numLoops == 8;
  if (!(numLoops == 7 || isGrouped) || op.getNumReductionLoops() != 3)
    return false;
  unsigned out = 1 + isGrouped, sum = out + 3;
  for (auto [i, type] : llvm::enumerate(op.getIteratorTypesArray()))
    if ((type == utils::IteratorType::reduction) != (i >= sum))
      return false;
  AffineMap data = maps[0];
  if (data.getNumResults() != numLoops - 3 || data.getNumSymbols() != 0)
    return false;
  auto takes = [&](AffineMap map, ArrayRef<unsigned> loops) {
    return map == AffineMap::getMultiDimMapWithTargets(numLoops, loops,
                                                       op.getContext());
  };
  SmallVector<unsigned> image = {0}, weight, result = {0};
  if (isGrouped) {
    image.push_back(1);
    weight.push_back(1);
    result.push_back(1);
  }
  image.push_back(sum);
  weight.append({out, sum, sum + 1, sum + 2});
  result.append({out, out + 1, out + 2});
  ArrayRef<AffineExpr> windows = data.getResults().take_back(2);
  return takes(AffineMap::get(numLoops, 0, data.getResults().drop_back(2),
                              op.getContext()),
               image) &&
         takes(maps[1], weight) && takes(maps[2], result) &&
         matchWindow(windows[0], out + 1, sum + 1, numLoops, rows) &&
         matchWindow(windows[1], out + 2, sum + 2, numLoops, columns);
}

/// Whether weights are unpacked from panels of `rows` output channels.
static bool isUnpacked(linalg::UnPackOp op, int64_t rows) {
  auto type = cast<ShapedType>(op.getSource().getType());
  return type.getRank() == 5 && type.hasStaticShape() &&
         op.getInnerDimsPos() == ArrayRef<int64_t>({0}) &&
         op.getStaticInnerTiles() == ArrayRef(rows) &&
         (op.getOuterDimsPerm().empty() ||
          op.getOuterDimsPerm() == ArrayRef<int64_t>({0, 1, 2, 3}));
}

std::optional<ConvParts> ConvParts::match(func::FuncOp kernel,
                                          const TargetModel &target) {
  linalg::LinalgOp op = findReduction(kernel.getBody().front());
  ConvParts parts;
  if (!op || !isSumOfProducts(op) ||
      !llvm::all_of(
          op->getOperandTypes(),
          [](Type type) { return getElementTypeOrSelf(type).isF32(); }) ||
      !matchLoops(op, parts.rows, parts.columns))
    return std::nullopt;
  Value data = op->getOperand(0), weight = op->getOperand(1);
  Value result = op->getResult(0);
  if (op.getNumLoops() == 8) {
    int64_t groups = 0;
    data = matchGroups(data, 1, parts.groups);
    weight = matchGroups(weight, 0, groups);
    auto collapse =
        result.hasOneUse()
            ? dyn_cast<tensor::CollapseShapeOp>(*result.getUsers().begin())
            : tensor::CollapseShapeOp();
    if (!data || !weight || groups != parts.groups || !collapse ||
        collapse.getReassociationIndices() !=
            SmallVector<ReassociationIndices>{{0}, {1, 2}, {3}, {4}})
      return std::nullopt;
    result = collapse.getResult();
  }
  Value inner = matchPadding(data, parts.rows, parts.columns);
  parts.isPadded = bool(inner);
  parts.image = dyn_cast<BlockArgument>(inner ? inner : data);
  parts.blocking = MatmulBlocking::get(target.vectorBits, target.l1Bytes,
                                       target.l2Bytes, /*elementBits=*/32);
  auto type = cast<ShapedType>(weight.getType()); // of the matrix
  auto unpack = weight.getDefiningOp<linalg::UnPackOp>();
  parts.isPacked = bool(unpack);
  if (unpack && (parts.groups != 1 || !isUnpacked(unpack, parts.blocking.rows)))
    return std::nullopt;
  parts.weight = dyn_cast<BlockArgument>(unpack ? unpack.getSource() : weight);
  parts.rows.size = type.getDimSize(2);
  parts.columns.size = type.getDimSize(3);
  if (!parts.image || !parts.weight || parts.rows.size <= 0 ||
      parts.columns.size <= 0)
    return std::nullopt;
  FailureOr<Epilogue> epilogue =
      Epilogue::match(kernel, result, /*vectorLoops=*/2);
  if (failed(epilogue) || parts.image == epilogue->getOutput() ||
      parts.weight == epilogue->getOutput())
    return std::nullopt;
  parts.epilogue = *epilogue;
  return parts;
}

//===----------------------------------------------------------------------===//
// Windows of an image
//===----------------------------------------------------------------------===//

namespace {
/// An image of memory, of one group of channels.
struct Image {
  Value base, offset;
  Value channels, height, width;
};

/// Writes the columns of the right matrix: what windows have of an image.
class WindowPacker {
public:
  WindowPacker(const ConvParts &parts, const Image &image, Value outWidth)
      : rows(parts.rows), columns(parts.columns), lanes(parts.blocking.lanes),
        panelWidth(parts.blocking.columns()), image(image), outWidth(outWidth) {
  }

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

  using Load = std::function<Value(IndexBuilder &, Value)>;
  Load prepare(IndexBuilder &b, Value first, Value count, Value isInside);
  Value makeMask(IndexBuilder &b, Value begin, Value end);
  Value load(IndexBuilder &b, Value offset, Value mask);

  Window rows, columns;
  int64_t lanes, panelWidth;
  Image image;
  Value outWidth;
};
} // namespace

/// Lanes `begin` to `end`; either may be beyond the vector.
Value WindowPacker::makeMask(IndexBuilder &b, Value begin, Value end) {
  auto type = VectorType::get(lanes, b.getI1Type());
  Value before = vector::CreateMaskOp::create(b, type, ValueRange(begin));
  Value to = vector::CreateMaskOp::create(b, type, ValueRange(end));
  Value all = arith::ConstantOp::create(b, DenseElementsAttr::get(type, true));
  return arith::AndIOp::create(b, to, arith::XOrIOp::create(b, before, all));
}

/// Zeros where the mask is not set.
Value WindowPacker::load(IndexBuilder &b, Value offset, Value mask) {
  auto type = VectorType::get(lanes, b.getF32Type());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, image.base, offset, mask, zeros);
}

/// How to load elements `first`, `first` + stride, ... of a row that begins at
/// an offset, as many as `count`: zeros are what the row does not have.
WindowPacker::Load WindowPacker::prepare(IndexBuilder &b, Value first,
                                         Value count, Value isInside) {
  Value zero = b.index(0);
  int64_t stride = columns.stride;
  Value before = b.max(b.sub(zero, first), zero);
  Value room = b.createOrFold<arith::SelectOp>(
      isInside, b.max(b.sub(image.width, first), zero), zero);
  if (stride == 1) {
    Value mask = makeMask(b, before, b.min(room, count));
    return [=](IndexBuilder &b, Value row) {
      return load(b, b.add(row, first), mask);
    };
  }
  if (stride == 2) {
    // Every other element of two vectors.
    Value size = b.index(lanes);
    Value end = b.min(room, b.sub(b.mul(count, 2), b.index(1)));
    Value low = makeMask(b, before, end);
    Value high = makeMask(b, b.sub(before, size), b.sub(end, size));
    SmallVector<int64_t> even;
    for (int64_t i = 0; i < lanes; ++i)
      even.push_back(2 * i);
    return [=](IndexBuilder &b, Value row) -> Value {
      Value offset = b.add(row, first);
      Value lower = load(b, offset, low);
      Value upper = load(b, b.add(offset, lanes), high);
      return vector::ShuffleOp::create(b, lower, upper, even);
    };
  }
  Value step = b.index(stride);
  Value mask =
      makeMask(b, b.ceilDiv(before, step), b.min(count, b.ceilDiv(room, step)));
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < lanes; ++i)
    places.push_back(i * stride);
  auto type = VectorType::get(lanes, b.getI64Type());
  Value indices =
      arith::ConstantOp::create(b, DenseIntElementsAttr::get(type, places));
  return [=](IndexBuilder &b, Value row) -> Value {
    auto type = VectorType::get(lanes, b.getF32Type());
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(type));
    return vector::GatherOp::create(b, type, image.base,
                                    ValueRange(b.add(row, first)), indices,
                                    mask, zeros);
  };
}

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

/// For each element of the window, the same pixels of all channels: where the
/// image ends is the same for them.
void WindowPacker::packPixels(IndexBuilder &b, const Pixels &pixels,
                              const MatmulProblem::Columns &panel,
                              Value scratch, Value offset) {
  Value zero = b.index(0);
  int64_t size = rows.size * columns.size;
  Value channelSize = b.mul(image.height, image.width);
  Value count = makeMask(b, zero, pixels.count);
  b.loop(zero, b.index(rows.size), 1, [&](IndexBuilder &b, Value i) {
    Value row =
        b.sub(b.add(b.mul(pixels.row, rows.stride), b.mul(i, rows.dilation)),
              b.index(rows.padding));
    Value isInside = arith::AndIOp::create(
        b, b.compare(arith::CmpIPredicate::sge, row, zero),
        b.compare(arith::CmpIPredicate::slt, row, image.height));
    Value rowOffset = b.add(image.offset, b.mul(row, image.width));
    b.loop(zero, b.index(columns.size), 1, [&](IndexBuilder &b, Value j) {
      Value first = b.sub(b.add(b.mul(pixels.column, columns.stride),
                                b.mul(j, columns.dilation)),
                          b.index(columns.padding));
      Load load = prepare(b, first, pixels.count, isInside);
      // The rows of the panel that are this element: of channels from the first
      // one that is not before the panel.
      Value element = b.add(b.mul(i, columns.size), j);
      Value rest = b.sub(b.index(size - 1), element);
      Value begin = b.floorDiv(b.add(panel.begin, rest), b.index(size));
      Value end = b.floorDiv(b.add(b.add(panel.begin, panel.depth), rest),
                             b.index(size));
      b.loop(begin, end, 1, [&](IndexBuilder &b, Value channel) {
        Value values = load(b, b.add(rowOffset, b.mul(channel, channelSize)));
        Value k = b.sub(b.add(b.mul(channel, size), element), panel.begin);
        vector::MaskedStoreOp::create(
            b, scratch, b.add(offset, b.mul(k, panelWidth)), count, values);
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {
class ConvKernel : public KernelEmitter {
public:
  ConvKernel(func::FuncOp kernel, ConvParts parts)
      : kernel(kernel), parts(std::move(parts)) {}

  void emit(ImplicitLocOpBuilder &builder, ValueRange arguments) override;

private:
  func::FuncOp kernel;
  ConvParts parts;
};
} // namespace

void ConvKernel::emit(ImplicitLocOpBuilder &builder, ValueRange arguments) {
  IndexBuilder b(builder.getLoc(), builder);
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
  problem.sumType = b.getF32Type();
  problem.isLhsPacked = parts.isPacked;
  MatrixView weights = {flatten(b, weight), b.index(0), problem.k, b.index(1)};
  problem.lhs = [&](IndexBuilder &b, Value batch) {
    MatrixView view = weights;
    view.offset = b.mul(b.rem(batch, groups), b.mul(problem.m, problem.k));
    return view;
  };
  if (parts.isPointwise())
    problem.rhs = [&](IndexBuilder &b, Value batch) {
      return MatrixView{whole.base, b.mul(batch, imageSize), channelSize,
                        b.index(1)};
    };
  else
    problem.packRhs = [&](IndexBuilder &b, const MatmulProblem::Columns &panel,
                          Value scratch, Value offset) {
      Image image = whole;
      image.offset = b.mul(panel.batch, imageSize);
      WindowPacker(parts, image, outWidth).pack(b, panel, scratch, offset);
    };
  problem.finish = [&](IndexBuilder &b, Value sums,
                       const MatmulProblem::Place &place) {
    Value group = b.rem(place.batch, groups);
    Value channel = b.add(b.mul(group, problem.m), place.row);
    // Pixels are counted along the columns: no operand needs the row alone.
    Value indices[] = {b.floorDiv(place.batch, groups), channel, b.index(0),
                       place.column};
    parts.epilogue.finish(b, sums, indices, place.mask);
  };
  emitMatmul(b, problem, parts.blocking);
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchConv2d(func::FuncOp kernel, const TargetModel &target) {
  std::optional<ConvParts> parts = ConvParts::match(kernel, target);
  if (!parts)
    return nullptr;
  return std::make_unique<ConvKernel>(kernel, *std::move(parts));
}

std::optional<PackedMatrix>
mlir::relax::findPackableWeight(func::FuncOp kernel,
                                const TargetModel &target) {
  std::optional<ConvParts> parts = ConvParts::match(kernel, target);
  if (!parts || parts->isPacked || parts->groups != 1)
    return std::nullopt;
  auto type = cast<RankedTensorType>(parts->weight.getType());
  linalg::LinalgOp op = findReduction(kernel.getBody().front());
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return std::nullopt;
  // Nothing else needs the weights as they are.
  for (OpOperand &use : parts->weight.getUses())
    if (!isa<tensor::DimOp>(use.getOwner()) &&
        (use.getOwner() != op || use.getOperandNumber() != 1))
      return std::nullopt;
  return PackedMatrix{parts->weight.getArgNumber(), /*columnAxis=*/0,
                      parts->blocking.rows};
}
