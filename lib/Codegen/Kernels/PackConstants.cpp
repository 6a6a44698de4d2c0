//===- PackConstants.cpp - Packs constants at compile time ------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GEMM reads its right matrix in panels: some columns, row after row. So does
// a convolution with its weights, whose output channels are the columns. A
// constant is packed here, once, and the kernel gets a copy that takes the
// panels: linalg.unpack says which matrix they are, and the kernel's class
// never executes it. Weights of windows of 3 x 3 may be transformed before
// (Winograd.h); the inverse is never executed either. Of quantized weights the
// codes, scales and zeros are packed (PackedWeights.h).
//
//===----------------------------------------------------------------------===//

#include "ConvParts.h"
#include "Convolution.h"
#include "Matmul.h"
#include "PackedMemory.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>
#include <numeric>

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXPACKCONSTANTSPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

SmallVector<int64_t> PackedMatrix::getOrder(int64_t rank) const {
  SmallVector<int64_t> order = {columnAxis};
  order.append(rowOrder);
  if (rowOrder.empty())
    for (int64_t axis = 0; axis < rank; ++axis)
      if (axis != columnAxis)
        order.push_back(axis);
  return order;
}

/// The sizes of the panels of a matrix; the other dimensions are its depth.
static SmallVector<int64_t> getPanelShape(ShapedType type,
                                          const PackedMatrix &layout) {
  SmallVector<int64_t> shape;
  for (int64_t axis : layout.getOrder(type.getRank()))
    shape.push_back(type.getDimSize(axis));
  shape.front() = llvm::divideCeil(shape.front(), layout.width);
  shape.back() = llvm::divideCeil(shape.back(), layout.wordSize);
  shape.push_back(layout.width);
  if (layout.wordSize > 1)
    shape.push_back(layout.wordSize);
  return shape;
}

/// The indices of the elements of the first column of a matrix, row by row.
static SmallVector<int64_t> getRowPlaces(ShapedType type,
                                         const PackedMatrix &layout) {
  SmallVector<int64_t> strides = computeStrides(type.getShape());
  SmallVector<int64_t> places = {0};
  SmallVector<int64_t> order = layout.getOrder(type.getRank());
  for (int64_t axis : ArrayRef(order).drop_front()) {
    SmallVector<int64_t> inner;
    for (int64_t place : places)
      for (int64_t i = 0; i < type.getDimSize(axis); ++i)
        inner.push_back(place + i * strides[axis]);
    places = std::move(inner);
  }
  return places;
}

/// The type of the matrix that is packed.
static ShapedType getMatrixType(ShapedType type, const PackedMatrix &layout) {
  if (!layout.winograd)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[2] = layout.winograd->rows.size();
  shape[3] = layout.winograd->columns.size();
  return type.clone(shape);
}

/// Returns the transforms of windows of two dimensions, of f32.
static std::vector<float> transformWeights(ArrayRef<char> weights,
                                           const WinogradTile &winograd) {
  int64_t rows = winograd.rows.window(), columns = winograd.columns.window();
  const auto *from = reinterpret_cast<const float *>(weights.data());
  Winograd::Matrix rowMatrix = winograd.rows.getWeightTransform();
  Winograd::Matrix columnMatrix = winograd.columns.getWeightTransform();
  int64_t windows = weights.size() / sizeof(float) / (rows * columns);
  std::vector<float> to;
  to.reserve(windows * winograd.places());
  for (int64_t window = 0; window < windows; ++window, from += rows * columns)
    for (ArrayRef<double> row : rowMatrix) {
      std::array<double, Winograd::kWindow> sums = {};
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          sums[j] += row[i] * from[i * columns + j];
      for (ArrayRef<double> column : columnMatrix)
        to.push_back(std::inner_product(column.begin(), column.end(),
                                        sums.begin(), 0.0));
    }
  return to;
}

