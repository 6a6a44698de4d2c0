"""Arguments of passes that TVM has, and pipelines by name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import IRModule, te, transform
from relax_mlir.driver.pipeline import PIPELINE_MAP
from relax_mlir.script import from_source
from relax_mlir.transform import tvm_arguments
from relax_mlir.transform.tvm_arguments import LegalizationWarning


@pytest.fixture
def module() -> IRModule:
    return from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.add(R.exp(x), x)
        else:
            y = R.exp(x)
        z = R.add(y, R.const(1.0))
        return z
""")


def names(mod: IRModule) -> list[str]:
    return [gvar.name for gvar in mod.get_global_vars()]


def count(mod: IRModule, op: str) -> int:
    return str(mod).count(f"{op} ")


def plus(builder, call):
    def own_add(a, b):
        return te.compute(a.shape, lambda i, j: a[i, j] * 2.0 + b[i, j] * 0.0, name="own")

    if call.x2.type.ndim == 0:
        return call  # the default one
    return builder.call_te(own_add, call.x1, call.x2)


def test_customized_kernels(module):
    after = transform.LegalizeOps({"relax.add": plus})(module)
    assert names(after) == ["main", "own_add", "exp", "add"]
    assert count(module, "relax.add") == 2, "what is given is not changed"
    x = np.ones((2, 4), "float32")
    main = relax.VirtualMachine(relax.compile(after))["main"]
    wanted = np.exp(x)
    np.testing.assert_allclose(np.from_dlpack(main(x, np.array(True))), wanted * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(np.from_dlpack(main(x, np.array(False))), wanted + 1, rtol=1e-6)


def test_customized_kernels_of_other_operators(module):
    def twice(builder, call):
        return relax.op.multiply(relax.op.exp(call.operands[0]), 1.0)

    # Its result is lowered as by default, and not by itself again.
    after = transform.LegalizeOps({"relax.exp": twice})(module)
    assert "relax.multiply" not in str(after)
    assert {"exp", "multiply"} <= set(names(after))


def test_operators_that_stay(module):
    after = transform.LegalizeOps(skip_ops=["relax.exp"])(module)
    assert count(after, "relax.exp") == 2
    assert count(after, "relax.add") == 0
    assert "relax.keep" not in str(after)
    after = transform.LegalizeOps({"relax.exp": plus}, skip_ops=["relax.exp", "relax.add"])(module)
    assert names(after) == ["main"]


def test_warning_of_operators_without_kernels(module, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        transform.LegalizeOps(enable_warning=True)(module)
    # As if there were an operator that has none yet.
    monkeypatch.setattr(tvm_arguments, "OPERATORS", {"relax.hint_on_device"})
    func = from_source("""
@R.function
def main(x: R.Tensor((4,), "float32")):
    y = R.hint_on_device(x, R.cpu(0))
    return y
""")
    with pytest.warns(LegalizationWarning, match=r":4:9.*no kernel for relax.hint_on_device"):
        after = transform.LegalizeOps(enable_warning=True)(func.module)
    assert "relax.hint_on_device" in str(after)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        skipped = ["relax.hint_on_device"]
        transform.LegalizeOps(skip_ops=skipped, enable_warning=True)(func.module)
        transform.LegalizeOps()(func.module)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"skip_ops": ["relax.nothing"]}, ValueError, "expected the name of an operator"),
        ({"customize_legalize_map": {"relax.no": plus}}, ValueError, "expected the name of an op"),
        ({"customize_legalize_map": {"relax.add": 3}}, TypeError, "expected a function that leg"),
    ],
    ids=["skip", "map", "function"],
)
def test_errors_of_arguments(options, error, message):
    with pytest.raises(error, match=message):
        transform.LegalizeOps(**options)


CALLS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def kernel(A: T.Buffer((1,), "float32")):
        A[0] = T.float32(1)

    @R.function(private=True)
    def inner(x: R.Object):
        return x

    @R.function(private=True)
    def unused(x: R.Object):
        y = Module.inner(x)
        return y

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.negative(x)
            R.output(z)
        return z
"""


def test_functions_that_nobody_calls_go():
    module = from_source(CALLS)
    assert names(transform.DeadCodeElimination()(module)) == ["main"]
    after = transform.DeadCodeElimination(["unused"])(module)
    assert set(names(after)) == {"main", "inner", "unused"}
    assert "private @unused" in str(after)
    assert "relax.exp" not in str(after)
    assert set(names(module)) == {"kernel", "main", "inner", "unused"}


def test_errors_of_entry_functions():
    module = from_source(CALLS)
    with pytest.raises(ValueError, match="expected a function of the module, but got 'other'"):
        transform.DeadCodeElimination(["other"])(module)
    with pytest.raises(TypeError, match="expected a list of names"):
        transform.DeadCodeElimination("main")


def test_pipelines_by_name(module):
    assert names(relax.get_pipeline()(module)) == ["main", "exp", "add", "add1"]
    whole = relax.get_pipeline("default", checks="necessary")(module)
    assert "llvm.func" in str(whole)
    assert relax.get_pipeline("normalize").info.name == "normalize"
    for name, _ in relax.phases():
        assert name in PIPELINE_MAP


def test_pipelines_of_users(module, monkeypatch):
    monkeypatch.setattr("relax_mlir.driver.pipeline.PIPELINE_MAP", dict(PIPELINE_MAP))

    @relax.register_pipeline("mine")
    def mine(skip):
        return transform.Sequential([transform.LegalizeOps(skip_ops=skip)])

    assert count(relax.get_pipeline("mine", skip=["relax.add"])(module), "relax.add") == 2
    with pytest.raises(ValueError, match="expected a new name of a pipeline, but got 'mine' again"):
        relax.register_pipeline("mine")


def test_errors_of_pipelines():
    with pytest.raises(ValueError, match="expected the name of a pipeline, one of zero, default"):
        relax.get_pipeline("other")
    with pytest.raises(ValueError, match="expected a new name of a pipeline, but got 'zero' again"):
        relax.register_pipeline("zero")
