# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of programs in both modes: which calls they count, and where these are in the source."""

import inspect
import json
import threading

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi
from relax_mlir import op

KINDS = ("kernel", "packed", "function", "closure")
X = np.arange(6, dtype="float32").reshape(2, 3)


def machine(program, exec_mode, **options):
    return relax.VirtualMachine(
        relax.compile(program, exec_mode=exec_mode, profile=True, **options)
    )


def rows_of(report, *kinds):
    return [row for row in report.rows if row.kind in (kinds or KINDS)]


PROGRAM = """
relax.func private @twice(%x: !relax.tensor<[n, 3], f32>) -> !relax.tensor<[n, 3], f32> {
  %0 = relax.add %x, %x : (!relax.tensor<[n, 3], f32>, !relax.tensor<[n, 3], f32>)
    -> !relax.tensor<[n, 3], f32> loc("model.py":3:5)
  relax.return %0 : !relax.tensor<[n, 3], f32>
}
relax.func impure @main(%x: !relax.tensor<[n, 3], f32>) -> !relax.object {
  %0 = relax.call @twice(%x) : (!relax.tensor<[n, 3], f32>) -> !relax.tensor<[n, 3], f32>
    loc("model.py":7:9)
  %1 = relax.exp %0 : (!relax.tensor<[n, 3], f32>) -> !relax.tensor<[n, 3], f32>
    loc("model.py":8:9)
  %2 = relax.call_packed "test.profile.see"(%1)
    : (!relax.tensor<[n, 3], f32>) -> !relax.object loc("model.py":9:9)
  relax.return %2 : !relax.object
}
"""


@pytest.fixture
def see():
    """Return a function that sets what the packed function of the program does."""
    behaviour = [lambda x: x]
    name = "test.profile.see"
    tvm_ffi.register_global_func(name, lambda x: behaviour[0](x), override=True)
    yield lambda function: behaviour.__setitem__(0, function)
    tvm_ffi.remove_global_func(name)


def test_profile_counts_calls_with_places(exec_mode, see):
    report = machine(PROGRAM, exec_mode).profile("main", X)
    found = {
        row.name: (row.kind, row.function, row.calls, row.place.removesuffix(":0"))
        for row in rows_of(report)
    }
    assert found == {
        "twice": ("function", "main", 1, "model.py:7:9"),
        "add": ("kernel", "twice", 1, "model.py:3:5"),
        "exp": ("kernel", "main", 1, "model.py:8:9"),
        "test.profile.see": ("packed", "main", 1, "model.py:9:9"),
    }
    np.testing.assert_allclose(report.result.numpy(), np.exp(X + X), rtol=1e-5)
    assert 0 < sum(row.own for row in report.rows) <= report.total


def test_profile_has_shapes_and_bytes(exec_mode, see):
    (exp,) = [
        row for row in machine(PROGRAM, exec_mode).profile("main", X).rows if row.name == "exp"
    ]
    assert (exp.shapes, exp.bytes) == ("float32[2, 3], float32[2, 3]", 48)


def test_profile_of_calls_in_calls(exec_mode, see):
    report = machine(PROGRAM, exec_mode).profile("main", X)
    twice = next(row for row in report.rows if row.name == "twice")
    inside = [row for row in report.rows if row.function == "twice"]
    assert twice.own == pytest.approx(twice.total - sum(row.total for row in inside))
    depths = {event.row.name: event.depth for event in report.events}
    assert (depths["twice"], depths["add"], depths["exp"]) == (0, 1, 0)
    stacks = [line.rsplit(" ", 1)[0] for line in report.folded_stacks().splitlines()]
    assert {"main;twice;add", "main;exp", "main;test.profile.see"} <= set(stacks)


def test_profile_by_place(exec_mode, see):
    report = machine(PROGRAM, exec_mode).profile("main", X)
    lines = {row.place: row for row in report.by_place()}
    assert {"model.py:3:5", "model.py:7:9", "model.py:8:9", "model.py:9:9"} <= set(lines)
    assert sum(row.own for row in lines.values()) == pytest.approx(
        sum(row.own for row in report.rows)
    )
    assert "model.py:8:9" in report.table(report.by_place())


def test_profile_trace_has_places(exec_mode, see, tmp_path):
    machine(PROGRAM, exec_mode).profile("main", X).export_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    places = {event["name"]: event["args"].get("place") for event in events}
    assert places["exp"] == "model.py:8:9"


