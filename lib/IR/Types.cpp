//===- Types.cpp - StructInfo types: text form and verification -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Int4.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/Sharding.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::relax;

#include "relax-mlir/IR/RelaxTypeInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "relax-mlir/IR/RelaxTypes.cpp.inc"

void RelaxDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "relax-mlir/IR/RelaxTypes.cpp.inc"
      >();
}

std::string mlir::relax::toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool mlir::relax::isDataType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    if (width == 1)
      return integer.isSignless();
    return !integer.isSigned() && (width == 4 || width == 8 || width == 16 ||
                                   width == 32 || width == 64);
  }
  if (auto number = dyn_cast<FloatType>(type))
    return number.getWidth() == 8 || number.getWidth() == 16 ||
           number.isF32() || number.isF64();
  return false;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

/// WF10: the rank agrees with the dimensions.
static LogicalResult verifyRank(EmitError emitError, ShapeExprAttr shape,
                                int64_t ndim) {
  if (ndim < -1)
    return emitError() << "expected ndim to be -1 or more, but got " << ndim
                       << " [WF10]";
  if (shape && static_cast<int64_t>(shape.size()) != ndim)
    return emitError() << "expected ndim to be the number of dimensions, "
                       << shape.size() << ", but got " << ndim << " [WF10]";
  return success();
}

/// WF14, WF15: a shape is given by dimensions or by a variable.
static LogicalResult verifyShapeVar(EmitError emitError, ShapeExprAttr shape,
                                    StringAttr var, StringRef row) {
  if (shape && var)
    return emitError() << "expected dimensions or a shape variable, but got "
                          "both ["
                       << row << "]";
  if (var && var.empty())
    return emitError() << "expected the name of a shape variable [" << row
                       << "]";
  return success();
}

/// One of the data types of the specification: WF20 for tensors, WF19 for
/// primitive values, which have 8 bits or more, or are Booleans.
static LogicalResult verifyDataType(EmitError emitError, Type dtype,
                                    bool isTensor) {
  if (isDataType(dtype) && (isTensor || !isInt4(dtype)))
    return success();
  StringRef least = isTensor ? "4" : "8";
  return emitError() << "expected a data type (i1, i" << least << " to i64, ui"
                     << least
                     << " to ui64, f16, bf16, f32, f64 or an 8-bit float), but "
                        "got "
                     << dtype << (isTensor ? " [WF20]" : " [WF19]");
}

static LogicalResult verifyStructInfo(EmitError emitError, Type type,
                                      StringRef role) {
  if (isa_and_nonnull<StructInfoTypeInterface>(type))
    return success();
  return emitError() << "expected " << role << " to be StructInfo, but got "
                     << type;
}

/// The axes of a sharding are axes of the tensor.
static LogicalResult verifyShardedAxes(EmitError emitError,
                                       ShardingAttr sharding, int64_t ndim) {
  PlacementAttr placement = sharding.getPlacement();
  std::optional<int64_t> axis = findMissingAxis(placement, ndim);
  if (!axis)
    return success();
  return emitError() << "expected a tensor of rank " << *axis + 1
                     << " or more for the placement " << placement.str()
                     << ", but got "
                     << (ndim < 0 ? Twine("an unknown rank")
                                  : "rank " + Twine(ndim));
}

LogicalResult TensorStructInfoType::verify(EmitError emitError,
                                           ShapeExprAttr shape, int64_t ndim,
                                           Type dtype, FlatSymbolRefAttr,
                                           StringAttr shapeVar,
                                           ShardingAttr sharding) {
  if (failed(verifyRank(emitError, shape, ndim)) ||
      failed(verifyShapeVar(emitError, shape, shapeVar, "WF14")) ||
      (sharding && failed(verifyShardedAxes(emitError, sharding, ndim))))
    return failure();
  return dtype ? verifyDataType(emitError, dtype, /*isTensor=*/true)
               : success();
}

LogicalResult ShapeStructInfoType::verify(EmitError emitError,
                                          ShapeExprAttr values, int64_t ndim,
                                          StringAttr var) {
  if (failed(verifyRank(emitError, values, ndim)))
    return failure();
  return verifyShapeVar(emitError, values, var, "WF15");
}

LogicalResult PrimStructInfoType::verify(EmitError emitError, Type dtype,
                                         PrimExprAttr value) {
  if (failed(verifyDataType(emitError, dtype, /*isTensor=*/false)))
    return failure();
  if (value && !isa<IntegerType>(dtype)) // WF22
    return emitError() << "expected an integer data type for the value "
                       << value.str() << ", but got " << dtype << " [WF22]";
  return success();
}

