"""Functions as values: closures, recursion, packed functions and kernels, run and compared."""

import gc
import threading
import weakref

import numpy as np
import pytest
import relax_mlir as relax
import tvm_ffi
from closure_programs import PARITY, f32, machine, values
from relax_mlir import op

pytestmark = pytest.mark.usefixtures("exec_mode")


@pytest.fixture
def packed():
    """Register packed functions for one test."""
    names = []

    def register(name, function):
        tvm_ffi.register_global_func(name, function, override=True)
        names.append(name)

    yield register
    for name in names:
        tvm_ffi.remove_global_func(name) if hasattr(tvm_ffi, "remove_global_func") else None


# ---------------------------------------------------------------------------------------------
# Captures
# ---------------------------------------------------------------------------------------------


def test_gr16_captures_a_value(load, vector):
    bb = relax.BlockBuilder()
    x, y = vector("x"), vector("y")
    with bb.function("main", [x]):
        with bb.closure("plus_x", [y]) as plus_x:
            bb.emit_func_output(op.add(y, x))
        bb.emit_func_output(op.call(plus_x, op.call(plus_x, op.exp(x))))
    x = f32(1, 2)
    np.testing.assert_allclose(values(load(bb)(x)), np.exp(x) + x + x, rtol=1e-6)


def test_gr16_captures_shape_variables_of_the_signature_and_of_a_cast():
    main = machine("""
    relax.func @main(%x: !n, %o: !any) -> !relax.shape<ndim = 3> {
      %m = relax.match_cast %o : !any -> !m
      %f = relax.closure (%k: !relax.prim<i64, k>) -> !sized {
        %s = relax.shape <[n, m * 2, k]>
        relax.return %s : !sized
      }
      %t = relax.tuple %f : !make_sized
      %g = relax.get_item %t[0] : !relax.tuple<!make_sized>
      %five = relax.prim_value 5 : i64
      %r = relax.call %g : !make_sized (%five) : (!relax.prim<i64, 5>) -> !relax.shape<ndim = 3>
      relax.return %r : !relax.shape<ndim = 3>
    }""")["main"]
    assert tuple(main(f32(1, 2), f32(1, 2, 3))) == (2, 6, 5)


def test_gr16_captured_dimension_is_that_of_the_argument():
    """A variable of the scope in the signature of a closure is compared, not bound."""
    main = machine("""
    relax.func @main(%x: !n, %y: !any) -> !n {
      %f = relax.closure (%a: !n) -> !n {
        %0 = relax.add %a, %x : (!n, !n) -> !n
        relax.return %0 : !n
      }
      %0 = relax.call %f : !on_n (%y) : (!any) -> !any
      %1 = relax.match_cast %0 : !any -> !n
      relax.return %1 : !n
    }""")["main"]
    assert values(main(f32(1, 2), f32(3, 4))) == [4, 6]
    message = r"main\.lambda: argument 'a': .*dimension 0 is 3, expected n = 2|dimension 0 is 3"
    with pytest.raises(ValueError, match=message):
        main(f32(1, 2), f32(1, 2, 3))


def test_se03_captures_by_reference(packed, load, vector):
    """A packed function mutates the captured tensor: inside and outside see it."""

    def increment(tensor):
        np.from_dlpack(tensor)[:] += 1

    packed("closures.increment", increment)
    bb = relax.BlockBuilder()
    x = vector()
    with bb.function("main", [x], pure=False):
        own = bb.emit(op.add(x, 0.0))
        with bb.closure("bump", pure=False) as bump:
            op.call_packed("closures.increment", own)
            bb.emit_func_output(op.multiply(own, 10.0))
        first = op.call(bump)
        op.call_packed("closures.increment", own)
        second = op.call(bump)
        bb.emit_func_output((first, second, own))
    first, second, own = load(bb)(f32(1, 2))
    assert values(first) == [20, 30]
    assert values(second) == [40, 50]
    assert values(own) == [4, 5]


