"""Helpers of tests of kernels: compiling a function of operators, and the kernel classes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import relax_mlir as relax
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir._mlir_libs._relax_mlir import digest

# What was compiled, by module, mode and options.
PROGRAMS: dict[tuple[bytes, str, frozenset[tuple[str, Any]]], Callable[..., Any]] = {}


def write(
    function: Callable[..., Any], types: tuple[tuple[tuple[Any, ...], str], ...]
) -> relax.BlockBuilder:
    """Return `main`, a function of tensors of these shapes and data types.

    It is a dataflow block, so that its operators become as few kernels as fusion makes of them.
    """
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, dtype))
        for i, (shape, dtype) in enumerate(types)
    ]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(function(*params))
        bb.emit_func_output(out)
    return bb


@functools.cache
def compile_function(
    function: Callable[..., Any],
    types: tuple[tuple[tuple[Any, ...], str], ...],
    mode: str,
    **options: Any,
) -> Callable[..., Any]:
    """Compile a function of tensors of these shapes, with names for sizes, and data types.

    Functions that write the same program, such as lambdas of one place, are compiled once.
    """
    mod = write(function, types).get()
    key = (digest(mod.module), mode, frozenset(options.items()))
    if key not in PROGRAMS:
        PROGRAMS[key] = relax.VirtualMachine(relax.compile(mod, exec_mode=mode, **options))["main"]
    return PROGRAMS[key]


def run(
    function: Callable[..., Any],
    shapes: tuple[tuple[Any, ...], ...],
    mode: str,
    *arrays: np.ndarray,
    **options: Any,
) -> np.ndarray:
    types = tuple((s, a.dtype.name) for s, a in zip(shapes, arrays, strict=True))
    return np.from_dlpack(compile_function(function, types, mode, **options)(*arrays))


def random(*shape: int, dtype: str = "float32") -> np.ndarray:
    numbers = np.random.default_rng(sum(shape)).standard_normal(shape) * 3
    return np.asarray(numbers, dtype)


def classes(program: Any) -> list[str | None]:
    """Return what the kernels of a program became."""
    if isinstance(program, relax.IRModule):  # whose constants its text leaves out
        module = program.clone().module
    else:
        module = ir.Module.parse(str(program), relax.default_context())
    phases = ",".join(
        f"relax-phase-{name}" for name in ("normalize", "legalize", "memory", "shapes")
    )
    with module.context:
        PassManager.parse(f"builtin.module({phases},relax-prepare-kernels,relax-emit-kernels)").run(
            module.operation
        )
    found = [f.attributes for f in module.body.operations if f.operation.name == "func.func"]
    return [
        attrs["relax.kernel_class"].value if "relax.kernel_class" in attrs else None
        for attrs in found
    ]
