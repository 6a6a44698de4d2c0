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
// for each iteration of its parallel loops; the rest is run by one thread, in
// order. Values that are loaded between launches are loaded in those that use
// them. Where that would be too late, or sizes depend on what is loaded, the
// whole kernel is one thread.
//
//===----------------------------------------------------------------------===//

#include "GenericPlan.h"
#include "IndexBuilder.h"

#include "relax-mlir/Codegen/Passes.h"
#include "relax-mlir/IR/RelaxDialect.h"

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

static constexpr int64_t kThreads = 256;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// A launch of `blocks` times `threads` threads that runs `body`.
static gpu::LaunchOp launch(IndexBuilder &b, Value blocks, int64_t threads,
                            llvm::function_ref<void(IndexBuilder &, Value)>
                                body) {
  Value one = b.index(1), size = b.index(threads);
  auto op = gpu::LaunchOp::create(b, blocks, one, one, size, one, one);
  IndexBuilder inside(b.getLoc(), b.getContext());
  inside.setInsertionPointToStart(&op.getBody().front());
  Value thread = op.getThreadIds().x;
  if (threads > 1)
    thread = inside.add(inside.mul(op.getBlockIds().x, op.getBlockSize().x),
                        thread);
  body(inside, thread);
  gpu::TerminatorOp::create(inside);
  return op;
}

/// The place in an iteration space, in row-major order.
static SmallVector<Value> delinearize(IndexBuilder &b, Value place,
                                      ArrayRef<Value> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t i = sizes.size(); i-- > 1;) {
    indices[i] = b.rem(place, sizes[i]);
    place = b.floorDiv(place, sizes[i]);
  }
  indices.front() = place;
  return indices;
}

/// A thread for each iteration of loops from 0 with steps of 1.
static void launchIterations(IndexBuilder &b, ArrayRef<Value> sizes,
                             llvm::function_ref<void(IndexBuilder &,
                                                     ArrayRef<Value>)>
                                 body) {
  Value count = sizes.front();
  for (Value size : sizes.drop_front())
    count = b.mul(count, size);
  launch(b, b.ceilDiv(count, b.index(kThreads)), kThreads,
         [&](IndexBuilder &inside, Value thread) {
           Value isIn = inside.compare(arith::CmpIPredicate::slt, thread, count);
           auto op = scf::IfOp::create(inside, isIn, /*withElseRegion=*/false);
           IndexBuilder then(inside.getLoc(), op.getThenBodyBuilder());
           body(then, delinearize(then, thread, sizes));
         });
}

/// Moves the operations of a loop's body, but for its end, to the builder.
static void moveBody(Block *body, ValueRange variables, IndexBuilder &b,
                     ArrayRef<Value> indices) {
  for (auto [variable, index] : llvm::zip(variables, indices))
    variable.replaceAllUsesWith(index);
  b.getInsertionBlock()->getOperations().splice(
      b.getInsertionPoint(), body->getOperations(), body->begin(),
      std::prev(body->end()));
}

//===----------------------------------------------------------------------===//
// Operations that have parallel loops
//===----------------------------------------------------------------------===//