def test_se03_captured_argument_is_the_callers(packed, load, vector):
    def increment(tensor):
        np.from_dlpack(tensor)[:] += 1

    packed("closures.increment", increment)
    bb = relax.BlockBuilder()
    x = vector()
    with bb.function("main", [x], pure=False):
        with bb.closure("bump", pure=False) as bump:
            op.call_packed("closures.increment", x)
            bb.emit_func_output(x)
        op.call(bump)
        bb.emit_func_output(op.tuple())
    array = f32(1, 2)
    load(bb)(tvm_ffi.from_dlpack(array))
    assert array.tolist() == [2, 3]


def test_se03_nested_closures_capture_through_each_other(load, vector):
    bb = relax.BlockBuilder()
    x, y, z = vector("x"), vector("y"), vector("z")
    with bb.function("main", [x]):
        with bb.closure("outer", [y]) as outer:
            with bb.closure("inner", [z]) as inner:
                bb.emit_func_output(op.add(op.add(x, y), z))
            bb.emit_func_output(inner)
        made = op.call(outer, op.multiply(x, 10.0))
        bb.emit_func_output(op.call(made, op.multiply(x, 100.0)))
    assert values(load(bb)(f32(1, 2))) == [111, 222]


def test_se03_nested_closure_calls_the_one_around_it():
    """countdown(i) is called by a closure inside of its own body."""
    main = machine("""
    relax.func @main(%x: !int) -> !int {
      %zero = relax.constant dense<0> : tensor<i64>
      %one = relax.constant dense<1> : tensor<i64>
      %f = relax.closure rec %self (%i: !int) -> !int {
        %g = relax.closure () -> !int {
          %p = relax.subtract %i, %one : (!int, !int) -> !int
          %r = relax.call %self : !unary (%p) : (!int) -> !int
          %s = relax.add %r, %one : (!int, !int) -> !int
          relax.return %s : !int
        }
        %c = relax.less_equal %i, %zero : (!int, !int) -> !bool
        %0 = relax.if %c : !bool -> !int {
          relax.yield %zero : !int
        } else {
          %1 = relax.call %g : !thunk () : () -> !int
          relax.yield %1 : !int
        }
        relax.return %0 : !int
      }
      %r = relax.call %f : !unary (%x) : (!int) -> !int
      relax.return %r : !int
    }""")["main"]
    assert np.from_dlpack(main(np.array(7))) == 7


def test_gr16_captured_shape_value():
    """`var = s` stands for a shape that the closure captures."""
    text = """
    relax.func @main(%s: !relax.shape<var = s, ndim = 1>, %x: !any) -> !any {
      %f = relax.closure (%a: !s) -> !any {
        relax.return %a : !s
      }
      %0 = relax.call %f : !on_s (%x) : (!any) -> !any
      relax.return %0 : !any
    }"""
    main = machine(text)["main"]
    assert values(main(tvm_ffi.Shape((2,)), f32(1, 2))) == [1, 2]
    with pytest.raises(ValueError, match=r"main\.lambda: argument 'a'"):
        main(tvm_ffi.Shape((3,)), f32(1, 2))


# ---------------------------------------------------------------------------------------------
# Closures as values
# ---------------------------------------------------------------------------------------------


def make_adder(vector):
    bb = relax.BlockBuilder()
    x, y = vector("x"), vector("y")
    with bb.function("main", [x]):
        with bb.closure("plus_x", [y]) as plus_x:
            bb.emit_func_output(op.add(y, x))
        bb.emit_func_output(plus_x)
    return bb


def test_se03_returned_closure_outlives_the_machine(vector):
    executable = relax.compile(make_adder(vector))
    code = weakref.ref(executable.code.linked)
    vm = relax.VirtualMachine(executable)
    closure = vm["main"](f32(1, 2))
    del executable, vm
    gc.collect()
    assert values(closure(f32(10, 20))) == [11, 22]
    assert code() is not None
    del closure
    gc.collect()
    assert code() is None


def test_se03_captured_values_are_released(load, vector):
    main = load(make_adder(vector))
    array = f32(1, 2)
    alive = weakref.ref(array)
    closure = main(array)
    del array
    gc.collect()
    assert alive() is not None
    assert values(closure(f32(10, 20))) == [11, 22]
    del closure
    gc.collect()
    assert alive() is None


