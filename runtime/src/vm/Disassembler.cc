//===- Disassembler.cc - From an executable to text assembly ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes what the assembler reads, field by field as the table of instructions
// says. The executable must be verified.
//
//===----------------------------------------------------------------------===//

#include "Builtins.h"
#include "Lexer.h"

#include <cstdio>
#include <cstdlib>
#include <map>

using namespace relax_runtime;
using namespace relax_runtime::vm;

namespace {

class Disassembler {
public:
  Disassembler(const ExecutableParts &parts, int64_t maxBytes,
               std::vector<ffi::Any> *externals)
      : parts(parts), maxBytes(maxBytes), externals(externals) {}

  std::string disassemble();
  std::vector<std::string> disassembleInstructions(const FunctionDef &function);

private:
  void writeConstants();
  std::string constantText(const ffi::Any &constant);
  std::string tensorText(const ffi::Any &constant);
  std::string externalText(const ffi::Any &constant);
  void writeFunction(const FunctionDef &function);
  void writeHead(const FunctionDef &function);
  using Body = std::vector<std::pair<int64_t, Instruction>>;
  Body readBody(const FunctionDef &function);
  void writeBody(const FunctionDef &function);
  void writeInstruction(const Instruction &instruction);
  void writeField(const Field &field, const Instruction &instruction);
  std::string calleeText(const Instruction &instruction);
  std::string operandText(const Operand &operand, bool isDType = false);
  std::string operandsText(const Instruction &instruction);

  const ExecutableParts &parts;
  int64_t maxBytes;
  std::vector<ffi::Any> *externals;
  size_t numExternals = 0;
  std::string text;
  // The labels of a function, by the word that they stand for.
  std::map<int64_t, std::string> labels;
};

} // namespace

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static const TVMFFIAny *viewOf(const ffi::Any &value) {
  return reinterpret_cast<const TVMFFIAny *>(&value);
}

std::string Disassembler::externalText(const ffi::Any &constant) {
  if (externals)
    externals->push_back(constant);
  return "external " + std::to_string(numExternals++) + " ; " +
         describe(viewOf(constant));
}

