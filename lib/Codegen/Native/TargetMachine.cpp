//===- TargetMachine.cpp - The machine that code is made for ----*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills in the triple, the processor and its features, and runs the back end of
// LLVM.
//
// Rationale: an object becomes part of a shared library, so code is independent
// of its position; this one choice also suits the linker inside the process.
//
//===----------------------------------------------------------------------===//

#include "TargetMachine.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;
using namespace mlir::relax;

void mlir::relax::initializeNativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// What this processor can do, as LLVM writes it: "+avx2,-avx512f,...".
static std::string hostFeatures() {
  // Sorted, so that the same machine always gives the same text.
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(features);
  return llvm::join(features, ",");
}

std::unique_ptr<llvm::TargetMachine>
mlir::relax::makeTargetMachine(NativeTarget &target, unsigned optLevel,
                               std::string &error) {
  initializeNativeTarget();
  bool isHost = target.cpu == "host";
  if (target.triple.empty())
    target.triple = llvm::sys::getProcessTriple();
  target.triple = llvm::Triple::normalize(target.triple);
  if (isHost) {
    target.cpu = llvm::sys::getHostCPUName().str();
    std::string given = std::move(target.features);
    target.features = hostFeatures();
    if (!given.empty())
      target.features += "," + given;
  }
  llvm::Triple triple(target.triple);
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  // LLVM only warns of a processor that it does not know.
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      backend->createMCSubtargetInfo(triple, "", ""));
  if (!info || (!target.cpu.empty() && !info->isCPUStringValid(target.cpu))) {
    error = "expected a processor of " + target.triple + ", but got '" +
            target.cpu + "'";
    return nullptr;
  }
  auto level = llvm::CodeGenOpt::getLevel(static_cast<int>(optLevel));
  std::unique_ptr<llvm::TargetMachine> machine(backend->createTargetMachine(
      triple, target.cpu, target.features, llvm::TargetOptions(),
      llvm::Reloc::PIC_, /*CM=*/std::nullopt,
      level.value_or(llvm::CodeGenOptLevel::Default)));
  if (!machine)
    error = "LLVM makes no code for " + target.triple;
  return machine;
}

LogicalResult mlir::relax::writeObject(llvm::Module &module,
                                       llvm::TargetMachine &machine,
                                       SmallVectorImpl<char> &bytes) {
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  // True: the machine cannot write files of this kind.
  if (machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return failure();
  passes.run(module);
  return success();
}
