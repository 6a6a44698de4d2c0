//===- Passes.td - Passes that write kernels and their entries -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_CODEGEN_PASSES
#define RELAX_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def RelaxMakeKernelEntriesPass : Pass<"relax-make-kernel-entries", "ModuleOp"> {
  let summary = "Leave what bytecode calls, with entries for kernels";
  let description = [{
    For each kernel on memrefs that a function calls, makes

    ```c
    int32_t relax_kernel_<name>(void *const *data, const int64_t *const *dims,
                                const int64_t *scalars);
    ```

    which gets the elements and dimensions of the tensors and the scalars in the
    order of the parameters, a float as the bits of a double, and returns 0. The
    `relax.kernel.` of `relax-prepare-kernels` is no part of the name.

    Functions whose code is bytecode are removed. What stays are those that call
    a kernel as a function, which returns a scalar or nothing, and what they call
    in turn.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"
  ];
}

def RelaxPackConstantsPass : Pass<"relax-pack-constants", "ModuleOp"> {
  let summary = "Pack matrices that are constants";
  let description = [{
    Where the right matrix of a product is a constant, passes it in panels, in the
    order in which `relax-emit-kernels` reads it, to a copy of the kernel that
    unpacks them with `linalg.unpack`. It is never unpacked: the kernel is of the
    class `matmul`, and so is what `relax-emit-kernels` makes of it at the same
    width of vectors. So are constant weights of convolutions; those of windows of
    3 x 3, 3 x 1 and 1 x 3 are transformed for the algorithm of Winograd where that
    is faster.

    A right matrix that is made of quantized constants is packed as codes of 4 or 8
    bits, scales and zero points, which the kernel unpacks.
  }];
  let options = [
    Option<"winograd", "winograd", "bool", /*default=*/"true",
           "Whether weights of windows of three elements in a dimension may be "
           "transformed">,
    Option<"dynamicQuantization", "dynamic-quantization", "bool",
           /*default=*/"false",
           "Whether rows that are multiplied by weights of 4 bits may be "
           "rounded to 8 bits">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

def RelaxEmitKernelsPass : Pass<"relax-emit-kernels", "ModuleOp"> {
  let summary = "Write kernels of known classes as loops over vectors";
  let description = [{
    A private kernel on tensors that `relax-prepare-kernels` has prepared, and that
    is of a class in the table in `lib/Codegen/Kernels/EmitKernels.cpp`, gives way
    to a kernel of the same name and parameters on memrefs, made of explicit loops
    over vectors. `relax.kernel_class` tells which class it was. The others are
    left for bufferization.

    Where a kernel has a `relax.schedule`, only the class that it asks for is
    tried, and none for `none`; the tile takes the place of the one that a model
    would choose. It is an error if the kernel is not of that class, or if its
    loops cannot have the tile: matrix products have rows, a power of two, and
    columns, a multiple of the lanes of a vector; convolutions with constant
    weights output channels, a multiple of the lanes, and pixels, or the other way
    around where pixels are the lanes.

    The outermost loop is an `scf.parallel`; its `relax.grain` says how many
    iterations, at least, are worth a thread.
  }];
  let dependentDialects = [
    "::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def RelaxLowerLinalgPass
    : Pass<"relax-lower-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lower linalg operations on memrefs to parallel loops";
  let description = [{
    Turns each linalg operation on memrefs into loops: over vectors where its
    results are contiguous along one of its parallel loops and its body can be
    computed in vectors, over elements otherwise. Bodies may read elements at
    computed places, in branches too, and have several results.

    The outermost parallel loop is an `scf.parallel` whose `relax.grain` says how
    many iterations, at least, are worth a thread.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def RelaxVectorizeLoopsPass
    : Pass<"relax-vectorize-loops", "::mlir::func::FuncOp"> {
  let summary = "Turn loops that programs call vectorized into loops over vectors";
  let description = [{
    A loop with `relax.loop = "vectorized"`, as of `T.vectorized`, whose iterations
    load, compute and store single elements, and do not see what others write,
    becomes a loop over vectors: iterations are lanes. Elements that follow one
    another are loaded and stored as vectors, also backwards and every second one;
    stores that together fill a few neighbouring elements in each lane are
    transposed in registers. Other loops stay as they are.

    Before that, loops with `relax.loop = "parallel"` whose iterations are
    independent are marked as such, and get the `relax.grain` that an estimate of
    their time asks for.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def RelaxMapKernelsToGPUPass
    : Pass<"relax-map-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn kernels of devices into launches";
  let description = [{
    A kernel on memrefs that has a `relax.device` stays as the part that the host
    runs: it computes sizes, allocates scratch memory of the device and launches.
    Each linalg operation becomes a `gpu.launch` with a thread for each element
    of its iteration space of parallel loops. Loops over nothing but linalg
    operations stay on the host, too. What reads or writes memory in another way is
    run by one thread.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

def RelaxExpandInvariantDivisionsPass
    : Pass<"relax-expand-invariant-divisions", "::mlir::func::FuncOp"> {
  let summary = "Divide by sizes on devices by multiplication";
  let description = [{
    Unsigned quotients and remainders in the launches of a kernel for CUDA, of
    indices and numbers of 32 bits, whose divisor is the same for all threads and
    no constant: the host computes a magic number and two shifts before the
    launch, and threads multiply and shift instead. What the divisor is computed
    from moves out of the launch.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"
  ];
}

def RelaxGatherDeviceKernelsPass
    : Pass<"relax-gather-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Put the kernels of a device into one gpu.module";
  let description = [{
    Outlines launches and merges what `gpu-kernel-outlining` makes of them into one
    `gpu.module` for each target of devices, with names that PTX and SPIR-V can
    have, and attaches the target: `-arch=sm_90` of `relax.vdevice` is its chip for
    CUDA; for OpenCL it is a `spirv.target_env`. `relax.resident_blocks` of a launch
    becomes a bound of its kernel for CUDA.
  }];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::spirv::SPIRVDialect"
  ];
}

#endif // RELAX_CODEGEN_PASSES
