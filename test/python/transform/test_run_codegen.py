# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of codegens is called in place of functions (RF15)."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import relax_runtime
import tvm_ffi
from relax_mlir import backend, external
from relax_mlir.backend import (
    ExternalModule,
    Region,
    register_codegen,
    register_loader,
)
from relax_mlir.dpl import is_op, wildcard
from relax_mlir.script import from_source
from relax_mlir.transform import (
    FuseOpsByPattern,
    MergeCompositeFunctions,
    RunCodegen,
    Sequential,
)

KERNELS = {"exp": np.exp, "add": np.add, "multiply": np.multiply}


class Function:
    """A packed function that computes a region with NumPy."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.constants = region.constants

    def __call__(self, *tensors: Any) -> None:
        arrays = [np.from_dlpack(tensor) for tensor in tensors]
        known = {**self.constants, **dict(zip(self.region.params, arrays, strict=False))}
        for step in self.region.steps:
            (op,) = step.ops
            args = [known[value] for value in step.inputs]
            known[step.result] = KERNELS[op.operation.name.removeprefix("relax.")](*args)
        outputs = arrays[len(self.region.params) :]
        for array, value in zip(outputs, self.region.outputs, strict=True):
            array[...] = known[value]


@register_codegen("numpy_test")
def codegen(functions: Any, options: Any, constant_names: Any) -> list[dict[str, Any]]:
    if "calls" in options:
        options["calls"].append((len(functions), sorted(constant_names.values())))
    return [{region.symbol: Function(region)} for region in map(Region, functions)]


PATTERNS = [
    ("numpy_test.exp", is_op("relax.exp")(wildcard())),
    ("numpy_test.add", is_op("relax.add")(wildcard(), wildcard())),
]


def module() -> Any:
    return from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), b: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.add(y, b)
            out = R.multiply(z, z)
            R.output(out, y)
        return (out, y)
""")


def partitioned(merge: bool = True, bind_constants: bool = True) -> Any:
    fuse = FuseOpsByPattern(PATTERNS, bind_constants, annotate_codegen=not merge)
    return Sequential([fuse, *([MergeCompositeFunctions()] if merge else [])])(module())


def check(ex: Any) -> None:
    for rows in (3, 0, 5):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype("float32")
        b = np.arange(4, dtype="float32")
        out, y = relax.VirtualMachine(ex)["main"](x, b)
        np.testing.assert_allclose(np.from_dlpack(y), np.exp(x), rtol=1e-5)
        np.testing.assert_allclose(np.from_dlpack(out), (np.exp(x) + b) ** 2, rtol=1e-5)


@pytest.mark.parametrize("merge", [False, True])
def test_rf15_calls_code_of_a_codegen(merge: bool, exec_mode: str) -> None:
    mod = RunCodegen()(partitioned(merge))
    assert [gvar.name for gvar in mod.get_global_vars()] == ["main"]
    text = str(mod)
    assert text.count("relax.call_dps_packed") == (1 if merge else 2)
    assert "Codegen" not in text
    check(relax.compile(mod))


def test_rf15_reference_calls_code_of_a_codegen() -> None:
    check(relax.compile(RunCodegen()(partitioned()), "reference"))
    # The function alone keeps the code, too.
    main = relax.VirtualMachine(relax.compile(RunCodegen()(partitioned()), "reference"))["main"]
    gc.collect()
    x = np.ones((1, 4), "float32")
    np.testing.assert_allclose(np.from_dlpack(main(x, x[0])[1]), np.exp(x), rtol=1e-5)


def test_rf15_code_is_called_once_with_all_functions() -> None:
    calls: list[Any] = []
    mod = partitioned(merge=False)
    RunCodegen({"numpy_test": {"calls": calls}})(mod)
    assert calls == [(2, [])]


def test_rf15_constants_have_names() -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            out = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            R.output(out)
        return out
