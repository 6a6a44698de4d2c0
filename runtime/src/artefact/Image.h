//===- Image.h - The bytes of an artefact -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes in memory, from a file that is mapped or from a copy, and how what is
// wrong with them is reported.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_IMAGE_H
#define RELAX_RUNTIME_ARTEFACT_IMAGE_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace relax_runtime {

// Raises ValueError: "`source`: `text`".
[[noreturn]] void raiseInSource(const std::string &source,
                                const std::string &text);
// Raises OSError: "`path`: `what`: `the error of the system`".
[[noreturn]] void raiseSystem(const std::string &path, const char *what);

// Bytes that live as long as this object. Constants view them, and a write to a
// constant goes to memory of the process, never to the file.
class Image {
public:
  virtual ~Image() = default;
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;

  uint8_t *data = nullptr;
  size_t size = 0;
  // The name that errors use: a path, or "bytes".
  std::string source;

  // Maps a file.
  static std::shared_ptr<Image> map(const std::string &path);
  // Copies bytes to memory aligned to 64 bytes.
  static std::shared_ptr<Image> copy(const void *data, size_t size,
                                     std::string source);
  // A part of another image; it must lie within.
  static std::shared_ptr<Image> part(std::shared_ptr<Image> whole,
                                     size_t offset, size_t size);

protected:
  Image() = default;
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_IMAGE_H