static std::string listText(const int64_t *values, size_t size) {
  std::string text = "[";
  for (size_t i = 0; i < size; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

static std::string dtypeName(relax_dtype dtype) {
  return dtype == 0 ? "void" : dtypeText(unpackDType(dtype));
}

static std::string hexText(const void *data, size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text = "0x";
  for (size_t i = 0; i < size; ++i) {
    unsigned char byte = static_cast<const unsigned char *>(data)[i];
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string Disassembler::tensorText(const ffi::Any &constant) {
  const DLTensor &tensor = *getTensor(viewOf(constant));
  size_t size = ffi::GetDataSize(tensor);
  if (static_cast<uint64_t>(size) > static_cast<uint64_t>(maxBytes) ||
      tensor.device.device_type != kDLCPU)
    return externalText(constant);
  static const relax_site site = {"disassembler", "constant", "", ""};
  ffi::Any copy;
  void *data;
  TVM_FFI_CHECK_SAFE_CALL(relax_tensor_data(
      &site, viewOf(constant), reinterpret_cast<TVMFFIAny *>(&copy), &data));
  return "tensor " + dtypeName(packDType(tensor.dtype)) + " " +
         listText(tensor.shape, static_cast<size_t>(tensor.ndim)) + " " +
         hexText(data, size);
}

// The shortest decimal that reads back as the same float; the bits where none
// does.
static std::string floatText(double value) {
  char buffer[40];
  for (int digits : {6, 15, 17}) {
    std::snprintf(buffer, sizeof(buffer), "%.*g", digits, value);
    if (std::strtod(buffer, nullptr) == value)
      return buffer;
  }
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  std::snprintf(buffer, sizeof(buffer), "0x%016llx",
                static_cast<unsigned long long>(bits));
  return buffer;
}

std::string Disassembler::constantText(const ffi::Any &constant) {
  const TVMFFIAny &value = *viewOf(constant);
  switch (value.type_index) {
  case kTVMFFINone:
    return "none";
  case kTVMFFIInt:
    return "int " + std::to_string(value.v_int64);
  case kTVMFFIBool:
    return value.v_int64 ? "bool true" : "bool false";
  case kTVMFFIFloat:
    return "float " + floatText(value.v_float64);
  case kTVMFFIDataType: {
    bool isVoid = value.v_dtype.code == kDLOpaqueHandle;
    return "dtype " + dtypeName(isVoid ? 0 : packDType(value.v_dtype));
  }
  case kTVMFFIShape:
    return "shape " + listText(relax_shape_dims(&value),
                               static_cast<size_t>(relax_shape_ndim(&value)));
  case kTVMFFITensor:
    return tensorText(constant);
  default:
    if (auto string = constant.as<ffi::String>())
      return "string " + quote({string->data(), string->size()});
    return externalText(constant);
  }
}

void Disassembler::writeConstants() {
  for (size_t i = 0; i < parts.constants.size(); ++i)
    text += "constant #" + std::to_string(i) + " = " +
            constantText(parts.constants[i]) + "\n";
  if (!parts.constants.empty())
    text += "\n";
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

std::string Disassembler::operandText(const Operand &operand, bool isDType) {
  if (isDType)
    return dtypeName(static_cast<relax_dtype>(operand.value));
  std::string index = std::to_string(operand.value);
  switch (operand.kind) {
  case OperandKind::None:
    return "";
  case OperandKind::Register:
    return "%" + index;
  case OperandKind::Heap:
    return "$" + index;
  case OperandKind::Integer:
  case OperandKind::Wide:
    return index;
  case OperandKind::Constant:
    return "#" + index;
  case OperandKind::Function:
    return "@" + quoteName(parts.functions[operand.value].name);
  case OperandKind::String:
    return quote(parts.strings[operand.value]);
  case OperandKind::Site:
    return "site " + index;
  case OperandKind::List:
    break;
  }
  std::string text = "[";
  for (const Operand &element : operand.elements)
    text += (text.size() == 1 ? "" : ", ") + operandText(element);
  return text + "]";
}

std::string Disassembler::calleeText(const Instruction &instruction) {
  std::string keyword =
      calleeInfos[static_cast<size_t>(instruction.callee)].keyword;
  if (!keyword.empty())
    keyword += " ";
  int64_t index = instruction.calleeIndex;
  switch (instruction.callee) {
  case CalleeKind::Function:
    return keyword + "@" + quoteName(parts.functions[index].name);
  case CalleeKind::Register:
    return keyword + "%" + std::to_string(index);
  case CalleeKind::Kernel:
  case CalleeKind::DeviceKernel:
    return keyword + quote(parts.kernels[index]);
  case CalleeKind::Packed:
    return keyword + quote(parts.packed[index]);
  case CalleeKind::Builtin:
    return keyword + builtinInfos[index].name;
  }
  return keyword;
}

std::string Disassembler::operandsText(const Instruction &instruction) {
  const ParamKind *kinds = instruction.callee == CalleeKind::Builtin
                               ? builtinInfos[instruction.calleeIndex].params
                               : nullptr;
  std::string text = "(";
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const Operand &operand = instruction.operands[i];
    text += i == 0 ? "" : ", ";
    if (operand.role != Role::None)
      text += std::string(roleText(operand.role)) + " ";
    text += operandText(operand, kinds && kinds[i] == ParamKind::DType);
  }
  return text + ")";
}

void Disassembler::writeField(const Field &field,
                              const Instruction &instruction) {
  switch (field.kind) {
  case FieldKind::Destination: // is before the mnemonic
    return;
  case FieldKind::Callee:
    text += " " + calleeText(instruction);
    return;
  case FieldKind::Operands:
    text += operandsText(instruction);
    return;
  case FieldKind::Site:
    if (instruction.site.kind != OperandKind::None)
      text += " " + operandText(instruction.site);
    return;
  case FieldKind::Value:
  case FieldKind::Condition:
    text += " " + operandText(instruction.value);
    return;
  case FieldKind::Target:
    text += *field.keyword ? std::string(" ") + field.keyword : "";
    text += " " + labels[instruction.target];
    return;
  }
}

void Disassembler::writeInstruction(const Instruction &instruction) {
  if (instruction.destination.kind != OperandKind::None)
    text += operandText(instruction.destination) + " = ";
  const InstructionInfo &info =
      instructionInfos[static_cast<size_t>(instruction.opcode)];
  text += info.mnemonic;
  for (size_t i = 0; i < info.numFields; ++i)
    writeField(info.fields[i], instruction);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Disassembler::writeHead(const FunctionDef &function) {
  text += function.isPrivate ? "private " : "";
  text += function.kind == FunctionDef::Kind::Native ? "native " : "";
  text += "function " + quoteName(function.name) + "(";
  for (size_t i = 0; i < function.params.size(); ++i)
    text += (i == 0 ? "" : ", ") + quoteName(function.params[i]);
  text += ")";
  if (function.kind == FunctionDef::Kind::Bytecode)
    text += " registers " + std::to_string(function.numRegisters);
  if (function.numHeapSlots != 0)
    text += " heap " + std::to_string(function.numHeapSlots);
  if (function.numCaptures != 0)
    text += " captures " + std::to_string(function.numCaptures);
  if (!function.structInfo.empty())
    text += " info " + quote(function.structInfo);
}

// The instructions with the words where they begin; makes the labels.
Disassembler::Body Disassembler::readBody(const FunctionDef &function) {
  size_t begin = static_cast<size_t>(function.codeBegin);
  size_t end = static_cast<size_t>(function.codeEnd);
  Body body;
  labels.clear();
  for (size_t position = begin; position < end;) {
    int64_t start = static_cast<int64_t>(position - begin);
    Instruction instruction;
    decode(parts.code.data(), end, position, instruction);
    if (instruction.opcode == Opcode::If || instruction.opcode == Opcode::Goto)
      labels[instruction.target];
    body.emplace_back(start, std::move(instruction));
  }
  int number = 0;
  for (auto &[target, label] : labels)
    label = "L" + std::to_string(++number);
  return body;
}

void Disassembler::writeBody(const FunctionDef &function) {
  for (const auto &[start, instruction] : readBody(function)) {
    if (labels.count(start))
      text += labels[start] + ":\n";
    text += "  ";
    writeInstruction(instruction);
    text += "\n";
  }
}

std::vector<std::string>
Disassembler::disassembleInstructions(const FunctionDef &function) {
  std::vector<std::string> lines;
  for (const auto &[start, instruction] : readBody(function)) {
    text.clear();
    writeInstruction(instruction);
    lines.push_back(text);
  }
  return lines;
}

void Disassembler::writeFunction(const FunctionDef &function) {
  writeHead(function);
  if (function.kind == FunctionDef::Kind::Native) {
    text += "\n\n";
    return;
  }
  text += " {\n";
  for (int64_t i = function.siteBegin; i < function.siteEnd; ++i) {
    const SiteDef &site = parts.sites[i];
    text += "  site " + std::to_string(i - function.siteBegin) + " = " +
            quote(site.what) + ", " + quote(site.expected) + ", " +
            quote(site.location) + "\n";
  }
  writeBody(function);
  text += "}\n\n";
}

std::string Disassembler::disassemble() {
  writeConstants();
  for (const FunctionDef &function : parts.functions)
    writeFunction(function);
  if (!text.empty())
    text.pop_back(); // the last blank line
  return std::move(text);
}

std::string relax_runtime::vm::disassemble(const ExecutableParts &parts,
                                           int64_t maxBytes,
                                           std::vector<ffi::Any> *externals) {
  return Disassembler(parts, maxBytes, externals).disassemble();
}

std::vector<std::string>
relax_runtime::vm::disassembleInstructions(const ExecutableParts &parts,
                                           int64_t function) {
  return Disassembler(parts, 0, nullptr)
      .disassembleInstructions(parts.functions[function]);
}
