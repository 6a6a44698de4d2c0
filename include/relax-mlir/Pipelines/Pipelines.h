//===- Pipelines.h - The phases of compilation -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_PIPELINES_PIPELINES_H
#define RELAX_MLIR_PIPELINES_PIPELINES_H

#include "relax-mlir/Codegen/VM.h"
#include "relax-mlir/Transforms/Passes.h"

#include "mlir/Pass/PassOptions.h"
#include "llvm/ADT/ArrayRef.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace mlir::relax {

/// The choices of a user, which each pipeline takes as options.
struct CompileOptions : PassPipelineOptions<CompileOptions> {
  Option<CheckMode> checks{
      *this, "checks",
      llvm::cl::desc("Which checks of structural information stay"),
      llvm::cl::init(CheckMode::All),
      llvm::cl::values(clEnumValN(CheckMode::All, "all", "all of them"),
                       clEnumValN(CheckMode::Necessary, "necessary",
                                  "those without which a read is unsafe"))};
  Option<ExecMode> execMode{
      *this, "exec-mode",
      llvm::cl::desc("How functions run; a kernel is machine code anyway"),
      llvm::cl::init(ExecMode::Compiled),
      llvm::cl::values(
          clEnumValN(ExecMode::Compiled, "compiled", "as machine code"),
          clEnumValN(ExecMode::Bytecode, "bytecode", "by a virtual machine"))};
  Option<bool> planMemory{
      *this, "plan-memory",
      llvm::cl::desc("Whether tensors share memory, reshapes are views and "
                     "kernels write over inputs that die"),
      llvm::cl::init(true)};
  Option<bool> fuse{
      *this, "fuse",
      llvm::cl::desc("Whether kernels that are called one after the other "
                     "become one"),
      llvm::cl::init(true)};
  Option<bool> emitKernels{
      *this, "emit-kernels",
      llvm::cl::desc("Whether kernels of known classes are written as loops "
                     "over vectors"),
      llvm::cl::init(true)};
  Option<bool> winograd{
      *this, "winograd",
      llvm::cl::desc("Whether constant weights of convolutions may be "
                     "transformed for the algorithm of Winograd"),
      llvm::cl::init(true)};
  Option<bool> dynamicQuantization{
      *this, "dynamic-quantization",
      llvm::cl::desc("Whether rows that are multiplied by weights of 4 bits "
                     "may be rounded to 8 bits"),
      llvm::cl::init(false)};
  Option<bool> fastMath{*this, "fast-math",
                        llvm::cl::desc("Whether results may be less accurate"),
                        llvm::cl::init(false)};
  Option<std::string> precision{
      *this, "precision",
      llvm::cl::desc("The floats that products are computed of: \"bf16\" "
                     "allows numbers below 2^-126 to become 0"),
      llvm::cl::init("f32")};
  Option<bool> profile{*this, "profile",
                       llvm::cl::desc("See convert-relax-to-llvm"),
                       llvm::cl::init(false)};
  Option<bool> debugInfo{*this, "debug-info",
                         llvm::cl::desc("Whether machine code knows the lines "
                                        "of the program"),
                         llvm::cl::init(false)};

  Option<std::string> device{*this, "device",
                             llvm::cl::desc("See relax-assign-vdevice"),
                             llvm::cl::init("")};
  Option<std::string> deviceArch{*this, "device-arch",
                                 llvm::cl::desc("See relax-assign-vdevice"),
                                 llvm::cl::init("")};

  // The processor: options of relax-attach-target, which describes them.
  Option<unsigned> vectorBits{*this, "vector-bits",
                              llvm::cl::desc("See relax-attach-target"),
                              llvm::cl::init(0)};
  Option<int64_t> l1Bytes{*this, "l1-bytes",
                          llvm::cl::desc("See relax-attach-target"),
                          llvm::cl::init(0)};
  Option<int64_t> l2Bytes{*this, "l2-bytes",
                          llvm::cl::desc("See relax-attach-target"),
                          llvm::cl::init(0)};
  ListOption<std::string> features{*this, "features",
                                   llvm::cl::desc("See relax-attach-target")};
  Option<bool> tf32{*this, "tf32", llvm::cl::desc("See relax-attach-target"),
                    llvm::cl::init(false)};
};

/// A named phase of compilation: a pipeline `relax-phase-<name>`.
struct Phase {
  const char *name;
  const char *description;
  void (*build)(OpPassManager &pm, const CompileOptions &options);
};

/// The phases from a Relax module to the LLVM dialect, in order. The Python
/// package has one more, `optimize` after the first one, of passes in Python.
llvm::ArrayRef<Phase> getPhases();

/// Registers the passes, one pipeline for each phase, and `relax-to-llvm`,
/// which runs them all.
void registerPassesAndPipelines();

} // namespace mlir::relax

#endif // RELAX_MLIR_PIPELINES_PIPELINES_H
