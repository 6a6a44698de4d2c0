//===- Alias.cpp - Values that may share memory -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over a function in program order gives each value its roots.
//
// - Operators, constants and the call_tir family allocate: a root of their own.
//   Tensors in one storage share its root, as they may lie over each other.
// - Casts, tuples, blocks and branches pass on the roots of what they are
// given.
// - A call may return what it is given, and what a closure captured, unless it
//   is of kernels. An impure one may also return whatever another one was given
//   before.
// - Parameters may share memory among each other and with what impure calls
//   return; those of a closure with all that is there around it.
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Alias.h"

#include "relax-mlir/IR/Purity.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::relax;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Tuples that nest deeper are not distinguished field by field.
static constexpr unsigned kMaxMergeDepth = 4;

static SmallVector<unsigned> unite(ArrayRef<unsigned> lhs,
                                   ArrayRef<unsigned> rhs) {
  SmallVector<unsigned> result;
  std::set_union(lhs.begin(), lhs.end(), rhs.begin(), rhs.end(),
                 std::back_inserter(result));
  return result;
}

const AliasInfo::Node *AliasInfo::makeNode(Roots roots,
                                           ArrayRef<const Node *> fields) {
  for (const Node *field : fields)
    roots = unite(roots, field->roots);
  nodes.push_back({std::move(roots), llvm::to_vector(fields)});
  return &nodes.back();
}

/// A new root, for a tuple one for each field. Shapes and primitive values are
/// immutable.
const AliasInfo::Node *AliasInfo::makeRoot(Root::Kind kind, Value value,
                                           Type type) {
  if (isa<ShapeStructInfoType, PrimStructInfoType>(type))
    return makeNode({});
  if (auto tuple = dyn_cast<TupleStructInfoType>(type)) {
    SmallVector<const Node *> fields;
    for (Type field : tuple.getFields())
      fields.push_back(makeRoot(kind, value, field));
    return makeNode({}, fields);
  }
  roots.push_back({kind, value});
  return makeNode({static_cast<unsigned>(roots.size() - 1)});
}

const AliasInfo::Node *AliasInfo::merge(const Node *lhs, const Node *rhs,
                                        unsigned depth) {
  if (lhs == rhs)
    return lhs;
  SmallVector<const Node *> fields;
  if (lhs->fields.size() == rhs->fields.size() && depth < kMaxMergeDepth)
    for (auto [l, r] : llvm::zip(lhs->fields, rhs->fields))
      fields.push_back(merge(l, r, depth + 1));
  return makeNode(unite(lhs->roots, rhs->roots), fields);
}

const AliasInfo::Node *AliasInfo::lookup(Value value) const {
  static const Node none;
  auto found = references.find(value);
  return found == references.end() ? &none : found->second;
}

