"""Kernels that are matrix products, against NumPy in float64."""

from __future__ import annotations

import functools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
import relax_mlir as relax
from hypothesis import example, given, settings
from kernel_programs import classes
from relax_mlir import op

NUMPY = {"f16": "float16", "f32": "float32", "f64": "float64"}


def tensor(dims, dtype, sizes):
    return f"tensor<{''.join(f'{sizes.get(d, chr(63))}x' for d in dims)}{dtype}>"


def relax_tensor(dims, dtype, sizes):
    return f"!relax.tensor<[{', '.join(str(sizes.get(d, d)) for d in dims)}], {dtype}>"


def affine(loops, dims, sizes=()):
    results = ", ".join("0" if d in sizes and sizes[d] == 1 else d for d in dims)
    return f"affine_map<({', '.join(loops)}) -> ({results})>"


# The body of an operation after the product, of its element %x and that of a parameter, %y.
STEPS = {
    "add": "%r = arith.addf %x, %y : f32",
    "relu": "%z = arith.constant 0.0 : f32\n%r = arith.maximumf %x, %z : f32",
    "tanh": "%r = math.tanh %x : f32",
    "narrow": "%r = arith.truncf %x : f32 to f16",
}
VALUES = {
    "add": lambda x, y: x + y,
    "relu": lambda x, y: np.maximum(x, 0),
    "tanh": lambda x, y: np.tanh(x),
    "narrow": lambda x, y: x.astype("float16"),
}


def program(spec, dtypes="f32", steps=(), sizes=None):
    """Write a function that calls a kernel: an einsum, and steps (name, dimensions of %y)."""
    sizes = sizes or {}
    operands, result = spec.split("->")
    lhs, rhs = operands.split(",")
    loops = [*result, *dict.fromkeys(d for d in lhs + rhs if d not in result)]
    kinds = ", ".join(f'"{"parallel" if d in result else "reduction"}"' for d in loops)
    stored, total = dtypes if isinstance(dtypes, tuple) else (dtypes, dtypes)
    sums = tensor(result, total, sizes)
    params = [(lhs, stored), (rhs, stored)] + [
        (dims, total) for _, dims in steps if dims is not None
    ]
    out_type = "f16" if steps and steps[-1][0] == "narrow" else total
    params.append((result, out_type))
    names = [f"%p{i}" for i in range(len(params))]
    body = [f"%zero = arith.constant 0.0 : {total}"]
    dynamic = []
    for axis, dim in enumerate(result):
        if dim not in sizes:
            body.append(f"%c{axis} = arith.constant {axis} : index")
            body.append(
                f"%d{axis} = tensor.dim {names[-1]}, %c{axis} : {tensor(result, out_type, sizes)}"
            )
            dynamic.append(f"%d{axis}")
    body.append(f"%e = tensor.empty({', '.join(dynamic)}) : {sums}")
    body.append(f"%f = linalg.fill ins(%zero : {total}) outs(%e : {sums}) -> {sums}")
    extend = f"arith.extf %x : {stored} to {total}" if stored != total else ""
    maps = ", ".join(affine(loops, dims) for dims in (lhs, rhs, result))
    types = f"{tensor(lhs, stored, sizes)}, {tensor(rhs, stored, sizes)}"
    body.append(f"""%s0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%p0, %p1 : {types}) outs(%f : {sums}) {{
    ^bb0(%x: {stored}, %y: {stored}, %o: {total}):
      {"%a = " + extend if extend else ""}
      {"%b = " + extend.replace("%x", "%y") if extend else ""}
      %m = arith.mulf {"%a, %b" if extend else "%x, %y"} : {total}
      %r = arith.addf %o, %m : {total}
      linalg.yield %r : {total}
    }} -> {sums}""")
    extra = iter(range(2, len(params)))
    identity = affine(result, result)
    kinds = ", ".join('"parallel"' for _ in result)
    for i, (name, dims) in enumerate(steps):
        element = "f16" if name == "narrow" else total
        to = tensor(result, element, sizes)
        ins, types, maps = [f"%s{i}"], [sums], [identity]
        if dims is not None:
            ins.append(f"%p{next(extra)}")
            types.append(tensor(dims, total, sizes))
            maps.append(affine(result, dims, sizes))
        body.append(f"%e{i} = tensor.empty({', '.join(dynamic)}) : {to}")
        maps = ", ".join([*maps, identity])
        body.append(f"""%s{i + 1} = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = [{kinds}]}} ins({", ".join(ins)} : {", ".join(types)}) outs(%e{i} : {to}) {{
    ^bb0(%x: {total}{f", %y: {total}" if dims is not None else ""}, %o: {element}):
      {STEPS[name].replace("f32", total)}
      linalg.yield %r : {element}
    }} -> {to}""")
    inputs = ", ".join(
        f"{n}: {relax_tensor(d, t, sizes)}"
        for n, (d, t) in zip(names[:-1], params[:-1], strict=True)
    )
    types = ", ".join(relax_tensor(d, t, sizes) for d, t in params[:-1])
    made = relax_tensor(result, out_type, sizes)
    arguments = ", ".join(
        f"{n}: {tensor(d, t, sizes)}" for n, (d, t) in zip(names, params, strict=True)
    )
    newline = "\n  "
    return f"""
relax.func @main({inputs}) -> {made} {{
  %r = relax.call_tir @kernel({", ".join(names[:-1])}) : ({types}) -> {made}
  relax.return %r : {made}
}}
func.func private @kernel({arguments}) -> {tensor(result, out_type, sizes)} {{
  {newline.join(body)}
  return %s{len(steps)} : {tensor(result, out_type, sizes)}
}}
"""


