# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The packed functions of the runtime: against NumPy, and in libraries without Python."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import TensorStructInfo, Var, op
from test_artefact import CONTAINED, environment, needs_compiler

DTYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64")  # fmt: skip
SHAPES = ((), (1,), (0,), (7,), (4, 3), (0, 3), (3, 0), (2, 3, 2))


def array(shape, dtype):
    """Return numbers few of which differ, with -0 and NaN among floats."""
    rng = np.random.default_rng(len(shape))
    numbers = np.asarray(rng.integers(-2, 3, shape))
    if dtype[0] in "ub":
        return np.asarray(numbers % 3).astype(dtype)
    made = numbers.astype(dtype)
    if dtype.startswith("float") and made.size > 3:
        made.flat[::3] = np.nan
        made.flat[1] = -0.0
    return made


def compile_one(make, exec_mode, **params):
    """Return a function of what `make` makes of parameters with these types."""
    bb = relax.BlockBuilder()
    variables = [Var(name, type_) for name, type_ in params.items()]
    with bb.function("main", variables):
        bb.emit_func_output(make(*variables))
    return relax.VirtualMachine(relax.compile(bb, exec_mode=exec_mode))["main"]


def tensor(shape, dtype):
    return TensorStructInfo(None, dtype, ndim=len(shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(exec_mode, dtype):
    flags = {"return_index": True, "return_inverse": True, "return_counts": True}
    for shape in SHAPES:
        x = array(shape, dtype)
        found = compile_one(lambda x: op.unique(x, **flags), exec_mode, x=tensor(shape, dtype))(x)
        wanted = np.unique(x, **flags)
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(got, want.reshape(-1))
        assert found[0].dtype == dtype


@pytest.mark.parametrize("dtype", ("bool", "int16", "float32", "float64"))
def test_nonzero_and_unique_of_many(exec_mode, dtype):
    rng = np.random.default_rng(0)
    for share in (0, 0.01, 0.5, 1):
        kept = rng.random((3, 30_001)) < share
        x = np.where(kept, rng.integers(-300, 300, kept.shape), -0.0).astype(dtype)
        if dtype.startswith("float"):
            x[1, 7] = np.nan
        found = compile_one(op.nonzero, exec_mode, x=tensor(x.shape, dtype))(x)
        np.testing.assert_array_equal(found, np.stack(np.nonzero(x)))
        values, first = compile_one(
            lambda x: op.unique(x, return_index=True), exec_mode, x=tensor(x.shape, dtype)
        )(x)
        wanted, places = np.unique(x, return_index=True)
        np.testing.assert_array_equal(values, wanted)
        np.testing.assert_array_equal(first, places)


@pytest.mark.parametrize("dtype", ("int8", "float32"))
def test_unique_parts_along_an_axis(exec_mode, dtype):
    for shape in SHAPES[3:]:
        x = array(shape, dtype)
        for axis in range(-len(shape), len(shape)):
            main = compile_one(
                lambda x, axis=axis: op.unique(x, return_counts=True, axis=axis),
                exec_mode, x=tensor(shape, dtype),
            )  # fmt: skip
            values, counts = main(x)
            wanted, times = np.unique(x, return_counts=True, axis=axis)
            np.testing.assert_array_equal(values, wanted)
            np.testing.assert_array_equal(counts, times)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(exec_mode, dtype):
    for shape in SHAPES:
        x = array(shape, dtype)
        found = compile_one(op.nonzero, exec_mode, x=tensor(shape, dtype))(x)
        np.testing.assert_array_equal(found, np.stack(np.nonzero(np.atleast_1d(x))))


ENDS = (-(2**63), -9, -5, -1, 0, 1, 4, 5, 9, 2**63 - 1)


def test_slices_are_those_of_python(exec_mode):
    row = TensorStructInfo((1,), "int64")
    x = np.arange(5.0)
    main = compile_one(op.dynamic_strided_slice, exec_mode,
                       x=TensorStructInfo(("n",), "float64"), b=row, e=row, s=row)  # fmt: skip
    for begin, end, step in itertools.product(ENDS, ENDS, (-(2**63), -2, -1, 1, 3, 2**63 - 1)):
        bounds = [np.array([number]) for number in (begin, end, step)]
        # NumPy refuses the least stride, which is beyond the end as others are.
        np.testing.assert_array_equal(main(x, *bounds), x[begin : end : max(step, -(2**62))])


def test_slices_of_two_dimensions(exec_mode):
    pair = TensorStructInfo((2,), "int64")
    x = np.arange(20, dtype="int16").reshape(4, 5)
    main = compile_one(op.dynamic_strided_slice, exec_mode,
                       x=TensorStructInfo(("n", "m"), "int16"), b=pair, e=pair, s=pair)  # fmt: skip
    got = main(x.T[::-1], np.array([4, 1]), np.array([-9, 9]), np.array([-3, 2]))
    np.testing.assert_array_equal(got, x.T[::-1][4:-9:-3, 1:9:2])


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_scalars(exec_mode, dtype):
    def make(value):
        return op.call_pure_packed(
            "relax_mlir.run.scalar_tensor", value, dtype, sinfo_args=TensorStructInfo((), dtype)
        )

    mains = {
        kind: compile_one(make, exec_mode, value=relax.PrimStructInfo(name))
        for kind, name in ((int, "int64"), (bool, "bool"), (float, "float64"))
    }
    for number in (0, 1, True, 3, 2.75, 1e-5, 65519.0, 3e38):
        type_ = torch.from_numpy(np.array(number)).to(getattr(torch, dtype))
        if dtype[0] in "iu" and number > np.iinfo(dtype).max:
            with pytest.raises(ValueError, match=f"is no number of {dtype}"):
                mains[type(number)](number)
            continue
        got = torch.from_dlpack(mains[type(number)](number))
        assert got.dtype == type_.dtype and got.equal(type_)


CODE = """if True:
    import sys, numpy as np, tvm_ffi
    main = tvm_ffi.load_module(sys.argv[1])["main"]
    values, places, named = main(np.array([2, 0, 2, 5], "float32"))
    print(np.from_dlpack(values).tolist(), np.from_dlpack(places).tolist(), named.shape)
    try:
        main(np.array([0, 7], "float32"))
    except AssertionError as error:
        print(error)
    assert not any(name.startswith("relax_") for name in sys.modules)"""


@needs_compiler
@CONTAINED
def test_libraries_run_without_the_packages(tmp_path, exec_mode, self_contained):
    bb = relax.BlockBuilder()
    x = Var("x", TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x], pure=False):
        bb.emit(op.print(x, format="x = {0}"))
        bb.emit(op.assert_op(op.less(op.max(x), op.const(6.0)), x, format="too large: {}"))
        count = bb.emit(op.sum(op.astype(op.greater(x, op.const(1.0)), "int64"), keepdims=True))
        shape = bb.match_cast(op.tensor_to_shape(count), relax.ShapeStructInfo(("k",)))
        results = (op.unique(x), op.nonzero(x), op.zeros(shape, "int8"))
        bb.emit_func_output(op.tuple(*results))
    path = tmp_path / "model.so"
    executable = relax.compile(bb, exec_mode=exec_mode)
    executable.export_library(path, self_contained=self_contained)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path)],
        check=True,
        env=environment(self_contained),
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        "x = [2, 0, 2, 5]",
        "[0.0, 2.0, 5.0] [[0, 2, 3]] (3,)",
        "x = [0, 7]",
        "too large: [0, 7]",
    ]
