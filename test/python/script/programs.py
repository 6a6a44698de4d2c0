"""Programs that other tests are about: those of the lit tests."""

from __future__ import annotations

import contextlib
import functools
import re
from pathlib import Path

from mlir import ir
from relax_mlir.core.context import current_context

LIT = Path(__file__).parents[2] / "lit"
OPTIONS = re.compile(r"^//.*$", re.MULTILINE)


@functools.cache
def lit_programs() -> dict[str, str]:
    """Return the valid programs of the lit tests by where they are."""
    found = {}
    with current_context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        for path in sorted(LIT.glob("**/*.mlir")):
            for number, part in enumerate(path.read_text(encoding="utf-8").split("// -----")):
                text = OPTIONS.sub("", part).strip()
                with contextlib.suppress(ir.MLIRError):
                    if list(ir.Module.parse(text).body.operations):
                        found[f"{path.relative_to(LIT).with_suffix('')}-{number}"] = text
    return found
