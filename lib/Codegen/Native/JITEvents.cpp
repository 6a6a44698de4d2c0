//===- JITEvents.cpp - Code in memory for perf and gdb ----------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the environment variable RELAX_MLIR_JIT_EVENTS asks for it, code that
// is linked into this process is made known to debuggers ("gdb", by the
// interface of GDB, which LLDB knows too) and profilers ("perf", as a jitdump
// file). Both are plugins of LLVM's JIT linker.
//
// Python loads the library of LLVM for itself alone, so plugins cannot find
// what they call in this process by name: it is given to them.
//
//===----------------------------------------------------------------------===//

#include "JITEvents.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Debugging/DebuggerSupport.h"
#include "llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h"

#include <cstdlib>
#include <mutex>

using namespace llvm::orc;

using Buffer = shared::CWrapperFunctionBuffer;

static Buffer succeed(const char *data, size_t size) {
  return shared::WrapperFunction<shared::SPSError()>::handle(
             data, size, [] { return llvm::Error::success(); })
      .release();
}

/// The jitdump file of a process is one for all of its code.
static Buffer startPerf(const char *data, size_t size) {
  static std::once_flag started;
  std::optional<Buffer> result;
  std::call_once(started, [&] {
    result = llvm_orc_registerJITLoaderPerfStart(data, size);
  });
  return result ? *result : succeed(data, size);
}

static llvm::Error addGDB(LLJIT &jit) {
  JITDylibSP process = jit.getProcessSymbolsJITDylib();
  if (!process)
    return llvm::createStringError(
        "expected a JIT that knows symbols of the process");
  SymbolStringPtr name =
      jit.mangleAndIntern("llvm_orc_registerJITLoaderGDBAllocAction");
  ExecutorSymbolDef action(
      ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBAllocAction),
      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable);
  if (llvm::Error error = process->define(absoluteSymbols({{name, action}})))
    return error;
  return enableDebuggerSupport(jit);
}

/// Keeps the symbols of functions that are only called within their section,
/// which the linker drops though it keeps the section.
static llvm::Error keepFunctions(llvm::jitlink::LinkGraph &graph) {
  for (llvm::jitlink::Symbol *symbol : graph.defined_symbols())
    if (symbol->hasName() && symbol->isCallable())
      symbol->setLive(true);
  return llvm::Error::success();
}

namespace {
struct KeepFunctions : ObjectLinkingLayer::Plugin {
  void modifyPassConfig(MaterializationResponsibility &,
                        llvm::jitlink::LinkGraph &,
                        llvm::jitlink::PassConfiguration &config) override {
    config.PrePrunePasses.emplace_back(keepFunctions);
  }
  llvm::Error notifyFailed(MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(JITDylib &, ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(JITDylib &, ResourceKey,
                                   ResourceKey) override {}
};
} // namespace

static llvm::Error addPerf(LLJIT &jit) {
  auto *layer = llvm::dyn_cast<ObjectLinkingLayer>(&jit.getObjLinkingLayer());
  if (!layer)
    return llvm::createStringError("expected a JIT that links with JITLink");
  layer->addPlugin(std::make_shared<KeepFunctions>());
  // The file stays open for the code of other modules.
  layer->addPlugin(std::make_shared<PerfSupportPlugin>(
      jit.getExecutionSession().getExecutorProcessControl(),
      ExecutorAddr::fromPtr(&startPerf), ExecutorAddr::fromPtr(&succeed),
      ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderPerfImpl),
      /*EmitDebugInfo=*/true, /*EmitUnwindInfo=*/false));
  return llvm::Error::success();
}

llvm::Error mlir::relax::addJITEvents(LLJIT &jit) {
  const char *value = std::getenv("RELAX_MLIR_JIT_EVENTS");
  llvm::SmallVector<llvm::StringRef> kinds;
  llvm::StringRef(value ? value : "")
      .split(kinds, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef kind : kinds) {
    if (kind != "gdb" && kind != "perf")
      return llvm::createStringError(
          "RELAX_MLIR_JIT_EVENTS: expected gdb, perf or both, but got '" +
          kind + "'");
    if (llvm::Error error = kind == "gdb" ? addGDB(jit) : addPerf(jit))
      return error;
  }
  return llvm::Error::success();
}
