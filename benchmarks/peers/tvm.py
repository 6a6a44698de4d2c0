"""Apache TVM: its default pipeline, both ways to run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tvm
import tvm.script
from cases import Case
from tvm import relax

from .arguments import convert
from .base import Programs

# Passes of TVM up to its memory plan.
_PLANNING = (
    relax.transform.LegalizeOps,
    relax.transform.RewriteDataflowReshape,
    relax.transform.ToNonDataflow,
    relax.transform.RemovePurityChecking,
    relax.transform.CallTIRRewrite,
    relax.transform.StaticPlanBlockMemory,
)


class Peer(Programs):
    """See ``worker.py``."""

    def version(self) -> str:
        """Return the version."""
        return f"TVM {tvm.__version__}"

    def parse(self, name: str, text: str) -> None:
        """Read a program."""
        script = tvm.script
        names = {"I": script.ir, "R": script.relax, "T": script.tirx}
        self._modules[name] = script.from_source(text, names)

    def compile(self, name: str, mode: str) -> float:
        """Compile a program that was read; return seconds."""
        start = time.perf_counter()
        built = relax.build(self._modules[name], target="llvm", exec_mode=mode)
        self._executables[name, mode] = built
        return time.perf_counter() - start

    def bind(self, name: str, mode: str, function: str, shapes: list[list[int]], kind: str) -> int:
        """Make a call of a function on arguments of these shapes; return its handle."""
        main = relax.VirtualMachine(self._executables[name, mode], tvm.cpu())[function]
        arguments = convert(shapes, kind)
        return self._calls.bind(lambda: main(*arguments))

    def load(self, path: str, function: str) -> Any:
        """Return a function of a library."""
        return relax.VirtualMachine(tvm.runtime.load_module(path), tvm.cpu())[function]

    def planned_bytes(self, name: str, sizes: dict[str, int]) -> int:
        """Return the number of bytes that the plan of ``main`` allocates at these sizes."""
        module = tvm.ir.transform.Sequential([make() for make in _PLANNING])(self._modules[name])
        total = 0

        analyzer = tvm.sym.Analyzer()

        def evaluate(shape: Any) -> int:
            for dim in shape:
                for variable in tvm.tirx.analysis.undefined_vars(dim):
                    value = tvm.tirx.IntImm("int64", sizes[variable.name])
                    analyzer.bind(variable, value, allow_override=True)
            return int(np.prod([int(analyzer.simplify(dim)) for dim in shape], dtype=np.int64))

        def visit(expr: Any) -> None:
            nonlocal total
            if not isinstance(expr, relax.Call) or not isinstance(expr.op, tvm.ir.Op):
                return
            if expr.op.name == "relax.memory.alloc_storage":
                total += evaluate(expr.args[0].values)
            elif expr.op.name == "relax.builtin.alloc_tensor":
                dtype = np.dtype(str(expr.args[1].value))
                total += evaluate(expr.args[0].values) * dtype.itemsize

        relax.analysis.post_order_visit(module["main"].body, visit)
        return total

    def build(self, case: Case, folder: Path) -> Callable[..., Any]:
        """Compile the model of a case with the pipeline that TVM has for the processor."""
        import models
        from tvm.relax.frontend.torch import from_exported_program

        target = tvm.target.Target(
            {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()}
        )
        module = from_exported_program(models.export(case), unwrap_unit_return_tuple=True)
        self.start_compiling()
        pipeline = relax.get_default_pipeline(target)
        built = tvm.compile(module, target=target, relax_pipeline=pipeline)
        return relax.VirtualMachine(built, tvm.cpu())["main"]

    def convert(self, array: np.ndarray) -> Any:
        """Return an array as a tensor of TVM."""
        return tvm.runtime.tensor(array)
