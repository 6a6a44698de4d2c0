"""Functions of the runtime that carry their StructInfo, made from Python."""

import ctypes
import gc
import json
import weakref

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager
from relax_mlir import op
from relax_runtime import LIBRARY

make_function = tvm_ffi.get_global_func("relax_mlir.runtime.make_function")
make_engine_function = tvm_ffi.get_global_func("relax_mlir.runtime.make_engine_function")
function_struct_info = tvm_ffi.get_global_func("relax_mlir.runtime.function_struct_info")


class Any(ctypes.Structure):
    """The layout of TVMFFIAny."""

    _fields_ = (("type_index", ctypes.c_int32), ("padding", ctypes.c_int32), ("v", ctypes.c_int64))


KIND_INT = 1
Entry = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Any), ctypes.c_int32, ctypes.POINTER(Any)
)


@Entry
def add_integers(handle, args, nargs, result):
    result[0].type_index = KIND_INT
    result[0].v = sum(args[i].v for i in range(nargs))
    return 0


ADDRESS = ctypes.cast(add_integers, ctypes.c_void_p).value


def struct_info(params, ret, pure=True):
    return json.dumps({"kind": "func", "params": params, "ret": ret, "pure": pure})


UNARY = struct_info(
    [{"kind": "tensor", "dims": ["m", 4], "dtype": "float32"}],
    {"kind": "tensor", "dims": [{"expr": "m * 2", "vars": ["m"]}, 4], "dtype": "float32"},
)


def build_double():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("double", [x]):
        bb.emit_func_output(op.add(x, x))
    return bb


def test_make_function_calls_the_address():
    function = make_function(ADDRESS, "", None)
    assert isinstance(function, tvm_ffi.Function)
    assert function() == 0
    assert function(1, 2, 39) == 42


def test_mc06_function_carries_struct_info():
    function = make_function(ADDRESS, UNARY, None)
    read = json.loads(function_struct_info(function))
    assert read == json.loads(UNARY) | {
        "params": [{"kind": "tensor", "ndim": 2, "dims": ["m", 4], "dtype": "float32"}],
        "ret": json.loads(UNARY)["ret"] | {"ndim": 2},
    }


def test_mc06_function_without_struct_info():
    function = make_function(ADDRESS, "", None)
    assert json.loads(function_struct_info(function)) == {"kind": "func", "pure": False}


@pytest.mark.parametrize(
    "packed", [lambda x: x, make_function], ids=["from Python", "from the runtime"]
)
def test_mc06_packed_function_has_no_struct_info(packed):
    assert function_struct_info(tvm_ffi.convert(packed)) is None


def test_struct_info_survives_a_round_trip_through_a_tuple():
    (function,) = tvm_ffi.convert([make_function(ADDRESS, UNARY, None)])
    assert json.loads(function_struct_info(function))["params"][0]["dims"] == ["m", 4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "StructInfo: Expecting property name"),
        ("[" * 100_000, "StructInfo: the text nests deeper than 400 levels"),
        ('{"kind": "map"}', "StructInfo: expected an object with a kind, but got"),
        ('{"kind": "object"}', "expected the StructInfo of a function, but got"),
        (struct_info([{"kind": "shape", "dims": [{"capture": 0}]}], {"kind": "object"}),
         "StructInfo: expected the index of one of 0 captured dimensions, but got 0"),
    ],
)  # fmt: skip
def test_mc06_invalid_struct_info(text, message):
    with pytest.raises(ValueError, match=message):
        make_function(ADDRESS, text, None)


def test_invalid_address():
    with pytest.raises(ValueError, match="expected the address of a function, but got 0"):
        make_function(0, "", None)


def test_invalid_object_to_keep_alive():
    with pytest.raises(TypeError, match=r"expected an object to keep alive, or None, but got .* 3"):
        make_function(ADDRESS, "", 3)


class Owner:
    pass


def test_function_keeps_a_python_object_alive():
    owner = Owner()
    alive = weakref.ref(owner)
    function = make_function(ADDRESS, "", owner)
    del owner
    gc.collect()
    assert alive() is not None
    del function
    gc.collect()
    assert alive() is None


def test_function_keeps_a_function_alive():
    owner = Owner()
    alive = weakref.ref(owner)
    root = make_function(ADDRESS, "", owner)
    function = make_function(ADDRESS, "", root)
    del owner, root
    gc.collect()
    assert alive() is not None
    assert function(1, 2) == 3
    del function
    gc.collect()
    assert alive() is None


def test_engine_function_runs_compiled_code():
    module = relax.as_module(build_double()).clone().module
    with module.context:
        PassManager.parse("builtin.module(relax-to-llvm)").run(module.operation)
        engine = ExecutionEngine(module, shared_libs=[LIBRARY])
    address = engine.raw_lookup("__tvm_ffi_double")
    alive = weakref.ref(engine)
    function = make_engine_function(address, UNARY, engine)
    del engine
    gc.collect()
    assert alive() is not None
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(np.from_dlpack(function(x)), 2 * x)
    with pytest.raises(TypeError, match="double: expected 1 argument, but got 2"):
        function(x, x)
    assert json.loads(function_struct_info(function))["pure"] is True
    del function
    gc.collect()
    assert alive() is None
