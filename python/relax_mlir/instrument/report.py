# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A report on each pass, as a page for the browser."""

from __future__ import annotations

import difflib
import html
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .base import PassInstrument
from .printing import check_syntax, text_of

if TYPE_CHECKING:
    from ..core.ir_module import IRModule
    from ..transform import PassInfo

# Nothing is loaded from elsewhere: the page is one file.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #8884; --add: #2a93; --del: #d433; --dim: #888; }}
body {{ margin: 0; font: 14px/1.45 system-ui, sans-serif; display: flex; height: 100vh; }}
nav {{ width: 21rem; flex: none; overflow: auto; border-right: 1px solid var(--line); }}
nav h1 {{ font-size: 1rem; margin: .8rem; }}
nav a {{ display: flex; gap: .5rem; padding: .2rem .8rem; color: inherit; text-decoration: none; }}
nav a:hover, nav a.shown {{ background: var(--line); }}
nav .name {{ flex: 1; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }}
nav .same, .time {{ color: var(--dim); }}
main {{ flex: 1; overflow: auto; }}
section {{ display: none; }}
section.shown {{ display: block; }}
h2 {{ font-size: 1rem; margin: .8rem; }}
pre {{ margin: 0; padding-bottom: 2rem; font: 12px/1.5 ui-monospace, monospace; tab-size: 2; }}
pre span {{ display: block; white-space: pre; padding: 0 .8rem; min-width: max-content; }}
pre span::before {{ content: " "; padding-right: .6rem; color: var(--dim); }}
pre .add {{ background: var(--add); }}
pre .add::before {{ content: "+"; }}
pre .del {{ background: var(--del); }}
pre .del::before {{ content: "-"; }}
body.after .del {{ display: none; }}
label {{ margin: 0 .8rem .8rem; display: block; }}
</style>
</head>
<body>
<nav>
<h1>{title}</h1>
<label><input type="checkbox" id="after"> without the lines that are gone</label>
{links}
</nav>
<main>
{sections}
</main>
<script>
const show = () => {{
  const id = location.hash.slice(1) || "pass-0";
  document.querySelectorAll("section").forEach(s => s.classList.toggle("shown", s.id === id));
  document.querySelectorAll("nav a").forEach(
    a => a.classList.toggle("shown", a.hash === "#" + id));
}};
addEventListener("hashchange", show);
document.getElementById("after").onchange = e =>
  document.body.classList.toggle("after", e.target.checked);
show();
</script>
</body>
</html>
"""


@dataclass
class PassRecord:
    """The record of one run of a pass.

    Attributes
    ----------
    name : str
    depth : int
        How many sequences it is in.
    before : str
    after : str or None
        None where it did not finish.
    seconds : float
    """

    name: str
    depth: int
    before: str
    after: str | None = None
    seconds: float = 0.0

    @property
    def is_changed(self) -> bool:
        """Whether it finished and left another text."""
        return self.after is not None and self.after != self.before

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the lines of both texts: "add", "del" or "" with each."""
        old, new = self.before.splitlines(), (self.after or "").splitlines()
        if self.after is None:
            yield from (("", line) for line in old)
            return
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) > 2000)
        for kind, a, b, c, d in matcher.get_opcodes():
            if kind == "equal":
                yield from (("", line) for line in new[c:d])
                continue
            yield from (("del", line) for line in old[a:b])
            yield from (("add", line) for line in new[c:d])


class PassReport(PassInstrument):
    """Records the module around each pass, for a page that shows what changed where.

    Parameters
    ----------
    path : path, optional
        Where the page is written when the context ends.
    syntax : str
        "mlir" or "script".
    title : str
        The heading of the page.

    Attributes
    ----------
    records : list of PassRecord
        The passes in the order in which they began.

    Examples
    --------
    >>> from relax_mlir import transform
    >>> report = PassReport()
    >>> with transform.PassContext(instruments=[report]):
    ...     _ = transform.LegalizeOps()('''
    ... relax.func @main(%x: !relax.tensor<[2], f32>) -> !relax.tensor<[2], f32> {
    ...   %0 = relax.exp %x : (!relax.tensor<[2], f32>) -> !relax.tensor<[2], f32>
    ...   relax.return %0 : !relax.tensor<[2], f32>
    ... }''')
    >>> [line.split()[:3] for kind, line in report.records[0].lines() if kind == "del"]
    [['%0', '=', 'relax.exp']]
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        syntax: str = "mlir",
        title: str = "Passes",
    ) -> None:
        self.path = None if path is None else Path(path)
        self.syntax = check_syntax(syntax)
        self.title = title
        self.records: list[PassRecord] = []
        self._open: list[tuple[PassRecord, float]] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Keep the text of the module."""
        record = PassRecord(info.name, len(self._open), text_of(mod, self.syntax))
        self.records.append(record)
        self._open.append((record, time.perf_counter()))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Keep the text of the module and the time that the pass took."""
        now = time.perf_counter()
        # Passes that failed have not been told of.
        while self._open and self._open[-1][0].name != info.name:
            self._open.pop()
        if self._open:
            record, start = self._open.pop()
            record.seconds = now - start
            record.after = text_of(mod, self.syntax)

    def exit_pass_ctx(self) -> None:
        """Write the page where it has a path; passes that failed are on it, too."""
        self._open = []
        if self.path is not None:
            self.save(self.path)

    def html(self) -> str:
        """Return the page: one file that loads nothing else."""
        links = "\n".join(map(_link, range(len(self.records)), self.records))
        sections = "\n".join(map(_section, range(len(self.records)), self.records))
        return _PAGE.format(title=html.escape(self.title), links=links, sections=sections)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page.

        Parameters
        ----------
        path : path
        """
        Path(path).write_text(self.html(), encoding="utf-8")


def _time(record: PassRecord) -> str:
    return "failed" if record.after is None else f"{record.seconds * 1e3:.2f} ms"


def _link(index: int, record: PassRecord) -> str:
    same = "" if record.is_changed or record.after is None else " same"
    return (
        f'<a href="#pass-{index}"><span class="name{same}" style="padding-left:{record.depth}rem">'
        f'{html.escape(record.name)}</span><span class="time">{_time(record)}</span></a>'
    )


def _section(index: int, record: PassRecord) -> str:
    lines: Sequence[tuple[str, str]] = list(record.lines())
    counts = [sum(kind == wanted for kind, _ in lines) for wanted in ("add", "del")]
    body = "".join(
        f'<span class="{kind}">{html.escape(line)}</span>'
        if kind
        else f"<span>{html.escape(line)}</span>"
        for kind, line in lines
    )
    return (
        f'<section id="pass-{index}"><h2>{html.escape(record.name)} '
        f'<span class="time">{_time(record)}, +{counts[0]} -{counts[1]} lines</span></h2>'
        f"<pre>{body}</pre></section>"
    )