/// Whether sums of transformed weights, of f32, do not overflow.
static bool areModerate(ElementsAttr weights) {
  std::string storage;
  ArrayRef<char> bytes = getConstantBytes(weights, storage);
  ArrayRef elements(reinterpret_cast<const float *>(bytes.data()),
                    bytes.size() / sizeof(float));
  return llvm::all_of(elements, [](float element) {
    return std::abs(element) < float(1 << Winograd::kLargestWeight);
  });
}

/// The panels of a matrix, each with `width` columns; zeros where it has fewer.
static ElementsAttr packElements(ElementsAttr matrix,
                                 const PackedMatrix &layout,
                                 PackedMemory &memory) {
  std::string storage;
  ArrayRef<char> from = getConstantBytes(matrix, storage);
  std::vector<float> transformed;
  if (layout.winograd) {
    transformed = transformWeights(from, *layout.winograd);
    from = ArrayRef(reinterpret_cast<const char *>(transformed.data()),
                    transformed.size() * sizeof(float));
  }
  ShapedType type = getMatrixType(matrix.getShapedType(), layout);
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t columns = type.getDimSize(layout.columnAxis);
  int64_t panels = llvm::divideCeil(columns, layout.width);
  SmallVector<int64_t> rows = getRowPlaces(type, layout);
  int64_t columnStride = computeStrides(type.getShape())[layout.columnAxis];
  // Words of a column, all of which have elements of the innermost dimension.
  int64_t size = layout.wordSize;
  int64_t inner = type.getDimSize(layout.getOrder(type.getRank()).back());
  int64_t depth = rows.size(), wordsOfInner = llvm::divideCeil(inner, size);
  int64_t words = inner == 0 ? 0 : depth / inner * wordsOfInner;
  std::vector<char> to(panels * words * layout.width * size * bytes, 0);
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t k = 0; k < depth; ++k) {
      int64_t panel = j / layout.width, place = j % layout.width;
      int64_t word = k / inner * wordsOfInner + k % inner / size;
      int64_t index = (panel * words + word) * layout.width + place;
      index = index * size + k % inner % size;
      std::memcpy(&to[index * bytes],
                  &from[(j * columnStride + rows[k]) * bytes], bytes);
    }
  auto packed =
      RankedTensorType::get(getPanelShape(type, layout), type.getElementType());
  return DenseResourceElementsAttr::get(packed, "packed", memory.copy(to));
}

/// The weights that were transformed to `tiles`.
static Value transformBack(OpBuilder &b, Location loc, Value tiles,
                           RankedTensorType type,
                           const WinogradTile &winograd) {
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  auto body = [&](OpBuilder &nested, Location loc, ValueRange) {
    ImplicitLocOpBuilder b(loc, nested);
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
    };
    // The row of the inverse that belongs to a row, or column, of the window,
    // where not all rows have zeros.
    auto getFactors = [&](Value place, const Winograd &dimension) {
      Winograd::Matrix inverse = dimension.getWeightInverse();
      SmallVector<std::pair<int64_t, Value>> factors;
      for (int64_t k = 0; k < dimension.size(); ++k) {
        if (llvm::all_of(inverse, [&](const SmallVector<double> &row) {
              return row[k] == 0;
            }))
          continue;
        Value factor = number(inverse[0][k]);
        for (int64_t i = 1; i < dimension.window(); ++i) {
          Value isRow = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                              place, index(i));
          factor =
              arith::SelectOp::create(b, isRow, number(inverse[i][k]), factor);
        }
        factors.push_back({k, factor});
      }
      return factors;
    };
    SmallVector<Value> place;
    for (int64_t loop = 0; loop < type.getRank(); ++loop)
      place.push_back(linalg::IndexOp::create(b, loop));
    auto rows = getFactors(place[2], winograd.rows);
    auto columns = getFactors(place[3], winograd.columns);
    Value sum = number(0);
    for (auto [i, row] : rows)
      for (auto [j, column] : columns) {
        place[2] = index(i);
        place[3] = index(j);
        Value element = tensor::ExtractOp::create(b, tiles, place);
        Value factor = arith::MulFOp::create(b, row, column);
        sum = arith::AddFOp::create(b, sum,
                                    arith::MulFOp::create(b, element, factor));
      }
    linalg::YieldOp::create(b, sum);
  };
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(b, loc, type, ValueRange(), empty,
                                      b.getMultiDimIdentityMap(type.getRank()),
                                      loops, body);
  RelaxDialect::WinogradAttrHelper(b.getContext())
      .setAttr(op, b.getI64IntegerAttr(winograd.outputs()));
  return op.getResult(0);
}

