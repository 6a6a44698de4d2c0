# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions of workers: what they compute together, and what happens when one of them fails."""

from __future__ import annotations

import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import disco_functions  # noqa: F401 (registers the functions in this process)
import numpy as np
import pytest
import tvm_ffi
from disco_sessions import KINDS, parts_of, values_of
from relax_runtime import disco, get_num_threads

# Longer than anything here takes, and shorter than the time limit of a test.
PATIENCE = 30.0
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
REDUCTIONS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "avg": np.add,
}


@pytest.fixture(scope="module", params=KINDS)
def two(request):
    """A session of two workers."""
    with KINDS[request.param](2) as session:
        session.import_python_module("disco_functions")
        yield session


@pytest.fixture(scope="module", params=KINDS)
def four(request):
    """A session of four workers in two groups."""
    with KINDS[request.param](4, 2) as session:
        session.import_python_module("disco_functions")
        yield session


def reduced(op, arrays):
    """Return the reduction, in the order of the workers, as NumPy computes it."""
    dtype = arrays[0].dtype
    wide = {"f": "float32", "i": "int64", "u": "uint64"}[dtype.kind]
    wide = np.dtype("float64") if dtype == "float64" else np.dtype(wide)
    total = functools.reduce(REDUCTIONS[op], [array.astype(wide) for array in arrays])
    if op == "avg":
        count = wide.type(len(arrays))
        total = total / count if wide.kind == "f" else np.trunc(total / count)
    return total.astype(dtype)


# ------------------------------------------------------------------------------
# Reductions
# ------------------------------------------------------------------------------


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_allreduce(two, op, dtype):
    rng = np.random.default_rng(0)
    kind = np.dtype(dtype).kind
    arrays = [
        rng.standard_normal((3, 1111)).astype(dtype)
        if kind == "f"
        else rng.integers(0 if kind == "u" else -100, 100, (3, 1111)).astype(dtype)
        for _ in range(2)
    ]
    result = two.allreduce(parts_of(two, arrays), two.empty((3, 1111), dtype), op)
    for value in values_of(two, result):
        np.testing.assert_array_equal(value, reduced(op, arrays))


def test_allreduce_in_the_order_of_the_workers(four):
    """The sum is another one in any other order, and the same bits on all workers."""
    arrays = [np.full(99, value, "float32") for value in (2**24, 1, 1, 1)]
    result = four.allreduce(parts_of(four, arrays), four.empty((99,), "float32"), in_group=False)
    values = values_of(four, result)
    assert all(value.tobytes() == values[0].tobytes() for value in values)
    assert values[0][0] == 2**24


def test_small_floats_are_added_in_float32_and_rounded_once(four):
    arrays = [np.full(5, value, "float16") for value in (2048, 1, 1, 1)]
    result = four.allreduce(parts_of(four, arrays), four.empty((5,), "float16"), in_group=False)
    np.testing.assert_array_equal(values_of(four, result)[3], np.full(5, 2052, "float16"))


def test_each_float16_is_read_and_rounded_as_by_numpy(two):
    every = np.arange(2**16, dtype="uint16").view("float16")
    zero = np.zeros_like(every)
    result = two.allreduce(parts_of(two, [every, zero]), two.empty(every.shape, "float16"))
    np.testing.assert_array_equal(values_of(two, result)[1], every + zero)
    rng = np.random.default_rng(1)
    other = rng.permutation(every)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = (every.astype("float32") * other.astype("float32")).astype("float16")
    result = two.allreduce(parts_of(two, [every, other]), two.empty(every.shape, "float16"), "prod")
    np.testing.assert_array_equal(values_of(two, result)[0], expected)


def test_bfloat16(two):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy alone has no bfloat16")
    every = np.arange(2**16, dtype="uint16").view(ml_dtypes.bfloat16)
    other = np.random.default_rng(2).permutation(every)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = every.astype("float32") + other.astype("float32")
    result = two.empty(every.shape, "bfloat16")
    two.allreduce(parts_of(two, [every, other]), result)
    np.testing.assert_array_equal(
        values_of(two, result)[1].astype("float32"),
        expected.astype(ml_dtypes.bfloat16).astype("float32"),
    )


def test_least_and_greatest_of_nan(two):
    arrays = [np.array([np.nan, 1, np.nan], "float32"), np.array([2, np.nan, np.nan], "float32")]
    for op in ("min", "max"):
        result = two.allreduce(parts_of(two, arrays), two.empty((3,), "float32"), op)
        assert np.isnan(values_of(two, result)).all()


