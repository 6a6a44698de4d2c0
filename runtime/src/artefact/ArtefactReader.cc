//===- ArtefactReader.cc - From bytes to a program --------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artefact.h"
#include "ArtefactFormat.h"
#include "Checksum.h"
#include "Constants.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

// A text that C code may see: without a zero in it.
static std::string readName(SectionReader &reader) {
  std::string_view text = reader.readText();
  if (text.find('\0') != std::string_view::npos)
    reader.raise("a name holds a zero byte");
  return std::string(text);
}

static std::vector<std::string> readNames(SectionReader &reader) {
  std::vector<std::string> names(reader.readCount(/*itemSize=*/8));
  for (std::string &name : names)
    name = readName(reader);
  return names;
}

static int32_t readInt(SectionReader &reader) {
  return static_cast<int32_t>(
      reader.readIndex(std::numeric_limits<int32_t>::max(), "numbers"));
}

static Metadata readMetadata(SectionReader reader) {
  Metadata metadata;
  for (uint64_t count = reader.readCount(/*itemSize=*/16); count != 0;
       --count) {
    std::string_view key = reader.readText();
    metadata.emplace(key, reader.readText());
  }
  reader.finish();
  return metadata;
}

static std::vector<vm::FunctionDef>
readFunctions(SectionReader reader, const vm::ExecutableParts &parts) {
  uint64_t numWords = parts.code.size(), numSites = parts.sites.size();
  std::vector<vm::FunctionDef> functions(
      reader.readCount(/*itemSize=*/kFunctionBytes));
  for (vm::FunctionDef &function : functions) {
    function.name = readName(reader);
    uint8_t flags = reader.readU8();
    if (flags > (kIsNative | kIsPrivate))
      reader.raise("function '" + function.name + "' is of no known kind");
    function.kind = flags & kIsNative ? vm::FunctionDef::Kind::Native
                                      : vm::FunctionDef::Kind::Bytecode;
    function.isPrivate = flags & kIsPrivate;
    function.params = readNames(reader);
    function.numCaptures = readInt(reader);
    function.numRegisters = readInt(reader);
    function.numHeapSlots = readInt(reader);
    function.structInfo = readName(reader);
    auto readRange = [&](uint64_t limit, const char *what, int64_t &begin,
                         int64_t &end) {
      begin = static_cast<int64_t>(reader.readIndex(limit + 1, what));
      end = static_cast<int64_t>(reader.readIndex(limit + 1, what));
      if (begin > end)
        reader.raise("function '" + function.name + "' ends before it begins");
    };
    readRange(numWords, "words", function.codeBegin, function.codeEnd);
    readRange(numSites, "sites", function.siteBegin, function.siteEnd);
  }
  reader.finish();
  return functions;
}

static std::vector<vm::SiteDef> readSites(SectionReader reader) {
  std::vector<vm::SiteDef> sites(reader.readCount(/*itemSize=*/24));
  for (vm::SiteDef &site : sites) {
    site.what = readName(reader);
    site.expected = readName(reader);
    site.location = readName(reader);
  }
  reader.finish();
  return sites;
}

static std::vector<int64_t> readCode(SectionReader reader) {
  std::vector<int64_t> code(reader.readCount(/*itemSize=*/8));
  for (int64_t &word : code)
    word = reader.readI64();
  reader.finish();
  return code;
}

static std::vector<ffi::Any> readConstants(const Container &container) {
  SectionReader reader = container.reader(kConstants);
  std::vector<ffi::Any> constants(reader.readCount(/*itemSize=*/1));
  for (ffi::Any &constant : constants)
    constant =
        readConstant(reader, container.image, container.content(kPayloads));
  reader.finish();
  return constants;
}

static NativeCode readNative(const Container &container) {
  SectionReader reader = container.reader(kNative);
  NativeCode native;
  native.triple = readName(reader);
  native.cpu = readName(reader);
  native.features = readName(reader);
  native.symbols = readNames(reader);
  reader.finish();
  auto [data, size] = container.content(kObject);
  native.object = {reinterpret_cast<const char *>(data), size};
  return native;
}

