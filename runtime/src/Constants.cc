//===- Constants.cc - The pool of constants of a program --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loader of a program makes tensors of its constants, and points the
// variable `relax_constants` of its machine code to them.
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;

// From this size on memory that is aligned is viewed, not copied. Smaller
// memory, such as that which all rows share, begins with a page as outputs do.
static constexpr int64_t kViewBytes = 64 << 10;
static constexpr int64_t kViewAlignment = 64;

// A tensor of the `size` bytes at an address, which `keepAlive` keeps there.
static ffi::Any makeConstant(int64_t address, int64_t size, ffi::Shape dims,
                             DLDataType dtype, ffi::Any keepAlive) {
  int32_t ndim = static_cast<int32_t>(dims.size());
  uint64_t bytes;
  if (!countBytes(ndim, dims.data(), dtype, &bytes) ||
      bytes != static_cast<uint64_t>(size))
    RELAX_THROW(ValueError)
        << "expected the bytes of " << dtypeText(dtype) << " of shape "
        << dimsText(dims.data(), ndim) << ", but got " << size;
  const TVMFFIAny *owner = reinterpret_cast<const TVMFFIAny *>(&keepAlive);
  bool isOwned = owner->type_index >= kTVMFFIStaticObjectBegin;
  void *data = reinterpret_cast<void *>(static_cast<intptr_t>(address));
  bool isView = isOwned && size >= kViewBytes && address % kViewAlignment == 0;
  if (isView)
    adviseHugePages(data, bytes, /*isWritten=*/true);
  TVMFFIObject *tensor =
      isView ? makeView(owner->v_obj, data, kHost, ndim, dims.data(), dtype)
             : makeTensor(hostPool(), ndim, dims.data(), dtype, bytes);
  if (!tensor)
    throw std::bad_alloc();
  ffi::Any result;
  assignOwned(reinterpret_cast<TVMFFIAny *>(&result), ownedValue(tensor));
  const DLTensor *made = getTensor(reinterpret_cast<TVMFFIAny *>(&result));
  if (!isView && bytes != 0)
    std::memcpy(made->data, data, bytes);
  return result;
}

// Points the variable at an address to the constants, which outlive the code.
static void setConstants(int64_t address, ffi::Array<ffi::Any> constants) {
  if (address == 0)
    RELAX_THROW(ValueError) << "expected the address of a variable, but got 0";
  *reinterpret_cast<const ffi::Any **>(static_cast<intptr_t>(address)) =
      constants.size() == 0
          ? nullptr
          : static_cast<const ffi::ArrayObj *>(constants.get())->begin();
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("relax_mlir.runtime.make_constant", makeConstant)
      .def("relax_mlir.runtime.set_constants", setConstants);
}
