//===- Canonicalize.cpp - Canonicalization patterns -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--canonicalize` does to operations of the dialect:
//
// - arithmetic with neutral elements, pairs of inverse operators, operators
// that
//   change nothing the second time;
// - a lower and an upper bound;
// - conversions: to the type that is there, and in two steps;
// - operators that move elements: transposes, reshapes, broadcasts, slices and
//   concatenations that do nothing or join with the one before;
// - `where` and `if` with known conditions;
// - bindings: casts to the same type, tuples of all fields, outputs of dataflow
//   blocks (`populateBindingPatterns`).
//
// Results are the same bit by bit: x + 0.0 stays, since it is 0.0 for -0.0. The
// type of a result stays, too. An operator gives memory of its own, so it only
// becomes what it was given where nobody can tell (`mayBeViewOf`), and reads an
// earlier value only where none is updated in between.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Canonicalize.h"

#include "relax-mlir/IR/Alias.h"
#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Whether a value may be used in the place of another one
//===----------------------------------------------------------------------===//

static bool isKilled(Value value) {
  return llvm::any_of(value.getUsers(), llvm::IsaPred<KillOp>);
}

bool mlir::relax::mayReplace(Operation *op, Value value) {
  return value.getType() == op->getResult(0).getType() && !isKilled(value) &&
         !isKilled(op->getResult(0));
}

/// Replaces an operator by a value with the same elements.
static LogicalResult forward(Operation *op, Value value,
                             PatternRewriter &rewriter) {
  if (!mayReplace(op, value) || !mayBeViewOf(op, value))
    return failure();
  rewriter.replaceOp(op, value);
  return success();
}

/// The operation before `op` in the same block that made `value`, if it is one
/// of `OpTys` and nothing may update tensors between the two.
template <typename... OpTys>
static Operation *producerOf(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  if (!producer || !isa<OpTys...>(producer) ||
      producer->getBlock() != op->getBlock())
    return nullptr;
  for (Operation *between = producer->getNextNode(); between != op;
       between = between->getNextNode())
    if (between->getNumRegions() != 0 || mayUpdateTensors(between))
      return nullptr;
  return producer;
}

/// Whether the error that an operator may end with can go: dataflow blocks may
/// become more defined, and an operator whose types say all has none.
static bool mayDropErrors(Operation *op) {
  if (isa<DataflowOp>(op->getParentOp()))
    return true;
  return llvm::all_of(
      llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()),
                               SmallVector<Type>(op->getResultTypes())),
      [](Type type) {
        auto tensor = dyn_cast<TensorStructInfoType>(type);
        return !tensor || (tensor.hasShape() &&
                           llvm::all_of(tensor.getDims(), [](PrimExprAttr dim) {
                             return dim.getConstant().has_value();
                           }));
      });
}

/// An axis counted from the start; nothing where the rank is not known.
static std::optional<int64_t> normalizeAxis(int64_t axis, Value tensor) {
  auto type = dyn_cast<TensorStructInfoType>(tensor.getType());
  if (!type || !type.hasRank())
    return std::nullopt;
  return axis < 0 ? axis + type.getNdim() : axis;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {
enum class Number { None, Zero, NegativeZero, One, AllOnes };
} // namespace

/// Whether all elements of a constant are one number. Zero has no sign of its
/// own where the data type has none.
static bool isConstant(Value value, Number number) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                           : SplatElementsAttr();
  if (!elements || number == Number::None)
    return false;
  if (isa<FloatType>(elements.getElementType())) {
    APFloat found = elements.getSplatValue<APFloat>();
    if (number == Number::One)
      return found.isExactlyValue(1.0);
    return found.isZero() &&
           found.isNegative() == (number == Number::NegativeZero) &&
           number != Number::AllOnes;
  }
  if (!elements.getElementType().isIntOrIndex())
    return false;
  APInt found = elements.getSplatValue<APInt>();
  if (number == Number::AllOnes)
    return found.isAllOnes();
  return number == Number::One ? found.isOne() : found.isZero();
}

