//===- Executable.h - A program for the VM ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A verified program: functions, constants, names and code. It does not change
// once it is made, so that any number of VMs in any number of threads share it;
// only addresses of machine code are bound to it later.
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_RUNTIME_VM_EXECUTABLE_H
#define RELAX_RUNTIME_VM_EXECUTABLE_H

#include "../Internal.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace relax_runtime::vm {

// A kernel: data[i] and dims[i] are the compact elements and the dimensions of
// its tensor i; `scalars` are the scalar parameters, a float as the bits of a
// double. Returns 0, or -1 with an error in the slot of tvm-ffi.
using KernelEntry = relax_kernel_entry;

struct FunctionDef {
  enum class Kind : uint8_t { Bytecode, Native };

  std::string name;
  Kind kind = Kind::Bytecode;
  bool isPrivate = false;
  // Parameters are the registers 0, 1, ...; the first ones are captured values
  // of a closure.
  std::vector<std::string> params;
  int32_t numCaptures = 0;
  int32_t numRegisters = 0;
  int32_t numHeapSlots = 0;
  // The StructInfo at run time; "" where nothing is known.
  std::string structInfo;
  // Its words in `code` and its entries in `sites`.
  int64_t codeBegin = 0, codeEnd = 0;
  int64_t siteBegin = 0, siteEnd = 0;
};

struct SiteDef {
  std::string what, expected, location;
};

// The parts of an executable that an artefact holds.
struct ExecutableParts {
  std::vector<FunctionDef> functions;
  std::vector<ffi::Any> constants;
  std::vector<std::string> kernels;
  std::vector<std::string> packed;
  std::vector<std::string> strings;
  std::vector<SiteDef> sites;
  std::vector<int64_t> code;
};

// Throws ValueError, which says where, unless every function is one that the
// interpreter can run: see Verifier.cc.
void verify(const ExecutableParts &parts);

struct FunctionCode;
class Program;

class ExecutableObj : public ffi::Object {
public:
  // Verifies. Throws.
  explicit ExecutableObj(ExecutableParts parts);
  ~ExecutableObj();

  const ExecutableParts &getParts() const { return parts; }
  const Program &getProgram() const { return *program; }

  // The index of a function; -1 where there is none.
  int64_t findFunction(std::string_view name) const;

  // Gives kernels and native functions, by name, their addresses; `keepAlive`
  // lives as long as the executable. Returns how many of the names it knows.
  // Throws ValueError for address 0. Bind before the first call.
  int64_t bind(const std::vector<std::pair<std::string, void *>> &kernels,
               const std::vector<std::pair<std::string, void *>> &functions,
               ffi::Any keepAlive);
  // NULL until it is bound.
  KernelEntry getKernel(int64_t index) const {
    return kernelEntries[index].load(std::memory_order_relaxed);
  }
  TVMFFISafeCallType getNative(int64_t index) const {
    return nativeEntries[index].load(std::memory_order_relaxed);
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("relax_mlir.Executable", ExecutableObj,
                                    ffi::Object);

private:
  const ExecutableParts parts;
  std::unordered_map<std::string_view, int64_t> functionsByName;
  std::unique_ptr<const Program> program;
  std::unique_ptr<std::atomic<KernelEntry>[]> kernelEntries;
  std::unique_ptr<std::atomic<TVMFFISafeCallType>[]> nativeEntries;
  std::mutex bindMutex;
  std::vector<ffi::Any> kept;
};

class Executable : public ffi::ObjectRef {
public:
  explicit Executable(ExecutableParts parts)
      : ffi::ObjectRef(ffi::make_object<ExecutableObj>(std::move(parts))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Executable, ffi::ObjectRef,
                                                ExecutableObj);
};

// Reads text assembly; docs/dev/vm.md has its grammar. `externals` are the
// constants that the text calls `external 0`, ... Throws ValueError with the
// line and column.
ExecutableParts assemble(std::string_view text,
                         const std::vector<ffi::Any> &externals);

// Writes text assembly. Tensors of more than `maxBytes` are written as external
// constants, counted from 0, and appended to `externals` unless that is NULL.
std::string disassemble(const ExecutableParts &parts, int64_t maxBytes,
                        std::vector<ffi::Any> *externals);
// The text of each instruction of a function.
std::vector<std::string> disassembleInstructions(const ExecutableParts &parts,
                                                 int64_t function);

} // namespace relax_runtime::vm

#endif // RELAX_RUNTIME_VM_EXECUTABLE_H
