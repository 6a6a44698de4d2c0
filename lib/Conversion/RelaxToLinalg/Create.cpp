//===- Create.cpp - Kernels of operators that create tensors -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shape is that of the output, so the shape operand is not a parameter.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Conversion/RelaxToLinalg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::relax;

/// Fills the output with the scalar `value`, which may be of another data type.
static KernelResult fillWith(KernelBuilder &b, Type from, Type to, Value value,
                             Value output) {
  if (from == to)
    return one(b.copy(value, output));
  return one(b.elementwise(value, output, [&](ScalarBuilder &s, ValueRange x) {
    return s.cast(x[0], from, to);
  }));
}

static KernelResult buildFull(KernelBuilder &b, FullOp op, ValueRange inputs,
                              ValueRange outputs) {
  Type from = tensorType(op.getFillValue()).getDtype();
  return fillWith(b, from, op.getDtype().value_or(from), inputs[0], outputs[0]);
}

static KernelResult buildFullLike(KernelBuilder &b, FullLikeOp op,
                                  ValueRange inputs, ValueRange outputs) {
  Type from = tensorType(op.getFillValue()).getDtype();
  Type like = tensorType(op.getX()).getDtype();
  return fillWith(b, from, op.getDtype().value_or(like), inputs[1], outputs[0]);
}

//===----------------------------------------------------------------------===//
// Numbers that depend on the place
//===----------------------------------------------------------------------===//

/// start + i * step, computed in the data type of the scalars.
static KernelResult buildArange(KernelBuilder &b, ArangeOp op,
                                ValueRange inputs, ValueRange outputs) {
  Type from = cast<PrimStructInfoType>(op.getStart().getType()).getDtype();
  return one(b.fromIndices(
      outputs[0], [&](ScalarBuilder &s, ArrayRef<Value> indices) -> Value {
        Value start = s.widen(inputs[0]), step = s.widen(inputs[2]);
        Value place = arith::IndexCastOp::create(s, s.getI64Type(), indices[0]);
        Value offset = s.cast(place, s.getI64Type(), start.getType());
        return s.cast(s.add(start, s.mul(offset, step)), from, op.getDtype());
      }));
}

/// The number of the diagonal that the last two indices are on.
static Value diagonal(ScalarBuilder &s, ArrayRef<Value> indices) {
  Value number =
      arith::SubIOp::create(s, indices.back(), indices[indices.size() - 2]);
  return arith::IndexCastOp::create(s, s.getI64Type(), number);
}

