//===- Closure.cc - Functions that hold values ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes, calls, checks and releases closures. All closures of a program share
// one root, that of the function which made them, so that closures which make
// closures do not keep each other alive.
//
//===----------------------------------------------------------------------===//

#include "Closure.h"

#include "Objects.h"

#include <algorithm>
#include <memory>
#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ClosureObj *ClosureObj::make(int32_t numCaptures, int32_t numDims,
                             const int64_t *dims) {
  static_assert(sizeof(ClosureObj) % alignof(ffi::Any) == 0 &&
                    alignof(ClosureObj) >= alignof(ffi::Any),
                "captured values follow the object");
  Block *block = hostPool().allocate(sizeof(Block) + sizeof(ClosureObj) +
                                     sizeof(ffi::Any) * size_t(numCaptures) +
                                     sizeof(int64_t) * size_t(numDims));
  if (!block)
    return nullptr;
  ClosureObj *closure = new (block->memory()) ClosureObj(numCaptures, numDims);
  initObject(block, kTVMFFIFunction, release);
  closure->cpp_call = nullptr;
  for (int32_t i = 0; i < numCaptures; ++i)
    new (closure->captures() + i) ffi::Any();
  std::copy_n(dims, numDims, const_cast<int64_t *>(closure->dims().data()));
  return closure;
}

// The root goes last: it may hold the text and the code.
ClosureObj::~ClosureObj() {
  delete parsed.load(std::memory_order_acquire);
  for (int32_t i = 0; i < numCaptures; ++i)
    captures()[i].~Any();
}

// A closure may capture closures.
void ClosureObj::release(void *self, int flags) {
  TVMFFIObject *object = static_cast<TVMFFIObject *>(self);
  if (!releaseNested(object, flags))
    return;
  acquireObject(object);
  // With weak references about, the memory goes later than the value.
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    ffi::detail::ObjectUnsafe::RawObjectPtrFromUnowned<ClosureObj>(object)
        ->~ClosureObj();
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak)
    Pool::free(Block::of(self));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void ClosureObj::setEntry(TVMFFISafeCallType code) {
  entry = code;
  safe_call = numCaptures == 0 ? code : callWithCaptures;
}

void ClosureObj::setEntry(EngineEntry code) {
  engineEntry = code;
  safe_call = callEngine;
}

int ClosureObj::callEngine(void *self, const TVMFFIAny *args, int32_t nargs,
                           TVMFFIAny *result) {
  int32_t status = 0;
  void *pointers[] = {&self, &args, &nargs, &result, &status};
  static_cast<ClosureObj *>(self)->engineEntry(pointers);
  return status;
}

int ClosureObj::callPacked(const TVMFFIAny *args, int32_t nargs,
                           TVMFFIAny *packed, TVMFFIAny *result) {
  std::memcpy(packed, captures(), sizeof(TVMFFIAny) * size_t(numCaptures));
  if (nargs != 0)
    std::memcpy(packed + numCaptures, args, sizeof(TVMFFIAny) * size_t(nargs));
  return entry(this, packed, numCaptures + nargs, result);
}