/// A copy of the kernel that takes panels in place of a parameter.
static func::FuncOp packParameter(func::FuncOp kernel,
                                  const PackedMatrix &layout) {
  func::FuncOp packed = kernel.clone();
  packed.setPrivate();
  BlockArgument parameter = packed.getArgument(layout.parameter);
  auto type = cast<RankedTensorType>(parameter.getType());
  Location loc = parameter.getLoc();
  OpBuilder b = OpBuilder::atBlockBegin(&packed.getBody().front());
  for (Operation *user : llvm::make_early_inc_range(parameter.getUsers()))
    if (auto dim = dyn_cast<tensor::DimOp>(user)) {
      int64_t size = type.getDimSize(*dim.getConstantIndex());
      dim.replaceAllUsesWith(
          arith::ConstantIndexOp::create(b, loc, size).getResult());
      dim.erase();
    }
  ShapedType matrixType = getMatrixType(type, layout);
  auto empty = tensor::EmptyOp::create(b, loc, matrixType.getShape(),
                                       type.getElementType());
  parameter.setType(RankedTensorType::get(getPanelShape(matrixType, layout),
                                          type.getElementType()));
  SmallVector<int64_t> tiled = {layout.columnAxis};
  SmallVector<OpFoldResult> tiles = {b.getIndexAttr(layout.width)};
  SmallVector<int64_t> order = layout.getOrder(type.getRank());
  if (layout.wordSize > 1) {
    tiled.push_back(order.back());
    tiles.push_back(b.getIndexAttr(layout.wordSize));
  }
  auto unpack =
      linalg::UnPackOp::create(b, loc, parameter, empty, tiled, tiles, order);
  Value matrix = unpack->getResult(0);
  if (layout.winograd)
    matrix = transformBack(b, loc, matrix, type, *layout.winograd);
  parameter.replaceAllUsesExcept(matrix, unpack);
  packed.setFunctionType(b.getFunctionType(
      packed.getBody().front().getArgumentTypes(), packed.getResultTypes()));
  return packed;
}

/// An argument of a call; null where it is no constant.
static ConstantOp findConstant(CallTIROp call, unsigned parameter) {
  if (parameter >= call.getArgs().size())
    return {};
  auto constant = call.getArgs()[parameter].getDefiningOp<ConstantOp>();
  if (!constant || failed(verifyConstant(constant, constant.getValue())))
    return {};
  return constant;
}

static bool hasModerateWeights(CallTIROp call, const PackedMatrix &layout) {
  ConstantOp constant = findConstant(call, layout.parameter);
  return constant && areModerate(constant.getValue());
}

/// The bytes of all constants of a module.
static size_t countConstantBytes(Operation *module) {
  size_t bytes = 0;
  module->walk([&](ConstantOp constant) {
    bytes += getConstantSize(constant.getValue());
  });
  return bytes;
}

