//===- PDLConstraints.cpp - Constraints of patterns -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What patterns of `transform.with_pdl_patterns` can ask beside names of
// operations, operands and attributes:
//
//   pdl.apply_native_constraint "relax.is_static"(%value : !pdl.value)
//
// StructInfo is that of a value, or a type. A constraint that is given anything
// else than it takes is an error, and does not hold.
//
//===----------------------------------------------------------------------===//

#include "Calls.h"

#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Dialect/Transform/PDLExtension/PDLExtensionOps.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A value of PDL as a Type: of a value, or itself. Null for anything else.
static Type getStructInfo(PDLValue value) {
  if (!value)
    return {};
  if (auto type = value.dyn_cast<Type>())
    return type;
  auto given = value.dyn_cast<Value>();
  return given ? given.getType() : Type();
}

static Operation *getOperation(PDLValue value) {
  return value ? value.dyn_cast<Operation *>() : nullptr;
}

/// An attribute, as the one of a kind; null for anything else.
template <typename AttrTy> static AttrTy getAttribute(PDLValue value) {
  if (!value)
    return {};
  return dyn_cast_or_null<AttrTy>(value.dyn_cast<Attribute>());
}

/// The value, or the only result of an operation; null for anything else.
static Value getValue(PDLValue value) {
  if (Operation *op = getOperation(value))
    return op->getNumResults() == 1 ? Value(op->getResult(0)) : Value();
  return value ? value.dyn_cast<Value>() : Value();
}

/// A type, or the attribute that is one.
static Type getDtype(PDLValue value) {
  if (auto attribute = getAttribute<TypeAttr>(value))
    return attribute.getValue();
  return value ? value.dyn_cast<Type>() : Type();
}

/// The place of what is matched, where an argument has one.
static Location findLocation(PatternRewriter &rewriter,
                             ArrayRef<PDLValue> args) {
  for (PDLValue arg : args) {
    if (Operation *op = getOperation(arg))
      return op->getLoc();
    if (Value value = getValue(arg))
      return value.getLoc();
  }
  return UnknownLoc::get(rewriter.getContext());
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

namespace {
struct Constraint {
  StringLiteral name;
  /// What it takes, for messages.
  StringLiteral parameters;
  unsigned numParameters;
  /// Whether it holds; nothing where the arguments are not what it takes.
  std::optional<bool> (*holds)(ArrayRef<PDLValue> args);
};
} // namespace

static std::optional<bool> hasRank(ArrayRef<PDLValue> args) {
  Type type = getStructInfo(args[0]);
  auto rank = getAttribute<IntegerAttr>(args[1]);
  if (!type || !rank || !rank.getType().isSignlessIntOrIndex())
    return std::nullopt;
  std::optional<int64_t> number = rank.getValue().trySExtValue();
  auto tensor = dyn_cast<TensorStructInfoType>(type);
  return tensor && tensor.hasRank() && number == tensor.getNdim();
}

static std::optional<bool> hasDtype(ArrayRef<PDLValue> args) {
  Type type = getStructInfo(args[0]), dtype = getDtype(args[1]);
  if (!type || !dtype)
    return std::nullopt;
  if (auto prim = dyn_cast<PrimStructInfoType>(type))
    return prim.getDtype() == dtype;
  auto tensor = dyn_cast<TensorStructInfoType>(type);
  return tensor && tensor.getDtype() == dtype;
}

static std::optional<bool> isStaticTensor(ArrayRef<PDLValue> args) {
  Type type = getStructInfo(args[0]);
  if (!type)
    return std::nullopt;
  return areTensors(type, isStatic);
}

/// What is not known to be the same does not count as such.
static std::optional<bool> haveSameStructInfo(ArrayRef<PDLValue> args) {
  Type lhs = getStructInfo(args[0]), rhs = getStructInfo(args[1]);
  if (!lhs || !rhs)
    return std::nullopt;
  if (!isa<StructInfoTypeInterface>(lhs) || !isa<StructInfoTypeInterface>(rhs))
    return lhs == rhs;
  return isSubtype(lhs, rhs) == Ternary::Yes &&
         isSubtype(rhs, lhs) == Ternary::Yes;
}

static std::optional<bool> isPure(ArrayRef<PDLValue> args) {
  Operation *op = getOperation(args[0]);
  if (!op)
    return std::nullopt;
  return isa_and_nonnull<RelaxDialect>(op->getDialect()) && isPureOperation(op);
}

static std::optional<bool> isUsedOnce(ArrayRef<PDLValue> args) {
  Value value = getValue(args[0]);
  if (!value)
    return std::nullopt;
  return value.hasOneUse();
}

static std::optional<bool> isConstant(ArrayRef<PDLValue> args) {
  Value value = getValue(args[0]);
  if (!value)
    return std::nullopt;
  return isa_and_nonnull<ConstantOp>(value.getDefiningOp());
}

/// A kernel that states a kind that is none has the error.
static std::optional<bool> hasOpPattern(ArrayRef<PDLValue> args) {
  Operation *op = getOperation(args[0]);
  auto name = getAttribute<StringAttr>(args[1]);
  if (!op || !name || !findOpPattern(name.getValue()))
    return std::nullopt;
  auto kernel = dyn_cast_or_null<func::FuncOp>(
      isa<CallTIROp>(op) ? findCallee(op) : nullptr);
  if (!kernel)
    return false;
  FailureOr<OpPattern> pattern = getOpPattern(kernel);
  return succeeded(pattern) && *pattern == *findOpPattern(name.getValue());
}

static constexpr Constraint kConstraints[] = {
    {"relax.has_dtype", "a value or type, and a data type", 2, hasDtype},
    {"relax.has_op_pattern", "an operation, and the name of a kind of kernel",
     2, hasOpPattern},
    {"relax.has_rank", "a value or type, and an integer", 2, hasRank},
    {"relax.is_constant", "a value or an operation with one result", 1,
     isConstant},
    {"relax.is_pure", "an operation", 1, isPure},
    {"relax.is_static", "a value or type", 1, isStaticTensor},
    {"relax.is_used_once", "a value or an operation with one result", 1,
     isUsedOnce},
    {"relax.same_struct_info", "two values or types", 2, haveSameStructInfo},
};

/// Whether a constraint holds, with an error where it cannot tell.
static LogicalResult check(const Constraint &constraint,
                           PatternRewriter &rewriter, ArrayRef<PDLValue> args) {
  std::optional<bool> result;
  if (args.size() == constraint.numParameters)
    result = constraint.holds(args);
  if (result)
    return success(*result);
  InFlightDiagnostic diag = emitError(findLocation(rewriter, args))
                            << "expected the constraint '" << constraint.name
                            << "' to be given " << constraint.parameters
                            << ", but got ";
  if (args.empty())
    return diag << "nothing";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      args, os,
      [&](PDLValue arg) {
        if (arg)
          PDLValue::print(os, arg.getKind());
        else
          os << "nothing";
      },
      " and ");
  return diag << text;
}

void mlir::relax::addPDLConstraints(transform::PDLMatchHooks &hooks) {
  llvm::StringMap<PDLConstraintFunction> functions;
  for (const Constraint &constraint : kConstraints)
    functions[constraint.name] = [&constraint](PatternRewriter &rewriter,
                                               PDLResultList &,
                                               ArrayRef<PDLValue> args) {
      return check(constraint, rewriter, args);
    };
  hooks.mergeInPDLMatchHooks(std::move(functions));
}