@functools.cache
def load(spec, dtypes="f32", steps=(), sizes=(), **options):
    text = program(spec, dtypes, steps, dict(sizes))
    return relax.VirtualMachine(relax.compile(text, opt_level=1, **options))["main"]


def fill(shape, dtype, rng):
    return rng.standard_normal(shape).astype(dtype)


def check(spec, sizes, dtypes="f32", steps=(), static=(), seed=0, special=(), **options):
    """Compare with NumPy, up to what adding up in another order may change."""
    function = load(spec, dtypes, tuple(steps), tuple(static), **options)
    sizes = {**sizes, **dict(static)}
    operands, result = spec.split("->")
    lhs, rhs = operands.split(",")
    rng = np.random.default_rng(seed)
    stored, total = dtypes if isinstance(dtypes, tuple) else (dtypes, dtypes)
    a, b = (fill([sizes[d] for d in dims], NUMPY[stored], rng) for dims in (lhs, rhs))
    for array, place, value in special:
        target = (a, b)[array]
        if target.size:
            target.reshape(-1)[place % target.size] = value
    extra = [
        fill([sizes[d] for d in dims], NUMPY[total], rng) for _, dims in steps if dims is not None
    ]
    with np.errstate(all="ignore"):
        exact = np.einsum(spec, a.astype("float64"), b.astype("float64"))
        bound = np.einsum(spec, abs(a.astype("float64")), abs(b.astype("float64")))
        rest = iter(extra)
        for name, dims in steps:
            y = None
            if dims is not None:
                y = next(rest)
                y = y.reshape([sizes[d] if d in dims else 1 for d in result])
                bound = bound + abs(y)
            exact = VALUES[name](exact, y)
    depth = math.prod(sizes[d] for d in set(lhs + rhs) - set(result))
    unit = 2.0 ** (-52 if total == "f64" else -23)
    tolerance = (depth + 8) * unit * bound
    if steps and steps[-1][0] == "narrow":
        tolerance = tolerance + 2.0**-10 * abs(exact)
    out = np.from_dlpack(function(a, b, *extra))
    assert out.shape == exact.shape
    assert out.dtype == exact.dtype or steps or out.dtype == NUMPY[total]
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(exact))
    np.testing.assert_array_equal(out[~finite], exact[~finite].astype(out.dtype))
    assert np.all(abs(out[finite] - exact[finite]) <= tolerance[finite])


