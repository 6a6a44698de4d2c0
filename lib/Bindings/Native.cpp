//===- Native.cpp - Object files in Python ----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A target is (triple, cpu, features), what is known of it (target, bits,
// missing), an object (bytes, target, symbols), or None where errors were
// reported in the context. python/relax_mlir/native.py
// makes classes of them.
//
//===----------------------------------------------------------------------===//

#include "Native.h"

#include "relax-mlir-c/Native.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/tuple.h"
#include "nanobind/stl/vector.h"

#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace nb = nanobind;

namespace {

using Target = std::tuple<std::string, std::string, std::string>;
using Names = std::vector<std::string>;

MlirStringRef toRef(const std::string &text) {
  return mlirStringRefCreate(text.data(), text.size());
}

std::string toString(MlirStringRef text) {
  return std::string(text.data, text.length);
}

std::vector<MlirStringRef> toRefs(const Names &names) {
  std::vector<MlirStringRef> refs;
  for (const std::string &name : names)
    refs.push_back(toRef(name));
  return refs;
}

MlirRelaxNativeTarget toNative(const Target &target) {
  return {toRef(std::get<0>(target)), toRef(std::get<1>(target)),
          toRef(std::get<2>(target))};
}

// The texts of a list of a description.
Names toNames(MlirRelaxTargetDescription description,
              intptr_t (*getCount)(MlirRelaxTargetDescription),
              MlirStringRef (*get)(MlirRelaxTargetDescription, intptr_t)) {
  Names names;
  for (intptr_t i = 0, count = getCount(description); i < count; ++i)
    names.push_back(toString(get(description, i)));
  return names;
}

Target toTuple(const MlirRelaxNativeTarget &target) {
  return {toString(target.triple), toString(target.cpu),
          toString(target.features)};
}

/// Takes the object over.
std::optional<std::tuple<nb::bytes, Target, Names>>
toPython(MlirRelaxObject object) {
  if (!object.ptr)
    return std::nullopt;
  MlirStringRef bytes = mlirRelaxObjectGetBytes(object);
  Names symbols;
  for (intptr_t i = 0, e = mlirRelaxObjectGetNumSymbols(object); i < e; ++i)
    symbols.push_back(toString(mlirRelaxObjectGetSymbol(object, i)));
  std::tuple result(nb::bytes(bytes.data, bytes.length),
                    toTuple(mlirRelaxObjectGetTarget(object)),
                    std::move(symbols));
  mlirRelaxObjectDestroy(object);
  return result;
}

/// Calls a function of Python. An exception that it raises is kept for the end.
class Progress {
public:
  explicit Progress(const nb::object &function) : function(function) {}

  static void call(intptr_t done, intptr_t total, void *self) {
    nb::gil_scoped_acquire acquire;
    auto &progress = *static_cast<Progress *>(self);
    if (progress.error)
      return;
    try {
      progress.function(done, total);
    } catch (nb::python_error &) {
      progress.error = std::current_exception();
    }
  }

  void raise() {
    if (error)
      std::rethrow_exception(error);
  }

private:
  const nb::object &function;
  std::exception_ptr error;
};

/// A linked object; addresses are valid while it lives.
class LoadedObject {
public:
  LoadedObject(const nb::bytes &bytes, const Names &libraries) {
    std::vector<MlirStringRef> paths = toRefs(libraries);
    std::string error;
    object = mlirRelaxLoadObject(
        mlirStringRefCreate(bytes.c_str(), bytes.size()), paths.size(),
        paths.data(),
        [](MlirStringRef text, void *error) {
          *static_cast<std::string *>(error) = toString(text);
        },
        &error);
    if (!object.ptr)
      throw nb::value_error(error.c_str());
  }
  LoadedObject(const LoadedObject &) = delete;
  LoadedObject &operator=(const LoadedObject &) = delete;
  ~LoadedObject() {
    if (object.ptr)
      mlirRelaxLoadedObjectDestroy(object);
  }

  /// The address, 0 where there is no such symbol.
  uintptr_t lookUp(const std::string &symbol) {
    return reinterpret_cast<uintptr_t>(
        mlirRelaxLoadedObjectLookUp(object, toRef(symbol)));
  }

private:
  MlirRelaxLoadedObject object = {nullptr};
};

} // namespace

void bindNative(nb::module_ &m) {
  m.def(
      "digest",
      [](MlirModule module) {
        uint8_t digest[MLIR_RELAX_DIGEST_SIZE];
        mlirRelaxModuleDigest(module, digest);
        return nb::bytes(digest, sizeof(digest));
      },
      nb::arg("module"));
  m.def(
      "describe_target",
      [](MlirContext context, const Target &target)
          -> std::optional<std::tuple<Target, intptr_t, Names, Names>> {
        MlirRelaxTargetDescription description =
            mlirRelaxDescribeTarget(context, toNative(target));
        if (!description.ptr)
          return std::nullopt;
        Names features =
            toNames(description, mlirRelaxTargetDescriptionGetNumFeatures,
                    mlirRelaxTargetDescriptionGetFeature);
        Names missing =
            toNames(description, mlirRelaxTargetDescriptionGetNumMissing,
                    mlirRelaxTargetDescriptionGetMissing);
        std::tuple result(
            toTuple(mlirRelaxTargetDescriptionGetTarget(description)),
            mlirRelaxTargetDescriptionGetVectorBits(description),
            std::move(features), std::move(missing));
        mlirRelaxTargetDescriptionDestroy(description);
        return result;
      },
      nb::arg("context"), nb::arg("target"));
  m.def(
      "emit_object",
      [](MlirModule module, const Target &target, unsigned optLevel,
         const nb::object &progress) {
        Progress report(progress);
        MlirRelaxObject object;
        {
          // For the threads that compile, to report.
          nb::gil_scoped_release release;
          object = mlirRelaxEmitObject(
              module, toNative(target), optLevel,
              progress.is_none() ? nullptr : &Progress::call, &report);
        }
        auto result = toPython(object);
        report.raise();
        return result;
      },
      nb::arg("module"), nb::arg("target"), nb::arg("opt_level"),
      nb::arg("progress").none());
  m.def(
      "emit_library_table",
      [](MlirContext context, const Target &target, const Names &symbols,
         const Names &exports) {
        std::vector<MlirStringRef> symbolRefs = toRefs(symbols);
        std::vector<MlirStringRef> exportRefs = toRefs(exports);
        return toPython(mlirRelaxEmitLibraryTable(
            context, toNative(target), symbolRefs.size(), symbolRefs.data(),
            exportRefs.size(), exportRefs.data()));
      },
      nb::arg("context"), nb::arg("target"), nb::arg("symbols"),
      nb::arg("exports"));
  nb::class_<LoadedObject>(m, "LoadedObject", nb::is_weak_referenceable())
      .def(nb::init<const nb::bytes &, const Names &>(), nb::arg("data"),
           nb::arg("libraries"))
      .def("look_up", &LoadedObject::lookUp, nb::arg("symbol"));
}
