//===- PlanMemory.cpp - Let tensors share memory -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four steps:
//
// 1. The tensors that do not escape are collected, with their sizes.
// 2. A tensor that a kernel may write over an input that dies there becomes one
//    buffer with it.
// 3. Buffers of known size, or of one with an upper bound that the function
//    lets plans rely on, are laid out in one storage for each device. The
//    others get storages that serve one after the other, the largest first;
//    storages that are never in use together become one of the maximum of their
//    sizes.
// 4. Storages are allocated in front of the first operation that needs them, in
//    the innermost block around all those.
//
//===----------------------------------------------------------------------===//

#include "MemoryLayout.h"

#include "relax-mlir/Analysis/TensorLiveness.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/IR/StructInfo.h"
#include "relax-mlir/IR/VDevice.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXPLANMEMORYPASS
#include "relax-mlir/Transforms/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
/// Tensors at one place: each is written where the one before it dies.
struct Buffer {
  SmallVector<unsigned> tensors;
  PrimExprAttr size;
  std::optional<int64_t> bytes; // where the size is known, or bounded
  FlatSymbolRefAttr vdevice;
};

/// Buffers that are in use one after the other, in memory of one size.
struct Storage {
  SmallVector<unsigned> buffers;
  PrimExprAttr size;
  double sample; // about how large it is
};

/// Whether memory is planned for the sizes of each call, whatever their bounds.
bool isPlannedEachCall(FuncOp func) {
  auto flag =
      RelaxDialect::PlanEachCallAttrHelper(func.getContext()).getAttr(func);
  return flag && flag.getValue();
}

class MemoryPlanner {
public:
  explicit MemoryPlanner(FuncOp func)
      : func(func), liveness(func), builder(func.getContext()),
        planForBounds(!isPlannedEachCall(func)) {}

  void run(bool inplace);

private:
  // The tensors and their buffers.
  void collect();
  void addTensor(unsigned index, const PrimExprFacts &facts);
  void coalesce(CallKernelOp call, FunctionOpInterface kernel);
  bool mayShareWithInput(CallKernelOp call, FunctionOpInterface kernel,
                         unsigned input, unsigned output);
  bool tryCoalesce(CallKernelOp call, unsigned input, unsigned output);

  // Storages.
  void planStatic(FlatSymbolRefAttr vdevice, ArrayRef<unsigned> members);
  void planSymbolic(FlatSymbolRefAttr vdevice, ArrayRef<unsigned> members);
  bool tryAdd(Storage &storage, unsigned buffer);
  bool tryMerge(Storage &storage, const Storage &other, bool takeMaximum);
  void allocate(ArrayRef<unsigned> members, PrimExprAttr size,
                ArrayRef<int64_t> offsets, FlatSymbolRefAttr vdevice);

  // Questions.
  bool interfere(unsigned lhs, unsigned rhs) const;
  bool interfere(ArrayRef<unsigned> lhs, ArrayRef<unsigned> rhs) const;
  Operation *findInsertionPoint(ArrayRef<unsigned> members);
  bool isInScope(PrimExprAttr expr, Operation *op);
  const PrimExprFacts &factsAt(Operation *op);
  double sampleOf(PrimExprAttr size) const;

  FuncOp func;
  TensorLiveness liveness;
  OpBuilder builder;
  bool planForBounds;
  std::vector<Buffer> buffers;
  DenseMap<unsigned, unsigned> bufferOf; // of a tensor
  llvm::StringSet<> signatureVars;
  llvm::DenseMap<Operation *, PrimExprFacts> facts;
};
} // namespace

//===----------------------------------------------------------------------===//
// Tensors and buffers
//===----------------------------------------------------------------------===//

/// The size of a tensor that exists, as an expression that is never negative:
/// with a dimension that is, the allocation of the tensor fails.
static PrimExprAttr clampSize(PrimExprAttr size, const PrimExprFacts &facts) {
  if (proveNonNegative(size, facts) == Ternary::Yes)
    return size;
  return PrimExprAttr::getCall(
      PrimExprKind::Max, {size, PrimExprAttr::getInt(size.getContext(), 0)});
}

