//===- Assembler.cc - From text assembly to an executable -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parser by recursive descent, field by field as the table of instructions
// says. Functions may be used before they are defined, and so may labels; both
// are resolved where their scope ends. The result is verified when an
// executable is made of it.
//
//===----------------------------------------------------------------------===//

#include "Builtins.h"
#include "Lexer.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <map>

using namespace relax_runtime;
using namespace relax_runtime::vm;

namespace {

// Strings by their index, each once.
class Pool {
public:
  int64_t add(std::string_view text) {
    auto [entry, isNew] =
        indices.emplace(text, static_cast<int64_t>(strings.size()));
    if (isNew)
      strings.push_back(entry->first);
    return entry->second;
  }
  std::vector<std::string> take() { return std::move(strings); }

private:
  std::map<std::string, int64_t, std::less<>> indices;
  std::vector<std::string> strings;
};

class Assembler {
public:
  Assembler(std::string_view text, const std::vector<ffi::Any> &externals)
      : lexer(text), externals(externals) {}

  ExecutableParts assemble();

private:
  // Tokens.
  bool isMark(char mark) const {
    return lexer.peek().kind == TokenKind::Mark && lexer.peek().text[0] == mark;
  }
  bool isWord(std::string_view word) const {
    return lexer.peek().kind == TokenKind::Word && lexer.peek().text == word;
  }
  bool takeMark(char mark) { return isMark(mark) && (lexer.take(), true); }
  bool takeWord(std::string_view word) {
    return isWord(word) && (lexer.take(), true);
  }
  void expectMark(char mark) {
    if (!takeMark(mark))
      lexer.failAt(lexer.peek(), std::string("'") + mark + "'");
  }
  void expectWord(std::string_view word) {
    if (!takeWord(word))
      lexer.failAt(lexer.peek(), "'" + std::string(word) + "'");
  }
  Token expect(TokenKind kind, const char *what) {
    if (lexer.peek().kind != kind)
      lexer.failAt(lexer.peek(), what);
    return lexer.take();
  }
  std::string takeName(const char *what);
  std::string takeString(const char *what) {
    return expect(TokenKind::String, what).text;
  }
  int64_t takeInt(const char *what);
  int64_t toInt(const Token &token, const char *what);
  int64_t toIndex(const Token &token, const char *what);
  int32_t takeCount(const char *what);
  template <typename Item> void takeList(char open, char close, Item item);

  // Constants.
  void readConstant();
  ffi::Any readConstantValue();
  ffi::Any readTensor();
  ffi::Any readExternal();
  ffi::Any readShape();
  double takeFloat();
  relax_dtype takeDType();

  // Functions.
  void readFunction();
  void readHead(FunctionDef &function);
  void readBody(FunctionDef &function);
  void readSite();
  void readInstruction();
  void readField(const Field &field, Instruction &instruction);
  void readCallee(Instruction &instruction);
  void readOperands(Instruction &instruction);
  Operand readOperand(bool isDType = false);
  Operand readDestination();
  void resolveLabels();
  void resolveFunctions();
  int64_t addFunctionUse(const Token &name);
  void encodeBody(FunctionDef &function);

  Lexer lexer;
  const std::vector<ffi::Any> &externals;
  ExecutableParts parts;
  Pool kernels, packed, strings;
  // Functions that are used, and where first.
  Pool used;
  std::vector<Token> usedAt;

