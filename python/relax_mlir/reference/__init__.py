# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The meaning of programs: an interpreter of the dialect over NumPy.

It is the executable form of the specification (`docs/spec/rows.tsv`; the ids of rows stand beside
what implements them) and of the text in `dialect/`, and knows nothing of how programs are compiled.
`run` evaluates a function, `VirtualMachine` all of a module; ``compile(mod, target="reference")``
gives an executable for `relax_mlir.VirtualMachine`.

Examples
--------
>>> import numpy as np
>>> import relax_mlir as relax
>>> from relax_mlir import op
>>> bb = relax.BlockBuilder()
>>> x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
>>> with bb.function("main", [x]):
...     _ = bb.emit_func_output(op.add(x, x))
>>> run(bb, "main", np.array([1, 2], "float32"))
Tensor(data=array([2., 4.], dtype=float32), dtype='float32')
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..core.ir_module import ModuleLike, as_module
from . import executable as executable  # the target "reference"
from .arithmetic import Arithmetic, Exact, Perturbed
from .boundary import give, take
from .interpreter import Interpreter
from .tensor import Tensor
from .values import Closure, DataType, Shape

__all__ = [
    "Arithmetic",
    "Closure",
    "DataType",
    "Exact",
    "Interpreter",
    "Perturbed",
    "Shape",
    "Tensor",
    "VirtualMachine",
    "give",
    "run",
    "take",
]


class VirtualMachine:
    """The functions of a module, by name.

    They take what `relax_mlir.VirtualMachine` takes, and return `Tensor`, `Shape`, tuples, numbers
    and strings.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
    arithmetic : Arithmetic, optional
        How results of operators are kept; rounded by default.

    Examples
    --------
    >>> VirtualMachine('''
    ... relax.func @main(%n: !relax.prim<i64, n>) -> !relax.shape<[n, 2]> {
    ...   %0 = relax.shape <[n, 2]>
    ...   relax.return %0 : !relax.shape<[n, 2]>
    ... }''')["main"](3)
    (3, 2)
    """

    def __init__(self, mod: ModuleLike, arithmetic: Arithmetic | None = None) -> None:
        module = as_module(mod).clone()
        module.verify()
        self.interpreter = Interpreter(module, arithmetic or Arithmetic())

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a public function."""
        closure = self.interpreter.entry(name)

        def function(*args: Any) -> Any:
            return closure(*map(take, args))

        return function

    def __contains__(self, name: str) -> bool:
        return name in self.interpreter.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.interpreter.entries)


def run(mod: ModuleLike, name: str, *args: Any, arithmetic: Arithmetic | None = None) -> Any:
    """Evaluate a function of a module.

    Parameters
    ----------
    mod : IRModule, Function, mlir.ir.Module, str or BlockBuilder
    name : str
        A public function.
    *args
        NumPy arrays and anything else that `relax_mlir.VirtualMachine` takes.
    arithmetic : Arithmetic, optional
        `Arithmetic`: rounded (default). `Exact`: float64. `Perturbed`: moved within the bounds.

    Returns
    -------
    Tensor, Shape, tuple, bool, int, float, str or None

    Examples
    --------
    >>> run('''
    ... relax.func @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {
    ...   relax.return %n : !relax.prim<i64>
    ... }''', "main", 3)
    3
    """
    return VirtualMachine(mod, arithmetic)[name](*args)