LogicalResult TupleStructInfoType::verify(EmitError emitError,
                                          ArrayRef<Type> fields) {
  for (Type field : fields)
    if (failed(verifyStructInfo(emitError, field, "each field")))
      return failure();
  return success();
}

LogicalResult FuncStructInfoType::verify(EmitError emitError,
                                         ArrayRef<Type> params, Type ret, bool,
                                         FlatSymbolRefAttr derive) {
  if (derive && !params.empty()) // WF17
    return emitError() << "expected parameters or a derive function, but got "
                          "both [WF17]";
  for (Type param : params)
    if (failed(verifyStructInfo(emitError, param, "each parameter")))
      return failure();
  return verifyStructInfo(emitError, ret, "the result");
}

//===----------------------------------------------------------------------===//
// Tensor and shape
//===----------------------------------------------------------------------===//

bool mlir::relax::hasNegativeDim(ShapeExprAttr shape) {
  return llvm::any_of(shape, [](PrimExprAttr dim) {
    return dim.getConstant().value_or(0) < 0;
  });
}

/// The name after "var".
static ParseResult parseShapeVar(AsmParser &parser, StringAttr &var) {
  StringRef name;
  if (parser.parseEqual() || parser.parseKeyword(&name))
    return failure();
  var = StringAttr::get(parser.getContext(), name);
  return success();
}

/// Parses the first part of a tensor or shape: "[n, 4]", "ndim = 2", "var = s",
/// "var = s, ndim = 2" or "*".
static ParseResult parseDims(AsmParser &parser, ShapeExprAttr &shape,
                             int64_t &ndim, StringAttr &var) {
  ndim = TensorStructInfoType::kUnknownDim;
  if (succeeded(parser.parseOptionalStar()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("var")))
    return parseShapeVar(parser, var);
  if (succeeded(parser.parseOptionalKeyword("ndim")))
    return failure(parser.parseEqual() || parser.parseInteger(ndim));
  SmallVector<PrimExprAttr> dims;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&]() -> ParseResult {
            FailureOr<PrimExprAttr> dim = parsePrimExpr(parser);
            if (failed(dim))
              return failure();
            dims.push_back(*dim);
            return success();
          },
          " of dimensions"))
    return failure();
  shape = ShapeExprAttr::get(parser.getContext(), dims);
  ndim = dims.size();
  return success();
}

static void printDims(AsmPrinter &printer, ShapeExprAttr shape, int64_t ndim,
                      StringAttr var) {
  if (var) {
    printer << "var = " << var.getValue();
    if (ndim != TensorStructInfoType::kUnknownDim)
      printer << ", ndim = " << ndim;
  } else if (!shape && ndim == TensorStructInfoType::kUnknownDim) {
    printer << '*';
  } else if (!shape) {
    printer << "ndim = " << ndim;
  } else {
    printer << '[';
    llvm::interleaveComma(
        shape.getDims(), printer.getStream(),
        [&](PrimExprAttr dim) { printPrimExpr(printer.getStream(), dim); });
    printer << ']';
  }
}

Type TensorStructInfoType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  ShapeExprAttr shape;
  int64_t ndim;
  Type dtype;
  FlatSymbolRefAttr vdevice;
  StringAttr shapeVar;
  ShardingAttr sharding;
  if (parser.parseLess() || parseDims(parser, shape, ndim, shapeVar))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (shapeVar && ndim == kUnknownDim && !dtype &&
        succeeded(parser.parseOptionalKeyword("ndim"))) {
      if (parser.parseEqual() || parser.parseInteger(ndim))
        return {};
      continue;
    }
    if (!sharding && succeeded(parser.parseOptionalKeyword("sharding"))) {
      if (parser.parseEqual() ||
          parser.parseCustomAttributeWithFallback(sharding))
        return {};
      continue;
    }
    StringAttr symbol;
    if (succeeded(parser.parseOptionalSymbolName(symbol))) {
      vdevice = FlatSymbolRefAttr::get(symbol);
      break;
    }
    OptionalParseResult parsed;
    SMLoc typeLoc = parser.getCurrentLocation();
    if (!dtype && !sharding)
      parsed = parser.parseOptionalType(dtype);
    if (!parsed.has_value())
      return parser.emitError(typeLoc, "expected a data type or '@' device"),
             Type();
    if (failed(*parsed))
      return {};
  }
  if (parser.parseGreater())
    return {};
  if (shape && hasNegativeDim(shape))
    return parser.emitError(loc, "expected dimensions of 0 or more"), Type();
  return parser.getChecked<TensorStructInfoType>(loc, parser.getContext(),
                                                 shape, ndim, dtype, vdevice,
                                                 shapeVar, sharding);
}

