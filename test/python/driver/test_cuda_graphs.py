"""Programs that replay the launches of calls, on a GPU or on the interpreter of PTX.

Where it is the interpreter, its counts of calls and graphs say that calls were replayed.
"""

import ctypes
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi
from relax_mlir import op
from relax_mlir.script import from_source

WAYS = ("compiled", "bytecode", "file", "library")
MODES = ("compiled", "bytecode")
RNG = np.random.default_rng(0)
WEIGHTS = [RNG.standard_normal((16, 16)).astype("float32") / 4 for _ in range(3)]

needs_cuda = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)


def layers():
    """Return three products by constants, each with an addition and a softmax or ReLU."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 16), "float32"))
    with bb.function("main", [x]):
        y = x
        for weights in WEIGHTS:
            y = bb.emit(op.nn.softmax(op.matmul(op.nn.relu(y), relax.const(weights))))
            y = bb.emit(op.add(y, x))
        bb.emit_func_output(y)
    return bb


def expected(x):
    y = x.astype("float64")
    for weights in WEIGHTS:
        powers = np.exp(np.maximum(y, 0) @ weights)
        y = powers / powers.sum(axis=1, keepdims=True) + x
    return y


def rows(n):
    return RNG.standard_normal((n, 16)).astype("float32")


def put(array):
    return relax_runtime.tensor(array, "cuda:0")


def get(tensor):
    return np.from_dlpack(relax_runtime.tensor(tensor, "cpu"))


def machine(program, way="compiled", folder=None, **options):
    """Return a machine whose functions replay launches, in one of the ways to come by one."""
    mode = "bytecode" if way == "bytecode" else "compiled"
    options.setdefault("cuda_graph", True)
    ex = relax.compile(program, target="cuda", exec_mode=mode, **options)
    if way == "file":
        ex.save(folder / "model.rx")
        ex = relax_runtime.load(folder / "model.rx")
    elif way == "library":
        ex.export_library(folder / "model.so")
        ex = relax.load(folder / "model.so")
    return relax.VirtualMachine(ex)


class Seen:
    """What the driver did since it was made; only the interpreter counts."""

    NAMES = ("calls", "launches", "graph_launches", "graph_updates")

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("RELAX_CUDA_DRIVER") or "libcuda.so.1")
        self.counts = hasattr(self.library, "relax_ptx_graph_launches")
        self.before = self.read()

    def read(self):
        if not self.counts:
            return dict.fromkeys(self.NAMES, 0)
        found = {}
        for name in self.NAMES:
            function = getattr(self.library, f"relax_ptx_{name}")
            function.restype = ctypes.c_longlong
            found[name] = function()
        return found

    def take(self):
        """Return the counts since the last time."""
        now, before = self.read(), self.before
        self.before = now
        return SimpleNamespace(**{name: now[name] - before[name] for name in self.NAMES})


def check(main, x):
    result = main(put(x))
    np.testing.assert_allclose(get(result), expected(x), rtol=1e-4, atol=1e-5)
    return result


@needs_cuda
@pytest.mark.parametrize("way", WAYS)
def test_later_calls_replay_the_launches(way, tmp_path):
    vm = machine(layers(), way, tmp_path)
    main, seen = vm["main"], Seen()
    check(main, rows(5))
    check(main, rows(5))
    launches = seen.take().calls / 2
    for n, graphs in ((5, 1), (7, 0), (7, 0), (5, 1), (7, 1)):
        check(main, rows(n))
        counts = seen.take()
        if seen.counts:
            assert counts.graph_launches == graphs
            assert counts.launches == launches > 3
            assert counts.calls == (0 if graphs else launches)
    found = vm.cuda_graphs("main")
    assert (found.graphs, found.replays, found.reason) == (2, 3, "")
    assert found.memory > 0


@needs_cuda
def test_without_the_option_nothing_is_replayed():
    vm, seen = machine(layers(), cuda_graph=False), Seen()
    for _ in range(4):
        check(vm["main"], rows(5))
    assert seen.take().graph_launches == 0
    assert vm.cuda_graphs("main") == type(vm.cuda_graphs("main"))(0, 0, 0, "")


@needs_cuda
@pytest.mark.parametrize("self_contained", [False, True])
def test_a_library_replays_without_a_machine(self_contained, tmp_path):
    ex = relax.compile(layers(), target="cuda", cuda_graph=True)
    ex.export_library(tmp_path / "m.so", self_contained=self_contained)
    main, seen = tvm_ffi.load_module(tmp_path / "m.so")["main"], Seen()
    for _ in range(4):
        check(main, rows(3))
    assert seen.take().graph_launches == (2 if seen.counts else 0)


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_arguments_may_be_elsewhere_in_each_call(mode):
    main, arrays = machine(layers(), mode)["main"], [rows(6) for _ in range(4)]
    tensors = [put(array) for array in arrays]  # all are alive, so none has the memory of another
    seen = Seen()
    for _ in range(3):
        for array, tensor in zip(arrays, tensors, strict=True):
            np.testing.assert_allclose(get(main(tensor)), expected(array), rtol=1e-4, atol=1e-5)
    counts = seen.take()
    if seen.counts:
        assert counts.graph_launches == 10
        assert counts.graph_updates >= 10


@needs_cuda
def test_new_numbers_in_the_same_memory():
    main = machine(layers())["main"]
    addresses = set()
    for _ in range(5):
        x = rows(6)
        tensor = put(x)
        addresses.add(tensor.data_ptr() if hasattr(tensor, "data_ptr") else 0)
        np.testing.assert_allclose(get(main(tensor)), expected(x), rtol=1e-4, atol=1e-5)
        del tensor
    assert len(addresses) == 1


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_results_are_the_caller_s(mode):
    main = machine(layers(), mode)["main"]
    arrays = [rows(6) for _ in range(8)]
    results = [main(put(array)) for array in arrays]
    for array, result in zip(arrays, results, strict=True):
        np.testing.assert_allclose(get(result), expected(array), rtol=1e-4, atol=1e-5)


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_results_of_all_kinds(mode):
    """Tuples in tuples, arguments, constants, views, shapes and numbers."""
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32"), s: R.Shape(["m"])):
        n = T.int64()
        m = T.int64()
        z = R.add(x, y)
        w = R.exp(R.multiply(z, z))
        return (z, (w, x), R.shape([n, m]), R.reshape(w, R.shape([4 * n])), z)
""")
    vm, seen = machine(module, mode), Seen()
    kept = []
    for i in range(5):
        x, y = rows(3)[:, :4].copy(), rows(3)[:, :4].copy()
        first = put(x)
        z, (w, same), shape, flat, again = vm["main"](first, put(y), tvm_ffi.Shape((9,)))
        kept.append((x, y, z, w, flat, again, same))
        assert tuple(shape) == (3, 9)
        assert seen.take().graph_launches == (1 if seen.counts and i > 1 else 0)
    for x, y, z, w, flat, again, same in kept:
        np.testing.assert_allclose(get(z), x + y, rtol=1e-6)
        np.testing.assert_allclose(get(w), np.exp((x + y) ** 2), rtol=1e-5)
        np.testing.assert_array_equal(get(flat), get(w).ravel())
        np.testing.assert_array_equal(get(again), get(z))
        np.testing.assert_array_equal(get(same), x)


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_numbers_and_sizes_are_those_of_the_call(mode):
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Prim(value="v"), s: R.Shape(["m"])):
        n = T.int64()
        v = T.int64()
        m = T.int64()
        return R.exp(R.broadcast_to(x, R.shape([v, m, n])))