def test_se03_error_of_a_returned_closure_names_it(load, vector):
    closure = load(make_adder(vector))(f32(1, 2))
    with pytest.raises(ValueError, match=r"main\.plus_x: argument 'y'.*dimension 0 is 3"):
        closure(f32(1, 2, 3))
    with pytest.raises(TypeError, match=r"main\.plus_x: expected 1 argument, but got 2"):
        closure(f32(1, 2), f32(1, 2))
    with pytest.raises(TypeError, match=r"main\.plus_x: argument 'y'"):
        closure("text")


def test_se03_closures_in_tuples(load, vector):
    bb = relax.BlockBuilder()
    x, y, z = vector("x"), vector("y"), vector("z")
    with bb.function("main", [x]):
        with bb.closure("plus", [y]) as plus:
            bb.emit_func_output(op.add(y, x))
        with bb.closure("times", [z]) as times:
            bb.emit_func_output(op.multiply(z, x))
        pair = bb.emit(op.tuple(plus, times))
        both = op.call(op.get_item(pair, 1), op.call(op.get_item(pair, 0), x))
        bb.emit_func_output((pair, both))
    (plus, times), both = load(bb)(f32(2, 3))
    assert values(both) == [8, 18]
    assert values(plus(f32(1, 1))) == [3, 4]
    assert values(times(f32(5, 5))) == [10, 15]


def test_gr14_higher_order_functions(load, vector):
    """A function takes two functions and returns their composition."""
    bb = relax.BlockBuilder()
    x, y = vector("x"), vector("y")
    unary = relax.FuncStructInfo([x.struct_info], x.struct_info)
    f, g = relax.Var("f", unary), relax.Var("g", unary)
    with bb.function("compose", [f, g], private=True):
        with bb.closure("composed", [y]) as composed:
            bb.emit_func_output(op.call(f, op.call(g, y)))
        compose = bb.emit_func_output(composed)
    with bb.function("square", [x], private=True):
        square = bb.emit_func_output(op.multiply(x, x))
    z = vector("z", "k")  # with "n" it would take no other size than x has
    with bb.function("main", [x]):
        with bb.closure("next", [z]) as successor:
            bb.emit_func_output(op.add(z, 1.0))
        bb.emit_func_output(op.call(op.call(compose, square, successor), x))
    assert values(load(bb)(f32(1, 2, 3))) == [4, 9, 16]


def test_gr14_function_of_the_machine_as_an_argument(vector):
    bb = relax.BlockBuilder()
    x = vector()
    f = relax.Var("f", relax.FuncStructInfo([x.struct_info], x.struct_info))
    with bb.function("twice", [f, x]):
        bb.emit_func_output(op.call(f, op.call(f, x)))
    with bb.function("double", [x]):
        bb.emit_func_output(op.add(x, x))
    vm = machine(bb)
    assert values(vm["twice"](vm["double"], f32(1, 2))) == [4, 8]


def test_mc06_python_function_is_packed_error(vector):
    bb = relax.BlockBuilder()
    x = vector()
    f = relax.Var("f", relax.FuncStructInfo([x.struct_info], x.struct_info))
    with bb.function("twice", [f, x]):
        bb.emit_func_output(op.call(f, op.call(f, x)))
    twice = machine(bb)["twice"]
    with pytest.raises(TypeError, match=r"twice: argument 'f': .*packed function"):
        twice(lambda x: x, f32(1, 2))
    with pytest.raises(TypeError, match=r"twice: argument 'f'"):
        twice(f32(1), f32(1, 2))


def test_gr13_gr14_packed_function_as_a_value(packed, load, vector):
    packed("closures.scale", lambda x, k: tvm_ffi.from_dlpack(np.from_dlpack(x) * k))
    bb = relax.BlockBuilder()
    x = vector()
    with bb.function("main", [x], pure=False):
        scale = bb.emit(op.extern_func("closures.scale"))
        with bb.closure("scaled", pure=False) as scaled:
            result = op.call(scale, x, op.prim_value(3), sinfo_args=relax.ObjectStructInfo())
            bb.emit_func_output(bb.match_cast(result, x.struct_info))
        bb.emit_func_output(op.call(scaled))
    assert values(load(bb)(f32(1, 2))) == [3, 6]


