# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The context of passes: which of them run, their configuration, and their instruments."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from relax_runtime.near_misses import did_you_mean

from .._arguments import shown

if TYPE_CHECKING:
    from ..core.ir_module import IRModule
    from ..instrument import PassInstrument


@dataclass(frozen=True)
class PassInfo:
    """Metadata of a pass.

    Attributes
    ----------
    opt_level : int
        In a `Sequential`, the pass runs from this `PassContext.opt_level` on.
    name : str
    required : tuple of str
        The names of passes that a `Sequential` runs before.
    """

    opt_level: int
    name: str
    required: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ConfigOption:
    """An option of `PassContext.config`.

    Attributes
    ----------
    name : str
    type : type
        The class of its values.
    help : str
    """

    name: str
    type: type
    help: str


_options: dict[str, ConfigOption] = {}
#: The names of passes, which `register_pass` and `Sequential` add.
KNOWN_PASSES: set[str] = set()


def register_config_option(name: str, type_: type = object, help_: str = "") -> None:
    """Make a name known to `PassContext.config`.

    Parameters
    ----------
    name : str
        Such as "my.FuseOps.max_depth".
    type_ : type
        The class of its values.
    help_ : str

    Raises
    ------
    ValueError
        If it is known already, with another type.

    Examples
    --------
    >>> register_config_option("example.max_depth", int)
    >>> PassContext(config={"example.max_depth": "deep"})
    Traceback (most recent call last):
    ...
    TypeError: expected int as config 'example.max_depth', but got 'deep'
    """
    known = _options.get(name)
    if known is not None and known.type is not type_:
        raise ValueError(
            f"expected a new name of an option, but '{name}' is one of type {known.type.__name__}"
        )
    _options[name] = ConfigOption(name, type_, help_)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.contexts: list[PassContext] = []
        self.default: PassContext | None = None


_stack = _Stack()


class PassContext:
    """The context of passes in the body of a ``with`` statement.

    Parameters
    ----------
    opt_level : int
        Passes of a higher level are skipped by a `Sequential`.
    required_pass : iterable of str, optional
        Names of passes that run whatever their level is and whatever an instrument says.
    disabled_pass : iterable of str, optional
        Names of passes that a `Sequential` skips.
    instruments : iterable of PassInstrument, optional
        They see each pass that runs, in this order.
    config : mapping of str to object, optional
        Options of passes. Each option of a pass of MLIR has a name here,
        ``relax.<pass>.<option>``, for passes that do not state it themselves; others are known
        after `register_config_option`.

    Attributes
    ----------
    opt_level : int
    required_pass, disabled_pass : tuple of str
    instruments : tuple of PassInstrument
    config : dict of str to object

    Raises
    ------
    ValueError
        If an option of the configuration is not known.
    TypeError
        If its value is not of its type.

    Examples
    --------
    >>> with PassContext(opt_level=1, disabled_pass=["FoldConstant"]) as context:
    ...     PassContext.current() is context
    True
    >>> PassContext.current().opt_level
    2
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Iterable[PassInstrument] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level = opt_level
        self.required_pass = _names("required_pass", required_pass)
        self.disabled_pass = _names("disabled_pass", disabled_pass)
        self.instruments = _instruments(instruments)
        self.config = dict(config or {})
        for name, value in self.config.items():
            _check_option(name, value)

    @staticmethod
    def current() -> PassContext:
        """Return the innermost context of this thread, or one with the defaults."""
        if _stack.contexts:
            return _stack.contexts[-1]
        if _stack.default is None:
            _stack.default = PassContext()
        return _stack.default

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """Return the options of the configuration: for each its type and what it means.

        Examples
        --------
        >>> PassContext.list_configs()["relax.VMShapeLower.checks"]["type"]
        'str'
        """
        return {
            name: {"type": option.type.__name__, "help": option.help}
            for name, option in sorted(_options.items())
        }

    def __enter__(self) -> PassContext:
        self._enter(self.instruments)
        _stack.contexts.append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self not in _stack.contexts:
            raise RuntimeError("expected PassContext.__enter__ before __exit__: write 'with'")
        _stack.contexts.remove(self)
        self._exit()

    def _enter(self, instruments: tuple[PassInstrument, ...]) -> None:
        """Tell instruments; where one fails, those before it leave again."""
        with contextlib.ExitStack() as entered:
            for instrument in instruments:
                instrument.enter_pass_ctx()
                entered.callback(instrument.exit_pass_ctx)
            self.instruments = instruments
            entered.pop_all()

    def _exit(self) -> None:
        with contextlib.ExitStack() as left:
            for instrument in reversed(self.instruments):
                left.callback(instrument.exit_pass_ctx)

    def override_instruments(self, instruments: Iterable[PassInstrument] | None) -> None:
        """Have other instruments from here on, in the context that is current.

        Those that were there leave, the new ones enter.

        Parameters
        ----------
        instruments : iterable of PassInstrument or None
        """
        entering = _instruments(instruments)
        self._exit()
        self.instruments = ()
        self._enter(entering)

    def pass_enabled(self, info: PassInfo) -> bool:
        """Say whether a `Sequential` runs a pass.

        Parameters
        ----------
        info : PassInfo

        Examples
        --------
        >>> PassContext(opt_level=1).pass_enabled(PassInfo(2, "FuseOps"))
        False
        >>> PassContext(opt_level=1, required_pass=["FuseOps"]).pass_enabled(PassInfo(2, "FuseOps"))
        True
        """
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or info.opt_level <= self.opt_level

    def _before(self, mod: IRModule, info: PassInfo) -> bool:
        """Ask the instruments whether to run a pass, and tell them that it does."""
        answers = [bool(instrument.should_run(mod, info)) for instrument in self.instruments]
        if not all(answers) and info.name not in self.required_pass:
            return False
        for instrument in self.instruments:
            instrument.run_before_pass(mod, info)
        return True

    def _after(self, mod: IRModule, info: PassInfo) -> None:
        for instrument in self.instruments:
            instrument.run_after_pass(mod, info)


def _instruments(given: Any) -> tuple[PassInstrument, ...]:
    if given is not None and not hasattr(given, "__iter__"):
        raise TypeError(f"expected a list of instruments of passes, but got {shown(given)}")
    instruments = tuple(given or ())
    for instrument in instruments:
        if not hasattr(instrument, "enter_pass_ctx"):
            raise TypeError(f"expected instruments of passes, but got {shown(instrument)}")
    return instruments


def _names(what: str, names: Iterable[str] | None) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"expected a list of names as {what}, but got {names!r}")
    given = tuple(names or ())
    for name in given:
        if name not in KNOWN_PASSES:
            hint = did_you_mean(str(name), KNOWN_PASSES)
            raise ValueError(f"expected names of passes as {what}, but got {name!r}{hint}")
    return given


def _check_option(name: str, value: Any) -> None:
    option = _options.get(name)
    if option is None:
        raise ValueError(
            f"expected a known option of the config, but got '{name}'"
            + (did_you_mean(name, _options) or f"; the options are {', '.join(sorted(_options))}")
        )
    if not isinstance(value, option.type):
        raise TypeError(f"expected {option.type.__name__} as config '{name}', but got {value!r}")
