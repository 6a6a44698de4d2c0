# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports of the profiler: the time of each call in one run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ProfileRow:
    """The time of one instruction, or one kernel, with operands of the same shapes.

    Attributes
    ----------
    function : str
        The function that the instruction is in; empty where rows of several are joined.
    instruction : int
        Its number there; -1 where rows of several are joined.
    text : str
        The instruction as text assembly; empty for calls in machine code.
    kind : str
        "kernel", "builtin", "packed", "function" or "closure".
    name : str
        The name of the callee.
    shapes : str
        Of its tensors and shapes: "float32[2, 3], float32[2, 3]".
    place : str
        Where the program has the call, such as "model.py:12:8": the line of the model for a model
        that was imported. Of a kernel of fused operators, the place of one; empty where it is
        unknown.
    calls, failures : int
        How often it was called, and how often that raised.
    total, own : float
        Seconds in all calls, with and without the calls that they made.
    least, most : float
        Seconds of the shortest and the longest call.
    bytes : int
        Of the tensors among the operands, in all calls.
    """

    function: str
    instruction: int
    text: str
    kind: str
    name: str
    shapes: str
    place: str
    calls: int
    failures: int
    total: float
    own: float
    least: float
    most: float
    bytes: int


@dataclass(frozen=True)
class ProfileEvent:
    """One call.

    Attributes
    ----------
    row : ProfileRow
        The instruction that made it.
    start, duration : float
        Seconds since the start of the profile, and seconds that it took.
    depth : int
        How many other calls it is in.
    """

    row: ProfileRow
    start: float
    duration: float
    depth: int


_HEADER = (
    *("own ms", "%", "calls", "mean us", "min us", "max us", "MB"),
    *("kind", "name", "shapes", "place"),
)


