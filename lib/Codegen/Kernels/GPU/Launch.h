//===- Launch.h - Launches and the loops of threads -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_LAUNCH_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_LAUNCH_H

#include "IndexBuilder.h"

#include "relax-mlir/IR/VDevice.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::relax {

/// The threads of a block where nothing asks for another number.
constexpr int64_t kThreads = 256;

/// The most threads of a block that reduces.
constexpr int64_t kMostThreads = 512;

/// The threads of a warp.
constexpr int64_t kWarp = 32;

/// A launch of `blocks` blocks of `threads` threads. `body` writes at the
/// builder what a thread does.
gpu::LaunchOp
launch(IndexBuilder &b, Value blocks, Value threads, TypeRange shared,
       llvm::function_ref<void(IndexBuilder &, gpu::LaunchOp)> body);

/// Has the assembler of CUDA give a thread as many registers as `blocks` blocks
/// of a multiprocessor leave it, where it would keep values in memory to run
/// more blocks at a time.
void setResidentBlocks(gpu::LaunchOp op, int32_t blocks);

/// Memory of `count` elements that the threads of a block share.
MemRefType getSharedType(MLIRContext *context, int64_t count, Type element);

/// The architecture that code for a device is made for, such as "sm_90": that
/// of `cuda -arch=sm_90` or {"arch": "sm_90"}.
StringRef getChip(VDeviceAttr device);

/// The same of the device of the kernel around the builder, "" where it has
/// none.
StringRef getKernelChip(IndexBuilder &b);

/// Whether a device has the instructions of NVIDIA's GPUs: threads of a warp
/// exchange values, copies to shared memory do not wait, and tensor cores
/// multiply. Devices of OpenCL do not.
bool isCuda(VDeviceAttr device);

/// The same of the device of the kernel around an operation.
bool isOnCuda(Operation *op);

/// Gives the launch around the builder `bytes` of shared memory, which may be
/// more than what `launch` can give, and returns it: memory of bytes that
/// begins at a multiple of `alignment`, and the offset of the first one of
/// them in it.
std::pair<Value, Value> getDynamicShared(IndexBuilder &b, int64_t bytes,
                                         int64_t alignment);

/// The row of `width` elements that element `thread` + `offset` is in, and its
/// place there. Those of the places of a thread differ by constants where rows
/// divide their distance, so that addresses share what they are made of.
std::pair<Value, Value> splitPlace(IndexBuilder &b, Value thread,
                                   int64_t offset, int64_t width);

/// Combines what the threads of a warp have, of 32 bits each, or groups of
/// `lanes` neighbours of them; each gets it.
Value reduceWarp(
    IndexBuilder &b, Value value,
    llvm::function_ref<Value(IndexBuilder &, Value lhs, Value rhs)> combine,
    int64_t lanes = kWarp);

/// The places begin, begin + step, ... below `end`, `unroll` at a time, and one
/// at a time where fewer are left. `body` returns the next values of what the
/// loop carries.
SmallVector<Value>
loopUnrolled(IndexBuilder &b, Value begin, Value end, Value step,
             int64_t unroll, ValueRange inits,
             llvm::function_ref<SmallVector<Value>(
                 IndexBuilder &, ArrayRef<Value> places, ValueRange carried)>
                 body);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_LAUNCH_H
