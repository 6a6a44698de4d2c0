//===- PackConstants.cpp - Pack matrices that are constants -----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix product reads its right matrix in panels: the elements of some
// columns, row after row. So does a convolution with its kernel, whose output
// channels are the columns here. A constant is brought into that order here,
// once, and the kernel gets a copy that takes it so: linalg.unpack says what
// the matrix is, which the kernels' class never computes.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "Matmul.h"

#include "relax-mlir/Codegen/Constants.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/AsmState.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXPACKCONSTANTSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
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
  shape.push_back(layout.width);
  return shape;
}

/// The places of the elements of the first column of a matrix, row by row.
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

/// The panels of a matrix, each with `width` columns; zeros where it has fewer.
static ElementsAttr packElements(ElementsAttr matrix,
                                 const PackedMatrix &layout) {
  std::string storage;
  ArrayRef<char> from = getConstantBytes(matrix, storage);
  ShapedType type = matrix.getShapedType();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t columns = type.getDimSize(layout.columnAxis);
  int64_t panels = llvm::divideCeil(columns, layout.width);
  SmallVector<int64_t> rows = getRowPlaces(type, layout);
  int64_t depth = rows.size();
  int64_t columnStride = computeStrides(type.getShape())[layout.columnAxis];
  std::vector<char> to(panels * depth * layout.width * bytes, 0);
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t k = 0; k < depth; ++k) {
      int64_t panel = j / layout.width, place = j % layout.width;
      int64_t index = (panel * depth + k) * layout.width + place;
      std::memcpy(&to[index * bytes],
                  &from[(j * columnStride + rows[k]) * bytes], bytes);
    }
  auto packed =
      RankedTensorType::get(getPanelShape(type, layout), type.getElementType());
  return DenseResourceElementsAttr::get(
      packed, "packed",
      HeapAsmResourceBlob::allocateAndCopyWithAlign(to, /*align=*/64));
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
  auto empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  parameter.setType(RankedTensorType::get(getPanelShape(type, layout),
                                          type.getElementType()));
  auto matrix = linalg::UnPackOp::create(
      b, loc, parameter, empty, /*innerDimsPos=*/{layout.columnAxis},
      /*innerTiles=*/{b.getIndexAttr(layout.width)},
      layout.getOrder(type.getRank()));
  parameter.replaceAllUsesExcept(matrix->getResult(0), matrix);
  packed.setFunctionType(b.getFunctionType(
      packed.getBody().front().getArgumentTypes(), packed.getResultTypes()));
  return packed;
}

namespace {
struct RelaxPackConstantsPass
    : relax::impl::RelaxPackConstantsPassBase<RelaxPackConstantsPass> {
  using RelaxPackConstantsPassBase::RelaxPackConstantsPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    TargetModel target = TargetModel::get(vectorBits, l1Bytes, l2Bytes);
    SmallVector<CallTIROp> calls;
    getOperation().walk([&](CallTIROp call) { calls.push_back(call); });
    llvm::SmallSetVector<Operation *, 8> replaced;
    for (CallTIROp call : calls) {
      auto kernel = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!kernel || kernel.isExternal() || !kernel.getBody().hasOneBlock())
        continue;
      std::optional<PackedMatrix> layout = findPackable(kernel, target);
      if (!layout)
        layout = findPackableWeight(kernel, target);
      if (layout && pack(call, kernel, *layout, symbols))
        replaced.insert(kernel);
    }
    for (Operation *kernel : replaced)
      if (SymbolTable::symbolKnownUseEmpty(kernel, getOperation()) &&
          cast<func::FuncOp>(kernel).isPrivate())
        symbols.erase(kernel);
  }

private:
  /// Whether the call has a constant there, and now passes its panels.
  bool pack(CallTIROp call, func::FuncOp kernel, const PackedMatrix &layout,
            SymbolTable &symbols) {
    if (layout.parameter >= call.getArgs().size())
      return false;
    OpOperand &operand = call.getArgsMutable()[layout.parameter];
    auto constant = operand.get().getDefiningOp<ConstantOp>();
    if (!constant || failed(verifyConstant(constant, constant.getValue())))
      return false;
    OpBuilder b(call);
    auto key = SmallVector<int64_t>{layout.columnAxis, layout.width};
    key.append(layout.rowOrder);
    Attribute &packed =
        elements[{constant.getValue(), b.getDenseI64ArrayAttr(key)}];
    if (!packed)
      packed = packElements(constant.getValue(), layout);
    func::FuncOp &copy = kernels[kernel];
    if (!copy) {
      copy = packParameter(kernel, layout);
      copy.setName((kernel.getSymName() + "_packed").str());
      symbols.insert(copy, std::next(kernel->getIterator()));
    }
    operand.set(
        ConstantOp::create(b, constant.getLoc(), cast<ElementsAttr>(packed)));
    call.setCallee(copy.getSymName());
    if (constant->use_empty())
      constant->erase();
    return true;
  }

  /// By what is packed, and how.
  llvm::DenseMap<std::pair<Attribute, Attribute>, Attribute> elements;
  llvm::DenseMap<Operation *, func::FuncOp> kernels;
};
} // namespace