@pytest.mark.parametrize("size", [0, 1, 17, 65536, 300_001])
def test_sizes(two, size):
    """Of nothing, of one element, and of several slices, the last of which is not full."""
    arrays = [np.arange(size, dtype="float32") * (i + 1) for i in range(2)]
    parts = parts_of(two, arrays)
    result = two.allreduce(parts, two.empty((size,), "float32"))
    np.testing.assert_array_equal(values_of(two, result)[1], arrays[0] + arrays[1])
    result = two.allgather(parts, two.empty((2 * size,), "float32"))
    np.testing.assert_array_equal(values_of(two, result)[0], np.concatenate(arrays))
    result = two.broadcast_from_worker0(parts, two.empty((size,), "float32"))
    np.testing.assert_array_equal(values_of(two, result)[1], arrays[0])
    np.testing.assert_array_equal(values_of(two, two.scatter(np.stack(arrays)))[1], arrays[1])


def test_allreduce_into_its_operand(two):
    arrays = [np.arange(200_000, dtype="int32") for _ in range(2)]
    parts = parts_of(two, arrays)
    two.allreduce(parts, parts)
    np.testing.assert_array_equal(values_of(two, parts)[0], 2 * arrays[0])


# ------------------------------------------------------------------------------
# Copies
# ------------------------------------------------------------------------------


def test_broadcast_scatter_and_gather(two):
    array = np.arange(36, dtype="float32").reshape(2, 6, 3)
    np.testing.assert_array_equal(values_of(two, two.broadcast(array))[1], array)
    parts = two.scatter(array)
    for i, value in enumerate(values_of(two, parts)):
        np.testing.assert_array_equal(value, array[i])
    gathered = two.empty((4, 9), "float32", worker0_only=True)
    two.gather_to_worker0(parts, gathered)
    np.testing.assert_array_equal(gathered.debug_get_from_remote(0).numpy(), array.reshape(4, 9))
    assert gathered.debug_get_from_remote(1) is None
    host = np.empty((36,), "float32")
    two.copy_from_worker_0(host, gathered)
    np.testing.assert_array_equal(host, array.ravel())


def test_scatter_with_another_shape(two):
    """The elements are cut into parts, whatever the dimensions are."""
    array = np.arange(36, dtype="float32").reshape(3, 4, 3)
    source = two.copy_to_worker_0(array)
    parts = two.empty((3, 3, 2), "float32")
    two.scatter_from_worker0(source, parts)
    np.testing.assert_array_equal(values_of(two, parts)[1].ravel(), array.ravel()[18:])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float64"])
def test_copies_of_any_data_type(two, dtype):
    array = (np.arange(10) % 3).astype(dtype)
    result = two.allgather(two.scatter(array.reshape(2, 5)), two.empty((10,), dtype))
    np.testing.assert_array_equal(values_of(two, result)[1], array)


def test_groups(four):
    arrays = [np.full((2, 3), 10.0**i, "float32") for i in range(4)]
    parts = parts_of(four, arrays)
    inside = four.allreduce(parts, four.empty((2, 3), "float32"))
    over_all = four.allreduce(parts, four.empty((2, 3), "float32"), in_group=False)
    assert [value[0, 0] for value in values_of(four, inside)] == [11, 11, 1100, 1100]
    assert [value[0, 0] for value in values_of(four, over_all)] == [1111] * 4
    gathered = four.allgather(parts, four.empty((4, 3), "float32"))
    np.testing.assert_array_equal(values_of(four, gathered)[3], np.concatenate(arrays[2:]))
    to_first = four.empty((4, 3), "float32", worker0_only=True)
    four.gather_to_worker0(parts, to_first)
    np.testing.assert_array_equal(
        to_first.debug_get_from_remote(2).numpy(), np.concatenate(arrays[2:])
    )
    assert [value[0, 0] for value in values_of(four, four.broadcast(arrays[3]))] == [1000] * 4
    halves = values_of(four, four.scatter(np.array([[1.0], [2.0]])))
    assert [value[0] for value in halves] == [1, 2, 1, 2]


def test_groups_and_all_in_turn(four):
    """Steps of one kind do not disturb those of the other."""
    parts = parts_of(four, [np.full(40_000, i, "int64") for i in range(4)])
    inside, over_all = four.empty((40_000,), "int64"), four.empty((40_000,), "int64")
    for _ in range(20):
        four.allreduce(parts, inside)
        four.allreduce(inside, over_all, in_group=False)
    assert [value[-1] for value in values_of(four, over_all)] == [12] * 4


