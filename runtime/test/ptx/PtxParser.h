//===- PtxParser.h - Text of PTX to a program -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parser of a module, and that of the body of a function.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_PARSER_H
#define RELAX_RUNTIME_TEST_PTX_PARSER_H

#include "PtxLexer.h"

#include <map>
#include <tuple>
#include <unordered_map>

namespace relax_ptx {

// A variable of a module or function, or a parameter.
struct Variable {
  enum Kind { Shared, Global, Frame, EntryParam } kind;
  int index;       // Shared, Global
  uint32_t offset; // Frame, EntryParam
};
using Variables = std::map<std::string, Variable>;

// What stands in a declaration: .align 4 .b8 name[16]
struct Declaration {
  std::string name;
  Type type;
  int64_t align, bytes;
  bool isOpen; // name[]
};
Type parseType(Lexer &lexer);
Declaration parseDeclaration(Lexer &lexer);

struct Operand {
  enum Kind { Register, Literal, Address, Group, Symbol, Sink } kind = Sink;
  enum Format { Integer, Single, Double } format = Integer;
  Type type = Type::None;       // Register
  uint32_t slot = 0;            // Register; Address: of its base
  uint64_t value = 0;           // Literal
  int64_t offset = 0;           // Address, Symbol
  bool negated = false;         // a predicate with !
  bool afterBar = false;        // parted by | from the one before
  std::string name;             // Symbol
  Space space = Space::Generic; // Address: of the variable it names
  std::vector<Operand> parts;
};

class BodyParser {
public:
  BodyParser(Lexer &lexer, Module &module, Function &function,
             const Variables &outer, Variables params);
  // From the opening brace to the closing one.
  void run();

private:
  struct Register {
    Type type;
    uint32_t slot;
  };
  struct Range {
    Type type;
    int64_t count;
  };
  struct LabelUse {
    std::string name;
    size_t place; // an instruction, or a table
    size_t entry; // of the table
    bool inTable; // it stands in a table
    bool isTable; // it names one
    uint32_t line;
  };
  // Braces in a body; names of the inner one hide others.
  struct Scope {
    std::unordered_map<std::string, Register> registers;
    std::map<std::string, Range> ranges;
    std::map<std::string, uint32_t> labels;
    std::map<std::string, size_t> tables;
    Variables variables;
    std::vector<LabelUse> uses;
  };

  void statements();
  void directive();
  void statement();
  void branchTargets(const std::string &name);
  void closeScope();
  void declareRegisters();
  void declareVariable(bool isShared);
  void instruction(const std::string &text, Instruction in);
  void call(Instruction in);
  std::vector<uint32_t> arguments();
  void copyArguments(const Instruction &call, int callee, bool back,
                     const std::vector<uint32_t> &places);

  const Register *findRegister(const std::string &name);
  const Variable *findVariable(const std::string &name) const;
  Operand operand();
  Operand addressOperand();
  Operand groupOperand();
  Operand namedOperand(const std::string &name);
  Operand literal();
  std::vector<Operand> operands();

  void fit(Instruction &in, const Row &row, const Name &name,
           const std::vector<Operand> &operands);
  void fitOne(Instruction &in, char letter, const Name &name,
              const Operand &operand, int position);
  void fitAddress(Instruction &in, const Operand &operand);
  void fitGroup(Instruction &in, const Operand &operand, Type type);
  void fitLabel(Instruction &in, const Operand &operand, bool isTable);
  void addSlot(Instruction &in, uint32_t slot);
  uint32_t slotOf(const Operand &operand, Type type, int bits);
  uint64_t bitsOfLiteral(const Operand &operand, Type type, int bits);
  void checkWidth(const Operand &operand, Type type, int bits, bool orWider);

  uint32_t newSlot();
  uint32_t constantSlot(Word value, Base base = Base::None, int index = -1);
  uint32_t symbolSlot(const Operand &operand);
  uint32_t specialSlot(int which);
  uint32_t frameBytes(int64_t align, int64_t bytes);

  Lexer &lexer;
  Module &module;
  Function &function;
  const Variables &outer;
  std::vector<Scope> scopes;
  std::map<std::tuple<Word, Base, int>, uint32_t> constantSlots;
  std::map<int, uint32_t> specialSlots;
  uint32_t nextSlot = 0; // operand of the instruction that is read
  int self;              // the number of the function
};

// The number of a special register, -1 for other names. See
// Machine::special.
int specialNamed(const std::string &name);
enum Specials {
  kThreadX,
  kThreadsX = kThreadX + 3,
  kBlockX = kThreadsX + 3,
  kBlocksX = kBlockX + 3,
  kLane = kBlocksX + 3,
  kWarp,
  kWarpSize,
  kWarps,
  kMaskEq,
  kMaskLt,
  kMaskLe,
  kMaskGt,
  kMaskGe,
  kDynamicShared,
  kTotalShared,
  kZero,
  kClock,
  kClock64
};

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_PARSER_H
