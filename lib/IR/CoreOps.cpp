//===- CoreOps.cpp - Blocks, branches and values ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What dataflow blocks, sequences and branches hold and result in, values that
// have to fit a declared type, and the types of constants, tuples and shapes.
//
//===----------------------------------------------------------------------===//

#include "OpFormats.h"

#include "relax-mlir/IR/Inference.h"
#include "relax-mlir/IR/Int4.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Types that are declared
//===----------------------------------------------------------------------===//

/// Verifies that `actual` is a subtype of the declared type `expected`; `role`
/// names it.
static LogicalResult verifySubtype(Operation *op, Type actual, Type expected,
                                   StringRef role, Operation *declaration) {
  if (isSubtypeAt(op, actual, expected) == Ternary::Yes)
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected " << role << " of type " << expected
                            << ", but got " << actual;
  bool maySucceed = checkCompatibility(actual, expected) != Ternary::No ||
                    isSubtype(expected, actual) != Ternary::No;
  if (maySucceed)
    diag.attachNote() << "insert relax.match_cast to check it at run time";
  diag.attachNote(declaration->getLoc()) << "the type is declared here";
  return diag;
}

Type ReturnOp::getDeclaredType() {
  // The function may not be verified yet.
  Operation *parent = (*this)->getParentOp();
  if (isa<ClosureOp>(parent)) {
    auto type = parent->getNumResults() == 1
                    ? dyn_cast<FuncStructInfoType>(parent->getResultTypes()[0])
                    : FuncStructInfoType();
    return type ? type.getRet() : Type();
  }
  auto func = dyn_cast<FuncOp>(parent);
  TypeAttr attribute = func ? func.getFunctionTypeAttr() : TypeAttr();
  auto type =
      attribute ? dyn_cast<FunctionType>(attribute.getValue()) : FunctionType();
  return type && type.getNumResults() == 1 ? type.getResult(0) : Type();
}

/// DR13: what is possibly compatible is checked when the function returns.
LogicalResult ReturnOp::verify() {
  Type declared = getDeclaredType();
  if (!declared) // the function reports it
    return success();
  if (checkCompatibility(getValue().getType(), declared) != Ternary::No)
    return success();
  InFlightDiagnostic diag = emitOpError()
                            << "expected a result of type " << declared
                            << ", but got " << getValue().getType();
  diag.attachNote((*this)->getParentOp()->getLoc())
      << "the type is declared here";
  return diag;
}

bool MatchCastOp::alwaysFails() {
  Type from = getValue().getType(), to = getResult().getType();
  return checkCompatibility(from, to) == Ternary::No &&
         isSubtype(to, from) == Ternary::No;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Verifies that the values of a terminator fit the results of the operation
/// around it.
static LogicalResult verifyTerminator(Operation *parent, Operation *terminator,
                                      StringRef role) {
  if (terminator->getNumOperands() != parent->getNumResults())
    return terminator->emitOpError()
           << "expected " << parent->getNumResults() << " values, but got "
           << terminator->getNumOperands();
  for (auto [operand, result] :
       llvm::zip(terminator->getOperandTypes(), parent->getResultTypes()))
    if (failed(verifySubtype(terminator, operand, result, role, parent)))
      return failure();
  return success();
}

template <typename TerminatorOp>
static LogicalResult verifyBody(Operation *parent, Region &region,
                                StringRef role) {
  Block &block = region.front();
  if (block.empty() || !isa<TerminatorOp>(block.back()))
    return parent->emitOpError() << "expected its block to end with '"
                                 << TerminatorOp::getOperationName() << "'";
  return verifyTerminator(parent, &block.back(), role);
}

LogicalResult DataflowOp::verifyRegions() {
  bool isValid = true;
  auto reject = [&](Operation &op, StringRef message) {
    isValid = false;
    InFlightDiagnostic diag = op.emitOpError() << message << " [WF07]";
    diag.attachNote(getLoc()) << "the dataflow block begins here";
  };
  for (Operation &op : getBody().front()) {
    if (isa<IfOp, DataflowOp>(op))
      reject(op, "is not allowed in a dataflow block");
    if (auto purity = dyn_cast<PurityOpInterface>(op);
        purity && !purity.isPureOp())
      reject(op, "is impure, which is not allowed in a dataflow block");
  }
  isValid &= succeeded(verifyBody<OutputOp>(*this, getBody(), "an output"));
  return success(isValid);
}

LogicalResult DataflowOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  llvm::append_range(results, getBody().front().back().getOperandTypes());
  return success();
}

/// Whether `op` is in a dataflow block, in sequences at most, but in no closure
/// in the block.
static bool isInDataflow(Operation *op) {
  Operation *parent = op->getParentOp();
  while (isa_and_nonnull<SeqOp>(parent))
    parent = parent->getParentOp();
  return isa_and_nonnull<DataflowOp>(parent);
}

