"""emit_te and call_te: what functions of tensor expressions take, and the kernels they become."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import relax_mlir as relax
from relax_mlir import TensorStructInfo, Var, op, te

F32 = "float32"


def add_one(A):
    return te.compute(A.shape, lambda *i: A(*i) + 1)


def emit(function, params, *args, **kwargs):
    """Return the builder and the value of a function that is emit_te alone."""
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        value = bb.emit_te(function, *args, **kwargs)
        type_ = value.type
        bb.emit_func_output(value)
    return bb, type_


def kernels(bb) -> list[str]:
    return [gvar.name for gvar in bb.get().get_global_vars() if gvar.name != "main"]


def tensor(name="x", shape=("n",), dtype=F32, **options) -> Var:
    return Var(name, TensorStructInfo(shape, dtype, **options))


def test_rf11_lists_tuples_and_dicts_of_tensors(exec_mode):
    x, y = tensor("x", ("n", "m")), tensor("y", ("n", "m"))

    def function(args, args_dict, msg, scale=None):
        assert msg == "hello" and scale is None
        A, B = args[0], args_dict["B"]
        assert isinstance(args, list) and isinstance(args_dict, dict)
        return te.compute(A.shape, lambda i, j: A[i, j] + B[i, j])

    bb, type_ = emit(function, [x, y], [x], {"B": y}, msg="hello", scale=None)
    assert type_ == TensorStructInfo(("n", "m"), F32)
    a, b = np.ones((2, 3), F32), np.full((2, 3), 2, F32)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a, b)), a + b)


def test_rf11_shapes_become_lists_of_expressions():
    x = tensor("x", ("n",))

    def function(A, shape, dims):
        assert isinstance(shape, list) and isinstance(dims, list)
        assert str(shape) == "[n, int64(4)]" and str(dims[0]) == "n * 2"
        return te.compute(shape, lambda i, j: A[i])

    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        dims = op.shape_of(op.zeros(("n * 2",), F32))
        value = bb.emit_te(function, x, relax.ShapeExpr(("n", 4)), dims)
        assert value.type == TensorStructInfo(("n", 4), F32)
        bb.emit_func_output(value)
    bb.get()


def test_rf11_dimensions_become_expressions(exec_mode):
    x = tensor("x", ("n",))

    def repeat(A, times):
        return te.compute((A.shape[0] * times,), lambda i: A[i // times])

    bb, type_ = emit(repeat, [x], x, relax.Dim("n"))
    assert type_ == TensorStructInfo(("n * n",), F32)
    a = np.arange(3, dtype=F32)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a)), a.repeat(3))


def test_rf11_primitive_values_become_expressions(exec_mode):
    x, k = tensor("x", ("n",)), Var("k", relax.PrimStructInfo("int64", "k"))

    def scaled(A, factor):
        return te.compute(A.shape, lambda i: A[i] * factor.astype(F32))

    bb, _ = emit(scaled, [x, k], x, k)
    assert "packed_ints" in str(bb.get())
    a = np.arange(3, dtype=F32)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a, 5)), a * 5)


def test_rf11_tuples_of_the_program_become_tuples(exec_mode):
    pair = relax.TupleStructInfo([TensorStructInfo(("n",), F32)] * 2)
    t = Var("t", pair)

    def total(values):
        A, B = values
        return te.compute(A.shape, lambda i: A[i] + B[i])

    bb, _ = emit(total, [t], t)
    a, b = np.ones(3, F32), np.arange(3, dtype=F32)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main((a, b))), a + b)


def test_rf11_arrays_become_constants(exec_mode):
    x, bias = tensor("x", (3,)), np.arange(3, dtype=F32)
    bb, _ = emit(lambda A, B: te.compute((3,), lambda i: A[i] + B[i]), [x], x, bias)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(bias)), bias * 2)


def test_rf11_variables_that_no_shape_gives_are_passed(exec_mode):
    x, y = tensor("x", ("n",)), tensor("y", ("n + 1",))
    n = relax.shape_var("n")
    bb, type_ = emit(lambda A: te.compute((n + 1,), lambda i: A[i] * 2), [x, y], y)
    assert type_ == TensorStructInfo(("n + 1",), F32)
    mod = bb.get()
    assert mod["_lambda_"].type.inputs[1].width == 64
    a, b = np.zeros(2, F32), np.arange(3, dtype=F32)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a, b)), b * 2)


def test_rf11_names_of_indices_and_of_dimensions_do_not_mix(exec_mode):
    x = tensor("x", ("n", "c"))
    bb, _ = emit(lambda A: te.compute(("c", "n"), lambda n, c: A[c, n]), [x], x)
    a = np.arange(6, dtype=F32).reshape(2, 3)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a)), a.T)


def test_rf11_kernel_names():
    x = tensor()
    assert kernels(emit(add_one, [x], x)[0]) == ["add_one"]
    assert kernels(emit(add_one, [x], x, primfunc_name_hint="f")[0]) == ["f"]
    assert kernels(emit(functools.partial(add_one), [x], x)[0]) == ["add_one"]
    bb, _ = emit(lambda A: add_one(A), [x], x)
    assert kernels(bb) == ["_lambda_"]


def test_rf11_kernels_are_private_and_have_attributes():
    x = tensor()
    bb, _ = emit(add_one, [x], x, primfunc_attrs={"op_pattern": 0, "tiles": [1, 2], "s": "a"})
    mod = bb.get()
    attributes = mod["add_one"].operation.attributes
    assert attributes["sym_visibility"].value == "private"
    assert attributes["op_pattern"].value == 0 and str(attributes["tiles"]) == "[1, 2]"
    assert attributes["s"].value == "a"


def test_rf11_equal_kernels_are_one():
    bb = relax.BlockBuilder()
    x, y, z = tensor("x"), tensor("y", ("m",)), tensor("z", ("n", "n"))
    with bb.function("main", [x, y, z]):
        for each in (x, y, z, x):
            bb.emit_te(add_one, each)
        bb.emit_te(add_one, x, primfunc_attrs={"a": 1})
        bb.emit_te(lambda A: add_one(A), x)
        bb.emit_func_output(x)
    # Of rank 1, of rank 2, and with an attribute.
    assert kernels(bb) == ["add_one", "add_one1", "add_one2"]


def test_rf11_equal_kernels_of_a_module_are_used():
    x = tensor()
    first, _ = emit(add_one, [x], x)
    bb = relax.BlockBuilder(first.get())
    with bb.function("other", [x]):
        bb.emit_func_output(bb.emit_te(add_one, x))
    assert [gvar.name for gvar in bb.get().get_global_vars()] == ["main", "add_one", "other"]


def test_rf11_names_that_are_taken_get_a_number():
    bb = relax.BlockBuilder()
    x = tensor()
    with bb.function("add_one", [x]):
        bb.emit_func_output(bb.emit_te(add_one, x))
    assert [gvar.name for gvar in bb.get().get_global_vars()] == ["add_one", "add_one1"]


def test_rf11_several_outputs_are_a_tuple():
    x = tensor()
    both = lambda A: te.compute(A.shape, lambda i: (A[i] + 1, A[i] > 0))  # noqa: E731
    _, type_ = emit(both, [x], x)
    assert type_ == relax.TupleStructInfo(
        [TensorStructInfo(("n",), F32), TensorStructInfo(("n",), "bool")]
    )
    _, type_ = emit(lambda A: [add_one(A)], [x], x)
    assert type_ == TensorStructInfo(("n",), F32)


@pytest.mark.parametrize("keyword", ["sinfo_args", "ty_args"])
def test_rf11_types_of_outputs_can_be_stated(keyword):
    x, y = tensor(), tensor("y", ("n", 4))
    stated = TensorStructInfo(("n * 4",), F32)
    flat = lambda A: te.compute(("n * 4",), lambda i: A[i // 4, i % 4])  # noqa: E731
    _, type_ = emit(flat, [x, y], y, **{keyword: stated})
    assert type_ == stated


def test_rf11_virtual_device_of_the_first_argument():
    bb = relax.BlockBuilder(global_info={"host": relax.VDevice("cpu")})
    x = tensor("x", ("n",), vdevice="host")
    with bb.function("main", [x]):
        value = bb.emit_te(add_one, x)
        assert value.type.vdevice == "host"
        bb.emit_func_output(value)


def test_rf11_name_of_the_value():
    bb = relax.BlockBuilder()
    x = tensor()
    with bb.function("main", [x]):
        with bb.dataflow():
            first = bb.emit_te(add_one, x)
            second = bb.emit_te(add_one, first, name_hint="second")
            assert first.owner.location.name_str == "lv"
            assert second.owner.location.name_str == "second"
            out = bb.emit_output(second)
        bb.emit_func_output(out)
    with pytest.raises(ValueError, match="call_te inside function"):
        bb.emit_te(add_one, x)


def test_rf11_in_closures_and_branches(exec_mode):
    bb = relax.BlockBuilder()
    x, y = tensor(), tensor("y", ("m",))
    with bb.function("main", [x]):
        with bb.closure("plus", [y]) as plus:
            bb.emit_func_output(bb.emit_te(add_one, y))
        once = bb.emit(op.call(plus, x))
        cond = bb.emit_te(lambda A: te.compute((), lambda: A[0] > 1), once)
        out = bb.if_(cond, lambda: bb.emit_te(add_one, once), lambda: once)
        bb.emit_func_output(out)
    assert kernels(bb) == ["add_one", "_lambda_"]
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    for start, expected in ((0.0, 1.0), (1.0, 3.0)):
        result = np.from_dlpack(main(np.full(2, start, F32)))
        np.testing.assert_array_equal(result, np.full(2, expected, F32))


def test_rf11_shape_variables_of_casts_are_known(exec_mode):
    bb = relax.BlockBuilder()
    x = Var("x", TensorStructInfo(ndim=1, dtype=F32))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.match_cast(x, TensorStructInfo(("k",), F32))
            out = bb.emit_output(bb.emit_te(add_one, y))
        again = bb.emit_te(lambda A: te.compute(("k * 2",), lambda i: A[i // 2]), out)
        bb.emit_func_output(again)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    result = np.from_dlpack(main(np.arange(2, dtype=F32)))
    np.testing.assert_array_equal(result, [1, 1, 2, 2])


def test_rf11_call_te_with_grad_keeps_what_the_gradient_is(exec_mode):
    bb = relax.BlockBuilder()
    x = tensor()
    with bb.function("main", [x]):
        call = bb.call_te_with_grad(
            add_one, x, te_grad_name="add_one_grad", te_grad_kwargs={"k": 1.5}
        )
        bb.emit_func_output(bb.emit(call))
    text = str(bb.get())
    assert 'te_grad_name = "add_one_grad"' in text and "te_grad_kwargs = {k = 1.5" in text
    a = np.ones(2, F32)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(a)), a + 1)


@pytest.mark.parametrize(
    "function, args, message",
    [
        (add_one, (Var("x", TensorStructInfo(ndim=1, dtype=F32)),), "of known shape and data type"),
        (add_one, (Var("x", TensorStructInfo(("n",))),), "of known shape and data type"),
        (add_one, (Var("x", relax.ObjectStructInfo()),), "but got a value of type !relax.object"),
        (add_one, (Var("x", relax.PrimStructInfo("int64")),), "primitive value of known value"),
        (add_one, (Var("x", relax.ShapeStructInfo(ndim=1)),), "shape or primitive value of known"),
        (lambda A: 3, (tensor(),), "expected '<lambda>' to return a tensor, or a list or tuple"),
        (lambda A: [], (tensor(),), "to return a tensor, or a list or tuple"),
        (lambda A, f: A, (tensor(), print), "expected values of the program, numbers, strings"),
        (lambda A, d: A, (tensor(), {1: 2}), "expected dicts with strings as keys, but got 1"),
        (
            lambda A: te.compute((te.var("k"),), lambda i: A[i]),
            (tensor(),),
            "expected shape variables that are known here from '_lambda_', but got 'k'",
        ),
    ],
)
def test_rf11_invalid_arguments(function, args, message):
    params = [arg for arg in args if isinstance(arg, Var)]
    bb = relax.BlockBuilder()
    with (
        pytest.raises((TypeError, ValueError, relax.analysis.WellFormedError), match=message),
        bb.function("main", params),
    ):
        bb.emit_te(function, *args)
        bb.emit_func_output(params[0])


def test_rf11_invalid_number_of_stated_types():
    x = tensor()
    bb = relax.BlockBuilder()
    with (
        pytest.raises(ValueError, match="expected 1 types of outputs, but got 2"),
        bb.function("main", [x]),
    ):
        bb.emit_te(add_one, x, sinfo_args=[x.struct_info] * 2)
