"""Schedules: fused by hand, with the class and the tile of kernels that they name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from mlir.dialects import transform as upstream
from relax_mlir import op, transform
from relax_mlir.dialects import transform as schedules

SEQUENCE = """
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @__transform_main(%module: !transform.any_op) {{
    {}
    transform.yield
  }}
}}
"""
HANDLE = "(!transform.any_op) -> !transform.any_op"
FUSE_ALL = f"""
    %all = transform.relax.match_calls in %module : {HANDLE}
    %function, %call = transform.relax.fuse %all
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
"""


def schedule(text: str) -> transform.Sequential:
    steps = [
        transform.Normalize(),
        transform.LegalizeOps(),
        transform.ApplySchedule(SEQUENCE.format(text)),
    ]
    return transform.Sequential(steps, name="by hand")


def set_kernel(pattern: str, kernel: str) -> str:
    """A schedule for all kernels of a kind."""
    return f"""
    %calls = transform.relax.match_calls in %module {{pattern = "{pattern}"}} : {HANDLE}
    %kernels = transform.relax.get_callee %calls : {HANDLE}
    transform.relax.set_kernel %kernels class {kernel} : !transform.any_op
    """


def tiles(tile: tuple[int, int], name: str = "matmul") -> str:
    return set_kernel("out-elementwise-fusable", f'"{name}" tile [{tile[0]}, {tile[1]}]')


def set_function(tile: tuple[int, int]) -> str:
    """A schedule for what `FUSE_ALL` has fused."""
    return f"""
    transform.relax.set_kernel %function class "matmul" tile [{tile[0]}, {tile[1]}]
        : !transform.any_op
    """


def write(function: Callable[..., Any], *types: tuple[tuple[Any, ...], str]) -> Any:
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, dtype))
        for i, (shape, dtype) in enumerate(types)
    ]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(function(*params))
        bb.emit_func_output(out)
    return bb.get()


def compile_with(mod: Any, text: str, folder: Path | None = None, **options: Any) -> Any:
    """Return `main`; the text of the phase of kernels is in the folder."""
    executable = relax.compile(mod, relax_pipeline=schedule(text), dump_phases=folder, **options)
    return relax.VirtualMachine(executable)["main"]


def kernels_of(folder: Path) -> str:
    (path,) = folder.glob("*kernels*")
    return path.read_text()


def numbers(*shape: int, dtype: str = "float32") -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    if np.dtype(dtype).kind == "i":
        return rng.integers(-100, 100, shape, dtype)
    return rng.standard_normal(shape).astype(dtype)


def test_what_is_fused_by_hand_is_one_kernel_of_its_class_and_tile(tmp_path: Path) -> None:
    mod = write(
        lambda x, w, b: op.exp(op.nn.relu(op.add(op.matmul(x, w), b))),
        (("n", 64), "float32"),
        ((64, 96), "float32"),
        ((96,), "float32"),
    )
    main = compile_with(mod, FUSE_ALL + set_function((2, 32)), tmp_path, vector_bits=256)
    kernels = kernels_of(tmp_path)
    assert re.findall(r'relax\.kernel_class = "(\w+)"', kernels) == ["matmul"]
    assert "relax.schedule" not in kernels
    # Tiles of many rows have 2 rows x 4 vectors instead of 4 x 3, or of 2 x 3 with two of each sum.
    sums = {
        len(re.findall(r"vector<8xf32>", types))
        for types in re.findall(r"scf\.for .* -> \(((?:vector<8xf32>(?:, )?)+)\)", kernels)
    }
    assert 8 in sums
    for rows in (0, 1, 3, 7, 100):
        x, w, b = numbers(rows, 64), numbers(64, 96) / 8, numbers(96)
        expected = np.exp(np.maximum(x @ w + b, 0))
        np.testing.assert_allclose(main(x, w, b).numpy(), expected, rtol=1e-3)


@pytest.mark.parametrize("tile", [(1, 8), (1, 256), (2, 32), (8, 16), (16, 16), (32, 8)])
@pytest.mark.parametrize(("dtype", "sums"), [("float32", "float32"), ("int8", "int32")])
def test_products_are_right_with_any_tile(tile: tuple[int, int], dtype: str, sums: str) -> None:
    mod = write(lambda x, w: op.matmul(x, w, out_dtype=sums), (("m", 70), dtype), ((70, 90), dtype))
    main = compile_with(mod, tiles(tile), vector_bits=256)
    for rows in (1, 3, 6, 65):
        x, w = numbers(rows, 70, dtype=dtype), numbers(70, 90, dtype=dtype)
        expected = x.astype(sums) @ w.astype(sums)
        np.testing.assert_allclose(main(x, w).numpy(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tile", [(1, 16), (4, 32), (16, 8)])
@pytest.mark.parametrize("is_left", [False, True])
def test_transposed_matrices_are_packed_for_the_tile(tile: tuple[int, int], is_left: bool) -> None:
    def function(x: Any, w: Any) -> Any:
        return op.matmul(op.permute_dims(x), w) if is_left else op.matmul(x, op.permute_dims(w))

    shapes = ((70, 33), (70, 90)) if is_left else ((33, 70), (90, 70))
    mod = write(function, *((shape, "float32") for shape in shapes))
    main = compile_with(mod, FUSE_ALL + set_function(tile), vector_bits=256)
    x, w = (numbers(*shape) for shape in shapes)
    expected = x.T @ w if is_left else x @ w.T
    np.testing.assert_allclose(main(x, w).numpy(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tile", [(2, 16), (4, 64)])
def test_constants_are_packed_for_the_tile(tile: tuple[int, int], tmp_path: Path) -> None:
    weights = numbers(70, 90)
    mod = write(lambda x: op.matmul(x, weights), (("n", 70), "float32"))
    main = compile_with(mod, tiles(tile), tmp_path, vector_bits=256)
    (legalized,) = tmp_path.glob("*legalize*")
    assert f"x70x{tile[1]}xf32>" in legalized.read_text()  # panels of so many columns
    for rows in (1, 5, 65):
        x = numbers(rows, 70)
        np.testing.assert_allclose(main(x).numpy(), x @ weights, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tile", [(1, 8), (8, 32)])
def test_quantized_weights_have_tiles(tile: tuple[int, int]) -> None:
    weights = numbers(64, 90)
    mod = write(lambda x: op.matmul(x, weights), (("n", 64), "float32"))
    plain = relax.VirtualMachine(relax.compile(mod, weights="int4-g32"))["main"]
    compressed = transform.CompressWeights("int4-g32")(mod)
    main = compile_with(compressed, FUSE_ALL + set_function(tile), vector_bits=256)
    x = numbers(40, 64)
    np.testing.assert_allclose(main(x).numpy(), plain(x).numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tile", [(8, 3), (16, 5), (24, 7), (8, 28)])
def test_direct_convolutions_are_right_with_any_tile(tile: tuple[int, int]) -> None:
    # With 3 x 3 windows and stride 1 Winograd's algorithm is not used, either.
    weights = numbers(40, 16, 3, 3) / 8
    mod = write(lambda x: op.nn.conv2d(x, weights, padding=1), ((1, 16, 12, 13), "float32"))
    main = compile_with(mod, tiles(tile, "conv2d"), vector_bits=256)
    expected = relax.VirtualMachine(relax.compile(mod, emit_kernels=False))["main"]
    x = numbers(1, 16, 12, 13)
    np.testing.assert_allclose(main(x).numpy(), expected(x).numpy(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("is_constant", [False, True])
@pytest.mark.parametrize("tile", [(2, 8), (16, 16), (4, 40)])
def test_pointwise_convolutions_are_right_with_any_tile(
    tile: tuple[int, int], is_constant: bool
) -> None:
    weights = numbers(24, 16, 1, 1)
    types = [((1, 16, 9, 7), "float32"), (weights.shape, "float32")][: 1 if is_constant else 2]
    mod = write(lambda x, w=weights: op.nn.conv2d(x, w), *types)
    main = compile_with(mod, tiles(tile, "conv2d"), vector_bits=256)
    x = numbers(1, 16, 9, 7)
    expected = np.einsum("oi,nihw->nohw", weights[:, :, 0, 0], x)
    given = main(x) if is_constant else main(x, weights)
    np.testing.assert_allclose(given.numpy(), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["none", "matmul"])
def test_another_class_gives_the_same_numbers(name: str, tmp_path: Path) -> None:
    mod = write(op.matmul, ((5, 7), "float32"), ((7, 9), "float32"))
    text = set_kernel("out-elementwise-fusable", f'"{name}"')
    main = compile_with(mod, text, tmp_path)
    assert ('kernel_class = "matmul"' in kernels_of(tmp_path)) == (name == "matmul")
    x, w = numbers(5, 7), numbers(7, 9)
    np.testing.assert_allclose(main(x, w).numpy(), x @ w, rtol=1e-3, atol=1e-3)


def test_constants_of_kernels_without_class_stay_as_they_are() -> None:
    weights = numbers(7, 9)
    mod = write(lambda x: op.matmul(x, weights), (("n", 7), "float32"))
    main = compile_with(mod, set_kernel("out-elementwise-fusable", '"none"'))
    x = numbers(5, 7)
    np.testing.assert_allclose(main(x).numpy(), x @ weights, rtol=1e-3, atol=1e-3)


def test_operators_are_fused_before_they_are_kernels() -> None:
    mod = write(lambda x: op.exp(op.nn.relu(op.sum(x, axis=1))), (("n", 7), "float32"))
    fuse = transform.ApplySchedule(SEQUENCE.format(FUSE_ALL))
    fused = fuse(mod)
    assert "relax.func private @fused_sum_relu_exp" in str(fused)
    main = relax.VirtualMachine(relax.compile(fused))["main"]
    x = numbers(5, 7)
    np.testing.assert_allclose(main(x).numpy(), np.exp(np.maximum(x.sum(1), 0)), rtol=1e-3)


def test_several_results_of_one_kernel() -> None:
    mod = write(lambda x: op.multiply(op.exp(x), op.negative(x)), (("n", 7), "float32"))
    # The product is another kernel, so the one before it has two results.
    text = f"""
    %exp = transform.relax.match_calls in %module {{kernel = "exp"}} : {HANDLE}
    %negative = transform.relax.match_calls in %module {{kernel = "negative"}} : {HANDLE}
    %both = transform.merge_handles %exp, %negative : !transform.any_op
    %function, %call = transform.relax.fuse %both
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    """
    fused = transform.Sequential([schedule(text), transform.FuseTIR()])(mod)
    assert "relax.call_tir @fused_exp_negative" in str(fused)
    x = numbers(5, 7)
    main = relax.VirtualMachine(relax.compile(fused))["main"]
    np.testing.assert_allclose(main(x).numpy(), np.exp(x) * -x, rtol=1e-3)


def test_a_tile_that_cannot_be_is_an_error() -> None:
    mod = write(op.matmul, ((5, 7), "float32"), ((7, 9), "float32"))
    with pytest.raises(ir.MLIRError, match=r"expected a tile of rows, a power of two.* \[3, 20\]"):
        compile_with(mod, tiles((3, 20)))


def test_a_class_that_does_not_match_is_an_error() -> None:
    mod = write(op.matmul, ((5, 7), "float32"), ((7, 9), "float32"))
    text = set_kernel("out-elementwise-fusable", '"conv2d"')
    with pytest.raises(ir.MLIRError, match="but got one of class 'matmul'"):
        compile_with(mod, text)


def test_depthwise_convolutions_have_no_tile() -> None:
    weights = numbers(8, 1, 3, 3)
    mod = write(lambda x: op.nn.conv2d(x, weights, groups=8), ((1, 8, 9, 9), "float32"))
    with pytest.raises(ir.MLIRError, match="expected no tile for a depthwise convolution"):
        compile_with(mod, tiles((8, 8), "conv2d"))


def test_errors_of_schedules_are_those_of_the_pass() -> None:
    mod = write(op.exp, (("n",), "float32"))
    fuse = transform.ApplySchedule(
        SEQUENCE.format(FUSE_ALL.replace("in %module :", "in %module {rank = 2} :")), "fuse"
    )
    with pytest.raises(transform.PassError, match="expected bindings to fuse, but got none"):
        fuse(mod)


def test_schedules_are_checked_when_they_are_made() -> None:
    with pytest.raises(ValueError, match=r"expected a module with transform.named_sequence"):
        transform.ApplySchedule("module {}")
    with pytest.raises(ir.MLIRError, match=r"one of elementwise, .* but got 'gemm'"):
        transform.ApplySchedule(
            SEQUENCE.format('transform.relax.set_kernel %module class "gemm" : !transform.any_op')
        )


def test_a_sequence_of_the_module_is_run_by_the_interpreter() -> None:
    text = SEQUENCE.format(FUSE_ALL).replace(
        "  transform.named_sequence",
        """
  relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
    %0 = relax.dataflow -> !relax.tensor<[n], f32> {
      %1 = relax.exp %x : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      %2 = relax.log %1 : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.output %2 : !relax.tensor<[n], f32>
    }
    relax.return %0 : !relax.tensor<[n], f32>
  }
  transform.named_sequence""",
    )
    passes = [transform.LegalizeOps(), transform.MLIRPass("transform-interpreter")]
    assert "relax.call @fused_exp_log(%x)" in str(transform.Sequential(passes)(text))


def test_functions_that_call_themselves_are_not_split() -> None:
    mod = """
    relax.func private @again(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
        attributes {Primitive = true} {
      %0 = relax.call @again(%x) : (!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>
      relax.return %0 : !relax.tensor<[n], f32>
    }"""
    text = f"""
    %calls = transform.structured.match ops{{["relax.call"]}} in %module : {HANDLE}
    %bindings = transform.relax.split %calls : {HANDLE}
    """
    with pytest.raises(transform.PassError, match="expected the call of a fused function"):
        transform.ApplySchedule(SEQUENCE.format(text))(mod)


def test_the_text_of_the_page_runs() -> None:
    page = Path(__file__).parents[3] / "docs" / "howto" / "schedule.md"
    blocks = re.findall(r"^```mlir\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    passes = transform.MLIRPass("relax-legalize-ops,transform-interpreter")
    assert 'relax.schedule = {class = "none"}' in str(passes(blocks[0]))
    interpreter = transform.MLIRPass("transform-interpreter")
    assert re.search(r"relax\.add .* \{bias\}", str(interpreter(blocks[1])))


def test_contexts_that_are_older_than_the_package_know_schedules() -> None:
    context = ir.Context()
    relax.load_dialect(context)
    module = ir.Module.parse(SEQUENCE.format(FUSE_ALL), context)
    assert "transform.relax.fuse" in str(module)


def test_schedules_are_built_in_python() -> None:
    """Each operation, as its text has it."""
    with relax.default_context(), ir.Location.unknown():
        module = ir.Module.create()
        module.operation.attributes["transform.with_named_sequence"] = ir.UnitAttr.get()
        with ir.InsertionPoint(module.body):
            handle = upstream.AnyOpType.get()
            main = upstream.NamedSequenceOp("__transform_main", [handle], [])
        with ir.InsertionPoint(main.body):
            root, f32 = main.bodyTarget, ir.F32Type.get()
            found = schedules.match_calls(
                root, kernel="add", pattern="broadcast", rank=2, dtype=f32, dims="symbolic"
            )
            function, call = schedules.fuse(found)
            schedules.set_kernel(function, "none")
            products = schedules.match_calls(schedules.split(call))
            schedules.set_kernel(schedules.get_callee(products), "matmul", tile=[2, 32])
            upstream.YieldOp()
    by_hand = SEQUENCE.format(f"""
    %found = transform.relax.match_calls in %module {{
      kernel = "add", pattern = "broadcast", rank = 2, dtype = f32, dims = "symbolic"
    }} : {HANDLE}
    %function, %call = transform.relax.fuse %found
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.relax.set_kernel %function class "none" : !transform.any_op
    %bindings = transform.relax.split %call : {HANDLE}
    %products = transform.relax.match_calls in %bindings : {HANDLE}
    %kernels = transform.relax.get_callee %products : {HANDLE}
    transform.relax.set_kernel %kernels class "matmul" tile [2, 32] : !transform.any_op
    """)
    with relax.default_context():
        assert str(module) == str(ir.Module.parse(by_hand))
    transform.ApplySchedule(module)
