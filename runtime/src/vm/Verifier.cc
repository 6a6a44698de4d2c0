//===- Verifier.cc - Checks of programs before they run ---------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks everything that the interpreter relies on, so that code from anywhere
// is either refused or runs without a crash: indices are in bounds, operands
// fit the callee, jumps go to instructions, and no function runs past its end.
// Whether a value is a tensor or a tuple is only known when the code runs, so
// that is what builtins check.
//
//===----------------------------------------------------------------------===//

#include "Builtins.h"

#include <unordered_set>

using namespace relax_runtime;
using namespace relax_runtime::vm;

namespace {

class Verifier {
public:
  explicit Verifier(const ExecutableParts &parts) : parts(parts) {}

  void verify();

private:
  void verifyRanges(const FunctionDef &function);
  void verifyHead(const FunctionDef &function);
  void verifyBody(const FunctionDef &function);
  void verifyInstruction(const Instruction &instruction);
  void verifyField(FieldKind kind, const Instruction &instruction);
  void verifyDestination(const Instruction &instruction);
  void verifyCallee(const Instruction &instruction);
  void verifyOperands(const Instruction &instruction);
  void verifyBuiltin(const Instruction &instruction);
  void verifyParam(ParamKind kind, const Operand &operand,
                   const std::string &what);
  void verifyElements(const Operand &list, ParamKind kind,
                      const std::string &what);
  void verifyKernelOperand(const Operand &operand, const std::string &what);
  void verifyCallOperand(const Operand &operand, const std::string &what);
  void verifyIndex(const Operand &operand, const std::string &what);

  size_t getBound(OperandKind kind) const;
  [[noreturn]] void fail(const std::string &text) const;
  [[noreturn]] void failOperand(const std::string &what, const char *expected,
                                const Operand &operand) const;

  const ExecutableParts &parts;
  // The position in the program.
  const FunctionDef *function = nullptr;
  size_t number = 0;
  bool isInBody = false;
};

} // namespace

