# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The options of compilation: declared here for Python, in Pipelines.h for C++."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any, Literal

from relax_runtime.bounds import INT64, between
from relax_runtime.near_misses import did_you_mean

from .compress_weights import WeightFormat

#: How functions run.
EXEC_MODES = ("compiled", "bytecode")
#: The checks that a program makes when it runs.
CHECKS = ("all", "necessary")
#: The widths of vectors in kernels; 0 is that of the processor.
VECTOR_BITS = (0, 128, 256, 512, 1024)

#: The floats that products are computed of.
PRECISIONS = ("f32", "f16", "bf16")

#: The instructions that kernels are written for.
FEATURES = (
    *("sse2", "ssse3", "avx2", "avxvnni", "avx512f", "avx512bw", "avx512vnni", "avx512bf16"),
    *("avx512fp16", "amx-bf16", "amx-int8"),
)

#: The kinds of devices other than the host that kernels are written for.
DEVICES = ("", "cuda", "opencl")

#: The values of those that are neither flags nor sizes.
CHOICES: dict[str, tuple[Any, ...]] = {
    "exec_mode": EXEC_MODES,
    "checks": CHECKS,
    "opt_level": (0, 1, 2, 3),
    "vector_bits": VECTOR_BITS,
    "precision": PRECISIONS,
    "device": DEVICES,
}
# The architectures that LLVM writes code for, from the oldest that kernels are written for on.
_ARCHS = tuple(f"sm_{n}" for n in (80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121))
# Those that no pipeline of MLIR has: they are about passes in Python, LLVM and the runtime.
_OF_PYTHON = {
    "opt_level",
    "fold_constants",
    "combine_matmuls",
    "integer_products",
    "weights",
    "cuda_graph",
}


