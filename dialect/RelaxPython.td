//===- RelaxPython.td - Operations as Python has them -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_PYTHON
#define RELAX_PYTHON

include "mlir/IR/OpBase.td"

// scripts/generate_ops.py writes the functions of `relax_mlir.op` from the
// operations: names, arguments, defaults and documentation. What follows says
// the rest. No C++ depends on it.

// The function of an operation.
class Relax_PythonFunction {
  // Whether there is one that is generated. Those with logic of their own are
  // written in python/relax_mlir/op/.
  bit hasPythonFunction = 0;
  // The part of `relax_mlir.op` that has it, such as "nn".
  string pythonNamespace = "";
  // Goes on after "Return", where the summary does not.
  string pythonSummary = "";
  // Examples, which run as doctests.
  string pythonExample = "";
  // Whether each element of the result is computed of one of each operand that is
  // a tensor.
  bit isElementwise = 0;
}

// An argument with its description. The type, the conversion of Python values
// and the default follow from the constraint, where nothing else is given here:
// the name, the default, "required" for none; and `convert`, an expression with
// helpers of python/relax_mlir/op/_arguments.py, in which `$_self` is the
// argument. Tensors without one become tensors of one data type together.
class Relax_Arg<Constraint constraint, string description, string default = "",
                string convert = "", string name = "">
    : Arg<constraint, description> {
  string pythonDefault = default;
  string pythonConversion = convert;
  string pythonName = name;
}

#endif // RELAX_PYTHON
