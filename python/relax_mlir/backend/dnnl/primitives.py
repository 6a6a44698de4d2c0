# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and convolutions for certain shapes, as primitives of oneDNN."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .library import Library

_F32 = 3
_ANY = 1  # a layout that the library chooses
_INFERENCE = 96
_DIRECT = 1
_IN_ORDER = 1
_BINARY_ADD = 0x1FFF0
_QUERY_WEIGHTS = 131

# Arguments of primitives.
_SRC, _DST, _WEIGHTS, _BIAS = 1, 17, 33, 41
_SRC_1 = 2
_POST_OP = 32768

# The algorithms of elementwise operations, in the order of their numbers from 0x20 on.
_KINDS = """
relu tanh elu square abs sqrt linear soft_relu hardsigmoid logistic exp gelu_tanh swish log clip
clip_v2 pow gelu_erf
"""
_BY_KIND = {name: 0x20 + index for index, name in enumerate(_KINDS.split())}
#: The algorithm of each activation, with its parameter.
ACTIVATIONS = {
    "relax.relu": (_BY_KIND["relu"], 0.0),
    "relax.tanh": (_BY_KIND["tanh"], 0.0),
    "relax.sigmoid": (_BY_KIND["logistic"], 0.0),
    "relax.gelu": (_BY_KIND["gelu_erf"], 0.0),
    "relax.gelu_tanh": (_BY_KIND["gelu_tanh"], 0.0),
    "relax.silu": (_BY_KIND["swish"], 1.0),
}


class _Argument(ctypes.Structure):
    _fields_ = [("index", ctypes.c_int), ("memory", ctypes.c_void_p)]