Artefact relax_runtime::readArtefact(std::shared_ptr<Image> image,
                                     Verify verify) {
  Container container(image, verify, kPayloads);
  Artefact artefact;
  artefact.image = std::move(image);
  artefact.metadata = readMetadata(container.reader(kMetadata));
  vm::ExecutableParts &parts = artefact.parts;
  SectionReader names = container.reader(kNames);
  parts.kernels = readNames(names);
  parts.packed = readNames(names);
  parts.strings = readNames(names);
  names.finish();
  parts.sites = readSites(container.reader(kSites));
  parts.code = readCode(container.reader(kCode));
  parts.functions = readFunctions(container.reader(kFunctions), parts);
  parts.constants = readConstants(container);
  artefact.native = readNative(container);
  return artefact;
}

vm::Executable Artefact::makeExecutable() && {
  try {
    return vm::Executable(std::move(parts));
  } catch (const ffi::Error &error) {
    if (error.kind() != "ValueError")
      throw;
    raiseInSource(image->source,
                  "section 'code': " + std::string(error.message()));
  }
}

//===----------------------------------------------------------------------===//
// Artefacts appended to a library
//===----------------------------------------------------------------------===//

std::shared_ptr<Image>
relax_runtime::findAppended(std::shared_ptr<Image> library, Verify verify) {
  auto section = [&](const char *name, const uint8_t *data, size_t size) {
    return SectionReader(library->source, name, data, size);
  };
  size_t size = library->size < kTailSize ? 0 : library->size - kTailSize;
  SectionReader tail =
      section("tail", library->data + size, std::min(library->size, kTailSize));
  if (std::memcmp(tail.readBytes(sizeof(kTailMagic)), kTailMagic,
                  sizeof(kTailMagic)) != 0)
    tail.raise("no model is appended to the library; a tool that rewrites "
               "libraries, like strip, may have removed it");
  uint64_t offset = tail.readU64(), length = tail.readU64();
  uint32_t sum = tail.readU32();
  const uint8_t *zeros = tail.readBytes(32);
  if (tail.readU32() != checksum(library->data + size, kTailSize - 4) ||
      std::any_of(zeros, zeros + 32, [](uint8_t byte) { return byte != 0; }))
    tail.raise("the checksum is wrong: the content changed");
  if (offset % kPageSize != 0 || offset > size || length != size - offset)
    tail.raise("expected the model to fill the file from offset " +
               std::to_string(offset) + " on");
  if (verify == Verify::All && checksum(library->data, offset) != sum)
    section("library", nullptr, 0)
        .raise("the checksum is wrong: the content changed");
  return Image::part(library, offset, length);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void relax_runtime::bindSymbols(
    vm::Executable executable,
    const std::vector<std::pair<std::string, void *>> &symbols,
    ffi::Any keepAlive, const std::string &source) {
  std::map<std::string_view, void *> addresses(symbols.begin(), symbols.end());
  auto find = [&](const char *prefix, const std::string &name,
                  const char *what) {
    auto found = addresses.find(prefix + name);
    if (found == addresses.end() || !found->second)
      raiseInSource(source, "section 'native': " + std::string(what) + " '" +
                                name + "' has no machine code");
    return std::pair(name, found->second);
  };
  std::vector<std::pair<std::string, void *>> kernels, functions;
  const vm::ExecutableParts &parts = executable->getParts();
  for (const std::string &kernel : parts.kernels)
    kernels.push_back(find("relax_kernel_", kernel, "kernel"));
  for (const vm::FunctionDef &function : parts.functions)
    if (function.kind == vm::FunctionDef::Kind::Native)
      functions.push_back(find("relax_function_", function.name, "function"));
  auto *executableObj = const_cast<vm::ExecutableObj *>(executable.get());
  executableObj->bind(kernels, functions, std::move(keepAlive));
  // The elements of the pool stay where they are as long as the executable.
  auto pool = addresses.find("relax_constants");
  if (pool != addresses.end() && pool->second)
    *static_cast<const ffi::Any **>(pool->second) = parts.constants.data();
}
