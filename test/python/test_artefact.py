# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules in files: saved, loaded, exported, damaged."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import artefact, op
from relax_mlir.op import const
from relax_runtime import LIBRARY

MODES = pytest.mark.parametrize("exec_mode", relax.transform.options.EXEC_MODES)
EXAMPLES = Path(__file__).parents[2] / "examples" / "cpp"
X = np.arange(6, dtype="float32").reshape(2, 3)
W = np.arange(6, dtype="float32").reshape(3, 2)
WANTED = np.maximum(X @ W - 20, 0)


def model() -> relax.IRModule:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 3), "float32"))
    with bb.function("main", [x]):
        product = bb.emit(op.matmul(x, const(W)))
        bb.emit_func_output(op.nn.relu(op.subtract(product, const(20.0, "float32"))))
    with bb.function("constant", []):
        bb.emit_func_output(const(W))
    return bb.get()


def run(functions: object, name: str = "main", *args: object) -> np.ndarray:
    return np.from_dlpack(functions[name](*args))  # type: ignore[index]


# A branch, a tuple, a shape.
VALUES = """
relax.func @main(%x: !relax.tensor<[n], f32>, %flag: !relax.tensor<[], i1>)
    -> !relax.tuple<!relax.tensor<[n], f32>, !relax.shape<[n, 2]>> {
  %0 = relax.if %flag : !relax.tensor<[], i1> -> !relax.tensor<[n], f32> {
    %3 = relax.add %x, %x : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>)
        -> !relax.tensor<[n], f32>
    relax.yield %3 : !relax.tensor<[n], f32>
  } else {
    %3 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.yield %3 : !relax.tensor<[n], f32>
  }
  %1 = relax.shape <[n, 2]>
  %2 = relax.tuple %0, %1 : !relax.tensor<[n], f32>, !relax.shape<[n, 2]>
  relax.return %2 : !relax.tuple<!relax.tensor<[n], f32>, !relax.shape<[n, 2]>>
}
"""


# ------------------------------------------------------------------------------------------------
# Files of relax-mlir
# ------------------------------------------------------------------------------------------------


@MODES
def test_vm10_save_and_load(tmp_path: Path, exec_mode: str) -> None:
    path = tmp_path / "model.rx"
    ex = relax.compile(model(), exec_mode=exec_mode)
    ex.save(path)
    wanted = ex.as_text()
    del ex
    loaded = relax.load(path)
    assert loaded.exec_mode == exec_mode and loaded.function_names == ("main", "constant")
    assert loaded.as_text() == wanted
    vm = relax.VirtualMachine(loaded)
    np.testing.assert_allclose(run(vm, "main", X), WANTED)
    with pytest.raises(ValueError, match="argument 'x'"):
        vm["main"](X[:, :2].copy())
    # A loaded artefact can be saved again, to the same bytes.
    assert loaded.to_bytes() == path.read_bytes()
    assert relax.load(path.read_bytes()).as_text() == wanted


@MODES
def test_vm10_sections(tmp_path: Path, exec_mode: str) -> None:
    path = tmp_path / "model.rx"
    relax.compile(model(), exec_mode=exec_mode).save(path)
    sections = {section.name: section for section in artefact.sections(path)}
    assert sorted(sections) == sorted(
        "metadata functions names sites code constants payloads native object".split()  # noqa: SIM905
    )
    assert all(section.offset % 64 == 0 for section in sections.values())
    assert sections["payloads"].size >= W.nbytes
    assert (sections["code"].size > 8) == (exec_mode == "bytecode")
    assert sections["object"].size > 0


@MODES
def test_vm10_loaded_programs_hold_what_they_need(tmp_path: Path, exec_mode: str) -> None:
    path = tmp_path / "model.rx"
    relax.compile(model(), exec_mode=exec_mode).save(path)
    main = relax.VirtualMachine(relax.load(path))["main"]
    constant = relax.VirtualMachine(relax.load(path))["constant"]()
    path.unlink()
    np.testing.assert_allclose(np.from_dlpack(main(X)), WANTED)
    np.testing.assert_array_equal(np.from_dlpack(constant), W)


@MODES
@pytest.mark.parametrize("flag", [True, False])
def test_vm10_values(tmp_path: Path, exec_mode: str, flag: bool) -> None:
    path = tmp_path / "model.rx"
    relax.compile(VALUES, exec_mode=exec_mode).save(path)
    x = np.array([1, 2, 3], "float32")
    y, shape = relax.VirtualMachine(relax.load(path))["main"](x, np.array(flag))
    np.testing.assert_allclose(np.from_dlpack(y), x + x if flag else np.exp(x), rtol=1e-6)
    assert tuple(shape) == (3, 2)


