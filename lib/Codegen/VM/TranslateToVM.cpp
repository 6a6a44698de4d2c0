//===- TranslateToVM.cpp - From Relax to text assembly --------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants come first, then functions in the order of the module.
//
//===----------------------------------------------------------------------===//

#include "FunctionTranslator.h"

#include "relax-mlir/Codegen/VM.h"
#include "relax-mlir/IR/Constants.h"
#include "relax-mlir/IR/StructInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::relax;
using namespace mlir::relax::vm;

/// The functions that an operation calls, or makes closures of; a kernel where
/// it calls one as a function.
static StringRef getCallee(Operation *op) {
  if (auto call = dyn_cast<relax::CallOp>(op))
    return call.getCallee().value_or("");
  if (auto closure = dyn_cast<MakeClosureOp>(op))
    return closure.getCallee();
  return {};
}

llvm::DenseSet<Operation *>
mlir::relax::vm::findNativeFunctions(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::DenseSet<Operation *> native;
  SmallVector<FuncOp> added;
  auto add = [&](FuncOp func) {
    if (native.insert(func).second)
      added.push_back(func);
  };
  for (FuncOp func : module.getOps<FuncOp>())
    func.walk([&](relax::CallOp call) {
      if (symbols.lookup<func::FuncOp>(getCallee(call)))
        add(func);
    });
  while (!added.empty())
    added.pop_back_val().walk([&](Operation *op) {
      if (auto callee = symbols.lookup<FuncOp>(getCallee(op)))
        add(callee);
    });
  return native;
}

/// The elements of a tensor, two digits a byte.
static void printPooled(raw_ostream &os, ElementsAttr constant) {
  os << "tensor " << getDataTypeName(constant.getElementType()) << " [";
  llvm::interleaveComma(constant.getShapedType().getShape(), os);
  std::string storage;
  ArrayRef<char> bytes = getConstantBytes(constant, storage);
  os << "] 0x"
     << llvm::toHex(StringRef(bytes.data(), bytes.size()), /*LowerCase=*/true);
}

LogicalResult mlir::relax::translateToVM(ModuleOp module, raw_ostream &os,
                                         ConstantMode mode, ExecMode execMode) {
  SmallVector<ElementsAttr> pool = getConstants(module);
  ConstantTable constants(pool.size());
  llvm::DenseSet<Operation *> native = findNativeFunctions(module);
  std::vector<FunctionText> functions;
  for (FuncOp func : module.getOps<FuncOp>()) {
    bool isNative = execMode == ExecMode::Compiled || native.contains(func);
    FailureOr<FunctionText> text = translateFunction(func, constants, isNative);
    if (failed(text))
      return failure();
    assignRegisters(*text);
    functions.push_back(std::move(*text));
  }
  for (auto [index, constant] : llvm::enumerate(pool)) {
    os << "constant #" << index << " = ";
    if (mode == ConstantMode::External)
      os << "external " << index;
    else
      printPooled(os, constant);
    os << '\n';
  }
  constants.print(os);
  for (const FunctionText &function : functions) {
    os << '\n';
    print(os, function);
  }
  return success();
}
