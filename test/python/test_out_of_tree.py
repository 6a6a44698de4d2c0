# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A C++ project that builds upon the installed package: examples/out-of-tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import mlir
import pytest
import relax_mlir

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "out-of-tree"
BUILD = Path(relax_mlir.__file__).parents[2]  # of the package in python_packages/


def run(*command: str | os.PathLike[str]) -> str:
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def cached(variable: str) -> str:
    """A variable of the build folder, or nothing."""
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(variable + ":"):
            return line.partition("=")[2]
    return ""


def mlir_dir() -> str:
    """The CMake package of the MLIR that the build folder is configured with."""
    given = cached("MLIR_DIR")
    return given or f"{mlir.__path__[0]}/lib/cmake/mlir"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it is installed."""
    if not (BUILD / "CMakeCache.txt").exists():
        pytest.skip("no build folder to install from")
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", folder)
    return folder


@pytest.fixture(scope="module")
def tool(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tool of the example."""
    folder = tmp_path_factory.mktemp("square")
    options = ["-GNinja", "-DCMAKE_BUILD_TYPE=Release"]
    options += [f"-DCMAKE_CXX_COMPILER={cached('CMAKE_CXX_COMPILER')}"]
    options += [f"-DMLIR_DIR={mlir_dir()}"]
    options += [f"-DRelaxMLIR_DIR={prefix}/relax_mlir/lib/cmake/RelaxMLIR"]
    if sanitizers := cached("RELAX_MLIR_SANITIZE"):
        flags = f"-fsanitize={sanitizers} -fno-sanitize=vptr"
        options += [f"-DCMAKE_CXX_FLAGS={flags}"]
    run("cmake", "-S", EXAMPLE, "-B", folder, *options)
    run("cmake", "--build", folder)
    return folder / "square-opt"


def test_tool_has_the_pass_and_the_pipelines(tool: Path) -> None:
    text = run(tool, EXAMPLE / "multiply.mlir", "-multiply-to-square")
    assert text.count("relax.square") == 1 and text.count("relax.multiply") == 1
    lowered = run(tool, EXAMPLE / "multiply.mlir", "-multiply-to-square", "-relax-to-llvm")
    assert "llvm.func" in lowered and "relax.func" not in lowered


def test_files_of_the_dialect_are_installed(prefix: Path) -> None:
    folder = prefix / "relax_mlir" / "include" / "relax-mlir"
    assert {p.name for p in (ROOT / "dialect").glob("*.td")} == {
        p.name for p in (folder / "dialect").glob("*.td")
    }
    headers = {p.relative_to(ROOT / "include") for p in (ROOT / "include").rglob("*.h")}
    assert all((prefix / "relax_mlir" / "include" / path).exists() for path in headers)
    assert (folder / "IR" / "RelaxOps.h.inc").exists()
    assert not list((prefix / "relax_mlir").rglob("*.cpp.inc"))


def test_config_names_the_folders(prefix: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(prefix)}
    command = [sys.executable, "-m", "relax_mlir", "config"]
    for option in ("--includes", "--libdir", "--cmakedir", "--tablegendir"):
        folder = subprocess.check_output([*command, option], text=True, env=environment).strip()
        assert Path(folder).is_dir() and folder.startswith(str(prefix))
    lines = subprocess.check_output(command, text=True, env=environment).splitlines()
    assert len(lines) == 4 and lines[0].startswith("includes: ")


def test_config_without_an_installed_package() -> None:
    command = [sys.executable, "-m", "relax_mlir", "config", "--cmakedir"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1 and "the package is that of a build tree" in result.stderr