/// The number that an operator may have on its right side without effect, and
/// whether it may be on the left, too.
static std::pair<Number, bool> neutralElement(Operation *op) {
  bool isFloat = false;
  if (auto type = dyn_cast<TensorStructInfoType>(op->getResult(0).getType()))
    isFloat = isa_and_nonnull<FloatType>(type.getDtype());
  return llvm::TypeSwitch<Operation *, std::pair<Number, bool>>(op)
      .Case([](AddOp) { return std::pair(Number::NegativeZero, true); })
      .Case<BitwiseOrOp, BitwiseXorOp, LogicalOrOp, LogicalXorOp>(
          [](Operation *) { return std::pair(Number::Zero, true); })
      .Case<SubtractOp, LeftShiftOp, RightShiftOp>(
          [](Operation *) { return std::pair(Number::Zero, false); })
      .Case([](MultiplyOp) { return std::pair(Number::One, true); })
      .Case<DivideOp, PowerOp>(
          [](Operation *) { return std::pair(Number::One, false); })
      .Case([&](FloorDivideOp) {
        return std::pair(isFloat ? Number::None : Number::One, false);
      })
      .Case<BitwiseAndOp, LogicalAndOp>(
          [](Operation *) { return std::pair(Number::AllOnes, true); })
      .Default([](Operation *) { return std::pair(Number::None, false); });
}

template <typename OpTy>
static LogicalResult dropNeutralElement(OpTy op, PatternRewriter &rewriter) {
  auto [number, isCommutative] = neutralElement(op);
  if (isConstant(op.getX2(), number))
    return forward(op, op.getX1(), rewriter);
  if (isCommutative && isConstant(op.getX1(), number))
    return forward(op, op.getX2(), rewriter);
  return failure();
}

/// f(f(x)) is x.
template <typename OpTy>
static LogicalResult dropInversePair(OpTy op, PatternRewriter &rewriter) {
  Operation *first = producerOf<OpTy>(op.getX(), op);
  return first ? forward(op, first->getOperand(0), rewriter) : failure();
}

/// f(g(x)) is g(x), where g has results that f leaves as they are.
template <typename OpTy, typename... ProducerTys>
static LogicalResult dropSecond(OpTy op, PatternRewriter &rewriter) {
  bool isSecond = producerOf<ProducerTys...>(op.getX(), op);
  return isSecond ? forward(op, op.getX(), rewriter) : failure();
}

/// |-x| is |x|.
static LogicalResult dropSign(AbsOp op, PatternRewriter &rewriter) {
  Operation *first = producerOf<NegativeOp>(op.getX(), op);
  if (!first)
    return failure();
  rewriter.modifyOpInPlace(
      op, [&] { op.getXMutable().assign(first->getOperand(0)); });
  return success();
}

static LogicalResult chooseKnownBranch(WhereOp op, PatternRewriter &rewriter) {
  if (op.getX1() == op.getX2() || isConstant(op.getCondition(), Number::One))
    return forward(op, op.getX1(), rewriter);
  if (isConstant(op.getCondition(), Number::Zero))
    return forward(op, op.getX2(), rewriter);
  return failure();
}

