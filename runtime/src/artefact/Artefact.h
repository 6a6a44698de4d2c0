//===- Artefact.h - A compiled module in a file -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sections, in the order in which they stand:
//
//   metadata   pairs of texts, information about a file
//   functions  names, parameters, StructInfo at run time, ranges of code
//   names      kernels, packed functions, strings
//   sites      places in the program, for errors
//   code       words of bytecode
//   constants  the kinds of the constants; see Constants.h
//   payloads   the elements of tensors
//   native     the machine that code was made for, and its symbols
//   object     an object file; empty in a library, which holds the code itself
//
// An artefact is a file of its own, or follows the image of a shared
// library, at a multiple of kPageSize, with a tail of 64 bytes at the end:
//
//     0  magic, 8 bytes
//     8  u64 offset of the artefact
//    16  u64 size of the artefact
//    24  u32 checksum of all before the artefact
//    28  32 bytes of zero
//    60  u32 checksum of the tail up to here
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_ARTEFACT_H
#define RELAX_RUNTIME_ARTEFACT_ARTEFACT_H

#include "../vm/Executable.h"
#include "Container.h"

#include <map>

namespace relax_runtime {

// Covers the pages of all common machines.
constexpr uint64_t kPageSize = 65536;

struct NativeCode {
  std::string triple, cpu, features;
  // The symbols that it defines: relax_function_<name>, relax_kernel_<name>,
  // relax_constants.
  std::vector<std::string> symbols;
  // An object file that is owned elsewhere.
  std::string_view object;
};

using Metadata = std::map<std::string, std::string>;

struct Artefact {
  vm::ExecutableParts parts;
  NativeCode native;
  Metadata metadata;
  // Owns the object file.
  std::shared_ptr<Image> image;

  // Verifies the program and makes an executable of it, whose code is not bound
  // yet. Raises ValueError that names the section.
  vm::Executable makeExecutable() &&;
};

// Raises ValueError that names the section for anything that is not what
// `writeArtefact` writes. That the program makes sense is left to
// `makeExecutable`.
Artefact readArtefact(std::shared_ptr<Image> image, Verify verify);
// The artefact appended to a shared library.
std::shared_ptr<Image> findAppended(std::shared_ptr<Image> library,
                                    Verify verify);

// Raises TypeError for a constant that cannot be saved.
void writeArtefact(const vm::ExecutableParts &parts, const NativeCode &native,
                   const Metadata &metadata, const Sink &sink);

// Writes a file as a whole or not at all. Raises OSError.
void writeFile(const std::string &path,
               const std::function<void(const Sink &)> &write);
// Appends an artefact to a shared library.
void appendArtefact(const std::string &library,
                    const vm::ExecutableParts &parts, const NativeCode &native,
                    const Metadata &metadata);

// Gives an executable its code: the addresses of these symbols. Raises
// ValueError where code of a function or a kernel is missing. `source` is what
// errors call the file.
void bindSymbols(vm::Executable executable,
                 const std::vector<std::pair<std::string, void *>> &symbols,
                 ffi::Any keepAlive, const std::string &source);

// Loads a library that export_library made, for good.
vm::Executable loadLibrary(const std::string &path);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_ARTEFACT_H
