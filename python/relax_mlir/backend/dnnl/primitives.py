# Part of the relax-mlir project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products and convolutions for certain shapes, as primitives of oneDNN."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from .library import DNNLError, Library

_F32 = 3
_ANY = 1  # a layout that the library chooses
_INFERENCE = 96
_DIRECT = 1
_IN_ORDER = 1
_BINARY_ADD = 0x1FFF0
# What to ask for a layout that the library has chosen.
_QUERY = {"src": 129, "weights": 131, "dst": 133}
_QUERY_ARGUMENT = 255

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


_INDICES = {
    "src": _SRC,
    "weights": _WEIGHTS,
    "bias": _BIAS,
    "sum": _POST_OP | _SRC_1,
    "dst": _DST,
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
    given, layouts : dict of str to int
        The layout of each argument: without gaps, and as the primitive has it. Arguments are
        ``src``, ``weights``, ``bias``, ``sum`` and ``dst``.
    memory : dict of str to int
        The memory of each argument, which has no data.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self.given: dict[str, int] = {}
        self.layouts: dict[str, int] = {}
        self.memory: dict[str, int] = {}
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

    def finish(self, description: int) -> None:
        """Create the primitive, and the memory of its arguments."""
        library = self._library
        self._own("primitive_desc", description)
        self._primitive = self._own("primitive", library.create("primitive_create", description))
        self._arguments = (_Argument * len(self.layouts))()
        for place, (name, layout) in enumerate(self.layouts.items()):
            made = library.create("memory_create", layout, library.engine, None)
            self._arguments[place] = _Argument(_INDICES[name], self._own("memory", made))
            self.memory[name] = made

    def choose(self, description: int, names: Sequence[str]) -> None:
        """Note the layouts of arguments that the library has chosen."""
        for name in names:
            if name == "sum":
                found = self._library.query_md(description, _QUERY_ARGUMENT, _INDICES[name])
            else:
                found = self._library.query_md(description, _QUERY[name], 0)
            if not found:
                raise DNNLError(f"oneDNN: no layout for '{name}'")
            self.layouts[name] = int(found)

    def execute(self, stream: int) -> None:
        """Run the primitive on the data that the memory of its arguments has."""
        count = len(self._arguments)
        self._library.call("primitive_execute", self._primitive, stream, count, self._arguments)


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

    def get(self, plain: int, wanted: int, owner: Primitive) -> np.ndarray:
        """Return the weights in a layout, as bytes.

        Parameters
        ----------
        plain, wanted : int
            The layout that they have, and that of the result.
        owner : Primitive
            What keeps the description of the layout.
        """
        for layout, _, packed in self._packed:
            if self._library.are_equal(layout, wanted):
                return packed
        packed = np.empty(self._library.size_of(wanted), np.uint8)
        self._reorder(plain, wanted, packed)
        self._packed.append((wanted, owner, packed))
        return packed

    def _reorder(self, plain: int, wanted: int, packed: np.ndarray) -> None:
        reorder = make_reorder(self._library, plain, wanted)
        for name, array in (("src", self._array), ("dst", packed)):
            self._library.call("memory_set_data_handle", reorder.memory[name], array.ctypes.data)
        Stream(self._library).run([reorder])


def make_reorder(library: Library, source: int, target: int) -> Primitive:
    """Return what copies a tensor from one layout to another."""
    made = Primitive(library)
    engine = library.engine
    create = "reorder_primitive_desc_create"
    description = library.create(create, source, engine, target, engine, None)
    made.given = made.layouts = {"src": source, "dst": target}
    made.finish(description)
    return made


def make_matmul(
    library: Library,
    shapes: dict[str, Sequence[int]],
    *,
    transposed: bool,
    activation: str | None,
    is_constant: bool,
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
    is_constant : bool
        Whether the weights are constant: then the library chooses their layout.
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
    given = {"src": made.plain(source), "weights": made.describe(weights, strides)}
    if "bias" in shapes:
        given["bias"] = made.plain([1] * (len(dst) - 1) + [dst[-1]])
    if "sum" in shapes:
        given["sum"] = made.plain(dst)
    given["dst"] = made.plain(dst)
    description = library.create(
        "matmul_primitive_desc_create",
        library.engine,
        given["src"],
        made.describe(weights) if is_constant else given["weights"],
        given.get("bias"),
        given["dst"],
        made.attributes(activation, given.get("sum")),
    )
    made.given, made.layouts = given, dict(given)
    if is_constant:
        made.choose(description, ["weights"])
    made.finish(description)
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
) -> Primitive:
    """Return a convolution of images, of which the library chooses the layouts.

    Parameters
    ----------
    library, shapes, activation
        As of `make_matmul`.
    strides, padding, dilation : sequence of int
        As of ``relax.nn.conv2d``, with four paddings.
    groups : int
    """
    made = Primitive(library)
    weights = list(shapes["weights"])
    if groups > 1:
        weights = [groups, weights[0] // groups, *weights[1:]]
    sizes = {"src": shapes["src"], "weights": weights, "dst": shapes["dst"]}
    if "sum" in shapes:
        sizes["sum"] = shapes["dst"]
    given = {name: made.plain(size) for name, size in sizes.items()}
    chosen = {name: made.describe(size) for name, size in sizes.items()}
    if "bias" in shapes:
        given["bias"] = made.plain([shapes["dst"][1]])
    description = library.create(
        "convolution_forward_primitive_desc_create",
        library.engine,
        _INFERENCE,
        _DIRECT,
        chosen["src"],
        chosen["weights"],
        given.get("bias"),
        chosen["dst"],
        _array(strides),
        _array([each - 1 for each in dilation]),
        _array(padding[:2]),
        _array(padding[2:]),
        made.attributes(activation, chosen.get("sum")),
    )
    made.given, made.layouts = given, dict(given)
    made.choose(description, list(sizes))
    made.finish(description)
    return made