""")
    vm = machine(module, mode)
    x = np.arange(4, dtype="float32")
    for k, m in [(1, 2), (1, 2), (1, 2), (2, 2), (2, 2), (1, 2), (2, 2), (2, 3), (1, 2)]:
        result = get(vm["main"](put(x), k, tvm_ffi.Shape((m,))))
        np.testing.assert_allclose(result, np.exp(np.tile(x, (k, m, 1))), rtol=1e-6)
    assert vm.cuda_graphs("main").replays == 4


@needs_cuda
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_kernels_that_depend_on_how_memory_is_aligned(dtype):
    """Products, also of few rows, and attention, on tensor cores and without."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 64), dtype))
    w = relax.Var("w", relax.TensorStructInfo((64, 64), dtype))
    with bb.function("main", [x, w]):
        n = x.struct_info.shape[0]
        heads = [bb.emit(op.reshape(op.matmul(x, w), (1, n, 4, 16))) for _ in range(3)]
        y = bb.emit(op.nn.attention(*heads))
        bb.emit_func_output(op.matmul(op.reshape(y, (n, 64)), w))
    vm, plain = machine(bb), machine(bb, cuda_graph=False)
    weights = [put((RNG.standard_normal((64, 64)) / 8).astype(dtype)) for _ in range(2)]
    for n in (2, 40):
        for i in range(4):
            rows = put(RNG.standard_normal((n, 64)).astype(dtype))
            result = vm["main"](rows, weights[i % 2])
            np.testing.assert_array_equal(get(result), get(plain["main"](rows, weights[i % 2])))
    found = vm.cuda_graphs("main")
    assert (found.replays, found.reason) == (4, "")


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_tensors_that_share_memory(mode):
    bb = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorStructInfo((4,), "float32")) for name in "xy")
    with bb.function("main", [x, y]):
        bb.emit_func_output(op.add(x, op.exp(y)))
    main = machine(bb, mode)["main"]
    a, b = np.arange(4, dtype="float32"), np.ones(4, "float32")
    first, second = put(a), put(b)
    pairs = [(first, first, a, a)] * 3 + [(first, second, a, b)] * 3 + [(second, second, b, b)]
    for left, right, one, two in pairs * 2:
        np.testing.assert_allclose(get(main(left, right)), one + np.exp(two), rtol=1e-5)


