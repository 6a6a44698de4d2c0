# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of `relax_mlir.compile`, crossed so that each pair of values comes up together."""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import Any

#: The first value of each is the default.
FACTORS: dict[str, tuple[Any, ...]] = {
    "exec_mode": ("compiled", "bytecode"),
    "fuse": (True, False),
    "emit_kernels": (True, False),
    "vector_bits": (0, 128, 256, 512),
    "threads": (2, 1, 3),
    "opt_level": (3, 0, 1, 2),
    "fast_math": (False, True),
    "winograd": (True, False),
    "checks": ("all", "necessary"),
    "plan_memory": (True, False),
    "fold_constants": (True, False),
    "combine_matmuls": (True, False),
    "integer_products": (True, False),
    "mcpu": ("native", "x86-64-v2", "x86-64-v3"),
}


def _pairs(row: dict[str, Any]) -> set[tuple[Any, ...]]:
    names = sorted(row)
    return {(a, row[a], b, row[b]) for a, b in itertools.combinations(names, 2)}


@cache
def covering() -> tuple[dict[str, Any], ...]:
    """Return sets of options in which each pair of values of two options comes up.

    The first one is the default.

    Each is the best of some that were drawn: that with most pairs which are new.
    """
    rng = random.Random(0)
    wanted = {
        (a, x, b, y)
        for a, b in itertools.combinations(sorted(FACTORS), 2)
        for x in FACTORS[a]
        for y in FACTORS[b]
    }
    rows = [{name: values[0] for name, values in FACTORS.items()}]
    wanted -= _pairs(rows[0])
    while wanted:
        a, x, b, y = min(wanted, key=str)
        drawn = [{n: rng.choice(v) for n, v in FACTORS.items()} | {a: x, b: y} for _ in range(60)]
        best = max(drawn, key=lambda row: len(wanted & _pairs(row)))
        rows.append(best)
        wanted -= _pairs(best)
    return tuple(rows)


def options_of(number: int, mcpu: str | None = None) -> tuple[dict[str, Any], ...]:
    """Return the sets of options of a program: two of the covering ones.

    The first one fuses kernels and knows their classes, as the default does, since most of what can
    go wrong is there.
    """
    rows = covering()
    second = rows[1 + number % (len(rows) - 1)]
    first = rows[0] if number % 3 == 0 else rows[1 + (number * 7 + 3) % (len(rows) - 1)]
    first = {**first, "fuse": True, "emit_kernels": True}
    return tuple({**row, **({"mcpu": mcpu} if mcpu else {})} for row in (first, second))


def arguments(row: dict[str, Any]) -> dict[str, Any]:
    """Return what `relax_mlir.compile` takes for a set of options."""
    given = {key: value for key, value in row.items() if key not in ("threads", "mcpu")}
    mcpu = row.get("mcpu", "native")
    return given | ({} if mcpu == "native" else {"target": f"llvm -mcpu={mcpu}"})


def changed(row: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are not the default."""
    return {key: value for key, value in row.items() if value != FACTORS[key][0]}
