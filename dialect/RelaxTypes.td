//===- RelaxTypes.td - StructInfo as types -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_TYPES
#define RELAX_TYPES

include "RelaxAttributes.td"
include "RelaxInterfaces.td"

class Relax_StructInfo<string name, string typeMnemonic>
    : TypeDef<Relax_Dialect, name # "StructInfo",
              [DeclareTypeInterfaceMethods<Relax_StructInfoTypeInterface>]> {
  let mnemonic = typeMnemonic;
}

def Relax_ObjectStructInfo : Relax_StructInfo<"Object", "object"> {
  let summary = "any value (GR07)";
  let description = [{
    The top of the hierarchy: each value is an object. Strings, data types, the
    null object and what a packed function returns have this type.

    Example: `!relax.object`
  }];
}

def Relax_TensorStructInfo : Relax_StructInfo<"Tensor", "tensor"> {
  let summary = "a tensor: shape, rank, data type, device, each optional (GR04)";
  let description = [{
    `ndim` is -1 where the rank is unknown; `dtype` is null where the data type
    is unknown (Void). `vdevice` names the virtual device, where known.

    A tensor with a `sharding` is distributed: each device of a mesh has a part
    of it, or all of it. Shape and rank are those of the whole tensor. It is of
    another kind than one without, which all workers have for themselves: neither
    is a subtype of the other. `relax-lower-dist-ir` makes tensors without of
    all.

    **Constraints:**
    - (WF10) `ndim` equals the number of dimensions where `shape` is given.
    - (WF14) at most one of `shape` and `shape_var` is given: a `shape_var` names
      a variable that stands for a shape as a whole, of `ndim` dimensions. It is
      used here, and bound by the type of a shape.
    - (GR18, WF20) `dtype` is `i1`, `i4`-`i64`, `ui4`-`ui64`, `f16`, `bf16`,
      `f32`, `f64` or an 8-bit float. Two integers of 4 bits share a byte.
    - the axes of a `sharding` are less than `ndim`, which is known where it has
      any.

    Examples:

    ```mlir
    !relax.tensor<[n, m * 4, 16], f32>
    !relax.tensor<ndim = 2, f32>
    !relax.tensor<ndim = 2>
    !relax.tensor<*, f32>
    !relax.tensor<*>
    !relax.tensor<[n, 16], f32, @cuda0>
    !relax.tensor<var = s, ndim = 2, f32>
    !relax.tensor<var = t, f32>
    !relax.tensor<[n, 16], f32, sharding = <[S[1]] on <[2], [0, 1]>>>
    ```
  }];
  let parameters = (ins
    OptionalParameter<"ShapeExprAttr">:$shape,
    "int64_t":$ndim,
    OptionalParameter<"Type">:$dtype,
    OptionalParameter<"FlatSymbolRefAttr">:$vdevice,
    OptionalParameter<"StringAttr">:$shape_var,
    OptionalParameter<"ShardingAttr">:$sharding);
  // A shape with a dimension beyond the limits of an expression is not known.
  // Builders use $_get, which is getChecked where they are asked to check.
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilder<(ins "ShapeExprAttr":$shape, "int64_t":$ndim, "Type":$dtype,
                     "FlatSymbolRefAttr":$vdevice, "StringAttr":$shape_var,
                     CArg<"ShardingAttr", "{}">:$sharding), [{
      return $_get($_ctxt, shape && shape.isTooLarge() ? ShapeExprAttr() : shape,
                   ndim, dtype, vdevice, shape_var, sharding);
    }]>,
    TypeBuilderWithInferredContext<(ins "ShapeExprAttr":$shape, "Type":$dtype,
                                    CArg<"FlatSymbolRefAttr", "{}">:$vdevice), [{
      return $_get(shape.getContext(),
                   shape.isTooLarge() ? ShapeExprAttr() : shape, shape.size(),
                   dtype, vdevice, StringAttr(), ShardingAttr());
    }]>,
    TypeBuilder<(ins "int64_t":$ndim, "Type":$dtype,
                     CArg<"FlatSymbolRefAttr", "{}">:$vdevice), [{
      return $_get($_ctxt, ShapeExprAttr(), ndim, dtype, vdevice, StringAttr(),
                   ShardingAttr());
    }]>,
    TypeBuilder<(ins "ShapeExprAttr":$shape, "int64_t":$ndim, "Type":$dtype,
                     "FlatSymbolRefAttr":$vdevice), [{
      return $_get($_ctxt, shape && shape.isTooLarge() ? ShapeExprAttr() : shape,
                   ndim, dtype, vdevice, StringAttr(), ShardingAttr());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kUnknownDim = -1;
    bool hasShape() const { return static_cast<bool>(getShape()); }
    bool hasRank() const { return getNdim() != kUnknownDim; }
    /// The dimensions; the shape must be known.
    ArrayRef<PrimExprAttr> getDims() const { return getShape().getDims(); }
    /// The tensor with another sharding, which has to fit; null for none.
    TensorStructInfoType withSharding(ShardingAttr sharding) const {
      return get(getContext(), getShape(), getNdim(), getDtype(), getVdevice(),
                 getShapeVar(), sharding);
    }
  }];
}