# Around the sizes of tiles, of vectors and of what is computed without packing.
rows = st.one_of(st.integers(0, 20), st.sampled_from([31, 32, 33, 130, 300]))
columns = st.one_of(st.integers(0, 18), st.sampled_from([31, 33, 47, 48, 49, 95, 97, 400]))
depths = st.one_of(st.integers(0, 18), st.sampled_from([63, 64, 65, 770, 1600]))
few = st.integers(0, 3)

MATRICES = {
    "plain": "mk,kn->mn",
    "right_transposed": "mk,nk->mn",
    "left_transposed": "km,kn->mn",
    "both_transposed": "km,nk->mn",
    "result_transposed": "mk,kn->nm",
}
BATCHES = {
    "rows_of_the_batch": "bmk,kn->bmn",
    "batch": "bmk,bkn->bmn",
    "batch_transposed": "bmk,bnk->bmn",
    "left_broadcast": "mk,bkn->bmn",
    "two_batches": "abmk,abkn->abmn",
    "heads_inside": "mak,nak->amn",
    "heads_between": "mbk,bkn->mbn",
    "two_depths": "mab,abn->mn",
}
VECTORS = {
    "left": "k,kn->n",
    "right": "mk,k->m",
    "batch_by_vector": "bmk,k->bm",
    "vector_by_batch": "k,bkn->bn",
    "both": "k,k->",
    "outer": "mk,nk->mn",
}


@settings(max_examples=25)
@given(rows, columns, depths, st.sampled_from(sorted(MATRICES)), st.integers(0, 99))
@example(1, 1, 0, "plain", 0)
@example(9, 49, 0, "plain", 0)
@example(300, 400, 1600, "right_transposed", 0)
@example(300, 400, 1600, "left_transposed", 0)
def test_matrices(m, n, k, form, seed):
    check(MATRICES[form], {"m": m, "n": n, "k": k}, seed=seed)


@settings(max_examples=15)
@given(rows, columns, depths, st.sampled_from([128, 256, 1024]), st.integers(0, 99))
def test_other_widths_of_vectors(m, n, k, bits, seed):
    for form in ("plain", "right_transposed", "left_transposed"):
        check(MATRICES[form], {"m": m, "n": n, "k": k}, seed=seed, vector_bits=bits)


@settings(max_examples=15)
@given(few, few, rows, columns, st.integers(0, 70), st.sampled_from(sorted(BATCHES)))
def test_batches(a, b, m, n, k, form):
    check(BATCHES[form], {"a": a, "b": b, "m": m, "n": n, "k": k})


@settings(max_examples=15)
@given(few, rows, columns, depths, st.sampled_from(sorted(VECTORS)))
def test_vectors(b, m, n, k, form):
    check(VECTORS[form], {"b": b, "m": m, "n": n, "k": k})


@pytest.mark.parametrize("m", [1, 3, 8, 40])
@pytest.mark.parametrize("static", ["m", "n", "k", "mn", "mnk"])
def test_static_sizes(m, static):
    sizes = {"m": m, "n": 50, "k": 33}
    for form in ("plain", "right_transposed"):
        check(MATRICES[form], sizes, static=[(d, sizes[d]) for d in static])


@pytest.mark.parametrize(("m", "n"), [(17, 48), (13, 50), (49, 80), (302, 97), (16, 40)])
def test_last_tiles_of_known_sizes(m, n):
    """Of rows and columns there is code for the last tile."""
    for form in ("plain", "left_transposed", "right_transposed"):
        check(MATRICES[form], {"k": 33}, static=[("m", m), ("n", n)])
    check(MATRICES["plain"], {"n": n, "k": 800}, static=[("m", m)], steps=[("add", "mn")])
    check(BATCHES["batch"], {"b": 2, "k": 20}, static=[("m", m), ("n", n)])


