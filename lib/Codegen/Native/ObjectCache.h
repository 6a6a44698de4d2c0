//===- ObjectCache.h - The objects that were made last ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_NATIVE_OBJECTCACHE_H
#define RELAX_MLIR_LIB_CODEGEN_NATIVE_OBJECTCACHE_H

#include "relax-mlir/Codegen/Native.h"

#include "llvm/IR/Module.h"

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace mlir::relax {

/// Keeps the objects of this process that were used last, by the LLVM IR that
/// they are made from. Programs have kernels in common: those of the two modes
/// of execution, those of a model before and after an edit.
class ObjectCache {
public:
  using Bytes = SmallVector<char, 0>;
  using Object = std::shared_ptr<const Bytes>;
  using Key = std::string;

  /// The cache of this process.
  static ObjectCache &get();

  /// Describes what an object is made from: the module, and how it is compiled.
  static Key makeKey(const llvm::Module &module, const NativeTarget &target,
                     unsigned optLevel, bool hasScalarLoops);

  /// Null where there is none.
  Object find(const Key &key);
  void add(const Key &key, Object object);

private:
  using Entry = std::pair<Key, Object>;

  std::mutex mutex;
  /// The one used last is first.
  std::list<Entry> entries;
  std::unordered_map<Key, std::list<Entry>::iterator> index;
  size_t numBytes = 0;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_NATIVE_OBJECTCACHE_H
