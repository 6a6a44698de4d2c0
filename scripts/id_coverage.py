"""Test coverage of the rows of the specification.

The rows are in docs/spec/rows.tsv; a test names the row it is about (`WF05`) in its own name, in
a comment beside it, in a table of cases or in the name of a lit function. A row is tested
*negatively* where a file, a test or a table with `invalid`, `reject` or `error` in its name
mentions it, and *positively* where any other does. docs/spec/unviolable.tsv says of which rows
there cannot be a negative test, and why.
"""

from __future__ import annotations

import argparse
import ast
import csv
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEST_FILES = ("test/lit/**/*.mlir", "test/python/**/*.py", "runtime/test/**/*")
OWN_TEST = "test_id_coverage.py"

NEGATIVE = re.compile(r"invalid|reject|error", re.IGNORECASE)
# The line that names a test: in the runtime's C++, a function in MLIR.
TEST_NAME = re.compile(r"\bvoid (test\w*)\(|\bfunc\b[^@\n]*@([\w.$-]+)")


@dataclass
class Coverage:
    """The rows by id, and which of them the tests mention."""

    rows: dict[str, str]
    positive: set[str] = field(default_factory=set)
    negative: set[str] = field(default_factory=set)
    unknown: dict[str, Path] = field(default_factory=dict)
    unviolable: dict[str, str] = field(default_factory=dict)  # the reason by id

    def missing(self, prefixes: Sequence[str] = ("",)) -> list[str]:
        """Return the ids with one of the prefixes that no test mentions."""
        tested = self.positive | self.negative
        return [i for i in self.rows if i.startswith(tuple(prefixes)) and i not in tested]

    def problems(self, prefix: str) -> Iterator[str]:
        """Yield which tests rows with a prefix lack; a negative one only where there can be one."""
        rows = [row for row in self.rows if row.startswith(prefix)]
        if not rows:
            yield f"--require: no row starts with '{prefix}'"
        for row in rows:
            if row not in self.positive:
                yield f"{row}: expected a positive test, but got none"
            if row not in self.negative and row not in self.unviolable:
                yield f"{row}: expected a negative test, but got none"


def read_rows(path: Path, column: str = "requirement") -> dict[str, str]:
    """Return a column by id, in the order of the file; nothing if there is no such file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["id"]: row[column] for row in rows}


def id_pattern(rows: dict[str, str]) -> re.Pattern[str]:
    """Return a pattern for ids, which may stand between underscores: `test_wf05_scope`."""
    prefixes = "|".join(sorted({i[:2] for i in rows}))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{prefixes})\d\d(?![A-Za-z0-9])", re.IGNORECASE)


def statements(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int, int]]:
    """Yield the name and the first and last line of each function and table, of classes too."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from statements(node.body)
            continue
        name, first = "", node.lineno
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = node.name
            first = min([first, *(each.lineno for each in node.decorator_list)])
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            name = " ".join(each.id for each in targets if isinstance(each, ast.Name))
        yield name, first, node.end_lineno or first


def python_sections(text: str) -> Iterator[tuple[str, str]]:
    """Split a file of Python into (name of the test or table, its text with comments above)."""
    lines = text.splitlines()
    for name, first, last in statements(ast.parse(text).body):
        while first > 1 and lines[first - 2].lstrip().startswith("#"):
            first -= 1
        yield name, "\n".join(lines[first - 1 : last])


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Split a file of another language into (name of the test, its text).

    A test begins with the paragraph that holds its name, so that the comments and decorators above
    belong to it; what stands before the first test has no name.
    """
    name = ""
    lines: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        found = TEST_NAME.search(paragraph)
        if found:
            yield name, "\n".join(lines)
            name, lines = next(group for group in found.groups() if group), []
        lines.append(paragraph)
    yield name, "\n".join(lines)


def scan_file(path: Path, ids: re.Pattern[str], coverage: Coverage) -> None:
    """Note every id that the file mentions."""
    text = path.read_text(encoding="utf-8", errors="ignore")
    split = python_sections if path.suffix == ".py" else sections
    for name, section in split(text):
        is_negative = bool(NEGATIVE.search(path.name) or NEGATIVE.search(name))
        for found in ids.findall(section):
            row = found.upper()
            if row not in coverage.rows:
                coverage.unknown[row] = path
                continue
            (coverage.negative if is_negative else coverage.positive).add(row)


def scan(root: Path) -> Coverage:
    """Read the rows and every test below `root`."""
    spec = root / "docs" / "spec"
    coverage = Coverage(read_rows(spec / "rows.tsv"))
    coverage.unviolable = read_rows(spec / "unviolable.tsv", "reason")
    coverage.unknown.update(
        (row, spec / "unviolable.tsv") for row in coverage.unviolable if row not in coverage.rows
    )
    ids = id_pattern(coverage.rows)
    for pattern in TEST_FILES:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and path.name != OWN_TEST:
                scan_file(path, ids, coverage)
    return coverage


def print_table(coverage: Coverage) -> None:
    """Print one line per prefix: rows, those tested each way, those without a test."""
    print(f"{'prefix':8}{'rows':>6}{'positive':>10}{'negative':>10}{'none':>6}")
    for prefix in [*dict.fromkeys(i[:2] for i in coverage.rows), ""]:
        rows = {i for i in coverage.rows if i.startswith(prefix)}
        counts = (len(rows & coverage.positive), len(rows & coverage.negative))
        none = len(coverage.missing([prefix]))
        print(f"{prefix or 'all':8}{len(rows):6}{counts[0]:10}{counts[1]:10}{none:6}")


def print_rows(coverage: Coverage, prefixes: Sequence[str]) -> None:
    """Print each row with a prefix: its tests, or why it has no negative one."""
    for row, text in coverage.rows.items():
        if not row.startswith(tuple(prefixes)):
            continue
        positive = "positive" if row in coverage.positive else "-"
        negative = "negative" if row in coverage.negative else "-"
        reason = coverage.unviolable.get(row, "") if negative == "-" else ""
        print(f"{row}  {positive:8}  {negative:8}  {text}" + (f" [{reason}]" if reason else ""))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description="Which rows of docs/spec/rows.tsv have a test.")
    parser.add_argument("--require", default="", metavar="GR,SC", help="rows that must have tests")
    parser.add_argument("--show", default="", metavar="GR,SC", help="print these rows, all of them")
    parser.add_argument("--list", action="store_true", help="print the rows that have none")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to look at")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; return 1 for an id that no row has or a required row without a test."""
    args = parse(arguments)
    coverage = scan(args.root)
    print_table(coverage)
    if args.show:
        print_rows(coverage, args.show.split(","))
    if args.list:
        for row in coverage.missing():
            print(f"{row}  {coverage.rows[row]}")
    errors = [
        f"{row}: no such row, but {path} names it" for row, path in sorted(coverage.unknown.items())
    ]
    for prefix in filter(None, args.require.split(",")):
        errors += coverage.problems(prefix)
    for error in errors:
        print(f"error: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
