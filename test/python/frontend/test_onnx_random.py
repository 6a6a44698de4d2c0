# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of ONNX that draw random numbers, of a seed or of a key."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import relax_mlir as relax  # noqa: E402
from onnx_models import graph  # noqa: E402
from relax_mlir.frontend.onnx import InferenceSession, from_onnx, set_seed  # noqa: E402
from relax_mlir.transform.signatures import param_names  # noqa: E402

COUNT = 4096
X = np.full((64, 64), 0.3, "float32")

# Nodes, and the mean and standard deviation of what they draw.
DISTRIBUTIONS = {
    "uniform": ("RandomUniform<shape = [64, 64], low = -1.0, high = 3.0>()", 1.0, 4 / 12**0.5),
    "uniform_like": ("RandomUniformLike(x)", 0.5, 12**-0.5),
    "uniform_of_dtype": ("RandomUniformLike<dtype = 11>(x)", 0.5, 12**-0.5),
    "normal": ("RandomNormal<shape = [64, 64], mean = 2.0, scale = 3.0>()", 2.0, 3.0),
    "normal_like": ("RandomNormalLike(x)", 0.0, 1.0),
    "bernoulli": ("Bernoulli(x)", 0.3, 0.21**0.5),
    "bernoulli_of_dtype": ("Bernoulli<dtype = 7>(x)", 0.3, 0.21**0.5),
    "dropout": ("Dropout(x, quarter, true)", 0.3, 0.3 * (1 / 3) ** 0.5),
}
DTYPES = {"uniform_of_dtype": "double", "bernoulli_of_dtype": "int64"}


def model_of(name: str, attributes: str = ""):
    call, *_ = DISTRIBUTIONS[name]
    if attributes:
        head, _, inputs = call.partition("(")
        call = f"{head[:-1]}, {attributes}>({inputs}" if head.endswith(">") else (
            f"{head}<{attributes}>({inputs}"
        )  # fmt: skip
    return graph(
        f"""(float[n, 64] x) => ({DTYPES.get(name, "float")}[n, 64] y)
        <float quarter = {{0.25}}, bool true = {{1}}> {{ y = {call} }}"""
    )


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(name):
    _, mean, std = DISTRIBUTIONS[name]
    session = InferenceSession(model_of(name))
    assert [one.name for one in session.get_inputs()] == ["x"]
    set_seed(1)
    first, second = (session.run(None, {"x": X})[0] for _ in range(2))
    set_seed(1)
    again = session.run(None, {"x": X})[0]
    for numbers in (first, second):
        x = numbers.astype("float64")
        assert abs(x.mean() - mean) < 5 * std / COUNT**0.5
        assert abs(x.std() / std - 1) < 5 * (4 / COUNT) ** 0.5
    assert (first == again).all()
    assert (first != second).any()


@pytest.mark.parametrize("name", ["uniform", "normal_like", "bernoulli", "dropout"])
def test_a_seed_fixes_the_numbers(name):
    mod = from_onnx(model_of(name, "seed = 3.0"))
    assert param_names(mod["main"]) == ["x"]
    one, two = (
        InferenceSession(model_of(name, f"seed = {seed}")).run(None, {"x": X})[0]
        for seed in (3.0, 4.0)
    )
    assert (one == InferenceSession(model_of(name, "seed = 3.0")).run(None, {"x": X})[0]).all()
    assert (one != two).any()


def test_samples():
    model = graph(
        "(float[n, 3] x) => (int32[n, 9000] y) { y = Multinomial<sample_size = 9000>(x) }"
    )
    chances = np.array([[0.2, 0.3, 0.5], [0.0, 0.75, 0.25]], "float32")
    with np.errstate(divide="ignore"):
        drawn = InferenceSession(model).run(None, {"x": np.log(chances) + 7})[0]
    for row, chance in zip(drawn, chances, strict=True):
        shares = np.bincount(row, minlength=3) / 9000
        assert (abs(shares - chance) <= 5 * np.sqrt(chance * (1 - chance) / 9000)).all()


def test_mask_of_dropout():
    model = graph(
        """(float[n, 64] x) => (float[n, 64] y, bool[n, 64] mask)
        <float ratio = {0.25}, bool true = {1}> { y, mask = Dropout(x, ratio, true) }"""
    )
    y, mask = InferenceSession(model).run(None, {"x": X})
    assert 0.7 < mask.mean() < 0.8
    np.testing.assert_allclose(y, np.where(mask, X / 0.75, 0), rtol=1e-6)


def test_key_is_the_last_input(exec_mode):
    model = graph(
        """(float[n, 4] random_key, bool c) => (float[n, 4] y) {
          noise = RandomNormalLike(random_key)
          other = If(c) <
            then_branch = one () => (float[n, 4] a) { a = RandomUniformLike(random_key) },
            else_branch = two () => (float[n, 4] b) { b = Identity(noise) }>
          y = Sub(other, noise)
        }"""
    )
    mod = from_onnx(model)
    assert param_names(mod["main"]) == ["random_key", "c", "random_key_1"]
    main = relax.VirtualMachine(relax.compile(mod))["main"]
    x, key = np.zeros((3, 4), "float32"), np.array(5, "uint64")
    assert (np.from_dlpack(main(x, np.array(False), key)) == 0).all()
    noise = np.from_dlpack(main(x, np.array(True), key))
    assert (noise == np.from_dlpack(main(x, np.array(True), key))).all()
    assert len(np.unique(noise)) == 12


def test_each_node_has_numbers_of_its_own():
    model = graph(
        """(float[n, 64] x) => (float[n, 64] y) {
          a = RandomNormalLike(x)
          b = RandomNormalLike(x)
          y = Sub(a, b)
        }"""
    )
    y = InferenceSession(model).run(None, {"x": X})[0]
    assert abs(y.std() / 2**0.5 - 1) < 0.1
