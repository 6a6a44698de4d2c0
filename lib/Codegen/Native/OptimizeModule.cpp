//===- OptimizeModule.cpp - LLVM's passes before the back end ---*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions of explicit vectors are written as they shall run, and functions
// that call kernels have nothing to gain: what LLVM does beyond cleaning up
// takes longer than all of the rest, and makes neither faster. Loops over
// numbers take the whole pipeline, which looks for vectors in them.
//
//===----------------------------------------------------------------------===//

#include "TargetMachine.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Passes/PassBuilder.h"

using namespace mlir;
using namespace mlir::relax;

/// Descriptors of memrefs become numbers, what loops do not change leaves them,
/// and what is computed twice is computed once.
static constexpr llvm::StringLiteral kCleanUp =
    "function(sroa<preserve-cfg>,early-cse<memssa>,simplifycfg,"
    "instcombine<no-verify-fixpoint>,loop-mssa(licm<allowspeculation>),"
    "early-cse<memssa>,simplifycfg)";

static llvm::Error cleanUp(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, kCleanUp))
    return error;
  passes.run(module, modules);
  return llvm::Error::success();
}

/// Whether a product and a sum are one instruction.
static bool hasFusedMultiplyAdd(const llvm::TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return true;
  const llvm::MCSubtargetInfo &info = *machine.getMCSubtargetInfo();
  return info.checkFeatures("+fma") || info.checkFeatures("+fma4") ||
         info.checkFeatures("+avx512f");
}

/// Splits fused multiply-adds of vectors where the processor has none: each
/// element would be a call, for a rounding that the program does not need.
static void splitMultiplyAdds(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::fma ||
          !call->getType()->isVectorTy())
        continue;
      llvm::IRBuilder<> builder(call);
      builder.setFastMathFlags(call->getFastMathFlags());
      llvm::Value *product =
          builder.CreateFMul(call->getArgOperand(0), call->getArgOperand(1));
      call->replaceAllUsesWith(
          builder.CreateFAdd(product, call->getArgOperand(2)));
      call->eraseFromParent();
    }
}

llvm::Error mlir::relax::optimizeModule(llvm::Module &module,
                                        llvm::TargetMachine &machine,
                                        unsigned optLevel,
                                        bool hasScalarLoops) {
  if (!hasFusedMultiplyAdd(machine))
    splitMultiplyAdds(module);
  if (optLevel > 0 && !hasScalarLoops)
    return cleanUp(module, machine);
  return makeOptimizingTransformer(optLevel, /*sizeLevel=*/0,
                                   &machine)(&module);
}
