//===- PtxProgram.h - PTX in the form that is run ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A module of PTX after parsing: instructions whose operands are places in the
// register file of a warp, and the tables that say how an instruction is named
// and what runs it.
//
// Rationale: constants and special registers have places in the register file
// too, which are filled once. So all that an instruction reads is an array of
// 32 lanes, and nothing is decided while it runs.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_PTX_PROGRAM_H
#define RELAX_RUNTIME_TEST_PTX_PROGRAM_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace relax_ptx {

using Word = uint64_t;
using Mask = uint32_t; // a bit for each lane
constexpr int kLanes = 32;
constexpr Mask kAllLanes = ~Mask(0);

// Where addresses of all state spaces are one, these bits tell them apart. No
// processor accepts such addresses, so what reads them on the host crashes.
constexpr Word kGlobalTag = Word(1) << 62, kSharedTag = Word(1) << 61,
               kLocalTag = Word(1) << 60, kParamTag = Word(1) << 59;

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  U16x2,
  S16x2,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F64,
  TF32
};

// The type of a name as 'f32', None for others.
Type typeNamed(const std::string &name);
int bitsOf(Type type);
inline bool isFloat(Type type) { return type >= Type::F16; }
inline bool isSigned(Type type) {
  return type >= Type::S8 && type <= Type::S64;
}

// Local is what a thread has for itself: variables, and parameters of calls.
enum class Space : uint8_t { Generic, Global, Shared, Local, Param };

// What comes after an instruction; all but Next is done by the machine.
enum class Flow : uint8_t {
  Next,
  Branch,
  BranchIndex,
  Call,
  Return,
  Exit,
  Barrier,
  Arrive,
  Sync // runs when all lanes that take part are there
};

struct Warp;
struct Instruction;
using Handler = void (*)(Warp &, const Instruction &, Mask);

constexpr uint32_t kNone = ~uint32_t(0);
constexpr int kMostSlots = 16;

struct Instruction {
  Handler run = nullptr;
  Flow flow = Flow::Next;
  Space space = Space::Generic;
  bool guardNot = false;
  uint8_t vector = 1;   // elements of an access
  uint8_t mode = 0;     // a comparison, rounding, ..., as its handler has it
  uint8_t flags = 0;    // see below
  uint16_t negated = 0; // a bit for each slot that holds a predicate
  uint32_t guard = kNone;
  uint32_t slot[kMostSlots];    // where operands begin in the file
  uint8_t count[4] = {};        // elements of the operands
  uint32_t base = 0, base2 = 0; // slots of addresses
  int64_t offset = 0, offset2 = 0;
  uint32_t target = 0;  // of a branch or call; the table of a branch; a group
  uint32_t view = 0;    // see Machine::views
  Word keep = ~Word(0); // the bits of the destination's register
  uint32_t line = 0;
};

enum Flags : uint8_t {
  kFlushes = 1,   // .ftz
  kSaturates = 2, // .sat
  kAtomic = 4,    // no race with others of its kind
  kAligned = 8,   // by whole warps
  kAll = 16,      // cp.async.wait_all, barriers without a count
  kRounds = 32    // to an integer, in a format of floats
};

// What bar.red computes.
enum Reduction : uint8_t { kNoReduction, kCountTrue, kAllTrue, kAnyTrue };

// Roundings, in the order of the C library's names for them.
enum Rounding : uint8_t { kNearest, kToZero, kDown, kUp, kAway };

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

// A slot that holds a value; on top of an address that is known later.
enum class Base : uint8_t { None, Shared, Frame, Global };
struct Constant {
  uint32_t slot;
  Word value;
  Base base;
  int index; // of the variable
};
struct Special {
  uint32_t slot;
  int which;
};
struct Param {
  std::string name;
  uint32_t offset, bytes;
};
// Arguments that a call copies to the callee, or results back: between places
// in local memory.
struct FrameCopy {
  struct Part {
    uint32_t to, from, bytes;
  };
  int caller, callee;
  bool back;
  std::vector<Part> parts;
};

