//===- Python.cc - The VM for Python and C++ --------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions registered with tvm-ffi, under `relax_mlir.vm.`, and the types of
// objects.
//
//===----------------------------------------------------------------------===//

#include "../ADT.h"
#include "Builtins.h"
#include "Documentation.h"
#include "FunctionGraphs.h"
#include "Instrument.h"
#include "TimeEvaluator.h"
#include "VirtualMachine.h"

#include <tvm/ffi/reflection/registry.h>

using namespace relax_runtime;
using namespace relax_runtime::vm;

using Symbols = ffi::Map<ffi::String, int64_t>;

static Executable assembleText(ffi::String text,
                               ffi::Array<ffi::Any> externals) {
  std::vector<ffi::Any> constants(externals.begin(), externals.end());
  return Executable(assemble({text.data(), text.size()}, constants));
}

static ffi::String getText(Executable executable, int64_t maxBytes) {
  return disassemble(executable->getParts(), maxBytes, nullptr);
}

static ffi::Array<ffi::Any> getExternals(Executable executable,
                                         int64_t maxBytes) {
  std::vector<ffi::Any> externals;
  disassemble(executable->getParts(), maxBytes, &externals);
  return ffi::Array<ffi::Any>(externals.begin(), externals.end());
}

static ffi::Array<ffi::String>
toStrings(const std::vector<std::string> &strings) {
  ffi::Array<ffi::String> result;
  for (const std::string &string : strings)
    result.push_back(string);
  return result;
}

static size_t countInstructions(const ExecutableParts &parts,
                                const FunctionDef &function) {
  size_t count = 0;
  Instruction instruction;
  for (size_t position = static_cast<size_t>(function.codeBegin);
       position < static_cast<size_t>(function.codeEnd); ++count)
    decode(parts.code.data(), static_cast<size_t>(function.codeEnd), position,
           instruction);
  return count;
}

// A row for each function: name, whether it is bytecode, whether it is private,
// parameters, captured values, registers, heap slots, StructInfo, words,
// instructions.
static ffi::Array<ffi::Array<ffi::Any>> getFunctions(Executable executable) {
  ffi::Array<ffi::Array<ffi::Any>> rows;
  const ExecutableParts &parts = executable->getParts();
  for (const FunctionDef &function : parts.functions)
    rows.push_back(ffi::Array<ffi::Any>(
        {ffi::String(function.name),
         function.kind == FunctionDef::Kind::Bytecode, function.isPrivate,
         toStrings(function.params), function.numCaptures,
         function.numRegisters, function.numHeapSlots,
         ffi::String(function.structInfo),
         function.codeEnd - function.codeBegin,
         static_cast<int64_t>(countInstructions(parts, function))}));
  return rows;
}

static ffi::Array<ffi::String> getKernels(Executable executable) {
  return toStrings(executable->getParts().kernels);
}
static ffi::Array<ffi::String> getPackedNames(Executable executable) {
  return toStrings(executable->getParts().packed);
}
static ffi::Array<ffi::Any> getConstants(Executable executable) {
  const std::vector<ffi::Any> &constants = executable->getParts().constants;
  return ffi::Array<ffi::Any>(constants.begin(), constants.end());
}

static std::vector<std::pair<std::string, void *>>
toAddresses(const Symbols &symbols) {
  std::vector<std::pair<std::string, void *>> result;
  for (const auto &[name, address] : symbols)
    result.emplace_back(std::string(name), reinterpret_cast<void *>(
                                               static_cast<intptr_t>(address)));
  return result;
}

static int64_t bindExecutable(Executable executable, Symbols kernels,
                              Symbols functions, ffi::Any keepAlive) {
  return executable->bind(toAddresses(kernels), toAddresses(functions),
                          std::move(keepAlive));
}

static VirtualMachine makeVirtualMachine(Executable executable) {
  return VirtualMachine(std::move(executable));
}

static VirtualMachine makeReplaying(Executable executable) {
  return VirtualMachine(std::move(executable), /*usesGraphs=*/true);
}

