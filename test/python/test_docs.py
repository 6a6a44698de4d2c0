"""The Python in the documentation runs, page by page, top to bottom."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from unittest import mock

import pytest
from relax_mlir.cli import main

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
    with mock.patch.dict(os.environ):  # a page shows how to set a variable
        for block in python_blocks(page):
            exec(compile(block, str(page), "exec"), namespace)


def test_commands_of_the_command_line_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of docs/CommandLine.md, after the Python that writes its files."""
    page = ROOT / "docs" / "CommandLine.md"
    monkeypatch.chdir(tmp_path)
    exec(compile(python_blocks(page)[0], str(page), "exec"), {})
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert {words[1] for words in commands} == {"inspect", "compile", "run", "bench", "profile"}
    for words in commands:
        assert words[0] == "relax-mlir"
        assert main(words[1:]) == 0, words


def test_readme_and_tutorial_have_examples() -> None:
    pages = {p.relative_to(ROOT).as_posix() for p in PAGES if python_blocks(p)}
    assert {"README.md", "docs/Tutorial.md"} <= pages


def test_environment_variables_are_documented() -> None:
    """Those of the project that the sources read, and no others."""
    folders = ("python/relax_mlir", "runtime", "lib", "test/python")
    sources = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    reads = (
        r"(?:getenv\(|setting\(|environ\.get\(|environ\[|^(?:SIZE_)?VARIABLE = |ORACLE = )"
        r'\s*"(RELAX_\w+)'
    )
    found: set[str] = set()
    for path in (ROOT / "dev", *sources):
        if path.suffix in ("", ".py", ".cc", ".cpp", ".h"):
            found |= set(re.findall(reads, path.read_text(), re.MULTILINE))
    page = (ROOT / "docs" / "reference" / "environment.md").read_text()
    assert found == set(re.findall(r"`(RELAX_\w+)`", page))


def test_links_lead_somewhere() -> None:
    """The files that links of pages name; the site checks anchors, too."""
    for page in [*PAGES, *(ROOT / "examples").rglob("*.md")]:
        if "generated" in page.parts:
            continue
        text = re.sub(
            r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE
        )
        for target in re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)[^)]*\)", text):
            path = page.parent / target
            is_generated = path.parent.name in ("api", "generated")
            assert path.exists() or is_generated, f"{page}: {target}"


def test_site_has_all_pages() -> None:
    """The map of the site names each page; `./dev docs` would fail otherwise."""
    names = set(re.findall(r"([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    assert {name for name in pages if not name.startswith("generated/")} <= names
    hooks = (ROOT / "scripts" / "site_hooks.py").read_text()
    modules = re.findall(r'^    "(relax_(?:mlir|runtime)[\w.]*)",$', hooks, re.MULTILINE)
    assert {f"api/{module}.md" for module in modules} == {n for n in names if n.startswith("api/")}


def test_architecture_names_what_exists() -> None:
    """Each folder, and each file beside it, of the tables of docs/Architecture.md."""
    text = (ROOT / "docs" / "Architecture.md").read_text()
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    layers = [row for row in rows if len(row) == 3]
    assert len(layers) > 10
    for folders, _, files in layers:
        for folder in re.findall(r"`(\S+/)`", folders):
            assert (ROOT / folder).is_dir(), folder
        for name in re.findall(r"`([\w/]+\.(?:cpp|h|td))`", files):
            assert list(ROOT.glob(f"{folders.split('`')[1].split('/')[0]}/**/{name}")) or list(
                ROOT.glob(f"include/**/{name}")
            ), name
    package = ROOT / "python" / "relax_mlir"
    for modules, _ in (row for row in rows if len(row) == 2 and "word" not in row[0]):
        for name in re.findall(r"`([a-z_]+/?)`", modules):
            assert (package / name).is_dir() or (package / f"{name}.py").is_file(), name
