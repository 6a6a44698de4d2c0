"""Short ways to write and run programs."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax

# Where it is set, each module that a test builds goes through TVMScript and back, too.
ROUND_TRIP = "RELAX_MLIR_TEST_ROUND_TRIP"


@pytest.fixture(autouse=True)
def round_trip(request, monkeypatch):
    """Print and parse what `BlockBuilder.get` returns; a difference fails the test."""
    if not os.environ.get(ROUND_TRIP) or "script" in Path(request.node.fspath).parts:
        return
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "fuzz")
    from script import check

    get = relax.BlockBuilder.get

    def checked(self):
        made = get(self)
        with monkeypatch.context() as parsing:  # the parser has a builder, too
            parsing.setattr(relax.BlockBuilder, "get", get)
            problem = check(made)
        print(f"round trip: {'not the same' if problem else 'the same'}", file=sys.stderr)
        assert problem is None, problem
        return made

    monkeypatch.setattr(relax.BlockBuilder, "get", checked)


@pytest.fixture(params=["compiled", "bytecode"])
def exec_mode(request, monkeypatch):
    """Run a test in both modes: the one that `relax_mlir.compile` uses where none is given."""
    mode = request.param
    compile_ = relax.compile

    def compile_in_mode(mod, target="llvm", **options):
        # Kernels are the same in both modes: optimizing them once is enough.
        level = {"opt_level": 1} if mode == "bytecode" else {}
        return compile_(mod, target, **{"exec_mode": mode, **level, **options})

    monkeypatch.setattr(relax, "compile", compile_in_mode)
    return mode


def _write(function, *params, **options):
    """Return a builder with one function `main`, whose body is a Python function of its params."""
    bb = relax.BlockBuilder()
    with bb.function("main", params, **options):
        bb.emit_func_output(function(*params))
    return bb


def _load(program, name="main"):
    return relax.VirtualMachine(relax.compile(program))[name]


@pytest.fixture
def write():
    return _write


@pytest.fixture
def load(exec_mode):
    """Compile a program and return its function, in both modes."""
    return _load


@pytest.fixture
def tensor():
    """Return a parameter that is a tensor."""

    def tensor(shape=None, dtype="float32", name="x", **options):
        return relax.Var(name, relax.TensorStructInfo(shape, dtype, **options))

    return tensor


@pytest.fixture
def run(write, load, tensor):
    """Run an operator on arrays; `shapes` are those of its params, by default of static size."""

    def run(function, *arrays, shapes=None):
        shapes = shapes or [array.shape for array in arrays]
        params = [
            tensor(shape, array.dtype.name, name=f"x{index}")
            for index, (shape, array) in enumerate(zip(shapes, arrays, strict=True))
        ]
        result = load(write(function, *params))(*arrays)
        return np.from_dlpack(result) if hasattr(result, "__dlpack__") else result

    return run


@pytest.fixture
def vector(tensor):
    """Return a parameter that is a vector of float32."""

    def vector(name="x", dim="n"):
        return tensor((dim,), name=name)

    return vector
