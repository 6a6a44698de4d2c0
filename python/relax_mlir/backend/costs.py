# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What parts of programs took when they were measured, in a file."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._arguments import shown

_FORMAT = 1


@dataclass(frozen=True)
class Cost:
    """The seconds that one call of a part takes.

    Attributes
    ----------
    ours : float
        As the compiler computes it.
    library : float
        As the code of a codegen does.
    """

    ours: float
    library: float

    def __post_init__(self) -> None:
        for name in ("ours", "library"):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                raise TypeError(f"expected seconds as {name}, but got {shown(given)}")
            if not math.isfinite(given) or given < 0:
                raise ValueError(f"expected seconds as {name}, 0 or more, but got {given}")

    @property
    def is_library_faster(self) -> bool:
        """Whether the library takes less time."""
        return self.library < self.ours


class CostCache:
    """Measured costs of parts, by what they compute, their sizes and the processor.

    Parameters
    ----------
    path : path, optional
        A file of JSON, which is read if it is there. Without, nothing is read or written.

    Raises
    ------
    ValueError
        If the file is damaged, or of another version.

    Examples
    --------
    >>> costs = CostCache()
    >>> costs.set("part", Cost(ours=2e-3, library=1e-3))
    >>> costs.get("part").is_library_faster, costs.get("other")
    (True, None)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._costs: dict[str, Cost] = {}
        self._labels: dict[str, str] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    @classmethod
    def of(cls, given: CostCache | str | os.PathLike[str]) -> CostCache:
        """Return a cache that may be given as its file, which has to be there then.

        Raises
        ------
        FileNotFoundError
            If it is not.
        TypeError
            If it is neither.
        """
        if isinstance(given, CostCache):
            return given
        if not isinstance(given, (str, os.PathLike)):
            raise TypeError(f"expected a CostCache or its file, but got {shown(given)}")
        if not Path(given).exists():
            raise FileNotFoundError(
                f"{os.fspath(given)}: expected a file of measured costs, which "
                "relax_mlir.backend.measure writes"
            )
        return cls(given)

    def _read(self, path: Path) -> None:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            version = data["version"]
            rows = data["costs"] if version == _FORMAT else {}
            for key, row in rows.items():
                self._costs[key] = Cost(row["ours"], row["library"])
                self._labels[key] = str(row.get("part", ""))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path}: expected a file of measured costs: {error}") from None
        if version != _FORMAT:
            raise ValueError(f"{path}: expected version {_FORMAT} of the file, but got {version!r}")

    def get(self, key: str) -> Cost | None:
        """Return what was measured of a part; None if nothing was."""
        return self._costs.get(key)

    def set(self, key: str, cost: Cost, label: str = "") -> None:
        """Note what was measured of a part, with words that say which one it is."""
        self._costs[key], self._labels[key] = cost, label

    def __len__(self) -> int:
        return len(self._costs)

    def __contains__(self, key: object) -> bool:
        return key in self._costs

    def save(self) -> None:
        """Write the file, which appears as a whole."""
        if self.path is None:
            return
        costs: Mapping[str, Any] = {
            key: {"part": self._labels[key], "ours": cost.ours, "library": cost.library}
            for key, cost in sorted(self._costs.items())
        }
        text = json.dumps({"version": _FORMAT, "costs": costs}, indent=1)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".costs-", dir=self.path.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        Path(name).replace(self.path)
