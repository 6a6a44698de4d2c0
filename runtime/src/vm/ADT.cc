//===- ADT.cc - Values of algebraic data types ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes and releases them; long lists of them take no stack when they go.
//
//===----------------------------------------------------------------------===//

#include "ADT.h"

using namespace relax_runtime;
using namespace relax_runtime::vm;

static void release(void *self, int flags) {
  TVMFFIObject *object = static_cast<TVMFFIObject *>(self);
  if (!releaseNested(object, flags))
    return;
  acquireObject(object);
  // With weak references about, the memory goes later than the value.
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<ADTObj>(object)
        ->~ADTObj();
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    Pool::free(Block::of(self));
}

ffi::Any relax_runtime::vm::makeADT(int64_t tag, ffi::Any fields) noexcept {
  Block *block = hostPool().allocate(sizeof(Block) + sizeof(ADTObj));
  if (!RELAX_LIKELY(block != nullptr))
    return ffi::Any();
  ADTObj *adt = new (block->memory()) ADTObj();
  adt->tag = tag;
  adt->fields = std::move(fields);
  ffi::Any value;
  assignOwned(
      reinterpret_cast<TVMFFIAny *>(&value),
      ownedValue(initObject(block, ADTObj::RuntimeTypeIndex(), release)));
  return value;
}
