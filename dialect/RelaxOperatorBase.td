//===- RelaxOperatorBase.td - The base of tensor operators -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_OPERATOR_BASE
#define RELAX_OPERATOR_BASE

include "RelaxCoreOps.td"

// A tensor operator: a pure function from tensors to one new tensor, lowered to
// a kernel by `relax-legalize-ops`. Each derives its result (DR11) and is
// written `relax.op operands {attributes} : (types) -> type`.
// Of distributed tensors, the rule of its name says what is derived
// (`IR/Sharding.h`).
def Relax_TensorOperator : NativeOpTrait<"TensorOperator">;
class Relax_Operator<string mnemonic, list<Trait> traits = []>
    : Relax_InferredOp<mnemonic, !listconcat(traits, [Relax_TensorOperator])> {
  let results = (outs Res<Relax_Tensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasPythonFunction = 1;
}

// Indices, which are not of the data type of other operands.
class Relax_IndicesArg<string description>
    : Relax_Arg<Relax_Tensor, description, convert = "as_tensor($_self)">;

// A data type of a class, for examples.
class Relax_ExampleDType<string dtypes> {
  string name = !cond(!eq(dtypes, "Bool"): "i1", !eq(dtypes, "Integral"): "i32",
                      !eq(dtypes, "Integer"): "i32", true: "f32");
}

// Operators whose result is derived by one shared function: `inference` is C++
// text with `location`, `adaptor` and `results` in scope.
class Relax_SharedInference<code inference> {
  code definition = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      (void)context;
      return ::mlir::relax::}] # inference # [{;
    }
  }];
}

#endif // RELAX_OPERATOR_BASE
