//===- KernelDims.cpp - Dimensions that kernels rely on ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linalg operation takes the length of a loop from one of its operands and
// reads and writes all others up to there. Kernels that come with a program may
// be called with any shapes, so what a loop goes over has to be of one size.
// All dimensions in a kernel that a loop, a cast or an allocation says are
// equal form a class. Loops over memrefs rely on what the kernel says of its
// parameters in terms of shape variables.
//
//===----------------------------------------------------------------------===//

#include "KernelDims.h"

#include "relax-mlir/IR/KernelStructInfo.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace mlir::relax;

namespace {
class DimClasses {
public:
  explicit DimClasses(func::FuncOp kernel);
  /// Pairs of equal dimensions; `exprs` are those of the parameters, empty
  /// where they are not known.
  DimPairs pair(ArrayRef<ArrayRef<PrimExprAttr>> exprs);

private:
  void join(Value lhs, int64_t i, Value rhs, int64_t j) {
    classes.unionSets({lhs.getAsOpaquePointer(), i},
                      {rhs.getAsOpaquePointer(), j});
  }
  void joinAll(Value lhs, Value rhs);
  void visit(linalg::LinalgOp op);
  void visit(tensor::EmptyOp op);

  func::FuncOp kernel;
  llvm::EquivalenceClasses<std::pair<const void *, int64_t>> classes;
};
} // namespace

DimClasses::DimClasses(func::FuncOp kernel) : kernel(kernel) {
  kernel.walk([&](Operation *op) {
    if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
      visit(linalg);
    else if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      visit(empty);
    else if (auto cast = dyn_cast<tensor::CastOp>(op))
      joinAll(cast.getSource(), cast.getDest());
  });
}

void DimClasses::joinAll(Value lhs, Value rhs) {
  auto type = dyn_cast<ShapedType>(lhs.getType());
  if (!type || !type.hasRank() ||
      lhs.getType().getTypeID() != rhs.getType().getTypeID())
    return;
  for (int64_t i = 0; i < type.getRank(); ++i)
    join(lhs, i, rhs, i);
}

/// Dimensions that are indices of one loop.
void DimClasses::visit(linalg::LinalgOp op) {
  SmallVector<std::pair<Value, int64_t>> first(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands())
    for (auto [i, result] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(result);
      if (!loop)
        continue;
      auto &[value, index] = first[loop.getPosition()];
      if (value)
        join(value, index, operand.get(), i);
      else
        first[loop.getPosition()] = {operand.get(), i};
    }
  for (OpResult result : op->getResults())
    joinAll(op.getDpsInitOperand(result.getResultNumber())->get(), result);
}

/// Sizes that are read off another tensor.
void DimClasses::visit(tensor::EmptyOp op) {
  RankedTensorType type = op.getType();
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i))
      continue;
    auto size = op.getDynamicSize(i).getDefiningOp<tensor::DimOp>();
    if (std::optional<int64_t> index =
            size ? size.getConstantIndex() : std::nullopt)
      join(op.getResult(), i, size.getSource(), *index);
  }
}

DimPairs DimClasses::pair(ArrayRef<ArrayRef<PrimExprAttr>> exprs) {
  DimPairs pairs;
  llvm::DenseMap<std::pair<const void *, int64_t>, PrimExprAttr> first;
  for (auto [argument, dims] : llvm::zip(kernel.getArguments(), exprs))
    for (auto [i, expr] : llvm::enumerate(dims)) {
      auto leader = classes.findLeader(
          {argument.getAsOpaquePointer(), static_cast<int64_t>(i)});
      if (leader == classes.member_end())
        continue;
      PrimExprAttr &known = first[*leader];
      if (!known)
        known = expr;
      else if (known != expr)
        pairs.emplace_back(expr, known);
    }
  return pairs;
}