  // Of the function that is read.
  std::vector<Instruction> body;
  std::map<std::string, int64_t, std::less<>> labels;
  std::vector<std::pair<size_t, Token>> jumps;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

std::string Assembler::takeName(const char *what) {
  if (lexer.peek().kind != TokenKind::Word &&
      lexer.peek().kind != TokenKind::String)
    lexer.failAt(lexer.peek(), what);
  Token name = lexer.take();
  if (name.text.find('\0') != std::string::npos)
    lexer.fail(name.offset, "expected a name without the character \\00");
  return name.text;
}

int64_t Assembler::toInt(const Token &token, const char *what) {
  errno = 0;
  char *end;
  int64_t value = std::strtoll(token.text.c_str(), &end, 10);
  if (*end || token.text.empty())
    lexer.failAt(token, what);
  if (errno == ERANGE)
    lexer.fail(token.offset,
               "expected an integer of 64 bits, but got " + token.text);
  return value;
}

int64_t Assembler::takeInt(const char *what) {
  return toInt(expect(TokenKind::Number, what), what);
}

int64_t Assembler::toIndex(const Token &token, const char *what) {
  int64_t value = toInt(token, what);
  if (value < 0 || value > INT32_MAX)
    lexer.fail(token.offset, std::string("expected ") + what + " from 0 to " +
                                 std::to_string(INT32_MAX) + ", but got " +
                                 std::to_string(value));
  return value;
}

int32_t Assembler::takeCount(const char *what) {
  return static_cast<int32_t>(toIndex(expect(TokenKind::Number, what), what));
}

template <typename Item>
void Assembler::takeList(char open, char close, Item item) {
  expectMark(open);
  if (takeMark(close))
    return;
  do
    item();
  while (takeMark(','));
  expectMark(close);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

relax_dtype Assembler::takeDType() {
  Token token = expect(TokenKind::Word, "a data type");
  if (token.text == "void")
    return 0;
  TVMFFIByteArray text = {token.text.data(), token.text.size()};
  DLDataType dtype;
  if (TVMFFIDataTypeFromString(&text, &dtype) == 0)
    return packDType(dtype);
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIObjectDecRef(error);
  lexer.failAt(token, "a data type");
}

static int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// "0x" and two digits a byte, in the order of memory.
static bool readHex(const std::string &text, char *bytes, size_t size) {
  if (text.size() != 2 + 2 * size || text.compare(0, 2, "0x") != 0)
    return false;
  for (size_t i = 0; i < size; ++i) {
    int high = hexDigit(text[2 + 2 * i]), low = hexDigit(text[3 + 2 * i]);
    if (high < 0 || low < 0)
      return false;
    bytes[i] = static_cast<char>(16 * high + low);
  }
  return true;
}

ffi::Any Assembler::readTensor() {
  Token start = lexer.peek();
  relax_dtype dtype = takeDType();
  std::vector<int64_t> dims;
  takeList('[', ']', [&] { dims.push_back(takeInt("a dimension")); });
  // The text says how many bytes there are, so that no dimensions, however
  // large, take memory that the text does not.
  Token bytes = expect(TokenKind::Number, "the bytes of a tensor, as 0x...");
  DLDataType type = unpackDType(dtype);
  uint64_t bits = uint64_t(type.bits) * type.lanes;
  bool isEmpty = false, isKnown = bits != 0;
  for (int64_t dim : dims) {
    isEmpty |= dim == 0;
    isKnown &= dim >= 0 && (dim == 0 || bits <= UINT64_MAX / uint64_t(dim));
    bits *= isKnown && dim != 0 ? uint64_t(dim) : 1;
  }
  if (!isKnown)
    lexer.fail(start.offset, "expected a tensor of known size");
  uint64_t size = isEmpty ? 0 : bits / 8 + (bits % 8 != 0);
  if (bytes.text.size() != 2 + 2 * size)
    lexer.fail(bytes.offset, "expected " + std::to_string(size) +
                                 " bytes, as 0x and two digits each");
  static const relax_site site = {"assembler", "constant", "", ""};
  ffi::Any tensor;
  TVMFFIAny *slot = reinterpret_cast<TVMFFIAny *>(&tensor);
  TVM_FFI_CHECK_SAFE_CALL(relax_tensor_alloc(&site, slot,
                                             static_cast<int32_t>(dims.size()),
                                             dims.data(), dtype, kDLCPU, 0));
  if (!readHex(bytes.text, static_cast<char *>(getTensor(slot)->data), size))
    lexer.fail(bytes.offset, "expected hexadecimal digits 0 to 9 and a to f");
  return tensor;
}

ffi::Any Assembler::readExternal() {
  Token token = lexer.peek();
  int64_t index = takeInt("the number of an external constant");
  if (index < 0 || static_cast<uint64_t>(index) >= externals.size())
    lexer.fail(token.offset, "expected an external constant below " +
                                 std::to_string(externals.size()) +
                                 ", but got " + std::to_string(index));
  return externals[static_cast<size_t>(index)];
}

ffi::Any Assembler::readShape() {
  std::vector<int64_t> dims;
  takeList('[', ']', [&] { dims.push_back(takeInt("a dimension")); });
  return ffi::Shape(dims.begin(), dims.end());
}

// A decimal number, inf, nan, or the 16 digits of its bits.
double Assembler::takeFloat() {
  Token token = lexer.peek();
  bool isWord = token.kind == TokenKind::Word &&
                (token.text == "inf" || token.text == "nan");
  if (token.kind != TokenKind::Number && !isWord)
    lexer.failAt(token, "a float");
  lexer.take();
  double value = 0;
  if (token.text.compare(0, 2, "0x") == 0 && token.text.size() == 18) {
    char *end;
    uint64_t bits = std::strtoull(token.text.c_str(), &end, 16);
    std::memcpy(&value, &bits, sizeof(value));
    if (!*end)
      return value;
  } else {
    char *end;
    value = std::strtod(token.text.c_str(), &end);
    if (!*end)
      return value;
  }
  lexer.failAt(token, "a float");
}

ffi::Any Assembler::readConstantValue() {
  if (takeWord("tensor"))
    return readTensor();
  if (takeWord("external"))
    return readExternal();
  if (takeWord("shape"))
    return readShape();
  if (takeWord("string"))
    return ffi::String(takeString("a string"));
  if (takeWord("dtype")) {
    ffi::Any dtype;
    relax_dtype_make(reinterpret_cast<TVMFFIAny *>(&dtype), takeDType());
    return dtype;
  }
  if (takeWord("float"))
    return takeFloat();
  if (takeWord("int"))
    return takeInt("an integer");
  if (takeWord("none"))
    return ffi::Any();
  if (takeWord("bool")) {
    bool value = isWord("true");
    if (!value && !isWord("false"))
      lexer.failAt(lexer.peek(), "true or false");
    lexer.take();
    return value;
  }
  lexer.failAt(lexer.peek(), "tensor, external, shape, string, dtype, float, "
                             "int, bool or none");
}

void Assembler::readConstant() {
  Token token = expect(TokenKind::Constant, "a constant such as #0");
  int64_t index = toInt(token, "the number of a constant");
  if (static_cast<uint64_t>(index) != parts.constants.size())
    lexer.fail(token.offset, "expected constant #" +
                                 std::to_string(parts.constants.size()) +
                                 ", the next one, but got #" + token.text);
  expectMark('=');
  parts.constants.push_back(readConstantValue());
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

int64_t Assembler::addFunctionUse(const Token &name) {
  int64_t index = used.add(name.text);
  if (static_cast<size_t>(index) == usedAt.size())
    usedAt.push_back(name);
  return index;
}

Operand Assembler::readOperand(bool isDType) {
  Operand operand;
  auto set = [&](OperandKind kind, int64_t value) {
    operand.kind = kind;
    operand.value = value;
  };
  if (isDType) {
    set(OperandKind::Integer, takeDType());
    return operand;
  }
  if (isMark('[')) {
    operand.kind = OperandKind::List;
    takeList('[', ']', [&] {
      if (isMark('['))
        lexer.failAt(lexer.peek(), "an operand");
      operand.elements.push_back(readOperand());
    });
    return operand;
  }
  if (takeWord("site")) {
    set(OperandKind::Site, takeCount("the number of a site"));
    return operand;
  }
  Token token = lexer.peek();
  if (token.kind == TokenKind::Word || token.kind == TokenKind::Mark ||
      token.kind == TokenKind::End)
    lexer.failAt(token, "an operand");
  lexer.take();
  switch (token.kind) {
  case TokenKind::Register:
    set(OperandKind::Register, toIndex(token, "a register"));
    break;
  case TokenKind::Heap:
    set(OperandKind::Heap, toIndex(token, "a heap slot"));
    break;
  case TokenKind::Constant:
    set(OperandKind::Constant, toIndex(token, "a constant"));
    break;
  case TokenKind::Function:
    set(OperandKind::Function, addFunctionUse(token));
    break;
  case TokenKind::String:
    if (token.text.find('\0') != std::string::npos)
      lexer.fail(token.offset, "expected a string without the character \\00");
    set(OperandKind::String, strings.add(token.text));
    break;
  default:
    set(OperandKind::Integer, toInt(token, "an integer"));
    break;
  }
  return operand;
}

Operand Assembler::readDestination() {
  Operand destination;
  if (lexer.peek().kind == TokenKind::Register ||
      lexer.peek().kind == TokenKind::Heap) {
    destination = readOperand();
    expectMark('=');
  }
  return destination;
}

static Role findRole(std::string_view word) {
  for (size_t role = 1; role < numRoles; ++role)
    if (word == roleText(static_cast<Role>(role)))
      return static_cast<Role>(role);
  return Role::None;
}

void Assembler::readOperands(Instruction &instruction) {
  const BuiltinInfo *builtin = instruction.callee == CalleeKind::Builtin
                                   ? &builtinInfos[instruction.calleeIndex]
                                   : nullptr;
  std::vector<Operand> &operands = instruction.operands;
  takeList('(', ')', [&] {
    Role role = lexer.peek().kind == TokenKind::Word
                    ? findRole(lexer.peek().text)
                    : Role::None;
    if (role != Role::None)
      lexer.take();
    bool isDType = builtin && operands.size() < builtin->numParams &&
                   builtin->params[operands.size()] == ParamKind::DType;
    operands.push_back(readOperand(isDType));
    operands.back().role = role;
  });
}

void Assembler::readCallee(Instruction &instruction) {
  auto set = [&](CalleeKind kind, int64_t index) {
    instruction.callee = kind;
    instruction.calleeIndex = index;
  };
  if (takeWord("kernel"))
    return set(CalleeKind::Kernel,
               kernels.add(takeName("the name of a kernel")));
  if (takeWord("device_kernel"))
    return set(CalleeKind::DeviceKernel,
               kernels.add(takeName("the name of a kernel")));
  if (takeWord("packed"))
    return set(CalleeKind::Packed,
               packed.add(takeName("the name of a packed function")));
  if (takeWord("builtin")) {
    Token name = expect(TokenKind::Word, "the name of a builtin");
    int64_t index = findBuiltin(name.text);
    if (index < 0)
      lexer.failAt(name, "the name of a builtin");
    return set(CalleeKind::Builtin, index);
  }
  Token token = lexer.peek();
  if (token.kind == TokenKind::Function)
    return set(CalleeKind::Function, addFunctionUse(lexer.take()));
  if (token.kind == TokenKind::Register)
    return set(CalleeKind::Register, readOperand().value);
  lexer.failAt(token, "kernel, packed, builtin, a function such as @f or a "
                      "register");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void Assembler::readField(const Field &field, Instruction &instruction) {
  switch (field.kind) {
  case FieldKind::Destination: // is before the mnemonic
    return;
  case FieldKind::Callee:
    return readCallee(instruction);
  case FieldKind::Operands:
    return readOperands(instruction);
  case FieldKind::Site:
    if (isWord(field.keyword))
      instruction.site = readOperand();
    return;
  case FieldKind::Value:
  case FieldKind::Condition:
    instruction.value = readOperand();
    return;
  case FieldKind::Target:
    if (*field.keyword)
      expectWord(field.keyword);
    jumps.emplace_back(body.size(), expect(TokenKind::Word, "a label"));
    return;
  }
}

void Assembler::readInstruction() {
  Token start = lexer.peek();
  Instruction instruction;
  instruction.destination = readDestination();
  Token mnemonic = expect(TokenKind::Word, "an instruction");
  size_t opcode = 0;
  while (opcode < numInstructions &&
         mnemonic.text != instructionInfos[opcode].mnemonic)
    ++opcode;
  if (opcode == numInstructions) {
    // A word and a colon is a label.
    if (instruction.destination.kind != OperandKind::None || !isMark(':'))
      lexer.failAt(mnemonic, "an instruction");
    lexer.take();
    auto [label, isNew] =
        labels.emplace(mnemonic.text, static_cast<int64_t>(body.size()));
    if (!isNew)
      lexer.fail(mnemonic.offset,
                 "label '" + mnemonic.text + "' is there already");
    return;
  }
  instruction.opcode = static_cast<Opcode>(opcode);
  const InstructionInfo &info = instructionInfos[opcode];
  if (instruction.destination.kind != OperandKind::None &&
      (info.numFields == 0 || info.fields[0].kind != FieldKind::Destination))
    lexer.fail(start.offset, "a " + mnemonic.text + " has no result");
  for (size_t i = 0; i < info.numFields; ++i)
    readField(info.fields[i], instruction);
  body.push_back(std::move(instruction));
}

// Labels become the number of an instruction.
void Assembler::resolveLabels() {
  for (const auto &[index, name] : jumps) {
    auto label = labels.find(name.text);
    if (label == labels.end())
      lexer.fail(name.offset, "there is no label '" + name.text + "'");
    if (static_cast<size_t>(label->second) == body.size())
      lexer.fail(name.offset,
                 "label '" + name.text + "' has no instruction behind it");
    body[index].target = label->second;
  }
}

// Targets become words. Their encoding does not depend on their value.
void Assembler::encodeBody(FunctionDef &function) {
  std::vector<int64_t> starts;
  std::vector<int64_t> words;
  for (const Instruction &instruction : body) {
    starts.push_back(static_cast<int64_t>(words.size()));
    encode(instruction, words);
  }
  words.clear();
  for (Instruction &instruction : body) {
    if (instruction.opcode == Opcode::If || instruction.opcode == Opcode::Goto)
      instruction.target = starts[static_cast<size_t>(instruction.target)];
    encode(instruction, words);
  }
  function.codeBegin = static_cast<int64_t>(parts.code.size());
  parts.code.insert(parts.code.end(), words.begin(), words.end());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Assembler::readSite() {
  Token token = lexer.peek();
  int64_t index = takeInt("the number of a site");
  int64_t next = static_cast<int64_t>(parts.sites.size()) -
                 parts.functions.back().siteBegin;
  if (index != next)
    lexer.fail(token.offset, "expected site " + std::to_string(next) +
                                 ", the next one, but got site " +
                                 std::to_string(index));
  expectMark('=');
  SiteDef site;
  site.what = takeString("what the site is, in quotes");
  expectMark(',');
  site.expected = takeString("what it expects, in quotes");
  expectMark(',');
  site.location = takeString("where it is, in quotes");
  parts.sites.push_back(std::move(site));
}

void Assembler::readHead(FunctionDef &function) {
  function.name = takeName("the name of a function");
  takeList('(', ')', [&] {
    function.params.push_back(takeName("the name of a parameter"));
  });
  function.numRegisters = static_cast<int32_t>(function.params.size());
  while (true) {
    if (takeWord("registers"))
      function.numRegisters = takeCount("a number of registers");
    else if (takeWord("heap"))
      function.numHeapSlots = takeCount("a number of heap slots");
    else if (takeWord("captures"))
      function.numCaptures = takeCount("a number of captured values");
    else if (takeWord("info"))
      function.structInfo = takeString("StructInfo in quotes");
    else
      return;
  }
}

void Assembler::readBody(FunctionDef &function) {
  body.clear();
  labels.clear();
  jumps.clear();
  expectMark('{');
  while (!isMark('}')) {
    if (takeWord("site"))
      readSite();
    else
      readInstruction();
  }
  lexer.take();
  resolveLabels();
  encodeBody(function);
}

void Assembler::readFunction() {
  // In the list at once: reading a body looks at it.
  parts.functions.emplace_back();
  FunctionDef function;
  function.isPrivate = takeWord("private");
  if (takeWord("native"))
    function.kind = FunctionDef::Kind::Native;
  expectWord("function");
  readHead(function);
  function.siteBegin = static_cast<int64_t>(parts.sites.size());
  function.codeBegin = static_cast<int64_t>(parts.code.size());
  parts.functions.back().siteBegin = function.siteBegin;
  if (function.kind == FunctionDef::Kind::Bytecode)
    readBody(function);
  function.codeEnd = static_cast<int64_t>(parts.code.size());
  function.siteEnd = static_cast<int64_t>(parts.sites.size());
  parts.functions.back() = std::move(function);
}

// Uses of functions, in the order of first use, become indices of functions.
void Assembler::resolveFunctions() {
  std::map<std::string_view, int64_t> indices;
  for (size_t i = 0; i < parts.functions.size(); ++i)
    indices.emplace(parts.functions[i].name, static_cast<int64_t>(i));
  std::vector<int64_t> resolved;
  for (const Token &name : usedAt) {
    auto found = indices.find(name.text);
    if (found == indices.end())
      lexer.fail(name.offset, "there is no function '" + name.text + "'");
    resolved.push_back(found->second);
  }
  std::vector<int64_t> words;
  words.reserve(parts.code.size());
  auto resolve = [&](Operand &operand) {
    if (operand.kind == OperandKind::Function)
      operand.value = resolved[static_cast<size_t>(operand.value)];
  };
  for (size_t position = 0; position < parts.code.size();) {
    Instruction instruction;
    decode(parts.code.data(), parts.code.size(), position, instruction);
    if (instruction.opcode == Opcode::Call &&
        instruction.callee == CalleeKind::Function)
      instruction.calleeIndex =
          resolved[static_cast<size_t>(instruction.calleeIndex)];
    for (Operand &operand : instruction.operands) {
      resolve(operand);
      for (Operand &element : operand.elements)
        resolve(element);
    }
    encode(instruction, words);
  }
  parts.code = std::move(words);
}

ExecutableParts Assembler::assemble() {
  while (lexer.peek().kind != TokenKind::End) {
    if (takeWord("constant"))
      readConstant();
    else if (isWord("function") || isWord("private") || isWord("native"))
      readFunction();
    else
      lexer.failAt(lexer.peek(), "constant, function, private or native");
  }
  resolveFunctions();
  parts.kernels = kernels.take();
  parts.packed = packed.take();
  parts.strings = strings.take();
  return std::move(parts);
}

ExecutableParts
relax_runtime::vm::assemble(std::string_view text,
                            const std::vector<ffi::Any> &externals) {
  return Assembler(text, externals).assemble();
}
