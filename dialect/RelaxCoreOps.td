//===- RelaxCoreOps.td - Functions, blocks, values -*- tablegen -*-===//
//
// Part of the relax-mlir project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RELAX_CORE_OPS
#define RELAX_CORE_OPS

include "RelaxOpInterfaces.td"
include "RelaxTypes.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

// Derivation from an adaptor. Builders derive types before anything else is
// verified, so attributes are verified here.
def Relax_InferTypes : TraitList<[
  DeclareOpInterfaceMethods<InferTypeOpInterface>,
  NativeOpTrait<"InferTypeOpAdaptor", [], [{
    static ::llvm::LogicalResult inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &results);
    static bool isCompatibleReturnTypes(::mlir::TypeRange derived,
                                        ::mlir::TypeRange declared);
    static ::llvm::LogicalResult refineReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types);
  }], [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &results) {
      auto infer = [&](::mlir::ValueRange values,
                       ::llvm::SmallVectorImpl<::mlir::Type> &types) {
        $cppClass::Adaptor adaptor(values, attributes, properties, regions);
        if (location && ::llvm::failed(adaptor.verify(*location)))
          return ::llvm::failure();
        if (::llvm::failed($cppClass::inferReturnTypes(context, location,
                                                       adaptor, types)))
          return ::llvm::failure();
        if constexpr ($cppClass::hasTrait<::mlir::OpTrait::TensorOperator>())
          return ::mlir::relax::checkInt4(location,
                                          $cppClass::getOperationName(),
                                          values.getTypes(), types);
        return ::llvm::success();
      };
      if constexpr ($cppClass::hasTrait<::mlir::OpTrait::TensorOperator>())
        if (::mlir::relax::isDistributed(operands.getTypes()))
          return ::mlir::relax::inferDistributed(
              context, location, $cppClass::getOperationName(), operands,
              ::mlir::relax::getInherentAttrs<$cppClass>(context, attributes,
                                                         properties),
              infer, results);
      return infer(operands, results);
    }
    ::llvm::LogicalResult $cppClass::refineReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::mlir::relax::verifyInferredTypes(
          location, $cppClass::getOperationName(), operands, types,
          [&](::llvm::SmallVectorImpl<::mlir::Type> &results) {
            return $cppClass::inferReturnTypes(context, location, operands,
                attributes, properties, regions, results);
          },
          [](::mlir::TypeRange derived, ::mlir::TypeRange declared) {
            return $cppClass::isCompatibleReturnTypes(derived, declared);
          });
    }
  }]>
]>;

// An operation whose result types follow from its operands and attributes. The
// declared type of a result may be weaker than the derived one, never stronger;
// where that is open, the facts in scope decide.
// Where the text has no place for the type it ends with "-> type" in that case.
class Relax_InferredOp<string mnemonic, list<Trait> traits = []>
    : Relax_Op<mnemonic, !listconcat(traits, [Relax_InferTypes])> {
  code compatibleDefinition = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange derived,
                                            ::mlir::TypeRange declared) {
      return ::mlir::relax::areSubtypes(derived, declared);
    }
  }];
  let extraClassDefinition = compatibleDefinition;
}

//===----------------------------------------------------------------------===//
// Functions and blocks
//===----------------------------------------------------------------------===//

