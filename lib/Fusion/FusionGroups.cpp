//===- FusionGroups.cpp - Groups of calls for one kernel --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node is a call of a kernel, with the operations that take fields of its
// result, or any other operation of the block. The immediate post-dominator of
// a node is the first one that all of its results flow into. A node and
// everything between it and its post-dominator may become one kernel: only the
// results of the post-dominator are used outside. Groups only grow, along the
// tree of post-dominators. At last, loops over the same elements are joined
// whose results are used outside, too: one nest writes several results.
//
// Whether a set of nodes is worth one kernel (`isWorthIt`):
//
// - A matrix product or a sliding window takes elementwise consumers as its
//   epilogue, while the sums are in registers. Slices may come last, but of a
//   convolution: an element is stored to the slice that contains it. Operands
//   whose dimensions are permuted are read in that order, and quantized
//   constants are unpacked.
// - Row kernels, such as a*x+b, softmax and then a normalization, are one
//   kernel where they share the iteration space of rows: a row stays in the
//   cache.
// - A normalization of groups of channels, whose result is collapsed, takes
//   elementwise consumers: they are computed over its expanded space.
// - A kernel of loops over elements, such as a scatter, reads a slice where it
//   lies.
// - Otherwise a producer needs a single consumer that uses each element once,
//   so that the loops can be fused. Where elements are used several times, by a
//   broadcast, recomputing them has to be cheap.
//
// The epilogue of a product does not end with a conversion to wider elements,
// such as a dequantization, that its consumer can do: there is less to write.
//
// Some kernels have no vectorized loops: scatters, and those of parts of
// tensors. They only take cheap producers.
//
//===----------------------------------------------------------------------===//

#include "FusionGroups.h"

#include "relax-mlir/Analysis/Dequantization.h"
#include "relax-mlir/IR/Schedule.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace mlir::relax;

FailureOr<const KernelFacts *> KernelFactsCache::lookup(StringRef callee) {
  auto kernel = symbols.lookup<func::FuncOp>(callee);
  if (!kernel)
    return nullptr;
  std::unique_ptr<KernelFacts> &known = facts[kernel];
  if (known)
    return known.get();
  FailureOr<OpPattern> pattern = getOpPattern(kernel);
  if (failed(pattern))
    return failure();
  known = std::make_unique<KernelFacts>(kernel);
  known->pattern = *pattern;
  // Who asks for a class means the kernel as it is.
  if (KernelSchedule::get(kernel))
    known->isMergeable = false;
  return known.get();
}

namespace {
/// A use of a result of one node by another one.
struct Edge {
  unsigned from, to;
  unsigned result; // of the kernel
  unsigned param;  // of the kernel that reads
};

struct Node {
  SmallVector<Operation *, 1> ops; // the call, then get_items
  /// Null for what is not to be fused.
  const KernelFacts *facts = nullptr;
  /// The number of updates in place before it: none may come to lie between a
  /// node and where it is moved to.
  unsigned segment = 0;
  SmallVector<unsigned> users;
  bool isUsedOutside = false;
  SmallVector<Edge> inputs;
  /// Itself where all paths lead out of the block.
  unsigned postDominator = 0;
  unsigned depth = 0;
};

class Partitioner {
public:
  Partitioner(Block &block, KernelFactsCache &kernels, unsigned maxCalls)
      : block(block), kernels(kernels), maxCalls(maxCalls) {}

  LogicalResult run();
  SmallVector<FusionGroup> getGroups();

private:
  using Group = llvm::SmallSetVector<unsigned, 8>;

  LogicalResult makeNodes();
  void connect(unsigned user, OpOperand &use);
  void findPostDominators();
  unsigned findCommon(unsigned lhs, unsigned rhs) const;
  Group collectPath(unsigned node) const;
  bool tryToMerge(unsigned number);
  bool shareLoops(unsigned number);
  void setGroup(const Group &group);
  void moveConversion(unsigned number);
  bool widensElements(unsigned number, const Group &group) const;
  bool isAnchor(unsigned number) const;
  bool isUniform(const Group &group) const;

