//===- FusionGroups.h - Groups of calls for one kernel ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The decision of `relax-fuse-ops`, apart from what it does with it.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_TRANSFORMS_FUSION_FUSIONGROUPS_H
#define RELAX_MLIR_LIB_TRANSFORMS_FUSION_FUSIONGROUPS_H

#include "relax-mlir/Analysis/OpPattern.h"
#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace mlir::relax {

/// The facts of the kernels of a module, each found out once.
class KernelFactsCache {
public:
  explicit KernelFactsCache(ModuleOp module) : symbols(module) {}

  /// Failure where the kernel states a kind that is none. Null where there is
  /// no such kernel.
  FailureOr<const KernelFacts *> lookup(StringRef callee);

private:
  SymbolTable symbols;
  llvm::DenseMap<Operation *, std::unique_ptr<KernelFacts>> facts;
};

/// Calls that become one kernel, in the place of the last one: what others are
/// used for outside comes later.
struct FusionGroup {
  /// The other calls and what takes fields of their results, in order.
  SmallVector<Operation *> ops;
  CallTIROp last;
};

/// Whether a call may move after others: all it is made of is known.
bool isMovable(CallTIROp call);

/// The groups of a block that `isAttention` says are attention: these are to
/// become one kernel before others are looked for.
using IsAttention = llvm::function_ref<bool(const FusionGroup &)>;
FailureOr<SmallVector<FusionGroup>>
findAttentionGroups(Block &block, KernelFactsCache &kernels, unsigned maxCalls,
                    IsAttention isAttention);

/// The groups of a block, of at least two calls each and at most `maxCalls`.
FailureOr<SmallVector<FusionGroup>>
findFusionGroups(Block &block, KernelFactsCache &kernels, unsigned maxCalls);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_TRANSFORMS_FUSION_FUSIONGROUPS_H
