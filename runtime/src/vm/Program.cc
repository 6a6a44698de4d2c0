//===- Program.cc - Instructions made ready to run --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links verified code, function by function: decodes the words, replaces
// indices by pointers, and sizes what a frame needs.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "Builtins.h"
#include "Interpreter.h"

#include <algorithm>

using namespace relax_runtime;
using namespace relax_runtime::vm;

// Links one function.
class Program::Linker {
public:
  Linker(Program &program, const ExecutableParts &parts, FunctionCode &code)
      : program(program), parts(parts), code(code) {}

  void link();

private:
  void decodeAll();
  void linkInstruction(const Instruction &instruction, Step &step);
  void linkCall(const Instruction &instruction, Step &step);
  void linkCallee(const Instruction &instruction, Step &step);
  void linkOperands(const Instruction &instruction, Step &step);
  Arg linkOperand(const Operand &operand);
  void needScratch(size_t bytes) {
    scratchBytes = std::max(scratchBytes, bytes);
  }
  bool isTail(const Step &call) const;
  const TVMFFIAny *getConstant(int64_t index) const {
    return reinterpret_cast<const TVMFFIAny *>(&parts.constants[index]);
  }

  Program &program;
  const ExecutableParts &parts;
  FunctionCode &code;
  std::vector<Instruction> instructions;
  // By the word where an instruction begins: which one it is.
  std::unordered_map<int64_t, size_t> numbers;
  std::vector<Step> *steps = nullptr;
  std::vector<Arg> *args = nullptr;
  size_t scratchBytes = 0;
};

void Program::Linker::decodeAll() {
  size_t begin = static_cast<size_t>(code.def->codeBegin);
  size_t end = static_cast<size_t>(code.def->codeEnd);
  for (size_t position = begin; position < end;) {
    numbers[static_cast<int64_t>(position - begin)] = instructions.size();
    decode(parts.code.data(), end, position, instructions.emplace_back());
  }
}

static size_t countArgs(const std::vector<Operand> &operands) {
  size_t count = operands.size();
  for (const Operand &operand : operands)
    count += operand.elements.size();
  return count;
}

void Program::Linker::link() {
  decodeAll();
  // Steps point to each other and to arguments, so both stay where they are.
  steps = &program.steps.emplace_back(instructions.size());
  size_t numArgs = 1; // what a builtin without operands points to
  for (const Instruction &instruction : instructions)
    numArgs += countArgs(instruction.operands);
  args = &program.args.emplace_back();
  args->reserve(numArgs);
  args->push_back(Arg{});
  for (size_t i = 0; i < instructions.size(); ++i) {
    (*steps)[i].number = static_cast<uint32_t>(i);
    linkInstruction(instructions[i], (*steps)[i]);
  }
  for (Step &step : *steps)
    step.isTail = isTail(step);
  code.steps = steps->data();
  code.numSteps = steps->size();
  code.scratchBytes = static_cast<uint32_t>((scratchBytes + 15) / 16 * 16);
}

// Calls of bytecode alone can reuse a frame.
bool Program::Linker::isTail(const Step &call) const {
  if ((call.kind != StepKind::CallBytecode &&
       call.kind != StepKind::CallRegister) ||
      !call.hasRegister)
    return false;
  const Step *next = &call + 1;
  // Not around in circles for ever.
  for (size_t i = 0; i < steps->size() && next->kind == StepKind::Goto; ++i)
    next = next->target;
  return next->kind == StepKind::RetRegister &&
         next->index == static_cast<int64_t>(call.destination);
}

void Program::Linker::linkInstruction(const Instruction &instruction,
                                      Step &step) {
  auto target = [&] { return &(*steps)[numbers.at(instruction.target)]; };
  switch (instruction.opcode) {
  case Opcode::Call:
    return linkCall(instruction, step);
  case Opcode::Ret:
    if (instruction.value.kind == OperandKind::Constant) {
      step.kind = StepKind::RetConstant;
      step.constant = getConstant(instruction.value.value);
    } else {
      step.kind = StepKind::RetRegister;
      step.index = instruction.value.value;
    }
    return;
  case Opcode::If:
    step.kind = instruction.value.kind == OperandKind::Heap
                    ? StepKind::IfHeap
                    : StepKind::IfRegister;
    step.index = instruction.value.value;
    step.target = target();
    return;
  case Opcode::Goto:
    step.kind = StepKind::Goto;
    step.target = target();
    return;
  }
}

void Program::Linker::linkCall(const Instruction &instruction, Step &step) {
  step.hasRegister = instruction.destination.kind == OperandKind::Register;
  step.hasHeapSlot = instruction.destination.kind == OperandKind::Heap;
  step.destination = static_cast<uint32_t>(instruction.destination.value);
  linkCallee(instruction, step);
  if (instruction.site.kind == OperandKind::Site)
    step.site = &program.sites[static_cast<size_t>(code.def->siteBegin +
                                                   instruction.site.value)];
  linkOperands(instruction, step);
}