# GR13
def test_se04_missing_packed_function_error(load, vector):
    bb = relax.BlockBuilder()
    x = vector()
    with bb.function("main", [x], pure=False):
        with bb.closure("late", pure=False) as late:
            bb.emit_func_output(op.call(op.extern_func("closures.missing"), x))
        bb.emit_func_output(late)
    late = load(bb)(f32(1, 2))
    with pytest.raises(ValueError, match=r"main\.late: .*'closures\.missing' is not registered"):
        late()


def test_se03_closure_in_a_dataflow_block(load, vector):
    bb = relax.BlockBuilder()
    x, y = vector("x"), vector("y")
    with bb.function("main", [x]):
        with bb.dataflow():
            with bb.closure("plus_x", [y]) as plus_x:
                bb.emit_func_output(op.add(y, x))
            doubled = bb.emit(op.add(x, x))
            out = bb.emit_output(op.call(plus_x, doubled))
        bb.emit_func_output(out)
    assert values(load(bb)(f32(1, 2))) == [3, 6]


def test_gr16_closure_from_a_branch(tensor):
    bb = relax.BlockBuilder()
    x, c = tensor(("n",), name="x"), tensor((), "bool", name="c")
    y = tensor(("n",), name="y")
    with bb.function("main", [c, x]):

        def branch(operator):
            with bb.closure("chosen", [y]) as chosen:
                bb.emit_func_output(operator(y, x))
            return chosen

        chosen = bb.if_(c, lambda: branch(op.add), lambda: branch(op.multiply))
        bb.emit_func_output(op.call(chosen, x))
    main = machine(bb)["main"]
    assert values(main(np.array(True), f32(3, 4))) == [6, 8]
    assert values(main(np.array(False), f32(3, 4))) == [9, 16]


# ---------------------------------------------------------------------------------------------
# Recursion
# ---------------------------------------------------------------------------------------------


def test_sc02_local_recursion(load, tensor):
    bb = relax.BlockBuilder()
    n, i = tensor((), "int64", name="n"), tensor((), "int64", name="i")
    with bb.function("main", [n]):
        with bb.closure("factorial", [i], ret_struct_info=i.struct_info) as factorial:
            bb.emit_func_output(
                bb.if_(
                    op.less_equal(i, 1),
                    lambda: op.const(1, "int64"),
                    lambda: op.multiply(i, op.call(factorial, op.subtract(i, 1))),
                )
            )
        bb.emit_func_output(op.call(factorial, n))
    assert np.from_dlpack(load(bb)(np.array(10))) == 3628800


def test_sc02_recursion_through_a_value(load, tensor):
    """The closure passes itself on."""
    bb = relax.BlockBuilder()
    i = tensor((), "int64", name="i")
    scalar = i.struct_info
    unary = relax.FuncStructInfo([scalar], scalar)
    f, j = relax.Var("f", unary), tensor((), "int64", name="j")
    with bb.function("apply", [f, j], private=True, ret_struct_info=scalar):
        apply = bb.emit_func_output(op.call(f, j))
    with bb.function("main", [i]):
        k = tensor((), "int64", name="k")
        with bb.closure("sum", [k], ret_struct_info=scalar) as total:
            bb.emit_func_output(
                bb.if_(
                    op.less_equal(k, 0),
                    lambda: op.const(0, "int64"),
                    lambda: op.add(k, op.call(apply, total, op.subtract(k, 1))),
                )
            )
        bb.emit_func_output(op.call(total, i))
    assert np.from_dlpack(load(bb)(np.array(100))) == 5050


def test_sc01_dr08_mutual_recursion():
    vm = machine(PARITY)
    for number in (0, 1, 7, 10, 333):
        assert np.from_dlpack(vm["even"](np.array(number))) == (number % 2 == 0)
        assert np.from_dlpack(vm["odd"](np.array(number))) == (number % 2 == 1)


