# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands that read models: compile, run, bench, profile, inspect."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir.cli import main, options
from relax_mlir.frontend.relay import save_params
from relax_mlir.transform.options import CompileOptions

RNG = np.random.default_rng(0)
W = RNG.standard_normal((4, 3)).astype("float32")
X = RNG.standard_normal((5, 4)).astype("float32")

SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            R.output(y)
        return y
"""


def expected(x: np.ndarray = X) -> np.ndarray:
    return np.maximum(x @ W, 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with the model as TVMScript, and its inputs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(SCRIPT)
    np.savez("inputs.npz", x=X, w=W)
    np.savez("weights.npz", w=W)
    np.save("x.npy", X)
    return tmp_path


@pytest.fixture
def onnx_model(folder: Path) -> Path:
    onnx = pytest.importorskip("onnx")
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    model (float[batch, 4] "x:0") => (float[batch, 3] y) { h = MatMul("x:0", w)
      y = Relu(h) }""")
    model.graph.initializer.append(onnx.numpy_helper.from_array(W, "w"))
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


def command(*words: object) -> int:
    return main([str(word) for word in words])


def error_of(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Return the line that a command complains with."""
    capsys.readouterr()
    assert command(*words) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("relax-mlir: ")
    return line.removeprefix("relax-mlir: ")


def outputs(path: str = "out.npz") -> list[np.ndarray]:
    with np.load(path) as file:
        return [file[name] for name in file.files]


# -- compile and run ------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["rx", "so"])
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_compile_and_run(
    folder: Path, mode: str, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = f"model.{suffix}"
    given = ("--exec-mode", mode, "-O", 1, "--bind-weights", "weights.npz")
    assert command("compile", "model.py", "-o", output, *given) == 0
    assert capsys.readouterr().out.startswith(f"{output}: ")
    assert relax.load(output).exec_mode == mode
    assert command("run", output, "-i", "x.npy", "-o", "out.npz") == 0
    assert "output_0: float32[5, 3] from 0 to " in capsys.readouterr().out
    np.testing.assert_allclose(outputs()[0], expected(), rtol=1e-5)


@pytest.mark.parametrize("suffix", ["mlir", "mlirbc", "py"])
def test_programs_that_are_written_can_be_read(folder: Path, suffix: str) -> None:
    assert command("compile", "model.py", "-o", f"again.{suffix}") == 0
    given = ("-i", "inputs.npz", "-o", "out.npz", "-O", 1)
    assert command("run", f"again.{suffix}", *given) == 0
    np.testing.assert_allclose(outputs()[0], expected(), rtol=1e-5)


def test_models_of_onnx(onnx_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("named.npz", **{"x:0": X})
    given = ("-i", "named.npz", "-o", "out.npz", "-O", 1)
    assert command("run", onnx_model, *given) == 0
    assert "y: float32[5, 3]" in capsys.readouterr().out
    np.testing.assert_allclose(outputs()[0], expected(), rtol=1e-5)
    weights = ("--weights", "inputs", "--save-weights", "w.npz")
    assert command("compile", onnx_model, "-o", "model.rx", "-O", 1, *weights) == 0
    np.savez("x.npz", x_0=X)
    assert command("run", "model.rx", "-i", "w.npz", "x.npz", "-o", "out.npz") == 0
    np.testing.assert_allclose(outputs()[0], expected(), rtol=1e-5)


def test_models_of_pytorch(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    n = torch.export.Dim("n", min=2)
    program = torch.export.export(model, (torch.ones(2, 4),), dynamic_shapes=({0: n},))
    torch.export.save(program, "model.pt2")
    wanted = model(torch.from_numpy(X)).detach().numpy()
    for weights in ("constants", "inputs"):
        given = ("--weights", weights, "-i", "x.npy", "-o", "out.npz", "-O", 1)
        assert command("run", "model.pt2", *given) == 0
        np.testing.assert_allclose(outputs()[0], wanted, rtol=1e-5, atol=1e-6)


def test_error_of_a_damaged_model_of_pytorch(
    folder: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("torch")
    with zipfile.ZipFile("model.pt2", "w") as archive:
        archive.writestr("model/nothing", "")
    message = error_of(capsys, "inspect", "model.pt2")
    assert message.startswith("model.pt2: expected what torch.export.save writes, but it cannot be")
    assert "above" not in message
    assert not caplog.records


def test_code_in_an_archive_does_not_run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    seen = []

    def load(path: object) -> None:
        seen.append(path)
        torch.load("code.pt", weights_only=False)

    torch.save({"made": Path}, "code.pt")
    (folder / "model.pt2").write_bytes(b"PK\x03\x04")
    monkeypatch.setattr(torch.export, "load", load)
    assert "model.pt2: expected what torch.export.save writes" in error_of(
        capsys, "run", "model.pt2"
    )
    assert seen == [Path("model.pt2")]


def test_random_inputs(folder: Path) -> None:
    given = ("run", "model.py", "--random", "--size", "n=2", "-O", 1, "-o", "out.npz")
    found = []
    for seed in (1, 1, 2):
        assert command(*given, "--seed", seed) == 0
        found += outputs()
    assert found[0].shape == (2, 3)
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


# -- dimensions -----------------------------------------------------------------------------------


def test_dimensions_that_are_fixed_or_bounded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("compile", "model.py", "-o", "fixed.mlir", "--shape", "x=5,4") == 0
    assert "@main(%x: !relax.tensor<[5, 4], f32>" in Path("fixed.mlir").read_text()
    assert command("compile", "model.py", "-o", "fixed.mlir", "--dim", "n=7") == 0
    assert "-> !relax.tensor<[7, 3], f32>" in Path("fixed.mlir").read_text()
    assert command("compile", "model.py", "-o", "model.rx", "--dim", "n=1:4", "-O", 1) == 0
    assert command("run", "model.rx", "--random", "--size", "n=4") == 0
    assert "expected n <= 4, but it is 5" in error_of(
        capsys, "run", "model.rx", "--random", "--size", "n=5"
    )


def test_shapes_of_onnx(onnx_model: Path) -> None:
    given = ("--shape", "x:0=rows,4", "-o", "model.mlir")
    assert command("compile", onnx_model, *given) == 0
    assert "!relax.tensor<[rows, 4], f32>" in Path("model.mlir").read_text()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--dim", "m=3"], r"expected the name of a dimension (n), but got 'm'"),
        (["--shape", "y=3"], r"expected the name of an input (x, w), but got 'y'"),
        (["--shape", "x=3"], r"expected a shape of input 'x', !relax.tensor<[n, 4], f32>, but got"),
        (["--shape", "x=3,5"], r"expected a shape of input 'x', !relax.tensor<[n, 4], f32>, but"),
        (["--function", "other"], r"expected the name of a function (main), but got 'other'"),
        (["--bind-weights", "x.npy"], "expected weights in a file .npz or .params, but"),
        (["--weights", "inputs"], "to take weights as inputs, but the format is tvmscript"),
        (["--save-weights", "w.npz"], "expected --weights inputs with --save-weights"),
        (["-O", "2"], "expected no --opt-level, as out.mlir is not compiled"),
        (["--target", "llvm -mcpu=x"], "expected no --target, as out.mlir is not compiled"),
        (["--self-contained"], "expected an output that ends in .so to be self-contained"),
        (["--runtime", "."], "expected an output that ends in .so to link with --runtime"),
        (["-o", "out.txt"], "expected an output that ends in .so, .rx, .mlir, .mlirbc, .py, but"),
        (["-o", "no/out.mlir"], "expected the folder"),
        (["--target", "llvm"], "expected no --target, as out.mlir is not compiled"),
        (["--dim", "n=2", "--dim", "n=3"], "expected one size of dimension 'n', but got 2 and 3"),
        (["--dim", "n=2:8", "--dim", "n=:9"], "expected one size of dimension 'n', but got 8 and"),
        (["--shape", "x=2,4", "--shape", "x=3,4"], "expected one --shape of 'x', but got (2, 4), "),
        (["-o", "model.py"], "expected an output other than the model itself, but got model.py"),
        (["-o", "pipe.mlir"], "pipe.mlir: expected a file to write, but it is a FIFO"),
        (["-o", "out.so", "--runtime", "no"], "no/librelax_runtime.so: expected the runtime for"),
    ],
)
def test_error_of_compile(
    folder: Path, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo("pipe.mlir")
    assert message in error_of(capsys, "compile", "model.py", "-o", "out.mlir", *given)
    assert (folder / "model.py").read_text() == SCRIPT


def test_bounds_of_a_dimension_may_be_apart(folder: Path) -> None:
    apart = ("--dim", "n=2:", "--dim", "n=:8", "--dim", "n=2:8")
    assert command("compile", "model.py", "-o", "out.mlir", *apart) == 0
    text = (folder / "out.mlir").read_text()
    assert "lower_bound = {n = 2 : i64}" in text
    assert "upper_bound = {n = 8 : i64}" in text


@pytest.mark.parametrize(
    "given",
    [
        ["--dim", "n"],
        ["--dim", "n=:"],
        ["--dim", "n=4:1"],
        ["--dim", f"n=0:{2**63}"],
        ["--dim", "n=" + "9" * 5000],
        ["--shape", "x"],
        ["--shape", f"x={2**63}"],
        ["-O", "4"],
    ],
)
def test_error_of_the_command_line(
    folder: Path, given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command("compile", "model.py", "-o", "out.mlir", *given)
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"argument {given[0]}" in line
    assert line.endswith("; relax-mlir compile --help lists the options")
    assert len(line) < 250


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.onnx", None, "missing.onnx: No such file or directory"),
        ("empty.onnx", b"", "empty.onnx: expected a model, but the file is empty"),
        ("a.txt", b"text", "a.txt: expected a file that ends in .onnx, .pt2,"),
        ("a.rx", b"text", "a.rx: expected a file of the format rx, but it is none"),
        ("a.rx", b"\x89RLX\r\n\x1a\n", "section 'header'"),
        ("a.so", b"\x7fELF", "a.so"),
        ("a.pt2", b"PK\x03\x04....", "a.pt2: expected what torch.export.save writes"),
        ("a.onnx", b"\xff\xff", "expected a serialized model of ONNX, but got 'a.onnx'"),
        ("a.mlir", b"relax.func @f(", "a.mlir:1:14: expected"),
        ("a.mlir", b"\xff\xfe", "a.mlir"),
        ("a.mlir", b"ML\xefRxxxx", "a.mlir"),
        ("a.mlir", b"module {}", "expected the name of a function (none), but got 'main'"),
        ("a.py", b"import os\nos.mkdir('made')\n", "a.py:1:1: expected imports of tvm.script"),
        ("a.py", b"@R.function\ndef main(x", "a.py:2:9: "),
        ("a.py", b"\xff", "a.py"),
    ],
)
def test_error_of_files(
    folder: Path,
    name: str,
    content: bytes | None,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    assert message in error_of(capsys, "inspect", name)
    assert not (folder / "made").exists()


def test_error_of_what_is_no_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    for words in (["inspect"], ["run"], ["compile", "-o", "out.rx"]):
        assert error_of(capsys, *words, "pipe") == "pipe: expected a file, but it is a FIFO"
    is_none = "/dev/null: expected a file, but it is a device"
    assert error_of(capsys, "inspect", "/dev/null", "--format", "mlir") == is_none
    given = ("run", "model.py", "-O", 1, "-i")
    assert error_of(capsys, *given, "pipe") == "pipe: expected a file, but it is a FIFO"


def test_content_counts_more_than_the_suffix(folder: Path) -> None:
    command("compile", "model.py", "-o", "model.rx", "-O", 1)
    (folder / "model.rx").rename("model.onnx")
    assert command("run", "model.onnx", "-i", "inputs.npz") == 0


def test_programs_of_relay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "model.relay").write_text("def @main(%x: Tensor[(?, 2), float32]) { exp(%x) }")
    assert command("run", "model.relay", "--random", "--shape", "x=3,2") == 0
    (folder / "model.relay").write_text(
        "def @main(%x: Tensor[(?, 2), float32], %w: float32) { multiply(%x, %w) }"
    )
    (folder / "w.params").write_bytes(save_params({"w": np.array(2, "float32")}))
    given = ("--bind-weights", "w.params")
    assert command("run", "model.relay", "--random", "--shape", "x=3,2", *given) == 0
    (folder / "w.params").write_bytes(b"nothing")
    assert "w.params: expected" in error_of(capsys, "inspect", "model.relay", *given)
    (folder / "model.relay").write_text("def @main(%x: Tensor[(?, 2), float32]) { exp(%x }")
    assert "model.relay:1:49: " in error_of(capsys, "inspect", "model.relay")


def test_formats_that_are_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "model.py", "-o", "model.mlir")
    (folder / "model.mlir").rename("model.text")
    assert "or --format (onnx," in error_of(capsys, "inspect", "model.text")


def test_traceback_raises(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        command("--traceback", "inspect", "missing.onnx")


# -- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "expected inputs x, w, but w is missing: give them, or --random"),
        ({"x": X, "w": W, "v": W}, "expected the name of an input (x, w), but got 'v'"),
        ({"x": X.astype("float64"), "w": W}, "'x' to be float32[n, 4], but its data type is flo"),
        ({"x": X[0], "w": W}, "expected input 'x' to be float32[n, 4], but its shape is [4]"),
        ({"x": X[:, :3], "w": W}, "argument 'x'"),
        ({"x": np.array([None]), "w": W}, "in.npz: expected an array as 'x'"),
    ],
)
def test_error_of_inputs(
    folder: Path,
    arrays: dict[str, np.ndarray],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    np.savez("in.npz", **arrays)
    assert message in error_of(capsys, "run", "model.py", "-O", 1, "-i", "in.npz")


def test_error_of_files_of_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ("run", "model.py", "-O", 1)
    assert "model.py: expected arrays of NumPy" in error_of(capsys, *run, "-i", "model.py")
    three = ["x.npy"] * 3
    assert "expected up to 2 files of arrays, but got 3" in error_of(capsys, *run, "-i", *three)
    assert "ends in .npz" in error_of(capsys, *run, "-i", "inputs.npz", "-o", "out.npy")
    assert "expected 1 thread or more" in error_of(capsys, *run, "--threads", 0)
    size = ("--random", "--size", "k=2")
    assert "expected the name of a dimension (n), but got 'k'" in error_of(capsys, *run, *size)
    size = ("--random", "--size", "n=2", "--size", "n=3")
    assert "expected one --size of 'n', but got 2, 3" in error_of(capsys, *run, *size)
    size = ("--random", "--size", f"n={2**60}")
    assert f"'x' to fit into memory, but its shape is [{2**60}, 4]" in error_of(capsys, *run, *size)


# -- inspect --------------------------------------------------------------------------------------


def test_error_of_sizes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = "expected the name of a dimension (n), but got 'k'"
    assert message in error_of(capsys, "inspect", "model.py", "--size", "k=2")
    assert command("compile", "model.py", "-o", "model.rx", "-O", 1) == 0
    message = "model.rx: expected no --size, as the program is compiled"
    assert message in error_of(capsys, "inspect", "model.rx", "--size", "n=2")


def test_inspect(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--bind-weights", "weights.npz", "--dim", "n=2:8", "--json")
    assert command("inspect", "model.py", *given) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": "model.py",
        "format": "tvmscript",
        "function": "main",
        "inputs": {"x": "tensor<[n, 4], f32>"},
        "outputs": {"output_0": "tensor<[n, 3], f32>"},
        "symbols": {"n": {"least": 2, "most": 8}},
        "operators": {"matmul": 1, "relu": 1},
        "parameters": {"count": 1, "bytes": W.nbytes},
        "memory": {"tensors": 1, "storages": 1, "without_plan": 96, "with_plan": 96},
    }


def test_inspect_writes_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("inspect", "model.py") == 0
    text = capsys.readouterr().out
    assert "model.py (tvmscript), function main" in text
    assert "parameters: 0, 0 bytes" in text
    command("compile", "model.py", "-o", "model.rx", "-O", 1)
    capsys.readouterr()
    assert command("inspect", "model.rx") == 0
    text = capsys.readouterr().out
    assert "float32[n, 4]" in text
    assert "  object " in text


# -- profile --------------------------------------------------------------------------------------


def test_profile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--trace", "trace.json", "--folded", "stacks.folded")
    assert command("profile", "model.py", "--size", "n=3", *files) == 0
    output = capsys.readouterr().out
    assert output.startswith("main: ") and "float32[3, 4]" in output
    assert "trace.json: " in output and "stacks.folded: " in output
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    assert events[0]["name"] == "main" and len(events) > 1
    assert Path("stacks.folded").read_text().startswith("main ")


@pytest.mark.parametrize("options", [("--profile",), ("--exec-mode", "bytecode")])
def test_profile_of_a_compiled_file_by_place(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    assert command("compile", "model.py", "-o", "model.rx", *options) == 0
    capsys.readouterr()
    assert command("profile", "model.rx", "--by", "place", "--kind", "kernel") == 0
    head, columns, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("main: ") and columns.endswith("place")
    assert rows and all("kernel" in row for row in rows)


def test_error_of_profile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("compile", "model.py", "-o", "model.rx") == 0
    assert "compile with profile=True" in error_of(capsys, "profile", "model.rx")
    assert "expected a --warm-up of 0" in error_of(capsys, "profile", "model.py", "--warm-up", -1)


# -- bench ----------------------------------------------------------------------------------------


def rows(text: str) -> dict[str, list[float]]:
    found = [line.split() for line in text.splitlines() if "." in line]
    return {words[0]: [float(word) for word in words[1:5]] for words in found if len(words) == 5}


def test_bench(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--size", "n=8", "--threads", 1, "--repeat", 5, "-O", 1)
    assert command("bench", "model.py", *given) == 0
    threads, median, least, most = rows(capsys.readouterr().out)["relax-mlir"]
    assert threads == 1
    assert 0 < least <= median <= most


def test_bench_beside_onnxruntime(
    onnx_model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX's reference stands in for onnxruntime, by the part of its interface that is used."""
    monkeypatch.setitem(sys.modules, "onnxruntime", stand_in())
    assert command("bench", onnx_model, "--repeat", 3, "--size", "batch=4", "-O", 1) == 0
    text = capsys.readouterr().out
    assert set(rows(text)) == {"relax-mlir", "onnxruntime"}
    assert float(text.rsplit("differ by ", 1)[1]) < 1e-5


def stand_in() -> types.SimpleNamespace:
    from onnx.reference import ReferenceEvaluator

    def session(path: str, settings: object, providers: list[str]) -> object:
        assert providers == ["CPUExecutionProvider"]
        assert settings.intra_op_num_threads == 1
        return ReferenceEvaluator(path)

    return types.SimpleNamespace(SessionOptions=argparse.Namespace, InferenceSession=session)


def test_error_of_bench(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--repeat 1" in error_of(capsys, "bench", "model.py", "--repeat", 0)
    given = ("--peers", "onnxruntime", "-O", 1)
    assert "expected a model of ONNX for" in error_of(capsys, "bench", "model.py", *given)


# -- options --------------------------------------------------------------------------------------


def test_each_option_of_compilation_is_an_option() -> None:
    parser = argparse.ArgumentParser()
    options.add_compile_options(parser)
    assert options.given_options(parser.parse_args([])) == {}
    changes = {
        "exec_mode": "bytecode",
        "checks": "necessary",
        "opt_level": 1,
        "vector_bits": 256,
        "device": "cuda",
        "device_arch": "sm_90",
        "features": "sse2",
        "precision": "bf16",
        "weights": "int4-g32",
    }
    for field in dataclasses.fields(CompileOptions):
        # --weights says where the weights of a model go.
        spelled = "weight_format" if field.name == "weights" else field.name
        name = f"--{spelled.replace('_', '-')}"
        if isinstance(field.default, bool):
            words, value = [name if not field.default else f"--no-{name[2:]}"], not field.default
        else:
            value = changes.get(field.name, 7)
            words = [name, str(value)]
        assert options.given_options(parser.parse_args(words)) == {field.name: value}
    assert "How functions run" not in parser.format_help()
    assert "How much LLVM optimizes loops over numbers" in parser.format_help()


def test_the_command_line_compiles_as_the_function_does(folder: Path) -> None:
    assert command("compile", "model.py", "-o", "model.rx", "--no-fuse", "-O", 1) == 0
    assert len(relax.load("model.rx").kernels) == 0  # machine code calls them
    given = ("--no-fuse", "--exec-mode", "bytecode", "-O", 1)
    assert command("compile", "model.py", "-o", "model.rx", *given) == 0
    assert len(relax.load("model.rx").kernels) == 2
