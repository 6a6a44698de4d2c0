# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`relax_mlir.build`: `compile` with the arguments that ``tvm.relax.build`` has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..artefact import Executable
from ..core.ir_module import IRModule, ModuleLike, as_module
from ..target import TargetLike
from ..transform import BindParams
from .compiler import compile  # noqa: A004 (the name TVM uses)

__all__ = ["build"]


def build(
    mod: ModuleLike,
    target: TargetLike | None = None,
    params: Mapping[str, Any] | None = None,
    relax_pipeline: str | Callable[..., IRModule] | None = "default",
    tir_pipeline: str | None = "default",
    exec_mode: str = "compiled",
    *,
    system_lib: bool | None = None,
    **changes: Any,
) -> Executable:
    """Compile a module: for programs of TVM, whose arguments these are.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
        The program. It is not changed.
    target : str, mapping, native.NativeTarget or Target, optional
        As of `compile`, by default the processor of this machine.
    params : mapping of str to array, optional
        Constants in place of parameters of ``main``, by their names.
    relax_pipeline : str, Pass or function of a module, optional
        As of `compile`.
    tir_pipeline : str, optional
        "default" or None: how kernels are compiled is not a pipeline of its own.
    exec_mode : str
        "compiled" or "bytecode".
    system_lib : bool, optional
        False or None: a library is made of the result, with `Executable.export_library`.
    **changes
        Other options of `compile`.

    Returns
    -------
    Executable

    Raises
    ------
    ValueError
        If a pipeline is not known, or what `compile` cannot do is asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from relax_mlir import VirtualMachine
    >>> from relax_mlir.script import from_source
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n",), "float32"), w: R.Tensor((), "float32")):
    ...         return R.multiply(x, w)
    ... ''')
    >>> ex = build(mod, "llvm", {"w": np.float32(2)}, relax_pipeline="zero")
    >>> VirtualMachine(ex, "cpu")["main"]([1, 2])
    Tensor([2., 4.], dtype=float32)
    """
    if tir_pipeline not in (None, "default"):
        raise ValueError(
            f"expected no pipeline for kernels, or 'default', but got {tir_pipeline!r}: passes "
            "over them can be part of relax_pipeline"
        )
    if system_lib:
        raise ValueError("expected no system_lib: Executable.export_library makes a library")
    module = as_module(mod)
    if params:
        named: dict[Any, Any] = dict(params)
        bind: Any = BindParams("main", named)
        module = bind(module)
    return compile(
        module,
        "llvm" if target is None else target,
        relax_pipeline=relax_pipeline,
        exec_mode=exec_mode,
        **changes,
    )
