//===- relax_runtime.hpp - Relax programs in C++ ----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs compiled programs from C++: tensors on any device, executables, virtual
// machines, and what the memory of a device is used for. Values are those of
// tvm-ffi, which own what they hold; every error is a relax::Error.
//
//   std::vector<float> data = {1, 2, 3, 4};
//   relax::Tensor x = relax::makeTensor(data, {2, 2});
//   relax::VirtualMachine vm(relax::Executable::assemble(text));
//   auto y = vm.call("main", x).cast<relax::Tensor>();
//   std::vector<float> result = relax::toVector<float>(y);
//
// Link with librelax_runtime and libtvm_ffi.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_HPP
#define RELAX_RUNTIME_HPP

#include "relax_runtime.h"

#include <string>
#include <string_view>
#include <tvm/ffi/tvm_ffi.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace relax {

// `kind()` is the name of a Python exception, "ValueError"; `message()` says
// what is wrong.
using Error = tvm::ffi::Error;
using Any = tvm::ffi::Any;
using Function = tvm::ffi::Function;
using Shape = tvm::ffi::Shape;
using Tensor = tvm::ffi::Tensor;
using Device = DLDevice;
using DataType = DLDataType;

inline Device cpu(int index = 0) { return {kDLCPU, index}; }
inline Device cuda(int index = 0) { return {kDLCUDA, index}; }

// The data type of the elements T.
template <typename T> constexpr DataType dataType() {
  static_assert(std::is_arithmetic_v<T>, "expected a type of numbers");
  uint8_t code = std::is_same_v<T, bool>       ? kDLBool
                 : std::is_floating_point_v<T> ? kDLFloat
                 : std::is_signed_v<T>         ? kDLInt
                                               : kDLUInt;
  return {code, sizeof(T) * 8, 1};
}

namespace detail {

inline relax_site site(const char *function) { return {function, "", "", ""}; }

inline TVMFFIAny *slot(Any &value) {
  return reinterpret_cast<TVMFFIAny *>(&value);
}
inline const TVMFFIAny *view(const tvm::ffi::AnyView &value) {
  return reinterpret_cast<const TVMFFIAny *>(&value);
}

inline Function global(const char *name) {
  return Function::GetGlobalRequired(name);
}

} // namespace detail

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

// An uninitialized tensor.
inline Tensor empty(const Shape &shape, DataType dtype, Device device = cpu()) {
  relax_site site = detail::site("relax::empty");
  relax_dtype packed = dtype.code | relax_dtype(dtype.bits) << 8 |
                       relax_dtype(dtype.lanes) << 16;
  Any result;
  TVM_FFI_CHECK_SAFE_CALL(relax_tensor_alloc(
      &site, detail::slot(result), static_cast<int32_t>(shape.size()),
      shape.data(), packed, device.device_type, device.device_id));
  return result.cast<Tensor>();
}

// A compact copy on a device.
inline Tensor copyTo(const Tensor &tensor, Device device) {
  relax_site site = detail::site("relax::copyTo");
  Any result;
  TVM_FFI_CHECK_SAFE_CALL(
      relax_tensor_to_device(&site, detail::slot(result), detail::view(tensor),
                             device.device_type, device.device_id));
  return result.cast<Tensor>();
}

// The same elements in another shape; see relax_tensor_view.
inline Tensor reshape(const Tensor &tensor, const Shape &shape) {
  relax_site site = detail::site("relax::reshape");
  Any result;
  TVM_FFI_CHECK_SAFE_CALL(
      relax_tensor_view(&site, detail::slot(result), detail::view(tensor),
                        static_cast<int32_t>(shape.size()), shape.data()));
  return result.cast<Tensor>();
}