  bool isWorthIt(const Group &group) const;
  bool isSideInput(unsigned member) const;
  bool isEpilogue(const Group &group) const;
  std::optional<Dequantization> getConstantWeights(unsigned number) const;
  bool isOperand(unsigned member, const Group &group) const;
  bool sharesRows(const Group &group) const;
  bool readsSlice(const Group &group) const;
  bool followsCollapsed(const Group &group) const;
  bool becomesLoops(const Group &group) const;
  bool mayJoin(const Group &group) const;
  bool isOneNest(const Group &group) const;
  bool mayMoveToEnd(const Group &group) const;
  bool isReadOnce(const Edge &edge) const;
  SmallVector<Edge> getInnerEdges(const Group &group) const;

  Block &block;
  KernelFactsCache &kernels;
  unsigned maxCalls;
  std::vector<Node> nodes; // in the order of the block
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<std::shared_ptr<Group>> groups; // of each node
};
} // namespace

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

bool mlir::relax::isMovable(CallTIROp call) {
  if (!call.isNormalized())
    return false;
  if (Value ints = call.getPackedInts(); ints && !ints.getDefiningOp<ShapeOp>())
    return false;
  SmallVector<Type> types(call->getOperandTypes());
  llvm::append_range(types, call.getOutputTypes());
  return llvm::all_of(types, [](Type type) {
    auto tensor = dyn_cast<TensorStructInfoType>(type);
    return !tensor || (tensor.hasShape() && !tensor.getShape().isTooLarge());
  });
}

LogicalResult Partitioner::makeNodes() {
  unsigned segment = 0;
  for (Operation &op : block.without_terminator()) {
    if (auto item = dyn_cast<GetItemOp>(op))
      if (auto call = item.getTupleValue().getDefiningOp<CallTIROp>();
          call && call->getBlock() == &block) {
        unsigned number = numbers.lookup(call);
        nodes[number].ops.push_back(item);
        numbers[item] = number;
        continue;
      }
    numbers[&op] = nodes.size();
    Node &node = nodes.emplace_back();
    node.ops.push_back(&op);
    if (isa<CallTIRInplaceOp, CallInplacePackedOp>(op))
      ++segment;
    node.segment = segment;
    auto call = dyn_cast<CallTIROp>(op);
    if (!call)
      continue;
    FailureOr<const KernelFacts *> facts = kernels.lookup(call.getCallee());
    if (failed(facts))
      return failure();
    if (*facts && (*facts)->isMergeable && isMovable(call))
      node.facts = *facts;
  }
  for (unsigned number = 0, end = nodes.size(); number < end; ++number)
    for (Operation *op : nodes[number].ops)
      for (OpOperand &use : op->getUses())
        connect(number, use);
  return success();
}

/// Adds a use of a result of `number`.
void Partitioner::connect(unsigned number, OpOperand &use) {
  Operation *user = block.findAncestorOpInBlock(*use.getOwner());
  if (!user || user == block.getTerminator()) {
    nodes[number].isUsedOutside = true;
    return;
  }
  unsigned other = numbers.lookup(user);
  if (other == number)
    return; // takes a field
  if (!llvm::is_contained(nodes[number].users, other))
    nodes[number].users.push_back(other);
  auto call = dyn_cast<CallTIROp>(use.getOwner());
  if (!call || call->getBlock() != &block)
    return;
  unsigned result = 0;
  if (auto item = use.get().getDefiningOp<GetItemOp>())
    result = item.getIndex();
  nodes[other].inputs.push_back(
      {number, other, result, use.getOperandNumber()});
}

unsigned Partitioner::findCommon(unsigned lhs, unsigned rhs) const {
  while (lhs != rhs) {
    unsigned &deeper = nodes[lhs].depth >= nodes[rhs].depth ? lhs : rhs;
    unsigned above = nodes[deeper].postDominator;
    if (above == deeper)
      return ~0u; // out of the block
    deeper = above;
  }
  return lhs;
}

