# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of three matrices, and with sums, in the order that is cheaper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from relax_mlir import op
from relax_mlir.core.ir import Dim, Facts
from relax_mlir.transform import AdjustMatmulOrder, ExpandMatmulOfSum
from relax_mlir.transform.polynomials import Polynomial, Sizes
from rewriting_cases import build, check, names, tensor

LEFT, RIGHT = "left", "right"


def order(mod: Any) -> str:
    """Say which product of `main` is made first: of the first two parameters, or the last two."""
    text = str(mod)
    return LEFT if "relax.matmul %a, %b" in text else RIGHT


def chain(a: Any, b: Any, c: Any, first: str, dtype: str = "float32", **attrs: Any) -> Any:
    def write(a: Any, b: Any, c: Any) -> Any:
        if first == LEFT:
            return op.matmul(op.matmul(a, b), c)
        return op.matmul(a, op.matmul(b, c))

    params = [
        tensor(name, *shape, dtype=dtype) for name, shape in zip("abc", (a, b, c), strict=True)
    ]
    return build(write, *params, attrs=attrs)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    ("a", "b", "c", "best"),
    [
        ((3, 16), (16, 2), (2, 16), LEFT),
        ((16, 2), (2, 16), (16, 3), RIGHT),
        ((16,), (16, 2), (2, 16), LEFT),
        ((16, 2), (2, 16), (16,), RIGHT),
        ((16,), (16, 2), (2,), LEFT),
        ((2, 5, 16), (16, 2), (2, 16), LEFT),
        ((3, 2, 1, 7), (2, 7, 6), (3, 1, 6, 5), LEFT),
        ((32, 16), (16, 16), (2, 16, 1), RIGHT),
        ((16,), (16, 2), (3, 2, 16), LEFT),
    ],
)
def test_the_order_of_fewer_operations(a: Any, b: Any, c: Any, best: str, dtype: str) -> None:
    other = LEFT if best == RIGHT else RIGHT
    changed = check(AdjustMatmulOrder(), chain(a, b, c, other, dtype), ["matmul", "matmul"])
    assert order(changed) == best
    assert str(AdjustMatmulOrder()(changed)) == str(changed)
    check(AdjustMatmulOrder(), chain(a, b, c, best, dtype), None)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_shape_variables(dtype: str) -> None:
    mod = chain(("n", 16), (16, "r"), ("r", "n"), RIGHT, dtype)
    check(AdjustMatmulOrder(), mod, None)
    # 48 r operations of two vectors against 512 r + 512 of the other order.
    mod = chain((16,), (16, "r"), ("r", 32), RIGHT, dtype)
    assert order(check(AdjustMatmulOrder(), mod, ["matmul", "matmul"], r=3)) == LEFT
    mod = chain(("b", 1, 16), (16, "r"), ("r", 32), RIGHT, dtype)
    check(AdjustMatmulOrder(), mod, None)


@pytest.mark.parametrize(
    ("upper", "lower", "changes"),
    [
        ({"n": 15, "r": 15}, {}, True),
        ({"n": 64, "r": 64}, {}, False),
        ({"n": 15}, {}, True),
        ({"n": 40}, {"r": 8}, False),
        ({"r": 4}, {"n": 64}, True),
        ({"r": 16}, {}, True),
    ],
)
def test_declared_bounds(upper: Any, lower: Any, changes: bool) -> None:
    # r n 128 operations against (r + n) 4096: 1 / 32 < 1 / r + 1 / n
    bounds = {"tir_var_upper_bound": upper, "tir_var_lower_bound": lower}
    attrs = {key: value for key, value in bounds.items() if value}
    mod = chain(("n", 64), (64, "r"), ("r", 64), RIGHT, **attrs)
    sizes = {"n": lower.get("n", 5), "r": lower.get("r", 3)}
    wanted = ["matmul", "matmul"] if changes else None
    changed = check(AdjustMatmulOrder(), mod, wanted, **sizes)
    assert order(changed) == (LEFT if changes else RIGHT)


def test_constants_are_multiplied_with_each_other() -> None:
    a, b = np.ones((16, 2), "float32"), np.ones((2, 16), "float32")
    mod = build(lambda x: op.matmul(op.matmul(x, a), b), tensor("x", 3, 16))
    check(AdjustMatmulOrder(), mod, ["matmul", "matmul"])
    mod = build(lambda x: op.matmul(x, op.matmul(a, b)), tensor("x", 3, 16))
    check(AdjustMatmulOrder(), mod, None)
    mod = build(lambda x: op.add(x, op.matmul(op.matmul(a, b), a)), tensor("x", 16, 2))
    check(AdjustMatmulOrder(), mod, None)


