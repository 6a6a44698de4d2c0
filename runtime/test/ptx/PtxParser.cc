//===- PtxParser.cc - Modules of PTX ----------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what the NVPTX back end of LLVM writes: variables, functions and what
// surrounds them.
//
//===----------------------------------------------------------------------===//

#include "PtxParser.h"
#include "PtxMachine.h"

#include <algorithm>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Types and declarations
//===----------------------------------------------------------------------===//

namespace {
struct TypeName {
  const char *name;
  Type type;
  int bits;
};
} // namespace

static const TypeName kTypes[] = {
    {"pred", Type::Pred, 1},      {"b8", Type::B8, 8},
    {"b16", Type::B16, 16},       {"b32", Type::B32, 32},
    {"b64", Type::B64, 64},       {"u8", Type::U8, 8},
    {"u16", Type::U16, 16},       {"u32", Type::U32, 32},
    {"u64", Type::U64, 64},       {"s8", Type::S8, 8},
    {"s16", Type::S16, 16},       {"s32", Type::S32, 32},
    {"s64", Type::S64, 64},       {"u16x2", Type::U16x2, 32},
    {"s16x2", Type::S16x2, 32},   {"f16", Type::F16, 16},
    {"f16x2", Type::F16x2, 32},   {"bf16", Type::BF16, 16},
    {"bf16x2", Type::BF16x2, 32}, {"f32", Type::F32, 32},
    {"f64", Type::F64, 64},       {"tf32", Type::TF32, 32},
};

Type relax_ptx::typeNamed(const std::string &name) {
  for (const TypeName &row : kTypes)
    if (name == row.name)
      return row.type;
  return Type::None;
}

int relax_ptx::bitsOf(Type type) {
  for (const TypeName &row : kTypes)
    if (type == row.type)
      return row.bits;
  return 0;
}

Type relax_ptx::parseType(Lexer &lexer) {
  lexer.need('.');
  std::string name = lexer.word(/*dots=*/false);
  Type type = typeNamed(name);
  if (type == Type::None)
    lexer.fail("unknown type ." + name);
  return type;
}

static constexpr int64_t kMostBytes = 1 << 30;

Declaration relax_ptx::parseDeclaration(Lexer &lexer) {
  Declaration result = {};
  if (lexer.eat(".align"))
    result.align = lexer.integer();
  if (result.align < 0 || result.align > 128)
    lexer.fail("expected an alignment of at most 128");
  result.type = parseType(lexer);
  int64_t size = std::max(1, bitsOf(result.type) / 8);
  result.align = std::max(result.align, size);
  // What a pointer points to.
  if (lexer.eat(".ptr")) {
    while (lexer.eat(".global") || lexer.eat(".shared") ||
           lexer.eat(".const") || lexer.eat(".local")) {
    }
    if (lexer.eat(".align"))
      lexer.integer();
  }
  result.name = lexer.word(/*dots=*/false);
  result.bytes = size;
  while (lexer.eat('[')) {
    result.isOpen = lexer.peek() == ']';
    int64_t count = result.isOpen ? 1 : lexer.integer();
    if (count < 0 || count > kMostBytes || result.bytes * count > kMostBytes)
      lexer.fail("variable " + result.name + " is too large");
    result.bytes *= count;
    lexer.need(']');
  }
  return result;
}

int Module::find(const std::string &name) const {
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name)
      return static_cast<int>(i);
  return -1;
}

