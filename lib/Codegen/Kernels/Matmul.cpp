//===- Matmul.cpp - Kernels that are matrix products ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matmul.h"

#include "Contraction.h"
#include "Epilogue.h"
#include "GPU/Matmul.h"
#include "KernelTile.h"
#include "MatmulEmitter.h"

#include "relax-mlir/IR/Schedule.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
/// The element type of sums, and the extension of the elements.
struct Sums {
  /// Nothing where they are of other types than the loops support.
  static std::optional<Sums> match(linalg::LinalgOp op);

  Type type;
  /// Those of the operands of the operation.
  FactorType factors[2];
};
} // namespace

std::optional<Sums> Sums::match(linalg::LinalgOp op) {
  auto element = [&](unsigned operand) {
    return getElementTypeOrSelf(op->getOperand(operand).getType());
  };
  Sums sums;
  sums.type = element(2);
  for (unsigned operand : {0, 1})
    sums.factors[operand] = FactorType::get(op, operand);
  if (isa<FloatType>(sums.type)) {
    for (unsigned operand : {0, 1}) {
      Type stored = element(operand);
      if (stored != sums.type && !stored.isF16() && !stored.isBF16())
        return std::nullopt;
    }
    return sums.type.isF32() || sums.type.isF64() ? std::optional(sums)
                                                  : std::nullopt;
  }
  for (unsigned operand : {0, 1, 2})
    if (!element(operand).isInteger() ||
        element(operand).getIntOrFloatBitWidth() % 8 != 0)
      return std::nullopt;
  return sums;
}

/// The parameter behind an operand that is one, or that is unpacked from one.
static BlockArgument getParameter(Value operand) {
  auto unpack = operand.getDefiningOp<linalg::UnPackOp>();
  return dyn_cast<BlockArgument>(unpack ? unpack.getSource() : operand);
}

/// Returns the dimension of the right matrix that is the columns, where the
/// other one is all there is beside them.
static std::optional<int64_t> getColumnAxis(const Contraction &c) {
  AffineMap map = c.maps[c.rhs];
  if (map.getNumResults() != 2 || c.columns.size() != 1 || c.depth.size() != 1)
    return std::nullopt;
  for (int64_t axis : {0, 1})
    if (map.getResult(axis).isFunctionOfDim(c.columns.front()) &&
        map.getResult(1 - axis).isFunctionOfDim(c.depth.front()))
      return axis;
  return std::nullopt;
}

/// Returns the dimension of the result that is the columns: the last one that
/// may have more than one element.
static unsigned getColumnDim(const Contraction &c) {
  AffineMap map = c.maps[2];
  if (c.columns.empty())
    return std::max(map.getNumResults(), 1u) - 1;
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(c.columns.front()))
      return dim;
  llvm_unreachable("the columns are a dimension of the result");
}

/// Whether the right matrix is unpacked from panels of `width` columns, with
/// words of `wordSize` elements.
static bool isUnpacked(linalg::UnPackOp op, const Contraction &c, int64_t width,
                       int64_t wordSize) {
  std::optional<int64_t> axis = getColumnAxis(c);
  if (!axis)
    return false;
  SmallVector<int64_t> tiled = {*axis}, tiles = {width};
  if (wordSize > 1) {
    tiled.push_back(1 - *axis);
    tiles.push_back(wordSize);
  }
  return op.getInnerDimsPos() == ArrayRef(tiled) &&
         op.getStaticInnerTiles() == ArrayRef(tiles) &&
         op.getOuterDimsPerm() == ArrayRef<int64_t>({*axis, 1 - *axis}) &&
         cast<ShapedType>(op.getSource().getType()).hasStaticShape();
}

namespace {
/// The parts of a kernel of this class.
struct MatmulParts {
  static std::optional<MatmulParts> match(func::FuncOp kernel,
                                          const TargetModel &target);

  Contraction contraction;
  Epilogue epilogue;
  Sums sums;
  MatmulBlocking blocking;
  /// The right matrix: in panels, of packed weights, or of weights that are not
  /// packed, which the kernel cannot read; a parameter without any of these.
  bool isPacked = false;
  std::optional<PackedWeights> weights = std::nullopt;
  std::optional<Dequantization> unpackedWeights = std::nullopt;
  /// See WeightPanels.
  std::optional<ByteProducts> byteProducts = std::nullopt;

