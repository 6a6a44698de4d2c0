# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tests that ONNX has for its operators, each as a model of one node, or of its function.

`onnx_gaps.txt` lists those that do not pass, by reason: they have to be refused at import, in
words, or to have a reason why numbers differ. A test that begins to pass has to leave the list.
"""

from __future__ import annotations

import fcntl
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx.backend.test.loader import load_model_tests  # noqa: E402
from onnx.backend.test.runner import Runner  # noqa: E402
from relax_mlir.frontend.onnx.backend import Backend  # noqa: E402

FOLDER = Path(__file__).parents[3] / ".pytest_cache" / "onnx"

GAPS = Path(__file__).with_name("onnx_gaps.txt")
# The groups of results that differ, in the last bits or since they are random.
RANDOM = "random numbers are others than those of NumPy"
OTHER_NUMBERS = (
    "half precision is rounded in other places",
    RANDOM,
    "the expected numbers are rounded, where the result is exact",
)


def node_cases() -> list[Any]:
    """The cases, which ONNX computes in NumPy for half a minute: one process does it for all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = FOLDER / f"node-{onnx.__version__}-{np.__version__}.pickle"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the numbers of the tests overflow on purpose
                cases = load_model_tests(kind="node")
            written = kept.with_suffix(".new")
            written.write_bytes(pickle.dumps(cases))
            written.rename(kept)
    return pickle.loads(kept.read_bytes())


CASES = node_cases()


def gaps() -> dict[str, str]:
    """The reason of each test that does not pass."""
    reasons, reason = {}, ""
    for line in GAPS.read_text().splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            assert line not in reasons, line
            reasons[line] = reason
    return reasons


REASONS = gaps()


def parameter(case: Any) -> Any:
    reason = REASONS.get(case.name)
    if reason is None:
        return pytest.param(case, id=case.name)
    raised = AssertionError if reason in OTHER_NUMBERS else NotImplementedError
    strict = reason != RANDOM  # ten booleans are sometimes the same by chance
    mark = pytest.mark.xfail(reason=reason, raises=raised, strict=strict)
    return pytest.param(case, id=case.name, marks=mark)


def as_array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def flat(values: Any) -> list[Any]:
    """Arrays with sequences as their lengths and elements."""
    result: list[Any] = []
    for value in values:
        is_sequence = isinstance(value, list)
        result += [np.array(len(value)), *flat(value)] if is_sequence else [as_array(value)]
    return result


@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_node(case: Any) -> None:
    model = Backend.prepare(case.model, "CPU", opt_level=0)
    for inputs, wanted in case.data_sets:
        got = model.run([as_array(value) for value in inputs])
        Runner.assert_similar_outputs(flat(wanted), flat(got), case.rtol, case.atol)


def test_gaps_are_tests() -> None:
    assert set(REASONS) <= {case.name for case in CASES}


def test_run_node() -> None:
    node = onnx.helper.make_node("Add", ["x", "y"], ["z"])
    x = np.arange(3, dtype="float32")
    (z,) = Backend.run_node(node, [x, x])
    np.testing.assert_array_equal(z, x + x)


def test_devices() -> None:
    assert Backend.supports_device("CPU")
    assert not Backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="expected device CPU, but got CUDA"):
        Backend.prepare(CASES[0].model, "CUDA")
