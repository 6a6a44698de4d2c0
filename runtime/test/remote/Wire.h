//===- Wire.h - Values as bytes ---------------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments and results of calls as bytes, between two processes whose machines
// are both little-endian. A value is a letter and what it needs:
//
//   N                            None
//   B byte | I i64 | F f64       a Boolean, an integer, a float
//   S text                       a string: its size (u64), its bytes
//   H u64, i64...                a shape: its rank, its dimensions
//   A u64, value...              a tuple: its size, its fields
//   T u8, u8, u16, u64, i64...,  a tensor: the code, bits and lanes of its data
//     bytes                      type, its rank and dimensions, its elements in
//                                row-major order
//   O text                       any other result, which stays where it is: the
//                                key of its type
//
// test/python/emulated.py has the other side.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_TEST_WIRE_H
#define RELAX_RUNTIME_TEST_WIRE_H

#include "relax_runtime.hpp"

#include <cstdio>
#include <cstring>
#include <string>

namespace remote {

// Reads what the other side writes. The end of the file in the middle of
// something is an error.
class Input {
public:
  explicit Input(FILE *file) : file(file) {}

  bool isAtEnd();
  void readBytes(void *data, size_t size);
  std::string readText();
  relax::Any readValue();

  template <typename T> T read() {
    T value;
    readBytes(&value, sizeof(T));
    return value;
  }

private:
  relax::Shape readShape();
  relax::Tensor readTensor();
  relax::Any readTuple();

  FILE *file;
};

// Collects bytes of an answer, which is written as a whole.
class Output {
public:
  void writeText(std::string_view text);
  void writeValue(const relax::Any &value);
  // Writes the size of all bytes before them.
  void flush(FILE *file);

  template <typename T> void write(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
  }

private:
  void writeShape(tvm::ffi::ShapeView shape);
  void writeTensor(const relax::Tensor &tensor);
  void writeTuple(const tvm::ffi::Array<relax::Any> &fields);

  std::string bytes;
};

} // namespace remote

#endif // RELAX_RUNTIME_TEST_WIRE_H
