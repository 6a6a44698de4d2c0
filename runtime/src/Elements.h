//===- Elements.h - Elements of tensors as numbers --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes elements whose data type is known at run time only. Floats
// of all formats are doubles, which hold them exactly.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ELEMENTS_H
#define RELAX_RUNTIME_ELEMENTS_H

#include "Internal.h"

#include <variant>

namespace relax_runtime {

// An element: of signed integers, of unsigned ones and Booleans, of floats.
using Element = std::variant<int64_t, uint64_t, double>;

// Whether elements of a data type can be read and written: integers, Booleans
// and floats of 8 to 64 bits, bfloat16.
bool hasElements(DLDataType dtype);

// The element at an address, of a data type that has elements.
Element readElement(const char *from, DLDataType dtype);

// Writes a number, converted as by C: floats to integers truncate, to narrower
// floats round to nearest even, to Booleans compare with 0. Returns false where
// an integer or a truncated float does not fit.
bool writeElement(char *to, Element value, DLDataType dtype);

// -1, 0 or 1 as lhs is before, equal to or after rhs. NaN is equal to itself
// and after all other numbers.
int compareElements(Element lhs, Element rhs);

bool isNaN(Element element);
bool isZero(Element element);

// "3", "0.5", "True".
std::string elementText(Element element, DLDataType dtype);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ELEMENTS_H
