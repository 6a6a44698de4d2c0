//===- Native.h - Machine code as object files ------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a module in the LLVM dialect to the bytes of an object file, and from
// there into this process.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_CODEGEN_NATIVE_H
#define RELAX_MLIR_CODEGEN_NATIVE_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::relax {

/// The prefixes of symbol names, in a module and in an object.
inline constexpr llvm::StringLiteral kEntryPrefix = "__tvm_ffi_";
inline constexpr llvm::StringLiteral kFunctionPrefix = "relax_function_";
inline constexpr llvm::StringLiteral kKernelEntryPrefix = "relax_kernel_";
/// The variable that holds the address of the pool of constants.
inline constexpr llvm::StringLiteral kConstantsSymbol = "relax_constants";

/// The machine that code is made for. An empty triple is that of this process;
/// the processor "host" is the one it runs on, with all it can do.
struct NativeTarget {
  std::string triple;
  std::string cpu = "host";
  std::string features;
};

/// The properties of a machine.
struct TargetDescription {
  /// With nothing left open.
  NativeTarget target;
  /// The width of its vector registers.
  unsigned vectorBits = 0;
  /// Those of its features that the runtime can query (Processor.cc).
  std::vector<std::string> features;
  /// The features that it has and this machine lacks.
  std::vector<std::string> missing;
};

/// Sets `error` where LLVM does not know the target.
std::optional<TargetDescription> describeTarget(const NativeTarget &target,
                                                std::string &error);

/// An object file, or an archive of several, that holds the functions, kernels
/// and the pool of a module.
struct NativeObject {
  SmallVector<char, 0> bytes;
  NativeTarget target;
  /// The symbols it defines: kFunctionPrefix, kKernelEntryPrefix,
  /// kConstantsSymbol.
  std::vector<std::string> symbols;
};

/// Reports how many functions out of how many have been compiled to machine
/// code. It is called by one thread at a time, not always the same.
using EmitProgress = llvm::function_ref<void(unsigned done, unsigned total)>;

/// Emits a module in the LLVM dialect as position-independent code, large ones
/// in parts, on the threads of the context. Its public entries (kEntryPrefix)
/// are renamed to kFunctionPrefix, so that a library can export functions of
/// the old names in front of them; they are hidden, and so are the kernels, and
/// what several parts use. All else becomes internal. Errors are reported at
/// the module.
LogicalResult emitObject(ModuleOp module, const NativeTarget &target,
                         unsigned optLevel, NativeObject &object,
                         EmitProgress progress = {});

/// Emits the object that makes a library of objects with these symbols:
/// `relax_library`, a table of the symbols, and for each export a function
/// kEntryPrefix + name that calls `relax_library_call`.
LogicalResult emitLibraryTable(MLIRContext *context, const NativeTarget &target,
                               ArrayRef<std::string> symbols,
                               ArrayRef<std::string> exports,
                               NativeObject &object);

/// An object file, or all of an archive, that was linked into this process.
class LoadedObject {
public:
  /// Links objects with the symbols of this process and of `libraries`, paths
  /// of shared libraries. Returns null and sets `error` where that fails.
  static std::unique_ptr<LoadedObject>
  load(StringRef bytes, ArrayRef<std::string> libraries, std::string &error);
  ~LoadedObject();

  /// The address of a symbol; null where there is none.
  void *lookUp(StringRef symbol);

private:
  struct Impl;
  explicit LoadedObject(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_CODEGEN_NATIVE_H
