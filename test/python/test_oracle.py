"""Answers about random StructInfo: right on their own, and compared with TVM's.

The comparison needs TVM, which lives in an environment of its own: `./dev oracle` makes it and asks
more questions than these tests, and RELAX_MLIR_TVM_ORACLE names its interpreter here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ORACLE = Path(__file__).parents[1] / "oracle"
VARIABLE = "RELAX_MLIR_TVM_ORACLE"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    def ask(*options):
        path = tmp_path_factory.mktemp("oracle") / "report.json"
        command = [sys.executable, str(ORACLE / "run.py"), "--report", str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert path.exists(), done.stdout + done.stderr
        report = json.loads(path.read_text())
        return report["questions"], report["answers"]

    return ask


@pytest.fixture(scope="module")
def compared(ask):
    interpreter = os.environ.get(VARIABLE)
    if not interpreter:
        pytest.skip(f"{VARIABLE} is not set: the Python that has test/oracle/requirements.txt")
    return ask("--tvm", interpreter, "--count", "500")[0]


@pytest.fixture(scope="module")
def alone(ask):
    return ask("--count", "200")[0]


@pytest.fixture
def oracle(monkeypatch):
    """Return the modules of the oracle."""
    monkeypatch.syspath_prepend(ORACLE)
    import cases
    import run

    return cases, run


def require_no_failure(entry, least):
    assert not entry["failures"], "\n\n".join(entry["failures"][:5])
    assert entry["cases"] >= least


def test_st01_st02_st03_st04_st05_st06_subtype(compared):
    require_no_failure(compared["subtype"], 500)
    assert compared["subtype"]["verdicts"]["agree"] > 400


def test_st10_compatible(compared):
    require_no_failure(compared["compatible"], 500)


def test_st07_unify(compared):
    require_no_failure(compared["unify"], 500)


def test_st08_erase_to_well_defined(compared):
    require_no_failure(compared["erase"], 500)


def test_st09_derive_call_result(compared):
    require_no_failure(compared["derive"], 500)


def test_st09_get_shape_var_mapping(compared):
    require_no_failure(compared["mapping"], 500)


def test_st12_prover(compared):
    require_no_failure(compared["prove_equal"], 500)
    require_no_failure(compared["prove_less_equal"], 500)


def test_st11_traditional_types(compared):
    require_no_failure(compared["static"], 500)


@pytest.mark.parametrize(
    "question",
    ["subtype", "unify", "erase", "mapping", "compatible", "static", "derive", "prove_equal"],
    ids=["st01", "st07", "st08", "st09", "st10", "st11", "dr12", "st12"],
)
def test_judged_by_numbers(alone, question):
    require_no_failure(alone[question], 200)


TENSOR = {
    "kind": "tensor", "shape": ["n"], "ndim": 1, "dtype": "float32", "vdevice": None, "var": None
}  # fmt: skip


@pytest.mark.parametrize(
    ("super_", "ours", "level"),
    [
        ({"dtype": "int32"}, True, "FAIL_L0"),
        ({"dtype": None}, False, "PASS"),
        ({"shape": [["+", "n", 1]]}, True, "FAIL_L2"),
        ({"shape": ["m"]}, False, "FAIL_L2"),
        ({"shape": ["m"]}, True, "FAIL_L2"),
    ],
)
def test_error_st02_wrong_answer_is_not_explained(oracle, super_, ours, level):
    cases, run = oracle
    case = cases.Case("wrong", "subtype", [TENSOR, {**TENSOR, **super_}])
    case.ours, case.level, case.theirs = ours, level, cases.LEVELS["subtype"][level]
    case.text = [["ours"] * 2, ["theirs"] * 2]
    run.check(case)
    run.classify(case)
    assert case.problems
    assert not case.verdict


CLOSURE = {"kind": "closure", "params": [TENSOR], "ret": TENSOR, "purity": True}
FOUR = {**TENSOR, "shape": [4]}
ANY = {**TENSOR, "shape": None}


@pytest.mark.parametrize(
    ("question", "infos", "wrong", "why"),
    [
        ("erase", [TENSOR], TENSOR, "not in scope"),
        ("erase", [FOUR], ANY, "lacks the dimensions"),
        ("erase", [CLOSURE], {**CLOSURE, "params": [ANY]}, "is not what is left"),
        ("derive", [CLOSURE, FOUR], TENSOR, "is not what is left"),
        ("derive", [CLOSURE, FOUR], ANY, "lacks the dimensions"),
        ("derive", [CLOSURE, ANY], TENSOR, "is not what is left"),
        ("derive", [CLOSURE], ANY, "expected an error"),
        ("mapping", [TENSOR, FOUR], {"names": []}, "expected"),
    ],
)
def test_error_st08_st09_wrong_variables(oracle, question, infos, wrong, why):
    cases, run = oracle
    case = cases.Case("wrong", question, infos)
    case.ours = wrong
    run.check(case)
    assert why in case.problems[0]


@pytest.mark.parametrize("answer", [True, False])
def test_error_st12_wrong_proof(oracle, answer):
    cases, run = oracle
    infos = [{"kind": "prim", "dtype": "int64", "value": value} for value in ("n", "m")]
    case = cases.Case("wrong", "prove_equal", infos, bounds={"n": [0, 3], "m": [0, 3]})
    case.ours = answer
    run.check(case)
    assert f"{answer} is wrong" in case.problems[0]


def test_answers_that_do_not_occur(oracle):
    import distribution

    answers = {"subtype": {"tensor": {"yes": 3, "no": 1}}}
    assert "subtype of tensor: possibly" in distribution.missing(answers)
    assert "subtype of tensor: no" not in distribution.missing(answers)


def test_error_st07_no_upper_bound(oracle):
    cases, run = oracle
    case = cases.Case("wrong", "unify", [TENSOR, {**TENSOR, "shape": ["m"]}])
    case.ours = TENSOR
    run.check(case)
    assert "claims an upper bound" in case.problems[0]


def test_error_st04_parts_make_another_answer(oracle):
    cases, run = oracle
    pair = {"kind": "tuple", "fields": [TENSOR]}
    case = cases.Case("wrong", "subtype", [pair, pair])
    case.ours, case.parts[0].ours = None, True
    run.check(case)
    assert "the parts make True" in case.problems[0]


def test_reasons_are_listed(oracle):
    _, run = oracle
    readme = (ORACLE / "README.md").read_text(encoding="utf-8")
    assert not [entry.name for entry in run.CLASSES if f"`{entry.name}`" not in readme]
