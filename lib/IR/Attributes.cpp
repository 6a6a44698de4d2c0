//===- Attributes.cpp - Text form of dimension expressions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A precedence parser and printer for expressions: sums of products of atoms.
// Nesting is limited, so that no input overflows the stack.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Relax.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace mlir::relax;

#define GET_ATTRDEF_CLASSES
#include "relax-mlir/IR/RelaxAttributes.cpp.inc"

void RelaxDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "relax-mlir/IR/RelaxAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
struct CallSyntax {
  StringRef name;
  PrimExprKind kind;
  unsigned arity;
};
constexpr CallSyntax kCalls[] = {
    {"min", PrimExprKind::Min, 2},       {"max", PrimExprKind::Max, 2},
    {"select", PrimExprKind::Select, 3}, {"not", PrimExprKind::Not, 1},
    {"and", PrimExprKind::And, 2},       {"or", PrimExprKind::Or, 2},
    {"eq", PrimExprKind::Eq, 2},         {"lt", PrimExprKind::Lt, 2},
    {"le", PrimExprKind::Le, 2}};

class PrimExprParser {
public:
  explicit PrimExprParser(AsmParser &parser) : parser(parser) {}

  FailureOr<PrimExprAttr> parseSum();

private:
  FailureOr<PrimExprAttr> parseProduct();
  FailureOr<PrimExprAttr> parseAtom();
  FailureOr<PrimExprAttr> parseOperand();
  FailureOr<PrimExprAttr> parseCall(const CallSyntax &call);
  FailureOr<PrimExprAttr> parseDivision(PrimExprAttr lhs, bool isMod);
  FailureOr<PrimExprAttr> bounded(SMLoc loc, PrimExprAttr expr);
  InFlightDiagnostic emitTooLarge(SMLoc loc);

  AsmParser &parser;
  /// The nesting of parentheses and calls.
  unsigned depth = 0;
};
} // namespace

InFlightDiagnostic PrimExprParser::emitTooLarge(SMLoc loc) {
  return parser.emitError(loc)
         << "expected an expression nested at most " << PrimExprAttr::kMaxDepth
         << " deep, with at most " << PrimExprAttr::kMaxSize << " nodes";
}

/// An expression that was built, where it is within the limits.
FailureOr<PrimExprAttr> PrimExprParser::bounded(SMLoc loc, PrimExprAttr expr) {
  if (expr.isTooLarge())
    return emitTooLarge(loc);
  return expr;
}

FailureOr<PrimExprAttr> PrimExprParser::parseSum() {
  llvm::SaveAndRestore restore(depth, depth + 1);
  SMLoc loc = parser.getCurrentLocation();
  if (depth > PrimExprAttr::kMaxDepth)
    return emitTooLarge(loc);
  FailureOr<PrimExprAttr> lhs = parseProduct();
  while (succeeded(lhs)) {
    bool plus = succeeded(parser.parseOptionalPlus());
    if (!plus && failed(parser.parseOptionalMinus()))
      break;
    FailureOr<PrimExprAttr> rhs = parseProduct();
    if (failed(rhs))
      return failure();
    lhs = bounded(loc, plus ? PrimExprAttr::getAdd(*lhs, *rhs)
                            : PrimExprAttr::getSub(*lhs, *rhs));
  }
  return lhs;
}

FailureOr<PrimExprAttr> PrimExprParser::parseProduct() {
  SMLoc loc = parser.getCurrentLocation();
  FailureOr<PrimExprAttr> lhs = parseAtom();
  while (succeeded(lhs)) {
    FailureOr<PrimExprAttr> result;
    if (succeeded(parser.parseOptionalStar())) {
      FailureOr<PrimExprAttr> rhs = parseAtom();
      if (failed(rhs))
        return failure();
      result = PrimExprAttr::getMul(*lhs, *rhs);
    } else if (succeeded(parser.parseOptionalKeyword("floordiv"))) {
      result = parseDivision(*lhs, /*isMod=*/false);
    } else if (succeeded(parser.parseOptionalKeyword("mod"))) {
      result = parseDivision(*lhs, /*isMod=*/true);
    } else {
      break;
    }
    lhs = succeeded(result) ? bounded(loc, *result) : result;
  }
  return lhs;
}