def Relax_ShapeStructInfo : Relax_StructInfo<"Shape", "shape"> {
  let summary = "a shape: dimensions and rank, each optional (GR05)";
  let description = [{
    In a signature or a match_cast, `var = s` binds the shape variable `s`, which
    stands for the shape as a whole, as `[n]` binds the variable `n`.

    **Constraints:** (WF10) `ndim` equals the number of values where given; at
    most one of values and variable is given.

    Examples: `!relax.shape<[n, m * 4]>`, `!relax.shape<ndim = 2>`,
    `!relax.shape<var = s, ndim = 2>`, `!relax.shape<*>`
  }];
  let parameters = (ins
    OptionalParameter<"ShapeExprAttr">:$values,
    "int64_t":$ndim,
    OptionalParameter<"StringAttr">:$var);
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilder<(ins "ShapeExprAttr":$values, "int64_t":$ndim,
                     "StringAttr":$var), [{
      return $_get($_ctxt,
                   values && values.isTooLarge() ? ShapeExprAttr() : values, ndim,
                   var);
    }]>,
    TypeBuilderWithInferredContext<(ins "ShapeExprAttr":$values), [{
      return $_get(values.getContext(),
                   values.isTooLarge() ? ShapeExprAttr() : values, values.size(),
                   StringAttr());
    }]>,
    TypeBuilder<(ins "ShapeExprAttr":$values, "int64_t":$ndim), [{
      return $_get($_ctxt,
                   values && values.isTooLarge() ? ShapeExprAttr() : values, ndim,
                   StringAttr());
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Relax_PrimStructInfo : Relax_StructInfo<"Prim", "prim"> {
  let summary = "an immutable scalar: data type, and value where known (GR06)";
  let description = [{
    **Constraints:**
    - (WF19) `dtype` is an integer or float type.
    - (WF22) `value` is an integer expression, so it needs an integer `dtype`.

    Examples: `!relax.prim<i64>`, `!relax.prim<i64, n + 1>`, `!relax.prim<f32>`
  }];
  let parameters = (ins "Type":$dtype, OptionalParameter<"PrimExprAttr">:$value);
  let skipDefaultBuilders = 1;
  let builders = [
    TypeBuilder<(ins "Type":$dtype, "PrimExprAttr":$value), [{
      return $_get($_ctxt, dtype,
                   value && value.isTooLarge() ? PrimExprAttr() : value);
    }]>,
    TypeBuilderWithInferredContext<(ins "Type":$dtype,
                                    CArg<"PrimExprAttr", "{}">:$value), [{
      return $_get(dtype.getContext(), dtype,
                   value && value.isTooLarge() ? PrimExprAttr() : value);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Relax_TupleStructInfo : Relax_StructInfo<"Tuple", "tuple"> {
  let summary = "a tuple of values (GR07)";
  let description = [{
    Examples: `!relax.tuple<!relax.object, !relax.shape<[n]>>`, `!relax.tuple<>`
  }];
  let parameters = (ins ArrayRefParameter<"Type">:$fields);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Relax_FuncStructInfo : Relax_StructInfo<"Func", "func"> {
  let summary = "a closure or a packed function (GR08)";
  let description = [{
    A closure gives its parameters, result and purity. A packed function gives
    the name of the function that derives the result of a call:
    `default_derive`, `empty_derive`, or one that the user registered.

    The variables that stand alone in a dimension (or as the shape variable) of a
    parameter are the function type's own: their names do not matter, and each
    call has values of its own for them. Any other variable is one of the scope
    around.

    **Constraints:** (WF17) exactly one of parameters and `derive` is given.

    Examples:

    ```mlir
    !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
    !relax.func<() -> !relax.object, impure>
    !relax.func<derive = @default_derive>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"Type">:$params,
    "Type":$ret,
    "bool":$pure,
    OptionalParameter<"FlatSymbolRefAttr">:$derive);
  let builders = [
    TypeBuilderWithInferredContext<(ins "ArrayRef<Type>":$params, "Type":$ret,
                                        "bool":$pure), [{
      return $_get(ret.getContext(), params, ret, pure, FlatSymbolRefAttr());
    }]>,
    TypeBuilder<(ins "StringRef":$derive), [{
      return $_get($_ctxt, ArrayRef<Type>(), ObjectStructInfoType::get($_ctxt),
                   false, FlatSymbolRefAttr::get($_ctxt, derive));
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The two derive functions that the specification defines.
    static constexpr ::llvm::StringLiteral kDefaultDerive = "default_derive";
    static constexpr ::llvm::StringLiteral kEmptyDerive = "empty_derive";
    bool isPacked() const { return static_cast<bool>(getDerive()); }
  }];
}

//===----------------------------------------------------------------------===//
// Type constraints
//===----------------------------------------------------------------------===//

class Relax_TypeConstraint<string cppName, string description>
    : Type<CPred<"::llvm::isa<::mlir::relax::" # cppName # ">($_self)">,
           description, "::mlir::relax::" # cppName>;

def Relax_AnyValue
    : Relax_TypeConstraint<"StructInfoTypeInterface", "a Relax value">;
def Relax_Object
    : Relax_TypeConstraint<"ObjectStructInfoType", "a Relax object">,
      BuildableType<"$_builder.getType<::mlir::relax::ObjectStructInfoType>()">;
def Relax_Tensor
    : Relax_TypeConstraint<"TensorStructInfoType", "a Relax tensor">;
def Relax_Shape : Relax_TypeConstraint<"ShapeStructInfoType", "a Relax shape">;
def Relax_Tuple : Relax_TypeConstraint<"TupleStructInfoType", "a Relax tuple">;
def Relax_Func : Relax_TypeConstraint<"FuncStructInfoType", "a Relax function">;
def Relax_Prim
    : Relax_TypeConstraint<"PrimStructInfoType", "a Relax primitive value">;
def Relax_TensorOrTuple
    : AnyTypeOf<[Relax_Tensor, Relax_Tuple], "a Relax tensor or tuple">;
def Relax_TensorOrPrim
    : AnyTypeOf<[Relax_Tensor, Relax_Prim],
                "a Relax tensor or primitive value">;
def Relax_TensorOrPrimOrTuple
    : AnyTypeOf<[Relax_Tensor, Relax_Prim, Relax_Tuple],
                "a Relax tensor, primitive value or tuple">;

#endif // RELAX_TYPES
