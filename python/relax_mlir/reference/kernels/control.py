# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow: the dialects scf and func, and assertions of cf."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .prepare import Body, Env, Preparation, Step, step

# ------------------------------------------------------------------------------
# scf
# ------------------------------------------------------------------------------


def _range(lower: Any, upper: Any, stride: Any) -> Iterator[Any]:
    """Yield the places of a loop, as scalars of the type that the bounds have."""
    kind = type(lower) if isinstance(lower, np.generic) else np.int64
    if stride <= 0:
        raise ValueError(f"expected a step of at least 1, but got {stride}")
    return map(kind, range(int(lower), int(upper), int(stride)))


@step("scf.for")
def _for(preparation: Preparation, op: Any) -> Step:
    body = preparation.region(op)
    lower, upper, stride, *inits = preparation.places(op.operands)
    results = preparation.places(op.results)

    def run(env: Env) -> None:
        carried = [env[init] for init in inits]
        for index in _range(env[lower], env[upper], env[stride]):
            carried = body.run(env, [index, *carried])
        for place, value in zip(results, carried, strict=True):
            env[place] = value

    return run


@step("scf.while")
def _while(preparation: Preparation, op: Any) -> Step:
    before, after = preparation.region(op, 0), preparation.region(op, 1)
    inits, results = preparation.places(op.operands), preparation.places(op.results)

    def run(env: Env) -> None:
        condition, *values = before.run(env, [env[init] for init in inits])
        while condition:
            condition, *values = before.run(env, after.run(env, values))
        for place, value in zip(results, values, strict=True):
            env[place] = value

    return run


def _branches(preparation: Preparation, op: Any) -> list[Body | None]:
    regions = op.operation.regions
    return [
        preparation.region(op, index) if len(list(regions[index].blocks)) else None
        for index in range(2)
    ]


@step("scf.if")
def _if(preparation: Preparation, op: Any) -> Step:
    then, otherwise = _branches(preparation, op)
    (condition,) = preparation.places(op.operands)
    results = preparation.places(op.results)

    def run(env: Env) -> None:
        chosen = env[condition]
        if isinstance(chosen, np.ndarray) and chosen.ndim:
            # For many elements at once: both branches, which have no effects.
            assert then is not None and otherwise is not None
            pairs = zip(then.run(env, []), otherwise.run(env, []), strict=True)
            values = [np.where(chosen, a, b) for a, b in pairs]
        else:
            branch = then if chosen else otherwise
            values = branch.run(env, []) if branch else []
        for place, value in zip(results, values, strict=True):
            env[place] = value

    return run


@step("scf.execute_region")
def _execute_region(preparation: Preparation, op: Any) -> Step:
    body, results = preparation.region(op), preparation.places(op.results)

    def run(env: Env) -> None:
        for place, value in zip(results, body.run(env, []), strict=True):
            env[place] = value

    return run


@step("scf.parallel")
def _parallel(preparation: Preparation, op: Any) -> Step:
    """Run the iterations one after the other, and reductions in that order."""
    body = preparation.region(op)
    reductions = [preparation.block(region.blocks[0]) for region in body.end.operation.regions]
    places, results = preparation.places(op.operands), preparation.places(op.results)
    rank = (len(places) - len(results)) // 3

    def run(env: Env) -> None:
        bounds = [env[place] for place in places]
        sums = bounds[3 * rank :]
        loops = [_range(*bounds[i : 3 * rank : rank]) for i in range(rank)]
        for index in itertools.product(*map(list, loops)):
            values = body.run(env, list(index))
            sums = [
                reduction.run(env, [total, value])[0]
                for reduction, total, value in zip(reductions, sums, values, strict=True)
            ]
        for place, value in zip(results, sums, strict=True):
            env[place] = value

    return run


# ------------------------------------------------------------------------------
# func
# ------------------------------------------------------------------------------


@step("func.call")
def _call(preparation: Preparation, op: Any) -> Step:
    callee = preparation.kernels.prepared(op.attributes["callee"].value)
    places, results = preparation.places(op.operands), preparation.places(op.results)

    def run(env: Env) -> None:
        values = callee.run([env[place] for place in places])
        for place, value in zip(results, values, strict=True):
            env[place] = value

    return run


@step("cf.assert")
def _assert(preparation: Preparation, op: Any) -> Step:
    (condition,), message = preparation.places(op.operands), op.attributes["msg"].value

    def run(env: Env) -> None:
        if not env[condition]:
            raise AssertionError(message)

    return run
