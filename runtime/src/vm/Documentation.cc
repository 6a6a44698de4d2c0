//===- Documentation.cc - Text of the tables of the VM ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the tables of instructions, callees, operands and builtins.
//
//===----------------------------------------------------------------------===//

#include "Documentation.h"

#include "Builtins.h"

#include <sstream>

using namespace relax_runtime;
using namespace relax_runtime::vm;

static const char *fieldText(FieldKind kind) {
  switch (kind) {
  case FieldKind::Destination:
    return "[destination =]";
  case FieldKind::Callee:
    return "callee";
  case FieldKind::Operands:
    return "(operands)";
  case FieldKind::Site:
    return "[site n]";
  case FieldKind::Value:
    return "value";
  case FieldKind::Condition:
    return "condition";
  case FieldKind::Target:
    return "label";
  }
  return "";
}

static std::string instructionText(const InstructionInfo &info) {
  std::string text, destination;
  for (size_t i = 0; i < info.numFields; ++i) {
    const Field &field = info.fields[i];
    if (field.kind == FieldKind::Destination) {
      destination = std::string(fieldText(field.kind)) + " ";
      continue;
    }
    bool isSuffix = field.kind == FieldKind::Operands;
    text += isSuffix ? "" : " ";
    if (field.kind == FieldKind::Target && *field.keyword)
      text += std::string(field.keyword) + " ";
    text += fieldText(field.kind);
  }
  return destination + info.mnemonic + text;
}

// A row of a table, whose cells hold no bar.
static void writeRow(std::ostream &out,
                     std::initializer_list<std::string> cells) {
  for (const std::string &cell : cells)
    out << "| " << cell << (cell.empty() ? "" : " ");
  out << "|\n";
}

static void writeInstructions(std::ostream &out) {
  out << "### Instructions\n\n";
  writeRow(out, {"opcode", "text", "what it does"});
  writeRow(out, {"---", "---", "---"});
  for (size_t i = 0; i < numInstructions; ++i)
    writeRow(out, {std::to_string(i),
                   "`" + instructionText(instructionInfos[i]) + "`",
                   instructionInfos[i].summary});
}

static void writeCallees(std::ostream &out) {
  out << "\n### Callees\n\n";
  writeRow(out, {"kind", "text", "what it is"});
  writeRow(out, {"---", "---", "---"});
  for (size_t i = 0; i < numCallees; ++i)
    writeRow(out,
             {std::to_string(i), std::string("`") + calleeInfos[i].syntax + "`",
              calleeInfos[i].summary});
}

static void writeParams(std::ostream &out) {
  out << "\n### Operands of builtins\n\n";
  writeRow(out, {"kind", "what it may be"});
  writeRow(out, {"---", "---"});
  for (const ParamKindInfo &info : paramKindInfos)
    writeRow(out, {info.name, info.summary});
}

static std::string resultText(ResultKind kind) {
  switch (kind) {
  case ResultKind::None:
    return "";
  case ResultKind::Value:
    return "`%r = `";
  case ResultKind::Int:
    return "`$s = `";
  }
  return "";
}

static std::string operandsText(const BuiltinInfo &info) {
  std::istringstream names(info.paramNames);
  std::string text, name;
  for (size_t i = 0; i < info.numParams; ++i) {
    names >> name;
    const char *kind = paramKindInfos[static_cast<size_t>(info.params[i])].name;
    text += (i == 0 ? "" : ", ") + name;
    if (name != kind)
      text += std::string(": ") + kind;
  }
  return text;
}

static void writeBuiltins(std::ostream &out) {
  out << "\n### Builtins\n\n";
  writeRow(out, {"index", "result", "builtin", "what it does",
                 "of relax_runtime.h"});
  writeRow(out, {"---", "---", "---", "---", "---"});
  for (size_t i = 0; i < numBuiltins; ++i) {
    const BuiltinInfo &info = builtinInfos[i];
    std::string function = info.cFunction;
    writeRow(out,
             {std::to_string(i), resultText(info.result),
              "`" + std::string(info.name) + "(" + operandsText(info) + ")`",
              info.summary, function.empty() ? "" : "`" + function + "`"});
  }
}

ffi::String relax_runtime::vm::makeDocumentation() {
  std::ostringstream out;
  writeInstructions(out);
  writeCallees(out);
  writeParams(out);
  writeBuiltins(out);
  return out.str();
}
