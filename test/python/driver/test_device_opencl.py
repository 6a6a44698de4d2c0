"""Programs for OpenCL: their SPIR-V, and what is said where a device is not there."""

import os
import subprocess
import sys

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi
from relax_mlir import op
from relax_mlir.target import Target

MODES = ("compiled", "bytecode")
MAGIC = b"\x03\x02\x23\x07"  # the first word of SPIR-V

needs_opencl = pytest.mark.skipif(
    not relax_runtime.has_device("opencl:0"), reason="needs an OpenCL device, which is not here"
)


def softmax(dtype="float32"):
    """Return a softmax of any number of rows."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 64), dtype))
    with bb.function("main", [x]):
        bb.emit_func_output(op.nn.softmax(x))
    return bb


def run_alone(code, **environment):
    """Run a program in a process of its own, and return what it prints."""
    made = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


def in_child(path, **environment):
    """Load a program in another process, call it on OpenCL, and return the words of its error."""
    return run_alone(
        "import numpy as np, relax_mlir as relax, relax_runtime\n"
        "try:\n"
        f"    main = relax.VirtualMachine(relax.load({str(path)!r}))['main']\n"
        "    main(relax_runtime.tensor(np.ones((3, 64), 'float32'), 'opencl:0'))\n"
        "except (RuntimeError, ValueError) as error:\n"
        "    print(type(error).__name__, error)\n",
        **environment,
    )


@pytest.mark.parametrize("mode", MODES)
def test_programs_are_compiled_and_saved_without_a_device(mode, tmp_path):
    path = tmp_path / "softmax.rx"
    relax.compile(softmax(), target="opencl", exec_mode=mode).save(path)
    assert MAGIC in path.read_bytes()
    assert relax.load(path).function_names == ("main",)


def test_the_target_names_device_and_host():
    target = Target.parse({"kind": "opencl", "host": "llvm -mcpu=x86-64-v3"})
    assert (target.device, target.device_arch) == ("opencl", "")
    assert target.machine.cpu == "x86-64-v3"


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("opencl -arch=sm_90", {}, "expected options of a target, any of host, but got arch"),
        (
            "opencl",
            {"cuda_graph": True},
            'expected the target "cuda", or a program with virtual devices of it, for cuda_graph',
        ),
        (
            "opencl",
            {"tf32": True},
            'expected the target "cuda", or a program with virtual devices of it, for tf32=True',
        ),
    ],
)
def test_wrong_targets(target, options, words):
    with pytest.raises(ValueError, match=words):
        relax.compile(softmax(), target=target, **options)


def test_a_machine_without_opencl(tmp_path):
    path = tmp_path / "softmax.rx"
    relax.compile(softmax(), target="opencl").save(path)
    words = in_child(path, RELAX_OPENCL_DRIVER="/no/such/driver.so")
    assert "RuntimeError" in words
    assert "no device opencl:0: OpenCL could not be loaded: /no/such/driver.so" in words


def test_a_library_that_is_not_opencl(tmp_path):
    path = tmp_path / "softmax.rx"
    relax.compile(softmax(), target="opencl").save(path)
    words = in_child(path, RELAX_OPENCL_DRIVER="libm.so.6")
    assert "the library libm.so.6 has no function clGetPlatformIDs of OpenCL 2.0" in words


@needs_opencl
def test_a_loader_without_drivers(tmp_path):
    path = tmp_path / "softmax.rx"
    relax.compile(softmax(), target="opencl").save(path)
    assert "OpenCL finds no device" in in_child(path, OCL_ICD_VENDORS=str(tmp_path))


@needs_opencl
def test_a_device_number_that_is_not_there():
    with pytest.raises(RuntimeError, match=r"expected a device from opencl:0 to opencl:\d+, but"):
        relax_runtime.tensor(np.ones(3, "float32"), "opencl:99")


@needs_opencl
@pytest.mark.parametrize("mode", MODES)
def test_a_tensor_of_the_host_is_refused_in_words(mode):
    main = relax.VirtualMachine(relax.compile(softmax(), target="opencl", exec_mode=mode))["main"]
    with pytest.raises(ValueError, match=r"argument 'x': expected .* on opencl:0, but got .* cpu"):
        main(np.ones((3, 64), "float32"))


@needs_opencl
def test_too_much_memory():
    bb = relax.BlockBuilder()
    n = relax.Var("n", relax.ShapeStructInfo(("n",)))
    with bb.function("main", [n]):
        bb.emit_func_output(op.zeros(n, "float32"))
    main = relax.VirtualMachine(relax.compile(bb, target="opencl"))["main"]
    with pytest.raises(MemoryError, match="out of memory for a tensor"):
        main(tvm_ffi.Shape((1 << 44,)))


@needs_opencl
def test_a_device_without_spirv_and_without_a_translator(tmp_path):
    path = tmp_path / "softmax.rx"
    relax.compile(softmax(), target="opencl").save(path)
    words = in_child(path, RELAX_SPIRV_TRANSLATOR="no-such-translator")
    if not words:
        pytest.skip("the device takes SPIR-V itself")
    assert "takes no SPIR-V, and the translator of SPIR-V was not found" in words
    assert "no-such-translator" in words


@needs_opencl
def test_a_translator_that_fails(tmp_path):
    path = tmp_path / "softmax.rx"
    relax.compile(softmax(), target="opencl").save(path)
    words = in_child(path, RELAX_SPIRV_TRANSLATOR="false")
    if not words:
        pytest.skip("the device takes SPIR-V itself")
    assert "the translator false of SPIR-V failed with status 1" in words


@needs_opencl
@pytest.mark.parametrize("mode", MODES)
def test_saved_programs_run(mode, tmp_path):
    path = tmp_path / "softmax.rx"
    relax.compile(softmax(), target="opencl", exec_mode=mode).save(path)
    main = relax.VirtualMachine(relax.load(path))["main"]
    for rows in (1, 3):
        x = np.random.default_rng(rows).standard_normal((rows, 64)).astype("float32")
        result = relax_runtime.tensor(main(relax_runtime.tensor(x, "opencl:0")), "cpu")
        powers = np.exp(x)
        expected = powers / powers.sum(1, keepdims=True)
        np.testing.assert_allclose(np.from_dlpack(result), expected, rtol=1e-5)


@needs_opencl
@pytest.mark.parametrize("mode", MODES)
def test_halves_are_computed_or_refused_in_words(mode):
    main = relax.VirtualMachine(relax.compile(softmax("float16"), target="opencl", exec_mode=mode))[
        "main"
    ]
    x = relax_runtime.tensor(np.ones((3, 64), "float16"), "opencl:0")
    try:
        result = relax_runtime.tensor(main(x), "cpu")
    except RuntimeError as error:
        assert "compute with float16, but the device" in str(error)
        assert "has no cl_khr_fp16" in str(error)
    else:
        np.testing.assert_allclose(np.from_dlpack(result), 1 / 64, rtol=1e-3)


BOTH = """
module attributes {relax.global_info = {gpu = #relax.vdevice<"cuda", 0>,
                                        other = #relax.vdevice<"opencl", 0>}} {
  relax.func @main(%x: !relax.tensor<[n, 8], f32, @gpu>) -> !relax.tensor<[n, 8], f32, @other> {
    %0 = relax.exp %x : (!relax.tensor<[n, 8], f32, @gpu>) -> !relax.tensor<[n, 8], f32, @gpu>
    %1 = relax.to_vdevice %0 to @other
      : !relax.tensor<[n, 8], f32, @gpu> -> !relax.tensor<[n, 8], f32, @other>
    %2 = relax.tanh %1
      : (!relax.tensor<[n, 8], f32, @other>) -> !relax.tensor<[n, 8], f32, @other>
    relax.return %2 : !relax.tensor<[n, 8], f32, @other>
  }
}
"""


@needs_opencl
@pytest.mark.parametrize("mode", MODES)
def test_a_program_on_devices_of_two_kinds(mode):
    if not relax_runtime.has_device("cuda:0"):
        pytest.skip("needs a CUDA device, which is not here")
    x = np.random.default_rng(0).random((3, 8), dtype="float32")
    main = relax.VirtualMachine(relax.compile(BOTH, exec_mode=mode))["main"]
    y = main(relax_runtime.tensor(x, "cuda:0"))
    actual = np.from_dlpack(relax_runtime.tensor(y, "cpu"))
    np.testing.assert_allclose(actual, np.tanh(np.exp(x)), rtol=1e-6)
