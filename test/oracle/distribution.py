"""The distribution of kinds of StructInfo in the questions, and of the answers.

A comparison says something only where the answers differ from case to case. So each kind has to
get each answer that there is for it.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator

import structinfo as si
from cases import LEVELS, PROOFS, Case, result_of_call
from structinfo import Info

Counts = dict[str, dict[str, dict[str, int]]]

_WORDS = {True: "yes", None: "possibly", False: "no"}
_ALL = {"yes", "possibly", "no"}
_KINDS = ("tensor", "shape", "prim", "tuple", "closure")

# Of each question: the answers that each kind gets, in 5,000 questions.
EXPECTED: dict[str, dict[str, set[str]]] = {
    "subtype": {
        "object": {"yes"},
        "packed": {"yes", "no"},
        "two kinds": {"yes", "no"},
        **dict.fromkeys(_KINDS, _ALL),
    },
    "compatible": {
        "object": {"yes"},
        "packed": {"yes", "possibly"},
        "two kinds": _ALL,
        **dict.fromkeys(_KINDS, _ALL),
    },
    "unify": {
        "object": {"one of both"},
        "packed": {"one of both", "weaker"},
        "two kinds": {"one of both", "object"},
        **{key: {"one of both", "weaker"} for key in ("tensor", "shape")},
        **{key: {"one of both", "weaker", "object"} for key in ("prim", "tuple", "closure")},
    },
    "mapping": {
        "two kinds": {"empty"},
        "object": {"empty"},
        "packed": {"empty"},
        **{key: {"empty", "found"} for key in _KINDS},
    },
    "erase": {
        "object": {"kept"},
        "packed": {"kept"},
        **{key: {"kept", "erased"} for key in _KINDS},
    },
    "static": {key: {"type"} for key in ("object", "packed", *_KINDS)},
    "derive": {
        "object": {"kept", "error"},
        "packed": {"kept", "error"},
        **{key: {"kept", "erased", "error"} for key in _KINDS},
    },
    **{key: {"linear": _ALL, "products": _ALL} for key in PROOFS},
}


def kind_of(case: Case) -> str:
    if case.question in PROOFS:
        dims = [dim for info in case.infos for dim in si.own_dims(info)]
        return "products" if any(map(si.is_nonlinear, dims)) else "linear"
    if case.question == "derive":
        callee = case.infos[0]
        return callee["kind"] if callee["kind"] == "packed" else callee["ret"]["kind"]
    return case.kinds[0] if len({*case.kinds}) == 1 else "two kinds"


def answer_of(case: Case) -> str:
    """Return our answer in one word or two."""
    if case.question in LEVELS or case.question in PROOFS:
        return _WORDS[case.ours]
    if case.question == "static":
        return "type"
    if case.question == "mapping":
        return "found" if case.ours["names"] else "empty"
    if case.question == "unify":
        if any(case.is_same(case.ours, info) for info in case.infos):
            return "one of both"
        return "object" if case.ours == si.OBJECT else "weaker"
    if "error" in case.ours:
        return "error"
    source = case.infos[0] if case.question == "erase" else result_of_call(*case.infos)
    return "kept" if case.is_same(case.ours, source) else "erased"


def features(info: Info, depth: int = 0) -> Iterator[str]:
    """Yield what is remarkable about StructInfo, for a count."""
    kind = info["kind"]
    if kind == "packed":
        yield f"packed, {info['derive']}"
        return
    if kind == "closure":
        yield "closure, pure" if info["purity"] else "closure, impure"
        if si.free(info):
            yield "closure over variables"
    if kind in ("tensor", "shape"):
        known = "dimensions" if si.own_dims(info) or info["ndim"] == 0 else "rank only"
        known = "no rank" if info["ndim"] == -1 else known
        yield f"{kind}, {'variable' if info['var'] else known}"
    if kind == "tensor" and info["dtype"] is None:
        yield "tensor, no data type"
    if info.get("vdevice"):
        yield "tensor, vdevice"
    if kind == "prim":
        yield "prim" if info["value"] is None else "prim, value"
    if kind in ("object", "tuple"):
        yield f"nested {kind}" if depth and kind == "tuple" else kind
    inner = {name for part in si.parts(info) for name in features(part, depth + 1)}
    yield from inner


def count(cases: Iterable[Case]) -> tuple[Counts, collections.Counter]:
    """Return the number of answers of each question and kind, and of remarkable StructInfo."""
    answers: Counts = {}
    seen: collections.Counter = collections.Counter()
    for case in cases:
        seen.update({name for info in case.infos for name in features(info)})
        if case.ours is None and case.problems:
            continue
        by_kind = answers.setdefault(case.question, {})
        by_answer = by_kind.setdefault(kind_of(case), {})
        by_answer[answer_of(case)] = by_answer.get(answer_of(case), 0) + 1
    return answers, seen


def missing(answers: Counts) -> list[str]:
    """Return the answers that no question of a kind got though it should."""
    return [
        f"{question} of {kind}: {answer}"
        for question in answers
        for kind, expected in EXPECTED[question].items()
        for answer in sorted(expected - answers[question].get(kind, {}).keys())
    ]


def table(answers: Counts, seen: collections.Counter) -> str:
    lines = []
    for question, by_kind in answers.items():
        for kind, by_answer in sorted(by_kind.items()):
            counts = ", ".join(f"{answer} {n}" for answer, n in sorted(by_answer.items()))
            lines.append(f"  {question:17} {kind:10} {counts}")
    lines.append("StructInfo in the questions, outside of proofs:")
    lines += [f"  {number:7}  {name}" for name, number in sorted(seen.items())]
    return "\n".join(lines)
