//===- Registers.cpp - Registers and heap slots by liveness ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As jumps go forward, one walk from the last instruction to the first finds
// where each value is alive, and one walk back gives out numbers: a result gets
// the lowest one that no living value has. A value that is copied at the end of
// a branch gets the number of the copy where it is free, so that the copy goes.
//
// A value that dies at a branch dies on both paths, on each at its start.
//
//===----------------------------------------------------------------------===//

#include "Assembly.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::relax::vm;

namespace {
using Numbers = llvm::SmallVector<int64_t, 2>;

/// Registers, or heap slots.
class Allocator {
public:
  Allocator(FunctionText &function, Operand::Kind kind)
      : function(function), kind(kind),
        places(kind == Operand::Register ? function.registers
                                         : function.slots) {}

  /// Returns how many numbers there are.
  int64_t run(int64_t numParams);
  /// By instruction: the numbers to kill in front of it.
  std::vector<Numbers> kills;

private:
  void findDeaths();
  void visit(size_t index);
  void assign(int64_t place, int64_t wanted);
  void release(int64_t place);
  void restore(const Numbers &living);
  void drop(size_t index, const Numbers &dead);
  /// Calls back with each place that an instruction reads.
  void forEachUse(const Instruction &instruction,
                  function_ref<void(int64_t)> callback) const;
  /// The place that it writes; -1 for none.
  int64_t getResult(const Instruction &instruction) const;
  /// The place that a copy reads; -1 where it is none between places.
  int64_t getCopied(const Instruction &instruction) const;

  FunctionText &function;
  Operand::Kind kind;
  std::vector<VirtualRegister> &places;
  /// By instruction: what is not alive after it any more, where it goes on.
  std::vector<Numbers> deaths;
  /// By label: what is alive there, and what the jump to it leaves behind.
  std::vector<Numbers> livingAt, deathsAt;
  /// By place: a copy of it.
  llvm::DenseMap<int64_t, int64_t> copies;
  /// By number: the place that has it, or -1, and then it is free.
  std::vector<int64_t> holders;
  std::set<int64_t> free;
};
} // namespace

static void visitPlaces(const Operand &operand, Operand::Kind kind,
                        function_ref<void(int64_t)> callback) {
  if (operand.kind == kind)
    callback(operand.value);
  for (const Operand &element : operand.elements)
    visitPlaces(element, kind, callback);
}

void Allocator::forEachUse(const Instruction &instruction,
                           function_ref<void(int64_t)> callback) const {
  for (const Operand &operand : instruction.operands)
    visitPlaces(operand, kind, callback);
}

int64_t Allocator::getResult(const Instruction &instruction) const {
  return instruction.result.kind == kind ? instruction.result.value : -1;
}

int64_t Allocator::getCopied(const Instruction &instruction) const {
  bool isCopy = instruction.isMove() && instruction.result.kind == kind &&
                instruction.operands.front().kind == kind;
  return isCopy ? instruction.operands.front().value : -1;
}

//===----------------------------------------------------------------------===//
// From the end to the start
//===----------------------------------------------------------------------===//

static Numbers sorted(const DenseSet<int64_t> &set) {
  Numbers numbers(set.begin(), set.end());
  llvm::sort(numbers);
  return numbers;
}

/// Returns the elements of `set` that are not in `other`, in order.
static Numbers difference(const DenseSet<int64_t> &set,
                          const DenseSet<int64_t> &other) {
  Numbers numbers;
  llvm::copy_if(set, std::back_inserter(numbers),
                [&](int64_t place) { return !other.contains(place); });
  llvm::sort(numbers);
  return numbers;
}

void Allocator::findDeaths() {
  deaths.resize(function.code.size());
  livingAt.resize(function.numLabels);
  deathsAt.resize(function.numLabels);
  DenseSet<int64_t> living;
  for (size_t i = function.code.size(); i-- != 0;) {
    const Instruction &instruction = function.code[i];
    switch (instruction.kind) {
    case Instruction::Label:
      livingAt[instruction.label] = sorted(living);
      continue;
    case Instruction::Goto:
      living.clear();
      living.insert_range(livingAt[instruction.label]);
      continue;
    case Instruction::Ret:
      living.clear();
      break;
    case Instruction::If: {
      DenseSet<int64_t> next = living, other;
      other.insert_range(livingAt[instruction.label]);
      living.insert_range(other);
      // The condition may die on both paths.
      forEachUse(instruction, [&](int64_t place) { living.insert(place); });
      deaths[i] = difference(living, next);
      deathsAt[instruction.label] = difference(living, other);
      continue;
    }
    case Instruction::Call:
      int64_t result = getResult(instruction);
      if (result >= 0 && !living.erase(result))
        deaths[i].push_back(result);
      if (int64_t copied = getCopied(instruction); copied >= 0)
        copies[copied] = result;
      break;
    }
    forEachUse(instruction, [&](int64_t place) {
      if (living.insert(place).second)
        deaths[i].push_back(place);
    });
  }
}