INPLACE = """
@I.ir_module
class Module:
    @T.prim_func
    def add_one(x: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        for i in range(n):
            with T.block("add"):
                vi = T.axis.spatial(n, i)
                X[vi] = X[vi] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        t = R.multiply(y, R.const(2.0))
        z = R.call_tir_inplace(
            Module.add_one, (x,), inplace_indices=[0], out_sinfo=R.Tensor((n,), "float32")
        )
        return (z, R.add(z, t))
"""


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_arguments_that_are_changed(mode):
    """Each call changes the argument that it is given, and returns it."""
    vm = machine(from_source(INPLACE), mode)
    states = [put(np.full(4, 10 * i, "float32")) for i in range(2)]
    for i in range(12):
        changed, total = vm["main"](states[i % 2], put(np.full(4, i, "float32")))
        number = 10 * (i % 2) + i // 2 + 1
        np.testing.assert_array_equal(get(changed), np.full(4, number))
        np.testing.assert_array_equal(get(states[i % 2]), get(changed))
        np.testing.assert_array_equal(get(total), np.full(4, number + 2 * i))
    assert vm.cuda_graphs("main").replays == 10


UNIQUE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.unique(R.exp(x))
"""
BRANCH = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        c = R.greater(R.sum(x), R.const(0.0))
        if c:
            y = R.exp(x)
        else:
            y = R.negative(x)
        return y
"""
PACKED = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")):
        y = R.exp(x)
        _ = R.call_packed("test_cuda_graphs.see", y, sinfo_args=R.Object)
        return R.exp(y)
"""


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("source", "meaning", "reason"),
    [
        (UNIQUE, lambda x: np.unique(np.exp(x)), "it "),
        (BRANCH, lambda x: np.exp(x) if x.sum() > 0 else -x, "it copies tensors"),
        (PACKED, lambda x: np.exp(np.exp(x)), "it calls packed functions"),
    ],
    ids=["sizes of data", "branch", "packed function"],
)
def test_what_cannot_be_replayed_runs(mode, source, meaning, reason):
    calls = []
    tvm_ffi.register_global_func("test_cuda_graphs.see", calls.append, override=True)
    vm, seen = machine(from_source(source), mode), Seen()
    for sign in (1, 1, -1, -1, 1):
        x = np.float32([1, 2, 2, 0.5]) * sign
        np.testing.assert_allclose(get(vm["main"](put(x))), meaning(x), rtol=1e-5)
    assert seen.take().graph_launches == 0
    found = vm.cuda_graphs("main")
    assert (found.graphs, found.replays) == (0, 0)
    assert found.reason.startswith(reason)
    assert len(calls) == (5 if source is PACKED else 0)


@needs_cuda
def test_errors_are_those_of_a_call_that_runs():
    main = machine(layers())["main"]
    for _ in range(3):
        with pytest.raises(ValueError, match=r"argument 'x': expected .* on cuda:0"):
            main(rows(3))
        with pytest.raises(ValueError, match=r"argument 'x'"):
            main(put(np.zeros((3, 15), "float32")))
        check(main, rows(3))


TWO = """
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("cuda", 0), I.vdevice("cuda", 1)]})

    @R.function
    def main(
        x: R.Tensor(("n",), "float32", "cuda:0"), y: R.Tensor(("n",), "float32", "cuda:1")
    ):
        return (R.exp(x), R.exp(y))