def test_vm10_programs_without_machine_code(tmp_path: Path) -> None:
    path = tmp_path / "model.rx"
    program = "relax.func @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {\n"
    program += "  relax.return %n : !relax.prim<i64>\n}"
    relax.compile(program, exec_mode="bytecode").save(path)
    assert next(s for s in artefact.sections(path) if s.name == "object").size == 0
    assert relax.VirtualMachine(relax.load(path))["main"](5) == 5


def test_vm10_files_are_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "model.rx"
    path.write_text("old")
    ex = relax.compile(model())
    ex.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.rx"]
    with pytest.raises(OSError, match="cannot be written"):
        ex.save(tmp_path / "missing" / "model.rx")
    with pytest.raises(OSError, match="cannot be opened"):
        relax.load(tmp_path / "missing.rx")
    with pytest.raises(ValueError, match="expected a file"):
        relax.load(tmp_path)


def test_vm10_loading_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "model.rx"
    relax.compile(model(), exec_mode="bytecode").save(path)
    code = (
        "import sys, numpy as np, relax_mlir as relax\n"
        "vm = relax.VirtualMachine(relax.load(sys.argv[1]))\n"
        "x = np.arange(6, dtype='float32').reshape(2, 3)\n"
        "print(np.from_dlpack(vm['main'](x)).tolist())"
    )
    output = subprocess.check_output([sys.executable, "-c", code, str(path)], text=True)
    assert output.strip() == str(WANTED.tolist())


# ------------------------------------------------------------------------------------------------
# Bad input
# ------------------------------------------------------------------------------------------------


@MODES
def test_vm10_damaged_files_are_errors_that_name_the_section(exec_mode: str) -> None:
    good = relax.compile(model(), exec_mode=exec_mode).to_bytes()
    generator = random.Random(exec_mode)
    for _ in range(300):
        damaged = bytearray(good)
        damaged[generator.randrange(len(good))] ^= 1 << generator.randrange(8)
        with pytest.raises(ValueError, match=r"bytes: section '[a-z ]+': "):
            relax.load(bytes(damaged))
    for _ in range(100):
        with pytest.raises(ValueError, match=r"bytes: section '[a-z ]+': "):
            relax.load(good[: generator.randrange(len(good))])


def test_vm10_each_section_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.rx"
    relax.compile(model(), exec_mode="bytecode").save(path)
    good = path.read_bytes()
    for section in artefact.sections(path):
        damaged = bytearray(good)
        damaged[section.offset + section.size // 2] ^= 1
        with pytest.raises(ValueError, match=f"section '{section.name}'"):
            relax.load(bytes(damaged))


def test_error_of_saving_to_what_is_no_file(tmp_path: Path) -> None:
    ex = relax.compile(VALUES)
    before = Path("/dev/null").stat()
    with pytest.raises(OSError, match="/dev/null: expected a file to replace, but got a device"):
        ex.save("/dev/null")
    assert Path("/dev/null").stat().st_mode == before.st_mode
    with pytest.raises(OSError, match="expected a file to replace, but got a folder"):
        ex.save(tmp_path)


def test_error_of_loading_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ValueError, match="fifo: expected a file"):
        relax.load(tmp_path / "fifo")


def test_vm10_other_versions_are_errors() -> None:
    damaged = bytearray(relax.compile(model()).to_bytes())
    damaged[8] = 9
    with pytest.raises(ValueError, match=r"section 'header': expected version 1 .*, but got 9"):
        relax.load(bytes(damaged))
    with pytest.raises(ValueError, match="another kind of file"):
        relax.load(b"PK\3\4" + bytes(100))


def test_vm10_checksums_of_payloads_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "model.rx"
    relax.compile(model()).save(path)
    payloads = next(s for s in artefact.sections(path) if s.name == "payloads")
    damaged = bytearray(path.read_bytes())
    damaged[payloads.offset] ^= 1
    with pytest.raises(ValueError, match="section 'payloads': the checksum is wrong"):
        relax.load(bytes(damaged))
    relax.load(bytes(damaged), verify=False)


# ------------------------------------------------------------------------------------------------
# Shared libraries
# ------------------------------------------------------------------------------------------------

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
CONTAINED = pytest.mark.parametrize("self_contained", [False, True], ids=["shared", "contained"])


def environment(self_contained: bool) -> dict[str, str]:
    """Return an environment in which libraries are found without the package."""
    folders = [str(Path(tvm_ffi.libinfo.find_libtvm_ffi()).parent)]
    if not self_contained:
        folders.append(str(Path(LIBRARY).parent))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "LD_LIBRARY_PATH": os.pathsep.join(folders)}


