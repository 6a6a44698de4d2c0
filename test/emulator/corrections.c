/* Part of the relax-mlir project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What Bochs 3.0 gets wrong in AVX-512, corrected: functions of the same names
 * as its own, which are found first, see host.c. The places of registers are
 * those of bochscpu-python 0.4.0.
 */

#include "bochs.h"

#include <stdbool.h>
#include <string.h>

enum { kMasks = 0xc08, kZeroing = 4, kBroadcast = 8 };

/* Functions and data of Bochs, set by processor.py. */
typedef int Decoder(Instruction *i, unsigned opcode, bool is64, unsigned reg,
                    unsigned rm, unsigned operand, unsigned w, bool evex,
                    bool displacement8);
Decoder *relax_assign_operands;
const char *(*relax_opcode_name)(uint16_t opcode);
uint64_t (*relax_get_pc)(unsigned cpu);
void (*relax_set_pc)(unsigned cpu, uint64_t address);
void (*relax_get_zmm)(unsigned cpu, unsigned reg, uint64_t *value);
void (*relax_set_zmm)(unsigned cpu, unsigned reg, const uint64_t *value);
char *relax_registers;

static uint64_t *getMask(unsigned reg) {
  return (uint64_t *)(relax_registers + kMasks) + reg;
}

/* Ends an instruction, and the sequence of those that are executed at once. */
static void finish(void) { relax_set_pc(0, relax_get_pc(0)); }

/* The decoder. */

enum { kLegal = 0, kIllegalOperand = 3, kHighRegister = 16 };

Decoder assignOperands __asm__("_Z11assign_srcsP15bxInstruction_cjbjjjjbb");

int assignOperands(Instruction *i, unsigned opcode, bool is64, unsigned reg,
                   unsigned rm, unsigned operand, unsigned w, bool evex,
                   bool displacement8) {
  /* VPINSRB: the distance to a byte of memory is in bytes, not in words. */
  if (evex && strstr(relax_opcode_name(opcode), "VPINSRB"))
    displacement8 = false;
  int error = relax_assign_operands(i, opcode, is64, reg, rm, operand, w, evex,
                                    displacement8);
  /* VDPBF16PS: the distance to a vector is in vectors, not in elements. */
  if (displacement8 && strstr(relax_opcode_name(opcode), "VDPBF16PS") &&
      !(i->attributes & kBroadcast))
    i->displacement *= 4 * i->lanes;
  /* Gathers and scatters by indices in zmm16 to zmm31 are legal: the bit that
     says so is that of an operand that these do not have. */
  bool isLegal = error == kIllegalOperand && operand == kHighRegister && evex;
  return isLegal ? kLegal : error;
}

/* KSHIFTLW and KSHIFTRW: by 15 they give 0. */

void shiftMaskLeft(Instruction *i) __asm__(
    "_ZN8BX_CPU_C18KSHIFTLW_KGwKEwIbREP15bxInstruction_c");
void shiftMaskRight(Instruction *i) __asm__(
    "_ZN8BX_CPU_C18KSHIFTRW_KGwKEwIbREP15bxInstruction_c");

void shiftMaskLeft(Instruction *i) {
  uint16_t mask = *getMask(i->from);
  *getMask(i->to) = i->immediate < 16 ? (uint16_t)(mask << i->immediate) : 0;
  finish();
}

void shiftMaskRight(Instruction *i) {
  uint16_t mask = *getMask(i->from);
  *getMask(i->to) = i->immediate < 16 ? mask >> i->immediate : 0;
  finish();
}

/* VPSRAVQ: by 64 it gives what it is given. */

void shiftLanes(Instruction *i) __asm__(
    "_ZN8BX_CPU_C14HANDLE_AVX_2OPIXadL_Z10xmm_psravqP12bx_xmm_reg_tPKS1_"
    "EEEEvP15bxInstruction_c");
void shiftSomeLanes(Instruction *i) __asm__(
    "_ZN8BX_CPU_C31HANDLE_AVX512_2OP_QWORD_EL_MASKIXadL_Z10xmm_psravqP12bx_xmm_"
    "reg_tPKS1_EEEEvP15bxInstruction_c");

static void shift(Instruction *i, uint64_t mask, bool isZeroing) {
  uint64_t values[8], counts[8], result[8];
  relax_get_zmm(0, i->from, values);
  relax_get_zmm(0, i->from2, counts);
  relax_get_zmm(0, i->to, result);
  for (unsigned lane = 0; lane != 8; ++lane) {
    bool isLane = lane < 2u * i->lanes;
    if (isLane && (mask >> lane & 1))
      result[lane] =
          (int64_t)values[lane] >> (counts[lane] > 63 ? 63 : counts[lane]);
    else if (!isLane || isZeroing)
      result[lane] = 0;
  }
  relax_set_zmm(0, i->to, result);
  finish();
}

void shiftLanes(Instruction *i) { shift(i, UINT64_MAX, false); }

void shiftSomeLanes(Instruction *i) {
  shift(i, *getMask(i->mask), i->attributes & kZeroing);
}

/* VGF2P8AFFINEQB: it has no masks. */

void affine(Instruction *i) __asm__(
    "_ZN8BX_CPU_C27VGF2P8AFFINEQB_VdqHdqWdqIbREP15bxInstruction_c");

/* The bits of a vector, multiplied by a matrix of one row a bit. */
static uint8_t multiply(uint64_t matrix, uint8_t bits) {
  uint8_t result = 0;
  for (unsigned row = 0; row != 8; ++row) {
    uint8_t chosen = bits & (uint8_t)(matrix >> 8 * (7 - row));
    result |= (uint8_t)(__builtin_parity(chosen) << row);
  }
  return result;
}

void affine(Instruction *i) {
  uint64_t bits[8], matrices[8], result[8];
  relax_get_zmm(0, i->from, bits);
  relax_get_zmm(0, i->from2, matrices);
  relax_get_zmm(0, i->to, result);
  uint64_t mask = i->mask ? *getMask(i->mask) : UINT64_MAX;
  for (unsigned lane = 0; lane != 64; ++lane) {
    uint8_t *to = (uint8_t *)result + lane;
    if (lane >= 16u * i->lanes)
      *to = 0;
    else if (mask >> lane & 1)
      *to =
          multiply(matrices[lane / 8], ((uint8_t *)bits)[lane]) ^ i->immediate;
    else if (i->attributes & kZeroing)
      *to = 0;
  }
  relax_set_zmm(0, i->to, result);
  finish();
}
