//===- Assembly.h - Instructions before registers are given ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function of the virtual machine while it is made: instructions on any
// number of virtual registers and heap slots. `assignRegisters` puts those that
// are not alive together in the same place. All jumps go forward.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_VM_ASSEMBLY_H
#define RELAX_MLIR_LIB_CODEGEN_VM_ASSEMBLY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace mlir::relax::vm {

/// An operand that an instruction reads or writes.
struct Operand {
  enum Kind {
    None,
    Register,
    Heap,
    Integer,
    Constant,
    Function,
    String,
    DType,
    Site,
    List
  };

  Kind kind = None;
  /// The integer, or the number of the register, slot, constant or site.
  int64_t value = 0;
  /// The name of a function or data type, or a string.
  std::string text = {};
  std::vector<Operand> elements = {};
  /// The access of a kernel to it: "read ".
  const char *role = "";

  static Operand reg(int64_t number) { return {Register, number}; }
  static Operand slot(int64_t number) { return {Heap, number}; }
  static Operand integer(int64_t value) { return {Integer, value}; }
  static Operand constant(int64_t index) { return {Constant, index}; }
  static Operand site(int64_t index) { return {Site, index}; }
  static Operand function(llvm::StringRef name) {
    return {Function, 0, name.str()};
  }
  static Operand string(llvm::StringRef text) {
    return {String, 0, text.str()};
  }
  static Operand dtype(llvm::StringRef name) { return {DType, 0, name.str()}; }
  static Operand list(llvm::ArrayRef<Operand> elements) {
    Operand result{List};
    result.elements.assign(elements.begin(), elements.end());
    return result;
  }
};

struct Instruction {
  enum Kind { Call, Ret, If, Goto, Label };

  Kind kind = Call;
  /// Of a call: where the result goes, what is called ("builtin move"; or the
  /// first operand, a register, where it is empty) and with what.
  Operand result = {};
  std::string callee = {};
  /// Of `ret` and `if` the value.
  llvm::SmallVector<Operand, 4> operands = {};
  /// Of a call, where it is in the program.
  Operand site = {};
  /// Of `if`, where to go on if the condition does not hold; of `goto`; the
  /// label itself.
  int64_t label = 0;

  bool isMove() const {
    return kind == Call && callee == "builtin value_assign";
  }
  static Instruction kill(int64_t number) {
    Instruction instruction;
    instruction.callee = "builtin value_kill";
    instruction.operands.push_back(Operand::reg(number));
    return instruction;
  }
};

/// A register before it has a number.
struct VirtualRegister {
  /// Whether it may hold memory, which should be given back early.
  bool holdsMemory = false;
  int64_t number = -1;
};

struct SiteText {
  std::string what, expected, location;
};

struct FunctionText {
  std::string name;
  bool isPrivate = false;
  /// It is machine code: there is no code here.
  bool isNative = false;
  std::vector<std::string> params;
  int64_t numCaptures = 0;
  std::string structInfo;
  std::vector<SiteText> sites;
  std::vector<Instruction> code;
  /// The parameters are the first registers.
  std::vector<VirtualRegister> registers, slots;
  int64_t numLabels = 0;
  /// After `assignRegisters`.
  int64_t numRegisters = 0, numSlots = 0;
};

/// Gives registers and heap slots their numbers, drops values after their last
/// use, on each path, and removes moves that are none.
void assignRegisters(FunctionText &function);

/// A string as the assembler reads it, with quotes.
std::string quote(llvm::StringRef text);
/// "@main", with quotes where the name is no identifier.
std::string functionName(llvm::StringRef name);

void print(llvm::raw_ostream &os, const FunctionText &function);

} // namespace mlir::relax::vm

#endif // RELAX_MLIR_LIB_CODEGEN_VM_ASSEMBLY_H