const AliasInfo::Node *AliasInfo::lookupUse(OpOperand &use) const {
  const Node *node = lookup(use.get());
  if (auto item = dyn_cast<GetItemOp>(use.getOwner());
      item && item.getIndexAttr())
    if (item.getIndex() < node->fields.size())
      return node->fields[item.getIndex()];
  return node;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

AliasInfo::AliasInfo(FuncOp func) {
  for (BlockArgument argument : func.getArguments())
    references[argument] =
        makeRoot(Root::Parameter, argument, argument.getType());
  visitBlock(func.getBody().front());
}

void AliasInfo::visitBlock(Block &block) {
  for (Operation &op : block)
    visitOp(op);
}

/// The union of all operands, and memory that comes up here.
const AliasInfo::Node *AliasInfo::visitCall(Operation &op, bool isPure) {
  Value result = op.getResult(0);
  if (RelaxDialect::FreshAttrHelper(op.getContext()).getAttr(&op))
    return makeRoot(Root::Fresh, result, result.getType());
  const Node *node =
      makeRoot(isPure ? Root::Fresh : Root::Unknown, result, result.getType());
  for (Value operand : op.getOperands()) {
    const Node *given = lookup(operand);
    if (!isPure)
      for (unsigned root : given->roots)
        roots[root].hasEscaped = true;
    node = makeNode(unite(node->roots, given->roots));
  }
  return node;
}

const AliasInfo::Node *AliasInfo::visitInplaceCall(CallTIRInplaceOp op) {
  SmallVector<const Node *> outputs;
  for (auto [index, type] :
       llvm::zip(op.getInplaceIndices(), op.getOutputTypes()))
    outputs.push_back(index < 0 ? makeRoot(Root::Fresh, op.getResult(), type)
                                : lookup(op.getArgHolding(index)));
  if (isa<TupleStructInfoType>(op.getResult().getType()))
    return makeNode({}, outputs);
  return outputs.empty() ? makeNode({}) : outputs.front();
}

/// The memory of its storage, or memory that comes up here.
const AliasInfo::Node *AliasInfo::visitAlloc(AllocTensorOp op) {
  Roots held;
  for (Value operand : op->getOperands())
    held = unite(held, lookup(operand)->roots);
  Value result = op->getResult(0);
  return held.empty() ? makeRoot(Root::Fresh, result, result.getType())
                      : makeNode(std::move(held));
}

void AliasInfo::visitClosure(ClosureOp closure) {
  if (closure.getBody().getNumArguments() == 0)
    return;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(closure.getBody(), captured);
  Roots held;
  for (Value value : captured)
    held = unite(held, lookup(value)->roots);
  const Node *node = makeNode(held);
  for (Value result : closure->getResults())
    references[result] = node;
  references[closure.getSelf()] = node;
  for (BlockArgument param : closure.getParams())
    references[param] = makeRoot(Root::Parameter, param, param.getType());
  visitBlock(closure.getBody().front());
}

/// Null where there is none, which is for other verifiers to report.
static Value terminatorOperand(Region &region, unsigned index) {
  if (region.empty() || region.front().empty())
    return {};
  Operation &terminator = region.front().back();
  return index < terminator.getNumOperands() ? terminator.getOperand(index)
                                             : Value();
}

/// Whether the operands and regions that the rules below take are there. An
/// operation without them says nothing; its verifier reports it.
static bool isComplete(Operation &op) {
  if (isa<ViewLikeOpInterface, GetItemOp>(op))
    return op.getNumOperands() == 1;
  if (isa<DataflowOp, SeqOp, ClosureOp>(op))
    return op.getNumRegions() == 1;
  return !isa<IfOp>(op) || op.getNumRegions() == 2;
}

void AliasInfo::visitOp(Operation &op) {
  if (!isComplete(op))
    return;
  if (auto closure = dyn_cast<ClosureOp>(op))
    return visitClosure(closure);
  for (Region &region : op.getRegions())
    for (Block &block : region)
      visitBlock(block);
  if (isa<DataflowOp, SeqOp>(op)) {
    for (OpResult result : op.getResults())
      references[result] =
          lookup(terminatorOperand(op.getRegion(0), result.getResultNumber()));
    return;
  }
  if (op.getNumResults() == 0)
    return;
  auto fieldsOf = [&](OperandRange operands) {
    return llvm::map_to_vector(operands, [&](Value v) { return lookup(v); });
  };
  const Node *node =
      llvm::TypeSwitch<Operation *, const Node *>(&op)
          .Case([&](IfOp branch) {
            return merge(lookup(terminatorOperand(branch.getThenRegion(), 0)),
                         lookup(terminatorOperand(branch.getElseRegion(), 0)));
          })
          .Case([&](ViewLikeOpInterface view) {
            return lookup(view.getViewSource());
          })
          .Case([&](TupleOp tuple) {
            return makeNode({}, fieldsOf(tuple->getOperands()));
          })
          .Case(
              [&](GetItemOp item) { return lookupUse(item->getOpOperand(0)); })
          .Case<CallOp, CallPackedOp>(
              [&](auto call) { return visitCall(op, call.isPureOp()); })
          .Case<CallPurePackedOp, CallInplacePackedOp>(
              [&](auto) { return visitCall(op, /*isPure=*/true); })
          .Case<MakeClosureOp, ADTMakeOp>([&](auto holder) {
            return makeNode(
                makeNode({}, fieldsOf(holder->getOperands()))->roots);
          })
          .Case([&](AllocTensorOp alloc) { return visitAlloc(alloc); })
          .Case([&](CallTIRInplaceOp call) { return visitInplaceCall(call); })
          .Default([&](Operation *op) {
            bool isOurs = isa_and_nonnull<RelaxDialect>(op->getDialect());
            return isOurs ? makeRoot(Root::Fresh, op->getResult(0),
                                     op->getResult(0).getType())
                          : visitCall(*op, /*isPure=*/true);
          });
  for (Value result : op.getResults())
    references[result] = node;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The function or closure in whose body a value is defined. The block of an
/// argument may be empty where that is for another verifier to report.
static Operation *functionOf(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  return isa<FuncOp, ClosureOp>(parent) ? parent : getFunctionAround(parent);
}

bool AliasInfo::mayAlias(unsigned lhs, unsigned rhs) const {
  if (lhs == rhs)
    return true;
  const Root *l = &roots[lhs], *r = &roots[rhs];
  if (l->kind == Root::Fresh)
    std::swap(l, r);
  if (l->kind == Root::Fresh)
    return false;
  if (r->kind != Root::Fresh)
    return true;
  // Fresh memory may be what a parameter refers to where it was there before
  // the call, and what an unknown value refers to where it has escaped.
  if (l->kind == Root::Unknown)
    return r->hasEscaped;
  return !functionOf(l->value)->isAncestor(functionOf(r->value));
}

bool AliasInfo::mayAlias(const Node *lhs, const Node *rhs) const {
  return llvm::any_of(lhs->roots, [&](unsigned l) {
    return llvm::any_of(rhs->roots, [&](unsigned r) { return mayAlias(l, r); });
  });
}

bool AliasInfo::mayAlias(Value lhs, Value rhs) const {
  return mayAlias(lookup(lhs), lookup(rhs));
}

bool AliasInfo::maySee(OpOperand &use, Value updated) const {
  return mayAlias(lookupUse(use), lookup(updated));
}

bool AliasInfo::shareRoot(Value lhs, Value rhs) const {
  return llvm::any_of(lookup(lhs)->roots, [&](unsigned root) {
    return llvm::is_contained(lookup(rhs)->roots, root);
  });
}

Value AliasInfo::getOutsideSource(Value value, Operation *function) const {
  for (unsigned root : lookup(value)->roots)
    if (roots[root].kind != Root::Fresh ||
        functionOf(roots[root].value) != function)
      return roots[root].value;
  return {};
}

//===----------------------------------------------------------------------===//
// Updates in place
//===----------------------------------------------------------------------===//

bool mlir::relax::mayUpdateTensors(Operation *op) {
  auto purity = dyn_cast<PurityOpInterface>(op);
  return isa<CallTIRInplaceOp, CallInplacePackedOp>(op) ||
         (purity && !purity.isPureOp());
}

SmallVector<Value> mlir::relax::getUpdatedValues(Operation *op) {
  SmallVector<Value> values;
  if (auto call = dyn_cast<CallTIRInplaceOp>(op)) {
    for (int64_t index : call.getInplaceIndices())
      if (Value arg = index < 0 ? Value() : call.getArgHolding(index))
        values.push_back(arg);
  } else if (auto call = dyn_cast<CallInplacePackedOp>(op)) {
    int64_t numArgs = call.getArgs().size();
    for (int64_t index : call.getInplaceIndices())
      if (index >= 0 && index < numArgs)
        values.push_back(call.getArgs()[index]);
  }
  return values;
}

/// Whether a call is one that may be looked at: its verifier has reported all
/// else.
static bool isVerified(Operation *op) {
  auto call = dyn_cast<CallTIRInplaceOp>(op);
  if (!call) {
    auto packed = cast<CallInplacePackedOp>(op);
    return packed.getInplaceIndicesAttr() && hasValidSegments(packed);
  }
  Type result = call.getResult().getType();
  auto tuple = dyn_cast<TupleStructInfoType>(result);
  bool hasTensors = tuple ? llvm::all_of(tuple.getFields(),
                                         llvm::IsaPred<TensorStructInfoType>)
                          : isa<TensorStructInfoType>(result);
  return hasTensors && hasValidSegments(call) && call.getInplaceIndicesAttr() &&
         call.getInplaceIndices().size() == call.getOutputTypes().size();
}

namespace {
/// Checks one update against all that runs after it.
class UpdateVerifier {
public:
  UpdateVerifier(const AliasInfo &aliases, Operation *op)
      : aliases(aliases), op(op), function(getFunctionAround(op)) {}

  LogicalResult verify(Value updated);

private:
  LogicalResult verifyOwned(Value updated);
  LogicalResult verifyOtherOperands(Value updated);
  LogicalResult verifyLaterUses(Value updated);
  bool isBefore(Value value);
  InFlightDiagnostic emit(Value updated);

  const AliasInfo &aliases;
  Operation *op;
  Operation *function;
};
} // namespace

InFlightDiagnostic UpdateVerifier::emit(Value updated) {
  // A packed function may be the first operand, of any type where it is wrong.
  auto call = dyn_cast<CallInplacePackedOp>(op);
  OperandRange args = call ? call.getArgs() : OperandRange(op->getOperands());
  unsigned index = llvm::find(args, updated).getIndex();
  return op->emitOpError() << "updates argument " << index << " in place, ";
}

/// In a pure function an updated value may not be known elsewhere. A value that
/// a closure captured is known to its next call.
LogicalResult UpdateVerifier::verifyOwned(Value updated) {
  Value source = aliases.getOutsideSource(updated, function);
  if (!source)
    return success();
  if (functionOf(source) != function)
    return emit(updated) << "but a closure does not own what it captures";
  if (!isPureFunction(function))
    return success();
  InFlightDiagnostic diag = emit(updated);
  diag << "but it may be ";
  auto argument = dyn_cast<BlockArgument>(source);
  if (!argument)
    diag << "memory that others know";
  else if (auto func = dyn_cast<FuncOp>(function))
    diag << func.describeArgument(argument.getArgNumber());
  else
    diag << cast<ClosureOp>(function).describeArgument(argument.getArgNumber() -
                                                       1);
  diag << " of a pure function, whose caller would see it";
  return diag;
}

/// Other arguments of the call are not to be the tensor that is updated.
LogicalResult UpdateVerifier::verifyOtherOperands(Value updated) {
  unsigned count = 0;
  for (Value operand : op->getOperands()) {
    count += operand == updated;
    if (count > 1 ||
        (operand != updated && aliases.shareRoot(operand, updated)))
      return emit(updated) << "but another argument may be the same tensor";
  }
  return success();
}

/// Whether a value was there before the update; what comes up after it refers
/// to what was updated.
bool UpdateVerifier::isBefore(Value value) {
  Operation *definition = value.getDefiningOp();
  if (!definition) // the arguments of the function, or of a closure
    return value.getParentBlock()->getParentOp()->isAncestor(op);
  if (definition == op || definition->isAncestor(op))
    return false;
  // In the block where the paths from both upwards meet.
  Operation *ancestor = definition->getBlock()->findAncestorOpInBlock(*op);
  if (ancestor)
    return definition->isBeforeInBlock(ancestor);
  return false; // in a region after the update
}

/// Whether `user` cannot run after `op`, because it is in the other branch or
/// in front of it.
static bool runsAfter(Operation *user, Operation *op) {
  for (Operation *above = op; above; above = above->getParentOp()) {
    Operation *other = above->getBlock()->findAncestorOpInBlock(*user);
    if (!other)
      continue;
    return other != above && above->isBeforeInBlock(other);
  }
  return false;
}

LogicalResult UpdateVerifier::verifyLaterUses(Value updated) {
  Operation *seenAt = nullptr;
  function->walk<WalkOrder::PreOrder>([&](Operation *user) {
    if (user == op || user == function || !runsAfter(user, op))
      return WalkResult::advance();
    if (isa<KillOp>(user)) // drops a reference and does not look at the tensor
      return WalkResult::advance();
    for (OpOperand &use : user->getOpOperands()) {
      if (!isBefore(use.get()) || !aliases.maySee(use, updated))
        continue;
      seenAt = user;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (!seenAt)
    return success();
  InFlightDiagnostic diag = emit(updated);
  diag << "but it, or what may alias it, is used later";
  diag.attachNote(seenAt->getLoc()) << "it is used here";
  return diag;
}

LogicalResult UpdateVerifier::verify(Value updated) {
  if (failed(verifyOwned(updated)) || failed(verifyOtherOperands(updated)))
    return failure();
  return verifyLaterUses(updated);
}

LogicalResult mlir::relax::verifyInplaceUses(FuncOp func) {
  SmallVector<Operation *> updates;
  func.walk([&](Operation *op) {
    if (isa<CallTIRInplaceOp, CallInplacePackedOp>(op))
      updates.push_back(op);
  });
  if (updates.empty() || !llvm::all_of(updates, isVerified))
    return success();
  AliasInfo aliases(func);
  for (Operation *op : updates)
    for (Value updated : getUpdatedValues(op))
      if (failed(UpdateVerifier(aliases, op).verify(updated)))
        return failure();
  return success();
}
