# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Relay as programs of Relax: functions, scopes, types and data types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
import torch
from relax_mlir.frontend.relay import (
    RelayError,
    from_relay,
    parse,
    parse_expr,
    to_a_normal_form,
    to_text,
)

LISTS = """
type List[A] {
  Cons(A, List[A]),
  Nil,
}
def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) {
    Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)),
    Nil => Nil,
  }
}
def @fold[A, B](%f: fn(B, A) -> B, %start: B, %xs: List[A]) -> B {
  match (%xs) {
    Cons(%x, %rest) => @fold(%f, %f(%start, %x), %rest),
    Nil => %start,
  }
}
def @head[A](%xs: List[A]) -> A {
  match? (%xs) {
    Cons(%x, _) => %x,
  }
}
"""


def run(program: Any, *args: np.ndarray, **options: Any) -> Any:
    """Return what ``main`` returns: an array, or a list of them."""
    main = relax.VirtualMachine(relax.compile(from_relay(program, **options)))["main"]
    result = main(*args)
    if type(result).__name__ == "Array":
        return [np.from_dlpack(one) for one in result]
    return np.from_dlpack(result)


def scalar(value: int) -> np.ndarray:
    return np.array(value, "int32")


def number(value: float) -> np.ndarray:
    return np.array(value, "float32")


def count(text: str, name: str) -> int:
    return text.count(f"relax.{name} ")


# -- RY01: modules, functions, calls, let, tuples, branches, recursion ----------------------------

MULADD = """
def @muladd(%x, %y, %z) {
  %1 = mul(%x, %y)
  %2 = add(%1, %z)
  %2
}
def @main(%x) {
  %1 = @muladd(%x, 1, 2)
  %2 = @muladd(%1, 2, 3)
  %2
}
"""


def test_ry01_functions_of_a_module_call_each_other(exec_mode) -> None:
    options = {"shape_dict": {"x": ()}, "dtype_dict": "int32"}
    assert run(MULADD, scalar(4), **options) == (4 + 2) * 2 + 3
    mod = from_relay(MULADD, **options)
    assert set(mod.functions) == {"main", "muladd"}
    assert "relax.func private @muladd" in str(mod)


def test_ry01_recursion(exec_mode) -> None:
    program = """
    def @main(%x) {
      %1 = equal(%x, 1)
      if (%1) {
        %x
      } else {
        %2 = sub(%x, 1)
        %3 = @main(%2)
        %4 = add(%3, %3)
        %4
      }
    }"""
    assert run(program, scalar(5), shape_dict={"x": ()}, dtype_dict={"x": "int32"}) == 16


def test_ry01_functions_that_call_each_other(exec_mode) -> None:
    program = """
    def @is_even(%n: int32) -> bool {
      if (%n == 0) { True } else { @is_odd(%n - 1) }
    }
    def @is_odd(%n: int32) -> bool {
      if (%n == 0) { False } else { @is_even(%n - 1) }
    }
    def @main(%n: int32) { (@is_even(%n), @is_odd(%n)) }"""
    for n in (0, 3, 6):
        assert run(program, scalar(n)) == [n % 2 == 0, n % 2 == 1]


def test_ry01_let_tuples_and_projections(exec_mode) -> None:
    program = """
    def @main(%x: Tensor[(3), float32]) {
      let %pair = (%x, add(%x, 1f));
      let %both: (Tensor[(3), float32], Tensor[(3), float32]) = (%pair.1, %pair.0);
      subtract(%both.0, %both.1)
    }"""
    np.testing.assert_array_equal(run(program, np.arange(3, dtype="float32")), np.ones(3))


def test_ry01_a_module_without_main_has_all_functions() -> None:
    mod = from_relay("""
    def @f(%x: float32) { @g(%x) }
    def @g(%x: float32) { add(%x, %x) }
    """)
    assert set(mod.functions) == {"f", "g"} and "private" not in str(mod)


def test_ry01_an_expression_is_main(exec_mode) -> None:
    x = np.array([1, 4], "float32")
    expr = parse_expr("free_var %x: Tensor[(2), float32]; sqrt(%x)")
    np.testing.assert_array_equal(run(expr, x), [1, 2])
    np.testing.assert_array_equal(
        run(parse_expr("fn (%x: Tensor[(2), float32]) { sqrt(%x) }"), x), [1, 2]
    )


