//===- Processor.h - Features of this processor -----------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_PROCESSOR_H
#define RELAX_RUNTIME_PROCESSOR_H

#include <string>

namespace relax_runtime {

// Whether this processor and its system have a feature, by the name that LLVM
// has for it. True where that is not known.
bool hasFeature(const std::string &name);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_PROCESSOR_H