/// A branch whose condition is known becomes a sequence, which keeps its scope.
static LogicalResult takeKnownBranch(IfOp op, PatternRewriter &rewriter) {
  bool isTrue = isConstant(op.getCond(), Number::One);
  bool isFalse = isConstant(op.getCond(), Number::Zero);
  if (auto prim = op.getCond().getDefiningOp<PrimValueOp>())
    if (auto flag = dyn_cast<BoolAttr>(prim.getValue()))
      (flag.getValue() ? isTrue : isFalse) = true;
  if (!isTrue && !isFalse)
    return failure();
  auto seq = SeqOp::create(rewriter, op.getLoc(), op.getType());
  Region &taken = isTrue ? op.getThenRegion() : op.getElseRegion();
  rewriter.inlineRegionBefore(taken, seq.getBody(), seq.getBody().end());
  rewriter.replaceOp(op, seq.getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Whether each number of one data type is one of another.
static bool isLossless(Type from, Type to) {
  if (from == to)
    return true;
  if (isa<Float8E8M0FNUType>(from) || isa<Float8E8M0FNUType>(to))
    return false; // powers of two without zero
  if (from.isInteger(1))
    return true;
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    const llvm::fltSemantics &small = fromFloat.getFloatSemantics(),
                             &large = toFloat.getFloatSemantics();
    unsigned digits = APFloat::semanticsPrecision(small),
             more = APFloat::semanticsPrecision(large);
    // Denormal numbers, too; floats of 8 bits may lack infinity or -0.0.
    return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(to) &&
           digits <= more &&
           APFloat::semanticsMaxExponent(small) <=
               APFloat::semanticsMaxExponent(large) &&
           APFloat::semanticsMinExponent(small) - int(digits) >=
               APFloat::semanticsMinExponent(large) - int(more);
  }
  auto integer = dyn_cast<IntegerType>(from);
  if (!integer)
    return false;
  unsigned digits = integer.getWidth() - (integer.isUnsigned() ? 0 : 1);
  if (toFloat)
    return digits <= toFloat.getFPMantissaWidth() &&
           digits < unsigned(APFloat::semanticsMaxExponent(
                        toFloat.getFloatSemantics()));
  auto wider = dyn_cast<IntegerType>(to);
  if (!wider || (wider.isUnsigned() && !integer.isUnsigned()))
    return false;
  return digits <= wider.getWidth() - (wider.isUnsigned() ? 0 : 1);
}

/// The value of a number that is known.
static std::optional<double> getNumber(Value value) {
  auto prim = value.getDefiningOp<PrimValueOp>();
  if (!prim)
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(prim.getValue()))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(prim.getValue()))
    return APSInt(number.getValue(), number.getType().isUnsignedInteger())
        .roundToDouble(/*isSigned=*/!number.getType().isUnsignedInteger());
  return std::nullopt;
}

/// The one number of a constant, as a bound of a tensor of floats; null where
/// there are several, or the tensor would be broadcast.
static FloatAttr getBound(Value value, Value tensor) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                           : SplatElementsAttr();
  auto type = dyn_cast<TensorStructInfoType>(tensor.getType());
  if (!elements || elements.getNumElements() != 1 || !type || !type.hasRank() ||
      type.getNdim() < elements.getType().getRank() ||
      type.getDtype() != elements.getElementType() ||
      !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(
          elements.getElementType()))
    return {};
  return FloatAttr::get(Float64Type::get(value.getContext()),
                        elements.getSplatValue<APFloat>().convertToDouble());
}

/// min(max(x, low), high) is one operator.
static LogicalResult makeClip(MinimumOp op, PatternRewriter &rewriter) {
  auto inner =
      dyn_cast_or_null<MaximumOp>(producerOf<MaximumOp>(op.getX1(), op));
  if (!inner || !inner->hasOneUse())
    return failure();
  FloatAttr low = getBound(inner.getX2(), inner.getX1());
  FloatAttr high = getBound(op.getX2(), inner.getX1());
  if (!low || !high)
    return failure();
  auto makePrim = [&](FloatAttr number) -> Value {
    return PrimValueOp::create(rewriter, op.getLoc(), number);
  };
  Value bounds[] = {makePrim(low), makePrim(high)};
  rewriter.replaceOpWithNewOp<ClipOp>(op, op->getResultTypes(), inner.getX1(),
                                      bounds[0], bounds[1]);
  rewriter.eraseOp(inner);
  return success();
}

