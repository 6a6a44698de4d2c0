"""Derive functions of packed functions: registering them, and what they do to calls."""

import subprocess
import sys

import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import FuncStructInfo, ObjectStructInfo, TensorStructInfo, analysis
from relax_mlir.core.derive import derive_func_names

MATRIX = "!relax.tensor<[n, 4], f32>"
CALL = """
  relax.func @main(%f: !relax.func<derive = @{name}>, %x: {matrix}) -> !relax.object
      attributes {{is_pure = false}} {{
    %0 = relax.call %f : !relax.func<derive = @{name}>(%x) {sinfo_args}
        : ({matrix}) -> {result}
    relax.return %0 : {result}
  }}
"""


def program(name, result, sinfo_args="", copies=1):
    """Return the text of functions that call a packed function whose type names `name`."""
    text = CALL.format(name=name, matrix=MATRIX, result=result, sinfo_args=sinfo_args)
    return "\n".join(text.replace("@main", f"@main{copy}") for copy in range(copies))


@pytest.fixture
def like_first():
    """Return the name of a function that derives the type of the first argument."""
    name = "test.like_first"
    relax.register_derive_func(name, lambda args, sinfo_args: args[0], override=True)
    return name


def test_gr08_names():
    @relax.register_derive_func("test.named")
    def named(args, sinfo_args):
        return ObjectStructInfo()

    assert {"default_derive", "empty_derive", "test.named"} <= set(derive_func_names())
    assert named([], []) == ObjectStructInfo()


def test_dr10_arguments():
    """A function sees the types of the arguments and the sinfo_args."""
    seen = []

    @relax.register_derive_func("test.seen", override=True)
    def see(args, sinfo_args):
        seen.append((args, sinfo_args))
        return sinfo_args[0]

    callee = FuncStructInfo(None, derive_func="test.seen")
    args, infos = [TensorStructInfo(("n",))], [TensorStructInfo((2,)), ObjectStructInfo()]
    assert analysis.derive_call_result(callee, args, infos) == infos[0]
    assert seen == [(args, infos)]
    assert isinstance(seen[0][0][0], TensorStructInfo)


def test_dr10_functions_of_the_specification():
    x = TensorStructInfo(("n",))
    default, empty = FuncStructInfo(None), FuncStructInfo(None, derive_func="empty_derive")
    assert analysis.derive_call_result(default, [x]) == ObjectStructInfo()
    assert analysis.derive_call_result(default, [], [x]) == x
    assert analysis.derive_call_result(default, [], [x, x]) == relax.TupleStructInfo([x, x])
    assert analysis.derive_call_result(empty, [x], [x]) == ObjectStructInfo()


def test_dr10_call_through_a_value(like_first):
    module = ir.Module.parse(program(like_first, MATRIX), context=relax.default_context())
    assert module.operation.verify()


def test_dr10_many_functions(like_first):
    """MLIR verifies functions in threads of its own, where Python cannot be called."""
    text = program(like_first, MATRIX, copies=40)
    with ir.Context():
        assert ir.Module.parse(text).operation.verify()


def test_dr10_weaker_result(like_first):
    text = program(like_first, "!relax.tensor<ndim = 2>")
    assert ir.Module.parse(text, context=relax.default_context()).operation.verify()


def check_error(text, message):
    with pytest.raises(ir.MLIRError) as caught:
        ir.Module.parse(text, context=relax.default_context())
    assert message in str(caught.value)


def test_error_dr10_stronger_result(like_first):
    check_error(
        program(like_first, "!relax.tensor<[n, 5], f32>"),
        "derives a result of type '!relax.tensor<[n, 4], f32>', which is not a subtype",
    )


def test_error_dr10_empty_derive():
    check_error(
        program("empty_derive", MATRIX),
        "derives a result of type '!relax.object', which is not a subtype",
    )


def test_error_dr10_unregistered():
    check_error(
        program("test.nowhere", MATRIX),
        "expected a registered derive function, but got '@test.nowhere' (known are ",
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda args, infos: args[7], "raised IndexError: list index out of range"),
        (lambda args: args[0], "raised TypeError: "),
        (lambda args, infos: None, "gave None, which is not StructInfo"),
        (
            lambda args, infos: TensorStructInfo((), "int8").element_type,
            "to give StructInfo, but got 'i8'",
        ),
        (lambda args, infos: _in_another_context(), "gave a type of another context"),
    ],
)
def test_error_dr10_of_the_function(function, message):
    relax.register_derive_func("test.wrong", function, override=True)
    check_error(program("test.wrong", MATRIX), message)
    with pytest.raises(ValueError, match=r"test\.wrong|derive function"):
        analysis.derive_call_result(
            FuncStructInfo(None, derive_func="test.wrong"), [TensorStructInfo(("n",))]
        )


def _in_another_context():
    with ir.Context():
        return ObjectStructInfo()


def test_error_register_twice():
    relax.register_derive_func("test.twice", lambda args, infos: args[0], override=True)
    with pytest.raises(ValueError, match=r"there is 'test\.twice' already"):
        relax.register_derive_func("test.twice", lambda args, infos: args[0])
    relax.register_derive_func("test.twice", lambda args, infos: infos[0], override=True)
    callee = FuncStructInfo(None, derive_func="test.twice")
    info = TensorStructInfo((3,))
    assert analysis.derive_call_result(callee, [ObjectStructInfo()], [info]) == info


@pytest.mark.parametrize("name", ["default_derive", "empty_derive"])
def test_error_register_functions_of_the_specification(name):
    with pytest.raises(ValueError, match="already"):
        relax.register_derive_func(name, lambda args, infos: args[0], override=True)


def test_error_register_arguments():
    with pytest.raises(ValueError, match="expected the name"):
        relax.register_derive_func("not a name", lambda args, infos: args[0])
    with pytest.raises(TypeError, match="expected a function, but got 4"):
        relax.register_derive_func("test.number", 4)


def test_replaced_function_is_released():
    import gc
    import weakref

    class Derive:
        def __call__(self, args, infos):
            return args[0]

    first = Derive()
    alive = weakref.ref(first)
    relax.register_derive_func("test.released", first, override=True)
    del first
    gc.collect()
    assert alive() is not None
    relax.register_derive_func("test.released", Derive(), override=True)
    gc.collect()
    assert alive() is None


def test_end_of_the_interpreter():
    """Functions that are registered outlive the interpreter without harm."""
    code = (
        "import relax_mlir as relax\n"
        "from relax_mlir import analysis, FuncStructInfo, ObjectStructInfo\n"
        "relax.register_derive_func('mine', lambda args, infos: args[0])\n"
        "callee = FuncStructInfo(None, derive_func='mine')\n"
        "print(analysis.derive_call_result(callee, [ObjectStructInfo()]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "!relax.object\n", "")
