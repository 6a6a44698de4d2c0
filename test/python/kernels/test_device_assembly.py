"""The assembler of NVIDIA takes the kernels of GPUs, whose values all stay in registers."""

import re

import pytest
import relax_mlir as relax
from assembled import ARCHS, assemble, find_ptxas, image_of
from kernel_programs import write
from relax_mlir import op

pytestmark = pytest.mark.skipif(find_ptxas() is None, reason="needs ptxas, which is not installed")

MATRICES = [("m", "k"), ("k", "n")]
TRANSPOSED = [("m", "k"), ("n", "k")]
IMAGE = [("b", 64, "h", "w"), (64, 64, 3, 3)]
HEADS = [("b", "q", 8, 64), ("b", "s", 8, 64), ("b", "s", 8, 64)]
LONG_HEADS = [("b", "q", 8, 128), ("b", "s", 8, 128), ("b", "s", 8, 128)]
QUERY = [("b", 1, 8, 128), ("b", "s", 8, 128), ("b", "s", 8, 128)]
TF32 = {"tf32": True}
WARPGROUPS = {"target": "cuda -arch=sm_90a"}


def linear(x, w):
    return op.nn.gelu(op.matmul(x, op.permute_dims(w, [1, 0])))


def layer_norm(x, scale, bias):
    return op.nn.layer_norm(x, scale, bias, axes=[-1])


PROGRAMS = {
    "product": (op.matmul, "float32", MATRICES, {}),
    "product_tf32": (op.matmul, "float32", MATRICES, TF32),
    "product_float16": (op.matmul, "float16", MATRICES, {}),
    "product_bfloat16": (op.matmul, "bfloat16", MATRICES, {}),
    "linear": (linear, "float32", TRANSPOSED, {}),
    "linear_tf32": (linear, "float32", TRANSPOSED, TF32),
    "linear_float16": (linear, "float16", TRANSPOSED, {}),
    "product_wgmma": (op.matmul, "float16", MATRICES, WARPGROUPS),
    "linear_wgmma": (linear, "float16", TRANSPOSED, WARPGROUPS),
    "attention": (op.nn.attention, "float16", HEADS, {}),
    "attention_bfloat16": (op.nn.attention, "bfloat16", LONG_HEADS, {}),
    "attention_of_a_query": (op.nn.attention, "float16", QUERY, {}),
    "attention_float32": (op.nn.attention, "float32", HEADS, {}),
    "convolution": (lambda x, w: op.nn.conv2d(x, w, padding=1), "float32", IMAGE, {}),
    "convolution_tf32": (lambda x, w: op.nn.conv2d(x, w, padding=1), "float32", IMAGE, TF32),
    "convolution_float16": (lambda x, w: op.nn.conv2d(x, w, padding=1), "float16", IMAGE, {}),
    "softmax": (op.nn.softmax, "float32", [("n", "m")], {}),
    "softmax_float16": (op.nn.softmax, "float16", [("n", "m")], {}),
    "layer_norm": (layer_norm, "float32", [("n", 768), (768,), (768,)], {}),
    "sum_of_columns": (lambda x: op.sum(x, axis=[0]), "float32", [("n", "m")], {}),
    "gelu": (op.nn.gelu, "float32", [("n", "m")], {}),
    "scan": (lambda x: op.cumsum(x, 1), "float32", [("n", "m")], {}),
    "sort": (lambda x: op.sort(x, 1), "float32", [("n", "m")], {}),
    "best": (lambda x: op.argmax(x, 1), "float16", [("n", "m")], {}),
    "window": (lambda x: op.nn.max_pool2d(x, (3, 3)), "float32", [("n", 8, "h", "w")], {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_assembled_without_spills(name):
    function, dtype, shapes, options = PROGRAMS[name]
    bb = write(function, tuple((shape, dtype) for shape in shapes))
    image = image_of(relax.compile(bb, **{"target": "cuda", **options}))
    archs = ("sm_90a",) if options == WARPGROUPS else ARCHS
    kernels = [kernel for arch in archs for kernel in assemble(image, arch)]
    print(*kernels, sep="\n")
    assert kernels
    assert [kernel for kernel in kernels if kernel.spills] == []


def test_sizes_are_divisors_without_subroutines():
    """Quotients of 64 bits are calls for the assembler; those by sizes are products."""
    bb = write(lambda x: op.permute_dims(x, [2, 0, 1]), [(("a", "b", "c"), "float32")])
    image = image_of(relax.compile(bb, target="cuda"))
    assert "mul.hi.u64" in image
    assert not re.search(r"\b(div|rem)\.[us](32|64)", image)
