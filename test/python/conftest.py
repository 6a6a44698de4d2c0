"""Short ways to write and run programs."""

import dataclasses
import gc
import os
import signal
import sys
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi
from assembled import find_spills
from emulated import ALSO_EMULATED, MACHINES, EmulatedExecutable, Emulator
from evaluated import ALWAYS_EVALUATED, why_not_evaluated
from relax_mlir.driver import compiler
from shared_phases import SharedPhases

# How long an example takes, or is found, says nothing where machines and sanitizers differ.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

SHARED_PHASES = SharedPhases()

# Tests of these folders are about what programs become, not about fast code: LLVM optimizes less.
ABOUT_PROGRAMS = {
    *("analysis", "backend", "builder", "core", "distributed", "dpl", "frontend", "quantization"),
    *("reference", "script", "training", "transform"),
}

# If this variable is set, each module that a test builds goes through TVMScript and back, too.
ROUND_TRIP = "RELAX_MLIR_TEST_ROUND_TRIP"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Let a test in one of its modes have what phases made in the other one."""
    SHARED_PHASES.start(_without_mode(item) if "exec_mode" in item.fixturenames else None)


@pytest.fixture(autouse=True)
def number_of_threads():
    """Leave the number of threads that is the default."""
    yield
    relax.runtime.set_num_threads(None)


@pytest.fixture(autouse=True)
def quick_code(request, monkeypatch):
    """Compile with opt_level=0 where a test is not about code, and leaves the default."""
    if ABOUT_PROGRAMS.isdisjoint(request.node.path.relative_to(Path(__file__).parent).parts):
        return

    def add_code(program, module, info, options, report, *, add=compiler._add_code):
        if options.opt_level == relax.CompileOptions().opt_level:
            options = dataclasses.replace(options, opt_level=0)
        return add(program, module, info, options, report)

    monkeypatch.setattr(compiler, "_add_code", add_code)


@pytest.fixture
def control_c():
    """Have Python see Control-C, also in a job in the background, which starts without."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def round_trip(request, monkeypatch):
    """Print and parse what `BlockBuilder.get` returns; a difference fails the test."""
    if not os.environ.get(ROUND_TRIP) or "script" in Path(request.node.fspath).parts:
        return
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "fuzz")
    from script import check

    get = relax.BlockBuilder.get

    def checked(self):
        made = get(self)
        with monkeypatch.context() as parsing:  # the parser has a builder, too
            parsing.setattr(relax.BlockBuilder, "get", get)
            problem = check(made)
        print(f"round trip: {'not the same' if problem else 'the same'}", file=sys.stderr)
        assert problem is None, problem
        return made

    monkeypatch.setattr(relax.BlockBuilder, "get", checked)


def pytest_addoption(parser):
    parser.addoption(
        "--reference",
        action="store_true",
        help="run the programs of tests in the reference interpreter, in place of both modes",
    )
    parser.addoption(
        "--mcpu",
        help="compile the programs of tests for a processor that LLVM knows, such as x86-64-v3",
    )
    parser.addoption(
        "--device",
        help="compile the programs of tests for a target such as cuda, and run them on its device",
    )
    parser.addoption(
        "--assemble",
        action="store_true",
        help="with --device cuda: have ptxas assemble all kernels, too, which may not spill",
    )
    parser.addoption(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="run one of N tests only, in all its modes, spread over all",
    )
    parser.addoption(
        "--emulate",
        choices=tuple(MACHINES),
        help="compile the programs of tests for another processor, and run them in an emulator",
    )


def pytest_generate_tests(metafunc):
    """Run what uses `exec_mode` in both modes, and programs of operators in the reference, too."""
    if metafunc.config.getoption("--emulate") and metafunc.definition.name in ALSO_EMULATED:
        metafunc.fixturenames.append("exec_mode")  # see `emulated`
        metafunc.parametrize("exec_mode", ["compiled"], indirect=True)
        return
    if "exec_mode" not in metafunc.fixturenames or _chooses_modes(metafunc):
        return
    modes = ["compiled", "bytecode"]
    evaluated = why_not_evaluated(metafunc.definition) is None
    if metafunc.config.getoption("--reference"):
        modes = ["reference"] if evaluated else []
    elif evaluated and metafunc.module.__name__ in ALWAYS_EVALUATED:
        modes.append("reference")
    metafunc.parametrize("exec_mode", modes, indirect=True)


