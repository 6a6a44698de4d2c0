//===- PrimExpr.h - Dimension expressions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algebra of dimension expressions: canonical construction, equality,
// substitution, evaluation. Arithmetic is that of the integers: only where a
// value is computed, by `evaluate` or a program, it may overflow 64 bits.
//
// The cost of every function is bounded by the limits of an expression,
// PrimExprAttr::kMaxDepth and kMaxSize. Nothing is found out about an
// expression beyond them. PrimExprFacts.h proves more, under known facts.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_PRIMEXPR_H
#define RELAX_MLIR_IR_PRIMEXPR_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace mlir::relax {

class PrimExprAttr;

/// The operations of the specification's PrimExpr (GR01), and comparisons for
/// the condition of Select.
enum class PrimExprKind : uint8_t {
  Var,
  Int,
  Add,
  Mul,
  FloorDiv,
  Mod,
  Min,
  Max,
  Select,
  Not,
  And,
  Or,
  Eq,
  Lt,
  Le
};
llvm::hash_code hash_value(PrimExprKind kind);

/// The answer to a question that may not be decided.
enum class Ternary { No, Unknown, Yes };

/// Yes where both are Yes, No where one is No.
Ternary both(Ternary lhs, Ternary rhs);

/// Whether two expressions have the same value for all values of their
/// variables (Yes), for none (No), or neither is proven (ST12), by their normal
/// form alone. Nothing is assumed of variables, not that they are dimensions.
Ternary proveEqual(PrimExprAttr lhs, PrimExprAttr rhs);

/// proveEqual over lists; lists of different length are not equal.
Ternary proveEqual(ArrayRef<PrimExprAttr> lhs, ArrayRef<PrimExprAttr> rhs);

/// Adds the names of the variables of `expr` to `names`.
void collectVars(PrimExprAttr expr, llvm::StringSet<> &names);

/// The first variable of `expr` for which `isBound` is false.
std::optional<StringRef>
findUnbound(PrimExprAttr expr, llvm::function_ref<bool(StringRef)> isBound);

/// Replaces variables that `values` holds, all at once. Null where the result
/// would be beyond the limits of an expression.
using PrimExprMap = llvm::StringMap<PrimExprAttr>;
PrimExprAttr substitute(PrimExprAttr expr, const PrimExprMap &values);

/// An operation on operands, in canonical form; sums and products take any
/// number of them, at least one.
PrimExprAttr rebuild(PrimExprKind kind, ArrayRef<PrimExprAttr> operands);

/// The value of `expr`, or none where a variable is missing, a divisor is zero,
/// or the value overflows 64 bits. Of the branches of Select only the one that
/// is taken counts.
std::optional<int64_t> evaluate(PrimExprAttr expr,
                                const llvm::StringMap<int64_t> &values);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_PRIMEXPR_H
