# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The version is in one place."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import relax_mlir

ROOT = Path(__file__).parents[2]


def test_cmake_reads_the_version(tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("cmake is not on PATH")
    script = tmp_path / "print.cmake"
    module = ROOT / "cmake" / "RelaxVersion.cmake"
    script.write_text(f'include("{module}")\nmessage(NOTICE "version ${{RELAX_VERSION}}")\n')
    result = subprocess.run([cmake, "-P", script], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == f"version {relax_mlir.__version__}"


def test_package_reads_the_version() -> None:
    regex = pytest.importorskip("scikit_build_core.metadata.regex")
    (path,) = re.findall(
        r'provider = "scikit_build_core.metadata.regex"\ninput = "(.*)"',
        (ROOT / "pyproject.toml").read_text(),
    )
    found = regex.dynamic_metadata("version", {"input": str(ROOT / path)})
    assert found == relax_mlir.__version__


@pytest.mark.parametrize("name", ["pyproject.toml", "CMakeLists.txt", "python/CMakeLists.txt"])
def test_no_other_file_states_it(name: str) -> None:
    assert f'"{relax_mlir.__version__}"' not in (ROOT / name).read_text()
    assert f"VERSION {relax_mlir.__version__}" not in (ROOT / name).read_text()
