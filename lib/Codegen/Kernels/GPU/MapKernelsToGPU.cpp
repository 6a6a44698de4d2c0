//===- MapKernelsToGPU.cpp - Kernels as launches ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The generic route of kernels on devices, for what no class emits. The host
// part of a kernel is what computes with sizes, and allocates. All that touches
// memory is in launches: a linalg operation, and an scf.parallel, has a thread
// for each iteration of its parallel loops, and a nest of loops of those whose
// iterations are found to be independent; the rest is run by one thread, in
// order. Loops over nothing but linalg operations are of the host, which
// launches them in each iteration. Values that are loaded between launches are
// loaded in those that use them. Where that would be too late, or sizes depend
// on what is loaded, the whole kernel is one thread.
//
//===----------------------------------------------------------------------===//

#include "ColumnLaunch.h"
#include "ElementLaunch.h"
#include "HiddenKernels.h"
#include "Launch.h"
#include "LoopLaunch.h"
#include "Matmul.h"
#include "ResultLaunch.h"
#include "RowLaunch.h"
#include "ScanLaunch.h"

#include "GenericPlan.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::relax {
#define GEN_PASS_DEF_RELAXMAPKERNELSTOGPUPASS
#include "relax-mlir/Codegen/Passes.h.inc"
} // namespace mlir::relax

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Operations that have parallel loops
//===----------------------------------------------------------------------===//

/// The loops whose iterations write different elements each.
static SmallVector<unsigned> findParallelDims(linalg::LinalgOp op) {
  SmallVector<unsigned> dims;
  for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::parallel &&
        llvm::all_of(op.getDpsInitsMutable(), [&, dim = dim](OpOperand &init) {
          return llvm::is_contained(
              op.getMatchingIndexingMap(&init).getResults(),
              getAffineDimExpr(dim, op.getContext()));
        }))
      dims.push_back(dim);
  return dims;
}

/// The same operation with the loops of `parallel` first.
static FailureOr<linalg::GenericOp> putFirst(RewriterBase &rewriter,
                                             linalg::LinalgOp op,
                                             ArrayRef<unsigned> parallel) {
  rewriter.setInsertionPoint(op);
  auto generic = dyn_cast<linalg::GenericOp>(*op);
  if (!generic) {
    FailureOr<linalg::GenericOp> general =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(general))
      return failure();
    generic = *general;
  }
  SmallVector<unsigned> order(parallel);
  for (unsigned dim = 0; dim < generic.getNumLoops(); ++dim)
    if (!llvm::is_contained(parallel, dim))
      order.push_back(dim);
  if (llvm::is_sorted(order))
    return generic;
  rewriter.setInsertionPoint(generic);
  return linalg::interchangeGenericOp(rewriter, generic, order);
}

/// Whether the loops that reduce make no difference to where results are.
static bool keepsResults(linalg::GenericOp op) {
  SmallVector<unsigned> reducing;
  op.getReductionDims(reducing);
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return llvm::none_of(reducing, [&](unsigned dim) {
      return op.getMatchingIndexingMap(&init).isFunctionOfDim(dim);
    });
  });
}

/// Lowers an operation to loops, and returns them.
static FailureOr<SmallVector<scf::ForOp>> lowerToLoops(RewriterBase &rewriter,
                                                       linalg::LinalgOp op) {
  rewriter.setInsertionPoint(op);
  FailureOr<linalg::LinalgLoops> loops = linalg::linalgOpToLoops(rewriter, op);
  if (failed(loops))
    return failure();
  SmallVector<scf::ForOp> result;
  for (Operation *loop : *loops)
    if (auto nested = dyn_cast<scf::ForOp>(loop))
      result.push_back(nested);
  rewriter.eraseOp(op);
  return result;
}

/// Whether operands lack different parallel loops, as those of products of
/// matrices do: then each is read again and again, and lanes had better have
/// results of their own.
static bool isContraction(linalg::GenericOp op) {
  unsigned numLacking = 0;
  for (OpOperand *input : op.getDpsInputOperands())
    for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
      if (op.getIteratorTypesArray()[dim] == utils::IteratorType::parallel &&
          !op.getMatchingIndexingMap(input).isFunctionOfDim(dim)) {
        ++numLacking;
        break;
      }
  return numLacking > 1;
}

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

