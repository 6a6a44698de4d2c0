//===- MakeCorpus.cc - Inputs to start from ---------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// make_corpus TEXT... FOLDER: makes of files of text assembly the inputs of the
// targets, in FOLDER/assemble, FOLDER/load and FOLDER/verify.
//
//===----------------------------------------------------------------------===//

#include "../src/artefact/Artefact.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace relax_runtime;

static void write(const std::filesystem::path &path, const std::string &bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

static void convert(const std::filesystem::path &source,
                    const std::filesystem::path &folder) {
  std::ifstream stream(source, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::string name = source.stem().string();
  write(folder / "assemble" / name, text);
  vm::ExecutableParts parts = vm::assemble(text, {ffi::Any(int64_t(7))});
  std::string code(reinterpret_cast<const char *>(parts.code.data()),
                   parts.code.size() * sizeof(int64_t));
  write(folder / "verify" / name, code);
  NativeCode native;
  native.triple = "x86_64-unknown-linux-gnu";
  native.symbols = {"relax_kernel_exp"};
  std::string bytes;
  writeArtefact(parts, native, {{"exec_mode", "bytecode"}},
                [&](const void *data, size_t size) {
                  bytes.append(static_cast<const char *>(data), size);
                });
  write(folder / "load" / name, bytes);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: make_corpus TEXT... FOLDER\n");
    return 2;
  }
  try {
    for (int i = 1; i + 1 < argc; ++i)
      convert(argv[i], argv[argc - 1]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "make_corpus: %s\n", error.what());
    return 1;
  }
  return 0;
}