"""


@pytest.mark.skipif(
    not relax_runtime.has_device("cuda:1"), reason="needs two CUDA devices, which are not here"
)
@pytest.mark.parametrize("mode", MODES)
def test_programs_of_two_devices_run(mode):
    ex = relax.compile(from_source(TWO), exec_mode=mode, cuda_graph=True)
    vm, x = relax.VirtualMachine(ex), np.arange(4, dtype="float32")
    for _ in range(4):
        first, second = vm["main"](put(x), relax_runtime.tensor(x + 1, "cuda:1"))
        np.testing.assert_allclose(get(first), np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(get(second), np.exp(x + 1), rtol=1e-6)
    found = vm.cuda_graphs("main")
    assert (found.graphs, found.reason) == (0, "it launches kernels on several devices")


@needs_cuda
def test_a_driver_that_makes_no_graph():
    vm, seen = machine(layers()), Seen()
    if not seen.counts:
        pytest.skip("the interpreter of PTX can refuse graphs")
    seen.library.relax_ptx_refuse_graphs(True)
    try:
        for _ in range(4):
            check(vm["main"], rows(3))
    finally:
        seen.library.relax_ptx_refuse_graphs(False)
    assert seen.take().graph_launches == 0
    assert "cuda:0: cannot make a graph: " in vm.cuda_graphs("main").reason


@needs_cuda
def test_steps_are_seen_by_those_who_observe():
    vm = machine(layers(), "bytecode")
    main = vm["main"]
    for _ in range(3):
        check(main, rows(3))
    kernels = [row for row in vm.profile("main", put(rows(3))).rows if row.kind == "kernel"]
    assert kernels
    names = []
    vm.set_instrument(lambda function, name, before, result, *args: names.append(name))
    check(main, rows(3))
    vm.set_instrument(None)
    assert names
    names.clear()
    check(main, rows(3))
    assert not names


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_threads_share_graphs(mode):
    vm = machine(layers(), mode)
    main, failures = vm["main"], []

    def call(seed):
        rng = np.random.default_rng(seed)
        kept = []
        try:
            for i in range(8):
                x = rng.standard_normal((2 + i % 2, 16)).astype("float32")
                kept.append((x, main(put(x))))
            for x, result in kept:
                np.testing.assert_allclose(get(result), expected(x), rtol=1e-4, atol=1e-5)
        except Exception as error:  # a thread has nobody to raise it to
            failures.append(error)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    before = vm.cuda_graphs("main").replays
    check(main, rows(2))
    check(main, rows(3))
    found = vm.cuda_graphs("main")
    assert (found.graphs, found.replays, found.reason) == (2, before + 2, "")


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_constants_are_copied_while_a_call_is_recorded(mode):
    vm, seen = machine(layers(), mode), Seen()
    if not seen.counts:
        pytest.skip("the interpreter of PTX can refuse copies")
    x = put(rows(3))
    seen.library.relax_ptx_fail_copies(True)
    try:
        with pytest.raises(RuntimeError, match="copy"):
            vm["main"](x)
    finally:
        seen.library.relax_ptx_fail_copies(False)
    for _ in range(3):
        check(vm["main"], rows(3))
    found = vm.cuda_graphs("main")
    assert (found.graphs, found.replays, found.reason) == (1, 2, "")


@needs_cuda
def test_memory_goes_with_the_machine():
    before = relax_runtime.memory_stats("cuda:0").in_use
    ex = relax.compile(layers(), target="cuda", cuda_graph=True)
    vm = relax.VirtualMachine(ex)
    for _ in range(3):
        check(vm["main"], rows(40))
    held = vm.cuda_graphs("main").memory
    assert held > 0
    with_constants = relax_runtime.memory_stats("cuda:0").in_use
    assert with_constants >= before + held
    del vm
    assert relax_runtime.memory_stats("cuda:0").in_use == with_constants - held


@needs_cuda
def test_graphs_that_were_not_used_for_long_go():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    vm = machine(bb)
    for n in range(1, 41):
        for _ in range(3):
            x = np.ones(n, "float32")
            np.testing.assert_allclose(get(vm["main"](put(x))), np.exp(x), rtol=1e-6)
    found = vm.cuda_graphs("main")
    assert (found.graphs, found.replays) == (32, 40)


def test_the_option_wants_a_device():
    with pytest.raises(ValueError, match='expected the target "cuda", or a program with virtual'):
        relax.compile(layers(), cuda_graph=True)


def test_the_configuration_of_tvm():
    with relax.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        assert relax.compile(layers(), target="cuda").cuda_graph
        assert not relax.compile(layers()).cuda_graph
    assert not relax.compile(layers(), target="cuda").cuda_graph
