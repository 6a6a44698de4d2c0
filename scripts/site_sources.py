# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write what the site needs of the TableGen files, without a build of the compiler.

Usage: site_sources.py WHEELS, with the folder in which the wheels of MLIR and LLVM are. The
reference of the dialect and of its passes goes to docs/generated/, and the package with the
functions and passes that are generated to build/docs/package/, where the API reference is read.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "generated"
WORK = ROOT / "build" / "docs"
PACKAGES = WORK / "package"
PACKAGE = PACKAGES / "relax_mlir"
SOURCES = ("python/relax_mlir", "runtime/python/relax_runtime")
DIALECT = "dialect/RelaxOps.td"
SCHEDULES = "dialect/RelaxTransformOps.td"
NAMESPACES = ("builtin", "ccl", "dist", "grad", "nn")  # as in python/CMakeLists.txt


def _run(*command: str | Path) -> str:
    """Run a command in the repository and return what it prints."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def _tblgen(wheels: Path, project: str) -> list[str | Path]:
    """Return the command of a project's TableGen with the folders that files include."""
    folders = ("dialect", "include", wheels / "mlir" / "include")
    program = wheels / project / "bin" / f"{project}-tblgen"
    return [program, *(f"-I{folder}" for folder in folders)]


def _passes() -> list[Path]:
    """Return the TableGen files of passes, in a fixed order."""
    return sorted(ROOT.glob("include/relax-mlir/*/Passes.td"))


def write_pages(wheels: Path) -> None:
    """Write the reference of the dialect and of its passes, in Markdown."""
    PAGES.mkdir(parents=True, exist_ok=True)
    tblgen = _tblgen(wheels, "mlir")
    dialect = _run(*tblgen, "-gen-dialect-doc", "-dialect=relax", DIALECT)
    schedules = "# Transform dialect\n\n" + _run(*tblgen, "-gen-op-doc", SCHEDULES)
    for name, text in (("Dialect", dialect), ("TransformOps", schedules)):
        text = re.sub(r"^(### `\S+`) \((\S+)\)$", r"\1\n\nC++: `\2`", text, flags=re.M)
        (PAGES / f"{name}.md").write_text(text.replace("[TOC]\n", ""))
    for source in _passes():
        name = source.parent.name
        text = _run(*tblgen, "-gen-pass-doc", source)
        (PAGES / f"{name}Passes.md").write_text(f"# Passes: {name}\n\n{text}")


def write_packages(wheels: Path) -> None:
    """Write the packages, with the Python functions that are generated."""
    tblgen = (*_tblgen(wheels, "llvm"), "--dump-json")
    shutil.rmtree(PACKAGES, ignore_errors=True)
    for folder in SOURCES:
        package = ROOT / folder
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, PACKAGES / package.name, ignore=ignored)
    records = WORK / "RelaxOps.json"
    records.write_text(_run(*tblgen, DIALECT))
    script = ("scripts/generate_ops.py", records, "--folder", PACKAGE / "op", "--namespaces")
    _run(sys.executable, *script, *NAMESPACES)
    passes = []
    for source in _passes():
        passes.append(WORK / f"{source.parent.name}Passes.json")
        passes[-1].write_text(_run(*tblgen, source))
    output = PACKAGE / "transform" / "_passes_gen.py"
    _run(sys.executable, "scripts/generate_passes.py", *passes, "--output", output)


def main(arguments: list[str]) -> None:
    """Write all of it."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    wheels = Path(arguments[0])
    write_pages(wheels)
    write_packages(wheels)


if __name__ == "__main__":
    main(sys.argv[1:])