@pytest.mark.parametrize("first", [LEFT, RIGHT])
def test_parameters_that_are_known_before(first: str) -> None:
    mod = chain((3, 16), (16, 2), (2, 16), first, num_input=1)
    changed = AdjustMatmulOrder()(mod)
    assert order(changed) == RIGHT


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("batch", [(), (3,), ("k",)])
def test_transposed_products(batch: Any, dtype: str) -> None:
    x = tensor("x", *batch, 1, 16, dtype=dtype)
    a, b = tensor("a", *batch, 32, 2, dtype=dtype), tensor("b", *batch, 2, 16, dtype=dtype)
    axes = [*range(len(batch)), len(batch) + 1, len(batch)]
    wanted = ["permute_dims", "matmul", "permute_dims", "matmul"]

    def right(x: Any, a: Any, b: Any) -> Any:
        return op.matmul(x, op.permute_dims(op.matmul(a, b), axes))

    check(AdjustMatmulOrder(), build(right, x, a, b), wanted, k=4)
    y = tensor("y", *batch, 32, 1, dtype=dtype)

    def left(y: Any, a: Any, b: Any) -> Any:
        return op.matmul(op.permute_dims(op.matmul(a, b), axes), y)

    check(AdjustMatmulOrder(), build(left, y, a, b), wanted, k=4)


def test_other_permutations_stay() -> None:
    cube = tensor("x", 32, 32, 32)
    mod = build(
        lambda a, b: op.matmul(op.permute_dims(op.matmul(a, a), [1, 2, 0]), b),
        cube,
        tensor("b", 32, 32, 1),
    )
    check(AdjustMatmulOrder(), mod, None)


def test_longer_chains() -> None:
    params = [tensor(name, 24, 24) for name in "abcd"]
    mod = build(
        lambda a, b, c, d, x: op.matmul(op.matmul(op.matmul(op.matmul(a, b), c), d), x),
        *params,
        tensor("x", 24),
    )
    changed = check(AdjustMatmulOrder(), mod, ["matmul"] * 4)
    assert str(changed).count("-> !relax.tensor<[24], f32>") == 4 + 2


def test_product_that_is_needed_anyway_costs_nothing() -> None:
    def write(x: Any, a: Any, b: Any) -> Any:
        weights = op.matmul(a, b)
        return op.tuple(op.matmul(x, weights), weights)

    # 3 * 16 * 16 operations are left to do, and would be 2 * 3 * 16 * 12.
    shapes = tensor("x", 3, 16), tensor("a", 16, 12), tensor("b", 12, 16)
    check(AdjustMatmulOrder(), build(write, *shapes), None)
    shapes = tensor("x", 3, 16), tensor("a", 16, 2), tensor("b", 2, 16)
    check(AdjustMatmulOrder(), build(write, *shapes), ["matmul", "matmul", "matmul"])


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        # Vectors of batches are no matrices: the product of all three has another meaning.
        ((16,), (2, 16, 2), (2, 16)),
        ((32, 2), (2,), (32, 32)),
        ((1, 4, 16), (16, 2), ("n", 2, 16)),
    ],
)
def test_what_is_not_associative_or_known_stays(a: Any, b: Any, c: Any) -> None:
    check(AdjustMatmulOrder(), chain(a, b, c, LEFT), None)


def test_other_data_types_of_products_stay() -> None:
    def write(x: Any, a: Any, b: Any) -> Any:
        return op.matmul(x, op.matmul(a, b, out_dtype="int8"), out_dtype="int32")

    params = tensor("x", 16, dtype="int8"), tensor("a", 16, 2, dtype="int8")
    mod = build(write, *params, tensor("b", 2, 16, dtype="int8"))
    check(AdjustMatmulOrder(), mod, None)


def test_inside_of_branches_and_other_functions() -> None:
    from relax_mlir.script import from_source

    mod = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor((16,), "float32"), a: R.Tensor((16, 2), "float32"),
               b: R.Tensor((2, 16), "float32"), flag: R.Tensor((), "bool")):
        w = R.matmul(a, b)
        if flag:
            y = R.matmul(x, w)
        else:
            y = x
        return y

    @R.function
    def main(x: R.Tensor((16,), "float32"), a: R.Tensor((16, 2), "float32"),
             b: R.Tensor((2, 16), "float32"), flag: R.Tensor((), "bool")):
        return Module.helper(x, a, b, flag)
