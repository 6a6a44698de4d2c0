//===- Bytecode.cpp - Versions of the dialect in bytecode -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of bytecode holds the version of the dialect that wrote it; files of
// before there were versions hold none. A change of operations that files show
// raises the number, and `upgradeFromVersion` brings older ones up to date. A
// newer file is refused. Types and attributes are text, as MLIR writes them
// where a dialect has no encoding of its own.
//
//===----------------------------------------------------------------------===//

#include "DialectInterfaces.h"

#include "relax-mlir/IR/Relax.h"

#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace mlir::relax;

/// What this version writes. 1: as in release 0.1.
static constexpr uint64_t kVersion = 1;

namespace {
struct RelaxVersion : DialectVersion {
  explicit RelaxVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

struct RelaxBytecodeInterface : BytecodeDialectInterface {
  explicit RelaxBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(kVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number = 0;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number == 0 || number > kVersion) {
      reader.emitError() << "expected version 1 to " << kVersion
                         << " of the relax dialect, but got " << number
                         << (number ? ", which a newer relax-mlir reads" : "");
      return nullptr;
    }
    return std::make_unique<RelaxVersion>(number);
  }

  LogicalResult upgradeFromVersion(Operation *,
                                   const DialectVersion &) const override {
    return success(); // there is one version
  }
};
} // namespace

void mlir::relax::addBytecodeInterface(RelaxDialect *dialect) {
  dialect->addInterfaces<RelaxBytecodeInterface>();
}
