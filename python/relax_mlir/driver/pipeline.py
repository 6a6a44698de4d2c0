# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines of passes by name, as TVM has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._arguments import require_str, shown
from ..core.ir_module import IRModule
from ..transform import Pass, Sequential
from ..transform.options import CompileOptions
from ..transform.phases import phase, phases
from ..transform.registry import PASSES

_Make = Callable[..., Pass]


def zero_pipeline(*, enable_warning: bool = False) -> Sequential:
    """Return the passes that make calls of kernels of operators, and nothing else.

    Parameters
    ----------
    enable_warning : bool
        Whether to warn of operators without a kernel.
    """
    legalize: Any = PASSES["LegalizeOps"]
    passes = [PASSES["Normalize"](), legalize(enable_warning=enable_warning)]
    return Sequential(passes, name="zero")


def default_build_pipeline(options: CompileOptions | None = None, **changes: Any) -> Sequential:
    """Return the pipeline of `compile`: all phases in order.

    Parameters
    ----------
    options : CompileOptions, optional
        The default ones by default.
    **changes
        Options that differ, such as ``checks="necessary"``.

    Examples
    --------
    >>> [one.info.name for one in default_build_pipeline().passes][:2]
    ['normalize', 'optimize']
    """
    return _WholePipeline(CompileOptions.of(options, changes))


class _WholePipeline(Sequential):
    """All phases of `compile`, with some options."""

    def __init__(self, options: CompileOptions) -> None:
        super().__init__([phase(name, options) for name, _ in phases()], name="default")
        self.options = options


def _of_phase(name: str) -> _Make:
    return lambda **options: phase(name, **options)


PIPELINE_MAP: dict[str, _Make] = {
    "zero": zero_pipeline,
    "default": default_build_pipeline,
    "default_build": default_build_pipeline,
    **{name: _of_phase(name) for name, _ in phases()},
}


# The pipelines that are all of `compile`.
_WHOLE = ("default", "default_build")


def get_pipeline(name: str = "zero", **kwargs: Any) -> Pass:
    """Return the pipeline of a name.

    Parameters
    ----------
    name : str
        "zero", "default" ("default_build" in TVM), a phase of `relax_mlir.phases`, or what
        `register_pipeline` has named.
    **kwargs
        The arguments of the pipeline.

    Returns
    -------
    Pass

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> from relax_mlir.script import from_source
    >>> mod = from_source('''
    ... @I.ir_module
    ... class Module:
    ...     @R.function
    ...     def main(x: R.Tensor(("n",), "float32")):
    ...         return R.exp(x)
    ... ''')
    >>> [gvar.name for gvar in get_pipeline("zero")(mod).get_global_vars()]
    ['main', 'exp']
    """
    make = PIPELINE_MAP.get(name)
    if make is None:
        known = ", ".join(PIPELINE_MAP)
        raise ValueError(f"expected the name of a pipeline, one of {known}, but got {name!r}")
    return make(**kwargs)


def run_before(module: IRModule, pipeline: str | Callable[..., IRModule] | None) -> IRModule:
    """Return a module after what `compile` is told to run before its phases.

    Parameters
    ----------
    module : IRModule
    pipeline : str, Pass or None
        The name of a pipeline, as `get_pipeline` takes it, or a pass. None, and "default", by its
        name or as `get_pipeline` returns it, leave the module as it is: that is all of `compile`.

    Raises
    ------
    ValueError
        If there is no pipeline of that name, or it is that of `compile` with other options.
    TypeError
        If it is neither a name nor a pass.
    """
    if isinstance(pipeline, _WholePipeline):
        if pipeline.options != CompileOptions():
            raise ValueError("expected options as arguments of compile, not of its pipeline")
        return module
    if pipeline is None or (isinstance(pipeline, str) and pipeline in _WHOLE):
        return module
    made = get_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    if not callable(made):
        known = ", ".join(PIPELINE_MAP)
        raise TypeError(f"expected a pass, or the name of a pipeline ({known}), but got {made!r}")
    result: IRModule = made(module)
    return result


def register_pipeline(name: str) -> Callable[[_Make], _Make]:
    """Return a decorator that names a function that returns a pipeline.

    Parameters
    ----------
    name : str

    Raises
    ------
    ValueError
        If the name is taken.
    TypeError
        If it is no str, or what is decorated is no function.

    Examples
    --------
    >>> from relax_mlir.transform import DeadCodeElimination
    >>> @register_pipeline("clean_legalize")
    ... def clean_legalize():
    ...     return Sequential([DeadCodeElimination(), zero_pipeline()])
    >>> get_pipeline("clean_legalize").passes[0]
    DeadCodeElimination()
    """
    require_str("name", name)
    if name in PIPELINE_MAP:
        raise ValueError(f"expected a new name of a pipeline, but got {name!r} again")

    def register(make: _Make) -> _Make:
        if not callable(make):
            raise TypeError(f"expected a function that returns a pipeline, but got {shown(make)}")
        PIPELINE_MAP[name] = make
        return make

    return register


__all__ = [
    "PIPELINE_MAP",
    "default_build_pipeline",
    "get_pipeline",
    "register_pipeline",
    "zero_pipeline",
]