def test_one_worker():
    with disco.ThreadedSession(1) as session:
        array = np.arange(6, dtype="float32").reshape(1, 6)
        part = session.scatter(array)
        total = session.allreduce(part, session.empty((6,), "float32"), "avg")
        np.testing.assert_array_equal(values_of(session, total)[0], array[0])


# ------------------------------------------------------------------------------
# Failures
# ------------------------------------------------------------------------------


def call(session, name, *args):
    """Let workers call a function of the tests, with a source and a target; wait for them."""
    source = session.broadcast(np.ones(5, "float32"))
    target = session.empty((5,), "float32")
    begin = time.monotonic()
    try:
        session.get_global_func(f"test.disco.{name}")(*args, source, target)
        session._sync_all()
    finally:
        assert time.monotonic() - begin < PATIENCE
    return target


def check_works(session):
    """The session goes on after what failed."""
    result = session.allreduce(
        session.broadcast(np.ones(7, "float32")), session.empty((7,), "float32"), in_group=False
    )
    for value in values_of(session, result):
        np.testing.assert_array_equal(value, np.full(7, session.num_workers))


@pytest.mark.parametrize("name", ["fail_on", "fail_after"])
def test_a_worker_that_raises(two, name):
    with pytest.raises(KeyError, match="no such weight") as caught:
        call(two, name, 1)
    assert "worker 0: CollectiveError: " in str(caught.value)
    assert "worker 1 failed: KeyError: no such weight" in str(caught.value)
    assert "in fail_on" in str(caught.value.__cause__)
    check_works(two)


def test_a_worker_that_does_not_come(two):
    with pytest.raises(ValueError, match="worker 1 has ended the call without coming here"):
        call(two, "leave_out", 1)
    check_works(two)


def test_workers_that_call_different_operators(two):
    expected = (
        'worker 0 called allreduce "sum" of float32 (5,), '
        "worker 1 called broadcast_from_worker0 of float32 (5,)"
    )
    with pytest.raises(ValueError) as caught:
        call(two, "call_differently")
    assert expected in str(caught.value)
    assert "worker 1: runtime.disco.broadcast_from_worker0: " in str(caught.value)
    check_works(two)


def test_workers_that_reduce_differently(four):
    with pytest.raises(ValueError) as caught:
        call(four, "reduce_differently")
    text = str(caught.value)
    assert (
        'worker 0 called allreduce "sum" of float32 (5,), worker 1 called allreduce "max"' in text
    )
    assert "workers 2, 3" not in text
    check_works(four)


def test_a_group_and_all(four):
    """A worker waits for all, another one for its group: none of them would ever come."""
    text = 'worker 1 called allreduce "sum".* of all workers|has ended the call without coming here'
    with pytest.raises(ValueError, match=text):
        call(four, "use_other_groups")
    check_works(four)


def test_shapes_and_data_types_that_differ(two):
    source = parts_of(two, [np.ones(4, "float32")] * 2)
    with pytest.raises(ValueError, match="expected tensors of one data type and of sizes that fit"):
        two.allreduce(source, two.empty((5,), "float32"))
        two._sync_all()
    with pytest.raises(ValueError, match="but got a tensor of rank 1, float32"):
        two.allgather(source, two.empty((8,), "float64"))
        two._sync_all()
    with pytest.raises(TypeError, match="expected integers or floats"):
        flags = two.broadcast(np.ones(4, "bool"))
        two.allreduce(flags, flags)
        two._sync_all()
    check_works(two)


def test_results_of_calls_that_failed(two):
    """What uses them fails without a word of its own; other calls go on."""
    fail = two.get_global_func("test.disco.fail_on")
    source, target = two.broadcast(np.ones(5, "float32")), two.empty((5,), "float32")
    result = fail(0, source, target)
    with pytest.raises(KeyError):
        two._sync_all()
    with pytest.raises(disco.CollectiveError, match="the result of a call that failed: KeyError"):
        result.debug_get_from_remote(0)
    check_works(two)