void Program::Linker::linkCallee(const Instruction &instruction, Step &step) {
  step.index = instruction.calleeIndex;
  step.builtinIndex = -1;
  step.site = &code.callSite;
  switch (instruction.callee) {
  case CalleeKind::Function:
    step.function = &program.functions[instruction.calleeIndex];
    step.kind = step.function->def->kind == FunctionDef::Kind::Bytecode
                    ? StepKind::CallBytecode
                    : StepKind::CallNative;
    return;
  case CalleeKind::Register:
    step.kind = StepKind::CallRegister;
    return;
  case CalleeKind::Kernel:
  case CalleeKind::DeviceKernel:
    step.kind = StepKind::Kernel;
    step.isOnDevice = instruction.callee == CalleeKind::DeviceKernel;
    step.site = &code.kernelSite;
    return;
  case CalleeKind::Packed:
    step.kind = StepKind::Packed;
    step.site = &code.packedSite;
    return;
  case CalleeKind::Builtin:
    step.kind = StepKind::Builtin;
    step.site = &code.site;
    step.builtinIndex = static_cast<int32_t>(instruction.calleeIndex);
    step.builtin = builtinInfos[instruction.calleeIndex].entry;
    return;
  }
}

void Program::Linker::linkOperands(const Instruction &instruction, Step &step) {
  const std::vector<Operand> &operands = instruction.operands;
  step.numArgs = static_cast<uint32_t>(operands.size());
  size_t first = operands.empty() ? 0 : args->size();
  step.args = args->data() + first;
  for (const Operand &operand : operands)
    args->push_back(linkOperand(operand));
  // Elements of lists follow the operands.
  size_t numElements = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].kind != OperandKind::List)
      continue;
    (*args)[first + i].pointer = args->data() + args->size();
    numElements += operands[i].elements.size();
    for (const Operand &element : operands[i].elements)
      args->push_back(linkOperand(element));
  }
  for (const Operand &operand : operands)
    step.numTensors +=
        operand.role != Role::None && operand.role != Role::Scalar;
  switch (step.kind) {
  case StepKind::Builtin:
    return needScratch(sizeof(int64_t) * numElements);
  case StepKind::Kernel:
    return needScratch((sizeof(TVMFFIAny) + 2 * sizeof(void *)) *
                           step.numTensors +
                       sizeof(int64_t) * step.numArgs);
  default:
    return needScratch(sizeof(TVMFFIAny) * step.numArgs);
  }
}

Arg Program::Linker::linkOperand(const Operand &operand) {
  Arg arg = {};
  arg.role = operand.role;
  arg.index = static_cast<uint32_t>(operand.value);
  arg.kind = Arg::Kind::Pointer;
  switch (operand.kind) {
  case OperandKind::None:
  case OperandKind::Wide:
    break;
  case OperandKind::Register:
    arg.kind = Arg::Kind::Register;
    break;
  case OperandKind::Heap:
    arg.kind = Arg::Kind::Heap;
    break;
  case OperandKind::Integer:
    arg.kind = Arg::Kind::Integer;
    arg.integer = operand.value;
    break;
  case OperandKind::Constant:
    arg.pointer = getConstant(operand.value);
    break;
  case OperandKind::Function:
    arg.pointer = &program.functions[operand.value];
    break;
  case OperandKind::String:
    arg.pointer = parts.strings[operand.value].c_str();
    break;
  case OperandKind::Site:
    arg.pointer = &program.sites[code.def->siteBegin + operand.value];
    break;
  case OperandKind::List:
    arg.kind = Arg::Kind::List;
    arg.index = static_cast<uint32_t>(operand.elements.size());
    break;
  }
  return arg;
}

static relax_site makeSite(const FunctionDef &def, const char *what) {
  return {def.name.c_str(), what, "", ""};
}

Program::Program(const ExecutableParts &parts) {
  functions.resize(parts.functions.size());
  sites.resize(parts.sites.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    const FunctionDef &def = parts.functions[i];
    FunctionCode &code = functions[i];
    code = FunctionCode{};
    code.def = &def;
    code.index = static_cast<int64_t>(i);
    code.numParams = static_cast<int32_t>(def.params.size());
    code.numCaptures = def.numCaptures;
    code.numRegisters = static_cast<uint32_t>(def.numRegisters);
    code.numHeapSlots = static_cast<uint32_t>(def.numHeapSlots);
    code.site = makeSite(def, "");
    code.callSite = makeSite(def, "call");
    code.packedSite = makeSite(def, "call_packed");
    code.kernelSite = makeSite(def, "kernel");
    code.resultSite = makeSite(def, "result");
    code.conditionSite = makeSite(def, "condition");
    for (int64_t s = def.siteBegin; s < def.siteEnd; ++s)
      sites[s] = {def.name.c_str(), parts.sites[s].what.c_str(),
                  parts.sites[s].expected.c_str(),
                  parts.sites[s].location.c_str()};
  }
  // Growing moves the vectors, not what they hold.
  for (FunctionCode &code : functions) {
    if (code.def->kind == FunctionDef::Kind::Bytecode)
      Linker(*this, parts, code).link();
    size_t heapBytes =
        sizeof(int64_t) * (code.numHeapSlots + code.numHeapSlots % 2);
    code.frameBytes = sizeof(Frame) + sizeof(TVMFFIAny) * code.numRegisters +
                      heapBytes + code.scratchBytes;
  }
}
