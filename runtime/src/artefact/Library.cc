//===- Library.cc - Models that are shared libraries ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library registers itself with the runtime when it is loaded, and the model
// appended to its image is read on the first call: where that fails, the call
// fails, as a constructor could not say why. The same call finds out whether
// the processor can run what the library holds.
//
// Rationale: the library is linked with nodelete, and what is read stays. So
// whatever a call returns may point into the library: closures, constants,
// errors.
//
//===----------------------------------------------------------------------===//

#include "../vm/VirtualMachine.h"
#include "Artefact.h"
#include "Processor.h"

#include <dlfcn.h>
#include <map>
#include <mutex>

using namespace relax_runtime;

namespace {
class Library {
public:
  explicit Library(relax_library *table) : table(table) {}

  // Maps the file: later, its path may mean another one.
  void open(const char *path);
  int call(int32_t index, const TVMFFIAny *args, int32_t nargs,
           TVMFFIAny *result);
  vm::Executable getExecutable();

private:
  int load();
  void read();
  void checkProcessor() const;

  relax_library *const table;
  std::shared_ptr<Image> image;
  std::mutex mutex;
  std::atomic<bool> isLoaded{false};
  // The error of a failed load, for every call.
  std::unique_ptr<ffi::Error> failure;
  // Of the exports; `held` owns them.
  std::vector<TVMFFIObject *> functions;
  std::vector<ffi::Any> held;
  ffi::Any executable;
};
} // namespace

void Library::open(const char *path) {
  try {
    image = Image::map(path);
  } catch (const ffi::Error &error) {
    failure = std::make_unique<ffi::Error>(error);
  }
}

// Where reading fails once, it fails for good.
int Library::load() {
  TVM_FFI_SAFE_CALL_BEGIN();
  std::lock_guard<std::mutex> lock(mutex);
  if (!isLoaded.load(std::memory_order_relaxed)) {
    try {
      if (!failure)
        read();
    } catch (const ffi::Error &error) {
      failure = std::make_unique<ffi::Error>(error);
    }
    if (failure)
      throw *failure;
    isLoaded.store(true, std::memory_order_release);
  }
  TVM_FFI_SAFE_CALL_END();
}

// An instruction that the processor lacks would end the process.
void Library::checkProcessor() const {
  std::string missing;
  for (int32_t i = 0; i < table->num_features; ++i)
    if (!hasFeature(table->features[i]))
      missing +=
          (missing.empty() ? "" : ", ") + std::string(table->features[i]);
  if (!missing.empty())
    raiseInSource(image->source, "section 'library': the code is for a "
                                 "processor that has what this one lacks: " +
                                     missing);
}

void Library::read() {
  if (table->version != RELAX_LIBRARY_VERSION)
    raiseInSource(image->source,
                  "section 'library': expected a library of version " +
                      std::to_string(RELAX_LIBRARY_VERSION) + ", but got " +
                      std::to_string(table->version));
  checkProcessor();
  Artefact artefact =
      readArtefact(findAppended(image, Verify::All), Verify::All);
  bool usesGraphs = artefact.metadata["cuda_graph"] == "yes";
  vm::Executable loaded = std::move(artefact).makeExecutable();
  std::vector<std::pair<std::string, void *>> symbols;
  for (int32_t i = 0; i < table->num_symbols; ++i)
    symbols.emplace_back(table->symbol_names[i], table->symbols[i]);
  bindSymbols(loaded, symbols, ffi::Any(), image->source);
  vm::VirtualMachine machine(loaded, usesGraphs);
  for (int32_t i = 0; i < table->num_exports; ++i) {
    held.push_back(machine->getFunction(table->exports[i]));
    functions.push_back(
        reinterpret_cast<const TVMFFIAny *>(&held.back())->v_obj);
  }
  executable = std::move(loaded);
}

int Library::call(int32_t index, const TVMFFIAny *args, int32_t nargs,
                  TVMFFIAny *result) {
  if (!RELAX_LIKELY(isLoaded.load(std::memory_order_acquire)) && load())
    return -1;
  TVMFFIObject *function = functions[static_cast<size_t>(index)];
  return TVMFFIFunctionGetCellPtr(function)->safe_call(function, args, nargs,
                                                       result);
}

vm::Executable Library::getExecutable() {
  TVM_FFI_CHECK_SAFE_CALL(isLoaded.load(std::memory_order_acquire) ? 0
                                                                   : load());
  return executable.cast<vm::Executable>();
}

//===----------------------------------------------------------------------===//
// Functions that libraries call
//===----------------------------------------------------------------------===//

// Whether there was no memory to open some library.
static std::atomic<bool> lackedMemory{false};

void relax_library_open(relax_library *table) {
  Dl_info info;
  const char *path = dladdr(table, &info) ? info.dli_fname : "";
  try {
    auto *library = new Library(table);
    library->open(path);
    table->state = library;
  } catch (const std::exception &) {
    // The first call says so.
    lackedMemory.store(true, std::memory_order_relaxed);
  }
}

RELAX_COLD static int raiseNotOpen(const relax_library *table) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (lackedMemory.load(std::memory_order_relaxed))
    RELAX_THROW(MemoryError) << "there was no memory to open the library";
  Dl_info info;
  const char *path = dladdr(table, &info) ? info.dli_fname : "the library";
  raiseInSource(path, "expected a library that opens itself when it is loaded, "
                      "but its constructor did not run: the linker may have "
                      "left it out, so export it again, with another linker");
  TVM_FFI_SAFE_CALL_END();
}

int relax_library_call(relax_library *table, int32_t index,
                       const TVMFFIAny *args, int32_t nargs,
                       TVMFFIAny *result) {
  if (!RELAX_LIKELY(table->state != nullptr))
    return raiseNotOpen(table);
  return static_cast<Library *>(table->state)->call(index, args, nargs, result);
}

//===----------------------------------------------------------------------===//
// Libraries as executables
//===----------------------------------------------------------------------===//

// All is checked before any code of the library runs. A library that holds a
// runtime of its own knows nothing of this one, which reads it once more.
vm::Executable relax_runtime::loadLibrary(const std::string &path) {
  findAppended(Image::map(path), Verify::All);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    raiseInSource(path, std::string("cannot be loaded: ") + dlerror());
  auto *table = static_cast<relax_library *>(dlsym(handle, "relax_library"));
  if (!table)
    raiseInSource(path, "section 'library': expected a library that "
                        "export_library made, but there is no relax_library");
  static std::mutex mutex;
  static std::map<relax_library *, Library *> libraries;
  std::lock_guard<std::mutex> lock(mutex);
  auto [found, isNew] = libraries.try_emplace(table, nullptr);
  if (isNew) {
    found->second = new Library(table);
    found->second->open(path.c_str());
  }
  return found->second->getExecutable();
}
