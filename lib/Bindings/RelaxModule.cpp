//===- RelaxModule.cpp - The Python extension -*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The types and attributes of the dialect as subclasses of mlir.ir.Type and
// mlir.ir.Attribute, with their accessors and a static method `get` that takes
// attributes and types only. relax_mlir/core/ir.py derives the public classes,
// whose constructors take Python values. Wrong input is a ValueError.
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "Native.h"

namespace {

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// Takes the errors that are reported in a context, until it is finished. What
/// operations are called may be any bytes, so messages are, too.
class ErrorCollector {
public:
  explicit ErrorCollector(MlirContext context) : context(context) {
    handler = mlirContextAttachDiagnosticHandler(context, &collect, this,
                                                 /*deleteUserData=*/nullptr);
  }
  ErrorCollector(const ErrorCollector &) = delete;
  ErrorCollector &operator=(const ErrorCollector &) = delete;
  ~ErrorCollector() { detach(); }

  /// Returns the collected diagnostics: (message, location, notes), notes
  /// likewise.
  nb::list finish() {
    detach();
    return toList(errors);
  }

private:
  struct Diagnostic {
    std::string message;
    MlirLocation location;
    std::vector<Diagnostic> notes;
  };

  void detach() {
    if (isAttached)
      mlirContextDetachDiagnosticHandler(context, handler);
    isAttached = false;
  }

  static Diagnostic read(MlirDiagnostic diagnostic) {
    Diagnostic result;
    mlirDiagnosticPrint(
        diagnostic,
        [](MlirStringRef part, void *data) {
          static_cast<std::string *>(data)->append(part.data, part.length);
        },
        &result.message);
    result.location = mlirDiagnosticGetLocation(diagnostic);
    for (intptr_t i = 0, e = mlirDiagnosticGetNumNotes(diagnostic); i < e; ++i)
      result.notes.push_back(read(mlirDiagnosticGetNote(diagnostic, i)));
    return result;
  }

  static MlirLogicalResult collect(MlirDiagnostic diagnostic, void *self) {
    if (mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticError)
      return mlirLogicalResultFailure(); // for other handlers
    static_cast<ErrorCollector *>(self)->errors.push_back(read(diagnostic));
    return mlirLogicalResultSuccess();
  }

  static nb::list toList(const std::vector<Diagnostic> &diagnostics) {
    nb::list result;
    for (const Diagnostic &diagnostic : diagnostics)
      result.append(nb::make_tuple(
          nb::steal(PyUnicode_DecodeUTF8(diagnostic.message.data(),
                                         diagnostic.message.size(),
                                         "backslashreplace")),
          diagnostic.location, toList(diagnostic.notes)));
    return result;
  }

