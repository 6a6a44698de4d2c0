# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices of certain sizes, as cuBLASLt describes them.

The library has matrices by columns. A matrix by rows is a transposed one by columns, so the product
``D = A B`` by rows is ``D^T = B^T A^T`` by columns: the library gets the right matrix first.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from ..product_sizes import Sizes
from .library import CublasError, Heuristic, Library, check

#: The workspace that algorithms may use, in bytes.
WORKSPACE = 32 << 20

# cudaDataType_t
_R_32F = 0
#: The number of each data type, and the size of an element in bytes.
DTYPES = {"float32": (_R_32F, 4), "float16": (2, 2), "bfloat16": (14, 2)}

# cublasComputeType_t
_COMPUTE_32F = 68
_COMPUTE_32F_FAST_TF32 = 77

# cublasLtMatmulDescAttributes_t
_TRANSA, _TRANSB, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8
# cublasLtMatrixLayoutAttribute_t
_BATCH_COUNT, _BATCH_OFFSET = 5, 6
# cublasLtMatmulPreferenceAttributes_t
_MAX_WORKSPACE, _REDUCTION_SCHEMES = 1, 3
_MIN_ALIGNMENTS = (5, 6, 7, 8)  # of A, B, C and D

# cublasLtReductionScheme_t: parts of a sum are added as float32.
_REDUCE_AS_COMPUTED = 2

# cublasLtEpilogue_t
_DEFAULT, _WITH_BIAS = 1, 4
_EPILOGUES = {None: 0, "relax.relu": 2, "relax.gelu_tanh": 32}
#: The activations that the library has.
ACTIVATIONS = tuple(name for name in _EPILOGUES if name)

_ONE, _ZERO = ctypes.c_float(1.0), ctypes.c_float(0.0)

# The layout of a matrix by columns: rows, columns, and elements from a matrix of a batch to the
# next.
_Layout = tuple[int, int, int]


