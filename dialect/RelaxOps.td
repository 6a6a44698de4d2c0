//===- RelaxOps.td - All of the dialect -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_OPS
#define RELAX_OPS

include "RelaxADTOps.td"
include "RelaxAttributes.td"
include "RelaxBinaryOps.td"
include "RelaxBuiltinOps.td"
include "RelaxCallOps.td"
include "RelaxCollectiveOps.td"
include "RelaxConvOps.td"
include "RelaxCoreOps.td"
include "RelaxCreateOps.td"
include "RelaxDebugOps.td"
include "RelaxDeviceOps.td"
include "RelaxDistributedOps.td"
include "RelaxFunctionOps.td"
include "RelaxIndexOps.td"
include "RelaxManipulateOps.td"
include "RelaxNNOps.td"
include "RelaxNormOps.td"
include "RelaxReduceOps.td"
include "RelaxSortOps.td"
include "RelaxTypes.td"
include "RelaxUnaryOps.td"

#endif // RELAX_OPS
