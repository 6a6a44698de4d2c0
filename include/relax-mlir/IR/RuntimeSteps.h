//===- RuntimeSteps.h - Calls of the runtime in the host program -*- C++
//-*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation of the lowered host program says here, once, which builtin of
// the runtime it calls and with what (`RuntimeStepOpInterface`). Bytecode has
// it as `builtin tensor_view`, machine code as a call of `relax_tensor_view`: a
// C function that takes the site, the slot of the result, where there is one,
// and the operands.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_IR_RUNTIMESTEPS_H
#define RELAX_MLIR_IR_RUNTIMESTEPS_H

#include "relax-mlir/IR/Relax.h"

namespace mlir::relax {

/// An operand of a step.
struct StepOperand {
  enum Kind {
    SSAValue, // a Relax value or an i64
    Int32,
    Int64,
    DType, // null for any
    Text,
    Function, // the name of a function of the module
    List      // its length, an int32_t, and Relax values or numbers
  };

  Kind kind;
  Value value = {};
  int64_t number = 0;
  Type dtype = {};
  std::string text = {};
  SmallVector<Value> elements = {};
  /// Of a list: whether it holds numbers.
  bool isOfInts = false;
};

/// The call of a builtin. `what` and `expected` describe its site: "argument
/// 'x'" and the StructInfo that it should have.
struct RuntimeStep {
  RuntimeStep(StringRef builtin, const Twine &what, const Twine &expected = "")
      : builtin(builtin), what(what.str()), expected(expected.str()) {}

  RuntimeStep &addValue(Value value);
  RuntimeStep &addInt32(int64_t number);
  RuntimeStep &addInt64(int64_t number);
  RuntimeStep &addDType(Type dtype);
  RuntimeStep &addText(StringRef text);
  RuntimeStep &addFunction(StringRef name);
  RuntimeStep &addInts(ValueRange numbers);
  RuntimeStep &addValues(ValueRange values);
  /// The kind and the number of a device, as DLPack counts them; null for the
  /// host.
  RuntimeStep &addDevice(VDeviceAttr device);

  StringRef builtin;
  std::string what, expected;
  SmallVector<StepOperand, 6> operands;
};

/// The device type of the host in DLPack.
constexpr int32_t kCpu = 1; // kDLCPU

} // namespace mlir::relax

#endif // RELAX_MLIR_IR_RUNTIMESTEPS_H
