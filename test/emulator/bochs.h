/* Part of the relax-mlir project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What replacements of functions of Bochs 3.0 use of it. The places of fields
 * of instructions are those of bochscpu-python 0.4.0.
 */

#ifndef RELAX_TEST_EMULATOR_BOCHS_H
#define RELAX_TEST_EMULATOR_BOCHS_H

#include <stdint.h>

/* An instruction that is decoded. */
typedef struct {
  void *handlers[2];
  uint16_t opcode;
  uint8_t size, flags;
  uint8_t to, from, from2, rest[9];
  uint8_t immediate, lanes, attributes, mask;
  int32_t displacement;
} Instruction;

/* The address of the next instruction, for a processor. Setting it ends the
   sequence of decoded instructions that are executed at once. */
extern uint64_t (*relax_get_pc)(unsigned cpu);
extern void (*relax_set_pc)(unsigned cpu, uint64_t address);

#endif
