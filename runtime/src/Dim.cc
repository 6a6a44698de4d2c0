//===- Dim.cc - Dimensions that are compared --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Polynomials over 64-bit integers, and the parser that makes them. A step that
// would overflow, or grow beyond measure, gives up on the whole expression.
//
//===----------------------------------------------------------------------===//

#include "Dim.h"

#include "Characters.h"

#include <algorithm>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

Dim Dim::constant(int64_t value) {
  Dim dim;
  if (value != 0)
    dim.terms[{}] = value;
  return dim;
}

Dim Dim::atom(std::string spelling) {
  Dim dim;
  dim.terms[{std::move(spelling)}] = 1;
  return dim;
}

Dim Dim::symbol(std::string_view name, int64_t id) {
  return atom(std::string(name) + "#" + std::to_string(id));
}

std::optional<int64_t> Dim::asConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}

// "m * n * 2", without the sign of the coefficient.
static std::string productText(const std::vector<std::string> &factors,
                               int64_t coefficient) {
  std::string text;
  for (const std::string &factor : factors)
    text += (text.empty() ? "" : " * ") + factor;
  uint64_t size = coefficient < 0 ? 0 - uint64_t(coefficient) : coefficient;
  if (text.empty())
    return std::to_string(size);
  return size == 1 ? text : text + " * " + std::to_string(size);
}

// Products of many factors come first, the constant last.
std::string Dim::spelling() const {
  std::vector<std::pair<Product, int64_t>> sorted(terms.begin(), terms.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto &lhs, const auto &rhs) {
                     return lhs.first.size() > rhs.first.size();
                   });
  std::string text;
  for (const auto &[factors, coefficient] : sorted) {
    if (!text.empty())
      text += coefficient < 0 ? " - " : " + ";
    else if (coefficient < 0)
      text += "-";
    text += productText(factors, coefficient);
  }
  return text.empty() ? "0" : text;
}