@pytest.mark.parametrize("static", ["m", "n", "k", "mn", "nk", "mk", "mnk"])
def test_sizes_known_to_be_one(static):
    sizes = {"m": 20, "n": 50, "k": 33} | dict.fromkeys(static, 1)
    for spec in MATRICES.values():
        check(spec, sizes, static=[(d, 1) for d in static])


EPILOGUES = {
    "bias": [("add", "n")],
    "bias_of_rows": [("add", "m")],
    "bias_relu": [("add", "n"), ("relu", None)],
    "residual": [("add", "mn"), ("tanh", None)],
    "number": [("add", "")],
    "narrow": [("relu", None), ("narrow", None)],
}


@settings(max_examples=15)
@given(rows, columns, depths, st.sampled_from(sorted(EPILOGUES)))
@example(1, 100, 64, "residual")
@example(64, 100, 1600, "narrow")
def test_epilogues(m, n, k, name):
    check("mk,kn->mn", {"m": m, "n": n, "k": k}, steps=EPILOGUES[name])


@settings(max_examples=15)
@given(few, rows, columns, st.sampled_from(["n", "mn", "bm", "b", "bmn"]))
def test_epilogues_of_batches(b, m, n, dims):
    for spec in ("bmk,bkn->bmn", "bmk,kn->bmn"):
        check(spec, {"b": b, "m": m, "n": n, "k": 9}, steps=[("add", dims)])


def test_epilogue_with_a_dimension_of_one():
    check("mk,kn->mn", {"m": 5, "n": 20, "k": 9}, static=[("m", 1)], steps=[("add", "mn")])


@settings(max_examples=15)
@given(rows, columns, depths, st.sampled_from(sorted(MATRICES)))
def test_double(m, n, k, form):
    check(MATRICES[form], {"m": m, "n": n, "k": k}, dtypes="f64")


@settings(max_examples=15)
@given(rows, columns, depths, st.sampled_from(sorted(MATRICES)))
def test_half(m, n, k, form):
    check(MATRICES[form], {"m": m, "n": n, "k": k}, dtypes=("f16", "f32"))


@settings(max_examples=15)
@given(
    rows,
    columns,
    st.integers(1, 70),
    st.lists(
        st.tuples(st.integers(0, 1), st.integers(0), st.sampled_from([np.nan, np.inf, -np.inf])),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from(sorted(MATRICES)),
)
def test_nan_and_infinity_reach_only_their_rows_and_columns(m, n, k, special, form):
    check(MATRICES[form], {"m": m, "n": n, "k": k}, special=special)


@pytest.mark.parametrize("m", [1, 4, 7, 30])
def test_both_modes(m, exec_mode):
    text = program("mk,kn->mn", steps=(("add", "n"),))
    main = relax.VirtualMachine(relax.compile(text))["main"]
    rng = np.random.default_rng(m)
    x, w, bias = (fill(shape, "float32", rng) for shape in ((m, 70), (70, 50), (50,)))
    np.testing.assert_allclose(np.from_dlpack(main(x, w, bias)), x @ w + bias, atol=1e-4)


@pytest.mark.parametrize("spec", [*MATRICES.values(), *BATCHES.values(), *VECTORS.values()])
def test_class(spec):
    assert classes(program(spec)) == ["matmul"]


def test_other_classes():
    # The innermost dimension belongs to both operands; to none; is read in another order.
    assert classes(program("mb,mb->mb")) != ["matmul"]
    assert classes(program("mkb,kb->mb")) != ["matmul"]
    transposed = program("mk,kn->mn", steps=(("add", "nm"),), sizes={"m": 8, "n": 8})
    assert classes(transposed) != ["matmul"]


# ---------------------------------------------------------------------------------------------
# Constants, which are packed
# ---------------------------------------------------------------------------------------------


@functools.cache
def load_constant(k, n, dtype, transposed, residual, rank):
    """Return a product with a constant, and the constant."""
    rng = np.random.default_rng(k + n)
    w = fill((n, k) if transposed else (k, n), NUMPY[dtype], rng)
    dims = ["b", "m"][3 - rank :]
    x = relax.Var("x", relax.TensorStructInfo((*dims, k), NUMPY[dtype]))
    y = relax.Var("y", relax.TensorStructInfo((*dims, n), NUMPY[dtype]))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y] if residual else [x]):
        right = op.const(w)
        if transposed:
            right = bb.emit(op.permute_dims(right))
        product = bb.emit(op.matmul(x, right))
        bb.emit_func_output(op.add(product, y) if residual else product)
    main = relax.VirtualMachine(relax.compile(bb, opt_level=1))["main"]
    return main, w.T if transposed else w