def test_ry01_files_of_text(exec_mode, tmp_path: Path) -> None:
    path = tmp_path / "model.relay"
    path.write_text('#[version = "0.0.5"]\ndef @main(%x: float32) { negative(%x) }')
    assert run(path, number(2)) == -2


VECTOR = "def @main(%x: Tensor[(3), float32])"
WRONG = {
    "operator": (
        "def @main(%x: float32) { ad(%x, %x) }",
        "<relay>:1:26: ad: the operator has no converter; did you mean 'add'",
    ),
    "unknown type": (
        "def @main(%x) { add(%x, 1f) }",
        "<relay>:1:11: the type of parameter '%x' is not known; state it",
    ),
    "function": ("def @main(%x: float32) { @f(%x) }", "<relay>:1:26: "),
    "type": (
        "def @f(%x: float32) { %x } def @main(%x: int32) { @f(%x) }",
        "<relay>:1:51: expected type fn (int32) -> ",
    ),
    "arguments": (
        "def @f(%x: float32) { %x } def @main(%x: float32) { @f(%x, %x) }",
        "<relay>:1:53: expected 1 arguments, but got 2",
    ),
    "projection": (
        "def @main(%x: float32) { (%x, %x).2 }",
        "<relay>:1:26: %v1: expected an index below 2, but got 2",
    ),
    "condition": (
        "def @f() { () } def @main(%x: float32) { if (%x) { @f() } else { @f() } }",
        "<relay>:1:42: expected type bool, but got float32",
    ),
    "attribute": (
        VECTOR + " { sum(%x, axes=[0]) }",
        "<relay>:1:39: sum: sum has no attribute 'axes'; did you mean 'axis'",
    ),
    "axis": (VECTOR + " { sum(%x, axis=[1]) }", "<relay>:1:39: sum: "),
    "main": ("def @main[A](%x: A) { %x }", "<relay>:1:1: expected '@main' without type parameters"),
    "reference": (
        "def @main(%x: float32) { ref_read(%x) }",
        "<relay>:1:26: expected type ref",
    ),
}


# RF18, RY04: what has no counterpart, and names that are not bound.
@pytest.mark.parametrize(("program", "message"), WRONG.values(), ids=WRONG)
def test_ry01_errors_have_their_place(program: str, message: str) -> None:
    with pytest.raises((RelayError, NotImplementedError)) as caught:
        from_relay(program)
    assert message in str(caught.value)


def test_errors_of_what_is_said_of_parameters() -> None:
    program = "def @main(%x: Tensor[(3), float32]) { %x }"
    with pytest.raises(ValueError, match="expected one of the parameters \\['x'\\], but got 'y'"):
        from_relay(program, params={"y": np.ones(3, "float32")})
    with pytest.raises(
        ValueError, match="'x' of type Tensor\\[\\(3\\), float32\\], but got float32"
    ):
        from_relay(program, shape_dict={"x": ()})
    with pytest.raises(ValueError, match="but got Tensor\\[\\(3\\), float64\\]"):
        from_relay(program, params={"x": np.ones(3)})


# -- RY02: shared nodes ---------------------------------------------------------------------------


def test_ry02_shared_nodes_are_evaluated_once(exec_mode) -> None:
    program = """
    def @main(%x: Tensor[(4), float32]) {
      %1 = log(%x);
      %2 = add(%1, %1);
      multiply(%2, %1)
    }"""
    mod = from_relay(program)
    assert count(str(mod), "log") == 1 and count(str(mod), "add") == 1
    x = np.array([1, 2, 3, 4], "float32")
    np.testing.assert_allclose(run(program, x), 2 * np.log(x) ** 2, rtol=1e-6)


def test_ry02_sharing_is_linear_in_the_graph() -> None:
    lines = [f"%{i + 1} = add(%{i}, %{i});" for i in range(200)]
    mod = from_relay(f"def @main(%x: float32) {{ %0 = exp(%x); {' '.join(lines)} %200 }}")
    assert count(str(mod), "add") == 200


def test_ry02_equal_nodes_that_are_not_shared_stay_two() -> None:
    mod = from_relay("def @main(%x: float32) { add(log(%x), log(%x)) }")
    assert count(str(mod), "log") == 2