def deep(tensor, *, by_value):
    """A closure that calls itself, directly or as a value that it cannot see through."""
    bb = relax.BlockBuilder()
    i, k = tensor((), "int64", name="i"), tensor((), "int64", name="k")
    with bb.function("main", [i]):
        with bb.closure("down", [k], ret_struct_info=k.struct_info) as down:

            def again():
                callee = op.get_item(op.tuple(down), 0) if by_value else down
                return op.add(op.call(callee, op.subtract(k, 1)), 1)

            bb.emit_func_output(bb.if_(op.less_equal(k, 0), lambda: op.const(0, "int64"), again))
        bb.emit_func_output(op.call(down, i))
    return bb


@pytest.fixture
def limit():
    old = []
    yield lambda value: old.append(relax.set_recursion_limit(value))
    relax.set_recursion_limit(old[0])


@pytest.mark.parametrize("by_value", [False, True])
def test_se03_deep_recursion_is_an_error(load, tensor, by_value):
    main = load(deep(tensor, by_value=by_value))
    assert np.from_dlpack(main(np.array(900))) == 900
    with pytest.raises(RecursionError, match=r"deeper than 1000 calls"):
        main(np.array(100_000))
    assert np.from_dlpack(main(np.array(900))) == 900


# The frames of bytecode are not on the stack.
@pytest.mark.parametrize("exec_mode", ["compiled"], indirect=True)
@pytest.mark.parametrize("by_value", [False, True])
def test_se03_recursion_ends_before_the_stack_error(load, tensor, limit, by_value):
    limit(10**9)
    main = load(deep(tensor, by_value=by_value))
    with pytest.raises(RecursionError, match=r"no room on the stack of the thread"):
        main(np.array(10**8))
    assert np.from_dlpack(main(np.array(100))) == 100


def test_se03_large_stack_recurses_deeper(load, tensor, limit):
    limit(100_001)
    main = load(deep(tensor, by_value=True))
    results = []
    old = threading.stack_size(512 << 20)
    try:
        thread = threading.Thread(target=lambda: results.append(main(np.array(99_990))))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(old)
    assert np.from_dlpack(results[0]) == 99_990


def test_se03_chain_of_closures_is_released(vector):
    """Each closure captures the one before: none is lost, and releasing them takes no stack."""
    bb = relax.BlockBuilder()
    x, y = vector("x"), vector("y")
    unary = relax.FuncStructInfo([x.struct_info], x.struct_info)
    f = relax.Var("f", unary)
    with bb.function("wrap", [f]):
        with bb.closure("wrapped", [y]) as wrapped:
            bb.emit_func_output(op.add(op.call(f, y), 1.0))
        bb.emit_func_output(wrapped)
    with bb.function("base", [x]):
        bb.emit_func_output(x)
    vm = machine(bb)
    wrap, chain = vm["wrap"], vm["base"]
    for _ in range(500):
        chain = wrap(chain)
    assert values(chain(f32(0, 1))) == [500, 501]
    for _ in range(100_000):
        chain = wrap(chain)
    del chain
    gc.collect()


# ---------------------------------------------------------------------------------------------
# match_cast to function types
# ---------------------------------------------------------------------------------------------

CASTS = [
    # name, the type, the error of a closure [n, 2] -> [n, 2], pure
    ("same", "!relax.func<(!n2) -> !n2, pure>", None),
    (
        "renamed",
        "!relax.func<(!relax.tensor<[k, 2], f32>) -> !relax.tensor<[k, 2], f32>, pure>",
        None,
    ),
    (
        "narrower-param",
        "!relax.func<(!relax.tensor<[4, 2], f32>) -> !relax.tensor<[4, 2], f32>, pure>",
        None,
    ),
    ("weaker-result", "!relax.func<(!n2) -> !any, pure>", None),
    ("impure", "!relax.func<(!n2) -> !n2, impure>", None),
    ("arity", "!relax.func<(!n2, !n2) -> !n2, pure>", "parameter"),
    ("param", "!relax.func<(!relax.tensor<[n, 3], f32>) -> !any, pure>", "parameter 0"),
    (
        "param-dtype",
        "!relax.func<(!relax.tensor<[n, 2], f64>) -> !any, pure>",
        "parameter 0",
    ),
    ("param-rank", "!relax.func<(!n) -> !any, pure>", "parameter 0"),
    ("wider-param", "!relax.func<(!relax.tensor<*, f32>) -> !any, pure>", "parameter 0"),
    ("result", "!relax.func<(!n2) -> !relax.tensor<[n, 3], f32>, pure>", "result"),
    ("result-kind", "!relax.func<(!n2) -> !relax.shape<[n]>, pure>", "result"),
    ("packed", "!packed", "closure"),
]


