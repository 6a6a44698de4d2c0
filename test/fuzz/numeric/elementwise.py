# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elementwise operators: which there are, and for which numbers they are well conditioned.

Operators that are not in these tables are taken to be fine for all numbers.
"""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any

import numpy as np
from plan import function_of
from relax_mlir.op._ops_gen import ELEMENTWISE

INF = math.inf
_ANY = (-INF, INF)

#: The best ranges of operands.
DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "acos": ((-0.95, 0.95),),
    "acosh": ((1.05, INF),),
    "asin": ((-0.95, 0.95),),
    "atanh": ((-0.95, 0.95),),
    "cos": ((-20, 20),),
    "cosh": ((-6, 6),),
    "exp": ((-30, 6),),
    "log": ((0.05, INF),),
    "log_add_exp": ((-30, 30), (-30, 30)),
    "power": ((0.2, 3), (-3, 3)),
    "rsqrt": ((0.05, INF),),
    "sin": ((-20, 20),),
    "sinh": ((-6, 6),),
    "sqrt": ((0.01, INF),),
    "square": ((-50, 50),),
    "tan": ((-1.4, 1.4),),
    "divide": (_ANY, (0.1, INF)),
    "multiply": ((-100, 100), (-100, 100)),
    "floor_divide": (_ANY, (0.1, INF)),
    "floor_mod": (_ANY, (0.1, INF)),
    "mod": (_ANY, (0.1, INF)),
}

_RANGES: dict[str, Any] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "gelu": lambda x: np.maximum(x, -0.17),
    "gelu_tanh": lambda x: np.maximum(x, -0.17),
    "silu": lambda x: np.maximum(x, -0.28),
    "selu": lambda x: np.where(x > 0, 1.06 * x, -1.76),
    "relu": lambda x: np.maximum(x, 0),
    "erf": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "round": np.rint,
    "mod": lambda x, y: y,
    "floor_mod": lambda x, y: y,
    "log_add_exp": np.logaddexp,
    "atan2": lambda x, y: 4 * np.sign(x),
    "abs": np.abs,
}


@cache
def elementwise() -> dict[str, int]:
    """Return the operators of tensors alone that compute element by element, and of how many."""
    found = {}
    for full in sorted(ELEMENTWISE):
        name = full.removeprefix("relax.")
        parameters = inspect.signature(function_of(name)).parameters.values()
        if len(parameters) <= 2 and all(each.annotation == "TensorLike" for each in parameters):
            found[name] = len(parameters)
    return found


def range_of(name: str, bounds: list[tuple[float, float]]) -> tuple[float, float]:
    """Return about where the results of an operator are."""
    function = _RANGES.get(name) or getattr(np, name, None)
    finite = [(max(low, -1e6), min(high, 1e6)) for low, high in bounds]
    rng = np.random.default_rng(0)
    points = [
        np.concatenate([[low, low, high, high][:: 1 - 2 * (i % 2)], rng.uniform(low, high, 12)])
        for i, (low, high) in enumerate(finite)
    ]
    if len(points) == 2:
        points[1][:4] = [finite[1][0], finite[1][1], finite[1][0], finite[1][1]]
    try:
        with np.errstate(all="ignore"):
            numbers = np.asarray(function(*points), float)
    except (TypeError, ValueError):
        return -4.0, 4.0
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return -4.0, 4.0
    return float(numbers.min()), float(numbers.max())