@dataclass(frozen=True)
class ProfileReport:
    """The times of the calls of one run; as text, a table.

    The measuring itself takes time, a microsecond or two for each call of bytecode and a tenth of
    that in machine code, which is part of what the functions around take.

    Attributes
    ----------
    name : str
        The function that was called.
    result : object
        Its return value.
    total : float
        The seconds that it took.
    rows : tuple of ProfileRow
        One an instruction and shapes, in the order in which they first ran.
    events : tuple of ProfileEvent
        One a call, in the order in which they ended.
    dropped : int
        How many calls have no event, as there were too many; the rows count them.
    """

    name: str
    result: Any
    total: float
    rows: tuple[ProfileRow, ...]
    events: tuple[ProfileEvent, ...]
    dropped: int

    def by_name(self, kind: str | None = None) -> list[ProfileRow]:
        """Join the rows that call the same thing with the same shapes.

        Parameters
        ----------
        kind : str, optional
            Only calls of this kind, such as "kernel".

        Returns
        -------
        list of ProfileRow
            The slowest come first.
        """
        return self._joined(kind, lambda row: (row.kind, row.name, row.shapes))

    def by_place(self, kind: str | None = None) -> list[ProfileRow]:
        """Join the rows of calls at the same place: the times of the lines of a model.

        Parameters
        ----------
        kind : str, optional
            Only calls of this kind, such as "kernel".

        Returns
        -------
        list of ProfileRow
            The slowest come first. What rows of a place do not share is empty.
        """
        return self._joined(kind, lambda row: (row.place,))

    def _joined(
        self, kind: str | None, key: Callable[[ProfileRow], tuple[str, ...]]
    ) -> list[ProfileRow]:
        groups: dict[tuple[str, ...], list[ProfileRow]] = {}
        for row in self.rows:
            if kind is None or row.kind == kind:
                groups.setdefault(key(row), []).append(row)
        joined = (_join(rows) for rows in groups.values())
        return sorted(joined, key=lambda row: -row.own)

    def table(self, rows: Iterable[ProfileRow] | None = None) -> str:
        """Return rows as a table; those of `by_name` without an argument."""
        chosen = list(self.by_name() if rows is None else rows)
        cells = [_HEADER, *(_cells(row, self.total) for row in chosen)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        numbers = _HEADER.index("kind")
        lines = [
            "  ".join(
                cell.rjust(width) if index < numbers else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ]
        calls = sum(row.calls for row in chosen)
        head = f"{self.name}: {self.total * 1e3:.3f} ms, {calls} calls"
        return "\n".join((head, *lines))

    def __str__(self) -> str:
        return self.table()

    def export_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace file, which chrome://tracing and https://ui.perfetto.dev open.

        Parameters
        ----------
        path : path
            A name that ends in .json.
        """
        trace = {"traceEvents": self.trace_events(), "displayTimeUnit": "ns"}
        Path(path).write_text(json.dumps(trace), encoding="utf-8")

    def folded_stacks(self) -> str:
        """Return the time of each stack of calls, as tools for flame graphs read it.

        Returns
        -------
        str
            A line for each stack: its calls from the outermost one on, between semicolons, and the
            nanoseconds in the last one alone. ``flamegraph.pl``, inferno and
            https://www.speedscope.app draw it.

        Notes
        -----
        Calls that have no event (see `dropped`) are part of what is around them.
        """
        own: dict[tuple[str, ...], float] = {(self.name,): self.total}
        stack: list[ProfileEvent] = []
        for event in sorted(self.events, key=lambda event: (event.start, event.depth)):
            del stack[event.depth :]
            around = (self.name, *(each.row.name for each in stack))
            stack.append(event)
            path = (*around, event.row.name)
            own[around] = own.get(around, 0.0) - event.duration
            own[path] = own.get(path, 0.0) + event.duration
        lines = (f"{';'.join(path)} {max(round(t * 1e9), 0)}" for path, t in own.items())
        return "\n".join(lines) + "\n"

    def export_folded(self, path: str | os.PathLike[str]) -> None:
        """Write `folded_stacks` to a file.

        Parameters
        ----------
        path : path
        """
        Path(path).write_text(self.folded_stacks(), encoding="utf-8")

    def trace_events(self) -> list[dict[str, Any]]:
        """Return the events of a trace, with the whole call as the first one."""
        whole = {
            "name": self.name,
            "cat": "function",
            "ts": 0.0,
            "dur": self.total * 1e6,
            "args": {},
        }
        calls = (
            {
                "name": event.row.name,
                "cat": event.row.kind,
                "ts": event.start * 1e6,
                "dur": event.duration * 1e6,
                "args": {
                    "function": event.row.function,
                    "instruction": event.row.instruction,
                    "text": event.row.text,
                    "shapes": event.row.shapes,
                    "place": event.row.place,
                },
            }
            for event in self.events
        )
        return [{**event, "ph": "X", "pid": 0, "tid": 0} for event in (whole, *calls)]


def _join(rows: Sequence[ProfileRow]) -> ProfileRow:
    if len(rows) == 1:
        return rows[0]

    def shared(values: Iterable[str]) -> str:
        distinct = set(values)
        return distinct.pop() if len(distinct) == 1 else ""

    return ProfileRow(
        function="",
        instruction=-1,
        text="",
        kind=shared(row.kind for row in rows),
        name=shared(row.name for row in rows),
        shapes=shared(row.shapes for row in rows),
        place=shared(row.place for row in rows),
        calls=sum(row.calls for row in rows),
        failures=sum(row.failures for row in rows),
        total=sum(row.total for row in rows),
        own=sum(row.own for row in rows),
        least=min(row.least for row in rows),
        most=max(row.most for row in rows),
        bytes=sum(row.bytes for row in rows),
    )


def _cells(row: ProfileRow, total: float) -> tuple[str, ...]:
    return (
        f"{row.own * 1e3:.4f}",
        f"{100 * row.own / total if total else 0:.1f}",
        str(row.calls),
        f"{row.total / row.calls * 1e6 if row.calls else 0:.2f}",
        f"{row.least * 1e6:.2f}",
        f"{row.most * 1e6:.2f}",
        f"{row.bytes / 1e6:.3f}",
        row.kind,
        row.name,
        row.shapes,
        row.place,
    )


def make_report(
    name: str, raw: Sequence[Any], instructions: Mapping[str, Sequence[str]]
) -> ProfileReport:
    """Make a report of what the runtime measured.

    Parameters
    ----------
    name : str
    raw : sequence
        The result of ``relax_mlir.vm.profile``.
    instructions : mapping of str to sequence of str
        The text of the instructions of each function; none for machine code.
    """
    result, total, raw_rows, raw_events, dropped = raw
    rows = []
    for where, number, kind, callee, shapes, place, *numbers in raw_rows:
        calls, time, own, least, most, size, bad = numbers
        texts = instructions[str(where)]
        rows.append(
            ProfileRow(
                function=str(where),
                instruction=number,
                text=texts[number] if texts else "",
                kind=str(kind),
                name=str(callee),
                shapes=str(shapes),
                place=str(place),
                calls=calls,
                failures=bad,
                total=time * 1e-9,
                own=own * 1e-9,
                least=least * 1e-9,
                most=most * 1e-9,
                bytes=size,
            )
        )
    events = tuple(
        ProfileEvent(rows[row], start * 1e-9, duration * 1e-9, depth)
        for row, start, duration, depth in raw_events
    )
    return ProfileReport(name, result, total * 1e-9, tuple(rows), events, dropped)
