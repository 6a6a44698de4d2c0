//===- KernelBuilder.h - Building the bodies of kernels -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ScalarBuilder computes with single elements, KernelBuilder with tensors.
//
// Kernels hold signless integers, so both know the data type that the operator
// computes with, which says whether integers are unsigned. Floats of 16 bits
// are computed with as f32 and rounded once, when an element is stored.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_CONVERSION_KERNELBUILDER_H
#define RELAX_MLIR_CONVERSION_KERNELBUILDER_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace mlir::relax {

/// The type that holds elements of data type `dtype` in a kernel.
Type getKernelElementType(Type dtype);

/// The comparisons; only Ne is true of NaN.
enum class Comparison { Eq, Ne, Lt, Le, Gt, Ge };

/// The initial value of a reduction: Lowest is the identity of the maximum.
enum class Identity { Zero, One, Lowest, Highest };

/// Builds operations on single elements.
class ScalarBuilder : public ImplicitLocOpBuilder {
public:
  ScalarBuilder(OpBuilder &builder, Location loc, Type dtype)
      : ImplicitLocOpBuilder(loc, builder), dtype(dtype) {}

  /// Whether integers are unsigned. Booleans are.
  bool isUnsigned() const { return isUnsigned(dtype); }
  static bool isUnsigned(Type dtype) {
    return dtype.isUnsignedInteger() || dtype.isInteger(1);
  }

  /// A number as an element of `type`, or of the type of `like`.
  Value constant(Type type, double value);
  Value constant(Value like, double value) {
    return constant(like.getType(), value);
  }
  Value identity(Identity identity, Type type);
  /// A number of type index.
  Value index(int64_t value);

  /// Arithmetic of integers and floats. Integers wrap around; a division of an
  /// integer by zero is 0.
  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value div(Value lhs, Value rhs);
  /// A quotient of floats that may be computed as lhs * (1 / rhs), for what an
  /// operator divides on the way: its result may be off by 1.5 units in the
  /// last place.
  Value divByReciprocal(Value lhs, Value rhs);
  Value floorDiv(Value lhs, Value rhs);
  Value mod(Value lhs, Value rhs);
  Value max(Value lhs, Value rhs);
  Value min(Value lhs, Value rhs);
  Value neg(Value x);
  Value abs(Value x);
  Value sign(Value x);
  Value select(Value condition, Value lhs, Value rhs);
  Value compare(Comparison comparison, Value lhs, Value rhs);

  /// 1 / (1 + exp(-x))
  Value sigmoid(Value x);

  /// Converts between data types: truncates and saturates floats to integers,
  /// wraps integers, makes NaN the integer 0 and anything but 0 true.
  Value cast(Value x, Type from, Type to);

  /// A float of 8 or 16 bits as f32, and a float as one of `type`; other values
  /// and types as they are.
  Value widen(Value x);
  Value narrow(Value x, Type type);

private:
  struct DivMod {
    Value quotient, remainder;
  };
  Value divInts(Value lhs, Value rhs);
  Value remInts(Value lhs, Value rhs, Value quotient);
  Value floorDiffers(Value rest, Value rhs);
  DivMod floorDivMod(Value lhs, Value rhs);
  DivMod floorDivModFloats(Value lhs, Value rhs);
  Value floatToInt(Value x, Type to);
  Value floatToShort(Value x, Type type, bool isUnsigned);

  Type dtype;
};

/// Computes an element from those of the inputs and the old one of the output.
using ElementBody = llvm::function_ref<Value(ScalarBuilder &, ValueRange)>;

/// Computes an element from its indices.
using IndexBody = llvm::function_ref<Value(ScalarBuilder &, ArrayRef<Value>)>;

/// Builds the body of a kernel.
class KernelBuilder : public ImplicitLocOpBuilder {
public:
  /// `dtype` is the data type that the operator computes with.
  KernelBuilder(Location loc, Block *body, Type dtype)
      : ImplicitLocOpBuilder(ImplicitLocOpBuilder::atBlockEnd(loc, body)),
        dtype(dtype) {}

  /// The integers that the table gives for the operator, of type index.
  ArrayRef<Value> getInts() const { return ints; }
  void setInts(ArrayRef<Value> values) {
    ints.assign(values.begin(), values.end());
  }