@pytest.mark.parametrize(
    ("type_", "error"), [pytest.param(*case[1:], id=case[0]) for case in CASTS]
)
def test_mc06_closure_against_a_function_type(type_, error):
    main = machine(f"""
    relax.func @main(%o: !any) -> !any {{
      %f = relax.match_cast %o : !any -> {type_}
      relax.return %f : {type_}
    }}
    relax.func @given(%x: !n2) -> !n2 {{
      relax.return %x : !n2
    }}""")
    if error is None:
        main["main"](main["given"])
        return
    with pytest.raises((TypeError, ValueError), match=rf"main: match_cast.*{error}"):
        main["main"](main["given"])


def test_mc06_impure_closure_error():
    vm = machine("""
    relax.func @main(%o: !any) -> !any {
      %f = relax.match_cast %o : !any -> !relax.func<(!n2) -> !n2, pure>
      relax.return %f : !relax.func<(!n2) -> !n2, pure>
    }
    relax.func @given(%x: !n2) -> !n2 attributes {is_pure = false} {
      relax.return %x : !n2
    }""")
    with pytest.raises((TypeError, ValueError), match=r"main: match_cast.*pure"):
        vm["main"](vm["given"])


def test_mc06_packed_function_against_both_kinds():
    vm = machine("""
    relax.func @closure(%o: !any) -> !any {
      %f = relax.match_cast %o : !any -> !relax.func<() -> !any, impure>
      relax.return %f : !relax.func<() -> !any, impure>
    }
    relax.func @packed(%f: !packed) -> !any {
      relax.return %f : !packed
    }""")
    function = tvm_ffi.convert(lambda: 3)
    assert vm["packed"](function)() == 3
    with pytest.raises(TypeError, match=r"packed: argument 'f': .*but got a closure"):
        vm["packed"](vm["packed"])
    with pytest.raises(TypeError, match=r"closure: match_cast.*packed function"):
        vm["closure"](function)
    with pytest.raises(TypeError, match=r"closure: match_cast"):
        vm["closure"](3)


def test_mc06_captured_dimensions_are_compared():
    """A closure that captured n = 2 takes nothing else, whatever the variable is called."""
    vm = machine("""
    relax.func @make(%x: !n) -> !on_n {
      %f = relax.closure (%y: !n) -> !n {
        relax.return %x : !n
      }
      relax.return %f : !on_n
    }
    relax.func @takes(%f: !on_m, %x: !m) -> !m {
      %0 = relax.call %f : !on_m (%x) : (!m) -> !m
      relax.return %0 : !m
    }""")
    closure = vm["make"](f32(1, 2))
    assert values(vm["takes"](closure, f32(3, 4))) == [1, 2]
    with pytest.raises((TypeError, ValueError), match=r"takes: argument 'f': .*parameter 0"):
        vm["takes"](closure, f32(3, 4, 5))


def test_mc08_positions_that_bind_come_first():
    """A function is compared with the dimensions of an argument after it; then left to right."""
    text = """
    relax.func @main(%f: !twice_n,
                     %a: !relax.tensor<[n * 2], f32>, %x: !n,
                     %b: !relax.tensor<[3], f32>) -> !any attributes {is_pure = false} {
      %0 = relax.call %f : !twice_n (%a) : (!relax.tensor<[n * 2], f32>) -> !any
      relax.return %0 : !any
    }
    relax.func @four(%x: !four) -> !four {
      relax.return %x : !four
    }"""
    vm = machine(text)
    main, four = vm["main"], vm["four"]
    two, three, quad, six = (np.ones(size, "float32") for size in (2, 3, 4, 6))
    assert values(main(four, quad, two, three)) == [1, 1, 1, 1]
    with pytest.raises((TypeError, ValueError), match=r"main: argument 'f': .*parameter 0"):
        main(four, six, three, three)
    # x binds, so what it is comes before all; then the first of the others.
    with pytest.raises(TypeError, match=r"main: argument 'x'"):
        main(four, "text", "text", "text")
    with pytest.raises(ValueError, match=r"main: argument 'a'"):
        main(four, six, two, "text")


