//===- Assembly.cpp - Writes functions as text assembly -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::relax::vm;
using llvm::raw_ostream;
using llvm::StringRef;
using llvm::Twine;

std::string mlir::relax::vm::quote(StringRef text) {
  std::string result = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', static_cast<char>(c)};
    else if (llvm::isPrint(c))
      result += static_cast<char>(c);
    else
      result += {'\\', llvm::hexdigit(c >> 4, /*LowerCase=*/true),
                 llvm::hexdigit(c & 15, /*LowerCase=*/true)};
  }
  return result + "\"";
}

static std::string identifier(StringRef name) {
  bool isPlain = !name.empty() &&
                 (llvm::isAlpha(name.front()) || name.front() == '_') &&
                 llvm::all_of(name, [](char c) {
                   return llvm::isAlnum(c) || c == '_' || c == '.';
                 });
  return isPlain ? name.str() : quote(name);
}

std::string mlir::relax::vm::functionName(StringRef name) {
  return (Twine("@") + identifier(name)).str();
}

static void print(raw_ostream &os, const Operand &operand) {
  os << operand.role;
  switch (operand.kind) {
  case Operand::None:
    return;
  case Operand::Register:
    os << '%' << operand.value;
    return;
  case Operand::Heap:
    os << '$' << operand.value;
    return;
  case Operand::Integer:
    os << operand.value;
    return;
  case Operand::Constant:
    os << '#' << operand.value;
    return;
  case Operand::Function:
    os << functionName(operand.text);
    return;
  case Operand::String:
    os << quote(operand.text);
    return;
  case Operand::DType:
    os << operand.text;
    return;
  case Operand::Site:
    os << "site " << operand.value;
    return;
  case Operand::List:
    os << '[';
    llvm::interleaveComma(operand.elements, os,
                          [&](const Operand &element) { print(os, element); });
    os << ']';
    return;
  }
}

static void printCall(raw_ostream &os, const Instruction &instruction) {
  if (instruction.result.kind != Operand::None) {
    print(os, instruction.result);
    os << " = ";
  }
  os << "call ";
  llvm::ArrayRef<Operand> args = instruction.operands;
  if (instruction.callee.empty()) {
    print(os, args.front());
    args = args.drop_front();
  } else {
    os << instruction.callee;
  }
  os << '(';
  llvm::interleaveComma(args, os, [&](const Operand &arg) { print(os, arg); });
  os << ')';
  if (instruction.site.kind != Operand::None) {
    os << ' ';
    print(os, instruction.site);
  }
}

static void print(raw_ostream &os, const Instruction &instruction) {
  if (instruction.kind == Instruction::Label) {
    os << 'L' << instruction.label << ":\n";
    return;
  }
  os << "  ";
  switch (instruction.kind) {
  case Instruction::Call:
    printCall(os, instruction);
    break;
  case Instruction::Ret:
    os << "ret ";
    print(os, instruction.operands.front());
    break;
  case Instruction::If:
    os << "if ";
    print(os, instruction.operands.front());
    os << " else L" << instruction.label;
    break;
  case Instruction::Goto:
    os << "goto L" << instruction.label;
    break;
  case Instruction::Label:
    break;
  }
  os << '\n';
}

static void printHead(raw_ostream &os, const FunctionText &function) {
  if (function.isPrivate)
    os << "private ";
  if (function.isNative)
    os << "native ";
  os << "function " << identifier(function.name) << '(';
  llvm::interleaveComma(function.params, os,
                        [&](StringRef name) { os << identifier(name); });
  os << ')';
  if (!function.isNative)
    os << " registers " << function.numRegisters << " heap "
       << function.numSlots;
  if (function.numCaptures != 0)
    os << " captures " << function.numCaptures;
  if (!function.structInfo.empty())
    os << " info " << quote(function.structInfo);
}

void mlir::relax::vm::print(raw_ostream &os, const FunctionText &function) {
  printHead(os, function);
  if (function.isNative) {
    os << '\n';
    return;
  }
  os << " {\n";
  for (auto [index, site] : llvm::enumerate(function.sites))
    os << "  site " << index << " = " << quote(site.what) << ", "
       << quote(site.expected) << ", " << quote(site.location) << '\n';
  for (const Instruction &instruction : function.code)
    ::print(os, instruction);
  os << "}\n";
}
