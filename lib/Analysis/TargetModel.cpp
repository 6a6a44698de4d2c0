//===- TargetModel.cpp - The processor, as kernels see it -------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/Analysis/TargetModel.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <unistd.h>

using namespace mlir;
using namespace mlir::relax;

// The devices, and their entries.
static constexpr StringLiteral kGPU = "GPU";
static constexpr StringLiteral kTF32 = "tf32";
static constexpr StringLiteral kDevice = "CPU";
static constexpr StringLiteral kVectorBits = "vector_bits";
static constexpr StringLiteral kL1Bytes = "L1_cache_size_in_bytes";
static constexpr StringLiteral kL2Bytes = "L2_cache_size_in_bytes";
static constexpr StringLiteral kFeatures = "features";

/// The size of a cache as the system reports it; `known` where it does not.
static int64_t findHostCache(int level, int64_t known) {
  long bytes = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE // not part of POSIX
  bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
#endif
  return bytes > 0 ? bytes : known;
}

const TargetModel &TargetModel::getHost() {
  static const TargetModel host = [] {
    TargetModel found;
    llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
    // Where nothing better is known it is 128 bits: any processor has them.
    if (features.lookup("avx"))
      found.vectorBits = features.lookup("avx512f") ? 512 : 256;
    found.l1Bytes = findHostCache(1, found.l1Bytes);
    found.l2Bytes = findHostCache(2, found.l2Bytes);
    return found;
  }();
  return host;
}

bool TargetModel::has(StringRef feature) const {
  SmallVector<StringRef> names;
  StringRef(features).split(names, ',');
  return llvm::is_contained(names, feature);
}

bool TargetModel::multipliesShorts() const { return has("sse2"); }

bool TargetModel::multipliesBytePairs() const {
  return has(vectorBits == 512   ? "avx512bw"
             : vectorBits == 256 ? "avx2"
                                 : "ssse3");
}

bool TargetModel::multipliesBytes() const {
  bool isFast = has("avx512vnni") || (vectorBits != 512 && has("avxvnni"));
  return isFast && multipliesBytePairs();
}

/// Processors of Intel take twice as long for it as for products of f32; of
/// those that have it, they alone have arithmetic of f16, too.
bool TargetModel::multipliesBFloats() const {
  return vectorBits == 512 && has("avx512bf16") && !has("avx512fp16");
}

bool TargetModel::hasTilesOfBytes() const {
  return vectorBits == 512 && has("amx-int8");
}

bool TargetModel::hasTilesOfBFloats() const {
  return vectorBits == 512 && has("amx-bf16");
}

TargetModel TargetModel::get(Operation *op) {
  auto query = [&](StringRef entry, auto known) -> decltype(known) {
    FailureOr<Attribute> found = dlti::query(op, {kDevice, entry});
    auto number = succeeded(found) ? dyn_cast<IntegerAttr>(*found) : nullptr;
    return number ? number.getValue().getZExtValue() : known;
  };
  TargetModel target = getHost();
  target.vectorBits = query(kVectorBits, target.vectorBits);
  target.l1Bytes = query(kL1Bytes, target.l1Bytes);
  target.l2Bytes = query(kL2Bytes, target.l2Bytes);
  FailureOr<Attribute> found = dlti::query(op, {kDevice, kFeatures});
  if (auto names = succeeded(found) ? dyn_cast<StringAttr>(*found) : nullptr)
    target.features = names.str();
  FailureOr<Attribute> allowed = dlti::query(op, {kGPU, kTF32});
  if (auto is = succeeded(allowed) ? dyn_cast<BoolAttr>(*allowed) : nullptr)
    target.allowsTF32 = is.getValue();
  return target;
}

void TargetModel::attach(ModuleOp module) const {
  Builder b(module.getContext());
  auto entry = [&](StringRef key, Attribute value) -> DataLayoutEntryInterface {
    return DataLayoutEntryAttr::get(b.getStringAttr(key), value);
  };
  auto device = TargetDeviceSpecAttr::get(
      b.getContext(), {entry(kVectorBits, b.getI64IntegerAttr(vectorBits)),
                       entry(kL1Bytes, b.getI64IntegerAttr(l1Bytes)),
                       entry(kL2Bytes, b.getI64IntegerAttr(l2Bytes)),
                       entry(kFeatures, b.getStringAttr(features))});
  SmallVector<DataLayoutEntryInterface> devices = {entry(kDevice, device)};
  if (allowsTF32)
    devices.push_back(
        entry(kGPU, TargetDeviceSpecAttr::get(
                        b.getContext(), {entry(kTF32, b.getBoolAttr(true))})));
  module->setAttr(DLTIDialect::kTargetSystemDescAttrName,
                  TargetSystemSpecAttr::get(b.getContext(), devices));
}
