# ruff: noqa: E501 (the lines of MLIR)
"""Gradients of functions: branches, calls, closures, tuples, checkpoints, kernels, and errors."""

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir import op, te, transform
from relax_mlir.core.variables import walk
from relax_mlir.script import from_source
from relax_mlir.training.utils import register_te_gradient

X = relax.TensorStructInfo(("n",), "float32")
SCALAR = relax.TensorStructInfo((), "float32")
VALUES = np.array([0.5, -1.5, 2.0], "float32")


def adjoint(load, mod, *arrays, name="main", **options):
    """Return the value and the gradients of a function of a module."""
    made = transform.Gradient(name, **options)(mod)
    value, gradients = load(made, f"{name}_adjoint")(*arrays)
    return value, [each.numpy() for each in gradients]


def torch_gradients(function, *arrays):
    """Return the gradients of arrays that PyTorch computes."""
    tensors = [torch.tensor(each, requires_grad=True) for each in arrays]
    function(*tensors).backward()
    return [
        np.zeros_like(a) if each.grad is None else each.grad.numpy()
        for a, each in zip(arrays, tensors, strict=True)
    ]


def assert_equal(gradients, expected):
    assert len(gradients) == len(expected)
    for ours, theirs in zip(gradients, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


# ----------------------------------------------------------------------------------------------
# The form of the result
# ----------------------------------------------------------------------------------------------


def test_adjoint_has_the_form_of_tvm(write, vector):
    mod = write(lambda x, y: op.sum(op.multiply(x, y)), vector("x"), vector("y"))
    made = transform.Gradient("main")(mod)
    assert list(made)[:2] == ["main", "main_adjoint"]
    type_ = made["main_adjoint"].function_type.value
    assert [str(each) for each in type_.inputs] == ["!relax.tensor<[n], f32>"] * 2
    assert str(type_.results[0]) == (
        "!relax.tuple<!relax.tensor<[], f32>, "
        "!relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>>"
    )


def test_adjoint_of_a_dataflow_block_is_one(tensor):
    x = tensor(("n",))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.exp(x), "y")
            z = bb.emit_output(op.sum(y), "z")
        bb.emit_func_output(z)
    made = transform.Gradient("main")(bb.get())
    names = [each.operation.name for each in made["main_adjoint"].body.blocks[0].operations]
    assert names == ["relax.dataflow", "relax.tuple", "relax.tuple", "relax.return"]
    assert "x_adjoint" in made["main_adjoint"].script()


def test_target_index_chooses_a_result(load, write, vector):
    def main(x, y):
        return op.sum(op.sin(x)), op.sum(op.multiply(x, y))

    mod = write(lambda x, y: list(main(x, y)), vector("x"), vector("y"))
    value, gradients = adjoint(load, mod, VALUES, VALUES + 1, target_index=1)
    assert len(value) == 2
    assert_equal(gradients, [VALUES + 1, VALUES])


def test_require_grads_are_variables_or_names(load, write, vector):
    x, y = vector("x"), vector("y")
    mod = write(lambda x, y: op.sum(op.multiply(x, y)), x, y).get()
    for wanted in (y, "y", ["y"], [mod["main"].body.blocks[0].arguments[1]]):
        _, gradients = adjoint(load, mod, VALUES, VALUES + 1, require_grads=wanted)
        assert_equal(gradients, [VALUES])


def test_require_grads_are_values_that_the_function_computes(load, vector, exec_mode):
    x, y = vector("x"), vector("y")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        first = bb.emit(op.exp(x))
        with bb.dataflow():
            square = bb.emit(op.multiply(first, first))
            product = bb.emit(op.multiply(square, y))
            out = bb.emit_output(op.sum(product))
        bb.emit_func_output(out)
    given = np.float32(1), VALUES
    mod = bb.get()
    _, gradients = adjoint(load, mod, VALUES, VALUES, require_grads=[y, square, first, out, x])
    exp = np.exp(VALUES)
    wanted = [exp * exp, VALUES, 2 * exp * VALUES, given[0], 2 * exp * exp * VALUES]
    assert_equal(gradients, wanted)
    _, gradients = adjoint(load, mod, VALUES, VALUES, require_grads=out.name)
    assert_equal(gradients, wanted[3:4])


