"""Observers of the calls of a virtual machine: instruments, profiler, time evaluator."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from relax_mlir.runtime import Executable, Replace, VirtualMachine, VMInstrumentReturnKind
from test_vm_assembly import bind_scale, numpy, vector

TEXT = """
function main(x) registers 4 heap 1 {
  site 0 = "x", "a tensor", ""
  $0 = call builtin dim(site 0, %0, 0)
  %1 = call builtin tensor_alloc(site 0, [$0], float32, 1, 0)
  call kernel "scale"(read %0, write %1, scalar 2)
  %2 = call @inner(%1, $0)
  %3 = call packed "test.vm.first"(%2, %0)
  %3 = call builtin value_assign(%3)
  ret %3
}
private function inner(x, n) registers 3 {
  site 0 = "inner", "", ""
  %2 = call builtin tensor_alloc(site 0, [3], float32, 1, 0)
  call kernel "scale"(read %0, write %2, scalar 5)
  ret %2
}
"""
NAMES = [
    "dim",
    "tensor_alloc",
    "scale",
    "inner",
    "tensor_alloc",
    "scale",
    "test.vm.first",
    "value_assign",
]


@pytest.fixture
def vm() -> VirtualMachine:
    tvm_ffi.register_global_func("test.vm.first", lambda a, b: a, override=True)
    return bind_scale(VirtualMachine(Executable.assemble(TEXT)))


def test_vm12_instrument_sees_every_call(vm: VirtualMachine) -> None:
    calls: list[tuple[str, bool, Any, tuple[Any, ...]]] = []
    vm.set_instrument(lambda function, *rest: calls.append((*rest[:3], rest[3:])))
    x = vector(1, 2, 3)
    assert numpy(vm["main"](x)).tolist() == [10, 20, 30]
    assert [name for name, before, *_ in calls if before] == NAMES
    ended = [name for name, before, *_ in calls if not before]
    assert ended == [*NAMES[:3], "tensor_alloc", "scale", "inner", *NAMES[6:]]
    assert calls[0][2:] == (None, calls[1][3]) and calls[1][:3] == ("dim", False, 3)
    read, written, scalar = calls[4][3]
    assert numpy(read).tolist() == [1, 2, 3] and written.shape == (3,) and scalar == 2
    assert tuple(calls[2][3][0]) == (3,) and str(calls[2][3][1]) == "float32"
    seen = len(calls)
    vm.set_instrument(None)
    vm["main"](x)
    assert len(calls) == seen


def test_vm12_instrument_gets_the_callee(vm: VirtualMachine) -> None:
    functions = {}

    def see(function: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        functions[name] = function

    vm.set_instrument(see)
    vm["main"](vector(1, 2, 3))
    assert functions["test.vm.first"](1, 2) == 1
    assert functions["scale"] is None and functions["dim"] is None


def test_vm12_instrument_skips_and_replaces(vm: VirtualMachine) -> None:
    def see(function: Any, name: str, before: bool, result: Any, *args: Any) -> Any:
        if name == "scale" and before:
            return VMInstrumentReturnKind.SKIP_RUN
        if name == "inner" and before:
            return Replace("instead")
        if name == "dim" and not before:
            return Replace(result + 1)
        if name == "tensor_alloc":
            assert tuple(args[0]) == (4,)
        return VMInstrumentReturnKind.NO_OP

    vm.set_instrument(see)
    assert vm["main"](vector(1, 2, 3)) == "instead"


def test_vm12_instrument_of_recursion_and_tail_calls() -> None:
    vm = VirtualMachine(
        Executable.assemble("""
        function main(n) registers 2 heap 1 {
          site 0 = "n", "", ""
          $0 = call builtin prim_int(site 0, %0)
          if $0 else end
          $0 = call builtin sub($0, 1)
          %1 = call @main($0)
          ret %1
        end:
          ret %0
        }
        function outer(n) registers 2 {
          %1 = call @main(%0)
          %1 = call builtin value_assign(%1)
          ret %1
        }""")
    )
    ends = []

    def see(function: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        if name == "main" and not before:
            ends.append((result, args))

    vm.set_instrument(see)
    assert vm["outer"](5000) == 0
    assert ends == [(0, (5000,))]
    report = vm.profile("outer", 1000)
    (first, last) = [row for row in report.rows if row.name == "main"]
    assert (first.function, first.calls, last.function, last.calls) == ("outer", 1, "main", 1000)


def test_vm12_error_in_instrument(vm: VirtualMachine) -> None:
    x = vector(1, 2, 3)

    def fail(function: Any, name: str, before: bool, *rest: Any) -> None:
        if name == where[0] and before == where[1]:
            raise ValueError(f"at {name}")

    vm.set_instrument(fail)
    for where in (("scale", True), ("scale", False), ("inner", False), ("dim", True)):
        with pytest.raises(ValueError, match=f"at {where[0]}"):
            vm["main"](x)
    vm.set_instrument(lambda *args: 3)
    with pytest.raises(
        TypeError, match="expected the instrument to return None, a VMInstrumentRet"
    ):
        vm["main"](x)
    vm.set_instrument(lambda *args: VMInstrumentReturnKind.SKIP_RUN)
    with pytest.raises(
        TypeError, match="the result of 'dim' is an integer, but the instrument gives N"
    ):
        vm["main"](x)
    vm.set_instrument(None)
    assert numpy(vm["main"](x)).tolist() == [10, 20, 30]


def test_vm12_instrument_sees_calls_that_raise(vm: VirtualMachine) -> None:
    """After an error in the middle the next run is seen as if nothing had happened."""
    names: list[str] = []
    vm.set_instrument(lambda function, name, before, *rest: names.append(name) if before else None)
    for _ in range(2):
        with pytest.raises(ValueError, match="register_global_func"):
            text = TEXT.replace("test.vm.first", "test.vm.absent")
            other = bind_scale(VirtualMachine(Executable.assemble(text)))
            other.set_instrument(lambda *args: None)
            other["main"](vector(1, 2, 3))
    with pytest.raises(TypeError, match="expected a tensor"):
        vm["main"]("text")
    names.clear()
    vm["main"](vector(1, 2, 3))
    assert names == NAMES


def test_vm12_profile_of_instructions_and_kernels(vm: VirtualMachine, tmp_path: Path) -> None:
    report = vm.profile("main", vector(1, 2, 3))
    assert numpy(report.result).tolist() == [10, 20, 30]
    assert [row.name for row in report.rows] == NAMES
    dim, alloc, scale, inner = report.rows[:4]
    assert (dim.kind, dim.function, dim.instruction) == ("builtin", "main", 0)
    assert dim.text == "$0 = call builtin dim(site 0, %0, 0)" and dim.shapes == "float32[3]"
    assert alloc.shapes == "[3]" and alloc.bytes == 0
    assert (scale.kind, scale.shapes, scale.bytes) == ("kernel", "float32[3], float32[3]", 24)
    nested = report.rows[4:6]
    assert inner.kind == "function" and {row.function for row in nested} == {"inner"}
    assert inner.own == pytest.approx(inner.total - sum(row.total for row in nested))
    assert all(0 < row.own <= row.total and row.least <= row.most for row in report.rows)
    assert sum(row.own for row in report.rows) <= report.total
    (kernels,) = report.by_name("kernel")
    assert (kernels.name, kernels.calls, kernels.bytes) == ("scale", 2, 48)
    lines = str(report).splitlines()
    assert lines[0].startswith("main: ") and lines[0].endswith(" ms, 8 calls")
    assert lines[1].split()[:2] == ["own", "ms"] and len(lines) == 2 + 6

    report.export_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len(trace) == 9 and all(event["ph"] == "X" for event in trace)
    by_name = {event["name"]: event for event in trace}
    whole, call = by_name["main"], by_name["inner"]
    assert whole["ts"] <= call["ts"] and call["ts"] + call["dur"] <= whole["ts"] + whole["dur"]
    assert by_name["scale"]["args"]["shapes"] == "float32[3], float32[3]"


def test_vm12_profile_limits_events(vm: VirtualMachine) -> None:
    report = vm.profile("main", vector(1, 2, 3), max_events=3)
    assert len(report.events) == 3 and report.dropped == 5
    assert sum(row.calls for row in report.rows) == 8


def test_vm12_profile_error_leaves_no_observer(vm: VirtualMachine) -> None:
    with pytest.raises(
        TypeError, match="expected a tensor, a shape or an integer, but got a string"
    ):
        vm.profile("main", "text")
    with pytest.raises(KeyError, match="expected the name of a public function"):
        vm.profile("inner")
    seen: list[str] = []
    vm.set_instrument(lambda function, name, *rest: seen.append(name))
    vm["main"](vector(1, 2, 3))
    assert len(seen) == 16


def test_vm12_profile_in_threads(vm: VirtualMachine) -> None:
    """A profile sees the calls of its own thread alone."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            vm["main"](vector(1, 2, 3))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            report = vm.profile("main", vector(1, 2, 3))
            assert [row.name for row in report.rows] == NAMES
            assert all(row.calls == 1 for row in report.rows)
    finally:
        stop.set()
        thread.join()