# -- RY03: A-normal form --------------------------------------------------------------------------


def normal_text(text: str) -> str:
    return to_text(to_a_normal_form(parse_expr(text)))


def test_ry03_each_computation_is_bound_once() -> None:
    text = normal_text(
        "fn (%x: float32) { %1 = log(%x); %2 = add(%1, multiply(%1, %x)); (%2, %1) }"
    )
    lines = [line.strip() for line in text.splitlines() if "let" in line]
    assert [line.split(" = ")[1].rstrip(";") for line in lines] == [
        "log(%x)", "multiply(%v0, %x)", "add(%v0, %v1)", "(%v2, %v0)"
    ]  # fmt: skip


def test_ry03_a_node_is_evaluated_around_all_of_its_uses() -> None:
    text = normal_text("""fn (%c: bool, %x: float32) {
      %1 = log(%x);
      %2 = exp(%x);
      %3 = if (%c) { add(%1, %2) } else { %1 };
      multiply(%3, %1)
    }""")
    branch = text.index("if (")
    assert text.index("log(") < branch < text.index("exp(")


def test_ry03_lets_stay_where_they_are() -> None:
    text = normal_text("""fn (%c: bool, %x: float32) {
      let %a = log(%x);
      if (%c) { %a } else { exp(%a) }
    }""")
    assert text.count("let %a = log(%x);") == 1 and text.index("let %a") < text.index("if (")


def test_ry03_a_long_program_is_no_deep_recursion() -> None:
    text = "\n".join(f"let %x{i + 1} = add(%x{i}, %x{i});" for i in range(3000))
    form = to_a_normal_form(parse_expr(f"fn (%x0: float32) {{ {text} %x3000 }}"))
    depth, body = 0, form.body
    while hasattr(body, "body"):
        depth, body = depth + 1, body.body
    assert depth == 3000


# -- RY04: closures and scopes --------------------------------------------------------------------


def test_ry04_closures_see_what_is_around_them(exec_mode) -> None:
    program = """
    def @adder(%x: float32) -> fn(float32) -> float32 {
      let %one = log(%x);
      fn (%y: float32) -> float32 { add(%y, %one) }
    }
    def @main(%x: float32) {
      let %f = @adder(%x);
      (%f(1f), %f(2f))
    }"""
    one, two = run(program, number(3))
    np.testing.assert_allclose([one, two], np.log(3) + np.array([1, 2]), rtol=1e-6)


def test_ry04_a_let_says_where_a_value_is_computed() -> None:
    program = (
        "def @main(%x: float32) {{ {} %2 = fn (%y: float32) {{ add(%y, {}) }}; (%2(%x), %2(1f)) }}"
    )
    graph = str(from_relay(program.format("%1 = log(%x);", "%1")))
    inside = graph.index("relax.closure")
    assert inside < graph.index("relax.log")
    bound = str(from_relay(program.format("let %v = log(%x);", "%v")))
    assert bound.index("relax.log") < bound.index("relax.closure")


def test_ry04_inner_variables_hide_outer_ones(exec_mode) -> None:
    program = """
    def @main(%x: float32) {
      let %y = add(%x, 1f);
      let %z = {let %y = multiply(%x, 10f); %y};
      (%y, %z)
    }"""
    assert run(program, number(2)) == [3, 20]


def test_ry04_loops_are_recursive_closures(exec_mode) -> None:
    program = """
    def @main(%n: int32, %x: Tensor[(?, 2), float32]) {
      let %loop = fn (%i: int32, %rows: Tensor[(?, 2), float32]) -> Tensor[(?, 2), float32] {
        if (less(%i, %n)) {
          %loop(%i + 1, concatenate((%rows, %x)))
        } else {
          %rows
        }
      };
      %loop(0, %x)
    }"""
    x = np.arange(6, dtype="float32").reshape(3, 2)
    np.testing.assert_array_equal(run(program, scalar(2), x), np.concatenate([x, x, x]))