@needs_compiler
@CONTAINED
@MODES
def test_rf17_libraries_run_without_the_package(
    tmp_path: Path, exec_mode: str, self_contained: bool
) -> None:
    path = tmp_path / "model.so"
    ex = relax.compile(model(), exec_mode=exec_mode)
    ex.export_library(path, self_contained=self_contained)
    assert [file.name for file in tmp_path.iterdir()] == ["model.so"]
    code = """if True:
        import gc, sys, numpy as np, tvm_ffi
        assert not any(name.startswith("relax_mlir") for name in sys.modules)
        module = tvm_ffi.load_module(sys.argv[1])
        x = np.arange(6, dtype="float32").reshape(2, 3)
        print(np.from_dlpack(module["main"](x)).tolist())
        constant = module["constant"]()
        try:
            module["main"](3)
        except TypeError as error:
            message = error
        del module
        gc.collect()
        print(np.from_dlpack(constant).tolist())
        print(message)
        assert not any(name.startswith("relax_mlir") for name in sys.modules)"""
    output = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env=environment(self_contained),
        capture_output=True,
        text=True,
    )
    assert output.returncode == 0, output.stderr
    lines = output.stdout.splitlines()
    assert lines[:2] == [str(WANTED.tolist()), str(W.tolist())]
    assert lines[2].startswith("main: argument 'x': expected")


@needs_compiler
@CONTAINED
@MODES
def test_rf17_libraries_in_the_process_of_the_package(
    tmp_path: Path, exec_mode: str, self_contained: bool
) -> None:
    path = tmp_path / "model.so"
    relax.compile(model(), exec_mode=exec_mode).export_library(path, self_contained=self_contained)
    np.testing.assert_allclose(run(tvm_ffi.load_module(str(path)), "main", X), WANTED)
    loaded = relax.load(path)
    assert loaded.exec_mode == exec_mode and loaded.function_names == ("main", "constant")
    np.testing.assert_allclose(run(relax.VirtualMachine(loaded), "main", X), WANTED)
    np.testing.assert_allclose(run(relax.VirtualMachine(loaded), "constant"), W)
    with pytest.raises(ValueError, match="cannot be saved again"):
        loaded.save(tmp_path / "model.rx")


@needs_compiler
@pytest.mark.parametrize("linker", ["bfd", "lld", "mold"])
@CONTAINED
def test_rf17_libraries_of_any_linker(tmp_path: Path, linker: str, self_contained: bool) -> None:
    if not shutil.which(f"ld.{linker}"):
        pytest.skip(f"no linker ld.{linker}")
    if linker == "mold" and "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("ld.mold does not start where AddressSanitizer is preloaded")
    path = tmp_path / "model.so"
    ex = relax.compile(model(), exec_mode="bytecode")
    ex.export_library(path, self_contained=self_contained, options=[f"-fuse-ld={linker}"])
    code = """if True:
        import sys, numpy as np, tvm_ffi
        x = np.arange(6, dtype="float32").reshape(2, 3)
        print(np.from_dlpack(tvm_ffi.load_module(sys.argv[1])["main"](x)).tolist())"""
    output = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env=environment(self_contained),
        capture_output=True,
        text=True,
    )
    assert output.returncode == 0, output.stderr
    assert output.stdout.splitlines() == [str(WANTED.tolist())]


def without_constructors(image: bytes) -> bytes:
    """Return a shared library of ELF whose list of constructors is empty."""
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    headers = [struct.unpack_from("<IIQQQQ", image, table + i * size) for i in range(count)]
    offset, length = next((h[2], h[5]) for h in headers if h[0] == 2)  # PT_DYNAMIC
    changed = bytearray(image)
    for at in range(offset, offset + length, 16):
        if struct.unpack_from("<q", image, at)[0] == 27:  # DT_INIT_ARRAYSZ
            struct.pack_into("<Q", changed, at + 8, 0)
    assert changed != image
    return bytes(changed)


@needs_compiler
def test_rf17_library_whose_constructor_does_not_run_says_so(tmp_path: Path) -> None:
    path = tmp_path / "model.so"
    relax.compile(model(), exec_mode="bytecode").export_library(path)
    path.write_bytes(without_constructors(path.read_bytes()))
    module = tvm_ffi.load_module(str(path))
    with pytest.raises(
        ValueError, match=r"model\.so: expected a library .* constructor did not run"
    ):
        module["main"](X)


@needs_compiler
def test_rf17_a_saved_file_becomes_a_library(tmp_path: Path) -> None:
    relax.compile(model()).save(tmp_path / "model.rx")
    relax.load(tmp_path / "model.rx").export_library(tmp_path / "model.so")
    module = tvm_ffi.load_module(str(tmp_path / "model.so"))
    np.testing.assert_allclose(run(module, "main", X), WANTED)


