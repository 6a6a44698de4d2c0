"""Values and operations keep their module alive."""

import gc
import threading

import pytest
import relax_mlir as relax
from relax_mlir import dpl, op, transform
from relax_mlir.core import lifetimes

TEXT = """
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %0 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  relax.return %0 : !relax.tensor<[n], f32>
}
"""
READ = {
    "function": lambda main: main,
    "block": lambda main: main.body.blocks[0],
    "parameter": lambda main: main.params[0],
    "operation": lambda main: main.body.blocks[0].operations[0],
    "operation of a loop": lambda main: next(iter(main.body.blocks[0])),
    "result": lambda main: main.body.blocks[0].operations[0].result,
    "operation that is found": lambda main: transform.find(main, "relax.exp")[0],
    "use": lambda main: relax.analysis.used_vars(main)[0],
}


@pytest.fixture(autouse=True)
def _nothing_is_left():
    gc.collect()
    before = len(lifetimes._modules)
    yield
    gc.collect()
    assert len(lifetimes._modules) == before


@pytest.mark.parametrize("part", READ)
def test_part_of_a_module_keeps_it(part):
    found = READ[part](relax.IRModule(TEXT)["main"])
    gc.collect()
    assert "%x" in str(found) or "index: 0" in str(found)


def test_equal_modules_are_kept_by_their_own_values():
    modules = [relax.IRModule(TEXT) for _ in range(3)]
    values = [module["main"].params[0] for module in modules]
    assert [value._module for value in values] == [module.module for module in modules]


@pytest.mark.parametrize("remove", ["delete", "replace"])
def test_operations_of_functions_that_are_removed(remove):
    mod = relax.IRModule(TEXT)
    (exp,) = transform.find(mod["main"], "relax.exp")
    if remove == "delete":
        del mod["main"]
        assert "main" not in mod
    else:
        mod["main"] = relax.IRModule(TEXT.replace("exp", "tanh"))["main"]
        assert "tanh" in str(mod) and "exp" not in str(mod)
    del mod
    gc.collect()
    assert str(exp).startswith("%0 = relax.exp")


def test_values_of_modules_of_threads():
    def work():
        for _ in range(50):
            value = relax.IRModule(TEXT)["main"].body.blocks[0].operations[0].result
            found.append("relax.exp" in str(value))

    found = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 200


def test_blocks_of_a_function_without_its_module():
    assert len(relax.IRModule(TEXT)["main"].body.blocks[0].operations) == 2


def test_value_keeps_what_its_builder_wrote(tensor):
    def build():
        bb = relax.BlockBuilder()
        x = tensor(("n",))
        with bb.function("main", [x]):
            y = bb.emit(op.exp(x))
            bb.emit_func_output(y)
        return y

    y = build()
    gc.collect()
    assert str(y.struct_info) == "!relax.tensor<[n], f32>"


def test_matched_values_outlive_their_rewriting():
    kept = []

    def rewriter(expr, matchings):
        kept.append((expr, matchings[pattern]))
        return op.sin(matchings[anything])

    anything = dpl.wildcard()
    pattern = dpl.is_op("relax.exp")(anything)
    dpl.rewrite_call(pattern, rewriter, relax.IRModule(TEXT)["main"])
    gc.collect()
    assert ["relax.exp" in str(value) for value in kept[0]] == [True, True]


def test_error_replacement_of_another_module():
    value = relax.IRModule(TEXT)["main"].body.blocks[0].operations[0].result
    pattern = dpl.is_op("relax.exp")(dpl.wildcard())
    with pytest.raises(dpl.RewriteError, match=r"a result of relax\.exp of function 'main'"):
        dpl.rewrite_call(pattern, lambda expr, matchings: value, relax.IRModule(TEXT)["main"])


def test_module_that_is_not_valid_has_functions():
    module = relax.IRModule(TEXT)
    module.body.append(module["main"].operation.clone().operation)
    assert list(module.functions) == ["main"]