/// The dimensions of what a call passes: of arguments, integers (themselves),
/// and outputs. Empty where they are not known.
template <typename CallOpTy>
static SmallVector<ArrayRef<PrimExprAttr>>
getActualDims(CallOpTy call, ArrayRef<TensorStructInfoType> outputs) {
  SmallVector<ArrayRef<PrimExprAttr>> exprs;
  auto add = [&](Type type) {
    auto tensor = dyn_cast<TensorStructInfoType>(type);
    exprs.push_back(tensor && tensor.hasShape() ? tensor.getDims()
                                                : ArrayRef<PrimExprAttr>());
  };
  llvm::for_each(call.getArgs().getTypes(), add);
  if (Value packed = call.getPackedInts()) {
    auto shape = cast<ShapeStructInfoType>(packed.getType());
    ArrayRef<PrimExprAttr> values;
    if (shape.getValues())
      values = shape.getValues().getDims();
    for (int64_t i = 0; i < shape.getNdim(); ++i)
      exprs.push_back(values.empty() ? values : values.slice(i, 1));
  }
  llvm::for_each(outputs, add);
  return exprs;
}

/// Returns the dimensions of a parameter, or an integer, that a kernel
/// declares.
static SmallVector<PrimExprAttr> getFormalDims(func::FuncOp kernel,
                                               unsigned index) {
  Type type = getDeclaredStructInfo(kernel, index);
  if (auto tensor = dyn_cast_or_null<TensorStructInfoType>(type))
    if (tensor.hasShape())
      return llvm::to_vector(tensor.getDims());
  if (auto prim = dyn_cast_or_null<PrimStructInfoType>(type))
    if (prim.getValue())
      return {prim.getValue()};
  return {};
}

/// Pairs of dimensions that have to be equal for each shape variable of a
/// kernel to have one value: the first that is passed for it.
static DimPairs pairFormalDims(func::FuncOp kernel,
                               ArrayRef<ArrayRef<PrimExprAttr>> actuals) {
  SmallVector<std::pair<PrimExprAttr, PrimExprAttr>> said;
  for (auto [index, actual] : llvm::enumerate(actuals)) {
    SmallVector<PrimExprAttr> formal = getFormalDims(kernel, index);
    if (formal.size() == actual.size())
      for (auto [mine, its] : llvm::zip_equal(actual, formal))
        said.emplace_back(mine, its);
  }
  PrimExprMap values;
  for (auto [actual, formal] : said)
    if (formal.isVar())
      values.try_emplace(formal.getName(), actual);
  DimPairs pairs;
  for (auto [actual, formal] : said) {
    llvm::StringSet<> names;
    collectVars(formal, names);
    if (llvm::all_of(names.keys(),
                     [&](StringRef name) { return values.contains(name); }))
      pairs.emplace_back(actual, substitute(formal, values));
  }
  return pairs;
}

DimPairs mlir::relax::findKernelDims(Operation *op) {
  SmallVector<ArrayRef<PrimExprAttr>> exprs;
  FlatSymbolRefAttr callee;
  if (auto call = dyn_cast<CallTIROp>(op)) {
    callee = call.getCalleeAttr();
    exprs = getActualDims(call, call.getOutputTypes());
  } else if (auto call = dyn_cast<CallTIRInplaceOp>(op)) {
    callee = call.getCalleeAttr();
    SmallVector<TensorStructInfoType> fresh;
    for (auto [type, index] :
         llvm::zip(call.getOutputTypes(), call.getInplaceIndices()))
      if (index == -1)
        fresh.push_back(type);
    exprs = getActualDims(call, fresh);
  }
  auto kernel =
      callee ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, callee)
             : func::FuncOp();
  if (!kernel || kernel.getNumArguments() != exprs.size())
    return {};
  DimPairs pairs = pairFormalDims(kernel, exprs);
  if (!kernel.isExternal())
    llvm::append_range(pairs, DimClasses(kernel).pair(exprs));
  return pairs;
}
