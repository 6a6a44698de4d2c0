# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors about unknown names say which name is nearly the same."""

import pytest
from relax_mlir import op, transform
from relax_mlir.dpl import is_op


@pytest.mark.parametrize(
    ("owner", "name", "message"),
    [
        (op, "addx", "has no attribute 'addx'; did you mean 'op.add'?"),
        (op, "relu", "has no attribute 'relu'; did you mean 'op.nn.relu'?"),
        (op, "frobnicate", "has no attribute 'frobnicate'"),
        (transform, "LegalizeOp", "has no attribute 'LegalizeOp'; did you mean 'LegalizeOps'?"),
    ],
)
def test_attributes(owner, name, message):
    with pytest.raises(AttributeError) as error:
        getattr(owner, name)
    assert str(error.value).endswith(message)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("relax.addx", "; did you mean 'relax.add'?"),
        ("relax.nn.sofmax", "; did you mean 'relax.nn.softmax'?"),
        ("relax.frobnicate", ""),
    ],
)
def test_operators_of_patterns(name, hint):
    with pytest.raises(ValueError, match="expected the name of an operator") as error:
        is_op(name)
    assert str(error.value).endswith(f"but got {name!r}{hint}")
