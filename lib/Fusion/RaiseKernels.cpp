//===- RaiseKernels.cpp - Raise kernels to tensors --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Raises a kernel on memrefs that is a sequence of linalg operations to one on
// tensors: each memref has a tensor as its value, which an operation that
// writes to it replaces. A store to a subview becomes an insertion into the
// tensor of the whole. Memory that the kernel allocates begins as an empty
// tensor.
//
//===----------------------------------------------------------------------===//

#include "RaiseKernels.h"

#include "Fusion.h"
#include "relax-mlir/Conversion/KernelBuilder.h"
#include "relax-mlir/Fusion/Passes.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXRAISEKERNELSPASS
#include "relax-mlir/Fusion/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

namespace {
class TensorRaiser {
public:
  TensorRaiser(func::FuncOp kernel, unsigned numOutputs)
      : kernel(kernel), numOutputs(numOutputs), builder(kernel.getContext()) {}

  bool run();

private:
  bool addParameters(Block *entry);
  bool raise(Operation &op);
  bool raiseLinalg(linalg::LinalgOp op);
  bool raiseLoads(linalg::LinalgOp op, Operation *raised);
  Value getTensor(Value memref);
  bool setTensor(Value memref, Value tensor);
  SmallVector<OpFoldResult> mapMixed(ArrayRef<OpFoldResult> values);

  func::FuncOp kernel;
  unsigned numOutputs;
  OpBuilder builder;
  IRMapping mapping; // of scalars
  /// The tensors that memrefs hold first, with their dimensions, and now.
  llvm::DenseMap<Value, Value> initial, current;
};
} // namespace

/// The type of a tensor with the elements of a memref; null where these do not
/// lie in the order of a tensor.
static RankedTensorType getTensorType(MemRefType type) {
  if (!type.getLayout().isIdentity() || type.getMemorySpace())
    return {};
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

bool TensorRaiser::addParameters(Block *entry) {
  for (BlockArgument argument : kernel.getArguments()) {
    Type type = argument.getType();
    if (auto memref = dyn_cast<MemRefType>(type))
      type = getTensorType(memref);
    else if (!type.isIntOrIndexOrFloat())
      return false;
    if (!type)
      return false;
    BlockArgument param = entry->addArgument(type, argument.getLoc());
    if (isa<MemRefType>(argument.getType()))
      initial[argument] = current[argument] = param;
    else
      mapping.map(argument, param);
  }
  return true;
}

SmallVector<OpFoldResult>
TensorRaiser::mapMixed(ArrayRef<OpFoldResult> values) {
  return llvm::map_to_vector(values, [&](OpFoldResult value) -> OpFoldResult {
    auto dynamic = dyn_cast<Value>(value);
    return dynamic ? OpFoldResult(mapping.lookup(dynamic)) : value;
  });
}

/// Returns the tensor that a memref holds; null where it is not known.
Value TensorRaiser::getTensor(Value memref) {
  if (Value tensor = current.lookup(memref))
    return tensor;
  Operation *op = memref.getDefiningOp();
  Location loc = memref.getLoc();
  if (auto view = dyn_cast_or_null<memref::SubViewOp>(op)) {
    Value source = getTensor(view.getSource());
    if (!source)
      return {};
    auto type = RankedTensorType::get(view.getType().getShape(),
                                      view.getType().getElementType());
    return tensor::ExtractSliceOp::create(
        builder, loc, type, source, mapMixed(view.getMixedOffsets()),
        mapMixed(view.getMixedSizes()), mapMixed(view.getMixedStrides()));
  }
  if (auto view = dyn_cast_or_null<memref::CollapseShapeOp>(op)) {
    Value source = getTensor(view.getSrc());
    RankedTensorType type = getTensorType(view.getResultType());
    return source && type
               ? tensor::CollapseShapeOp::create(builder, loc, type, source,
                                                 view.getReassociationIndices())
                     .getResult()
               : Value();
  }
  if (auto view = dyn_cast_or_null<memref::ExpandShapeOp>(op)) {
    Value source = getTensor(view.getSrc());
    RankedTensorType type = getTensorType(view.getResultType());
    return source && type
               ? tensor::ExpandShapeOp::create(
                     builder, loc, type, source, view.getReassociationIndices(),
                     mapMixed(view.getMixedOutputShape()))
                     .getResult()
               : Value();
  }
  return {};
}

/// Has a memref hold a tensor; false where that is not known to be possible.
bool TensorRaiser::setTensor(Value memref, Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(memref);
      argument &&
      argument.getArgNumber() < kernel.getNumArguments() - numOutputs)
    return false; // no output
  if (current.contains(memref)) {
    current[memref] = tensor;
    return true;
  }
  auto view = memref.getDefiningOp<memref::SubViewOp>();
  if (!view)
    return false;
  Value source = getTensor(view.getSource());
  return source && setTensor(view.getSource(),
                             tensor::InsertSliceOp::create(
                                 builder, memref.getLoc(), tensor, source,
                                 mapMixed(view.getMixedOffsets()),
                                 mapMixed(view.getMixedSizes()),
                                 mapMixed(view.getMixedStrides())));
}

