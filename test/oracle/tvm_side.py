"""Answers the questions with TVM: JSON lines in, JSON lines out.

Runs in the environment of requirements.txt and imports nothing of this project.
"""

import json
import sys

import tvm
import tvm_ffi
from tvm import arith, relax, tirx
from tvm.relax import analysis
from tvm.relax import struct_info as si
from tvm.relax.struct_info import _ffi_api

BINARY = {
    "+": tirx.Add,
    "-": tirx.Sub,
    "*": tirx.Mul,
    "floordiv": tirx.FloorDiv,
    "mod": tirx.FloorMod,
    "min": tirx.Min,
    "max": tirx.Max,
}
NAME_OF = {cls: name for name, cls in BINARY.items()}


class Variables(dict):
    def __missing__(self, name):
        return self.setdefault(name, tirx.Var(name, "int64"))


class ShapeVariables(dict):
    def __missing__(self, name):
        ndim = {"s": 2, "t": 1}[name[0]]
        return self.setdefault(name, relax.Var(name, si.ShapeStructInfo(ndim=ndim)))


class UnsupportedError(Exception):
    """TVM cannot say this."""


VARS = Variables()
SHAPE_VARS = ShapeVariables()
# Told apart by their index: they have no names, and Python cannot compare them.
VDEVICES = {f"gpu{index}": tvm.ir.VDevice("llvm", index, "global") for index in range(2)}


@tvm_ffi.register_global_func("relax_mlir.oracle.derive_ndim2")
def derive_ndim2(call, context):
    return si.TensorStructInfo(dtype="float32", ndim=2)


# TVM compares them by identity. The empty_derive of the specification is none.
DERIVES = {
    "default_derive": tvm.ir.EnvFunc.get("tvm.relax.struct_info.infer_by_sinfo_args"),
    "derive_ndim2": tvm.ir.EnvFunc.get("relax_mlir.oracle.derive_ndim2"),
}


# From descriptions to TVM.


def make_dim(dim, dtype="int64"):
    if isinstance(dim, int):
        return tirx.IntImm(dtype, dim)
    if isinstance(dim, str):
        return VARS[dim]
    return BINARY[dim[0]](make_dim(dim[1]), make_dim(dim[2]))


def make_dims(dims):
    return None if dims is None else [make_dim(dim) for dim in dims]


def make_tensor(info):
    options = {"dtype": info["dtype"] or "", "vdevice": VDEVICES.get(info["vdevice"])}
    if info["var"]:
        return si.TensorStructInfo(SHAPE_VARS[info["var"]], **options)
    if info["shape"] is None:
        return si.TensorStructInfo(ndim=info["ndim"], **options)
    return si.TensorStructInfo(make_dims(info["shape"]), **options)


def make_shape(info):
    if info["var"]:
        raise UnsupportedError("a variable for a shape value")
    if info["values"] is None:
        return si.ShapeStructInfo(ndim=info["ndim"])
    return si.ShapeStructInfo(make_dims(info["values"]))


def make_prim(info):
    if info["value"] is None:
        return si.PrimStructInfo(info["dtype"])
    return si.PrimStructInfo(value=make_dim(info["value"], info["dtype"]))


def make_packed(info):
    return _ffi_api.FuncStructInfoOpaqueFunc(None, DERIVES.get(info["derive"]), False, None)


def make_closure(info):
    params = [make(param) for param in info["params"]]
    return si.FuncStructInfo(params, make(info["ret"]), info["purity"])


MAKE = {
    "object": lambda info: si.ObjectStructInfo(),
    "tensor": make_tensor,
    "shape": make_shape,
    "prim": make_prim,
    "tuple": lambda info: si.TupleStructInfo([make(field) for field in info["fields"]]),
    "closure": make_closure,
    "packed": make_packed,
}


def make(info):
    return MAKE[info["kind"]](info)


# From TVM to descriptions.


def describe_dim(expr):
    if isinstance(expr, tirx.IntImm):
        return int(expr.value)
    if isinstance(expr, tirx.Var):
        return expr.name
    return [NAME_OF[type(expr)], describe_dim(expr.a), describe_dim(expr.b)]


def describe_dims(dims):
    return None if dims is None else [describe_dim(dim) for dim in dims]


def describe_tensor(info):
    is_var = isinstance(info.shape, relax.Var)
    shape = None if info.shape is None or is_var else describe_dims(info.shape.values)
    vdevice = None if info.vdevice is None else f"gpu{info.vdevice.vdevice_id}"
    return {
        "kind": "tensor",
        "shape": shape,
        "ndim": int(info.ndim),
        "dtype": str(info.dtype) or None,
        "vdevice": vdevice,
        "var": info.shape.name_hint if is_var else None,
    }


def describe_prim(info):
    value = None if info.value is None else describe_dim(info.value)
    return {"kind": "prim", "dtype": str(info.dtype), "value": value}


