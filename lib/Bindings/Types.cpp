//===- Types.cpp - StructInfo in Python -----------------------*- C++ -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

namespace {

void bindObject(nb::module_ &m) {
  mlir_type_subclass cls(m, "ObjectStructInfo",
                         mlirRelaxTypeIsAObjectStructInfo);
  cls.def_staticmethod("get_static_typeid",
                       &mlirRelaxObjectStructInfoGetTypeID);
  cls.def_staticmethod("get", &mlirRelaxObjectStructInfoGet,
                       nb::arg("context"));
}

MlirType getTensor(std::optional<MlirAttribute> shape, int64_t ndim,
                   std::optional<MlirType> dtype, const std::string &vdevice,
                   const std::string &shapeVar, MlirContext context) {
  requireShape(shape);
  return getChecked(context, [&](MlirLocation loc) {
    return mlirRelaxTensorStructInfoGetChecked(loc, orNull(shape, context),
                                               ndim, orNull(dtype, context),
                                               toRef(vdevice), toRef(shapeVar));
  });
}

MlirType withSharding(MlirType self, std::optional<MlirAttribute> sharding) {
  MlirContext context = mlirTypeGetContext(self);
  if (sharding && !mlirRelaxAttributeIsASharding(*sharding))
    throw nb::type_error("expected an attribute #relax.sharding");
  return getChecked(context, [&](MlirLocation loc) {
    return mlirRelaxTensorStructInfoWithShardingChecked(
        loc, self, orNull(sharding, context));
  });
}

void bindTensor(nb::module_ &m) {
  mlir_type_subclass cls(m, "TensorStructInfo",
                         mlirRelaxTypeIsATensorStructInfo);
  cls.def_staticmethod("get_static_typeid",
                       &mlirRelaxTensorStructInfoGetTypeID);
  cls.def_staticmethod("get", &getTensor, nb::arg("shape").none(),
                       nb::arg("ndim"), nb::arg("dtype").none(),
                       nb::arg("vdevice"), nb::arg("shape_var"),
                       nb::arg("context"));
  cls.def_property_readonly("shape", [](MlirType self) {
    return orNone(mlirRelaxTensorStructInfoGetShape(self));
  });
  cls.def_property_readonly("ndim", &mlirRelaxTensorStructInfoGetNdim);
  cls.def_property_readonly("element_type", [](MlirType self) {
    return orNone(mlirRelaxTensorStructInfoGetDtype(self));
  });
  cls.def_property_readonly("vdevice", [](MlirType self) {
    return nameOrNone(mlirRelaxTensorStructInfoGetVDevice(self));
  });
  cls.def_property_readonly("shape_var", [](MlirType self) {
    return nameOrNone(mlirRelaxTensorStructInfoGetShapeVar(self));
  });
  cls.def_property_readonly("sharding", [](MlirType self) {
    return orNone(mlirRelaxTensorStructInfoGetSharding(self));
  });
  cls.def("_with_sharding", &withSharding, nb::arg("sharding").none());
}

void bindShape(nb::module_ &m) {
  mlir_type_subclass cls(m, "ShapeStructInfo", mlirRelaxTypeIsAShapeStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxShapeStructInfoGetTypeID);
  cls.def_staticmethod(
      "get",
      [](std::optional<MlirAttribute> values, int64_t ndim,
         const std::string &var, MlirContext context) {
        requireShape(values);
        return getChecked(context, [&](MlirLocation loc) {
          return mlirRelaxShapeStructInfoGetChecked(
              loc, orNull(values, context), ndim, toRef(var));
        });
      },
      nb::arg("values").none(), nb::arg("ndim"), nb::arg("var"),
      nb::arg("context"));
  cls.def_property_readonly("values", [](MlirType self) {
    return orNone(mlirRelaxShapeStructInfoGetValues(self));
  });
  cls.def_property_readonly("ndim", &mlirRelaxShapeStructInfoGetNdim);
  cls.def_property_readonly("var", [](MlirType self) {
    return nameOrNone(mlirRelaxShapeStructInfoGetVar(self));
  });
}

void bindPrim(nb::module_ &m) {
  mlir_type_subclass cls(m, "PrimStructInfo", mlirRelaxTypeIsAPrimStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxPrimStructInfoGetTypeID);
  cls.def_staticmethod(
      "get",
      [](MlirType dtype, std::optional<MlirAttribute> value) {
        MlirContext context = mlirTypeGetContext(dtype);
        if (value)
          requireExpr(*value);
        return getChecked(context, [&](MlirLocation loc) {
          return mlirRelaxPrimStructInfoGetChecked(loc, dtype,
                                                   orNull(value, context));
        });
      },
      nb::arg("dtype"), nb::arg("value").none());
  cls.def_property_readonly("element_type", &mlirRelaxPrimStructInfoGetDtype);
  cls.def_property_readonly("value", [](MlirType self) {
    return orNone(mlirRelaxPrimStructInfoGetValue(self));
  });
}

std::vector<MlirType> tupleFields(MlirType self) {
  std::vector<MlirType> fields;
  for (intptr_t i = 0, e = mlirRelaxTupleStructInfoGetNumFields(self); i < e;
       ++i)
    fields.push_back(mlirRelaxTupleStructInfoGetField(self, i));
  return fields;
}

void bindTuple(nb::module_ &m) {
  mlir_type_subclass cls(m, "TupleStructInfo", mlirRelaxTypeIsATupleStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxTupleStructInfoGetTypeID);
  cls.def_staticmethod(
      "get",
      [](const std::vector<MlirType> &fields, MlirContext context) {
        requireTypes(fields, context);
        return getChecked(context, [&](MlirLocation loc) {
          return mlirRelaxTupleStructInfoGetChecked(loc, fields.size(),
                                                    fields.data());
        });
      },
      nb::arg("fields"), nb::arg("context"));
  cls.def_property_readonly("fields", &tupleFields);
}

std::vector<MlirType> funcParams(MlirType self) {
  std::vector<MlirType> params;
  for (intptr_t i = 0, e = mlirRelaxFuncStructInfoGetNumParams(self); i < e;
       ++i)
    params.push_back(mlirRelaxFuncStructInfoGetParam(self, i));
  return params;
}

MlirType getFunc(const std::vector<MlirType> &params, MlirType ret,
                 bool isPure) {
  MlirContext context = mlirTypeGetContext(ret);
  requireTypes(params, context);
  return getChecked(context, [&](MlirLocation loc) {
    return mlirRelaxFuncStructInfoGetChecked(loc, params.size(), params.data(),
                                             ret, isPure);
  });
}

void bindFunc(nb::module_ &m) {
  mlir_type_subclass cls(m, "FuncStructInfo", mlirRelaxTypeIsAFuncStructInfo);
  cls.def_staticmethod("get_static_typeid", &mlirRelaxFuncStructInfoGetTypeID);
  cls.def_staticmethod("get", &getFunc, nb::arg("params"), nb::arg("ret"),
                       nb::arg("is_pure"));
  cls.def_staticmethod(
      "get_packed",
      [](const std::string &derive, MlirContext context) {
        return mlirRelaxFuncStructInfoPackedGet(context, toRef(derive));
      },
      nb::arg("derive"), nb::arg("context"));
  cls.def_property_readonly("params", &funcParams);
  cls.def_property_readonly("ret", &mlirRelaxFuncStructInfoGetResult);
  cls.def_property_readonly("is_pure", &mlirRelaxFuncStructInfoIsPure);
  cls.def_property_readonly("derive", [](MlirType self) {
    return nameOrNone(mlirRelaxFuncStructInfoGetDerive(self));
  });
}

} // namespace

void bindTypes(nb::module_ &m) {
  bindObject(m);
  bindTensor(m);
  bindShape(m);
  bindPrim(m);
  bindTuple(m);
  bindFunc(m);
}