def pytest_collection():
    """Collect no garbage meanwhile: there is none among the tests, of which there are thousands."""
    gc.disable()


def pytest_collection_finish():
    """Leave the tests to no later collection either."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config, items):
    """Leave out what does not run where --reference, --device or --emulate says.

    The modes of a test follow one another, so that they share phases.
    """
    wanted = {"compiled", "bytecode"}
    if config.getoption("--reference"):
        wanted = {"reference"}
    is_elsewhere = any(map(config.getoption, ("--reference", "--device", "--emulate")))

    def runs(item):
        if "emulator" in getattr(item, "fixturenames", ()):
            return bool(config.getoption("--emulate"))
        modes = getattr(item, "callspec", None)
        return not is_elsewhere or (modes is not None and modes.params.get("exec_mode") in wanted)

    kept = list(filter(runs, items))
    groups = {}  # each in all its modes
    for item in kept:
        groups.setdefault(_without_mode(item), []).append(item)
    every = config.getoption("--every")
    kept = [item for group in list(groups.values())[every - 1 :: every] for item in group]
    left = set(items).difference(kept)
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = kept


def _without_mode(item):
    """Return the name of a test without the mode that it runs in."""
    if "exec_mode" not in getattr(getattr(item, "callspec", None), "params", {}):
        return item.nodeid
    ids = item.callspec.id.split("-")
    if (mode := item.callspec.params["exec_mode"]) in ids:
        ids.remove(mode)
    return f"{item.nodeid.removesuffix(f'[{item.callspec.id}]')}[{'-'.join(ids)}]"


def _chooses_modes(metafunc):
    marks = metafunc.definition.iter_markers("parametrize")
    return any("exec_mode" in str(mark.args[0]) for mark in marks)


def _assembling(*args, compile_=relax.compile, **options):
    """Compile a program, and assemble its kernels of GPUs."""
    made = compile_(*args, **options)
    assert find_spills(made) == []
    return made


@pytest.fixture
def exec_mode(request, monkeypatch):
    """Run a test in a mode: the one that `relax_mlir.compile` uses where none is given."""
    mode = request.param
    compile_ = _assembling if request.config.getoption("--assemble") else relax.compile
    device = request.config.getoption("--device")
    emulator = None
    if request.config.getoption("--emulate"):
        emulator = request.getfixturevalue("emulator")
    if device:
        monkeypatch.setattr(relax, "VirtualMachine", _machine_on(f"{device.split()[0]}:0"))

    def compile_in_mode(mod, target="llvm", **options):
        if mode == "reference":
            if options.get("exec_mode") == mode:  # where a test passes its mode on
                del options["exec_mode"]
            if "dump_phases" in options:
                pytest.skip("the reference interpreter has no phases to dump")
            return compile_(mod, mode if target == "llvm" else target, **options)
        if (cpu := request.config.getoption("--mcpu")) and target == "llvm":
            target = f"llvm -mcpu={cpu}"
        if device and target == "llvm":
            target = device
        options = {"exec_mode": mode, **options}
        if emulator and target == "llvm":
            made = compile_(mod, emulator.machine.target, **options)
            return EmulatedExecutable(made, emulator)
        return compile_(mod, target, **options)

    monkeypatch.setattr(relax, "compile", compile_in_mode)
    for name in ("callable", "dynamo"):  # which compile what they import
        if module := sys.modules.get(f"relax_mlir.frontend.torch.{name}"):
            monkeypatch.setattr(module, "compile_module", compile_in_mode)
    return mode


@pytest.fixture(autouse=True)
def emulated(request):
    """Let programs of tests that do not name `exec_mode` themselves run in the emulator, too."""
    also = getattr(request.node, "originalname", None) in ALSO_EMULATED
    if also and request.config.getoption("--emulate"):
        request.getfixturevalue("exec_mode")


@pytest.fixture(scope="session")
def emulator(request):
    """Return the emulator of the machine that --emulate names."""
    emulator = Emulator(request.config.getoption("--emulate"))
    yield emulator
    emulator.close()


def _map_tensors(value, move):
    if isinstance(value, tvm_ffi.Shape):
        return value
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Array":
        return tuple(_map_tensors(field, move) for field in value)
    return move(value) if hasattr(value, "__dlpack__") else value


def _machine_on(device):
    """Return a virtual machine whose functions take and return tensors of the host."""

    class OnDevice(relax.VirtualMachine):
        def __getitem__(self, name):
            function = super().__getitem__(name)

            def call(*args):
                moved = [
                    _map_tensors(arg, lambda x: relax_runtime.tensor(x, device)) for arg in args
                ]
                try:
                    result = function(*moved)
                except RuntimeError as error:
                    if "cannot load kernels: they compute with float" in str(error):
                        pytest.skip(str(error))  # of a type that the device has not
                    raise
                return _map_tensors(result, lambda x: relax_runtime.tensor(x, "cpu:0"))

            return call

    return OnDevice


def _write(function, *params, **options):
    """Return a builder with one function `main`, whose body is a Python function of its params."""
    bb = relax.BlockBuilder()
    with bb.function("main", params, **options):
        bb.emit_func_output(function(*params))
    return bb


def _load(program, name="main"):
    return relax.VirtualMachine(relax.compile(program))[name]


@pytest.fixture
def write():
    return _write


@pytest.fixture
def load(exec_mode):
    """Compile a program and return its function, in both modes."""
    return _load


@pytest.fixture
def tensor():
    """Return a parameter that is a tensor."""

    def tensor(shape=None, dtype="float32", name="x", **options):
        return relax.Var(name, relax.TensorStructInfo(shape, dtype, **options))

    return tensor


@pytest.fixture
def run(write, load, tensor):
    """Run an operator on arrays; `shapes` are those of its params, by default of static size."""

    def run(function, *arrays, shapes=None):
        shapes = shapes or [array.shape for array in arrays]
        params = [
            tensor(shape, array.dtype.name, name=f"x{index}")
            for index, (shape, array) in enumerate(zip(shapes, arrays, strict=True))
        ]
        result = load(write(function, *params))(*arrays)
        return np.from_dlpack(result) if hasattr(result, "__dlpack__") else result

    return run


@pytest.fixture
def vector(tensor):
    """Return a parameter that is a vector of float32."""

    def vector(name="x", dim="n"):
        return tensor((dim,), name=name)

    return vector


@pytest.fixture(params=[False, True], ids=["static", "symbolic"])
def run_te(request):
    """Compile emit_te of a function, run it on arrays and return NumPy arrays.

    Symbolic dimensions are one variable for each size. A kernel is the same in both modes, so each
    shape runs in one of them.
    """
    exec_mode = "bytecode" if request.param else "compiled"

    def run(function, *args, **kwargs):
        bb = relax.BlockBuilder()
        params, arrays, given = [], [], []
        for index, arg in enumerate(args):
            if not isinstance(arg, np.ndarray):
                given.append(arg)
                continue
            shape = [f"d{n}" if request.param and n > 1 else n for n in arg.shape]
            param = relax.Var(f"x{index}", relax.TensorStructInfo(shape, arg.dtype))
            params.append(param)
            given.append(param)
            arrays.append(arg)
        with bb.function("main", params):
            bb.emit_func_output(bb.emit_te(function, *given, **kwargs))
        vm = relax.VirtualMachine(relax.compile(bb, exec_mode=exec_mode))
        result = vm["main"](*arrays)
        if hasattr(result, "__dlpack__"):
            return np.from_dlpack(result)
        return tuple(np.from_dlpack(each) for each in result)

    run.is_symbolic = request.param
    return run