namespace {
/// Packs the constants of calls in one module. Constants that are packed the
/// same way share their elements and the kernels that take them.
class ConstantPacker {
public:
  ConstantPacker(SymbolTable &symbols, size_t expectedBytes)
      : symbols(symbols), memory(expectedBytes) {}
  /// Whether the call has a constant there, and now passes its panels.
  bool pack(CallTIROp call, func::FuncOp kernel, const PackedMatrix &layout);
  bool pack(CallTIROp call, func::FuncOp kernel,
            const QuantizedWeights &weights, const TargetModel &target,
            bool mayRoundRows);

private:
  /// The copy of a kernel for what is packed in one way; `make` makes it.
  func::FuncOp getKernel(func::FuncOp kernel, Attribute key,
                         llvm::function_ref<func::FuncOp()> make);
  void replace(CallTIROp call, unsigned parameter, Attribute elements);

  SymbolTable &symbols;
  PackedMemory memory;
  /// By what is packed, and how.
  llvm::DenseMap<std::pair<Attribute, Attribute>, Attribute> elements;
  llvm::DenseMap<std::pair<Operation *, Attribute>, func::FuncOp> kernels;
};

struct RelaxPackConstantsPass
    : relax::impl::RelaxPackConstantsPassBase<RelaxPackConstantsPass> {
  using RelaxPackConstantsPassBase::RelaxPackConstantsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    TargetModel target = TargetModel::get(getOperation());
    ConstantPacker packer(symbols, countConstantBytes(getOperation()));
    SmallVector<CallTIROp> calls;
    getOperation().walk([&](CallTIROp call) { calls.push_back(call); });
    llvm::SmallSetVector<Operation *, 8> replaced;
    for (CallTIROp call : calls) {
      auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!kernel || kernel.isExternal() || !kernel.getBody().hasOneBlock())
        continue;
      // Only these classes read panels.
      KernelSchedule schedule = KernelSchedule::get(kernel);
      bool mayBeMatmul = schedule.allows("matmul");
      if (auto weights = mayBeMatmul ? findQuantizedWeights(kernel, target)
                                     : std::nullopt) {
        if (packer.pack(call, kernel, *weights, target, dynamicQuantization))
          replaced.insert(kernel);
        continue;
      }
      std::optional<PackedMatrix> layout;
      if (mayBeMatmul)
        layout = findPackable(kernel, target);
      if (!layout && schedule.allows("conv2d"))
        layout = findPackableWeight(kernel, target, winograd);
      if (layout && layout->winograd && !hasModerateWeights(call, *layout))
        layout = findPackableWeight(kernel, target, /*winograd=*/false);
      if (layout && packer.pack(call, kernel, *layout))
        replaced.insert(kernel);
    }
    SymbolTableCollection tables;
    SymbolUserMap users(tables, getOperation());
    for (Operation *kernel : replaced)
      if (users.useEmpty(kernel) && cast<func::FuncOp>(kernel).isPrivate())
        symbols.erase(kernel);
  }
};
} // namespace

bool ConstantPacker::pack(CallTIROp call, func::FuncOp kernel,
                          const PackedMatrix &layout) {
  ConstantOp constant = findConstant(call, layout.parameter);
  if (!constant)
    return false;
  Builder b(call);
  auto numbers = SmallVector<int64_t>{layout.columnAxis, layout.width};
  numbers.append(layout.rowOrder);
  numbers.push_back(layout.winograd ? layout.winograd->outputs() : 0);
  numbers.push_back(layout.wordSize);
  Attribute key = b.getDenseI64ArrayAttr(numbers);
  Attribute &packed = elements[{constant.getValue(), key}];
  if (!packed)
    packed = packElements(constant.getValue(), layout, memory);
  func::FuncOp copy =
      getKernel(kernel, key, [&] { return packParameter(kernel, layout); });
  replace(call, layout.parameter, packed);
  call.setCallee(copy.getSymName());
  return true;
}

func::FuncOp
ConstantPacker::getKernel(func::FuncOp kernel, Attribute key,
                          llvm::function_ref<func::FuncOp()> make) {
  func::FuncOp &copy = kernels[{kernel, key}];
  if (!copy) {
    copy = make();
    copy.setName((kernel.getSymName() + "_packed").str());
    symbols.insert(copy, std::next(kernel->getIterator()));
  }
  return copy;
}