void MemoryPlanner::addTensor(unsigned index, const PrimExprFacts &facts) {
  const LiveTensor &tensor = liveness.getTensors()[index];
  TensorStructInfoType type = tensor.alloc.getResult().getType();
  PrimExprAttr size = getByteSize(type);
  if (tensor.escapes || tensor.alloc.getStorage() || !size || size.isTooLarge())
    return;
  Buffer buffer{{index}, clampSize(size, facts), {}, type.getVdevice()};
  std::optional<int64_t> bytes = size.getConstant();
  if (!bytes && planForBounds)
    bytes = getRange(size, facts).upper;
  if (bytes)
    buffer.bytes = std::max<int64_t>(*bytes, 0);
  bufferOf[index] = buffers.size();
  buffers.push_back(std::move(buffer));
}

void MemoryPlanner::collect() {
  ScopeAnalysis scope;
  for (auto [index, tensor] : llvm::enumerate(liveness.getTensors())) {
    scope.moveTo(tensor.alloc);
    addTensor(index, scope.getFacts());
  }
}

bool MemoryPlanner::interfere(unsigned lhs, unsigned rhs) const {
  return interfere(buffers[lhs].tensors, buffers[rhs].tensors);
}

bool MemoryPlanner::interfere(ArrayRef<unsigned> lhs,
                              ArrayRef<unsigned> rhs) const {
  return llvm::any_of(lhs, [&](unsigned l) {
    return llvm::any_of(rhs,
                        [&](unsigned r) { return liveness.interfere(l, r); });
  });
}

/// Whether the kernel reads whatever it reads of the buffer of `input` in the
/// order in which it would be written over.
bool MemoryPlanner::mayShareWithInput(CallKernelOp call,
                                      FunctionOpInterface kernel,
                                      unsigned input, unsigned output) {
  const Buffer &buffer = buffers[bufferOf.lookup(input)];
  unsigned param = call.getUpdatedParams()[output];
  for (auto [index, value] : llvm::enumerate(call.getInputs()))
    if (llvm::any_of(liveness.getTensors(value), [&](unsigned tensor) {
          return llvm::is_contained(buffer.tensors, tensor);
        }))
      if (!mayWriteOver(kernel, index, param))
        return false;
  return true;
}

/// Puts tensor `output`, which `call` writes first, where `input` is, if that
/// dies here.
bool MemoryPlanner::tryCoalesce(CallKernelOp call, unsigned input,
                                unsigned output) {
  Buffer &from = buffers[bufferOf.lookup(input)];
  Buffer &to = buffers[bufferOf.lookup(output)];
  if (from.size != to.size || from.bytes != to.bytes ||
      from.vdevice != to.vdevice || to.tensors.size() != 1)
    return false;
  const LiveTensor &written = liveness.getTensors()[output];
  unsigned point = liveness.getNumber(call);
  if (written.ranges.begin() != point ||
      !liveness.getTensors()[input].ranges.endsAt(point))
    return false;
  for (unsigned tensor : from.tensors)
    if (!TensorLiveness::areExclusive(liveness.getTensors()[tensor].alloc,
                                      written.alloc) &&
        !liveness.getTensors()[tensor].ranges.meetsOnlyAt(written.ranges,
                                                          point))
      return false;
  from.tensors.push_back(output);
  to.tensors.clear();
  bufferOf[output] = bufferOf.lookup(input);
  return true;
}