/// The loops whose iterations write different elements each.
static SmallVector<unsigned> findParallelDims(linalg::LinalgOp op) {
  SmallVector<unsigned> dims;
  if (readsResultsElsewhere(op))
    return dims;
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

/// Lowers an operation to loops, those of `parallel` outermost. Returns the
/// loops.
static FailureOr<SmallVector<scf::ForOp>>
lowerToLoops(RewriterBase &rewriter, linalg::LinalgOp op,
             ArrayRef<unsigned> parallel) {
  rewriter.setInsertionPoint(op);
  SmallVector<unsigned> order(parallel);
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (!llvm::is_contained(parallel, dim))
      order.push_back(dim);
  if (!llvm::is_sorted(order)) {
    auto generic = dyn_cast<linalg::GenericOp>(*op);
    if (!generic) {
      FailureOr<linalg::GenericOp> general =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(general))
        return failure();
      generic = *general;
    }
    FailureOr<linalg::GenericOp> sorted =
        linalg::interchangeGenericOp(rewriter, generic, order);
    if (failed(sorted))
      return failure();
    op = *sorted;
    rewriter.setInsertionPoint(op);
  }
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

/// Makes `count` loops, each in the one before, the threads of a launch.
static void launchLoops(SmallVector<scf::ForOp> loops) {
  IndexBuilder b(loops.front().getLoc(), loops.front());
  SmallVector<Value> sizes, variables;
  for (scf::ForOp loop : loops) {
    sizes.push_back(loop.getUpperBound());
    variables.push_back(loop.getInductionVar());
  }
  launchIterations(b, sizes,
                   [&](IndexBuilder &inside, ArrayRef<Value> indices) {
                     moveBody(loops.back().getBody(), variables, inside,
                              indices);
                   });
  loops.front()->erase();
}

static void launchParallel(scf::ParallelOp op) {
  IndexBuilder b(op.getLoc(), op);
  SmallVector<Value> sizes;
  for (auto [lower, upper, step] :
       llvm::zip(op.getLowerBound(), op.getUpperBound(), op.getStep()))
    sizes.push_back(
        b.max(b.ceilDiv(b.sub(upper, lower), step), b.index(0)));
  launchIterations(
      b, sizes, [&](IndexBuilder &inside, ArrayRef<Value> indices) {
        SmallVector<Value> places;
        for (auto [index, lower, step] :
             llvm::zip(indices, op.getLowerBound(), op.getStep()))
          places.push_back(inside.add(lower, inside.mul(index, step)));
        moveBody(op.getBody(), op.getInductionVars(), inside, places);
      });
  op.erase();
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
  LogicalResult normalizeMemory();
  bool needsOneThread();
  bool isLoaded(Value value) const { return loaded.contains(value); }
  bool isOverwritten(Operation *load, Operation *user);
  LogicalResult launchApart();
  LogicalResult launchAtOnce();
  LogicalResult launchSequence(ArrayRef<Operation *> ops);
  void loadInside();

  func::FuncOp kernel;
  Block &body;
  IRRewriter rewriter;
  /// What is computed from elements between launches.
  llvm::SetVector<Value> loaded;
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
    return writes(inner) && !inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>()
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

/// Memory that the host part would take from its stack is that of the device.
LogicalResult KernelMapper::normalizeMemory() {
  SmallVector<memref::AllocaOp> allocas;
  SmallVector<memref::CopyOp> copies;
  for (Operation &op : body) {
    if (auto alloca = dyn_cast<memref::AllocaOp>(op))
      allocas.push_back(alloca);
  }
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
    linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                             op.getTarget());
    rewriter.eraseOp(op);
  }
  return success();
}

LogicalResult KernelMapper::normalize() {
  if (failed(normalizeMemory()))
    return failure();
  SmallVector<linalg::LinalgOp> nested;
  kernel.walk([&](linalg::LinalgOp op) {
    if (op->getBlock() != &body)
      nested.push_back(op);
  });
  for (linalg::LinalgOp op : nested)
    if (failed(lowerToLoops(rewriter, op, {})))
      return op.emitOpError() << "has no loops";
  // In order: what is computed from a loaded value is one too.
  for (Operation &op : body)
    if (!isOfHost(&op) && !isa<linalg::LinalgOp>(op) && onlyReads(&op) &&
        (reads(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
           return isLoaded(operand);
         })))
      loaded.insert_range(op.getResults());
  return success();
}

static Value findRoot(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// Whether what is between a load and its use may write what it reads.
bool KernelMapper::isOverwritten(Operation *load, Operation *user) {
  llvm::SetVector<Value> read;
  load->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()))
        read.insert(findRoot(operand));
  });
  for (Operation *op = load->getNextNode(); op && op != user;
       op = op->getNextNode()) {
    if (isOfHost(op) || onlyReads(op))
      continue;
    bool touches = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        touches |= isa<MemRefType>(operand.getType()) &&
                   read.contains(findRoot(operand));
    });
    if (touches)
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
           llvm::any_of(op.getResults(), [](Value result) {
             return !result.use_empty();
           });
  });
}

