//===- Schedule.cpp - What users ask of a kernel ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Schedule.h"

#include "relax-mlir/IR/RelaxDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::relax;

static constexpr llvm::StringLiteral kClassKey = "class", kTileKey = "tile";

KernelSchedule KernelSchedule::get(Operation *function) {
  DictionaryAttr attribute =
      RelaxDialect::ScheduleAttrHelper(function->getContext())
          .getAttr(function);
  KernelSchedule schedule;
  if (!attribute || !isValid(attribute))
    return schedule;
  schedule.kernelClass = attribute.getAs<StringAttr>(kClassKey).getValue();
  if (auto tile = attribute.getAs<DenseI64ArrayAttr>(kTileKey))
    schedule.tile = tile.asArrayRef();
  return schedule;
}

void KernelSchedule::set(Operation *function) const {
  Builder builder(function->getContext());
  NamedAttrList entries;
  entries.append(kClassKey, builder.getStringAttr(kernelClass));
  if (!tile.empty())
    entries.append(kTileKey, builder.getDenseI64ArrayAttr(tile));
  RelaxDialect::ScheduleAttrHelper(function->getContext())
      .setAttr(function, entries.getDictionary(function->getContext()));
}

bool KernelSchedule::isValid(Attribute attribute) {
  auto entries = dyn_cast<DictionaryAttr>(attribute);
  auto name = entries ? entries.getAs<StringAttr>(kClassKey) : StringAttr();
  if (!name || name.empty())
    return false;
  if (!entries.contains(kTileKey))
    return entries.size() == 1;
  auto tile = entries.getAs<DenseI64ArrayAttr>(kTileKey);
  return tile && !tile.empty() && entries.size() == 2 &&
         llvm::all_of(tile.asArrayRef(), [](int64_t size) { return size > 0; });
}
