//===- RelaxTransformOps.cpp - Schedules of Relax ---------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What users do who know better than the compiler: find calls, decide what
// becomes one kernel, and which class of kernels emits it.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/TransformOps/RelaxTransformOps.h"

#include "Calls.h"

#include "relax-mlir/Codegen/Kernels.h"
#include "relax-mlir/Fusion/Outline.h"
#include "relax-mlir/IR/Inliner.h"
#include "relax-mlir/IR/Schedule.h"
#include "relax-mlir/IR/ShapeScope.h"
#include "relax-mlir/TransformOps/Registration.h"
#include "relax-mlir/Transforms/InlineCall.h"

#include "mlir/Dialect/Transform/PDLExtension/PDLExtensionOps.h"
#include "mlir/Dialect/Transform/Utils/DiagnosedSilenceableFailure.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::relax;

using Failure = DiagnosedSilenceableFailure;

/// A silenceable error at an operation of the program, with a note at the
/// operation of the schedule.
static Failure failAt(Operation *op, Operation *step, const Twine &message) {
  Failure failure = emitSilenceableFailure(op, message);
  failure.attachNote(step->getLoc()) << "asked for here";
  return failure;
}

/// The name of an operation in quotes.
static std::string quote(Operation *op) {
  return ("'" + op->getName().getStringRef() + "'").str();
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

LogicalResult MatchCallsOp::verify() {
  if (std::optional<StringRef> pattern = getPattern();
      pattern && !findOpPattern(*pattern))
    return emitOpError() << "expected 'pattern' to be a kind of kernel, one of "
                         << listOpPatterns() << ", but got '" << *pattern
                         << "'";
  if (std::optional<StringRef> dims = getDims();
      dims && *dims != "static" && *dims != "symbolic")
    return emitOpError()
           << "expected 'dims' to be static or symbolic, but got '" << *dims
           << "'";
  return success();
}

/// What a call computes by its name: that of the kernel, or of the operator.
static StringRef getCallName(Operation *call) {
  auto kernel = dyn_cast<CallTIROp>(call);
  return kernel ? kernel.getCallee() : call->getName().stripDialect();
}

/// Whether the results of a call are as an operation asks.
static bool hasResults(Operation *call, MatchCallsOp asked) {
  if (!asked.getRank() && !asked.getDtype() && !asked.getDims())
    return true;
  return areTensors(
      call->getResult(0).getType(), [&](TensorStructInfoType type) {
        return (!asked.getRank() ||
                type.getNdim() == static_cast<int64_t>(*asked.getRank())) &&
               (!asked.getDtype() || type.getDtype() == *asked.getDtype()) &&
               (!asked.getDims() ||
                isStatic(type) == (*asked.getDims() == "static"));
      });
}

/// Whether a call is of a kernel of the kind that an operation asks for.
/// Failure where the kernel states a kind that is none.
static FailureOr<bool> hasPattern(Operation *call, MatchCallsOp asked) {
  if (!asked.getPattern())
    return true;
  auto kernel = dyn_cast_or_null<func::FuncOp>(
      isa<CallTIROp>(call) ? findCallee(call) : nullptr);
  if (!kernel)
    return false;
  FailureOr<OpPattern> pattern = getOpPattern(kernel);
  if (failed(pattern))
    return failure();
  return getOpPatternName(*pattern) == *asked.getPattern();
}

Failure MatchCallsOp::apply(transform::TransformRewriter &,
                            transform::TransformResults &results,
                            transform::TransformState &state) {
  llvm::SetVector<Operation *> calls;
  bool isValid = true;
  auto visit = [&](Operation *op) {
    if (!isa<CallTIROp>(op) && !isOperator(op))
      return;
    StringRef name = getCallName(op);
    if (getKernel() && name != *getKernel() &&
        name.rtrim("0123456789") != *getKernel())
      return;
    if (!hasResults(op, *this))
      return;
    FailureOr<bool> isOfKind = hasPattern(op, *this);
    if (failed(isOfKind))
      isValid = false;
    else if (*isOfKind)
      calls.insert(op);
  };
  for (Operation *root : state.getPayloadOps(getRoot()))
    root->walk<WalkOrder::PreOrder>(visit);
  if (!isValid) // the kernel has the error
    return Failure::definiteFailure();
  results.set(cast<OpResult>(getCalls()), calls.getArrayRef());
  return Failure::success();
}

Failure GetCalleeOp::apply(transform::TransformRewriter &,
                           transform::TransformResults &results,
                           transform::TransformState &state) {
  llvm::SetVector<Operation *> callees;
  for (Operation *call : state.getPayloadOps(getCalls())) {
    Operation *callee = findCallee(call);
    if (!callee)
      return failAt(call, *this,
                    "expected the call of a kernel or function of the module, "
                    "but got " +
                        quote(call));
    callees.insert(callee);
  }
  results.set(cast<OpResult>(getFunctions()), callees.getArrayRef());
  return Failure::success();
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {
/// Bindings that are to become one kernel.
struct Bindings {
  SmallVector<Operation *> ops; // in the order of the block
  /// What comes between them and needs one of them, in order.
  SmallVector<Operation *> after;
};
} // namespace

/// Whether a kernel may compute what an operation does.
static bool isFusible(Operation *op) {
  return isa<CallTIROp, ConstantOp, GetItemOp, PrimValueOp, ShapeOp, TupleOp>(
             op) ||
         isOperator(op);
}

static Failure verifyMembers(ArrayRef<Operation *> members, Operation *step) {
  for (Operation *op : members) {
    if (!isFusible(op))
      return failAt(op, step,
                    "expected operators, calls of kernels, tuples and "
                    "constants to fuse, but got " +
                        quote(op));
    if (!isa<DataflowOp>(op->getParentOp()))
      return failAt(op, step,
                    "expected a binding of a dataflow block to fuse, but got "
                    "one of " +
                        quote(op->getParentOp()));
    if (op->getBlock() != members.front()->getBlock()) {
      Failure failure = failAt(op, step,
                               "expected bindings of one dataflow block to "
                               "fuse, but got one of another block");
      failure.attachNote(members.front()->getLoc()) << "the first one is here";
      return failure;
    }
  }
  return Failure::success();
}

/// Adds what takes fields of their results: that of the last call only where
/// another binding needs them.
static void addFields(llvm::SetVector<Operation *> &members, Operation *last) {
  for (Operation *op : llvm::to_vector(members))
    for (Operation *user : op->getUsers())
      if (isa<GetItemOp>(user) && user->getBlock() == op->getBlock() &&
          (op != last || llvm::any_of(user->getUsers(), [&](Operation *other) {
             return members.contains(other);
           })))
        members.insert(user);
}

static bool needs(Operation *op, const llvm::SetVector<Operation *> &others) {
  WalkResult result = op->walk([&](Operation *inner) {
    bool found = llvm::any_of(inner->getOperands(), [&](Value operand) {
      return others.contains(operand.getDefiningOp());
    });
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Finds what has to come after the bindings: they must not need it, and
/// nothing moves over an update in place.
static Failure findAfter(const llvm::SetVector<Operation *> &members,
                         Bindings &bindings, Operation *step) {
  llvm::SetVector<Operation *> after;
  Operation *first = bindings.ops.front(), *last = bindings.ops.back();
  for (Operation *op = first; op != last->getNextNode();
       op = op->getNextNode()) {
    if (isa<CallTIRInplaceOp, CallInplacePackedOp>(op))
      return failAt(op, step,
                    "expected no update in place between the bindings to "
                    "fuse, but got " +
                        quote(op));
    if (!members.contains(op)) {
      if (!needs(op, members) && !needs(op, after))
        continue;
      // Others may use its variables without needing it.
      if (isa<MatchCastOp>(op))
        return failAt(op, step,
                      "expected nothing that binds shape variables between the "
                      "bindings to fuse and needs one of them, but got " +
                          quote(op));
      after.insert(op);
    } else if (needs(op, after)) {
      Failure failure =
          failAt(op, step,
                 "expected bindings that are all that lies between them to "
                 "fuse, but got one that needs the result of another");
      for (Operation *between : after)
        if (llvm::is_contained(between->getUsers(), op))
          failure.attachNote(between->getLoc())
              << "which is not to be fused, and needs one that is";
      return failure;
    }
  }
  bindings.after = after.takeVector();
  return Failure::success();
}

static Failure collectBindings(llvm::SetVector<Operation *> members,
                               Bindings &bindings, Operation *step) {
  if (members.empty())
    return emitSilenceableFailure(step,
                                  "expected bindings to fuse, but got none");
  if (Failure failure = verifyMembers(members.getArrayRef(), step);
      !failure.succeeded())
    return failure;
  auto isBefore = [](Operation *lhs, Operation *rhs) {
    return lhs->isBeforeInBlock(rhs);
  };
  addFields(members, *llvm::max_element(members, isBefore));
  bindings.ops = llvm::to_vector(members);
  llvm::sort(bindings.ops, isBefore);
  return findAfter(members, bindings, step);
}

void FuseBindingsOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::consumesHandle(getBindingsMutable(), effects);
  transform::producesHandle(getOperation()->getOpResults(), effects);
  transform::modifiesPayload(effects);
}

Failure FuseBindingsOp::apply(transform::TransformRewriter &rewriter,
                              transform::TransformResults &results,
                              transform::TransformState &state) {
  llvm::SetVector<Operation *> members;
  members.insert_range(state.getPayloadOps(getBindings()));
  Bindings bindings;
  Failure failure = collectBindings(std::move(members), bindings, *this);
  if (!failure.succeeded())
    return failure;
  auto module = bindings.ops.front()->getParentOfType<ModuleOp>();
  if (!module)
    return failAt(bindings.ops.front(), *this,
                  "expected a function in a module, but got one without");
  Operation *last = bindings.ops.back();
  for (Operation *op : llvm::reverse(bindings.after))
    rewriter.moveOpAfter(op, last);
  GroupOutliner outliner(module);
  CallOp call = outliner.outline(bindings.ops, rewriter);
  results.set(cast<OpResult>(getFunction()), {findCallee(call)});
  results.set(cast<OpResult>(getCall()), {call.getOperation()});
  return Failure::success();
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

void SplitFusedOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::consumesHandle(getCallsMutable(), effects);
  transform::producesHandle(getOperation()->getOpResults(), effects);
  transform::modifiesPayload(effects);
}

/// The fused function that an operation calls; null where there is none.
static FuncOp findFused(Operation *op) {
  auto call = dyn_cast<relax::CallOp>(op);
  auto callee = dyn_cast_or_null<FuncOp>(call ? findCallee(call) : nullptr);
  bool isFused = callee && callee.isPrivate() && isPrimitive(callee) &&
                 mayInlineFused(callee) && !callee->isAncestor(call) &&
                 fitsAt(call, callee);
  return isFused ? callee : FuncOp();
}

/// Puts the body of the callee in the place of a call, and adds its operations.
static void splitCall(relax::CallOp call, FuncOp callee, RewriterBase &rewriter,
                      SmallVectorImpl<Operation *> &bindings) {
  llvm::StringSet<> taken;
  collectNames(call->getParentOfType<FuncOp>(), taken);
  SmallVector<Value> args(call.getArgs());
  Operation *before = call->getPrevNode(), *behind = call->getNextNode();
  Block *block = call->getBlock();
  inlineCall(call, callee, rewriter, taken);
  for (Value arg : args)
    if (auto shape = arg.getDefiningOp<ShapeOp>();
        shape && shape->use_empty()) {
      if (shape == before)
        before = shape->getPrevNode();
      llvm::erase(bindings, shape.getOperation());
      rewriter.eraseOp(shape);
    }
  Operation *first = before ? before->getNextNode() : &block->front();
  for (Operation *op = first; op != behind; op = op->getNextNode())
    bindings.push_back(op);
}

Failure SplitFusedOp::apply(transform::TransformRewriter &rewriter,
                            transform::TransformResults &results,
                            transform::TransformState &state) {
  llvm::SetVector<Operation *> calls, callees;
  calls.insert_range(state.getPayloadOps(getCalls()));
  for (Operation *call : calls) {
    FuncOp callee = findFused(call);
    if (!callee)
      return failAt(call, *this,
                    "expected the call of a fused function, private and with "
                    "'Primitive', but got " +
                        quote(call));
    callees.insert(callee);
  }
  SmallVector<Operation *> bindings;
  for (Operation *call : calls)
    splitCall(cast<relax::CallOp>(call), findFused(call), rewriter, bindings);
  for (Operation *callee : callees)
    if (SymbolTable::symbolKnownUseEmpty(callee, callee->getParentOp())) {
      // One of the calls may have been in it.
      llvm::erase_if(bindings,
                     [&](Operation *op) { return callee->isAncestor(op); });
      rewriter.eraseOp(callee);
    }
  results.set(cast<OpResult>(getBindings()), bindings);
  return Failure::success();
}

//===----------------------------------------------------------------------===//
// Classes of kernels
//===----------------------------------------------------------------------===//

LogicalResult SetKernelOp::verify() {
  if (!isKernelClass(getKernelClass()))
    return emitOpError() << "expected a class of kernels, one of "
                         << listKernelClasses() << ", but got '"
                         << getKernelClass() << "'";
  std::optional<ArrayRef<int64_t>> tile = getTile();
  if (!tile)
    return success();
  if (getKernelClass() == KernelSchedule::kNoClass)
    return emitOpError() << "expected no tile for the class '"
                         << getKernelClass() << "', but got one";
  if (tile->empty() ||
      llvm::any_of(*tile, [](int64_t size) { return size <= 0; }))
    return emitOpError() << "expected a tile of positive numbers, but got "
                         << getTileAttr();
  return success();
}

void SetKernelOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  transform::onlyReadsHandle(getKernelsMutable(), effects);
  transform::modifiesPayload(effects);
}

/// Whether an operation is a kernel, or becomes one.
static bool isKernel(Operation *op) {
  if (auto function = dyn_cast<FuncOp>(op))
    return isPrimitive(function);
  return isa<func::FuncOp>(op);
}

Failure SetKernelOp::apply(transform::TransformRewriter &rewriter,
                           transform::TransformResults &,
                           transform::TransformState &state) {
  for (Operation *op : state.getPayloadOps(getKernels()))
    if (!isKernel(op))
      return failAt(op, *this,
                    "expected a kernel, or a fused function with 'Primitive', "
                    "but got " +
                        quote(op));
  KernelSchedule schedule = {getKernelClass(),
                             getTile().value_or(ArrayRef<int64_t>())};
  for (Operation *op : state.getPayloadOps(getKernels()))
    rewriter.modifyOpInPlace(op, [&] { schedule.set(op); });
  return Failure::success();
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
class RelaxTransformExtension
    : public transform::TransformDialectExtension<RelaxTransformExtension> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RelaxTransformExtension)

  using Base::Base;

  void init() {
    declareGeneratedDialect<RelaxDialect>();
    registerTransformOps<
#define GET_OP_LIST
#include "relax-mlir/TransformOps/RelaxTransformOps.cpp.inc"
        >();
    addDialectDataInitializer<transform::PDLMatchHooks>(addPDLConstraints);
  }
};
} // namespace

void mlir::relax::registerTransformExtension(DialectRegistry &registry) {
  registry.addExtensions<RelaxTransformExtension>();
}

#define GET_OP_CLASSES
#include "relax-mlir/TransformOps/RelaxTransformOps.cpp.inc"