/// Runs operations by one thread.
LogicalResult KernelMapper::launchSequence(ArrayRef<Operation *> ops) {
  if (ops.empty())
    return success();
  IndexBuilder b(ops.front()->getLoc(), ops.front());
  gpu::LaunchOp op =
      launch(b, b.index(1), /*threads=*/1, [](IndexBuilder &, Value) {});
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

LogicalResult KernelMapper::launchApart() {
  SmallVector<Operation *> ops = llvm::map_to_vector(
      body, [](Operation &op) { return &op; });
  SmallVector<Operation *> sequence;
  for (Operation *op : ops) {
    if (isa<linalg::LinalgOp, scf::ParallelOp>(op) || isOfHost(op)) {
      if (failed(launchSequence(sequence)))
        return failure();
      sequence.clear();
    }
    if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      SmallVector<unsigned> parallel = findParallelDims(structured);
      Location loc = op->getLoc();
      Operation *before = op->getPrevNode(), *after = op->getNextNode();
      FailureOr<SmallVector<scf::ForOp>> loops =
          lowerToLoops(rewriter, structured, parallel);
      if (failed(loops))
        return emitError(loc) << "has no loops";
      if (!parallel.empty()) {
        loops->truncate(parallel.size());
        launchLoops(std::move(*loops));
        continue;
      }
      // One thread for all that it was lowered to.
      llvm::SetVector<Operation *> lowered;
      for (Operation *next = before ? before->getNextNode() : &body.front();
           next != after; next = next->getNextNode())
        if (!isMemoryEffectFree(next) || next->getNumRegions() > 0 ||
            llvm::any_of(next->getOperands(), [&](Value operand) {
              return lowered.contains(operand.getDefiningOp());
            }))
          lowered.insert(next);
      if (failed(launchSequence(lowered.getArrayRef())))
        return failure();
    } else if (auto parallel = dyn_cast<scf::ParallelOp>(op);
               parallel && parallel.getInitVals().empty()) {
      launchParallel(parallel);
    } else if (!isOfHost(op) && !onlyReads(op)) {
      sequence.push_back(op);
    }
  }
  return launchSequence(sequence);
}

/// Everything but allocation by one thread: memory is taken before and freed
/// after.
LogicalResult KernelMapper::launchAtOnce() {
  for (linalg::LinalgOp op :
       llvm::to_vector(body.getOps<linalg::LinalgOp>()))
    if (failed(lowerToLoops(rewriter, op, {})))
      return op.emitOpError() << "has no loops";
  SmallVector<Operation *> sequence;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    bool ofHost = !llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return isLoaded(operand) ||
             (from && llvm::is_contained(sequence, from));
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
  SmallVector<gpu::LaunchOp> launches(body.getOps<gpu::LaunchOp>());
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
  for (Value value : llvm::reverse(loaded.getArrayRef()))
    if (Operation *op = value.getDefiningOp();
        op->getBlock() == &body && op->use_empty() && op->getNumResults() == 1)
      op->erase();
}

LogicalResult KernelMapper::map() {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError()
           << "expected one block in a kernel of a device";
  if (failed(normalize()))
    return failure();
  if (needsOneThread())
    return launchAtOnce();
  if (failed(launchApart()))
    return failure();
  loadInside();
  return success();
}

namespace {
struct RelaxMapKernelsToGPUPass
    : relax::impl::RelaxMapKernelsToGPUPassBase<RelaxMapKernelsToGPUPass> {
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (!RelaxDialect::DeviceAttrHelper(&getContext()).isAttrPresent(kernel) ||
        kernel.isExternal())
      return;
    if (failed(KernelMapper(kernel).map()))
      signalPassFailure();
  }
};
} // namespace