void Partitioner::findPostDominators() {
  for (unsigned number = nodes.size(); number-- > 0;) {
    Node &node = nodes[number];
    node.postDominator = number;
    if (node.isUsedOutside || node.users.empty())
      continue;
    unsigned common = node.users.front();
    for (unsigned user : node.users) {
      common = findCommon(common, user);
      if (common == ~0u)
        break;
    }
    if (common == ~0u)
      continue;
    node.postDominator = common;
    node.depth = nodes[common].depth + 1;
  }
}

/// The node, its post-dominator, and what lies between, with the groups that
/// these are in.
Partitioner::Group Partitioner::collectPath(unsigned node) const {
  unsigned end = nodes[node].postDominator;
  Group path;
  path.insert(node);
  path.insert(end);
  SmallVector<unsigned> next = {node};
  while (!next.empty()) {
    unsigned current = next.pop_back_val();
    for (unsigned user : nodes[current].users)
      if (user != end && path.insert(user))
        next.push_back(user);
  }
  Group all;
  for (unsigned member : path)
    all.insert_range(*groups[member]);
  return all;
}

//===----------------------------------------------------------------------===//
// The decision
//===----------------------------------------------------------------------===//

SmallVector<Edge> Partitioner::getInnerEdges(const Group &group) const {
  SmallVector<Edge> edges;
  for (unsigned member : group)
    for (const Edge &edge : nodes[member].inputs)
      if (group.contains(edge.from))
        edges.push_back(edge);
  return edges;
}

/// Whether a node reads a result at the place where it writes its own.
static bool isReadInOrder(const KernelFacts &facts, unsigned param) {
  auto places = facts.getReads(param);
  return facts.elementwise && places &&
         llvm::all_of(*places, [&](const KernelFacts::Read &read) {
           return read.op == facts.elementwise && read.map.isIdentity();
         });
}

/// Whether iterations of the innermost loop read elements that follow one
/// another.
static bool readsAlongRows(const KernelFacts &facts, unsigned param) {
  auto places = facts.getReads(param);
  return places && llvm::all_of(*places, [](const KernelFacts::Read &read) {
           ArrayRef<AffineExpr> results = read.map.getResults();
           return !results.empty() &&
                  results.back() == getAffineDimExpr(read.map.getNumDims() - 1,
                                                     read.map.getContext());
         });
}

/// Whether a matrix product reads a tensor with its dimensions permuted as fast
/// as without: the innermost one is none of a batch, and rows stay together.
static bool readsPermuted(const KernelFacts::Read &read, AffineMap order) {
  linalg::LinalgOp op = read.op;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps.size() != 3 || !read.map.isProjectedPermutation() ||
      !llvm::all_of(maps, [](AffineMap map) {
        return map.isProjectedPermutation(/*allowZeroInResults=*/true);
      }))
    return false;
  AffineMap other = maps[maps[0] == read.map ? 1 : 0];
  AffineMap place = order.compose(read.map);
  if (place.getNumResults() == 0)
    return false;
  auto isShared = [&](AffineExpr expr) {
    return other.isFunctionOfDim(cast<AffineDimExpr>(expr).getPosition());
  };
  auto isSummed = [&](AffineExpr expr) {
    return !maps[2].isFunctionOfDim(cast<AffineDimExpr>(expr).getPosition());
  };
  AffineExpr last = place.getResults().back();
  if (isShared(last) && !isSummed(last))
    return false;
  return llvm::count_if(place.getResults(),
                        [&](AffineExpr expr) { return !isShared(expr); }) <=
             1 &&
         llvm::count_if(place.getResults(), isSummed) == 1;
}