/// A conversion of floats within bounds that the integers have by themselves,
/// since it saturates.
static LogicalResult dropBounds(AstypeOp op, PatternRewriter &rewriter) {
  auto clip = dyn_cast_or_null<ClipOp>(producerOf<ClipOp>(op.getX(), op));
  auto integer = dyn_cast<IntegerType>(op.getDtype());
  if (!clip || !integer || integer.getWidth() > 16 || integer.getWidth() == 1)
    return failure();
  auto type = dyn_cast<TensorStructInfoType>(clip.getX().getType());
  std::optional<double> min = getNumber(clip.getMin()),
                        max = getNumber(clip.getMax());
  if (!type || !isa_and_nonnull<FloatType>(type.getDtype()) || !min || !max)
    return failure();
  unsigned width = integer.getWidth();
  double low = integer.isUnsigned() ? 0 : -std::ldexp(1.0, width - 1);
  double high = std::ldexp(1.0, integer.isUnsigned() ? width : width - 1) - 1;
  if (!(*min <= low && high <= *max))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(clip.getX()); });
  if (clip->use_empty())
    rewriter.eraseOp(clip);
  return success();
}

/// A conversion to the type that is there, or after one without loss. A float
/// in between saturates where integers wrap around.
static LogicalResult joinConversions(AstypeOp op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getX().getType());
  if (!type || !type.getDtype())
    return failure();
  if (type.getDtype() == op.getDtype())
    return forward(op, op.getX(), rewriter);
  auto first = dyn_cast_or_null<AstypeOp>(producerOf<AstypeOp>(op.getX(), op));
  auto source = first ? dyn_cast<TensorStructInfoType>(first.getX().getType())
                      : TensorStructInfoType();
  if (!source || !source.getDtype() ||
      !isLossless(source.getDtype(), first.getDtype()))
    return failure();
  if (source.getDtype() == op.getDtype())
    return forward(op, first.getX(), rewriter);
  bool maySaturate =
      isa<IntegerType>(source.getDtype()) && isa<FloatType>(first.getDtype()) &&
      isa<IntegerType>(op.getDtype()) && !op.getDtype().isInteger(1) &&
      !isLossless(source.getDtype(), op.getDtype());
  if (maySaturate)
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(first.getX()); });
  return success();
}

//===----------------------------------------------------------------------===//
// Operators that move elements
//===----------------------------------------------------------------------===//

/// The permutation of an operator whose rank is known; else nothing.
static std::optional<SmallVector<int64_t>> getPermutation(PermuteDimsOp op) {
  auto type = dyn_cast<TensorStructInfoType>(op.getX().getType());
  if (!type || !type.hasRank())
    return std::nullopt;
  SmallVector<int64_t> axes;
  if (auto given = op.getAxes())
    for (int64_t axis : *given)
      axes.push_back(axis < 0 ? axis + type.getNdim() : axis);
  else
    for (int64_t axis = type.getNdim(); axis-- > 0;)
      axes.push_back(axis);
  return axes;
}

/// What a transpose and the one before, if there is one, do together: the value
/// that is moved, and where to.
static std::pair<Value, SmallVector<int64_t>>
composeTransposes(PermuteDimsOp op) {
  auto axes = getPermutation(op);
  if (!axes)
    return {};
  auto first =
      dyn_cast_or_null<PermuteDimsOp>(producerOf<PermuteDimsOp>(op.getX(), op));
  auto before = first ? getPermutation(first) : std::nullopt;
  if (!before)
    return {op.getX(), *axes};
  for (int64_t &axis : *axes)
    axis = (*before)[axis];
  return {first.getX(), *axes};
}

static LogicalResult dropTransposes(PermuteDimsOp op,
                                    PatternRewriter &rewriter) {
  auto [source, axes] = composeTransposes(op);
  bool isIdentity =
      source && llvm::equal(axes, llvm::seq<int64_t>(0, axes.size()));
  return isIdentity ? forward(op, source, rewriter) : failure();
}

static LogicalResult joinTransposes(PermuteDimsOp op,
                                    PatternRewriter &rewriter) {
  auto [source, axes] = composeTransposes(op);
  if (!source || source == op.getX())
    return failure();
  rewriter.modifyOpInPlace(op, [&, source = source, &axes = axes] {
    op.setAxes(axes);
    op.getXMutable().assign(source);
  });
  return success();
}