@pytest.mark.parametrize(
    ("name", "text"), [("die", "by the signal SIGKILL"), ("leave", "with status 3")]
)
def test_a_process_that_dies(name, text):
    with disco.ProcessSession(2) as session:
        session.import_python_module("disco_functions")
        with pytest.raises(RuntimeError, match=f"worker 1: its process has ended {text}") as caught:
            call(session, name, 1)
        assert "worker 0: CollectiveError: " in str(caught.value)
        assert "worker 1 has died" in str(caught.value)
        with pytest.raises(RuntimeError, match="worker 1: its process has ended"):
            check_works(session)
        assert session._workers[0].is_alive()
        session.shutdown()


def test_a_worker_that_comes_too_late():
    with disco.ThreadedSession(2, timeout=0.2) as session:
        with pytest.raises(TimeoutError, match="waited longer than the timeout of the session"):
            call(session, "come_late", 1, 0.6)
        check_works(session)


def test_a_worker_that_comes_late(two):
    np.testing.assert_array_equal(values_of(two, call(two, "come_late", 1, 0.2))[1], np.full(5, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_control_c_ends_the_wait(kind, control_c):
    with KINDS[kind](2) as session:
        session.import_python_module("disco_functions")
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            call(session, "come_late", 1, 2.0)
        timer.join()
        assert time.monotonic() - begin < 2.0
        check_works(session)


def test_controller_that_dies(tmp_path):
    """The workers end with it, also one that waits for another."""
    script = (
        "import os, time, numpy as np\n"
        "from relax_runtime import disco\n"
        "session = disco.ProcessSession(2)\n"
        "session.import_python_module('disco_functions')\n"
        "x = session.broadcast(np.ones(3, 'float32'))\n"
        "session._sync_all()\n"
        "session.get_global_func('test.disco.come_late')(1, 0.5, x, x)\n"
        "print(*(worker._process.pid for worker in session._workers), flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=PATIENCE,
    )
    pids = [int(word) for word in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    end = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


# ------------------------------------------------------------------------------
# Sessions
# ------------------------------------------------------------------------------


def test_order_of_calls(two):
    """Calls are executed in the order in which they are issued."""
    total = parts_of(two, [np.ones(3, "int64")] * 2)
    for _ in range(10):
        two.allreduce(total, total)
    assert values_of(two, total)[0][0] == 2**10


def test_many_calls_ahead_of_the_workers(two):
    total = parts_of(two, [np.zeros(3, "int64")] * 2)
    for _ in range(300):
        two.allreduce(total, total)
    assert values_of(two, total)[1][0] == 0


def test_many_steps_of_one_call(two):
    source, target = two.broadcast(np.ones(33, "int32")), two.empty((33,), "int32")
    two.get_global_func("test.disco.many")(500, source, target)
    assert values_of(two, target)[1][0] == 2


def test_workers_are_threads_or_processes():
    for kind in KINDS.values():
        with kind(2, threads_per_worker=3) as session:
            session.import_python_module("disco_functions")
            found = session.get_global_func("test.disco.process_and_threads")()
            pids, threads = zip(*(found.debug_get_from_remote(i) for i in range(2)), strict=True)
        assert threads == (3, 3)
        assert len({os.getpid(), *pids}) == (1 if kind is disco.ThreadedSession else 3)
    assert get_num_threads() >= 1


def test_workers_share_the_cores():
    with disco.ThreadedSession(2) as session:
        found = session.get_global_func("test.disco.process_and_threads")()
        assert found.debug_get_from_remote(0)[1] == max(1, get_num_threads() // 2)


def test_a_session_that_nobody_has_ends():
    session = disco.ThreadedSession(2)
    threads = session._workers
    reference = session.broadcast(np.ones(3))
    gone = weakref.ref(session)
    del session, reference
    gc.collect()
    assert gone() is None
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_values_of_references_that_nobody_has_are_dropped():
    with disco.ThreadedSession(2) as session:
        registers = session._workers[0]._executor._registers
        session.broadcast(np.ones(3))
        session._sync_all()
        before = len(registers)
        for _ in range(20):
            session.broadcast(np.ones(3))
            session._sync_all()
        assert len(registers) == before


def test_a_session_that_is_shut_down():
    session = disco.ThreadedSession(2)
    assert repr(session) == "<ThreadedSession: 2 workers>"
    session.shutdown()
    session.shutdown()
    assert repr(session) == "<ThreadedSession: 2 workers, shut down>"
    with pytest.raises(RuntimeError, match="this one is shut down"):
        session.empty((2,), "float32")


def test_a_worker_that_uses_its_session():
    """It would wait for itself."""
    with disco.ThreadedSession(2) as session:
        tvm_ffi.register_global_func("test.disco.sync", session.sync_worker_0, override=True)
        session.get_global_func("test.disco.sync")()
        with pytest.raises(RuntimeError, match="expected a thread of the controller"):
            session._sync_all()


def test_a_session_in_the_child_of_a_fork():
    """The child cannot use it, and leaves it alone when it ends."""
    script = (
        "import os, sys, numpy as np\n"
        "from relax_runtime import disco\n"
        "session = disco.ThreadedSession(2)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        session.empty((2,), 'float32')\n"
        "    except RuntimeError as error:\n"
        "        sys.exit(0 if 'this one was forked' in str(error) else 1)\n"
        "    sys.exit(2)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "x = session.broadcast(np.ones(2))\n"
        "assert session.allreduce(x, x).debug_get_from_remote(1).numpy()[0] == 2\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE)


def test_calls_from_several_threads(two):
    """All workers get them in one order."""

    def work():
        for _ in range(40):
            two.allreduce(total, total, "max")
            two.broadcast_from_worker0(total, other)

    total, other = parts_of(two, [np.ones(3)] * 2), two.empty((3,), "float64")
    two._sync_all()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values_of(two, other)[1][0] == 1


def test_errors_at_the_end_of_a_block():
    with pytest.raises(ValueError, match="is not registered"), disco.ThreadedSession(1) as session:
        session._issue("function", "test.disco.none")


@pytest.mark.parametrize("kind", KINDS.values())
@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((0,), ValueError, "num_workers to be between 1 and 256"),
        ((257,), ValueError, "num_workers to be between 1 and 256"),
        (("2",), TypeError, "expected num_workers to be an int"),
        ((4, 3), ValueError, "expected num_groups that divides num_workers, but got 3 and 4"),
        ((2, 4), ValueError, "num_groups to be between 1 and 2"),
    ],
)
def test_invalid_sessions(kind, arguments, error, text):
    with pytest.raises(error, match=text):
        kind(*arguments)


def test_invalid_options():
    with pytest.raises(ValueError, match="threads_per_worker to be between 1 and 512"):
        disco.ThreadedSession(1, threads_per_worker=0)
    with pytest.raises(ValueError, match="a timeout of more than 0 seconds, or None, but got -1"):
        disco.ThreadedSession(1, timeout=-1)


def test_invalid_arguments(two):
    target = two.empty((2,), "float32")
    with pytest.raises(ValueError, match=r"packed function 'no\.function' is not registered"):
        two.get_global_func("no.function")
    with pytest.raises(TypeError, match="bring arrays to workers by broadcast"):
        two.call_packed(two.get_global_func("test.disco.many"), np.ones(2))
    with pytest.raises(
        ValueError, match="expected one of sum, prod, min, max, avg, but got 'mean'"
    ):
        two.allreduce(target, target, "mean")
    with pytest.raises(ValueError, match=r"whose first dimension is 2.* of shape \(3,\)"):
        two.scatter(np.ones(3))
    with pytest.raises(ValueError, match="worker_id to be between 0 and 1"):
        target.debug_get_from_remote(2)
    with pytest.raises(ValueError, match="expected an array of float32 with 2 elements"):
        target.debug_copy_from(0, np.ones(3, "float32"))
    with pytest.raises(ValueError, match="expected an array of float32 with 2 elements"):
        two.copy_from_worker_0(np.ones(2), target)
    with pytest.raises(TypeError, match="expected a function, but got Tensor"):
        two.call_packed(target)
        two._sync_all()
    with pytest.raises(ValueError, match="expected the device cpu"):
        two.empty((2,), "float32", "cuda:0")
        two._sync_all()
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_module'"):
        two.import_python_module("no_such_module")
    with pytest.raises(TypeError, match="a tensor, a number, a string"):
        two.get_global_func("test.disco.many").debug_get_from_remote(0)
    with disco.ThreadedSession(1) as session:
        other = session.empty((2,), "float32")
    with pytest.raises(ValueError, match="expected a reference of this session"):
        two.allreduce(other, target)
    check_works(two)


def test_values_that_go_to_workers_and_back(two):
    given = (1, 2.5, "text", True, None, tvm_ffi.Shape((2, 3)), (4, "nested"))
    found = two.get_global_func("test.disco.values")(*given).debug_get_from_remote(1)
    assert tuple(found) == given


def test_nothing_is_imported_before_it_is_used():
    script = (
        "import sys, relax_runtime\n"
        "assert 'relax_runtime.disco' not in sys.modules\n"
        "assert 'multiprocessing.connection' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
