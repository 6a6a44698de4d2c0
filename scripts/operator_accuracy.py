# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the table of docs/dev/accuracy.md: how exact the result of each operator is.

python scripts/operator_accuracy.py --write docs/dev/accuracy.md
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from relax_mlir.reference.operators import OPERATORS, Operator

_BEGIN, _END = "<!-- operators -->\n", "<!-- end -->"


def _sum(constant: float, per_term: float) -> str:
    """Return a number of units over the number of terms.

    Examples
    --------
    >>> _sum(0.5, 0), _sum(0, 1), _sum(4, 2)
    ('1/2', 'n', '4 + 2 n')
    """
    terms = "" if not per_term else "n" if per_term == 1 else f"{per_term:g} n"
    number = "1/2" if constant == 0.5 else f"{constant:g}"
    if not terms:
        return number
    return f"{number} + {terms}" if constant else terms


def _bounds(row: Operator) -> tuple[str, str]:
    ulps = _sum(row.ulps, row.ulps_per_term) + (" (*)" if row.scale else "")
    return ulps, _sum(row.backward_error, row.backward_error_per_term)


def render() -> str:
    """Return the table: operators of the same bounds are a row."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, row in sorted(OPERATORS.items()):
        groups[_bounds(row)].append(f"`{name.removeprefix('relax.')}`")
    lines = ["| result: units in the last place | inputs: unit roundoffs | operators |"]
    lines.append("|---|---|---|")
    for (ulps, growth), names in sorted(groups.items(), key=_order):
        lines.append(f"| {ulps} | {growth} | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


def _order(item: tuple[tuple[str, str], list[str]]) -> tuple[int, float, str, str]:
    (ulps, growth), names = item
    row = OPERATORS[f"relax.{names[0].strip('`')}"]
    return (growth != "0", row.ulps, ulps, growth)


def insert(page: str) -> str:
    """Return a page with the table between its marks."""
    head, _, rest = page.partition(_BEGIN)
    return head + _BEGIN + render() + rest[rest.index(_END) :]


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="a page with marks around the table")
    path = parser.parse_args().write
    if path is None:
        print(render())
    else:
        path.write_text(insert(path.read_text()))


if __name__ == "__main__":
    main()
