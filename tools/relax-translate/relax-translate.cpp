//===- relax-translate.cpp - mlir-translate for Relax -----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program of Relay becomes a module, a module after the phase `shapes` text
// assembly of the virtual machine, and one lowered to the LLVM dialect LLVM IR:
//
//   relax-translate --relay-to-relax model.relay
//   relax-translate --relax-to-vm shapes.mlir
//   relax-translate --mlir-to-llvmir lowered.mlir
//
//===----------------------------------------------------------------------===//

#include "Relay.h"

#include "relax-mlir/Codegen/VM.h"
#include "relax-mlir/IR/Relax.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/WithColor.h"

#include <optional>

using namespace mlir;

/// Whether there is an option, other than that of the output, which may be the
/// one of a translation.
static bool namesTranslation(llvm::ArrayRef<llvm::StringRef> args) {
  return llvm::any_of(args, [](llvm::StringRef arg) {
    return arg.size() > 1 && arg.starts_with("-") && arg != "-o";
  });
}

/// The marker of --split-input-file=MARKER where it has fewer characters than
/// MLIR can split at: it looks for all of it but the last two.
static std::optional<llvm::StringRef>
findShortMarker(llvm::ArrayRef<llvm::StringRef> args) {
  for (llvm::StringRef arg : args) {
    arg = arg.ltrim('-');
    if (arg.consume_front("split-input-file=") && !arg.empty() &&
        arg.size() <= 2)
      return arg;
  }
  return std::nullopt;
}

int main(int argc, char **argv) {
  registerAllTranslations();
  relax::registerRelayTranslation(argv[0]);
  TranslateFromMLIRRegistration toVM(
      "relax-to-vm", "translate Relax to text assembly of the virtual machine",
      [](ModuleOp module, raw_ostream &os) {
        return relax::translateToVM(module, os);
      },
      [](DialectRegistry &registry) {
        registerAllDialects(registry);
        registry.insert<relax::RelaxDialect>();
      });
  llvm::SmallVector<llvm::StringRef> args(argv + 1, argv + argc);
  // MLIR would say it once for each translation that there is.
  if (!namesTranslation(args)) {
    llvm::WithColor::error() << "expected a translation, such as --relax-to-vm "
                                "or --mlir-to-llvmir; --help lists all\n";
    return EXIT_FAILURE;
  }
  if (auto marker = findShortMarker(args)) {
    llvm::WithColor::error() << "expected a marker of 3 characters or more for "
                                "--split-input-file, but got '"
                             << *marker << "'\n";
    return EXIT_FAILURE;
  }
  LogicalResult result =
      mlirTranslateMain(argc, argv, "Relax translation driver\n");
  if (failed(result) && llvm::is_contained(args, "--mlir-to-llvmir"))
    llvm::WithColor::note()
        << "--mlir-to-llvmir takes the LLVM dialect: relax-opt -relax-to-llvm "
           "makes it of Relax\n";
  return failed(result);
}
