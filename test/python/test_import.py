"""Importing: what it does to contexts, and what it says where a package does not fit."""

import subprocess
import sys
from importlib.resources import files

import pytest
import relax_mlir as relax
from mlir import ir

PACKAGES = str(files("relax_mlir").joinpath(".."))


def run_python(code, *path):
    """Run code in a new interpreter with `path` before everything else."""
    lines = [f"import sys; sys.path[:0] = {[*map(str, path), PACKAGES]!r}", code]
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)


def write_distribution(folder, name, version):
    """Install nothing but the metadata of a distribution."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


def test_new_context_knows_the_dialect():
    with ir.Context():
        assert str(ir.Type.parse("!relax.object")) == "!relax.object"


def test_context_made_before_import():
    code = """
from mlir import ir
context = ir.Context()
import relax_mlir as relax
with context:
    print(relax.TensorStructInfo(("n",)))
relax.load_dialect(context)
"""
    done = run_python(code)
    assert done.stdout == "!relax.tensor<[n]>\n", done.stderr


def test_op_classes_are_found():
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse("relax.func private @f() -> !relax.object")
        assert type(module.body.operations[0]).__module__ == "relax_mlir.dialects._relax_ops_gen"


def test_default_context_is_one():
    assert relax.default_context() is relax.default_context()
    assert relax.TensorStructInfo().context is relax.default_context()


def test_current_context_wins():
    with ir.Context() as context:
        assert relax.TensorStructInfo().context is context


def test_package_is_typed():
    assert files("relax_mlir").joinpath("py.typed").is_file()
    assert files("relax_mlir._mlir_libs").joinpath("_relax_mlir.pyi").is_file()


def test_public_names_exist():
    assert all(hasattr(relax, name) for name in relax.__all__)


def test_former_names_of_dimensions():
    assert relax.PrimExpr is relax.Dim
    assert relax.var is relax.shape_var
    assert relax.tir.PrimExpr is not relax.Dim


def test_one_machine_and_one_executable():
    assert relax.VirtualMachine is relax.runtime.VirtualMachine
    assert issubclass(relax.Executable, relax.runtime.Executable)


def test_runtime_needs_no_compiler():
    code = """if True:
        import relax_runtime
        ex = relax_runtime.Executable.assemble("function main(x) { ret %0 }")
        print(relax_runtime.VirtualMachine(ex)["main"](3))
        print({"mlir", "relax_mlir"} & set(sys.modules))"""
    done = run_python(code)
    assert done.stdout == "3\nset()\n", done.stderr


MLIR_PIP = 'pip install "xtc-mlir-python-bindings==22.1.8.*"'
TVM_FFI_PIP = 'pip install "apache-tvm-ffi>=0.1.14.post0,<0.2"'


def test_error_placeholder_of_mlir(tmp_path):
    # PyPI's mlir-python-bindings: a package mlir without the bindings.
    (tmp_path / "mlir").mkdir()
    (tmp_path / "mlir" / "__init__.py").touch()
    done = run_python("import relax_mlir", tmp_path)
    assert "ImportError: relax_mlir needs the Python bindings of MLIR 22" in done.stderr
    assert MLIR_PIP in done.stderr


@pytest.mark.parametrize(("module", "command"), [("mlir", MLIR_PIP), ("tvm_ffi", TVM_FFI_PIP)])
def test_error_missing_package(module, command):
    done = run_python(f"sys.modules[{module!r}] = None\nimport relax_mlir")
    assert "ImportError" in done.stderr
    assert "not found" in done.stderr
    assert command in done.stderr


@pytest.mark.parametrize(
    ("name", "version", "command"),
    [
        ("xtc-mlir-python-bindings", "21.1.0", MLIR_PIP),
        ("apache-tvm-ffi", "0.1.13", TVM_FFI_PIP),
        ("apache-tvm-ffi", "0.2.0", TVM_FFI_PIP),
    ],
)
def test_error_wrong_version(tmp_path, name, version, command):
    done = run_python("import relax_mlir", write_distribution(tmp_path, name, version))
    assert f"but got {version}: {command}" in done.stderr


def test_supported_versions(tmp_path):
    write_distribution(tmp_path, "apache-tvm-ffi", "0.1.14.post0")
    assert run_python("import relax_mlir", tmp_path).returncode == 0


def test_error_extension_of_another_mlir():
    done = run_python("sys.modules['relax_mlir._mlir_libs._relax_mlir'] = None\nimport relax_mlir")
    assert "ImportError: the extension of relax_mlir does not fit" in done.stderr
    assert MLIR_PIP.removesuffix('"') in done.stderr


def test_script_that_keeps_a_function_ends_without_a_message():
    code = """if True:
        import numpy as np, tvm_ffi, relax_mlir as relax

        @tvm_ffi.register_global_func("test.kept")
        def kept(x):
            return x

        main = relax.VirtualMachine(relax.compile('''
            relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
              %0 = relax.exp %x : (!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>
              relax.return %0 : !relax.tensor<[4], f32>
            }'''))["main"]
        main(np.ones(4, "float32"))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("module", ["relax_mlir", "relax_runtime"])
def test_pytorch_is_not_imported(module):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    done = run_python(f"import {module}; print('torch' in sys.modules)")
    assert done.stdout == "False\n", done.stderr


def test_tvm_ffi_knows_pytorch_that_is_imported_later():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code = """
import importlib.util
import relax_runtime
import tvm_ffi

echo = tvm_ffi.get_global_func("testing.echo")
importlib.util.find_spec("torch")
assert "torch" not in sys.modules
import torch

for each in ("int8", "half", "float32", "bfloat16", "bool", "float8_e4m3fn"):
    dtype = getattr(torch, each)
    print(echo(dtype), tvm_ffi.convert(dtype))
print(type(echo(torch.ones(2))).__name__)
assert tvm_ffi.stream.torch.cuda is torch.cuda
assert not [each for each in sys.meta_path if type(each).__module__.startswith("relax")]
"""
    done = run_python(code)
    names = ["int8", "float16", "float32", "bfloat16", "bool", "float8_e4m3fn"]
    assert done.stdout.splitlines() == [*(f"{each} {each}" for each in names), "Tensor"], (
        done.stderr
    )


def test_context_of_streams_imports_pytorch():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code = """
import relax_runtime
import tvm_ffi

try:
    with tvm_ffi.use_torch_stream():
        pass
except (AssertionError, RuntimeError):  # no CUDA
    pass
print("torch" in sys.modules)
"""
    done = run_python(code)
    assert done.stdout == "True\n", done.stderr


def test_failed_import_of_pytorch_is_reported(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('broken')")
    code = """
import relax_runtime

for _ in range(2):
    try:
        import torch
    except ImportError as error:
        print(error)
"""
    done = run_python(code, tmp_path)
    assert done.stdout == "broken\nbroken\n", done.stderr
