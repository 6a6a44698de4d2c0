//===- ValueText.cpp - Text form of operations on values -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations whose text does not say their result type, since it is derived
// from the rest. A declared type that is weaker is at the end:
//
//   %0 = relax.constant dense<1.0> : tensor<f32>
//   %1 = relax.constant dense<1.0> : tensor<f32> -> !relax.tensor<ndim = 0,
//   f32>
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// "-> type", or else the type that is derived from what was parsed before.
template <typename OpTy>
static ParseResult parseResult(OpAsmParser &parser, OperationState &state) {
  if (succeeded(parser.parseOptionalArrow())) {
    Type declared;
    if (parser.parseType(declared))
      return failure();
    state.addTypes(declared);
    return success();
  }
  SmallVector<Type> derived;
  MLIRContext *context = parser.getContext();
  if (failed(OpTy::inferReturnTypes(context, state.location, state.operands,
                                    state.attributes.getDictionary(context),
                                    state.getRawProperties(), state.regions,
                                    derived)))
    return failure();
  state.addTypes(derived);
  return success();
}

template <typename OpTy>
static void printResult(OpAsmPrinter &printer, OpTy op) {
  SmallVector<Type> derived;
  Type declared = op.getResult().getType();
  LogicalResult result = OpTy::inferReturnTypes(
      op->getContext(), /*location=*/std::nullopt, op->getOperands(),
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      op->getRegions(), derived);
  if (failed(result) || derived.front() != declared)
    printer << " -> " << declared;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// "{attributes}", where those that are inherent are of the right kind.
template <typename OpTy>
static ParseResult parseAttributes(OpAsmParser &parser, OperationState &state) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  return OpTy::verifyInherentAttrs(state.name, state.attributes, [&] {
    return parser.emitError(loc) << "'" << state.name.getStringRef() << "' op ";
  });
}

/// ": type" of the only operand.
static ParseResult
parseOperandType(OpAsmParser &parser, OperationState &state,
                 const OpAsmParser::UnresolvedOperand &operand) {
  StructInfoTypeInterface type;
  return failure(parser.parseColonType(type) ||
                 parser.resolveOperand(operand, type, state.operands));
}

static void printOperandType(OpAsmPrinter &printer, Value operand) {
  printer << " : " << operand.getType();
}

//===----------------------------------------------------------------------===//
// Values given by an attribute: value {attributes}
//===----------------------------------------------------------------------===//

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &state) {
  if (parser.parseAttribute(state.getOrAddProperties<Properties>().value) ||
      parseAttributes<ConstantOp>(parser, state))
    return failure();
  return parseResult<ConstantOp>(parser, state);
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue();
  printer.printOptionalAttrDict((*this)->getAttrs(), {getValueAttrName()});
  printResult(printer, *this);
}

ParseResult PrimValueOp::parse(OpAsmParser &parser, OperationState &state) {
  if (parser.parseAttribute(state.getOrAddProperties<Properties>().value) ||
      parseAttributes<PrimValueOp>(parser, state))
    return failure();
  return parseResult<PrimValueOp>(parser, state);
}

void PrimValueOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getValue();
  printer.printOptionalAttrDict((*this)->getAttrs(), {getValueAttrName()});
  printResult(printer, *this);
}

ParseResult ShapeOp::parse(OpAsmParser &parser, OperationState &state) {
  if (parser.parseCustomAttributeWithFallback(
          state.getOrAddProperties<Properties>().values) ||
      parseAttributes<ShapeOp>(parser, state))
    return failure();
  return parseResult<ShapeOp>(parser, state);
}

void ShapeOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printStrippedAttrOrType(getValuesAttr());
  printer.printOptionalAttrDict((*this)->getAttrs(), {getValuesAttrName()});
  printResult(printer, *this);
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

/// `%a, %b : type, type {attributes}`, or `() {attributes}`: without the
/// parentheses the operands would go on in the next line.
ParseResult TupleOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands))
    return failure();
  ParseResult rest = operands.empty()
                         ? failure(parser.parseLParen() || parser.parseRParen())
                         : parser.parseColonTypeList(types);
  if (rest || parser.resolveOperands(operands, types, loc, state.operands))
    return failure();
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  return parseResult<TupleOp>(parser, state);
}

void TupleOp::print(OpAsmPrinter &printer) {
  if (getFields().empty())
    printer << "()";
  else
    printer << ' ' << getFields() << " : " << getFields().getTypes();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printResult(printer, *this);
}

/// `%tuple[index] {attributes} : type`
ParseResult GetItemOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand tuple;
  if (parser.parseOperand(tuple) || parser.parseLSquare() ||
      parser.parseAttribute(state.getOrAddProperties<Properties>().index,
                            parser.getBuilder().getI64Type()) ||
      parser.parseRSquare() || parseAttributes<GetItemOp>(parser, state) ||
      parseOperandType(parser, state, tuple))
    return failure();
  return parseResult<GetItemOp>(parser, state);
}

void GetItemOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getTupleValue() << '[' << getIndex() << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(), {getIndexAttrName()});
  printOperandType(printer, getTupleValue());
  printResult(printer, *this);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// `%tensor {attributes} : type`
ParseResult ShapeOfOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand tensor;
  Type type;
  if (parser.parseOperand(tensor) ||
      parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(tensor, type, state.operands))
    return failure();
  return parseResult<ShapeOfOp>(parser, state);
}

void ShapeOfOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getTensor();
  printer.printOptionalAttrDict((*this)->getAttrs());
  printOperandType(printer, getTensor());
  printResult(printer, *this);
}

/// `%data on device {attributes} : type`
ParseResult HintOnDeviceOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand data;
  if (parser.parseOperand(data) || parser.parseKeyword("on") ||
      parser.parseAttribute(state.getOrAddProperties<Properties>().device,
                            parser.getBuilder().getI64Type()) ||
      parseAttributes<HintOnDeviceOp>(parser, state) ||
      parseOperandType(parser, state, data))
    return failure();
  return parseResult<HintOnDeviceOp>(parser, state);
}

void HintOnDeviceOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getData() << " on " << getDevice();
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDeviceAttrName()});
  printOperandType(printer, getData());
  printResult(printer, *this);
}

/// `%data to @device {attributes} : type`
ParseResult ToVDeviceOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand data;
  if (parser.parseOperand(data) || parser.parseKeyword("to") ||
      parser.parseAttribute(state.getOrAddProperties<Properties>().vdevice) ||
      parseAttributes<ToVDeviceOp>(parser, state) ||
      parseOperandType(parser, state, data))
    return failure();
  return parseResult<ToVDeviceOp>(parser, state);
}

void ToVDeviceOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getData() << " to " << getVdeviceAttr();
  printer.printOptionalAttrDict((*this)->getAttrs(), {getVdeviceAttrName()});
  printOperandType(printer, getData());
  printResult(printer, *this);
}