std::string Dim::text() const {
  std::string text;
  bool isNumber = false;
  for (char c : spelling()) {
    isNumber = c == '#' || (isNumber && c >= '0' && c <= '9');
    if (!isNumber)
      text += c;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Identifiers
//===----------------------------------------------------------------------===//

// Returns the number of characters from `start` on that are an identifier.
static size_t identifierSize(std::string_view text, size_t start) {
  size_t end = start;
  if (end < text.size() && isLetter(text[end]))
    while (end < text.size() && (isLetter(text[end]) || isDigit(text[end]) ||
                                 text[end] == '$' || text[end] == '.'))
      ++end;
  return end - start;
}

bool relax_runtime::isIdentifier(std::string_view text) {
  return !text.empty() && identifierSize(text, 0) == text.size();
}

std::string relax_runtime::replaceIdentifiers(
    std::string_view text,
    const std::map<std::string, std::string, std::less<>> &values) {
  std::string replaced;
  for (size_t at = 0; at < text.size();) {
    size_t size = std::max<size_t>(identifierSize(text, at), 1);
    std::string_view piece = text.substr(at, size);
    auto value = values.find(piece);
    replaced += value == values.end() ? piece : std::string_view(value->second);
    at += size;
  }
  return replaced;
}

//===----------------------------------------------------------------------===//
// Parser
//===----------------------------------------------------------------------===//

namespace relax_runtime {

// sum = product {("+" | "-") product}
// product = factor {("*" | "floordiv" | "mod") factor}
// factor = "-" factor | integer | variable | "(" sum ")"
//        | function "(" sum {"," sum} ")"
// Each step returns none where it gives up.
class DimParser {
public:
  using Result = std::optional<Dim>;
  DimParser(std::string_view text, const DimMap &values)
      : text(text), values(values) {}

  Result parse() {
    Result dim = parseSum();
    skipSpace();
    return at == text.size() ? dim : std::nullopt;
  }

private:
  void skipSpace() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool consume(std::string_view token) {
    skipSpace();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }
  bool consumeWord(std::string_view word) {
    skipSpace();
    return text.substr(at, identifierSize(text, at)) == word && consume(word);
  }

  Result parseSum();
  Result parseProduct();
  Result parseFactor();
  Result parseNested();
  Result parseInteger();
  Result parseName();
  Result parseCall(std::string_view name);

  static Result add(Dim lhs, const Dim &rhs, int64_t factor);
  static Result multiply(const Dim &lhs, const Dim &rhs);
  static Result divide(const Dim &lhs, const Dim &rhs, bool isMod);

  static constexpr int kDeepest = 100;
  static constexpr size_t kMostTerms = 256, kMostFactors = 64;
  std::string_view text;
  const DimMap &values;
  size_t at = 0;
  int depth = 0;
};

} // namespace relax_runtime

DimParser::Result DimParser::add(Dim lhs, const Dim &rhs, int64_t factor) {
  for (const auto &[factors, coefficient] : rhs.terms) {
    int64_t &sum = lhs.terms[factors];
    int64_t scaled;
    if (__builtin_mul_overflow(coefficient, factor, &scaled) ||
        __builtin_add_overflow(sum, scaled, &sum) ||
        lhs.terms.size() > kMostTerms)
      return std::nullopt;
    if (sum == 0)
      lhs.terms.erase(factors);
  }
  return lhs;
}

DimParser::Result DimParser::multiply(const Dim &lhs, const Dim &rhs) {
  Dim product;
  for (const auto &[factors, coefficient] : lhs.terms) {
    Dim row;
    for (const auto &[others, other] : rhs.terms) {
      Dim::Product merged;
      std::merge(factors.begin(), factors.end(), others.begin(), others.end(),
                 std::back_inserter(merged));
      int64_t scaled;
      if (merged.size() > kMostFactors ||
          __builtin_mul_overflow(coefficient, other, &scaled))
        return std::nullopt;
      row.terms[std::move(merged)] = scaled;
    }
    Result sum = add(std::move(product), row, 1);
    if (!sum)
      return std::nullopt;
    product = std::move(*sum);
  }
  return product;
}

// An operand of a division.
static std::string operandText(const Dim &dim) {
  std::string text = dim.spelling();
  bool isOne = text.find(' ') == std::string::npos && text[0] != '-';
  return isOne ? text : "(" + text + ")";
}

// Rounds down, as the dialect does.
DimParser::Result DimParser::divide(const Dim &lhs, const Dim &rhs,
                                    bool isMod) {
  std::optional<int64_t> x = lhs.asConstant(), y = rhs.asConstant();
  if (!x || !y)
    return Dim::atom("(" + operandText(lhs) + (isMod ? " mod " : " floordiv ") +
                     operandText(rhs) + ")");
  if (*y == 0 || (*x == INT64_MIN && *y == -1))
    return std::nullopt;
  int64_t quotient = *x / *y, rest = *x % *y;
  if (rest != 0 && (rest < 0) != (*y < 0)) {
    --quotient;
    rest += *y;
  }
  return Dim::constant(isMod ? rest : quotient);
}

DimParser::Result DimParser::parseSum() {
  Result sum = parseProduct();
  while (sum) {
    bool isMinus = consume("-");
    if (!isMinus && !consume("+"))
      break;
    Result term = parseProduct();
    sum = term ? add(std::move(*sum), *term, isMinus ? -1 : 1) : std::nullopt;
  }
  return sum;
}

DimParser::Result DimParser::parseProduct() {
  Result product = parseFactor();
  while (product) {
    bool isTimes = consume("*");
    bool isMod = !isTimes && consumeWord("mod");
    if (!isTimes && !isMod && !consumeWord("floordiv"))
      break;
    Result factor = parseFactor();
    if (!factor)
      return std::nullopt;
    product = isTimes ? multiply(*product, *factor)
                      : divide(*product, *factor, isMod);
  }
  return product;
}

DimParser::Result DimParser::parseFactor() {
  skipSpace();
  if (at == text.size())
    return std::nullopt;
  if (isDigit(text[at]))
    return parseInteger();
  if (isLetter(text[at]))
    return parseName();
  if (depth == kDeepest)
    return std::nullopt;
  ++depth;
  Result factor = parseNested();
  --depth;
  return factor;
}

DimParser::Result DimParser::parseNested() {
  if (consume("-")) {
    Result factor = parseFactor();
    return factor ? add(Dim(), *factor, -1) : std::nullopt;
  }
  if (!consume("("))
    return std::nullopt;
  Result sum = parseSum();
  return consume(")") ? sum : std::nullopt;
}

DimParser::Result DimParser::parseInteger() {
  int64_t value = 0;
  for (; at < text.size() && isDigit(text[at]); ++at)
    if (__builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, text[at] - '0', &value))
      return std::nullopt;
  return Dim::constant(value);
}

DimParser::Result DimParser::parseName() {
  std::string_view name = text.substr(at, identifierSize(text, at));
  at += name.size();
  if (consume("("))
    return parseCall(name);
  auto value = values.find(name);
  return value == values.end() ? Result() : value->second;
}

// The order of the arguments means nothing to some functions.
static bool isCommutative(std::string_view name) {
  return name == "min" || name == "max" || name == "eq" || name == "and" ||
         name == "or";
}

static Dim makeCall(std::string_view name, const std::vector<Dim> &args) {
  bool isMin = name == "min";
  if (args.size() == 2 && (isMin || name == "max"))
    if (auto lhs = args[0].asConstant(), rhs = args[1].asConstant(); lhs && rhs)
      return Dim::constant(isMin ? std::min(*lhs, *rhs) : std::max(*lhs, *rhs));
  std::vector<std::string> texts;
  for (const Dim &arg : args)
    texts.push_back(arg.spelling());
  if (isCommutative(name))
    std::sort(texts.begin(), texts.end());
  std::string call(name);
  for (size_t i = 0; i < texts.size(); ++i)
    call += (i == 0 ? "(" : ", ") + texts[i];
  return Dim::atom(call + ")");
}

DimParser::Result DimParser::parseCall(std::string_view name) {
  if (++depth > kDeepest)
    return std::nullopt;
  std::vector<Dim> args;
  do {
    Result arg = parseSum();
    if (!arg)
      return std::nullopt;
    args.push_back(std::move(*arg));
  } while (consume(","));
  --depth;
  if (!consume(")"))
    return std::nullopt;
  return makeCall(name, args);
}

Dim relax_runtime::parseDim(std::string_view text, const DimMap &values) {
  if (std::optional<Dim> dim = DimParser(text, values).parse())
    return *dim;
  std::map<std::string, std::string, std::less<>> spellings;
  for (const auto &[name, value] : values)
    spellings[name] = "(" + value.spelling() + ")";
  return Dim::atom("{" + replaceIdentifiers(text, spellings) + "}");
}