void TensorStructInfoType::print(AsmPrinter &printer) const {
  printer << '<';
  printDims(printer, getShape(), getNdim(), getShapeVar());
  if (getDtype())
    printer << ", " << getDtype();
  if (getSharding()) {
    printer << ", sharding = ";
    printer.printStrippedAttrOrType(getSharding());
  }
  if (getVdevice())
    printer << ", " << getVdevice();
  printer << '>';
}

Type ShapeStructInfoType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  ShapeExprAttr values;
  int64_t ndim;
  StringAttr var;
  if (parser.parseLess() || parseDims(parser, values, ndim, var))
    return {};
  if (var && succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("ndim") || parser.parseEqual() ||
        parser.parseInteger(ndim))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ShapeStructInfoType>(loc, parser.getContext(),
                                                values, ndim, var);
}

void ShapeStructInfoType::print(AsmPrinter &printer) const {
  printer << '<';
  printDims(printer, getValues(), getNdim(), getVar());
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Primitive values, tuples, functions
//===----------------------------------------------------------------------===//

Type PrimStructInfoType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Type dtype;
  PrimExprAttr value;
  if (parser.parseLess() || parser.parseType(dtype))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    FailureOr<PrimExprAttr> expr = parsePrimExpr(parser);
    if (failed(expr))
      return {};
    value = *expr;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<PrimStructInfoType>(loc, parser.getContext(), dtype,
                                               value);
}

void PrimStructInfoType::print(AsmPrinter &printer) const {
  printer << '<' << getDtype();
  if (getValue()) {
    printer << ", ";
    printPrimExpr(printer.getStream(), getValue());
  }
  printer << '>';
}

static ParseResult parseTypes(AsmParser &parser, AsmParser::Delimiter delimiter,
                              SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(
      delimiter, [&] { return parser.parseType(types.emplace_back()); });
}

Type TupleStructInfoType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> fields;
  // A list between '<' and '>' may be left out, for upstream.
  if (parser.parseLess())
    return {};
  if (failed(parser.parseOptionalGreater()) &&
      (parseTypes(parser, AsmParser::Delimiter::None, fields) ||
       parser.parseGreater()))
    return {};
  return parser.getChecked<TupleStructInfoType>(loc, parser.getContext(),
                                                fields);
}

void TupleStructInfoType::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getFields(), printer);
  printer << '>';
}

static constexpr char kBothOrNeither[] =
    "expected either parameters and a result, or a derive function [WF17]";

Type FuncStructInfoType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  MLIRContext *context = parser.getContext();
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalKeyword("derive"))) {
    StringAttr name;
    if (parser.parseEqual() || parser.parseSymbolName(name))
      return {};
    if (succeeded(parser.parseOptionalComma()))
      return parser.emitError(loc, kBothOrNeither), Type();
    if (parser.parseGreater())
      return {};
    return FuncStructInfoType::get(context, name.getValue());
  }
  if (succeeded(parser.parseOptionalGreater()))
    return parser.emitError(loc, kBothOrNeither), Type();
  SmallVector<Type> params;
  Type ret;
  bool pure = true;
  if (parseTypes(parser, AsmParser::Delimiter::Paren, params) ||
      parser.parseArrow() || parser.parseType(ret))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef purity;
    if (parser.parseKeyword(&purity))
      return {};
    if (purity == "derive")
      return parser.emitError(loc, kBothOrNeither), Type();
    if (purity != "pure" && purity != "impure") {
      parser.emitError(parser.getCurrentLocation(),
                       "expected 'pure' or 'impure', but got '")
          << purity << "'";
      return {};
    }
    pure = purity == "pure";
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<FuncStructInfoType>(loc, context, params, ret, pure,
                                               FlatSymbolRefAttr());
}

void FuncStructInfoType::print(AsmPrinter &printer) const {
  if (isPacked()) {
    printer << "<derive = " << getDerive() << '>';
    return;
  }
  printer << "<(";
  llvm::interleaveComma(getParams(), printer);
  printer << ") -> " << getRet() << ", " << (getPure() ? "pure" : "impure")
          << '>';
}