def test_error_of_a_value_inside_of_a_branch():
    mod = branching().get()
    inner = [each for each in walk(mod["main"].operation) if each.name == "relax.if"]
    value = inner[0].regions[0].blocks[0].operations[0].operation.results[0]
    with pytest.raises(ValueError, match="or a value that it computes, but got"):
        transform.Gradient("main", [value])(mod)


def test_parameter_that_is_not_used_has_a_gradient_of_zero(load, write, vector):
    mod = write(lambda x, y: op.sum(x), vector("x"), vector("y"))
    _, gradients = adjoint(load, mod, VALUES, VALUES)
    assert_equal(gradients, [np.ones(3, "float32"), np.zeros(3, "float32")])


def test_tuples_have_gradients(load, tensor, write):
    pair = relax.Var("pair", relax.TupleStructInfo([X, relax.TupleStructInfo([X, X])]))

    def main(pair):
        inner = op.get_item(pair, 1)
        both = op.tuple(op.exp(op.get_item(pair, 0)), op.get_item(inner, 1))
        return op.sum(op.multiply(op.get_item(both, 0), op.get_item(both, 1)))

    made = transform.Gradient("main")(write(main, pair))
    _, (gradient,) = load(made, "main_adjoint")((VALUES, (VALUES, VALUES + 1)))
    np.testing.assert_allclose(gradient[0].numpy(), np.exp(VALUES) * (VALUES + 1), rtol=1e-5)
    np.testing.assert_allclose(gradient[1][0].numpy(), 0 * VALUES)
    np.testing.assert_allclose(gradient[1][1].numpy(), np.exp(VALUES), rtol=1e-5)


# ----------------------------------------------------------------------------------------------
# Branches, functions, closures
# ----------------------------------------------------------------------------------------------


def branching():
    x, y = relax.Var("x", X), relax.Var("y", X)
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        shifted = bb.emit(op.add(x, y))
        total = bb.emit(op.sum(shifted))

        def positive():
            inner = op.less(op.max(x), op.const(1.0))
            return bb.if_(inner, lambda: op.sin(shifted), lambda: op.multiply(shifted, y))

        chosen = bb.if_(op.greater(total, 0.0), positive, lambda: op.exp(x))
        bb.emit_func_output(op.sum(op.multiply(chosen, x)))
    return bb


@pytest.mark.parametrize("shift", [2.0, -3.0, 0.6])
def test_branches_have_gradients(load, shift):
    def reference(x, y):
        s = x + y
        if s.sum() > 0:  # noqa: SIM108
            chosen = s.sin() if x.max() < 1 else s * y
        else:
            chosen = x.exp()
        return (chosen * x).sum()

    arrays = [VALUES - 1.2, np.full(3, shift, "float32")]
    _, gradients = adjoint(load, branching(), *arrays)
    assert_equal(gradients, torch_gradients(reference, *arrays))
    _, gradients = adjoint(load, branching(), VALUES, arrays[1])
    assert_equal(gradients, torch_gradients(reference, VALUES, arrays[1]))


CALLS = """
relax.func private @scaled(%x: !relax.tensor<[n], f32>, %k: !relax.tensor<[], f32>)
    -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>> {
  %0 = relax.multiply %x, %k : (!relax.tensor<[n], f32>, !relax.tensor<[], f32>) -> !relax.tensor<[n], f32>
  %1 = relax.exp %k : (!relax.tensor<[], f32>) -> !relax.tensor<[], f32>
  %2 = relax.tuple %0, %1 : !relax.tensor<[n], f32>, !relax.tensor<[], f32>
  relax.return %2 : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
}
relax.func @main(%x: !relax.tensor<[n], f32>, %k: !relax.tensor<[], f32>) -> !relax.tensor<[], f32> {
  %0 = relax.call @scaled(%x, %k) : (!relax.tensor<[n], f32>, !relax.tensor<[], f32>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
  %1 = relax.get_item %0[0] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
  %2 = relax.get_item %0[1] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
  %3 = relax.call @scaled(%1, %2) : (!relax.tensor<[n], f32>, !relax.tensor<[], f32>) -> !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
  %4 = relax.get_item %3[0] : !relax.tuple<!relax.tensor<[n], f32>, !relax.tensor<[], f32>>
  %5 = relax.sin %4 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %6 = relax.sum %5 : (!relax.tensor<[n], f32>) -> !relax.tensor<[], f32>
  relax.return %6 : !relax.tensor<[], f32>
}
"""


