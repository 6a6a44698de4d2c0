# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs before and after a rewrite, and what both compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import relax_mlir as relax

_QUIET = ("return", "output", "dataflow", "shape", "constant", "tuple")


def tensor(name: str, *shape: Any, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape, dtype))


def build(
    write: Callable[..., Any], *params: relax.Var, attrs: Mapping[str, Any] | None = None
) -> Any:
    """Return a module whose function `main` returns what `write` makes of the parameters."""
    bb = relax.BlockBuilder()
    with bb.function("main", params, attrs=dict(attrs or {})):
        with bb.dataflow():
            out = bb.emit_output(write(*params))
        bb.emit_func_output(out)
    return bb.get()


def names(mod: Any, function: str = "main") -> list[str]:
    """Return the operators of a function, in order, without what computes nothing."""
    found: list[str] = []

    def visit(operation: Any) -> None:
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    found.append(inner.operation.name.removeprefix("relax."))
                    visit(inner.operation)

    visit(mod[function].operation)
    return [name for name in found if name not in _QUIET]


def run(mod: Any, *arguments: Any, **options: Any) -> Any:
    """Return what `main` computes, as arrays."""
    result = relax.VirtualMachine(relax.compile(mod, **options))["main"](*arguments)
    if hasattr(result, "__dlpack__"):
        return np.from_dlpack(result)
    return [np.from_dlpack(field) for field in result]


def arrays(mod: Any, **sizes: int) -> list[np.ndarray]:
    """Return arrays for the parameters of `main`, whose shape variables have these sizes."""
    rng = np.random.default_rng(0)
    made = []
    for param in mod["main"].body.blocks[0].arguments:
        dims = [dim.evaluate(sizes) for dim in param.type.shape]
        dtype = np.dtype(param.type.dtype)
        if dtype.kind == "f":
            made.append(rng.uniform(-1, 1, dims).astype(dtype))
        else:  # so large that products overflow
            info = np.iinfo(dtype)
            made.append(rng.integers(info.min, info.max, dims, dtype, endpoint=True))
    return made


def check(
    pass_: Any, mod: Any, wanted: list[str] | None, *arguments: np.ndarray, **sizes: int
) -> Any:
    """Run a pass, say what has to be left, and compare what is computed; return the result.

    `wanted` is None where the pass has to leave the program alone.
    """
    before = str(mod)
    changed = pass_(mod)
    assert str(mod) == before, "what is given is not changed"
    assert names(changed) == (names(mod) if wanted is None else wanted)
    assert changed["main"].ret_struct_info == mod["main"].ret_struct_info
    if wanted is None:
        assert str(changed) == before
        return changed
    given = arguments or arrays(mod, **sizes)
    old = run(mod, *given, exec_mode="bytecode", opt_level=1)
    for mode in ("bytecode", "compiled"):
        new = run(changed, *given, exec_mode=mode)
        pairs = zip(old, new, strict=True) if isinstance(old, list) else [(old, new)]
        for one, other in pairs:
            assert one.shape == other.shape and one.dtype == other.dtype
            if one.dtype.kind == "f":
                np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-4)
            else:
                np.testing.assert_array_equal(other, one)
    return changed
