//===- MergeFunctions.cpp - Share the code of functions alike ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A network has layers that differ in their sizes alone, and so do the loops
// of their kernels. Such loops become one function, which gets the constants
// that differ as parameters; each of the old functions calls it.
//
// A constant becomes a parameter only where code is as fast with a variable:
// not as a divisor, in vectors, or in loops that LLVM is to vectorize or
// unroll.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/ScalarLoops.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXMERGEFUNCTIONSPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

/// A call that forwards an argument costs as much to compile as so many
/// operations.
static constexpr int64_t kOperationsPerArgument = 10;
/// More parameters than these would take registers from loops.
static constexpr size_t kMostParameters = 12;

static bool isConstant(Operation &op) {
  return op.hasTrait<OpTrait::ConstantLike>() || isa<LLVM::AddressOfOp>(op);
}

/// Returns an integer, or the symbol whose address it is.
static Attribute getConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto address = dyn_cast_or_null<LLVM::AddressOfOp>(op))
    return address.getGlobalNameAttr();
  auto constant = dyn_cast_or_null<LLVM::ConstantOp>(op);
  auto type = dyn_cast<IntegerType>(value.getType());
  auto number =
      constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  // One bit decides which code runs.
  if (!number || !type || type.getWidth() == 1)
    return nullptr;
  return IntegerAttr::get(type, number.getValue().sextOrTrunc(type.getWidth()));
}

/// Whether an operand is a constant that may as well be a variable.
static bool isReplaceable(OpOperand &operand) {
  if (!getConstant(operand.get()))
    return false;
  Operation *user = operand.getOwner();
  if (isa<LLVM::StoreOp>(user))
    return operand.getOperandNumber() == 0;
  // Intrinsics of LLVM want some of their arguments as constants.
  if (auto call = dyn_cast<LLVM::CallOp>(user))
    return !call.getCallee() || !call.getCallee()->starts_with("llvm.");
  if (isa<LLVM::BrOp, LLVM::InsertValueOp>(user))
    return true;
  return isa<LLVM::AddOp, LLVM::CondBrOp, LLVM::GEPOp, LLVM::ICmpOp,
             LLVM::MulOp, LLVM::SExtOp, LLVM::SMaxOp, LLVM::SMinOp,
             LLVM::SelectOp, LLVM::SubOp, LLVM::TruncOp, LLVM::UMaxOp,
             LLVM::UMinOp, LLVM::ZExtOp>(user) &&
         operand.get().getType().isInteger();
}

//===----------------------------------------------------------------------===//
// Functions that are alike
//===----------------------------------------------------------------------===//

namespace {
/// A function to share, if there is another one like it.
struct Candidate {
  LLVM::LLVMFuncOp function;
  llvm::hash_code hash;
  /// Its operations, without constants.
  int64_t size = 0;
  /// Operands that may become parameters, in order.
  SmallVector<OpOperand *> replaceable;
};
} // namespace

static auto operationsOf(Block &block) {
  return llvm::make_filter_range(block,
                                 [](Operation &op) { return !isConstant(op); });
}

/// Returns all attributes of a function but its name.
static Attribute getInterface(LLVM::LLVMFuncOp function) {
  NamedAttrList attrs(function->getAttrDictionary());
  attrs.erase(function.getSymNameAttrName());
  return attrs.getDictionary(function.getContext());
}

/// Describes a function; the hash is equal where `areAlike`.
static Candidate makeCandidate(LLVM::LLVMFuncOp function) {
  Candidate candidate;
  candidate.function = function;
  llvm::hash_code hash = llvm::hash_combine(
      getInterface(function), function.getBody().getBlocks().size());
  DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
    hash = llvm::hash_combine(hash, value.getType());
  };
  for (Block &block : function.getBody()) {
    llvm::for_each(block.getArguments(), number);
    for (Operation &op : operationsOf(block)) {
      ++candidate.size;
      hash = llvm::hash_combine(hash, op.getName(), op.hashProperties(),
                                op.getDiscardableAttrDictionary());
      llvm::for_each(op.getResults(), number);
      for (OpOperand &operand : op.getOpOperands()) {
        Operation *source = operand.get().getDefiningOp();
        if (isReplaceable(operand))
          candidate.replaceable.push_back(&operand);
        else if (source && isConstant(*source))
          hash = llvm::hash_combine(hash, source->hashProperties());
        else if (auto found = numbers.find(operand.get());
                 found != numbers.end())
          hash = llvm::hash_combine(hash, found->second);
        hash = llvm::hash_combine(hash, operand.get().getType());
      }
    }
  }
  candidate.hash = hash;
  return candidate;
}