def test_ry04_loops_need_no_stack(exec_mode) -> None:
    program = """
    def @main(%n: int32, %x: Tensor[(?), float32]) {
      let %loop = fn (%i: int32, %y: Tensor[(?), float32]) -> Tensor[(?), float32] {
        if (less(%i, %n)) { %loop(%i + 1, add(%y, 1f)) } else { %y }
      };
      exp(%loop(0, %x))
    }"""
    x = np.array([-50000, -50001], "float32")
    np.testing.assert_allclose(run(program, scalar(50000), x), np.exp([0, -1]), rtol=1e-6)


def test_ry04_functions_as_arguments(exec_mode) -> None:
    program = """
    def @twice[A](%f: fn(A) -> A, %x: A) -> A { %f(%f(%x)) }
    def @main(%x: float32, %k: int32) {
      (@twice(fn (%y) { multiply(%y, %x) }, 1f), @twice(fn (%i) { add(%i, 3) }, %k))
    }"""
    assert run(program, number(3), scalar(1)) == [9, 7]


def test_ry04_type_parameters_of_inner_functions(exec_mode) -> None:
    program = """
    def @apply[A, B](%f: fn(A) -> B, %x: A) -> B { %f(%x) }
    def @main(%x: float32) {
      %0 = fn [A](%y: A) -> A { let %z: A = %y; %z };
      @apply(%0, %x)
    }"""
    assert run(program, number(3)) == 3


def test_ry04_operators_that_only_annotate_take_functions(exec_mode) -> None:
    program = """
    def @main(%x: float32) {
      let %f = annotation.checkpoint(fn (%y: float32) { add(%y, %x) });
      let %pair = copy((%f, %x));
      let %g = %pair.0;
      %g(%pair.1)
    }"""
    assert run(program, number(3)) == 6


def test_ry04_functions_that_are_called_once_leave_no_closure() -> None:
    mod = from_relay("""def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p: Tensor[(2), float32], Primitive=1) { nn.relu(exp(%p)) };
      %1 = %0(%x);
      %0(%1)
    }""")
    assert "closure" not in str(mod) and count(str(mod), "exp") == 2


# -- RY05: gradients ------------------------------------------------------------------------------


def test_ry05_gradient_of_a_model(exec_mode) -> None:
    mod = from_relay("""
    def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(2, 3), float32]) {
      %0 = nn.dense(%x, %w, units=2);
      sum(multiply(sigmoid(%0), %0))
    }""")
    adjoint = relax.VirtualMachine(relax.compile(relax.transform.Gradient("main")(mod)))
    rng = np.random.default_rng(0)
    x, w = rng.random((4, 3), "float32"), rng.random((2, 3), "float32")
    value, gradients = adjoint["main_adjoint"](x, w)
    inputs = [torch.from_numpy(array).requires_grad_() for array in (x, w)]
    exact = torch.nn.functional.silu(torch.nn.functional.linear(*inputs)).sum()
    np.testing.assert_allclose(np.from_dlpack(value), exact.item(), rtol=1e-5)
    for gradient, wanted in zip(gradients, torch.autograd.grad(exact, inputs), strict=True):
        np.testing.assert_allclose(np.from_dlpack(gradient), wanted.numpy(), rtol=1e-5)


def test_ry05_gradient_through_recursion_and_branches(exec_mode) -> None:
    mod = from_relay("""
    def @power(%x: float32, %n: int32) -> float32 {
      if (%n == 0) { 1f } else { multiply(%x, @power(%x, %n - 1)) }
    }
    def @main(%x: float32) { @power(%x, 5) }""")
    adjoint = relax.VirtualMachine(relax.compile(relax.transform.Gradient("main")(mod)))
    value, gradients = adjoint["main_adjoint"](number(3))
    assert np.from_dlpack(value) == 3**5
    assert np.from_dlpack(gradients[0]) == 5 * 3**4


# -- algebraic data types -------------------------------------------------------------------------


def test_data_types_are_made_and_matched(exec_mode) -> None:
    program = (
        LISTS
        + """
    def @main(%x: int32) {
      let %xs = Cons(%x, Cons(2, Cons(3, Nil)));
      let %squares = @map(fn (%y) { multiply(%y, %y) }, %xs);
      (@fold(fn (%a, %b) { add(multiply(%a, 10), %b) }, 0, %squares), @head(%squares))
    }"""
    )
    assert run(program, scalar(4)) == [16 * 100 + 40 + 9, 16]


