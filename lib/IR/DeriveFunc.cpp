//===- DeriveFunc.cpp - Derive functions of packed functions -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/DeriveFunc.h"

#include "relax-mlir/IR/Relax.h"
#include "relax-mlir/IR/StructInfo.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <mutex>

using namespace mlir;
using namespace mlir::relax;

static FailureOr<Type> deriveDefault(MLIRContext *context, Location, TypeRange,
                                     TypeRange sinfoArgs) {
  return defaultDerive(context, sinfoArgs);
}

static FailureOr<Type> deriveEmpty(MLIRContext *context, Location, TypeRange,
                                   TypeRange) {
  return Type(ObjectStructInfoType::get(context));
}

namespace {
struct Registry {
  std::mutex mutex;
  std::map<std::string, DeriveFunc> functions = {
      {FuncStructInfoType::kDefaultDerive.str(), deriveDefault},
      {FuncStructInfoType::kEmptyDerive.str(), deriveEmpty}};
};
} // namespace

static std::string listKnown() {
  return llvm::join(getDeriveFuncNames(), ", ");
}

/// Lives as long as the process: threads may ask until its end.
static Registry &getRegistry() {
  static auto *registry = new Registry;
  return *registry;
}

LogicalResult mlir::relax::registerDeriveFunc(StringRef name, DeriveFunc fn,
                                              bool override) {
  if (name == FuncStructInfoType::kDefaultDerive ||
      name == FuncStructInfoType::kEmptyDerive)
    return failure();
  Registry &registry = getRegistry();
  // The replaced function is destroyed when the lock is released: that may run
  // code of the user.
  DeriveFunc replaced;
  std::lock_guard<std::mutex> lock(registry.mutex);
  DeriveFunc &slot = registry.functions[name.str()];
  if (slot && !override)
    return failure();
  replaced = std::exchange(slot, std::move(fn));
  return success();
}

DeriveFunc mlir::relax::lookupDeriveFunc(StringRef name) {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  auto it = registry.functions.find(name.str());
  return it == registry.functions.end() ? DeriveFunc() : it->second;
}

SmallVector<std::string> mlir::relax::getDeriveFuncNames() {
  Registry &registry = getRegistry();
  std::lock_guard<std::mutex> lock(registry.mutex);
  SmallVector<std::string> names;
  for (const auto &entry : registry.functions)
    names.push_back(entry.first);
  return names;
}

FailureOr<Type> mlir::relax::deriveByName(StringRef name, Location location,
                                          TypeRange argTypes,
                                          TypeRange sinfoArgs) {
  DeriveFunc derive = lookupDeriveFunc(name);
  if (!derive)
    return emitError(location)
           << "expected a registered derive function, but got '@" << name
           << "' (known are " << listKnown() << ")";
  FailureOr<Type> result =
      derive(location.getContext(), location, argTypes, sinfoArgs);
  if (failed(result))
    return failure();
  if (!isa_and_nonnull<StructInfoTypeInterface>(*result))
    return emitError(location) << "expected derive function '@" << name
                               << "' to give StructInfo, but got " << *result;
  return result;
}
