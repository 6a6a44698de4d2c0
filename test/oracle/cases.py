"""A question with both answers, the questions it is made of, and what can be said of an answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import structinfo as si
from structinfo import Answer, Info

# What TVM's base check says, in the words of each question. FAIL_L1 is "no, from what is known
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
        What is wrong with our answer, whatever TVM's is.
    """

    id: str
    question: str
    infos: list[Info]
    names: list[str] = field(default_factory=list)
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
        keys = ("id", "question", "infos", "names")
        return {key: getattr(self, key) for key in keys}

    def is_meaningful(self) -> bool:
        """Whether there are values of variables with which all the StructInfo in it exist."""
        infos = [*self.infos]
        if self.question == "derive":
            infos.append(result_of_call(*self.infos))
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
        pairs = zip(lhs["params"], rhs["params"], strict=True)
        for answer, pair in zip(answers, pairs, strict=False):
            if not all(self.is_same(answer, param) for param in pair):
                return si.OBJECT
        return si.closure(lhs["params"], answers[-1], lhs["purity"] and rhs["purity"])

    def is_same(self, lhs: object, rhs: object) -> bool:
        """Whether two answers are the same, expressions compared by value."""
        if not (isinstance(lhs, dict) and "kind" in lhs and isinstance(rhs, dict)):
            return lhs == rhs
        return si.same(lhs, rhs, self.samples)


def _parts(case: Case) -> list[tuple[Info, ...]]:
    """Return what to ask of the parts, so that their answers make the answer."""
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
        if si.is_renamed(lhs, rhs):
            return []
        return [*zip(si.parts(lhs), si.parts(rhs), strict=True)]
    if rhs["purity"] and not lhs["purity"]:
        return []
    lhs = _substituted(lhs, rhs["params"])
    return [*zip(rhs["params"], lhs["params"], strict=True), (lhs["ret"], rhs["ret"])]


def _substituted(callee: Info, arguments: Sequence[Info]) -> Info:
    """Return a closure with the variables replaced that a call binds."""
    mapping = si.shape_var_mapping(callee["params"], [*arguments])
    return si.map_parts(callee, lambda part: si.substitute(part, mapping))


def result_of_call(callee: Info, *arguments: Info) -> Info:
    """Return the result with the variables replaced that a call binds, none erased."""
    if callee["kind"] == "packed":
        return si.OBJECT
    is_call = len(callee["params"]) == len(arguments)
    return (_substituted(callee, arguments) if is_call else callee)["ret"]


def _arguments(callee: Info, arguments: list[Info]) -> list[tuple[Info, ...]]:
    """Return the pairs of arguments and parameters, variables replaced."""
    if callee["kind"] == "packed" or len(callee["params"]) != len(arguments):
        return []
    return [*zip(arguments, _substituted(callee, arguments)["params"], strict=True)]


def refutation(case: Case, answer: object) -> str:
    """Return what disproves an answer by putting numbers in, or nothing."""
    if len(case.infos) != 2 or any(map(si.contains_closure_over_variables, case.infos)):
        return ""
    for values in case.samples:
        if case.question == "unify":
            results = [si.below(info, answer, values) for info in case.infos]
            claim, wrong = "an upper bound", results != [True, True]
        else:
            result = si.below(*case.infos, values)
            claim = "always" if answer else "never"
            wrong = answer is not None and answer == (result is not True)
        if wrong:
            return f"{answer} claims {claim}, which is wrong for {values}"
    return ""
