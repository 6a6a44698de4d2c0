# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine that a module is compiled for."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from relax_runtime.bounds import INT64, between

from . import native
from .transform.options import DEVICES, VECTOR_BITS, check_arch

# The caches of a core of another machine, in bytes, where nothing is said of them.
_L1_BYTES, _L2_BYTES = 32 << 10, 512 << 10

_HOST = native.NativeTarget()
_DEVICES = tuple(device for device in DEVICES if device)
_DEVICE_OPTIONS = {"cuda": ("arch", "host"), "opencl": ("host",)}
_OPTIONS = ("mcpu", "mattr", "mtriple", "vector-width", "l1-bytes", "l2-bytes")


@dataclass(frozen=True)
class Target:
    """A machine, and what kernels should know of it.

    Attributes
    ----------
    machine : native.NativeTarget
        The processor.
    vector_bits : int
        The width of a vector register; 0 is what the processor has.
    l1_bytes, l2_bytes : int
        The caches of a core; 0 is what this machine has.
    device : str
        The kind of the device that computes, "cuda" or "opencl"; "" is the processor itself.
    device_arch : str
        The architecture of a GPU, such as "sm_90"; "" is the oldest that kernels are written for.

    Examples
    --------
    >>> Target.parse("llvm -mcpu=x86-64-v3").machine
    NativeTarget(triple='', cpu='x86-64-v3', features='')
    >>> Target.parse({"kind": "llvm", "mattr": ["-avx512f"]}).machine.features
    '-avx512f'
    """

    machine: native.NativeTarget = _HOST
    vector_bits: int = 0
    l1_bytes: int = 0
    l2_bytes: int = 0
    device: str = ""
    device_arch: str = ""

    @classmethod
    def parse(cls, given: TargetLike) -> Target:
        """Return the target that a text or a mapping stands for.

        Parameters
        ----------
        given : str, mapping, native.NativeTarget or Target
            ``"llvm"`` is this machine. Options follow, as TVM writes them: ``-mcpu`` (a processor
            that LLVM knows), ``-mattr`` (features, such as ``+avx2,-fma``), ``-mtriple`` (of LLVM),
            ``-vector-width`` (in bits), ``-l1-bytes`` and ``-l2-bytes`` (the caches of a core). A
            mapping has them as keys, beside ``"kind": "llvm"``. ``"cuda"`` is a GPU of this
            processor: ``-arch=sm_90`` says which (code for ``sm_80``, the default, runs on all
            newer ones, too; ``native`` is the first one here), and ``host`` in a mapping which
            processor. ``"opencl"`` is a device of OpenCL, also with ``host``.

        Raises
        ------
        TypeError
            If it is neither a text nor a mapping.
        ValueError
            If it is not known, or the value of an option is none.
        """
        if isinstance(given, Target):
            return given
        if isinstance(given, native.NativeTarget):
            return cls(given)._with_caches()
        if not isinstance(given, (str, Mapping)):
            raise TypeError(
                "expected a target, as a text such as 'llvm -mcpu=x86-64-v3' or a mapping, "
                f"but got {given!r}"
            )
        options = _from_text(given) if isinstance(given, str) else dict(given)
        kind = options.pop("kind", None)
        if kind in _DEVICES:
            return _of_device(kind, options)
        if kind != "llvm":
            known = ", ".join(("llvm", *_DEVICES[:-1]))
            raise ValueError(
                f"expected a target of the kind {known} or {_DEVICES[-1]}, but got {given!r}"
            )
        _check_known(options, _OPTIONS)
        triple, cpu = str(options.get("mtriple", "")), str(options.get("mcpu", ""))
        machine = native.NativeTarget(
            triple, cpu or ("generic" if triple else "host"), _features(options.get("mattr", ""))
        )
        bits = _number(options, "vector-width")
        if bits not in VECTOR_BITS:
            raise ValueError(f"expected vector-width to be in {VECTOR_BITS}, but got {bits}")
        target = cls(machine, bits, _number(options, "l1-bytes"), _number(options, "l2-bytes"))
        return target._with_caches()

    def _with_caches(self) -> Target:
        """Leave nothing of another machine to be found on this one."""
        if self.machine.cpu == "host":
            return self
        return Target(
            self.machine, self.vector_bits, self.l1_bytes or _L1_BYTES, self.l2_bytes or _L2_BYTES
        )


TargetLike: TypeAlias = str | Mapping[str, Any] | native.NativeTarget | Target


def _check_known(options: Mapping[str, Any], known: Iterable[str]) -> None:
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(
            f"expected options of a target, any of {', '.join(known)}, but got {', '.join(unknown)}"
        )


def _of_device(kind: str, options: Mapping[str, Any]) -> Target:
    _check_known(options, _DEVICE_OPTIONS[kind])
    arch = str(options.get("arch", ""))
    if arch == "native":
        arch = _native_arch()
    check_arch("arch", arch)
    host = Target.parse(options.get("host", "llvm"))
    return dataclasses.replace(host, device=kind, device_arch=arch)


# Names of the driver for the two numbers of a compute capability.
_CAPABILITY = (75, 76)
# From this one on code may use instructions that only the same architecture has.
_FIRST_OWN = 90


def _succeed(name: str, result: int) -> None:
    if result:
        raise OSError(f"{name} returned {result}")


def _native_arch() -> str:
    """Return the architecture of the first GPU of this machine, such as "sm_90a"."""
    library = os.environ.get("RELAX_CUDA_DRIVER") or "libcuda.so.1"
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    try:
        driver = ctypes.CDLL(library)
        _succeed("cuInit", driver.cuInit(0))
        _succeed("cuDeviceGet", driver.cuDeviceGet(ctypes.byref(device), 0))
        for number, which in zip((major, minor), _CAPABILITY, strict=True):
            result = driver.cuDeviceGetAttribute(ctypes.byref(number), which, device)
            _succeed("cuDeviceGetAttribute", result)
    except (OSError, AttributeError) as error:
        raise ValueError(f"expected a GPU for -arch=native, but there is none: {error}") from None
    capability = 10 * major.value + minor.value
    return f"sm_{capability}{'a' if capability >= _FIRST_OWN else ''}"


def _from_text(text: str) -> dict[str, Any]:
    try:
        kind, *options = shlex.split(text) or [""]
    except ValueError as error:
        raise ValueError(f"expected a target, but got {text!r}: {error}") from None
    result: dict[str, Any] = {"kind": kind}
    for option in options:
        name, equals, value = option.partition("=")
        if not name.startswith("-") or not equals or not value:
            raise ValueError(f"expected an option like -mcpu=..., but got {option!r} in {text!r}")
        result[name.lstrip("-")] = value
    return result


def _features(given: str | Iterable[Any]) -> str:
    features = given.split(",") if isinstance(given, str) else list(given)
    features = [feature for feature in features if feature]
    for feature in features:
        if not isinstance(feature, str) or feature[0] not in "+-" or len(feature) == 1:
            raise ValueError(f"expected features of mattr like +avx2 or -avx2, but got {feature!r}")
    return ",".join(features)


def _number(options: Mapping[str, Any], name: str) -> int:
    given = options.get(name, 0)
    try:
        number = int(given)
    except (TypeError, ValueError):
        number = -1
    if number < 0:
        raise ValueError(f"expected {name} to be a number, but got {given!r}")
    return between(name, number, 0, INT64)