int ClosureObj::callWithCaptures(void *self, const TVMFFIAny *args,
                                 int32_t nargs, TVMFFIAny *result) {
  RELAX_SAFE_CALL_BEGIN();
  ClosureObj *closure = static_cast<ClosureObj *>(self);
  Scratch<TVMFFIAny, 16> packed(size_t(closure->numCaptures) + size_t(nargs));
  return closure->callPacked(args, nargs, packed.data(), result);
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Generated code makes closures
//===----------------------------------------------------------------------===//

// The closure as a value that owns it.
static TVMFFIAny ownedValue(ClosureObj *closure) {
  return ownedValue(ffi::detail::ObjectUnsafe::GetHeader(closure));
}

// The root of what the function with this handle makes.
static ffi::Any getRoot(void *handle) {
  if (!handle)
    return ffi::Any();
  TVMFFIObject *function = static_cast<TVMFFIObject *>(handle);
  if (ClosureObj *closure = ClosureObj::get(function))
    return closure->root;
  TVMFFIAny root = {};
  root.type_index = function->type_index;
  root.v_obj = function;
  return owned(const_cast<const TVMFFIAny *>(&root));
}

int relax_closure_make(const relax_site *site, TVMFFIAny *dst, void *handle,
                       TVMFFISafeCallType entry, int32_t ncaptures,
                       const TVMFFIAny *const *captures, const char *sinfo,
                       int32_t ndims, const int64_t *dims) {
  RELAX_SAFE_CALL_BEGIN();
  ClosureObj *closure = ClosureObj::make(ncaptures, ndims, dims);
  if (!RELAX_LIKELY(closure != nullptr))
    return raiseMemory(site, "a closure");
  ffi::Any value;
  assignOwned(reinterpret_cast<TVMFFIAny *>(&value), ownedValue(closure));
  for (int32_t i = 0; i < ncaptures; ++i) {
    if (!RELAX_LIKELY(captures[i]->type_index != kTVMFFIDLTensorPtr))
      return raiseBorrowed(site, "captured");
    closure->captures()[i] = ffi::AnyView::CopyFromTVMFFIAny(*captures[i]);
  }
  closure->setEntry(entry);
  closure->root = getRoot(handle);
  if (sinfo)
    closure->sinfo = sinfo;
  owned(dst) = std::move(value);
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

// Where two threads race, both read and one result is kept.
const StructInfo &ClosureObj::structInfo() {
  const StructInfo *info = parsed.load(std::memory_order_acquire);
  if (info)
    return *info;
  auto read = std::make_unique<StructInfo>(StructInfo::parse(sinfo, dims()));
  if (parsed.compare_exchange_strong(info, read.get(),
                                     std::memory_order_acq_rel))
    return *read.release();
  return *info;
}

RELAX_COLD static int raiseClosure(const relax_site *site,
                                   const StructInfo &info,
                                   const Mismatch &mismatch) noexcept {
  return raiseMismatch(site, mismatch.kind,
                       "a closure of " + info.typeText() + ": " +
                           mismatch.text);
}

// The same text with the same dimensions says the same.
static bool isSame(ClosureObj *closure, const char *sinfo,
                   ffi::ShapeView dims) {
  ffi::ShapeView held = closure->dims();
  return std::equal(held.begin(), held.end(), dims.begin(), dims.end()) &&
         std::strcmp(closure->sinfo, sinfo) == 0;
}

int relax_closure_check(const relax_site *site, const TVMFFIAny *value,
                        const char *sinfo, int32_t ndims, const int64_t *dims) {
  RELAX_SAFE_CALL_BEGIN();
  ClosureObj *closure = ClosureObj::get(value);
  if (!closure)
    return raiseMismatch(site, "TypeError",
                         value->type_index == kTVMFFIFunction
                             ? "a packed function, not a closure"
                             : describe(value));
  if (!sinfo)
    sinfo = "";
  ffi::ShapeView held(dims, static_cast<size_t>(ndims));
  if (RELAX_LIKELY(isSame(closure, sinfo, held)))
    return 0;
  const StructInfo &actual = closure->structInfo();
  if (auto mismatch = findMismatch(actual, StructInfo::parse(sinfo, held)))
    return raiseClosure(site, actual, *mismatch);
  RELAX_SAFE_CALL_END();
}

int relax_packed_check(const relax_site *site, const TVMFFIAny *value) {
  RELAX_SAFE_CALL_BEGIN();
  ClosureObj *closure = ClosureObj::get(value);
  if (RELAX_LIKELY(value->type_index == kTVMFFIFunction && !closure))
    return 0;
  if (!closure)
    return raiseMismatch(site, "TypeError", describe(value));
  if (closure->structInfo().kind != StructInfo::Kind::Packed)
    return raiseMismatch(site, "TypeError", "a closure, not a packed function");
  RELAX_SAFE_CALL_END();
}

//===----------------------------------------------------------------------===//
// Python makes closures
//===----------------------------------------------------------------------===//

// make_function(address, sinfo, keep_alive) makes a closure without captured
// values over a tvm-ffi entry at an address; make_engine_function does so over
// what `raw_lookup` of MLIR's ExecutionEngine returns. Either keeps
// `keep_alive` alive, any object of Python or tvm-ffi, and so do the closures
// it makes.
template <typename Entry>
static ffi::Function makeFunction(int64_t address, ffi::String sinfo,
                                  ffi::Any keepAlive) {
  if (address == 0)
    RELAX_THROW(ValueError) << "expected the address of a function, but got 0";
  if (keepAlive != nullptr && keepAlive.type_index() < kTVMFFIStaticObjectBegin)
    RELAX_THROW(TypeError) << "expected an object to keep alive, or None, "
                              "but got "
                           << describe(
                                  reinterpret_cast<TVMFFIAny *>(&keepAlive));
  if (StructInfo::parse(sinfo.c_str(), {}).kind != StructInfo::Kind::Func)
    RELAX_THROW(ValueError)
        << "expected the StructInfo of a function, but got " << sinfo;
  ClosureObj *closure = ClosureObj::make(0, 0, nullptr);
  if (!closure)
    RELAX_THROW(MemoryError) << "out of memory for a closure";
  ffi::Any value;
  assignOwned(reinterpret_cast<TVMFFIAny *>(&value), ownedValue(closure));
  closure->setEntry(reinterpret_cast<Entry>(static_cast<intptr_t>(address)));
  closure->root = std::move(keepAlive);
  closure->ownText = std::move(sinfo);
  closure->sinfo = closure->ownText.c_str();
  return value.cast<ffi::Function>();
}

// function_struct_info(function) returns the StructInfo as JSON, with captured
// dimensions filled in; None for a packed function.
static ffi::Optional<ffi::String> getStructInfo(ffi::Function function) {
  ffi::Any value = std::move(function);
  ClosureObj *closure =
      ClosureObj::get(reinterpret_cast<const TVMFFIAny *>(&value));
  if (!closure)
    return std::nullopt;
  return ffi::String(closure->structInfo().json());
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("relax_mlir.runtime.make_function", makeFunction<TVMFFISafeCallType>)
      .def("relax_mlir.runtime.make_engine_function",
           makeFunction<ClosureObj::EngineEntry>)
      .def("relax_mlir.runtime.function_struct_info", getStructInfo);
}