/// Whether a matrix product unpacks quantized weights where it reads them: they
/// are its right matrix, which has the innermost dimension of the result.
static bool readsWeights(const KernelFacts::Read &read,
                         const Dequantization &weights) {
  linalg::LinalgOp op = read.op;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps.size() != 3 || read.map.getNumResults() != 2 ||
      !read.map.isProjectedPermutation() || maps[2].getNumResults() == 0)
    return false;
  auto column = dyn_cast<AffineDimExpr>(maps[2].getResults().back());
  if (!column || !getElementTypeOrSelf(op->getResult(0).getType()).isF32())
    return false;
  for (unsigned axis : {0, 1}) {
    unsigned depth = read.map.getDimPosition(1 - axis);
    if (read.map.getResult(axis) == column && !maps[2].isFunctionOfDim(depth))
      return isUnpackedInRegisters(weights, 1 - axis);
  }
  return false;
}

/// Whether a node makes floats of quantized constants.
std::optional<Dequantization>
Partitioner::getConstantWeights(unsigned number) const {
  const Node &node = nodes[number];
  auto call = dyn_cast<CallTIROp>(node.ops.front());
  if (!call || !node.facts->elementwise ||
      !llvm::all_of(call.getArgs(), [](Value value) {
        return value.getDefiningOp<ConstantOp>() != nullptr;
      }))
    return std::nullopt;
  return Dequantization::match(node.facts->elementwise);
}

/// Whether all that a node of a group makes are operands of its matrix product,
/// which reads them through their maps, or unpacks them.
bool Partitioner::isOperand(unsigned member, const Group &group) const {
  linalg::LinalgOp op = nodes[member].facts->elementwise;
  std::optional<Dequantization> weights = getConstantWeights(member);
  if (!op || (!isPermutation(op) && !weights))
    return false;
  AffineMap order = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  for (const Edge &edge : getInnerEdges(group)) {
    if (edge.to == member)
      return false;
    if (edge.from != member)
      continue;
    auto places = nodes[edge.to].facts->getReads(edge.param);
    if (!isAnchor(edge.to) || !places || places->size() != 1)
      return false;
    if (weights ? !readsWeights(places->front(), *weights)
                : !readsPermuted(places->front(), order))
      return false;
  }
  return true;
}

/// Whether a node is cheap to compute where the elements that it makes are
/// read, and nothing of the group makes what it reads.
bool Partitioner::isSideInput(unsigned member) const {
  const KernelFacts &facts = *nodes[member].facts;
  return facts.elementwise && isCheap(facts.elementwise);
}

/// A matrix product or window computation, what follows element by element, and
/// slices of that; before it, operands that are permuted; beside it, what is
/// cheap, such as the dequantization of a residual.
bool Partitioner::isEpilogue(const Group &group) const {
  unsigned anchors = 0, last = *llvm::max_element(group);
  llvm::SmallSet<unsigned, 8> behind;
  SmallVector<unsigned> operands;
  for (unsigned member : group) {
    const KernelFacts &facts = *nodes[member].facts;
    if (facts.hasBooleans || facts.usesIndices)
      return false;
    if (facts.pattern == OpPattern::OutElementwiseFusable) {
      ++anchors;
      behind.insert(member);
    } else if (isOperand(member, group)) {
      operands.push_back(member);
    } else if (facts.pattern > OpPattern::Broadcast &&
               !(facts.isSplit && member == last)) {
      return false;
    }
  }
  if (anchors != 1)
    return false;
  // Kernels of convolutions have pixels of several rows in a vector.
  if (nodes[last].facts->isSplit && llvm::any_of(group, [&](unsigned member) {
        return nodes[member].facts->isConvolution;
      }))
    return false;
  for (const Edge &edge : getInnerEdges(group)) {
    const KernelFacts &facts = *nodes[edge.to].facts;
    bool isCut = edge.to == last && facts.isSplit && edge.param == 0;
    if (!llvm::is_contained(operands, edge.from) && !isCut &&
        !isReadInOrder(facts, edge.param))
      return false;
  }
  // All is made of the product but what is cheap: it waits for nothing that is
  // not needed.
  SmallVector<unsigned> members(group.begin(), group.end());
  llvm::sort(members);
  for (unsigned member : members)
    if (llvm::any_of(nodes[member].inputs, [&](const Edge &edge) {
          return behind.contains(edge.from);
        }))
      behind.insert(member);
  return llvm::all_of(group, [&](unsigned member) {
    return behind.contains(member) || isSideInput(member) ||
           llvm::is_contained(operands, member);
  });
}