// Of a function: graphs, calls that were replayed, bytes that graphs hold, and
// why another call was not.
static ffi::Array<ffi::Any> getGraphs(VirtualMachine vm, ffi::String name) {
  int64_t index = vm->getExecutable().findFunction({name.data(), name.size()});
  FunctionGraphs *graphs = index < 0 ? nullptr : vm->getGraphs(index);
  FunctionGraphs::Statistics found;
  if (graphs)
    found = graphs->statistics();
  return {found.graphs, found.replays, found.bytes, ffi::String(found.reason)};
}

static ffi::Function getVMFunction(VirtualMachine vm, ffi::String name) {
  return vm->getFunction({name.data(), name.size()});
}

static void setInstrument(VirtualMachine vm, ffi::Any function) {
  if (function == nullptr)
    vm->setObserver(nullptr);
  else
    vm->setObserver(makeInstrument(function.cast<ffi::Function>()));
}

static ffi::Array<ffi::String> getInstructions(Executable executable,
                                               ffi::String name) {
  int64_t index = executable->findFunction({name.data(), name.size()});
  if (index < 0)
    RELAX_THROW(ValueError)
        << "expected the name of a function, but got '" << name << "'";
  return toStrings(disassembleInstructions(executable->getParts(), index));
}

static void checkNumArgs(const ffi::PackedArgs &args, int32_t least) {
  if (args.size() < least)
    RELAX_THROW(TypeError) << "expected at least "
                           << countText(least, "argument") << ", but got "
                           << args.size();
}

// profile(vm, name, max_events, *args)
static void profilePacked(ffi::PackedArgs args, ffi::Any *result) {
  checkNumArgs(args, 3);
  ffi::String name = args[1].cast<ffi::String>();
  *result = profile(args[0].cast<VirtualMachine>(), {name.data(), name.size()},
                    args.data() + 3, args.size() - 3, args[2].cast<int64_t>());
}

// time(function, number, repeat, min_repeat_ms, *args)
static void timePacked(ffi::PackedArgs args, ffi::Any *result) {
  checkNumArgs(args, 4);
  ffi::Array<double> seconds;
  for (double value :
       measure(args[0].cast<ffi::Function>(), args[1].cast<int64_t>(),
               args[2].cast<int64_t>(), args[3].cast<double>(), args.data() + 4,
               args.size() - 4))
    seconds.push_back(value);
  *result = std::move(seconds);
}

static ffi::Any makeADTFromFields(int64_t tag, ffi::Array<ffi::Any> fields) {
  ffi::Any value = makeADT(tag, std::move(fields));
  if (value == nullptr)
    RELAX_THROW(MemoryError) << "out of memory for an algebraic data type";
  return value;
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace reflection = tvm::ffi::reflection;
  reflection::ObjectDef<ExecutableObj>(reflection::init(false));
  reflection::ObjectDef<VirtualMachineObj>(reflection::init(false));
  reflection::ObjectDef<ADTObj>(reflection::init(false))
      .def_ro("tag", &ADTObj::tag)
      .def_ro("fields", &ADTObj::fields);
  reflection::GlobalDef()
      .def("relax_mlir.vm.assemble", assembleText)
      .def("relax_mlir.vm.as_text", getText)
      .def("relax_mlir.vm.externals", getExternals)
      .def("relax_mlir.vm.functions", getFunctions)
      .def("relax_mlir.vm.kernels", getKernels)
      .def("relax_mlir.vm.packed", getPackedNames)
      .def("relax_mlir.vm.constants", getConstants)
      .def("relax_mlir.vm.bind", bindExecutable)
      .def("relax_mlir.vm.create", makeVirtualMachine)
      .def("relax_mlir.vm.create_replaying", makeReplaying)
      .def("relax_mlir.vm.get_function", getVMFunction)
      .def("relax_mlir.vm.graphs", getGraphs)
      .def("relax_mlir.vm.instructions", getInstructions)
      .def("relax_mlir.vm.set_instrument", setInstrument)
      .def_packed("relax_mlir.vm.profile", profilePacked)
      .def_packed("relax_mlir.vm.time", timePacked)
      .def("relax_mlir.vm.adt", makeADTFromFields)
      .def("relax_mlir.vm.documentation", makeDocumentation);
}
