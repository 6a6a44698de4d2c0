/*===- LinkedOther.c - Code for LinkerTest.cc --------------------*- C -*-===*\
 *
 * Part of the relax-mlir project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * What LinkedProgram.c calls.
 *
\*===----------------------------------------------------------------------===*/

#include <math.h>
#include <stddef.h>

extern int relax_linked_counter;

/* Counts its calls in data of the other file. */
double relax_linked_norm(const double *values, size_t count) {
  double norm = 0;
  for (size_t i = 0; i < count; ++i)
    norm = hypot(norm, values[i]);
  ++relax_linked_counter;
  return norm;
}
