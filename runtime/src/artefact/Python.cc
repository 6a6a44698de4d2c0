//===- Python.cc - Artefacts for Python and C++ -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions registered with tvm-ffi, under `relax_mlir.artefact.`. Machine code
// is a map with triple, cpu, features, symbols and object.
//
//===----------------------------------------------------------------------===//

#include "Artefact.h"
#include "ObjectLinker.h"
#include "Processor.h"

#include <tvm/ffi/container/map.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/string.h>

using namespace relax_runtime;

using Texts = ffi::Map<ffi::String, ffi::String>;
using CodeFields = ffi::Map<ffi::String, ffi::Any>;

namespace {
// Machine code, and what owns its object file.
struct GivenCode {
  explicit GivenCode(const CodeFields &values) {
    code.triple = values["triple"].cast<ffi::String>();
    code.cpu = values["cpu"].cast<ffi::String>();
    code.features = values["features"].cast<ffi::String>();
    for (const ffi::String &symbol :
         values["symbols"].cast<ffi::Array<ffi::String>>())
      code.symbols.push_back(symbol);
    object = values["object"].cast<ffi::Bytes>();
    code.object = {object.data(), object.size()};
  }
  NativeCode code;
  ffi::Bytes object;
};
} // namespace

static Metadata toMetadata(const Texts &texts) {
  Metadata metadata;
  for (const auto &[key, value] : texts)
    metadata.emplace(key, value);
  return metadata;
}

static void save(ffi::String path, vm::Executable executable, CodeFields code,
                 Texts metadata) {
  GivenCode native(code);
  writeFile(path, [&](const Sink &sink) {
    writeArtefact(executable->getParts(), native.code, toMetadata(metadata),
                  sink);
  });
}

static ffi::Bytes toBytes(vm::Executable executable, CodeFields code,
                          Texts metadata) {
  GivenCode native(code);
  std::string bytes;
  writeArtefact(executable->getParts(), native.code, toMetadata(metadata),
                [&](const void *data, size_t size) {
                  bytes.append(static_cast<const char *>(data), size);
                });
  return ffi::Bytes(std::move(bytes));
}

static void append(ffi::String library, vm::Executable executable,
                   CodeFields code, Texts metadata) {
  GivenCode native(code);
  appendArtefact(library, executable->getParts(), native.code,
                 toMetadata(metadata));
}

// The executable, its code, which is not bound yet, and the metadata.
static ffi::Array<ffi::Any> load(std::shared_ptr<Image> image, Verify verify) {
  Artefact artefact = readArtefact(std::move(image), verify);
  const NativeCode &native = artefact.native;
  ffi::Array<ffi::String> symbols;
  for (const std::string &symbol : native.symbols)
    symbols.push_back(symbol);
  CodeFields code;
  code.Set("triple", ffi::String(native.triple));
  code.Set("cpu", ffi::String(native.cpu));
  code.Set("features", ffi::String(native.features));
  code.Set("symbols", symbols);
  code.Set("object", ffi::Bytes(native.object.data(), native.object.size()));
  Texts metadata;
  for (const auto &[key, value] : artefact.metadata)
    metadata.Set(key, value);
  return {std::move(artefact).makeExecutable(), code, metadata};
}

static Verify toVerify(bool payloads) {
  return payloads ? Verify::All : Verify::Structure;
}

static ffi::Array<ffi::Any> loadFile(ffi::String path, bool payloads) {
  return load(Image::map(path), toVerify(payloads));
}

static ffi::Array<ffi::Any> loadBytes(ffi::Bytes bytes, bool payloads) {
  return load(Image::copy(bytes.data(), bytes.size(), "bytes"),
              toVerify(payloads));
}

// The artefact appended to a library; the library is not loaded.
static ffi::Array<ffi::Any> loadAppended(ffi::String path, bool payloads) {
  return load(findAppended(Image::map(path), toVerify(payloads)),
              toVerify(payloads));
}

// Gives an executable the code at these addresses.
static void bindCode(vm::Executable executable,
                     ffi::Map<ffi::String, int64_t> symbols, ffi::Any keepAlive,
                     ffi::String source) {
  std::vector<std::pair<std::string, void *>> addresses;
  for (const auto &[name, address] : symbols)
    addresses.emplace_back(
        name, reinterpret_cast<void *>(static_cast<intptr_t>(address)));
  bindSymbols(std::move(executable), addresses, std::move(keepAlive), source);
}

// Links an object file and gives an executable the code of these symbols.
static void linkCode(vm::Executable executable, ffi::Bytes object,
                     ffi::Array<ffi::String> symbols, ffi::String source) {
  auto code = ffi::make_object<LinkedCodeObj>(
      std::string_view(object.data(), object.size()), source);
  std::vector<std::pair<std::string, void *>> addresses;
  for (const ffi::String &symbol : symbols)
    addresses.emplace_back(symbol, code->lookUp(symbol));
  bindSymbols(std::move(executable), addresses,
              ffi::Any(ffi::ObjectRef(std::move(code))), source);
}

// Of features by their names in LLVM, those that this processor lacks.
static ffi::Array<ffi::String>
getMissingFeatures(ffi::Array<ffi::String> features) {
  ffi::Array<ffi::String> missing;
  for (const ffi::String &feature : features)
    if (!hasFeature(feature))
      missing.push_back(feature);
  return missing;
}

// A row for each section: name, offset, size, checksum.
static ffi::Array<ffi::Array<ffi::Any>> getSections(ffi::String path) {
  Container container(Image::map(path), Verify::All, "");
  ffi::Array<ffi::Array<ffi::Any>> rows;
  for (const Container::Section &section : container.sections())
    rows.push_back({ffi::String(section.name),
                    static_cast<int64_t>(section.offset),
                    static_cast<int64_t>(section.size),
                    static_cast<int64_t>(section.checksum)});
  return rows;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  tvm::ffi::reflection::GlobalDef()
      .def("relax_mlir.artefact.save", save)
      .def("relax_mlir.artefact.to_bytes", toBytes)
      .def("relax_mlir.artefact.append", append)
      .def("relax_mlir.artefact.load_file", loadFile)
      .def("relax_mlir.artefact.load_bytes", loadBytes)
      .def("relax_mlir.artefact.load_appended", loadAppended)
      .def("relax_mlir.artefact.load_library",
           [](ffi::String path) { return loadLibrary(path); })
      .def("relax_mlir.artefact.bind", bindCode)
      .def("relax_mlir.artefact.link", linkCode)
      .def("relax_mlir.artefact.missing_features", getMissingFeatures)
      .def("relax_mlir.artefact.sections", getSections);
}