class Product:
    """A product of matrices for certain sizes, with the algorithm that the library proposes.

    One thread calls it at a time, in the context of its device.

    Parameters
    ----------
    library : Library
    handle : int
        Of the library, for the device.
    program : mapping
        ``dtype``, ``tf32``, ``transposed``, ``activation``, and what is added: ``bias``, ``sum``.
    sizes : Sizes
    alignment : int
        What all addresses are multiples of, in bytes.

    Attributes
    ----------
    addresses : dict of str to ctypes.c_void_p
        Where the operands and the result are: ``src``, ``weights``, ``sum`` and ``out``.
    workspace : int
        How many bytes the algorithm needs.

    Raises
    ------
    CublasError
        If the library has no algorithm.
    """

    def __init__(
        self,
        library: Library,
        handle: int,
        program: Mapping[str, Any],
        sizes: Sizes,
        alignment: int,
    ) -> None:
        self._library, self._handle = library, handle
        self._owned: list[tuple[str, int]] = []
        # When the process ends, the library may be gone already.
        weakref.finalize(self, _destroy, library, self._owned).atexit = False
        self._dtype = DTYPES[program["dtype"]][0]
        self._description = self._describe(program)
        self._layouts = self._lay_out(sizes, program["transposed"])
        self.addresses = {name: ctypes.c_void_p() for name in ("src", "weights", "sum", "out")}
        self._bias = ctypes.c_void_p(alignment)  # any address, for the algorithm
        self._bias_arguments = [
            ctypes.c_void_p(self._description),
            ctypes.c_int(_BIAS_POINTER),
            ctypes.byref(self._bias),
            ctypes.c_size_t(ctypes.sizeof(self._bias)),
        ]
        if program["bias"] is not None:
            self._set_bias()
        self._algorithm = self._choose(alignment)
        self.workspace = int(self._algorithm.workspace)
        self._arguments = self._collect(program["sum"] is not None)

    def _own(self, kind: str, *args: Any) -> int:
        made = self._library.create(f"{kind}Create", *args)
        self._owned.append((kind, made))
        return made

    def _describe(self, program: Mapping[str, Any]) -> int:
        """Return the description of what is computed."""
        compute = _COMPUTE_32F_FAST_TF32 if program["tf32"] else _COMPUTE_32F
        made = self._own("MatmulDesc", compute, _R_32F)
        left, right = program["transposed"]
        for attribute, is_transposed in ((_TRANSA, right), (_TRANSB, left)):
            self._library.set("MatmulDesc", made, attribute, ctypes.c_int32(is_transposed))
        epilogue = _EPILOGUES[program["activation"]]
        if program["bias"] is not None:
            epilogue |= _WITH_BIAS
        value = ctypes.c_uint32(epilogue or _DEFAULT)
        self._library.set("MatmulDesc", made, _EPILOGUE, value)
        return made

    def _lay_out(self, sizes: Sizes, transposed: Sequence[bool]) -> tuple[int, int, int]:
        """Return the layouts of the right matrix, the left one, and the result."""
        m, n, k = sizes.m, sizes.n, sizes.k
        left, right = transposed
        rows: list[_Layout] = [
            (k, n, sizes.rhs_offset) if right else (n, k, sizes.rhs_offset),
            (m, k, sizes.lhs_offset) if left else (k, m, sizes.lhs_offset),
            (n, m, m * n),
        ]
        a, b, d = (self._layout(row, sizes.batch) for row in rows)
        return a, b, d

    def _layout(self, layout: _Layout, batch: int) -> int:
        rows, columns, offset = layout
        made = self._own("MatrixLayout", self._dtype, rows, columns, rows)
        if batch > 1:
            self._library.set("MatrixLayout", made, _BATCH_COUNT, ctypes.c_int32(batch))
            self._library.set("MatrixLayout", made, _BATCH_OFFSET, ctypes.c_int64(offset))
        return made

    def _choose(self, alignment: int) -> Heuristic:
        """Return the algorithm that the library likes best."""
        library = self._library
        preference = self._own("MatmulPreference")
        library.set("MatmulPreference", preference, _MAX_WORKSPACE, ctypes.c_uint64(WORKSPACE))
        if self._dtype != _R_32F:
            value = ctypes.c_uint32(_REDUCE_AS_COMPUTED)
            library.set("MatmulPreference", preference, _REDUCTION_SCHEMES, value)
        for attribute in _MIN_ALIGNMENTS:
            library.set("MatmulPreference", preference, attribute, ctypes.c_uint32(alignment))
        a, b, d = self._layouts
        found, count = Heuristic(), ctypes.c_int()
        given = (self._handle, self._description, a, b, d, d, preference, 1, found)
        library.call("MatmulAlgoGetHeuristic", *given, ctypes.byref(count))
        if count.value == 0:
            raise CublasError("cublasLtMatmulAlgoGetHeuristic: no algorithm")
        check("MatmulAlgoGetHeuristic", found.state)
        return found

    def _collect(self, is_sum: bool) -> list[Any]:
        """Return the arguments of a call, as values of ctypes: converting others takes longer."""
        a, b, d = map(ctypes.c_void_p, self._layouts)
        beta = ctypes.byref(_ONE if is_sum else _ZERO)
        at = self.addresses
        first = [ctypes.c_void_p(self._handle), ctypes.c_void_p(self._description)]
        operands = [ctypes.byref(_ONE), at["weights"], a, at["src"], b, beta]
        results = [at["sum" if is_sum else "out"], d, at["out"], d]
        algorithm = ctypes.byref(self._algorithm.algorithm)
        stream = ctypes.c_void_p()
        workspace = [ctypes.c_void_p(), ctypes.c_size_t(self.workspace)]
        return [*first, *operands, *results, algorithm, *workspace, stream]

    def set_workspace(self, address: int) -> None:
        """Say where the workspace is."""
        self._arguments[-3].value = address

    def set_bias(self, address: int) -> None:
        """Say where the bias is."""
        if self._bias.value != address:
            self._bias.value = address
            self._set_bias()

    def _set_bias(self) -> None:
        status = self._library.set_description(*self._bias_arguments)
        check("MatmulDescSetAttribute", status)

    def run(self, stream: int) -> None:
        """Begin to compute the product of what is at the addresses.

        Parameters
        ----------
        stream : int
            Its address; 0 is the default stream.

        Raises
        ------
        CublasError
            If it does not begin.
        """
        self._arguments[-1].value = stream
        status = self._library.matmul(*self._arguments)
        if status:
            check("Matmul", status)


def _destroy(library: Library, owned: list[tuple[str, int]]) -> None:
    for kind, made in reversed(owned):
        library.destroy(kind, made)