FailureOr<PrimExprAttr> PrimExprParser::parseDivision(PrimExprAttr lhs,
                                                      bool isMod) {
  SMLoc loc = parser.getCurrentLocation();
  FailureOr<PrimExprAttr> rhs = parseAtom();
  if (failed(rhs))
    return failure();
  if (rhs->getConstant() == 0)
    return parser.emitError(loc) << "expected a divisor other than 0";
  return isMod ? PrimExprAttr::getMod(lhs, *rhs)
               : PrimExprAttr::getFloorDiv(lhs, *rhs);
}

FailureOr<PrimExprAttr> PrimExprParser::parseCall(const CallSyntax &call) {
  SmallVector<PrimExprAttr> operands;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren, [&]() -> ParseResult {
            FailureOr<PrimExprAttr> operand = parseSum();
            if (failed(operand))
              return failure();
            operands.push_back(*operand);
            return success();
          }))
    return failure();
  if (operands.size() != call.arity)
    return parser.emitError(loc)
           << "expected " << call.arity << " operands of '" << call.name
           << "', but got " << operands.size();
  return bounded(loc, PrimExprAttr::getCall(call.kind, operands));
}

/// Parentheses, a call or a variable.
FailureOr<PrimExprAttr> PrimExprParser::parseOperand() {
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLParen())) {
    FailureOr<PrimExprAttr> inner = parseSum();
    if (failed(inner) || parser.parseRParen())
      return failure();
    return inner;
  }
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name)))
    return parser.emitError(loc)
           << "expected a dimension: an integer, a variable or an expression";
  for (const CallSyntax &call : kCalls)
    if (call.name == name)
      return parseCall(call);
  return PrimExprAttr::getVar(parser.getContext(), name);
}

/// An integer or an operand, after any number of minus signs.
FailureOr<PrimExprAttr> PrimExprParser::parseAtom() {
  MLIRContext *context = parser.getContext();
  bool negative = false;
  while (succeeded(parser.parseOptionalMinus()))
    negative = !negative;
  SMLoc loc = parser.getCurrentLocation();
  APInt number;
  OptionalParseResult parsed = parser.parseOptionalDecimalInteger(number);
  if (parsed.has_value()) {
    if (failed(*parsed))
      return failure();
    uint64_t magnitude = number.getLimitedValue();
    if (magnitude > static_cast<uint64_t>(INT64_MAX) + negative)
      return parser.emitError(loc) << "expected an integer of 64 bits";
    return PrimExprAttr::getInt(context, negative ? -magnitude : magnitude);
  }
  FailureOr<PrimExprAttr> operand = parseOperand();
  if (failed(operand) || !negative)
    return operand;
  return bounded(
      loc, PrimExprAttr::getSub(PrimExprAttr::getInt(context, 0), *operand));
}

FailureOr<PrimExprAttr> mlir::relax::parsePrimExpr(AsmParser &parser) {
  return PrimExprParser(parser).parseSum();
}

Attribute PrimExprAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<PrimExprAttr> expr = parsePrimExpr(parser);
  if (failed(expr) || parser.parseGreater())
    return {};
  return *expr;
}

Attribute ShapeExprAttr::parse(AsmParser &parser, Type) {
  SmallVector<PrimExprAttr> dims;
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       FailureOr<PrimExprAttr> dim =
                                           parsePrimExpr(parser);
                                       if (failed(dim))
                                         return failure();
                                       dims.push_back(*dim);
                                       return success();
                                     }) ||
      parser.parseGreater())
    return {};
  return ShapeExprAttr::get(parser.getContext(), dims);
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printSum(raw_ostream &os, PrimExprAttr expr);

/// Whether a sum or product is as it was written, because folding overflows: a
/// canonical one has no operands that are sums or products of numbers.
static bool isUnfolded(PrimExprAttr expr) {
  bool isProduct = expr.getKind() == PrimExprKind::Mul;
  if (!isProduct && expr.getKind() != PrimExprKind::Add)
    return false;
  return llvm::any_of(llvm::enumerate(expr.getOperands()), [&](auto it) {
    PrimExprKind kind = it.value().getKind();
    if (kind == PrimExprKind::Add || (isProduct && kind == PrimExprKind::Mul))
      return true;
    return kind == PrimExprKind::Int &&
           it.index() + 1 < expr.getOperands().size();
  });
}

