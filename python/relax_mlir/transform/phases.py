# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The phases of compilation as sequences of passes, each of which instruments see."""

from __future__ import annotations

from collections.abc import Iterator

from mlir.passmanager import PassManager

from .._mlir_libs import _relax_mlir as _ext
from ..core.context import current_context
from .base import MLIRPass, Sequential
from .registry import name_of


def split_pipeline(text: str) -> list[str]:
    """Return the passes of a pipeline, as the text of a pipeline on a module each.

    Parameters
    ----------
    text : str
        A pipeline as MLIR prints it.

    Examples
    --------
    >>> split_pipeline("builtin.module(relax.func(cse,relax-normalize),lower{a=1,2 b={c}})")
    ['relax.func(cse)', 'relax.func(relax-normalize)', 'lower{a=1,2 b={c}}']
    """
    inner = text.strip().removeprefix("builtin.module(").removesuffix(")")
    return [one for element in _elements(inner) for one in _flatten(element)]


def _elements(text: str) -> Iterator[str]:
    """Yield the parts that commas outside of all brackets separate."""
    depth = start = 0
    for place, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


def _flatten(element: str) -> Iterator[str]:
    head, bracket, rest = element.partition("(")
    if not bracket or "{" in head:
        yield element
        return
    for inner in _elements(rest.removesuffix(")")):
        for one in _flatten(inner):
            yield f"{head}({one})"


def phase(name: str, **options: str) -> Sequential:
    """Return a phase of compilation as a sequence of passes.

    Parameters
    ----------
    name : str
        One of `relax_mlir.phases`.
    **options : str
        The options of the pipeline ``relax-phase-<name>``, such as ``checks="necessary"``.

    Returns
    -------
    Sequential

    Raises
    ------
    ValueError
        If there is no such phase.

    Examples
    --------
    >>> phase("normalize").passes
    (Normalize(), CheckWellFormed(), DeriveStructInfo())
    """
    names = [known for known, _ in _ext.phases()]
    if name not in names:
        raise ValueError(f"expected a phase, one of {', '.join(names)}, but got {name!r}")
    given = " ".join(f"{option}={value}" for option, value in options.items())
    pipeline = f"builtin.module(relax-phase-{name}{{{given}}})"
    text = str(PassManager.parse(pipeline, context=current_context()))
    passes = [MLIRPass(one, name_of(one)) for one in split_pipeline(text)]
    return Sequential(passes, name=name)
