//===- StructInfo.h - StructInfo at run time --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The StructInfo of closures: read from the JSON that relax_runtime.h
// describes, written, and compared.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_STRUCTINFO_H
#define RELAX_RUNTIME_STRUCTINFO_H

#include "Internal.h"

#include <optional>
#include <string_view>
#include <vector>

namespace relax_runtime {

// A dimension as it is written: a constant, or text over variables.
struct DimExpr {
  std::optional<int64_t> value;
  std::string text;
  std::vector<std::string> vars; // one, the text itself, for a bare variable
  bool isVar() const { return vars.size() == 1 && vars[0] == text; }
};

struct StructInfo {
  enum class Kind { Object, Tensor, Shape, Prim, Tuple, Func, Packed };
  Kind kind = Kind::Object;
  // Tensor, Prim: empty where unknown.
  std::string dtype;
  // Tensor, Shape: the rank, -1 where unknown, and the dimensions. Prim: one
  // dimension, its value, where that is known.
  int32_t ndim = -1;
  std::optional<std::vector<DimExpr>> dims;
  // Tensor.
  std::optional<DLDevice> device;
  // Tuple: the fields. Func: the parameters.
  std::optional<std::vector<StructInfo>> fields;
  // Func: the result, one or none where unknown.
  std::vector<StructInfo> ret;
  bool isPure = false;

  // Reads JSON, with captured dimensions filled in; "" stands for a function of
  // which nothing is known. Throws ValueError.
  static StructInfo parse(const char *json, ffi::ShapeView captured);
  std::string json() const;
  // In the syntax of the dialect: "!relax.tensor<[n, 4], f32>".
  std::string typeText() const;
};

// The reason why something is no subtype of something else.
struct Mismatch {
  const char *kind; // "TypeError" or "ValueError"
  std::string text; // "parameter 0: rank 2 is not 1"
};

// None where `sub` is a subtype of `super` (ST02 to ST06).
std::optional<Mismatch> findMismatch(const StructInfo &sub,
                                     const StructInfo &super);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_STRUCTINFO_H