""")
    changed = AdjustMatmulOrder()(mod)
    assert "relax.matmul %x, %a" in str(changed)
    assert names(changed, "helper").count("matmul") == 2


# ---------------------------------------------------------------------------------------------
# Numbers of operations
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_polynomials_are_positive_where_they_are_said_to_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    variables = ("m", "n", "r")
    value = Polynomial.constant(int(rng.integers(-5, 6)))
    for _ in range(3):
        term = tuple(sorted(rng.choice(variables, rng.integers(1, 4))))
        value = value + Polynomial({term: int(rng.integers(-4, 8))})
    bounds = {name: (1, 1 + int(rng.integers(0, 5))) for name in variables}
    grid = np.meshgrid(*(np.arange(low, high + 1) for low, high in bounds.values()))
    at = dict(zip(variables, grid, strict=True))
    values = sum(
        factor * np.prod([at[name] for name in term], axis=0) if term else factor
        for term, factor in value.terms.items()
    )
    is_positive = bool(np.all(np.asarray(values) > 0))
    said = value.is_positive(bounds)
    assert is_positive or not said
    linear = all(len(set(term)) == len(term) for term in value.terms)
    assert said == is_positive or not linear


def test_sizes_that_are_no_polynomials() -> None:
    n = Dim("n")
    sizes = Sizes([n, n // 2, n + 1], Facts(bounds={"n": (0, 10)}))
    assert sizes.bounds == {"n": (1, 10)}
    difference = sizes.product([n + 1, n // 2]) - sizes.of(n // 2)
    assert difference.is_positive(sizes.bounds)
    assert not (sizes.of(n // 2) - 1).is_positive(sizes.bounds)


# ---------------------------------------------------------------------------------------------
# Sums
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    ("x", "a", "b"),
    [
        ((3, 4), (4, 5), (4, 5)),
        (("n", 4), (4, "m"), (4, "m")),
        ((4,), (4, 5), (4, 5)),
        ((3, 4), (4,), (4,)),
        ((2, 3, 4), (4, 5), (4, 5)),
        ((3, 4), (2, 4, 5), (4, 5)),
        (("k", 3, 4), (1, 4, 5), ("k", 4, 5)),
    ],
)
def test_sums_become_sums_of_products(x: Any, a: Any, b: Any, dtype: str) -> None:
    params = [
        tensor(name, *shape, dtype=dtype) for name, shape in zip("xab", (x, a, b), strict=True)
    ]
    mod = build(lambda x, a, b: op.matmul(x, op.add(a, b)), *params)
    check(ExpandMatmulOfSum(), mod, ["matmul", "matmul", "add"], n=3, m=2, k=2)


@pytest.mark.parametrize("axes", [None, [1, 0]])
def test_transposed_sums(axes: Any) -> None:
    mod = build(
        lambda x, a, b: op.matmul(x, op.permute_dims(op.add(a, b), axes)),
        tensor("x", "n", 4),
        tensor("a", 5, 4),
        tensor("b", 5, 4),
    )
    wanted = ["permute_dims", "matmul", "permute_dims", "matmul", "add"]
    check(ExpandMatmulOfSum(), mod, wanted, n=3)


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        ((4, 5), (5,), None),  # repeated over rows
        ((4, 5), (4, 1), None),  # over columns
        ((4, 5), (), None),
        ((4, "m"), (4, "l"), None),  # one of both may be 1
        ((2, 5, 4), (5, 4), [0, 2, 1]),  # which axes are permuted is not the same
        ((2, 5, 4), (2, 1, 4), [0, 2, 1]),
    ],
)
def test_repeated_matrices_stay_in_the_sum(a: Any, b: Any, axes: Any) -> None:
    def write(x: Any, a: Any, b: Any) -> Any:
        total = op.add(a, b)
        return op.matmul(x, op.permute_dims(total, axes) if axes else total)

    mod = build(write, tensor("x", 3, 4), tensor("a", *a), tensor("b", *b))
    check(ExpandMatmulOfSum(), mod, None)


def test_sums_that_are_known_before_stay() -> None:
    params = tensor("x", 3, 4), tensor("a", 4, 5), tensor("b", 4, 5)
    mod = build(lambda x, a, b: op.matmul(x, op.add(a, b)), *params, attrs={"num_input": 1})
    check(ExpandMatmulOfSum(), mod, None)
    mod = build(lambda x, a, b: op.matmul(x, op.add(a, b)), *params, attrs={"num_input": 2})
    check(ExpandMatmulOfSum(), mod, ["matmul", "matmul", "add"])
    one = np.ones((4, 5), "float32")
    mod = build(lambda x: op.matmul(x, op.add(one, one)), params[0])
    check(ExpandMatmulOfSum(), mod, None)


def test_sums_that_overflow_before_they_are_widened_stay() -> None:
    params = [tensor(n, *s, dtype="int8") for n, s in (("x", (3, 4)), ("a", (4, 5)), ("b", (4, 5)))]
    mod = build(lambda x, a, b: op.matmul(x, op.add(a, b), out_dtype="int32"), *params)
    check(ExpandMatmulOfSum(), mod, None)


def test_lora() -> None:
    # The weights of a fine-tuned model: what is small stays small.
    params = [
        tensor("x", 1, 64), tensor("w", 64, 64), tensor("a", 64, "r"), tensor("b", "r", 64)
    ]  # fmt: skip
    mod = build(lambda x, w, a, b: op.matmul(x, op.add(w, op.matmul(a, b))), *params)
    mod = check(ExpandMatmulOfSum(), mod, ["matmul", "matmul", "matmul", "add"], r=4)
    mod = AdjustMatmulOrder()(mod)
    assert "relax.matmul %x, %a" in str(mod)
