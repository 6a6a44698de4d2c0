//===- Code.cc - Instructions and how they are encoded ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes and reads instructions field by field, as the table says. The decoder
// trusts nothing: counts are checked against the words that are left before
// memory is taken for them.
//
//===----------------------------------------------------------------------===//

#include "Code.h"

#include <cassert>

using namespace relax_runtime::vm;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

#define FIELDS(...) {__VA_ARGS__}
#define RELAX_INSTRUCTION(name, mnemonic, fields, summary)                     \
  static constexpr Field k##name##Fields[] = fields;
#include "Instructions.def"

const InstructionInfo relax_runtime::vm::instructionInfos[] = {
#define RELAX_INSTRUCTION(name, mnemonic, fields, summary)                     \
  {mnemonic, k##name##Fields, sizeof(k##name##Fields) / sizeof(Field), summary},
#include "Instructions.def"
};
const size_t relax_runtime::vm::numInstructions =
    sizeof(instructionInfos) / sizeof(InstructionInfo);

const CalleeInfo relax_runtime::vm::calleeInfos[] = {
#define RELAX_CALLEE(name, keyword, syntax, summary) {keyword, syntax, summary},
#include "Instructions.def"
};
const size_t relax_runtime::vm::numCallees =
    sizeof(calleeInfos) / sizeof(CalleeInfo);

const char *relax_runtime::vm::roleText(Role role) {
  static const char *const texts[numRoles] = {"", "read", "write", "update",
                                              "scalar"};
  return texts[static_cast<size_t>(role)];
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

static constexpr int kValueShift = 8;

static bool fitsOperand(int64_t value) {
  return value >= -(int64_t(1) << 55) && value < int64_t(1) << 55;
}

static int64_t makeWord(uint64_t low, int64_t value) {
  return static_cast<int64_t>(low | static_cast<uint64_t>(value)
                                        << kValueShift);
}

static void encodeOperand(const Operand &operand, std::vector<int64_t> &words) {
  uint64_t role = static_cast<uint64_t>(operand.role) << 4;
  auto kind = [&](OperandKind kind) {
    return static_cast<uint64_t>(kind) | role;
  };
  if (!fitsOperand(operand.value)) {
    assert(operand.kind == OperandKind::Integer && "an index is small");
    words.push_back(makeWord(kind(OperandKind::Wide), 0));
    words.push_back(operand.value);
    return;
  }
  if (operand.kind != OperandKind::List) {
    words.push_back(makeWord(kind(operand.kind), operand.value));
    return;
  }
  words.push_back(makeWord(kind(OperandKind::List),
                           static_cast<int64_t>(operand.elements.size())));
  for (const Operand &element : operand.elements)
    encodeOperand(element, words);
}

static void encodeField(FieldKind kind, const Instruction &instruction,
                        std::vector<int64_t> &words) {
  switch (kind) {
  case FieldKind::Destination:
    return encodeOperand(instruction.destination, words);
  case FieldKind::Callee:
    return words.push_back(makeWord(static_cast<uint64_t>(instruction.callee),
                                    instruction.calleeIndex));
  case FieldKind::Operands:
    words.push_back(static_cast<int64_t>(instruction.operands.size()));
    for (const Operand &operand : instruction.operands)
      encodeOperand(operand, words);
    return;
  case FieldKind::Site:
    return encodeOperand(instruction.site, words);
  case FieldKind::Value:
  case FieldKind::Condition:
    return encodeOperand(instruction.value, words);
  case FieldKind::Target:
    return words.push_back(instruction.target);
  }
}

void relax_runtime::vm::encode(const Instruction &instruction,
                               std::vector<int64_t> &words) {
  size_t start = words.size();
  words.push_back(0);
  const InstructionInfo &info =
      instructionInfos[static_cast<size_t>(instruction.opcode)];
  for (size_t i = 0; i < info.numFields; ++i)
    encodeField(info.fields[i].kind, instruction, words);
  uint64_t length = words.size() - start;
  words[start] = static_cast<int64_t>(
      static_cast<uint64_t>(instruction.opcode) | length << 32);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

namespace {

// Reads the fields of one instruction, whose words end at `end`.
class Decoder {
public:
  Decoder(const int64_t *words, size_t position, size_t end)
      : words(words), position(position), end(end) {}

  bool readField(FieldKind kind, Instruction &instruction);
  bool atEnd() const { return position == end; }
  const std::string &error() const { return message; }

private:
  bool fail(std::string text) {
    message = std::move(text);
    return false;
  }
  bool readWord(int64_t &word) {
    if (position == end)
      return fail("the instruction ends in the middle of a field");
    word = words[position++];
    return true;
  }
  bool readOperand(Operand &operand, bool isElement = false);
  bool readOperands(int64_t count, std::vector<Operand> &operands,
                    bool areElements);
  bool readCallee(Instruction &instruction);

  const int64_t *words;
  size_t position, end;
  std::string message;
};

} // namespace

bool Decoder::readOperand(Operand &operand, bool isElement) {
  int64_t word;
  if (!readWord(word))
    return false;
  uint64_t kind = static_cast<uint64_t>(word) & 0xf;
  uint64_t role = static_cast<uint64_t>(word) >> 4 & 0xf;
  if (kind >= numOperandKinds)
    return fail("there is no operand of kind " + std::to_string(kind));
  if (role >= numRoles)
    return fail("there is no role " + std::to_string(role));
  operand.kind = static_cast<OperandKind>(kind);
  operand.role = static_cast<Role>(role);
  operand.value = word >> kValueShift;
  if (operand.kind == OperandKind::None && word != 0)
    return fail("an operand that is none has a value");
  if (operand.kind == OperandKind::Wide) {
    bool isPlain = operand.value == 0;
    operand.kind = OperandKind::Integer;
    if (!readWord(operand.value))
      return false;
    return (isPlain && !fitsOperand(operand.value)) ||
           fail("a wide integer is not");
  }
  if (operand.kind != OperandKind::List)
    return true;
  if (isElement)
    return fail("a list is in a list");
  int64_t count = operand.value;
  operand.value = 0;
  return readOperands(count, operand.elements, /*areElements=*/true);
}

bool Decoder::readOperands(int64_t count, std::vector<Operand> &operands,
                           bool areElements) {
  if (count < 0 || static_cast<uint64_t>(count) > end - position)
    return fail("expected at most " + std::to_string(end - position) +
                " operands, but got " + std::to_string(count));
  operands.resize(static_cast<size_t>(count));
  for (Operand &operand : operands)
    if (!readOperand(operand, areElements))
      return false;
  return true;
}

bool Decoder::readCallee(Instruction &instruction) {
  int64_t word;
  if (!readWord(word))
    return false;
  uint64_t kind = static_cast<uint64_t>(word) & 0xff;
  if (kind >= numCallees)
    return fail("there is no callee of kind " + std::to_string(kind));
  instruction.callee = static_cast<CalleeKind>(kind);
  instruction.calleeIndex = word >> kValueShift;
  return true;
}

bool Decoder::readField(FieldKind kind, Instruction &instruction) {
  switch (kind) {
  case FieldKind::Destination:
    return readOperand(instruction.destination);
  case FieldKind::Callee:
    return readCallee(instruction);
  case FieldKind::Operands: {
    int64_t count;
    return readWord(count) &&
           readOperands(count, instruction.operands, /*areElements=*/false);
  }
  case FieldKind::Site:
    return readOperand(instruction.site);
  case FieldKind::Value:
  case FieldKind::Condition:
    return readOperand(instruction.value);
  case FieldKind::Target:
    return readWord(instruction.target);
  }
  return false;
}

std::string relax_runtime::vm::decode(const int64_t *words, size_t size,
                                      size_t &position,
                                      Instruction &instruction) {
  instruction = Instruction();
  uint64_t head = static_cast<uint64_t>(words[position]);
  uint64_t opcode = head & 0xffffffff, length = head >> 32;
  if (opcode >= numInstructions)
    return "there is no instruction with opcode " + std::to_string(opcode);
  if (length == 0 || length > size - position)
    return "expected an instruction of 1 to " +
           std::to_string(size - position) + " words, but got " +
           std::to_string(length);
  instruction.opcode = static_cast<Opcode>(opcode);
  Decoder decoder(words, position + 1, position + length);
  const InstructionInfo &info = instructionInfos[opcode];
  for (size_t i = 0; i < info.numFields; ++i)
    if (!decoder.readField(info.fields[i].kind, instruction))
      return decoder.error();
  if (!decoder.atEnd())
    return "the instruction has words behind its last field";
  position += length;
  return "";
}