def test_profile_joins_calls_of_equal_shapes(exec_mode):
    program = """
    relax.func @main(%x: !relax.tensor<[n], f32>, %i: !relax.tensor<[], i1>)
        -> !relax.tensor<[n], f32> {
      %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %2 = relax.if %i : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
        %3 = relax.constant dense<false> : tensor<i1>
        %4 = relax.call @main(%0, %3)
          : (!relax.tensor<[n], f32>, !relax.tensor<[], i1>) -> !relax.tensor<[n], f32>
        relax.yield %4 : !relax.tensor<[n], f32>
      } else {
        relax.yield %0 : !relax.tensor<[n], f32>
      }
      relax.return %2 : !relax.tensor<[n], f32>
    }"""
    vm = machine(program, exec_mode)
    (exp,) = rows_of(vm.profile("main", X.ravel(), np.array(True)), "kernel")
    assert exp.calls == 2
    (exp,) = rows_of(vm.profile("main", X.ravel(), np.array(False)), "kernel")
    assert exp.calls == 1


def test_profile_of_a_closure(exec_mode):
    program = """
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      %f = relax.closure (%y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
        %0 = relax.exp %y : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        relax.return %0 : !relax.tensor<[n], f32>
      }
      %1 = relax.call %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure>
        (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %1 : !relax.tensor<[n], f32>
    }"""
    report = machine(program, exec_mode).profile("main", X.ravel())
    assert {row.name for row in rows_of(report, "kernel")} == {"exp"}


def test_profile_counts_failures(exec_mode, see):
    def fail(x):
        raise RuntimeError("no")

    see(fail)
    vm = machine(PROGRAM, exec_mode)
    with pytest.raises(RuntimeError, match="no"):
        vm.profile("main", X)
    see(lambda x: x)
    report = vm.profile("main", X)
    assert all(row.calls == 1 and row.failures == 0 for row in rows_of(report))


def test_profile_sees_the_calls_of_its_thread_alone(exec_mode, see):
    vm = machine(PROGRAM, exec_mode)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            vm["main"](X)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            assert all(row.calls == 1 for row in rows_of(vm.profile("main", X)))
    finally:
        stop.set()
        thread.join()


def test_profile_of_a_profile_within(exec_mode, see):
    vm = machine(PROGRAM, exec_mode)
    inner = []

    def profile(x):
        see(lambda x: x)
        inner.append(vm.profile("main", x))
        return x

    see(profile)
    report = vm.profile("main", X)
    assert all(row.calls == 1 for row in rows_of(report) + rows_of(inner[0]))


def test_profile_limits_events(exec_mode, see):
    report = machine(PROGRAM, exec_mode).profile("main", X, max_events=2)
    assert len(report.events) == 2
    assert report.dropped == sum(row.calls for row in report.rows) - 2


@pytest.mark.parametrize("suffix", ["rx", "so"])
def test_profile_of_a_file(exec_mode, suffix, see, tmp_path):
    ex = relax.compile(PROGRAM, exec_mode=exec_mode, profile=True)
    path = tmp_path / f"model.{suffix}"
    ex.save(path) if suffix == "rx" else ex.export_library(path)
    for load in (relax.load, relax_runtime.load):
        names = {row.name for row in relax.VirtualMachine(load(path)).profile("main", X).rows}
        assert {"add", "exp", "twice", "test.profile.see"} <= names


def test_profile_of_the_cache(exec_mode, see, tmp_path, monkeypatch):
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "cache"))
    for _ in range(2):
        assert rows_of(machine(PROGRAM, exec_mode).profile("main", X))


def test_error_profile_of_machine_code_without(see, tmp_path):
    ex = relax.compile(PROGRAM)
    ex.save(tmp_path / "model.rx")
    profiled = relax.compile(PROGRAM, profile=True)
    profiled.export_library(tmp_path / "model.so", self_contained=True)
    for each in (ex, relax.load(tmp_path / "model.rx"), relax.load(tmp_path / "model.so")):
        with pytest.raises(ValueError, match="compile with profile=True"):
            relax.VirtualMachine(each).profile("main", X)


def test_profiled_code_gives_the_same_results(see):
    expected = relax.VirtualMachine(relax.compile(PROGRAM))["main"](X).numpy()
    np.testing.assert_array_equal(machine(PROGRAM, "compiled")["main"](X).numpy(), expected)


def test_profile_names_lines_of_a_builder(exec_mode):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 3), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.sum(x))
    line = line_of_caller() - 1
    (kernel,) = rows_of(machine(bb, exec_mode).profile("main", X), "kernel")
    assert f"test_profile.py:{line}:" in kernel.place


def line_of_caller():
    """Return the line of the caller."""
    return inspect.currentframe().f_back.f_lineno