LogicalResult SeqOp::verifyRegions() {
  bool isValid = true;
  if (isInDataflow(*this))
    for (Operation &op : getBody().front())
      if (!isa<DataflowOp, YieldOp>(op)) {
        isValid = false;
        op.emitOpError() << "is an ordinary binding inside of a 'relax.seq' in "
                            "a dataflow block [NF05]";
      }
  isValid &= succeeded(verifyBody<YieldOp>(*this, getBody(), "a value"));
  return success(isValid);
}

/// The type that a region yields, without what only the region knows.
static Type deriveYield(Region &region,
                        llvm::function_ref<bool(StringRef)> isInScope) {
  return eraseToWellDefined(
      cast<YieldOp>(region.front().back()).getValue().getType(), isInScope);
}

Type SeqOp::deriveResult(llvm::function_ref<bool(StringRef)> isInScope) {
  return deriveYield(getBody(), isInScope);
}

/// DR06: the least upper bound of both branches.
Type IfOp::deriveResult(llvm::function_ref<bool(StringRef)> isInScope) {
  return unifyStructInfo(deriveYield(getThenRegion(), isInScope),
                         deriveYield(getElseRegion(), isInScope));
}

/// Derives a type in the scope of an operation, which is collected when the
/// first variable is looked up.
template <typename OpTy> static Type deriveInScope(OpTy op) {
  std::optional<llvm::StringSet<>> scope;
  return op.deriveResult([&](StringRef name) {
    if (!scope)
      collectScope(op, scope.emplace());
    return scope->contains(name);
  });
}

LogicalResult SeqOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(deriveInScope(*this));
  return success();
}

LogicalResult IfOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(deriveInScope(*this));
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow of dataflow blocks, sequences and branches
//===----------------------------------------------------------------------===//

/// From an operation into one of its regions, each of which is entered without
/// arguments, and back to its results.
static void addSuccessors(Operation *op, RegionBranchPoint point,
                          SmallVectorImpl<RegionSuccessor> &successors) {
  if (!point.isParent()) {
    successors.emplace_back(op, op->getResults());
    return;
  }
  for (Region &region : op->getRegions())
    successors.emplace_back(&region);
}

// Types along an edge may differ: what is declared may say less, which
// verifyRegions checks.

void DataflowOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  addSuccessors(*this, point, successors);
}
bool DataflowOp::areTypesCompatible(Type, Type) { return true; }

void SeqOp::getSuccessorRegions(RegionBranchPoint point,
                                SmallVectorImpl<RegionSuccessor> &successors) {
  addSuccessors(*this, point, successors);
}
bool SeqOp::areTypesCompatible(Type, Type) { return true; }

void IfOp::getSuccessorRegions(RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &successors) {
  addSuccessors(*this, point, successors);
}
bool IfOp::areTypesCompatible(Type, Type) { return true; }

/// Parses the branches of relax.if. MLIR drops the uses of what a region
/// defines where the region is wrong itself; where something after it is,
/// uses ahead of the region would outlive their definitions.
ParseResult mlir::relax::parseBranches(OpAsmParser &parser, Region &thenRegion,
                                       Region &elseRegion) {
  if (parser.parseRegion(thenRegion))
    return failure();
  if (parser.parseKeyword("else") || parser.parseRegion(elseRegion)) {
    for (Block &block : thenRegion)
      block.dropAllDefinedValueUses();
    return failure();
  }
  for (Region *region : {&thenRegion, &elseRegion})
    if (region->empty())
      region->emplaceBlock(); // the verifier asks for a terminator
  return success();
}

void mlir::relax::printBranches(OpAsmPrinter &printer, Operation *,
                                Region &thenRegion, Region &elseRegion) {
  printer.printRegion(thenRegion);
  printer << " else ";
  printer.printRegion(elseRegion);
}

LogicalResult IfOp::verify() {
  auto tensor = dyn_cast<TensorStructInfoType>(getCond().getType());
  bool fits = isa<ObjectStructInfoType>(getCond().getType());
  if (tensor)
    fits = (!tensor.hasRank() || tensor.getNdim() == 0) &&
           (!tensor.getDtype() || tensor.getDtype().isInteger(1));
  if (auto prim = dyn_cast<PrimStructInfoType>(getCond().getType()))
    fits = prim.getDtype().isInteger(1);
  if (!fits)
    return emitOpError() << "expected a condition of type "
                            "!relax.tensor<[], i1> or !relax.prim<i1>, but got "
                         << getCond().getType();
  return success();
}

LogicalResult IfOp::verifyRegions() {
  bool isValid = true;
  for (Region *region : {&getThenRegion(), &getElseRegion()})
    isValid &= succeeded(verifyBody<YieldOp>(*this, *region, "a branch"));
  return success(isValid);
}