static bool areOfOneBuffer(MemrefValue lhs, MemrefValue rhs) {
  return memref::skipViewLikeOps(lhs) == memref::skipViewLikeOps(rhs);
}

/// Reads in a body are from the tensors that there are before the operation.
bool TensorRaiser::raiseLoads(linalg::LinalgOp op, Operation *raised) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<memref::LoadOp> loads;
  bool isPossible = true;
  raised->walk([&](Operation *inner) {
    if (auto load = dyn_cast<memref::LoadOp>(inner))
      loads.push_back(load);
    else if (inner != raised && inner->getNumRegions() == 0 &&
             !inner->hasTrait<OpTrait::IsTerminator>())
      isPossible &= isMemoryEffectFree(inner);
    // Operations on memory, such as dimensions of it, would have to be raised.
    for (Value operand : inner->getOperands())
      isPossible &=
          isa<memref::LoadOp>(inner) || !isa<BaseMemRefType>(operand.getType());
  });
  for (memref::LoadOp load : loads) {
    auto memref = cast<MemrefValue>(load.getMemRef());
    for (Value init : op.getDpsInits())
      isPossible &= !areOfOneBuffer(cast<MemrefValue>(init), memref);
    builder.setInsertionPoint(raised);
    Value tensor = isPossible ? getTensor(memref) : Value();
    if (!tensor)
      return false;
    builder.setInsertionPoint(load);
    load.replaceAllUsesWith(tensor::ExtractOp::create(builder, load.getLoc(),
                                                      tensor, load.getIndices())
                                .getResult());
    load.erase();
  }
  return isPossible;
}

bool TensorRaiser::raiseLinalg(linalg::LinalgOp op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    bool isMemory = isa<BaseMemRefType>(operand.getType());
    operands.push_back(isMemory ? getTensor(operand)
                                : mapping.lookupOrNull(operand));
    if (!operands.back())
      return false;
  }
  // Two values of one memref would not know of each other.
  for (Value init : op.getDpsInits())
    for (Value other : op->getOperands())
      if (init != other && isa<BaseMemRefType>(other.getType()) &&
          areOfOneBuffer(cast<MemrefValue>(init), cast<MemrefValue>(other)))
        return false;
  SmallVector<Type> results;
  for (OpOperand &init : op.getDpsInitsMutable())
    results.push_back(operands[init.getOperandNumber()].getType());
  OperationState state(op.getLoc(), op->getName(), operands, results,
                       op->getAttrs());
  for (Region &region : op->getRegions()) {
    Region *copy = state.addRegion();
    builder.cloneRegionBefore(region, *copy, copy->end(), mapping);
  }
  Operation *raised = builder.create(state);
  if (!raiseLoads(op, raised))
    return false;
  for (auto [init, result] : llvm::zip(op.getDpsInits(), raised->getResults()))
    if (!setTensor(init, result))
      return false;
  return true;
}

/// Adds the counterpart of an operation; false where it has none.
bool TensorRaiser::raise(Operation &op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return raiseLinalg(linalgOp);
  if (isa<memref::DeallocOp, func::ReturnOp>(op))
    return true;
  // Views are looked up where they are used.
  if (isa<memref::SubViewOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(
          op))
    return true;
  if (isa<memref::AllocOp, memref::AllocaOp>(op)) {
    auto type = cast<MemRefType>(op.getResult(0).getType());
    RankedTensorType tensor = getTensorType(type);
    if (!tensor)
      return false;
    SmallVector<Value> sizes;
    for (Value size : op.getOperands())
      sizes.push_back(mapping.lookup(size));
    if (sizes.size() != static_cast<size_t>(type.getNumDynamicDims()))
      return false; // with symbols
    Value empty = tensor::EmptyOp::create(builder, op.getLoc(), tensor, sizes);
    initial[op.getResult(0)] = current[op.getResult(0)] = empty;
    return true;
  }
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    Value tensor = initial.lookup(dim.getSource());
    if (!tensor)
      return false;
    mapping.map(dim.getResult(),
                tensor::DimOp::create(builder, dim.getLoc(), tensor,
                                      mapping.lookup(dim.getIndex()))
                    .getResult());
    return true;
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    Value tensor = getTensor(load.getMemRef());
    if (!tensor)
      return false;
    SmallVector<Value> indices;
    for (Value index : load.getIndices())
      indices.push_back(mapping.lookup(index));
    mapping.map(load.getResult(), tensor::ExtractOp::create(
                                      builder, load.getLoc(), tensor, indices)
                                      .getResult());
    return true;
  }
  bool isScalar =
      op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
      llvm::none_of(op.getOperandTypes(), llvm::IsaPred<BaseMemRefType>) &&
      llvm::none_of(op.getResultTypes(), llvm::IsaPred<BaseMemRefType>);
  if (isScalar)
    builder.clone(op, mapping);
  return isScalar;
}