@settings(max_examples=25)
@given(
    st.integers(0, 3),
    rows,
    st.sampled_from([(1, 1), (5, 20), (64, 48), (70, 49), (30, 80), (1600, 100)]),
    st.sampled_from(["f16", "f32", "f64"]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
)
def test_constants(b, m, sizes, dtype, transposed, residual, rank):
    k, n = sizes
    main, w = load_constant(k, n, dtype, transposed, residual, rank)
    rng = np.random.default_rng(m)
    leading = (b, m)[3 - rank :]
    x = fill((*leading, k), NUMPY[dtype], rng)
    y = fill((*leading, n), NUMPY[dtype], rng)
    out = np.from_dlpack(main(x, y) if residual else main(x))
    wide = x.astype("float64"), w.astype("float64")
    exact = wide[0] @ wide[1]
    bound = abs(wide[0]) @ abs(wide[1]) * (k + 8) * (2.0**-52 if dtype == "f64" else 2.0**-23)
    if residual:
        exact, bound = exact + y, bound + abs(y) * 2.0**-23
    if dtype == "f16":
        bound = bound + 2.0**-9 * (abs(exact) + abs(y) if residual else abs(exact))
    assert out.shape == exact.shape
    assert np.all(abs(out - exact) <= bound)


def test_constant_of_two_calls(exec_mode):
    # One of them needs the constant as it is.
    rng = np.random.default_rng(0)
    w = fill((30, 30), "float32", rng)
    x = relax.Var("x", relax.TensorStructInfo((30, 30), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        right = op.const(w)
        first = bb.emit(op.matmul(x, right))
        second = bb.emit(op.matmul(first, right))
        bb.emit_func_output(op.add(op.matmul(right, op.permute_dims(second)), right))
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    a = fill((30, 30), "float32", rng)
    exact = w.astype("f8") @ (a.astype("f8") @ w @ w).T + w
    np.testing.assert_allclose(np.from_dlpack(main(a)), exact, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("rows", [(1, 1), (1, 7), (3, 20), (0, 5)])
def test_layer(rows, exec_mode):
    # A linear layer of a model: all of it is one kernel.
    rng = np.random.default_rng(1)
    w, bias = fill((96, 64), "float32", rng), fill((96,), "float32", rng)
    x = relax.Var("x", relax.TensorStructInfo(("b", "s", 64), "float32"))
    y = relax.Var("y", relax.TensorStructInfo(("b", "s", 96), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            product = bb.emit(op.matmul(x, op.permute_dims(op.const(w))))
            active = bb.emit(op.nn.gelu(op.add(product, op.const(bias))))
            out = bb.emit_output(op.add(active, y))
        bb.emit_func_output(out)
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    a, b = fill((*rows, 64), "float32", rng), fill((*rows, 96), "float32", rng)
    linear = a.astype("f8") @ w.T + bias
    erf = np.vectorize(math.erf, otypes=["float64"])
    exact = linear * 0.5 * (1 + erf(linear / math.sqrt(2))) + b
    np.testing.assert_allclose(np.from_dlpack(main(a, b)), exact, rtol=1e-5, atol=1e-4)