""")
    calls: list[Any] = []
    fused = FuseOpsByPattern(PATTERNS, annotate_codegen=True)(mod)
    made = RunCodegen({"numpy_test": {"calls": calls}})(fused)
    assert calls == [(1, ["fused_relax_add_numpy_test_numpy_test_const_0"])]
    found = relax.VirtualMachine(relax.compile(made))["main"](np.zeros(4, "float32"))
    np.testing.assert_array_equal(np.from_dlpack(found), [1, 2, 3, 4])


def test_rf15_same_symbols_of_two_modules_are_apart() -> None:
    """Both have a function of the same name, with different code."""
    body = module().script()
    executables = []
    for name in ("exp", "sin"):
        mod = from_source(body.replace("R.exp", f"R.{name}"))
        pattern = [("numpy_test.f", is_op(f"relax.{name}")(wildcard()))]
        fused = FuseOpsByPattern(pattern, annotate_codegen=True)(mod)
        text = fused.to_text().replace(f"fused_relax_{name}_numpy_test", "same")
        KERNELS.setdefault("sin", np.sin)
        executables.append(relax.compile(RunCodegen()(relax.IRModule(text))))
    x, b = np.ones((1, 4), "float32"), np.zeros(4, "float32")
    for ex, function in zip(executables, (np.exp, np.sin), strict=True):
        _, y = relax.VirtualMachine(ex)["main"](x, b)
        np.testing.assert_allclose(np.from_dlpack(y), function(x), rtol=1e-5)


def test_rf15_symbols_of_earlier_runs_are_taken(exec_mode: str) -> None:
    """A pattern is used twice, with other passes between."""
    fuse = FuseOpsByPattern(PATTERNS[1:], annotate_codegen=True)
    mod = Sequential([fuse, RunCodegen()])(module())
    assert str(mod).count("relax.call_dps_packed") == 1
    pattern = [("numpy_test.multiply", is_op("relax.multiply")(wildcard(), wildcard()))]
    again = Sequential([FuseOpsByPattern(pattern, annotate_codegen=True), RunCodegen()])(mod)
    assert str(again).count("relax.call_dps_packed") == 2
    check(relax.compile(again))


def test_rf15_same_pattern_in_two_runs(exec_mode: str) -> None:
    """Functions of both runs would have the same symbol."""
    one, other = (
        from_source(f"""
@I.ir_module
class Module:
    @R.function
    def {name}(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            out = R.add(x, {right})
            R.output(out)
        return out
""")
        for name, right in (("main", "x"), ("other", 'R.const(6.0, "float32")'))
    )
    passes = Sequential([FuseOpsByPattern(PATTERNS, annotate_codegen=True), RunCodegen()])
    mod = passes(one)
    mod["other"] = other["other"]
    machine = relax.VirtualMachine(relax.compile(passes(mod)))
    x = np.full(4, 3, "float32")
    assert np.from_dlpack(machine["main"](x))[0] == 6
    assert np.from_dlpack(machine["other"](x))[0] == 9


def test_rf15_functions_live_as_long_as_the_program() -> None:
    def registered() -> list[str]:
        names = tvm_ffi.registry.list_global_func_names()
        return [name for name in names if name.startswith("relax.ext.numpy_test.")]

    gc.collect()
    before = registered()
    main = relax.VirtualMachine(relax.compile(RunCodegen()(partitioned())))["main"]
    gc.collect()
    assert len(registered()) == len(before) + 1
    x, b = np.ones((1, 4), "float32"), np.zeros(4, "float32")
    np.testing.assert_allclose(np.from_dlpack(main(x, b)[1]), np.exp(x), rtol=1e-5)
    del main
    gc.collect()
    assert registered() == before


def test_rf15_functions_that_nothing_calls_are_not_compiled() -> None:
    mod = partitioned(merge=False)
    calls: list[Any] = []
    text = mod.to_text().replace("relax.call @fused_relax_exp_numpy_test(", "relax.exp ")
    text = text.replace("relax.exp %x)", "relax.exp %x")
    made = RunCodegen({"numpy_test": {"calls": calls}})(relax.IRModule(text))
    assert calls == [(1, [])]
    assert "fused_relax_exp" not in str(made)


def test_rf15_leaves_alone_what_has_no_codegen() -> None:
    fused = FuseOpsByPattern(PATTERNS)(module())
    relax.assert_structural_equal(RunCodegen()(fused), fused)


# ---------------------------------------------------------------------------------------------
# Saving
# ---------------------------------------------------------------------------------------------


def scale(state: bytes) -> dict[str, Any]:
    """The code of a codegen that is made of bytes: a symbol and a factor."""
    symbol, factor = state.decode().split()

    def run(x: Any, out: Any) -> None:
        np.from_dlpack(out)[...] = float(factor) * np.from_dlpack(x)

    return {symbol: run}


@register_codegen("scale_test")
def scale_codegen(functions: Any, options: Any, constant_names: Any) -> list[ExternalModule]:
    states = [f"{f.attrs['global_symbol'].value} {options['factor']}".encode() for f in functions]
    return [ExternalModule(scale(state), state) for state in states]


register_loader("scale_test", scale)


def scaled(factor: float) -> Any:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.negative(x)
            R.output(y)
        return y
""")
    pattern = [("scale_test.negative", is_op("relax.negative")(wildcard()))]
    options = {"scale_test": {"factor": factor}}
    return Sequential([FuseOpsByPattern(pattern, annotate_codegen=True), RunCodegen(options)])(mod)


