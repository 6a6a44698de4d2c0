//===- Passes.td - Passes of the Relax dialect -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_PASSES
#define RELAX_PASSES

include "mlir/Pass/PassBase.td"

def RelaxNormalizePass : Pass<"relax-normalize", "::mlir::relax::FuncOp"> {
  let summary = "Put functions into normal form (NF01-NF05)";
  let description = [{
    Flattens each `relax.seq` into the block around it, where shape variables
    that it binds get a new name if theirs means something else behind it;
    applies the rules that calls have of their own (`relax.call_tir` takes the
    fields of a tuple); joins dataflow blocks that stand side by side and drops
    empty ones. The order of bindings stays. A function in normal form is left
    as it is.
  }];
}

def RelaxLambdaLiftPass : Pass<"relax-lambda-lift", "ModuleOp"> {
  let summary = "Make functions of closures (SE03, SE07)";
  let description = [{
    Moves the body of each `relax.closure` into a private function, which takes
    the captured shape variables, as one shape, and the captured values before
    the arguments. A closure that is called where it is known becomes a call of
    that function; any other use becomes `relax.builtin.make_closure`, and so
    does `relax.global_var`. The attribute `relax.captures` counts the arguments
    that are captured.

    A kernel that is called directly, or is a value, gets a private function
    `@<kernel>.closure` around it. The name of a packed function for which the
    module has a function with this `global_symbol` stands for that function.
  }];
}

def RelaxLegalizeOpsPass : Pass<"relax-legalize-ops", "ModuleOp"> {
  let summary = "Lower operators to call_tir and kernels";
  let description = [{
    Replaces each tensor operator by `relax.call_tir` of a private `func.func`
    that computes it on tensors with linalg. Equal operators share a kernel. The
    shapes and data types of all operands must be known.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def RelaxToNonDataflowPass : Pass<"relax-to-non-dataflow", "::mlir::relax::FuncOp"> {
  let summary = "Inline dataflow blocks";
  let description = [{
    Moves the bindings of dataflow blocks into the function around them: from
    here on the order of bindings is the order of execution.
  }];
}

def RelaxLowerCallTIRPass : Pass<"relax-lower-call-tir", "::mlir::relax::FuncOp"> {
  let summary = "Make the allocation of outputs explicit";
  let description = [{
    Replaces `relax.call_tir` by `relax.builtin.alloc_tensor` for each output
    and `relax.builtin.call_kernel`, and `relax.call_dps_packed` likewise (RF09).
  }];
}

def RelaxLowerShapesPass : Pass<"relax-lower-shapes", "::mlir::relax::FuncOp"> {
  let summary = "Turn shape variables into values and checks into operations";
  let description = [{
    Makes an `i64` value of each shape variable, where the signature or a
    `relax.match_cast` binds it; inserts the checks of arguments, casts and
    results of packed calls (MC01-MC08); computes the dimensions of allocations
    and shapes. Types lose their dimensions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RelaxKillAfterLastUsePass
    : Pass<"relax-kill-after-last-use", "::mlir::relax::FuncOp"> {
  let summary = "Drop values after their last use";
  let description = [{
    Inserts `relax.builtin.kill` behind the last use of each value, so that the
    memory of a tensor that is dead can serve the next allocation.
  }];
}

def RelaxPrepareKernelsPass : Pass<"relax-prepare-kernels", "ModuleOp"> {
  let summary = "Make kernels ready for bufferization";
  let description = [{
    Marks the outputs of kernels on tensors as writable and puts results in them,
    so that bufferization updates outputs in place. Kernels are renamed to
    `relax.kernel.<name>`: one named `exp` must not stand for that of libm.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect"];
}

def RelaxWidenBoolMemrefsPass
    : Pass<"relax-widen-bool-memrefs", "::mlir::func::FuncOp"> {
  let summary = "Store Booleans in bytes";
  let description = [{
    Turns memrefs of `i1` into memrefs of `i8`, as Boolean tensors lie in memory:
    a byte that is not zero is true, and 1 is stored.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RelaxLowerExpandShapePass
    : Pass<"relax-lower-expand-shape", "::mlir::func::FuncOp"> {
  let summary = "Lower memref.expand_shape with any number of dynamic dimensions";
  let description = [{
    Turns `memref.expand_shape` into `memref.reinterpret_cast` with the sizes that
    it carries, where upstream's lowering takes one dynamic size in a group.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::memref::MemRefDialect"
  ];
}

def RelaxConvertToLLVMPass : Pass<"convert-relax-to-llvm", "ModuleOp"> {
  let summary = "Lower Relax functions to LLVM";
  let description = [{
    Each function becomes an entry of the tvm-ffi calling convention,
    `__tvm_ffi_<name>`, made of calls of the runtime and of kernels on memrefs.
    Values live in slots of a frame; a step that fails leaves through one exit.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

#endif // RELAX_PASSES
