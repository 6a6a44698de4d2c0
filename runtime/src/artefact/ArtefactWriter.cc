//===- ArtefactWriter.cc - From a program to bytes --------------*- C++ -*-===//
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

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace relax_runtime;

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

static void writeNames(SectionWriter &writer,
                       const std::vector<std::string> &names) {
  writer.writeU64(names.size());
  for (const std::string &name : names)
    writer.writeText(name);
}

static std::string writeMetadata(const Metadata &metadata) {
  SectionWriter writer;
  writer.writeU64(metadata.size());
  for (const auto &[key, value] : metadata) {
    writer.writeText(key);
    writer.writeText(value);
  }
  return std::move(writer.bytes);
}

static std::string writeFunctions(const vm::ExecutableParts &parts) {
  SectionWriter writer;
  writer.writeU64(parts.functions.size());
  for (const vm::FunctionDef &function : parts.functions) {
    writer.writeText(function.name);
    bool isNative = function.kind == vm::FunctionDef::Kind::Native;
    writer.writeU8((isNative ? kIsNative : 0) |
                   (function.isPrivate ? kIsPrivate : 0));
    writeNames(writer, function.params);
    for (int64_t number :
         {function.numCaptures, function.numRegisters, function.numHeapSlots})
      writer.writeI64(number);
    writer.writeText(function.structInfo);
    for (int64_t number : {function.codeBegin, function.codeEnd,
                           function.siteBegin, function.siteEnd})
      writer.writeI64(number);
  }
  return std::move(writer.bytes);
}

static std::string writeSites(const vm::ExecutableParts &parts) {
  SectionWriter writer;
  writer.writeU64(parts.sites.size());
  for (const vm::SiteDef &site : parts.sites) {
    writer.writeText(site.what);
    writer.writeText(site.expected);
    writer.writeText(site.location);
  }
  return std::move(writer.bytes);
}

static std::string writeCode(const vm::ExecutableParts &parts) {
  SectionWriter writer;
  writer.writeU64(parts.code.size());
  for (int64_t word : parts.code)
    writer.writeI64(word);
  return std::move(writer.bytes);
}

void relax_runtime::writeArtefact(const vm::ExecutableParts &parts,
                                  const NativeCode &native,
                                  const Metadata &metadata, const Sink &sink) {
  SectionWriter names;
  writeNames(names, parts.kernels);
  writeNames(names, parts.packed);
  writeNames(names, parts.strings);

  ConstantsWriter constants;
  constants.descriptions.writeU64(parts.constants.size());
  for (size_t i = 0; i < parts.constants.size(); ++i)
    constants.write(parts.constants[i], "constant #" + std::to_string(i));

  SectionWriter target;
  target.writeText(native.triple);
  target.writeText(native.cpu);
  target.writeText(native.features);
  writeNames(target, native.symbols);

  ContainerWriter writer;
  writer.addSection(kMetadata, writeMetadata(metadata));
  writer.addSection(kFunctions, writeFunctions(parts));
  writer.addSection(kNames, names.bytes);
  writer.addSection(kSites, writeSites(parts));
  writer.addSection(kCode, writeCode(parts));
  writer.addSection(kConstants, constants.descriptions.bytes);
  writer.addSection(kPayloads, constants.payloads);
  writer.addSection(kNative, target.bytes);
  writer.addSection(kObject, std::vector<ContainerWriter::Piece>{
                                 {native.object.data(), native.object.size()}});
  writer.write(sink);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
// A file that is written beside its place and moved there in the end.
class NewFile {
public:
  explicit NewFile(const std::string &path)
      : path(path), temporary(path + ".XXXXXX") {
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
      RELAX_THROW(OSError) << path << ": expected a file to replace, but got "
                           << (S_ISDIR(info.st_mode) ? "a folder" : "a device");
    descriptor = mkstemp(temporary.data());
    if (descriptor < 0)
      raiseSystem(path, "cannot be written");
  }
  NewFile(const NewFile &) = delete;
  ~NewFile() {
    if (descriptor >= 0)
      close(descriptor);
    if (!isDone)
      unlink(temporary.c_str());
  }

  void write(const void *data, size_t size) {
    const char *bytes = static_cast<const char *>(data);
    while (size != 0) {
      ssize_t written = ::write(descriptor, bytes, size);
      if (written < 0 && errno != EINTR)
        raiseSystem(path, "cannot be written");
      if (written > 0) {
        bytes += written;
        size -= static_cast<size_t>(written);
      }
    }
  }

  // With the rights that a file made otherwise would have.
  void finish(mode_t mode) {
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(descriptor, mode & ~mask) != 0)
      raiseSystem(path, "cannot be written");
    int code = close(descriptor);
    descriptor = -1;
    if (code != 0 || rename(temporary.c_str(), path.c_str()) != 0)
      raiseSystem(path, "cannot be written");
    isDone = true;
  }

private:
  const std::string path;
  std::string temporary;
  int descriptor = -1;
  bool isDone = false;
};
} // namespace

void relax_runtime::writeFile(const std::string &path,
                              const std::function<void(const Sink &)> &write) {
  NewFile file(path);
  write([&](const void *data, size_t size) { file.write(data, size); });
  file.finish(0666);
}

void relax_runtime::appendArtefact(const std::string &library,
                                   const vm::ExecutableParts &parts,
                                   const NativeCode &native,
                                   const Metadata &metadata) {
  std::shared_ptr<Image> image = Image::map(library);
  NewFile file(library);
  std::string padding((0 - image->size) % kPageSize, '\0');
  file.write(image->data, image->size);
  file.write(padding.data(), padding.size());
  uint64_t size = 0;
  writeArtefact(parts, native, metadata, [&](const void *data, size_t count) {
    file.write(data, count);
    size += count;
  });
  SectionWriter tail;
  tail.writeBytes(kTailMagic, sizeof(kTailMagic));
  tail.writeU64(image->size + padding.size());
  tail.writeU64(size);
  tail.writeU32(checksum(padding.data(), padding.size(),
                         checksum(image->data, image->size)));
  tail.bytes.resize(kTailSize - 4);
  tail.writeU32(checksum(tail.bytes.data(), tail.bytes.size()));
  file.write(tail.bytes.data(), tail.bytes.size());
  file.finish(0777);
}
