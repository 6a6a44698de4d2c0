//===- ADT.cc - Values of algebraic data types ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes, reads and releases them; long lists of them take no stack when they
// go.
//
//===----------------------------------------------------------------------===//

#include "ADT.h"

#include "Tensor.h"

using namespace relax_runtime;

static void releaseConstructor(void *self, int flags) {
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

ffi::Any relax_runtime::makeADT(int64_t tag, ffi::Any fields) noexcept {
  Block *block = hostPool().allocate(sizeof(Block) + sizeof(ADTObj));
  if (!RELAX_LIKELY(block != nullptr))
    return ffi::Any();
  ADTObj *adt = new (block->memory()) ADTObj();
  adt->tag = tag;
  adt->fields = std::move(fields);
  ffi::Any value;
  assignOwned(reinterpret_cast<TVMFFIAny *>(&value),
              ownedValue(initObject(block, ADTObj::RuntimeTypeIndex(),
                                    releaseConstructor)));
  return value;
}

int relax_adt_make(const relax_site *site, TVMFFIAny *dst, int64_t tag,
                   int32_t size, const TVMFFIAny *const *fields) {
  ffi::Any tuple;
  if (relax_tuple_make(site, reinterpret_cast<TVMFFIAny *>(&tuple), size,
                       fields))
    return -1;
  ffi::Any value = makeADT(tag, std::move(tuple));
  if (!RELAX_LIKELY(value != nullptr))
    return raiseMemory(site, "a value of an algebraic data type");
  owned(dst) = std::move(value);
  return 0;
}

static const ADTObj *findADT(const TVMFFIAny *value) {
  return owned(value).as<ADTObj>();
}

int relax_adt_tag(const relax_site *site, const TVMFFIAny *value,
                  int64_t *tag) {
  const ADTObj *adt = findADT(value);
  if (!RELAX_LIKELY(adt != nullptr))
    return raiseKind(site, "a value of an algebraic data type", value);
  *tag = adt->tag;
  return 0;
}

int relax_adt_get(const relax_site *site, TVMFFIAny *dst,
                  const TVMFFIAny *value, int64_t index) {
  const ADTObj *adt = findADT(value);
  if (!RELAX_LIKELY(adt != nullptr))
    return raiseKind(site, "a value of an algebraic data type", value);
  // Held, as the result may take the place of the value.
  ffi::Any tuple = adt->fields;
  return relax_tuple_get(site, dst, reinterpret_cast<TVMFFIAny *>(&tuple),
                         index);
}