def test_nested_patterns(exec_mode) -> None:
    program = (
        LISTS
        + """
    type Option[A] { Some(A), None }
    def @second(%xs: List[Option[int32]]) -> int32 {
      match (%xs) {
        Cons(_, Cons(Some(%x), _)) => %x,
        Cons(Some(%x), Nil) => negative(%x),
        Cons(None, _) => -100,
        _ => 0,
      }
    }
    def @main(%x: int32) {
      (@second(Cons(Some(1), Cons(Some(%x), Nil))), @second(Cons(Some(%x), Nil)),
       @second(Cons(None, Nil)), @second(Nil))
    }"""
    )
    assert run(program, scalar(7)) == [7, -7, -100, 0]


COUNTER = """
def @count(%n: int32, %r: ref(int32)) {
  if (%n == 0) { ref_read(%r) } else {
    let %u = ref_write(%r, ref_read(%r) + %n);
    @count(%n - 1, %r)
  }
}
def @main(%n: int32) { let %r = ref(1); let %once = @count(%n, %r); (%once, @count(%n, %r)) }
"""


def test_references_are_changed_by_who_has_them(exec_mode) -> None:
    once, twice = run(COUNTER, scalar(4))
    assert (once.item(), twice.item()) == (11, 21)


def test_references_of_tensors_in_closures(exec_mode) -> None:
    program = """
def @main(%x: Tensor[(3, 2), float32]) {
  let %r = ref(%x);
  let %add = fn (%y: Tensor[(3, 2), float32]) { ref_write(%r, add(ref_read(%r), %y)) };
  let %before = ref_read(%r);
  let %a = %add(%x);
  let %b = %add(ref_read(%r));
  (%before, ref_read(%r))
}"""
    x = np.arange(6, dtype="float32").reshape(3, 2)
    before, after = run(program, x)
    np.testing.assert_array_equal(before, x)
    np.testing.assert_array_equal(after, 4 * x)


def test_a_value_that_no_clause_takes_is_an_error(exec_mode) -> None:
    program = LISTS + "def @main(%x: int32) { let %xs: List[int32] = Nil; @head(%xs) }"
    with pytest.raises(RuntimeError, match="no clause takes the value"):
        run(program, scalar(1))


@pytest.mark.parametrize(
    ("clauses", "missing"),
    [("Cons(_, _) => 1,", "Nil"), ("Nil => 1, Cons(_, Nil) => 2,", "Cons\\(_, Cons\\(_, _\\)\\)")],
)
def test_clauses_that_leave_values_out(clauses: str, missing: str) -> None:
    program = LISTS + f"def @main(%x: int32) {{ match (Cons(%x, Nil)) {{ {clauses} }} }}"
    with pytest.raises(RelayError, match=f"no clause takes {missing}; write match\\?"):
        from_relay(program)


def test_constructors_as_functions(exec_mode) -> None:
    program = (
        LISTS
        + """
    def @apply[A, B](%f: fn(A, List[A]) -> B, %x: A) -> B { %f(%x, Nil) }
    def @main(%x: int32) { @head(@apply(Cons, %x)) }"""
    )
    assert run(program, scalar(3)) == 3


# -- RF18: whole models ---------------------------------------------------------------------------

NETWORK = """#[version = "0.0.5"]
def @main(%data: Tensor[(?, 3, 8, 8), float32], %w1: Tensor[(4, 3, 3, 3), float32],
          %gamma: Tensor[(4), float32], %beta: Tensor[(4), float32],
          %mean: Tensor[(4), float32], %var: Tensor[(4), float32],
          %w2: Tensor[(4, 4, 3, 3), float32], %fc: Tensor[(5, 4), float32],
          %bias: Tensor[(5), float32]) {
  %0 = nn.conv2d(%data, %w1, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.batch_norm(%0, %gamma, %beta, %mean, %var);
  %2 = %1.0;
  %3 = nn.relu(%2);
  %4 = nn.conv2d(%3, %w2, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %5 = add(%4, %3);
  %6 = nn.relu(%5);
  %7 = nn.max_pool2d(%6, pool_size=[2, 2], strides=[2, 2]);
  %8 = nn.global_avg_pool2d(%7);
  %9 = nn.batch_flatten(%8);
  %10 = nn.dense(%9, %fc, units=5);
  %11 = nn.bias_add(%10, %bias, axis=-1);
  nn.softmax(%11)
}
"""


