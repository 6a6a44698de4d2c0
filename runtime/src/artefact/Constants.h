//===- Constants.h - Values in an artefact ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A constant is any value without identity: None, a bool, an integer, a float,
// a string, bytes, a data type, a shape, a tensor, a tuple of these. Values are
// in the section "constants"; the elements of tensors are in "payloads", each
// at a multiple of 64 bytes, and are not copied when they are loaded.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_CONSTANTS_H
#define RELAX_RUNTIME_ARTEFACT_CONSTANTS_H

#include "../Internal.h"
#include "Container.h"

namespace relax_runtime {

// Collects values for the two sections; it keeps the values alive.
class ConstantsWriter {
public:
  // `constant` is what errors call the value, "constant 3". Raises TypeError
  // for a value that cannot be saved.
  void write(const ffi::Any &value, const std::string &constant);

  SectionWriter descriptions;
  std::vector<ContainerWriter::Piece> payloads;

private:
  void write(const ffi::Any &value, const std::string &constant, int depth);
  void writeTensor(const ffi::Any &value, const std::string &constant);

  uint64_t payloadsEnd = 0;
  std::vector<ffi::Any> held;
};

// Reads one value. Tensors view `payloads`, a part of `image`, which they keep
// alive.
ffi::Any readConstant(SectionReader &reader,
                      const std::shared_ptr<Image> &image,
                      std::pair<uint8_t *, size_t> payloads);

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_CONSTANTS_H