def result(ex: Any) -> float:
    found = relax.VirtualMachine(ex)["main"](np.ones(2, "float32"))
    return float(np.from_dlpack(found)[1])


def test_rf15_programs_are_saved_where_the_codegen_says_how(tmp_path: Path, exec_mode: str) -> None:
    ex = relax.compile(scaled(2.5))
    ex.save(tmp_path / "model.rx")
    for again in (
        relax.load(tmp_path / "model.rx"),
        relax.load(ex.to_bytes()),
        pickle.loads(pickle.dumps(ex)),
        copy.deepcopy(ex),
    ):
        assert result(again) == 2.5
    with pytest.raises(ValueError, match="expected a program that needs the runtime alone"):
        relax_runtime.load(tmp_path / "model.rx")


def test_rf15_modules_are_stored_where_the_codegen_says_how() -> None:
    mod = scaled(3.5)
    for again in (relax.IRModule(mod.to_text()), pickle.loads(pickle.dumps(mod)), mod.clone()):
        assert result(relax.compile(again)) == 3.5


def test_rf15_compilation_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELAX_MLIR_CACHE", str(tmp_path / "cache"))
    for _ in range(2):
        assert result(relax.compile(scaled(1.5))) == 1.5
        assert result(relax.compile(scaled(4.5))) == 4.5
    assert len(list((tmp_path / "cache").glob("*.rx"))) == 2
    # What cannot be saved is not in the cache.
    check(relax.compile(RunCodegen()(partitioned())))
    assert len(list((tmp_path / "cache").glob("*.rx"))) == 2


def test_rf15_rejects_saving_functions_of_this_process(tmp_path: Path) -> None:
    ex = relax.compile(RunCodegen()(partitioned()))
    message = "expected codegen 'numpy_test' to state what its functions are made of"
    with pytest.raises(ValueError, match=message):
        ex.save(tmp_path / "model.rx")
    with pytest.raises(ValueError, match=message):
        ex.to_bytes()


def test_rf15_rejects_libraries_with_code_of_codegens(tmp_path: Path) -> None:
    for mod in (scaled(2.0), RunCodegen()(partitioned())):
        with pytest.raises(ValueError, match="expected a program that runs without Python"):
            relax.compile(mod).export_library(tmp_path / "model.so")


def test_rf15_rejects_modules_of_another_process() -> None:
    text = RunCodegen()(partitioned()).to_text()
    program = (
        "import sys, relax_mlir as relax\n"
        "from relax_mlir.backend import register_codegen\n"
        "register_codegen('numpy_test', print)\n"
        "relax.compile(relax.IRModule(sys.stdin.read()))"
    )
    made = subprocess.run(
        [sys.executable, "-c", program], input=text, capture_output=True, text=True
    )
    assert "expected the functions of codegen 'numpy_test'" in made.stderr
    assert "in the process that made them" in made.stderr


def test_rf15_rejects_damaged_functions() -> None:
    with pytest.raises(ValueError, match="expected external functions, but got"):
        external.LinkedModules.from_text("[[1]]")


# ---------------------------------------------------------------------------------------------
# Codegens
# ---------------------------------------------------------------------------------------------


def test_rf15_rejects_codegens_that_are_not_there() -> None:
    text = partitioned().to_text().replace('"numpy_test"', '"numpi_test"')
    message = (
        r"expected the name of a codegen \(.*numpy_test.*\), but got 'numpi_test'; "
        r"did you mean '?numpy_test"
    )
    with pytest.raises(ValueError, match=message):
        RunCodegen()(relax.IRModule(text))


