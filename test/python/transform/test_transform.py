"""Passes as objects: each one, sequences, contexts, errors, passes in Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from mlir.passmanager import PassManager
from relax_mlir import IRModule, op, transform
from relax_mlir.dialects import relax as ops
from relax_mlir.instrument import PassInstrument
from relax_mlir.transform import PassContext, PassError, PassInfo, Sequential
from relax_mlir.transform.registry import NOT_HERE, TVM_PASSES

EXP = """
module {
  relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
    %0 = relax.dataflow -> !relax.tensor<[n, 4], f32> {
      %dead = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
      %a = relax.exp %x : (!relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32>
      relax.output %a : !relax.tensor<[n, 4], f32>
    }
    relax.return %0 : !relax.tensor<[n, 4], f32>
  }
}
"""


def count(mod: IRModule | ir.Module, name: str) -> int:
    found = 0

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found += operation.name == name
        return ir.WalkResult.ADVANCE

    mod.operation.walk(visit)
    return found


@transform.module_pass(name="Nothing")
def nothing(mod, ctx):
    return mod


# -- the passes of this project -----------------------------------------------------------------


def test_every_registered_pass_is_an_object() -> None:
    help_ = subprocess.run(["relax-opt", "--help"], capture_output=True, text=True, check=True)
    arguments = {
        word.lstrip("-")
        for line in help_.stdout.splitlines()
        for word in line.split()[:1]
        if word.startswith(("--relax-", "--convert-relax-")) and "phase" not in word
    }
    # Options of the tool itself, and the pipeline of all phases.
    arguments -= {"relax-to-llvm"}
    assert {cls.argument for cls in transform.passes().values()} == arguments
    assert len(arguments) >= 16


@pytest.mark.parametrize("name", sorted(transform.passes()))
def test_pass_is_documented_and_parses(name: str) -> None:
    cls = transform.passes()[name]
    assert cls.__doc__
    assert cls.__doc__.strip()
    pass_ = cls()
    assert pass_.info.name == name
    assert getattr(transform, name) is cls
    assert getattr(transform, cls.__name__) is cls
    with relax.default_context():
        PassManager.parse(f"builtin.module({pass_.pipeline()})")


def test_pass_returns_a_new_module() -> None:
    given = IRModule(EXP)
    before = str(given)
    result = transform.LegalizeOps()(given)
    assert isinstance(result, IRModule)
    assert str(given) == before
    assert (count(result, "relax.exp"), count(result, "relax.call_tir")) == (0, 2)


def test_pass_takes_whatever_stands_for_a_module(tensor) -> None:
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    with relax.default_context():
        module = ir.Module.parse(EXP)
    for mod in (EXP, module, IRModule(module), bb):
        assert count(transform.LegalizeOps()(mod), "relax.call_tir") >= 1
    with pytest.raises(TypeError, match="expected a module"):
        transform.LegalizeOps()(3)


def test_pass_of_several_names_is_one() -> None:
    assert transform.CallTIRRewrite is transform.LowerCallTIR
    assert transform.VMShapeLower().info.name == "VMShapeLower"


def test_pass_keeps_the_name_of_the_module() -> None:
    mod = IRModule(EXP)
    mod.name = "Model"
    assert transform.Normalize()(mod).name == "Model"


def passes_of_tvm() -> dict[str, str]:
    """Return what the documentation says of each pass of TVM."""
    page = Path(__file__).parents[3] / "docs" / "from" / "tvm.md"
    section = page.read_text().partition("## Passes\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))


def test_each_pass_of_tvm_is_there_or_has_a_reason() -> None:
    said = passes_of_tvm()
    assert set(said) == TVM_PASSES
    assert list(said) == sorted(said)
    for name, text in said.items():
        is_there = name in dir(transform)
        assert is_there == (text != "not yet" and not text.startswith("not there: ")), name
        reason = text.removeprefix("not there: ").replace("`", "") if "not there" in text else None
        assert NOT_HERE.get(name) == reason, name


def test_missing_pass_of_tvm_says_so() -> None:
    missing = [name for name, text in passes_of_tvm().items() if text == "not yet"]
    for name in missing[:1]:
        message = f"relax_mlir has no pass '{name}' yet"
        with pytest.raises(AttributeError, match=message):
            getattr(transform, name)
    message = "relax_mlir has no pass 'MetaScheduleTuneTIR': the compiler chooses the loops"
    with pytest.raises(AttributeError, match=message):
        transform.MetaScheduleTuneTIR  # noqa: B018
    with pytest.raises(ImportError, match=message):
        from relax_mlir.transform import MetaScheduleTuneTIR  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute 'Nix'"):
        transform.Nix  # noqa: B018
    assert {"LegalizeOps", "CallTIRRewrite", "Sequential"} <= set(dir(transform))


def test_options_are_keywords() -> None:
    assert "checks=all" in transform.VMShapeLower().pipeline()
    assert "checks=necessary" in transform.VMShapeLower(checks="necessary").pipeline()
    assert repr(transform.VMShapeLower(checks="necessary")) == "VMShapeLower(checks='necessary')"
    with pytest.raises(ValueError, match="expected checks, one of all, necessary, but got 'no'"):
        transform.VMShapeLower(checks="no")
    with pytest.raises(TypeError, match="expected the argument checks, but got"):
        transform.VMShapeLower(nix=1)
    assert '"necessary": those' in (transform.VMShapeLower.__doc__ or "")


def test_options_come_from_the_config() -> None:
    key = "relax.VMShapeLower.checks"
    with PassContext(config={key: "necessary"}):
        assert "checks=necessary" in transform.VMShapeLower().pipeline()
        assert "checks=all" in transform.VMShapeLower(checks="all").pipeline()
    assert PassContext.list_configs()[key]["type"] == "str"
    with pytest.raises(ValueError, match="expected a known option of the config, but got 'nix'"):
        PassContext(config={"nix": 1})
    with pytest.raises(TypeError, match="expected str as config"):
        PassContext(config={key: 1})
    with (
        PassContext(config={key: "some"}),
        pytest.raises(ValueError, match="one of all, necessary, but got 'some'"),
    ):
        transform.VMShapeLower()("module {}")


def test_any_pass_of_mlir() -> None:
    clean = transform.MLIRPass("any(canonicalize{max-iterations=2},cse)", "Clean")
    assert clean.info.name == "Clean"
    assert count(clean(EXP), "relax.func") == 1
    with pytest.raises(ValueError, match="'nix' does not refer to a registered pass"):
        transform.MLIRPass("nix")(EXP)
    with pytest.raises(TypeError, match="expected the text of a pipeline"):
        transform.MLIRPass()


def test_pass_of_mlir_that_erases_arguments() -> None:
    """It aborts at functions with references other than calls, which keep their signatures."""
    text = """