@dataclass(frozen=True)
class CompileOptions:
    """How a module is compiled.

    Parameters
    ----------
    exec_mode : str
        "compiled": functions and kernels become machine code. "bytecode": kernels do, and functions
        become bytecode, which `VirtualMachine` interprets and can observe. Both mean the same.
    checks : str
        Checks of structural information that the program makes when it runs. "all": of arguments,
        casts, results of packed functions and operands of operators. "necessary": the caller is
        trusted, see the notes.
    opt_level : int
        How much LLVM optimizes loops over numbers, from 0 to 3. Kernels of vectors, and functions
        that call kernels, are cleaned up from 1 on, and no level makes them faster.
    plan_memory : bool
        Whether tensors that are not in use at the same time share memory, reshapes are views, and
        kernels write over inputs that die. The results are the same without.
    fuse : bool
        Whether kernels that are called one after the other become one where that saves passes over
        memory; see `relax_mlir.transform.FuseOps`. Each element is computed as without.
    emit_kernels : bool
        Whether kernels of known classes (elementwise, rows, ...) are written as loops over vectors.
        Without, all of them become plain loops, which sum up in another order.
    fold_constants : bool
        Whether what depends on constants alone is computed once, now; see
        `relax_mlir.transform.FoldConstant` and `FoldBatchnormToConv2D`. Convolutions in other
        layouts are computed in NCHW then, see `ConvertLayout`.
    combine_matmuls : bool
        Whether products of a matrix with several constants become one, where constants are folded
        and kernels fused; see `relax_mlir.transform.CombineParallelMatmul`.
    integer_products : bool
        Whether products of quantized tensors are computed of their integers, where constants are
        folded and the processor multiplies pairs of them, as x86 does; see
        `relax_mlir.transform.FakeQuantizationToInteger`. A result that is quantized then is the
        code of the exact sum, or in rare cases one of its neighbors.
    precision : str
        Of products and what follows them: "f32" computes as programs say, "f16" and "bf16" from
        floats of 16 bits, which are summed up in `float32`. Constants take half of the memory, and
        a few rows half of the time. What a function takes and returns stays as it is. See
        `relax_mlir.transform.ToMixedPrecision`; convolutions stay in `float32`, but on processors
        that multiply `bfloat16` faster. With "bf16", numbers below 2^-126 may become 0.
    weights : str
        How constant matrices of products are rounded, such as "int4-g32" or "int8"; "" leaves them
        as they are. See `relax_mlir.transform.CompressWeights`.
    dynamic_quantization : bool
        Whether rows that are multiplied by constant weights of 4 bits may be rounded to 8 bits,
        each block of up to 32 elements with a scale of its own, where the processor multiplies
        bytes: x86 from SSSE3 on. Each element then has an error of up to 1/254 of the largest one
        of its block; a block that has an infinity or NaN makes results NaN. With VNNI, whole rows
        are rounded by weights of 8 bits (`relax_mlir.transform.QuantizeDynamic`).
    winograd : bool
        Whether convolutions by constant windows of 3 x 3, 3 x 1 and 1 x 3 may use the algorithm of
        Winograd, where that is faster. A result then depends on all elements that a tile of up to
        6 x 6 elements has, with rounding errors about twice as large as otherwise in relation to
        these.
    fast_math : bool
        Whether sums may be computed in another order, and elementary functions less accurately;
        `docs/dev/math.md` has the errors of both. Infinities and NaN stay what they are.
    profile : bool
        Whether functions in machine code say when a call begins and ends, so that
        `VirtualMachine.profile` measures each. Without a profile that costs a few nanoseconds a
        call. Functions in bytecode can always be profiled.
    cuda_graph : bool
        Whether calls on a CUDA device replay the launches of an earlier call with arguments of the
        same sizes, which takes less time than launching kernels one by one; see `docs/GPU.md`.
    tf32 : bool
        Whether tensor cores of a CUDA device multiply elements of `float32`, rounded to TF32: to 11
        bits of the significand. Sums stay in `float32`. Products and convolutions take a fraction
        of the time, and results have about three digits. Up to eight rows are multiplied exactly.
    debug_info : bool
        Whether machine code has the lines of the program, for debuggers and profilers.
    device : str
        The kind of device that all tensors of a program are on, where it names none itself; ""
        for the host. `compile` sets it for the targets "cuda" and "opencl".
    device_arch : str
        Its architecture, such as "sm_90"; "" for the oldest that kernels are written for.
    vector_bits : int
        The width of the vectors in kernels; 0 means that of the target.
    l1_bytes, l2_bytes : int
        The caches of a core, in bytes; 0 means those of the target.
    features : str
        Instructions that kernels are written for, as LLVM calls them, with commas between them:
        sse2, avx512vnni. `compile` sets those of the target.

    Raises
    ------
    ValueError
        If the value of an option is not one of its values.
    TypeError
        If it is of another type.

    Notes
    -----
    With ``checks="necessary"`` a program that fails no check gives the same results, and any other
    may give wrong ones or read memory that is not its own. What stays is: the number of
    arguments; before a value is first read (by a kernel, as a condition, as a shape, for its
    dimensions or to be called), that it is of the kind and rank that its type says, and a tensor in
    host memory; dimensions that bind shape variables, and that variables of sizes and dimensions of
    allocations are not negative; that no step of a dimension is beyond 64 bits, or divides by 0;
    sizes of tuples where a field is taken; allocations. What goes is the comparison of data types,
    devices, dimensions, primitive values and closures, and any check of values that only pass
    through.

    Examples
    --------
    >>> CompileOptions(fuse=False).pipeline_options()["fuse"]
    'false'
    """

    exec_mode: Literal["compiled", "bytecode"] = "compiled"
    checks: Literal["all", "necessary"] = "all"
    opt_level: int = 3
    plan_memory: bool = True
    fuse: bool = True
    emit_kernels: bool = True
    fold_constants: bool = True
    combine_matmuls: bool = True
    integer_products: bool = True
    precision: Literal["f32", "f16", "bf16"] = "f32"
    weights: str = ""
    dynamic_quantization: bool = False
    winograd: bool = True
    fast_math: bool = False
    profile: bool = False
    cuda_graph: bool = False
    tf32: bool = False
    debug_info: bool = False
    device: str = ""
    device_arch: str = ""
    vector_bits: int = 0
    l1_bytes: int = 0
    l2_bytes: int = 0
    features: str = ""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check(field.name, getattr(self, field.name), type(field.default))
        check_arch("device_arch", self.device_arch)
        for name in filter(None, self.features.split(",")):
            if name not in FEATURES:
                known = ", ".join(FEATURES)
                hint = did_you_mean(name, list(FEATURES))
                raise ValueError(f"expected features, any of {known}, but got {name!r}{hint}")
        if self.weights:
            WeightFormat.parse(self.weights)

    @classmethod
    def of(cls, given: CompileOptions | None, changes: dict[str, Any]) -> CompileOptions:
        """Return options with changes.

        Parameters
        ----------
        given : CompileOptions, optional
            The default ones by default.
        changes : dict
            Values by the names of options.

        Raises
        ------
        TypeError
            If an option is not known.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for name in changes:
            if name not in known:
                hint = did_you_mean(name, known)
                raise TypeError(
                    f"expected options, any of {', '.join(known)}, but got {name}{hint}"
                )
        return dataclasses.replace(given or cls(), **changes)

    def pipeline_options(self) -> dict[str, str]:
        """Return the options as pipelines of MLIR have them, such as ``relax-to-llvm``."""
        return {
            name.replace("_", "-"): str(value).lower()
            for name, value in vars(self).items()
            if name not in _OF_PYTHON and value != ""
        }


def check_arch(name: str, arch: str) -> None:
    """Raise a ValueError if there is no GPU of an architecture that kernels are written for."""
    if arch and re.sub("[af]$", "", arch) not in _ARCHS:
        known = ", ".join(_ARCHS)
        raise ValueError(f"expected {name} to be like sm_90, one of {known}, but got {arch!r}")


def _check(name: str, value: Any, type_: type) -> None:
    """Raise an error if the value of an option is none of its values."""
    if name in CHOICES:
        if value not in CHOICES[name] or isinstance(value, (bool, float)):
            known = ", ".join(str(each) or "''" for each in CHOICES[name])
            raise ValueError(f"expected {name}, one of {known}, but got {value!r}")
    elif type(value) is not type_:
        expected = {bool: "True or False", str: "a text"}.get(type_, "a number")
        raise TypeError(f"expected {name} to be {expected}, but got {value!r}")
    elif type_ is int:
        between(name, value, 0, INT64)
