//===- Relax.h - The Relax dialect -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_RELAX_H
#define RELAX_MLIR_IR_RELAX_H

#include "relax-mlir/IR/PrimExpr.h"
#include "relax-mlir/IR/ShapeVars.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "relax-mlir/IR/RelaxDialect.h"
#define GET_ATTRDEF_CLASSES
#include "relax-mlir/IR/RelaxAttributes.h.inc"

#include "relax-mlir/IR/RelaxTypeInterfaces.h.inc"
#define GET_TYPEDEF_CLASSES
#include "relax-mlir/IR/RelaxTypes.h.inc"

namespace mlir {
class RewriterBase;
namespace OpTrait {
/// An operator of tensors, which a rule derives of distributed ones.
template <typename ConcreteType>
struct TensorOperator : TraitBase<ConcreteType, TensorOperator> {};
} // namespace OpTrait
namespace relax {
struct RuntimeStep;
}
} // namespace mlir

#include "relax-mlir/IR/RelaxOpInterfaces.h.inc"
#define GET_OP_CLASSES
#include "relax-mlir/IR/RelaxOps.h.inc"

namespace mlir::relax {

/// Parses and prints an expression without its attribute prefix: "n * 4 + 1".
FailureOr<PrimExprAttr> parsePrimExpr(AsmParser &parser);
void printPrimExpr(raw_ostream &os, PrimExprAttr expr);

/// Whether `type` is a data type of tensors (GR18).
bool isDataType(Type type);

/// Whether a dimension is a negative constant, which no tensor has.
bool hasNegativeDim(ShapeExprAttr shape);

/// The type of a function of the module as a value: of a relax.func, or of a
/// kernel, which is impure and gives an empty tuple (DR14). Null for anything
/// else.
FuncStructInfoType getFuncStructInfo(Operation *symbol);

/// Whether the operands of a call are as many as its groups of operands have
/// together: its accessors may be called. Verifiers report it where they are
/// not.
template <typename CallOpTy> bool hasValidSegments(CallOpTy call) {
  int64_t count = 0;
  for (int32_t size : call.getProperties().operandSegmentSizes)
    count += size;
  return count == call->getNumOperands();
}

/// The relax.func or relax.closure whose body `op` is in; null where there is
/// none.
Operation *getFunctionAround(Operation *op);

/// `type` as text, "!relax.tensor<[n], f32>".
std::string toString(Type type);

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_RELAX_H
