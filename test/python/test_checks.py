"""Run-time checks, in both modes: casts, arguments, results (MC01 to MC09)."""

import re

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from relax_mlir import op

pytestmark = pytest.mark.usefixtures("exec_mode")

Tensor, Shape, Prim = relax.TensorStructInfo, relax.ShapeStructInfo, relax.PrimStructInfo
Tuple, Func, Object = relax.TupleStructInfo, relax.FuncStructInfo, relax.ObjectStructInfo
ROW = Tensor(("n",), "float32")


def f32(*shape):
    return np.zeros(shape, "float32")


# id, type, values that fit where n is 3, values that do not: error, parts of the message.
KINDS = [
    ("mc01-object", Object(), [f32(3), 1, "text", None, (1, (2,))], []),
    (
        "mc02-kind",
        Tensor(),
        [f32(), f32(2, 3), np.zeros(3, "int8")],
        [
            (1, TypeError, "the integer 1"),
            ("text", TypeError, "string"),
            (None, TypeError, "None"),
            ((f32(3),), TypeError, "tuple of 1"),
        ],
    ),
    (
        "mc02-rank",
        Tensor(ndim=2),
        [f32(2, 3), np.zeros((0, 1), "int8")],
        [(f32(3), ValueError, "rank 1"), (f32(1, 2, 3), ValueError, "rank 3")],
    ),
    (
        "mc02-dtype",
        Tensor(None, "float32"),
        [f32(3), f32(2, 2)],
        [(np.zeros(3), TypeError, "float64"), (np.zeros(3, "int32"), TypeError, "int32")],
    ),
    (
        "mc02-dimension",
        Tensor((2, "n + 1"), "float32"),
        [f32(2, 4)],
        [
            (f32(3, 4), ValueError, "dimension 0 is 3, expected 2"),
            (f32(2, 3), ValueError, "dimension 1 is 3, where n + 1 = 4"),
        ],
    ),
    (
        "mc03-dtype",
        Prim("int64"),
        [0, -(2**63), 2**63 - 1],
        [
            (2.5, TypeError, "2.5"),
            (True, TypeError, "True"),
            ("3", TypeError, "string"),
            (f32(), TypeError, "tensor"),
        ],
    ),
    ("mc03-float", Prim("float64"), [2.5, 1], [("x", TypeError, "string")]),
    ("mc03-bool", Prim("bool"), [True, False], [(1, TypeError, "the integer 1")]),
    (
        "mc03-range",
        Prim("int8"),
        [127, -128],
        [(128, ValueError, "128"), (-129, ValueError, "-129")],
    ),
    (
        "mc03-value",
        Prim("int64", "n * 2"),
        [6],
        [(7, ValueError, "but it is 7, where n * 2 = 6")],
    ),
    (
        "mc04-ndim",
        Shape(ndim=2),
        [tvm_ffi.Shape((1, 2))],
        [
            (tvm_ffi.Shape((1,)), ValueError, "a shape of rank 1"),
            (3, TypeError, "the integer 3"),
            (f32(1, 2), TypeError, "tensor"),
        ],
    ),
    (
        "mc04-value",
        Shape(("n", 5)),
        [tvm_ffi.Shape((3, 5))],
        [
            (tvm_ffi.Shape((4, 5)), ValueError, "dimension 0 is 4, where n = 3"),
            (tvm_ffi.Shape((3, 6)), ValueError, "dimension 1 is 6, expected 5"),
        ],
    ),
    (
        "mc05-size",
        Tuple([Object(), Object()]),
        [(1, "text")],
        [((1,), ValueError, "tuple of 1"), ((1, 2, 3), ValueError, "tuple of 3")],
    ),
    (
        "mc05-nested",
        Tuple([Prim("int64"), Tuple([ROW, Shape(("n",))])]),
        [(1, (f32(3), tvm_ffi.Shape((3,))))],
        [
            ((2.5, (f32(3), tvm_ffi.Shape((3,)))), TypeError, "field 0 of "),
            ((1, (f32(4), tvm_ffi.Shape((3,)))), ValueError, "field 0 of field 1 of "),
            ((1, (f32(3), tvm_ffi.Shape((4,)))), ValueError, "field 1 of field 1 of "),
            ((1, f32(3)), TypeError, "field 1 of "),
        ],
    ),
    ("mc06-packed", Func(None), [tvm_ffi.convert(lambda: None)], [(3, TypeError, "the integer 3")]),
]
GOOD = [(name, type_, value) for name, type_, fits, _ in KINDS for value in fits]
BAD = [(name, type_, *case) for name, type_, _, wrong in KINDS for case in wrong]


