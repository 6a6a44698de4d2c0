//===- Float8.cpp - Floats of 8 bits in kernels -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels move floats of 8 bits and convert them; nothing computes with them.
// Conversions are integer arithmetic, as no processor that is common has
// instructions for all formats. Any other operator is computed in f32: its
// operands are converted, and its result is rounded.
//
//===----------------------------------------------------------------------===//

#include "Float8.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include <cmath>

using namespace mlir;
using namespace mlir::relax;

bool mlir::relax::isFloat8(Type type) {
  auto number = dyn_cast_or_null<FloatType>(type);
  return number && number.getWidth() == 8;
}

double mlir::relax::getLargestFloat8(Type type) {
  return APFloat::getLargest(cast<FloatType>(type).getFloatSemantics())
      .convertToDouble();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

namespace {
/// A format with a sign, exponent and fraction.
struct Format {
  explicit Format(Type type) {
    const llvm::fltSemantics &semantics =
        cast<FloatType>(type).getFloatSemantics();
    fraction = static_cast<int>(APFloat::semanticsPrecision(semantics)) - 1;
    bias = 1 - APFloat::semanticsMinExponent(semantics);
    auto code = [](const APFloat &number) {
      return static_cast<int>(number.bitcastToAPInt().getZExtValue());
    };
    largest = code(APFloat::getLargest(semantics));
    hasInfinity = APFloat::semanticsHasInf(semantics);
    nan = code(APFloat::getNaN(semantics));
    beyond = hasInfinity ? code(APFloat::getInf(semantics)) : nan;
  }

  /// The bits that f32 has below those of the format.
  int shift() const { return 23 - fraction; }
  /// Whether the code of -0 is that of NaN.
  bool hasUnsignedZero() const { return nan == 0x80; }

  int fraction, bias, largest, nan, beyond;
  bool hasInfinity;
};

/// Arithmetic of 32 bits.
struct Bits {
  explicit Bits(ScalarBuilder &s) : s(s), type(s.getI32Type()) {}

  Value number(int64_t value) const {
    return arith::ConstantOp::create(
        s, s.getIntegerAttr(type, APInt(32, value, true, true)));
  }
  Value f32(double value) const { return s.constant(s.getF32Type(), value); }
  Value of(Value x) const { return arith::BitcastOp::create(s, type, x); }
  Value toF32(Value bits) const {
    return arith::BitcastOp::create(s, s.getF32Type(), bits);
  }
  Value add(Value lhs, int64_t rhs) const {
    return arith::AddIOp::create(s, lhs, number(rhs));
  }
  Value both(Value lhs, int64_t rhs) const {
    return arith::AndIOp::create(s, lhs, number(rhs));
  }
  Value either(Value lhs, Value rhs) const {
    return arith::OrIOp::create(s, lhs, rhs);
  }
  Value left(Value bits, int64_t count) const {
    return arith::ShLIOp::create(s, bits, number(count));
  }
  Value right(Value bits, int64_t count) const {
    return arith::ShRUIOp::create(s, bits, number(count));
  }
  Value is(arith::CmpIPredicate predicate, Value lhs, int64_t rhs) const {
    return arith::CmpIOp::create(s, predicate, lhs, number(rhs));
  }

  ScalarBuilder &s;
  Type type;
};
} // namespace

/// 2^(code - 127), or NaN.
static Value widenScale(const Bits &b, Value code) {
  Value power = b.s.select(b.is(arith::CmpIPredicate::eq, code, 0),
                           b.number(1 << 22), b.left(code, 23));
  return b.toF32(b.s.select(b.is(arith::CmpIPredicate::eq, code, 0xFF),
                            b.number(0x7FC00000), power));
}

/// The nearest power of two, of two as near the larger one; NaN for what is not
/// positive.
static Value narrowScale(const Bits &b, Value x) {
  Value bits = b.of(x);
  Value rounded = b.right(b.add(bits, 1 << 22), 23);
  // Below 2^-126 there is 2^-127 alone.
  Value isSmall = b.is(arith::CmpIPredicate::ult, bits, 3 << 21);
  Value code = b.s.select(isSmall, b.number(0), rounded);
  // Neither infinite, NaN, zero nor negative.
  Value isNumber =
      b.is(arith::CmpIPredicate::ult, b.add(bits, -1), 0x7F800000 - 1);
  Value isLow = b.is(arith::CmpIPredicate::ult, code, 0xFF);
  return b.s.select(arith::AndIOp::create(b.s, isNumber, isLow), code,
                    b.number(0xFF));
}

Value mlir::relax::widenFloat8(ScalarBuilder &s, Value x) {
  Bits b(s);
  Value code = arith::ExtUIOp::create(
      s, b.type, arith::BitcastOp::create(s, s.getI8Type(), x));
  if (isa<Float8E8M0FNUType>(x.getType()))
    return widenScale(b, code);
  Format format(x.getType());
  Value sign = b.left(b.both(code, 0x80), 24), magnitude = b.both(code, 0x7F);
  Value normal = b.add(b.left(magnitude, format.shift()),
                       int64_t(127 - format.bias) << 23);
  // Numbers without a leading one are multiples of the least one.
  double least = std::ldexp(1.0, 1 - format.bias - format.fraction);
  Value small = b.of(s.mul(
      arith::UIToFPOp::create(s, s.getF32Type(), magnitude), b.f32(least)));
  Value isSmall =
      b.is(arith::CmpIPredicate::ult, magnitude, int64_t(1) << format.fraction);
  Value bits = s.select(isSmall, small, normal);
  if (format.hasInfinity) {
    // Infinity and NaN have the same fraction in f32.
    Value special =
        b.either(b.left(magnitude, format.shift()), b.number(0x7F800000));
    bits = s.select(b.is(arith::CmpIPredicate::ugt, magnitude, format.largest),
                    special, bits);
  }
  bits = b.either(bits, sign);
  if (format.hasInfinity)
    return b.toF32(bits);
  Value isNan = format.hasUnsignedZero()
                    ? b.is(arith::CmpIPredicate::eq, code, 0x80)
                    : b.is(arith::CmpIPredicate::eq, magnitude, format.nan);
  return b.toF32(s.select(isNan, b.number(0x7FC00000), bits));
}

/// The code of a number without its sign, which is not NaN.
static Value roundMagnitude(const Bits &b, const Format &format, Value bits) {
  int shift = format.shift();
  // Half of the last place, less where the number before is even.
  Value last = b.both(b.right(bits, shift), 1);
  Value rounded = b.right(
      arith::AddIOp::create(b.s, b.add(bits, (1 << (shift - 1)) - 1), last),
      shift);
  Value normal =
      b.add(rounded, -(int64_t(127 - format.bias) << format.fraction));
  // Beside this number, f32 has the last place of the smallest numbers.
  double beside = std::ldexp(1.0, 24 - format.bias - format.fraction);
  Value sum = b.of(b.s.add(b.toF32(bits), b.f32(beside)));
  int64_t besideBits = int64_t(127 + 24 - format.bias - format.fraction) << 23;
  Value small = b.add(sum, -besideBits);
  Value isSmall =
      b.is(arith::CmpIPredicate::ult, bits, int64_t(128 - format.bias) << 23);
  Value code = b.s.select(isSmall, small, normal);
  return b.s.select(b.is(arith::CmpIPredicate::sgt, code, format.largest),
                    b.number(format.beyond), code);
}

Value mlir::relax::narrowToFloat8(ScalarBuilder &s, Value x, Type type) {
  Bits b(s);
  Value code;
  if (isa<Float8E8M0FNUType>(type)) {
    code = narrowScale(b, x);
  } else {
    Format format(type);
    Value bits = b.of(x), magnitude = b.both(bits, 0x7FFFFFFF);
    code = roundMagnitude(b, format, magnitude);
    Value isNan = b.is(arith::CmpIPredicate::ugt, magnitude, 0x7F800000);
    code = s.select(isNan, b.number(format.nan), code);
    Value sign = b.both(b.right(bits, 24), 0x80);
    if (format.hasUnsignedZero())
      sign =
          s.select(b.is(arith::CmpIPredicate::eq, code, 0), b.number(0), sign);
    code = b.either(code, sign);
  }
  Value byte = arith::TruncIOp::create(s, s.getI8Type(), code);
  return arith::BitcastOp::create(s, type, byte);
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static TensorStructInfoType float8Tensor(Type type) {
  auto tensor = dyn_cast<TensorStructInfoType>(type);
  return tensor && isFloat8(tensor.getDtype()) ? tensor
                                               : TensorStructInfoType();
}
static TensorStructInfoType float8Tensor(Value value) {
  return float8Tensor(value.getType());
}

/// Whether a type is that of a tensor of 8 bits, or of a tuple with one.
static bool hasFloat8(Type type) {
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  return tuple ? llvm::any_of(tuple.getFields(), hasFloat8)
               : bool(float8Tensor(type));
}

/// Whether an operator only moves elements, or converts them.
static bool movesElements(Operation *op) {
  if (auto take = dyn_cast<TakeOp>(op))
    return take.getMode() != "nan";
  return isa<AstypeOp, BroadcastToOp, ConcatOp, DequantizeOp, ExpandDimsOp,
             FlattenOp, PermuteDimsOp, QuantizeOp, ReshapeOp, SplitOp,
             SqueezeOp, StridedSliceOp>(op);
}

/// Whether a type or an attribute mentions floats of 8 bits.
template <typename T> static bool mentionsFloat8(T element) {
  return element
      .template walk<WalkOrder::PreOrder>([](Type type) {
        return isFloat8(type) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The type that follows from the operands (DR11); null where none does, which
/// is reported for the operator itself.
static Type derivedType(Operation *op) {
  SmallVector<Type> types;
  auto inference = cast<InferTypeOpInterface>(op);
  if (failed(inference.inferReturnTypes(
          op->getContext(), std::nullopt, op->getOperands(),
          op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
          op->getRegions(), types)))
    return {};
  return types.front();
}

bool mlir::relax::computesFloat8(Operation *op) {
  if (op->getNumResults() != 1 || movesElements(op))
    return false;
  bool takesFloat8 = llvm::any_of(op->getOperandTypes(), hasFloat8);
  if (!takesFloat8 && !mentionsFloat8(op->getAttrDictionary()))
    return false;
  // What is not known is reported for the operator itself.
  for (Value operand : op->getOperands())
    if (TensorStructInfoType tensor = float8Tensor(operand))
      if (!tensor.hasShape())
        return false;
  Type derived = derivedType(op);
  return derived && (takesFloat8 || hasFloat8(derived));
}

/// Replaces floats of 8 bits by f32 in attributes and types.
static AttrTypeReplacer makeReplacer(Type f32) {
  AttrTypeReplacer replacer;
  using Replaced = std::optional<std::pair<Attribute, WalkResult>>;
  replacer.addReplacement([f32](FloatType type) -> std::optional<Type> {
    return isFloat8(type) ? std::optional<Type>(f32) : std::nullopt;
  });
  replacer.addReplacement([f32](FloatAttr number) -> Replaced {
    if (!isFloat8(number.getType()))
      return std::nullopt;
    return std::pair(Attribute(FloatAttr::get(f32, number.getValueAsDouble())),
                     WalkResult::skip());
  });
  return replacer;
}

/// A value of tensors of f32 rounded to the data types that `derived` has; the
/// result is declared as `declared`.
static Value roundTo(OpBuilder &builder, Location loc, Value x, Type derived,
                     Type declared) {
  if (TensorStructInfoType tensor = float8Tensor(derived))
    return AstypeOp::create(builder, loc, declared, x, tensor.getDtype());
  auto tuple = dyn_cast<TupleStructInfoType>(derived);
  if (!tuple || !hasFloat8(tuple))
    return x;
  SmallVector<Value> fields;
  AttrTypeReplacer replacer = makeReplacer(builder.getF32Type());
  for (auto [index, field] : llvm::enumerate(tuple.getFields())) {
    Value item =
        GetItemOp::create(builder, loc, replacer.replace(field), x, index);
    fields.push_back(roundTo(builder, loc, item, field, field));
  }
  return TupleOp::create(builder, loc, declared, fields);
}

void mlir::relax::computeFloat8InF32(Operation *op) {
  OpBuilder builder(op);
  Type f32 = builder.getF32Type(), derived = derivedType(op);
  AttrTypeReplacer replacer = makeReplacer(f32);
  Value result = op->getResult(0);
  Type declared = result.getType();
  llvm::SmallDenseMap<Value, Value> wide;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!float8Tensor(operand.get()))
      continue;
    Value &converted = wide[operand.get()];
    if (!converted)
      converted = AstypeOp::create(builder, op->getLoc(),
                                   replacer.replace(operand.get().getType()),
                                   operand.get(), f32);
    operand.set(converted);
  }
  replacer.replaceElementsIn(op, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                             /*replaceTypes=*/true);
  builder.setInsertionPointAfter(op);
  auto uses = llvm::to_vector(llvm::make_pointer_range(result.getUses()));
  Value rounded = roundTo(builder, op->getLoc(), result, derived, declared);
  for (OpOperand *use : uses)
    use->set(rounded);
}
