# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other kernels in other layouts, and changes of layouts that are not needed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import op, te
from relax_mlir.core.ir import Dim
from relax_mlir.op.index import affine_map_of
from relax_mlir.script import tir as T  # noqa: N812
from relax_mlir.transform import AlterOpImpl, OptimizeLayoutTransform, Sequential
from relax_mlir.transform.index_maps import composed, inverse_of, is_identity
from rewriting_cases import build, check, names, tensor


def blocks(i: Any) -> Any:
    return i // 4, i % 4


def elementwise(function: Callable[..., Any], *shape: Any, count: int = 1) -> Any:
    """Return a kernel that computes something of each element."""
    inputs = [te.placeholder(shape, name=f"x{i}") for i in range(count)]
    result = te.compute(inputs[0].shape, lambda *i: function(*(x(*i) for x in inputs)))
    return te.create_prim_func([*inputs, result])


def calls(
    write: Callable[..., Any], operator: str, function: Callable[..., Any], *params: relax.Var
) -> Any:
    """Return a module where `write` calls kernels of an operator by the function it gets."""
    bb = relax.BlockBuilder()

    def call(*values: Any) -> Any:
        def kernel(*xs: Any) -> Any:
            return te.compute(xs[0].shape, lambda *i: function(*(x(*i) for x in xs)))

        attrs = {"operator_name": operator}
        return bb.call_te(kernel, *values, primfunc_name_hint="f", primfunc_attrs=attrs)

    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(write(call, *params))
        bb.emit_func_output(out)
    return bb.get()


def add(x: Any, y: Any) -> Any:
    return x + y


def double(x: Any) -> Any:
    return x + x


# ---------------------------------------------------------------------------------------------
# Maps of indices
# ---------------------------------------------------------------------------------------------

