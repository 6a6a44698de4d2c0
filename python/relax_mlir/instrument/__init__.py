# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instruments of passes: print, time, check and report what each of them does.

An instrument is given to a `relax_mlir.transform.PassContext`; it sees each pass that runs in it,
those of sequences and of `relax_mlir.compile` included.

Examples
--------
>>> from relax_mlir import transform
>>> from relax_mlir.instrument import PassTimingInstrument
>>> timing = PassTimingInstrument()
>>> with transform.PassContext(instruments=[timing]):
...     _ = transform.Normalize()("module {}")
...     profile = timing.render()
>>> profile.split(":")[0]
'Normalize'
"""

from .base import PassInstrument, pass_instrument
from .printing import DumpIR, PassPrintingInstrument, PrintAfterAll, PrintBeforeAll
from .report import PassReport
from .timing import PassTimingInstrument
from .well_formed import WellFormedInstrument

__all__ = [
    "DumpIR",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassReport",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "WellFormedInstrument",
    "pass_instrument",
]
