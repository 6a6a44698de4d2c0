//===- Container.h - Named sections in a file -------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artefact is a header, a table of sections, and the sections, each at a
// multiple of 64 bytes with zeros in between. Numbers are little-endian.
//
//   header (64 bytes)              entry of the table (48 bytes)
//     0  magic, 8 bytes              0  name, 16 bytes, filled up with zeros
//     8  u32 version                16  u64 offset from the start of the header
//    12  u32 0x01020304             24  u64 size
//    16  u64 size of all            32  u32 checksum of the content
//    24  u32 number of sections     36  12 bytes of zero
//    28  u32 checksum of the table
//    32  28 bytes of zero
//    60  u32 checksum of the header up to here
//
// Every bit is covered by a checksum or must be zero, so that no change goes
// unseen. Data is checked before it is used, whatever the checksums say: a
// hostile file has those right.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_CONTAINER_H
#define RELAX_RUNTIME_ARTEFACT_CONTAINER_H

#include "Image.h"

#include <functional>
#include <string_view>
#include <vector>

namespace relax_runtime {

// Of the format; a loader reads its own version only.
constexpr uint32_t kArtefactVersion = 1;
constexpr size_t kSectionAlignment = 64;

// The checksums that a loader compares. Structure: all but those of the
// payloads of constants, which takes no look at gigabytes.
enum class Verify { All, Structure };

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// Reads the content of a section from front to back. Every function raises
// ValueError that names the source and the section, where bytes are missing or
// make no sense.
class SectionReader {
public:
  SectionReader(std::string source, std::string name, const uint8_t *data,
                size_t size)
      : source(std::move(source)), name(std::move(name)), data(data),
        size(size) {}

  uint8_t readU8();
  uint32_t readU32();
  uint64_t readU64();
  int64_t readI64() { return static_cast<int64_t>(readU64()); }
  double readF64();
  // A string with its length in front.
  std::string_view readText();
  const uint8_t *readBytes(uint64_t count);
  // A number of things that follow, each of at least `itemSize` bytes: with it
  // memory may be reserved.
  uint64_t readCount(size_t itemSize);
  // A number below `limit`, which counts `what`.
  uint64_t readIndex(uint64_t limit, const char *what);
  // Checks that nothing follows.
  void finish();

  size_t remaining() const { return size - position; }
  // "source: section 'name': text".
  [[noreturn]] void raise(const std::string &text) const;

private:
  std::string source, name;
  const uint8_t *data;
  size_t size, position = 0;
};

class Container {
public:
  // Checks all of the structure. `lazy` names the section whose checksum is
  // compared with Verify::All only.
  Container(std::shared_ptr<Image> image, Verify verify, std::string_view lazy);

  // A section; raises ValueError where there is none of that name.
  SectionReader reader(std::string_view name) const;
  // Returns the content of a section.
  std::pair<uint8_t *, size_t> content(std::string_view name) const;

  const std::shared_ptr<Image> image;

  struct Section {
    std::string name;
    uint64_t offset, size;
    uint32_t checksum;
  };
  const std::vector<Section> &sections() const { return table; }

private:
  const Section &find(std::string_view name) const;
  void readHeader(uint32_t *numSections);
  void readTable(uint32_t numSections);
  void checkPadding(uint64_t begin, uint64_t end, const std::string &after);

  std::vector<Section> table;
};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

// Appends numbers and text to the content of a section.
class SectionWriter {
public:
  void writeU8(uint8_t value) { bytes.push_back(static_cast<char>(value)); }
  void writeU32(uint32_t value) { writeLittle(value, 4); }
  void writeU64(uint64_t value) { writeLittle(value, 8); }
  void writeI64(int64_t value) { writeU64(static_cast<uint64_t>(value)); }
  void writeF64(double value);
  void writeText(std::string_view text);
  void writeBytes(const void *data, size_t size) {
    bytes.append(static_cast<const char *>(data), size);
  }

  std::string bytes;

private:
  void writeLittle(uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      writeU8(static_cast<uint8_t>(value >> (8 * i)));
  }
};

// The destination of an artefact, which is written a piece of bytes at a time.
using Sink = std::function<void(const void *data, size_t size)>;

class ContainerWriter {
public:
  // A section of bytes.
  void addSection(std::string name, std::string content);
  // A section of pieces that are owned elsewhere.
  struct Piece {
    const void *data;
    size_t size;
  };
  void addSection(std::string name, std::vector<Piece> pieces);
  // The size of all.
  uint64_t size() const;
  void write(const Sink &sink) const;

private:
  struct Section {
    std::string name, content;
    std::vector<Piece> pieces;
    uint64_t size;
  };
  std::vector<Section> sections;
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_CONTAINER_H
