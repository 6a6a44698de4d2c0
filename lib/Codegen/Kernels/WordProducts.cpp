//===- WordProducts.cpp - Products of several elements at a time *- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WordProducts.h"

#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::relax;

// A word whose bytes are 128, or -128.
static constexpr auto kSigns = static_cast<int32_t>(0x80808080);

Operation *mlir::relax::declareIntrinsic(IndexBuilder &b, StringRef name,
                                         ArrayRef<Type> parameters,
                                         Type result) {
  auto module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  return *LLVM::lookupOrCreateFn(b, module, name, parameters, result);
}

Value mlir::relax::callIntrinsic(IndexBuilder &b, Operation *function,
                                 ValueRange arguments) {
  return LLVM::CallOp::create(b, cast<LLVM::LLVMFuncOp>(function), arguments)
      .getResult();
}

/// A type with the elements of another one, or a vector of as many.
static Type cloneWith(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

Value mlir::relax::extend(ImplicitLocOpBuilder &b, Value value, Type element,
                          bool isUnsigned) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type type = cloneWith(value.getType(), element);
  if (isa<FloatType>(from))
    return arith::ExtFOp::create(b, type, value);
  if (isa<FloatType>(element))
    return isUnsigned ? arith::UIToFPOp::create(b, type, value).getResult()
                      : arith::SIToFPOp::create(b, type, value).getResult();
  if (isUnsigned)
    return arith::ExtUIOp::create(b, type, value);
  return arith::ExtSIOp::create(b, type, value);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

FactorType FactorType::get(linalg::LinalgOp op, unsigned operand) {
  BlockArgument argument = op.getBlock()->getArgument(operand);
  return {argument.getType(),
          llvm::any_of(argument.getUsers(), llvm::IsaPred<arith::ExtUIOp>)};
}

std::optional<ByteProducts> ByteProducts::find(const TargetModel &target) {
  ByteProducts products;
  switch (target.vectorBits) {
  case 128:
    products = {"llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.sse2.pmadd.wd",
                "llvm.x86.avx512.vpdpbusd.128"};
    break;
  case 256:
    products = {"llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd",
                "llvm.x86.avx512.vpdpbusd.256"};
    break;
  case 512:
    products = {"llvm.x86.avx512.pmaddubs.w.512",
                "llvm.x86.avx512.pmaddw.d.512", "llvm.x86.avx512.vpdpbusd.512"};
    break;
  default:
    return std::nullopt;
  }
  if (!target.multipliesBytes())
    products.accumulate = {};
  return target.multipliesBytePairs() ? std::optional(products) : std::nullopt;
}

std::optional<WordProducts> WordProducts::find(const FactorType &lhs,
                                               const FactorType &rhs, Type sum,
                                               const TargetModel &target,
                                               bool hasMatrixUnit) {
  auto are = [&](auto fits) { return fits(lhs) && fits(rhs); };
  if (are([](const FactorType &type) { return type.element.isBF16(); })) {
    bool hasProducts =
        hasMatrixUnit ? target.has("avx512bf16") : target.multipliesBFloats();
    if (!sum.isF32() || !hasProducts)
      return std::nullopt;
    WordProducts products(Kind::BFloats);
    products.intrinsic = "llvm.x86.avx512bf16.dpbf16ps.512";
    return products;
  }
  if (!sum.isInteger(32))
    return std::nullopt;
  std::optional<ByteProducts> bytes = ByteProducts::find(target);
  if (are([](const FactorType &type) { return type.element.isInteger(8); }) &&
      bytes && !bytes->accumulate.empty()) {
    WordProducts products(Kind::Bytes);
    products.intrinsic = bytes->accumulate;
    products.isMoved = lhs.isUnsigned == rhs.isUnsigned;
    products.isLhsUnsigned = lhs.isUnsigned != products.isMoved;
    return products;
  }
  bool areShorts = are([](const FactorType &type) {
    return type.element.isInteger(8) ||
           (type.element.isInteger(16) && !type.isUnsigned);
  });
  if (!areShorts || !target.multipliesShorts())
    return std::nullopt;
  return WordProducts(Kind::Shorts);
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static Value splat(IndexBuilder &b, Type type, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, attr);
}

static Value bitcast(IndexBuilder &b, Type type, Value value) {
  return value.getType() == type
             ? value
             : b.createOrFold<arith::BitcastOp>(type, value);
}

/// Elements as they are in words.
Value WordProducts::widen(IndexBuilder &b, Value elements,
                          bool isUnsigned) const {
  return kind == Kind::Shorts ? extend(b, elements, b.getI16Type(), isUnsigned)
                              : elements;
}

Value WordProducts::interleave(IndexBuilder &b, ArrayRef<Value> elements,
                               bool isUnsigned, Type word) const {
  Type words = cloneWith(elements.front().getType(), b.getI32Type());
  int64_t bits = 32 / size();
  Value result;
  for (auto [i, each] : llvm::enumerate(elements)) {
    Value element = widen(b, each, isUnsigned);
    Type integer = cloneWith(words, b.getIntegerType(bits));
    Value part = arith::ExtUIOp::create(b, words, bitcast(b, integer, element));
    if (i == 0) {
      result = part;
      continue;
    }
    part = arith::ShLIOp::create(b, part, splat(b, words, i * bits));
    result = arith::OrIOp::create(b, result, part);
  }
  return bitcast(b, cloneWith(words, word), result);
}

Value WordProducts::make(IndexBuilder &b, Value elements, bool isUnsigned,
                         Type word) const {
  auto type = cast<VectorType>(elements.getType());
  auto words = VectorType::get(type.getNumElements() / size(), word);
  return vector::BitCastOp::create(b, words, widen(b, elements, isUnsigned));
}

Value WordProducts::flipSigns(IndexBuilder &b, Value words) const {
  return arith::XOrIOp::create(b, words, splat(b, words.getType(), kSigns));
}

Value WordProducts::getOffset(IndexBuilder &b, VectorType words) const {
  return splat(b, words, kSigns);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// LLVM makes one instruction of the products and the sums of neighbours, and
/// another one of both sums.
Value WordProducts::multiplyAddShorts(IndexBuilder &b, Value lhs, Value rhs,
                                      Value sum) const {
  int64_t lanes = cast<VectorType>(sum.getType()).getNumElements();
  auto shorts = VectorType::get(2 * lanes, b.getI16Type());
  auto wide = VectorType::get(2 * lanes, b.getI32Type());
  auto extend = [&](Value words) -> Value {
    Value elements = vector::BitCastOp::create(b, shorts, words);
    return arith::ExtSIOp::create(b, wide, elements);
  };
  Value products = arith::MulIOp::create(b, extend(lhs), extend(rhs));
  auto take = [&](int64_t first) -> Value {
    SmallVector<int64_t> places;
    for (int64_t i = 0; i < lanes; ++i)
      places.push_back(2 * i + first);
    return vector::ShuffleOp::create(b, products, products, places);
  };
  return arith::AddIOp::create(b, sum,
                               arith::AddIOp::create(b, take(0), take(1)));
}

/// Vectors of words, as the intrinsic takes them.
VectorType WordProducts::getFactorType(IndexBuilder &b, int64_t lanes) const {
  Type element = kind == Kind::Bytes ? Type(b.getI8Type()) : b.getBF16Type();
  return VectorType::get(size() * lanes, element);
}

void WordProducts::begin(IndexBuilder &b, int64_t lanes, Type sum) {
  if (intrinsic.empty())
    return;
  Type factors = getFactorType(b, lanes);
  Type sums = VectorType::get(lanes, sum);
  function = declareIntrinsic(b, intrinsic, {sums, factors, factors}, sums);
}

Value WordProducts::multiplyAdd(IndexBuilder &b, Value lhs, Value rhs,
                                Value sum) const {
  if (kind == Kind::Shorts)
    return multiplyAddShorts(b, lhs, rhs, sum);
  VectorType type =
      getFactorType(b, cast<VectorType>(sum.getType()).getNumElements());
  Value left = vector::BitCastOp::create(b, type, lhs);
  Value right = vector::BitCastOp::create(b, type, rhs);
  // Of bytes, the first operand is the unsigned one.
  if (kind == Kind::Bytes && !isLhsUnsigned)
    std::swap(left, right);
  return callIntrinsic(b, function, {sum, left, right});
}