// A copy of a vector, as many elements as the shape has.
template <typename T>
Tensor makeTensor(const std::vector<T> &data, const Shape &shape,
                  Device device = cpu()) {
  static_assert(!std::is_same_v<T, bool>, "use std::vector<uint8_t>");
  Tensor tensor = empty(shape, dataType<T>());
  if (static_cast<size_t>(tensor.numel()) != data.size())
    TVM_FFI_THROW(ValueError)
        << "relax::makeTensor: expected " << tensor.numel()
        << " elements for the shape " << shape << ", but got " << data.size();
  if (!data.empty())
    std::memcpy(tensor.data_ptr(), data.data(), data.size() * sizeof(T));
  bool isThere = device.device_type == kDLCPU && device.device_id == 0;
  return isThere ? tensor : copyTo(tensor, device);
}

// A copy of the elements of a tensor on any device, in row-major order.
template <typename T> std::vector<T> toVector(const Tensor &tensor) {
  DataType expected = dataType<T>(), actual = tensor.dtype();
  if (actual.code != expected.code || actual.bits != expected.bits ||
      actual.lanes != expected.lanes)
    TVM_FFI_THROW(TypeError) << "relax::toVector: expected a tensor of "
                             << expected << ", but got " << actual;
  Tensor copy = copyTo(tensor, cpu());
  const T *data = static_cast<const T *>(copy.data_ptr());
  return std::vector<T>(data, data + copy.numel());
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

// A compiled module.
class Executable {
public:
  explicit Executable(tvm::ffi::ObjectRef object) : object(std::move(object)) {}

  // Reads text assembly; docs/dev/vm.md has its grammar.
  static Executable assemble(std::string_view text,
                             const std::vector<Any> &constants = {}) {
    return Executable(detail::global("relax_mlir.vm.assemble")(
                          tvm::ffi::String(text.data(), text.size()),
                          tvm::ffi::Array<Any>(constants))
                          .cast<tvm::ffi::ObjectRef>());
  }

  const tvm::ffi::ObjectRef &get() const { return object; }

private:
  tvm::ffi::ObjectRef object;
};

// Calls the functions of an executable. Several threads may use one at once.
class VirtualMachine {
public:
  explicit VirtualMachine(const Executable &executable)
      : object(detail::global("relax_mlir.vm.create")(executable.get())
                   .cast<tvm::ffi::ObjectRef>()) {}

  // A public function, which keeps the program alive.
  Function operator[](std::string_view name) const {
    return detail::global("relax_mlir.vm.get_function")(
               object, tvm::ffi::String(name.data(), name.size()))
        .cast<Function>();
  }

  template <typename... Args>
  Any call(std::string_view name, Args &&...args) const {
    return (*this)[name](std::forward<Args>(args)...);
  }

  const tvm::ffi::ObjectRef &get() const { return object; }

private:
  tvm::ffi::ObjectRef object;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

using MemoryStats = relax_memory_statistics;

/// The statistics of the pool of a device.
inline MemoryStats memoryStats(Device device = cpu()) {
  MemoryStats stats;
  TVM_FFI_CHECK_SAFE_CALL(relax_memory_statistics_get(
      device.device_type, device.device_id, &stats));
  return stats;
}

// The peak of a device starts again from what is in use now.
inline void resetPeakMemory(Device device = cpu()) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_memory_peak_reset(device.device_type, device.device_id));
}

// Returns what the pool of a device keeps to the system.
inline void releaseMemory(Device device = cpu()) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_memory_release(device.device_type, device.device_id));
}

// Bounds what a device holds while it keeps some for later; -1: by use.
inline void setMemoryLimit(int64_t bytes, Device device = cpu()) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_memory_limit_set(device.device_type, device.device_id, bytes));
}

// Waits for all work on a device.
inline void synchronize(Device device) {
  TVM_FFI_CHECK_SAFE_CALL(
      relax_device_synchronize(device.device_type, device.device_id));
}

// Whether programs can use a device here.
inline bool hasDevice(Device device) {
  return detail::global("relax_mlir.runtime.has_device")(device).cast<bool>();
}

} // namespace relax

#endif // RELAX_RUNTIME_HPP