def Relax_FuncOp : Relax_Op<"func",
    [AffineScope, IsolatedFromAbove, FunctionOpInterface,
     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a Relax function (GR16, GR17)";
  let description = [{
    Shape variables that stand alone in a dimension of the signature are bound
    on entry, in any order of the arguments, and are visible in the whole body.
    A `private` function is visible in its module only; any other is an entry
    point. An `impure` function may have visible side effects. The names of the
    arguments are kept in `arg_names`; they are the names in the text. Their
    attributes are kept in `arg_dicts`. The result may be left out: it is
    `!relax.object` until `relax-derive-struct-info` derives it (`derive_result`).

    **Constraints:**
    - the function has exactly one result, a Relax value;
    - (WF03, WF05, WF14-WF16) every shape variable is bound before it is used,
      where `2 * n` does not bind `n`;
    - (WF04) the result type uses variables of the arguments only;
    - (WF06) each variable of the signature stands alone in some dimension;
    - (WF08) a recursive function states its result;
    - (WF13) the attribute `global_symbol` is the name of a function that is not
      private;
    - the attributes `tir_var_lower_bound` and `tir_var_upper_bound` are
      dictionaries from shape variables that the arguments bind to integers of 64
      bits, none above the other one. They are facts in the whole body, and are
      checked on entry;
    - (DR15, WF21) a function that is not impure has no impure operation, unless
      `relax.force_pure` promises that nobody sees the effects.

    Examples:

    ```mlir
    relax.func impure @log(%x: !relax.object) {
      %0 = relax.call_packed "my.log"(%x) : (!relax.object) -> !relax.object
      relax.return %0 : !relax.object
    }
    relax.func private @id(%x: !relax.tensor<[n, 2], f32>) -> !relax.tensor<[n, 2], f32> {
      relax.return %x : !relax.tensor<[n, 2], f32>
    }
    relax.func @small(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        attributes {tir_var_lower_bound = {n = 1}, tir_var_upper_bound = {n = 128}} {
      relax.return %x : !relax.tensor<[n], f32>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<StrAttr>:$sym_visibility,
    OptionalAttr<DictArrayAttr>:$arg_dicts,
    OptionalAttr<DictArrayAttr>:$res_attrs,
    OptionalAttr<StrArrayAttr>:$arg_names,
    DefaultValuedOptionalAttr<BoolAttr, "true">:$is_pure,
    UnitAttr:$derive_result);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "StringRef":$name, "FunctionType":$type,
                                 CArg<"bool", "true">:$is_pure)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ArrayRef<Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ArrayRef<Type> getResultTypes() { return getFunctionType().getResults(); }
    Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
    /// The attributes of the arguments for passes of MLIR: `arg_dicts`, with
    /// the names as `relax.name`. What erases or inserts arguments keeps both in
    /// step. Null where there is neither.
    ArrayAttr getArgAttrsAttr();
    void setArgAttrsAttr(ArrayAttr attributes);
    Attribute removeArgAttrsAttr();
    /// "argument 'x'" for an argument with a name, else "argument 0", without
    /// captured values.
    std::string describeArgument(unsigned index);
    /// The number of first arguments that are captured values.
    unsigned getNumCaptures();
    /// The type of this function as a value.
    FuncStructInfoType getFuncStructInfo();
    LogicalResult verifyType();
  }];
}

def Relax_ReturnOp : Relax_Op<"return",
    [Pure, ParentOneOf<["FuncOp", "ClosureOp"]>, Terminator, ReturnLike]> {
  let summary = "return of a Relax function";
  let description = [{
    A value of which it is not known that it is of the declared result type is
    checked before the function returns.

    **Constraints:** (DR13) the type of the value is compatible with the declared
    result type, or possibly so.

    Example: `relax.return %x : !relax.tensor<[n], f32>`
  }];
  let arguments = (ins Relax_AnyValue:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The declared result of the function or closure; null where there is none.
    Type getDeclaredType();
  }];
}

def Relax_DataflowOp : Relax_Op<"dataflow",
    [SingleBlock, RecursiveMemoryEffects, NoRegionArguments,
     DeclareOpInterfaceMethods<RegionBranchOpInterface, ["areTypesCompatible"]>,
     DeclareOpInterfaceMethods<Relax_DeriveOpInterface>]> {
  let summary = "a block of pure bindings without control flow (GR17, SC04)";
  let description = [{
    Values defined inside do not leave the block, except those that
    `relax.output` names.

    **Constraints:**
    - (WF07) no `relax.if`, no impure or recursive call inside, where closures
      defined inside do not count;
    - the outputs are subtypes of the declared types.

    Example:

    ```mlir
    %0 = relax.dataflow -> !relax.tensor<[2], f32> {
      %c = relax.constant dense<1.0> : tensor<2xf32>
      relax.output %c : !relax.tensor<[2], f32>
    }
    ```
  }];
  let results = (outs Variadic<Relax_AnyValue>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat =
      "(`->` type($outputs)^)? attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Relax_OutputOp : Relax_Op<"output",
    [Pure, HasParent<"DataflowOp">, Terminator, ReturnLike]> {
  let summary = "the values that leave a dataflow block";
  let description = [{
    Example: `relax.output %a, %b : !relax.object, !relax.shape<[n]>`
  }];
  let arguments = (ins Variadic<Relax_AnyValue>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ValueRange()); }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Relax_SeqOp : Relax_Op<"seq",
    [SingleBlock, RecursiveMemoryEffects, NoRegionArguments,
     DeclareOpInterfaceMethods<RegionBranchOpInterface, ["areTypesCompatible"]>,
     DeclareOpInterfaceMethods<Relax_DeriveOpInterface>]> {
  let summary = "a sequence of bindings with a value, in a scope of its own (GR17)";
  let description = [{
    The specification's SeqExpr where it is not the body of a function or branch.
    Normal form has none: `relax-normalize` flattens it into the block around it.

    **Constraints:**
    - (NF05) inside a dataflow block it holds dataflow blocks only;
    - what it yields is a subtype of the result type.

    Example:

    ```mlir
    %0 = relax.seq -> !relax.shape<[2]> {
      %s = relax.shape <[2]>
      relax.yield %s : !relax.shape<[2]>
    }
    ```
  }];
  let results = (outs Relax_AnyValue:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`->` type($result) attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the result, with the variables that are in scope behind the
    /// sequence (DR07).
    ::mlir::Type deriveResult(
        ::llvm::function_ref<bool(::llvm::StringRef)> isInScope);
  }];
}

def Relax_IfOp : Relax_Op<"if",
    [SingleBlock, RecursiveMemoryEffects, NoRegionArguments,
     DeclareOpInterfaceMethods<RegionBranchOpInterface, ["areTypesCompatible"]>,
     DeclareOpInterfaceMethods<Relax_DeriveOpInterface>]> {
  let summary = "branch on a Boolean scalar (GR15)";
  let description = [{
    **Constraints:**
    - `cond` may be a Boolean tensor of rank 0, or is a Boolean primitive value;
    - (DR06) what both branches yield is a subtype of the result type.

    Example:

    ```mlir
    %0 = relax.if %c : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
      relax.yield %x : !relax.tensor<[n], f32>
    } else {
      relax.yield %y : !relax.tensor<[n], f32>
    }
    ```
  }];
  let arguments = (ins Relax_AnyValue:$cond);
  let results = (outs Relax_AnyValue:$result);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = [{
    $cond `:` type($cond) `->` type($result) attr-dict-with-keyword
    custom<Branches>($then_region, $else_region)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the result, with the variables that are in scope behind the
    /// branches (DR06, DR07).
    ::mlir::Type deriveResult(
        ::llvm::function_ref<bool(::llvm::StringRef)> isInScope);
  }];
}

def Relax_YieldOp : Relax_Op<"yield",
    [Pure, ParentOneOf<["IfOp", "SeqOp"]>, Terminator, ReturnLike]> {
  let summary = "the value of a branch or sequence";
  let description = [{
    Example: `relax.yield %x : !relax.tensor<[n], f32>`
  }];
  let arguments = (ins Relax_AnyValue:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Relax_MatchCastOp : Relax_Op<"match_cast", [ViewLikeOpInterface]> {
  let summary = "check structural information at run time, binding shape variables (MC01-MC09)";
  let description = [{
    The value is checked against the result type; an error names what was
    expected and found. A dimension that is a variable not bound yet binds it
    for the rest of the enclosing region. The result is the value itself, not a
    copy. A cast whose result is not used still checks and binds (MC09).

    Example:

    ```mlir
    %0 = relax.match_cast %w : !relax.tensor<ndim = 2, f32> -> !relax.tensor<[k, m], f32>
    ```
  }];
  let arguments = (ins Relax_AnyValue:$value);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
  let extraClassDeclaration = [{
    /// Whether no value of the operand's type is of the result type (DR09).
    bool alwaysFails();
    Value getViewSource() { return getOperation()->getOperand(0); }
  }];
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Relax_ConstantOp : Relax_InferredOp<"constant"> {
  let summary = "a constant tensor (GR09, DR02)";
  let description = [{
    Example: `%0 = relax.constant dense<[1.0, 2.0]> : tensor<2xf32>`
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Res<Relax_Tensor, "", [MemAlloc]>:$result);
  let hasCustomAssemblyFormat = 1;
}

def Relax_FloatAttr
    : Attr<CPred<"::llvm::isa<::mlir::FloatAttr>($_self)">, "a float"> {
  let storageType = "::mlir::FloatAttr";
  let returnType = "::llvm::APFloat";
}

def Relax_PrimValueOp : Relax_InferredOp<"prim_value", [Pure]> {
  let summary = "a primitive value: an immutable scalar (GR11, DR03)";
  let description = [{
    **Constraints:** (WF18) the value is an integer, float or Boolean
    attribute, or an expression over shape variables (an `i64`).

    Examples:

    ```mlir
    %0 = relax.prim_value 3 : i64
    %1 = relax.prim_value 2.5 : f32
    %2 = relax.prim_value #relax.expr<n + 1>
    ```
  }];
  let arguments = (ins AnyAttrOf<[Relax_PrimExprAttr, APIntAttr, BoolAttr, Relax_FloatAttr], "a number or expression [WF18]">:$value);
  let results = (outs Relax_Prim:$result);
  let hasCustomAssemblyFormat = 1;
}

def Relax_StringOp : Relax_InferredOp<"string", [Pure]> {
  let summary = "a string (GR11, DR03)";
  let description = [{
    Example: `%0 = relax.string "fast"`
  }];
  let arguments = (ins StrAttr:$value);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = "$value attr-dict";
}

def Relax_DTypeOp : Relax_InferredOp<"dtype", [Pure]> {
  let summary = "a data type as a value (GR11, DR03)";
  let description = [{
    Example: `%0 = relax.dtype f32`
  }];
  let arguments = (ins TypeAttr:$value);
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = "$value attr-dict";
  let hasVerifier = 1;
}

def Relax_ShapeOp : Relax_InferredOp<"shape", [Pure]> {
  let summary = "a shape from dimensions (GR12, DR05)";
  let description = [{
    Example: `%0 = relax.shape <[n, m * 4]>`
  }];
  let arguments = (ins Relax_ShapeExprAttr:$values);
  let results = (outs Relax_Shape:$result);
  let hasCustomAssemblyFormat = 1;
}

def Relax_TupleOp : Relax_InferredOp<"tuple", [Pure,
    DeclareOpInterfaceMethods<Relax_RuntimeStepOpInterface>]> {
  let summary = "a tuple of values (GR10, DR04)";
  let description = [{
    Example: `%0 = relax.tuple %x, %y : !relax.object, !relax.shape<[n]>`
  }];
  let arguments = (ins Variadic<Relax_AnyValue>:$fields);
  let results = (outs Relax_Tuple:$result);
  let hasCustomAssemblyFormat = 1;
}

def Relax_GetItemOp : Relax_InferredOp<"get_item", [Pure,
    DeclareOpInterfaceMethods<Relax_RuntimeStepOpInterface>]> {
  let summary = "a field of a tuple (GR10, DR04)";
  let description = [{
    **Constraints:** the operand is a tuple with more than `index` fields.

    Example: `%0 = relax.get_item %t[1] : !relax.tuple<!relax.object, !relax.shape<[n]>>`
  }];
  let hasPythonFunction = 1;
  let arguments = (ins Relax_Arg<Relax_AnyValue, "A tuple">:$tuple_value,
                       Relax_Arg<I64Attr, "From 0">:$index);
  let results = (outs Res<Relax_AnyValue, "The field">:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
}

def Relax_ExternFuncOp : Relax_InferredOp<"extern_func"> {
  let summary = "a packed function by its registered name (GR13, SE04)";
  let description = [{
    The name is looked up when the operation runs; a missing name is an error.

    Example: `%0 = relax.extern_func "my.function"`
  }];
  let hasPythonFunction = 1;
  let arguments = (ins Relax_Arg<StrAttr, "The name under which it is registered">:$global_symbol);
  let results = (outs Relax_Func:$result);
  let assemblyFormat = "$global_symbol attr-dict";
}

def Relax_ShapeOfOp : Relax_InferredOp<"shape_of", [Pure]> {
  let summary = "the shape of a tensor (OP07)";
  let description = [{
    Example: `%0 = relax.shape_of %x : !relax.tensor<[n, 4], f32>`
  }];
  let hasPythonFunction = 1;
  let arguments = (ins Relax_Arg<Relax_Tensor, "Of any data type">:$tensor);
  let results = (outs Relax_Shape:$result);
  let hasCustomAssemblyFormat = 1;
}

def Relax_NullValueOp : Relax_InferredOp<"null_value", [Pure]> {
  let summary = "the null object, for an argument left out (OP07)";
  let description = [{
    Example: `%0 = relax.null_value`
  }];
  let results = (outs Relax_AnyValue:$result);
  let assemblyFormat = "attr-dict";
}

#endif // RELAX_CORE_OPS