TWICE = "!relax.func<(!relax.tensor<[n * 2], f32>) -> !any, pure>"
FOUR = """
    relax.func @four(%x: !four) -> !four {
      relax.return %x : !four
    }"""


def test_mc06_dimensions_of_the_scope_error():
    vm = machine(f"""
    relax.func @main(%x: !n, %o: !any) -> {TWICE} {{
      %0 = relax.match_cast %o : !any -> {TWICE}
      relax.return %0 : {TWICE}
    }} {FOUR}""")
    assert values(vm["main"](f32(1, 2), vm["four"])(f32(1, 2, 3, 4))) == [1, 2, 3, 4]
    with pytest.raises((TypeError, ValueError), match=r"main: match_cast.*parameter 0"):
        vm["main"](f32(1, 2, 3), vm["four"])


def test_mc08_function_that_is_returned_error():
    """A function on m elements is returned as one on n elements."""
    vm = machine(f"""
    relax.func @main(%x: !n, %y: !any, %o: !any) -> !on_n {{
      %m = relax.match_cast %y : !any -> !m
      %f = relax.match_cast %o : !any -> !on_m
      relax.return %f : !on_m
    }} {FOUR}""")
    four = f32(1, 2, 3, 4)
    assert values(vm["main"](four, four, vm["four"])(four)) == [1, 2, 3, 4]
    with pytest.raises((TypeError, ValueError), match=r"main: the result: .*parameter 0"):
        vm["main"](f32(1, 2), four, vm["four"])


# ---------------------------------------------------------------------------------------------
# BlockBuilder
# ---------------------------------------------------------------------------------------------


def test_gr16_recursive_closure_without_result_type_error(vector):
    bb = relax.BlockBuilder()
    x, y = vector("x"), vector("y")
    with bb.function("main", [x]):
        with bb.closure("f", [y]) as f:
            with pytest.raises(ValueError, match=r"in its own body it needs ret_struct_info"):
                op.call(f, y)
            bb.emit_func_output(y)
        bb.emit_func_output(x)


def test_gr16_closure_outside_of_a_function_error():
    with (
        pytest.raises(ValueError, match=r"expected BlockBuilder.closure inside function"),
        relax.BlockBuilder().closure("f"),
    ):
        pass


def test_gr16_closure_without_output_error(vector):
    bb = relax.BlockBuilder()
    x = vector()
    with bb.function("main", [x]):
        with (
            pytest.raises(ValueError, match=r"expected emit_func_output in function 'f'"),
            bb.closure("f"),
        ):
            pass
        bb.emit_func_output(x)
    assert "relax.closure" not in str(bb.get())


def test_gr16_attributes_of_a_closure(vector):
    bb = relax.BlockBuilder()
    x = vector()
    with bb.function("main", [x]):
        with bb.closure("f", attrs={"relax.force_pure": True}) as f:
            bb.emit_func_output(op.call_packed("closures.any", x))
        bb.emit_func_output(f)
    assert "relax.force_pure = true" in str(bb.get())


def test_gr14_call_of_what_is_no_function_error(vector):
    bb = relax.BlockBuilder()
    x = vector()
    with bb.function("main", [x]):
        with pytest.raises(ValueError, match=r"relax.call: expected a function, but got .*tensor"):
            op.call(x, x)
        with pytest.raises(ValueError, match=r"expected a function of the module, but got 'other'"):
            op.call(relax.GlobalVar("other"), x)
        with pytest.raises(ValueError, match=r"expected a function of the module, but got 'other'"):
            op.global_var("other")
        bb.emit_func_output(x)
