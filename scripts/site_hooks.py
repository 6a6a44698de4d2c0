# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What MkDocs does for the site beside rendering pages (mkdocs.yml names this file).

- The pages of the API reference are made: one for each module of `MODULES`, with every public name.
- The notebooks of examples/notebooks/ become pages.
- Links to files of the repository that are no pages become their paths, if the files exist.
- After the build, the inventory of the site is compared with the public names.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks.site")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "examples" / "notebooks"
# The package with what is generated from TableGen files, which `./dev docs` puts there.
PACKAGE = ROOT / "build" / "docs" / "package"
# The modules with public names.
MODULES = (
    "relax_mlir",
    "relax_mlir.op",
    "relax_mlir.op.nn",
    "relax_mlir.op.ccl",
    "relax_mlir.op.dist",
    "relax_mlir.op.grad",
    "relax_mlir.op.builtin",
    "relax_mlir.op.inspect",
    "relax_mlir.op.memory",
    "relax_mlir.op.vm",
    "relax_mlir.composites.basic",
    "relax_mlir.composites.nn",
    "relax_mlir.composites.image",
    "relax_mlir.composites.random",
    "relax_mlir.composites.vision",
    "relax_mlir.script",
    "relax_mlir.script.ir",
    "relax_mlir.script.relax",
    "relax_mlir.script.tir",
    "relax_mlir.te",
    "relax_mlir.tir",
    "relax_mlir.topi",
    "relax_mlir.topi.nn",
    "relax_mlir.transform",
    "relax_mlir.analysis",
    "relax_mlir.quantization",
    "relax_mlir.dpl",
    "relax_mlir.backend",
    "relax_mlir.backend.cublas",
    "relax_mlir.backend.cuda_tile",
    "relax_mlir.backend.dnnl",
    "relax_mlir.backend.patterns",
    "relax_mlir.expr_functor",
    "relax_mlir.instrument",
    "relax_mlir.frontend.torch",
    "relax_mlir.frontend.onnx",
    "relax_mlir.frontend.stablehlo",
    "relax_mlir.frontend.relay",
    "relax_mlir.training",
    "relax_mlir.training.loss",
    "relax_mlir.training.optimizer",
    "relax_mlir.model_explorer",
    "relax_mlir.vm",
    "relax_mlir.artefact",
    "relax_mlir.target",
    "relax_mlir.native",
    "relax_mlir.progress",
    "relax_mlir.reference",
    "relax_mlir.reference.operators",
    "relax_runtime",
    "relax_runtime.cublas",
    "relax_runtime.cuda_tile",
    "relax_runtime.disco",
    "relax_runtime.packed",
)


def public_names(module: Any) -> list[str]:
    """Return the names of a module that users may rely on.

    Parameters
    ----------
    module : griffe.Module

    Returns
    -------
    list of str
        Those of ``__all__``, or else those without an underscore that come from the package; no
        modules, which have pages of their own.
    """
    exported = [str(name) for name in module.exports or ()]
    names = [name for name in exported or module.members if not name.startswith("_")]
    known = [name for name in names if name in module.members]
    return [name for name in known if _is_own(module.members[name], anywhere=bool(exported))]


def computed_names(module: Any) -> list[str]:
    """Return the public names of a module whose definitions cannot be read, only run."""
    names = (str(name) for name in module.exports or ())
    return [name for name in names if name not in module.members and not name.startswith("_")]


def _is_own(member: Any, *, anywhere: bool) -> bool:
    """Whether a member is no module, and `anywhere`, or of the package."""
    if member.is_alias:
        if not member.target_path.startswith(("relax_mlir.", "relax_runtime.")):
            return anywhere
        member = member.final_target
    return not member.is_module and (
        anywhere or member.path.startswith(("relax_mlir.", "relax_runtime."))
    )


def _pages() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the path, the text and the documented names of each page."""
    packages = griffe.ModulesCollection()
    for name in ("relax_runtime", "relax_mlir"):
        griffe.load(
            name,
            search_paths=[str(PACKAGE)],
            allow_inspection=False,
            modules_collection=packages,
        )
    for path in MODULES:
        module = packages[path]
        names = [f"{path}.{name}" for name in public_names(module)]
        options = "{members: false, show_root_heading: false, show_root_toc_entry: false}"
        blocks = [f"# {path}", f"::: {path}\n    options: {options}"]
        if computed := computed_names(module):
            blocks.append(f"Also defined: {', '.join(f'`{name}`' for name in computed)}.")
        yield f"api/{path}.md", "\n\n".join([*blocks, *(f"::: {name}" for name in names)]), names


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the API reference, and the notebooks."""
    config.extra["api"] = documented = []
    for path, text, names in _pages():
        files.append(File.generated(config, path, content=text))
        documented += names
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        path = f"notebooks/{notebook.stem}.md"
        files.append(File.generated(config, path, content=_as_markdown(notebook)))
    return files


def _as_markdown(notebook: Path) -> str:
    """Return a notebook as a page: text, code, and what its cells print."""
    parts = []
    for cell in json.loads(notebook.read_text())["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            lines = output.get("text") or output.get("data", {}).get("text/plain", [])
            parts.append(f"```text\n{''.join(lines).rstrip()}\n```")
    return "\n\n".join([*parts, f"*This page is the notebook `{notebook.relative_to(ROOT)}`.*"])


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files that are no pages by their paths."""
    if page.file.generated_by:
        return text
    folder = Path(config.docs_dir, page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        title, target = match.groups()
        path = (folder / target.split("#")[0]).resolve()
        if path.is_relative_to(config.docs_dir) and not path.is_dir():
            return match[0]
        if not path.exists():
            log.warning("%s links to %s, which does not exist", page.file.src_uri, target)
        place = f"`{path.relative_to(ROOT)}`"
        return place if title.strip("`") in place else f"{title} ({place})"

    return re.sub(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)", replace, text)


def on_post_build(config: MkDocsConfig) -> None:
    """Check that each public name is in the inventory of the site."""
    handler = config.plugins["mkdocstrings"].handlers
    missing = set(config.extra["api"]) - set(handler.inventory)
    for name in sorted(missing):
        log.warning("%s is public, but not in the API reference", name)
    log.info("API reference: %d names", len(config.extra["api"]))
