"""Runs the phases that both modes have in common once for a test that runs in both."""

import dataclasses
import threading

from mlir import ir
from relax_mlir._mlir_libs import _relax_mlir as _ext
from relax_mlir.driver import compiler
from relax_mlir.transform import PassContext

# After which phases a module is looked at: bytecode is made of the first, and modes differ after
# the last.
KEPT = ("shapes", "outline")


class SharedPhases:
    """Keeps what phases made of the modules of a test, for the same test in its other mode."""

    def __init__(self):
        self._lower, self._run_phase = compiler._lower, compiler._run_phase
        compiler._lower, compiler._run_phase = self.lower, self.run_phase
        self._test = None
        self._kept = {}  # by context, module and options: the module after each phase of KEPT
        self._running = threading.local()

    def start(self, test):
        """Start a test in one of its modes, None if it has none; forget what another one left."""
        if test != self._test:
            self._kept.clear()
        self._test = test

    def lower(self, module, options, report, dump):
        """Stands in for the function of the driver; phases that are watched run."""
        is_watched = isinstance(dump, compiler._Dump) or PassContext.current().instruments
        key = None
        if self._test is not None and not is_watched:
            either = dataclasses.replace(options, exec_mode="compiled")
            key = (module.context, _ext.digest(module), repr(either))
        outer = getattr(self._running, "key", None)  # which folds constants
        self._running.key = key
        try:
            return self._lower(module, options, report, dump)
        finally:
            self._running.key = outer

    def run_phase(self, name, module, options):
        """Stands in for the function of the driver, for one phase."""
        key = self._running.key
        made = self._kept.get(key, {})
        if key is None or name == "llvm":
            self._run_phase(name, module, options)
        elif KEPT[-1] not in made:
            self._run_phase(name, module, options)
            if name in KEPT:
                self._kept.setdefault(key, {})[name] = module.operation.clone()
        elif name in KEPT:
            _assign(module, made[name])


def _assign(module, source):
    """Make a module the same as another one."""
    for op in list(module.body.operations):
        op.operation.erase()
    for name in list(module.operation.attributes):
        del module.operation.attributes[name]
    for name in source.attributes:
        module.operation.attributes[name] = source.attributes[name]
    end = ir.InsertionPoint(module.body)
    for op in source.regions[0].blocks[0].operations:
        op.operation.clone(end)
