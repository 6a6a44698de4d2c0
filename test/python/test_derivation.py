"""The derivation rules DR01 to DR15 in the builder: derived types, errors and warnings."""

import warnings

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from mlir import ir
from relax_mlir import op
from relax_mlir.core.expr import build
from relax_mlir.dialects import relax as ops
from relax_mlir.script import from_source

F32 = "float32"
BOOL = relax.TensorStructInfo((), "bool")
PAIR = relax.ShapeStructInfo(ndim=2)


def derive(params, body, **options):
    """Return the type of what `body` returns in a function of these parameters."""
    bb = relax.BlockBuilder()
    with bb.function("main", params, **options):
        value = body(bb, *params)
        bb.emit_func_output(value)
    bb.get()
    return str(value.type)


def struct_info(*dims, dtype=F32):
    return relax.TensorStructInfo(dims, dtype)


def test_dr01_recursive_function_is_known_by_its_annotation(tensor):
    declared = relax.TensorStructInfo(ndim=1)
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    with bb.function("main", [x], ret_struct_info=declared):
        again = op.call(relax.GlobalVar("main"), x)
        assert again.type == declared
        bb.emit_func_output(again)
    bb.get()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(lambda: op.const(np.zeros((2, 3), F32)), "tensor<[2, 3], f32>", id="dr02"),
        pytest.param(lambda: op.prim_value(2.5), "prim<f64>", id="dr03-prim"),
        pytest.param(lambda: op.string("a"), "object", id="dr03-string"),
        pytest.param(lambda: op.dtype(F32), "object", id="dr03-dtype"),
        pytest.param(
            lambda: op.tuple(op.string("a"), op.shape((2,))),
            "tuple<!relax.object, !relax.shape<[2]>>",
            id="dr04-tuple",
        ),
        pytest.param(
            lambda: op.get_item(op.tuple(op.string("a"), op.shape((2,))), 1),
            "shape<[2]>",
            id="dr04-get_item",
        ),
        pytest.param(lambda: op.shape((1, 2)), "shape<[1, 2]>", id="dr05"),
        pytest.param(lambda: op.extern_func("f"), "func<derive = @default_derive>", id="dr10"),
    ],
)
def test_derived_types(value, expected):
    assert derive([], lambda bb: value()) == f"!relax.{expected}"


