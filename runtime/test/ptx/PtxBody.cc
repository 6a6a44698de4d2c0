//===- PtxBody.cc - Bodies of functions of PTX ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads statements: declarations, labels, instructions and calls.
//
//===----------------------------------------------------------------------===//

#include "PtxMachine.h"
#include "PtxParser.h"

#include <algorithm>

using namespace relax_ptx;

BodyParser::BodyParser(Lexer &lexer, Module &module, Function &function,
                       const Variables &outer, Variables params)
    : lexer(lexer), module(module), function(function), outer(outer), scopes(1),
      self(module.find(function.name)) {
  scopes[0].variables = std::move(params);
}

void BodyParser::run() {
  lexer.need('{');
  statements();
  // What runs past the end returns.
  Instruction in;
  std::fill(in.slot, in.slot + kMostSlots, kNone);
  in.flow = Flow::Return;
  in.line = lexer.line();
  module.code.push_back(in);
  closeScope();
}

void BodyParser::statements() {
  while (!lexer.eat('}')) {
    if (!lexer.peek())
      lexer.failHere("expected '}'");
    if (lexer.eat('{')) {
      scopes.emplace_back();
      statements();
      closeScope();
    } else if (lexer.peek() == '.') {
      directive();
    } else {
      statement();
    }
  }
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

// Labels that are not of this scope are of the one around it.
void BodyParser::closeScope() {
  Scope closed = std::move(scopes.back());
  scopes.pop_back();
  for (const LabelUse &use : closed.uses) {
    if (auto label = closed.labels.find(use.name);
        label != closed.labels.end() && !use.isTable) {
      if (use.inTable)
        module.branches[use.place][use.entry] = label->second;
      else
        module.code[use.place].target = label->second;
    } else if (auto table = closed.tables.find(use.name);
               table != closed.tables.end() && use.isTable) {
      module.code[use.place].target = static_cast<uint32_t>(table->second);
    } else if (!scopes.empty()) {
      scopes.back().uses.push_back(use);
    } else {
      throw SyntaxError{use.line, "unknown label " + use.name};
    }
  }
}

// %r7 is declared by %r<9>; only those that are used get a place.
const BodyParser::Register *BodyParser::findRegister(const std::string &name) {
  size_t digits = name.size();
  while (digits && std::isdigit(static_cast<unsigned char>(name[digits - 1])))
    --digits;
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto found = scope->registers.find(name);
    if (found != scope->registers.end())
      return &found->second;
    if (digits == name.size())
      continue;
    auto range = scope->ranges.find(name.substr(0, digits));
    if (range != scope->ranges.end() &&
        std::atoll(name.c_str() + digits) < range->second.count)
      return &(scope->registers[name] = {range->second.type, newSlot()});
  }
  return nullptr;
}

const Variable *BodyParser::findVariable(const std::string &name) const {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto found = scope->variables.find(name);
        found != scope->variables.end())
      return &found->second;
  auto found = outer.find(name);
  return found == outer.end() ? nullptr : &found->second;
}

uint32_t BodyParser::newSlot() {
  function.fileWords += kLanes;
  return function.fileWords; // the first words of the file are no one's
}

uint32_t BodyParser::constantSlot(Word value, Base base, int index) {
  uint32_t &slot = constantSlots[{value, base, index}];
  if (slot == 0) {
    slot = newSlot();
    function.constants.push_back({slot, value, base, index});
  }
  return slot;
}

uint32_t BodyParser::specialSlot(int which) {
  uint32_t &slot = specialSlots[which];
  if (slot == 0) {
    slot = newSlot();
    function.specials.push_back({slot, which});
  }
  return slot;
}

