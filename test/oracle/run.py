#!/usr/bin/env python3
"""Compare relax-mlir's answers about StructInfo with TVM's.

    run.py [--tvm PYTHON] [--count 5000] [--seed 0] [--question unify] [--case unify:17]

Fails where the two differ without an agreed reason, where one of our answers is wrong on its own,
and where an agreed reason no longer occurs in 5000 questions or more. Without TVM, fails where one
of our answers is wrong on its own. See README.md.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import distribution
import generate
import relax_mlir_side
from agreed import CLASSES
from cases import LEVELS, Case, disagreement, refutation

HERE = Path(__file__).resolve().parent
# Some reasons to differ are rare: fewer questions do not say that one no longer occurs.
ENOUGH = 5000


def ask_ours(case: Case) -> None:
    try:
        reply = relax_mlir_side.answer(case.to_json())
    except Exception as error:
        case.problems.append(f"raised {type(error).__name__}: {error}")
        case.text.append(["?"])
        return
    case.ours = reply["answer"]
    case.text.append(reply["text"])


def ask_theirs(cases: Sequence[Case], interpreter: str) -> None:
    """Ask TVM all questions in one process."""
    lines = "".join(json.dumps(case.to_json()) + "\n" for case in cases)
    command = [interpreter, str(HERE / "tvm_side.py")]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed:\n{done.stderr[-3000:]}")
    replies = done.stdout.splitlines()
    for case, line in zip(cases, replies, strict=True):
        reply = json.loads(line)
        assert reply["id"] == case.id
        if "unsupported" in reply:
            continue
        case.theirs = reply["answer"]
        if case.question in LEVELS:
            case.level = reply["answer"]
            case.theirs = LEVELS[case.question][case.level]
        case.text.append(reply["text"])


def check(case: Case) -> None:
    """Find what is wrong with our answer on its own; the parts are checked before."""
    if case.problems:
        return
    reason = refutation(case, case.ours)
    if not any(part.problems for part in case.parts):
        reason = reason or disagreement(case)
    if reason:
        case.problems.append(reason)


def classify(case: Case) -> None:
    """Find why TVM's answer differs; a wrong answer of ours can only be one that is known."""
    classes = (c for c in CLASSES if case.question in c.questions)
    if case.problems:
        classes = (c for c in classes if not c.is_agreed)
        if any(part.problems and part.verdict for part in case.parts):
            case.verdict = "in a part"
            return
    elif len(case.text) == 1:
        case.verdict = "not compared"
        return
    elif case.is_same(case.ours, case.theirs):
        case.verdict = "agree"
        return
    elif case.is_composed and case.is_same(
        case.theirs, case.composed([part.theirs for part in case.parts])
    ):
        case.verdict = "in a part"
        return
    case.verdict = next((c.name for c in classes if c.recognizes(case)), "")


def answered(cases: list[Case], interpreter: str | None) -> list[Case]:
    for case in cases:
        ask_ours(case)
    if interpreter:
        ask_theirs(cases, interpreter)
    for case in cases:
        check(case)
        classify(case)
    return cases


def describe(case: Case) -> str:
    """Return the case in both notations, with both answers."""
    lines = [f"{case.id}  ({case.question})"]
    for notations in itertools.zip_longest(*case.text, fillvalue="?"):
        lines += [f"  {notation}" for notation in notations]
    if case.names:
        lines.append(f"  variables in scope: {case.names}")
    if case.bounds:
        lines.append(f"  bounds: {case.bounds}")
    answers = relax_mlir_side.notation(case.ours), relax_mlir_side.notation(case.theirs)
    lines += [f"  ours:   {answers[0]}", f"  theirs: {answers[1]} {case.level}".rstrip()]
    return "\n".join([*lines, *(f"  problem: {problem}" for problem in case.problems)])


def stale(questions: Sequence[str], verdicts: collections.Counter) -> list[str]:
    """Return the classes that did not occur though their questions were asked."""
    return [c.name for c in CLASSES if {*c.questions} <= {*questions} and not verdicts[c.name]]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tvm", metavar="PYTHON", help="the interpreter that has TVM")
    parser.add_argument("--count", type=int, default=ENOUGH, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--question", choices=generate.QUESTIONS, help="only this one")
    parser.add_argument("--case", metavar="QUESTION:INDEX", help="only this case, with its parts")
    parser.add_argument("--show", metavar="CLASS", help="print the cases of a class")
    parser.add_argument("--limit", type=int, default=20, help="how many cases to print")
    parser.add_argument("--report", type=Path, help="where to write the result as JSON")
    return parser.parse_args(arguments)


def draw(args: argparse.Namespace) -> list[Case]:
    if args.case:
        name, index = args.case.split(":")
        return [generate.draw(name, args.seed, int(index))]
    names = [args.question] if args.question else generate.QUESTIONS
    return [generate.draw(name, args.seed, i) for name in names for i in range(args.count)]


def summarize(cases: Sequence[Case]) -> dict[str, dict]:
    """Return for each question the number of cases, the verdicts, and the failures in words."""
    result: dict[str, dict] = {}
    for case in cases:
        entry = result.setdefault(case.question, {"cases": 0, "verdicts": {}, "failures": []})
        entry["cases"] += 1
        if not case.verdict:
            entry["failures"].append(describe(case))
            continue
        entry["verdicts"][case.verdict] = entry["verdicts"].get(case.verdict, 0) + 1
    return result


def print_summary(summary: dict[str, dict], limit: int) -> None:
    for question, entry in summary.items():
        for failure in entry["failures"][:limit]:
            print(f"\nFAILED {failure}")
        print(f"\n{question}: {entry['cases']} cases, {len(entry['failures'])} failures")
        for verdict, number in sorted(entry["verdicts"].items(), key=lambda item: -item[1]):
            kind = next(("" if c.is_agreed else "TO FIX" for c in CLASSES if c.name == verdict), "")
            print(f"  {number:7}  {verdict}  {kind}")


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(arguments)
    start = time.monotonic()
    tops = draw(args)
    cases = answered([case for top in tops for case in top.walk()], args.tvm)
    for case in [case for case in cases if args.case or case.verdict == args.show][: args.limit]:
        print(f"\n{case.verdict or 'UNEXPLAINED'}: {describe(case)}")
    summary = summarize(cases)
    print_summary(summary, args.limit)
    verdicts = collections.Counter(case.verdict for case in cases)
    is_enough = args.tvm and args.count >= ENOUGH and not args.case
    unused = stale([*summary], verdicts) if is_enough else []
    answers, seen = distribution.count(cases)
    never = distribution.missing(answers) if args.count >= ENOUGH and not args.case else []
    print(f"\nOur answers, by kind:\n{distribution.table(answers, seen)}")
    for name in never:
        print(f"\nFAILED: no case of {name}; draw other questions")
    for name in unused:
        print(f"\nFAILED: the class '{name}' of agreed.py no longer occurs; remove it")
    if args.report:
        report = {"questions": summary, "answers": answers, "stale": unused, "missing": never}
        args.report.write_text(json.dumps(report, indent=1))
    print(
        f"\n{len(tops)} questions, {len(cases)} with their parts, {time.monotonic() - start:.1f} s"
    )
    return 1 if unused or never or any(entry["failures"] for entry in summary.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