/// Kernels that work on the same rows.
bool Partitioner::sharesRows(const Group &group) const {
  unsigned rows = ~0u;
  for (unsigned member : group)
    rows = std::min(rows, nodes[member].facts->rows);
  if (rows == 0)
    return false;
  for (unsigned member : group) {
    const KernelFacts &facts = *nodes[member].facts;
    // A row is what reductions run over, no larger than need be, and lies
    // together in memory.
    if ((facts.hasReduction && facts.rows != rows) ||
        facts.pattern == OpPattern::Injective || !facts.computesByRow(rows))
      return false;
  }
  return llvm::all_of(getInnerEdges(group), [&](const Edge &edge) {
    return nodes[edge.to].facts->readsByRow(edge.param, rows);
  });
}

/// A kernel whose result is collapsed, and what follows element by element.
bool Partitioner::followsCollapsed(const Group &group) const {
  unsigned first = *llvm::min_element(group);
  const KernelFacts &collapsed = *nodes[first].facts;
  if (!collapsed.isCollapsed || !collapsed.hasReduction)
    return false;
  for (unsigned member : group) {
    const KernelFacts &facts = *nodes[member].facts;
    if (member != first && (facts.pattern != OpPattern::Elementwise ||
                            facts.usesIndices || facts.hasBooleans))
      return false;
  }
  return llvm::all_of(getInnerEdges(group), [&](const Edge &edge) {
    return isReadInOrder(*nodes[edge.to].facts, edge.param);
  });
}

/// Whether the loops that make a result can be those that read it: the elements
/// are used once, or cheap.
bool Partitioner::isReadOnce(const Edge &edge) const {
  linalg::LinalgOp writer = nodes[edge.from].facts->getWriter(edge.result);
  auto places = nodes[edge.to].facts->getReads(edge.param);
  if (!writer || !places || places->empty())
    return false;
  for (KernelFacts::Read read : *places) {
    if (read.op != places->front().op ||
        !read.map.isProjectedPermutation(/*allowZeroInResults=*/true) ||
        isContractionOrWindow(read.op))
      return false;
    bool isParallel = read.op.getNumParallelLoops() == read.op.getNumLoops();
    if (!read.map.isPermutation() && !(isParallel && isCheap(writer)))
      return false;
  }
  return true;
}

/// Kernels of which one nest of loops can be made.
bool Partitioner::becomesLoops(const Group &group) const {
  unsigned last = *llvm::max_element(group);
  for (unsigned member : group)
    if (nodes[member].facts->hasReduction && member != last)
      return false;
  SmallVector<Edge> edges = getInnerEdges(group);
  llvm::DenseMap<unsigned, unsigned> readers;
  bool isInOrder = true;
  for (const Edge &edge : edges) {
    if (!isReadOnce(edge))
      return false;
    isInOrder &= isReadInOrder(*nodes[edge.to].facts, edge.param);
    auto [it, isNew] = readers.insert({edge.from, edge.to});
    if (!isNew && it->second != edge.to)
      it->second = ~0u; // several
  }
  if (isInOrder)
    return true;
  // A producer with several readers becomes part of each of them.
  return llvm::all_of(readers, [&](auto entry) {
    const KernelFacts &facts = *nodes[entry.first].facts;
    return entry.second != ~0u ||
           (facts.elementwise && isCheap(facts.elementwise));
  });
}

/// Whether nodes are kernels that may become one: not too many, without an
/// update in place between them.
bool Partitioner::mayJoin(const Group &group) const {
  return group.size() <= maxCalls && llvm::all_of(group, [&](unsigned member) {
           return nodes[member].facts &&
                  nodes[member].segment == nodes[group.front()].segment;
         });
}

