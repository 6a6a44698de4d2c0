//===- Dim.h - Dimensions that are compared ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A dimension as a polynomial with integer coefficients. A term that is not a
// sum or a product, such as `n floordiv 2`, is an atom of the polynomial, in a
// canonical spelling of its own. Two dimensions are equal for all values of
// their variables where their spellings are the same.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_DIM_H
#define RELAX_RUNTIME_DIM_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relax_runtime {

class Dim {
public:
  static Dim constant(int64_t value);
  // A value of which nothing is known but that it is the one with this `id`.
  static Dim symbol(std::string_view name, int64_t id);

  std::optional<int64_t> asConstant() const;
  bool operator==(const Dim &other) const { return terms == other.terms; }
  // "m * n * 2 + 1".
  std::string text() const;
  // The same, with "#" and the id after each symbol.
  std::string spelling() const;

  // A term that is no sum or product, with a spelling that no other has.
  static Dim atom(std::string spelling);

private:
  friend class DimParser;
  // The factors of a product, in order, and its coefficient, which is not 0.
  // The constant is the product of no factors.
  using Product = std::vector<std::string>;
  std::map<Product, int64_t> terms;
};

// The values of variables.
using DimMap = std::map<std::string, Dim, std::less<>>;

// The expression `text` over variables that `values` holds. Where it makes no
// sense as a polynomial, the text with the values put in is an atom.
Dim parseDim(std::string_view text, const DimMap &values);

// Whether the text is one identifier.
bool isIdentifier(std::string_view text);

// The text with the identifiers that `values` holds replaced.
std::string replaceIdentifiers(
    std::string_view text,
    const std::map<std::string, std::string, std::less<>> &values);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_DIM_H