MAPS = [
    (blocks, [16]),
    (blocks, [14]),
    (lambda i: i % 16, [14]),
    (lambda i: (i // 32, i // 4 % 8, i % 4), [60]),
    (lambda i: (i % 4, i // 4), [10]),
    (lambda i, j: (j, i), [3, 4]),
    (lambda i, j: i * 4 + j, [3, 4]),
    (lambda i, j: j * 3 + i, [3, 4]),
    (lambda i, j: i * 16 + j % 16, [3, 14]),
    (lambda i, j: (i % 2 * 3 + i // 2, j), [6, 2]),
    (lambda n, c, h, w: (n, c // 4, h, w, c % 4), [2, 6, 2, 3]),
    (lambda n, c, h, w: (c // 2, n * 6 + h * 3 + w, c % 2), [2, 4, 2, 3]),
    (lambda i: (i, 0), [5]),
]


@pytest.mark.parametrize(("function", "sizes"), MAPS)
def test_inverse_leads_back(function: Any, sizes: list[int]) -> None:
    with relax.default_context():
        map_ = affine_map_of(function, len(sizes))
        dims = [Dim(size) for size in sizes]
        inverse = inverse_of(map_, dims)
        assert inverse is not None
        assert is_identity(composed(inverse, map_), dims)
    for index in itertools.product(*map(range, sizes)):
        assert evaluate(inverse, evaluate(map_, index)) == list(index)


def evaluate(map_: ir.AffineMap, index: Any) -> list[int]:
    with map_.context:
        at = ir.AffineMap.get(0, 0, [ir.AffineExpr.get_constant(each) for each in index])
        results = [expr.compose(at).maybe_downcast() for expr in map_.results]
    return [ir.AffineConstantExpr(expr).value for expr in results]


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda i: i // 4, [16]),
        (lambda i: i % 16, [17]),
        (lambda i: i % 16, ["n"]),
        (lambda i, j: i * 5 + j, [3, 4]),
        (lambda i, j: i * 4 + j, [3, "n"]),
        (lambda i, j: i + j, [3, 4]),
        (lambda i, j: (i, i), [3, 4]),
        (lambda i: (i // 4, i % 2), [16]),
        (lambda i: (i // 2, i % 4), [16]),
        (lambda i: i * 2, [16]),
        (lambda i: (i, i % 2), [16]),
    ],
)
def test_maps_without_an_inverse(function: Any, sizes: list[Any]) -> None:
    with relax.default_context():
        map_ = affine_map_of(function, len(sizes))
        assert inverse_of(map_, [Dim(size) for size in sizes]) is None


@pytest.mark.parametrize(
    ("function", "sizes"),
    [(lambda i, j: i * 4 + j, ["n", 4]), (lambda i, j: (j, i // 8, i % 8), ["n", "m"])],
)
def test_inverse_for_shape_variables(function: Any, sizes: list[Any]) -> None:
    with relax.default_context():
        map_ = affine_map_of(function, len(sizes))
        dims = [Dim(size) for size in sizes]
        inverse = inverse_of(map_, dims)
        assert inverse is not None
        assert is_identity(composed(inverse, map_), dims)
        assert not is_identity(map_, dims)


# ---------------------------------------------------------------------------------------------
# Other kernels
# ---------------------------------------------------------------------------------------------

TO_BLOCKS = ["layout_transform"] * 2 + ["call_tir", "layout_transform"]


def test_inputs_and_outputs_change_their_layout() -> None:
    mod = calls(lambda f, x, y: f(x, y), "my.add", add, tensor("x", 16), tensor("y", 16))
    pass_ = AlterOpImpl({"my.add": elementwise(add, 4, 4, count=2)}, {"my.add": [blocks] * 3})
    changed = check(pass_, mod, TO_BLOCKS)
    assert "@my_add_replacement" in str(changed)
    assert 'operator_name = "my.add"' in str(changed)


def test_padding_is_cut_off() -> None:
    mod = calls(lambda f, x, y: f(x, y), "my.add", add, tensor("x", 14), tensor("y", 14))
    pass_ = AlterOpImpl({"my.add": elementwise(add, 4, 4, count=2)}, {"my.add": [blocks] * 3})
    changed = check(pass_, mod, [*TO_BLOCKS, "call_tir"])
    assert 'operator_name = "remove_pad"' in str(changed)


def test_shape_variables() -> None:
    mod = calls(lambda f, x: f(x), "my.double", double, tensor("x", "n"))
    pass_ = AlterOpImpl({"my.double": elementwise(double, "m", 4)}, {"my.double": [blocks] * 2})
    wanted = ["layout_transform", "call_tir", "layout_transform", "call_tir"]
    for size in (8, 9):
        check(pass_, mod, wanted, n=size)


def test_some_layouts_stay() -> None:
    mod = calls(lambda f, x: f(x), "my.double", double, tensor("x", 4, 6))
    kernel = te.placeholder((6, 4), name="x")
    result = te.compute((4, 6), lambda i, j: kernel(j, i) * 2)
    pass_ = AlterOpImpl(
        {"my.double": te.create_prim_func([kernel, result])},
        {"my.double": [lambda i, j: (j, i), None]},
    )
    check(pass_, mod, ["layout_transform", "call_tir"])


def test_without_layouts() -> None:
    mod = calls(lambda f, x: f(f(x)), "my.double", double, tensor("x", "n"))
    pass_ = AlterOpImpl({"my.double": elementwise(lambda x: x * 2, "n")}, {"my.double": []})
    changed = check(pass_, mod, ["call_tir", "call_tir"], n=3)
    assert str(changed).count("func.func private @my_double_replacement") == 1
    # The kernel that is there already is used again.
    check(AlterOpImpl({"my.double": elementwise(double, "n")}, {}), mod, None)


def test_other_operators_stay() -> None:
    mod = calls(lambda f, x: op.exp(f(x)), "my.double", double, tensor("x", 16))
    check(AlterOpImpl({"my.add": elementwise(add, 16, count=2)}, {}), mod, None)


def test_operators_that_have_no_kernel_yet() -> None:
    mod = build(lambda x, y: op.exp(op.add(x, y)), tensor("x", 16), tensor("y", 16))
    pass_ = AlterOpImpl({"relax.add": elementwise(add, 4, 4, count=2)}, {"relax.add": [blocks] * 3})
    check(pass_, mod, [*TO_BLOCKS, "exp"])


def test_kernels_in_tvmscript_and_several_outputs() -> None:
    @T.prim_func(private=True)
    def both(
        x: T.Buffer((4, 4), "float32"),
        y: T.Buffer((4, 4), "float32"),
        z: T.Buffer((16,), "float32"),
    ) -> None:
        for i, j in T.grid(4, 4):
            with T.sblock("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] + T.float32(1)
                z[vi * 4 + vj] = x[vi, vj] * T.float32(2)

    bb = relax.BlockBuilder()
    x = tensor("x", 16)

    def old(x: Any) -> Any:
        more = te.compute(x.shape, lambda i: x(i) + 1)
        return [more, te.compute(x.shape, lambda i: x(i) * 2)]

    with bb.function("main", [x]):
        out = bb.emit_te(old, x, primfunc_attrs={"operator_name": "my.both"})
        bb.emit_func_output(out)
    pass_ = AlterOpImpl({"my.both": both}, {"my.both": [blocks, blocks, None]})
    wanted = ["layout_transform", "call_tir", "get_item", "layout_transform", "get_item"]
    check(pass_, bb.get(), wanted)


def test_axis_separators_are_kept() -> None:
    mod = calls(lambda f, x: f(x), "my.double", double, tensor("x", 16))
    pass_ = AlterOpImpl(
        {"my.double": elementwise(double, 4, 4)},
        {"my.double": [blocks] * 2},
        {"my.double": [[1], [1]]},
        {"my.double": [None, None]},
    )
    first, second = [line for line in str(pass_(mod)).splitlines() if "layout_transform" in line]
    assert " {axis_separators = array<i64: 1>" in first
    assert "input_axis_separators = array<i64: 1>" in second
    given = {"my.double": elementwise(double, 4, 4)}, {"my.double": [blocks] * 2}
    assert "separators" not in str(
        AlterOpImpl(*given, {"my.double": None}, {"my.double": None})(mod)
    )


@pytest.mark.parametrize(
    ("kernel", "transforms", "message"),
    [
        (elementwise(add, 16, count=2), [], "a kernel of 2 parameters for 'f', but got one of 3"),
        (elementwise(double, 16), [blocks], "2 entries in op_buffer_transforms of 'f', one for"),
        (elementwise(double, 8), [None, lambda i: i * 2], "a layout that has an inverse"),
    ],
)
def test_errors(kernel: Any, transforms: Any, message: str) -> None:
    mod = calls(lambda f, x: f(x), "f", double, tensor("x", 16))
    with pytest.raises(ValueError, match=message):
        AlterOpImpl({"f": kernel}, {"f": transforms})(mod)


def test_error_of_what_is_no_kernel() -> None:
    with pytest.raises(TypeError, match="expected a kernel for 'f', but got 3"):
        AlterOpImpl({"f": 3}, {})


# ---------------------------------------------------------------------------------------------
# Changes that are not needed
# ---------------------------------------------------------------------------------------------


def joined(i: Any, j: Any) -> Any:
    return i * 4 + j


def test_changes_that_undo_each_other() -> None:
    mod = build(
        lambda x: op.exp(op.layout_transform(op.layout_transform(x, joined), blocks)),
        tensor("x", "n", 4),
    )
    check(OptimizeLayoutTransform(), mod, ["exp"], n=3)


@pytest.mark.parametrize(
    ("shape", "first", "second"),
    [
        ((4, 4), joined, lambda i: (i % 4, i // 4)),  # of the same shape, but transposed
        ((3, 4), joined, lambda i: (i // 3, i % 3)),
        ((14,), blocks, joined),  # 16 elements are left
        ((4, 4), lambda i, j: (j, i), lambda i, j: (i, j)),
    ],
)
def test_changes_that_do_not(shape: Any, first: Any, second: Any) -> None:
    mod = build(
        lambda x: op.layout_transform(op.layout_transform(x, first), second), tensor("x", *shape)
    )
    check(OptimizeLayoutTransform(), mod, None)


def test_between_kernels() -> None:
    mod = calls(lambda f, x, y: f(f(x, y), y), "my.add", add, tensor("x", 16), tensor("y", 16))
    change = AlterOpImpl({"my.add": elementwise(add, 4, 4, count=2)}, {"my.add": [blocks] * 3})
    wanted = [*TO_BLOCKS[:3], "layout_transform", "call_tir", "layout_transform"]
    check(Sequential([change, OptimizeLayoutTransform()]), mod, wanted)


def test_padding_between_elementwise_kernels() -> None:
    # What is cut off and added again is 1 after the first kernel, and 0 again without it.
    def more(x: Any) -> Any:
        return x + 1

    mod = calls(lambda f, x: f(f(f(x))), "my.more", more, tensor("x", 14))
    change = AlterOpImpl({"my.more": elementwise(more, 4, 4)}, {"my.more": [blocks] * 2})
    wanted = ["layout_transform", *["call_tir"] * 3, "layout_transform", "call_tir"]
    check(Sequential([change, OptimizeLayoutTransform()]), mod, wanted)


def test_padding_that_a_kernel_adds_up_is_0_again() -> None:
    def more(x: Any) -> Any:
        return x + 1

    mod = calls(lambda f, x: f(x), "my.more", more, tensor("x", 14))
    change = AlterOpImpl({"my.more": elementwise(more, 4, 4)}, {"my.more": [blocks] * 2})
    padded = change(mod)
    bb = relax.BlockBuilder(padded)
    x = tensor("x", 14)

    def total(x: Any) -> Any:
        j = te.reduce_axis((0, 4), name="j")
        return te.compute((4,), lambda i: te.sum(x(i, j.var), axis=j))

    names_of = {gvar.name for gvar in padded.get_global_vars()}
    assert names_of >= {"my_more_replacement", "remove_pad"}
    with bb.function("sums", [x]):
        with bb.dataflow():
            y = op.layout_transform(x, blocks)
            y = op.call_tir("my_more_replacement", [y], relax.TensorStructInfo((4, 4), "float32"))
            y = op.layout_transform(y, joined)
            y = op.call_tir("remove_pad", [y], relax.TensorStructInfo((14,), "float32"))
            y = op.layout_transform(y, blocks)
            out = bb.emit_output(bb.call_te(total, y))
        bb.emit_func_output(out)
    changed = OptimizeLayoutTransform()(bb.get())
    assert names(changed, "sums") == names(bb.get(), "sums")
    data = np.zeros(14, "float32")
    got = relax.VirtualMachine(relax.compile(changed))["sums"](data)
    np.testing.assert_array_equal(np.from_dlpack(got), [4, 4, 4, 2])
