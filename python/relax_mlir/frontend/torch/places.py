# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines of a model that its graph was traced from."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

import torch
from mlir import ir

from ...core.context import at_place

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)')
_PYTORCH = str(Path(torch.__file__).parent)


@dataclass(frozen=True)
class Place:
    """A line of a model.

    Attributes
    ----------
    file : str
    line : int
    function : str
    code : str
        What the line says; empty if it is not known.
    module : str
        The module that calls the operator, such as "layers.0.attention"; empty for the model.
    """

    file: str
    line: int
    function: str
    code: str = ""
    module: str = ""

    @property
    def location(self) -> ir.Location:
        """The location of operations that the line becomes."""
        return at_place(self.file, self.line, module=self.module)

    def __str__(self) -> str:
        module = f"module '{self.module}': " if self.module else ""
        line = f'File "{self.file}", line {self.line}, in {self.function} {self.code}'
        return module + line.rstrip()


def place_of(node: torch.fx.Node) -> Place | None:
    """Return the innermost line that calls an operator, not counting those of PyTorch.

    Parameters
    ----------
    node : torch.fx.Node

    Returns
    -------
    Place or None
        None where the graph does not say, as graphs that are made by hand.

    Examples
    --------
    >>> graph = torch.fx.Graph()
    >>> node = graph.placeholder("x")
    >>> node.meta["stack_trace"] = '''
    ...   File "model.py", line 8, in forward
    ...     return self.head(x)'''
    >>> print(place_of(node))
    File "model.py", line 8, in forward return self.head(x)
    """
    lines = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()]
    found = []
    for line, code in zip(lines, [*lines[1:], ""], strict=False):
        if frame := _FRAME.match(line):
            has_code = code and not _FRAME.match(code)
            found.append(
                Place(
                    frame["file"], int(frame["line"]), frame["function"], code if has_code else ""
                )
            )
    own = [place for place in found if not place.file.startswith(_PYTORCH)]
    places = own or found
    return dataclasses.replace(places[-1], module=_module_of(node)) if places else None


def _module_of(node: torch.fx.Node) -> str:
    """Return the innermost module that calls an operator; empty where the graph does not say."""
    stack = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    return stack[-1].removeprefix("L['self']").lstrip(".") if stack else ""  # as Dynamo writes


def at_place_of(node: torch.fx.Node) -> contextlib.AbstractContextManager[object]:
    """Have the operations that are written meanwhile be of the line of a node."""
    place = place_of(node)
    return contextlib.nullcontext() if place is None else place.location
