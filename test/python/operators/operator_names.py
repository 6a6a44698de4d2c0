"""The operators of the dialect, by its files."""

from __future__ import annotations

import re
from pathlib import Path

DIALECT = Path(__file__).parents[3] / "dialect"
# Files of operations that are not operators of TVM: the language, calls, the compiler's own.
_OTHERS = ("ADT", "Builtin", "Call", "Core", "Debug", "Device", "Function", "Transform")

# Operations of distributed tensors, which no program has when it runs; see distributed/.
_DISTRIBUTED = ("call_tir_local_view", "redistribute")


def operators() -> list[str]:
    """Return the names of the operations in the files of operators."""
    names: list[str] = []
    for path in sorted(DIALECT.glob("Relax*Ops.td")):
        if not path.stem.removeprefix("Relax").startswith(_OTHERS):
            found = re.findall(r'^def Relax_\w+Op\s*:[^<]*<\s*"(\w+)"', path.read_text(), re.M)
            names += [f"relax.{name}" for name in found if name not in _DISTRIBUTED]
    return names