def ids(cases):
    return [f"{case[0]}-{index}" for index, case in enumerate(cases)]


def load(function, *params, checks="all", **options):
    bb = relax.BlockBuilder()
    with bb.function("main", params, **options):
        bb.emit_func_output(function(bb, *params))
    return relax.VirtualMachine(relax.compile(bb, checks=checks))["main"]


def as_argument(type_, **options):
    x, u = relax.Var("x", ROW), relax.Var("u", type_)
    return load(lambda bb, x, u: u, x, u, **options)


def as_cast(type_, **options):
    x, u = relax.Var("x", ROW), relax.Var("u", Object())
    return load(lambda bb, x, u: bb.match_cast(u, type_, "v"), x, u, **options)


def as_result(type_, **options):
    """The result of a packed function, which returns its argument."""
    tvm_ffi.register_global_func("test_checks.echo", lambda u: u, override=True)
    x, u = relax.Var("x", ROW), relax.Var("u", Object())
    call = lambda bb, x, u: op.call_packed("test_checks.echo", u, sinfo_args=type_)  # noqa: E731
    return load(call, x, u, pure=False, **options)


PLACES = {
    "mc08-argument": (as_argument, "argument 'u'"),
    "mc07-cast": (as_cast, "match_cast 'v'"),
    "mc08-result": (as_result, "the result of test_checks.echo"),
}


def same(value, given):
    if isinstance(given, tuple):
        return all(same(*pair) for pair in zip(value, given, strict=True))
    if isinstance(given, np.ndarray):
        return np.from_dlpack(value).ctypes.data == given.ctypes.data
    return callable(given) or value == given


@pytest.mark.parametrize("checks", ["all", "necessary"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "type_", "value"), GOOD, ids=ids(GOOD))
def test_values_that_fit(place, name, type_, value, checks):
    assert same(PLACES[place][0](type_, checks=checks)(f32(3), value), value)


# MC02, MC03, MC04, MC05
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "type_", "value", "error", "part"), BAD, ids=ids(BAD))
def test_error_values_that_do_not_fit(place, name, type_, value, error, part):
    make, where = PLACES[place]
    main = make(type_)
    with pytest.raises(error, match=re.escape(part)) as caught:
        main(f32(3), value)
    message = str(caught.value)
    assert "main: " in message
    assert where in message
    if name != "mc05-nested":  # there it is the type of the field
        assert str(type_) in message


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("name", "type_", "value", "error", "part"), BAD, ids=ids(BAD))
def test_mc07_necessary_lets_pass_what_is_not_read(place, name, type_, value, error, part):
    assert same(PLACES[place][0](type_, checks="necessary")(f32(3), value), value)


# ---------------------------------------------------------------------------------------------
# MC08: binding positions first; the result at exit. MC09: no variable
# ---------------------------------------------------------------------------------------------


def test_mc08_binding_positions_come_first():
    area = relax.Var("area", Tensor(("n * m",), "float32"))
    sides = relax.Var("sides", Tensor(("n", "m"), "float32"))
    main = load(lambda bb, area, sides: op.shape(("n", "m")), area, sides)
    assert tuple(main(f32(6), f32(2, 3))) == (2, 3)


def test_error_mc08_binding_positions_come_first():
    area = relax.Var("area", Tensor(("n * m",), "float32"))
    sides = relax.Var("sides", Tensor(("n", "m"), "float32"))
    main = load(lambda bb, area, sides: op.shape(("n", "m")), area, sides)
    with pytest.raises(ValueError, match=r"argument 'area'.*dimension 0 is 7, where m \* n = 6"):
        main(f32(7), f32(2, 3))