@pytest.mark.parametrize(
    ("made", "error", "message"),
    [
        ([], ValueError, "expected functions for fused_.*, but got none for fused_"),
        ([{"other": print}], ValueError, "but got none for fused_"),
        (3, TypeError, "codegen 'bad_test': expected a list of mappings, but got 3"),
        ([3], TypeError, "expected a mapping of symbols to functions, or an ExternalModule"),
        ([{"f": 3}], TypeError, "expected a symbol and a function, but got 'f' and 3"),
    ],
)
def test_rf15_rejects_what_codegens_return(made: Any, error: type, message: str) -> None:
    register_codegen("bad_test", lambda *_: made, override=True)
    pattern = [("bad_test.exp", is_op("relax.exp")(wildcard()))]
    fused = FuseOpsByPattern(pattern, annotate_codegen=True)(module())
    with pytest.raises(error, match=message):
        RunCodegen()(fused)


def test_rf15_rejects_two_functions_for_a_symbol() -> None:
    def twice(functions: Any, *_: Any) -> Any:
        return [{f.attrs["global_symbol"].value: print} for f in functions] * 2

    register_codegen("bad_test", twice, override=True)
    pattern = [("bad_test.exp", is_op("relax.exp")(wildcard()))]
    fused = FuseOpsByPattern(pattern, annotate_codegen=True)(module())
    with pytest.raises(ValueError, match="one function for each symbol, but got several for fused"):
        RunCodegen()(fused)


def test_rf15_rejects_a_symbol_that_is_taken() -> None:
    mod = RunCodegen()(partitioned())
    (function,) = external.external_modules(mod)
    with pytest.raises(ValueError, match="expected another name than 'fused_relax_exp_relax_add"):
        external.attach(mod, [function])


def test_rf15_rejects_results_of_unknown_shape() -> None:
    mod = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32", ndim=2)):
        with R.dataflow():
            out = R.exp(x)
            R.output(out)
        return out
""")
    fused = FuseOpsByPattern(PATTERNS, annotate_codegen=True)(mod)
    with pytest.raises(ValueError, match="to return tensors of known shape and data type"):
        RunCodegen()(fused)


def test_rf15_errors_of_code_reach_the_caller(exec_mode: str) -> None:
    def fail(*tensors: Any) -> None:
        raise ZeroDivisionError("of the library")

    register_codegen(
        "bad_test",
        lambda functions, *_: {f.attrs["global_symbol"].value: fail for f in functions},
        override=True,
    )
    pattern = [("bad_test.exp", is_op("relax.exp")(wildcard()))]
    fused = FuseOpsByPattern(pattern, annotate_codegen=True)(module())
    main = relax.VirtualMachine(relax.compile(RunCodegen()(fused)))["main"]
    with pytest.raises(ZeroDivisionError, match="of the library"):
        main(np.ones((1, 4), "float32"), np.ones(4, "float32"))


def test_rf15_rejects_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="expected the options of each codegen by its name"):
        RunCodegen(["dnnl"])
    with pytest.raises(TypeError, match="expected the options of 'dnnl' by name, but got 3"):
        RunCodegen({"dnnl": 3})
    with pytest.raises(ValueError, match="expected the name of a Relax function"):
        RunCodegen(entry_functions=["man"])(module())


def test_rf15_codegen_is_registered_as_in_tvm(exec_mode: str) -> None:
    tvm_ffi.register_global_func("relax.ext.tvm_test", codegen)
    try:
        text = partitioned().to_text().replace('"numpy_test"', '"tvm_test"')
        check(relax.compile(RunCodegen()(relax.IRModule(text))))
    finally:
        tvm_ffi.remove_global_func("relax.ext.tvm_test")


def test_rf15_codegens_of_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package names its codegen in its entry points; it is imported when it is first needed."""
    point = metadata.EntryPoint("point_test", "json:dumps", external.ENTRY_POINTS)
    monkeypatch.setattr(external, "_entry_points", lambda: {"point_test": point})
    assert "point_test" in backend.codegen_names()
    assert backend.get_codegen("point_test").__name__ == "dumps"
    monkeypatch.delitem(external._codegens, "point_test")


def test_rf15_rejects_names_of_codegens() -> None:
    for name in ("", "a.b", 3):
        with pytest.raises(ValueError, match="expected the name of a codegen, without a dot"):
            register_codegen(name, print)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected a new name of a codegen, but got 'numpy_test'"):
        register_codegen("numpy_test", print)
    with pytest.raises(TypeError, match="expected a function as codegen 'new_test', but got 3"):
        register_codegen("new_test", 3)
    with pytest.raises(ValueError, match="expected a loader of codegen 'numpy_test'"):
        external.load_module("numpy_test", b"")