def network_by_torch(x: np.ndarray, weights: dict[str, np.ndarray]) -> np.ndarray:
    nn = torch.nn.functional
    w = {name: torch.from_numpy(array) for name, array in weights.items()}
    hidden = nn.conv2d(torch.from_numpy(x), w["w1"], padding=1)
    norm = nn.batch_norm(hidden, w["mean"], w["var"], w["gamma"], w["beta"])
    first = nn.relu(norm)
    second = nn.relu(nn.conv2d(first, w["w2"], padding=1) + first)
    pooled = nn.max_pool2d(second, 2).mean((2, 3))
    return torch.softmax(nn.linear(pooled, w["fc"], w["bias"]), -1).numpy()


@pytest.mark.parametrize("is_constant", [True, False], ids=["constants", "inputs"])
def test_rf18_a_residual_network(exec_mode, is_constant: bool) -> None:
    rng = np.random.default_rng(0)
    shapes = {
        "w1": (4, 3, 3, 3), "gamma": (4,), "beta": (4,), "mean": (4,), "var": (4,),
        "w2": (4, 4, 3, 3), "fc": (5, 4), "bias": (5,),
    }  # fmt: skip
    weights = {name: rng.random(shape, "float32") for name, shape in shapes.items()}
    x = rng.standard_normal((2, 3, 8, 8)).astype("float32")
    options = {"params": weights} if is_constant else {}
    actual = run(NETWORK, x, *(() if is_constant else weights.values()), **options)
    np.testing.assert_allclose(actual, network_by_torch(x, weights), rtol=1e-5)


ATTENTION = """
def @heads(%x: Tensor[(?, 8), float32], %w: Tensor[(8, 8), float32]) -> Tensor[(2, ?, 4), float32] {
  transpose(reshape(nn.dense(%x, %w), newshape=[-1, 2, 4]), axes=[1, 0, 2])
}
def @main(%x: Tensor[(?, 8), float32], %wq: Tensor[(8, 8), float32],
          %wk: Tensor[(8, 8), float32], %wv: Tensor[(8, 8), float32]) {
  %0 = nn.batch_matmul(@heads(%x, %wq), @heads(%x, %wk), transpose_b=True);
  %1 = nn.softmax(divide(%0, 2f));
  %2 = nn.batch_matmul(%1, @heads(%x, %wv));
  %3 = shape_of(%x, dtype="int64");
  dyn.reshape(transpose(%2, axes=[1, 0, 2]), %3)
}
"""


def test_rf18_attention_of_any_length(exec_mode) -> None:
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((8, 8)).astype("float32") for _ in range(3)]
    main = relax.VirtualMachine(relax.compile(from_relay(ATTENTION)))["main"]
    for length in (1, 5, 33):
        x = rng.standard_normal((length, 8)).astype("float32")
        q, k, v = (torch.from_numpy((x @ w.T).reshape(-1, 2, 4)).transpose(0, 1) for w in weights)
        exact = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        actual = np.from_dlpack(main(x, *weights))
        np.testing.assert_allclose(
            actual, exact.transpose(0, 1).reshape(-1, 8).numpy(), rtol=1e-4, atol=1e-5
        )


def test_rf18_a_model_becomes_operators_and_dataflow() -> None:
    text = str(from_relay(NETWORK))
    assert "relax.dataflow" in text and count(text, "conv2d") == 2
    assert "call_packed" not in text and "call_tir" not in text


def test_rf18_operations_have_the_places_of_the_program() -> None:
    module = from_relay(NETWORK)
    text = module.operation.get_asm(enable_debug_info=True)
    assert 'loc("<relay>":10:8)' in text


def test_rf18_a_wrong_layer_is_named() -> None:
    wrong = NETWORK.replace("%fc: Tensor[(5, 4)", "%fc: Tensor[(5, 7)")
    with pytest.raises(RelayError, match=r"<relay>:\d+:9: nn.dense: "):
        from_relay(wrong)


def test_rf18_text_and_json_are_one_program(exec_mode, tmp_path: Path) -> None:
    assert str(from_relay(parse(to_text(parse(NETWORK))))) == str(from_relay(NETWORK))
