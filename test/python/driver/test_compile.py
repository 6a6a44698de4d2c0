"""compile: inputs, phases, and what it refuses."""

import re
import shutil
import subprocess

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import op

EXP = """
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
"""


def check(executable):
    main = relax.VirtualMachine(executable)["main"]
    x = np.array([0, 1], "float32")
    np.testing.assert_allclose(np.from_dlpack(main(x)), np.exp(x), rtol=1e-6)


def test_text():
    check(relax.compile(EXP))


def test_module_stays_as_it_is():
    module = ir.Module.parse(EXP, context=relax.default_context())
    before = str(module)
    check(relax.compile(module))
    assert str(module) == before


def test_builder(write, tensor):
    bb = write(op.exp, tensor(("n",)))
    check(relax.compile(bb))
    check(relax.compile(bb))


def test_module_of_another_context():
    with ir.Context() as context:
        module = ir.Module.parse(EXP)
    assert module.context is context
    check(relax.compile(module))


def test_text_in_the_current_context():
    with ir.Context():
        check(relax.compile(EXP))


@pytest.mark.parametrize("level", range(4))
def test_opt_level(level):
    check(relax.compile(EXP, opt_level=level))


def test_function_names(write, tensor):
    assert relax.compile(write(op.exp, tensor(("n",)))).function_names == ("main",)
    assert relax.compile("module {}").function_names == ()


def test_phases_are_pipelines():
    module = ir.Module.parse(EXP, context=relax.default_context())
    for name, meaning in relax.phases():
        assert meaning
        if name == "optimize":
            continue  # passes in Python
        with module.context:
            PassManager.parse(f"builtin.module(relax-phase-{name})").run(module.operation)
    assert {op.name.split(".")[0] for op in module.body.operations} == {"llvm"}


def test_dump_phases(tmp_path):
    folder = tmp_path / "new" / "dump"
    check(relax.compile(EXP, dump_phases=folder))
    names = ["input", *(name for name, _ in relax.phases())]
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"{i:02}-{name}.mlir" for i, name in enumerate(names)]
    for file in files:
        ir.Module.parse(file.read_text(), context=relax.default_context())
    assert "relax.exp" in files[0].read_text()
    assert "relax.call_tir" in files[3].read_text()
    assert "llvm.func @__tvm_ffi_main" in files[-1].read_text()


# What `compile` says of the processor.
TARGET = re.compile(r'"vector_bits" = (\d+) .*"features" = "([\w,]*)"')


@pytest.mark.skipif(shutil.which("relax-opt") is None, reason="relax-opt is not on PATH")
def test_relax_opt_does_the_same(tmp_path):
    relax.compile(EXP, dump_phases=tmp_path)
    files = sorted(tmp_path.iterdir())[:-1]  # the last phase also writes locations
    for before, after, (name, _) in zip(files, files[1:], relax.phases(), strict=False):
        if name == "optimize":
            continue  # passes in Python
        options = "vector-bits={} features={}".format(*TARGET.search(after.read_text()).groups())
        command = ["relax-opt", f"--relax-phase-{name}={options}", str(before)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == after.read_text().strip()


def test_error_features_that_the_target_lacks():
    """LLVM would end the process."""
    target = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3"
    relax.compile(EXP, target, features="sse2,avx2")
    with pytest.raises(ValueError, match="expected features of x86-64-v3, but got 'avx512vnni'"):
        relax.compile(EXP, target, features="sse2,avx512vnni")


def test_error_tiles_without_optimization():
    """LLVM would end the process."""
    target = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids"
    relax.compile(EXP, target, features="amx-bf16", opt_level=1)
    with pytest.raises(
        ValueError, match="expected features of sapphirerapids with opt_level=0, but got 'amx-bf16'"
    ):
        relax.compile(EXP, target, features="amx-bf16", opt_level=0)


def test_compiling_twice_gives_two_programs():
    first = relax.compile(EXP)
    second = relax.compile(EXP.replace("relax.exp", "relax.negative"))
    x = np.ones(1, "float32")
    results = [np.from_dlpack(relax.VirtualMachine(ex)["main"](x))[0] for ex in (first, second)]
    assert results == pytest.approx([np.e, -1])


# Names that mean something to the linker must not reach it.
@pytest.mark.parametrize("name", ["malloc", "exp", "expf", "free", "memcpy", "main2"])
def test_kernel_named_like_a_library_function(load, tensor, name):
    bb = relax.BlockBuilder()
    kernel = bb.add_func(
        """
        func.func @kernel(%x: memref<?xf32>, %y: memref<?xf32>) {
          linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
          return
        }
        """,
        name,
    )
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output(op.call_tir(kernel, x, x.struct_info))
    check(relax.compile(bb))


def test_function_named_like_a_library_function(tensor, load):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    for name in ("exp", "malloc", "printf", "main"):
        with bb.function(name, [x]):
            bb.emit_func_output(op.exp(x))
    check(relax.compile(bb))


def test_many_functions_and_operations(tensor):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        value = x.value
        for _ in range(100):
            value = op.add(op.subtract(value, 1), 1)
        bb.emit_func_output(op.exp(value))
    check(relax.compile(bb))


# Errors.


def test_error_target():
    words = "expected a target of the kind llvm, cuda or opencl, but got 'rocm'"
    with pytest.raises(ValueError, match=words):
        relax.compile(EXP, target="rocm")


def test_error_opt_level():
    with pytest.raises(ValueError, match="expected opt_level, one of 0, 1, 2, 3, but got 4"):
        relax.compile(EXP, opt_level=4)


def test_error_module():
    with pytest.raises(TypeError, match="expected mod to be a module, text of MLIR or a B"):
        relax.compile(3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relax.func @main(", "Unable to parse"),
        (EXP.replace("relax.exp", "relax.axp"), "relax.axp"),
        (EXP.replace("relax.return %0", "relax.return %1"), "undeclared SSA value"),
        # WF05: q is not bound.
        (EXP.replace("[n], f32> {", "[q], f32> {"), "q"),
        (EXP.replace("[n], f32> {", "[n], i64> {"), "expected a result of type"),
        (EXP.replace("relax.exp", "relax.erf").replace("f32", "i32"), "relax.erf"),
    ],
)
def test_error_wf05_malformed_text(text, message):
    with pytest.raises(ir.MLIRError, match=message):
        relax.compile(text)
    check(relax.compile(EXP))


def test_error_module_that_does_not_verify():
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(EXP)
        func = module.body.operations[0]
        func.attributes["arg_names"] = ir.ArrayAttr.get([])
        with pytest.raises(ir.MLIRError, match="expected one name for each of 1 arguments"):
            relax.compile(module)


@pytest.mark.parametrize(
    "body",
    [
        # Valid IR that the target may not support must be an error in words, never a crash.
        "%0 = relax.add %x, %x : (!relax.tensor<*>, !relax.tensor<*>) -> !relax.tensor<*>",
        "%0 = relax.flatten %x : (!relax.tensor<*>) -> !relax.tensor<*>",
        "%0 = relax.sum %x : (!relax.tensor<*>) -> !relax.tensor<*>",
    ],
)
def test_error_unknown_rank_cannot_be_lowered(body):
    text = f"""
    relax.func @main(%x: !relax.tensor<*>) -> !relax.tensor<*> {{
      {body}
      relax.return %0 : !relax.tensor<*>
    }}"""
    with pytest.raises(ir.MLIRError, match=r"relax\.\w+"):
        relax.compile(text)
