//===- Program.h - Instructions ready to run --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code of an executable in the form that the interpreter runs: indices are
// pointers, labels are instructions, and each call knows whether it is the last
// thing that its function does.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_PROGRAM_H
#define RELAX_RUNTIME_VM_PROGRAM_H

#include "Code.h"
#include "Executable.h"

namespace relax_runtime::vm {

struct Frame;
struct Step;
struct FunctionCode;
class VirtualMachineObj;

// Runs a builtin on the operands of a step. Returns 0, or -1 with an error.
using BuiltinEntry = int (*)(Frame &frame, const Step &step);

// An operand that is ready to use.
struct Arg {
  enum class Kind : uint8_t { Register, Heap, Integer, Pointer, List };
  Kind kind;
  Role role;
  // Of a register, a heap slot or a string; of a list, its length.
  uint32_t index;
  union {
    int64_t integer;
    // To a constant, a site, a string, a function; to the elements of a list.
    const void *pointer;
  };
};

enum class StepKind : uint8_t {
  Builtin,
  Kernel,
  Packed,
  CallBytecode,
  CallNative,
  CallRegister,
  RetRegister,
  RetConstant,
  IfRegister,
  IfHeap,
  Goto
};

// An instruction that is ready to run.
struct Step {
  StepKind kind;
  // The function returns the result of this call.
  bool isTail;
  // Whether there is a register, or a heap slot, for the result.
  bool hasRegister, hasHeapSlot;
  uint32_t destination;
  uint32_t numArgs;
  // Of a kernel: whether it launches on a device other than the host.
  bool isOnDevice;
  // Of a kernel: how many of its operands are tensors.
  uint32_t numTensors;
  const Arg *args;
  const relax_site *site;
  union {
    BuiltinEntry builtin;
    const FunctionCode *function;
    int64_t index; // of a kernel, packed function, register, heap slot
    const TVMFFIAny *constant;
  };
  // Where to go; of a branch, where its condition does not hold.
  const Step *target;
  // The number of the instruction in its function, and of a builtin, its index.
  uint32_t number;
  int32_t builtinIndex;
};

// A function that is ready to run.
struct FunctionCode {
  const FunctionDef *def;
  int64_t index;
  int32_t numParams, numCaptures;
  uint32_t numRegisters, numHeapSlots;
  // Bytes for the arguments of calls.
  uint32_t scratchBytes;
  // The stack space of a frame.
  size_t frameBytes;
  const Step *steps; // NULL for machine code
  size_t numSteps;
  relax_site site, callSite, packedSite, kernelSite, resultSite, conditionSite;
};

class Program {
public:
  // `parts` are verified and outlive the program.
  explicit Program(const ExecutableParts &parts);

  const std::vector<FunctionCode> &getFunctions() const { return functions; }

private:
  class Linker;

  std::vector<FunctionCode> functions;
  std::vector<std::vector<Step>> steps;
  std::vector<std::vector<Arg>> args;
  std::vector<relax_site> sites;
};

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_PROGRAM_H
