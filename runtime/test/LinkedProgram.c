/*===- LinkedProgram.c - Code for LinkerTest.cc ------------------*- C -*-===*\
 *
 * Part of the relax-mlir project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Every kind of section, and of relocations, that generated code has: data of
 * all rights, tables of addresses, calls of the process and of the other file.
 *
\*===----------------------------------------------------------------------===*/

#include <stddef.h>
#include <string.h>

int relax_linked_counter = 40;
static double scratch[1000];
static const char *const names[] = {"zero", "one", "two"};

double relax_linked_norm(const double *values, size_t count);

int relax_linked_count(void) { return ++relax_linked_counter; }

const char *relax_linked_name(int index) { return names[index]; }

/* Of a copy, through a function of the process and one of the other file. */
double relax_linked_norm_of_copy(const double *values, size_t count) {
  memcpy(scratch, values, count * sizeof(double));
  return relax_linked_norm(scratch, count);
}

__attribute__((weak)) int relax_linked_nowhere(void);

/* 0 for a function that nobody defines. */
int relax_linked_call_weak(void) {
  return relax_linked_nowhere ? relax_linked_nowhere() : 0;
}