  /// See MatmulProblem.
  std::optional<WordProducts> words = std::nullopt;
  std::optional<MatrixUnit> matrixUnit = std::nullopt;
  int64_t wordSize() const { return words ? words->size() : 1; }

  bool isReadable() const { return !unpackedWeights; }

private:
  bool matchWeights();
  bool matchOperands();
  bool hasSizes() const;
};
} // namespace

/// Whether the right matrix is made of quantized weights.
bool MatmulParts::matchWeights() {
  std::optional<int64_t> axis = getColumnAxis(contraction);
  Value matrix = contraction.op->getOperand(contraction.rhs);
  auto op = matrix.getDefiningOp<linalg::LinalgOp>();
  if (!axis || !op || !matrix.hasOneUse() || !contraction.batch.empty() ||
      !sums.type.isF32() ||
      !cast<ShapedType>(matrix.getType()).hasStaticShape())
    return false;
  weights = PackedWeights::match(matrix);
  if (!weights)
    unpackedWeights = Dequantization::match(op);
  return weights || (unpackedWeights &&
                     isUnpackedInRegisters(*unpackedWeights, 1 - *axis));
}

/// Whether the operands are parameters that are not written. The right one may
/// come in panels, or be made of quantized weights.
bool MatmulParts::matchOperands() {
  bool hasWeights = matchWeights();
  for (Value operand : contraction.op.getDpsInputs()) {
    if (hasWeights && operand == contraction.op->getOperand(contraction.rhs))
      continue;
    BlockArgument parameter = getParameter(operand);
    if (!parameter || epilogue.isOutput(parameter))
      return false;
  }
  auto unpack = [&](unsigned operand) {
    return contraction.op->getOperand(operand)
        .getDefiningOp<linalg::UnPackOp>();
  };
  linalg::UnPackOp rhs = unpack(contraction.rhs);
  isPacked = bool(rhs);
  return !unpack(contraction.lhs) &&
         (!rhs || isUnpacked(rhs, contraction, blocking.columns(), wordSize()));
}

/// Where results are slices, the sizes of loops are those of operands.
bool MatmulParts::hasSizes() const {
  return !epilogue.isSplit() ||
         llvm::all_of(contraction.batch, [&](unsigned loop) {
           return contraction.maps[0].isFunctionOfDim(loop) ||
                  contraction.maps[1].isFunctionOfDim(loop);
         });
}

std::optional<MatmulParts> MatmulParts::match(func::FuncOp kernel,
                                              const TargetModel &target) {
  linalg::LinalgOp reduction = findReduction(kernel.getBody().front());
  if (!reduction)
    return std::nullopt;
  std::optional<Contraction> contraction = Contraction::match(reduction);
  if (!contraction)
    return std::nullopt;
  std::optional<Sums> sums = Sums::match(reduction);
  if (!sums)
    return std::nullopt;
  FailureOr<Epilogue> epilogue = Epilogue::match(
      kernel, reduction->getResult(0), {getColumnDim(*contraction)});
  if (failed(epilogue))
    return std::nullopt;
  // Processors have no sums of as few bits.
  unsigned bits = std::max(sums->type.getIntOrFloatBitWidth(), 16u);
  const FactorType &lhs = sums->factors[contraction->lhs],
                   &rhs = sums->factors[contraction->rhs];
  ArrayRef<int64_t> tile = KernelSchedule::get(kernel).tile;
  // The tiles of a matrix unit are its own.
  std::optional<MatrixUnit> unit;
  if (tile.empty())
    unit = MatrixUnit::find(lhs, rhs, sums->type, target);
  std::optional<WordProducts> words = WordProducts::find(
      lhs, rhs, sums->type, target, /*hasMatrixUnit=*/unit.has_value());
  auto blocking = MatmulBlocking::get(
      target.vectorBits, target.l1Bytes, target.l2Bytes, bits,
      /*areFused=*/!words || words->areFused(), tile);
  if (unit)
    blocking.vectors = MatrixUnit::kTiles;
  MatmulParts parts = {*contraction, *epilogue, *sums, blocking};
  parts.words = words;
  parts.matrixUnit = unit;
  if (!parts.matchOperands() || !parts.hasSizes())
    return std::nullopt;
  if (parts.weights && parts.weights->mayRoundRows && parts.weights->bits == 4)
    parts.byteProducts = ByteProducts::find(target);
  return parts;
}