def _array(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


def row_major(shape: Sequence[int]) -> list[int]:
    """Return the strides of a tensor without gaps.

    Examples
    --------
    >>> row_major([2, 3, 4])
    [12, 4, 1]
    """
    strides = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return strides


class Primitive:
    """A primitive and the memory of its arguments.

    Parameters
    ----------
    library : Library

    Attributes
    ----------
    slots : list of (int, str)
        The memory of each argument, and its name: ``src``, ``weights``, ``bias``, ``sum``, ``dst``.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self.slots: list[tuple[int, str]] = []
        self._primitive = 0
        self._arguments: Any = None
        self._owned: list[tuple[str, int]] = []
        weakref.finalize(self, _destroy, library, self._owned)

    def _own(self, kind: str, made: int) -> int:
        self._owned.append((f"{kind}_destroy", made))
        return made

    def describe(self, shape: Sequence[int], strides: Sequence[int] | None = None) -> int:
        """Return a description of memory; in any layout where there are no strides."""
        dims = _array(shape)
        if strides is None:
            made = self._library.create("memory_desc_create_with_tag", len(shape), dims, _F32, _ANY)
        else:
            create = "memory_desc_create_with_strides"
            made = self._library.create(create, len(shape), dims, _F32, _array(strides))
        return self._own("memory_desc", made)

    def plain(self, shape: Sequence[int]) -> int:
        """Return the description of a tensor without gaps."""
        return self.describe(shape, row_major(shape))

    def attributes(self, activation: str | None, added: int | None) -> int:
        """Return the attributes of a primitive: what follows it.

        Parameters
        ----------
        activation : str, optional
            The name of an operation.
        added : int, optional
            The description of a tensor that is added before.
        """
        library = self._library
        ops = self._own("post_ops", library.create("post_ops_create"))
        if added is not None:
            library.call("post_ops_append_binary", ops, _BINARY_ADD, added)
        if activation is not None:
            kind, alpha = ACTIVATIONS[activation]
            library.call("post_ops_append_eltwise", ops, kind, alpha, 0.0)
        made = self._own("primitive_attr", library.create("primitive_attr_create"))
        library.call("primitive_attr_set_post_ops", made, ops)
        return made

    def finish(self, description: int, memory: dict[str, int]) -> None:
        """Create the primitive, with the memory of its arguments by their names."""
        library = self._library
        self._own("primitive_desc", description)
        self._primitive = self._own("primitive", library.create("primitive_create", description))
        indices = {
            "src": _SRC,
            "weights": _WEIGHTS,
            "bias": _BIAS,
            "sum": _POST_OP | _SRC_1,
            "dst": _DST,
        }
        self._arguments = (_Argument * len(memory))()
        for place, (name, layout) in enumerate(memory.items()):
            made = library.create("memory_create", layout, library.engine, None)
            self._arguments[place] = _Argument(indices[name], self._own("memory", made))
            self.slots.append((made, name))

    def execute(self, stream: int) -> None:
        """Run the primitive on the data that the memory of its arguments has."""
        count = len(self._arguments)
        self._library.call("primitive_execute", self._primitive, stream, count, self._arguments)

    def chosen_weights(self, description: int) -> int:
        """Return the layout of weights that the library has chosen."""
        return int(self._library.query_md(description, _QUERY_WEIGHTS, 0))


def _destroy(library: Library, owned: list[tuple[str, int]]) -> None:
    for name, made in reversed(owned):
        library.function(name)(made)


class Stream:
    """Where primitives run, one after the other.

    Parameters
    ----------
    library : Library

    Attributes
    ----------
    handle : int
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self.handle = library.create("stream_create", library.engine, _IN_ORDER)
        weakref.finalize(self, _destroy, library, [("stream_destroy", self.handle)])

    def run(self, primitives: Sequence[Primitive]) -> None:
        """Run primitives on what the memory of their arguments has, and wait for them."""
        for primitive in primitives:
            primitive.execute(self.handle)
        self._library.call("stream_wait", self.handle)


class PackedWeights:
    """Constant weights in the layouts that primitives want, each of which is made once.

    Parameters
    ----------
    library : Library
    array : numpy.ndarray
        The weights, without gaps.
    """

    def __init__(self, library: Library, array: np.ndarray) -> None:
        self._library = library
        self._array = array
        self._packed: list[tuple[int, Primitive, np.ndarray]] = []

    def address(self, plain: int, wanted: int, owner: Primitive) -> int:
        """Return the address of the weights in a layout.

        Parameters
        ----------
        plain, wanted : int
            The layout that they have, and that of the result.
        owner : Primitive
            What keeps the description of the layout.
        """
        library = self._library
        if library.are_equal(plain, wanted):
            return int(self._array.ctypes.data)
        for layout, _, packed in self._packed:
            if library.are_equal(layout, wanted):
                return int(packed.ctypes.data)
        packed = np.empty(library.size_of(wanted), np.uint8)
        self._reorder(plain, wanted, packed)
        self._packed.append((wanted, owner, packed))
        return int(packed.ctypes.data)

    def _reorder(self, plain: int, wanted: int, packed: np.ndarray) -> None:
        library = self._library
        reorder = Primitive(library)
        engine = library.engine
        create = "reorder_primitive_desc_create"
        description = library.create(create, plain, engine, wanted, engine, None)
        reorder.finish(description, {"src": plain, "dst": wanted})
        (source, _), (target, _) = reorder.slots
        library.call("memory_set_data_handle", source, self._array.ctypes.data)
        library.call("memory_set_data_handle", target, packed.ctypes.data)
        Stream(library).run([reorder])


Weights = Callable[[Primitive, int, int], None]


def make_matmul(
    library: Library,
    shapes: dict[str, Sequence[int]],
    *,
    transposed: bool,
    activation: str | None,
    pack: Weights | None,
) -> Primitive:
    """Return a product of matrices.

    Parameters
    ----------
    library : Library
    shapes : dict of str to sequence of int
        Of ``src``, ``weights``, ``dst``, and of ``bias`` and ``sum`` where there are such.
    transposed : bool
        Whether the last two dimensions of the weights are swapped.
    activation : str, optional
    pack : callable, optional
        Is told the primitive, and the layouts of the weights: the given, and the best one. Without,
        they stay as they are.
    """
    made = Primitive(library)
    dst = list(shapes["dst"])
    rank = len(dst)
    source, weights = _full(shapes["src"], rank), _full(shapes["weights"], rank)
    if len(shapes["weights"]) == 2 and rank > 2:  # one product of all rows
        rows = int(np.prod(dst[:-1], dtype=np.int64))
        source, weights, dst = [rows, source[-1]], weights[-2:], [rows, dst[-1]]
    strides = row_major(weights)
    if transposed:
        weights[-2:] = weights[:-3:-1]
        strides[-2:] = strides[:-3:-1]
    given = made.describe(weights, strides)
    memory = {
        "src": made.plain(source),
        "weights": given if pack is None else made.describe(weights),
    }
    if "bias" in shapes:
        memory["bias"] = made.plain([1] * (len(dst) - 1) + [dst[-1]])
    added = made.plain(dst) if "sum" in shapes else None
    if added is not None:
        memory["sum"] = added
    memory["dst"] = made.plain(dst)
    attributes = made.attributes(activation, added)
    description = library.create(
        "matmul_primitive_desc_create",
        library.engine,
        memory["src"],
        memory["weights"],
        memory.get("bias"),
        memory["dst"],
        attributes,
    )
    if pack is not None:
        memory["weights"] = made.chosen_weights(description)
    made.finish(description, memory)
    if pack is not None:
        pack(made, given, memory["weights"])
    return made


def _full(shape: Sequence[int], rank: int) -> list[int]:
    return [1] * (rank - len(shape)) + list(shape)


def make_convolution(
    library: Library,
    shapes: dict[str, Sequence[int]],
    *,
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    activation: str | None,
    pack: Weights | None,
) -> Primitive:
    """Return a convolution of images, in the layouts NCHW and OIHW.

    Parameters
    ----------
    library, shapes, activation, pack
        As of `make_matmul`.
    strides, padding, dilation : sequence of int
        As of ``relax.nn.conv2d``, with four paddings.
    groups : int
    """
    made = Primitive(library)
    weights = list(shapes["weights"])
    if groups > 1:
        weights = [groups, weights[0] // groups, *weights[1:]]
    given = made.plain(weights)
    memory = {
        "src": made.plain(shapes["src"]),
        "weights": given if pack is None else made.describe(weights),
    }
    if "bias" in shapes:
        memory["bias"] = made.plain([shapes["dst"][1]])
    added = made.plain(shapes["dst"]) if "sum" in shapes else None
    if added is not None:
        memory["sum"] = added
    memory["dst"] = made.plain(shapes["dst"])
    attributes = made.attributes(activation, added)
    description = library.create(
        "convolution_forward_primitive_desc_create",
        library.engine,
        _INFERENCE,
        _DIRECT,
        memory["src"],
        memory["weights"],
        memory.get("bias"),
        memory["dst"],
        _array(strides),
        _array([each - 1 for each in dilation]),
        _array(padding[:2]),
        _array(padding[2:]),
        attributes,
    )
    if pack is not None:
        memory["weights"] = made.chosen_weights(description)
    made.finish(description, memory)
    if pack is not None:
        pack(made, given, memory["weights"])
    return made