static bool haveSameAttributes(Operation &lhs, Operation &rhs) {
  return lhs.getName() == rhs.getName() &&
         lhs.getResultTypes() == rhs.getResultTypes() &&
         lhs.getDiscardableAttrDictionary() ==
             rhs.getDiscardableAttrDictionary() &&
         lhs.getName().compareOpProperties(lhs.getPropertiesStorage(),
                                           rhs.getPropertiesStorage());
}

/// Whether functions do the same but for the constants that may become
/// parameters.
static bool areAlike(const Candidate &lhs, const Candidate &rhs) {
  LLVM::LLVMFuncOp left = lhs.function, right = rhs.function;
  if (getInterface(left) != getInterface(right) ||
      left.getBody().getBlocks().size() != right.getBody().getBlocks().size())
    return false;
  IRMapping known;
  auto add = [&](auto from, auto to) {
    if (TypeRange(from) != TypeRange(to))
      return false;
    known.map(from, to);
    return true;
  };
  for (auto [block, other] : llvm::zip_equal(left.getBody(), right.getBody())) {
    known.map(&block, &other);
    if (!add(block.getArguments(), other.getArguments()))
      return false;
    auto ops = operationsOf(block), others = operationsOf(other);
    if (!llvm::equal(ops, others, haveSameAttributes))
      return false;
    for (auto [op, twin] : llvm::zip_equal(ops, others))
      known.map(op.getResults(), twin.getResults());
  }
  // Blocks may use values of those after them.
  auto isSame = [&](OpOperand &operand, OpOperand &other) {
    if (isReplaceable(operand) && isReplaceable(other))
      return operand.get().getType() == other.get().getType();
    Operation *source = operand.get().getDefiningOp();
    Operation *twin = other.get().getDefiningOp();
    if (source && twin && isConstant(*source) && isConstant(*twin))
      return haveSameAttributes(*source, *twin);
    return known.lookupOrNull(operand.get()) == other.get();
  };
  for (auto [block, other] : llvm::zip_equal(left.getBody(), right.getBody()))
    for (auto [op, twin] :
         llvm::zip_equal(operationsOf(block), operationsOf(other)))
      if (op.getNumOperands() != twin.getNumOperands() ||
          !llvm::equal(op.getOpOperands(), twin.getOpOperands(), isSame) ||
          !llvm::equal(op.getSuccessors(), twin.getSuccessors(),
                       [&](Block *from, Block *to) {
                         return known.lookupOrNull(from) == to;
                       }))
        return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Returns the operands whose constants differ: those of one parameter by its
/// constants in each of the functions.
static llvm::MapVector<ArrayAttr, SmallVector<OpOperand *>>
findParameters(ArrayRef<Candidate> alike) {
  llvm::MapVector<ArrayAttr, SmallVector<OpOperand *>> parameters;
  for (auto [index, operand] : llvm::enumerate(alike.front().replaceable)) {
    SmallVector<Attribute> constants =
        llvm::map_to_vector(alike, [index = index](const Candidate &candidate) {
          return getConstant(candidate.replaceable[index]->get());
        });
    if (!llvm::all_equal(constants))
      parameters[ArrayAttr::get(operand->getOwner()->getContext(), constants)]
          .push_back(operand);
  }
  return parameters;
}

/// Makes a function call another one with its arguments and some constants.
static void forward(LLVM::LLVMFuncOp function, LLVM::LLVMFuncOp callee,
                    ArrayRef<Attribute> constants) {
  function.getBody().dropAllReferences();
  function.getBody().getBlocks().clear();
  OpBuilder builder(function.getContext());
  Location loc = function.getLoc();
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> arguments(entry->getArguments());
  for (Attribute constant : constants) {
    if (auto number = dyn_cast<IntegerAttr>(constant))
      arguments.push_back(
          LLVM::ConstantOp::create(builder, loc, number.getType(), number));
    else
      arguments.push_back(LLVM::AddressOfOp::create(
          builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
          cast<FlatSymbolRefAttr>(constant)));
  }
  auto call = LLVM::CallOp::create(builder, loc, callee, arguments);
  call.setTailCallKind(LLVM::TailCallKind::Tail);
  LLVM::ReturnOp::create(builder, loc, call.getResults());
}

/// Adds a parameter after the others.
static Value addParameter(LLVM::LLVMFuncOp function, Type type) {
  LLVM::LLVMFunctionType old = function.getFunctionType();
  SmallVector<Type> parameters(old.getParams());
  parameters.push_back(type);
  function.setFunctionType(LLVM::LLVMFunctionType::get(
      old.getReturnType(), parameters, old.isVarArg()));
  if (ArrayAttr attrs = function.getArgAttrsAttr()) {
    SmallVector<Attribute> all(attrs.getValue());
    all.push_back(DictionaryAttr::get(function.getContext()));
    function.setArgAttrsAttr(ArrayAttr::get(function.getContext(), all));
  }
  return function.getBody().front().addArgument(type, function.getLoc());
}

static void merge(ArrayRef<Candidate> alike, SymbolTable &symbols) {
  auto parameters = findParameters(alike);
  LLVM::LLVMFuncOp first = alike.front().function;
  int64_t numArguments = first.getNumArguments() + parameters.size();
  if (parameters.size() > kMostParameters ||
      alike.front().size < kOperationsPerArgument * numArguments)
    return;

  auto shared = cast<LLVM::LLVMFuncOp>(first->cloneWithoutRegions());
  shared.setName((first.getName() + ".shared").str());
  symbols.insert(shared, Block::iterator(first));
  shared.getBody().takeBody(first.getBody());
  for (auto &[constants, operands] : parameters) {
    Value parameter = addParameter(shared, operands.front()->get().getType());
    for (OpOperand *operand : operands)
      operand->set(parameter);
  }
  for (auto [index, candidate] : llvm::enumerate(alike)) {
    SmallVector<Attribute> constants =
        llvm::map_to_vector(parameters, [index = index](auto &parameter) {
          return parameter.first[index];
        });
    forward(candidate.function, shared, constants);
  }
}

/// Whether no other module calls a function, and LLVM takes its loops as they
/// are.
static bool isShareable(LLVM::LLVMFuncOp function) {
  return !function.isExternal() && !hasScalarLoops(function) &&
         SymbolTable::getSymbolVisibility(function) ==
             SymbolTable::Visibility::Private &&
         llvm::none_of(function.getBody().getOps(),
                       [](Operation &op) { return op.getNumRegions() != 0; });
}

namespace {
struct RelaxMergeFunctionsPass
    : relax::impl::RelaxMergeFunctionsPassBase<RelaxMergeFunctionsPass> {
  void runOnOperation() override {
    // Those that are alike, in the order of the module.
    SmallVector<SmallVector<Candidate>> groups;
    DenseMap<size_t, SmallVector<unsigned>> groupsOfHash;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (!isShareable(function))
        continue;
      Candidate candidate = makeCandidate(function);
      SmallVector<unsigned> &same = groupsOfHash[candidate.hash];
      auto found = llvm::find_if(same, [&](unsigned group) {
        return areAlike(groups[group].front(), candidate);
      });
      if (found == same.end()) {
        same.push_back(groups.size());
        groups.emplace_back();
        found = std::prev(same.end());
      }
      groups[*found].push_back(std::move(candidate));
    }
    SymbolTable symbols(getOperation());
    for (ArrayRef<Candidate> alike : groups)
      if (alike.size() > 1)
        merge(alike, symbols);
  }
};
} // namespace