using EmitMatmul =
    llvm::function_ref<void(IndexBuilder &, const MatmulProblem &)>;

/// A problem of the sizes of a contraction.
static MatmulProblem getSizes(IndexBuilder &b, const Contraction &c,
                              const LoopMemory &memory) {
  MatmulProblem problem;
  problem.batch = memory.size(b, c.batch);
  problem.m = memory.size(b, c.rows);
  problem.n = memory.size(b, c.columns);
  problem.k = memory.size(b, c.depth);
  return problem;
}

/// The matrices of operand `operand` of `memory`, which must stay.
static std::function<MatrixView(IndexBuilder &, Value)>
viewMatrix(IndexBuilder &b, const Contraction &c, const LoopMemory &memory,
           unsigned operand, Value memref, const LoopGroup &rows,
           const LoopGroup &columns, bool isUnsigned = false) {
  MatrixView matrix;
  matrix.isUnsigned = isUnsigned;
  matrix.base = flatten(b, memref);
  matrix.rowStride = memory.stride(b, operand, rows);
  matrix.columnStride = memory.stride(b, operand, columns);
  return [&c, &memory, matrix, operand](IndexBuilder &b, Value batch) {
    SmallVector<Value> indices(c.getNumLoops());
    memory.delinearize(b, batch, c.batch, indices);
    MatrixView result = matrix;
    result.offset = b.index(0);
    for (unsigned loop : c.batch)
      result.offset = b.add(
          result.offset, b.mul(indices[loop], memory.stride(b, operand, loop)));
    return result;
  };
}

/// The indices of the result at a place. Loops that run once are at 0.
static SmallVector<Value> getIndices(IndexBuilder &b, const Contraction &c,
                                     const LoopMemory &memory,
                                     const MatmulProblem::Place &place) {
  SmallVector<Value> loops(c.getNumLoops(), b.index(0)), indices;
  memory.delinearize(b, place.batch, c.batch, loops);
  memory.delinearize(b, place.row, c.rows, loops);
  memory.delinearize(b, place.column, c.columns, loops);
  for (AffineExpr expr : c.maps[2].getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    indices.push_back(dim ? loops[dim.getPosition()] : b.index(0));
  }
  return indices;
}

/// The panels of packed weights in memory.
static WeightPanels getPanels(IndexBuilder &b, const PackedWeights &weights,
                              const std::optional<ByteProducts> &byteProducts,
                              ValueRange arguments) {
  auto get = [&](Value value) -> Value {
    if (auto parameter = dyn_cast<BlockArgument>(value))
      return flatten(b, arguments[parameter.getArgNumber()]);
    return b.clone(*value.getDefiningOp())->getResult(0); // a number
  };
  return {get(weights.codes), get(weights.scale),     get(weights.zero),
          weights.bits,       weights.group,          weights.getBias(),
          weights.isUnsigned, weights.isUnsignedZero, byteProducts};
}

