//===- Constants.cc - Values in an artefact ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Constants.h"

#include <algorithm>
#include <limits>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/string.h>

using namespace relax_runtime;

namespace {
enum class Tag : uint8_t {
  None,
  Bool,
  Int,
  Float,
  String,
  Bytes,
  DType,
  Shape,
  Tensor,
  Tuple
};

// Of tuples in tuples, so that reading ends before the stack does.
constexpr int kMaxDepth = 64;
constexpr uint32_t kMaxRank = 64;
} // namespace

// The bytes of `dims` elements; false where they do not fit in 64 bits or a
// dimension is negative.
static bool countBytes(const int64_t *dims, uint32_t ndim, DLDataType dtype,
                       uint64_t *bytes) {
  uint64_t bits = uint64_t(dtype.bits) * dtype.lanes;
  bool isEmpty = std::find(dims, dims + ndim, 0) != dims + ndim;
  for (uint32_t i = 0; i < ndim; ++i) {
    if (dims[i] < 0)
      return false;
    if (!isEmpty && __builtin_mul_overflow(bits, uint64_t(dims[i]), &bits))
      return false;
  }
  *bytes = isEmpty ? 0 : bits / 8 + (bits % 8 != 0);
  return true;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void ConstantsWriter::write(const ffi::Any &value,
                            const std::string &constant) {
  write(value, constant, 0);
}

void ConstantsWriter::write(const ffi::Any &value, const std::string &constant,
                            int depth) {
  auto begin = [&](Tag tag) {
    descriptions.writeU8(static_cast<uint8_t>(tag));
  };
  if (value == nullptr)
    return begin(Tag::None);
  if (auto truth = value.as<bool>(); value.type_index() == kTVMFFIBool) {
    begin(Tag::Bool);
    return descriptions.writeU8(*truth);
  }
  if (value.type_index() == kTVMFFIInt) {
    begin(Tag::Int);
    return descriptions.writeI64(value.cast<int64_t>());
  }
  if (value.type_index() == kTVMFFIFloat) {
    begin(Tag::Float);
    return descriptions.writeF64(value.cast<double>());
  }
  if (value.type_index() == kTVMFFIDataType) {
    begin(Tag::DType);
    return descriptions.writeU32(packDType(value.cast<DLDataType>()));
  }
  if (auto text = value.as<ffi::String>()) {
    begin(Tag::String);
    return descriptions.writeText({text->data(), text->size()});
  }
  if (auto bytes = value.as<ffi::Bytes>()) {
    begin(Tag::Bytes);
    return descriptions.writeText({bytes->data(), bytes->size()});
  }
  if (value.type_index() == kTVMFFIShape) {
    auto shape = value.cast<ffi::Shape>();
    begin(Tag::Shape);
    descriptions.writeU64(shape.size());
    for (int64_t dim : shape)
      descriptions.writeI64(dim);
    return;
  }
  if (value.type_index() == kTVMFFITensor)
    return writeTensor(value, constant);
  if (value.type_index() == kTVMFFIArray && depth < kMaxDepth) {
    auto fields = value.cast<ffi::Array<ffi::Any>>();
    begin(Tag::Tuple);
    descriptions.writeU64(fields.size());
    for (const ffi::Any &field : fields)
      write(field, constant, depth + 1);
    return;
  }
  RELAX_THROW(TypeError) << constant
                         << ": expected a value that can be saved, but got "
                         << describe(
                                reinterpret_cast<const TVMFFIAny *>(&value));
}

void ConstantsWriter::writeTensor(const ffi::Any &value,
                                  const std::string &constant) {
  relax_site site = {"save", constant.c_str(), "a tensor", ""};
  const TVMFFIAny *slot = reinterpret_cast<const TVMFFIAny *>(&value);
  const DLTensor *tensor = getTensor(slot);
  if (tensor->device.device_type != kDLCPU)
    RELAX_THROW(TypeError) << constant
                           << ": expected a tensor in host memory, but got "
                           << describeTensor(*tensor);
  // The value itself, or a compact copy of it.
  ffi::Any compact;
  void *data = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(relax_tensor_data(
      &site, slot, reinterpret_cast<TVMFFIAny *>(&compact), &data));
  held.push_back(compact == nullptr ? value : compact);
  uint64_t bytes = 0;
  uint32_t ndim = static_cast<uint32_t>(tensor->ndim);
  countBytes(tensor->shape, ndim, tensor->dtype, &bytes);

  descriptions.writeU8(static_cast<uint8_t>(Tag::Tensor));
  descriptions.writeU32(packDType(tensor->dtype));
  descriptions.writeU32(ndim);
  for (uint32_t i = 0; i < ndim; ++i)
    descriptions.writeI64(tensor->shape[i]);
  static const char kZeros[kSectionAlignment] = {};
  uint64_t padding = (0 - payloadsEnd) % kSectionAlignment;
  if (padding != 0)
    payloads.push_back({kZeros, padding});
  descriptions.writeU64(payloadsEnd + padding);
  payloads.push_back({data, bytes});
  payloadsEnd += padding + bytes;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
// The memory of a tensor that is a part of an image.
struct ImageMemory {
  std::shared_ptr<Image> image;
  void *data;
  void AllocData(DLTensor *tensor) { tensor->data = data; }
  void FreeData(DLTensor *) {}
};

class ConstantReader {
public:
  ConstantReader(SectionReader &reader, const std::shared_ptr<Image> &image,
                 std::pair<uint8_t *, size_t> payloads)
      : reader(reader), image(image), payloads(payloads) {}
  ffi::Any read(int depth);

private:
  std::vector<int64_t> readDims(uint64_t count);
  DLDataType readDType();
  ffi::Any readTensor();
  ffi::Any readTuple(int depth);

  SectionReader &reader;
  const std::shared_ptr<Image> &image;
  std::pair<uint8_t *, size_t> payloads;
};
} // namespace

std::vector<int64_t> ConstantReader::readDims(uint64_t count) {
  std::vector<int64_t> dims(count);
  for (int64_t &dim : dims) {
    dim = reader.readI64();
    if (dim < 0)
      reader.raise("expected a dimension, but got " + std::to_string(dim));
  }
  return dims;
}

DLDataType ConstantReader::readDType() {
  DLDataType dtype = unpackDType(reader.readU32());
  if (dtype.bits == 0 && dtype.lanes == 0)
    return dtype; // void
  if (dtype.code > kDLFloat4_e2m1fn || dtype.bits == 0 || dtype.lanes == 0 ||
      dtype.code == kDLOpaqueHandle)
    reader.raise("expected a data type, but got code " +
                 std::to_string(dtype.code) + ", " +
                 std::to_string(dtype.bits) + " bits, " +
                 std::to_string(dtype.lanes) + " lanes");
  return dtype;
}

ffi::Any ConstantReader::readTensor() {
  DLDataType dtype = readDType();
  uint32_t ndim = reader.readU32();
  if (ndim > kMaxRank || dtype.bits == 0)
    reader.raise("expected a tensor of rank at most " +
                 std::to_string(kMaxRank) + " with a data type");
  std::vector<int64_t> dims = readDims(ndim);
  uint64_t offset = reader.readU64(), bytes = 0;
  if (!countBytes(dims.data(), ndim, dtype, &bytes) ||
      offset > payloads.second || bytes > payloads.second - offset ||
      offset % kSectionAlignment != 0)
    reader.raise("a tensor of shape " + dimsText(dims.data(), ndim) +
                 " at offset " + std::to_string(offset) +
                 " does not lie within section 'payloads'");
  return ffi::Tensor::FromNDAlloc(ImageMemory{image, payloads.first + offset},
                                  ffi::Shape(dims), dtype, DLDevice{kDLCPU, 0});
}

ffi::Any ConstantReader::readTuple(int depth) {
  if (depth >= kMaxDepth)
    reader.raise("tuples are nested deeper than " + std::to_string(kMaxDepth));
  uint64_t count = reader.readCount(/*itemSize=*/1);
  ffi::Array<ffi::Any> fields;
  fields.reserve(static_cast<int64_t>(count));
  for (uint64_t i = 0; i < count; ++i)
    fields.push_back(read(depth + 1));
  return fields;
}

ffi::Any ConstantReader::read(int depth) {
  uint8_t tag = reader.readU8();
  switch (static_cast<Tag>(tag)) {
  case Tag::None:
    return ffi::Any();
  case Tag::Bool: {
    uint8_t value = reader.readU8();
    if (value > 1)
      reader.raise("expected a bool, but got " + std::to_string(value));
    return value == 1;
  }
  case Tag::Int:
    return reader.readI64();
  case Tag::Float:
    return reader.readF64();
  case Tag::String: {
    std::string_view text = reader.readText();
    return ffi::String(text.data(), text.size());
  }
  case Tag::Bytes: {
    std::string_view bytes = reader.readText();
    return ffi::Bytes(bytes.data(), bytes.size());
  }
  case Tag::DType:
    return readDType();
  case Tag::Shape:
    return ffi::Shape(readDims(reader.readCount(/*itemSize=*/8)));
  case Tag::Tensor:
    return readTensor();
  case Tag::Tuple:
    return readTuple(depth);
  }
  reader.raise("expected the kind of a value, but got " + std::to_string(tag));
}

ffi::Any relax_runtime::readConstant(SectionReader &reader,
                                     const std::shared_ptr<Image> &image,
                                     std::pair<uint8_t *, size_t> payloads) {
  return ConstantReader(reader, image, payloads).read(0);
}