LogicalResult DTypeOp::verify() {
  if (isDataType(getValue()))
    return success();
  return emitOpError() << "expected a data type, but got " << getValue()
                       << " [WF20]";
}

//===----------------------------------------------------------------------===//
// Derivation
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *context,
                                           OptionalLoc loc, Adaptor adaptor,
                                           InferredTypes &results) {
  ShapedType type = adaptor.getValue().getShapedType();
  if (!isDataType(type.getElementType()))
    return inferError(loc, "expected a constant of a data type, but got ",
                      type.getElementType(), " [WF20]");
  SmallVector<PrimExprAttr> dims =
      llvm::map_to_vector(type.getShape(), [&](int64_t dim) {
        return PrimExprAttr::getInt(context, dim);
      });
  results.push_back(TensorStructInfoType::get(ShapeExprAttr::get(context, dims),
                                              type.getElementType()));
  return success();
}

LogicalResult PrimValueOp::inferReturnTypes(MLIRContext *context,
                                            OptionalLoc loc, Adaptor adaptor,
                                            InferredTypes &results) {
  Attribute value = adaptor.getValue();
  if (auto expr = dyn_cast<PrimExprAttr>(value)) {
    results.push_back(
        PrimStructInfoType::get(IntegerType::get(context, 64), expr));
    return success();
  }
  // WF18: parsing derives the type before the attribute is verified.
  auto number = dyn_cast<TypedAttr>(value);
  if (!isa<IntegerAttr, FloatAttr>(value) || !isDataType(number.getType()) ||
      isInt4(number.getType()))
    return inferError(loc,
                      "expected a number of a data type or an expression, but "
                      "got ",
                      value, " [WF18]");
  Type type = number.getType();
  PrimExprAttr known;
  if (auto integer = dyn_cast<IntegerAttr>(value))
    known = PrimExprAttr::getInt(context,
                                 type.isUnsignedInteger() || type.isInteger(1)
                                     ? integer.getValue().getZExtValue()
                                     : integer.getValue().getSExtValue());
  results.push_back(PrimStructInfoType::get(type, known));
  return success();
}

static LogicalResult inferObject(MLIRContext *context, InferredTypes &results) {
  results.push_back(ObjectStructInfoType::get(context));
  return success();
}

LogicalResult StringOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                         Adaptor, InferredTypes &results) {
  return inferObject(context, results);
}

LogicalResult DTypeOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                        Adaptor, InferredTypes &results) {
  return inferObject(context, results);
}

LogicalResult NullValueOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                            Adaptor, InferredTypes &results) {
  return inferObject(context, results);
}

LogicalResult ShapeOp::inferReturnTypes(MLIRContext *, OptionalLoc,
                                        Adaptor adaptor,
                                        InferredTypes &results) {
  results.push_back(ShapeStructInfoType::get(adaptor.getValues()));
  return success();
}

LogicalResult TupleOp::inferReturnTypes(MLIRContext *context, OptionalLoc loc,
                                        Adaptor adaptor,
                                        InferredTypes &results) {
  for (Type type : adaptor.getFields().getTypes())
    if (!isa<StructInfoTypeInterface>(type))
      return inferError(loc, "expected Relax values as fields, but got ", type);
  results.push_back(TupleStructInfoType::get(
      context, llvm::to_vector(adaptor.getFields().getTypes())));
  return success();
}

LogicalResult GetItemOp::inferReturnTypes(MLIRContext *, OptionalLoc loc,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  Type type = adaptor.getTupleValue().getType();
  auto tuple = dyn_cast<TupleStructInfoType>(type);
  if (!tuple)
    return inferError(loc, "expected a tuple, but got ", type);
  int64_t index = adaptor.getIndex();
  int64_t size = tuple.getFields().size();
  if (index < 0 || index >= size)
    return inferError(loc, "expected an index below ", size,
                      ", the number of fields, but got ", index);
  results.push_back(tuple.getFields()[index]);
  return success();
}

OpFoldResult GetItemOp::fold(FoldAdaptor) {
  if (auto tuple = getTupleValue().getDefiningOp<TupleOp>())
    if (Value field = tuple.getFields()[getIndex()]; mayReplace(*this, field))
      return field;
  return {};
}

LogicalResult ExternFuncOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                             Adaptor, InferredTypes &results) {
  results.push_back(FuncStructInfoType::get(context, "default_derive"));
  return success();
}

LogicalResult ShapeOfOp::inferReturnTypes(MLIRContext *context, OptionalLoc,
                                          Adaptor adaptor,
                                          InferredTypes &results) {
  TensorStructInfoType tensor = tensorType(adaptor.getTensor());
  results.push_back(ShapeStructInfoType::get(
      context, tensor.getShape(), tensor.getNdim(), tensor.getShapeVar()));
  return success();
}
