//===- Container.cc - Named sections in a file ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Container.h"

#include "Checksum.h"

#include <algorithm>
#include <cstring>

using namespace relax_runtime;

namespace {
// The first byte is no text, and the line ends do not survive a copy in text
// mode.
constexpr uint8_t kMagic[8] = {0x89, 'R', 'L', 'X', '\r', '\n', 0x1a, '\n'};
constexpr uint32_t kByteOrder = 0x01020304;
constexpr size_t kHeaderSize = 64, kEntrySize = 48, kNameSize = 16;
// Far more than there are; bounds what a hostile file makes us look at.
constexpr uint32_t kMaxSections = 64;
} // namespace

static uint64_t roundUp(uint64_t offset) {
  return (offset + kSectionAlignment - 1) / kSectionAlignment *
         kSectionAlignment;
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

void SectionReader::raise(const std::string &text) const {
  raiseInSource(source, "section '" + name + "': " + text);
}

const uint8_t *SectionReader::readBytes(uint64_t count) {
  if (count > remaining())
    raise("expected " + std::to_string(count) + " bytes at offset " +
          std::to_string(position) + ", but only " +
          std::to_string(remaining()) + " are left");
  const uint8_t *bytes = data + position;
  position += count;
  return bytes;
}

uint8_t SectionReader::readU8() { return *readBytes(1); }

uint32_t SectionReader::readU32() {
  const uint8_t *bytes = readBytes(4);
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  return value;
}

uint64_t SectionReader::readU64() {
  uint64_t low = readU32();
  return low | static_cast<uint64_t>(readU32()) << 32;
}

double SectionReader::readF64() {
  uint64_t bits = readU64();
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

std::string_view SectionReader::readText() {
  uint64_t length = readU64();
  return {reinterpret_cast<const char *>(readBytes(length)), length};
}

uint64_t SectionReader::readCount(size_t itemSize) {
  uint64_t count = readU64();
  if (count > remaining() / itemSize)
    raise("expected room for " + std::to_string(count) + " items, but only " +
          std::to_string(remaining()) + " bytes are left");
  return count;
}

uint64_t SectionReader::readIndex(uint64_t limit, const char *what) {
  uint64_t index = readU64();
  if (index >= limit)
    raise("expected the index of one of " + std::to_string(limit) + " " + what +
          ", but got " + std::to_string(index));
  return index;
}

void SectionReader::finish() {
  if (remaining() != 0)
    raise(std::to_string(remaining()) + " bytes follow its end");
}

void SectionWriter::writeF64(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  writeU64(bits);
}

void SectionWriter::writeText(std::string_view text) {
  writeU64(text.size());
  bytes.append(text);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Container::Container(std::shared_ptr<Image> held, Verify verify,
                     std::string_view lazy)
    : image(std::move(held)) {
  uint32_t numSections = 0;
  readHeader(&numSections);
  readTable(numSections);
  for (const Section &section : table) {
    if (verify == Verify::Structure && section.name == lazy)
      continue;
    if (checksum(image->data + section.offset, section.size) !=
        section.checksum)
      reader(section.name).raise("the checksum is wrong: the content changed");
  }
}

// The version comes before all else that may change with it.
void Container::readHeader(uint32_t *numSections) {
  SectionReader header(image->source, "header", image->data,
                       std::min(image->size, kHeaderSize));
  if (std::memcmp(header.readBytes(sizeof(kMagic)), kMagic, sizeof(kMagic)))
    header.raise("expected the first bytes of an artefact of relax-mlir; this "
                 "is another kind of file");
  uint32_t version = header.readU32();
  if (version != kArtefactVersion)
    header.raise("expected version " + std::to_string(kArtefactVersion) +
                 " of the format, but got " + std::to_string(version));
  if (header.readU32() != kByteOrder)
    header.raise("the byte order makes no sense");
  uint64_t size = header.readU64();
  *numSections = header.readU32();
  header.readBytes(kHeaderSize - 32);
  header.readU32(); // only where the header is complete, it is summed up
  SectionReader last(image->source, "header", image->data + kHeaderSize - 4, 4);
  if (last.readU32() != checksum(image->data, kHeaderSize - 4))
    header.raise("the checksum is wrong: the content changed");
  if (size != image->size)
    header.raise("expected " + std::to_string(size) +
                 " bytes in all, but got " + std::to_string(image->size));
  if (*numSections > kMaxSections)
    header.raise("expected at most " + std::to_string(kMaxSections) +
                 " sections, but got " + std::to_string(*numSections));
  checkPadding(32, kHeaderSize - 4, "header");
}

void Container::readTable(uint32_t numSections) {
  uint64_t end = kHeaderSize + uint64_t(numSections) * kEntrySize;
  SectionReader reader(image->source, "table of sections",
                       image->data + kHeaderSize, image->size - kHeaderSize);
  const uint8_t *entries = reader.readBytes(numSections * kEntrySize);
  SectionReader header(image->source, "header", image->data + 28, 4);
  if (header.readU32() != checksum(entries, numSections * kEntrySize))
    reader.raise("the checksum is wrong: the content changed");
  SectionReader entry(image->source, "table of sections", entries,
                      numSections * kEntrySize);
  std::string before = "table of sections";
  for (uint32_t i = 0; i < numSections; ++i) {
    const char *text =
        reinterpret_cast<const char *>(entry.readBytes(kNameSize));
    Section section;
    section.name.assign(text, strnlen(text, kNameSize));
    section.offset = entry.readU64();
    section.size = entry.readU64();
    section.checksum = entry.readU32();
    const uint8_t *reserved = entry.readBytes(12);
    bool isPadded = std::all_of(text + section.name.size(), text + kNameSize,
                                [](char byte) { return byte == 0; }) &&
                    std::all_of(reserved, reserved + 12,
                                [](uint8_t byte) { return byte == 0; });
    if (!isPadded || section.name.empty())
      entry.raise("entry " + std::to_string(i) + " makes no sense");
    for (const Section &other : table)
      if (other.name == section.name)
        entry.raise("section '" + section.name + "' comes twice");
    // The offset cannot wrap around: it is that where the one before ends.
    if (section.offset != roundUp(end) || section.offset > image->size ||
        section.size > image->size - section.offset)
      entry.raise("section '" + section.name + "' of " +
                  std::to_string(section.size) + " bytes at offset " +
                  std::to_string(section.offset) +
                  " does not lie where it should");
    checkPadding(end, section.offset, before);
    end = section.offset + section.size;
    before = section.name;
    table.push_back(std::move(section));
  }
  if (end != image->size)
    entry.raise(std::to_string(image->size - end) +
                " bytes follow the last section");
}

void Container::checkPadding(uint64_t begin, uint64_t end,
                             const std::string &after) {
  if (std::any_of(image->data + begin, image->data + end,
                  [](uint8_t byte) { return byte != 0; }))
    raiseInSource(image->source,
                  "section '" + after + "': what follows it is not zero");
}

const Container::Section &Container::find(std::string_view name) const {
  for (const Section &section : table)
    if (section.name == name)
      return section;
  raiseInSource(image->source,
                "section '" + std::string(name) + "': it is missing");
}

SectionReader Container::reader(std::string_view name) const {
  const Section &section = find(name);
  return {image->source, section.name, image->data + section.offset,
          section.size};
}

std::pair<uint8_t *, size_t> Container::content(std::string_view name) const {
  const Section &section = find(name);
  return {image->data + section.offset, section.size};
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void ContainerWriter::addSection(std::string name, std::string content) {
  sections.push_back({std::move(name), std::move(content), {}, 0});
  Section &section = sections.back();
  section.size = section.content.size();
}

void ContainerWriter::addSection(std::string name, std::vector<Piece> pieces) {
  uint64_t size = 0;
  for (const Piece &piece : pieces)
    size += piece.size;
  sections.push_back({std::move(name), "", std::move(pieces), size});
}

uint64_t ContainerWriter::size() const {
  uint64_t end = kHeaderSize + sections.size() * kEntrySize;
  for (const Section &section : sections)
    end = roundUp(end) + section.size;
  return end;
}

void ContainerWriter::write(const Sink &sink) const {
  SectionWriter entries;
  uint64_t end = kHeaderSize + sections.size() * kEntrySize;
  for (const Section &section : sections) {
    uint64_t offset = roundUp(end);
    uint32_t sum = checksum(section.content.data(), section.content.size());
    for (const Piece &piece : section.pieces)
      sum = checksum(piece.data, piece.size, sum);
    std::string name = section.name;
    name.resize(kNameSize);
    entries.writeBytes(name.data(), name.size());
    entries.writeU64(offset);
    entries.writeU64(section.size);
    entries.writeU32(sum);
    entries.writeBytes("\0\0\0\0\0\0\0\0\0\0\0", 12);
    end = offset + section.size;
  }
  SectionWriter header;
  header.writeBytes(kMagic, sizeof(kMagic));
  header.writeU32(kArtefactVersion);
  header.writeU32(kByteOrder);
  header.writeU64(size());
  header.writeU32(static_cast<uint32_t>(sections.size()));
  header.writeU32(checksum(entries.bytes.data(), entries.bytes.size()));
  header.bytes.resize(kHeaderSize - 4);
  header.writeU32(checksum(header.bytes.data(), header.bytes.size()));
  sink(header.bytes.data(), header.bytes.size());
  sink(entries.bytes.data(), entries.bytes.size());

  static const char kZeros[kSectionAlignment] = {};
  end = kHeaderSize + entries.bytes.size();
  for (const Section &section : sections) {
    sink(kZeros, roundUp(end) - end);
    sink(section.content.data(), section.content.size());
    for (const Piece &piece : section.pieces)
      sink(piece.data, piece.size);
    end = roundUp(end) + section.size;
  }
}
