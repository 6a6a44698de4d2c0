//===- Code.h - Instructions and how they are encoded -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instruction as the assembler, the disassembler and the verifier see it,
// and as words of 64 bits in an executable. The interpreter runs neither, but
// what Program.h makes of them.
//
// The first word of an instruction is the opcode in bits 0 to 7 and the number
// of its words in bits 32 to 63. Then come its fields, in the order of
// Instructions.def:
//
//   Destination  one operand: a register, a heap slot, or none
//   Callee       its kind in bits 0 to 7, its index in bits 8 to 63
//   Operands     their number, then one operand after the other
//   Site         one operand: a site, or none
//   Value        one operand
//   Condition    one operand
//   Target       the word to go to, counted from the start of the function
//
// An operand is its kind in bits 0 to 3, its role in bits 4 to 7 and a signed
// value in bits 8 to 63. An integer that does not fit is a word of its own
// after an operand of kind Wide. The elements of a list follow it.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_CODE_H
#define RELAX_RUNTIME_VM_CODE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace relax_runtime::vm {

//===----------------------------------------------------------------------===//
// The table of instructions
//===----------------------------------------------------------------------===//

enum class Opcode : uint8_t {
#define RELAX_INSTRUCTION(name, mnemonic, fields, summary) name,
#include "Instructions.def"
};

enum class FieldKind : uint8_t {
  Destination,
  Callee,
  Operands,
  Site,
  Value,
  Condition,
  Target
};

// A field, and the word that is before it in text.
struct Field {
  FieldKind kind;
  const char *keyword;
};

struct InstructionInfo {
  const char *mnemonic;
  const Field *fields;
  size_t numFields;
  const char *summary;
};

// All instructions, by opcode.
extern const InstructionInfo instructionInfos[];
extern const size_t numInstructions;

enum class CalleeKind : uint8_t {
#define RELAX_CALLEE(name, keyword, syntax, summary) name,
#include "Instructions.def"
};

struct CalleeInfo {
  const char *keyword;
  const char *syntax;
  const char *summary;
};

// All kinds of callees.
extern const CalleeInfo calleeInfos[];
extern const size_t numCallees;

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

enum class OperandKind : uint8_t {
  None,
  Register, // %3
  Heap,     // $2
  Integer,  // -17
  Wide,     // only encoded
  Constant, // #4
  Function, // @f
  String,   // "text"
  Site,     // site 2
  List      // [%0, %1]
};
constexpr size_t numOperandKinds = static_cast<size_t>(OperandKind::List) + 1;

// The access of a kernel to an operand; None for all other callees.
enum class Role : uint8_t { None, Read, Write, Update, Scalar };
constexpr size_t numRoles = static_cast<size_t>(Role::Scalar) + 1;
// "read"; "" for None.
const char *roleText(Role role);

struct Operand {
  OperandKind kind = OperandKind::None;
  Role role = Role::None;
  // The integer, or the index of the register, slot, constant, ...
  int64_t value = 0;
  // Of a list.
  std::vector<Operand> elements;
};

struct Instruction {
  Opcode opcode = Opcode::Call;
  Operand destination;
  CalleeKind callee = CalleeKind::Function;
  int64_t calleeIndex = 0;
  std::vector<Operand> operands;
  Operand site;
  Operand value; // of Value and Condition
  int64_t target = 0;
};

// Appends the words of an instruction.
void encode(const Instruction &instruction, std::vector<int64_t> &words);

// Reads the instruction at `words[position]` and moves `position` past it.
// Returns an error message, "" where there is none. Accepts what `encode`
// writes and nothing else.
std::string decode(const int64_t *words, size_t size, size_t &position,
                   Instruction &instruction);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_CODE_H
