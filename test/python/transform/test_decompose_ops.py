# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations as elementwise operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import op
from relax_mlir.transform import DecomposeOpsForInference, DecomposeOpsForTraining
from rewriting_cases import build, check, names, run, tensor

RNG = np.random.default_rng(0)
MEAN, VARIANCE = RNG.standard_normal(4).astype("float32"), RNG.random(4).astype("float32")
GAMMA, BETA = RNG.standard_normal((2, 4)).astype("float32")


def batch_norm(x: Any, **options: Any) -> Any:
    return op.nn.batch_norm(x, GAMMA, BETA, MEAN, VARIANCE, **{"axis": 1, **options})


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (("n", 4, 5), {}),
        (("n", 4, 5), {"scale": False}),
        (("n", 4), {"center": False, "epsilon": 0.5}),
        (("n", 3, 4), {"axis": -1}),
        ((4,), {"axis": 0}),
    ],
)
def test_batch_norm_for_inference(shape: Any, options: Any) -> None:
    mod = build(lambda x: batch_norm(x, training=False, **options), tensor("x", *shape))
    changed = DecomposeOpsForInference("main")(mod)
    assert "batch_norm" not in names(changed)
    check(DecomposeOpsForInference(), mod, names(changed), n=3)


def test_training_does_not_matter_for_inference() -> None:
    x = RNG.standard_normal((2, 4, 3)).astype("float32")
    mod = build(lambda x: batch_norm(x), tensor("x", "n", 4, 3))
    y, mean, variance = run(DecomposeOpsForInference()(mod), x)

    def wide(vector: np.ndarray) -> np.ndarray:
        return vector[:, None]

    scale = wide(GAMMA) / np.sqrt(wide(VARIANCE) + 1e-5)
    expected = (x - wide(MEAN)) * scale + wide(BETA)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(mean, MEAN)
    np.testing.assert_array_equal(variance, VARIANCE)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.4, "axis": -2}, {"training": False}])
def test_batch_norm_for_training(options: Any) -> None:
    mod = build(lambda x: batch_norm(x, **options), tensor("x", "n", 4, 5))
    changed = DecomposeOpsForTraining()(mod)
    assert "batch_norm" not in names(changed)
    assert ("variance" in names(changed)) == options.get("training", True)
    check(DecomposeOpsForTraining(), mod, names(changed), n=3)


@pytest.mark.parametrize("options", [{}, {"scale": False}, {"center": False, "epsilon": 0.5}])
@pytest.mark.parametrize("axes", [[-1], [1, 2]])
def test_layer_norm_for_training(axes: list[int], options: Any) -> None:
    shape = (4, 5)[-len(axes) :]
    mod = build(
        lambda x, gamma, beta: op.nn.layer_norm(x, gamma, beta, axes=axes, **options),
        tensor("x", "n", 4, 5),
        tensor("gamma", *shape),
        tensor("beta", *shape),
    )
    check(DecomposeOpsForInference(), mod, None)
    changed = DecomposeOpsForTraining()(mod)
    assert names(changed)[:3] == ["mean", "subtract", "variance"]
    check(DecomposeOpsForTraining(), mod, names(changed), n=3)


def test_gradient_of_what_is_decomposed() -> None:
    mod = build(
        lambda x: op.sum(op.square(batch_norm(x)[0])),
        tensor("x", 3, 4),
    )
    grad = relax.transform.Gradient("main")(DecomposeOpsForTraining()(mod))
    assert "main_adjoint" in [gvar.name for gvar in grad.get_global_vars()]


def two_functions() -> Any:
    bb = relax.BlockBuilder()
    for name in ("main", "other"):
        x = tensor("x", "n", 4)
        with bb.function(name, [x]):
            bb.emit_func_output(batch_norm(x)[0])
    return bb.get()


def test_one_function() -> None:
    changed = DecomposeOpsForInference("other")(two_functions())
    assert "batch_norm" in names(changed)
    assert "batch_norm" not in names(changed, "other")
    assert "relax.batch_norm" not in str(DecomposeOpsForInference()(two_functions()))


@pytest.mark.parametrize("pass_", [DecomposeOpsForInference, DecomposeOpsForTraining])
def test_error_of_a_function_that_is_not_there(pass_: Any) -> None:
    with pytest.raises(ValueError, match=r"\(main, other\), but got 'mein'"):
        pass_("mein")(two_functions())


def test_unknown_ranks_stay() -> None:
    x = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=2))
    mod = build(lambda x: batch_norm(x)[0], x)
    check(DecomposeOpsForTraining(), mod, None)
