"""A question with both answers, the questions it is made of, and what can be said of an answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import structinfo as si
from structinfo import Answer, Info

PROOFS = {
    "prove_equal": lambda lhs, rhs: lhs == rhs,
    "prove_less_equal": lambda lhs, rhs: lhs <= rhs,
}
# TVM's base check, in the words of each question. FAIL_L1 is "no, from what is known
# statically, though there are values of both": not a subtype, but one may find out at run time.
LEVELS: dict[str, dict[str, Answer]] = {
    "subtype": {"PASS": True, "FAIL_L2": None, "FAIL_L1": False, "FAIL_L0": False},
    "compatible": {"PASS": True, "FAIL_L2": None, "FAIL_L1": None, "FAIL_L0": False},
}


@dataclass
class Case:
    """A question about one StructInfo or two, or about a call.

    Attributes
    ----------
    names : list of str
        The variables in scope, for `erase`.
    bounds : dict
        The least and the greatest value of variables, or None, for `prove_equal` and its like.
    parts : list of Case
        The same question about the parts, where the specification says how to compose the answer;
        of a call, whether the arguments are compatible.
    ours, theirs : bool, None or description
        The answers.
    level : str
        TVM's answer in its own words.
    verdict : str
        "agree", or why not: the name of a class of `agreed.py`, "in a part", or "" if unexplained.
    problems : list of str
        The faults of our answer, whatever TVM's is.
    """

    id: str
    question: str
    infos: list[Info]
    names: list[str] = field(default_factory=list)
    bounds: dict[str, list] = field(default_factory=dict)
    parts: list[Case] = field(default_factory=list)
    ours: object = None
    theirs: object = None
    level: str = ""
    text: list[list[str]] = field(default_factory=list)
    verdict: str = ""
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        question = "compatible" if self.question == "derive" else self.question
        for index, infos in enumerate(_parts(self)):
            self.parts.append(Case(f"{self.id}.{index}", question, list(infos), self.names))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(info["kind"] for info in self.infos)

    @cached_property
    def samples(self) -> list[dict[str, int]]:
        """Values of variables with which the StructInfo in it exist."""
        if self.question in PROOFS:
            return [*si.samples_within(self.bounds, *self.infos)]
        return [*si.valid_samples(*self.infos)]

    @property
    def is_composed(self) -> bool:
        """Whether the answers about the parts make the answer."""
        return bool(self.parts) and self.question != "derive"

    def walk(self) -> Iterator[Case]:
        """Yield the parts, then the case."""
        for part in self.parts:
            yield from part.walk()
        yield self

    def to_json(self) -> dict:
        keys = ("id", "question", "infos", "names", "bounds")
        return {key: getattr(self, key) for key in keys}

    def is_meaningful(self) -> bool:
        """Say whether there are values of variables with which all the StructInfo in it exist."""
        infos = [*self.infos]
        if self.question == "derive":
            infos.append(result_of_call(*self.infos))
        if self.question in PROOFS:
            return bool(self.samples)
        enough = len([*itertools.islice(si.valid_samples(*infos), 3)]) == 3
        return enough and all(part.is_meaningful() for part in self.parts)

    def composed(self, answers: list) -> object:
        """Return the answer that follows from those of the parts."""
        if self.question in LEVELS:
            return si.both(*answers)
        if self.kinds[0] == "closure":
            return self._composed_closure(*answers)
        if self.question == "static":
            return {"type": "TupleType", "fields": answers}
        return si.tuple_(answers)

    def _composed_closure(self, *answers: Info) -> Info:
        lhs, rhs = self.infos
        rhs = si.rename(rhs, si.renaming(lhs, rhs))
        pairs = zip(lhs["params"], rhs["params"], strict=True)
        for answer, pair in zip(answers, pairs, strict=False):
            if not all(self.is_same(*map(si.with_rank_zero, (answer, param))) for param in pair):
                return si.OBJECT
        return si.closure(lhs["params"], answers[-1], lhs["purity"] and rhs["purity"])

    def is_same(self, lhs: object, rhs: object) -> bool:
        """Say whether two answers are the same, expressions compared by value."""
        if self.question == "mapping" and lhs != rhs:
            if None in (lhs, rhs) or lhs["names"] != rhs["names"]:
                return False
            return si.same(lhs["values"], rhs["values"], self.samples)
        if not (isinstance(lhs, dict) and "kind" in lhs and isinstance(rhs, dict)):
            return lhs == rhs
        return si.same(lhs, rhs, self.samples)


def _parts(case: Case) -> list[tuple[Info, ...]]:
    """Return what to ask of the parts, so that their answers make the answer."""
    if case.question in (*PROOFS, "mapping"):
        return []
    if case.question == "derive":
        return _arguments(case.infos[0], case.infos[1:])
    if len(set(case.kinds)) != 1:
        return []
    first, last = case.infos[0], case.infos[-1]
    if first["kind"] == "tuple" and len(first["fields"]) == len(last["fields"]):
        return [*zip(*(info["fields"] for info in case.infos), strict=True)]
    if first["kind"] == "closure" and len(case.infos) == 2:
        return _parts_of_closures(case.question, first, last)
    return []


def _parts_of_closures(question: str, lhs: Info, rhs: Info) -> list[tuple[Info, ...]]:
    """Return the pairs to compare: parameters the other way round, variables replaced."""
    if len(lhs["params"]) != len(rhs["params"]):
        return []
    if question == "unify":
        rhs = si.rename(rhs, si.renaming(lhs, rhs))
        return [*zip(si.parts(lhs), si.parts(rhs), strict=True)]
    if rhs["purity"] and not lhs["purity"]:
        return []
    lhs, rhs = si.apart(lhs, rhs)
    lhs = si.substituted(lhs, rhs["params"])
    pairs = [*zip(rhs["params"], lhs["params"], strict=True), (lhs["ret"], rhs["ret"])]
    return [_rigid(*pair) for pair in pairs]


def _rigid(*infos: Info) -> tuple[Info, ...]:
    """Keep the function types in a question from binding what a closure around it bound.

    A variable that stands alone in a parameter would be their own; one more than it stands for any
    value as well, and binds nothing.
    """
    names = set().union(*map(si.used_in_closures, infos)) & {*si.FRESH}
    return tuple(si.substitute(info, {name: ["+", name, 1] for name in names}) for info in infos)


def result_of_call(callee: Info, *arguments: Info) -> Info:
    """Return the result with the variables replaced that a call binds, none erased."""
    return call(callee, *arguments)[0]


def call(callee: Info, *arguments: Info) -> tuple[Info, set[str], frozenset[str]]:
    """Return the result of a call before erasure.

    Returns
    -------
    description
        With new names for the variables that are not in scope.
    set of str
        Those names.
    frozenset of str
        Those of them that the callee binds, which a function type inside does not bind again.
    """
    if callee["kind"] == "packed" or len(callee["params"]) != len(arguments):
        return si.OBJECT, set(), frozenset()
    mapping = si.mapping_of(callee, arguments)
    own = si.bound_by_params(callee)
    outside = (own | si.free(callee["ret"])) - mapping.keys()
    names = si.fresh_names(outside, set(), callee, *arguments)
    ret = si.substitute(si.rename(callee["ret"], names), mapping)
    # Variables that replace one of the callee are bound around, too.
    bound = frozenset(names[name] for name in outside if name in own)
    bound = bound.union(*map(si.names_of_value, mapping.values()))
    return ret, {*names.values()}, bound


def _arguments(callee: Info, arguments: list[Info]) -> list[tuple[Info, ...]]:
    """Return the pairs of arguments and parameters, variables replaced."""
    if callee["kind"] == "packed" or len(callee["params"]) != len(arguments):
        return []
    unknown = si.bound_by_params(callee) - si.mapping_of(callee, arguments).keys()
    names = si.fresh_names(unknown, set(), callee, *arguments)
    callee = si.substituted(si.rename(callee, names), arguments)
    return [_rigid(*pair) for pair in zip(arguments, callee["params"], strict=True)]


def disagreement(case: Case) -> str:
    """Return what contradicts our answer: the answers about the parts, or what is out of scope."""
    if case.question == "erase":
        gone = {*si.NAMES, *si.SHAPE_NAMES} - {*case.names}
        return si.wrongly_erased(case.infos[0], case.ours, gone)
    if case.question == "derive":
        return _wrongly_derived(case)
    if case.question == "mapping":
        expected = mapping_answer(*case.infos)
        return "" if case.is_same(case.ours, expected) else f"expected {expected}"
    if case.is_composed and not any(part.problems for part in case.parts):
        composed = case.composed([part.ours for part in case.parts])
        if not case.is_same(case.ours, composed):
            return f"answered {case.ours}, but the parts make {composed}"
    return ""


def _wrongly_derived(case: Case) -> str:
    callee, *arguments = case.infos
    if callee["kind"] == "packed":
        return "" if case.ours == si.OBJECT else "expected an object"
    if len(callee["params"]) != len(arguments):
        return "" if case.ours == {"error": "arity"} else "expected an error: arguments"
    if len(case.parts) == len(arguments):
        expected = any(part.ours is False for part in case.parts)
        if (case.ours == {"error": "argument"}) != expected:
            answers = [part.ours for part in case.parts]
            return f"answered {case.ours}, but the arguments are {answers}"
    if "error" in case.ours:
        return ""
    ret, gone, bound = call(*case.infos)
    return si.wrongly_erased(ret, case.ours, gone, bound)


def mapping_answer(formal: Info, actual: Info) -> dict:
    """Return the answer of the specification to a question about `get_shape_var_mapping`."""
    closures = formal["kind"] == actual["kind"] == "closure"
    pairs = (formal["params"], actual["params"]) if closures else ([formal], [actual])
    return describe_mapping(si.shape_var_mapping(*pairs))


def describe_mapping(mapping: dict) -> dict:
    """Return a mapping as an answer: names, and StructInfo with their values."""
    values = []
    for _, value in sorted(mapping.items()):
        if isinstance(value, tuple):
            values.append(si.shape(list(value)))
        else:
            values.append(si.prim("int64", value))
    return {"names": sorted(mapping), "values": si.tuple_(values)}


def refutation(case: Case, answer: object) -> str:
    """Return what disproves an answer by putting numbers in, or nothing."""
    if case.question in PROOFS:
        return _refuted_proof(case, answer)
    if case.question not in (*LEVELS, "unify"):
        return ""
    pairs = [(info, answer) for info in case.infos]
    if case.question != "unify":
        pairs = [(case.infos[0], case.infos[1])]
    for values, results in si.answers_below(pairs, case.samples):
        is_below = {*results} == {True}
        if case.question == "unify" and not is_below:
            return f"{answer} claims an upper bound, which is wrong for {values}"
        if case.question != "unify" and answer is (not is_below):
            return f"{answer} is wrong for {values}"
    return ""


def _refuted_proof(case: Case, answer: object) -> str:
    holds = PROOFS[case.question]
    for values in case.samples:
        lhs, rhs = (si.evaluate(info["value"], values) for info in case.infos)
        if answer is not None and answer != holds(lhs, rhs):
            return f"{answer} is wrong for {values}: {lhs} and {rhs}"
    return ""
