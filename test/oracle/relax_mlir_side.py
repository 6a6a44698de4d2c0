"""Answers the questions with relax-mlir, in the words of `tvm_side.py`."""

from __future__ import annotations

import relax_mlir as relax
import structinfo as si
from cases import describe_mapping
from relax_mlir import (
    Facts,
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    analysis,
)
from relax_mlir._mlir_libs import _relax_mlir as _ext
from structinfo import Dim, Info

NAME_OF = {"add": "+", "sub": "-", "mul": "*"}


# From descriptions to types.


def text_of(dim: Dim) -> str:
    if not isinstance(dim, list):
        return str(dim) if isinstance(dim, str) or dim >= 0 else f"(0 - {-dim})"
    operation, lhs, rhs = dim[0], text_of(dim[1]), text_of(dim[2])
    if operation in ("min", "max"):
        return f"{operation}({lhs}, {rhs})"
    return f"({lhs} {operation} {rhs})"


def texts_of(dims):
    return None if dims is None else [text_of(dim) for dim in dims]


def make_tensor(info: Info):
    dims = texts_of(info["shape"])
    ndim = info["ndim"] if dims is None else -1
    names = {"vdevice": info["vdevice"], "shape_var": info["var"]}
    if info["var"]:
        ndim = info["ndim"]
    return TensorStructInfo(dims, info["dtype"], ndim=ndim, **names)


def make_shape(info: Info):
    dims = texts_of(info["values"])
    return ShapeStructInfo(dims, ndim=info["ndim"] if dims is None else -1, var=info["var"])


def make_prim(info: Info):
    return PrimStructInfo(info["dtype"], None if info["value"] is None else text_of(info["value"]))


MAKE = {
    "object": lambda info: ObjectStructInfo(),
    "tensor": make_tensor,
    "shape": make_shape,
    "prim": make_prim,
    "tuple": lambda info: TupleStructInfo([*map(make, info["fields"])]),
    "closure": lambda info: FuncStructInfo(
        [*map(make, info["params"])], make(info["ret"]), info["purity"]
    ),
    "packed": lambda info: FuncStructInfo(None, derive_func=info["derive"]),
}


def make(info: Info):
    return MAKE[info["kind"]](info)


def notation(answer: object) -> str:
    """Return an answer in the notation of the dialect, where there is one."""
    if isinstance(answer, dict) and answer.get("kind") in MAKE and answer["kind"] != "packed":
        return str(make(answer))
    return str(answer)


# From types to descriptions.


def describe_dim(expr) -> Dim:
    if expr.kind == "int":
        return expr.value
    if expr.kind == "var":
        return expr.name
    first, *rest = map(describe_dim, expr.operands)
    for operand in rest:
        first = [NAME_OF.get(expr.kind, expr.kind), first, operand]
    return first


def describe_dims(dims):
    return None if dims is None else [describe_dim(dim) for dim in dims.dims]


def describe_func(type_) -> Info:
    if type_.derive is not None:
        return si.packed(type_.derive)
    return si.closure(map(describe, type_.params), describe(type_.ret), type_.is_pure)


DESCRIBE = {
    ObjectStructInfo: lambda type_: si.OBJECT,
    TensorStructInfo: lambda type_: si.tensor(
        describe_dims(type_.shape), type_.ndim, type_.dtype, type_.vdevice, type_.shape_var
    ),
    ShapeStructInfo: lambda type_: si.shape(describe_dims(type_.values), type_.ndim, type_.var),
    PrimStructInfo: lambda type_: si.prim(
        type_.dtype, None if type_.value is None else describe_dim(type_.value)
    ),
    TupleStructInfo: lambda type_: si.tuple_(map(describe, type_.fields)),
    FuncStructInfo: describe_func,
}


def describe(type_) -> Info:
    return DESCRIBE[type(type_)](type_)


# The questions.


def derive(question, callee, *arguments):
    try:
        return describe(analysis.derive_call_result(callee, arguments))
    except ValueError as error:
        if "arguments, but got" in str(error):
            return {"error": "arity"}
        if str(error).startswith("expected argument "):
            return {"error": "argument"}
        raise


def mapping(question, formal, actual):
    found = analysis.get_shape_var_mapping(formal, actual)
    return describe_mapping({name: describe_value(value) for name, value in found.items()})


def describe_value(value):
    """Describe what a variable is: an expression, dimensions, or another variable."""
    if isinstance(value, str):
        return value
    return tuple(describe_dims(value)) if isinstance(value, ShapeExpr) else describe_dim(value)


def prove(question, *values):
    lhs, rhs = (relax.Dim(text_of(info["value"])) for info in question["infos"])
    bounds = {name: tuple(ends) for name, ends in question["bounds"].items()}
    return getattr(lhs, question["question"])(rhs, Facts(bounds=bounds))


def describe_type(type_):
    """Describe a type without dimensions as a traditional type."""
    info = describe(type_)
    if si.own_dims(info):
        raise ValueError(f"expected no dimensions, but got {type_}")
    if info["kind"] == "tensor":
        return {"type": "TensorType", "ndim": info["ndim"], "dtype": info["dtype"]}
    if info["kind"] == "shape":
        return {"type": "ShapeType", "ndim": info["ndim"]}
    if info["kind"] == "prim":
        return {"type": "PrimType", "dtype": info["dtype"]}
    if info["kind"] == "tuple":
        return {"type": "TupleType", "fields": [*map(describe_type, type_.fields)]}
    if info["kind"] == "closure":
        params = [*map(describe_type, type_.params)]
        return {"type": "FuncType", "params": params, "ret": describe_type(type_.ret)}
    return {"type": "ObjectType" if info["kind"] == "object" else "PackedFuncType"}


ANSWER = {
    "subtype": lambda question, sub, super_: analysis.is_subtype(sub, super_),
    "compatible": lambda question, sub, super_: analysis.check_compatibility(sub, super_),
    "unify": lambda question, lhs, rhs: describe(analysis.unify_struct_info(lhs, rhs)),
    "erase": lambda question, type_: describe(
        analysis.erase_to_well_defined(type_, question["names"], question["names"])
    ),
    "static": lambda question, type_: describe_type(_ext.erase_struct_info(type_)),
    "derive": derive,
    "mapping": mapping,
    "prove_equal": prove,
    "prove_less_equal": prove,
}


def answer(question: dict) -> dict:
    """Return the answer and the notation of the StructInfo in the question."""
    types = [make(info) for info in question["infos"]]
    return {
        "answer": ANSWER[question["question"]](question, *types),
        "text": [str(type_) for type_ in types],
    }