def exit_type(checks):
    """A function whose result is known to be right only when it is there."""
    tvm_ffi.register_global_func("test_checks.echo", lambda u: u, override=True)
    x, u = relax.Var("x", ROW), relax.Var("u", Object())
    return load(
        lambda bb, x, u: op.call_packed("test_checks.echo", u, sinfo_args=ROW),
        *(x, u),
        ret_struct_info=ROW,
        pure=False,
        checks=checks,
    )


def test_mc08_result_at_exit():
    assert np.from_dlpack(exit_type("all")(f32(3), f32(3))).shape == (3,)


def test_error_mc08_result_at_exit():
    with pytest.raises(ValueError, match=r"expected !relax.tensor<\[n\], f32>.*is 4, where n = 3"):
        exit_type("all")(f32(3), f32(4))
    assert np.from_dlpack(exit_type("necessary")(f32(3), f32(4))).shape == (4,)


def test_mc09_cast_without_variable_binds():
    u = relax.Var("u", Object())

    def body(bb, u):
        op.match_cast(u, Tensor(("k", 2)))
        return op.shape(("k",))

    for checks in ("all", "necessary"):
        assert tuple(load(body, u, checks=checks)(f32(7, 2))) == (7,)


def test_error_mc09_cast_without_variable_checks():
    u = relax.Var("u", Object())

    def body(bb, u):
        op.match_cast(u, Tensor(("k", 2)))
        return u

    with pytest.raises(ValueError, match=r"main: match_cast: .*dimension 1 is 3, expected 2"):
        load(body, u)(f32(7, 3))
    assert np.from_dlpack(load(body, u, checks="necessary")(f32(7, 3))).shape == (7, 3)


# ---------------------------------------------------------------------------------------------
# checks="necessary"
# ---------------------------------------------------------------------------------------------


def network(checks):
    x, w = relax.Var("x", Tensor(("n", 4), "float32")), relax.Var("w", Tensor((4, "m"), "float32"))
    return load(lambda bb, x, w: op.nn.softmax(op.add(op.matmul(x, w), 1)), x, w, checks=checks)


def test_necessary_gives_the_same_results():
    rng = np.random.default_rng(0)
    x, w = rng.random((5, 4), "float32"), rng.random((4, 3), "float32")
    results = [np.from_dlpack(network(checks)(x, w)) for checks in ("all", "necessary")]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("wrong", [1, None, "text", (1,), f32(4), f32(2, 3, 4)], ids=repr)
def test_error_necessary_checks_kind_and_rank_of_what_is_read(wrong):
    main = network("necessary")
    with pytest.raises((TypeError, ValueError), match="main: argument 'x'"):
        main(wrong, f32(4, 2))


def test_error_necessary_checks_the_number_of_arguments():
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        network("necessary")(f32(2, 4))


def test_error_necessary_checks_divisors():
    x = relax.Var("x", Tensor(("n", "m"), "float32"))
    main = load(lambda bb, x: op.shape(("n floordiv m",)), x, checks="necessary")
    assert tuple(main(f32(7, 2))) == (3,)
    with pytest.raises(ZeroDivisionError):
        main(f32(7, 0))


def test_error_necessary_checks_conditions_and_functions():
    c, f = relax.Var("c", Tensor((), "bool")), relax.Var("f", Func(None))
    choose = load(lambda bb, c: bb.if_(c, lambda: 1, lambda: 2), c, checks="necessary")
    assert (choose(np.array(True)), choose(np.array(False))) == (1, 2)
    call = load(lambda bb, f: op.call(f), f, pure=False, checks="necessary")
    assert call(tvm_ffi.convert(lambda: 5)) == 5
    for wrong in (1, "text", None):
        with pytest.raises(TypeError, match="argument 'c'"):
            choose(wrong)
        with pytest.raises(TypeError, match="argument 'f'"):
            call(wrong)


def test_error_necessary_takes_fields_of_tuples_only():
    t = relax.Var("t", Tuple([Object(), ROW]))
    main = load(lambda bb, t: op.get_item(t, 1), t, checks="necessary")
    assert np.from_dlpack(main((1, f32(3)))).shape == (3,)
    with pytest.raises(TypeError):
        main(1)
    with pytest.raises(IndexError):
        main((1,))


def test_error_unknown_checks():
    with pytest.raises(ValueError, match="one of all, necessary, but got 'none'"):
        network("none")