static void emitKernel(IndexBuilder &b, func::FuncOp kernel, MatmulParts &parts,
                       ValueRange arguments, EmitMatmul emit) {
  const Contraction &c = parts.contraction;
  auto argument = [&](unsigned operand) {
    Value value = parts.contraction.op->getOperand(operand);
    return arguments[getParameter(value).getArgNumber()];
  };
  // The left matrix, the right matrix where it lies as it is, and the result.
  SmallVector<AffineMap> maps = {c.maps[c.lhs]};
  SmallVector<Value> operands = {argument(c.lhs)};
  bool isPacked = parts.isPacked || parts.weights;
  if (!isPacked) {
    maps.push_back(c.maps[c.rhs]);
    operands.push_back(argument(c.rhs));
  }
  if (!parts.epilogue.isSplit()) {
    maps.push_back(c.maps[2]);
    operands.push_back(arguments[parts.epilogue.getOutput().getArgNumber()]);
  }
  LoopMemory memory(b, maps, operands);
  if (isPacked) // the matrix is of known size
    memory.setSizes(
        b, c.maps[c.rhs],
        cast<ShapedType>(parts.contraction.op->getOperand(c.rhs).getType()));
  parts.epilogue.begin(b, kernel, arguments);

  MatmulProblem problem = getSizes(b, c, memory);
  problem.lhs = viewMatrix(b, c, memory, 0, operands[0], c.rows, c.depth,
                           parts.sums.factors[c.lhs].isUnsigned);
  problem.isPacked = parts.isPacked;
  if (parts.isPacked) {
    MatrixView panels = {flatten(b, argument(c.rhs)), b.index(0),
                         b.index(parts.blocking.columns()), b.index(1),
                         parts.sums.factors[c.rhs].isUnsigned};
    problem.rhs = [panels](IndexBuilder &, Value) { return panels; };
  } else if (parts.weights) {
    problem.weights =
        getPanels(b, *parts.weights, parts.byteProducts, arguments);
  } else {
    problem.rhs = viewMatrix(b, c, memory, 1, operands[1], c.depth, c.columns,
                             parts.sums.factors[c.rhs].isUnsigned);
  }
  problem.sumType = parts.sums.type;
  problem.words = parts.words;
  problem.matrixUnit = parts.matrixUnit;
  problem.finish = [&](IndexBuilder &b, Value sums,
                       const MatmulProblem::Place &place) {
    parts.epilogue.finish(b, sums, getIndices(b, c, memory, place), place.mask,
                          place.isAligned);
  };
  std::optional<int64_t> depth = getConstantIntValue(problem.k);
  problem.isShallow = !parts.blocking.hasManyRegisters &&
                      parts.epilogue.canOmitMasks(parts.blocking.lanes) &&
                      depth && *depth <= parts.blocking.blockDepth;
  problem.canAlign = [&](IndexBuilder &b, int64_t columns) {
    return areAligned(b, arguments, problem.n, columns);
  };
  emit(b, problem);
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchMatmul(func::FuncOp kernel, const TargetModel &target) {
  std::optional<MatmulParts> parts = MatmulParts::match(kernel, target);
  if (!parts || !parts->isReadable())
    return nullptr;
  return makeEmitter([=, parts = *std::move(parts)](
                         IndexBuilder &b, ValueRange arguments) mutable {
    emitKernel(b, kernel, parts, arguments,
               [&](IndexBuilder &b, const MatmulProblem &problem) {
                 emitMatmul(b, problem, parts.blocking);
               });
  });
}

LogicalResult mlir::relax::verifyMatmulTile(func::FuncOp kernel,
                                            const TargetModel &target) {
  std::optional<MatmulParts> parts = MatmulParts::match(kernel, target);
  if (parts && parts->byteProducts)
    return rejectTile(kernel, "a product whose rows are rounded to bytes");
  return verifyTile(kernel, TileKind::RowsByVectors,
                    parts ? parts->blocking.lanes : 1, "rows", "columns");
}

std::unique_ptr<KernelEmitter>
mlir::relax::matchDeviceMatmul(func::FuncOp kernel, const TargetModel &target) {
  std::optional<MatmulParts> parts = MatmulParts::match(kernel, target);
  if (!parts || parts->isPacked || parts->weights || !parts->isReadable() ||
      parts->epilogue.isSplit())
    return nullptr;
  auto element = [&](unsigned operand) {
    return getElementTypeOrSelf(
        parts->contraction.op->getOperand(operand).getType());
  };
  if (!isDeviceMatmul(element(0), element(1), parts->sums.type))
    return nullptr;
  return makeEmitter([=, parts = *std::move(parts)](
                         IndexBuilder &b, ValueRange arguments) mutable {
    emitKernel(b, kernel, parts, arguments, emitDeviceMatmul);
  });
}

/// Operands are in memory of the identity layout, of types that there are
/// kernels for.
static std::optional<Contraction> matchProduct(linalg::GenericOp op) {
  std::optional<Contraction> c =
      Contraction::matchUpdate(cast<linalg::LinalgOp>(op.getOperation()));
  if (!c)
    return std::nullopt;
  SmallVector<Type> elements;
  for (Type operand : op->getOperandTypes()) {
    auto type = cast<MemRefType>(operand);
    if (!type.getLayout().isIdentity())
      return std::nullopt;
    elements.push_back(type.getElementType());
  }
  if (!isDeviceMatmul(elements[0], elements[1], elements[2]))
    return std::nullopt;
  return c;
}

bool mlir::relax::isDeviceProduct(linalg::GenericOp op) {
  return matchProduct(op).has_value();
}

void mlir::relax::launchProduct(linalg::GenericOp op) {
  std::optional<Contraction> c = matchProduct(op);
  IndexBuilder b(op.getLoc(), op);
  SmallVector<AffineMap> maps = {c->maps[c->lhs], c->maps[c->rhs], c->maps[2]};
  SmallVector<Value> operands = {op->getOperand(c->lhs), op->getOperand(c->rhs),
                                 op->getOperand(2)};
  LoopMemory memory(b, maps, operands);
  MatmulProblem problem = getSizes(b, *c, memory);
  problem.lhs = viewMatrix(b, *c, memory, 0, operands[0], c->rows, c->depth);
  problem.rhs = viewMatrix(b, *c, memory, 1, operands[1], c->depth, c->columns);
  problem.sumType = cast<MemRefType>(operands[2].getType()).getElementType();
  problem.finish = [&](IndexBuilder &b, Value sums,
                       const MatmulProblem::Place &place) {
    SmallVector<Value> indices = getIndices(b, *c, memory, place);
    Value before = memref::LoadOp::create(b, operands[2], indices);
    Value sum = vector::ExtractOp::create(b, sums, 0);
    memref::StoreOp::create(b, arith::AddFOp::create(b, before, sum),
                            operands[2], indices);
  };
  emitDeviceMatmul(b, problem);
  op.erase();
}

std::optional<PackedMatrix>
mlir::relax::findPackable(func::FuncOp kernel, const TargetModel &target) {
  std::optional<MatmulParts> parts = MatmulParts::match(kernel, target);
  if (!parts || parts->isPacked || parts->weights || !parts->isReadable())
    return std::nullopt;
  const Contraction &c = parts->contraction;
  std::optional<int64_t> axis = getColumnAxis(c);
  auto parameter =
      cast<BlockArgument>(parts->contraction.op->getOperand(c.rhs));
  auto type = cast<RankedTensorType>(parameter.getType());
  if (!axis || !type.hasStaticShape() || type.getNumElements() == 0)
    return std::nullopt;
  // Nothing else needs the matrix as it is.
  for (OpOperand &use : parameter.getUses())
    if (!isa<tensor::DimOp>(use.getOwner()) &&
        (use.getOwner() != c.op || use.getOperandNumber() != c.rhs))
      return std::nullopt;
  PackedMatrix matrix = {parameter.getArgNumber(), *axis,
                         parts->blocking.columns()};
  matrix.wordSize = parts->wordSize();
  return matrix;
}

std::optional<QuantizedWeights>
mlir::relax::findQuantizedWeights(func::FuncOp kernel,
                                  const TargetModel &target) {
  std::optional<MatmulParts> parts = MatmulParts::match(kernel, target);
  if (!parts || !parts->unpackedWeights)
    return std::nullopt;
  const Dequantization &matrix = *parts->unpackedWeights;
  auto axis = static_cast<unsigned>(*getColumnAxis(parts->contraction));
  QuantizedWeights weights = {matrix, axis, parts->blocking.lanes};
  // Each is a parameter that nothing else reads, or a number.
  auto isReadOnce = [](Value operand) {
    auto parameter = dyn_cast<BlockArgument>(operand);
    return parameter && parameter.hasOneUse() &&
           cast<RankedTensorType>(parameter.getType()).hasStaticShape() &&
           cast<RankedTensorType>(parameter.getType()).getNumElements() != 0;
  };
  if (!isReadOnce(matrix.op->getOperand(matrix.codes)))
    return std::nullopt;
  for (const Dequantization::Term &term : {matrix.scale, matrix.zero})
    if (term.operand && !isReadOnce(matrix.op->getOperand(*term.operand)))
      return std::nullopt;
  return weights;
}