  MlirContext context;
  MlirDiagnosticHandlerID handler;
  bool isAttached = true;
  std::vector<Diagnostic> errors;
};

void bindDiagnostics(nb::module_ &m) {
  nb::class_<ErrorCollector>(m, "ErrorCollector")
      .def(nb::init<MlirContext>(), nb::arg("context"), nb::keep_alive<1, 2>())
      .def("finish", &ErrorCollector::finish);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

MlirType eraseToWellDefined(MlirType type,
                            const std::vector<std::string> &shapeVars,
                            const std::vector<std::string> &dimVars) {
  requireStructInfo(type);
  std::vector<MlirStringRef> shapes = toRefs(shapeVars), dims = toRefs(dimVars);
  return mlirRelaxEraseToWellDefined(type, shapes.size(), shapes.data(),
                                     dims.size(), dims.data());
}

/// Values are PrimExpr, ShapeExpr or names.
MlirType substitute(MlirType type,
                    const std::map<std::string, MlirAttribute> &map) {
  requireStructInfo(type);
  for (const auto &[name, value] : map) {
    requireContext(mlirAttributeGetContext(value), mlirTypeGetContext(type));
    if (!mlirRelaxAttributeIsAPrimExpr(value) &&
        !mlirRelaxAttributeIsAShapeExpr(value) &&
        !mlirAttributeIsAString(value))
      throw nb::value_error("expected a PrimExpr, a ShapeExpr or a name");
  }
  Bindings<MlirAttribute> bindings(map);
  return mlirRelaxSubstitute(type, bindings.names.size(), bindings.names.data(),
                             bindings.values.data());
}

std::map<std::string, MlirAttribute> getShapeVarMapping(MlirType formal,
                                                        MlirType actual) {
  requireStructInfo(formal, actual);
  std::map<std::string, MlirAttribute> map;
  mlirRelaxGetShapeVarMapping(
      formal, actual,
      [](MlirStringRef name, MlirAttribute value, void *userData) {
        auto &map =
            *static_cast<std::map<std::string, MlirAttribute> *>(userData);
        map.emplace(toString(name), value);
      },
      &map);
  return map;
}

std::vector<std::string> bindingVars(MlirType type) {
  requireStructInfo(type);
  std::vector<std::string> names;
  mlirRelaxCollectBindingVars(type, appendName, &names);
  return names;
}

/// The type of a call, and the arguments that are possibly of the type
/// expected.
using DerivedCall =
    std::pair<MlirType, std::vector<std::pair<intptr_t, MlirType>>>;

DerivedCall deriveCallResult(MlirType callee,
                             const std::vector<MlirType> &arguments) {
  if (!mlirRelaxTypeIsAFuncStructInfo(callee))
    throw nb::value_error("expected a FuncStructInfo");
  for (MlirType argument : arguments)
    requireStructInfo(callee, argument);
  if (mlirRelaxFuncStructInfoGetDerive(callee).length != 0)
    return {mlirRelaxFuncStructInfoGetResult(callee), {}};
  struct {
    std::string error;
    DerivedCall call;
  } state;
  using State = decltype(state);
  state.call.first = mlirRelaxDeriveCallResult(
      callee, arguments.size(), arguments.data(),
      [](MlirStringRef message, void *data) {
        static_cast<State *>(data)->error.assign(message.data, message.length);
      },
      [](intptr_t index, MlirType expected, void *data) {
        static_cast<State *>(data)->call.second.emplace_back(index, expected);
      },
      &state);
  if (mlirTypeIsNull(state.call.first))
    throw nb::value_error(state.error.c_str());
  return state.call;
}

std::string runtimeStructInfo(MlirType type,
                              std::optional<MlirAttribute> devices) {
  requireStructInfo(type);
  std::string json;
  mlirRelaxGetRuntimeStructInfo(type, devices.value_or(MlirAttribute{nullptr}),
                                appendText, &json);
  return json;
}

//===----------------------------------------------------------------------===//
// Derive functions
//===----------------------------------------------------------------------===//

std::vector<MlirType> toVector(intptr_t count, MlirType const *types) {
  return std::vector<MlirType>(types, types + count);
}

/// Calls a derive function in Python; an exception is reported at the call.
MlirType callPython(MlirLocation location, intptr_t numArguments,
                    MlirType const *arguments, intptr_t numStructInfoArgs,
                    MlirType const *structInfoArgs, void *userData) {
  auto fail = [&](const std::string &message) {
    mlirEmitError(location, ("a derive function in Python " + message).c_str());
    return MlirType{nullptr};
  };
  if (!Py_IsInitialized())
    return fail("cannot be called after the end of the interpreter");
  // MLIR holds the lock of the interpreter while its threads work, so that
  // taking it in one of them would wait for ever.
  if (!PyGILState_Check())
    return fail("cannot be called by a thread of MLIR: call "
                "context.enable_multithreading(False)");
  try {
    nb::object function = nb::borrow(static_cast<PyObject *>(userData));
    nb::object result = function(toVector(numArguments, arguments),
                                 toVector(numStructInfoArgs, structInfoArgs));
    MlirType type;
    if (!nb::try_cast(result, type))
      return fail("gave " + std::string(nb::repr(result).c_str()) +
                  ", which is not StructInfo");
    if (!mlirContextEqual(mlirTypeGetContext(type),
                          mlirLocationGetContext(location)))
      return fail("gave a type of another context");
    return type;
  } catch (nb::python_error &error) {
    return fail("raised " +
                nb::cast<std::string>(nb::str(error.type().attr("__name__"))) +
                ": " + nb::cast<std::string>(nb::str(error.value())));
  } catch (std::exception &error) {
    return fail(std::string("failed: ") + error.what());
  }
}

/// Functions that were registered live until they are replaced; at the end of
/// the interpreter they are left to the system.
void releasePython(void *function) {
  if (!Py_IsInitialized())
    return;
  nb::gil_scoped_acquire acquire;
  Py_DECREF(static_cast<PyObject *>(function));
}

void registerDeriveFunc(const std::string &name, nb::callable function,
                        bool override) {
  PyObject *owned = function.inc_ref().ptr();
  if (mlirRelaxRegisterDeriveFunc(toRef(name), callPython, owned, releasePython,
                                  override))
    return;
  Py_DECREF(owned);
  throw nb::value_error(
      ("expected the name of a new derive function, but there is '" + name +
       "' already")
          .c_str());
}

std::vector<std::string> deriveFuncNames() {
  std::vector<std::string> names;
  mlirRelaxGetDeriveFuncNames(appendName, &names);
  return names;
}

MlirType deriveByName(const std::string &name,
                      const std::vector<MlirType> &arguments,
                      const std::vector<MlirType> &structInfoArgs,
                      MlirContext context) {
  for (const auto *types : {&arguments, &structInfoArgs})
    for (MlirType type : *types) {
      requireStructInfo(type);
      requireContext(mlirTypeGetContext(type), context);
    }
  return getChecked(context, [&](MlirLocation location) {
    return mlirRelaxDeriveByName(toRef(name), location, arguments.size(),
                                 arguments.data(), structInfoArgs.size(),
                                 structInfoArgs.data());
  });
}

std::vector<std::pair<std::string, std::string>> phases() {
  std::vector<std::pair<std::string, std::string>> result;
  for (intptr_t i = 0, e = mlirRelaxGetNumPhases(); i < e; ++i)
    result.emplace_back(toString(mlirRelaxPhaseGetName(i)),
                        toString(mlirRelaxPhaseGetDescription(i)));
  return result;
}

/// The data types of these products.
std::vector<std::string> fastProducts(intptr_t vectorBits,
                                      std::string_view features) {
  MlirRelaxFastProducts products =
      mlirRelaxGetFastProducts(vectorBits, {features.data(), features.size()});
  std::vector<std::string> result;
  if (products.int16)
    result.emplace_back("int16");
  if (products.int8)
    result.emplace_back("int8");
  if (products.bfloat16)
    result.emplace_back("bfloat16");
  return result;
}

void bindStructInfoFunctions(nb::module_ &m) {
  m.def("is_struct_info", &mlirRelaxTypeIsAStructInfo, nb::arg("type"));
  m.def("is_subtype", [](MlirType sub, MlirType super, const Facts &facts) {
    return toOptional(
        mlirRelaxIsSubtypeUnder(sub, super, facts.about(sub, super)));
  });
  m.def("check_compatibility",
        [](MlirType actual, MlirType expected, const Facts &facts) {
          return toOptional(mlirRelaxCheckCompatibilityUnder(
              actual, expected, facts.about(actual, expected)));
        });
  m.def("unify", [](MlirType lhs, MlirType rhs, const Facts &facts) {
    return mlirRelaxUnifyStructInfoUnder(lhs, rhs, facts.about(lhs, rhs));
  });
  m.def("erase_dims", [](MlirType type) {
    requireStructInfo(type);
    return mlirRelaxEraseDims(type);
  });
  m.def("erase_struct_info", [](MlirType type) {
    requireStructInfo(type);
    return mlirRelaxEraseStructInfo(type);
  });
  m.def("substitute", &substitute);
  m.def("get_shape_var_mapping", &getShapeVarMapping);
  m.def("erase_to_well_defined", &eraseToWellDefined);
  m.def("binding_vars", &bindingVars);
  m.def("register_derive_func", &registerDeriveFunc, nb::arg("name"),
        nb::arg("function"), nb::arg("override"));
  m.def("derive_func_names", &deriveFuncNames);
  m.def("derive_by_name", &deriveByName, nb::arg("name"), nb::arg("arguments"),
        nb::arg("sinfo_args"), nb::arg("context"));
  m.def("derive_call_result", &deriveCallResult);
  m.def("runtime_struct_info", &runtimeStructInfo, nb::arg("type"),
        nb::arg("devices") = nb::none());
  m.def("function_struct_info",
        [](MlirOperation function) -> std::optional<MlirType> {
          MlirType type = mlirRelaxGetFuncStructInfo(function);
          return mlirTypeIsNull(type) ? std::nullopt : std::optional(type);
        });
}

//===----------------------------------------------------------------------===//
// Code and constants
//===----------------------------------------------------------------------===//

std::optional<std::string> translateToVM(MlirModule module, bool isCompiled) {
  std::string text;
  if (!mlirRelaxTranslateToVM(module, isCompiled, appendText, &text))
    return std::nullopt;
  return text;
}

/// A constant of the pool: data type, dimensions, the address and the size of
/// its elements, and these themselves where they have no other owner.
nb::tuple describeConstant(MlirAttribute constant) {
  std::string dtype;
  mlirRelaxConstantGetDataType(constant, appendText, &dtype);
  MlirType type = mlirAttributeGetType(constant);
  nb::list dims;
  for (intptr_t i = 0, e = mlirShapedTypeGetRank(type); i < e; ++i)
    dims.append(mlirShapedTypeGetDimSize(type, i));
  nb::tuple held;
  mlirRelaxConstantGetBytes(
      constant,
      [](const void *bytes, size_t size, bool isOwned, void *result) {
        nb::object copy = nb::none();
        if (!isOwned)
          copy = nb::bytes(bytes, size);
        *static_cast<nb::tuple *>(result) =
            nb::make_tuple(reinterpret_cast<uintptr_t>(bytes), size, copy);
      },
      &held);
  return nb::make_tuple(dtype, dims, held[0], held[1], held[2]);
}

nb::list constants(MlirModule module) {
  nb::list result;
  for (intptr_t i = 0, e = mlirRelaxModuleGetNumConstants(module); i < e; ++i)
    result.append(describeConstant(mlirRelaxModuleGetConstant(module, i)));
  return result;
}

/// The module of an imported model that a place is in; empty for none.
std::string findModule(MlirLocation location) {
  while (mlirLocationIsAName(location))
    location = mlirLocationNameGetChildLoc(location);
  if (!mlirLocationIsAFused(location))
    return "";
  MlirAttribute metadata = mlirLocationFusedGetMetadata(location);
  bool isText =
      !mlirAttributeIsNull(metadata) && mlirAttributeIsAString(metadata);
  return isText ? toString(mlirStringAttrGetValue(metadata)) : "";
}

void bindCode(nb::module_ &m) {
  m.def("translate_to_vm", &translateToVM, nb::arg("module"),
        nb::arg("is_compiled"));
  m.def("constants", &constants, nb::arg("module"));
  m.def("find_module", &findModule, nb::arg("location"));
  m.def("keep_signatures", &mlirRelaxKeepSignatures, nb::arg("pass_manager"));
}

} // namespace

NB_MODULE(_relax_mlir, m) {
  m.doc() = "The Relax dialect of MLIR";
  // Compiled functions in global variables of a program outlive the types of
  // nanobind at the end of the interpreter, which is not an error.
  nb::set_leak_warnings(false);
  m.def(
      "register_dialects",
      [](MlirDialectRegistry registry) {
        mlirDialectHandleInsertDialect(mlirGetDialectHandle__relax__(),
                                       registry);
        mlirRelaxRegisterTransformExtension(registry);
        mlirRelaxShareThreads(registry);
      },
      nb::arg("registry"));
  m.def(
      "load_dialect",
      [](MlirContext context) { mlirRelaxLoadDialectAndShareThreads(context); },
      nb::arg("context"));
  m.def(
      "clone_module",
      [](MlirModule module) {
        return mlirModuleFromOperation(
            mlirOperationClone(mlirModuleGetOperation(module)));
      },
      nb::arg("module"));
  m.def(
      "copy_as_module",
      [](MlirOperation op) {
        if (!mlirRelaxOperationIsAModule(op))
          throw nb::value_error("expected a module");
        return mlirModuleFromOperation(mlirOperationClone(op));
      },
      nb::arg("operation"));
  m.def(
      "parse_unverified",
      [](const std::string &text,
         MlirContext context) -> std::optional<MlirModule> {
        MlirModule module =
            mlirRelaxModuleParseUnverified(context, toRef(text));
        if (mlirModuleIsNull(module))
          return std::nullopt;
        return module;
      },
      nb::arg("text"), nb::arg("context"));
  m.def(
      "find_deep_nesting",
      [](std::string_view text, unsigned limit) {
        return mlirRelaxFindDeepNesting({text.data(), text.size()}, limit);
      },
      nb::arg("text"), nb::arg("limit"));
  m.def("check_well_formed", &mlirRelaxCheckWellFormed, nb::arg("module"));
  m.def("is_pure", &mlirRelaxOperationIsPure, nb::arg("operation"));
  m.def("tidy_kernel", &mlirRelaxTidyKernel, nb::arg("operation"));
  m.def(
      "user_of_erased",
      [](MlirOperation op) -> std::optional<MlirOperation> {
        MlirOperation user = mlirRelaxFindUserOfErased(op);
        if (mlirOperationIsNull(user))
          return std::nullopt;
        return user;
      },
      nb::arg("operation"));
  m.def(
      "next_operation",
      [](MlirOperation op) -> std::optional<MlirOperation> {
        MlirOperation next = mlirOperationGetNextInBlock(op);
        if (mlirOperationIsNull(next))
          return std::nullopt;
        return next;
      },
      nb::arg("operation"));
  m.def("phases", &phases);
  m.def("fast_products", &fastProducts, nb::arg("vector_bits"),
        nb::arg("features"));
  bindDiagnostics(m);
  bindAttributes(m);
  bindTypes(m);
  bindStructInfoFunctions(m);
  bindNative(m);
  bindCode(m);
  mlirRelaxRegisterPasses();
}