uint32_t BodyParser::frameBytes(int64_t align, int64_t bytes) {
  int64_t place = (function.frameBytes + align - 1) / align * align;
  function.frameBytes = static_cast<uint32_t>(place + bytes);
  return static_cast<uint32_t>(place);
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void BodyParser::directive() {
  if (lexer.eat(".reg")) {
    declareRegisters();
  } else if (lexer.eat(".local") || lexer.eat(".param")) {
    declareVariable(/*isShared=*/false);
  } else if (lexer.eat(".shared")) {
    declareVariable(/*isShared=*/true);
  } else if (lexer.eat(".pragma")) {
    lexer.skipTo(';');
  } else if (lexer.eat(".loc")) {
    lexer.skipTo('\n');
  } else {
    lexer.failHere("expected a statement");
  }
}

void BodyParser::declareRegisters() {
  Type type = parseType(lexer);
  do {
    std::string name = lexer.word(/*dots=*/false);
    if (lexer.eat('<')) {
      scopes.back().ranges[name] = {type, lexer.integer()};
      lexer.need('>');
    } else {
      scopes.back().registers[name] = {type, newSlot()};
    }
  } while (lexer.eat(','));
  lexer.need(';');
}

void BodyParser::declareVariable(bool isShared) {
  Declaration declared = parseDeclaration(lexer);
  Variable &variable = scopes.back().variables[declared.name];
  if (isShared) {
    variable = {Variable::Shared, static_cast<int>(module.shared.size()), 0};
    module.shared.push_back(
        {declared.align, declared.isOpen ? 0 : declared.bytes});
  } else {
    variable = {Variable::Frame, 0, frameBytes(declared.align, declared.bytes)};
  }
  lexer.need(';');
}

void BodyParser::branchTargets(const std::string &name) {
  size_t table = module.branches.size();
  scopes.back().tables[name] = table;
  std::vector<uint32_t> targets;
  do {
    scopes.back().uses.push_back({lexer.word(/*dots=*/false), table,
                                  targets.size(), /*inTable=*/true,
                                  /*isTable=*/false, lexer.line()});
    targets.push_back(0);
  } while (lexer.eat(','));
  lexer.need(';');
  module.branches.push_back(std::move(targets));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void BodyParser::statement() {
  Instruction in;
  std::fill(in.slot, in.slot + kMostSlots, kNone);
  if (lexer.eat('@')) {
    in.guardNot = lexer.eat('!');
    std::string name = lexer.word(/*dots=*/false);
    const Register *guard = findRegister(name);
    if (!guard || guard->type != Type::Pred)
      lexer.fail("expected a predicate, but got " + name);
    in.guard = guard->slot;
  }
  std::string name = lexer.word(/*dots=*/true);
  in.line = lexer.line();
  if (lexer.eat(':')) {
    if (lexer.eat(".branchtargets"))
      branchTargets(name);
    else
      scopes.back().labels[name] = static_cast<uint32_t>(module.code.size());
    return;
  }
  if (name.compare(0, 4, "call") == 0)
    call(in);
  else
    instruction(name, in);
}

void BodyParser::instruction(const std::string &text, Instruction in) {
  Name name;
  const Row &row = findRow(text, in.line, name);
  in.flow = row.flow;
  nextSlot = 0;
  fit(in, row, name, operands());
  in.run = row.select(name, in);
  if (!in.run)
    throw SyntaxError{in.line, "unknown instruction " + text};
  module.code.push_back(in);
}

// The places of arguments or results.
std::vector<uint32_t> BodyParser::arguments() {
  std::vector<uint32_t> places;
  while (!lexer.eat(')')) {
    std::string name = lexer.word(/*dots=*/false);
    const Variable *variable = findVariable(name);
    if (!variable || variable->kind != Variable::Frame)
      lexer.fail("expected a parameter, but got " + name);
    places.push_back(variable->offset);
    lexer.eat(',');
  }
  return places;
}

static void copyFrames(Warp &warp, const Instruction &in, Mask mask) {
  const FrameCopy &copy = warp.machine->module.copies[in.target];
  size_t frame = warp.machine->entry.allFrameBytes;
  eachLane(mask, [&](int lane) {
    uint8_t *data = warp.frames + lane * frame;
    uint8_t *written = warp.written + lane * frame;
    for (const FrameCopy::Part &part : copy.parts) {
      std::memcpy(data + part.to, data + part.from, part.bytes);
      std::memcpy(written + part.to, written + part.from, part.bytes);
    }
  });
}

void BodyParser::copyArguments(const Instruction &call, int callee, bool back,
                               const std::vector<uint32_t> &places) {
  const Function &called = module.functions[callee];
  const std::vector<Param> &formal = back ? called.results : called.params;
  if (places.size() != formal.size())
    lexer.fail("function " + called.name + " has " +
               std::to_string(formal.size()) +
               (back ? " results" : " parameters"));
  FrameCopy copy = {self, callee, back, {}};
  for (size_t i = 0; i < formal.size(); ++i) {
    uint32_t to = back ? places[i] : formal[i].offset;
    uint32_t from = back ? formal[i].offset : places[i];
    copy.parts.push_back({to, from, formal[i].bytes});
  }
  Instruction in = call;
  in.run = copyFrames;
  in.flow = Flow::Next;
  in.target = static_cast<uint32_t>(module.copies.size());
  module.copies.push_back(std::move(copy));
  module.code.push_back(in);
}

// call (results), function, (arguments);
void BodyParser::call(Instruction in) {
  std::vector<uint32_t> results, actual;
  if (lexer.eat('(')) {
    results = arguments();
    lexer.need(',');
  }
  std::string name = lexer.word(/*dots=*/false);
  int callee = module.find(name);
  if (callee < 0 || module.functions[callee].isEntry)
    lexer.fail("unknown function " + name);
  if (lexer.eat(',')) {
    lexer.need('(');
    actual = arguments();
  }
  lexer.need(';');
  function.calls.insert(callee);
  copyArguments(in, callee, /*back=*/false, actual);
  in.flow = Flow::Call;
  in.target = static_cast<uint32_t>(callee);
  module.code.push_back(in);
  copyArguments(in, callee, /*back=*/true, results);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

std::vector<Operand> BodyParser::operands() {
  std::vector<Operand> result;
  if (lexer.eat(';'))
    return result;
  bool afterBar = false;
  do {
    result.push_back(operand());
    result.back().afterBar = afterBar;
    afterBar = lexer.eat('|');
  } while (afterBar || lexer.eat(','));
  lexer.need(';');
  return result;
}

Operand BodyParser::operand() {
  char c = lexer.peek();
  if (c == '{')
    return groupOperand();
  if (c == '[')
    return addressOperand();
  if (lexer.eat('!')) {
    Operand result = operand();
    result.negated = true;
    return result;
  }
  if (std::isdigit(static_cast<unsigned char>(c)) || c == '-')
    return literal();
  return namedOperand(lexer.word(/*dots=*/c == '%'));
}

Operand BodyParser::groupOperand() {
  Operand result;
  result.kind = Operand::Group;
  lexer.need('{');
  do
    result.parts.push_back(operand());
  while (lexer.eat(','));
  lexer.need('}');
  return result;
}

Operand BodyParser::literal() {
  Operand result;
  result.kind = Operand::Literal;
  char c = lexer.peek(), next = lexer.peekNext();
  if (c == '0' && (next == 'f' || next == 'F')) {
    result.format = Operand::Single;
    result.value = lexer.hexadecimal(8);
  } else if (c == '0' && (next == 'd' || next == 'D')) {
    result.format = Operand::Double;
    result.value = lexer.hexadecimal(16);
  } else {
    result.value = static_cast<uint64_t>(lexer.integer());
  }
  return result;
}

Operand BodyParser::namedOperand(const std::string &name) {
  Operand result;
  if (name == "_")
    return result;
  result.name = name;
  if (const Register *found = findRegister(name)) {
    result.kind = Operand::Register;
    result.type = found->type;
    result.slot = found->slot;
    return result;
  }
  if (int which = specialNamed(name); which >= 0) {
    result.kind = Operand::Register;
    result.type = which == kClock64 ? Type::B64 : Type::B32;
    result.slot = specialSlot(which);
    return result;
  }
  if (name[0] == '%')
    lexer.fail("unknown register " + name);
  result.kind = Operand::Symbol;
  if (lexer.eat('+'))
    result.offset = lexer.integer();
  return result;
}

// [register], [variable], [number], each with + and a number.
Operand BodyParser::addressOperand() {
  lexer.need('[');
  Operand base = operand(), result;
  result.kind = Operand::Address;
  if (base.kind == Operand::Register) {
    result.slot = base.slot;
    result.offset = lexer.eat('+') ? lexer.integer() : 0;
  } else if (base.kind == Operand::Literal) {
    result.slot = constantSlot(base.value);
  } else {
    result.offset = base.offset;
    base.offset = 0;
    result.slot = symbolSlot(base);
    const Variable *variable = findVariable(base.name);
    result.space = variable->kind == Variable::EntryParam ? Space::Param
                   : variable->kind == Variable::Frame    ? Space::Local
                                                          : Space::Generic;
  }
  lexer.need(']');
  return result;
}

uint32_t BodyParser::symbolSlot(const Operand &operand) {
  const Variable *variable = findVariable(operand.name);
  if (!variable)
    lexer.fail("unknown name " + operand.name);
  Word offset = variable->offset + static_cast<Word>(operand.offset);
  switch (variable->kind) {
  case Variable::Shared:
    return constantSlot(offset, Base::Shared, variable->index);
  case Variable::Global:
    return constantSlot(offset, Base::Global, variable->index);
  case Variable::Frame:
    return constantSlot(offset, Base::Frame);
  case Variable::EntryParam:
    return constantSlot(offset);
  }
  return 0;
}