/// Whether a reshape can have no error: it has as many elements as it is given.
static bool keepsElements(Operation *reshape) {
  auto from = dyn_cast<TensorStructInfoType>(reshape->getOperand(0).getType());
  auto to = dyn_cast<TensorStructInfoType>(reshape->getResult(0).getType());
  if (!from || !to || !from.hasShape() || !to.hasShape())
    return false;
  MLIRContext *context = reshape->getContext();
  PrimExprAttr have = PrimExprAttr::getProduct(context, from.getDims());
  return !have.isTooLarge() &&
         have == PrimExprAttr::getProduct(context, to.getDims());
}

/// What a reshape and the one before, if there is one, are given.
static Value findReshaped(Operation *op) {
  Value x = op->getOperand(0);
  Operation *first =
      producerOf<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(x, op);
  bool mayGo = first && (mayDropErrors(first) || keepsElements(first));
  return mayGo ? first->getOperand(0) : x;
}

/// To the dimensions that are there.
template <typename OpTy>
static LogicalResult dropReshapes(OpTy op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getType());
  if (!type || !type.hasShape())
    return failure();
  if (succeeded(forward(op, op.getX(), rewriter)))
    return success();
  return forward(op, findReshaped(op), rewriter);
}

template <typename OpTy>
static LogicalResult joinReshapes(OpTy op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getType());
  Value source = findReshaped(op);
  if (!type || !type.hasShape() || source == op.getX())
    return failure();
  Value shape =
      ShapeOp::create(rewriter, op.getLoc(),
                      ShapeStructInfoType::get(op.getContext(), type.getShape(),
                                               type.getNdim(), StringAttr()),
                      type.getShape());
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, source, shape);
  return success();
}

static LogicalResult dropBroadcast(BroadcastToOp op,
                                   PatternRewriter &rewriter) {
  return forward(op, op.getX(), rewriter);
}

static LogicalResult joinBroadcasts(BroadcastToOp op,
                                    PatternRewriter &rewriter) {
  Operation *first = producerOf<BroadcastToOp>(op.getX(), op);
  if (!first || !mayDropErrors(first))
    return failure();
  rewriter.modifyOpInPlace(
      op, [&] { op.getXMutable().assign(first->getOperand(0)); });
  return success();
}

/// flip(flip(x)) along the same axis.
static LogicalResult dropDoubleFlip(FlipOp op, PatternRewriter &rewriter) {
  auto first = dyn_cast_or_null<FlipOp>(producerOf<FlipOp>(op.getData(), op));
  if (!first || normalizeAxis(first.getAxis(), op.getData()) !=
                    normalizeAxis(op.getAxis(), op.getData()))
    return failure();
  return forward(op, first.getData(), rewriter);
}

static LogicalResult dropSingleRepeat(RepeatOp op, PatternRewriter &rewriter) {
  return op.getRepeats() == 1 ? forward(op, op.getData(), rewriter) : failure();
}

static LogicalResult dropSingleTile(TileOp op, PatternRewriter &rewriter) {
  bool isOnce = llvm::all_of(op.getRepeats(), [](int64_t n) { return n == 1; });
  return isOnce ? forward(op, op.getData(), rewriter) : failure();
}

//===----------------------------------------------------------------------===//
// Slices and concatenations
//===----------------------------------------------------------------------===//

/// The tensor of which all parts are given in order, along an axis: the operand
/// of a split.
static Value findSplitSource(ConcatOp op, int64_t axis) {
  auto items = llvm::map_to_vector(op.getTensors(), [](Value value) {
    return value.getDefiningOp<GetItemOp>();
  });
  auto split = items.front()
                   ? items.front().getTupleValue().getDefiningOp<SplitOp>()
                   : SplitOp();
  if (!split || normalizeAxis(split.getAxis(), split.getX()) != axis ||
      !producerOf<SplitOp>(split.getResult(), op))
    return {};
  auto parts = dyn_cast<TupleStructInfoType>(split.getResult().getType());
  if (!parts || parts.getFields().size() != items.size())
    return {};
  for (auto [index, item] : llvm::enumerate(items))
    if (!item || item.getTupleValue() != split.getResult() ||
        item.getIndex() != index)
      return {};
  return split.getX();
}