def test_calls_have_gradients_by_one_function_for_each_callee(load):
    arrays = [VALUES, np.float32(0.3)]
    made = transform.Gradient("main")(CALLS)
    assert [name for name in made if name.startswith("scaled")] == ["scaled", "scaled_adjoint"]
    _, gradients = load(made, "main_adjoint")(VALUES, np.array(0.3, "float32"))
    expected = torch_gradients(lambda x, k: (x * k * k.exp()).sin().sum(), *arrays)
    assert_equal([each.numpy() for each in gradients], expected)


def recursive():
    """Return a function that applies tanh(x * y) as often as a counter says."""
    x, y, i = relax.Var("x", X), relax.Var("y", X), relax.Var("i", SCALAR)
    bb = relax.BlockBuilder()
    with bb.function("loop", [x, y, i], private=True, ret_struct_info=X):

        def again():
            step = op.tanh(op.multiply(x, y))
            return op.call(relax.GlobalVar("loop"), step, y, op.subtract(i, 1.0))

        bb.emit_func_output(bb.if_(op.greater(i, 0.0), again, lambda: bb.emit(op.sin(x))))
    x, y, i = relax.Var("x", X), relax.Var("y", X), relax.Var("i", SCALAR)
    with bb.function("main", [x, y, i]):
        bb.emit_func_output(op.sum(op.call(relax.GlobalVar("loop"), x, y, i)))
    return bb


@pytest.mark.parametrize("times", [0, 1, 4])
def test_recursion_has_gradients(load, times):
    def reference(x, y):
        for _ in range(times):
            x = (x * y).tanh()
        return x.sin().sum()

    arrays = [VALUES, VALUES + 1]
    count = np.array(times, "float32")
    _, gradients = adjoint(load, recursive(), *arrays, count, require_grads=["x", "y"])
    assert_equal(gradients, torch_gradients(reference, *arrays))


CLOSURE = """
relax.func @main(%x: !relax.tensor<[n], f32>, %w: !relax.tensor<[n], f32>) -> !relax.tensor<[], f32> {
  %f = relax.closure (%y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    %1 = relax.multiply %w, %y : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    %2 = relax.tanh %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
    relax.return %2 : !relax.tensor<[n], f32>
  }
  %0 = relax.call %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %3 = relax.call %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%0) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
  %4 = relax.sum %3 : (!relax.tensor<[n], f32>) -> !relax.tensor<[], f32>
  relax.return %4 : !relax.tensor<[], f32>
}
"""


def test_closures_have_gradients_of_what_they_capture(load):
    arrays = [VALUES, VALUES + 1]
    _, gradients = adjoint(load, CLOSURE, *arrays)
    expected = torch_gradients(lambda x, w: (w * (w * x).tanh()).tanh().sum(), *arrays)
    assert_equal(gradients, expected)
    assert "relax.closure" in str(transform.Gradient("main")(CLOSURE)["main"])


# ----------------------------------------------------------------------------------------------
# Hints, casts, kernels
# ----------------------------------------------------------------------------------------------


def test_no_gradient_flows_through_no_grad(load, write, vector):
    mod = write(lambda x: op.sum(op.multiply(x, op.grad.no_grad(op.exp(x)))), vector())
    _, gradients = adjoint(load, mod, VALUES)
    assert_equal(gradients, [np.exp(VALUES)])


def checkpointed(is_marked):
    x, y = relax.Var("x", X), relax.Var("y", X)
    start = op.grad.start_checkpoint if is_marked else lambda each: each
    end = op.grad.end_checkpoint if is_marked else lambda each: each
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            first = bb.emit(op.tanh(x))
            inner = bb.emit(op.sin(op.multiply(start(first), y)))
            outer = bb.emit(end(op.exp(inner)))
            out = bb.emit_output(op.sum(op.square(outer)))
        bb.emit_func_output(out)
    return bb