namespace {
class KernelMapper {
public:
  explicit KernelMapper(func::FuncOp kernel)
      : kernel(kernel), body(kernel.getBody().front()),
        rewriter(kernel.getContext()) {}

  LogicalResult map();

private:
  LogicalResult normalize();
  void normalizeMemory();
  bool needsOneThread();
  bool isLoaded(Value value) const { return loaded.contains(value); }
  bool isOverwritten(Operation *load, Operation *user);
  bool sharesAllParallelLoops(linalg::GenericOp op) const {
    auto found = numShared.find(op);
    return found != numShared.end() &&
           found->second == op.getNumParallelLoops();
  }
  LogicalResult sortLoops();
  SmallVector<linalg::GenericOp> findFollowers(Operation *op);
  LogicalResult launchStructured(linalg::GenericOp op);
  bool isHostLoop(Operation &op) const;
  LogicalResult launchGeneric(linalg::GenericOp op,
                              llvm::SmallPtrSetImpl<Operation *> &launched);
  LogicalResult launchApart(Block &block);
  LogicalResult launchAtOnce();
  LogicalResult launchSequence(ArrayRef<Operation *> ops);
  LogicalResult launchInOrder(ArrayRef<Operation *> ops);
  void loadInside();

  func::FuncOp kernel;
  Block &body;
  IRRewriter rewriter;
  /// What is computed from elements between launches.
  llvm::SetVector<Value> loaded;
  /// How many of their first loops threads share, of operations that read
  /// nothing that another iteration writes.
  llvm::DenseMap<Operation *, size_t> numShared;
};
} // namespace