struct Function {
  std::string name;
  bool isEntry = false, hasBody = false;
  uint32_t line = 0;
  uint32_t begin = 0, end = 0; // its instructions
  std::vector<Param> params, results;
  uint32_t paramBytes = 0;
  uint32_t mostThreads = 1024;
  uint32_t threads[3] = {0, 0, 0}; // .reqntid
  std::vector<Constant> constants;
  std::vector<Special> specials;
  std::set<int> calls;
  // Its own words of the register file, and bytes of local memory.
  uint32_t fileWords = 0, frameBytes = 0;
  uint32_t fileBase = 0, frameBase = 0;
  // After linking, of an entry: with all that it calls.
  std::vector<int> reached;
  uint32_t allWords = 0, allFrameBytes = 0;
  std::vector<int64_t> sharedPlaces; // -1 where it is not used
  uint32_t sharedBytes = 0;
};

struct SharedVariable {
  int64_t align, bytes; // 0 bytes: as many as the launch gives
};

// A .global or .const variable with the addresses in it.
struct GlobalVariable {
  struct Address {
    size_t place;
    int variable;
    uint64_t offset;
  };
  std::string name;
  std::vector<uint8_t> bytes;
  std::vector<Address> addresses;
  uint64_t address = 0; // where the driver placed it
};

struct Module {
  std::string text;
  // 10 for PTX 1.0, and 90 for sm_90 and sm_90a, of which the latter runs on no
  // other architecture.
  int version = 0, arch = 0;
  bool isSpecific = false;
  std::vector<Instruction> code;
  std::vector<Function> functions;
  std::vector<SharedVariable> shared;
  std::vector<GlobalVariable> globals;
  std::vector<FrameCopy> copies;
  std::vector<std::vector<uint32_t>> branches;
  std::vector<std::vector<uint32_t>> groups; // the slots of large operands
  uint32_t numViews = 0;

  // The number of a function, -1 where there is none.
  int find(const std::string &name) const;
  std::string lineText(uint32_t line) const;
};

struct SyntaxError {
  uint32_t line;
  std::string text;
};

// Reads a module. Throws SyntaxError.
void parse(const char *text, Module &module);
// Gives functions their places in register files and local memory, and entries
// the sizes of all that they call. Throws SyntaxError.
void link(Module &module);

//===----------------------------------------------------------------------===//
// Tables of instructions
//===----------------------------------------------------------------------===//

// The name of an instruction with what its dots part.
struct Name {
  std::vector<std::string> words;
  std::vector<Type> types;

  bool has(const char *word) const;
  Type type(size_t i = 0) const {
    return i < types.size() ? types[i] : Type::None;
  }
};

// Operands, with blanks between:
//   d, a  a destination, a source of the first type
//   s     a source of the last type
//   w, W  a destination, a source of twice the size of the first type
//   e, b  a destination, a source of 32 bits
//   x, y  a destination of the first, a source of the last type, or wider
//   D, A  one or more of any size, in braces
//   G     destinations in braces, more than there are slots: see Module::groups
//   p, q  a destination, a source that is a predicate
//   m     an address
//   i     a number, which becomes the offset
//   l, t  a label, a table of labels
// A question mark after: may be left out. A bar before: parted by one.
struct Row {
  const char *name;
  const char *words; // that its name may have, parted by blanks
  const char *operands;
  // Returns NULL where there is no such instruction.
  Handler (*select)(const Name &name, Instruction &in);
  Flow flow;
};

struct Rows {
  const Row *begin, *end;
};
Rows integerRows(), bitRows(), floatRows(), mathRows(), compareRows(),
    convertRows(), accessRows(), atomicRows(), asyncRows(), warpRows(),
    tensorRows(), warpgroupRows(), controlRows();

// The row of an instruction. Throws SyntaxError.
const Row &findRow(const std::string &text, uint32_t line, Name &name);

} // namespace relax_ptx

#endif // RELAX_RUNTIME_TEST_PTX_PROGRAM_H
