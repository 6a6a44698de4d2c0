# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write the documentation of the operations that the dialect defines, for C++.

Usage: generate_op_docs.py RECORDS --output OUTPUT, with the records of RelaxOps.td as
``llvm-tblgen --dump-json`` prints them. Each line of the output is an initializer, the name of an
operation and its summary and description in Markdown, in the order of the names.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generate_ops import RULES

HEADER = "// Written by scripts/generate_op_docs.py; do not edit.\n"


def document(record: dict[str, Any]) -> str:
    """Return the documentation of an operation."""
    text = record["summary"] + "\n\n" + textwrap.dedent(record["description"] or "").strip()
    return RULES.sub("", text.strip()) + "\n"


def generate(records: dict[str, Any]) -> str:
    """Return the initializers of all operations.

    Raises
    ------
    ValueError
        If an operation has no summary.
    """
    docs = {}
    for record in (records[name] for name in records["!instanceof"]["Op"]):
        dialect = records[record["opDialect"]["def"]]["name"]
        name = f"{dialect}.{record['opName']}"
        if not record["summary"]:
            raise ValueError(f"{name}: expected a summary, but got none")
        docs[name] = document(record)
    return HEADER + "".join(f'{{"{name}", R"md({docs[name]})md"}},\n' for name in sorted(docs))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the initializers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    records = json.loads(options.records.read_text(encoding="utf-8"))
    options.output.write_text(generate(records), encoding="utf-8")


if __name__ == "__main__":
    main()
