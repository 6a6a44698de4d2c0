"""The table of operators in the documentation is that of the importers and the dialect."""

from __future__ import annotations

from pathlib import Path

import operator_table
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "operators.md"


def test_page_is_current() -> None:
    text = PAGE.read_text()
    assert text == operator_table.insert(text, operator_table.table()), (
        "run: python scripts/operator_table.py --write docs/reference/operators.md"
    )


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("exp", ["float", "`Exp`", "`exp`"]),
        ("nn.conv2d", ["float, int", "`Conv`", "`conv2d`, `convolution`"]),
        ("logical_and", ["bool", "`And`", "`logical_and`"]),
        ("nn.batch_norm", ["float", "`BatchNormalization`", "`batch_norm`, `native_batch_norm`"]),
    ],
)
def test_rows(row: str, cells: list[str]) -> None:
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{row}` |"))
    assert [cell.strip() for cell in line.split("|")[3:-1]] == cells


def test_data_types_of_an_operator_are_those_that_are_lowered() -> None:
    assert operator_table.is_lowered(
        operator_table.program_of(
            "%0 = relax.exp %x", "(!relax.tensor<[n], f16>) -> !relax.tensor<[n], f16>"
        )
    )
    assert not operator_table.is_lowered(
        operator_table.program_of(
            "%0 = relax.exp %x", "(!relax.tensor<[n], i32>) -> !relax.tensor<[n], i32>"
        )
    )
