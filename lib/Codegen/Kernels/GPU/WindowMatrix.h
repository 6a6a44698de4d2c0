//===- WindowMatrix.h - Windows of an image on GPUs -------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_WINDOWMATRIX_H
#define RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_WINDOWMATRIX_H

#include "ConvParts.h"
#include "MatmulEmitter.h"

namespace mlir::relax {

/// The right matrix of a convolution, element by element: a column is the
/// window of a pixel, over all input channels. `isSmall`: places in the image
/// are numbers of 32 bits. `parts` is referred to.
MatrixView viewWindows(IndexBuilder &b, const ConvParts &parts,
                       const Image &image, Value outWidth, bool isSmall);

} // namespace mlir::relax

#endif // RELAX_MLIR_LIB_CODEGEN_KERNELS_GPU_WINDOWMATRIX_H