static LogicalResult joinConcatenations(ConcatOp op,
                                        PatternRewriter &rewriter) {
  if (op.getTensors().empty())
    return failure();
  if (op.getTensors().size() == 1)
    return forward(op, op.getTensors().front(), rewriter);
  std::optional<int64_t> axis =
      normalizeAxis(op.getAxis(), op.getTensors().front());
  if (!axis)
    return failure();
  if (Value source = findSplitSource(op, *axis);
      source && succeeded(forward(op, source, rewriter)))
    return success();
  SmallVector<Value> tensors;
  for (Value tensor : op.getTensors()) {
    auto inner =
        tensor.hasOneUse()
            ? dyn_cast_or_null<ConcatOp>(producerOf<ConcatOp>(tensor, op))
            : ConcatOp();
    if (inner && normalizeAxis(inner.getAxis(), tensor) == axis)
      llvm::append_range(tensors, inner.getTensors());
    else
      tensors.push_back(tensor);
  }
  if (tensors.size() == op.getTensors().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getTensorsMutable().assign(tensors); });
  return success();
}

/// Whether two tensors have the same dimensions but along an axis.
static bool haveSameOtherDims(Value lhs, Value rhs, int64_t axis) {
  auto left = dyn_cast<TensorStructInfoType>(lhs.getType());
  auto right = dyn_cast<TensorStructInfoType>(rhs.getType());
  if (!left || !right || !left.hasShape() || !right.hasShape())
    return false;
  for (auto [index, dim, other] :
       llvm::enumerate(left.getDims(), right.getDims()))
    if (dim != other && int64_t(index) != axis)
      return false;
  return true;
}

