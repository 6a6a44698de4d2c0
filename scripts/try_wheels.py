"""Try the wheels of a folder, each in a virtual environment of its own.

Usage: try_wheels.py FOLDER. The compiler saves and exports a model, which the runtime loads where
there is no compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

_MODEL = """
import numpy as np
import relax_mlir as relax
from relax_mlir import op

bb = relax.BlockBuilder()
x = relax.Var("x", relax.TensorStructInfo(("n", 3), "float32"))
with bb.function("main", [x]):
    w = op.const(np.arange(6, dtype="float32").reshape(3, 2))
    bb.emit_func_output(op.nn.relu(op.matmul(x, w)))
for mode in ("compiled", "bytecode"):
    relax.compile(bb, exec_mode=mode).save(f"{mode}.rx")
relax.compile(bb).export_library("./model.so")
"""
_RUN = """
import numpy as np
import relax_runtime
import sys

for name in ("compiled.rx", "bytecode.rx", "./model.so"):
    main = relax_runtime.VirtualMachine(relax_runtime.load(name))["main"]
    assert main(np.ones((2, 3), "float32")).tolist() == [[6, 9], [6, 9]], name
assert not {"mlir", "relax_mlir"} & set(sys.modules)
print("compiled.rx, bytecode.rx and model.so give the right numbers")
"""


def _run(programs: Path, *command: str | Path, cwd: Path | None = None) -> None:
    """Run a program of an environment, which sees no packages or programs of a build."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program, *arguments = command
    env = {**clean, "PATH": f"{programs}:{os.defpath}"}
    subprocess.run([programs / program, *arguments], check=True, cwd=cwd, env=env)


def _environment(folder: Path, wheel: Path) -> Path:
    """Make a virtual environment with a wheel and what it depends on; return its programs."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    _run(programs, "python", "-m", "pip", "--quiet", "install", wheel)
    return programs


def _size(folder: Path) -> str:
    """Return the size of what a folder holds."""
    sizes = (path.stat().st_size for path in folder.rglob("*") if not path.is_symlink())
    return f"{sum(sizes) / 1e6:.1f} MB"


def _report(wheel: Path, programs: Path) -> None:
    """Print the sizes of a wheel, and of an environment with it."""
    packages = sorted(programs.parent.glob("lib/python*/site-packages"))[0]
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    for package in sorted(packages.iterdir()):
        if package.is_dir() and package.suffix != ".dist-info":
            print(f"    {package.name:<12} {_size(package)}")


def main(arguments: list[str]) -> None:
    """Try the wheels; end with an error where one fails."""
    if len(arguments) != 1:
        sys.exit(__doc__)
    folder = Path(arguments[0]).absolute()
    (compiler,) = folder.glob("relax_mlir-*.whl")
    (runtime,) = folder.glob("relax_mlir_runtime-*.whl")
    work = folder / "try"
    programs = _environment(work / "compiler", compiler)
    _run(programs, "relax-mlir", "doctor", cwd=work)
    _run(programs, "relax-opt", "--version", cwd=work)
    _run(programs, "python", "-c", _MODEL, cwd=work)
    _report(compiler, programs)
    programs = _environment(work / "runtime", runtime)
    _run(programs, "python", "-c", _RUN, cwd=work)
    _report(runtime, programs)


if __name__ == "__main__":
    main(sys.argv[1:])
