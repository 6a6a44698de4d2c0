//===- ObjectLinker.h - Object files in this process ------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links the object file of an artefact into this process, so that programs run
// where there is no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_ARTEFACT_OBJECTLINKER_H
#define RELAX_RUNTIME_ARTEFACT_OBJECTLINKER_H

#include <map>
#include <string>
#include <string_view>
#include <tvm/ffi/object.h>
#include <vector>

namespace relax_runtime {

// Code and data of object files in memory of their own, which lives as long as
// this object.
class LinkedCodeObj : public tvm::ffi::Object {
public:
  // Links an ELF object file, or an archive of several. Raises ValueError for
  // bytes that are nothing of the kind, for another kind of processor, and for
  // symbols that neither the objects nor this process define; `source` is what
  // errors call the file.
  LinkedCodeObj(std::string_view bytes, const std::string &source);
  ~LinkedCodeObj();
  LinkedCodeObj(const LinkedCodeObj &) = delete;
  LinkedCodeObj &operator=(const LinkedCodeObj &) = delete;

  // The address of a symbol that the objects define; else NULL.
  void *lookUp(const std::string &symbol) const;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax_mlir.LinkedCode", LinkedCodeObj,
                                    tvm::ffi::Object);

private:
  struct Memory {
    Memory() = default;
    ~Memory();
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;

    uint8_t *begin = nullptr;
    size_t size = 0;
    // By which exceptions and debuggers unwind frames.
    std::vector<uint8_t *> frameTables;
  };

  Memory memory;
  std::map<std::string, uint8_t *, std::less<>> symbols;

  friend class ObjectLinker;
};

} // namespace relax_runtime

#endif // RELAX_RUNTIME_ARTEFACT_OBJECTLINKER_H
