//===- ObjectCache.cpp - The objects that were made last --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The key is a hash of the bitcode. To write that takes a few percent of the
// time that LLVM takes for an object.
//
//===----------------------------------------------------------------------===//

#include "ObjectCache.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::relax;

/// Objects of all kernels of some large models.
static constexpr size_t kMostBytes = size_t(64) << 20;

ObjectCache &ObjectCache::get() {
  static ObjectCache cache;
  return cache;
}

ObjectCache::Key ObjectCache::makeKey(const llvm::Module &module,
                                      const NativeTarget &target,
                                      unsigned optLevel, bool hasScalarLoops) {
  SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::WriteBitcodeToFile(module, stream); // first, as it is aligned
  for (StringRef word : {target.triple, target.cpu, target.features})
    stream << word << '\0';
  stream << optLevel << hasScalarLoops;
  auto hash = llvm::BLAKE3::hash(
      ArrayRef(reinterpret_cast<uint8_t *>(text.data()), text.size()));
  return Key(hash.begin(), hash.end());
}

ObjectCache::Object ObjectCache::find(const Key &key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = index.find(key);
  if (found == index.end())
    return nullptr;
  entries.splice(entries.begin(), entries, found->second);
  return found->second->second;
}

void ObjectCache::add(const Key &key, Object object) {
  std::lock_guard<std::mutex> lock(mutex);
  if (object->size() > kMostBytes || index.count(key))
    return;
  numBytes += object->size();
  entries.emplace_front(key, std::move(object));
  index[key] = entries.begin();
  while (numBytes > kMostBytes) {
    numBytes -= entries.back().second->size();
    index.erase(entries.back().first);
    entries.pop_back();
  }
}