/// Whether an operation stays on the host whatever happens.
static bool isOfHost(Operation *op) {
  return isa<memref::AllocOp, memref::DeallocOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

static bool writes(Operation *op) {
  return !isOfHost(op) && !isMemoryEffectFree(op) &&
         !hasSingleEffect<MemoryEffects::Read>(op) && !isa<memref::LoadOp>(op);
}

/// Whether an operation, and all that is in it, only reads.
static bool onlyReads(Operation *op) {
  WalkResult result = op->walk([](Operation *inner) {
    return writes(inner) &&
                   !inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>()
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

static bool reads(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<memref::LoadOp>(inner) ||
                       hasSingleEffect<MemoryEffects::Read>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether two views are of the same elements, as those that bufferization
/// makes of a slice and of where it is inserted are.
static bool areSameView(Value lhs, Value rhs) {
  if (lhs == rhs)
    return true;
  auto first = lhs.getDefiningOp<memref::SubViewOp>(),
       second = rhs.getDefiningOp<memref::SubViewOp>();
  return first && second &&
         OperationEquivalence::isEquivalentTo(
             first, second, OperationEquivalence::IgnoreLocations);
}

/// Memory that the host part would take from its stack is that of the device.
void KernelMapper::normalizeMemory() {
  SmallVector<memref::AllocaOp> allocas;
  SmallVector<memref::CopyOp> copies;
  llvm::append_range(allocas, body.getOps<memref::AllocaOp>());
  kernel.walk([&](memref::CopyOp op) { copies.push_back(op); });
  for (memref::AllocaOp op : allocas) {
    rewriter.setInsertionPoint(op);
    auto alloc = rewriter.replaceOpWithNewOp<memref::AllocOp>(
        op, op.getType(), op.getDynamicSizes());
    rewriter.setInsertionPoint(body.getTerminator());
    memref::DeallocOp::create(rewriter, alloc.getLoc(), alloc);
  }
  for (memref::CopyOp op : copies) {
    rewriter.setInsertionPoint(op);
    if (!areSameView(op.getSource(), op.getTarget()))
      linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                               op.getTarget());
    rewriter.eraseOp(op);
  }
}

LogicalResult KernelMapper::normalize() {
  normalizeMemory();
  for (auto loop : llvm::make_early_inc_range(body.getOps<scf::ForOp>()))
    distributeParallelLoop(loop);
  SmallVector<linalg::LinalgOp> nested;
  // In order: what is computed from a loaded value is one too.
  for (Operation &op : body)
    if (!isOfHost(&op) && !isa<linalg::LinalgOp>(op) && onlyReads(&op) &&
        (reads(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
           return isLoaded(operand);
         })))
      loaded.insert_range(op.getResults());
  kernel.walk([&](linalg::LinalgOp op) {
    if (op->getBlock() != &body && !isHostLoop(*op->getParentOp()))
      nested.push_back(op);
  });
  for (linalg::LinalgOp op : nested)
    if (failed(lowerToLoops(rewriter, op)))
      return op.emitOpError() << "has no loops";
  return success();
}

/// Whether an operation is a loop over what is launched, and computes what it
/// needs for that from sizes.
bool KernelMapper::isHostLoop(Operation &op) const {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop || loop->getBlock() != &body || loop.getNumResults() != 0 ||
      loop.getBody()->getOps<linalg::LinalgOp>().empty())
    return false;
  auto isComputed = [](Operation &inner) {
    return isa<linalg::LinalgOp>(inner) ||
           (inner.getNumRegions() == 0 && isMemoryEffectFree(&inner));
  };
  if (!llvm::all_of(*loop.getBody(), isComputed))
    return false;
  WalkResult usesLoaded = op.walk([&](Operation *inner) {
    return llvm::any_of(inner->getOperands(),
                        [&](Value value) { return isLoaded(value); })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !usesLoaded.wasInterrupted();
}

/// Whether what is between a load and its use may write what it reads.
bool KernelMapper::isOverwritten(Operation *load, Operation *user) {
  llvm::SetVector<Value> read = findBuffers(load);
  for (Operation *op = load->getNextNode(); op && op != user;
       op = op->getNextNode()) {
    if (isOfHost(op) || onlyReads(op))
      continue;
    if (llvm::any_of(findBuffers(op),
                     [&](Value buffer) { return read.contains(buffer); }))
      return true;
  }
  return false;
}

/// Whether launches apart would not compute the same.
bool KernelMapper::needsOneThread() {
  for (Value value : loaded) {
    bool isMemory = isa<MemRefType>(value.getType());
    for (Operation *user : value.getUsers()) {
      Operation *inBody = body.findAncestorOpInBlock(*user);
      if (isMemory || isOfHost(inBody) ||
          isOverwritten(value.getDefiningOp(), inBody))
        return true;
      if (auto loop = dyn_cast<scf::ParallelOp>(user))
        if (llvm::is_contained(loop->getOperands(), value))
          return true;
    }
  }
  // What a sequence computes and somebody else uses.
  return llvm::any_of(body, [&](Operation &op) {
    return writes(&op) && !isa<linalg::LinalgOp>(op) &&
           llvm::any_of(op.getResults(),
                        [](Value result) { return !result.use_empty(); });
  });
}

/// Runs operations by one thread.
LogicalResult KernelMapper::launchSequence(ArrayRef<Operation *> ops) {
  if (ops.empty())
    return success();
  IndexBuilder b(ops.front()->getLoc(), ops.front());
  gpu::LaunchOp op = launch(b, b.index(1), b.index(1), {},
                            [](IndexBuilder &, gpu::LaunchOp) {});
  Operation *end = op.getBody().front().getTerminator();
  for (Operation *moved : ops)
    moved->moveBefore(end);
  WalkResult allocates = op.walk([](memref::AllocOp alloc) {
    alloc.emitOpError() << "allocates while a kernel of a device runs, which "
                           "is not supported";
    return WalkResult::interrupt();
  });
  return failure(allocates.wasInterrupted());
}

/// Runs operations that write, and whose results nobody uses: nests of loops by
/// threads that share them, what is before and after each by one thread.
LogicalResult KernelMapper::launchInOrder(ArrayRef<Operation *> ops) {
  auto isLaunched = [](Operation *op) {
    auto nest = dyn_cast<scf::ForOp>(op);
    return nest && launchNest(nest);
  };
  while (!ops.empty()) {
    const auto *nest = llvm::find_if(ops, isLaunched);
    size_t count = nest - ops.begin();
    if (failed(launchSequence(ops.take_front(count))))
      return failure();
    ops = ops.drop_front(std::min(count + 1, ops.size()));
  }
  return success();
}

/// An operation, and those that may be of one launch with it.
SmallVector<linalg::GenericOp> KernelMapper::findFollowers(Operation *op) {
  SmallVector<linalg::GenericOp> result;
  for (; op; op = op->getNextNode()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic &&
        (!sharesAllParallelLoops(generic) || isDeviceProduct(generic)))
      break;
    bool isOfSizes = isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
                     llvm::none_of(op->getResults(), [&](Value result) {
                       return isLoaded(result);
                     });
    if (generic)
      result.push_back(generic);
    else if (!isa<memref::AllocOp>(op) && !isOfSizes)
      break;
  }
  return result;
}

/// A structured operation with its parallel loops first, by threads for these
/// loops.
LogicalResult KernelMapper::launchStructured(linalg::GenericOp op) {
  size_t numParallel = numShared.lookup(op);
  if (sharesAllParallelLoops(op)) {
    if (op.getNumReductionLoops() == 0) {
      launchElements(op);
      return success();
    }
    if (launchScan(op) ||
        (!isContraction(op) && launchColumns(op, numParallel)))
      return success();
    if (numParallel > 0 && keepsResults(op)) {
      launchResults(op);
      return success();
    }
  }
  Location loc = op.getLoc();
  Block *block = op->getBlock();
  Operation *before = op->getPrevNode(), *after = op->getNextNode();
  FailureOr<SmallVector<scf::ForOp>> loops = lowerToLoops(rewriter, op);
  if (failed(loops))
    return emitError(loc) << "has no loops";
  if (numParallel > 0) {
    loops->truncate(numParallel);
    launchLoops(std::move(*loops));
    return success();
  }
  // One thread for all that it was lowered to.
  llvm::SetVector<Operation *> lowered;
  for (Operation *next = before ? before->getNextNode() : &block->front();
       next != after; next = next->getNextNode())
    if (!isMemoryEffectFree(next) || next->getNumRegions() > 0 ||
        llvm::any_of(next->getOperands(), [&](Value operand) {
          return lowered.contains(operand.getDefiningOp());
        }))
      lowered.insert(next);
  return launchSequence(lowered.getArrayRef());
}

/// Puts parallel loops first, and finds what each operation is.
LogicalResult KernelMapper::sortLoops() {
  SmallVector<linalg::LinalgOp> ops;
  kernel.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops) {
    // Otherwise all iterations are in order.
    bool isIndependent = !readsResultsElsewhere(op);
    SmallVector<unsigned> parallel;
    if (isIndependent)
      parallel = findParallelDims(op);
    FailureOr<linalg::GenericOp> sorted = putFirst(rewriter, op, parallel);
    if (failed(sorted))
      return op.emitOpError() << "has no loops";
    if (isIndependent)
      numShared[*sorted] = parallel.size();
  }
  return success();
}

/// Launches a structured operation, and adds it and those that are of the same
/// launch to `launched`.
LogicalResult
KernelMapper::launchGeneric(linalg::GenericOp op,
                            llvm::SmallPtrSetImpl<Operation *> &launched) {
  if (sharesAllParallelLoops(op) && isDeviceProduct(op)) {
    launchProduct(op);
    return success();
  }
  SmallVector<linalg::GenericOp> followers = findFollowers(op);
  SmallVector<Operation *> places(followers.begin(), followers.end());
  size_t count = launchRows(followers);
  launched.insert_range(ArrayRef(places).take_front(count));
  return count == 0 ? launchStructured(op) : success();
}

LogicalResult KernelMapper::launchApart(Block &block) {
  SmallVector<Operation *> ops =
      llvm::map_to_vector(block, [](Operation &op) { return &op; });
  llvm::SmallPtrSet<Operation *, 8> launched;
  SmallVector<Operation *> sequence;
  for (Operation *op : ops) {
    if (launched.contains(op))
      continue;
    bool isLoop = isHostLoop(*op);
    if (isLoop || isa<linalg::LinalgOp, scf::ParallelOp>(op) || isOfHost(op)) {
      if (failed(launchInOrder(sequence)))
        return failure();
      sequence.clear();
    }
    if (isLoop) {
      if (failed(launchApart(*cast<scf::ForOp>(op).getBody())))
        return failure();
    } else if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      if (failed(launchGeneric(generic, launched)))
        return failure();
    } else if (auto parallel = dyn_cast<scf::ParallelOp>(op);
               parallel && parallel.getInitVals().empty()) {
      launchParallel(parallel);
    } else if (!isOfHost(op) && !onlyReads(op)) {
      sequence.push_back(op);
    }
  }
  return launchInOrder(sequence);
}

/// Everything but allocation by one thread: memory is taken before and freed
/// after.
LogicalResult KernelMapper::launchAtOnce() {
  SmallVector<linalg::LinalgOp> structured;
  kernel.walk([&](linalg::LinalgOp op) { structured.push_back(op); });
  for (linalg::LinalgOp op : structured)
    if (failed(lowerToLoops(rewriter, op)))
      return op.emitOpError() << "has no loops";
  SmallVector<Operation *> sequence;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    bool ofHost = !llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return isLoaded(operand) || (from && llvm::is_contained(sequence, from));
    });
    if (isa<memref::AllocOp>(op)) {
      if (!ofHost)
        return op.emitOpError()
               << "has a size that depends on elements of a device, which is "
                  "not supported";
      if (!sequence.empty())
        op.moveBefore(sequence.front());
    } else if (isa<memref::DeallocOp>(op)) {
      op.moveBefore(body.getTerminator());
    } else if (ofHost && isMemoryEffectFree(&op) && !reads(&op)) {
      if (!sequence.empty())
        op.moveBefore(sequence.front());
    } else {
      sequence.push_back(&op);
    }
  }
  return launchSequence(sequence);
}

