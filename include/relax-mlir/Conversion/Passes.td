//===- Passes.td - Passes to linalg and to LLVM -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_CONVERSION_PASSES
#define RELAX_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

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
    "::mlir::memref::MemRefDialect", "::mlir::relax::RelaxDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def RelaxOutlineParallelLoopsPass
    : Pass<"relax-outline-parallel-loops", "ModuleOp"> {
  let summary = "Let several threads run the parallel loops of kernels";
  let description = [{
    Turns the body of each `scf.parallel` of one dimension, without reductions
    and with the attribute `relax.grain`, into a function of a range of its
    iterations, and the loop into a call of `relax_parallel_for`, which runs
    ranges of at least `relax.grain` iterations on several threads. What the body
    needs is passed in a struct on the stack.

    An `scf.for` with `relax.loop = "parallel"`, as `T.parallel` of a TensorIR
    function leaves it, becomes such a loop where no iteration can see what
    another one writes: where all accesses of a memref from outside of the loop
    that is written are at the number of the iteration. One with
    `relax.loop = "independent"`, as kernels of operators have them, always does.
    Parallel loops in parallel loops stay as they are.

    The result of an `scf.execute_region` with `relax.loop = "threads"` becomes
    the number of threads that may share a loop.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect"
  ];
}

def RelaxConvertArithmeticToLLVMPass
    : Pass<"relax-convert-arithmetic-to-llvm"> {
  let summary = "Convert vectors and numbers to the LLVM dialect";
  let description = [{
    Does to the dialects vector, arith and index what
    `convert-vector-to-llvm`, `convert-arith-to-llvm` and
    `convert-index-to-llvm` do one after the other, in one conversion. What is in
    the body of an operation of a function stays as it is.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"
  ];
}

def RelaxConvertBranchesToLLVMPass
    : Pass<"relax-convert-branches-to-llvm", "ModuleOp"> {
  let summary = "Convert branches and tiles to the LLVM dialect";
  let description = [{
    Does to the dialects cf and amx what `convert-cf-to-llvm` does to the first
    one, in one conversion: tiles that go around a loop are arguments of blocks.
  }];
  let dependentDialects = [
    "::mlir::amx::AMXDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::LLVM::LLVMDialect"
  ];
}

def RelaxLowerScratchMemoryPass
    : Pass<"relax-lower-scratch-memory", "ModuleOp"> {
  let summary = "Take the scratch memory of kernels from the runtime";
  let description = [{
    Turns `memref.alloc` and `memref.dealloc` into calls of the runtime, which
    keeps memory for the next call and raises an error where there is none. A
    kernel that allocates, or calls one that does, gets a status as its last
    result and the attribute `relax.status`; it frees what it holds and returns
    -1 where an allocation fails. Functions have to be free of structured control
    flow around allocations.

    Stack memory of known size that a loop takes is taken once.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"
  ];
}

def RelaxConvertToLLVMPass : Pass<"convert-relax-to-llvm", "ModuleOp"> {
  let summary = "Lower Relax functions to LLVM";
  let description = [{
    Each function becomes an entry of the tvm-ffi calling convention,
    `__tvm_ffi_<name>`, made of calls of the runtime and of kernels on memrefs.
    Values live in slots of a frame; a step that fails leaves through one exit.
  }];
  let options = [
    Option<"profile", "profile", "bool", "false",
           "Whether functions say when a call begins and ends, so that they can "
           "be profiled">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"
  ];
}

def RelaxConvertGPUToSPIRVPass
    : Pass<"relax-convert-gpu-to-spirv", "::mlir::ModuleOp"> {
  let summary = "Lower kernels of OpenCL to SPIR-V";
  let description = [{
    Each `gpu.module` that has a `spirv.target_env` becomes a `gpu.binary` of
    SPIR-V. The parameters of kernels are pointers and numbers of 64 bits: a
    memref is two pointers, its offset, its sizes and its strides, of which those
    that its type says are not used.
  }];
  let options = [
    Option<"serialize", "serialize", "bool", "true",
           "Whether the result is a gpu.binary, not a spirv.module">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::index::IndexDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::spirv::SPIRVDialect",
    "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"
  ];
}

def RelaxLowerLaunchesPass
    : Pass<"relax-lower-launches", "::mlir::ModuleOp"> {
  let summary = "Launch kernels of devices through the runtime";
  let description = [{
    The text of a `gpu.binary` becomes a constant of the program, and each
    `gpu.launch_func` a call of `relax_device_launch`, which returns a status.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"
  ];
}

#endif // RELAX_CONVERSION_PASSES
