//===- Wire.cc - Values as bytes --------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the values that Wire.h describes.
//
//===----------------------------------------------------------------------===//

#include "Wire.h"

namespace ffi = tvm::ffi;
using namespace remote;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool Input::isAtEnd() {
  int next = std::getc(file);
  if (next == EOF)
    return true;
  std::ungetc(next, file);
  return false;
}

void Input::readBytes(void *data, size_t size) {
  if (size != 0 && std::fread(data, 1, size, file) != size)
    TVM_FFI_THROW(EOFError)
        << "expected " << size << " bytes, but the input has ended";
}

std::string Input::readText() {
  std::string text(read<uint64_t>(), '\0');
  readBytes(text.data(), text.size());
  return text;
}

relax::Shape Input::readShape() {
  std::vector<int64_t> dims(read<uint64_t>());
  readBytes(dims.data(), dims.size() * sizeof(int64_t));
  return relax::Shape(dims.begin(), dims.end());
}

relax::Tensor Input::readTensor() {
  auto dtype = read<relax::DataType>();
  relax::Tensor tensor = relax::empty(readShape(), dtype);
  readBytes(tensor.data_ptr(), ffi::GetDataSize(*tensor.GetDLTensorPtr()));
  return tensor;
}

relax::Any Input::readTuple() {
  ffi::Array<relax::Any> fields;
  for (auto count = read<uint64_t>(); count != 0; --count)
    fields.push_back(readValue());
  return fields;
}

relax::Any Input::readValue() {
  char kind = read<char>();
  switch (kind) {
  case 'N':
    return nullptr;
  case 'B':
    return read<uint8_t>() != 0;
  case 'I':
    return read<int64_t>();
  case 'F':
    return read<double>();
  case 'S':
    return ffi::String(readText());
  case 'H':
    return readShape();
  case 'A':
    return readTuple();
  case 'T':
    return readTensor();
  default:
    TVM_FFI_THROW(ValueError) << "expected a value, but got '" << kind << "'";
  }
  TVM_FFI_UNREACHABLE();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void Output::writeText(std::string_view text) {
  write<uint64_t>(text.size());
  bytes.append(text);
}

void Output::writeShape(ffi::ShapeView shape) {
  write<uint64_t>(shape.size());
  for (int64_t dim : shape)
    write(dim);
}

void Output::writeTensor(const relax::Tensor &tensor) {
  write('T');
  write(tensor.dtype());
  writeShape(tensor.shape());
  relax::Tensor compact = relax::copyTo(tensor, relax::cpu());
  if (size_t size = ffi::GetDataSize(*compact.GetDLTensorPtr()))
    bytes.append(static_cast<const char *>(compact.data_ptr()), size);
}

void Output::writeTuple(const ffi::Array<relax::Any> &fields) {
  write('A');
  write<uint64_t>(fields.size());
  for (const relax::Any &field : fields)
    writeValue(field);
}

void Output::writeValue(const relax::Any &value) {
  if (value == nullptr)
    return write('N');
  if (auto tensor = value.as<relax::Tensor>())
    return writeTensor(*tensor);
  if (auto fields = value.as<ffi::Array<relax::Any>>())
    return writeTuple(*fields);
  if (auto shape = value.as<relax::Shape>()) {
    write('H');
    return writeShape(*shape);
  }
  if (auto text = value.as<ffi::String>()) {
    write('S');
    return writeText({text->data(), text->size()});
  }
  switch (value.type_index()) {
  case kTVMFFIBool:
    write('B');
    return write<uint8_t>(value.cast<bool>());
  case kTVMFFIInt:
    write('I');
    return write(value.cast<int64_t>());
  case kTVMFFIFloat:
    write('F');
    return write(value.cast<double>());
  default:
    write('O');
    return writeText(value.GetTypeKey());
  }
}

void Output::flush(FILE *file) {
  uint64_t size = bytes.size();
  std::fwrite(&size, sizeof(size), 1, file);
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fflush(file);
  bytes.clear();
}
