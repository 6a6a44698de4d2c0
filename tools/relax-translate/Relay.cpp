//===- Relay.cpp - Programs of Relay ----------------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front end for Relay is the Python package's. --relay-to-relax has its
// command line import a program, and reads what that writes, as bytecode. The
// Python is the one that the tool is installed beside, or the one on PATH.
//
//===----------------------------------------------------------------------===//

#include "Relay.h"

#include "relax-mlir/IR/Relax.h"

#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

namespace {
/// A file that is there until the end of the scope.
struct ScratchFile {
  explicit ScratchFile(StringRef suffix) {
    error = llvm::sys::fs::createTemporaryFile("relax-translate", suffix, path);
    remover.setFile(path);
  }

  llvm::SmallString<128> path;
  std::error_code error;
  llvm::FileRemover remover;
};
} // namespace

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// The Python beside the tool, or on PATH.
static llvm::ErrorOr<std::string> findPython(const char *executable) {
  std::string tool = llvm::sys::fs::getMainExecutable(
      executable, reinterpret_cast<void *>(&findPython));
  StringRef folder = llvm::sys::path::parent_path(tool);
  auto found = llvm::sys::findProgramByName("python3", folder);
  return found ? found : llvm::sys::findProgramByName("python3");
}

/// `text` with `to` in each place of `from`.
static std::string replaceAll(std::string text, StringRef from, StringRef to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Imports a program. The errors of the front end name the file it came from.
static OwningOpRef<Operation *> importRelay(const llvm::SourceMgr &sources,
                                            MLIRContext *context,
                                            const char *executable) {
  auto fail = [](const Twine &reason) {
    llvm::WithColor::error() << reason << '\n';
    return nullptr;
  };
  auto python = findPython(executable);
  if (!python)
    return fail("expected python3 with the package relax_mlir, beside "
                "relax-translate or on PATH: " +
                python.getError().message());
  ScratchFile source("relay"), module("mlirbc"), errors("txt");
  for (const ScratchFile *file : {&source, &module, &errors})
    if (file->error)
      return fail("cannot make a temporary file: " + file->error.message());
  const llvm::MemoryBuffer *program =
      sources.getMemoryBuffer(sources.getMainFileID());
  std::error_code error;
  llvm::raw_fd_ostream(source.path, error) << program->getBuffer();
  if (error)
    return fail("cannot write a temporary file: " + error.message());

  StringRef command[] = {*python,     "-m", "relax_mlir", "compile",
                         source.path, "-o", module.path};
  std::string reason;
  int code = llvm::sys::ExecuteAndWait(
      *python, command, /*Env=*/std::nullopt,
      /*Redirects=*/{StringRef(""), StringRef(""), StringRef(errors.path)},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &reason);
  if (code != 0) {
    std::string text = replaceAll(readFile(errors.path) + reason, source.path,
                                  program->getBufferIdentifier());
    StringRef said = StringRef(text).trim();
    said.consume_front("relax-mlir: ");
    return fail(said);
  }
  return parseSourceFile(module.path, ParserConfig(context));
}

void mlir::relax::registerRelayTranslation(const char *executable) {
  static TranslateToMLIRRegistration registration(
      "relay-to-relax", "import a program of Relay, by the Python package",
      [=](const std::shared_ptr<llvm::SourceMgr> &sources,
          MLIRContext *context) {
        return importRelay(*sources, context, executable);
      },
      [](DialectRegistry &registry) {
        registerAllDialects(registry);
        registry.insert<relax::RelaxDialect>();
      });
}