/// Loads in launches what they use, and drops the loads in between.
void KernelMapper::loadInside() {
  SmallVector<gpu::LaunchOp> launches;
  kernel.walk([&](gpu::LaunchOp op) { launches.push_back(op); });
  for (gpu::LaunchOp op : launches) {
    IRMapping mapping;
    OpBuilder builder(&op.getBody().front(), op.getBody().front().begin());
    llvm::SetVector<Value> captured;
    // Loaded values in order, so that each finds those that it is made of.
    llvm::SetVector<Operation *> needed;
    std::function<void(Value)> need = [&](Value value) {
      if (!isLoaded(value) || needed.contains(value.getDefiningOp()))
        return;
      Operation *from = value.getDefiningOp();
      from->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          need(operand);
      });
      needed.insert(from);
    };
    getUsedValuesDefinedAbove(op.getBody(), captured);
    for (Value value : captured)
      need(value);
    for (Operation *from : needed) {
      Operation *copy = builder.clone(*from, mapping);
      for (auto [old, fresh] :
           llvm::zip(from->getResults(), copy->getResults()))
        replaceAllUsesInRegionWith(old, fresh, op.getBody());
    }
  }
  llvm::SetVector<Operation *> loads;
  for (Value value : loaded)
    loads.insert(value.getDefiningOp());
  for (Operation *op : llvm::reverse(loads.getArrayRef()))
    if (op->use_empty())
      op->erase();
}

