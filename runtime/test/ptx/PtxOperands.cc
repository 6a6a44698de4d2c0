//===- PtxOperands.cc - Operands to places of the register file -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fits the operands of an instruction to what its row of the tables wants, and
// finds rows by names.
//
//===----------------------------------------------------------------------===//

#include "PtxParser.h"

#include <algorithm>

using namespace relax_ptx;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

bool Name::has(const char *word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

static const std::unordered_map<std::string, const Row *> &allRows() {
  static const auto *rows = [] {
    auto *result = new std::unordered_map<std::string, const Row *>;
    for (Rows part :
         {integerRows(), bitRows(), floatRows(), mathRows(), compareRows(),
          convertRows(), accessRows(), atomicRows(), asyncRows(), warpRows(),
          tensorRows(), warpgroupRows(), controlRows()})
      for (const Row *row = part.begin; row != part.end; ++row)
        (*result)[row->name] = row;
    return result;
  }();
  return *rows;
}

static std::vector<std::string> splitAt(const std::string &text, char c) {
  std::vector<std::string> parts(1);
  for (char i : text) {
    if (i == c)
      parts.emplace_back();
    else
      parts.back() += i;
  }
  return parts;
}

// Hints for caches do nothing here.
static bool isHint(const std::string &word) {
  return word.compare(0, 4, "L1::") == 0 ||
         (word.compare(0, 4, "L2::") == 0 && word != "L2::cache_hint");
}

static bool isWordOf(const Row &row, const std::string &word) {
  return (std::string(" ") + row.words + " ").find(" " + word + " ") !=
         std::string::npos;
}

// The longest name that there is; then types, and words that the row allows.
const Row &relax_ptx::findRow(const std::string &text, uint32_t line,
                              Name &name) {
  struct Found {
    const Row *row;
    Name name;
  };
  static auto &known = *new std::unordered_map<std::string, Found>;
  if (auto found = known.find(text); found != known.end()) {
    name = found->second.name;
    return *found->second.row;
  }
  std::vector<std::string> parts = splitAt(text, '.');
  const Row *row = nullptr;
  size_t used = 0;
  std::string prefix;
  for (size_t i = 0; i < parts.size(); ++i) {
    prefix += (i ? "." : "") + parts[i];
    if (auto found = allRows().find(prefix); found != allRows().end()) {
      row = found->second;
      used = i + 1;
    }
  }
  if (!row)
    throw SyntaxError{line, "unknown instruction " + text};
  name = Name();
  for (; used < parts.size(); ++used) {
    const std::string &word = parts[used];
    Type type = typeNamed(word);
    if (type != Type::None)
      name.types.push_back(type);
    else if (isWordOf(*row, word))
      name.words.push_back(word);
    else if (!isHint(word))
      throw SyntaxError{line,
                        "unknown instruction " + text + " (." + word + ")"};
  }
  known[text] = {row, name};
  return *row;
}

int relax_ptx::specialNamed(const std::string &name) {
  static const std::unordered_map<std::string, int> &names =
      *new std::unordered_map<std::string, int>{
          {"%tid.x", kThreadX},
          {"%tid.y", kThreadX + 1},
          {"%tid.z", kThreadX + 2},
          {"%ntid.x", kThreadsX},
          {"%ntid.y", kThreadsX + 1},
          {"%ntid.z", kThreadsX + 2},
          {"%ctaid.x", kBlockX},
          {"%ctaid.y", kBlockX + 1},
          {"%ctaid.z", kBlockX + 2},
          {"%nctaid.x", kBlocksX},
          {"%nctaid.y", kBlocksX + 1},
          {"%nctaid.z", kBlocksX + 2},
          {"%laneid", kLane},
          {"%warpid", kWarp},
          {"%nwarpid", kWarps},
          {"WARP_SZ", kWarpSize},
          {"%lanemask_eq", kMaskEq},
          {"%lanemask_lt", kMaskLt},
          {"%lanemask_le", kMaskLe},
          {"%lanemask_gt", kMaskGt},
          {"%lanemask_ge", kMaskGe},
          {"%dynamic_smem_size", kDynamicShared},
          {"%total_smem_size", kTotalShared},
          {"%smid", kZero},
          {"%nsmid", kZero},
          {"%clock", kClock},
          {"%clock64", kClock64},
          {"%globaltimer", kClock64}};
  auto found = names.find(name);
  return found == names.end() ? -1 : found->second;
}

//===----------------------------------------------------------------------===//
// Fitting
//===----------------------------------------------------------------------===//

void BodyParser::addSlot(Instruction &in, uint32_t slot) {
  if (nextSlot == kMostSlots)
    lexer.fail("too many operands");
  in.slot[nextSlot++] = slot;
}

// Types are not compared: the same bits may be of any.
void BodyParser::checkWidth(const Operand &operand, Type type, int bits,
                            bool orWider) {
  if (operand.kind != Operand::Register)
    return;
  int has = bitsOf(operand.type);
  bool isPredicate = operand.type == Type::Pred;
  if (isPredicate != (type == Type::Pred) ||
      (bits && (orWider ? has < bits : has != bits)))
    lexer.fail("register " + operand.name + " has " + std::to_string(has) +
               (has == 1 ? " bit" : " bits") + ", but the instruction wants " +
               std::to_string(bits));
}

uint64_t BodyParser::bitsOfLiteral(const Operand &operand, Type type,
                                   int bits) {
  uint64_t value = operand.value;
  bool isWide = type == Type::F64;
  if (type == Type::Pred)
    return value ? kAllLanes : 0;
  if (operand.format == Operand::Single && isWide) {
    float single;
    std::memcpy(&single, &value, sizeof(single));
    double wide = single;
    std::memcpy(&value, &wide, sizeof(value));
  } else if (operand.format == Operand::Double && type == Type::F32) {
    double wide;
    std::memcpy(&wide, &value, sizeof(wide));
    float single = static_cast<float>(wide);
    value = 0;
    std::memcpy(&value, &single, sizeof(single));
  } else if (operand.format == Operand::Integer &&
             (isWide || type == Type::F32)) {
    lexer.fail("expected a float as 0f3F800000");
  }
  return bits < 64 ? value & ((uint64_t(1) << bits) - 1) : value;
}

uint32_t BodyParser::slotOf(const Operand &operand, Type type, int bits) {
  switch (operand.kind) {
  case Operand::Register:
    return operand.slot;
  case Operand::Literal:
    return constantSlot(bitsOfLiteral(operand, type, bits ? bits : 64));
  case Operand::Symbol:
    return symbolSlot(operand);
  case Operand::Sink:
    return 0;
  default:
    lexer.fail("expected a register or a number");
  }
}

void BodyParser::fitAddress(Instruction &in, const Operand &operand) {
  if (operand.kind != Operand::Address)
    lexer.fail("expected an address");
  bool isFirst = in.base == 0;
  (isFirst ? in.base : in.base2) = operand.slot;
  (isFirst ? in.offset : in.offset2) = operand.offset;
  if (isFirst) {
    in.space = operand.space;
    in.view = module.numViews++;
  }
}

void BodyParser::fitLabel(Instruction &in, const Operand &operand,
                          bool isTable) {
  if (operand.kind != Operand::Symbol)
    lexer.fail("expected a label");
  scopes.back().uses.push_back({operand.name, module.code.size(), 0,
                                /*inTable=*/false, isTable, in.line});
}

void BodyParser::fitGroup(Instruction &in, const Operand &operand, Type type) {
  if (operand.kind != Operand::Group)
    lexer.fail("expected registers in braces");
  in.target = static_cast<uint32_t>(module.groups.size());
  std::vector<uint32_t> &slots = module.groups.emplace_back();
  for (const Operand &part : operand.parts) {
    checkWidth(part, type, bitsOf(type), /*orWider=*/false);
    slots.push_back(slotOf(part, type, bitsOf(type)));
  }
}

void BodyParser::fitOne(Instruction &in, char letter, const Name &name,
                        const Operand &operand, int position) {
  Type first = name.type(),
       last = name.types.empty() ? Type::None : name.types.back();
  Type type = std::strchr("pq", letter)   ? Type::Pred
              : std::strchr("be", letter) ? Type::B32
              : std::strchr("sy", letter) ? last
                                          : first;
  int bits = bitsOf(type) * (std::strchr("wW", letter) ? 2 : 1);
  if (operand.negated) {
    if (letter != 'q')
      lexer.fail("only predicates may be negated");
    in.negated |= uint16_t(1) << nextSlot;
  }
  switch (letter) {
  case 'm':
    return fitAddress(in, operand);
  case 'l':
  case 't':
    return fitLabel(in, operand, letter == 't');
  case 'i':
    if (operand.kind != Operand::Literal)
      lexer.fail("expected a number");
    in.offset2 = static_cast<int64_t>(operand.value);
    return;
  case 'G':
    return fitGroup(in, operand, type);
  case 'D':
  case 'A':
    if (operand.kind == Operand::Group) {
      in.count[position] = static_cast<uint8_t>(operand.parts.size());
      for (const Operand &part : operand.parts) {
        checkWidth(part, type, 0, /*orWider=*/true);
        addSlot(in, slotOf(part, type, bits));
      }
    } else {
      in.count[position] = 1;
      checkWidth(operand, type, 0, /*orWider=*/true);
      addSlot(in, slotOf(operand, type, bits));
    }
    return;
  default:
    checkWidth(operand, type, bits, std::strchr("xy", letter));
    addSlot(in, slotOf(operand, type, bits));
  }
}

static int widthOf(const Operand &operand) {
  const Operand &first =
      operand.kind == Operand::Group ? operand.parts[0] : operand;
  return first.kind == Operand::Register ? bitsOf(first.type) : 64;
}

// The letters that must have an operand.
static size_t numRequired(const char *letters) {
  size_t count = 0;
  for (const char *at = letters; *at; ++at)
    if (std::isalpha(static_cast<unsigned char>(*at)) && at[1] != '?')
      ++count;
  return count;
}

void BodyParser::fit(Instruction &in, const Row &row, const Name &name,
                     const std::vector<Operand> &operands) {
  size_t used = 0;
  int position = 0;
  for (const char *at = row.operands; *at; ++at) {
    if (*at == ' ')
      continue;
    bool isAfterBar = *at == '|';
    if (isAfterBar)
      ++at;
    char letter = *at;
    bool isOptional = at[1] == '?';
    if (isOptional)
      ++at;
    bool isThere =
        used < operands.size() && operands[used].afterBar == isAfterBar;
    if (isOptional && !isAfterBar)
      isThere = isThere && operands.size() - used > numRequired(at + 1);
    if (isThere) {
      const Operand &operand = operands[used++];
      if (std::strchr("dxD", letter) && widthOf(operand) < 64)
        in.keep = (Word(1) << widthOf(operand)) - 1;
      fitOne(in, letter, name, operand, position++);
    } else if (isOptional) {
      if (!std::strchr("mil", letter))
        addSlot(in, kNone);
    } else {
      lexer.fail("too few operands");
    }
  }
  if (used != operands.size())
    lexer.fail("too many operands");
}