def test_error_dr04_get_item(tensor):
    for wrong, index, message in [
        (lambda x: x, 0, "expected a tuple, but got '!relax.tensor"),
        (lambda x: op.tuple(x), 1, "expected an index below 1"),
        (lambda x: op.tuple(x), -1, "expected an index below 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            derive([tensor(("n",))], lambda bb, x, w=wrong, i=index: op.get_item(w(x), i))


def test_dr06_if(tensor):
    params = [relax.Var("c", BOOL), tensor(("n",)), tensor(("m",), name="y")]
    found = derive(params, lambda bb, c, x, y: bb.if_(c, lambda: x, lambda: y))
    assert found == "!relax.tensor<ndim = 1, f32>"


def test_error_dr06_if_condition(tensor):
    with pytest.raises((ValueError, ir.MLIRError), match="expected a condition"):
        derive([tensor(("n",))], lambda bb, x: bb.if_(x, lambda: x, lambda: x))


def test_dr09_match_cast(tensor):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = derive([tensor(ndim=1)], lambda bb, x: op.match_cast(x, struct_info("m")))
    assert found == "!relax.tensor<[m], f32>"


def test_error_dr09_warns_of_a_cast_that_always_fails(tensor):
    with pytest.warns(relax.StructInfoWarning, match="always fails") as caught:
        derive([tensor(("n",))], lambda bb, x: op.match_cast(x, struct_info(2, 2)))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("sinfo_args", "expected"),
    [
        pytest.param(None, "object", id="dr10-none"),
        pytest.param(BOOL, "tensor<[], i1>", id="dr10-one"),
        pytest.param([BOOL], "tensor<[], i1>", id="dr10-list-of-one"),
        pytest.param(
            [BOOL, BOOL], "tuple<!relax.tensor<[], i1>, !relax.tensor<[], i1>>", id="dr10"
        ),
    ],
)
def test_sinfo_args(sinfo_args, expected):
    for callee in (lambda: "f", lambda: op.extern_func("f")):
        found = derive(
            [],
            lambda bb, callee=callee: op.call_packed(callee(), sinfo_args=sinfo_args),
            pure=False,
        )
        assert found == f"!relax.{expected}"


def test_dr11_each_operator_has_a_rule():
    """Those that derive nothing declare their results: casts, kernels, the lowered program."""
    declared = {
        "relax.call_dps_packed",
        "relax.call_tir",
        "relax.call_tir_inplace",
        "relax.call_tir_local_view",
        "relax.call_packed",
        "relax.call_pure_packed",
        "relax.call_inplace_packed",
        "relax.call",
        "relax.match_cast",
        "relax.func",
        "relax.closure",
        "relax.global_var",
        "relax.if",
        "relax.dataflow",
        "relax.seq",
        "relax.return",
        "relax.output",
        "relax.yield",
    }
    found = set()
    with relax.default_context():
        for value in vars(ops).values():
            name = getattr(value, "OPERATION_NAME", "")
            if not name.startswith("relax.") or name.startswith("relax.builtin."):
                continue
            try:
                ir.InferTypeOpInterface(value)
            except ValueError:
                found.add(name)
    assert found == declared


def call_of(callee, *params):
    """Call a function of type `callee` with parameters."""
    func = relax.Var("f", callee)
    return derive([func, *params], lambda bb, f, *args: op.call(f, *args))


SQUARE = relax.FuncStructInfo([struct_info("n", "n")], struct_info("n * n"))


def test_dr12_substitutes(tensor):
    size = tensor(("k",), name="k")
    func = relax.Var("f", SQUARE)
    params = [func, size, tensor(("k + 1", "k + 1"))]
    found = derive(params, lambda bb, f, k, x: op.call(f, x))
    assert found == "!relax.tensor<[k * k + k * 2 + 1], f32>"
    assert call_of(SQUARE, tensor((3, 3))) == "!relax.tensor<[9], f32>"


def test_dr12_erases_what_no_argument_says(tensor):
    vector = relax.FuncStructInfo([struct_info("n")], struct_info("n"))
    with pytest.warns(relax.StructInfoWarning, match="may not be of type"):
        assert call_of(vector, tensor(dtype=F32)) == "!relax.tensor<ndim = 1, f32>"


def test_dr12_expects_what_grows_too_large(tensor):
    def nested(name):
        return "not(" * 100 + name + ")" * 100

    func = relax.FuncStructInfo([struct_info("n"), struct_info(nested("n"))], struct_info("n"))
    with pytest.warns(relax.StructInfoWarning, match="argument 1 .* may not be of type"):
        params = [relax.Var("f", func), tensor(("k", nested("k"))), tensor(ndim=1, name="y")]
        derive(params, lambda bb, f, x, y: op.call(f, op.sum(x, axis=[0]), y))


def test_error_dr12_arity(tensor):
    with pytest.raises(ValueError, match=r"relax\.call: expected 1 arguments, but got 2"):
        call_of(SQUARE, tensor((3, 3)), tensor((3, 3), name="y"))


def test_error_dr12_incompatible(tensor):
    message = r"relax\.call: expected argument 0 of type .*\[2, 2\].*, but got .*\[2, 3\]"
    with pytest.raises(ValueError, match=message):
        call_of(SQUARE, tensor((2, 3)))


def test_error_dr12_warns_of_what_is_possibly_compatible(tensor, load):
    bb = relax.BlockBuilder()
    x = tensor(("k", "m"))
    with bb.function("square", [tensor(("n", "n"))], private=True):
        square = bb.emit_func_output(op.shape(("n",)))
    warns = pytest.warns(relax.StructInfoWarning, match="match_cast would check it")
    with bb.function("main", [x]), warns as caught:
        bb.emit_func_output(op.call(square, x))
    assert caught[0].filename == __file__
    main = load(bb)
    assert tuple(main(np.zeros((2, 2), F32))) == (2,)
    with pytest.raises(ValueError, match="square: argument 'x'"):
        main(np.zeros((2, 3), F32))


def test_dr13_inferred_result_is_erased(tensor):
    bb = relax.BlockBuilder()
    u = tensor(ndim=1)
    with bb.function("main", [u]):
        bb.emit_func_output(op.match_cast(u, struct_info("m")))
    signature = bb.get()["main"].function_type.value
    assert str(signature.results[0]) == "!relax.tensor<ndim = 1, f32>"


def test_error_dr13_incompatible(tensor):
    with pytest.raises(ValueError, match=r"expected a result of type .*i64.* from function 'main'"):
        derive([tensor(("n",))], lambda bb, x: x, ret_struct_info=struct_info("n", dtype="int64"))


def test_error_dr13_warns_and_checks_on_return(tensor, load):
    bb = relax.BlockBuilder()
    x = tensor(("n",))
    warns = pytest.warns(relax.StructInfoWarning, match="may not be of the declared")
    with bb.function("main", [x], ret_struct_info=struct_info(4)), warns as caught:
        bb.emit_func_output(x)
    assert caught[0].filename == __file__
    main = load(bb)
    assert main(np.zeros(4, F32)).shape == (4,)
    with pytest.raises(ValueError, match="main: the result"):
        main(np.zeros(3, F32))


def test_error_mc08_dr13_returned_tuple_is_checked(load):
    """Objects in a tuple are checked field by field, with the variables of the arguments."""
    main = load("""
    relax.func @main(%x: !relax.tensor<[n], f32>, %t: !relax.object)
        -> !relax.tuple<!relax.tensor<[n], f32>, !relax.shape<[n]>> {
      relax.return %t : !relax.object
    }""")
    x = np.zeros(2, F32)
    assert len(main(x, (x, tvm_ffi.Shape((2,))))) == 2
    with pytest.raises(ValueError, match="field 1 of the result"):
        main(x, (x, tvm_ffi.Shape((3,))))
    with pytest.raises(TypeError, match="the result"):
        main(x, x)


def test_dr14_kernel_as_a_function():
    kernel = """func.func @kernel(%x: memref<2x?xf32>, %n: i64) { return }"""
    bb = relax.BlockBuilder()
    name = bb.add_func(kernel).name
    with bb.function("main", pure=False):
        type_ = relax.FuncStructInfo(
            [relax.TensorStructInfo(ndim=2, dtype=F32), relax.PrimStructInfo("int64")],
            relax.TupleStructInfo(),
            purity=False,
        )
        bb.emit_func_output(build(ops.GlobalVarOp, type_, name))
    bb.get()


def test_error_dr14_kernel_is_impure():
    bb = relax.BlockBuilder()
    name = bb.add_func("func.func @kernel() { return }").name
    with bb.function("main", pure=False):
        type_ = relax.FuncStructInfo([], relax.TupleStructInfo(), purity=True)
        bb.emit_func_output(build(ops.GlobalVarOp, type_, name))
    with pytest.raises(ir.MLIRError, match=r"derives a function of type .* impure>"):
        bb.get()


def test_a_declared_rank_of_zero_is_a_shape(load):
    """What is declared stays as it is, and is known where it is compiled."""
    source = """
@I.ir_module
class Module:
    @R.function
    def main(s: R.Shape(ndim=0), y: R.Tensor("float32", ndim=0)) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor("float32", ndim=0)
    ):
        three: R.Tensor("float32", ndim=0) = R.const(3, "float32")
        both: R.Tensor("float32", ndim=0) = R.add(three, y)
        filled = R.full((2,), both)
        same: R.Tensor("float32", ndim=0) = R.broadcast_to(three, s)
        return (filled, same)
"""
    main = load(from_source(source))
    filled, same = main(tvm_ffi.Shape(()), np.array(4, F32))
    assert (filled.numpy().tolist(), float(same)) == ([7, 7], 3)
    with pytest.raises(ValueError, match="main: argument 'y'"):
        main(tvm_ffi.Shape(()), np.zeros(1, F32))


def test_error_dr15_impure_call_in_a_dataflow_block():
    bb = relax.BlockBuilder()
    with bb.function("main", pure=False):
        with bb.dataflow():
            out = bb.emit_output(op.call_packed("f"))
        bb.emit_func_output(out)
    with pytest.raises(ir.MLIRError, match="impure"):
        bb.get()


def test_dr15_pure_packed_call_in_a_dataflow_block():
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            out = bb.emit_output(op.call_pure_packed("f", sinfo_args=BOOL))
        bb.emit_func_output(out)
    bb.get()