static bool isSumOrNegative(PrimExprAttr expr) {
  return expr.getKind() == PrimExprKind::Add ||
         (expr.getConstant() && *expr.getConstant() < 0);
}

/// A factor of a product, in parentheses where it would not bind tightly.
static void printFactor(raw_ostream &os, PrimExprAttr expr, bool isFirst) {
  bool isProduct = expr.getKind() == PrimExprKind::Mul ||
                   expr.getKind() == PrimExprKind::FloorDiv ||
                   expr.getKind() == PrimExprKind::Mod;
  if (!isSumOrNegative(expr) && (isFirst || !isProduct))
    return printSum(os, expr);
  os << '(';
  printSum(os, expr);
  os << ')';
}

static void printBinary(raw_ostream &os, PrimExprAttr expr, StringRef op) {
  llvm::interleave(
      llvm::enumerate(expr.getOperands()), os,
      [&](auto it) { printFactor(os, it.value(), it.index() == 0); }, op);
}

/// The coefficient of a product where it is negative; 0 otherwise.
static int64_t negativeCoefficient(PrimExprAttr term) {
  if (isUnfolded(term))
    return 0;
  if (term.getKind() == PrimExprKind::Mul)
    term = term.getOperands().back();
  int64_t value = term.getConstant().value_or(0);
  return value < 0 && value != INT64_MIN ? value : 0;
}

/// A term of a sum: "a - b * 2" rather than "a + b * -2".
static void printTerm(raw_ostream &os, PrimExprAttr term, bool isFirst) {
  // Only folding brings sums into sums, so these parentheses are needed.
  if (!isFirst && term.getKind() == PrimExprKind::Add) {
    os << " + (";
    printSum(os, term);
    os << ')';
    return;
  }
  int64_t coefficient = negativeCoefficient(term);
  if (coefficient == 0 || (isFirst && term.getConstant())) {
    os << (isFirst ? "" : " + ");
    return printSum(os, term);
  }
  os << (isFirst ? "-" : " - ");
  if (term.getConstant()) {
    os << -coefficient;
    return;
  }
  ArrayRef<PrimExprAttr> factors = term.getOperands().drop_back();
  llvm::interleave(
      llvm::enumerate(factors), os,
      [&](auto it) {
        // After a unary minus a division needs its parentheses.
        printFactor(os, it.value(), it.index() == 0 && !isFirst);
      },
      " * ");
  if (coefficient != -1)
    os << " * " << -coefficient;
}

static void printCall(raw_ostream &os, PrimExprAttr expr) {
  const auto *call = llvm::find_if(
      kCalls, [&](const CallSyntax &c) { return c.kind == expr.getKind(); });
  os << call->name << '(';
  llvm::interleaveComma(expr.getOperands(), os,
                        [&](PrimExprAttr e) { printSum(os, e); });
  os << ')';
}

static void printSum(raw_ostream &os, PrimExprAttr expr) {
  switch (expr.getKind()) {
  case PrimExprKind::Var:
    os << expr.getName();
    return;
  case PrimExprKind::Int:
    os << expr.getValue();
    return;
  case PrimExprKind::Add:
    for (auto [index, term] : llvm::enumerate(expr.getOperands()))
      printTerm(os, term, index == 0);
    return;
  case PrimExprKind::Mul:
    if (negativeCoefficient(expr))
      return printTerm(os, expr, /*isFirst=*/true);
    return printBinary(os, expr, " * ");
  case PrimExprKind::FloorDiv:
    return printBinary(os, expr, " floordiv ");
  case PrimExprKind::Mod:
    return printBinary(os, expr, " mod ");
  default:
    return printCall(os, expr);
  }
}

void mlir::relax::printPrimExpr(raw_ostream &os, PrimExprAttr expr) {
  if (expr.isTooLarge())
    os << "<too large>"; // only a pass can make it, and no program holds it
  else
    printSum(os, expr);
}

std::string PrimExprAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printPrimExpr(os, *this);
  return text;
}

void PrimExprAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printPrimExpr(printer.getStream(), *this);
  printer << '>';
}

void ShapeExprAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer.getStream(), [&](PrimExprAttr dim) {
    printPrimExpr(printer.getStream(), dim);
  });
  printer << "]>";
}
