"""The Python in the documentation runs, page by page, top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def python_blocks(page: Path) -> list[str]:
    """The fenced Python of a page, with blank lines in front, so that lines count alike."""
    text = page.read_text()
    blocks = re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return ["\n" * text[: m.start(1)].count("\n") + m.group(1) for m in blocks]


@pytest.mark.parametrize(
    "page", [p for p in PAGES if python_blocks(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # for the files that it writes
    namespace: dict[str, object] = {"__name__": "page"}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), namespace)


def test_readme_and_tutorial_have_examples() -> None:
    pages = {p.relative_to(ROOT).as_posix() for p in PAGES if python_blocks(p)}
    assert {"README.md", "docs/Tutorial.md"} <= pages
