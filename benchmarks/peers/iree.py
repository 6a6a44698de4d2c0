"""IREE on the processor, with data tiling."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import models
import numpy as np
from cases import Case
from iree import compiler, runtime

from .base import Base

_OPTIONS = (
    "--iree-input-type=torch",
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
# Best first: the optimized levels refuse some models.
_LEVELS = (("--iree-opt-level=O3", "--iree-opt-data-tiling"), ("--iree-opt-data-tiling",), ())


class Peer(Base):
    """See ``worker.py``."""

    def version(self) -> str:
        """Return the version."""
        return f"IREE {metadata.version('iree-base-compiler')}"

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Import, compile and load the model."""
        from iree.compiler import ir
        from iree.compiler.extras.fx_importer import FxImporter

        importer = FxImporter(context=ir.Context())
        importer.import_frozen_program(models.export(case).run_decompositions(), func_name="main")
        self.start_compiling()
        config = runtime.Config("local-sync" if self._threads == 1 else "local-task")
        self._device = config.device
        with tempfile.TemporaryDirectory() as temporary:
            given, made = Path(temporary, "model.mlir"), Path(temporary, "model.vmfb")
            with given.open("wb") as file:
                importer.module.operation.write_bytecode(file)
            _compile(given, made)
            program = runtime.VmModule.copy_buffer(config.vm_instance, made.read_bytes())
        names = [n for n in program.function_names if not n.startswith("__") and "$" not in n]
        return runtime.load_vm_module(program, config)[names[0]]

    def convert(self, array: np.ndarray) -> Any:
        """Return an array as one of the device."""
        return runtime.asdevicearray(self._device, array)


def _compile(given: Path, made: Path) -> None:
    tool = Path(compiler.__file__).parent / "_mlir_libs" / "iree-compile"
    for level in _LEVELS:
        command = [str(tool), str(given), *_OPTIONS, *level, "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            print("IREE:", *level, file=sys.stderr)
            return
    raise RuntimeError(f"iree-compile: {done.stderr[:500]}")
