//===- RelaxDialect.td - The dialect -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_DIALECT
#define RELAX_DIALECT

include "RelaxPython.td"
include "mlir/IR/OpBase.td"

def Relax_Dialect : Dialect {
  let name = "relax";
  let cppNamespace = "::mlir::relax";
  let summary = "Relax, the dynamic-shape graph IR of TVM";
  let description = [{
    Relax describes machine learning programs whose tensor shapes may be
    symbolic. A program is a module of `relax.func` operations and kernels
    (`func.func` in destination-passing style). Each value has *structural
    information* (StructInfo), here an MLIR type: `!relax.tensor`,
    `!relax.shape`, `!relax.prim`, `!relax.tuple`, `!relax.func`,
    `!relax.object`. Dimensions are expressions over named shape variables.

    Example:

    ```mlir
    relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32> {
      %0 = relax.dataflow -> !relax.tensor<[n * 4], f32> {
        %1 = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
        %2 = relax.flatten %1 : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n * 4], f32>
        relax.output %2 : !relax.tensor<[n * 4], f32>
      }
      relax.return %0 : !relax.tensor<[n * 4], f32>
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasCanonicalizer = 1;
  // What stands on operations beside their own attributes. Passes and the Python
  // package name them relax.<name>; C++ has RelaxDialect::<Name>AttrHelper.
  let discardableAttrs = (ins
    //===--- Programs -----------------------------------------------------===//

    // On the module: the virtual devices by name, #relax.vdevice each (GR03).
    "::mlir::DictionaryAttr":$global_info,
    // On the module: meshes of devices, by name a list of #relax.device_mesh.
    "::mlir::DictionaryAttr":$device_meshes,
    // On a function: impure calls inside are disregarded (DR15, WF21).
    "::mlir::BoolAttr":$force_pure,
    // On a function: memory is planned for the sizes of each call, though these
    // have upper bounds, which may be far from what calls have.
    "::mlir::BoolAttr":$plan_each_call,
    // On a function: how many of its first arguments are captured values, which
    // the closure, and no caller, passes.
    "::mlir::IntegerAttr":$captures,
    // On an argument of a function, where a pass of MLIR asks for its attributes:
    // its name, which `arg_names` keeps.
    "::mlir::StringAttr":$name,
    // On a parameter of a kernel: its StructInfo, which tells more than a memref.
    "::mlir::TypeAttr":$struct_info,
    // On a loop of a kernel: its kind, such as "parallel" (T.parallel).
    "::mlir::StringAttr":$loop,
    // On a loop of a kernel: the thread that it stands for, such as
    // "threadIdx.x" (T.thread_binding).
    "::mlir::StringAttr":$thread,
    // On a loop or memory of a kernel: the annotations of TensorIR.
    "::mlir::DictionaryAttr":$annotations,
    // On an allocation of a kernel: where it lies, such as "shared".
    "::mlir::StringAttr":$scope,

    //===--- Passes -------------------------------------------------------===//

    // On an operator: relax-legalize-ops leaves it alone.
    "::mlir::UnitAttr":$keep,
    // On a call of a function that a pass has made of kernels: its results share
    // no memory with what is there before, which only its body would tell.
    "::mlir::UnitAttr":$fresh,
    // On a dataflow block that Python is rewriting.
    "::mlir::UnitAttr":$rewritten_block,
    // On a match_cast: the operator whose operands it checks.
    "::mlir::StringAttr":$checks,
    // On arithmetic of dimensions: the expression that it is a step of.
    "::mlir::StringAttr":$expr,
    // On a kernel: the #relax.vdevice that runs it; none for the host.
    "::mlir::Attribute":$device,
    // On the module: the constants that `relax.builtin.load_constant` counts.
    "::mlir::ArrayAttr":$constants,
    // On a function whose shapes are lowered: its StructInfo before, as the
    // runtime reads it.
    "::mlir::StringAttr":$runtime_struct_info,

    //===--- Kernels ------------------------------------------------------===//

    // On a tensor.empty: which one it is, while equal operations are merged.
    "::mlir::IntegerAttr":$number,
    // On the operation that makes weights of transformed ones: how many results a
    // tile has in a dimension.
    "::mlir::IntegerAttr":$winograd,
    // On the operation that makes a matrix of packed ones: bits of a code, size of
    // a group, whether codes and zeros are unsigned, whether rows of the other
    // matrix may be rounded.
    "::mlir::DenseI64ArrayAttr":$packed_weights,
    // On a kernel, or a function that becomes one: what is asked for in place of
    // what the compiler would choose, {class = "matmul", tile = array<i64: 4, 16>}.
    // Fusion leaves the kernel as it is, and relax-emit-kernels heeds it.
    "::mlir::DictionaryAttr":$schedule,
    // On a launch: how many of its blocks a multiprocessor of a CUDA device runs
    // at a time at least. A thread has the registers that this leaves, so that the
    // assembler keeps none of its values in memory to run more blocks.
    "::mlir::IntegerAttr":$resident_blocks,
    // On a kernel: the class that emitted it.
    "::mlir::StringAttr":$kernel_class,
    // On a parallel loop: the fewest iterations that are worth a thread.
    "::mlir::IntegerAttr":$grain,
    // On a kernel that returns whether it failed.
    "::mlir::UnitAttr":$status
  );
  let extraClassDeclaration = [{
    // Attributes that have TVM's names.

    /// On a function: its name for those outside of the module.
    static constexpr ::llvm::StringLiteral kGlobalSymbol = "global_symbol";
    /// On a function: the least and the greatest values of shape variables that
    /// its arguments bind.
    static constexpr ::llvm::StringLiteral kLowerBound = "tir_var_lower_bound";
    static constexpr ::llvm::StringLiteral kUpperBound = "tir_var_upper_bound";
    void registerAttributes();
    void registerTypes();
  }];
}

// The base of every operation of the dialect.
class Relax_Op<string mnemonic, list<Trait> traits = []>
    : Op<Relax_Dialect, mnemonic, traits>, Relax_PythonFunction;

#endif // RELAX_DIALECT