def test_vm12_profile_of_a_reentrant_call(vm: VirtualMachine) -> None:
    tvm_ffi.register_global_func("test.vm.again", lambda x: vm["main"](x), override=True)
    text = 'function outer(x) registers 2 { %1 = call packed "test.vm.again"(%0) ret %1 }'
    both = bind_scale(VirtualMachine(Executable.assemble(TEXT + text)))
    tvm_ffi.register_global_func("test.vm.again", lambda x: both["main"](x), override=True)
    report = both.profile("outer", vector(1, 2, 3))
    assert [row.name for row in report.rows] == ["test.vm.again", *NAMES]
    assert {event.depth for event in report.events} == {0, 1, 2}


def test_time_evaluator(vm: VirtualMachine) -> None:
    x = vector(1, 2, 3)
    result = vm.time_evaluator("main", number=3, repeat=4)(x)
    assert len(result.results) == 4 and all(value > 0 for value in result.results)
    assert result.min <= result.median <= result.max and result.std >= 0
    assert str(result).startswith("mean ") and result.mean == pytest.approx(np.mean(result.results))


def test_time_evaluator_grows_until_it_takes_long_enough() -> None:
    calls = []
    tvm_ffi.register_global_func("test.vm.count", lambda: calls.append(0), override=True)
    text = 'function main() { call packed "test.vm.count"() ret #0 } constant #0 = none'
    vm = VirtualMachine(Executable.assemble(text))
    vm.time_evaluator("main", number=1)()
    assert len(calls) == 2
    calls.clear()
    vm.time_evaluator("main", number=1, min_repeat_ms=20)()
    assert len(calls) > 100


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": 0}, "expected number to be between 1 and .*, but got 0"),
        ({"repeat": 0}, "expected repeat to be between 1 and .*, but got 0"),
        ({"min_repeat_ms": -1}, "expected at least 0 milliseconds, but got -1"),
    ],
)
def test_time_evaluator_error(vm: VirtualMachine, options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        vm.time_evaluator("main", **options)(vector(1, 2, 3))


def test_time_evaluator_error_in_the_function(vm: VirtualMachine) -> None:
    with pytest.raises(TypeError, match="expected a tensor"):
        vm.time_evaluator("main")("text")