  /// Whether the kernel is for a device other than the host: one with many more
  /// threads, for which some operators are written in another way.
  bool isOnDevice() const { return onDevice; }
  void setOnDevice(bool value) { onDevice = value; }

  static RankedTensorType getType(Value tensor) {
    return cast<RankedTensorType>(tensor.getType());
  }
  static int64_t getRank(Value tensor) { return getType(tensor).getRank(); }
  static Type getElementType(Value tensor) {
    return getType(tensor).getElementType();
  }

  /// A builder of elements at this point.
  ScalarBuilder scalars() { return ScalarBuilder(*this, getLoc(), dtype); }

  //===--------------------------------------------------------------------===//
  // Dimensions and maps
  //===--------------------------------------------------------------------===//

  /// A number of type index.
  Value index(int64_t value);

  OpFoldResult dim(Value tensor, int64_t axis);
  SmallVector<OpFoldResult> dims(Value tensor);
  Value dimValue(Value tensor, int64_t axis);

  /// The number of elements of `tensor` along `axes` as a float of `type`.
  Value count(Value tensor, ArrayRef<int64_t> axes, Type type);

  /// A map of `loops` dimensions to those in `results`, and to 0 for each -1.
  AffineMap map(int64_t loops, ArrayRef<int64_t> results);
  AffineMap identityMap(int64_t loops) {
    return AffineMap::getMultiDimIdentityMap(loops, getContext());
  }
  /// `loops` dimensions without those in `axes`, or with 0 in their place.
  AffineMap dropMap(int64_t loops, ArrayRef<int64_t> axes,
                    bool keepdims = false);
  /// Maps the loops of `output` to the elements of `input`.
  AffineMap broadcastMap(Value input, Value output);

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  Value empty(ArrayRef<OpFoldResult> dims, Type elementType);
  Value fill(Value scalar, Value output);

  /// One linalg.generic. `maps` has an entry for each input and the output;
  /// `reduced` names the loops that are reductions.
  Value generic(ValueRange inputs, Value output, ArrayRef<AffineMap> maps,
                ArrayRef<int64_t> reduced, ElementBody body);
  /// The same, where `body` computes with wide floats.
  Value compute(ValueRange inputs, Value output, ArrayRef<AffineMap> maps,
                ArrayRef<int64_t> reduced, ElementBody body);

  /// Elementwise operations, with broadcasting.
  Value elementwise(ValueRange inputs, Value output, ElementBody body);
  Value computeElementwise(ValueRange inputs, Value output, ElementBody body);
  Value copy(Value input, Value output);

  /// Computes each element of `output` from its indices.
  Value fromIndices(Value output, IndexBody body);

  /// Writes `input` into the part of `output` that begins at `offsets`.
  Value insert(Value input, Value output, ArrayRef<OpFoldResult> offsets);

  /// Views `axis` as two dimensions, the first one of size `count`, which
  /// divides it; and back, as a tensor of `type`.
  Value expandAxis(Value tensor, int64_t axis, int64_t count);
  Value collapseAxis(Value tensor, int64_t axis, RankedTensorType type);

  /// A tensor to accumulate `output` in: itself, or a new one of f32 where it
  /// has floats of 16 bits. `dims` makes its dimensions, from the inputs.
  using DimsOf = llvm::function_ref<SmallVector<OpFoldResult>()>;
  Value accumulator(Value output, DimsOf dims);
  /// The type that sums of elements of `type` have.
  Type accumulatorType(Type type);
  /// Writes an accumulator to the output that it was made for.
  Value store(Value accumulator, Value output);

  /// Copies the elements of `input`, in row-major order, to an output of any
  /// shape.
  Value copyReshaped(Value input, Value output);
  /// `input` as a vector, without a copy.
  Value flatten(Value input);

private:
  Type dtype;
  SmallVector<Value> ints;
  bool onDevice = false;
};

/// Keeps one copy of each constant and dimension of a kernel on tensors, at a
/// position that does not depend on the origin of the kernel.
void tidyKernel(func::FuncOp kernel);

} // namespace mlir::relax

#endif // RELAX_MLIR_CONVERSION_KERNELBUILDER_H
