//===- Convolution.h - Kernels that convolve images -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four algorithms: direct with weights in panels (ConvDirect.cpp), Winograd's
// for windows of 3 x 3, 3 x 1 and 1 x 3 (ConvWinograd.cpp), one for channels
// that are alone (ConvDepthwise.cpp), and an implicit GEMM for everything else
// (Convolution.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_CONVOLUTION_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_CONVOLUTION_H

#include "Matmul.h"

namespace mlir::relax {

/// A convolution over the two innermost dimensions of a parameter, which may be
/// padded with zeros, and elementwise operations on its result.
std::unique_ptr<KernelEmitter> matchConv2d(func::FuncOp kernel,
                                           const TargetModel &target);

/// Whether such a kernel can have the tile of its schedule: output channels and
/// pixels.
LogicalResult verifyConv2dTile(func::FuncOp kernel, const TargetModel &target);

/// The same for kernels of devices.
std::unique_ptr<KernelEmitter> matchDeviceConv2d(func::FuncOp kernel,
                                                 const TargetModel &target);

/// The parameter with the weights of a kernel of this class, where they are of
/// known size. Whether the kernel is prepared is all the same. With `winograd`,
/// weights may be transformed where that makes the kernel faster.
std::optional<PackedMatrix> findPackableWeight(func::FuncOp kernel,
                                               const TargetModel &target,
                                               bool winograd);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_CONVOLUTION_H
