"""Programs for devices: what compiles without one, and what is said where there is none."""

import os

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
from relax_mlir import op
from relax_mlir.script import from_source
from relax_mlir.target import Target

MODES = ("compiled", "bytecode")
ROWS = np.random.default_rng(0).standard_normal((5, 70)).astype("float32")

needs_cuda = pytest.mark.skipif(
    not relax_runtime.has_device("cuda:0"), reason="needs a CUDA device, which is not here"
)


def layer():
    """Return a product with constants, a bias and a softmax, of any number of rows."""
    weights = np.random.default_rng(1).standard_normal((70, 33)).astype("float32")
    bias = np.random.default_rng(2).standard_normal(33).astype("float32")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 70), "float32"))
    with bb.function("main", [x]):
        y = bb.emit(op.matmul(x, relax.const(weights)))
        y = bb.emit(op.add(y, relax.const(bias)))
        bb.emit_func_output(op.nn.softmax(y))
    return bb


def phases(tmp_path, program, **options):
    relax.compile(program, target="cuda", dump_phases=tmp_path, **options)
    return {path.stem.partition("-")[2]: path.read_text() for path in tmp_path.iterdir()}


def test_kernels_become_ptx_in_the_program(tmp_path):
    """The tensors are on the device, softmax is one launch, and its PTX a constant."""
    text = phases(tmp_path, layer())
    assert 'relax.vdevice<"cuda", 0>' in text["legalize"]
    softmax = text["kernels"].split("func.func private @relax.kernel.softmax")[1]
    assert softmax.split("func.func")[0].count("gpu.launch ") == 1
    assert ".target sm_80" in text["llvm"]


def test_the_architecture_is_that_of_the_target(tmp_path):
    relax.compile(layer(), target="cuda -arch=sm_90", dump_phases=tmp_path)
    assert ".target sm_90" in (tmp_path / "08-llvm.mlir").read_text()


@pytest.mark.parametrize("mode", MODES)
def test_programs_are_compiled_and_saved_without_a_device(mode, tmp_path):
    path = tmp_path / "layer.rx"
    relax.compile(layer(), target="cuda", exec_mode=mode).save(path)
    assert b".visible .entry" in path.read_bytes()
    assert relax.load(path).function_names == ("main",)


def test_bytecode_calls_kernels_of_devices():
    ex = relax.compile(layer(), target="cuda", exec_mode="bytecode")
    assert "device_kernel " in ex.as_text()


@pytest.mark.parametrize("mode", MODES)
def test_a_tensor_of_the_host_is_refused_in_words(mode):
    main = relax.VirtualMachine(relax.compile(layer(), target="cuda", exec_mode=mode))["main"]
    with pytest.raises(ValueError, match=r"argument 'x': expected .* on cuda:0, but got .* cpu:0"):
        main(ROWS)


def test_the_target_names_device_and_host():
    target = Target.parse({"kind": "cuda", "arch": "sm_90", "host": "llvm -mcpu=x86-64-v3"})
    assert (target.device, target.device_arch) == ("cuda", "sm_90")
    assert target.machine.cpu == "x86-64-v3"
    assert Target.parse("cuda").device == "cuda"


def test_native_is_the_gpu_of_this_machine(monkeypatch):
    monkeypatch.setenv("RELAX_CUDA_DRIVER", "libno-such-driver.so")
    with pytest.raises(ValueError, match=r"expected a GPU for -arch=native, but there is none: "):
        Target.parse("cuda -arch=native")


@needs_cuda
@pytest.mark.parametrize(("capability", "arch"), [("80", "sm_80"), ("90", "sm_90a")])
def test_native_is_the_gpu_of_the_driver(capability, arch, monkeypatch):
    if "relax_ptx_driver" not in os.environ.get("RELAX_CUDA_DRIVER", ""):
        pytest.skip("needs the interpreter of PTX, whose architecture can be chosen")
    monkeypatch.setenv("RELAX_PTX_ARCH", capability)
    assert Target.parse("cuda -arch=native").device_arch == arch


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("vulkan", "expected a target of the kind llvm, cuda or opencl, but got 'vulkan'"),
        ("cuda -mcpu=x", "expected options of a target, any of arch, host, but got mcpu"),
        (
            "cuda -arch=90",
            "expected arch to be like sm_90, one of sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, "
            "sm_100, sm_101, sm_103, sm_110, sm_120, sm_121, but got '90'",
        ),
    ],
)
def test_wrong_targets(target, words):
    with pytest.raises(ValueError, match=words):
        relax.compile(layer(), target=target)


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_a_number_becomes_a_tensor_of_the_device(mode):
    program = from_source("""
@R.function
def main(x: R.Tensor((3,), "float32"), value: R.Prim("float32")):
    return R.add(x, R.full(R.shape([3]), value, "float32"))
""")
    main = relax.VirtualMachine(relax.compile(program, target="cuda", exec_mode=mode))["main"]
    result = main(relax_runtime.tensor(np.arange(3, dtype="float32"), "cuda:0"), 2.5)
    assert relax_runtime.tensor(result, "cpu").tolist() == [2.5, 3.5, 4.5]


@needs_cuda
@pytest.mark.parametrize("mode", MODES)
def test_a_layer_on_the_device(mode):
    expected = relax.VirtualMachine(relax.compile(layer()))["main"](ROWS)
    main = relax.VirtualMachine(relax.compile(layer(), target="cuda", exec_mode=mode))["main"]
    for _ in range(2):
        actual = relax_runtime.tensor(main(relax_runtime.tensor(ROWS, "cuda:0")), "cpu")
        np.testing.assert_allclose(
            np.from_dlpack(actual), np.from_dlpack(expected), rtol=1e-5, atol=1e-6
        )
