//===- Image.cc - The bytes of an artefact ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Image.h"

#include "../Internal.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tvm/ffi/error.h>
#include <unistd.h>

using namespace relax_runtime;

// Names in a damaged file may be no text at all.
static std::string escape(const std::string &text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string escaped;
  for (unsigned char byte : text) {
    if (byte == '\n' || (byte >= 0x20 && byte < 0x7f))
      escaped += static_cast<char>(byte);
    else
      escaped += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return escaped;
}

void relax_runtime::raiseInSource(const std::string &source,
                                  const std::string &text) {
  RELAX_THROW(ValueError) << source << ": " << escape(text);
  TVM_FFI_UNREACHABLE();
}

void relax_runtime::raiseSystem(const std::string &path, const char *what) {
  int code = errno;
  RELAX_THROW(OSError) << path << ": " << what << ": " << std::strerror(code);
  TVM_FFI_UNREACHABLE();
}

namespace {
struct MappedImage final : Image {
  ~MappedImage() override {
    if (data)
      munmap(data, size);
  }
};

struct CopiedImage final : Image {
  ~CopiedImage() override {
    if (data)
      ::operator delete(data, std::align_val_t(64));
  }
};

struct PartImage final : Image {
  explicit PartImage(std::shared_ptr<Image> whole) : whole(std::move(whole)) {}
  std::shared_ptr<Image> whole;
};

struct File {
  int descriptor;
  ~File() {
    if (descriptor >= 0)
      close(descriptor);
  }
};
} // namespace

// Private and writable: pages that are never written stay those of the file,
// which processes share.
std::shared_ptr<Image> Image::map(const std::string &path) {
  // Without a wait for whoever writes to a FIFO, which is no file.
  File file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.descriptor < 0)
    raiseSystem(path, "cannot be opened");
  struct stat info;
  if (fstat(file.descriptor, &info) != 0)
    raiseSystem(path, "cannot be read");
  if (!S_ISREG(info.st_mode))
    raiseInSource(path, "expected a file");
  if (info.st_size <= 0)
    raiseInSource(path, "the file is empty");
  auto image = std::make_shared<MappedImage>();
  image->source = path;
  size_t size = static_cast<size_t>(info.st_size);
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE,
                      file.descriptor, 0);
  if (memory == MAP_FAILED)
    raiseSystem(path, "cannot be mapped");
  image->data = static_cast<uint8_t *>(memory);
  image->size = size;
  return image;
}

std::shared_ptr<Image> Image::copy(const void *data, size_t size,
                                   std::string source) {
  auto image = std::make_shared<CopiedImage>();
  image->source = std::move(source);
  image->data = static_cast<uint8_t *>(
      ::operator new(size == 0 ? 1 : size, std::align_val_t(64)));
  image->size = size;
  if (size != 0)
    std::memcpy(image->data, data, size);
  return image;
}

std::shared_ptr<Image> Image::part(std::shared_ptr<Image> whole, size_t offset,
                                   size_t size) {
  auto image = std::make_shared<PartImage>(whole);
  image->data = whole->data + offset;
  image->size = size;
  image->source = whole->source;
  return image;
}