/// Erases operations that are known to have no iterations: they do nothing, and
/// indices would be divided by a size of 0.
static void eraseEmptyLoops(func::FuncOp kernel) {
  SmallVector<linalg::LinalgOp> empty;
  kernel.walk([&](linalg::LinalgOp op) {
    if (op->getNumResults() == 0 &&
        llvm::is_contained(op.getStaticLoopRanges(), 0))
      empty.push_back(op);
  });
  for (linalg::LinalgOp op : empty)
    op.erase();
}

LogicalResult KernelMapper::map() {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError() << "expected one block in a kernel of a device";
  WalkResult onTensors = kernel.walk([](linalg::LinalgOp op) {
    if (op.hasPureBufferSemantics())
      return WalkResult::advance();
    op.emitOpError() << "expected operands in memory: run bufferization before";
    return WalkResult::interrupt();
  });
  if (onTensors.wasInterrupted())
    return failure();
  eraseEmptyLoops(kernel);
  if (failed(normalize()))
    return failure();
  if (needsOneThread())
    return launchAtOnce();
  if (failed(sortLoops()) || failed(launchApart(body)))
    return failure();
  loadInside();
  return success();
}

namespace {
struct RelaxMapKernelsToGPUPass
    : relax::impl::RelaxMapKernelsToGPUPassBase<RelaxMapKernelsToGPUPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto kernel : module.getOps<func::FuncOp>()) {
      if (!getKernelDevice(kernel) || kernel.isExternal())
        continue;
      // The threads of a device wait for memory while others compute.
      kernel.walk([](memref::PrefetchOp hint) { hint.erase(); });
      if (failed(KernelMapper(kernel).map()))
        return signalPassFailure();
    }
    revealKernels(module);
  }
};
} // namespace