/// Loops over the same elements, which one nest computes whatever results of
/// them are used outside.
bool Partitioner::isOneNest(const Group &group) const {
  bool areLoops = mayJoin(group) && llvm::all_of(group, [&](unsigned member) {
                    const KernelFacts &facts = *nodes[member].facts;
                    return facts.elementwise && !facts.hasReduction &&
                           facts.pattern <= OpPattern::Broadcast;
                  });
  return areLoops && isUniform(group) &&
         llvm::all_of(getInnerEdges(group), [&](const Edge &edge) {
           return isReadInOrder(*nodes[edge.to].facts, edge.param);
         });
}

/// Whether nothing outside of a group reads its results before its last node,
/// where all of it is computed.
bool Partitioner::mayMoveToEnd(const Group &group) const {
  unsigned last = *llvm::max_element(group);
  return llvm::all_of(group, [&](unsigned member) {
    return llvm::all_of(nodes[member].users, [&](unsigned user) {
      return user > last || group.contains(user);
    });
  });
}

/// A slice, and loops that read it element by element.
bool Partitioner::readsSlice(const Group &group) const {
  SmallVector<Edge> edges = getInnerEdges(group);
  if (group.size() != 2 || edges.size() != 1)
    return false;
  const KernelFacts &reader = *nodes[edges[0].to].facts;
  return nodes[edges[0].from].facts->isSlice &&
         reader.pattern == OpPattern::Opaque &&
         !reader.getReads(edges[0].param);
}

bool Partitioner::isWorthIt(const Group &group) const {
  if (!mayJoin(group))
    return false;
  if (readsSlice(group))
    return true;
  if (llvm::any_of(group, [&](unsigned member) {
        return nodes[member].facts->pattern == OpPattern::Opaque;
      }))
    return false;
  if (!isUniform(group))
    return false;
  if (llvm::any_of(group, [&](unsigned m) { return isAnchor(m); }))
    return isEpilogue(group);
  return becomesLoops(group) || sharesRows(group) || followsCollapsed(group);
}

/// Whether the loops of a group can go by vectors, or else it does not matter,
/// as LLVM finds vectors where elements are cheap. One kernel must not make the
/// others slow.
bool Partitioner::isUniform(const Group &group) const {
  // A split of a matrix product is part of it: slices are only positions.
  bool hasAnchor = llvm::any_of(group, [&](unsigned m) { return isAnchor(m); });
  auto all = [&](auto hasIt) {
    return llvm::all_of(group, [&](unsigned member) {
      const KernelFacts &facts = *nodes[member].facts;
      return isAnchor(member) || (hasAnchor && facts.isSplit) || hasIt(facts);
    });
  };
  return all([](const KernelFacts &facts) { return facts.isVectorizable; }) ||
         all([](const KernelFacts &facts) { return facts.isCheap; }) ||
         (all([](const KernelFacts &facts) {
            return facts.isGather || (facts.isCheap && facts.isOneNest);
          }) &&
          llvm::all_of(getInnerEdges(group), [&](const Edge &edge) {
            return readsAlongRows(*nodes[edge.to].facts, edge.param);
          }));
}

LogicalResult Partitioner::run() {
  if (failed(makeNodes()))
    return failure();
  findPostDominators();
  for (unsigned number = 0, end = nodes.size(); number < end; ++number) {
    groups.push_back(std::make_shared<Group>());
    groups.back()->insert(number);
  }
  // Products choose first, and take as much of a chain as they can.
  for (unsigned number = 0, end = nodes.size(); number < end; ++number)
    if (isAnchor(number))
      for (unsigned last = number; tryToMerge(last);)
        last = nodes[last].postDominator;
  for (unsigned number = 0, end = nodes.size(); number < end; ++number)
    if (isAnchor(number))
      moveConversion(number);
  for (unsigned number = 0, end = nodes.size(); number < end; ++number)
    if (!isAnchor(number))
      tryToMerge(number);
  for (unsigned number = 0, end = nodes.size(); number < end; ++number)
    while (shareLoops(number))
      ;
  return success();
}