void MemoryPlanner::coalesce(CallKernelOp call, FunctionOpInterface kernel) {
  if (!kernel || call.getInplaceIndices())
    return;
  for (auto [index, value] : llvm::enumerate(call.getOutputs())) {
    ArrayRef<unsigned> outputs = liveness.getTensors(value);
    if (outputs.size() != 1 || !bufferOf.contains(outputs[0]) ||
        value != liveness.getTensors()[outputs[0]].alloc.getResult())
      continue;
    for (Value input : call.getInputs()) {
      ArrayRef<unsigned> inputs = liveness.getTensors(input);
      if (inputs.size() == 1 && bufferOf.contains(inputs[0]) &&
          mayShareWithInput(call, kernel, inputs[0], index) &&
          tryCoalesce(call, inputs[0], outputs[0]))
        break;
    }
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// The first operation that allocates a member, seen from the innermost block
/// around all of them.
Operation *MemoryPlanner::findInsertionPoint(ArrayRef<unsigned> members) {
  Operation *first = nullptr;
  for (unsigned member : members)
    for (unsigned tensor : buffers[member].tensors) {
      Operation *alloc = liveness.getTensors()[tensor].alloc;
      if (!first) {
        first = alloc;
        continue;
      }
      Operation *ancestor = nullptr;
      while (!(ancestor = first->getBlock()->findAncestorOpInBlock(*alloc)))
        first = first->getParentOp();
      if (ancestor->isBeforeInBlock(first))
        first = ancestor;
    }
  return first;
}

bool MemoryPlanner::isInScope(PrimExprAttr expr, Operation *op) {
  std::optional<StringRef> open = findUnbound(
      expr, [&](StringRef name) { return signatureVars.contains(name); });
  if (!open)
    return true;
  llvm::StringSet<> names;
  collectScope(op, names);
  return !findUnbound(expr,
                      [&](StringRef name) { return names.contains(name); });
}

const PrimExprFacts &MemoryPlanner::factsAt(Operation *op) {
  auto [found, isNew] = facts.try_emplace(op);
  if (isNew)
    found->second = collectFacts(op);
  return found->second;
}

/// An order of sizes that fits where they can be compared: that at large
/// dimensions.
double MemoryPlanner::sampleOf(PrimExprAttr size) const {
  llvm::StringSet<> names;
  collectVars(size, names);
  llvm::StringMap<int64_t> values;
  for (StringRef name : names.keys())
    values[name] = 4096;
  std::optional<int64_t> value = evaluate(size, values);
  return value ? static_cast<double>(*value) : 0.0;
}

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

void MemoryPlanner::allocate(ArrayRef<unsigned> members, PrimExprAttr size,
                             ArrayRef<int64_t> offsets,
                             FlatSymbolRefAttr vdevice) {
  Operation *first = findInsertionPoint(members);
  builder.setInsertionPoint(first);
  auto storage =
      AllocStorageOp::create(builder, first->getLoc(), size, /*bytes=*/Value(),
                             lookupVDevice(func, vdevice));
  for (auto [member, offset] : llvm::zip(members, offsets))
    for (unsigned tensor : buffers[member].tensors) {
      AllocTensorOp alloc = liveness.getTensors()[tensor].alloc;
      alloc.getStorageMutable().assign(storage.getResult());
      alloc.setOffset(offset);
    }
}

void MemoryPlanner::planStatic(FlatSymbolRefAttr vdevice,
                               ArrayRef<unsigned> members) {
  SmallVector<int64_t> sizes = llvm::map_to_vector(
      members, [&](unsigned member) { return *buffers[member].bytes; });
  MemoryLayout layout = layOutMemory(sizes, [&](unsigned lhs, unsigned rhs) {
    return interfere(members[lhs], members[rhs]);
  });
  allocate(members, PrimExprAttr::getInt(func.getContext(), layout.bytes),
           layout.offsets, vdevice);
}

/// RF10: a storage serves what is not larger and not in use at the same time.
bool MemoryPlanner::tryAdd(Storage &storage, unsigned buffer) {
  if (llvm::any_of(storage.buffers,
                   [&](unsigned member) { return interfere(member, buffer); }))
    return false;
  SmallVector<unsigned> members(storage.buffers);
  members.push_back(buffer);
  Operation *place = findInsertionPoint(members);
  if (!isInScope(storage.size, place))
    return false;
  if (storage.size != buffers[buffer].size &&
      proveLessEqual(buffers[buffer].size, storage.size, factsAt(place)) !=
          Ternary::Yes)
    return false;
  storage.buffers = std::move(members);
  return true;
}

bool MemoryPlanner::tryMerge(Storage &storage, const Storage &other,
                             bool takeMaximum) {
  for (unsigned lhs : storage.buffers)
    for (unsigned rhs : other.buffers)
      if (interfere(lhs, rhs))
        return false;
  SmallVector<unsigned> members(storage.buffers);
  llvm::append_range(members, other.buffers);
  Operation *place = findInsertionPoint(members);
  PrimExprAttr size;
  if (takeMaximum)
    size = PrimExprAttr::getCall(PrimExprKind::Max, {storage.size, other.size});
  else if (proveLessEqual(other.size, storage.size, factsAt(place)) ==
           Ternary::Yes)
    size = storage.size;
  else if (proveLessEqual(storage.size, other.size, factsAt(place)) ==
           Ternary::Yes)
    size = other.size;
  if (!size || size.isTooLarge() || !isInScope(size, place))
    return false;
  storage = {std::move(members), size, std::max(storage.sample, other.sample)};
  return true;
}

void MemoryPlanner::planSymbolic(FlatSymbolRefAttr vdevice,
                                 ArrayRef<unsigned> members) {
  SmallVector<std::pair<double, unsigned>> order =
      llvm::map_to_vector(members, [&](unsigned member) {
        return std::pair(sampleOf(buffers[member].size), member);
      });
  llvm::stable_sort(order, [](const auto &lhs, const auto &rhs) {
    return lhs.first > rhs.first;
  });
  std::vector<Storage> storages;
  for (auto [sample, member] : order) {
    // The last ones are the smallest: equal sizes come first.
    auto found = llvm::find_if(llvm::reverse(storages), [&](Storage &storage) {
      return tryAdd(storage, member);
    });
    if (found == storages.rend())
      storages.push_back({{member}, buffers[member].size, sample});
  }
  for (bool takeMaximum : {false, true})
    for (size_t i = 0; i < storages.size(); ++i)
      for (size_t j = i + 1; j < storages.size();)
        if (tryMerge(storages[i], storages[j], takeMaximum))
          storages.erase(storages.begin() + j);
        else
          ++j;
  for (const Storage &storage : storages)
    allocate(storage.buffers, storage.size,
             SmallVector<int64_t>(storage.buffers.size(), 0), vdevice);
}

void MemoryPlanner::run(bool inplace) {
  Operation &front = func.getBody().front().front();
  collectScope(&front, signatureVars);
  collect();
  if (inplace) {
    SymbolTableCollection symbols;
    func.walk<WalkOrder::PreOrder>([&](CallKernelOp call) {
      coalesce(call, symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
                         call, call.getCalleeAttr()));
    });
  }
  llvm::MapVector<Attribute, std::array<SmallVector<unsigned>, 2>> devices;
  for (auto [index, buffer] : llvm::enumerate(buffers))
    if (!buffer.tensors.empty())
      devices[buffer.vdevice][!buffer.bytes].push_back(index);
  for (auto &[vdevice, members] : devices) {
    auto name = cast_or_null<FlatSymbolRefAttr>(vdevice);
    if (!members[0].empty())
      planStatic(name, members[0]);
    if (!members[1].empty())
      planSymbolic(name, members[1]);
  }
}

namespace {
struct RelaxPlanMemoryPass
    : relax::impl::RelaxPlanMemoryPassBase<RelaxPlanMemoryPass> {
  using RelaxPlanMemoryPassBase::RelaxPlanMemoryPassBase;

  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.isExternal())
      return;
    WalkResult regions = func.walk([](Operation *op) {
      if (!isa<DataflowOp, ClosureOp>(op))
        return WalkResult::advance();
      op->emitOpError() << "leaves open when its operations run: run "
                           "relax-lambda-lift and relax-to-non-dataflow before";
      return WalkResult::interrupt();
    });
    if (regions.wasInterrupted())
      return signalPassFailure();
    MemoryPlanner(func).run(inplace);
  }
};
} // namespace