std::string Module::lineText(uint32_t line) const {
  size_t at = 0;
  for (uint32_t i = 1; i < line && at != std::string::npos; ++i)
    at = text.find('\n', at) + 1;
  size_t begin = text.find_first_not_of(" \t", at);
  std::string result = text.substr(begin, text.find('\n', begin) - begin);
  std::replace(result.begin(), result.end(), '\t', ' ');
  return result;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {

class ModuleParser {
public:
  ModuleParser(const char *text, Module &module)
      : lexer(text), module(module) {}
  void run();

private:
  void header();
  void target();
  void variable(bool isShared, bool isExtern);
  void values(GlobalVariable &global, Type type);
  void value(GlobalVariable &global, Type type, size_t place);
  void address(GlobalVariable &global, size_t place);
  void function(bool isEntry);
  void formals(std::vector<Param> &list, Function &function,
               Variables &variables);
  void attributes(Function &function);

  Lexer lexer;
  Module &module;
  Variables variables;
};

} // namespace

void ModuleParser::header() {
  if (!lexer.eat(".version"))
    lexer.fail("expected .version");
  std::string version = lexer.word(/*dots=*/true);
  module.version = 10 * std::atoi(version.c_str());
  size_t dot = version.find('.');
  if (dot != std::string::npos)
    module.version += std::atoi(version.c_str() + dot + 1);
}

void ModuleParser::target() {
  std::string name = lexer.word(/*dots=*/false);
  if (name.compare(0, 3, "sm_") != 0)
    lexer.fail("unknown target " + name);
  module.arch = std::atoi(name.c_str() + 3);
  module.isSpecific = name.back() == 'a';
  while (lexer.eat(','))
    lexer.word(/*dots=*/false);
}

void ModuleParser::run() {
  header();
  bool isExtern = false;
  while (lexer.peek()) {
    if (lexer.eat(".target")) {
      target();
    } else if (lexer.eat(".address_size")) {
      if (lexer.integer() != 64)
        lexer.fail("expected addresses of 64 bits");
    } else if (lexer.eat(".extern")) {
      isExtern = true;
      continue;
    } else if (lexer.eat(".visible") || lexer.eat(".weak") ||
               lexer.eat(".common")) {
      continue;
    } else if (lexer.eat(".entry")) {
      function(/*isEntry=*/true);
    } else if (lexer.eat(".func")) {
      function(/*isEntry=*/false);
    } else if (lexer.eat(".global") || lexer.eat(".const")) {
      variable(/*isShared=*/false, isExtern);
    } else if (lexer.eat(".shared")) {
      variable(/*isShared=*/true, isExtern);
    } else if (lexer.eat(".file") || lexer.eat(".loc")) {
      lexer.skipTo('\n');
    } else if (lexer.eat(".section")) {
      lexer.word(/*dots=*/true);
      lexer.skipBraces();
    } else if (!lexer.eat(';')) {
      lexer.failHere("expected a directive");
    }
    isExtern = false;
  }
}

// Variables of other modules are not found here, but for shared memory, where
// the launch says how much there is.
void ModuleParser::variable(bool isShared, bool isExtern) {
  if (lexer.eat(".attribute"))
    lexer.skipTo(')');
  Declaration declared = parseDeclaration(lexer);
  if (isShared) {
    int index = static_cast<int>(module.shared.size());
    module.shared.push_back(
        {declared.align, declared.isOpen ? 0 : declared.bytes});
    variables[declared.name] = {Variable::Shared, index, 0};
  } else {
    if (isExtern)
      lexer.fail("variable " + declared.name + " is not in the module");
    int index = static_cast<int>(module.globals.size());
    variables[declared.name] = {Variable::Global, index, 0};
    GlobalVariable global;
    global.name = declared.name;
    global.bytes.resize(declared.isOpen ? 0 : declared.bytes);
    if (lexer.eat('='))
      values(global, declared.type);
    module.globals.push_back(std::move(global));
  }
  lexer.need(';');
}

void ModuleParser::values(GlobalVariable &global, Type type) {
  size_t size = bitsOf(type) / 8, place = 0;
  int depth = 0;
  do {
    while (lexer.eat('{'))
      ++depth;
    if (place + size > global.bytes.size())
      global.bytes.resize(place + size);
    value(global, type, place);
    place += size;
    while (lexer.eat('}'))
      --depth;
  } while (lexer.eat(','));
  if (depth != 0)
    lexer.fail("expected as many '}' as '{'");
}

void ModuleParser::value(GlobalVariable &global, Type type, size_t place) {
  size_t size = bitsOf(type) / 8;
  uint64_t bits;
  char c = lexer.peek(), next = lexer.peekNext();
  if (c == '0' && (next == 'f' || next == 'F')) {
    bits = lexer.hexadecimal(8);
  } else if (c == '0' && (next == 'd' || next == 'D')) {
    bits = lexer.hexadecimal(16);
  } else if (std::isdigit(static_cast<unsigned char>(c)) || c == '-') {
    bits = static_cast<uint64_t>(lexer.integer());
  } else {
    address(global, place);
    return;
  }
  std::memcpy(&global.bytes[place], &bits, size);
}

// variable, generic(variable), each with + and a number.
void ModuleParser::address(GlobalVariable &global, size_t place) {
  std::string name = lexer.word(/*dots=*/false);
  bool isGeneric = name == "generic" && lexer.eat('(');
  if (isGeneric)
    name = lexer.word(/*dots=*/false);
  auto found = variables.find(name);
  if (found == variables.end() || found->second.kind != Variable::Global)
    lexer.fail("unknown variable " + name);
  uint64_t offset = 0;
  bool closed = isGeneric && lexer.eat(')');
  if (lexer.eat('+'))
    offset = static_cast<uint64_t>(lexer.integer());
  if (isGeneric && !closed)
    lexer.need(')');
  if (place + 8 > global.bytes.size())
    lexer.fail("an address needs 64 bits");
  global.addresses.push_back({place, found->second.index, offset});
}

static uint32_t alignTo(uint32_t value, int64_t align) {
  return static_cast<uint32_t>((value + align - 1) / align * align);
}

void ModuleParser::formals(std::vector<Param> &list, Function &function,
                           Variables &names) {
  if (!lexer.eat('('))
    return;
  while (!lexer.eat(')')) {
    if (!lexer.eat(".param"))
      lexer.failHere("expected .param");
    Declaration declared = parseDeclaration(lexer);
    uint32_t bytes =
        declared.isOpen ? 0 : static_cast<uint32_t>(declared.bytes);
    uint32_t &total =
        function.isEntry ? function.paramBytes : function.frameBytes;
    total = alignTo(total, declared.align);
    list.push_back({declared.name, total, bytes});
    names[declared.name] = {
        function.isEntry ? Variable::EntryParam : Variable::Frame, 0, total};
    total += bytes;
    lexer.eat(',');
  }
}

void ModuleParser::attributes(Function &function) {
  for (;;) {
    bool isRequired = lexer.eat(".reqntid");
    if (isRequired || lexer.eat(".maxntid")) {
      uint32_t sizes[3] = {1, 1, 1};
      int i = 0;
      do
        sizes[i] = static_cast<uint32_t>(lexer.integer());
      while (lexer.eat(',') && ++i < 3);
      function.mostThreads = sizes[0] * sizes[1] * sizes[2];
      if (isRequired)
        std::copy(sizes, sizes + 3, function.threads);
    } else if (lexer.eat(".minnctapersm") || lexer.eat(".maxnreg") ||
               lexer.eat(".maxnctapersm") || lexer.eat(".maxclusterrank")) {
      lexer.integer();
    } else if (lexer.eat(".pragma")) {
      lexer.skipTo(';');
    } else if (!lexer.eat(".noreturn")) {
      return;
    }
  }
}

void ModuleParser::function(bool isEntry) {
  Function parsed;
  Variables names;
  parsed.isEntry = isEntry;
  parsed.line = lexer.line();
  if (!isEntry)
    formals(parsed.results, parsed, names);
  parsed.name = lexer.word(/*dots=*/false);
  formals(parsed.params, parsed, names);
  attributes(parsed);
  int index = module.find(parsed.name);
  bool isKnown = index >= 0;
  if (isKnown && module.functions[index].hasBody)
    lexer.fail("function " + parsed.name + " is defined twice");
  if (!isKnown) {
    index = static_cast<int>(module.functions.size());
    module.functions.push_back(parsed);
  }
  // One that ends here is defined elsewhere, or later.
  if (lexer.peek() != '{')
    return;
  parsed.hasBody = true;
  parsed.begin = static_cast<uint32_t>(module.code.size());
  BodyParser(lexer, module, parsed, variables, std::move(names)).run();
  parsed.end = static_cast<uint32_t>(module.code.size());
  module.functions[index] = std::move(parsed);
}

void relax_ptx::parse(const char *text, Module &module) {
  module.text = text;
  ModuleParser(module.text.c_str(), module).run();
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

// Every function has its own registers and local memory, so none may be
// running twice in a thread.
static void reach(const Module &module, int index, std::vector<int> &path,
                  std::vector<int> &reached) {
  const Function &function = module.functions[index];
  if (std::find(path.begin(), path.end(), index) != path.end())
    throw SyntaxError{function.line,
                      "function " + function.name + " calls itself"};
  if (std::find(reached.begin(), reached.end(), index) != reached.end())
    return;
  if (!function.isEntry && !function.hasBody && !isBuiltin(function.name))
    throw SyntaxError{function.line,
                      "function " + function.name + " is not in the module"};
  path.push_back(index);
  for (int callee : function.calls)
    reach(module, callee, path, reached);
  path.pop_back();
  reached.push_back(index);
}

static void moveSlots(Module &module, const Function &function) {
  auto move = [&](uint32_t &slot) {
    if (slot != kNone && slot != 0)
      slot += function.fileBase;
  };
  for (uint32_t i = function.begin; i < function.end; ++i) {
    Instruction &in = module.code[i];
    move(in.guard);
    move(in.base);
    move(in.base2);
    for (uint32_t &slot : in.slot)
      move(slot);
  }
}

// More must be dynamic.
static constexpr uint32_t kMostStaticBytes = 48 << 10;

static void placeShared(Module &module, Function &entry) {
  std::set<int> used;
  for (int index : entry.reached)
    for (const Constant &constant : module.functions[index].constants)
      if (constant.base == Base::Shared)
        used.insert(constant.index);
  entry.sharedPlaces.assign(module.shared.size(), -1);
  for (int dynamic : {0, 1}) {
    for (int index : used) {
      const SharedVariable &variable = module.shared[index];
      if ((variable.bytes == 0) != (dynamic == 1))
        continue;
      uint32_t place = alignTo(entry.sharedBytes, variable.align);
      entry.sharedPlaces[index] = place;
      if (!dynamic)
        entry.sharedBytes = place + static_cast<uint32_t>(variable.bytes);
    }
    entry.sharedBytes = alignTo(entry.sharedBytes, 16);
  }
}

static void moveCopy(Module &module, FrameCopy &copy) {
  uint32_t caller = module.functions[copy.caller].frameBase;
  uint32_t callee = module.functions[copy.callee].frameBase;
  for (FrameCopy::Part &part : copy.parts) {
    part.to += copy.back ? caller : callee;
    part.from += copy.back ? callee : caller;
  }
}

void relax_ptx::link(Module &module) {
  uint32_t words = 0, bytes = 0;
  for (Function &function : module.functions) {
    if (function.isEntry)
      continue;
    function.fileBase = words;
    function.frameBase = bytes;
    words += function.fileWords;
    bytes = alignTo(bytes + function.frameBytes, 16);
    moveSlots(module, function);
  }
  for (size_t i = 0; i < module.functions.size(); ++i) {
    Function &entry = module.functions[i];
    if (!entry.isEntry)
      continue;
    std::vector<int> path;
    reach(module, static_cast<int>(i), path, entry.reached);
    if (!entry.calls.empty()) {
      entry.fileBase = words;
      entry.frameBase = bytes;
      moveSlots(module, entry);
    }
    entry.allWords = entry.fileBase + entry.fileWords + kLanes;
    entry.allFrameBytes = entry.frameBase + entry.frameBytes;
    placeShared(module, entry);
    if (entry.sharedBytes > kMostStaticBytes)
      throw SyntaxError{entry.line, "kernel " + entry.name + " has " +
                                        std::to_string(entry.sharedBytes) +
                                        " bytes of shared memory, more than " +
                                        std::to_string(kMostStaticBytes)};
  }
  for (FrameCopy &copy : module.copies)
    moveCopy(module, copy);
}