/// Whether a node makes wider elements of those of a group.
bool Partitioner::widensElements(unsigned number, const Group &group) const {
  auto call = cast<CallTIROp>(nodes[number].ops.front());
  auto getWidth = [](Type type) {
    return cast<TensorStructInfoType>(type).getDtype().getIntOrFloatBitWidth();
  };
  auto outputs = call.getOutputTypes();
  return outputs.size() == 1 &&
         llvm::all_of(nodes[number].inputs, [&](const Edge &edge) {
           return !group.contains(edge.from) ||
                  getWidth(call.getArgs()[edge.param].getType()) <
                      getWidth(outputs.front());
         });
}

/// Moves the last node of the group of a product to the group that reads it, if
/// it makes elements wider.
void Partitioner::moveConversion(unsigned number) {
  const Group &group = *groups[number];
  unsigned last = *llvm::max_element(group);
  unsigned user = nodes[last].postDominator;
  if (isAnchor(last) || user == last || nodes[last].users.size() != 1 ||
      !nodes[user].facts || !widensElements(last, group))
    return;
  Group rest = group;
  rest.remove(last);
  Group taken = *groups[user];
  taken.insert(last);
  if (!isWorthIt(rest) || !isWorthIt(taken))
    return;
  setGroup(rest);
  setGroup(taken);
}

bool Partitioner::isAnchor(unsigned number) const {
  const KernelFacts *facts = nodes[number].facts;
  return facts && facts->pattern == OpPattern::OutElementwiseFusable;
}

/// Joins the groups of a node, its post-dominator and what lies between.
bool Partitioner::tryToMerge(unsigned number) {
  unsigned end = nodes[number].postDominator;
  if (end == number || !nodes[number].facts || !nodes[end].facts)
    return false;
  if (groups[number] == groups[end])
    return true;
  Group merged = collectPath(number);
  if (!isWorthIt(merged))
    return false;
  setGroup(merged);
  return true;
}

/// Joins the group of a node, whose result is used elsewhere too, with that of
/// the first node outside that reads it.
bool Partitioner::shareLoops(unsigned number) {
  Group merged = *groups[number];
  unsigned reader = ~0u;
  for (unsigned user : nodes[number].users)
    if (!merged.contains(user))
      reader = std::min(reader, user);
  if (reader == ~0u)
    return false;
  merged.insert_range(*groups[reader]);
  if (!isOneNest(merged) || !mayMoveToEnd(merged))
    return false;
  setGroup(merged);
  return true;
}

void Partitioner::setGroup(const Group &group) {
  auto shared = std::make_shared<Group>(group.begin(), group.end());
  for (unsigned member : *shared)
    groups[member] = shared;
}

SmallVector<FusionGroup> Partitioner::getGroups() {
  SmallVector<FusionGroup> found;
  for (unsigned number = 0, end = nodes.size(); number < end; ++number) {
    const Group &group = *groups[number];
    if (group.size() < 2 || *llvm::max_element(group) != number)
      continue;
    FusionGroup &fused = found.emplace_back();
    fused.last = cast<CallTIROp>(nodes[number].ops.front());
    for (unsigned member : group)
      if (member != number)
        llvm::append_range(fused.ops, nodes[member].ops);
    llvm::sort(fused.ops, [](Operation *lhs, Operation *rhs) {
      return lhs->isBeforeInBlock(rhs);
    });
  }
  return found;
}

FailureOr<SmallVector<FusionGroup>>
mlir::relax::findFusionGroups(Block &block, KernelFactsCache &kernels,
                              unsigned maxCalls) {
  Partitioner partitioner(block, kernels, maxCalls);
  if (failed(partitioner.run()))
    return failure();
  return partitioner.getGroups();
}