def test_what_is_between_checkpoints_is_computed_again(load):
    arrays = [VALUES, VALUES + 1]
    _, gradients = adjoint(load, checkpointed(True), *arrays)
    expected = torch_gradients(lambda x, y: ((x.tanh() * y).sin().exp() ** 2).sum(), *arrays)
    assert_equal(gradients, expected)
    texts = [str(transform.Gradient("main")(checkpointed(each))["main_adjoint"]) for each in (0, 1)]
    assert [text.count("relax.sin ") for text in texts] == [1, 2]
    assert [text.count("relax.exp ") for text in texts] == [1, 2]
    assert [text.count("relax.tanh ") for text in texts] == [1, 1]
    assert "checkpoint" not in texts[1]


def test_a_sum_over_all_elements_has_no_reshape(tensor, write):
    for body in (lambda x: op.sum(x), lambda x: op.mean(op.sum(x, [0]))):
        text = str(transform.Gradient("main")(write(body, tensor((2, 3)))))
        assert "relax.broadcast_to" in text
        assert "relax.reshape" not in text


def test_match_cast_has_a_gradient(load, tensor, write):
    def main(x):
        return op.sum(op.square(op.match_cast(x, relax.TensorStructInfo((3,), "float32"))))

    _, gradients = adjoint(load, write(main, tensor(("n",))), VALUES)
    assert_equal(gradients, [2 * VALUES])


def test_shape_variables_that_data_binds_stay_bound(load):
    """The cast that binds them has no use."""
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), s: R.Tensor((2,), "int64")) -> R.Tensor((), "float32"):
        m, k = T.int64(), T.int64()
        with R.dataflow():
            shape = R.tensor_to_shape(s)
            _: R.Shape([m, k]) = R.match_cast(shape, R.Shape([m, k]))
            y: R.Tensor((m, k), "float32") = R.reshape(x, R.shape([m, k]))
            total: R.Tensor((), "float32") = R.sum(R.multiply(y, y))
            R.output(total)
        return total