def describe_func(info):
    if info.params is not None:
        params = [describe(param) for param in info.params]
        ret = describe(info.ret)
        return {"kind": "closure", "params": params, "ret": ret, "purity": bool(info.purity)}
    for name, derive in DERIVES.items():
        if derive.same_as(info.derive_func):
            return {"kind": "packed", "derive": name}
    if isinstance(info.ret, si.ObjectStructInfo):
        return {"kind": "packed", "derive": "empty_derive"}
    return {"kind": "packed", "derive": None, "ret": describe(info.ret)}


DESCRIBE = {
    si.ObjectStructInfo: lambda info: {"kind": "object"},
    si.TensorStructInfo: describe_tensor,
    si.ShapeStructInfo: lambda info: {
        "kind": "shape",
        "values": describe_dims(info.values),
        "ndim": int(info.ndim),
        "var": None,
    },
    si.PrimStructInfo: describe_prim,
    si.TupleStructInfo: lambda info: {"kind": "tuple", "fields": [*map(describe, info.fields)]},
    si.FuncStructInfo: describe_func,
}


def describe(info):
    return DESCRIBE[type(info)](info)


def describe_type(type_):
    """Describe a traditional type."""
    name = type(type_).__name__
    if name == "TensorType":
        return {"type": name, "ndim": int(type_.ndim), "dtype": str(type_.dtype) or None}
    if name == "ShapeType":
        return {"type": name, "ndim": int(type_.ndim)}
    if name == "PrimType":
        return {"type": name, "dtype": str(type_.dtype)}
    if name == "TupleType":
        return {"type": name, "fields": [describe_type(field) for field in type_.fields]}
    if name == "FuncType":
        params = [describe_type(param) for param in type_.arg_types]
        return {"type": name, "params": params, "ret": describe_type(type_.ret_type)}
    return {"type": name}


# The questions.


def erase(question, info):
    shapes = {SHAPE_VARS[name]: SHAPE_VARS[name] for name in question["names"] if name in "st"}
    dims = {VARS[name]: VARS[name] for name in question["names"] if name not in "st"}
    return describe(analysis.erase_to_well_defined(info, dims, shapes))


def derive(question, callee, *infos):
    arguments = [relax.Var(f"x{index}", info) for index, info in enumerate(infos)]
    call = relax.Call(relax.Var("f", callee), arguments)
    try:
        return describe(analysis.derive_call_ret_struct_info(callee, call, relax.BlockBuilder()))
    except ValueError as error:
        return {"error": "arity" if "Number of arguments" in str(error) else "argument"}


def mapping(question, formal, actual):
    """Ask for the value of each variable in the result of a call."""
    if isinstance(formal, si.FuncStructInfo):
        raise UnsupportedError("what the variables of a function type are")
    names = sorted(binding_names(question["infos"][0]))
    found = []
    for name in names:
        callee = si.FuncStructInfo([formal], si.ShapeStructInfo([VARS[name]]))
        result = derive(question, callee, actual)
        if "error" in result:
            raise UnsupportedError("a mapping of incompatible types")
        if result["values"] is not None:
            found.append((name, result["values"][0]))
    values = [{"kind": "prim", "dtype": "int64", "value": value} for _, value in found]
    return {"names": [name for name, _ in found], "values": {"kind": "tuple", "fields": values}}


def binding_names(info):
    dims = [*(info.get("shape") or info.get("values") or ()), info.get("value")]
    inner = (binding_names(field) for field in info.get("fields", ()))
    return {dim for dim in dims if isinstance(dim, str)}.union(*inner)


def prove(question, *infos):
    lhs, rhs = (make_dim(info["value"]) for info in question["infos"])
    analyzer = arith.Analyzer()
    for name, (least, most) in question["bounds"].items():
        most = arith.ConstIntBound.POS_INF if most is None else most
        analyzer.update(VARS[name], arith.ConstIntBound(least, most))
    for answer, comparison in COMPARISONS[question["question"]]:
        if analyzer.can_prove(comparison(lhs, rhs)):
            return answer
    return None


COMPARISONS = {
    "prove_equal": ((True, tirx.EQ), (False, tirx.NE)),
    "prove_less_equal": ((True, tirx.LE), (False, tirx.GT)),
}


def base_check(question, lhs, rhs):
    return analysis.BaseCheckResult(analysis.struct_info_base_check(rhs, lhs)).name


ANSWER = {
    "subtype": base_check,
    "compatible": base_check,
    "unify": lambda question, lhs, rhs: describe(analysis.struct_info_lca(lhs, rhs)),
    "erase": erase,
    "static": lambda question, info: describe_type(analysis.get_static_type(info)),
    "derive": derive,
    "mapping": mapping,
    "prove_equal": prove,
    "prove_less_equal": prove,
}


def main():
    for line in sys.stdin:
        question = json.loads(line)
        try:
            infos = [make(info) for info in question["infos"]]
            answer = ANSWER[question["question"]](question, *infos)
        except UnsupportedError as reason:
            print(json.dumps({"id": question["id"], "unsupported": str(reason)}))
            continue
        text = [str(info) for info in infos]
        print(json.dumps({"id": question["id"], "answer": answer, "text": text}))


if __name__ == "__main__":
    main()
