//===- FunctionOps.cpp - Functions as values -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentNames.h"
#include "relax-mlir/IR/KernelStructInfo.h"

#include "relax-mlir/IR/Int4.h"
#include "relax-mlir/IR/KernelStatus.h"
#include "relax-mlir/IR/Purity.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/WellFormed.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// ClosureOp: text form
//===----------------------------------------------------------------------===//

ParseResult ClosureOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  bool isPure = failed(parser.parseOptionalKeyword("impure"));
  OpAsmParser::Argument self;
  bool isNamed = succeeded(parser.parseOptionalKeyword("rec"));
  if (isNamed && parser.parseArgument(self))
    return failure();
  SmallVector<OpAsmParser::Argument> params;
  SMLoc loc = parser.getCurrentLocation();
  Type ret;
  if (parser.parseArgumentList(params, AsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseArrow() || parser.parseType(ret) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  SmallVector<Type> types =
      llvm::map_to_vector(params, [](auto &param) { return param.type; });
  if (llvm::is_contained(types, Type()))
    return parser.emitError(loc, "expected a type for each parameter");
  auto type = parser.getChecked<FuncStructInfoType>(
      loc, builder.getContext(), ArrayRef(types), ret, isPure,
      FlatSymbolRefAttr());
  if (!type)
    return failure();
  if (ArrayAttr names = argumentNames(builder, params))
    result.addAttribute(getArgNamesAttrName(result.name), names);
  result.addTypes(type);
  Region *body = result.addRegion();
  if (isNamed) {
    self.type = type;
    params.insert(params.begin(), self);
    return parser.parseRegion(*body, params);
  }
  loc = parser.getCurrentLocation();
  if (parser.parseRegion(*body, params))
    return failure();
  if (body->empty())
    return parser.emitError(loc, "expected a body with one block");
  body->front().insertArgument(0u, type, builder.getUnknownLoc());
  return success();
}

void ClosureOp::print(OpAsmPrinter &printer) {
  FuncStructInfoType type = getFuncStructInfo();
  if (!type.getPure())
    printer << " impure";
  if (!getSelf().use_empty()) {
    printer << " rec ";
    printer.printRegionArgument(getSelf(), /*argAttrs=*/{}, /*omitType=*/true);
  }
  printer << " (";
  llvm::interleaveComma(getParams(), printer, [&](BlockArgument param) {
    printer.printRegionArgument(param);
  });
  printer << ") -> " << type.getRet();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getArgNamesAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

void ClosureOp::getAsmBlockArgumentNames(Region &region,
                                         OpAsmSetValueNameFn setName) {
  for (auto [index, argument] : llvm::enumerate(region.getArguments())) {
    StringRef name = index == 0 ? StringRef("self")
                                : argumentName(getArgNamesAttr(), index - 1);
    if (!name.empty())
      setName(argument, name);
  }
}

std::string ClosureOp::describeArgument(unsigned index) {
  StringRef name = argumentName(getArgNamesAttr(), index);
  return name.empty() ? ("argument " + Twine(index)).str()
                      : ("argument '" + name + "'").str();
}

//===----------------------------------------------------------------------===//
// ClosureOp: the rest
//===----------------------------------------------------------------------===//

FuncStructInfoType ClosureOp::getFuncStructInfo() {
  return cast<FuncStructInfoType>(getResult().getType());
}

LogicalResult ClosureOp::verify() {
  for (StringRef attribute :
       {RelaxDialect::kLowerBound, RelaxDialect::kUpperBound})
    if ((*this)->hasAttr(attribute))
      return emitOpError() << "has '" << attribute
                           << "', which belongs on a relax.func";
  if (getFuncStructInfo().isPacked())
    return emitOpError() << "expected the type of a closure, but got "
                         << getFuncStructInfo();
  if (ArrayAttr names = getArgNamesAttr();
      names && names.size() != getFuncStructInfo().getParams().size())
    return emitOpError() << "expected one name for each of "
                         << getFuncStructInfo().getParams().size()
                         << " parameters, but got " << names.size();
  return success();
}

/// The dataflow block around a closure; none where another function is closer.
static DataflowOp findDataflow(ClosureOp closure) {
  Operation *parent = closure->getParentOp();
  while (parent && !isa<FuncOp, ClosureOp, DataflowOp>(parent))
    parent = parent->getParentOp();
  return dyn_cast_or_null<DataflowOp>(parent);
}

/// WF11: what a dataflow block binds is gone when the closure is called.
static LogicalResult verifyCaptures(ClosureOp closure) {
  DataflowOp dataflow = findDataflow(closure);
  if (!dataflow)
    return success();
  bool isValid = true;
  closure.getBody().walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Region *home = operand.get() ? operand.get().getParentRegion() : nullptr;
      if (!home || closure.getBody().isAncestor(home) ||
          !dataflow.getBody().isAncestor(home))
        continue;
      isValid = false;
      InFlightDiagnostic diag =
          op->emitOpError()
          << "uses a value of the dataflow block around its closure as operand "
          << operand.getOperandNumber()
          << ": closures capture no such values [WF11]";
      diag.attachNote(operand.get().getLoc()) << "the value is bound here";
      diag.attachNote(closure.getLoc()) << "the closure is defined here";
    }
  });
  return success(isValid);
}

LogicalResult ClosureOp::verifyRegions() {
  FuncStructInfoType type = getFuncStructInfo();
  SmallVector<Type> expected = {type};
  llvm::append_range(expected, type.getParams());
  if (TypeRange(getBody().getArgumentTypes()) != TypeRange(expected))
    return emitOpError() << "expected the block to take the closure itself and "
                            "the parameters of "
                         << type;
  Block &block = getBody().front();
  if (block.empty() || !isa<ReturnOp>(block.back()))
    return emitOpError() << "expected its block to end with 'relax.return'";
  bool isValid = succeeded(verifyCaptures(*this));
  if (isPureFunction(*this))
    isValid &= succeeded(verifyPurity(*this));
  return success(isValid);
}