/// Ones in diagonal `k`.
static KernelResult buildEye(KernelBuilder &b, Value k, Value output) {
  Type type = b.getElementType(output);
  return one(b.fromIndices(
      output, [&](ScalarBuilder &s, ArrayRef<Value> indices) -> Value {
        Value isOn = arith::CmpIOp::create(s, arith::CmpIPredicate::eq,
                                           diagonal(s, indices), k);
        return s.select(isOn, s.constant(type, 1), s.constant(type, 0));
      }));
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

namespace {
/// The block cipher Threefry-2x32 with 20 rounds.
class Threefry {
public:
  Threefry(ScalarBuilder &builder, Value key) : s(builder) {
    std::tie(keys[0], keys[1]) = split(key);
    Value parity = word(0x1BD11BDA);
    keys[2] = xorOf(parity, xorOf(keys[0], keys[1]));
  }

  Value encrypt(Value block) {
    constexpr unsigned rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    auto [high, low] = split(block);
    high = add(high, keys[0]);
    low = add(low, keys[1]);
    for (unsigned group = 0; group < 5; ++group) {
      for (unsigned rotation : rotations[group % 2]) {
        high = add(high, low);
        low = xorOf(high, rotate(low, rotation));
      }
      high = add(high, keys[(group + 1) % 3]);
      low = add(add(low, keys[(group + 2) % 3]), word(group + 1));
    }
    Value shifted = arith::ShLIOp::create(s, wide(high), word(32, 64));
    return arith::OrIOp::create(s, shifted, wide(low));
  }

private:
  Value word(int64_t value, unsigned bits = 32) {
    return arith::ConstantIntOp::create(s, value, bits);
  }
  Value wide(Value x) { return arith::ExtUIOp::create(s, s.getI64Type(), x); }
  Value add(Value lhs, Value rhs) { return arith::AddIOp::create(s, lhs, rhs); }
  Value xorOf(Value lhs, Value rhs) {
    return arith::XOrIOp::create(s, lhs, rhs);
  }
  Value rotate(Value x, unsigned count) {
    Value left = arith::ShLIOp::create(s, x, word(count));
    Value right = arith::ShRUIOp::create(s, x, word(32 - count));
    return arith::OrIOp::create(s, left, right);
  }
  /// The high and the low word.
  std::pair<Value, Value> split(Value x) {
    Value shifted = arith::ShRUIOp::create(s, x, word(32, 64));
    Type type = s.getI32Type();
    return {arith::TruncIOp::create(s, type, shifted),
            arith::TruncIOp::create(s, type, x)};
  }

  ScalarBuilder &s;
  Value keys[3];
};
} // namespace

static KernelResult buildRandomBits(KernelBuilder &b, RandomBitsOp,
                                    ValueRange inputs, ValueRange outputs) {
  Value output = outputs[0];
  AffineMap scalar = AffineMap::get(1, 0, b.getContext());
  return one(b.generic(inputs[0], output, {scalar, b.identityMap(1)}, {},
                       [](ScalarBuilder &s, ValueRange x) {
                         Value place = arith::IndexCastOp::create(
                             s, s.getI64Type(), linalg::IndexOp::create(s, 0));
                         return Threefry(s, x[0]).encrypt(place);
                       }));
}

/// Keeps elements on diagonals that compare with `k`.
template <typename OpTy>
static void addTriangle(LegalizationTable &table, arith::CmpIPredicate keeps) {
  table.add<OpTy>([keeps](KernelBuilder &b, OpTy, ValueRange inputs,
                          ValueRange outputs) -> KernelResult {
    return one(b.elementwise(
        inputs[0], outputs[0], [&](ScalarBuilder &s, ValueRange e) -> Value {
          SmallVector<Value> indices;
          for (int64_t i = 0; i < b.getRank(outputs[0]); ++i)
            indices.push_back(linalg::IndexOp::create(s, i));
          Value isKept =
              arith::CmpIOp::create(s, keeps, diagonal(s, indices), inputs[1]);
          return s.select(isKept, e[0], s.constant(e[0], 0));
        }));
  });
}

/// Fills the output with one number.
template <typename OpTy>
static void addFill(LegalizationTable &table, double value) {
  table.add<OpTy>([value](KernelBuilder &b, OpTy, ValueRange,
                          ValueRange outputs) -> KernelResult {
    Type type = b.getElementType(outputs[0]);
    return one(b.fill(b.scalars().constant(type, value), outputs[0]));
  });
}

void mlir::relax::populateCreate(LegalizationTable &table) {
  table.add<FullOp>(buildFull);
  addFill<ZerosOp>(table, 0);
  addFill<OnesOp>(table, 1);
  addFill<ZerosLikeOp>(table, 0);
  addFill<OnesLikeOp>(table, 1);
  table.add<FullLikeOp>(buildFullLike);
  table.add<ArangeOp>(buildArange);
  table.add<EyeOp>(
      [](KernelBuilder &b, EyeOp, ValueRange inputs, ValueRange outputs) {
        return buildEye(b, inputs[2], outputs[0]);
      });
  table.add<EyeLikeOp>(
      [](KernelBuilder &b, EyeLikeOp, ValueRange inputs, ValueRange outputs) {
        return buildEye(b, inputs[1], outputs[0]);
      });
  table.add<RandomBitsOp>(buildRandomBits);
  addTriangle<TrilOp>(table, arith::CmpIPredicate::sle);
  addTriangle<TriuOp>(table, arith::CmpIPredicate::sge);
}
