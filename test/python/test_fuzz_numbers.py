"""test/fuzz/numeric: some random programs in each run; `./dev fuzz numbers` runs many."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from relax_mlir.reference.operators import OPERATORS

FUZZ = Path(__file__).parents[1] / "fuzz" / "numeric"


@pytest.fixture
def modules(monkeypatch):
    """Let a test import modules of the fuzzer."""
    monkeypatch.syspath_prepend(FUZZ)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(FUZZ) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_every_operator_is_drawn(modules):
    import graphs
    from elementwise import elementwise
    from plan import function_of

    drawn = {*elementwise(), *graphs.SAMPLERS}
    defined = {name.removeprefix("relax.") for name in OPERATORS}
    assert defined - drawn == set()
    assert all(callable(function_of(name)) for name in drawn)


def test_a_program_is_made_again(modules):
    from graphs import draw_program

    assert draw_program(5, 3) == draw_program(5, 3)
    assert draw_program(5, 3) != draw_program(5, 4)


def test_options_are_crossed_pairwise(modules):
    import itertools

    from options import FACTORS, covering

    for (a, xs), (b, ys) in itertools.combinations(FACTORS.items(), 2):
        pairs = {(row[a], row[b]) for row in covering()}
        assert pairs == set(itertools.product(xs, ys))


def test_random_programs_are_right():
    given = ["--seed", "7", "--programs", "4", "--templates", "4", "--no-shrink", "--jobs", "1"]
    done = subprocess.run([sys.executable, FUZZ, *given], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 findings" in done.stdout
    compared = float(done.stdout.rsplit(" % compared", 1)[0].rsplit(" ", 1)[1])
    assert compared > 80, done.stdout


def test_a_wrong_number_is_found(modules):
    """The comparison tells a result that is off by more than its operator may be."""
    from compare import Expected
    from plan import Data, Node, Param, Program, build

    data = Data("uniform", 1, 2, 0)
    nodes = (Node("exp", (1,), {}, 2), Node("sum", (2,), {"axis": [0]}, 3))
    program = Program("", (Param(1, "!relax.tensor<[8], f32>", data),), nodes, (3,))
    x = np.linspace(1, 2, 8, dtype="float32")
    expected = Expected(build(program), [x])
    right = np.asarray(np.exp(x).sum(dtype="float32"))
    assert expected.compare([(right, "float32")], {}, False)[1] is None
    wrong = right * np.float32(1 + 1e-4)
    counts, found = expected.compare([(wrong, "float32")], {}, False)
    assert found is not None
    assert counts.compared == counts.tight == 1


def test_saturated_numbers_may_be_equal(modules):
    """The variance of numbers that are closer than the error of tanh may be 0."""
    from compare import Expected
    from plan import Data, Node, Param, Program, build

    data = Data("uniform", 1, 2, 0)
    nodes = (
        Node("tanh", (1,), {}, 2),
        Node("variance", (2,), {"axis": [0]}, 3),
        Node("sign", (3,), {}, 4),
    )
    program = Program("", (Param(1, "!relax.tensor<[2, 3], f32>", data),), nodes, (4,))
    x = np.array([[8.79735, 9.32615, 2], [13.113745, 19.768948, 3]], "float32")
    expected = Expected(build(program), [x])
    assert list(expected.exact[0].data) == [1, 1, 1]
    expected.more(64, False)
    for result, is_right in (([0, 0, 1], True), ([0, 0, 0], False)):
        given = [(np.array(result, "float32"), "float32")]
        assert (expected.compare(given, {}, False)[1] is None) is is_right


def test_what_says_less_is_not_used_again(modules):
    import random

    from graphs import draw_match_cast, drawing

    for seed in range(20):
        with drawing(random.Random(seed), ("n",), ({"n": 3},)) as d:
            x = d.fresh(d.dims(), "float32")
            cast = draw_match_cast(d, {})
            numbers = [value.number for value in d.pool]
            assert x.number not in numbers
            assert cast.number in numbers


def test_small_numbers_may_be_zero_with_fast_math(modules):
    from compare import arithmetic_of
    from plan import Data, Node, Param, Program, build
    from relax_mlir import reference

    data = Data("uniform", 1, 2, 0)
    nodes = (Node("exp", (1,), {}, 2),)
    module = build(Program("", (Param(1, "!relax.tensor<[3], f32>", data),), nodes, (2,)))
    x = np.array([-82, 1, -81], "float32")
    fast, exact = (
        reference.run(module, "main", x, arithmetic=arithmetic_of(0, mode)).data
        for mode in ("fast", "down")
    )
    assert fast[0] == 0 and exact[0] > 0
    np.testing.assert_allclose(fast[1:], np.exp(x[1:]), rtol=1e-4)


def test_what_fast_math_may_lose_is_bounded(modules):
    """Less than 2^-118; silu multiplies an exponential that is 0 by its argument."""
    from compare import Expected
    from plan import Data, Node, Param, Program, build

    data = Data("uniform", 1, 2, 0)
    nodes = (Node("silu", (1,), {}, 2),)
    module = build(Program("", (Param(1, "!relax.tensor<[2], f32>", data),), nodes, (2,)))
    expected = Expected(module, [np.array([-87, -75], "float32")])
    expected.more(6, True)
    small, large = (float(number) for number in expected.exact[0].data)
    for result, is_right in (([0, large], True), ([small, 0], False)):
        given = [(np.array(result, "float32"), "float32")]
        assert (expected.compare(given, {"fast_math": True}, False)[1] is None) is is_right


def test_what_is_read_beyond_a_tensor_is_a_crash():
    code = f"""
import ctypes, sys
sys.path.insert(0, {str(FUZZ)!r})
import numpy as np
from memory import GuardedTensor
x = GuardedTensor(np.arange(3, dtype="float32"), "float32", {{at_end}})
address = x.stored.ctypes.data
ctypes.string_at(address, 12)
print("inside", flush=True)
ctypes.string_at(address + ({{at_end}} and 12 or -1), 1)
print("outside", flush=True)
"""
    for at_end in (True, False):
        given = code.replace("{at_end}", str(at_end))
        done = subprocess.run([sys.executable, "-c", given], capture_output=True, text=True)
        assert done.stdout == "inside\n"
        assert done.returncode != 0  # the signal, or what a sanitizer makes of it


def test_a_finding_is_made_smaller_and_written_as_a_test(modules, tmp_path):
    """A program that is said to be wrong wherever it has an `exp` shrinks to that."""
    from evaluate import Outcome
    from graphs import draw_program
    from shrink import shrunk, write_test

    class Workers:
        def run(self, tasks):
            for program in tasks:
                nodes = {node.op for node in program.nodes}
                yield program, Outcome("wrong number" if "exp" in nodes else "ok")

    program = next(
        p
        for p in (draw_program(1, number) for number in range(400))
        if any(node.op == "exp" for node in p.nodes) and len(p.nodes) > 5
    )
    small = shrunk(Outcome("wrong number", "off", program=program), Workers())
    assert len(small.program.nodes) < 4
    assert small.program.options[0]["opt_level"] == 3
    text = write_test(small)
    assert "R.exp(" in text
    compile(text, "test_finding.py", "exec")