//===----------------------------------------------------------------------===//
// From the start to the end
//===----------------------------------------------------------------------===//

void Allocator::release(int64_t place) {
  int64_t number = places[place].number;
  if (number < 0 || holders[number] != place)
    return;
  holders[number] = -1;
  free.insert(number);
}

/// Gives a place its number, `wanted` if that is free. One that is written a
/// second time, on another path, has one.
void Allocator::assign(int64_t place, int64_t wanted) {
  int64_t &number = places[place].number;
  if (number < 0) {
    if (free.count(wanted)) {
      number = wanted;
    } else if (!free.empty()) {
      number = *free.begin();
    } else {
      number = holders.size();
      holders.push_back(-1);
    }
  }
  free.erase(number);
  holders[number] = place;
}

/// Only these are alive.
void Allocator::restore(const Numbers &living) {
  for (size_t number = 0; number < holders.size(); ++number) {
    holders[number] = -1;
    free.insert(number);
  }
  for (int64_t place : living)
    assign(place, -1);
}

/// These are dead in front of an instruction.
void Allocator::drop(size_t index, const Numbers &dead) {
  for (int64_t place : dead) {
    // Another one may have its number by now.
    int64_t number = places[place].number;
    bool isHeld = number >= 0 && holders[number] == place;
    release(place);
    if (isHeld && places[place].holdsMemory)
      kills[index].push_back(number);
  }
}

void Allocator::visit(size_t index) {
  const Instruction &instruction = function.code[index];
  switch (instruction.kind) {
  case Instruction::Goto:
  case Instruction::Ret:
    return;
  case Instruction::Label: {
    Numbers dead = deathsAt[instruction.label];
    restore(livingAt[instruction.label]);
    for (int64_t place : dead)
      if (places[place].holdsMemory)
        kills[index + 1].push_back(places[place].number);
    return;
  }
  case Instruction::If:
    return drop(index + 1, deaths[index]);
  case Instruction::Call:
    break;
  }
  int64_t result = getResult(instruction), wanted = -1;
  if (int64_t copied = getCopied(instruction);
      copied >= 0 && llvm::is_contained(deaths[index], copied)) {
    // The copy takes the place of what dies, where it can.
    wanted = places[copied].number;
    if (places[result].number < 0 || places[result].number == wanted)
      release(copied);
  } else if (auto copy = copies.find(result); copy != copies.end()) {
    wanted = places[copy->second].number;
  }
  if (result >= 0)
    assign(result, wanted);
  drop(index + 1, deaths[index]);
}

int64_t Allocator::run(int64_t numParams) {
  findDeaths();
  kills.resize(function.code.size() + 1);
  for (int64_t param = 0; param < numParams; ++param) {
    holders.push_back(param);
    places[param].number = param;
  }
  DenseSet<int64_t> read;
  for (const Instruction &instruction : function.code)
    forEachUse(instruction, [&](int64_t place) { read.insert(place); });
  for (int64_t param = 0; param < numParams; ++param)
    if (!read.contains(param))
      release(param);
  for (size_t i = 0, e = function.code.size(); i < e; ++i)
    visit(i);
  return holders.size();
}

static void renumber(FunctionText &function, Operand &operand) {
  if (operand.kind == Operand::Register)
    operand.value = function.registers[operand.value].number;
  else if (operand.kind == Operand::Heap)
    operand.value = function.slots[operand.value].number;
  for (Operand &element : operand.elements)
    renumber(function, element);
}

void mlir::relax::vm::assignRegisters(FunctionText &function) {
  Allocator registers(function, Operand::Register);
  function.numRegisters = registers.run(function.params.size());
  function.numSlots = Allocator(function, Operand::Heap).run(0);
  std::vector<Instruction> code;
  for (auto [index, instruction] : llvm::enumerate(function.code)) {
    // A frame that ends drops all.
    if (instruction.kind != Instruction::Ret)
      for (int64_t number : registers.kills[index])
        code.push_back(Instruction::kill(number));
    renumber(function, instruction.result);
    for (Operand &operand : instruction.operands)
      renumber(function, operand);
    bool isSame = instruction.isMove() &&
                  instruction.result.kind == instruction.operands[0].kind &&
                  instruction.result.value == instruction.operands[0].value;
    if (!isSame)
      code.push_back(std::move(instruction));
  }
  function.code = std::move(code);
}