LogicalResult ClosureOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  results.push_back(getFuncStructInfo());
  return success();
}

//===----------------------------------------------------------------------===//
// GlobalVarOp
//===----------------------------------------------------------------------===//

LogicalResult GlobalVarOp::deriveResultTypes(SmallVectorImpl<Type> &results) {
  Operation *symbol =
      SymbolTable::lookupNearestSymbolFrom(*this, getNameAttr());
  FuncStructInfoType type = getFuncStructInfo(symbol);
  if (!type) {
    InFlightDiagnostic diag = emitOpError()
                              << "expected " << getNameAttr()
                              << " to be a relax.func or func.func of the "
                                 "module";
    if (!symbol && OperationName(getName(), getContext()).isRegistered())
      diag << ", not an operator, which only a call names [WF09]";
    return diag;
  }
  results.push_back(type);
  return success();
}

LogicalResult GlobalVarOp::verifySymbolUses(SymbolTableCollection &) {
  SmallVector<Type> derived;
  if (failed(verifyInFunction(*this)) || failed(deriveResultTypes(derived)))
    return failure();
  if (isSubtype(derived.front(), getResult().getType()) == Ternary::Yes)
    return success();
  return emitOpError() << "derives a function of type " << derived.front()
                       << ", which is not a subtype of the declared "
                       << getResult().getType();
}

//===----------------------------------------------------------------------===//
// Kernels as functions
//===----------------------------------------------------------------------===//

/// Kernels hold unsigned integers in signless ones, and say so in an attribute.
static Type dataType(Type held, DictionaryAttr attributes) {
  auto attribute = attributes
                       ? attributes.getAs<TypeAttr>(
                             RelaxDialect::StructInfoAttrHelper::getNameStr())
                       : TypeAttr();
  Type said = attribute ? attribute.getValue() : Type();
  if (auto prim = dyn_cast_or_null<PrimStructInfoType>(said))
    said = prim.getDtype();
  else if (auto tensor = dyn_cast_or_null<TensorStructInfoType>(said))
    said = tensor.getDtype();
  bool isSame = said && said.isUnsignedInteger() && held.isSignlessInteger() &&
                said.getIntOrFloatBitWidth() == held.getIntOrFloatBitWidth();
  return isSame ? said : held;
}

/// Kernels have no integers of 4 bits.
static bool isKernelDataType(Type type) {
  return isDataType(type) && !isInt4(type);
}

/// DR14: a shaped parameter is a tensor, any other a primitive value.
static Type parameterStructInfo(Type param, DictionaryAttr attributes) {
  MLIRContext *context = param.getContext();
  auto shaped = dyn_cast<ShapedType>(param);
  Type held = shaped ? shaped.getElementType() : param;
  if (!isKernelDataType(held))
    return {};
  Type dtype = dataType(held, attributes);
  if (!shaped)
    return PrimStructInfoType::get(dtype);
  if (!shaped.hasRank())
    return TensorStructInfoType::get(context, TensorStructInfoType::kUnknownDim,
                                     dtype);
  if (!shaped.hasStaticShape())
    return TensorStructInfoType::get(context, shaped.getRank(), dtype);
  SmallVector<PrimExprAttr> dims =
      llvm::map_to_vector(shaped.getShape(), [&](int64_t dim) {
        return PrimExprAttr::getInt(context, dim);
      });
  return TensorStructInfoType::get(ShapeExprAttr::get(context, dims), dtype);
}

/// Whether a kernel has nothing to change and does nothing but compute: all it
/// takes and gives are scalars.
static bool isPureKernel(func::FuncOp kernel,
                         SmallPtrSetImpl<Operation *> &visited) {
  if (!visited.insert(kernel).second)
    return true;
  if (kernel.isExternal() || kernel.getNumResults() == 0 ||
      llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<ShapedType>))
    return false;
  WalkResult result = kernel.getBody().walk([&](Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    if (!call)
      return op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                     op->hasTrait<OpTrait::IsTerminator>() ||
                     isMemoryEffectFree(op)
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    return callee && isPureKernel(callee, visited) ? WalkResult::advance()
                                                   : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// DR14: a kernel writes its results, so it gives an empty tuple. One that
/// returns a scalar gives that.
static FuncStructInfoType kernelStructInfo(func::FuncOp kernel) {
  SmallVector<Type> params;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    params.push_back(parameterStructInfo(type, kernel.getArgAttrDict(index)));
  if (llvm::is_contained(params, Type()))
    return {};
  Type ret = TupleStructInfoType::get(kernel.getContext(), {});
  bool isPure = false;
  size_t numResults = kernel.getNumResults() - (returnsStatus(kernel) ? 1 : 0);
  if (numResults == 1 && isKernelDataType(kernel.getResultTypes()[0])) {
    ret = parameterStructInfo(kernel.getResultTypes()[0],
                              kernel.getResultAttrDict(0));
    SmallPtrSet<Operation *, 4> visited;
    isPure = isPureKernel(kernel, visited);
  }
  return FuncStructInfoType::get(params, ret, isPure);
}

FuncStructInfoType mlir::relax::getFuncStructInfo(Operation *symbol) {
  if (auto func = dyn_cast_or_null<FuncOp>(symbol))
    return func.getNumResults() == 1 ? func.getFuncStructInfo()
                                     : FuncStructInfoType();
  auto kernel = dyn_cast_or_null<func::FuncOp>(symbol);
  return kernel ? kernelStructInfo(kernel) : FuncStructInfoType();
}