@needs_compiler
def test_rf17_damaged_libraries_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "model.so"
    relax.compile(model(), exec_mode="bytecode").export_library(path)
    good = path.read_bytes()
    offset = int.from_bytes(good[-56:-48], "little")
    generator = random.Random(0)
    places = [generator.randrange(offset, len(good)) for _ in range(20)]
    for i, place in enumerate([offset // 2, offset, len(good) - 1, *places]):
        damaged = bytearray(good)
        damaged[place] ^= 1 << generator.randrange(8)
        # Another name each: the process keeps what it loaded.
        other = tmp_path / f"damaged{i}.so"
        other.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"section '[a-z ]+': "):
            relax.load(other)
        if place >= offset:
            module = tvm_ffi.load_module(str(other))
            for _ in range(2):
                with pytest.raises(ValueError, match=r"section '[a-z ]+': "):
                    module["main"](X)
    stripped = tmp_path / "stripped.so"
    stripped.write_bytes(good[:offset])
    with pytest.raises(ValueError, match="section 'tail': no model is appended"):
        relax.load(stripped)


def test_rf17_without_a_compiler_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ex = relax.compile(model())
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match=r"expected a C compiler .* no no-such-compiler"):
        ex.export_library(tmp_path / "model.so")
    with pytest.raises(ValueError, match=r"ends in \.so"):
        ex.export_library(tmp_path / "model.dll")
    assert list(tmp_path.iterdir()) == []


@needs_compiler
def test_rf17_what_the_linker_says_is_passed_on(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"the library was not linked: .*no-such-library"):
        relax.compile(model()).export_library(tmp_path / "model.so", options=["-lno-such-library"])


@needs_compiler
@CONTAINED
def test_rf17_libraries_are_linked_with_the_runtime_of_a_folder(
    tmp_path: Path, self_contained: bool
) -> None:
    folder, path = tmp_path / "runtime", tmp_path / "model.so"
    folder.mkdir()
    ex = relax.compile(model())
    name = f"librelax_runtime{'_static.a' if self_contained else '.so'}"
    for library in (Path(LIBRARY).with_name(name), Path(tvm_ffi.libinfo.find_libtvm_ffi())):
        with pytest.raises(FileNotFoundError, match=f"{library.name}: expected the runtime for"):
            ex.export_library(path, self_contained=self_contained, runtime=folder)
        (folder / library.name).symlink_to(library)
    ex.export_library(path, self_contained=self_contained, runtime=folder)
    np.testing.assert_allclose(run(tvm_ffi.load_module(str(path)), "main", X), WANTED)


# As ELF counts machines.
@pytest.mark.parametrize(("machine", "number"), [("x86_64", 62), ("aarch64", 183)])
def test_rf17_libraries_without_machine_code_are_for_their_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: str, number: int
) -> None:
    """What is linked then is the table of functions alone."""
    machines = []

    def see(inputs: list[str], output: Path, *others: object) -> None:
        machines.extend(struct.unpack_from("<H", Path(each).read_bytes(), 18) for each in inputs)
        raise RuntimeError("seen")

    monkeypatch.setattr(artefact, "_link", see)
    text = """relax.func @main(%n: !relax.prim<i64>) -> !relax.prim<i64> {
      relax.return %n : !relax.prim<i64>
    }"""
    ex = relax.compile(text, f"llvm -mtriple={machine}-linux-gnu", exec_mode="bytecode")
    assert ex.code is None
    with pytest.raises(RuntimeError, match="seen"):
        ex.export_library(tmp_path / "model.so")
    assert machines == [(number,)]


# ------------------------------------------------------------------------------------------------
# C and C++
# ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of examples/cpp."""
    if not shutil.which("cmake") or not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("no C++ compiler")
    build = tmp_path_factory.mktemp("programs")
    configure = ["cmake", "-S", EXAMPLES, "-B", build, f"-DPython_EXECUTABLE={sys.executable}"]
    for command in (configure, ["cmake", "--build", build]):
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
    return build


@needs_compiler
@CONTAINED
@MODES
def test_rf17_c_and_cpp_programs(
    tmp_path: Path, programs: Path, exec_mode: str, self_contained: bool
) -> None:
    path = tmp_path / "model.so"
    export = [sys.executable, EXAMPLES / "export_model.py", path, f"--exec-mode={exec_mode}"]
    subprocess.check_call([*export, "--self-contained"] if self_contained else export)
    for program, lines in (("run_model", 2), ("run_model_c", 1)):
        result = subprocess.run(
            [programs / program, path],
            env=environment(self_contained),
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr
        output = result.stdout.splitlines()
        assert output[0].strip() == "0 14 8 41" and len(output) == lines
    assert result.stderr == ""