/// Passes packed elements in the place of a constant.
void ConstantPacker::replace(CallTIROp call, unsigned parameter,
                             Attribute elements) {
  OpOperand &operand = call.getArgsMutable()[parameter];
  auto constant = operand.get().getDefiningOp<ConstantOp>();
  OpBuilder b(call);
  operand.set(
      ConstantOp::create(b, constant.getLoc(), cast<ElementsAttr>(elements)));
  if (constant->use_empty())
    constant->erase();
}

/// A copy of the kernel that takes packed weights.
static func::FuncOp packWeights(func::FuncOp kernel, int64_t bits,
                                const TargetModel &target, bool mayRoundRows) {
  func::FuncOp packed = kernel.clone();
  packed.setPrivate();
  replaceWithPacked(*findQuantizedWeights(packed, target), bits, mayRoundRows);
  packed.setFunctionType(FunctionType::get(
      kernel.getContext(), packed.getBody().front().getArgumentTypes(),
      packed.getResultTypes()));
  return packed;
}

bool ConstantPacker::pack(CallTIROp call, func::FuncOp kernel,
                          const QuantizedWeights &weights,
                          const TargetModel &target, bool mayRoundRows) {
  const Dequantization &matrix = weights.matrix;
  SmallVector<unsigned> parameters = {weights.getCodes().getArgNumber()};
  SmallVector<Dequantization::Term> terms;
  for (const Dequantization::Term &term : {matrix.scale, matrix.zero})
    if (BlockArgument parameter = weights.getParameter(term)) {
      parameters.push_back(parameter.getArgNumber());
      terms.push_back(term);
    }
  SmallVector<ElementsAttr> values;
  for (unsigned parameter : parameters) {
    ConstantOp constant = findConstant(call, parameter);
    if (!constant)
      return false;
    values.push_back(constant.getValue());
  }
  Builder b(call);
  auto make = [&](RankedTensorType type, ArrayRef<char> bytes) {
    return DenseResourceElementsAttr::get(type, "packed", memory.copy(bytes));
  };
  auto layout = SmallVector<int64_t>{weights.columnLoop, weights.lanes};
  std::string storage;
  Attribute &packed =
      elements[{values.front(), b.getDenseI64ArrayAttr(layout)}];
  if (!packed) {
    PackedCodes codes =
        packCodes(weights, getConstantBytes(values.front(), storage));
    packed = make(
        getPackedType(weights, codes.bits, values.front().getElementType()),
        codes.bytes);
  }
  // Codes tell the number of their bits, and so which kernel reads them.
  int64_t bits =
      cast<ElementsAttr>(packed).getElementType().isInteger(8) ? 8 : 4;
  replace(call, parameters.front(), packed);
  layout.push_back(bits);
  for (auto [i, term] : llvm::enumerate(terms)) {
    ElementsAttr value = values[i + 1];
    Attribute map = AffineMapAttr::get(matrix.maps[*term.operand]);
    auto layoutOfTerm = layout;
    layoutOfTerm.append({weights.depth(), weights.columns(), weights.group()});
    Attribute termKey =
        b.getArrayAttr({map, b.getDenseI64ArrayAttr(layoutOfTerm)});
    Attribute &packedTerm = elements[{value, termKey}];
    if (!packedTerm) {
      ArrayRef<char> bytes = getConstantBytes(value, storage);
      int64_t size = value.getShapedType().getElementTypeBitWidth() / 8;
      auto type = RankedTensorType::get(
          {weights.panels(), weights.groups(), weights.lanes},
          value.getElementType());
      packedTerm = make(type, packTerm(weights, term, bytes, size));
    }
    replace(call, parameters[i + 1], packedTerm);
  }
  func::FuncOp copy = getKernel(kernel, b.getDenseI64ArrayAttr(layout), [&] {
    return packWeights(kernel, bits, target, mayRoundRows);
  });
  call.setCallee(copy.getSymName());
  return true;
}
