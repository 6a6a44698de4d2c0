# ruff: noqa: E501 (the lines of MLIR)
"""Programs on two virtual devices of the processor: where data is, moves, errors."""

import numpy as np
import pytest
import relax_mlir as relax
from mlir import ir
from relax_mlir import VDevice, op
from relax_mlir.runtime import memory_stats

pytestmark = pytest.mark.usefixtures("exec_mode")

DEVICES = {"cpu0": VDevice("llvm", 0), "cpu1": VDevice("llvm", 1)}


def tensor(vdevice=None, shape=("n",), dtype="float32", name="x"):
    return relax.Var(name, relax.TensorStructInfo(shape, dtype, vdevice=vdevice))


def write(function, *params, devices=DEVICES, **options):
    bb = relax.BlockBuilder(global_info=devices)
    with bb.function("main", params, **options):
        bb.emit_func_output(function(*params))
    return bb


def load(*args, checks="all", **options):
    return relax.VirtualMachine(relax.compile(write(*args, **options), checks=checks))["main"]


def place(value):
    return (value.device.type, value.device.index)


@pytest.fixture(scope="module")
def move():
    """Move a tensor to cpu1 or cpu0."""
    bb = relax.BlockBuilder(global_info=DEVICES)
    for name in DEVICES:
        x = tensor(shape=None, dtype=None)
        with bb.function(name, [x]):
            bb.emit_func_output(op.to_vdevice(x, name))
    return relax.VirtualMachine(relax.compile(bb))


X = np.arange(4, dtype="float32")


def test_gr03_gr19_global_info():
    mod = write(lambda x: x, tensor("cpu1")).get()
    assert str(mod.operation.attributes["relax.global_info"]) == (
        '{cpu0 = #relax.vdevice<"llvm", 0>, cpu1 = #relax.vdevice<"llvm", 1>}'
    )
    relax.set_global_info(mod, {"gpu": VDevice('{"kind": "cuda"}', 2, "shared")})
    assert str(mod.operation.attributes["relax.global_info"]) == (
        r'{gpu = #relax.vdevice<"{\22kind\22: \22cuda\22}", 2, "shared">}'
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dev_id": -1}, ValueError, "expected dev_id to be between 0 and .*, but got -1"),
        ({"mem_scope": ""}, ValueError, "the name of a memory scope"),
    ],
)
def test_error_gr03_vdevice(arguments, error, message):
    with pytest.raises(error, match=message):
        VDevice("llvm", **arguments)


def test_error_gr03_no_vdevice():
    with pytest.raises(TypeError, match="expected a VDevice as 'cpu', but got 'llvm'"):
        relax.BlockBuilder(global_info={"cpu": "llvm"})


def test_op08_dr16_vm11_compute_on_the_other_device(move):
    main = load(
        lambda x, y: op.multiply(op.add(x, y), [2, 2, 2, 2]),
        tensor("cpu1", (4,)),
        tensor(None, (4,), name="y"),
    )
    result = main(move["cpu1"](X), move["cpu1"](X))
    assert place(result) == ("cpu", 1)
    assert np.from_dlpack(result).tolist() == [0, 4, 8, 12]


