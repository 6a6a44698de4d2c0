/* Part of the relax-mlir project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the processor of Bochs calls, in place of functions of the same names in
 * the package bochscpu: they call Rust and Python at each instruction, which
 * takes most of the time. This library is loaded before the package is.
 */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set by processor.py. */
void (*relax_on_system_call)(void);
void (*relax_on_exception)(uint32_t vector, uint32_t error);

/* A physical address is the address in this process. */
uint8_t *mem_guest_to_host(uint32_t cpu, uint64_t address, uint32_t access) {
  (void)cpu, (void)access;
  return (uint8_t *)address;
}

void mem_read_phy(uint32_t cpu, uint64_t address, uint32_t size, void *to) {
  (void)cpu;
  memcpy(to, (const void *)address, size);
}

void mem_write_phy(uint32_t cpu, uint64_t address, uint32_t size, void *from) {
  (void)cpu;
  memcpy((void *)address, from, size);
}

/* Events that matter: the instruction SYSCALL, and exceptions. */
enum { kSystemCall = 17 };

void bx_instr_far_branch(uint32_t cpu, uint32_t what, uint16_t from_segment,
                         uint64_t from, uint16_t to_segment, uint64_t to) {
  (void)cpu, (void)from_segment, (void)from, (void)to_segment, (void)to;
  if (what == kSystemCall)
    relax_on_system_call();
}

void bx_instr_exception(uint32_t cpu, uint32_t vector, uint32_t error) {
  (void)cpu;
  relax_on_exception(vector, error);
}

/* Events that do not, whatever their arguments. */
#define RELAX_IGNORE(event)                                                    \
  void bx_instr_##event(void) {}

RELAX_IGNORE(after_execution)
RELAX_IGNORE(before_execution)
RELAX_IGNORE(cache_cntrl)
RELAX_IGNORE(clflush)
RELAX_IGNORE(cnear_branch_not_taken)
RELAX_IGNORE(cnear_branch_taken)
RELAX_IGNORE(lin_access)
RELAX_IGNORE(opcode)
RELAX_IGNORE(phy_access)
RELAX_IGNORE(prefetch_hint)
RELAX_IGNORE(repeat_iteration)
RELAX_IGNORE(tlb_cntrl)
RELAX_IGNORE(ucnear_branch)

/* The package is built with glibc 2.38, and needs these two of it. */
unsigned long long __isoc23_strtoull(const char *text, char **end, int base) {
  return strtoull(text, end, base);
}

int __isoc23_sscanf(const char *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int count = vsscanf(text, format, arguments);
  va_end(arguments);
  return count;
}