void Verifier::fail(const std::string &text) const {
  std::string where;
  if (function)
    where = "function '" + function->name + "': ";
  if (isInBody)
    where += "instruction " + std::to_string(number) + ": ";
  RELAX_THROW(ValueError) << where << text;
  throw; // not reached
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static const char *kindText(OperandKind kind) {
  static const char *const texts[numOperandKinds] = {
      "nothing",    "a register", "a heap slot", "an integer", "an integer",
      "a constant", "a function", "a string",    "a site",     "a list"};
  return texts[static_cast<size_t>(kind)];
}

void Verifier::failOperand(const std::string &what, const char *expected,
                           const Operand &operand) const {
  fail("expected " + what + " to be " + expected + ", but got " +
       kindText(operand.kind));
}

size_t Verifier::getBound(OperandKind kind) const {
  switch (kind) {
  case OperandKind::Register:
    return static_cast<size_t>(function->numRegisters);
  case OperandKind::Heap:
    return static_cast<size_t>(function->numHeapSlots);
  case OperandKind::Constant:
    return parts.constants.size();
  case OperandKind::Function:
    return parts.functions.size();
  case OperandKind::String:
    return parts.strings.size();
  case OperandKind::Site:
    return static_cast<size_t>(function->siteEnd - function->siteBegin);
  default:
    return 0;
  }
}

void Verifier::verifyIndex(const Operand &operand, const std::string &what) {
  if (operand.kind == OperandKind::Integer ||
      operand.kind == OperandKind::List || operand.kind == OperandKind::None)
    return;
  size_t bound = getBound(operand.kind);
  if (operand.value < 0 || static_cast<uint64_t>(operand.value) >= bound)
    fail(what + ": expected " + kindText(operand.kind) + " below " +
         std::to_string(bound) + ", but got " + std::to_string(operand.value));
}

static bool isValue(const Operand &operand) {
  return operand.kind == OperandKind::Register ||
         operand.kind == OperandKind::Constant;
}
static bool isInt(const Operand &operand) {
  return operand.kind == OperandKind::Heap ||
         operand.kind == OperandKind::Integer;
}

void Verifier::verifyElements(const Operand &list, ParamKind kind,
                              const std::string &what) {
  if (list.kind != OperandKind::List)
    failOperand(what, "a list", list);
  for (size_t i = 0; i < list.elements.size(); ++i) {
    if (list.elements[i].role != Role::None)
      fail(what + ": only operands of kernels have a role");
    verifyParam(kind, list.elements[i],
                "element " + std::to_string(i) + " of " + what);
  }
}

void Verifier::verifyParam(ParamKind kind, const Operand &operand,
                           const std::string &what) {
  auto expect = [&](bool holds, const char *expected) {
    if (!holds)
      failOperand(what, expected, operand);
  };
  auto is = [&](OperandKind kind) { return operand.kind == kind; };
  switch (kind) {
  case ParamKind::Site:
    expect(is(OperandKind::Site), "a site");
    break;
  case ParamKind::Value:
    expect(isValue(operand), "a register or a constant");
    break;
  case ParamKind::Register:
    expect(is(OperandKind::Register), "a register");
    break;
  case ParamKind::Int:
    expect(isInt(operand), "a heap slot or an integer");
    break;
  case ParamKind::Immediate:
    expect(is(OperandKind::Integer) && operand.value >= INT32_MIN &&
               operand.value <= INT32_MAX,
           "an integer of 32 bits");
    break;
  case ParamKind::DType:
    expect(is(OperandKind::Integer) && operand.value >= 0 &&
               operand.value <= UINT32_MAX,
           "a data type");
    break;
  case ParamKind::String:
    expect(is(OperandKind::String), "a string");
    break;
  case ParamKind::Function:
    expect(is(OperandKind::Function), "a function");
    break;
  case ParamKind::Ints:
    return verifyElements(operand, ParamKind::Int, what);
  case ParamKind::Values:
    return verifyElements(operand, ParamKind::Value, what);
  }
  verifyIndex(operand, what);
}

void Verifier::verifyKernelOperand(const Operand &operand,
                                   const std::string &what) {
  switch (operand.role) {
  case Role::None:
    return fail("expected " + what +
                " to say whether the kernel reads, writes or updates it, or "
                "that it is a scalar");
  case Role::Scalar:
    if (!isInt(operand))
      failOperand(what, "a heap slot or an integer", operand);
    break;
  case Role::Read:
    if (!isValue(operand))
      failOperand(what, "a register or a constant", operand);
    break;
  case Role::Write:
  case Role::Update:
    if (operand.kind != OperandKind::Register)
      failOperand(what, "a register", operand);
    break;
  }
  verifyIndex(operand, what);
}

void Verifier::verifyCallOperand(const Operand &operand,
                                 const std::string &what) {
  if (!isValue(operand) && !isInt(operand))
    failOperand(what, "a register, a constant, a heap slot or an integer",
                operand);
  verifyIndex(operand, what);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void Verifier::verifyCallee(const Instruction &instruction) {
  auto check = [&](const char *what, size_t bound) {
    if (instruction.calleeIndex < 0 ||
        static_cast<uint64_t>(instruction.calleeIndex) >= bound)
      fail(std::string("expected ") + what + " below " + std::to_string(bound) +
           ", but got " + std::to_string(instruction.calleeIndex));
  };
  switch (instruction.callee) {
  case CalleeKind::Function:
    return check("a function", parts.functions.size());
  case CalleeKind::Register:
    return check("a register", getBound(OperandKind::Register));
  case CalleeKind::Kernel:
  case CalleeKind::DeviceKernel:
    return check("a kernel", parts.kernels.size());
  case CalleeKind::Packed:
    return check("a packed function", parts.packed.size());
  case CalleeKind::Builtin:
    return check("a builtin", numBuiltins);
  }
}

static ResultKind getResult(const Instruction &instruction) {
  switch (instruction.callee) {
  case CalleeKind::Kernel:
  case CalleeKind::DeviceKernel:
    return ResultKind::None;
  case CalleeKind::Builtin:
    return builtinInfos[instruction.calleeIndex].result;
  default:
    return ResultKind::Value;
  }
}

// A builtin writes its result, so it needs a place for it; the value that
// another callee returns may be dropped.
void Verifier::verifyDestination(const Instruction &instruction) {
  const Operand &destination = instruction.destination;
  bool isBuiltin = instruction.callee == CalleeKind::Builtin;
  switch (getResult(instruction)) {
  case ResultKind::None:
    if (destination.kind != OperandKind::None)
      failOperand("the destination", "nothing", destination);
    break;
  case ResultKind::Int:
    if (destination.kind != OperandKind::Heap)
      failOperand("the destination", "a heap slot", destination);
    break;
  case ResultKind::Value:
    if (destination.kind != OperandKind::Register &&
        (isBuiltin || destination.kind != OperandKind::None))
      failOperand("the destination", "a register", destination);
    break;
  }
  if (destination.role != Role::None)
    fail("only operands of kernels have a role");
  verifyIndex(destination, "the destination");
}

void Verifier::verifyBuiltin(const Instruction &instruction) {
  const BuiltinInfo &info = builtinInfos[instruction.calleeIndex];
  if (instruction.operands.size() != info.numParams)
    fail(std::string("expected ") +
         countText(static_cast<int64_t>(info.numParams), "operand") + " for " +
         info.name + ", but got " +
         std::to_string(instruction.operands.size()));
  for (size_t i = 0; i < info.numParams; ++i)
    verifyParam(info.params[i], instruction.operands[i],
                "operand " + std::to_string(i) + " of " + info.name);
}

void Verifier::verifyOperands(const Instruction &instruction) {
  bool isKernel = instruction.callee == CalleeKind::Kernel ||
                  instruction.callee == CalleeKind::DeviceKernel;
  for (const Operand &operand : instruction.operands)
    if (!isKernel && operand.role != Role::None)
      fail("only operands of kernels have a role");
  if (instruction.callee == CalleeKind::Builtin)
    return verifyBuiltin(instruction);
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    std::string what = "operand " + std::to_string(i);
    if (isKernel)
      verifyKernelOperand(instruction.operands[i], what);
    else
      verifyCallOperand(instruction.operands[i], what);
  }
  if (instruction.callee != CalleeKind::Function)
    return;
  const FunctionDef &callee = parts.functions[instruction.calleeIndex];
  if (instruction.operands.size() != callee.params.size())
    fail("expected " +
         countText(static_cast<int64_t>(callee.params.size()), "operand") +
         " for function '" + callee.name + "', but got " +
         std::to_string(instruction.operands.size()));
}

void Verifier::verifyField(FieldKind kind, const Instruction &instruction) {
  const Operand &value = instruction.value;
  switch (kind) {
  case FieldKind::Destination: // which depends on the callee
  case FieldKind::Target:      // when all instructions are known
    return;
  case FieldKind::Callee:
    verifyCallee(instruction);
    return verifyDestination(instruction);
  case FieldKind::Operands:
    return verifyOperands(instruction);
  case FieldKind::Site:
    if (instruction.site.kind != OperandKind::None &&
        instruction.site.kind != OperandKind::Site)
      failOperand("the site", "a site", instruction.site);
    if (instruction.site.kind == OperandKind::Site &&
        instruction.callee == CalleeKind::Builtin)
      fail("a builtin takes its site as an operand");
    return verifyIndex(instruction.site, "the site");
  case FieldKind::Value:
    if (!isValue(value))
      failOperand("the value", "a register or a constant", value);
    return verifyIndex(value, "the value");
  case FieldKind::Condition:
    if (value.kind != OperandKind::Register && value.kind != OperandKind::Heap)
      failOperand("the condition", "a register or a heap slot", value);
    return verifyIndex(value, "the condition");
  }
}

void Verifier::verifyInstruction(const Instruction &instruction) {
  const InstructionInfo &info =
      instructionInfos[static_cast<size_t>(instruction.opcode)];
  for (size_t i = 0; i < info.numFields; ++i)
    verifyField(info.fields[i].kind, instruction);
  if (instruction.value.role != Role::None ||
      instruction.site.role != Role::None)
    fail("only operands of kernels have a role");
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static bool hasTarget(const Instruction &instruction) {
  return instruction.opcode == Opcode::If || instruction.opcode == Opcode::Goto;
}

void Verifier::verifyBody(const FunctionDef &function) {
  size_t begin = static_cast<size_t>(function.codeBegin);
  size_t end = static_cast<size_t>(function.codeEnd);
  std::unordered_set<int64_t> starts;
  std::vector<std::pair<size_t, int64_t>> targets;
  Opcode last = Opcode::Call;
  isInBody = true;
  number = 0;
  Instruction instruction;
  for (size_t position = begin; position < end; ++number) {
    starts.insert(static_cast<int64_t>(position - begin));
    std::string error = decode(parts.code.data(), end, position, instruction);
    if (!error.empty())
      fail(error);
    verifyInstruction(instruction);
    if (hasTarget(instruction))
      targets.emplace_back(number, instruction.target);
    last = instruction.opcode;
  }
  for (auto [from, target] : targets) {
    number = from;
    if (!starts.count(target))
      fail("there is no instruction at word " + std::to_string(target) +
           " to jump to");
  }
  isInBody = false;
  if (last != Opcode::Ret && last != Opcode::Goto)
    fail("expected the last instruction to be a ret or a goto");
}

void Verifier::verifyRanges(const FunctionDef &function) {
  auto check = [&](const char *what, int64_t begin, int64_t end, size_t size) {
    if (begin < 0 || begin > end || static_cast<uint64_t>(end) > size)
      fail(std::string("expected ") + what + " within " + std::to_string(size) +
           ", but got " + std::to_string(begin) + " to " + std::to_string(end));
  };
  check("words", function.codeBegin, function.codeEnd, parts.code.size());
  check("sites", function.siteBegin, function.siteEnd, parts.sites.size());
}

void Verifier::verifyHead(const FunctionDef &function) {
  int64_t numParams = static_cast<int64_t>(function.params.size());
  if (function.numCaptures < 0 || function.numCaptures > numParams)
    fail("expected 0 to " + std::to_string(numParams) +
         " captured values, but got " + std::to_string(function.numCaptures));
  if (function.kind == FunctionDef::Kind::Native)
    return;
  if (function.numRegisters < numParams)
    fail("expected at least " + countText(numParams, "register") +
         ", one a parameter, but got " + std::to_string(function.numRegisters));
  // A frame takes memory in proportion to the code.
  int64_t most = numParams + function.codeEnd - function.codeBegin;
  if (function.numRegisters > most || function.numHeapSlots < 0 ||
      function.numHeapSlots > most)
    fail("expected at most " + std::to_string(most) +
         " registers and heap slots each, as many as it has parameters and "
         "words, but got " +
         std::to_string(function.numRegisters) + " and " +
         std::to_string(function.numHeapSlots));
}

void Verifier::verify() {
  std::unordered_set<std::string_view> names;
  int64_t codeEnd = 0, siteEnd = 0;
  for (const FunctionDef &next : parts.functions) {
    function = &next;
    if (!names.insert(next.name).second)
      fail("there are two functions of this name");
    verifyRanges(next);
    // Each word and site belongs to one function at most.
    if (next.codeBegin < codeEnd || next.siteBegin < siteEnd)
      fail("its words or sites overlap those of the function before");
    codeEnd = next.codeEnd;
    siteEnd = next.siteEnd;
    verifyHead(next);
    if (next.kind == FunctionDef::Kind::Bytecode)
      verifyBody(next);
    else if (next.codeBegin != next.codeEnd)
      fail("a function in machine code has no words");
  }
}

void relax_runtime::vm::verify(const ExecutableParts &parts) {
  Verifier(parts).verify();
}