!t = !relax.tensor<[4], f32>
func.func private @first(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
relax.func private @scaled(%x: !t, %y: !t) -> !t {
  relax.return %y : !t
}
relax.func @main(%a: !t, %b: !t) -> !t {
  %0 = relax.call @scaled(%a, %b) : (!t, !t) -> !t
  %1 = relax.call_tir @first(%0) : (!t) -> !t
  relax.return %1 : !t
}"""
    found = str(transform.MLIRPass("remove-dead-values")(text))
    assert "@first(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>)" in found
    assert "relax.func private @scaled(%y: " in found
    assert "relax.call @scaled(%b)" in found


# -- errors ---------------------------------------------------------------------------------------


def test_error_has_name_place_and_rule() -> None:
    text = "relax.func private @f(%x: !relax.object) -> !relax.object {\n" + (
        "  relax.return %x : !relax.object\n}"
    )
    with pytest.raises(PassError, match="pass CheckWellFormed failed\n") as error:
        transform.CheckWellFormed()(text)
    (found,) = error.value.diagnostics
    assert (found.rule, error.value.pass_name) == ("WF12", "CheckWellFormed")
    assert ":1:1" in str(found)
    assert isinstance(error.value, ir.MLIRError)
    assert len(error.value.error_diagnostics) == 1
    assert "see current operation" not in str(error.value)


def test_warning_of_mlir_is_one_of_python() -> None:
    text = """
    relax.func private @f(%x: !relax.tensor<[2], f32>) -> !relax.object {
      relax.return %x : !relax.tensor<[2], f32>
    }
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.object {
      %0 = relax.call @f(%x) : (!relax.tensor<[n], f32>) -> !relax.object
      relax.return %0 : !relax.object
    }"""
    with pytest.warns(relax.StructInfoWarning, match="match_cast"):
        transform.DeriveStructInfo()(text)


# RF13: a pass gives a module that is valid.
def test_invalid_result_of_a_pass_in_python() -> None:
    @transform.function_pass
    def break_(func, mod, ctx):
        *_, last = func.body.blocks[0].operations
        last.operation.erase()

    with pytest.raises(PassError, match="pass break_ failed: what it leaves is not valid\n"):
        break_(EXP)


def test_error_in_a_pass_in_python_comes_out() -> None:
    @transform.module_pass
    def fail(mod, ctx):
        raise KeyError("reason")

    with pytest.raises(KeyError, match="reason") as error:
        Sequential([transform.Normalize(), fail])(EXP)
    if sys.version_info >= (3, 11):
        assert error.value.__notes__ == ["in pass fail"]


# -- sequences ------------------------------------------------------------------------------------


class Names(PassInstrument):
    def __init__(self) -> None:
        self.names: list[str] = []

    def run_after_pass(self, mod, info) -> None:
        self.names.append(info.name)


def run_names(pass_, **options) -> list[str]:
    names = Names()
    with PassContext(instruments=[names], **options):
        pass_(EXP)
    return names.names


def test_sequential_runs_in_order_and_nests() -> None:
    inner = Sequential([transform.DeadCodeElimination(), transform.LegalizeOps()], name="inner")
    outer = Sequential([transform.Normalize(), inner], name="outer")
    assert run_names(outer) == ["Normalize", "DeadCodeElimination", "LegalizeOps", "inner", "outer"]
    assert count(outer(EXP), "relax.call_tir") == 1
    with pytest.raises(TypeError, match=r"expected passes, but got <class .*: write Normalize\(\)"):
        Sequential([transform.Normalize])
    assert "Sequential([Normalize(), Sequential(" in repr(outer)


def test_sequential_obeys_the_context() -> None:
    @transform.module_pass(opt_level=3)
    def late(mod, ctx):
        return mod

    both = Sequential([transform.Normalize(), late])
    assert run_names(both) == ["Normalize", "sequential"]
    assert run_names(both, opt_level=3) == ["Normalize", "late", "sequential"]
    assert run_names(both, required_pass=["late"]) == ["Normalize", "late", "sequential"]
    assert run_names(both, opt_level=3, disabled_pass={"late"}) == ["Normalize", "sequential"]
    with pytest.raises(TypeError, match="expected disabled_pass to be a list of str"):
        PassContext(disabled_pass="late")


def test_required_passes_run_before() -> None:
    @transform.module_pass(required=["Normalize", "Nothing"])
    def needs(mod, ctx):
        return mod

    assert run_names(Sequential([needs])) == ["Normalize", "Nothing", "needs", "sequential"]
    with pytest.raises(TypeError, match="expected required to be a list of str"):
        transform.module_pass(required="Normalize")

    @transform.module_pass(required=["Nix"])
    def wrong(mod, ctx):
        return mod

    with pytest.raises(ValueError, match="expected the name of a pass, but got 'Nix'"):
        Sequential([wrong])(EXP)


def test_contexts_nest_and_are_of_one_thread() -> None:
    import threading

    assert PassContext.current().opt_level == 2
    seen = []
    with PassContext(opt_level=0):
        with PassContext(opt_level=1) as inner:
            assert PassContext.current() is inner
        assert PassContext.current().opt_level == 0
        thread = threading.Thread(target=lambda: seen.append(PassContext.current().opt_level))
        thread.start()
        thread.join()
    assert seen == [2]
    assert PassInfo(1, "a").name == str(PassInfo(1, "a"))


def test_phases_are_sequences(tensor, load) -> None:
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output(op.add(op.exp(x), x))
    names = [name for name, _ in relax.phases()]
    lowered = Sequential([transform.phase(name) for name in names])(bb)
    assert count(lowered, "relax.func") == 0
    assert count(lowered, "llvm.func") > 0
    assert [p.info.name for p in transform.phase("memory").passes] == [
        "ToNonDataflow",
        "CallTIRRewrite",
        "StaticPlanBlockMemory",
    ]
    assert "checks=necessary" in transform.phase("shapes", checks="necessary").passes[0].pipeline()
    with pytest.raises(ValueError, match="expected a phase, one of normalize"):
        transform.phase("nix")


def test_compile_runs_pass_by_pass_where_somebody_watches(tensor, load) -> None:
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x]):
        bb.emit_func_output(op.exp(x))
    names = Names()
    with PassContext(instruments=[names]):
        main = load(bb)
    assert np.from_dlpack(main(np.zeros(3, "float32"))).tolist() == [1, 1, 1]
    assert {"Normalize", "LegalizeOps", "BufferizeKernels", "ConvertToLLVM", "llvm"} <= set(
        names.names
    )


# -- passes in Python -----------------------------------------------------------------------------


def replace_exp(block: ir.Block) -> None:
    for inner in list(block.operations):
        if isinstance(inner, ops.ExpOp):
            with ir.InsertionPoint(inner):
                inner.result.replace_all_uses_with(op.negative(inner.operation.operands[0]))
            inner.operation.erase()


@transform.dataflowblock_pass(opt_level=0, name="ExpToNegative")
class ExpToNegative:
    """Replaces each exponential by a negation."""

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled

    def transform_dataflowblock(self, block, mod, ctx):
        if self.enabled:
            replace_exp(block.body.blocks[0])
        return block


def test_ad01_dataflow_block_pass_next_to_passes_of_mlir() -> None:
    both = Sequential([transform.Normalize(), ExpToNegative(), transform.DeadCodeElimination()])
    mod = both(EXP)
    assert (count(mod, "relax.exp"), count(mod, "relax.negative")) == (0, 1)
    kept = Sequential([ExpToNegative(enabled=False), transform.DeadCodeElimination()])(EXP)
    assert count(kept, "relax.exp") == 1
    assert ExpToNegative(enabled=False).enabled is False
    assert issubclass(ExpToNegative, transform.DataflowBlockPass)
    assert ExpToNegative.__doc__ == "Replaces each exponential by a negation."
    with pytest.raises(AttributeError, match="nix"):
        _ = ExpToNegative().nix


def test_python_passes_in_a_pipeline_of_mlir() -> None:
    with relax.default_context():
        module = ir.Module.parse(EXP)
        pm = PassManager("builtin.module")
        Sequential([transform.Normalize(), ExpToNegative(), nothing]).add_to(pm)
        pm.add("relax-legalize-ops")
        pm.run(module.operation)
    assert count(module, "relax.call_tir") == 2
    assert "@negative" in str(module)
    with relax.default_context():
        pm = PassManager("any")
        nothing.add_to(pm)
        with pytest.raises(ir.MLIRError, match="ValueError: expected a module"):
            pm.run(module.body.operations[0].operation)


def test_function_pass_changes_or_replaces() -> None:
    @transform.function_pass(opt_level=1)
    def rename(func, mod, ctx):
        assert isinstance(mod, IRModule)
        assert isinstance(ctx, PassContext)
        func.operation.attributes["my.name"] = func.sym_name

    mod = rename(EXP)
    assert "my.name" in mod["main"].operation.attributes
    assert rename.info == PassInfo(1, "rename")

    other = IRModule(EXP.replace("relax.exp", "relax.sqrt"))

    @transform.function_pass
    def replace(func, mod, ctx):
        return other[func.sym_name.value]

    replaced = replace(EXP)
    assert count(replaced, "relax.sqrt") == 2
    assert count(other, "relax.sqrt") == 2
    assert count(replaced, "relax.func") == 1


def test_function_pass_leaves_kernels_out() -> None:
    seen = []

    @transform.function_pass
    def look(func, mod, ctx):
        seen.append(func.sym_name.value)

    look(transform.LegalizeOps()(EXP))
    assert seen == ["main"]


def test_module_pass_returns_another_module() -> None:
    @transform.module_pass
    def lower(mod, ctx):
        return transform.LegalizeOps()(mod)

    assert count(lower(EXP), "relax.call_tir") == 2

    @transform.module_pass
    class Twice:
        def __init__(self, pass_):
            self.pass_ = pass_

        def transform_module(self, mod, ctx):
            return self.pass_(self.pass_(mod))

    assert count(Twice(lower)(EXP), "relax.call_tir") == 2
    with relax.default_context():
        module = ir.Module.parse(EXP)
        pm = PassManager("builtin.module")
        lower.add_to(pm)
        pm.run(module.operation)
    assert count(module, "relax.call_tir") == 2


def test_dataflow_block_pass_replaces_blocks() -> None:
    @transform.dataflowblock_pass
    def copy(block, mod, ctx):
        clone = block.operation.clone(ip=ir.InsertionPoint(block))
        clone.attributes["my.copy"] = ir.UnitAttr.get()
        return clone

    mod = copy(EXP)
    assert count(mod, "relax.dataflow") == 1
    assert "my.copy" in str(mod)

    @transform.dataflowblock_pass
    def wrong(block, mod, ctx):
        return block.body.blocks[0].operations[0]

    with pytest.raises(ValueError, match="expected a dataflow block with 1 outputs"):
        wrong(EXP)


def test_decorators_refuse_what_is_no_pass() -> None:
    with pytest.raises(TypeError, match="expected a method transform_function of class Empty"):

        @transform.function_pass
        class Empty:
            pass

    with pytest.raises(TypeError, match="expected a function or class with a name"):
        transform.module_pass(3)