""")
    x = module["main"].params[0]
    _, gradients = adjoint(load, module, VALUES, np.array([1, 3]), require_grads=x)
    assert_equal(gradients, [2 * VALUES])


@register_te_gradient("cubed_grad")
def cubed_grad(gradient, x, factor):
    return te.compute(x.shape, lambda *i: gradient(*i) * x(*i) * x(*i) * factor)


@register_te_gradient("scaled_grad")
def scaled_grad(gradient, x, y):
    return [
        te.compute(x.shape, lambda *i: gradient(*i) * y(*i)),
        te.compute(y.shape, lambda *i: gradient(*i) * x(*i)),
    ]


def test_kernels_have_the_gradients_that_they_state(load, tensor):
    def cubed(x):
        return te.compute(x.shape, lambda *i: x(*i) * x(*i) * x(*i))

    def scaled(x, y):
        return te.compute(x.shape, lambda *i: x(*i) * y(*i))

    x, y = tensor(("n",), name="x"), tensor(("n",), name="y")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        first = bb.call_te_with_grad(
            cubed, x, te_grad_name="cubed_grad", te_grad_kwargs={"factor": 3.0}
        )
        second = bb.call_te_with_grad(scaled, first, y, te_grad_name="scaled_grad")
        bb.emit_func_output(op.sum(second))
    _, gradients = adjoint(load, bb, VALUES, VALUES + 1)
    assert_equal(gradients, [3 * VALUES**2 * (VALUES + 1), VALUES**3])


def test_rules_may_be_registered(load, write, vector, monkeypatch):
    monkeypatch.setitem(transform.gradient.RULES, "relax.floor", lambda forward, g: [g])
    monkeypatch.delitem(transform.gradient.NO_GRADIENT, "relax.floor")
    mod = write(lambda x: op.sum(op.floor(x)), vector())
    _, gradients = adjoint(load, mod, VALUES)
    assert_equal(gradients, [np.ones(3, "float32")])


# ----------------------------------------------------------------------------------------------
# Finite differences
# ----------------------------------------------------------------------------------------------


def test_gradients_are_finite_differences(load, write, tensor):
    """A composition, in float64, moved by a small step along a random direction."""

    def main(x, w, b):
        hidden = op.nn.gelu(op.add(op.matmul(x, w), b))
        normal = op.nn.layer_norm(hidden, b, b, [-1])
        return op.mean(op.nn.log_softmax(op.multiply(normal, op.cumprod(hidden, 1))))

    shapes = [("n", 4), (4, 3), (3,)]
    params = [tensor(shape, "float64", f"x{i}") for i, shape in enumerate(shapes)]
    made = transform.Gradient("main")(write(main, *params))
    call = load(made, "main_adjoint")
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape) for shape in ((5, 4), (4, 3), (3,))]
    ways = [rng.standard_normal(each.shape) for each in arrays]
    step = 1e-5
    sides = [
        float(call(*(a + sign * step * w for a, w in zip(arrays, ways, strict=True)))[0])
        for sign in (1, -1)
    ]
    _, gradients = call(*arrays)
    slope = sum((g.numpy() * w).sum() for g, w in zip(gradients, ways, strict=True))
    assert slope == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-7)


# ----------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------


def total(x, *others):
    return op.sum(x)


def test_error_of_an_unknown_function(write, vector):
    with pytest.raises(ValueError, match="expected the name of a Relax function, but got 'other'"):
        transform.Gradient("other")(write(total, vector()))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            "z",
            r"expected a parameter of the function \(x, y\) in require_grads, or .*, but got 'z'",
        ),
        (["x", "x"], "expected each value once in require_grads, but got x, x"),
        (3, "expected a parameter of the function"),
    ],
)
def test_error_of_parameters(write, vector, wanted, message):
    with pytest.raises(ValueError, match=message):
        transform.Gradient("main", wanted)(write(total, vector("x"), vector("y")))


def test_error_of_a_parameter_of_integers(write, vector, tensor):
    mod = write(total, vector("x"), tensor(("n",), "int64", "i"))
    with pytest.raises(ValueError, match=r"tensors of floats, but 'i' is of type .*require_grads"):
        transform.Gradient("main")(mod)


@pytest.mark.parametrize(
    ("function", "index", "message"),
    [
        (op.exp, 0, "a target that is a float tensor of rank 0, such as a loss, but got one of"),
        (total, 1, "target_index 0 for a function of one result, but got 1"),
        (lambda x: [total(x), total(x)], 2, "target_index from 0 to 1, but got 2"),
        (lambda x: op.argmax(x), 0, "float tensor of rank 0"),
    ],
)
def test_error_of_a_target(write, vector, function, index, message):
    with pytest.raises(ValueError, match=message):
        transform.Gradient("main", target_index=index)(write(function, vector()))


# RY05
def test_error_of_an_operator_without_a_rule(write, vector, monkeypatch):
    monkeypatch.delitem(transform.gradient.RULES, "relax.exp")
    mod = write(lambda x: op.sum(op.exp(x)), vector())
    with pytest.raises(
        ValueError, match=r"operators that have a gradient, but got relax\.exp; reg"
    ):
        transform.Gradient("main")(mod)


def test_error_of_a_kernel_without_a_gradient(write, vector):
    mod = transform.LegalizeOps()(write(lambda x: op.sum(op.exp(x)), vector()).get())
    with pytest.raises(ValueError, match="a kernel with a gradient, but got a call of"):
        transform.Gradient("main")(mod)


def test_error_of_a_kernel_whose_gradient_is_not_registered(vector):
    x = vector()
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.call_te_with_grad(
            lambda a: te.compute(a.shape, lambda i: a(i)), x, te_grad_name="nobody"
        )
        bb.emit_func_output(op.sum(y))
    with pytest.raises(ValueError, match="name of a gradient of kernels, but got 'nobody'"):
        transform.Gradient("main")(bb.get())


def test_error_of_a_packed_function(write, vector):
    mod = write(lambda x: op.sum(op.call_pure_packed("f", x, sinfo_args=X)), vector())
    with pytest.raises(ValueError, match=r"have a gradient, but got relax\.call_pure_packed"):
        transform.Gradient("main")(mod)


def test_error_of_a_function_that_is_a_parameter():
    mod = """
    relax.func @main(%f: !relax.func<(!relax.tensor<[], f32>) -> !relax.tensor<[], f32>, pure>,
                     %x: !relax.tensor<[], f32>) -> !relax.tensor<[], f32> {
      %0 = relax.call %f : !relax.func<(!relax.tensor<[], f32>) -> !relax.tensor<[], f32>, pure> (%x) : (!relax.tensor<[], f32>) -> !relax.tensor<[], f32>
      relax.return %0 : !relax.tensor<[], f32>
    }"""
    with pytest.raises(ValueError, match="expected calls of functions that are known, but got"):
        transform.Gradient("main", "x")(mod)
