//===- RelaxToLinalg.h - Lowering of operators to kernels -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `relax-legalize-ops` looks an operator up in a table by its name. An entry
// says how to write the body of its kernel, and what to check before the call
// where the derivation of the result left a question open.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_CONVERSION_RELAXTOLINALG_H
#define RELAX_MLIR_CONVERSION_RELAXTOLINALG_H

#include "relax-mlir/IR/Relax.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace mlir::relax {

class KernelBuilder;

/// Writes the body of the kernel of `op`: the updated `outputs`, given tensors
/// for its tensor operands and its results, and scalars for primitive values.
/// Reports what it does not support.
using KernelBody = std::function<FailureOr<SmallVector<Value>>(
    KernelBuilder &builder, Operation *op, ValueRange inputs,
    ValueRange outputs)>;

/// Pairs of dimensions that have to be equal when an operator runs.
using DimPairs = SmallVector<std::pair<PrimExprAttr, PrimExprAttr>>;

/// Returns the pairs of dimensions that the kernel of `op`, whose result is of
/// type `result`, relies on to be equal. Pairs that are known to be equal do no
/// harm: they are dropped.
using KernelChecks = std::function<DimPairs(Operation *op, Type result)>;

/// Integers that the kernel of `op` needs beside its operands; it finds them in
/// the builder. Those that are constant are so in the kernel.
using KernelInts =
    std::function<SmallVector<PrimExprAttr>(Operation *op, Type result)>;

/// Writes what computes `op`, whose result is of type `result`, where that is
/// no kernel. All shapes are known.
using OperatorCall =
    std::function<Value(OpBuilder &builder, Operation *op, Type result)>;

/// The lowerings of operators by operator name.
class LegalizationTable {
public:
  struct Entry {
    KernelBody body;
    KernelChecks checks;
    KernelInts ints;
    OperatorCall call; // takes the place of the body
  };

  /// `body` takes an `OpTy` where KernelBody takes an operation.
  template <typename OpTy, typename BodyT> void add(BodyT body) {
    entries[OpTy::getOperationName()].body =
        [body](KernelBuilder &builder, Operation *op, ValueRange inputs,
               ValueRange outputs) -> FailureOr<SmallVector<Value>> {
      return body(builder, cast<OpTy>(op), inputs, outputs);
    };
  }

  /// `call` takes an `OpTy` where OperatorCall takes an operation.
  template <typename OpTy, typename CallT> void addCall(CallT call) {
    entries[OpTy::getOperationName()].call =
        [call](OpBuilder &builder, Operation *op, Type result) -> Value {
      return call(builder, cast<OpTy>(op), result);
    };
  }

  /// `checks` takes an `OpTy` where KernelChecks takes an operation.
  template <typename OpTy, typename ChecksT> void addChecks(ChecksT checks) {
    entries[OpTy::getOperationName()].checks =
        [checks](Operation *op, Type result) -> DimPairs {
      return checks(cast<OpTy>(op), result);
    };
  }

  /// `ints` takes an `OpTy` where KernelInts takes an operation.
  template <typename OpTy, typename IntsT> void addInts(IntsT ints) {
    entries[OpTy::getOperationName()].ints =
        [ints](Operation *op, Type result) -> SmallVector<PrimExprAttr> {
      return ints(cast<OpTy>(op), result);
    };
  }

  /// The entry of an operation; null where it is not an operator.
  const Entry *lookup(Operation *op) const {
    auto it = entries.find(op->getName().getStringRef());
    return it == entries.end() ? nullptr : &it->second;
  }

private:
  llvm::StringMap<Entry> entries;
};

/// Add the operators of one group.
void populateCollective(LegalizationTable &table);
void populateElementwise(LegalizationTable &table);
void populateManipulate(LegalizationTable &table);
void populateReduce(LegalizationTable &table);
void populateNN(LegalizationTable &table);
void populateCreate(LegalizationTable &table);
void populateConv(LegalizationTable &table);
void populateNorm(LegalizationTable &table);
void populateIndex(LegalizationTable &table);
void populateScatter(LegalizationTable &table);
void populateQuantize(LegalizationTable &table);
void populateSort(LegalizationTable &table);

} // namespace mlir::relax

#endif // RELAX_MLIR_CONVERSION_RELAXTOLINALG_H