def test_op08_there_and_back(move):
    def body(x):
        there = op.exp(op.to_vdevice(x, "cpu1"))
        return there, op.negative(op.to_vdevice(there, "cpu0"))

    there, back = load(body, tensor("cpu0"))(X)
    assert (place(there), place(back)) == (("cpu", 1), ("cpu", 0))
    np.testing.assert_allclose(np.from_dlpack(there), np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(np.from_dlpack(back), -np.exp(X), rtol=1e-6)


def test_vm11_devices_of_a_program_have_pools_of_their_own(move):
    def body(x):
        there = op.exp(op.to_vdevice(x, "cpu1"))
        return op.negative(op.to_vdevice(there, "cpu0"))

    main = load(body, tensor("cpu0"))
    x = np.ones(1000, dtype="float32")
    main(x)
    before = {name: memory_stats(name) for name in ("cpu:0", "cpu:1")}
    main(x)
    for name, used in before.items():
        after = memory_stats(name)
        assert after.allocations > used.allocations
        assert after.in_use == used.in_use
        assert after.system_allocations == used.system_allocations


def test_op08_nested_tuples():
    fields = relax.TupleStructInfo(
        [tensor().struct_info, relax.TupleStructInfo([tensor().struct_info])]
    )
    main = load(lambda t: op.to_vdevice(t, "cpu1"), relax.Var("t", fields))
    first, (second,) = main((X, (X + 1,)))
    assert (place(first), place(second)) == (("cpu", 1), ("cpu", 1))
    assert np.from_dlpack(second).tolist() == [1, 2, 3, 4]


def test_op08_hint_copies_where_needed(move):
    main = load(lambda x: op.hint_on_device(x, 1), tensor("cpu1"))
    there = move["cpu1"](X)
    assert main(there).data_ptr() == there.data_ptr()
    main = load(lambda x: op.hint_on_device(x, 1), tensor("cpu0"))
    assert place(main(X)) == ("cpu", 1)


def test_op08_a_move_is_a_copy(move):
    there = move["cpu1"](X)
    again = move["cpu1"](there)
    assert place(again) == ("cpu", 1)
    assert again.data_ptr() != there.data_ptr()


@pytest.mark.parametrize("given", ["cpu0", "cpu1"])
def test_dr16_tensors_without_a_device_may_be_on_any(move, given):
    main = load(lambda x: op.to_vdevice(x, "cpu0"), tensor())
    result = main(move[given](X))
    assert place(result) == ("cpu", 0)
    assert np.from_dlpack(result).tolist() == X.tolist()


def test_dr16_control_flow_and_functions(move):
    bb = relax.BlockBuilder(global_info=DEVICES)
    y = tensor("cpu1", name="y")
    with bb.function("square", [y], private=True):
        bb.emit_func_output(op.multiply(y, y))
    c, x = tensor("cpu0", (), "bool", "c"), tensor("cpu0")
    with bb.function("main", [c, x]):
        there = op.to_vdevice(x, "cpu1")
        square = lambda: op.call(relax.GlobalVar("square"), there)  # noqa: E731
        result = bb.if_(c, square, lambda: op.negative(there))
        bb.emit_func_output(op.add(result, op.ones(("n",))))
    main = relax.VirtualMachine(relax.compile(bb))["main"]
    for taken, expected in [(True, X * X + 1), (False, 1 - X)]:
        result = main(np.array(taken), X)
        assert place(result) == ("cpu", 1)
        assert np.from_dlpack(result).tolist() == expected.tolist()


# ---------------------------------------------------------------------------------------------
# Values on the wrong device (MC02, MC07, MC08)
# ---------------------------------------------------------------------------------------------


def test_error_mc02_mc08_argument_on_another_device(move):
    main = load(lambda x: op.exp(x), tensor("cpu1"))
    assert place(main(move["cpu1"](X))) == ("cpu", 1)
    with pytest.raises(ValueError, match="argument 'x'") as caught:
        main(X)
    message = str(caught.value)
    for part in ("main", "!relax.tensor<[n], f32, @cpu1>", "cpu:1", "cpu:0"):
        assert part in message


def test_mc02_match_cast_device(move):
    u = relax.Var("u", relax.ObjectStructInfo())
    main = load(lambda u: op.match_cast(u, tensor("cpu1").struct_info), u)
    assert place(main(move["cpu1"](X))) == ("cpu", 1)


def test_error_mc02_mc07_match_cast_device():
    u = relax.Var("u", relax.ObjectStructInfo())
    main = load(lambda u: op.match_cast(u, tensor("cpu1").struct_info), u)
    with pytest.raises(ValueError, match=r"main: match_cast.*@cpu1.*cpu:1.*cpu:0"):
        main(X)


def test_error_mc05_field_on_another_device(move):
    both = relax.TupleStructInfo([tensor("cpu0").struct_info, tensor("cpu1").struct_info])
    main = load(lambda t: t, relax.Var("t", both))
    assert place(main((X, move["cpu1"](X)))[1]) == ("cpu", 1)
    with pytest.raises(ValueError, match=r"field 1 of argument 't'.*cpu:1.*cpu:0"):
        main((X, X))


def unary(vdevice):
    """A compiled function on one device."""
    return load(op.exp, tensor(vdevice))


def calls_on_cpu1():
    on_cpu1 = tensor("cpu1").struct_info
    f = relax.Var("f", relax.ObjectStructInfo())
    return load(
        lambda f, x: op.call(op.match_cast(f, relax.FuncStructInfo([on_cpu1], on_cpu1)), x),
        *(f, tensor("cpu1")),
    )


def test_mc06_closure_on_a_device(move):
    result = calls_on_cpu1()(unary("cpu1"), move["cpu1"](X))
    assert place(result) == ("cpu", 1)
    np.testing.assert_allclose(np.from_dlpack(result), np.exp(X), rtol=1e-6)


def test_error_mc06_closure_on_another_device(move):
    with pytest.raises(ValueError, match=r"cpu:0.*cpu:1|cpu:1.*cpu:0"):
        calls_on_cpu1()(unary("cpu0"), move["cpu1"](X))


def test_se03_closure_captures_a_tensor_on_a_device():
    main = relax.VirtualMachine(
        relax.compile("""
    module attributes {relax.global_info = {
        cpu0 = #relax.vdevice<"llvm", 0>, cpu1 = #relax.vdevice<"llvm", 1>}} {
      relax.func @main(%x: !relax.tensor<[n], f32, @cpu0>) -> !relax.object {
        %0 = relax.to_vdevice %x to @cpu1 : !relax.tensor<[n], f32, @cpu0>
        %f = relax.closure (%a: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
          %1 = relax.add %a, %0 : (!relax.tensor<[n], f32>, !relax.tensor<[n], f32, @cpu1>) -> !relax.tensor<[n], f32>
          relax.return %1 : !relax.tensor<[n], f32>
        }
        %2 = relax.call %f : !relax.func<(!relax.tensor<[n], f32>) -> !relax.tensor<[n], f32>, pure> (%0) : (!relax.tensor<[n], f32, @cpu1>) -> !relax.tensor<[n], f32>
        relax.return %2 : !relax.tensor<[n], f32>
      }
    }""")
    )["main"]
    result = main(X)
    assert place(result) == ("cpu", 1)
    assert np.from_dlpack(result).tolist() == [0, 2, 4, 6]


# ---------------------------------------------------------------------------------------------
# Errors of the compiler
# ---------------------------------------------------------------------------------------------


def test_error_dr11_operands_on_two_devices():
    with pytest.raises(ValueError, match=r"same virtual device, but got @cpu0 and @cpu1"):
        write(op.add, tensor("cpu0"), tensor("cpu1", name="y"))


def compile_error(*args, **options):
    with pytest.raises(ir.MLIRError) as caught:
        relax.compile(write(*args, **options))
    return str(caught.value)


def test_error_dr16_inconsistent():
    declared = tensor("cpu1").struct_info
    with pytest.raises(ValueError, match=r"@cpu1> from function 'main', but got .*@cpu0"):
        write(lambda x: op.exp(x), tensor("cpu0"), ret_struct_info=declared)


def test_error_dr16_open():
    message = compile_error(op.exp, tensor())
    assert "expected operand 0 on a known virtual device" in message


def test_error_wf24_not_listed():
    message = compile_error(lambda x: x, tensor("cpu7"))
    assert "names virtual device @cpu7" in message
    assert "@cpu0, @cpu1" in message


def test_error_wf24_no_device_is_listed():
    message = compile_error(lambda x: x, tensor("cpu0"), devices=None)
    assert "the module lists no virtual devices" in message


def test_error_op08_no_such_id():
    assert "the id 5" in compile_error(lambda x: op.hint_on_device(x, 5), tensor())


def test_error_vm11_device_of_another_target():
    message = compile_error(lambda x: op.exp(x), tensor("gpu"), devices={"gpu": VDevice("rocm", 0)})
    assert "there is no code for 'rocm'" in message


@pytest.mark.parametrize("target", ["llvm -mcpu=native", "cpu", "c", "", '{"kind": "llvm"}'])
def test_gr03_targets_that_are_this_processor(target):
    main = load(op.exp, tensor("host"), devices={"host": VDevice(target, 3)}, checks="necessary")
    assert place(main(X)) == ("cpu", 3)
