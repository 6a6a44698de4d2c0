"""TVM's StructInfo of the bindings in the programs of its test files, as JSON lines.

Runs in the environment of test/oracle/requirements.txt and imports nothing of the package::

    python test/external/tvm_bindings.py <file> ...

Each file is read in a process of its own: the statements around programs are run, and some of them
end it.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "oracle")]

import stand_in  # noqa: E402
import tvm  # noqa: E402
import tvm_side  # noqa: E402
import tvm_suite  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.relax import struct_info as si  # noqa: E402

LIMIT_S = 240
Entry = dict[str, Any]


def import_(name: str, *rest: Any) -> Any:
    """Import as Python does, but for what may not be installed."""
    try:
        return __import__(name, *rest)
    except ImportError:
        is_root = not (len(rest) > 2 and rest[2]) and name.startswith("tvm.")
        return tvm if is_root else stand_in.Stub(name)


class Testing(types.ModuleType):
    """``tvm.testing``, which needs pytest: of parameters the first one, like in `stand_in`."""

    def __getattr__(self, name: str) -> Any:
        if name in ("parameter", "parameters"):
            return lambda *values, **keywords: values[0]
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in.Stub(f"tvm.testing.{name}")


class Runner(tvm_suite.Runner):
    """Gives programs to TVM's parser, each in a file of its own, where it finds the text."""

    def __init__(self, path: Path, folder: Path) -> None:
        super().__init__(path, self._describe)
        self.folder = folder
        # By place in `results`; described at once, as tests change their programs.
        self.described: dict[int, dict[str, list[Entry]]] = {}

    def _describe(self, program: Any) -> None:
        if isinstance(program, (relax.Function, tvm.IRModule)):
            self.described[len(self.results) - 1] = functions(program)

    def _execute(self, tree: ast.Module, names: dict[str, Any]) -> None:
        name = f"{self.path.stem}_{len(self.results)}"
        path = self.folder / f"{name}.py"
        text = ast.unparse(tree)
        path.write_text(text)
        module = types.ModuleType(name)
        module.__file__ = str(path)
        sys.modules[name] = module
        before = names["__name__"]
        names["__name__"] = name
        try:
            exec(compile(text, str(path), "exec"), names)
        finally:
            names["__name__"] = before


# The bindings of a function, in order, with those in branches and inner functions after theirs.


def entry(name: str, op: str, info: Any) -> Entry:
    try:
        return {"name": name, "op": op, "info": tvm_side.describe(info), "text": str(info)}
    except Exception as error:
        reason = str(error).split("'")[-2] if isinstance(error, KeyError) else repr(error)
        return {"name": name, "op": op, "reason": reason, "text": str(info)}


KINDS = {
    relax.Var: "alias",
    relax.DataflowVar: "alias",
    relax.GlobalVar: "alias",
    relax.Constant: "constant",
    relax.Tuple: "tuple",
    relax.TupleGetItem: "get_item",
    relax.ShapeExpr: "shape",
    relax.If: "if",
    relax.Function: "closure",
    relax.PrimValue: "prim_value",
    relax.StringImm: "string",
    relax.DataTypeImm: "dtype",
    relax.ExternFunc: "extern_func",
}


def operation(value: Any) -> str:
    """Return the last part of the name of an operator, or what else is bound."""
    if isinstance(value, relax.Call):
        return value.op.name.split(".")[-1] if isinstance(value.op, tvm.ir.Op) else "call"
    return KINDS.get(type(value), type(value).__name__)


def bindings(expr: Any) -> Iterator[Entry]:
    if isinstance(expr, relax.Function):
        for param in expr.params:
            yield entry(param.name_hint, "param", param.struct_info)
        yield entry("", "result", expr.ret_struct_info)
        yield from bindings(expr.body)
    elif isinstance(expr, relax.If):
        yield from bindings(expr.true_branch)
        yield from bindings(expr.false_branch)
    elif isinstance(expr, relax.SeqExpr):
        for block in expr.blocks:
            for binding in block.bindings:
                is_cast = isinstance(binding, relax.MatchCast)
                op = "match_cast" if is_cast else operation(binding.value)
                yield entry(binding.var.name_hint, op, binding.var.struct_info)
                if not is_cast:
                    yield from bindings(binding.value)


def functions(program: Any) -> dict[str, list[Entry]]:
    VDEVICES.clear()
    if isinstance(program, relax.Function):
        return {"": list(bindings(program))}
    VDEVICES[:] = program.global_infos.get("vdevice", [])
    found = program.functions_items()
    return {
        gvar.name_hint: list(bindings(func))
        for gvar, func in found
        if isinstance(func, relax.Function)
    }


# The devices of the module: types name them by their places.
VDEVICES: list[Any] = []
_describe_tensor = tvm_side.describe_tensor


def device_key(device: Any) -> tuple[str, int, str]:
    return str(device.target), int(device.vdevice_id), str(device.memory_scope)


def describe_tensor(info: Any) -> Entry:
    found = {**_describe_tensor(info), "vdevice": None}
    if info.vdevice is not None:
        keys = [device_key(device) for device in VDEVICES]
        if device_key(info.vdevice) not in keys:
            raise ValueError("a device that the module does not name")
        found["vdevice"] = f"vdevice{keys.index(device_key(info.vdevice))}"
    return found


tvm_side.DESCRIBE[si.TensorStructInfo] = describe_tensor


def programs(path: Path) -> list[Entry]:
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(path, Path(folder))
        results = runner.run()
    found = []
    for index, result in enumerate(results):
        program = {"file": path.name, "line": result.line, "name": result.name}
        if result.outcome == tvm_suite.OK and index in runner.described:
            program["functions"] = runner.described[index]
        else:
            program["error"] = result.message.strip() or result.outcome
        found.append(program)
    return found


def main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    stand_in.import_ = import_
    sys.modules["tvm.testing"] = tvm.testing = Testing("tvm.testing")
    for name in sys.argv[1:]:
        pid = os.fork()
        if pid == 0:
            signal.alarm(LIMIT_S)
            with contextlib.suppress(BrokenPipeError):
                for program in programs(Path(name)):
                    out.write(json.dumps(program) + "\n")
                out.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            out.write(json.dumps({"file": Path(name).name, "failed": status}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
