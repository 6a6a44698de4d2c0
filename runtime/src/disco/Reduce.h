//===- Reduce.h - Reductions over workers -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_DISCO_REDUCE_H
#define RELAX_RUNTIME_DISCO_REDUCE_H

#include "../Internal.h"

#include <optional>
#include <string_view>
#include <vector>

namespace relax_runtime {

// In TVM's order, which numbers them in calls of packed functions.
enum class Reduction : int64_t { Sum, Prod, Min, Max, Avg };

// "sum", "prod", ...
std::string_view nameOf(Reduction reduction);
std::optional<Reduction> findReduction(std::string_view name);

// Whether elements of a data type can be reduced: integers and floats of 8 to
// 64 bits, bfloat16.
bool isReducible(DLDataType dtype);

// to[i] = from[0][i] op from[1][i] op ..., in this order, for `count` elements;
// `to` may be one of the others. Floats of 16 bits are reduced in f32, integers
// modulo 2^64; an average of integers rounds toward zero.
void reduceInOrder(Reduction reduction, DLDataType dtype,
                   const std::vector<const char *> &from, char *to,
                   int64_t count);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_DISCO_REDUCE_H
