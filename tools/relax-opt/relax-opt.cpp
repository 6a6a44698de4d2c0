//===- relax-opt.cpp - mlir-opt with Relax -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "relax-mlir/IR/Nesting.h"
#include "relax-mlir/InitAll.h"
#include "relax-mlir/Transforms/Instrumentation.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;

/// Whether the parser of MLIR can take a text, with an error where it cannot.
static LogicalResult verifyNesting(const llvm::MemoryBuffer &input) {
  llvm::StringRef text = input.getBuffer();
  std::optional<size_t> place = relax::findDeepNesting(text);
  if (!place)
    return success();
  size_t line = text.take_front(*place).count('\n') + 1;
  llvm::WithColor::error() << input.getBufferIdentifier() << ":" << line
                           << ": expected at most " << relax::kMaxNesting
                           << " open brackets, but got more\n";
  return failure();
}

/// Whether MLIR can split its input at a marker, with an error where it cannot:
/// it looks for all of it but the last two characters.
static LogicalResult verifySplitMarker(llvm::StringRef marker) {
  if (marker.empty() || marker.size() > 2)
    return success();
  llvm::WithColor::error() << "expected a marker of 3 characters or more for "
                              "--split-input-file, but got '"
                           << marker << "'\n";
  return failure();
}

/// Adds to the pipeline of the command line what passes of MLIR need around
/// them.
static void addInstrumentation(MlirOptMainConfig &config) {
  config.setPassPipelineSetupFn([commandLine = config](PassManager &pm) {
    if (failed(commandLine.setupPassPipeline(pm)))
      return failure();
    pm.addInstrumentation(relax::createSignatureKeeper());
    return success();
  });
}

/// Processes the input file as mlir-opt does.
static LogicalResult process(const MlirOptMainConfig &config,
                             llvm::StringRef inputName,
                             llvm::StringRef outputName,
                             DialectRegistry &registry) {
  if (failed(verifySplitMarker(config.inputSplitMarker())))
    return failure();
  std::string message;
  auto input = openInputFile(inputName, &message);
  auto output = input ? openOutputFile(outputName, &message) : nullptr;
  if (!output) {
    llvm::WithColor::error() << message << "\n";
    return failure();
  }
  bool isText = !input->getBuffer().starts_with("ML\xefR"); // bytecode
  if (isText && failed(verifyNesting(*input)))
    return failure();
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  relax::registerAll(registry);
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "Relax optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  addInstrumentation(config);
  llvm::InitLLVM init(argc, argv);
  return asMainReturnCode(process(config, input, output, registry));
}