bool TensorRaiser::run() {
  Block &body = kernel.getBody().front();
  auto entry = std::make_unique<Block>();
  builder.setInsertionPointToEnd(entry.get());
  bool isRaised = addParameters(entry.get()) &&
                  llvm::all_of(body, [&](Operation &op) { return raise(op); });
  SmallVector<Value> outputs;
  if (isRaised)
    for (Value output : kernel.getArguments().take_back(numOutputs)) {
      outputs.push_back(current.lookup(output));
      // Nothing has been written.
      isRaised &= outputs.back() && outputs.back() != initial.lookup(output);
    }
  if (!isRaised)
    return false;
  func::ReturnOp::create(builder, kernel.getLoc(), outputs);
  SmallVector<Type> types(entry->getArgumentTypes());
  kernel.getBody().push_back(entry.release());
  body.dropAllReferences();
  body.erase();
  kernel.setFunctionType(builder.getFunctionType(
      types, TypeRange(ArrayRef(types).take_back(numOutputs))));
  return true;
}

bool mlir::relax::raiseToTensors(func::FuncOp kernel, unsigned numOutputs) {
  if (kernel.isExternal() || !kernel.getBody().hasOneBlock() ||
      kernel.getNumResults() != 0 || numOutputs == 0 ||
      numOutputs > kernel.getNumArguments() ||
      !llvm::all_of(kernel.getArgumentTypes().take_back(numOutputs),
                    llvm::IsaPred<MemRefType>))
    return false;
  raiseLoops(kernel);
  if (!TensorRaiser(kernel, numOutputs).run())
    return false;
  fuseLoops(kernel);
  tidyKernel(kernel);
  return true;
}

/// The number of outputs that all users of a kernel have it write; none where
/// something else than `relax.call_tir` does, or nothing.
static std::optional<unsigned> countOutputs(func::FuncOp kernel,
                                            ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(kernel, module);
  if (!uses)
    return std::nullopt;
  std::optional<unsigned> count;
  for (SymbolTable::SymbolUse use : *uses) {
    auto call = dyn_cast<CallTIROp>(use.getUser());
    if (!call || (count && *count != call.getOutputTypes().size()))
      return std::nullopt;
    count = call.getOutputTypes().size();
  }
  return count;
}

/// Whether something may find a kernel by the name that it has at run time.
static bool isFoundByName(func::FuncOp kernel, ModuleOp module) {
  auto name = kernel->getAttrOfType<StringAttr>(RelaxDialect::kGlobalSymbol);
  return name &&
         module
             .walk([&](Operation *op) {
               bool hasIt =
                   op != kernel && llvm::any_of(op->getAttrs(), [&](auto attr) {
                     return attr.getValue() == name;
                   });
               return hasIt ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted();
}

void mlir::relax::raiseKernels(ModuleOp module) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    bool isOnMemrefs =
        !kernel.isExternal() &&
        llvm::any_of(kernel.getArgumentTypes(), llvm::IsaPred<MemRefType>);
    if (!isOnMemrefs)
      continue;
    std::optional<unsigned> count = countOutputs(kernel, module);
    // No code outside of the module knows the new form.
    if (count && raiseToTensors(kernel, *count) &&
        !isFoundByName(kernel, module))
      kernel.setPrivate();
  }
}

namespace {
struct RelaxRaiseKernelsPass
    : relax::impl::RelaxRaiseKernelsPassBase<RelaxRaiseKernelsPass> {
  void runOnOperation() override { raiseKernels(getOperation()); }
};
} // namespace
