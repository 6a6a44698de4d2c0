//===- RuntimeCalls.h - Building calls of the runtime -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Building blocks of generated host code: types of the tvm-ffi calling
// convention, string and site constants, declarations of runtime functions.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CONVERSION_RELAXTOLLVM_RUNTIMECALLS_H
#define RELAX_MLIR_LIB_CONVERSION_RELAXTOLLVM_RUNTIMECALLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::relax {

/// A data type in the layout of DLDataType, code | bits << 8 | lanes << 16; 0
/// for the unknown one.
uint32_t encodeDType(Type dtype);

/// Rejects linalg operations, which the lowerings that follow would make
/// invalid.
LogicalResult verifyKernels(ModuleOp module);

/// Globals and declarations of one module. Equal strings share a global.
class RuntimeModule {
public:
  explicit RuntimeModule(ModuleOp module);

  MLIRContext *getContext() { return module.getContext(); }
  SymbolTable &symbolTable() { return symbols; }
  LLVM::LLVMPointerType ptrType();
  /// TVMFFIAny.
  Type anyType();

  /// The address of a constant, zero-terminated string.
  Value string(ImplicitLocOpBuilder &builder, StringRef text);
  /// The address of a `relax_site`.
  Value site(ImplicitLocOpBuilder &builder, StringRef function, StringRef what,
             StringRef expected);
  /// The address of a `relax_call`: `operands` are pairs of a data type and a
  /// rank.
  Value callSite(ImplicitLocOpBuilder &builder, StringRef function,
                 int64_t number, StringRef kind, StringRef name,
                 ArrayRef<std::pair<uint32_t, int32_t>> operands);
  /// The address of a new, zero-initialized pointer: a cache.
  Value cache(ImplicitLocOpBuilder &builder);
  /// The address of a constant of the pool, a TVMFFIAny. The loader of the code
  /// points the variable `relax_constants` to the pool.
  Value constant(ImplicitLocOpBuilder &builder, int64_t index);

  /// Calls a runtime function, declaring it from the types of the arguments. No
  /// result type means none; returns null then.
  Value call(ImplicitLocOpBuilder &builder, StringRef name, Type result,
             ValueRange args);

private:
  LLVM::GlobalOp makeGlobal(Location loc, Type type, bool isConstant,
                            StringRef prefix, Attribute value);
  /// A constant struct; `addFields` makes its fields.
  LLVM::GlobalOp makeStruct(
      StringRef prefix, ArrayRef<Type> types,
      function_ref<SmallVector<Value>(ImplicitLocOpBuilder &)> addFields);
  Value addressOf(ImplicitLocOpBuilder &builder, LLVM::GlobalOp global);

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<LLVM::GlobalOp> strings, sites;
};

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CONVERSION_RELAXTOLLVM_RUNTIMECALLS_H