/// The known entries of a shape; nothing where one is not a number.
static std::optional<SmallVector<int64_t>> getNumbers(Value shape) {
  auto type = dyn_cast<ShapeStructInfoType>(shape.getType());
  if (!type || !type.getValues())
    return std::nullopt;
  SmallVector<int64_t> numbers;
  for (PrimExprAttr value : type.getValues().getDims()) {
    std::optional<int64_t> number = value.getConstant();
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

/// A slice without steps.
static bool isContiguous(StridedSliceOp op) {
  if (!op.getStrides())
    return true;
  auto strides = getNumbers(op.getStrides());
  return strides && llvm::all_of(*strides, [](int64_t n) { return n == 1; });
}

/// A slice of all elements, from 0 on and of the same dimensions.
static LogicalResult dropFullSlice(StridedSliceOp op,
                                   PatternRewriter &rewriter) {
  auto begin = getNumbers(op.getBegin());
  if (!begin || !isContiguous(op) ||
      llvm::any_of(*begin, [](int64_t n) { return n != 0; }))
    return failure();
  auto type = dyn_cast<TensorStructInfoType>(op.getX().getType());
  return type && type.hasShape() ? forward(op, op.getX(), rewriter) : failure();
}

/// A slice along the axis of a concatenation that is a part of one of its
/// tensors.
static LogicalResult sliceOnePart(StridedSliceOp op,
                                  PatternRewriter &rewriter) {
  auto concat = dyn_cast_or_null<ConcatOp>(producerOf<ConcatOp>(op.getX(), op));
  if (!concat || op.getAxes().size() != 1 || !isContiguous(op) ||
      !mayDropErrors(concat))
    return failure();
  auto begin = getNumbers(op.getBegin()), end = getNumbers(op.getEnd());
  auto axis = normalizeAxis(op.getAxes().front(), op.getX());
  if (!begin || !end || !axis || begin->front() < 0 ||
      end->front() < begin->front() ||
      normalizeAxis(concat.getAxis(), op.getX()) != axis)
    return failure();
  int64_t offset = 0;
  for (Value tensor : concat.getTensors()) {
    auto type = dyn_cast<TensorStructInfoType>(tensor.getType());
    std::optional<int64_t> size = type && type.hasShape()
                                      ? type.getDims()[*axis].getConstant()
                                      : std::nullopt;
    if (!size)
      return failure(); // where the next tensor begins is not known
    if (offset <= begin->front() && end->front() <= offset + *size &&
        haveSameOtherDims(tensor, op.getX(), *axis)) {
      auto shapeOf = [&](int64_t n) -> Value {
        auto expr = ShapeExprAttr::get(
            op->getContext(), {PrimExprAttr::getInt(op->getContext(), n)});
        return ShapeOp::create(
            rewriter, op->getLoc(),
            ShapeStructInfoType::get(op->getContext(), expr, 1, StringAttr()),
            expr);
      };
      Value from = shapeOf(begin->front() - offset);
      Value to = shapeOf(end->front() - offset);
      rewriter.modifyOpInPlace(op, [&] {
        op.getXMutable().assign(tensor);
        op.getBeginMutable().assign(from);
        op.getEndMutable().assign(to);
      });
      return success();
    }
    offset += *size;
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

/// A cast to the type that a value has checks and binds nothing.
static LogicalResult dropCast(MatchCastOp op, PatternRewriter &rewriter) {
  if (!mayReplace(op, op.getValue()))
    return failure();
  rewriter.replaceOp(op, op.getValue());
  return success();
}

/// A field of a tuple that is made here.
static LogicalResult dropGetItem(GetItemOp op, PatternRewriter &rewriter) {
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(folded)))
    return failure();
  rewriter.replaceOp(op, cast<Value>(folded.front()));
  return success();
}

/// A tuple of all fields of another one, in order.
static LogicalResult dropTuple(TupleOp op, PatternRewriter &rewriter) {
  Value source;
  for (auto [index, field] : llvm::enumerate(op.getFields())) {
    auto item = field.getDefiningOp<GetItemOp>();
    if (!item || item.getIndex() != index ||
        (source && item.getTupleValue() != source))
      return failure();
    source = item.getTupleValue();
  }
  if (!source || !mayReplace(op, source))
    return failure();
  rewriter.replaceOp(op, source);
  return success();
}

/// The shape of a tensor whose dimensions are known.
static LogicalResult makeKnownShape(ShapeOfOp op, PatternRewriter &rewriter) {
  auto type = dyn_cast<TensorStructInfoType>(op.getTensor().getType());
  auto shape = dyn_cast<ShapeStructInfoType>(op.getType());
  if (!type || !type.hasShape() || !shape || !shape.getValues() ||
      shape.getValues() != type.getShape())
    return failure();
  rewriter.replaceOpWithNewOp<ShapeOp>(op, shape, type.getShape());
  return success();
}

DataflowOp mlir::relax::dropOutputs(DataflowOp dataflow,
                                    const llvm::SmallBitVector &dropped,
                                    RewriterBase &rewriter) {
  Operation *output = dataflow.getBody().front().getTerminator();
  SmallVector<Value> outputs, results;
  for (auto [index, value, result] :
       llvm::enumerate(output->getOperands(), dataflow.getResults()))
    if (!dropped[index]) {
      outputs.push_back(value);
      results.push_back(result);
    }
  rewriter.modifyOpInPlace(output, [&] { output->setOperands(outputs); });
  rewriter.setInsertionPoint(dataflow);
  auto smaller = DataflowOp::create(rewriter, dataflow.getLoc(),
                                    ValueRange(results).getTypes());
  smaller->setDiscardableAttrs(dataflow->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(dataflow.getBody(), smaller.getBody(),
                              smaller.getBody().end());
  for (auto [result, replacement] : llvm::zip(results, smaller.getResults()))
    rewriter.replaceAllUsesWith(result, replacement);
  rewriter.eraseOp(dataflow);
  return smaller;
}

/// Values that are known outside of a dataflow block do not go through it, none
/// leaves it twice, and none leaves it that is not used. An empty block goes.
static LogicalResult dropNeedlessOutputs(DataflowOp op,
                                         PatternRewriter &rewriter) {
  Operation *output = op.getBody().front().getTerminator();
  llvm::SmallDenseMap<Value, Value> seen;
  llvm::SmallBitVector dropped(op.getNumResults());
  for (auto [index, value, result] :
       llvm::enumerate(output->getOperands(), op.getResults())) {
    if (result.use_empty()) {
      dropped.set(index);
      continue;
    }
    bool isOutside = value.getParentBlock() != &op.getBody().front();
    Value other =
        isOutside ? value : seen.try_emplace(value, result).first->second;
    if (other == result || other.getType() != result.getType())
      continue;
    rewriter.replaceAllUsesWith(result, other);
    dropped.set(index);
  }
  if (op.getNumResults() == dropped.count() &&
      llvm::hasSingleElement(op.getBody().front())) {
    rewriter.eraseOp(op);
    return success();
  }
  if (dropped.none())
    return failure();
  dropOutputs(op, dropped, rewriter);
  return success();
}

//===----------------------------------------------------------------------===//
// Sets of patterns
//===----------------------------------------------------------------------===//

void mlir::relax::populateBindingPatterns(RewritePatternSet &patterns) {
  patterns.add(dropCast);
  patterns.add(dropGetItem);
  patterns.add(dropTuple);
  patterns.add(makeKnownShape);
  patterns.add(dropNeedlessOutputs);
}

template <typename... OpTys>
static void addNeutralElements(RewritePatternSet &patterns) {
  (patterns.add(dropNeutralElement<OpTys>), ...);
}

template <typename... OpTys>
static void addInversePairs(RewritePatternSet &patterns) {
  (patterns.add(dropInversePair<OpTys>), ...);
}

/// Each of these gives integers, or the infinities and NaN that it is given.
template <typename... OpTys>
static void addRoundings(RewritePatternSet &patterns) {
  (patterns.add(dropSecond<OpTys, OpTys...>), ...);
}

template <typename... OpTys>
static void addReshapes(RewritePatternSet &patterns) {
  (patterns.add(dropReshapes<OpTys>), ...);
}

template <typename... OpTys>
static void addJoinedReshapes(RewritePatternSet &patterns) {
  (patterns.add(joinReshapes<OpTys>), ...);
}

void mlir::relax::populateOperatorPatterns(RewritePatternSet &patterns) {
  addNeutralElements<AddOp, SubtractOp, MultiplyOp, DivideOp, FloorDivideOp,
                     PowerOp, LeftShiftOp, RightShiftOp, BitwiseAndOp,
                     BitwiseOrOp, BitwiseXorOp, LogicalAndOp, LogicalOrOp,
                     LogicalXorOp>(patterns);
  addInversePairs<NegativeOp, BitwiseNotOp, LogicalNotOp>(patterns);
  addRoundings<CeilOp, FloorOp, RoundOp, TruncOp>(patterns);
  patterns.add(dropSecond<AbsOp, AbsOp>);
  patterns.add(dropSecond<ReluOp, ReluOp>);
  patterns.add(dropSecond<SignOp, SignOp>);
  patterns.add(dropSign);
  patterns.add(chooseKnownBranch);
  patterns.add(makeClip);
  patterns.add(dropBounds);
  patterns.add(joinConversions);
  patterns.add(dropTransposes);
  addReshapes<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(patterns);
  patterns.add(dropBroadcast);
  patterns.add(dropDoubleFlip);
  patterns.add(dropSingleRepeat);
  patterns.add(dropSingleTile);
  patterns.add(joinConcatenations);
  patterns.add(dropFullSlice);
  patterns.add(sliceOnePart);
}

void mlir::relax::populateJoinPatterns(RewritePatternSet &patterns) {
  patterns.add(joinTransposes);
  addJoinedReshapes<ReshapeOp, FlattenOp, ExpandDimsOp, SqueezeOp>(patterns);
  patterns.add(joinBroadcasts);
}

void RelaxDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  populateBindingPatterns(patterns);
  populateOperatorPatterns(patterns);
  populateJoinPatterns(patterns);
  patterns.add(takeKnownBranch);
}
