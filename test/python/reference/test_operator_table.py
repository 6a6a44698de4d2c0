# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each operator of the dialect has a definition, and each definition has its operator."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from relax_mlir.dialects import _relax_ops_gen as generated
from relax_mlir.reference.operators import OPERATORS

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))
from operator_names import DIALECT, operators


def _generated() -> set[str]:
    """Return the names of all operations of the dialect."""
    classes = vars(generated).values()
    return {name for item in classes if (name := getattr(item, "OPERATION_NAME", None))}


def test_every_operator_is_defined() -> None:
    names = operators()
    assert len(set(names)) > 130
    assert set(names) <= _generated()
    assert sorted(OPERATORS) == sorted(set(names))


def _lowered() -> set[str]:
    """Return the classes that the tables of legalization name."""
    folder = DIALECT.parent / "lib" / "Conversion" / "RelaxToLinalg"
    text = "".join(path.read_text() for path in folder.glob("*.cpp"))
    return set(re.findall(r"\b(?:add|table\.add|add[A-Z]\w+|t\.add)<(\w+)Op[,>]", text))


def test_every_operator_with_a_kernel_is_defined() -> None:
    classes = {
        name.removesuffix("Op"): item.OPERATION_NAME
        for name, item in vars(generated).items()
        if hasattr(item, "OPERATION_NAME")
    }
    lowered = {classes[name] for name in _lowered() if name in classes}
    assert len(lowered) > 120
    assert lowered <= set(OPERATORS)
    # Hints are gone before kernels are made.
    hints = {"annotate_sharding", "end_checkpoint", "no_grad", "start_checkpoint"}
    hints.add("stop_lift_params")
    assert set(OPERATORS) - lowered == {f"relax.{name}" for name in hints}


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_bounds_are_plausible(name: str) -> None:
    row = OPERATORS[name]
    assert row.ulps in (0, 0.5) or 1 <= row.ulps <= 8
    grows = row.ulps_per_term or row.backward_error_per_term
    assert bool(grows) == (row.terms is not None)
